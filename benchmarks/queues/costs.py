"""A queued run beside a workflow of DBOS alone, and the throughput of one, two and four workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import bare
import psycopg
from measured import Figures, measure

from trivium.journal import Journal
from workers._fleet import fleet

__all__ = ["COSTS", "THROUGHPUT", "cost_rows", "throughput_rows"]

COSTS = ("work", "by", "worker, ms", "database, ms", "transactions", "write-ahead log, kB", "disk, kB", "runs a second")
THROUGHPUT = ("work", "workers", "runs a second", "of one worker")


def counter(url: str, table: str, condition: str) -> Callable[[], int]:
    database = psycopg.connect(url, autocommit=True)

    def count() -> int:
        row = database.execute(f"SELECT count(*) FROM {table} WHERE {condition}".encode()).fetchone()
        assert row is not None
        return row[0]

    return count


def submit(journal: Journal, program: str, count: int, at: int = 0) -> None:
    for number in range(at, at + count):
        journal.submit(program, "hello", run_id=f"run-{number}")


def by_trivium(url: str, program: str, count: int, workers: int = 1, **options: float) -> Figures:
    """Costs of runs of trivium."""
    name = {"patient": "chores"}.get(program, program)
    with fleet(url) as made:
        journal = Journal(url)
        for _ in range(workers):
            made.start(program, **options)
        journal.submit(name, "warm", run_id="warm").result()
        done = counter(url, "trivium_run", "status = 'done' AND id <> 'warm'")
        found = measure(url, made.workers, count, done, lambda: submit(journal, name, count))
        journal.close()
    return found


def by_dbos(url: str, steps: int, count: int) -> Figures:
    """Costs of workflows of DBOS."""
    client = bare.client(url)

    def enqueue(run_id: str) -> None:
        options = {"workflow_name": bare.NAME, "queue_name": "default", "workflow_id": run_id, "app_version": "1"}
        client.enqueue({**options, "serialization_type": bare.WorkflowSerializationFormat.PORTABLE}, "hello", steps)

    with fleet(url, bare.serve) as made:
        made.start("bare")
        enqueue("warm")
        done = counter(url, f"{bare.SCHEMA}.workflow_status", "status = 'SUCCESS' AND workflow_uuid <> 'warm'")
        while not counter(url, f"{bare.SCHEMA}.workflow_status", "status = 'SUCCESS'")():
            time.sleep(0.05)
        found = measure(url, made.workers, count, done, lambda: [enqueue(f"run-{number}") for number in range(count)])
    client.destroy()
    return found


def cost_rows(make: Callable[[], str], count: int) -> Iterable[tuple[object, ...]]:
    """The costs of a run with one answer, and of one with four answers and three tools."""
    for work, program, steps in (("one answer", "echo", 1), ("four answers, three tools", "chores", 7)):
        for name, found in (
            ("DBOS alone", by_dbos(make(), steps, count)),
            ("trivium", by_trivium(make(), program, count)),
        ):
            kinds = (found.worker_ms, found.database_ms, found.transactions)
            sizes = (found.wal_bytes / 1000, found.disk_bytes / 1000)
            yield work, name, *(f"{each:.1f}" for each in (*kinds, *sizes)), f"{count / found.seconds:.0f}"


def throughput_rows(make: Callable[[], str], count: int) -> Iterable[tuple[object, ...]]:
    """Runs a second of one, two and four workers, of answers at once and of answers that take a tenth of a second."""
    for work, program, runs in (
        ("one answer, at once", "echo", 2 * count),
        ("four answers of 0.1 s", "patient", count),
    ):
        first = 0.0
        for workers in (1, 2, 4):
            rate = runs / by_trivium(make(), program, runs, workers, at_once=32).seconds
            first = first or rate
            yield work, workers, f"{rate:.0f}", f"{rate / first:.1f}"
