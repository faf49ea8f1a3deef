"""A lock for each session: one call at a time, the others wait in the order in which they came."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from threading import Lock

from trivium.commander._calls import CallNode
from trivium.commander._drivers import ThreadEvent
from trivium.commander._node import TaskNode
from trivium.exceptions import WouldDeadlockError

__all__ = ["SessionLocks"]

_lock = Lock()  # one for all, since a deadlock spans several sessions; held for a few lines only


class _SessionLock:
    """The call that holds the lock, those that wait for it, and the locks that calls below the holder wait for."""

    holder: CallNode
    waiting: deque[tuple[CallNode, ThreadEvent]] | None = None  # most locks are released before another call comes
    blocked_on: tuple[_SessionLock, ...] = ()


class SessionLocks:
    """Locks of something that is shared, by key.

    A call below the holder of a lock shares it and does not wait.
    """

    __slots__ = ("_locks",)

    def __init__(self) -> None:
        self._locks: dict[Hashable, _SessionLock] = {}

    def acquire(self, key: Hashable, node: CallNode) -> ThreadEvent | None:
        """Acquire the lock, or join its queue; every `acquire` is followed by `release`.

        Returns:
            None if the call holds the lock now, else an event that is set when it does.

        Raises:
            WouldDeadlockError: the holder waits for this call, directly or through others.
        """
        lock = _SessionLock()
        lock.holder = node
        if self._locks.setdefault(key, lock) is lock:  # atomic
            node.held_lock = lock
            return None
        with _lock:
            lock = self._locks.setdefault(key, lock)
            above = node.ancestor_chain
            if lock.holder in above:
                node.held_lock = lock if lock.holder is node else None  # it has just come free
                return None
            held = _held_by(above)
            if _leads_to(lock, held):
                raise WouldDeadlockError(
                    f"{node.name} and {lock.holder.name} wait for each other in session {key!r}: two calls that go "
                    "through the same agents in opposite order need sessions of their own"
                )
            for each in held:
                each.blocked_on += (lock,)
            released = ThreadEvent()
            if lock.waiting is None:
                lock.waiting = deque()
            lock.waiting.append((node, released))
            return released

    def release(self, key: Hashable, node: CallNode) -> None:
        """Hand the lock to the next call, or leave its queue; do nothing for a call that shares the lock of another."""
        with _lock:
            lock = self._locks.get(key)
            if lock is None:
                return
            if lock.holder is not node:
                if lock.waiting and any(waiting is node for waiting, _ in lock.waiting):
                    lock.waiting = deque(each for each in lock.waiting if each[0] is not node)
                    _unblock(node, lock)
                return
            node.held_lock = None  # breaks the reference cycle
            if not lock.waiting:
                del self._locks[key]
                return
            lock.holder, released = lock.waiting.popleft()
            lock.holder.held_lock = lock
            lock.blocked_on = ()
            _unblock(lock.holder, lock)
        released.set()


def _held_by(nodes: list[TaskNode]) -> list[_SessionLock]:
    found = [getattr(node, "held_lock", None) for node in nodes]
    return [lock for lock, node in zip(found, nodes, strict=True) if lock is not None and lock.holder is node]


def _unblock(node: CallNode, lock: _SessionLock) -> None:
    for each in _held_by(node.ancestor_chain):
        each.blocked_on = tuple(other for other in each.blocked_on if other is not lock)


def _leads_to(lock: _SessionLock, held: list[_SessionLock]) -> bool:
    """Return whether the holder of `lock` waits, through any number of others, for one of those held."""
    seen, ahead = list[_SessionLock](), [lock]
    while ahead:
        here = ahead.pop()
        if here in held:
            return True
        if here not in seen:
            seen.append(here)
            ahead += here.blocked_on
    return False
