"""Errors after the journal: their class, text, arguments and `errno` are those that the first attempt saw."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from journal._programs import look
from trivium import Agent
from trivium.actions import tool
from trivium.exceptions import RecordedError, ToolError
from trivium.journal import Journal, step
from trivium.journal._codec import Codec
from trivium.testing import ScriptedModel, call_tool


class Colour(Enum):
    RED = "red"


class MissingPage(KeyError):
    """One of a user's, which no journal knows."""


class Vendor:
    """A module of somebody else's, with a class whose name is one of Python's."""

    class ConnectionError(Exception):
        pass


def raised_by(function: Callable[[], object]) -> Exception:
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError


RAISED: Final[dict[str, Callable[[], Exception]]] = {
    "file": lambda: raised_by(lambda: os.stat("/data/x")),
    "path": lambda: raised_by(lambda: os.stat(Path("/data/x"))),
    "two files": lambda: raised_by(lambda: os.rename("/data/x", "/data/y")),
    "refused": lambda: ConnectionRefusedError(111, "Connection refused"),
    "reset": lambda: ConnectionResetError(104, "Connection reset by peer"),
    "blocking": lambda: BlockingIOError(11, "full", 3),
    "timeout": lambda: TimeoutError("timed out"),
    "nothing": TimeoutError,
    "decode": lambda: raised_by(b"a\xff".decode),
    "encode": lambda: raised_by(lambda: "é".encode("ascii")),
    "syntax": lambda: raised_by(lambda: compile("a b", "file.py", "exec")),
    "import": lambda: raised_by(lambda: __import__("no_such_module")),
    "attribute": lambda: raised_by(lambda: getattr(None, "x")),  # noqa: B009
    "key": lambda: KeyError("x"),
    "key of several": lambda: KeyError(("x", 1)),
    "key of an enumeration": lambda: KeyError(Colour.RED),
    "date": lambda: ValueError("too late", date(2026, 11, 29)),
    "time": lambda: ValueError(datetime(2026, 11, 29, 12, tzinfo=UTC)),
    "enumeration": lambda: ValueError(Colour.RED, HTTPStatus.NOT_FOUND),
    "number": lambda: ValueError(Decimal("1.50")),
    "set": lambda: ValueError({"alpha", "beta", "gamma", "delta"}),
    "sets": lambda: ValueError("of", frozenset({"alpha", "beta", "gamma"}), {"in": {"delta", "epsilon"}}),
    "group": lambda: ExceptionGroup("several", [ConnectionRefusedError(111, "Connection refused"), KeyError("x")]),
}
"""Errors by their names, each made anew."""
NO_JSON: Final = {"key of an enumeration", "enumeration", "sets"}
"""Those with arguments that JSON cannot tell: they come back as texts that show themselves as the values did."""


def told(error: Exception) -> list[Any]:
    """What a program can tell of an error."""
    own = [getattr(error, name, None) for name in ("errno", "strerror", "characters_written", "encoding", "lineno")]
    return [type(error).__name__, str(error), repr(error), own, str(getattr(error, "filename", None))]


def program(journal: Journal) -> dict[str, list[Any]]:
    """What a run is told of all these errors, which its steps raise."""
    found: dict[str, list[Any]] = {}

    def fail(name: str) -> None:
        raise RAISED[name]()

    for name in RAISED:
        with journal.run(name):
            try:
                step("fail", fail, name, effect="once")
            except Exception as error:
                found[name] = told(error)
    return found


def test_an_error_says_in_every_process_what_it_said_in_the_first(tmp_path: Path):
    said: list[dict[str, list[Any]]] = []
    for seed in ("1", "2"):  # the order of sets
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "journal.test_recorded_errors", str(tmp_path / "runs.db")]
        ran = subprocess.run(
            command, cwd=Path(__file__).parents[1], capture_output=True, text=True, env=environment, check=True
        )
        said.append(json.loads(ran.stdout))
    assert said[0].keys() == RAISED.keys()
    assert said[0] == said[1]


@pytest.mark.parametrize("name", RAISED)
def test_arguments_come_back_where_json_can_tell_them(name: str):
    error, codec = RAISED[name](), Codec()
    found = codec.load_error(codec.dump_error(error))
    assert (type(found), told(found)) == (type(error), told(error))
    assert codec.dump_error(found) == codec.dump_error(error)  # that of an outer step is the same error
    if name != "group":
        assert (found.args == error.args) == (name not in NO_JSON)


KINDS: Final = [ValueError, KeyError, OSError, ConnectionResetError, ImportError, SyntaxError, StopIteration, Exception]
ARGUMENTS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
    | st.dates() | st.sampled_from(Colour) | st.decimals(allow_nan=False) | st.sets(st.text(max_size=2), max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)  # fmt: skip


@given(st.sampled_from(KINDS), st.lists(ARGUMENTS, max_size=3))
@example(OSError, [None, None])
def test_any_error_of_pythons_has_its_class_and_its_text(kind: Callable[..., Exception], args: list[Any]):
    try:
        error = kind(*args)
    except (TypeError, ValueError, IndexError):  # a SyntaxError takes no such arguments
        return
    codec = Codec()
    found = codec.load_error(codec.dump_error(error))
    assert (type(found), str(found), len(found.args)) == (type(error), str(error), len(error.args))
    assert getattr(found, "errno", None) == getattr(error, "errno", None) or "shown" in codec.dump_error(error)


def test_an_error_is_of_the_class_with_its_module_and_name_or_of_none():
    error, codec = Vendor.ConnectionError("timed out"), Codec(MissingPage)
    found = codec.load_error(codec.dump_error(error))
    assert (type(found), str(found), vars(found)["kind"]) == (RecordedError, "timed out", "ConnectionError")
    knowing = Codec(Vendor.ConnectionError)
    assert type(knowing.load_error(knowing.dump_error(error))) is Vendor.ConnectionError
    assert type(knowing.load_error(knowing.dump_error(ConnectionError("x")))) is ConnectionError
    as_script = json.loads(codec.dump_error(MissingPage("x")))
    as_script["class"][0] = "__main__"
    assert type(codec.load_error(json.dumps(as_script))) is MissingPage
    old = json.dumps({"kind": "KeyError", "args": ["x"], "data": {}, "text": "'x'"})  # of an older version
    assert repr(codec.load_error(old)) == "KeyError('x')"
    assert repr(codec.load_error(old.replace("KeyError", "MissingPage"))) == "MissingPage('x')"


class Declined(Exception):
    """One whose text is made of what is not recorded."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self._code = code

    def __str__(self) -> str:
        return f"declined with {self._code}"


class Taken(OSError):
    __slots__ = ("room",)

    def __init__(self, room: object) -> None:
        super().__init__(16, "taken")
        self.room = room

    def __str__(self) -> str:
        return f"{self.room} is taken"


class AllTaken(ExceptionGroup[Exception]):
    def __str__(self) -> str:
        return f"{vars(self)['_count']} are taken"


def all_taken() -> Exception:
    error = AllTaken("all", [Taken("A1"), Declined(7)])
    vars(error)["_count"] = 2
    return error


@pytest.mark.parametrize(
    "error",
    [
        Declined(7),
        Taken("A1"),
        all_taken(),
        raised_by("\udc80".encode),
        KeyError(Path("x")),
        subprocess.SubprocessError(),
    ],
)
def test_an_error_of_a_known_class_is_caught_by_it_and_says_what_it_said(error: Exception):
    codec, kind = Codec(Declined, Taken, AllTaken, subprocess.SubprocessError), type(error)
    told_first = json.loads(codec.dump_error(error))
    found = codec.load_error(json.dumps({**told_first, "args": ["x"]} if kind is KeyError else told_first))
    for each in (found, copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert isinstance(each, kind)
        assert (type(each).__name__, str(each) or kind.__name__) == (kind.__name__, str(error) or kind.__name__)
        assert getattr(each, "errno", None) == getattr(error, "errno", None)
        again = json.loads(codec.dump_error(each))
        assert kind is KeyError or again == told_first
        assert (again["text"], again.get("is_key")) == (told_first["text"], told_first.get("is_key"))


def test_an_error_of_an_older_version_has_the_errno_that_its_arguments_tell():
    text = "[Errno 2] No such file or directory: '/data/x'"
    old: dict[str, object] = {
        "kind": "FileNotFoundError",
        "args": [2, "No such file or directory"],
        "data": {},
        "text": text,
    }
    found = Codec().load_error(json.dumps(old))
    assert isinstance(found, FileNotFoundError)
    assert (str(found), found.errno, found.strerror) == (text, 2, "No such file or directory")


def test_an_error_whose_class_can_have_no_other_below_it_is_its_text():
    class Last(Declined):
        def __init_subclass__(cls) -> None:
            raise TypeError

    codec = Codec(Last)
    found = codec.load_error(codec.dump_error(Last(7)))
    assert (type(found), str(found)) == (RecordedError, "declined with 7")


@pytest.mark.parametrize("error", [FileNotFoundError(2, "No such file", "/data/x"), MissingPage("index"), Decimal])
def test_a_model_is_told_the_same_of_a_failed_tool_in_every_attempt(tmp_path: Path, error: Any):
    @tool(effect="read")
    def look() -> str:
        """Look."""
        raise ValueError(Decimal("1.50"), {"a", "b"}) if error is Decimal else error

    asked: list[list[Any]] = []

    def answer(request: Any) -> Any:
        asked.append([each["content"] for each in request.messages if each["role"] == "tool"])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return "done" if asked[-1] else call_tool("look")

    agent = Agent(ScriptedModel(answer), tools=[look], name="a", memory=False)
    journal = Journal(tmp_path / "runs.db")
    with pytest.raises(KeyboardInterrupt):
        agent("go", run_id="a", journal=journal)
    assert agent("go", run_id="a", journal=journal).content == "done"
    assert asked[1] == asked[2]


if __name__ == "__main__":
    print(json.dumps(program(Journal(sys.argv[1]))))


def test_an_outline_tells_the_errors_of_tools_that_ran_beside_each_other(journal: Journal):
    @tool(effect="read")
    def fail() -> str:
        """Fail."""
        raise ToolError("no such place")

    Agent(ScriptedModel([[call_tool("fail"), call_tool("look", 1, place="Oslo")], "done"]), tools=[fail, look],
          parallel=True)("Go.", run_id="a", journal=journal)  # fmt: skip
    failed = journal.view("a").node("Agent/tool:fail")
    assert [*journal.outline("a").as_json()["errors"].values()] == [failed.error] == ["ToolError: no such place"]
    assert journal.describe("a", failed.key)["error"] == failed.error
