"""One call at a time for each key: who comes later waits, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from threading import Lock

from trivium.commander._calls import CallNode
from trivium.commander._doors import Bell
from trivium.commander._node import TaskNode
from trivium.exceptions import WouldDeadlockError

__all__ = ["Turns"]

_lock = Lock()  # one for all: who waits for whom is a question about all turns; held for a few lines only


class _Turn:
    """Whose turn it is, who comes next, and which turns those below the holder wait for."""

    holder: CallNode
    waiting: deque[tuple[CallNode, Bell]] | None = None  # most turns are over before anybody else comes
    blocked_on: tuple[_Turn, ...] = ()


class Turns:
    """Turns at something that is shared, by key.

    A call below the one whose turn it is belongs to that turn and does not wait.
    """

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns: dict[Hashable, _Turn] = {}

    def enter(self, key: Hashable, node: CallNode) -> Bell | None:
        """Take the turn, or get in line; every `enter` is followed by `leave`.

        Returns:
            None if it is this call's turn, else what rings when it is.

        Raises:
            WouldDeadlockError: those whose turn it is wait for this call, directly or over others.
        """
        turn = _Turn()
        turn.holder = node
        if self._turns.setdefault(key, turn) is turn:  # one step, which no other thread divides
            node.held_turn = turn
            return None
        with _lock:
            turn = self._turns.setdefault(key, turn)
            above = node.ancestor_chain
            if turn.holder in above:
                node.held_turn = turn if turn.holder is node else None  # it has just come free
                return None
            held = _held_by(above)
            if _leads_to(turn, held):
                raise WouldDeadlockError(
                    f"{node._name} and {turn.holder._name} wait for each other in session {key!r}: two calls that go "
                    "through the same agents in opposite order need sessions of their own"
                )
            for each in held:
                each.blocked_on += (turn,)
            bell = Bell()
            if turn.waiting is None:
                turn.waiting = deque()
            turn.waiting.append((node, bell))
            return bell

    def leave(self, key: Hashable, node: CallNode) -> None:
        """Hand the turn on, or get out of the line; nothing for a call that belongs to another's turn."""
        with _lock:
            turn = self._turns.get(key)
            if turn is None:
                return
            if turn.holder is not node:
                self._get_out(turn, node)
                return
            node.held_turn = None  # no cycle is left to the collector
            if not turn.waiting:
                del self._turns[key]
                return
            turn.holder, bell = turn.waiting.popleft()
            turn.holder.held_turn = turn
            turn.blocked_on = ()
            _unblock(turn.holder, turn)
        bell.ring()

    @staticmethod
    def _get_out(turn: _Turn, node: CallNode) -> None:
        if turn.waiting and any(waiting is node for waiting, _ in turn.waiting):
            turn.waiting = deque(each for each in turn.waiting if each[0] is not node)
            _unblock(node, turn)


def _held_by(nodes: list[TaskNode]) -> list[_Turn]:
    found = [getattr(node, "held_turn", None) for node in nodes]
    return [turn for turn, node in zip(found, nodes, strict=True) if turn is not None and turn.holder is node]


def _unblock(node: CallNode, turn: _Turn) -> None:
    for each in _held_by(node.ancestor_chain):
        each.blocked_on = tuple(other for other in each.blocked_on if other is not turn)


def _leads_to(turn: _Turn, held: list[_Turn]) -> bool:
    """Whether whoever holds `turn` waits, over any number of others, for one of those held."""
    seen, ahead = list[_Turn](), [turn]
    while ahead:
        here = ahead.pop()
        if here in held:
            return True
        if here not in seen:
            seen.append(here)
            ahead += here.blocked_on
    return False
