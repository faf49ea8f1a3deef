"""Workers that are killed, cut off and left without a database: what was promised of each effect holds."""

from __future__ import annotations

import time

import pytest

from _postgres import postgres_server
from trivium.journal import Journal

from ._cable import cable
from ._effects import broken_promises
from ._fleet import Fleet, fleet
from ._programs import prepare


def submitted(journal: Journal, count: int) -> list[str]:
    return [journal.submit("clerk", "Go.", run_id=f"run-{number}").id for number in range(count)]


def results(journal: Journal, run_ids: list[str]) -> list[str]:
    return [journal.submitted(each).result(timeout=60).content for each in run_ids]


@pytest.mark.slow
def test_workers_are_killed_at_any_moment(journal: Journal, workers: Fleet, url: str):
    run_ids = submitted(journal, 60)
    for _ in range(4):
        workers.start("slow", wait=False, at_once=4)
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
