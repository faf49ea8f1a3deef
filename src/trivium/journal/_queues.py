"""The queues of a database and their workers, for those who look: DBOS's tables and ours, only read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from trivium.journal._served import ADVISORY_LOCKS

if TYPE_CHECKING:
    from trivium.journal._postgres_connections import PostgresConnections


class WorkerInfo(NamedTuple):
    """A worker that is there.

    Args:
        id: its id.
        host: the name of its machine.
        pid: its process there.
        queues: the queues that it takes runs from.
        since: when it started, in seconds since the epoch.
    """

    id: str
    host: str
    pid: int
    queues: tuple[str, ...]
    since: float


class QueueInfo(NamedTuple):
    """A queue.

    Args:
        name: its name.
        scheduled: runs that wait for their time.
        queued: runs that wait for a worker.
        running: runs that workers are at work on.
        limit: the most runs at once in all workers together; None: no limit.
        workers: how many workers take runs from it.
    """

    name: str
    scheduled: int
    queued: int
    running: int
    limit: int | None
    workers: int


class WaitingRun(NamedTuple):
    """A run that was submitted and has not begun; those that have are among `Journal.runs`.

    Args:
        id: its id.
        program: the name under which workers serve what it is for.
        queue: its queue.
        status: "scheduled" before its time, then "queued"; or "cancelled".
        since: when it was submitted, in seconds since the epoch.
        at: when it begins at the earliest, where it is scheduled; else None.
        why: which worker it waits for that is not there; "" for none.
    """

    id: str
    program: str
    queue: str
    status: Literal["scheduled", "queued", "cancelled"]
    since: float
    at: float | None
    why: str = ""


_WORKERS: Final = f"""
SELECT id, host, pid, queues, since FROM trivium_worker
WHERE hashtextextended(current_schema() || '/trivium_worker/' || id, 0) IN ({ADVISORY_LOCKS} AND granted)
ORDER BY since
"""  # noqa: S608 - our own text
_QUEUES: Final = """
SELECT queue.name, count(*) FILTER (WHERE flow.status = 'DELAYED'), count(*) FILTER (WHERE flow.status = 'ENQUEUED'),
    count(*) FILTER (WHERE flow.status = 'PENDING'), max(queue.concurrency)
FROM (
    SELECT name, concurrency FROM "{schema}".queues UNION ALL
    SELECT DISTINCT queue_name, NULL::int FROM "{schema}".workflow_status
    WHERE name = 'trivium.run' AND status IN ('DELAYED', 'ENQUEUED', 'PENDING')
    AND queue_name NOT IN (SELECT name FROM "{schema}".queues)
) AS queue LEFT JOIN "{schema}".workflow_status AS flow ON flow.queue_name = queue.name AND flow.name = 'trivium.run'
AND flow.status IN ('DELAYED', 'ENQUEUED', 'PENDING')
GROUP BY queue.name ORDER BY queue.name
"""
_WAITING: Final = """
SELECT flow.workflow_uuid, given.inputs::jsonb -> 'positionalArgs' ->> 0,
    coalesce(flow.queue_name, given.inputs::jsonb -> 'positionalArgs' ->> 3),
    CASE flow.status WHEN 'DELAYED' THEN 'scheduled' WHEN 'ENQUEUED' THEN 'queued' ELSE 'cancelled' END,
    flow.created_at / 1000.0::float8,
    CASE flow.status WHEN 'DELAYED' THEN flow.delay_until_epoch_ms / 1000.0::float8 END
FROM "{schema}".workflow_status AS flow JOIN "{schema}".workflow_input AS given USING (workflow_uuid)
WHERE flow.name = 'trivium.run' AND flow.status IN ('DELAYED', 'ENQUEUED', 'CANCELLED')
AND NOT EXISTS (SELECT FROM trivium_run WHERE id = flow.workflow_uuid) ORDER BY flow.created_at DESC
"""


def has_queues(connections: PostgresConnections, schema: str) -> bool:
    """Return whether anything was ever submitted there."""
    with connections.use() as connection:
        query = "SELECT to_regclass(%s) IS NOT NULL"
        return connection.execute(query, (f'"{schema}".workflow_input',)).fetchone() == (True,)


def read_workers(connections: PostgresConnections) -> list[WorkerInfo]:
    """Return the workers that are there, the oldest first."""
    with connections.use() as connection:
        if connection.execute("SELECT to_regclass('trivium_worker') IS NULL").fetchone() == (True,):
            return []
        rows = connection.execute(_WORKERS).fetchall()
    return [WorkerInfo(worker, host, pid, tuple(names), since) for worker, host, pid, names, since in rows]


def read_queues(connections: PostgresConnections, schema: str) -> list[QueueInfo]:
    """Return the queues by name; those in which runs are passed on only where some are there."""
    taken = _taken(connections)
    with connections.use() as connection:
        rows = connection.execute(_QUEUES.format(schema=schema).encode()).fetchall()
    found = [QueueInfo._make((*row, taken.count(row[0]))) for row in rows]
    return [each for each in found if "@" not in each.name or any(each[1:4])]


def read_waiting(connections: PostgresConnections, schema: str) -> list[WaitingRun]:
    """Return the runs that have not begun, the latest first."""
    taken = _taken(connections)
    with connections.use() as connection:
        found = [WaitingRun(*row) for row in connection.execute(_WAITING.format(schema=schema).encode())]
    return [
        each._replace(why=_missing(taken, each.program, each.queue)) if each.status == "queued" else each
        for each in found
    ]


def missing_worker(connections: PostgresConnections, program: str, queue: str) -> str:
    """Return which worker a run in a queue waits for that is not there; "" for none."""
    return _missing(_taken(connections), program, queue)


def _taken(connections: PostgresConnections) -> list[str]:
    """Return the queues from which workers take runs, each as often as there are workers."""
    return [name for each in read_workers(connections) for name in each.queues]


def _missing(taken: Sequence[str], program: str, queue: str) -> str:
    name, _, passed_on = queue.partition("@")
    if name not in taken:
        return f"no worker takes from {name!r}"
    if f"{name}@{passed_on or program}" in taken:  # what workers serve, and which agents they have
        return ""
    lacks = "has the agents with which it began" if passed_on not in ("", program) else f"serves {program!r}"
    return f"no worker that takes from {name!r} {lacks}"
