"""What others do with the runs of a server: they forget them, decide too late, or delete one at the same moment."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import psycopg
import pytest

from serving._served import (
    GUARD,
    approve_all,
    follow,
    make_waiting_shop,
    outcome,
    own_process,
    said,
    serving,
    start,
)
from trivium import Agent
from trivium.actions import tool
from trivium.cli._runs import forget_runs
from trivium.commander.lowlevel import run_in_worker
from trivium.exceptions import RunAliveError, UnknownRunError
from trivium.journal import Journal
from trivium.serving._approvals import Approvals
from trivium.serving._log import first_event
from trivium.serving._store import DAY_SECONDS, RunRequest, RunStore
from trivium.serving._work import Work
from trivium.testing import ScriptedModel, call_tool


def paused(client: Any, **body: Any) -> str:
    run = start(client, "buy", **body)
    follow(client, run, until='"paused"')
    return run


def forget(journal: str, run: str) -> None:
    with closing(Journal(journal)) as other:
        other.forget(run)


def test_a_run_that_is_forgotten_while_it_waits_ends_for_those_who_follow_it_and_spoils_nothing(journal: str):
    with serving(journal=journal) as client, ThreadPoolExecutor() as pool:
        run, is_there = paused(client, session_id="s"), Semaphore(0)
        followed = pool.submit(follow, client, run, is_there=is_there)
        assert is_there.acquire(timeout=GUARD)
        forget(journal, run)
        last = json.loads(followed.result(GUARD)[-1][1])
        assert [last["kind"], last["why"]] == ["cancelled", "its records were deleted from the journal"]
        assert client.get(f"/runs/{run}").status_code == 404
        assert client.get("/ui/approvals").status_code == 200
        assert said(client, "hi", session_id="s") == "You said 1."


def test_others_expire_though_one_was_forgotten(journal: str):
    with serving(journal=journal) as client:
        runs = [paused(client) for _ in range(2)]
    forget(journal, runs[0])
    with serving(journal=journal, approval_seconds=0.001) as client:
        assert "approval_seconds" in outcome(client, runs[1])["why"]
        assert client.get(f"/runs/{runs[0]}").status_code == 404


def test_a_conversation_goes_on_from_the_run_before_the_one_that_was_forgotten(journal: str):
    with serving(journal=journal) as client:
        runs = [start(client, "hi", session_id="s") for _ in range(3)]
        assert outcome(client, runs[-1]) == "You said 3."
        forget(journal, runs[-1])  # the server runs
        runs[-1] = start(client, "hi", session_id="s")
        assert outcome(client, runs[-1]) == "You said 3."
    forget(journal, runs[-1])
    with serving(journal=journal) as client:
        runs[-1] = start(client, "hi", session_id="s")
        assert outcome(client, runs[-1]) == "You said 3."
        with closing(Journal(journal)) as other:
            assert other.forget(session_id="s") == 3
        assert said(client, "hi", session_id="s") == "You said 1."


def rows(journal: str) -> str:
    """All that the tables of a database hold."""
    if "://" in journal:
        with psycopg.connect(journal) as database:
            names = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
            return str([database.execute(f"SELECT * FROM {name}".encode()).fetchall() for (name,) in names])
    with closing(sqlite3.connect(journal)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return str([database.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names])


@pytest.mark.parametrize("is_served", [True, False])
def test_nothing_that_can_be_read_is_left_of_a_run_that_is_forgotten(journal: str, is_served: bool):
    with serving(journal=journal) as client:
        run = start(client, "my secret is xyzzy", session_id="s")
        assert outcome(client, run) == "You said 1."
        assert "xyzzy" in rows(journal)
        if is_served:
            forget(journal, run)
            assert said(client, "hi", session_id="s") == "You said 1."
            assert [client.get(f"/runs/{run}{of}").status_code for of in ("", "/events")] == [404, 404]
            assert run not in client.get("/runs").text
    if not is_served:
        forget(journal, run)
    assert "xyzzy" not in rows(journal)
    assert run not in rows(journal)
    if "://" not in journal:
        files = [each.read_bytes() for each in Path(journal).parent.glob("runs.db*")]
        assert not any(b"xyzzy" in each for each in files)
    with closing(RunStore(journal)) as store:
        assert store.spent_since("", time.time() - DAY_SECONDS)[0] >= 15  # what it has spent still counts


def test_a_server_deletes_all_runs_that_are_due_but_those_at_work_elsewhere(tmp_path: Path):
    place = tmp_path / "runs.db"
    with serving(journal=place) as client:
        outcome(client, start(client, "hi"))
    with closing(sqlite3.connect(place)) as database, database:
        names = [row[1] for row in database.execute("PRAGMA table_info(trivium_served)")]
        copied = ", ".join("'copy-' || value" if each == "id" else each for each in names)
        database.execute(
            f"INSERT INTO trivium_served SELECT {copied} FROM trivium_served, json_each(?)", [str([*range(250)])]
        )
    with closing(Journal(place)) as other, other.run("copy-7"), serving(journal=place, keep_days=1e-9) as client:
        deadline = time.monotonic() + GUARD
        while len(client.get("/runs?limit=1000").json()["runs"]) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [each["id"] for each in client.get("/runs").json()["runs"]] == ["copy-7"]


def test_a_run_at_work_is_not_forgotten(journal: str):
    with serving(make_waiting_shop(), journal=journal) as client:
        run = start(client, "wait", session_id="s")
        follow(client, run, until='"delta"')
        with closing(Journal(journal)) as other:
            for given in ({"run_id": run}, {"session_id": "s"}):
                with pytest.raises(RunAliveError, match=f"{run}' is at work: cancel it"):
                    other.forget(**given)
        assert client.post(f"/runs/{run}/cancel").json()["state"] == "cancelled"
        forget(journal, run)
        assert client.get(f"/runs/{run}").status_code == 404


def test_a_run_that_waits_for_its_turn_is_cancelled_before_it_is_forgotten(journal: str, capsys: Any):
    with serving(make_waiting_shop(), journal=journal) as client, closing(Journal(journal)) as other:
        first = start(client, "wait", session_id="s")
        follow(client, first, until='"delta"')
        run = start(client, "my secret is xyzzy", session_id="s")
        assert client.get(f"/runs/{run}").json()["state"] == "queued"
        said_why = f"{run}' waits for its turn at a server: cancel it first"
        with pytest.raises(RunAliveError, match=said_why):
            other.forget(run)
        with pytest.raises(RunAliveError, match=said_why):
            forget_runs(other, [run], None)
        assert client.post(f"/runs/{run}/cancel").json()["state"] == "cancelled"
        with pytest.raises(UnknownRunError):
            forget_runs(other, ["never"], None)
        assert "xyzzy" in rows(journal)
        assert forget_runs(other, [run], None) == 0  # of which the journal has no record
        assert capsys.readouterr().err == "1 run is deleted\n"
        assert "xyzzy" not in rows(journal)
        client.post(f"/runs/{first}/cancel")


def test_a_run_that_was_approved_is_not_forgotten_before_it_begins(journal: str, monkeypatch: pytest.MonkeyPatch):
    begins, may_begin, attempt = Event(), Event(), Work._attempt  # type: ignore[reportPrivateUsage]

    async def slow(work: Work, *given: Any) -> None:
        begins.set()
        await run_in_worker(may_begin.wait)
        await attempt(work, *given)

    with serving(journal=journal) as client:
        run = paused(client)
        monkeypatch.setattr(Work, "_attempt", slow)
        approve_all(client, run)
        assert begins.wait(GUARD)
        with pytest.raises(RunAliveError):
            forget(journal, run)
        may_begin.set()
        assert outcome(client, run) == "You said 1."
        forget(journal, run)


def test_what_was_done_before_a_pause_is_not_done_again_where_it_is_forgotten(tmp_path: Path):
    """As where the server keeps what was asked elsewhere: the journal cannot tell then that it is at work."""
    place = tmp_path / "runs.db"
    with closing(RunStore(place)) as store:
        body = {"messages": "buy", "is_conversation": False, "of_client": False, "asks": True, "is_kept": True}
        run = made_run(1, owner="", ended=0.0, state="queued", body=body)
        store.add(run, "", first_event(run), {"seq": 2, "kind": "paused", "time": 1.0, "approvals": []})
    with serving(journal=str(place)) as client:
        last = outcome(client, "run_1")
        assert [last["kind"], last["why"]] == ["cancelled", "its records were deleted from the journal"]


@pytest.mark.parametrize("gone_by", ["close", "run", "sweep"])
def test_what_is_forgotten_beside_a_reader_leaves_the_log_when_he_has_ended(tmp_path: Path, gone_by: str):
    place, journal = tmp_path / "runs.db", Journal(tmp_path / "runs.db")
    agent = Agent(ScriptedModel(lambda _: "yes"), name="a", memory=False)
    agent("my secret is xyzzy", run_id="r", journal=journal)

    def is_left() -> bool:
        return any(b"xyzzy" in each.read_bytes() for each in tmp_path.glob("runs.db*"))

    with closing(sqlite3.connect(place, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM run").fetchall()
        assert [journal.forget("r"), is_left()] == [1, True]
        assert journal.sweep() == f"{place}-wal"
        reader.execute("COMMIT")
        if gone_by == "close":
            journal.close()
        elif gone_by == "run":
            agent("my name is Ada", run_id="s", journal=journal)
        else:
            assert journal.sweep() == ""
        assert not is_left()


def test_a_run_whose_process_has_died_is_forgotten(journal: str):
    with own_process(journal, made_by="make_waiting_shop") as (_, client):
        run = start(client, "wait")
        follow(client, run, until='"delta"')
    with closing(Journal(journal)) as other:
        end = time.monotonic() + 20
        while other.info(run).status == "running" and time.monotonic() < end:
            pass  # PostgreSQL notices in a moment that the connection of a process is gone
        assert other.info(run).status == "killed"
        assert other.forget(run) == 1
    with serving(journal=journal) as client:
        assert client.get(f"/runs/{run}").status_code == 404


@pytest.mark.parametrize("is_late", [True, False])
def test_what_is_approved_too_late_in_the_journal_is_not_done(journal: str, is_late: bool):
    with serving(journal=journal) as client:
        run = paused(client)
    with closing(Journal(journal)) as other:
        [waiting] = other.pending(run)
        other.approve(run, waiting.digest, by="ada")
    with serving(journal=journal, approval_seconds=0.001 if is_late else 600) as client:
        ended = outcome(client, run)
        assert "approval_seconds" in ended["why"] if is_late else ended == "You said 1."


def made_run(number: int, **given: Any) -> RunRequest:
    now = time.time()
    given = {"owner": "ada", "name": "shop", "created": now, "ended": now, "state": "done", "tokens": 10, **given}
    return RunRequest(id=f"run_{number}", session="s", **given)


def test_a_run_that_is_deleted_twice_at_once_has_spent_once(journal: str):
    with closing(RunStore(journal)) as one, closing(RunStore(journal)) as other, ThreadPoolExecutor(2) as pool:
        for number in range(20):
            one.add(made_run(number))
            assert [*pool.map(RunStore.forget, (one, other), [f"run_{number}"] * 2)] == [None] * 2
        assert one.spent_since("ada", time.time() - DAY_SECONDS) == (200, 0.0)


def test_what_is_spent_counts_for_a_day_from_when_a_run_was_at_work(journal: str):
    before = time.time() - 2 * DAY_SECONDS
    with closing(RunStore(journal)) as store:
        store.add(made_run(1, created=before, ended=before, tokens=1))
        store.add(made_run(2, created=before, tokens=20))
        store.add(made_run(3, created=before, ended=0.0, state="paused", tokens=300))
        for run in ("run_1", "run_2", ""):
            assert store.spent_since("ada", time.time() - DAY_SECONDS) == (320, 0.0)
            store.forget(run)


def test_a_run_of_a_client_that_has_gone_ends_though_nobody_serves_its_object_any_more(journal: str):
    body = {"of_client": True, "is_kept": True, "asks": False}
    with closing(RunStore(journal)) as store:
        store.add(made_run(1, owner="", name="old", ended=0.0, state="running", body=body))
    with serving(journal=journal) as client:
        assert outcome(client, "run_1")["why"] == "the server has ended, and its client with it"


def make_asking_twice() -> Agent:
    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    model = ScriptedModel([call_tool("pay", amount=1), call_tool("pay", amount=2), "done"])
    return Agent(model, name="shop", tools=[pay])


def test_a_decision_on_a_call_that_is_done_is_not_too_late_for_the_next(tmp_path: Path):
    place = str(tmp_path / "runs.db")
    with serving(make_asking_twice(), journal=place) as client:
        run = paused(client)
        time.sleep(1.0)  # what is measured is time
        approve_all(client, run)
        follow(client, run, len(follow(client, run, until='"paused"')), until='"paused"')
    with closing(Journal(place)) as other:
        [waiting] = other.pending(run)
        other.approve(run, waiting.digest, by="ada")
        took = other.entries(run)[-1].at - waiting.asked_at
        approvals = Approvals(other, took + 0.1)
        assert asyncio.run(approvals.settled(run)) == ""
