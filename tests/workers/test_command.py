"""`trivium worker` as a process: what it says, and how it ends; `trivium approve`, `submit`, `cancel`, `schedules`."""

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
from trivium.journal import Journal, step

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


def test_a_run_is_submitted_followed_and_cancelled(url: str, journal: Journal):
    status, run_id, told = say(url, "submit", "shop:make_buyer", "Buy tea.", "--queue", "shop")
    assert (status, told) == (0, f"it is queued: `trivium show {run_id.strip()}` follows it\n")
    assert run_id.startswith("buyer-")
    assert say(url, "show", run_id.strip()).out.endswith("  buyer, in shop, no worker takes from 'shop'\n")
    typed = command_at(url).start("submit", "buyer", "-", "--id", "b", "--at", "2100-01-01", "--json", stdin=-1)
    assert typed.communicate("Buy tea.", timeout=60)[0] == '{"run": "b", "status": "scheduled"}\n'
    assert say(url, "submit", "buyer", "Buy tea.", "--id", "b").err.startswith("it is scheduled")  # the same one
    assert "was submitted with another input" in say(url, "submit", "buyer", "Buy ink.", "--id", "b").error
    assert say(url, "cancel", "b", run_id.strip()).err == f"b is cancelled\n{run_id.strip()} is cancelled\n"
    assert {each.status for each in journal.waiting()} == {"cancelled"}


def test_a_run_that_is_waited_for_writes_its_result_or_why_there_is_none(url: str, journal: Journal):
    worker = start(url, "worker", "shop:make_buyer", "other=shop:make_waiter", "--grace", "0")
    assert "`trivium approve a`" in (paused := say(url, "submit", "buyer", "Buy tea.", "--id", "a", "--wait")).error
    assert (paused.status, "journal.approve" in paused.error, "resume it, or submit" in paused.error) == (
        1,
        False,
        True,
    )
    journal.approve("a", journal.pending("a")[0].digest, by="ada")
    bought = say(url, "submit", "buyer", "Buy tea.", "--id", "a", "--wait")
    assert bought == (0, "It is bought.\n", "")
    [found] = say(url, "submit", "buyer", "Buy tea.", "--id", "a", "--wait", "--json").records
    assert (found["run"], found["status"], found["content"]) == ("a", "done", "It is bought.")
    waiting = start(url, "submit", "other", "Wait.", "--id", "b", "--wait")
    until(lambda: any(each.id == "b" for each in journal.runs()))
    assert say(url, "cancel", "b") == (0, "", "b is cancelled\n")
    assert waiting.communicate(timeout=60)[1] == "error: the run 'b' was cancelled\n"
    assert waiting.returncode == 1
    status, out, _ = say(url, "cancel", "a", "b", "--json")
    assert (status, out.splitlines()) == (
        1,
        ['{"run": "a", "status": "done", "why": "it has ended"}', '{"run": "b", "status": "cancelled", "why": ""}'],
    )
    worker.terminate()
    worker.communicate(timeout=60)


def test_who_waits_is_told_that_no_worker_is_there(url: str):
    waiting = start(url, "submit", "nobody", "Wait.", "--id", "a", "--wait")
    assert waiting.stderr is not None
    told = "no worker takes from 'default': it waits until one is there, as `trivium worker NAME=MODULE:OBJECT`\n"
    assert waiting.stderr.readline() == told
    say(url, "cancel", "a")
    assert waiting.communicate(timeout=60)[1] == "error: the run 'a' was cancelled\n"


@pytest.mark.parametrize("is_file", [False, True])
def test_what_no_queue_has_cannot_be_cancelled(url: str, tmp_path: Path, is_file: bool):
    place = str(tmp_path / "runs.db") if is_file else url
    with Journal(place) as journal:
        with journal.run("ended"):
            step("look", lambda: 1, effect="read")
        with journal.run("here"):
            status, out, told = say(place, "cancel", "nobody", "ended", "here")
    assert (status, out) == (1, "")
    assert told.splitlines() == [
        "nobody is unknown: `trivium runs` lists those that there are",
        "ended is done: nothing is at work on it, and it is in no queue",
        "here is running: it was not submitted to a queue: end the program that is at work on it, or cancel it at its "
        "server",
    ]


def test_the_next_time_of_a_schedule_names_its_zone(url: str):
    command = command_at(url)
    command.environment["TZ"] = "JST-9"
    told = command("submit", "buyer", "Buy tea.", "--id", "daily", "--every", "0 7 * * *").out
    assert told.endswith("16:00:00 JST\n")


def test_schedules_are_made_listed_and_deleted(url: str, journal: Journal):
    made = say(url, "submit", "buyer", "Buy tea.", "--id", "daily", "--every", "0 7 * * *", "--queue", "shop")
    assert made.out.startswith("daily: 0 7 * * * (UTC), buyer in shop, next at 20")
    say(url, "submit", "buyer", "Buy tea.", "--id", "often", "--every", "* * * * *")
    assert say(url, "schedules").out.startswith(f"{made.out}often: * * * * * (UTC), buyer in default, next at 20")
    [first, second] = say(url, "schedules", "--json").records
    assert (first["schedule"], first["root"], first["queue"], first["every"]) == ("daily", "buyer", "shop", "0 7 * * *")
    assert first["next"] == journal.scheduled("daily").next().timestamp()
    assert second["schedule"] == "often"
    unknown = say(url, "schedules", "--delete", "often", "--delete", "never")
    assert (unknown.status, len(journal.schedules())) == (1, 2)  # all or none
    assert unknown.error.endswith("has no schedule 'never': `trivium schedules` lists those that it has")
    told = say(url, "schedules", "--delete", "often", "--delete", "daily", "--delete", "often").err
    assert told == "the schedule often is deleted\nthe schedule daily is deleted\n"
    assert journal.schedules() == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--at", "noon"], "--at noon is no time: write it as 2026-11-24T07:00"),
        (["--every", "noon"], "every='noon' is no schedule"),
        (["--every", "* * * * *", "--wait"], "--every goes with none of --wait, --priority and --at"),
        (
            ["--journal", "shop.db"],
            "runs are queued in PostgreSQL, and shop.db names a file: give --journal postgres",
        ),
    ],
)
def test_what_cannot_be_submitted(url: str, journal: Journal, words: list[str], told: str):
    ended = say(url, "submit", "buyer", "Buy tea.", *words)
    assert (ended.status, ended.error[: len(told)]) == (2, told)
    assert journal.waiting() == []
