"""Rows from Python for a table: what they take is counted with all that is in them, and bounded before it is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trivium import Agent, ChatAgent, Message, Module, Task
from trivium.actions import ActionExecutor, tool
from trivium.agents.special.table import ReadOnlyTables, TableLimits
from trivium.exceptions import DocumentTooLargeError, RecursionTooDeepError
from trivium.schema import FunctionCall
from trivium.testing import ScriptedModel

from ._measured import cost_of


class Slim:
    """An object of a program's own, which holds a text in a slot."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Held(Slim):
    """One that holds it in its dict too."""


def echoing(depth: int) -> list[Any]:
    """A list that is small, and long as text: each level holds the one below ten times."""
    value: list[Any] = ["x"]
    for _ in range(depth):
        value = [value] * 10
    return value


MADE: dict[str, Callable[[], Any]] = {
    "text": lambda: "x" * 10_000,
    "bytes": lambda: b"x" * 10_000,
    "list": lambda: ["x" * 100 for _ in range(100)],
    "nested list": lambda: [[["x" * 100] for _ in range(10)] for _ in range(10)],
    "tuple": lambda: tuple("x" * 100 for _ in range(100)),
    "set": lambda: {str(each) * 50 for each in range(100)},
    "dict": lambda: {str(each): "x" * 100 for each in range(100)},
    "names": lambda: {str(each) * 50: 1 for each in range(100)},
    "array": lambda: np.zeros(10_000, np.uint8),
    "objects in a list": lambda: [Slim("x" * 100) for _ in range(100)],
    "an object with slots": lambda: Slim("x" * 10_000),
    "an object with a dict": lambda: Held("x" * 10_000),
    "echoes": lambda: echoing(4),
}


@pytest.mark.parametrize("name", MADE)
def test_values_of_all_kinds_count_with_what_is_in_them(name: str) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        for _ in repeat(None):
            yield {"a": MADE[name]()}

    limits = TableLimits(given_bytes=200_000, rows=60)  # of 10,000 bytes each, some twenty
    with pytest.raises(DocumentTooLargeError) as caught:
        ReadOnlyTables(rows(), limits=limits)
    assert (caught.value.limit, caught.value.value) == ("given_bytes", 200_000)


def test_names_of_columns_and_what_rows_share_count_once() -> None:
    name, held = "n" * 5000, Held("x" * 10_000)
    rows = ({name: number, "held": held} for number in range(40))
    tables = ReadOnlyTables(rows, limits=TableLimits(given_bytes=50_000))
    assert tables.query("SELECT count(*) FROM data").rows == [(40,)]


@pytest.mark.parametrize("value", ["[[1.0] * 300 for _ in range(100)]", "Held('x' * 100_000)", "echoing()"])
def test_rows_of_any_values_stay_within_the_memory(value: str) -> None:
    body = """from trivium.agents.special.table import ReadOnlyTables
class Held:
    def __init__(self, text): self.text = text
def echoing():
    value = ["x"]
    for _ in range(9): value = [value] * 10
    return value
ReadOnlyTables({"a": VALUE} for _ in range(200_000))"""
    cost = cost_of(body.replace("VALUE", value).replace("\n    ", "\n      "))
    assert (cost.error, cost.limit) == ("DocumentTooLargeError", "given_bytes"), cost
    assert cost.megabytes <= 256
    assert cost.seconds <= 20


@pytest.mark.parametrize("kind", [iter, list])
def test_rows_with_too_many_columns_name_that_limit(kind: Callable[[Any], Any]) -> None:
    row = {f"c{number}": "x" * 100 for number in range(2001)}
    with pytest.raises(DocumentTooLargeError, match=r"raise TableLimits\(columns=…\)") as caught:
        ReadOnlyTables(kind([row]), limits=TableLimits(given_bytes=1000) if kind is iter else None)
    assert (caught.value.limit, caught.value.value) == ("columns", 2000)
    with pytest.raises(DocumentTooLargeError) as caught:  # each row has a column of its own
        ReadOnlyTables(kind([{f"c{number}": 1} for number in range(30)]), limits=TableLimits(columns=20))
    assert caught.value.limit == "columns"


def test_a_row_that_is_too_long_names_that_limit(tmp_path: Path) -> None:
    rows = [{"a": "é" * 2000}]
    with pytest.raises(DocumentTooLargeError, match=r"shorten it, or raise TableLimits\(line_bytes=…\)") as caught:
        ReadOnlyTables(iter(rows), limits=TableLimits(line_bytes=3000))
    assert (caught.value.limit, caught.value.value) == ("line_bytes", 3000)
    file = tmp_path / "data.csv"
    file.write_text(f"a,b\n1,{'z' * (5 << 20)}\n", encoding="utf-8")
    for source in ([{"a": 1, "b": "z" * (5 << 20)}], str(file)):  # more than DuckDB's own limit
        with pytest.raises(DocumentTooLargeError, match=r"TableLimits\(line_bytes=…\)"):
            ReadOnlyTables(source)
        with closing(ReadOnlyTables(source, limits=TableLimits(line_bytes=6 << 20))) as tables:
            assert tables.query("SELECT a, length(b) FROM data").rows == [(1, 5 << 20)]


def test_an_error_of_the_users_own_has_no_note_of_ours() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"a": 1}
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        ReadOnlyTables(rows())
    assert not hasattr(caught.value, "__notes__")


def deep() -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(100_000):  # since Python 3.12 what is written in C may nest some ten thousand levels
        value = {"a": value}
    return value


class Deep(Module):
    """A program that answers with what nobody can write down."""

    def forward(self, message: Message) -> dict[str, Any]:
        return deep()


@tool
def take(x: dict[str, Any]) -> str:
    """Take it."""
    return "taken"


DEEP: dict[str, Callable[[], Any]] = {
    "a row": lambda: ReadOnlyTables([{"a": deep()}]),
    "a row of a generator": lambda: ReadOnlyTables({"a": deep()} for _ in range(1)),
    "a column": lambda: ReadOnlyTables({"a": [deep()]}),
    "arguments": lambda: ActionExecutor([take])(Message(content=FunctionCall("take", {"x": deep()}))),
    "a content": lambda: Agent(ScriptedModel(["hi"]))(deep()),
    "a message of a task": lambda: Task(ChatAgent(ScriptedModel(["DONE"])), interactive=False).run(deep()),
    "a document": lambda: ChatAgent(ScriptedModel(["x"])).to_ChatDocument(deep()),
    "extra information": lambda: Agent(ScriptedModel(["hi"]))(Message(content="x", extra_info=deep())),
    "an answer": lambda: Deep()("x"),
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_too_deeply_is_an_error_that_names_the_limit(name: str) -> None:
    with pytest.raises(RecursionTooDeepError, match=r"too deeply: nest less, or raise sys\.setrecursionlimit"):
        DEEP[name]()
