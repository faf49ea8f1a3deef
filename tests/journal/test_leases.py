"""The leases of a process on runs in PostgreSQL: one connection holds them all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest

from trivium import Module
from trivium.exceptions import JournalError
from trivium.journal import Journal, step_async

from ._places import Place


class Meeting(Module):
    """Waits within a run until all have come, and calls a step before and after it."""

    def __init__(self, count: int) -> None:
        super().__init__(name="meeting")
        self.left, self.all_here, self.may_go = count, asyncio.Event(), asyncio.Event()

    async def forward(self, message: object) -> str:
        await step_async("come", lambda: None, effect="read")
        self.left -= 1
        if not self.left:
            self.all_here.set()
        await self.may_go.wait()
        await step_async("go", lambda: None, effect="read")
        return "met"


def named(place: Place) -> tuple[Journal, str]:
    """A journal whose connections have a name, and that name."""
    name = place.name.rpartition("place_")[2]
    return Journal(f"{place.name}&application_name={quote(name)}"), name


async def meet(journal: Journal, meeting: Meeting, run_ids: list[str]) -> list[asyncio.Task[object]]:
    calls = [
        asyncio.ensure_future(meeting.acall("Come.", run_id=each, journal=journal, session_id=each)) for each in run_ids
    ]
    await asyncio.wait_for(meeting.all_here.wait(), 60)
    return calls  # type: ignore[return-value]


def go_on(journal: Journal) -> list[str]:
    again = Meeting(1)
    again.may_go.set()
    return [again("Come.", run_id=each, journal=journal, session_id=each).content for each in "abc"]


def test_many_runs_at_work_share_few_connections(postgres: Place):
    journal, name = named(postgres)

    async def program() -> tuple[int, list[str]]:
        meeting = Meeting(40)
        calls = await meet(journal, meeting, [f"run-{number}" for number in range(40)])
        with psycopg.connect(postgres.name) as database:
            query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
            row = database.execute(query, (name,)).fetchone()
        statuses = [each.status for each in journal.runs()]
        meeting.may_go.set()
        await asyncio.gather(*calls)
        assert row is not None
        return row[0], statuses

    connections, statuses = asyncio.run(program())
    assert connections <= 9
    assert statuses == ["running"] * 40
    assert [each.status for each in journal.runs()] == ["done"] * 40
    journal.close()


def nothing(postgres: Place) -> None:
    """What happens to the runs while nobody has their leases."""


def begin_others(postgres: Place) -> None:
    with closing(postgres.journal()) as other:
        assert go_on(other) == ["met"] * 3


def lose_records(postgres: Place) -> None:
    """Do as a server that is killed, or that another one replaces: its last commits may be missing."""
    postgres.execute("DELETE FROM entry WHERE seq = 2")
    postgres.execute("UPDATE run SET head = (SELECT link FROM trivium_entry WHERE run = id AND seq = 1)")


@pytest.mark.parametrize(("meanwhile", "goes_on"), [(nothing, True), (begin_others, False), (lose_records, False)])
def test_attempts_whose_leases_a_lost_connection_held_go_on_where_the_runs_are_as_they_left_them(
    postgres: Place, meanwhile: Callable[[Place], None], *, goes_on: bool
):
    journal, name = named(postgres)

    def until_killed() -> None:
        other = Journal(postgres.name)
        while any(each.status == "running" for each in other.runs()):
            time.sleep(0.01)
        other.close()

    async def program() -> list[object]:
        meeting = Meeting(3)
        calls = await meet(journal, meeting, ["a", "b", "c"])
        with psycopg.connect(postgres.name, autocommit=True) as database:
            holders = "SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
            query = f"SELECT count(pg_terminate_backend(pid)) FROM ({holders} AND application_name = %s) AS held"
            database.execute(query.encode(), (name,))
        await asyncio.to_thread(until_killed)
        await asyncio.to_thread(meanwhile, postgres)
        meeting.may_go.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    found = asyncio.run(program())
    if goes_on:
        assert [str(getattr(each, "content", each)) for each in found] == ["met"] * 3
        assert {(each.status, each.epoch) for each in journal.runs()} == {("done", 1)}
    else:
        assert [type(each) for each in found] == [JournalError] * 3
        assert "has lost its connection" in str(found[0])
    assert go_on(journal) == ["met"] * 3
    assert {each.status for each in journal.runs()} == {"done"}
    journal.close()


@pytest.mark.parametrize("count", [1, 12])
def test_runs_after_each_other_leave_no_lease(postgres: Place, count: int):
    journal, _ = named(postgres)
    for number in range(count):
        meeting = Meeting(1)
        meeting.may_go.set()
        meeting("Come.", run_id=f"run-{number}", journal=journal)
    assert postgres.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]
    journal.close()
