"""Errors that end runs after the program has gone on: which of them are tried again, and what is said of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from journal._worlds import World
from trivium import Agent, this_call
from trivium.exceptions import RecordedError
from trivium.journal import Journal, step, step_async
from trivium.testing import ScriptedModel


class Trip:
    """A program whose hotel is full the first time, and what it did.

    Args:
        journal: where its run is.
        book: the program, within the run.
    """

    def __init__(self, journal: Journal, book: Callable[[Trip], Awaitable[str]], run_id: str = "trip") -> None:
        self.journal, self.book, self.run_id, self.did = journal, book, run_id, list[str]()

    async def act(self, what: str, effect: Any = "once") -> str:
        async def perform(what: str) -> str:
            self.did.append(what)
            if what == "hotel" and self.did.count("hotel") == 1:
                raise ConnectionError("the hotel is full")
            return what

        return await step_async(what, perform, what, effect=effect)

    def attempt(self) -> str:
        """Return the answer, or the class of the error and its note."""

        async def main() -> str:
            async with self.journal.run(self.run_id):
                return await self.book(self)

        try:
            return asyncio.run(main())
        except Exception as error:
            return f"{type(error).__name__}: {' '.join(getattr(error, '__notes__', ()))}"


# ---- what was undone
async def undo_in_except(trip: Trip) -> str:
    await trip.act("flight")
    try:
        return await trip.act("hotel")
    except ConnectionError:
        await trip.act("cancel")
        raise


async def undo_in_finally(trip: Trip) -> str:
    await trip.act("lock")
    try:
        return await trip.act("hotel")
    finally:
        await trip.act("cancel")


async def undo_translated(trip: Trip) -> str:
    try:
        return await undo_in_except(trip)
    except ConnectionError as error:
        raise RuntimeError("no trip") from error


async def undo_after_the_handler(trip: Trip) -> str:
    found = await asyncio.gather(trip.act("flight"), trip.act("hotel"), return_exceptions=True)
    for error in found:
        if isinstance(error, BaseException):
            await trip.act("cancel")
            raise error
    return "hotel"


async def undo_in_a_branch_whose_tasks_have_failed(trip: Trip) -> str:
    async def branch() -> str:
        try:
            return (await asyncio.gather(trip.act("flight"), trip.act("hotel")))[1]
        except ConnectionError:
            await trip.act("cancel")
            raise

    return (await asyncio.gather(branch(), asyncio.sleep(0)))[0]


async def undo_in_new_tasks(trip: Trip) -> str:
    await trip.act("flight")
    try:
        return await trip.act("hotel")
    except ConnectionError:
        await asyncio.gather(asyncio.sleep(0), trip.act("cancel"))
        raise


@pytest.mark.parametrize(
    "book",
    [
        undo_in_except,
        undo_in_finally,
        undo_translated,
        undo_after_the_handler,
        undo_in_a_branch_whose_tasks_have_failed,
        undo_in_new_tasks,
    ],
)
def test_what_was_undone_is_not_taken_for_done(journal: Journal, book: Callable[[Trip], Awaitable[str]]):
    trip = Trip(journal, book)
    told = [trip.attempt() for _ in range(3)]
    assert trip.did[1:] == ["hotel", "cancel"]
    for at, each in enumerate(told):
        assert "not tried again, for cancel was done after it" in each
        assert ("this is the recorded error" in each) == (at > 0)
    key = told[-1].partition("fork(at='")[2].partition("'")[0]
    fork = journal.view("trip").fork(at=key)
    assert Trip(journal, book, fork.id).attempt().startswith(("ConnectionError", "RuntimeError"))
    assert Trip(journal, book, fork.id).did == []
    with pytest.raises((ConnectionError, RuntimeError)) as caught:
        asyncio.run(_replayed(journal, trip))
    assert not hasattr(caught.value, "__notes__")


async def _replayed(journal: Journal, trip: Trip) -> None:
    async with journal.view("trip").as_journal().run("trip"):
        await trip.book(trip)


# ---- what was only looked at, or done beside it
async def look_in_between(trip: Trip) -> str:
    try:
        return await trip.act("hotel")
    except ConnectionError:
        await trip.act("prices", "read")
        said = await Agent(ScriptedModel(["Too bad."]), name="adviser").acall("What now?")
        raise RuntimeError(f"{said.content} {this_call().now()} {this_call().new_id()}")  # noqa: B904 - on purpose


async def go_on_beside_it(trip: Trip) -> str:
    has_begun = asyncio.Event()

    async def fetch() -> str:
        await has_begun.wait()
        try:
            return await trip.act("hotel")
        except ConnectionError:
            await asyncio.sleep(0.01)
            raise RuntimeError("no hotel")  # noqa: B904 - on purpose

    async def other() -> str:
        await trip.act("first")
        has_begun.set()
        await asyncio.sleep(0.005)
        await trip.act("second")
        return await asyncio.create_task(trip.act("third"))

    found = await asyncio.gather(fetch(), other(), return_exceptions=True)
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


async def wait_in_turn(trip: Trip) -> str:
    turn = asyncio.Semaphore(1)

    async def branch(what: str) -> str:
        async with turn:
            return await trip.act(what)

    found = await asyncio.gather(branch("hotel"), branch("second"), return_exceptions=True)
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


@pytest.mark.parametrize("book", [look_in_between, go_on_beside_it, wait_in_turn])
def test_what_is_looked_at_or_done_in_another_branch_keeps_no_error(
    journal: Journal, book: Callable[[Trip], Awaitable[str]]
):
    trip = Trip(journal, book)
    assert trip.attempt() in ("RuntimeError: ", "ConnectionError: ")
    assert [trip.attempt() for _ in range(2)] == ["hotel"] * 2
    assert {each: trip.did.count(each) for each in trip.did} == {each: 1 + (each == "hotel") for each in trip.did}


def test_an_effect_that_fails_in_a_handler_is_tried_again_and_not_what_was_caught(journal: Journal):
    async def book(trip: Trip) -> str:
        try:
            await trip.act("charge")
            return await trip.act("hotel")
        except ConnectionError:
            return await step_async("find", find, effect="read")

    found: list[str] = []

    def find() -> str:
        found.append("find")
        if len(found) == 1:
            raise ConnectionError("away")
        return "it was charged"

    trip = Trip(journal, book)
    assert trip.attempt() == "ConnectionError: "
    assert [trip.attempt() for _ in range(2)] == ["it was charged"] * 2
    assert trip.did == ["charge", "hotel"]


def test_what_a_failure_costs_does_not_grow_with_the_tasks(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    seen = list[int]()
    all_tasks = asyncio.all_tasks

    def counted() -> set[asyncio.Task[Any]]:
        tasks = all_tasks()
        seen.append(len(tasks))
        return tasks

    async def book(trip: Trip) -> str:
        waiting = [asyncio.create_task(asyncio.sleep(60)) for _ in range(2000)]
        monkeypatch.setattr(asyncio, "all_tasks", counted)
        for _ in range(40):
            with pytest.raises(ZeroDivisionError):
                await step_async("divide", divmod, 1, 0, effect="idempotent")
        monkeypatch.undo()
        for each in waiting:
            each.cancel()
        return "done"

    assert Trip(journal, book).attempt() == "done"
    assert 2000 <= sum(seen) <= 40 * 300 + 2000


# ---- effects that fail with the same error object
@pytest.mark.parametrize("is_at_once", [False, True])
def test_of_effects_with_the_same_error_object_only_the_one_that_has_ended_the_run_is_tried_again(
    journal: Journal, is_at_once: bool
):
    calls, attempts = list[str](), [0]

    async def main() -> object:
        async def login() -> None:
            raise ConnectionError("away")

        session = asyncio.ensure_future(login())

        async def pay(how: str) -> str:
            calls.append(how)
            if attempts[0] == 1:
                await session
            return how

        async def card() -> str:
            try:
                return await step_async("card", pay, "card", effect="once")
            except ConnectionError:
                return "no card"

        attempts[0] += 1
        session.add_done_callback(lambda done: done.exception())  # which is not logged then
        async with journal.run("a"):
            await asyncio.wait([session])
            invoice = step_async("invoice", pay, "invoice", effect="once")
            return await asyncio.gather(card(), invoice) if is_at_once else [await card(), await invoice]

    with pytest.raises(ConnectionError) as caught:
        asyncio.run(main())
    if is_at_once:  # nobody knows which of them was caught, until each has an error of its own
        assert "and so have others, with the same error" in caught.value.__notes__[0]
        with pytest.raises(ConnectionError) as caught:
            asyncio.run(main())
        assert caught.value.__notes__[0].startswith("invoice has failed on 20")
    assert [asyncio.run(main()) for _ in range(2)] == [["no card", "invoice"]] * 2
    assert calls == ["card", "invoice", "invoice"]


# ---- what is said of recorded errors
def test_a_recorded_error_that_ends_an_attempt_says_so(tmp_path: Path):
    def program(world: World) -> str:
        with world.journal.run("a"):
            try:
                return step("ask", world.ask)
            finally:
                world.die()

    world = World(tmp_path)
    assert world.attempt(program, is_killed=True) == "killed"
    (tmp_path / "deadly").unlink()
    with pytest.raises(ConnectionError) as caught:
        program(world)
    (note,) = caught.value.__notes__
    assert note.startswith("ask has failed on 20")
    assert note.endswith("this is the recorded error: the next attempt tries it again")
    assert program(world) == "answered"


def test_an_error_for_what_was_told_long_ago_names_that(journal: Journal):
    async def book(trip: Trip) -> str:
        (found,) = await asyncio.gather(trip.act("hotel"), return_exceptions=True)
        if isinstance(found, BaseException):
            raise RecordedError("1 of 1 failed")
        return found

    trip = Trip(journal, book)
    assert trip.attempt() == "RecordedError: "
    told = trip.attempt()
    assert "hotel has failed on 20" in told
    assert "fork(at='" in told
    assert trip.did == ["hotel"]
