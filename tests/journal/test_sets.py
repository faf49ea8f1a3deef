"""Sets in results: a model reads them in one order, in whatever order a process has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, model_serializer

from trivium import Agent, Message
from trivium.actions import as_text, tool
from trivium.journal import Journal, step
from trivium.journal._codec import Codec
from trivium.testing import ScriptedModel, call_tool

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


class Page(BaseModel):
    title: str
    tags: set[str]


@dataclass
class Found:
    tags: frozenset[str]
    pages: tuple[Page, ...]


def values() -> list[Any]:
    page = Page(title="é", tags={*WORDS})
    found = Found(frozenset(WORDS), (page,))
    return [{*WORDS}, {"in": [{*WORDS}, 1]}, Message(content={"k": {*WORDS}}, sender="a"), page, found, {"at": found}]


@tool(effect="read")
def find_tags() -> set[str]:
    """Find the tags."""
    return {*WORDS}


def test_a_run_goes_on_in_a_process_that_has_its_sets_in_another_order(tmp_path: Path):
    said = list[str]()
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "journal.test_sets", str(tmp_path / "runs.db")]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        folder = Path(__file__).parents[1]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=True)
        said.append(ran.stdout)
    assert json.loads(said[0])[0] == '["alpha", "beta", "delta", "epsilon", "gamma"]'
    assert said[0] == said[1]


def run(journal: Journal) -> list[str]:
    """An agent that is told of tags, and a step that is given a value of a class that the journal does not know."""
    agent = Agent(
        ScriptedModel(
            lambda request: next(
                (each["content"] for each in request.messages if each["role"] == "tool"), call_tool("find_tags")
            )
        ),
        tools=[find_tags],
        name="a",
        memory=False,
    )
    with journal.run("sets"):
        step("keep", as_text, Found(frozenset(WORDS), ()), effect="read")
        return [agent("go").content, *map(as_text, values())]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({3, 20, 100}, "[3, 20, 100]"), ({3, "b", None}, '["b", 3, null]'), ({"é"}, '["é"]'),
        (frozenset({(1, "a")}), '[[1, "a"]]'),
        ({frozenset({"b", "a"})}, '[["a", "b"]]'), ({date(2026, 11, 29)}, '["2026-11-29"]'), (frozenset[int](), "[]"),
        ({1: {2, 1}}, '{"1": [1, 2]}'), (["b", "a"], '["b", "a"]'), (("b", {"c": "a"}), '["b", {"c": "a"}]'),
        (Page(title="é", tags={"a"}), '{"title":"é","tags":["a"]}'),
    ],
)  # fmt: skip
def test_only_sets_are_sorted(value: Any, text: str):
    assert as_text(value) == text
    assert Codec().dump(value) == Codec().dump(value)


class Secretive(BaseModel):
    """Its JSON has the name of a property, which nobody has asked for."""

    tags: set[str]

    @property
    def total(self) -> int:
        raise RuntimeError

    @model_serializer
    def shown(self) -> dict[str, Any]:
        return {"total": [*self.tags], "tags": self.tags}


class Own(BaseModel):
    number: int = 1
    tags: set[str] = {*WORDS}

    def model_dump_json(self, **_: Any) -> str:
        return "1 of my own"


class Large(BaseModel):
    number: int = 10**5000
    tags: set[str] = {"a"}


class Duck:
    def model_dump_json(self) -> str:
        return "not json"


class Parent(BaseModel):
    children: list[Any] = []
    up: Any = Field(default=None, exclude=True)


@dataclass(slots=True)
class Slotted:
    tags: set[str]


def test_the_json_of_a_model_is_read_again_only_where_it_can_be():
    assert as_text(Secretive(tags={"a"})) == '{"total":["a"],"tags":["a"]}'
    assert as_text(Own()) == "1 of my own"
    assert as_text(Duck()) == "not json"
    assert as_text(Large()) == Large().model_dump_json()
    parent = Parent(children=[{"n": 1}])
    parent.up = parent
    assert as_text(parent) == '{"children":[{"n":1}]}'
    assert as_text(Slotted({*WORDS})) == json.dumps({"tags": sorted(WORDS)})


def test_a_result_without_sets_is_not_parsed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(json, "loads")
    assert as_text(Parent(children=["a", {"b": [1]}])) == '{"children":["a",{"b":[1]}]}'


if __name__ == "__main__":
    print(json.dumps(run(Journal(sys.argv[1]))))
