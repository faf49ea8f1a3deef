"""The stores of a journal: one suite for SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from journal._places import Place
from journal._programs import Stateless, agent, crash_and_resume
from trivium import Agent
from trivium.commander import current
from trivium.exceptions import (
    DeadlineExceededError,
    JournalDamagedError,
    JournalError,
    JournalVersionError,
    RunAliveError,
    RunInputError,
    RunTakenOverError,
    UnknownRunError,
)
from trivium.journal import Entry, Journal, step, step_async
from trivium.journal._owners import Caller
from trivium.journal._store import Begun
from trivium.journal.lowlevel import Appending, PostgresRunStore, SQLiteRunStore, Store, Writing


def store_at(place: Place) -> Store:
    return PostgresRunStore(place.name) if place.name.startswith("postgresql") else SQLiteRunStore(place.name)


def entry(number: int, before: str = "") -> Entry:
    return Entry(number, "call", f"run#0/é{number}#0", "run#0", "é", "digest", '{"a":"\\u0000"}', 0.1 + number).linked(
        before
    )


def entries(many: int) -> list[Entry]:
    made: list[Entry] = []
    for number in range(1, many + 1):
        made.append(entry(number, made[-1].link if made else ""))
    return made


def in_child(act: Callable[[], object]) -> None:
    """Run it in a process of its own, which was forked."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


# ---- records
def test_records_come_back_as_they_were_and_each_attempt_gets_those_before(place: Place):
    store, written = store_at(place), entries(5)
    assert store.begin("a", "root", "digest", Caller.here()) == (1, [], False)
    store.append("a", 1, Writing(written[:2]))
    store.append("a", 1, Writing(written[2:]), is_durable=True)
    store.end("a", 1, "failed", "ValueError: no")
    store.leave("a", 1)
    assert [(run.id, run.root, run.status, run.why, run.epoch) for run in store.runs()] == [
        ("a", "root", "failed", "ValueError: no", 1)
    ]
    assert store.entries("a", after=3) == written[3:]
    assert store.begin("a", "root", "digest", Caller.here()) == (2, written, False)
    assert store.runs("a")[0].ended is None
    store.leave("a", 2)
    for given in (("a", "root", "other"), ("a", "other", "digest")):
        with pytest.raises(RunInputError):
            store.begin(*given, Caller.here())
    store.begin("b", "root", "digest", Caller.here())
    store.leave("b", 1)
    assert [run.id for run in store.runs()] == ["b", "a"]
    assert store.forget(["a", "never"]) == {"a"}
    assert [run.id for run in store.runs()] == ["b"]
    with pytest.raises(UnknownRunError, match="'a'"):
        store.runs("a")
    store.close()


def test_records_are_written_all_or_none_and_an_attempt_that_was_overtaken_writes_nothing(place: Place):
    store, written = store_at(place), entries(4)
    store.begin("a", "root", "digest", Caller.here())
    store.append("a", 1, Writing(written[:2]))
    with pytest.raises(JournalError):  # one of them is there
        store.append("a", 1, Writing([written[2], written[1]]))
    assert store.entries("a") == written[:2]
    place.execute("UPDATE run SET epoch = 2 WHERE id = 'a'")
    for act in (lambda: store.append("a", 1, Writing(written[2:])), lambda: store.end("a", 1, "done")):
        with pytest.raises(RunTakenOverError):
            act()
    assert (store.entries("a"), store.runs("a")[0].ended) == (written[:2], None)
    store.leave("a", 1)
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        f"UPDATE entry SET {name} = '7' WHERE seq = 3"
        for name in ("body", "digest", "name", "at", "link", "kind", "node")
    ]
    + ["DELETE FROM entry WHERE seq = 3", "DELETE FROM entry WHERE seq = 5", "DELETE FROM run", "DELETE FROM entry"],
)
def test_a_change_behind_its_back_is_detected(place: Place, change: str):
    store = store_at(place)
    store.begin("a", "root", "digest", Caller.here())
    store.append("a", 1, Writing(entries(5)))
    store.end("a", 1, "done")
    store.leave("a", 1)
    place.execute(change)
    for _ in range(2):
        with pytest.raises(JournalDamagedError, match=r"'a'.*restore"):
            store.begin("a", "root", "digest", Caller.here())
        if "DELETE FROM run" not in change:
            with pytest.raises(JournalDamagedError):
                store.entries("a")
    store.close()


def test_a_newer_journal_is_refused(place: Place):
    place.journal().runs()
    place.execute("PRAGMA user_version = 9" if place.name.endswith(".db") else "UPDATE journal SET version = 9")
    with pytest.raises(JournalVersionError, match="version 9"):
        place.journal().runs()


# ---- leases
def test_a_run_that_lives_is_waited_for_and_its_answer_is_that_of_all(place: Place):
    begun, go_on, asked = threading.Event(), threading.Event(), list[str]()

    def pay() -> str:
        asked.append("pay")
        begun.set()
        assert go_on.wait(20)
        return f"receipt {len(asked)}"

    answers: list[str] = []

    def program() -> None:
        with place.journal().run("a"):
            answers.append(step("pay", pay))

    async def both() -> None:
        async def other() -> None:
            async with place.journal().run("a"):
                answers.append(step("pay", pay))

        tasks = [asyncio.create_task(other()) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in tasks)  # and this loop goes on
        go_on.set()
        await asyncio.gather(*tasks)

    first, second = threading.Thread(target=program), threading.Thread(target=program)
    first.start()
    assert begun.wait(20)
    second.start()
    asyncio.run(both())
    first.join()
    second.join()
    assert (answers, asked) == (["receipt 1"] * 4, ["pay"])
    assert place.journal().info("a").status == "done"


def test_gathered_calls_of_one_run_are_one_run(place: Place):
    async def program() -> list[str]:
        journal = place.journal()
        calls = (agent().acall("Go.", run_id="a", journal=journal) for _ in range(4))
        return [each.content for each in await asyncio.gather(*calls)]

    assert asyncio.run(program()) == ["done"] * 4
    assert [each.kind for each in place.journal().entries("a")].count("intent") == 1


def test_the_wait_ends_with_the_deadline_of_the_call(place: Place):
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Stateless):
        def stream(self, request: Any) -> Any:
            begun.set()
            assert go_on.wait(20)
            return super().stream(request)

    def call(**options: Any) -> str:
        return Agent(Slow("hi"), name="slow")("Go.", run_id="a", journal=place.journal(), **options).content

    thread = threading.Thread(target=call)
    thread.start()
    assert begun.wait(20)
    with pytest.raises(DeadlineExceededError):
        call(timeout=0.2)
    go_on.set()
    thread.join()
    assert call() == "hi"


def test_a_call_that_would_wait_for_itself_is_an_error(place: Place):
    with place.journal().run("a"), pytest.raises(RunAliveError, match="await") as caught:
        _beside_the_run_tree(place)
    assert (caught.value.owner, caught.value.run_id, caught.value.is_here) == (os.getpid(), "a", True)

    async def program() -> None:
        async with place.journal().run("b"):
            task = asyncio.create_task(asyncio.to_thread(_beside_the_run_tree, place, "b"))
            with pytest.raises(RunAliveError):
                _beside_the_run_tree(place, "b")
        await task

    asyncio.run(program())


def _beside_the_run_tree(place: Place, run_id: str = "a") -> None:
    token = current.set(None)
    try:
        with place.journal().run(run_id):
            pass
    finally:
        current.reset(token)


def test_the_lease_of_a_process_that_was_killed_is_free(place: Place):
    def program() -> None:
        with place.journal().run("a"):
            step("look", lambda: "sunny", effect="read")
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        program()
    os.waitpid(child, 0)
    until = time.monotonic() + 10
    while place.journal().info("a").status == "running" and time.monotonic() < until:  # a server notes it a bit later
        time.sleep(0.01)
    assert place.journal().info("a").status == "killed"
    with place.journal().run("a"):
        assert place.journal().info("a").status == "running"
        assert step("look", lambda: "rainy", effect="read") == "sunny"
    assert place.journal().info("a").epoch == 2


def test_a_run_whose_end_could_not_be_written_may_be_begun_again(place: Place):
    journal = place.journal()

    def break_off() -> None:
        place.execute("UPDATE run SET epoch = 7 WHERE id = 'a'")

    with pytest.raises(RunTakenOverError), journal.run("a"):
        step("late", break_off)
    place.execute("UPDATE run SET epoch = 1 WHERE id = 'a'")
    with journal.run("a"):
        step("late", lambda: None, reconcile=lambda: "found out")
    assert (journal.info("a").status, journal.info("a").epoch) == ("done", 2)


def test_a_forked_child_opens_the_store_anew_but_leaves_the_run_to_its_parent(place: Place):
    journal = place.journal()
    with journal.run("before"):
        step("one", lambda: 1)

    def child() -> None:
        assert [run.id for run in journal.runs()] == ["a", "before"]
        with pytest.raises(RunTakenOverError, match="fork"):
            step("in the child", lambda: 2)
        token = current.set(None)
        with journal.run("c"):
            step("own", lambda: 3)
        current.reset(token)

    with journal.run("a"):
        in_child(child)
        assert step("after", lambda: 4) == 4
    assert [each.name for each in journal.entries("a") if each.kind == "outcome"] == ["after"]
    assert {run.id: run.status for run in journal.runs()} == {"a": "done", "before": "done", "c": "done"}


def test_processes_that_make_the_tables_at_once_do_not_hinder_each_other(place: Place):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_make_one, args=(place, f"run {number}")) for number in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 6
    assert len(place.journal().runs()) == 6


def _make_one(place: Place, run_id: str) -> None:
    with place.journal().run(run_id):
        step("one", lambda: 1)


# ---- crashes
@pytest.mark.parametrize("names", [["agent", "ledger", "person"], ["parallel", "session", "steps"]], ids=", ".join)
def test_a_program_that_is_killed_ends_as_if_it_had_not_been_on_postgresql(postgres: Place, names: list[str]):
    """Those that together call all methods of a store; in other ways the others are no different here."""
    assert crash_and_resume(names, postgres.name).keys() == {*names}


# ---- a server that fails
def test_what_an_act_gives_is_written_over_a_new_connection_where_the_old_one_is_lost(postgres: Place):
    def lose() -> str:
        others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        postgres.execute(f"SELECT pg_terminate_backend(pid) {others}")
        while postgres.execute(f"SELECT {others}"):  # the server ends them a moment later
            pass
        return "done once"

    journal = postgres.journal()

    with journal.run("a"):
        assert step("one", lambda: 1) == 1
        assert step("two", lose, effect="once") == "done once"
        assert step("three", lambda: 3) == 3
        assert journal.info("a").status == "running"
    with postgres.journal().run("a"):
        assert [step(name, lambda: "never") for name in ("one", "two", "three")] == [1, "done once", 3]
    assert (journal.info("a").status, journal.info("a").epoch) == ("done", 1)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("postgresql://ada:secret@127.0.0.1:1/runs", "check the URL"),
        ("postgresql://ada:secret@nowhere.invalid/runs?connect_timeout=2", "check the URL"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told_without_the_password(name: str, advice: str):
    journal = Place(name, _nothing).journal()
    with pytest.raises(JournalError, match=advice) as caught:
        journal.runs()
    assert "secret" not in f"{caught.value}{journal!r}"


def _nothing(sql: str) -> list[Any]:
    return []


def test_a_database_that_is_missing_full_of_connections_or_read_only_is_told(postgres: Place):
    with pytest.raises(JournalError, match=r"does not exist.*check the URL"):
        Place(postgres.name.replace("/postgres?", "/nothing?"), _nothing).journal().runs()
    postgres.journal().runs()
    read_only = f"{postgres.name}%20-cdefault_transaction_read_only%3Don"
    with pytest.raises(JournalError, match="primary"), Place(read_only, _nothing).journal().run("a"):
        pass
    nul = "a\0b"
    with pytest.raises(JournalError, match="NUL"), postgres.journal().run("a"):
        step(nul, time.time)


# ---- decisions
def test_a_decision_is_written_while_no_attempt_is_at_work_and_only_one_of_two(place: Place):
    store, written = store_at(place), entries(3)
    store.begin("a", "root", "digest", Caller.here())
    store.append("a", 1, Writing(written[:1]))
    store.end("a", 1, "paused", "waits")
    store.leave("a", 1)
    in_child(lambda: store_at(place).append("a", 1, Writing([written[1]]), is_durable=True))
    with pytest.raises(RunTakenOverError, match="decided"):
        store.append("a", 1, Writing([written[1]]))
    assert store.begin("a", "root", "digest", Caller.here()) == (2, written[:2], False)
    with pytest.raises(RunTakenOverError):
        store_at(place).append("a", 1, Writing(written[2:]))
    store.leave("a", 2)


# ---- loops
class Slow(SQLiteRunStore):
    """A store on a disk that takes its time."""

    def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
        time.sleep(0.2)
        return super().append_all(group)


def test_a_slow_disk_does_not_hold_up_the_loop(tmp_path: Path):
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.005)

    async def program() -> None:
        clock = asyncio.create_task(tick())
        async with Journal(Slow(tmp_path / "runs.db")).run("a"):
            await step_async("pay", lambda: 1)
            clock.cancel()

    asyncio.run(program())
    assert len(ticks) > 20
    assert max(later - sooner for sooner, later in pairwise(ticks)) < 0.15


def test_a_cancellation_while_an_intent_is_written_leaves_an_act_that_was_not_begun(tmp_path: Path):
    paid: list[int] = []
    journal = Journal(Slow(tmp_path / "runs.db"))

    async def program(seconds: float) -> None:
        async with journal.run("a"):
            await asyncio.wait_for(step_async("pay", lambda: paid.append(1)), seconds)

    with pytest.raises(TimeoutError):
        asyncio.run(program(0.05))
    assert paid == []
    asyncio.run(program(20))
    assert paid == [1]
    assert [each.kind for each in journal.entries("a")] == ["intent", "retry", "intent", "outcome"]


def test_an_outcome_is_kept_though_its_caller_was_cancelled_while_it_was_written(tmp_path: Path):
    paid: list[int] = []
    journal = Journal(Slow(tmp_path / "runs.db"))

    async def program(seconds: float) -> object:
        async with journal.run("a"):
            return await asyncio.wait_for(step_async("pay", lambda: paid.append(1) or "receipt"), seconds)

    with pytest.raises(TimeoutError):
        asyncio.run(program(0.3))
    assert asyncio.run(program(20)) == "receipt"
    assert paid == [1]


class SlowToBegin(SQLiteRunStore):
    """A store that takes its time to begin a run."""

    def begin(self, run_id: str, root: str, digest: str, caller: Caller) -> Begun:
        begun = super().begin(run_id, root, digest, caller)
        time.sleep(0.2)
        return begun


def test_a_cancellation_while_a_run_begins_leaves_it_free(tmp_path: Path):
    journal = Journal(SlowToBegin(tmp_path / "runs.db"))

    async def program() -> str:
        async with journal.run("a"):
            return await step_async("look", "{}".format, "seen", effect="read")

    async def cancelled() -> str:
        first = asyncio.create_task(program())
        await asyncio.sleep(0.05)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await program()

    assert asyncio.run(asyncio.wait_for(cancelled(), 5)) == "seen"
    journal.close()


def _look(file: str) -> None:
    journal = Journal(file)
    journal.runs()
    journal.close()


def test_another_process_never_takes_the_files_of_this_one_away(tmp_path: Path):
    """A process that closes a file loses the locks that SQLite holds on it; then the next one deletes the log."""
    file = tmp_path / "runs.db"
    journal = Journal(file)
    with journal.run("held"):
        second = Journal(file)  # a further connection of this process opens the file, while the first is at work
        second.runs()
        log = Path(f"{file}-wal").stat().st_ino
        process = multiprocessing.get_context("spawn").Process(target=_look, args=(str(file),))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        assert Path(f"{file}-wal").stat().st_ino == log
        step("late", int)
    assert journal.info("held").status == "done"
    second.close()
    journal.close()
