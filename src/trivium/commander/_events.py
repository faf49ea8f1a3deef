"""Events: what happens at a node, told to whoever listens. Upper rooms add their own kinds beside these."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias

from typing_extensions import TypeVar

if TYPE_CHECKING:
    from trivium.commander._node import TaskNode

D_co = TypeVar("D_co", covariant=True, default=Any)


class Event(Generic[D_co]):
    """Something that happened at a node. Each kind is a class, so `match` and `isinstance` know the type of `data`.

    Args:
        node: where it happened.
        data: what belongs to the kind.

    Attributes:
        kind: the same as a word: "queued", "started", "retried" and "ended" are the stages of every node;
            "delta" is a piece of a model's stream, "usage" its tokens, "message" what entered or left an agent's
            memory or a task, "tool_call" and "tool_result" what an executor runs; "retry", "fallback", "rate_limit" and
            "overflow" are what was done so that a model answers.
    """

    __slots__ = ("data", "node")
    kind: ClassVar[str] = "note"

    def __init__(self, node: TaskNode, data: D_co) -> None:
        self.node, self.data = node, data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.node._name}, {self.data!r})"


class QueuedEvent(Event[None]):
    """A job was put or a handler called; it waits for its turn."""

    __slots__ = ()
    kind = "queued"


class StartedEvent(Event[None]):
    """The node began; each one that did also ends."""

    __slots__ = ()
    kind = "started"


class RetriedEvent(Event[Exception]):
    """The body failed with `data`, and is tried once more."""

    __slots__ = ()
    kind = "retried"


class EndedEvent(Event[BaseException | None]):
    """The node and all below it are over; `data` is its error, or None."""

    __slots__ = ()
    kind = "ended"


Listener: TypeAlias = Callable[[Event], object]
"""Called in place for each event: it must be quick, must not raise and must not wait."""
