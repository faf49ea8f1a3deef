"""Limits: each refuses numbers that limit nothing, and each error of one names it, its value and how to raise it."""

from __future__ import annotations

import copy
import math
import pickle
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx2
import pytest

import trivium.exceptions as exceptions
from trivium import Agent
from trivium.actions import SandboxLimits
from trivium.actions.web import Fetcher
from trivium.agents.special.sql import ReadOnlyDatabase
from trivium.agents.special.table import ReadOnlyTables, TableLimits
from trivium.commander import Limits
from trivium.distributed import AgentServer, ConnectionLimits, HTTPAgentClient
from trivium.exceptions import ConfigurationError, LimitError, TriviumError
from trivium.knowledge import IngestLimits
from trivium.mcp import MCPServer
from trivium.parsing import ReadLimits, read
from trivium.testing import ScriptedModel

CLASSES: tuple[type[Any], ...] = (
    ReadLimits, IngestLimits, TableLimits, ConnectionLimits, SandboxLimits, Limits,
)  # fmt: skip


def tables(**given: Any) -> ReadOnlyTables:
    return ReadOnlyTables([{"a": 1}], **given)


def database(**given: Any) -> ReadOnlyDatabase:
    return ReadOnlyDatabase("sqlite://", **given)


def server_of(**given: Any) -> AgentServer:
    return AgentServer(Agent(ScriptedModel(["x"])), port=0, **given)


def mcp_server(**given: Any) -> MCPServer:
    return MCPServer("nothing", **given)


CALLS: dict[Callable[..., Any], tuple[str, ...]] = {
    tables: ("max_rows", "timeout", "memory"),
    database: ("max_rows", "timeout"),
    Fetcher: ("max_bytes", "timeout"),
    mcp_server: ("max_bytes", "timeout", "start_seconds"),
    server_of: ("max_bytes", "max_runs", "max_sessions", "timeout", "keep_days", "approval_seconds"),
}
NOTHING = (math.nan, math.inf, -math.inf, -1, "9")


def numbers() -> Iterator[tuple[Callable[..., Any], str]]:
    for kind in CLASSES:
        yield from ((kind, each.name) for each in fields(kind) if each.name != "read")
    for call, names in CALLS.items():
        yield from ((call, name) for name in names)


@pytest.mark.parametrize(("made", "name"), list(numbers()))
def test_a_number_that_limits_nothing_is_refused(made: Callable[..., Any], name: str) -> None:
    for value in NOTHING:
        with pytest.raises(ConfigurationError, match=name):
            made(**{name: value})


def test_every_limit_of_the_page_is_tried_here() -> None:
    page = Path(__file__).parents[2] / "docs/limits.md"
    named = set(re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE))
    assert named - {name for _, name in numbers()} == set()
    assert len(named) >= 25


def reached(tmp_path: Path) -> Iterator[tuple[Callable[[], Any], str, float]]:
    """Calls that each reach a limit, its name and its value."""
    page = tmp_path / "page.html"
    page.write_text("<p>Fish and chips" * 100)
    yield lambda: read(page, max_bytes=100), "max_bytes", 100
    many = "SELECT count(*) FROM range(100000) a, range(100000) b, range(100) c WHERE a.range % 7 = b.range % 5"
    yield lambda: ReadOnlyTables([{"a": 1}], timeout=0.2).query(many), "timeout", 0.2
    large = "SELECT list(a.range || 'x') FROM range(3000000) a, range(10) b GROUP BY b.range"
    yield lambda: ReadOnlyTables([{"a": 1}], memory=1 << 26).query(large), "memory", 1 << 26
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    base = tmp_path / "base.db"
    sqlite3.connect(base).execute("CREATE TABLE a (b)").connection.close()
    yield lambda: ReadOnlyDatabase(f"sqlite:///{base}", timeout=0.2).query(endless), "timeout", 0.2
    wide = tmp_path / "wide.csv"
    wide.write_text("a,b,c\n1,2,3\n")
    yield lambda: ReadOnlyTables(str(wide), limits=TableLimits(columns=2)), "columns", 2
    yield lambda: Agent(ScriptedModel(["x"]))("hi", limits=Limits(turns=0)), "turns", 0


def test_each_error_of_a_limit_names_it_and_says_how_to_raise_it(tmp_path: Path) -> None:
    for call, name, value in reached(tmp_path):
        with pytest.raises(LimitError) as caught:
            call()
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert (error.limit, error.value) == (name, value), error
            assert re.search(rf"raise \S*{name}", str(error)), error


def test_every_error_of_time_or_size_has_a_limit() -> None:
    kinds = [each for each in vars(exceptions).values() if isinstance(each, type) and issubclass(each, TriviumError)]
    own = [each for each in kinds if each.__name__.endswith(("TooLargeError", "LimitError"))]
    assert len(own) >= 4
    for kind in own:
        assert issubclass(kind, LimitError), kind
        assert (kind("text").limit is not None, kind("text").value) == (True, 0), kind


@pytest.mark.parametrize(
    "error",
    [
        exceptions.LimitExceededError("turns", 3, "a/b"),
        exceptions.QueryRefusedError("it deletes", "a SELECT", "DROP TABLE a"),
        exceptions.DocumentTimeoutError("it took long", "a.pdf", "seconds", 15),
        exceptions.MissingExtraError("duckdb", "table"),
    ],
)
def test_an_error_that_was_pickled_says_the_same(error: TriviumError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_server_names_its_limits() -> None:
    server = AgentServer(Agent(ScriptedModel(["x"])), port=0, max_bytes=500, max_sessions=1, token="")
    with server:
        client = HTTPAgentClient(port=server.port, token="")
        answer = httpx2.post(f"http://127.0.0.1:{server.port}/chat_completion", json={"message": "x" * 600})
        told = answer.json()["error"]
        assert (answer.status_code, told["limit"], told["value"]) == (413, "max_bytes", 500)
        assert "the server's max_bytes" in told["message"]
        with pytest.raises(LimitError, match="max_bytes") as caught:
            client("x" * 600)
        assert (caught.value.limit, caught.value.value) == ("max_bytes", 500)
        client("hi", session_id=1)
        with pytest.raises(LimitError) as caught:
            client("hi", session_id=2)
        assert (caught.value.limit, caught.value.value) == ("max_sessions", 1)
        assert pickle.loads(pickle.dumps(caught.value)).limit == "max_sessions"
