"""The turn to write a collection on a Qdrant server: one store of one process has it at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from trivium.exceptions import StoreBusyError

_KEY: Final = str(UUID(int=1))  # of the only point that is no note
_PAUSE: Final = 0.05  # most seconds between two looks at who has the turn
_TURNS: Final = 10  # silent times of others for which a writer waits at most


class Turn(NamedTuple):
    """A turn, which is a point among the notes of a collection, as long as it lasts.

    A server inserts a point that is not there, and replaces one only if it meets the condition of the request. So of
    several writers that insert it at once, one succeeds. Its holder renews it under another name as long as it works. A
    writer that is killed leaves its point, which others replace when nothing has changed for some time, by their own
    clocks.

    Args:
        holder: the store that has it.
        name: its own name, which no other turn has.
    """

    holder: str
    name: str

    @classmethod
    def taken(cls, client: Any, notes: str, holder: str, silent: float, place: str) -> Turn:
        """Wait for the turn.

        Args:
            client: the client of Qdrant.
            notes: name of the table.
            holder: the store that wants it; one that it has left from a failed call is its own.
            silent: seconds without any change after which its holder is taken for dead.
            place: the address of the server, for an error.

        Raises:
            StoreBusyError: others have had it for too long.
        """
        began = since = time.monotonic()
        mine, seen, replaced, pause = cls(holder, uuid4().hex), cls("", ""), "", 0.002
        while time.monotonic() - began < _TURNS * silent:
            mine._put(client, notes, replaced)
            kept = cls._of(client.retrieve(notes, [_KEY], with_payload=True)) or seen
            if kept == mine:
                return mine
            if kept != seen:
                seen, since = kept, time.monotonic()
            is_left = kept.holder == holder or time.monotonic() - since > silent
            replaced = kept.name if is_left else ""
            if not is_left:
                time.sleep(pause)
                pause = min(2 * pause, _PAUSE)
        raise StoreBusyError(f"the store {place} cannot be used: others write to it; try again", place)

    @classmethod
    def _of(cls, rows: Sequence[Any]) -> Turn | None:
        return cls(*rows[0].payload["turn"]) if rows else None

    def _put(self, client: Any, notes: str, replaced: str) -> None:
        """Write the point, unless there is one of another name than `replaced`."""
        from qdrant_client import models

        point = models.PointStruct(id=_KEY, vector={}, payload=self._payload())
        client.upsert(notes, [point], wait=True, ordering=_strong(), update_filter=_named(replaced))

    def renewed(self, client: Any, notes: str, place: str) -> Turn:
        """Return the turn under a new name, by which others see that its holder is alive.

        Raises:
            StoreBusyError: another has taken it meanwhile.
        """
        made = Turn(self.holder, uuid4().hex)
        client.set_payload(notes, made._payload(), points=_named(self.name), wait=True, ordering=_strong())
        if self._of(client.retrieve(notes, [_KEY], with_payload=True)) != made:
            said = "nothing was heard of this writer for so long that another took its turn; try again"
            raise StoreBusyError(f"the store {place} cannot be used: {said}", place)
        return made

    def _payload(self) -> dict[str, Any]:
        return {"terms": [self.name], "turn": list(self)}

    def end(self, client: Any, notes: str) -> None:
        """Delete the point, if it is still the one of this turn."""
        from qdrant_client import models

        client.delete(notes, points_selector=models.FilterSelector(filter=_named(self.name)), wait=True)


def _strong() -> Any:
    from qdrant_client import models

    return models.WriteOrdering.STRONG


def _named(name: str) -> Any:
    """Return the condition for the point of a turn, on the field that has an index."""
    from qdrant_client import models

    return models.Filter(must=[models.FieldCondition(key="terms", match=models.MatchValue(value=name))])
