"""Acts in the journal's own transaction: they happen exactly once, with their record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from journal._places import Place
from journal._programs import Stateless
from trivium import Agent, this_call
from trivium.actions import Tool, tool
from trivium.exceptions import ConfigurationError, ToolDefinitionError
from trivium.journal import step, step_async
from trivium.testing import ScriptedModel, call_tool


def rows(place: Place) -> list[int]:
    try:
        return sorted(row[0] for row in place.execute("SELECT amount FROM booked"))
    except Exception:
        return []


def write(amount: int) -> str:
    database = this_call().transaction
    database.execute("CREATE TABLE IF NOT EXISTS booked (amount INTEGER)")
    database.execute(f"INSERT INTO booked VALUES ({amount})")
    return f"booked {amount}"


@tool(effect="transactional")
def book(amount: int) -> str:
    """Book."""
    return write(amount)


async def write_async(amount: int) -> str:
    await asyncio.sleep(0)
    return write(amount)


def test_a_tool_writes_together_with_its_record(place: Place):
    journal = place.journal()
    for _ in range(2):
        clerk = Agent(Stateless(call_tool("book", amount=3), call_tool("book", amount=3), "done"), tools=[book])
        assert clerk("Book.", run_id="a", journal=journal).content == "done"
    assert rows(place) == [3, 3]
    assert [each.kind for each in journal.entries("a") if each.name == "tool:book"] == ["outcome"] * 2
    assert this_call_without_a_journal() == "none"
    journal.close()


def this_call_without_a_journal() -> str:
    @tool(effect="transactional")
    def look() -> str:
        """Look."""
        return "none" if this_call().transaction is None else "one"

    said = ScriptedModel(
        lambda request: call_tool("look") if len(request.messages) < 3 else request.messages[-1]["content"]
    )
    return Agent(said, tools=[look])("Look.").content


@pytest.mark.parametrize("function", [write, write_async])
def test_steps_write_too_sync_and_async_and_at_once(place: Place, function: Callable[[int], Any]):
    journal = place.journal()

    async def program() -> list[str]:
        async with journal.run("a"):
            return await asyncio.gather(
                *(step_async(f"book {at}", function, at, effect="transactional") for at in range(5)),
                *(step_async(f"look {at}", asyncio.sleep, 0.01, effect="read") for at in range(5)),
            )

    for _ in range(2):
        assert asyncio.run(program())[:5] == [f"booked {at}" for at in range(5)]
    with journal.run("b"):
        assert step("book", function, 7, effect="transactional") == "booked 7"
    assert rows(place) == [0, 1, 2, 3, 4, 7]
    journal.close()


def test_an_error_undoes_what_was_written_and_is_recorded_or_tried_again(place: Place):
    journal, fails = place.journal(), [True]

    def act() -> str:
        write(1)
        if fails:
            raise ValueError("no")
        return "done"

    def program() -> str:
        said = ""
        with journal.run("a"):
            try:
                step("first", act, effect="transactional")
            except ValueError as error:
                said = str(error)
            return f"{said} {step('second', act, effect='transactional')}"

    with pytest.raises(ValueError, match="no"):
        program()
    assert rows(place) == []
    fails.clear()
    assert program() == "no done"
    assert rows(place) == [1]
    journal.close()


def test_the_transaction_ends_with_the_act_and_not_before(place: Place):
    journal = place.journal()

    def act() -> None:
        write(1)
        this_call().transaction.commit()

    with pytest.raises(Exception, match=r"not authorized|commit\(\) forbidden|transaction"), journal.run("a"):
        step("book", act, effect="transactional")
    assert rows(place) == []
    journal.close()


def test_what_stands_within_an_act_belongs_to_it_and_must_be_repeatable(place: Place):
    journal = place.journal()

    def act(effect: Any) -> str:
        return f"{step('within', write, 1, effect=effect)} at {this_call().now() > 0}"

    def program(run_id: str, effect: Any) -> str:
        with journal.run(run_id):
            return step("book", act, effect, effect="transactional")

    for effect in ("read", "idempotent", "transactional"):
        assert program(effect, effect) == "booked 1 at True"
    assert rows(place) == [1, 1, 1]
    with pytest.raises(ConfigurationError, match="book#0/within#0 stands in a transaction"):
        program("once", "once")
    assert rows(place) == [1, 1, 1]
    journal.close()


def test_a_transactional_tool_runs_alone_and_has_no_retries():
    assert Tool.of(book).runs_alone
    with pytest.raises(ToolDefinitionError):
        tool(effect="transactional", retries=2)(write)
