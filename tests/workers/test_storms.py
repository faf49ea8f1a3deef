"""Workers that are killed, cut off and left without a database: what was promised of each effect holds."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from _postgres import postgres_server
from trivium import Agent
from trivium.journal import Journal, QueuedRun
from trivium.journal.lowlevel import PostgresConnections, queue_of
from trivium.testing import ScriptedModel

from ._cable import cable
from ._effects import broken_promises
from ._fleet import Fleet, fleet
from ._programs import prepare
from .test_workers import until


def submitted(journal: Journal, count: int) -> list[str]:
    return [journal.submit("clerk", "Go.", run_id=f"run-{number}").id for number in range(count)]


def results(journal: Journal, run_ids: list[str]) -> list[str]:
    return [journal.submitted(each).result(timeout=60).content for each in run_ids]


@pytest.mark.slow
def test_workers_are_killed_at_any_moment(journal: Journal, workers: Fleet, url: str):
    run_ids = submitted(journal, 60)
    for _ in range(4):
        workers.start("slow", wait=False, at_once=4)
    until(lambda: any(each.status == "running" for each in journal.runs()))  # a busy machine begins them late
    workers.kill_some(12, 0.3, "slow", at_once=4)
    assert results(journal, run_ids) == ["done"] * 60
    assert broken_promises(url, journal, run_ids) == []
    assert any(each.epoch > 1 for each in journal.runs())


@pytest.mark.slow
def test_the_network_is_cut(journal: Journal, url: str):
    with cable(url) as network, fleet(network.url) as workers:
        workers.start("slow", at_once=4)
        run_ids = submitted(journal, 12)
        next(iter(journal.submitted("run-0").events()))
        network.cut()
        time.sleep(0.5)  # what a cut is: some time without a network
        network.mend()
        assert results(journal, run_ids) == ["done"] * 12
    assert broken_promises(url, journal, run_ids) == []


def result_of(run: QueuedRun) -> str:
    return run.result(timeout=30).content


def kinds_of(run: QueuedRun) -> str:
    return ", ".join(each.kind for each in run.events())


@pytest.mark.parametrize(("follow", "wanted"), [(result_of, "hi"), (kinds_of, "begin, outcome, end")])
def test_who_follows_a_run_outlasts_a_database_that_is_away(
    journal: Journal, workers: Fleet, url: str, follow: Callable[[QueuedRun], str], wanted: str
):
    journal.submit("echo", "hi", run_id="a")
    with cable(url) as network, closing(Journal(network.url)) as there, ThreadPoolExecutor() as threads:
        run = there.submitted("a")
        network.cut()
        found = threads.submit(follow, run)
        until(lambda: network.refused > 1)  # it has tried again
        network.mend()
        workers.start("echo")
        assert found.result(60) == wanted


def test_both_ends_give_up_a_connection_that_has_become_silent(journal: Journal, url: str):
    """Within half a minute, whichever end has sent something that the other one never got."""
    with cable(url) as network, closing(PostgresConnections(network.url, bool).open()) as connection:
        query = "SELECT setting FROM pg_settings WHERE name = 'tcp_user_timeout' AND source = 'session'"
        assert len(connection.execute(query).fetchall()) == 1  # the server is at a socket here, which has none
        with socket.socket(fileno=os.dup(connection.fileno())) as end:
            for option, value in (("KEEPIDLE", 15), ("KEEPINTVL", 5), ("KEEPCNT", 3), ("USER_TIMEOUT", 30_000)):
                assert end.getsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_{option}")) == value
    given = make_url(queue_of(journal).url).query  # that of DBOS
    assert (given["keepalives_idle"], given["tcp_user_timeout"]) == ("15", "30000")


@pytest.mark.parametrize("lost", ["end", "all"])
def test_a_run_whose_end_the_database_has_lost_goes_on_when_its_answer_is_wanted(
    journal: Journal, workers: Fleet, url: str, lost: str
):
    """As where a standby took over that had not received it, and the worker noted there that it is done."""
    workers.start("clerk")
    run = journal.submit("clerk", "Go.", run_id="a")
    assert run.result(timeout=30).content == "done"
    with psycopg.connect(url) as database:
        database.execute("DELETE FROM trivium_entry WHERE run = 'a' AND kind = 'end' OR %s", (lost == "all",))
        last = "(SELECT link FROM trivium_entry WHERE run = 'a' ORDER BY seq DESC LIMIT 1)"
        database.execute(f"UPDATE trivium_run SET status = 'running', ended = NULL, head = {last}".encode())
        database.execute("DELETE FROM trivium_run WHERE %s", (lost == "all",))
    with ThreadPoolExecutor() as threads:  # whoever waits for it finds that out
        assert [each.result().content for each in [threads.submit(run.result, 30) for _ in range(4)]] == ["done"] * 4
    assert journal.info("a").status == "done"


def test_who_knows_that_a_run_has_ended_does_not_know_more_than_the_disk(journal: Journal, url: str):
    with psycopg.connect(url, autocommit=True) as database:

        def place(of: str) -> Any:
            return database.execute(f"SELECT pg_current_wal_{of}_lsn() - '0/0'".encode()).fetchone()

        written = list[Any]()
        agent = Agent(ScriptedModel(lambda request: written.append(place("insert")) or "done"), name="clerk")
        agent("Go.", run_id="a", journal=journal)
        assert place("flush") > written[0]


@pytest.mark.slow
def test_the_database_is_restarted():
    with postgres_server() as server:
        url = server.get_uri()
        prepare(url)
        with fleet(url) as workers:
            workers.start("slow", at_once=4)
            journal = Journal(url)
            run_ids = submitted(journal, 12)
            next(iter(journal.submitted("run-0").events()))
            server.stop()
            server.ensure_postgres_running()
            assert results(journal, run_ids) == ["done"] * 12
            assert broken_promises(url, journal, run_ids) == []
            journal.close()
