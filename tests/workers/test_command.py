"""`trivium worker` as a process: what it says, and how it ends; and `trivium approve`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trivium.exceptions import RunPausedError
from trivium.journal import Journal

TRIVIUM = Path(sys.executable).with_name("trivium")
AGENTS = """
from workers._programs import buyer, waiter

def make_buyer():
    return buyer("")

def make_waiter():
    return waiter("")
"""


def start(url: str, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TRIVIUM_JOURNAL": url, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [TRIVIUM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@pytest.fixture(autouse=True)
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)


def test_a_worker_works_until_sigterm(url: str, journal: Journal):
    worker = start(url, "worker", "shop:make_buyer", "other=shop:make_waiter", "--queue", "shop:3", "--grace", "0.1")
    assert worker.stderr is not None
    assert worker.stderr.readline() == f"working for buyer, other, from shop of {journal.place}; Ctrl-C ends it\n"
    run = journal.submit("buyer", "Buy tea.", run_id="a", queue="shop")
    with pytest.raises(RunPausedError):
        run.result(timeout=30)
    out, err = start(url, "approve", "a").communicate(timeout=60)
    digest, _, call = out.partition("  ")
    assert (call, err) == ('buy {"item": "tea"}\n', "")
    assert start(url, "approve", "a", digest[:6], "--by", "ada").communicate(timeout=60)[1] == "ada has approved buy\n"
    assert run.result(timeout=30).content == "It is bought."
    assert "stands for none of the calls" in start(url, "approve", "a", digest).communicate(timeout=60)[1]
    waiting = journal.submit("other", "Wait.", run_id="b", queue="shop")
    next(iter(waiting.events()))
    worker.terminate()
    assert worker.communicate(timeout=60)[1] == "1 run has 0.1 s to end; then others go on\n"
    assert (worker.returncode, waiting.status()) == (0, "queued")


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
    worker = start(url, "worker", *words)
    assert told in worker.communicate(timeout=60)[1]
    assert worker.returncode == 2


def test_queues_and_what_waits_are_listed(url: str, journal: Journal):
    journal.submit("buyer", "Buy tea.", run_id="a", queue="shop")
    worker = start(url, "worker", "shop:make_waiter", "--queue", "night:2", "--grace", "0")
    assert worker.stderr is not None
    worker.stderr.readline()
    out, err = start(url, "queues").communicate(timeout=60)
    night, shop, other = out.splitlines()
    assert (night, err) == ("night: 0 scheduled, 0 queued, 0 of 2 running; 1 worker", "")
    assert shop == "shop: 0 scheduled, 1 queued, 0 running; no workers"
    assert other.startswith("worker ")
    assert f": process {worker.pid} of " in other
    assert other.endswith(", takes from night")
    told = [json.loads(line) for line in start(url, "queues", "--json").communicate(timeout=60)[0].splitlines()]
    assert [each.get("queue") or each["pid"] for each in told] == ["night", "shop", worker.pid]
    listed = start(url, "runs").communicate(timeout=60)[0]
    assert listed.startswith("a  queued   ")
    assert listed.endswith("  buyer, in shop\n")
    [found] = [json.loads(line) for line in start(url, "runs", "--json").communicate(timeout=60)[0].splitlines()]
    assert (found["run"], found["root"], found["status"], found["queue"]) == ("a", "buyer", "queued", "shop")
    assert start(url, "show", "a").communicate(timeout=60) == (listed, "")
    assert start(url, "forget", "a").communicate(timeout=60)[1] == "1 run is deleted\n"
    assert start(url, "runs").communicate(timeout=60)[0] == ""
    worker.terminate()
    worker.communicate(timeout=60)
