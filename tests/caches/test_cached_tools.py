"""Tools that answer from a cache: what is kept, and how often they run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trivium import Agent, Limits
from trivium.actions import Tool, cached
from trivium.actions._run import run_tool
from trivium.caches import SQLiteCache
from trivium.commander import run_sync
from trivium.observers import RunRecord
from trivium.testing import ScriptedModel, call_tool

from ._memory import Memory


class Counted:
    """Functions that say how often they ran."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

    def look(self, city: str, year: int = 2000) -> Any:
        """Look a city up."""
        self.ran.append((city, year))
        if city == "nowhere":
            raise ValueError("no such city")
        return {"city": city, "year": year, "parts": [1, 2.5, None, True]}

    def odd(self, what: str) -> Any:
        """Give what JSON does not know."""
        self.ran.append(what)
        return {"tuple": (1, 2), "bytes": b"x", "set": {1}, "keys": {1: 2}, "nan": float("nan")}[what]


def run(tool: Tool, **arguments: Any) -> Any:
    return run_sync(run_tool, tool, arguments)


def test_a_tool_runs_once_for_equal_arguments_as_they_are_understood(cache: SQLiteCache) -> None:
    counted = Counted()
    tool = cached(counted.look, cache)
    assert tool.spec == Tool.of(counted.look).spec
    found = [run(tool, city="Ulm", year=1999), run(tool, year="1999", city="Ulm"), run(tool, city="Ulm")]
    assert found[0] == found[1] == {"city": "Ulm", "year": 1999, "parts": [1, 2.5, None, True]}
    assert counted.ran == [("Ulm", 1999), ("Ulm", 2000)]
    assert run(cached(counted.look, cache), city="Ulm") == found[2], "also after a restart"
    run(cached(Tool.of(counted.look).replace(name="other"), cache), city="Ulm")
    assert len(counted.ran) == 3


def test_errors_and_what_json_would_not_give_back_are_not_kept(cache: SQLiteCache) -> None:
    counted = Counted()
    look, odd = cached(counted.look, cache), cached(counted.odd, cache)
    for _ in range(2):
        with pytest.raises(ValueError, match="no such city"):
            run(look, city="nowhere")
    assert len(counted.ran) == 2
    for what in ("tuple", "bytes", "set", "keys", "nan"):
        first, again = run(odd, what=what), run(odd, what=what)
        assert type(first) is type(again)
    assert len(counted.ran) == 12


def test_an_agents_tool_answers_from_the_cache_and_counts_as_a_call(cache: SQLiteCache) -> None:
    counted = Counted()
    model = ScriptedModel([call_tool("look", city="Ulm"), call_tool("look", city="Ulm"), "done"])
    record = RunRecord()
    agent = Agent(model, tools=[cached(counted.look, cache)])
    assert agent("go", limits=Limits(tool_calls=2), listeners=[record]).content == "done"
    assert counted.ran == [("Ulm", 2000)]
    assert [node.name for node in record.roots[0].children].count("tool:look") == 2


def test_equal_calls_at_once_run_once() -> None:
    ran: list[str] = []

    async def look(city: str) -> str:
        """Look."""
        ran.append(city)
        await asyncio.sleep(0)
        return city.upper()

    calls = [call_tool("look", number, city="Ulm") for number in range(5)]
    agent = Agent(ScriptedModel([calls, "done"]), tools=[cached(look, Memory())], parallel=True)
    assert agent("go").content == "done"
    assert ran == ["Ulm"]
    assert [message.content for message in agent.memory.get_memory()][2:7] == ["ULM"] * 5  # type: ignore[union-attr]
