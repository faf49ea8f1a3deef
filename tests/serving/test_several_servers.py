"""Several servers with one PostgreSQL database: each of them answers for the runs of all."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import psycopg
import pytest

from _postgres import postgres_server
from journal._places import postgres_place
from serving._served import (
    GUARD,
    Shop,
    approve_all,
    ask,
    events_of,
    follow,
    make_shop,
    make_waiting_shop,
    own_process,
    serving,
    start,
)
from trivium import Agent
from trivium.actions import tool
from trivium.commander import ThreadEvent, wait
from trivium.exceptions import ConfigurationError
from trivium.journal import Journal
from trivium.llms import Delta, Request
from trivium.serving import AgentServer, OwnerLimits
from trivium.serving._store import RunRequest
from trivium.serving.lowlevel import RunStore
from trivium.testing import call_tool

_numbers = count()


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres_server() as server:
        yield server.get_uri()


@pytest.fixture
def journal(database: str) -> str:
    return postgres_place(database, f"several{next(_numbers)}").name


@contextmanager
def two_processes(journal: str, *arguments: str, marks: Path | None = None) -> Generator[tuple[Any, Any, Any]]:
    """Two servers in processes of their own: the first one, and a client of each. In the first one runs may wait."""
    with (
        own_process(journal, *arguments, marks=marks, made_by="make_waiting_shop") as (process, first),
        own_process(journal, marks=marks) as (_, second),
    ):
        yield process, first, second


def outcome(client: Any, run: str) -> Any:
    *_, last = events_of(client, run)
    return last["message"]["content"] if last["kind"] == "done" else last["kind"]


def test_a_run_is_followed_decided_and_cancelled_at_another_server(journal: str, tmp_path: Path):
    marks = tmp_path / "marks"
    with two_processes(journal, marks=marks) as (_, first, second):
        run = start(first, "buy", session_id="s")
        with ThreadPoolExecutor(1) as pool:
            followed = pool.submit(follow, first, run)  # until its end, at the server that began it
            approve_all(second, run)
            assert follow(second, run) == followed.result(GUARD) == follow(second, run, 0)
        assert marks.read_text().split() == ["price", "pay"]
        assert outcome(first, start(first, "hi", session_id="s")) == "You said 2."
        assert outcome(second, start(second, "hi", session_id="s")) == "You said 3."
        waiting = start(first, "wait")
        follow(second, waiting, until='"You "')  # a piece of text, as it comes
        assert second.post(f"/runs/{waiting}/cancel").json()["state"] == "cancelled"
        assert [outcome(each, waiting) for each in (first, second)] == ["cancelled", "cancelled"]
        assert second.delete(f"/runs/{waiting}").status_code == 200
        assert first.get(f"/runs/{waiting}").status_code == 404


def test_runs_of_a_server_that_was_killed_are_taken_up_by_another(journal: str):
    with two_processes(journal) as (process, first, second):
        asked = start(first, "buy")
        follow(first, asked, until='"paused"')
        runs = [start(first, "wait", session_id="s") for _ in range(3)]
        known = follow(second, runs[0], until='"You "')
        process.send_signal(signal.SIGKILL)
        runs.append(start(second, "hi", session_id="s"))  # while nobody is at work on those before it
        rest = follow(second, runs[0], len(known))
        assert [number for number, _ in known + rest] == [*range(1, len(known) + len(rest) + 1)]
        assert "resumed" in [json.loads(data)["kind"] for _, data in rest]
        assert [outcome(second, each) for each in runs] == [f"You said {number}." for number in (1, 2, 3, 4)]
        approve_all(second, asked)
        assert outcome(second, asked) == "You said 1."


def test_a_server_that_is_asked_to_end_hands_its_runs_over_to_another(journal: str):
    with two_processes(journal, "--grace", "0.1") as (process, first, second), ThreadPoolExecutor(2) as pool:
        asked = start(first, "buy")
        follow(first, asked, until='"paused"')
        run = start(first, "wait", session_id="s")
        queued = start(first, "hi", session_id="s")
        follow(first, run, until='"You "')
        here, there = pool.submit(follow, first, run), pool.submit(follow, second, run)
        process.send_signal(signal.SIGTERM)
        known = here.result(GUARD)  # the stream has an end, and is not broken off
        assert process.wait(GUARD) == 0
        rest = follow(second, run, len(known))
        assert known + rest == there.result(GUARD) == follow(second, run)
        assert [number for number, _ in known + rest] == [*range(1, len(known) + len(rest) + 1)]
        assert [outcome(second, each) for each in (run, queued)] == ["You said 1.", "You said 2."]
        approve_all(second, asked)
        assert outcome(second, asked) == "You said 1."


class Slow:
    """A model that looks a price up, and ends its answer when it may."""

    name = "slow"

    def __init__(self) -> None:
        self.may_end = ThreadEvent()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        if request.messages[-1]["role"] == "user":
            yield call_tool("price")
        else:
            yield "It costs "
            await wait(event=self.may_end)
            yield request.messages[-1]["content"]


@pytest.mark.parametrize("at_once", [1, 8])
def test_runs_outlive_a_restart_of_their_database(at_once: int):
    looked, slow, is_there = list[str](), Slow(), Semaphore(0)

    @tool(effect="read")
    def price() -> str:
        """Look the price up."""
        looked.append("")
        return "3"

    served = {"slow": Agent(slow, name="slow", tools=[price]), "shop": make_shop()}
    with postgres_server() as database:
        journal = postgres_place(database.get_uri(), "restarted").name
        with (
            serving(served, journal=journal) as first,
            serving(served, journal=journal) as second,
            ThreadPoolExecutor(at_once) as pool,
        ):
            asked = start(first, "buy", model="shop")
            follow(first, asked, until='"paused"')
            runs = [start((first, second)[at % 2], "go") for at in range(at_once)]
            known = [follow(first, each, until="It costs") for each in runs]
            followed = [pool.submit(follow, first, each, is_there=is_there) for each in runs]
            assert [is_there.acquire(timeout=GUARD) for _ in runs] == [True] * at_once
            database.stop()
            slow.may_end.set()  # the answer is whole, and cannot be written down
            refused = [each.post("/runs", json={"message": "go"}) for each in (first, second)]
            assert [(each.status_code, each.headers["retry-after"]) for each in refused] == [(503, "1")] * 2
            assert "try again" in refused[0].json()["error"]["message"]
            database.ensure_postgres_running()
            for each, before, whole in zip(runs, known, followed, strict=True):
                assert outcome(second, each) == "It costs 3"
                assert whole.result(GUARD) == follow(second, each) == before + follow(second, each, len(before))
            assert len(looked) == at_once
            approve_all(second, asked)
            assert outcome(first, asked) == "You said 1."


def test_a_conversation_has_one_turn_at_a_time_in_all_servers(journal: str):
    with serving(make_waiting_shop(), journal=journal, grace=0.1) as first, serving(journal=journal) as second:
        waiting = start(first, "wait", session_id="s")
        follow(first, waiting, until='"You "')
        queued = start(second, "hi", session_id="s")
        assert outcome(second, start(second, "hi", session_id="other")) == "You said 1."
        assert second.get(f"/runs/{queued}").json()["state"] == "queued"
        first.post(f"/runs/{waiting}/cancel")
        assert outcome(second, queued) == "You said 1."


def test_limits_of_an_owner_count_in_all_servers(journal: str):
    limits: dict[str, Any] = {"journal": journal, "owner_limits": OwnerLimits(runs=1)}
    with serving(make_waiting_shop(), **limits) as first, serving(**limits) as second:
        waiting = start(first, "wait")
        refused = second.post("/runs", json={"message": "hi"})
        assert [refused.status_code, refused.json()["error"]["limit"]] == [429, "runs"]
        second.post(f"/runs/{waiting}/cancel")
        assert outcome(second, start(second, "hi")) == "You said 1."
    limits["owner_limits"] = OwnerLimits(tokens_per_day=15)
    with serving(Agent(Shop()), **limits) as first, serving(Agent(Shop()), **limits) as second:
        refused = second.post("/runs", json={"message": "hi"})  # what the run above has spent
        assert [refused.status_code, refused.json()["error"]["limit"]] == [429, "tokens_per_day"]


def test_of_many_that_begin_at_once_no_more_begin_than_may(journal: str):
    limits: dict[str, Any] = {"journal": journal, "owner_limits": OwnerLimits(runs=2)}
    with (
        serving(_Waits(), grace=0.1, **limits) as first,
        serving(_Waits(), grace=0.1, **limits) as second,
        ThreadPoolExecutor(8) as pool,
    ):
        asked = [pool.submit(each.post, "/runs", json={"message": "x"}) for each in (first, second) * 4]
        assert sorted(each.result(GUARD).status_code for each in asked) == [202] * 2 + [429] * 6


def test_what_a_server_held_is_free_when_its_connection_breaks_and_it_writes_nothing_more(journal: str):
    mine, other = RunStore(journal), RunStore(journal)
    with closing(mine), closing(other), serving(make_waiting_shop(), journal=journal, grace=0.1) as client:
        run = start(client, "wait")
        follow(client, run, until='"You "')
        assert not other.database.hold(f"run/{run}")
        assert other.abandoned() == []
        assert mine.database.hold("a")
        assert not other.database.hold("a")
        with psycopg.connect(journal, autocommit=True) as database:
            database.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        deadline = time.monotonic() + GUARD
        while not other.database.hold("a"):  # PostgreSQL ends a process in its own time
            assert time.monotonic() < deadline
        assert mine.database.renew() == {"a"}
        assert mine.database.renew() == set()
        request, events = other.take_up(run)
        assert request is not None
        assert [request.epoch, len(events) > 1] == [1, True]
        assert other.write([(run, 99, "{}")], [], {run: 0}) == {run}
        assert other.write([(run, 99, "{}")], [], {run: 1}) == set()


def test_who_asks_for_a_run_while_it_is_taken_up_follows_it(journal: str, monkeypatch: pytest.MonkeyPatch):
    begun, may_go_on, take_up = Event(), Event(), RunStore.take_up

    def slow(store: RunStore, *given: Any) -> Any:
        begun.set()
        assert may_go_on.wait(GUARD)
        return take_up(store, *given)

    with serving(journal=journal) as client, closing(RunStore(journal)) as store, ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(RunStore, "take_up", slow)
        body = {"messages": "hi", "is_conversation": False, "of_client": False, "asks": True, "is_kept": True}
        store.add(RunRequest(id="run_x", owner="", name="shop", session="run_x", body=body))  # as a server that died
        assert begun.wait(GUARD)
        followed = pool.submit(follow, client, "run_x", is_there=(is_there := Semaphore(0)))
        assert is_there.acquire(timeout=GUARD)
        may_go_on.set()
        assert json.loads(followed.result(GUARD)[-1][1])["message"]["content"] == "You said 1."


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_of_an_earlier_version_runs_are_forgotten_go_on_and_get_the_columns_that_they_lack(
    kind: str, journal: str, tmp_path: Path
):
    place = journal if kind == "postgresql" else str(tmp_path / "runs.db")
    old = """CREATE TABLE trivium_served (id TEXT PRIMARY KEY, owner TEXT, name TEXT, session TEXT, state TEXT,
        created DOUBLE PRECISION, ended DOUBLE PRECISION, tokens INTEGER, usd DOUBLE PRECISION, before TEXT, body TEXT)
    """
    body = '{"messages": "buy", "of_client": false, "asks": true, "is_conversation": false}'
    row = f"""INSERT INTO trivium_served VALUES ('run_old', '', 'shop', 's', 'cancelled', 1, 2, 15, 0, '', '{{}}'),
        ('run_left', '', 'shop', 't', 'queued', 2, 0, 0, 0, '', '{body}'),
        ('run_gone', '', 'shop', 'u', 'queued', 3, 0, 0, 0, '', '{body}')"""
    sent = "CREATE TABLE trivium_sent (run TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run, seq))"
    if kind == "postgresql":
        with psycopg.connect(journal, autocommit=True) as database:
            for each in (old, row, sent):
                database.execute(each.encode())
    else:
        with closing(sqlite3.connect(place)) as file, file:
            for each in (old, row, sent):
                file.execute(each)
    with Journal(place) as opened:
        opened.forget("run_gone")
    with serving(journal=place) as client:
        assert outcome(client, start(client, "hi")) == "You said 1."
        assert [each["id"] for each in client.get("/runs").json()["runs"]][1:] == ["run_left", "run_old"]
        follow(client, "run_left", until='"paused"')
        approve_all(client, "run_left")
        assert outcome(client, "run_left") == "You said 1."


class _Waits(Agent):
    """An agent that waits until it is stopped."""

    def __init__(self) -> None:
        super().__init__(Shop())

    async def forward(self, *messages: Any, **given: Any) -> Any:
        await wait()


def test_an_sqlite_file_has_one_server_and_who_only_shows_its_runs_leaves_them_alone(tmp_path: Path):
    place = tmp_path / "runs.db"
    with serving(make_waiting_shop(), journal=place, grace=0.1) as client:
        with pytest.raises(ConfigurationError, match="PostgreSQL"), serving(journal=place):
            pass
        asked, waiting = start(client, "buy"), start(client, "wait")
        follow(client, asked, until='"paused"')
        follow(client, waiting, until='"You "')
        with AgentServer({}, port=0, token="t", journal=Journal(place)) as shows, ask(shows.url, "t") as other:
            [call] = other.get(f"/runs/{asked}").json()["approvals"]
            decision = {"digest": call["digest"], "approved": True}
            for path, body in ((f"{asked}/approvals", decision), (f"{asked}/cancel", {}), (f"{waiting}/cancel", {})):
                refused = other.post(f"/runs/{path}", json=body)
                assert [refused.status_code, refused.json()["error"]["type"]] == [409, "ServedElsewhere"]
        assert {each["state"] for each in client.get("/runs").json()["runs"]} == {"paused", "running"}
        approve_all(client, asked)
        assert outcome(client, asked) == "You said 1."
        assert client.post(f"/runs/{waiting}/cancel").json()["state"] == "cancelled"


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_run_whose_object_is_not_served_waits_for_a_server_that_has_it(
    is_shared: bool, tmp_path: Path, request: pytest.FixtureRequest
):
    journal: str = request.getfixturevalue("journal") if is_shared else str(tmp_path / "runs.db")
    with serving({"shop": make_waiting_shop()}, journal=journal, grace=0.0) as client:
        asked, left, cancelled = [start(client, each) for each in ("buy", "wait", "buy")]
        for run, until in ((asked, '"paused"'), (left, '"You "'), (cancelled, '"paused"')):
            follow(client, run, until=until)
    with serving({"another": make_shop()}, journal=journal) as client:
        approve_all(client, asked)
        assert client.post(f"/runs/{cancelled}/cancel").json()["state"] == "cancelled"
        states = [client.get(f"/runs/{each}").json()["state"] for each in (asked, left)]
        assert states == ["queued", "running"]  # the latter has begun, and nobody is at work on it
    with serving({"shop": make_shop()}, journal=journal) as client:
        assert [outcome(client, each) for each in (asked, left)] == ["You said 1.", "You said 1."]
        assert outcome(client, cancelled) == "cancelled"
