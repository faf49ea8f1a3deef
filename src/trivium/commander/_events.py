"""The events of the life of a node."""

from __future__ import annotations

from logging import DEBUG, WARNING
from typing import Literal

from trivium.events import Event, JSONObject, Listener, to_json_value

__all__ = ["EndedEvent", "Event", "Listener", "QueuedEvent", "RetriedEvent", "StartedEvent"]


class QueuedEvent(Event[None, Literal["queued"]], level=DEBUG):
    """A job was put or a handler was called; it waits to be started."""

    __slots__ = ()


class StartedEvent(Event[None, Literal["started"]], level=DEBUG):
    """The node started; every node that started also ends."""

    __slots__ = ()

    def fields(self, content: bool = False) -> JSONObject:
        """Return what the node was asked, if it keeps that: the request of a model call."""
        from trivium.commander._calls import CallNode

        request = self.node.request if content and isinstance(self.node, CallNode) else None
        return {} if request is None else {"request": to_json_value(request)}


class RetriedEvent(Event[Exception, Literal["retried"]], level=WARNING):
    """The body of a job failed with the error `data`, and is run again."""

    __slots__ = ()


class EndedEvent(Event[BaseException | None, Literal["ended"]], level=DEBUG):
    """The node and everything below it have ended; `data` is the error, or None."""

    __slots__ = ()

    def fields(self, content: bool = False) -> JSONObject:
        """Return the state and the error, and the result if the node keeps it."""
        result = self.node.result if content else None
        found = {} if result is None else {"result": to_json_value(result)}
        return {"state": self.node.state.value, **super().fields(), **found}
