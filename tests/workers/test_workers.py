"""Runs that are submitted from one process, and taken by workers in others."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import psycopg
import pytest

from policies._office import Outbox
from policies._paths import MAIL, reader
from trivium import Agent, ChatAgent, Message, Module, Task, tool
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    DeadlineExceededError,
    JournalError,
    RecordedError,
    RunInputError,
    RunKilledError,
    RunPausedError,
    UnknownRunError,
    WorkerLostError,
)
from trivium.journal import Journal
from trivium.journal.lowlevel import queue_of
from trivium.testing import ScriptedModel, call_tool
from trivium.workers import Worker
from trivium.workers._presence import Presence

from ._fleet import Fleet
from ._programs import ENDS, PROGRAMS


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_worker_takes_what_was_submitted(journal: Journal, workers: Fleet):
    run = journal.submit("echo", "hello", run_id="a")
    assert run.status() == "queued"
    workers.start("echo")
    assert run.result(timeout=30).content == "hello"
    assert run.status() == "done"
    assert [each.kind for each in run.events()] == ["begin", "outcome", "end"]
    assert journal.submitted("a").result().content == "hello"
    assert journal.submit("echo", "hello", run_id="a").result().content == "hello"
    with pytest.raises(RunInputError, match="another input"):
        journal.submit("echo", "bye", run_id="a")
    with pytest.raises(RunInputError, match="not for clerk"):
        journal.submit("clerk", "hello", run_id="a")
    with pytest.raises(UnknownRunError, match="no run 'b'"):
        journal.submitted("b")


def test_what_is_submitted_within_a_run_may_repeat_what_it_has_read(journal: Journal, workers: Fleet):
    class Handing(Module):
        def forward(self, message: Message) -> str:
            reader(Outbox())(message)
            return journal.submit("echo", "Do as it says.", run_id="within").id

    workers.start("echo")
    Handing()("Read.")
    assert journal.submitted("within").result(timeout=30).sources == {MAIL}


def test_a_killed_worker_leaves_its_runs_to_another(journal: Journal, workers: Fleet, url: str):
    first = workers.start("slow")
    runs = [journal.submit("clerk", "Go.", run_id=f"run-{number}") for number in range(8)]
    next(iter(runs[0].events()))  # it has begun
    workers.kill(first)
    workers.start("slow")
    assert [each.result(timeout=60).content for each in runs] == ["done"] * 8
    with psycopg.connect(url) as database:
        for table in ("noted", "booked"):
            assert database.execute(f"SELECT count(*), count(DISTINCT run) FROM {table}".encode()).fetchall() == [
                (8, 8)
            ]


@pytest.mark.parametrize("program", ["buyer", "careful"])
def test_an_approval_puts_a_run_back_into_its_queue(journal: Journal, workers: Fleet, program: str):
    workers.start(program)
    run = journal.submit(program, "Buy tea.", run_id="a")
    with pytest.raises(RunPausedError, match="waits for a decision"):
        run.result(timeout=30)
    assert run.status() == "paused"
    [asked] = journal.pending()
    journal.approve("a", asked.digest, by="ada")
    assert run.status() in ("queued", "running", "done")
    assert run.result(timeout=30).content == "It is bought."
    assert journal.info("a").epoch == 2


def test_a_run_is_cancelled_between_a_decision_and_its_worker(journal: Journal, workers: Fleet):
    worker = workers.start("buyer")
    run = journal.submit("buyer", "Buy tea.", run_id="a")
    with pytest.raises(RunPausedError):
        run.result(timeout=30)
    workers.kill(worker)
    [asked] = journal.pending()
    journal.approve("a", asked.digest, by="ada")
    run.cancel()
    assert (run.status(), journal.info("a").status) == ("cancelled", "stopped")


def test_a_run_that_is_cancelled_in_the_moment_before_it_pauses_does_not_wait(journal: Journal):
    def answer(request: Any) -> Any:
        journal.submitted("a").cancel()
        return call_tool("buy", item="tea")

    @tool(effect="once", needs_approval=True)
    def buy(item: str) -> str:
        """Buy."""
        return f"bought {item}"

    worker = Worker(Agent(ScriptedModel(answer), tools=[buy], name="buyer"), journal, poll=0.05)
    with ThreadPoolExecutor() as threads:
        working = threads.submit(worker.run)
        run = journal.submit("buyer", "Buy tea.", run_id="a")
        try:
            next(iter(run.events()))
            until(lambda: journal.info("a").status == "stopped")
        finally:
            worker.stop()
        working.result(60)
    assert (run.status(), journal.info("a").status, journal.pending()) == ("cancelled", "stopped", [])


def test_a_run_is_cancelled_wherever_it_is(journal: Journal, workers: Fleet):
    queued = journal.submit("nobody", "Go.", run_id="queued")
    workers.start("waiter", "buyer")
    running = journal.submit("waiter", "Go.", run_id="running")
    paused = journal.submit("buyer", "Go.", run_id="paused")
    next(iter(running.events()))
    with pytest.raises(RunPausedError):
        paused.result(timeout=30)
    for run in (queued, running, paused):
        run.cancel()
        assert run.status() == "cancelled"
        with pytest.raises(RunKilledError, match=f"'{run.id}' was cancelled"):
            run.result(timeout=30)
    until(lambda: journal.info("running").status == "stopped")


def test_a_worker_that_stops_gives_its_runs_to_others(journal: Journal, workers: Fleet):
    first = workers.start("waiter", "echo", grace=0.2)
    run = journal.submit("waiter", "Go.", run_id="a")
    next(iter(run.events()))
    first.terminate()
    first.join(30)
    assert first.exitcode == 0
    assert (journal.info("a").status, run.status()) == ("stopped", "queued")
    workers.start("waiter")
    until(lambda: journal.info("a").epoch == 2)


def test_the_runs_of_an_older_release_wait_for_a_worker_that_has_it(journal: Journal, workers: Fleet):
    old = workers.start("stuck")
    runs = [journal.submit("clerk", "Go.", run_id=f"run-{number}") for number in range(3)]
    for run in runs:
        next(each for each in run.events() if each.kind == "outcome")
    workers.kill(old)
    workers.start("newer", queues={"default": 2})
    for run in runs:
        until(lambda run=run: journal.info(run.id).status == "failed" and run.status() == "queued")
        assert journal.info(run.id).why.startswith("AgentChangedError: clerk is not the agent with which the run")
    with pytest.raises(DeadlineExceededError, match="no worker that takes from 'default' has the agents with which it"):
        runs[0].result(timeout=0.01)
    later = journal.submit("clerk", "Go.", run_id="later")
    assert later.result(timeout=30).content == "done"
    workers.start("slow", queues={"default": 2})
    assert {each.concurrency for each in queue_of(journal).client.list_queues()} == {2}  # those passed on too
    assert [run.result(timeout=30).content for run in runs] == ["done"] * 3


def test_a_run_waits_for_a_worker_that_serves_its_program(journal: Journal, workers: Fleet):
    workers.start("echo")
    run = journal.submit("buyer", "Buy tea.", run_id="a")
    assert journal.submit("echo", "hi", run_id="b").result(timeout=30).content == "hi"
    until(lambda: run.status() == "queued")
    workers.start("buyer")
    with pytest.raises(RunPausedError):
        run.result(timeout=30)


def test_a_failed_run_raises_its_error_and_goes_on_when_it_is_submitted_again(
    journal: Journal, workers: Fleet, tmp_path: Path
):
    workers.start("fragile")
    fixed = tmp_path / "fixed"
    run = journal.submit("fragile", str(fixed), run_id="a")
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        run.result(timeout=30)
    assert run.status() == "failed"
    fixed.touch()
    assert journal.submit("fragile", str(fixed), run_id="a").result(timeout=30).content == "mended"


def test_a_run_that_exits_has_failed_and_its_worker_works_on(journal: Journal, workers: Fleet):
    workers.start("fragile", "echo")
    with pytest.raises(RecordedError, match=r"^SystemExit: 3$") as caught:
        journal.submit("fragile", "exit", run_id="a").result(timeout=30)
    assert caught.value.kind == "SystemExit"
    assert journal.submit("echo", "hi", run_id="b").result(timeout=30).content == "hi"


def test_a_worker_logs_the_error_of_a_run_but_not_that_it_waits(url: str, journal: Journal, caplog: Any):
    worker = Worker({name: PROGRAMS[name](url) for name in ("fragile", "buyer")}, journal, poll=0.05)
    with ThreadPoolExecutor() as threads:
        working = threads.submit(worker.run)
        try:
            with pytest.raises(RunPausedError):
                journal.submit("buyer", "Buy tea.", run_id="waits").result(timeout=30)
            with pytest.raises(ZeroDivisionError):
                journal.submit("fragile", "none", run_id="a").result(timeout=30)
        finally:
            worker.stop()
        working.result(60)
    [told] = [each for each in caplog.records if each.name == "trivium.worker"]
    assert told.getMessage() == "the run a failed"
    assert "str(1 / 0)" in caplog.text


def test_a_run_whose_error_has_no_text_fails_by_its_class(journal: Journal, workers: Fleet):
    workers.start("fragile")
    run = journal.submit("fragile", "weird", run_id="a")
    with pytest.raises(RecordedError, match="Weird"):
        run.result(timeout=30)
    assert [run.status(), journal.info("a").status, journal.info("a").why] == ["failed", "failed", "Weird"]


@pytest.mark.parametrize("where", ["module", "model", "task"])
def test_whatever_ends_a_run_it_has_failed_and_its_worker_works_on(journal: Journal, workers: Fleet, where: str):
    workers.start("ending", "echo")
    for number, (what, kind) in enumerate(ENDS.items()):
        run = journal.submit("ending", f"{what} in {where}", run_id=f"run-{number}")
        with pytest.raises(RecordedError, match=kind.__name__):
            run.result(timeout=30)
        assert (run.status(), journal.info(run.id).status) == ("failed", "stopped")
        assert journal.submit("echo", "hi", run_id=f"echo-{number}").result(timeout=30).content == "hi"


def test_a_sync_tool_holds_its_worker_up_for_two_seconds_and_others_take_the_run(
    journal: Journal, workers: Fleet, tmp_path: Path
):
    first = workers.start("blocked", grace=0.5)
    run = journal.submit("blocked", str(tmp_path / "hold"), run_id="a")
    until((tmp_path / "hold.again").exists)
    workers.start("blocked")
    begun = time.monotonic()
    first.terminate()
    first.join(30)
    assert time.monotonic() - begun < 5
    assert run.result(timeout=30).content == "free"


def test_a_run_that_is_the_end_of_its_workers_fails_and_is_tried_again_when_it_is_submitted(
    journal: Journal, workers: Fleet, tmp_path: Path
):
    file = tmp_path / "there"
    run = journal.submit("deadly", str(file), run_id="a")
    for _ in range(3):  # the first got as far as the tool, two more no further
        workers.start("deadly", attempts=2).join(60)
        assert run.status() == "running"  # as far as anybody knows
    workers.start("deadly", attempts=2)
    with pytest.raises(WorkerLostError, match="'a' was the end of its process 2 times, and got no further") as caught:
        run.result(timeout=30)
    assert (caught.value.run_id, caught.value.attempts, run.status()) == ("a", 2, "failed")
    assert journal.info("a").status == "failed"
    assert journal.info("a").why.startswith("WorkerLostError: ")
    file.touch()
    assert journal.submit("deadly", str(file), run_id="a").result(timeout=30).content == "done"


def test_a_run_that_may_be_the_end_of_its_worker_waits_and_can_be_cancelled(journal: Journal, workers: Fleet, url: str):
    run = journal.submit("waiter", "Wait.", run_id="a")
    first = workers.start("waiter")
    next(iter(run.events()))
    workers.kill(first)
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("UPDATE trivium_run SET epoch = epoch + 6 WHERE id = 'a'")
    attempts = journal.info("a").epoch
    worker = Worker(PROGRAMS["waiter"](url), journal, poll=0.05)
    with ThreadPoolExecutor() as threads:
        working = threads.submit(worker.run)
        try:
            until(lambda: worker.runs == ["a"])
            run.cancel()
            until(lambda: worker.runs == [])
            assert (run.status(), journal.info("a").epoch) == ("cancelled", attempts)  # it was not begun again
        finally:
            worker.stop()
        working.result(60)


def test_runs_at_a_time_and_again_and_again(journal: Journal, workers: Fleet):
    with pytest.raises(ConfigurationError, match="no time zone"):
        journal.submit("echo", "hi", run_id="a", at=datetime(2030, 1, 1))
    later = journal.submit("echo", "hi", run_id="later", at=datetime.now(UTC) + timedelta(seconds=1))
    assert later.status() == "scheduled"
    schedule = journal.submit("echo", "tick", run_id="clock", every="* * * * * *")
    journal.submit("echo", "tock", run_id="clock", every="* * * * * *")
    with pytest.raises(ConfigurationError, match="no schedule"):
        journal.submit("echo", "tick", run_id="clock", every="noon")  # the one that is there stays
    journal.submit("echo", "tock", run_id="clock-work")  # none of its runs
    workers.start("echo")
    assert later.result(timeout=30).content == "hi"
    until(lambda: len(schedule.runs()) > 1)
    schedule.cancel()
    made = schedule.runs()
    assert "clock-work" not in [each.id for each in made]
    assert made[0].result(timeout=30).content == "tock"
    assert made[0].id.startswith("clock-20")


def test_priorities_and_limits(journal: Journal, workers: Fleet):
    for number, priority in enumerate((3, 2, 1, 0)):
        journal.submit("echo", "hi", run_id=f"run-{number}", priority=priority, queue="narrow")
    workers.start("echo", queues={"narrow": 1})
    for number in range(4):
        journal.submitted(f"run-{number}").result(timeout=30)
    runs = sorted(journal.runs(), key=lambda each: each.started)
    assert [each.id for each in runs] == ["run-3", "run-2", "run-1", "run-0"]
    assert all((one.ended or 0) <= other.started for one, other in pairwise(runs))  # one at a time


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"program": "ec\0ho"}, "cannot be the name of a program"),
        (
            {"program": 5},
            "^a call takes the name under which workers serve .* or the module itself, as program, not int",
        ),
        ({"program": print}, "as program, not builtin_function"),
        ({"program": Path("agents.py")}, "as program, not .*Path"),
        ({"program": Thread(name="echo")}, "as program, not Thread"),
        ({"program": Agent}, "as program, not "),
        ({"program": None, "every": "0 7 * * *"}, "as program, not NoneType"),
        ({"run_id": " "}, "cannot be the name of a run"),
        ({"run_id": "a\ud800"}, "cannot be the name of a run"),
        ({"queue": ""}, "cannot be the name of a queue"),
        ({"queue": "night@home"}, "which is for runs that workers pass on"),
        ({"priority": -1}, "priority=-1 is none"),
        ({"timeout": math.inf}, "timeout=inf is none"),
        ({"timeout": math.nan}, "timeout=nan is none"),
        ({"every": "0 7 * * *", "priority": 2}, "every= goes with neither"),
        ({"every": "0 0 30 2 *"}, "is no schedule .failed to find next date"),
        ({"every": 5}, "takes text such as '0 7 [*] [*] [*]' as every, not int"),
        ({"at": "tomorrow"}, "as at, not str"),
        ({"priority": "high"}, "takes a whole number as priority, not str"),
        ({"run_id": "a" * 501}, "the name of a run has 501 characters, as 'aaaa"),
    ],
)
def test_what_would_be_in_the_way_of_others_is_not_submitted(journal: Journal, given: dict[str, Any], told: str):
    options: dict[str, Any] = {"program": "echo", "run_id": "a", **given}
    with pytest.raises(ConfigurationError, match=told):
        journal.submit(options.pop("program"), "hi", **options)
    assert journal.waiting() == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"at_once": 0}, "at_once=0 takes no runs"),
        ({"poll": 0}, "give poll above 0"),
        ({"grace": math.nan}, "grace at least 0"),
        ({"attempts": 0}, "attempts=0 tries no run"),
        ({"queues": {"night": 0}}, "the queue night has 0 runs at once"),
        ({"queues": ["a@b"]}, "which is for runs that workers pass on"),
        ({"queues": {"a": "3"}}, r"^a worker takes a whole number as queues\['a'\], not str"),
        ({"queues": None}, "^a worker takes names of queues as queues, not NoneType"),
        ({"at_once": "5"}, "^a worker takes a whole number as at_once, not str"),
        ({"attempts": 2.5}, "^a worker takes a whole number as attempts, not float"),
        ({"grace": "5"}, "^a worker takes seconds as grace, not str"),
        ({"journal": "runs.db"}, "^a worker takes .* as journal, not str"),
        (
            {"served": {"asks": Task(ChatAgent(ScriptedModel(["hello"])))}},
            "is interactive, and nobody is at the terminal",
        ),
    ],
)
def test_a_worker_that_would_do_nothing_is_not_made(journal: Journal, given: dict[str, Any], told: str):
    options: dict[str, Any] = {"served": Agent(ScriptedModel(["hello"])), "journal": journal, **given}
    with pytest.raises(ConfigurationError, match=told):
        Worker(**options)


@pytest.mark.parametrize("served", ["clerk", [Agent(ScriptedModel(["hello"]))]])
def test_what_is_no_module_is_an_argument_of_a_wrong_type(journal: Journal, served: Any):
    with pytest.raises(ArgumentTypeError, match="cannot be served"):
        Worker(served, journal)


@pytest.mark.parametrize("number", [2.0, np.int64(2), Fraction(2)])
def test_whole_numbers_are_of_any_type(journal: Journal, number: Any):
    agent = Agent(ScriptedModel(["hello"]), name="echo")
    worker = Worker(agent, journal, queues={"a": number}, at_once=number, attempts=number, grace=number)
    assert (worker.queues, type(worker.queues["a"])) == ({"a": 2}, int)
    run = journal.submit("echo", "hi", run_id="a", queue="a", priority=number)
    drained = Thread(target=lambda: [run.result(timeout=30), worker.stop()])
    worker.run(drained.start)
    drained.join()
    assert run.result().content == "hello"


def test_workers_may_begin_at_once_in_a_new_database(journal: Journal):
    journal.runs()  # which makes the journal's tables
    begin = Barrier(8)

    def hold(number: int) -> None:
        presence = Presence(queue_of(journal), f"worker-{number}", ("host", 1, ["default"], 0.0))
        begin.wait(30)
        presence.hold()
        presence.leave()

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(hold, range(8))] == [None] * 8


async def seen_async(journal: Journal) -> list[object]:
    run = journal.submit("echo", "hi", run_id="a")
    kinds = [each.kind async for each in run.events()]
    return [kinds, await run.status_async(), (await run.result_async(timeout=30)).content, await run.cancel_async()]


def test_the_same_from_async_code(journal: Journal, workers: Fleet):
    workers.start("echo")
    assert asyncio.run(seen_async(journal)) == [["begin", "outcome", "end"], "done", "hi", None]


def test_what_cannot_be_queued(tmp_path: Path, url: str, journal: Journal):
    with pytest.raises(ConfigurationError, match="runs are queued in PostgreSQL"):
        Journal(tmp_path / "runs.db").submit("echo", "hi", run_id="a")
    agent = Agent(ScriptedModel(["hello"]), name="echo")
    with pytest.raises(ConfigurationError, match="at least one of each"):
        Worker({}, journal)
    assert Worker(agent, journal, queues="night").queues == {"night": None}
    worker, errors = Worker(agent, journal), list[str]()

    def meanwhile() -> None:
        try:
            Worker(agent, journal).run()
        except ConfigurationError as error:
            errors.append(str(error))
        worker.stop()

    worker.run(meanwhile)
    assert "a worker already" in errors[0]
    unreachable = Journal(url.replace("postgres:@", "postgres:secret@").replace("stores-", "nothing-"))
    with pytest.raises(JournalError, match="cannot be used") as raised:
        unreachable.submit("echo", "hi", run_id="a")
    assert "secret" not in str(raised.value)
