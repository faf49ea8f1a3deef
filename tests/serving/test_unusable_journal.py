"""Journals that cannot be used for a while: no run ends by that, and no client is told that its tool has failed."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event

import pytest

from _postgres import postgres_server
from journal._places import Place, postgres_place, sqlite_place
from serving._served import GUARD, events_of, follow, make_waiting_shop, outcome, serving, start
from trivium import Agent
from trivium.actions import tool
from trivium.commander import ThreadEvent, wait
from trivium.exceptions import JournalVersionError
from trivium.journal import Journal
from trivium.llms import Delta, Request
from trivium.testing import ScriptedModel, call_tool


class Slow:
    """An agent that calls a tool, which answers when it may, and then says how often its user has spoken."""

    name = "slow"

    def __init__(self) -> None:
        self.may_end, self.begun = ThreadEvent(), list[str]()

        @tool(effect="read")
        async def look() -> str:
            """Look."""
            self.begun.append("")
            await wait(event=self.may_end)
            return "seen"

        self.agent = Agent(self, name="slow", tools=[look])

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        said = [each["role"] for each in request.messages]
        yield call_tool("look") if said[-1] == "user" else f"Done {said.count('user')}."


@contextmanager
def told(text: str) -> Generator[Event]:
    """An event that is set as soon as the server logs a text."""
    event, log = Event(), logging.getLogger("trivium.serve")

    class Listens(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage():
                event.set()

    handler = Listens()
    log.addHandler(handler)
    try:
        yield event
    finally:
        log.removeHandler(handler)


@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_a_file_that_is_gone_is_told_and_takes_no_run(tmp_path: Path, what: str):
    place = tmp_path / "runs.db"
    with serving(make_waiting_shop(), journal=place) as client, told("cannot be read") as is_told:
        assert outcome(client, start(client, "hi")) == "You said 1."
        place.rename(tmp_path / "kept.db")
        if what == "replaced":
            place.write_bytes((tmp_path / "kept.db").read_bytes())
        refused = client.post("/runs", json={"message": "hi"})
        assert [refused.status_code, place.exists()] == [503, what == "replaced"]
        assert is_told.wait(GUARD)
        (tmp_path / "kept.db").rename(place)
        assert outcome(client, start(client, "hi")) == "You said 1."


def test_the_process_may_change_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with serving(make_waiting_shop(), journal="runs.db") as client:
        assert outcome(client, start(client, "hi")) == "You said 1."
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        assert outcome(client, start(client, "hi")) == "You said 1."
        monkeypatch.chdir(tmp_path)
    assert not [*(tmp_path / "other").iterdir()]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Place]:
    if request.param == "sqlite":
        yield sqlite_place(tmp_path / "runs.db")
        return
    with postgres_server() as server:
        yield postgres_place(server.get_uri(), "unusable")


def test_a_server_does_not_start_on_the_journal_of_a_newer_version(place: Place):
    with serving(make_waiting_shop(), journal=place.name, grace=0.1) as client:
        run = start(client, "wait")
        follow(client, run, until='"You "')
    newer, right = "UPDATE journal SET version = 99", "UPDATE journal SET version = 2"
    if "://" not in place.name:
        newer, right = "PRAGMA user_version = 99", "PRAGMA user_version = 2"
    place.execute(newer)
    with pytest.raises(JournalVersionError, match="install the version that wrote it"), serving(journal=place.name):
        pass
    place.execute(right)
    with serving(journal=place.name) as client:
        assert outcome(client, run) == "You said 1."


def test_a_run_outlives_a_journal_that_becomes_one_of_a_newer_version(tmp_path: Path):
    slow, place = Slow(), sqlite_place(tmp_path / "runs.db")
    journal = place.journal()
    with serving(slow.agent, journal=journal) as client:
        run = start(client, "go")
        follow(client, run, until='"tool_call"')
        place.execute("PRAGMA user_version = 99")
        journal.close()  # and so opens the file again
        slow.may_end.set()
        follow(client, run, until='"resumed"')
        place.execute("PRAGMA user_version = 2")
        assert outcome(client, run) == "Done 1."


def test_a_run_whose_records_are_deleted_does_not_begin_anew(tmp_path: Path):
    slow, place = Slow(), sqlite_place(tmp_path / "runs.db")
    with serving(slow.agent, journal=place.name) as client:
        run = start(client, "go")
        follow(client, run, until='"tool_call"')
        place.execute("DELETE FROM entry")
        place.execute("DELETE FROM run")
        slow.may_end.set()
        assert outcome(client, run)["kind"] == "failed"
    assert slow.begun == [""]


def test_runs_go_on_when_a_file_can_be_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for each in ("trivium.journal._sqlite", "trivium.serving._database"):
        monkeypatch.setattr(f"{each}.BUSY_SECONDS", 0.05)
    slow, place = Slow(), tmp_path / "runs.db"
    with serving(slow.agent, journal=place) as client, told("goes on when the journal can be used again") as failed:
        run = start(client, "go", session_id="s")
        follow(client, run, until='"tool_call"')
        queued = start(client, "go", session_id="s")
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            slow.may_end.set()
            assert failed.wait(GUARD)
            assert client.post("/runs", json={"message": "go"}).status_code == 503
            other.execute("ROLLBACK")
        assert [outcome(client, each) for each in (run, queued)] == ["Done 1.", "Done 2."]
        kinds = [each["kind"] for each in events_of(client, run)]
        assert kinds == ["started", "answered", "tool_call", "resumed", "tool_result", "delta", "answered", "done"]


def test_runs_of_clients_that_wait_outlive_a_restart_of_their_database():
    slows = Slow(), Slow()
    with postgres_server() as database:
        journal = postgres_place(database.get_uri(), "waiting").name
        with (
            serving(slows[0].agent, journal=journal) as first,
            serving(slows[1].agent, journal=journal) as second,
            ThreadPoolExecutor(6) as pool,
            told("goes on when the journal can be used again") as failed,
        ):
            asked = [
                pool.submit(each.post, "/chat_completion", json={"message": "go", "session_id": f"s{at}"})
                for at, each in enumerate([first, second] * 3)
            ]
            while sum(len(each.begun) for each in slows) < len(asked):
                assert not any(each.done() for each in asked)
            database.stop()
            for each in slows:
                each.may_end.set()
            assert failed.wait(GUARD)
            database.ensure_postgres_running()
            answers = [each.result(GUARD) for each in asked]
            assert [each.json()["content"] for each in answers if each.status_code == 200] == ["Done 1."] * 6
            told_of = {
                each["kind"] for run in first.get("/runs").json()["runs"] for each in events_of(first, run["id"])
            }
            assert "tool_failed" not in told_of


def test_a_tool_whose_own_journal_cannot_be_used_ends_its_run_and_is_called_once(tmp_path: Path):
    calls = list[str]()

    @tool
    def look() -> str:
        """Look into another journal."""
        calls.append("")
        return str(Journal("/proc/nowhere/notes.db").runs())

    model = ScriptedModel([call_tool("look"), "done"])
    with serving(Agent(model, name="looks", tools=[look]), journal=tmp_path / "runs.db") as client:
        assert outcome(client, start(client, "hi"))["kind"] == "failed"
    assert len(calls) == 1
