"""One run of a task: all that changes while it runs, so that one task object can run any number of times at once."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING, Any, TypeAlias

from trivium.schema import Entity, Message, StatusCode

if TYPE_CHECKING:
    from trivium.tasks._config import TaskConfig
    from trivium.tasks._sequences import Happened
    from trivium.tasks._task import Task

__all__ = ["Loops", "OfRun", "ResponderKey", "TaskRun"]

ResponderKey: TypeAlias = "Entity | Task[Any]"


RECENT = 16


class Loops:
    """Notices messages that repeat for ever.

    Three kinds of loop: a cycle of messages that comes round exactly; a set of messages that come much more often than
    all others, and of late alone; and refusals at every second step, whatever is said between them.

    Args:
        config: how long a cycle may be, and how sure it must be.
    """

    __slots__ = ("_config", "_counts", "_last", "_refusals", "_refused_at")

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        self._counts: Counter[int] = Counter()
        self._last: deque[int] = deque(maxlen=config.inf_loop_cycle_len * config.inf_loop_wait_factor)
        self._refused_at, self._refusals = -5, 0

    def add(self, message: Message) -> None:
        """Take the message that a step came to."""
        if not self._config.inf_loop_cycle_len:
            return
        calls = tuple((call.name, call.arguments) for call in message.tool_calls)
        seen = hash((str(message.content), message.sender, message.entity, message.receiver, calls))
        self._counts[seen] += 1
        self._last.append(seen)

    def refused(self, step: int) -> None:
        """Take that a step came to a refusal."""
        self._refusals = self._refusals + 1 if self._refused_at == step - 2 else 0
        self._refused_at = step

    def found(self, step: int) -> str:
        """What kind of loop there is after so many steps; "" is none."""
        longest, wait = self._config.inf_loop_cycle_len, self._config.inf_loop_wait_factor
        if self._refusals > wait:
            return "every second message is a refusal"
        if longest > 0 and step % longest == 0 and self._counts.total() >= wait * longest:
            return self._cycle(longest, wait) or self._dominance(longest, wait)
        return ""

    def _cycle(self, longest: int, wait: int) -> str:
        last = list(self._last)
        for length in range(1, longest + 1):
            latest = last[-wait * length :]
            if all(map(eq, latest[length:], latest)):
                return f"a cycle of {length} messages repeats"
        return ""

    def _dominance(self, longest: int, wait: int) -> str:
        common = self._counts.most_common(longest + 1)
        amounts = [amount for _, amount in common]
        factor = self._config.inf_loop_dominance_factor
        drops = [at for at, (more, less) in enumerate(pairwise(amounts)) if more > factor * less and more - less > wait]
        if drops:
            count = drops[-1] + 1
        elif len(common) <= longest:
            count = len(common)
        else:
            return ""
        latest = set(list(self._last)[-wait * count :])
        return f"{count} messages repeat" if latest == {seen for seen, _ in common[:count]} else ""


@dataclass(slots=True)
class TaskRun:
    """Where a run of a task stands."""

    task: Task[Any]
    caller: Task[Any] | None = None
    turns: int = -1
    pending_message: Message | None = None
    pending_sender: ResponderKey = Entity.USER
    session_id: Any = ""
    max_cost: float = 0
    max_tokens: int = 0
    steps: int = 0
    n_stalled_steps: int = 0
    human_tried: bool = False
    is_done: bool = False
    is_pass_thru: bool = False
    history_length: int = 0
    message_history_idx: int = -1
    last_responder: ResponderKey | None = None
    status: StatusCode | None = None
    loops: Loops | None = None
    recent: deque[Message] = field(default_factory=partial(deque[Message], maxlen=RECENT))
    """The latest messages that were pending: they live as long as `message.parent` may be asked for."""
    happened: list[Happened] = field(default_factory=list["Happened"])


class OfRun:
    """An attribute of a task that belongs to the run whose code asks: in the run, its own; outside, the latest's."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, task: Any, owner: type | None = None) -> Any:
        return self if task is None else getattr(task._run, self._name)

    def __set__(self, task: Any, value: Any) -> None:
        setattr(task._run, self._name, value)
