"""The presence of workers: a lock of the database for each, which is free as soon as its process or machine is gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from trivium.exceptions import JournalError
from trivium.journal.lowlevel import RunQueue

if TYPE_CHECKING:
    from psycopg import Connection

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS trivium_worker (
    id TEXT COLLATE "C" PRIMARY KEY, host TEXT, pid INTEGER, queues TEXT[], since DOUBLE PRECISION);
CREATE INDEX IF NOT EXISTS trivium_run_paused ON trivium_run (id) WHERE status = 'paused';
CREATE INDEX IF NOT EXISTS trivium_entry_decision ON trivium_entry (run, seq) WHERE kind = 'decision';
"""
_MADE: Final = "trivium_entry_decision"
_KEY: Final = "hashtextextended(current_schema() || '/trivium_worker/' || %s, 0)"
_ABSENT: Final = """
SELECT id FROM trivium_worker WHERE NOT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint << 32 | objid::bigint = hashtextextended(current_schema() || '/trivium_worker/' || id, 0))
"""
_DECIDED: Final = """
SELECT run.id, given.inputs::jsonb -> 'positionalArgs' ->> 3 FROM trivium_run AS run
JOIN trivium_entry AS decision ON decision.run = run.id AND decision.kind = 'decision'
AND NOT EXISTS (SELECT FROM trivium_entry AS later WHERE later.run = run.id AND later.seq > decision.seq)
JOIN "{schema}".workflow_status AS flow ON flow.workflow_uuid = run.id AND flow.status = 'ERROR'
JOIN "{schema}".workflow_input AS given ON given.workflow_uuid = run.id
WHERE run.status = 'paused'
"""
"""The input of a workflow is our own JSON; its last argument is the queue."""
_LEADER: Final = ""
"""The id that no worker has: its lock is that of the one which looks after the others."""


class Presence:
    """A worker among the others of its database.

    Args:
        queue: the queues of the journal.
        worker: the id of the worker.
        row: its host, process id, queues and start, for those who look.
    """

    def __init__(self, queue: RunQueue, worker: str, row: tuple[str, int, list[str], float]) -> None:
        self._queue, self._connections, self.worker, self._row = queue, queue.connections, worker, row
        self._connection: Connection[Any] | None = None
        self.is_leader = False

    def hold(self) -> None:
        """Show that the worker is there, and lead if nobody else does; open the connection again if it was lost.

        Raises:
            JournalError: the database cannot be reached.
        """
        if self._connection is None:
            with self._connections.use(is_kept=True) as connection:
                if connection.execute("SELECT to_regclass(%s) IS NULL", (_MADE,)).fetchone() == (True,):
                    with connection.transaction():  # workers may begin at once
                        connection.execute(f"SELECT pg_advisory_xact_lock({_KEY})", (_MADE,))
                        connection.execute(_TABLE)
                connection.execute(f"SELECT pg_advisory_lock({_KEY})", (self.worker,))
                query = "INSERT INTO trivium_worker VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
                connection.execute(query, (self.worker, *self._row))
            self._connection, self.is_leader = connection, False
        if self.is_leader:
            self._execute("SELECT 1")
        else:
            self.is_leader = self._execute(f"SELECT pg_try_advisory_lock({_KEY})", (_LEADER,)) == [(True,)]

    def absent(self) -> set[str]:
        """Return the ids of the workers that are gone and not yet forgotten."""
        return {row[0] for row in self._execute(_ABSENT)}

    def forget(self, workers: Iterable[str]) -> None:
        """Forget workers that are gone, once their runs are given to others."""
        self._execute("DELETE FROM trivium_worker WHERE id = ANY(%s) RETURNING id", ([*workers],))

    def decided(self) -> list[tuple[str, str]]:
        """Return the paused runs of the queues for which no decision is missing, each with its queue."""
        found = self._execute(_DECIDED.format(schema=self._queue.schema))
        return [(run_id, queue) for run_id, queue in found if not self._queue.journal.pending(run_id)]

    def leave(self) -> None:
        """Give the lock back: the others take the runs that are left."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _execute(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        connection = self._connection
        if connection is None:
            raise JournalError(f"the journal {self._connections.place} is not connected")
        try:
            with self._connections.typed_errors(""):
                return connection.execute(query.encode(), values).fetchall()
        except JournalError:
            self.leave()
            raise
