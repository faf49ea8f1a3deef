"""`trivium worker` as a process: what it says, and how it ends; and `trivium approve`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from cli._command import Command, Ended, Process
from trivium.exceptions import NoSuchRequestError, RunPausedError
from trivium.journal import Journal

from .test_workers import until

AGENTS = f"""
import sys

sys.path += {sys.path!r}

from workers._programs import blocked, buyer, waiter

def make_buyer():
    return buyer("")

def make_waiter():
    return waiter("")

def make_blocked():
    return blocked("")
"""


_started = list[Process]()


def command_at(url: str) -> Command:
    command = Command(Path.cwd())
    command.environment["TRIVIUM_JOURNAL"] = url
    return command


def start(url: str, *words: str) -> Process:
    """A worker, or what else is stopped from outside."""
    _started.append(command_at(url).start(*words))
    return _started[-1]


def say(url: str, *words: str) -> Ended:
    """The command, to its end."""
    return command_at(url)(*words)


@pytest.fixture(autouse=True)
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Agents to serve; and no worker outlives a test that fails."""
    (tmp_path / "shop.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)
    yield
    while _started:
        process = _started.pop()
        process.kill()
        process.wait()


def test_a_worker_works_until_sigterm(url: str, journal: Journal):
    worker = start(url, "worker", "shop:make_buyer", "other=shop:make_waiter", "--queue", "shop:3", "--grace", "0.1")
    assert worker.stderr is not None
    assert worker.stderr.readline() == f"working for buyer, other, from shop of {journal.place}; Ctrl-C ends it\n"
    run = journal.submit("buyer", "Buy tea.", run_id="a", queue="shop")
    with pytest.raises(RunPausedError):
        run.result(timeout=30)
    _, out, err = say(url, "approve", "a")
    digest, _, call = out.partition("  ")
    assert (call, err) == ("buy(item='tea')\n", "")
    assert say(url, "approve", "a", digest[:6], "--by", "ada").err == "ada has approved buy\n"
    assert run.result(timeout=30).content == "It is bought."
    assert " was approved by ada at " in say(url, "approve", "a", digest).err
    waiting = journal.submit("other", "Wait.", run_id="b", queue="shop")
    next(iter(waiting.events()))
    worker.terminate()
    assert worker.communicate(timeout=60)[1] == "1 run has 0.1 s to end; then others go on\n"
    assert (worker.returncode, waiting.status()) == (0, "queued")


def test_a_run_that_was_cancelled_asks_for_no_decision_until_it_is_submitted_again(url: str, journal: Journal):
    worker = start(url, "worker", "shop:make_buyer", "--grace", "0")
    run = journal.submit("buyer", "Buy tea.", run_id="a")
    with pytest.raises(RunPausedError):
        run.result(timeout=30)
    (waiting,) = journal.pending("a")
    run.cancel()
    assert journal.pending() == journal.pending("a") == []
    with pytest.raises(NoSuchRequestError, match="of the run 'a', which is stopped, waits"):
        journal.approve("a", waiting.digest, by="ada")
    assert say(url, "approve", "a").err == "no call of it waits for a decision\n"
    assert say(url, "runs", "--status", "paused").out == ""
    assert say(url, "show", "a").out.startswith("a  stopped\nRunKilledError: it was cancelled\nbuyer  ")
    with pytest.raises(RunPausedError):
        journal.submit("buyer", "Buy tea.", run_id="a").result(timeout=30)
    assert say(url, "approve", "a", waiting.digest, "--by", "ada").err == "ada has approved buy\n"
    assert run.result(timeout=30).content == "It is bought."
    worker.terminate()
    worker.communicate(timeout=60)


def test_runs_that_were_cancelled_before_they_began_are_listed_and_forgotten(url: str, journal: Journal):
    for run_id, at in (("a", datetime.now(UTC) + timedelta(days=1)), ("b", None), ("c", None)):
        journal.submit("buyer", "Buy tea.", run_id=run_id, at=at).cancel()
    journal.submit("buyer", "Buy tea.", run_id="waits")
    assert [each.id for each in journal.waiting() if each.status == "cancelled"] == ["c", "b", "a"]
    found = say(url, "runs", "--status", "cancelled").out.splitlines()
    assert [line.split()[:2] for line in found] == [["c", "cancelled"], ["b", "cancelled"], ["a", "cancelled"]]
    assert say(url, "show", "a").out == f"{found[-1]}\n"
    assert found[-1].endswith("  buyer, in default")
    assert say(url, "forget", "a").err == "1 run is deleted\n"
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("UPDATE trivium_public.workflow_status SET created_at = created_at - 172800000")
    assert say(url, "forget", "--older-than", "1d", "--yes").err == "2 runs are deleted\n"
    assert [each.id for each in journal.waiting()] == ["waits"]


def test_a_sync_tool_does_not_keep_a_worker_from_ending(url: str, journal: Journal, tmp_path: Path):
    worker = start(url, "worker", "shop:make_blocked", "--grace", "0.1")
    assert worker.stderr is not None
    worker.stderr.readline()
    journal.submit("blocked", str(tmp_path / "hold"), run_id="a")
    until((tmp_path / "hold.again").exists)
    worker.terminate()
    told = worker.communicate(timeout=20)[1]
    assert told.splitlines()[1:] == ["what is at work cannot be stopped: left to others is a"]
    assert worker.returncode == 128 + signal.SIGTERM


def test_ctrl_c_ends_a_worker(url: str):
    worker = start(url, "worker", "shop:make_buyer")
    assert worker.stderr is not None
    assert worker.stderr.readline().startswith("working for buyer")
    worker.send_signal(signal.SIGINT)
    assert worker.communicate(timeout=60)[1] == "interrupted\n"
    assert worker.returncode == 130


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["shop:make_buyer", "--queue", "a:none"], "--queue a:none is none: write NAME, or NAME:3"),
        (["shop:make_buyer", "shop:make_buyer"], "two agents would be served as 'buyer'"),
        (["shop:make_buyer", "--journal", "shop.py"], "runs are queued in PostgreSQL"),
    ],
)
def test_what_cannot_work(url: str, words: list[str], told: str):
    status, _, err = say(url, "worker", *words)
    assert told in err
    assert status == 2


def test_queues_and_what_waits_are_listed(url: str, journal: Journal):
    journal.submit("buyer", "Buy tea.", run_id="a", queue="shop")
    worker = start(url, "worker", "shop:make_waiter", "--queue", "night:2", "--grace", "0")
    assert worker.stderr is not None
    worker.stderr.readline()
    _, out, err = say(url, "queues")
    night, shop, other = out.splitlines()
    assert (night, err) == ("night: 0 scheduled, 0 queued, 0 of 2 running; 1 worker", "")
    assert shop == "shop: 0 scheduled, 1 queued, 0 running; no workers"
    assert other.startswith("worker ")
    assert f": process {worker.pid} of " in other
    assert other.endswith(", takes from night")
    told = say(url, "queues", "--json").records
    assert [each.get("queue") or each["pid"] for each in told] == ["night", "shop", worker.pid]
    listed = say(url, "runs").out
    assert listed.startswith("a  queued   ")
    assert listed.endswith("  buyer, in shop, no worker takes from 'shop'\n")
    [found] = say(url, "runs", "--json").records
    assert (found["run"], found["root"], found["status"], found["queue"]) == ("a", "buyer", "queued", "shop")
    assert found["why"] == "no worker takes from 'shop'"
    assert say(url, "show", "a") == (0, listed, "")
    assert say(url, "forget", "a").err == "1 run is deleted\n"
    assert say(url, "runs").out == ""
    worker.terminate()
    worker.communicate(timeout=60)
