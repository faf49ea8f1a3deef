"""The end of a server's process, by a signal or a crash: its runs go on after the restart."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from distributed._helpers import AsyncSleeper
from serving._protocols import AGUI, AISDK, Chat, Protocol, Responses
from serving._served import (
    GUARD,
    approve_all,
    ask,
    follow,
    make_shop,
    make_waiting_shop,
    outcome,
    own_process,
    said,
    serving,
    start,
)
from trivium import Agent
from trivium.exceptions import ConfigurationError, JournalError
from trivium.journal import Journal
from trivium.serving import AgentServer
from trivium.serving.lowlevel import RunStore
from trivium.testing import ScriptedModel
from workers._programs import ENDS


def test_runs_go_on_after_their_server_was_killed_and_clients_get_the_rest(tmp_path: Path):
    marks, journal = tmp_path / "marks", tmp_path / "runs.db"
    with own_process(journal, marks=marks) as (server, client):
        runs = [start(client, "buy", session_id=f"s{at}") for at in range(50)]
        known = [follow(client, each, until='"paused"') for each in runs]
        for each, events in zip(runs, known, strict=True):
            decision = {"digest": json.loads(events[-1][1])["approvals"][0]["digest"], "approved": True}
            assert client.post(f"/runs/{each}/approvals", json=decision).status_code == 200
        server.send_signal(signal.SIGKILL)
        server.wait()
    with own_process(journal, marks=marks) as (server, client):
        for run, events in zip(runs, known, strict=True):
            rest = follow(client, run, len(events))
            assert json.loads(rest[-1][1])["kind"] == "done"
            assert [number for number, _ in events + rest] == [*range(1, len(events) + len(rest) + 1)]
        assert follow(client, runs[0]) == known[0] + follow(client, runs[0], len(known[0]))
        assert said(client, "hi", session_id="s0") == "You said 2."
    done = marks.read_text().split()
    assert done.count("price") == 50
    assert done.count("pay") <= 50  # one that was broken off is reported to the model, not repeated


KILLED = """
import os, signal, sys, threading
from trivium import Module
from trivium.journal import Journal
from trivium.serving import AgentServer

class Killed(Module):
    async def forward(self, message):
        os.kill(os.getpid(), signal.SIGUSR1)
        return message

def end(*_):
    sys.exit(7)

def begin():
    if sys.argv[1] == "idle":
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    else:
        threading.Thread(target=ask, daemon=True).start()

def ask():
    import httpx2
    httpx2.post(f"{server.url}/runs", json={"message": "Go."}, headers={"Authorization": "Bearer t"})

signal.signal(signal.SIGUSR1, end)
server = AgentServer(Killed("killed"), token="t", port=0, grace=0.5, journal=Journal("runs.db"))
server.serve(begin)
"""


@pytest.mark.parametrize("place", ["idle", "run"])
def test_a_signal_handler_of_the_program_that_ends_it_ends_the_server(tmp_path: Path, place: str):
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, place], cwd=tmp_path, timeout=30, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 7, ended.stderr


def test_a_server_that_is_asked_to_end_leaves_its_runs_to_the_next(tmp_path: Path):
    journal = tmp_path / "runs.db"
    with own_process(journal) as (server, client):
        run = start(client, "buy")
        before = follow(client, run, until='"paused"')
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    with own_process(journal) as (server, client):
        approve_all(client, run)
        assert follow(client, run)[: len(before)] == before
        assert outcome(client, run) == "You said 1."


def test_a_server_ends_whatever_its_tools_do_and_their_runs_go_on_after_the_restart(tmp_path: Path):
    journal, marks = tmp_path / "runs.db", tmp_path / "marks"

    def at_work(times: int) -> None:
        """Wait until a tool has begun that often."""
        end = time.monotonic() + GUARD
        while not marks.exists() or len(marks.read_text().splitlines()) < times:
            assert time.monotonic() < end
            time.sleep(0.01)

    def ended_by(server: Any, *numbers: int) -> int:
        for each in numbers:
            server.send_signal(each)
        return server.wait(GUARD)

    def server(grace: str = "0.1") -> Any:
        return own_process(journal, "--grace", grace, marks=marks, made_by="make_blocking")

    with server() as (process, client):
        run = start(client, "thread")
        at_work(1)
        before = follow(client, run, until="tool_call")
        assert ended_by(process, signal.SIGTERM) == 128 + signal.SIGTERM
        assert f"the run {run} in shop/tool:thread" in process.stdout.read()
    with server() as (process, client):
        at_work(2)
        assert ended_by(process, signal.SIGINT) == 128 + signal.SIGINT  # Python would wait for the thread
    with server("600") as (process, client):
        assert follow(client, run)[: len(before)] == before
        assert outcome(client, run) == "free"
        start(client, "loop")
        at_work(4)
        assert ended_by(process, signal.SIGINT, signal.SIGTERM) in (130, 143)  # the second one does not wait


@pytest.mark.parametrize("where", ["module", "model", "task"])
def test_whatever_ends_a_run_it_has_failed_and_its_server_goes_on(tmp_path: Path, where: str):
    with own_process(tmp_path / "runs.db", made_by="make_ending") as (server, client):
        runs = [start(client, f"{what} in {where}") for what in ENDS]
        failed = [outcome(client, each) for each in runs]
        assert [each["error"]["type"] for each in failed] == ["InternalError"] * len(ENDS)
        assert said(client, "hi") == "It goes on."
        server.send_signal(signal.SIGINT)  # which is no run's
        assert server.wait(GUARD) == 130
        log = server.stdout.read()
    for run, kind in zip(runs, ENDS.values(), strict=True):
        assert f"the run {run} failed" in log
        assert kind.__name__ in log


def test_a_run_that_is_the_end_of_its_server_each_time_is_given_up(tmp_path: Path):
    journal = tmp_path / "runs.db"
    with own_process(journal, marks=tmp_path / "marks", made_by="make_blocking") as (server, client):
        run = start(client, "crash")
        assert server.wait(GUARD) == -signal.SIGKILL
    assert [(each.status, each.futile) for each in Journal(journal).runs()] == [("killed", 0)]
    with closing(sqlite3.connect(journal)) as database, database:
        database.execute("UPDATE run SET epoch = epoch + 10")  # as if ten servers had tried it
    with own_process(journal, marks=tmp_path / "marks", made_by="make_blocking") as (server, client):
        assert '"kind": "failed"' in follow(client, run)[-1][1]
        assert server.poll() is None
    [info] = Journal(journal).runs()
    assert info.status == "failed"
    assert info.why.startswith(f"WorkerLostError: the run {run!r} was the end of its process 10 times, and got no")


@contextmanager
def ending(agent: Any) -> Generator[AgentServer]:
    """A server that leaves the runs of its clients to the next one when it is closed."""
    with AgentServer(agent, token="right-token", port=0, grace=0.0) as server:
        yield server


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (Responses, '{"type": "error", '), (Chat, '{"error": {'), (AGUI, '{"type": "RUN_ERROR", '),
        (AISDK, '{"type": "error", '),
    ],
)  # fmt: skip
def test_a_stream_that_ends_before_its_run_says_where_to_follow_it(kind: type[Protocol], form: str):
    with ending(make_shop(waits=True)) as server, ask(server.url) as client, kind(client).begin("wait") as lines:
        assert any("You " in each for each in lines)
        (run,) = client.get("/runs").json()["runs"]
        server.close()
        *_, told = [each for each in lines if each != "[DONE]"]
        assert told.startswith(form)
        assert f"the run {run['id']} goes on: follow it by GET /runs/{run['id']}/events" in told


def test_an_answer_that_ends_before_its_run_is_an_error_and_is_not_asked_for_again():
    for is_response in (True, False):
        sleeper = AsyncSleeper()
        with ending(sleeper) as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="right-token") as client:

            def create(llm: openai.OpenAI = client, is_response: bool = is_response) -> object:
                if is_response:
                    return llm.responses.create(model="AsyncSleeper", input="go")
                return llm.chat.completions.create(model="AsyncSleeper", messages=[{"role": "user", "content": "go"}])

            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(create)
                assert sleeper.began.acquire(timeout=GUARD)
                server.close()
                with pytest.raises(openai.InternalServerError, match="goes on: follow it") as failed:
                    asked.result(GUARD)
        assert [failed.value.code, failed.value.response.headers["x-should-retry"]] == ["RunGoesOn", "false"]


def test_a_stream_of_lagents_that_waits_for_its_turn_is_told_that_the_server_ends():
    body = {"message": "wait", "stream": True}
    with (
        ending(make_shop(waits=True)) as server,
        ask(server.url) as client,
        client.stream("POST", "/chat_completion", json=body) as first,
    ):
        lines = first.iter_lines()  # kept, for the run ends with its stream
        assert any("You " in each for each in lines)
        with client.stream("POST", "/chat_completion", json=body) as second:
            server.close()
            told, last = [each[6:] for each in second.iter_lines() if each.startswith("data: ")]
    assert [json.loads(told)["error"]["type"], last] == ["ShuttingDown", "[DONE]"]


def test_clients_that_read_nothing_do_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("trivium.serving._uvicorn.LAST_SECONDS", 0.05)
    with (
        AgentServer(Agent(ScriptedModel(["x" * 20_000_000])), token="right-token", port=0, grace=0.1) as server,
        ask(server.url) as client,
        client.stream("POST", "/runs", json={"message": "hi", "stream": True}) as response,
    ):
        assert response.status_code == 200
        server.close()
    assert [each.getMessage() for each in caplog.records if each.name == "uvicorn.error"] == []


def test_no_run_begins_at_a_server_that_cannot_listen(tmp_path: Path):
    journal = tmp_path / "runs.db"
    with serving(make_waiting_shop(), journal=journal, grace=0.1) as client:
        run = start(client, "wait")
        follow(client, run, until='"You "')
        port = client.base_url.port
        with pytest.raises(ConfigurationError, match="cannot listen"), serving(journal=journal, port=port):
            pass  # it does not even look whether the file has a server
    with serving(journal=journal) as client:
        assert outcome(client, run) == "You said 1."
        assert [json.loads(data)["kind"] for _, data in follow(client, run)].count("resumed") == 1


def test_a_server_that_cannot_begin_ends_the_work_that_it_has_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    journal = tmp_path / "runs.db"
    with serving(make_waiting_shop(), journal=journal, grace=0.1) as client:
        run = start(client, "wait")
        follow(client, run, until='"You "')

    def broken(*given: Any) -> Any:
        raise JournalError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(RunStore, "paused", broken)  # which is read after runs were taken up
        with pytest.raises(JournalError, match="the disk is gone"), serving(make_waiting_shop(), journal=journal):
            pass
    with serving(journal=journal) as client:
        assert outcome(client, run) == "You said 1."


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_conversations_without_a_journal_are_gone_when_their_server_is(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with own_process("") as (server, client):
        assert said(client, "hi") == "You said 1."
        assert [each.name for each in tmp_path.glob("*/*.db")] == ["runs.db"]
        server.send_signal(number)
        server.wait(GUARD)
    assert [*tmp_path.glob("trivium-*")] == []


def test_a_file_has_one_server_whatever_links_lead_to_it(tmp_path: Path):
    place, link = tmp_path / "runs.db", tmp_path / "links" / "link.db"
    link.parent.mkdir()
    with serving(journal=place) as client:
        assert said(client, "hi") == "You said 1."
        link.symlink_to(place)
        with pytest.raises(ConfigurationError, match="another server is at work"), serving(journal=link):
            pass
    with serving(journal=link) as client:
        assert said(client, "hi") == "You said 1."
    assert [each.name for each in link.parent.iterdir()] == ["link.db"]
