"""The events of the life of a node."""

from __future__ import annotations

from logging import DEBUG, WARNING
from typing import Literal

from trivium.events import Event, JSONObject, to_json_value


class QueuedEvent(Event[None, Literal["queued"]], level=DEBUG):
    """A job was put or a handler was called; it waits to be started."""

    __slots__ = ()


class StartedEvent(Event[None, Literal["started"]], level=DEBUG):
    """The node started; every node that started also ends."""

    __slots__ = ()

    def fields(self, content: bool = False) -> JSONObject:
        """Return the name of what is asked, as of a model, and the request if the node keeps that."""
        from trivium.commander._calls import CallNode

        if not isinstance(self.node, CallNode) or self.node.request is None:
            return {}
        return {"target": self.node.target, **({"request": to_json_value(self.node.request)} if content else {})}


class RetriedEvent(Event[Exception, Literal["retried"]], level=WARNING):
    """The body of a job failed with the error `data`, and is run again.

    Or the answer of an agent's model did not fit, and the model is asked again: what was streamed of it is void.
    """

    __slots__ = ()


class EndedEvent(Event[BaseException | None, Literal["ended"]], level=DEBUG):
    """The node and everything below it have ended; `data` is the error, or None."""

    __slots__ = ()

    def fields(self, content: bool = False) -> JSONObject:
        """Return the state and the error, and the result if the node keeps it."""
        result = self.node.result if content else None
        found = {} if result is None else {"result": to_json_value(result)}
        return {"state": self.node.state.value, **super().fields(), **found}
