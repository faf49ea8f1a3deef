"""A new act that must happen once, where the program has passed by acts that an earlier attempt did."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest

from trivium import Agent, tool
from trivium.exceptions import DivergedError
from trivium.journal import Journal, step, step_async
from trivium.testing import ScriptedModel, call_tool


class Killed(BaseException):
    """The process ends here."""


async def _plain(name: str, what: object, done: list[Any]) -> None:
    await step_async(name, done.append, what, effect="once")


async def _in_time(name: str, what: object, done: list[Any]) -> None:
    await asyncio.wait_for(_plain(name, what, done), 20)


async def _gathered(name: str, what: object, done: list[Any]) -> None:
    await asyncio.gather(_plain(name, what, done))


@pytest.mark.parametrize("do", [_plain, _in_time, _gathered])
def test_another_question_is_refused_in_every_task(journal: Journal, do: Callable[..., Awaitable[None]]):
    done: list[Any] = []

    async def program(what: object) -> None:
        async with journal.run("a"):
            await do("pay", what, done)

    asyncio.run(program("order 17"))
    with pytest.raises(DivergedError, match="pay"):
        asyncio.run(program("order 18"))
    assert (done, journal.info("a").status) == (["order 17"], "done")
    asyncio.run(program("order 17"))


def test_acts_of_other_names_are_done_and_those_that_were_passed_by_are_reported(journal: Journal):
    done: list[str] = []
    for names in (("book", "pay", "mail"), ("book", "check", "mail")):
        with journal.run("a"):
            for name in names:
                step(name, done.append, name, effect="once")
        journal.give_up(journal.info("a"), "its machine is gone")
    assert done == ["book", "pay", "mail", "check"]


def test_what_a_block_did_while_it_was_left_does_not_hold_up_what_it_does_now(journal: Journal):
    done: list[str] = []

    def program(*, is_killed: bool) -> None:
        with journal.run("a"):
            try:
                step("book", done.append, "book", effect="once")
                if is_killed:
                    raise Killed
                step("send", done.append, "send", effect="once")
            finally:
                step("close", done.append, "close", effect="once")

    with pytest.raises(Killed):
        program(is_killed=True)
    program(is_killed=False)
    assert done == ["book", "close", "send"]


def test_a_refused_call_is_told_again_before_those_that_follow(journal: Journal):
    bought: list[str] = []

    @tool(effect="once", needs_approval=True)
    def buy(item: str) -> str:
        """Buy something."""
        bought.append(item)
        return "bought"

    def program() -> str:
        calls = [call_tool("buy", item=item) for item in ("gold", "chair")]
        agent = Agent(
            ScriptedModel([*calls, "Done."]), tools=[buy], approve=lambda asked: asked.arguments["item"] != "gold"
        )
        with journal.run("a"):
            return str(agent("Buy.").content)

    assert [program() for _ in range(2)] == ["Done."] * 2
    assert bought == ["chair"]


def test_a_branch_that_holds_what_another_one_needs_goes_on(journal: Journal):
    done: list[str] = []

    async def program(*names: str, is_killed: bool) -> None:
        lock = asyncio.Lock()

        async def branch(name: str) -> None:
            async with lock:
                await _plain("pay", name, done)

        async with journal.run("a"):
            await asyncio.gather(*map(branch, names))
            if is_killed:
                raise Killed

    with pytest.raises(Killed):
        asyncio.run(program("b", is_killed=True))
    asyncio.run(program("a", "b", is_killed=False))
    assert done == ["b", "a"]


def test_what_an_agent_of_another_name_does_is_refused(journal: Journal):
    bought: list[str] = []

    @tool(effect="once")
    def buy(item: str) -> str:
        """Buy something."""
        bought.append(item)
        return "bought"

    def program(name: str, *, is_killed: bool = False) -> None:
        with journal.run("a"):
            Agent(ScriptedModel([call_tool("buy", item="chair"), "Done."]), tools=[buy], name=name)("Buy a chair.")
            if is_killed:
                raise Killed

    with pytest.raises(Killed):
        program("buyer", is_killed=True)
    with pytest.raises(DivergedError, match="purchaser#0/tool:buy#0 would be done now"):
        program("purchaser")
    program("buyer")
    assert bought == ["chair"]


def test_branches_that_come_late_to_what_they_did_are_waited_for(journal: Journal):
    done: list[str] = []

    async def program(*, is_killed: bool) -> None:
        async def late() -> None:
            await asyncio.sleep(0.3)  # what is not recorded
            await _plain("pay", "late", done)

        async with journal.run("a"):
            branch = asyncio.create_task(late())
            if is_killed:
                await branch
                raise Killed
            await asyncio.gather(*(_plain("pay", name, done) for name in ("b", "c")))
            await _plain("mail", "d", done)
            await branch

    with pytest.raises(Killed):
        asyncio.run(program(is_killed=True))
    asyncio.run(program(is_killed=False))
    assert sorted(done) == ["b", "c", "d", "late"]


def test_threads_that_come_late_to_what_they_did_are_waited_for(journal: Journal):
    done: list[str] = []
    is_waiting = threading.Event()

    def program(*, is_killed: bool) -> None:
        def late() -> None:
            if not is_killed:
                is_waiting.wait()
            step("pay", done.append, "late", effect="once")

        def soon() -> None:
            is_waiting.set()
            step("mail", done.append, "soon", effect="once")

        with journal.run("a"), ThreadPoolExecutor() as pool:
            works = (late,) if is_killed else (soon, late)
            for each in [pool.submit(copy_context().run, work) for work in works]:
                each.result()
            if is_killed:
                raise Killed

    with pytest.raises(Killed):
        program(is_killed=True)
    program(is_killed=False)
    assert done == ["late", "soon"]


def test_branches_that_took_each_others_results_do_nothing_twice(journal: Journal):
    mails: list[str] = []
    seats = iter(range(1, 9))

    async def reserve() -> int:
        return next(seats)

    async def program(*names: str, is_killed: bool) -> None:
        async def guest(name: str) -> None:
            seat = await step_async("reserve", reserve, effect="once")
            await step_async("mail", mails.append, f"{name}: {seat}", effect="once")

        async with journal.run("a"):
            await asyncio.gather(*map(guest, names))
            if is_killed:
                raise Killed

    with pytest.raises(Killed):
        asyncio.run(program("Ada", "Bob", is_killed=True))
    with pytest.raises(DivergedError, match="has done mail"):
        asyncio.run(program("Bob", "Ada", is_killed=False))
    assert sorted(mails) == ["Ada: 1", "Bob: 2"]
    asyncio.run(program("Ada", "Bob", is_killed=False))
