"""What is seen of queues and workers, and what is left of runs that are forgotten."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import psycopg
import pytest

from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    RunAliveError,
    UnknownRunError,
    UnknownScheduleError,
)
from trivium.journal import Entry, Journal, QueueInfo
from trivium.journal._postgres import PostgresRunStore

from ._fleet import Fleet
from .test_workers import until


def test_queues_workers_and_what_waits_are_listed(journal: Journal, workers: Fleet):
    assert (journal.queues(), journal.workers(), journal.waiting()) == ([], [], [])
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    journal.submit("clerk", "Go.", run_id="later", at=tomorrow)
    journal.submit("nobody", "Go.", run_id="a", queue="night")
    later, first = journal.waiting()[::-1]
    assert (first.id, first.program, first.queue, first.status, first.at) == ("a", "nobody", "night", "queued", None)
    assert (later.id, later.status, later.at) == ("later", "scheduled", pytest.approx(tomorrow.timestamp(), abs=60))
    assert (first.why, later.why) == ("no worker takes from 'night'", "")
    assert journal.queues() == [QueueInfo("default", 1, 0, 0, None, 0), QueueInfo("night", 0, 1, 0, None, 0)]
    first = workers.start("waiter", queues={"default": 3})
    running = journal.submit("waiter", "Go.", run_id="b")
    next(iter(running.events()))
    [worker] = journal.workers()
    assert (worker.pid, worker.queues[0]) == (first.pid, "default")
    assert journal.queues()[0] == QueueInfo("default", 1, 0, 1, 3, 1)
    workers.kill(first)
    until(lambda: journal.workers() == [])
    running.cancel()
    assert (running.status(), journal.info("b").status) == ("cancelled", "stopped")
    journal.submitted("later").cancel()
    assert [(each.status, each.at) for each in journal.waiting() if each.id == "later"] == [("cancelled", None)]
    with pytest.raises(ConfigurationError, match="in PostgreSQL"):
        Journal("runs.db").queues()


@pytest.mark.parametrize(
    ("queue", "put_in", "why"),
    [
        ("night", "night", "no worker takes from 'night'"),
        ("default", "default@nobody", "no worker that takes from 'default' serves 'nobody'"),
    ],
)
def test_a_run_that_no_worker_takes_tells_which_one_it_waits_for(
    journal: Journal, workers: Fleet, queue: str, put_in: str, why: str
):
    workers.start("echo")
    run = journal.submit("nobody", "Go.", run_id="a", queue=queue)
    until(lambda: [each.queue for each in journal.waiting()] == [put_in])
    assert [each.why for each in journal.waiting()] == [why]
    with pytest.raises(DeadlineExceededError, match=f"is queued after 0.01 s: {why}; it goes on"):
        run.result(timeout=0.01)


def test_nothing_is_left_of_a_run_that_is_forgotten(journal: Journal, workers: Fleet, url: str):
    workers.start("echo")
    run = journal.submit("echo", "hi", run_id="a")
    run.result(timeout=30)
    journal.submit("nobody", "hi", run_id="waits", queue="night")
    journal.submit("echo", "hi", run_id="sched-a", queue="night")  # no part of the run "a"
    with patch.object(Journal, "waiting", side_effect=AssertionError):  # it does not ask for all that wait
        assert journal.forget("a") == journal.forget("waits") == 1
    assert journal.forget("sched-a") == 1
    for forgotten in ("a", "waits"):
        with pytest.raises(UnknownRunError):
            journal.submitted(forgotten)
    with psycopg.connect(url) as database:
        for table in ("trivium_public.workflow_status", "trivium_public.workflow_input", "trivium_entry"):
            assert database.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)
    assert journal.submit("echo", "another", run_id="a").result(timeout=30).content == "another"


def test_a_session_without_runs_is_forgotten_and_nothing_else(journal: Journal, workers: Fleet):
    workers.start("waiter")
    running = journal.submit("waiter", "Go.", run_id="running")
    next(iter(running.events()))
    journal.submit("nobody", "Go.", run_id="queued", queue="night")
    journal.submit("echo", "Go.", run_id="later", at=datetime.now(UTC) + timedelta(days=1))
    schedule = journal.submit("echo", "Go.", run_id="clock", every="0 7 * * *")
    assert journal.forget(session_id="nobody") == 0
    assert {each.id for each in journal.waiting()} == {"queued", "later"}
    assert running.status() == "running"
    schedule.cancel()
    running.cancel()


def test_schedules_are_found_listed_and_deleted(journal: Journal, url: str):
    assert journal.schedules() == []
    journal.submit("echo", "Go.", run_id="clock", every="0 7 * * *", queue="night")
    journal.submit("clerk", "Go.", run_id="alarm", every="*/10 * * * * *")
    journal.submit("echo", "Go.", run_id="clock", every="0 8 * * *", queue="night")
    with closing(Journal(url)) as other:
        alarm, clock = other.schedules()
        assert (alarm.name, alarm.program, alarm.queue, alarm.every) == ("alarm", "clerk", "default", "*/10 * * * * *")
        assert (clock.name, clock.program, clock.queue, clock.every) == ("clock", "echo", "night", "0 8 * * *")
        assert (clock.next().hour, clock.next() > datetime.now(UTC)) == (8, True)
        other.scheduled("clock").cancel()
    assert [each.name for each in journal.schedules()] == ["alarm"]
    with pytest.raises(UnknownScheduleError, match="has no schedule 'clock': `trivium schedules` lists those"):
        journal.scheduled("clock")
    with pytest.raises(ConfigurationError, match="in PostgreSQL"):
        Journal("runs.db").schedules()


@pytest.mark.parametrize("is_forgotten_first", [False, True])
def test_nothing_is_left_of_a_schedule_that_is_cancelled_and_whose_runs_are_forgotten(
    journal: Journal, workers: Fleet, url: str, is_forgotten_first: bool
):
    workers.start("echo")
    own = journal.submit("echo", "mine", run_id="sched-clock-mine")
    other = journal.submit("echo", "another", run_id="clock-2", every="0 7 * * *")
    schedule = journal.submit("echo", "secret", run_id="clock", every="* * * * * *")
    until(lambda: sum(each.status() == "done" for each in schedule.runs()) >= 2)
    forgotten = schedule.runs()[0].id
    if is_forgotten_first:
        assert journal.forget(forgotten) == 1
    schedule.cancel()
    time.sleep(2.5)  # the worker looks at the schedules every second, and may submit one more
    until(lambda: all(each.status() == "done" for each in schedule.runs()))
    for each in schedule.runs():
        assert each.result().content == "secret"
        journal.forget(each.id)
    assert own.result(timeout=30).content == "mine"
    with psycopg.connect(url) as database:
        for table in ("trivium_public.workflow_input", "trivium_public.workflow_schedules"):
            assert "secret" not in str(database.execute(f"SELECT * FROM {table}".encode()).fetchall())
        found = database.execute("SELECT workflow_uuid FROM trivium_public.workflow_status").fetchall()
    assert found == [("sched-clock-mine",)]
    other.cancel()


def test_a_run_at_work_is_cancelled_before_it_is_forgotten(journal: Journal, workers: Fleet):
    workers.start("slow", at_once=1)
    run = journal.submit("clerk", "Go.", run_id="a")
    next(iter(run.events()))
    with pytest.raises(RunAliveError, match="'a' is at work: cancel it"):
        journal.forget("a")
    run.cancel()
    until(lambda: journal.info("a").status != "running")
    journal.forget("a")
    assert journal.submit("clerk", "Go.", run_id="b").result(timeout=30).content == "done"
    assert [each.id for each in journal.runs()] == ["b"]


def test_events_are_read_once(journal: Journal, workers: Fleet):
    read = list[int]()
    whole = PostgresRunStore.entries

    def entries(store: Any, run_id: str, after: int = 0) -> list[Entry]:
        found = whole(store, run_id, after)
        read.append(len(found))
        return found

    workers.start("slow")
    run = journal.submit("clerk", "Go.", run_id="a")
    with patch.object(PostgresRunStore, "entries", entries):
        seen = [*run.events()]
    assert [each.seq for each in seen] == [*range(1, len(seen) + 1)]
    assert sum(read) == len(seen)
    assert [*run.events(after=len(seen) - 1)] == seen[-1:]
    assert [*run.events(after=1000)] == []
