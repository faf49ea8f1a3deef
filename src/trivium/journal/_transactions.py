"""Acts in a transaction of the journal's own database, which also has their outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from trivium.commander.lowlevel import CallNode, TaskNode, drive
from trivium.exceptions import ConfigurationError
from trivium.journal._codec import Codec, Kept
from trivium.journal._effects import MAY_REPEAT, EffectKind
from trivium.journal._events import warn_of_lost
from trivium.journal._records import Records
from trivium.journal._store import Entry, Store, Writing
from trivium.policies import Sources

T = TypeVar("T")


class Transactions:
    """The transactions of an attempt.

    Args:
        run_id: the run.
        store: where its records are.
        records: what it writes.
    """

    def __init__(self, run_id: str, store: Store, records: Records) -> None:
        self._run_id, self._store, self._records = run_id, store, records
        self._open = dict[TaskNode, object]()
        """The nodes whose acts are in a transaction, each with its connection."""

    def connection_of(self, node: TaskNode) -> object:
        """Return the connection of the transaction in which a node is; None: it is in none."""
        found = (self._open.get(each) for each in node.ancestor_chain) if self._open else ()
        return next((each for each in found if each is not None), None)

    def perform(
        self, node: CallNode, act: Callable[[], Awaitable[T]], codec: Codec, entry: Callable[[str, Sources], Entry]
    ) -> T:
        """Perform an act in a transaction of the store, which also has its outcome: both are written, or none.

        Args:
            node: the node of the act.
            act: performs it.
            codec: the form of its outcome.
            entry: returns the record of an outcome, given its JSON and what was read before.
        """
        done: list[tuple[Kept, Writing]] = []

        def perform(connection: object) -> Writing:
            before, self._open[node] = node.sources, connection
            try:
                kept = codec.keep(drive(cast("Coroutine[Any, Any, T]", act())))
            finally:
                del self._open[node]
            written = self._records.linked(entry(kept.body, before))
            done.append((kept, written))
            return written

        with self._records.lock():
            self._store.transact(self._run_id, self._records.epoch, perform)
            kept, written = done[0]
            self._records.note(written, 1)
        warn_of_lost(node, kept.lost)
        return kept.load()


def check_transactional(node: CallNode, effect: EffectKind | None) -> None:
    """Check that an act may stand in the transaction of one above.

    Raises:
        ConfigurationError: it must not be repeated, as it would be with the transaction.
    """
    if effect not in MAY_REPEAT:
        raise ConfigurationError(
            f"{node.path} stands in a transaction, and may be repeated with it: give it the effect read, "
            "idempotent or transactional, or call it outside"
        )
