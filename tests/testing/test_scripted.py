"""Scripted models: the requests that they keep, and scripts that do not fit."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from commander._helpers import Entry, every_entry
from trivium import Agent
from trivium.journal import Journal
from trivium.language_models import MockLM, MockLMConfig
from trivium.llms import Request
from trivium.testing import RecordedModel, ScriptedModel, call_tool


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ANSWERS = [call_tool("add", a=1, b=2), call_tool("add", a=3, b=4), "seven"]


def scripted(folder: Path) -> Any:
    return ScriptedModel(ANSWERS)


def mocked(folder: Path) -> Any:
    answers = iter(ANSWERS)
    return MockLM(MockLMConfig(response_fn=lambda _: next(answers)))


def recorded(folder: Path) -> Any:
    with closing(Journal(str(folder / "runs.db"))) as journal:
        Agent(ScriptedModel(ANSWERS), tools=[add])("How much?", run_id="a", journal=journal)
        return RecordedModel(journal.view("a"))


@pytest.mark.parametrize("make", [scripted, mocked, recorded])
def test_each_request_is_kept_as_it_was_sent(tmp_path: Path, make: Any):
    model = make(tmp_path)
    assert Agent(model, tools=[add])("How much?").content == "seven"
    roles = [[each["role"] for each in request.messages] for request in model.requests]
    assert roles == [
        ["user"], ["user", "assistant", "tool"], ["user", "assistant", "tool", "assistant", "tool"],
    ]  # fmt: skip


def test_a_model_of_ones_own_keeps_a_request_as_it_was_sent():
    kept: list[Any] = []

    class Own(ScriptedModel):
        def stream(self, request: Any) -> Any:
            kept.append((request, request.as_sent()))
            return super().stream(request)

    Agent(Own(ANSWERS), tools=[add])("How much?")
    assert [len(as_sent.messages) for _, as_sent in kept] == [1, 3, 5]
    assert [as_sent.tools for _, as_sent in kept] == [request.tools for request, _ in kept]


@pytest.mark.parametrize("asked", [0, 1, 3])
def test_a_script_that_was_not_used_up_or_repeated_is_told(asked: int):
    model = ScriptedModel(["one", "two"])
    for _ in range(asked):
        Agent(model)("x")
    with pytest.raises(AssertionError, match=f"the script has 2 answers, for {asked} requests"):
        model.assert_all_used()


def test_a_script_that_was_used_up_is_right():
    model = ScriptedModel(["one", "two"])
    for _ in range(2):
        Agent(model)("x")
    model.assert_all_used()


@every_entry
def test_an_async_function_answers_too(entry: Entry):
    async def answer(request: Request) -> str:
        await asyncio.sleep(0)
        return f"{len(request.messages)} message"

    assert entry(Agent(ScriptedModel(answer)), "x").content == "1 message"
