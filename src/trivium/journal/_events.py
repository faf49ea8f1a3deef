"""What a durable run says to listeners beside what its nodes do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from trivium.events import Event, JSONObject

__all__ = ["Fork", "ForkedEvent"]


class Fork(NamedTuple):
    """The place where a run was forked from another one.

    Args:
        run_id: the other run.
        key: the key of its node from which on this run goes its own way; "" for its end.
    """

    run_id: str
    key: str


class ForkedEvent(Event[Fork, Literal["forked"]]):
    """A run begins that was forked from another one."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the other run."""
        return self.data.run_id

    def fields(self, content: bool = False) -> JSONObject:
        """Return the run and the key of the node."""
        return {"run_id": self.data.run_id, "fork_key": self.data.key}

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Fork:
        """Return the place of a fork that another process sent."""
        return Fork(fields["run_id"], fields["fork_key"])
