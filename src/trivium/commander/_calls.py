"""The nodes of calls, the functions by which code finds its own, and the locks of sessions that calls take."""

from __future__ import annotations

import random
import time
from asyncio import CancelledError
from collections.abc import Callable, Hashable, Sequence
from contextvars import Token
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

from trivium.commander._drivers import ThreadEvent
from trivium.commander._node import NodeState, Scope, TaskNode, current, node_name, parent_of, session_of
from trivium.commander._workers import epoch, lock
from trivium.exceptions import CommanderNotRunError, WouldDeadlockError

T = TypeVar("T")
_ACTIVE = NodeState.ACTIVE  # a member of an enum is slow to read
_enter, _leave = current.set, current.reset  # attributes of what is imported are slow to read


class CallNode(TaskNode):
    """The node of a call: an agent's turn, a model call, a tool call, a task and its steps.

    It is a context manager: driver-neutral code in its block runs as this call, which starts and ends with the block.
    """

    __slots__ = ("__dict__", "_token")
    awaits: tuple[list[CallNode], ThreadEvent] | None = None
    """The queue of the session that the call waits in, and the event of its turn; see `SessionLocks`."""
    may_be_abandoned: bool = False
    """Whether sync code of this call is left to its thread when the call is stopped: a tool with a timeout."""
    held: list[CancelledError] | None = None
    """Where a cancellation goes that came while sync code ran whose result is kept; None: it is raised."""
    asked: tuple[Any, Sequence[Any]] | None = None
    """The module that was called, and its messages; set where there is a policy, or the run is streamed."""
    cause: Any = None
    """The reason for the call, where code below may want it: the message with a tool's call."""
    provider: str = ""
    """The provider of the model that is asked, where listeners may want it and it is known."""
    if TYPE_CHECKING:
        session_id: Hashable
        """The session that the call belongs to, as those below do that are in no other."""
        scope: Scope
        """All else that the call inherits; replace it to change that for the call and everything below."""
        request: object
        """The question of the call, where it keeps that for listeners that record contents."""
        target: str
        """The name of what is asked, as of a model, where that is not the name of the call."""
        spent: Any
        """What the call and everything below that has ended used, as can be added up; None where that is nothing."""
        sources: frozenset[Any]
        """The sources that were read in the call, and in everything below."""
    else:  # the same slots by public names: no property costs anything
        session_id, scope, request = TaskNode._session_id, TaskNode._scope, TaskNode._request
        target, spent, sources = TaskNode._target, TaskNode._spent, TaskNode._sources

    def __enter__(self) -> Self:
        self._token: Token[TaskNode | None] = _enter(self)
        scope = self._scope
        if self._stopping is None and scope.deadline is None and not scope.listeners:
            self._state = _ACTIVE  # most calls
            return self
        try:
            self._start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        _leave(self._token)
        if error is None:
            return self._close()
        self._close(outward := self._outward(error))
        if outward is not error:
            raise outward from None

    @property
    def name(self) -> str:
        """The name of the module, model, tool or step that was called."""
        return self._name

    @property
    def context(self) -> Any:
        """The object that the caller passed as `context=`; everything below inherits it."""
        return self._scope.context

    @property
    def transaction(self) -> Any:
        """The connection of a transactional tool or step to the database of its run's journal; None elsewhere."""
        return None if self._scope.journal is None else self._scope.journal.transaction_of(self)

    @property
    def path(self) -> str:
        """Names and ordinals from the root, for people."""
        return self._path()

    @property
    def key(self) -> str:
        """A stable identity, equal in every run that takes the same path."""
        return self._get_key()

    @property
    def run_id(self) -> str:
        """The identity of the whole run; in a journal it is the id that the run was given."""
        if self._scope.journal is not None:
            return self._scope.journal.id
        root = self.ancestor_chain[-1]
        with lock:
            root._run_id = root._run_id or uuid4().hex
        return root._run_id

    def now(self) -> float:
        """Return the time in seconds since the epoch; a run that is resumed from a journal gets the same once more."""
        return self._from_outside("now", time.time)

    def random(self) -> float:
        """Return a random number from 0 to 1, never for secrets; resumed runs get the same once more."""
        return self._from_outside("random", random.random)

    def new_id(self) -> str:
        """Return an id that nothing else has; resumed runs get the same once more."""
        return self._from_outside("new_id", lambda: uuid4().hex)

    def _from_outside(self, name: str, make: Callable[[], T]) -> T:
        return make() if self._scope.journal is None else self._scope.journal.value(name, make)

    def queues_below(self) -> list[list[CallNode]]:
        """Return the queues of sessions in which this call and those below it wait."""
        return [each.awaits[0] for each in self._subtree() if isinstance(each, CallNode) and each.awaits is not None]


def this_call() -> CallNode:
    """Return the call whose code runs here: its session, its context, its path in the run tree.

    Raises:
        CommanderNotRunError: no call runs here.

    Example:
        >>> from trivium import Module, this_call
        >>> class Teller(Module):
        ...     def forward(self, message):
        ...         return f"{this_call().session_id} {this_call().context}"
        >>> Teller()("?", session_id="ada", context={"rent": 900}).content
        "ada {'rent': 900}"
    """
    node = current.get()
    while node is not None and not isinstance(node, CallNode):
        node = parent_of(node)
    if node is None:
        raise CommanderNotRunError("this_call() works within a call, as of an agent, a task or a tool of theirs")
    return node


def this_session() -> Hashable:
    """Return the session of the call that runs here; 0 outside any run, as at the root of each."""
    node = current.get()
    return 0 if node is None else session_of(node)


def is_within(name: str) -> bool:
    """Return whether the code runs as the call of this name itself, and not in one below it."""
    node = current.get()
    return isinstance(node, CallNode) and node_name(node) == name


def step(name: str) -> CallNode:
    """Make a call below the one whose code runs here; use it as a context manager around driver-neutral code."""
    return CallNode(name, current.get())


class SessionLocks:
    """Locks of something that is shared, by key: one call at a time, the others in the order in which they came.

    A call below the holder of a lock shares it and does not wait.
    """

    __slots__ = ("_locks",)

    def __init__(self) -> None:
        self._locks: dict[tuple[int, Hashable], list[CallNode]] = {}
        """For each key in this process the call that holds the lock, and those that wait for it."""

    def acquire(self, key: Hashable, node: CallNode) -> ThreadEvent | None:
        """Acquire the lock, or join its queue; every `acquire` is followed by `release`.

        Returns:
            None if the call holds the lock now, else an event that is set when it does.

        Raises:
            WouldDeadlockError: the holder waits for this call, directly or through others.
        """
        queue = [node]
        if self._locks.setdefault((epoch[0], key), queue) is queue:  # atomic
            return None
        with lock:
            queue, above = self._locks.setdefault((epoch[0], key), queue), node.ancestor_chain
            if queue[0] in above:  # a call below the holder; or the lock has just come free
                return None
            ahead = [queue]
            for each in ahead:  # it grows on the way
                if each[0] in above:
                    raise WouldDeadlockError(
                        f"{node.path} and {queue[0].path} wait for each other in session {key!r}: two calls that go "
                        "through the same agents in opposite order need sessions of their own"
                    )
                ahead += [further for further in each[0].queues_below() if further not in ahead]
            queue.append(node)
            node.awaits = queue, ThreadEvent()
            return node.awaits[1]

    def release(self, key: Hashable, node: CallNode) -> None:
        """Hand the lock to the next call, or leave its queue; do nothing for a call that shares the lock of another."""
        with lock:
            queue = self._locks.get((epoch[0], key), [])
            if queue == [node]:
                del self._locks[epoch[0], key]
            elif node in queue:
                queue.remove(node)
                woken = queue[0] if node.awaits is None else node
                if woken.awaits is not None:
                    woken.awaits[1].set()
                    woken.awaits = None
