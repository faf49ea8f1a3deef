"""The detection of messages that repeat endlessly."""

from __future__ import annotations

from collections import Counter, deque
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trivium.tasks._config import TaskConfig
    from trivium.tasks._signals import Signs

__all__ = ["LoopDetector"]


class LoopDetector:
    """Detects messages that repeat endlessly.

    It knows three kinds of loop: an exact cycle of messages; a few messages that are much more frequent than all others
    and recently the only ones; and a refusal at every second step, whatever is said between.

    Args:
        config: the longest cycle, and the certainty that is needed.
    """

    __slots__ = ("_config", "_counts", "_last", "_refusals", "_refused_at")

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        self._counts: Counter[int] = Counter()
        self._last: deque[int] = deque(maxlen=config.inf_loop_cycle_len * config.inf_loop_wait_factor)
        self._refused_at, self._refusals = -5, 0

    def add(self, signs: Signs) -> None:
        """Count the message that a step led to."""
        message, calls = signs.message, signs.calls
        if message is not None and self._config.inf_loop_cycle_len:
            said = (str(message.content), message.sender, id(signs.entity), message.receiver)
            seen = hash((*said, *[(call.name, call.arguments) for call in calls]) if calls else said)
            self._counts[seen] += 1
            self._last.append(seen)

    def add_refusal(self, step: int) -> None:
        """Count a refusal that a step led to."""
        self._refusals = self._refusals + 1 if self._refused_at == step - 2 else 0
        self._refused_at = step

    def find(self, step: int) -> str:
        """Return a description of the loop after so many steps; "" if there is none."""
        longest, wait = self._config.inf_loop_cycle_len, self._config.inf_loop_wait_factor
        if self._refusals > wait:
            return "every second message is a refusal"
        if longest <= 0 or step % longest or self._counts.total() < wait * longest:
            return ""
        last = list(self._last)
        for length in range(1, longest + 1):
            latest = last[-wait * length :]
            if all(map(eq, latest[length:], latest)):
                return f"a cycle of {length} messages repeats"
        common = self._counts.most_common(longest + 1)
        amounts = [amount for _, amount in common]
        factor = self._config.inf_loop_dominance_factor
        drops = [at for at, (more, less) in enumerate(pairwise(amounts)) if more > factor * less and more - less > wait]
        count = drops[-1] + 1 if drops else len(common)
        if count > longest:
            return ""
        is_alone = set(last[-wait * count :]) == {seen for seen, _ in common[:count]}
        return f"{count} messages repeat" if is_alone else ""
