"""One run of a task: all that changes while it runs, so that one task object can run any number of times at once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from operator import eq
from typing import TYPE_CHECKING, TypeAlias

from trivium.exceptions import InfiniteLoopError
from trivium.schema import Entity, Message, StatusCode

if TYPE_CHECKING:
    from trivium.tasks._task import Task

ResponderKey: TypeAlias = "Entity | Task"


class Loops:
    """Notices messages that repeat for ever.

    Args:
        longest: the longest cycle that is noticed.
        repeats: how often a cycle must come round.
    """

    def __init__(self, longest: int = 10, repeats: int = 4) -> None:
        self._longest, self._repeats = longest, repeats
        self._last: deque[int] = deque(maxlen=longest * repeats)

    def add(self, message: Message) -> None:
        """Take the next message.

        Raises:
            InfiniteLoopError: the latest messages are one exact cycle, come round often enough.
        """
        calls = tuple((call.name, call.arguments) for call in message.tool_calls)
        self._last.append(hash((str(message.content), message.sender, message.receiver, calls)))
        for length in range(1, self._longest + 1):
            if self._is_cycle(length):
                raise InfiniteLoopError(
                    f"the last messages repeat a cycle of {length}; change what the agents are told, "
                    "or set TaskConfig(inf_loop_cycle_len=0) if this is meant"
                )

    def _is_cycle(self, length: int) -> bool:
        needed = max(length * self._repeats, 10)
        last = list(self._last)[-needed:]
        return len(last) == needed and all(map(eq, last[length:], last))


@dataclass(slots=True)
class TaskRun:
    """Where a run of a task stands."""

    pending: Message
    pending_sender: ResponderKey = Entity.USER
    caller: str | None = None
    turns: int = -1
    steps: int = 0
    stalled: int = 0
    human_tried: bool = False
    responder: ResponderKey | None = None
    status: StatusCode | None = None
    loops: Loops | None = field(default_factory=Loops)
