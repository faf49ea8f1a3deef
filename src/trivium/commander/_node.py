"""The run tree: every call, job and handler is a node; a node inherits its scope and emits events."""

# A user's `Job` is a node, so the internals of nodes are underscored; the files of this package share them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import time
from asyncio import CancelledError
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from enum import StrEnum
from functools import partial
from hashlib import blake2b
from itertools import count
from logging import getLogger
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from trivium.commander._events import EndedEvent, StartedEvent
from trivium.commander._limits import Budget, Limits, check_option, check_options
from trivium.commander._workers import lock
from trivium.events import Event, Listener
from trivium.exceptions import (
    AttributeNotSetError,
    DeadlineExceededError,
    FinishedNodeError,
    LimitExceededError,
    RecursionTooDeepError,
    RunKilledError,
)

if TYPE_CHECKING:
    from trivium.commander._commander import CommanderAsync
    from trivium.commander._jobs import HandlerCoroutine, Job
    from trivium.commander._work import WorkNode

D = TypeVar("D")
NOTHING: Final[frozenset[Any]] = frozenset()
current: ContextVar[TaskNode | None] = ContextVar("trivium_node", default=None)
"""The node whose code runs here, or None outside any run."""
current_node: Final = current.get
"""Return the node whose code runs here; `current.get()`, which is slower where `current` is imported."""


class NodeState(StrEnum):
    """The state of a node. The last three are final."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"
    EXCEPTION = "EXCEPTION"
    TERMINATED = "TERMINATED"


_PENDING, _ACTIVE, _COMPLETED, _EXCEPTION, _TERMINATED = NodeState


class Cancellation(BaseException):
    """Unwinds a cancelled subtree; becomes a RunError at the node that was stopped, and never leaves it."""


_log = getLogger("trivium.commander")
_new = object.__new__  # without `__init__`, at half the cost


class Scope:
    """All that a node inherits but its session, nothing at first: immutable, shared; `replace` makes a changed copy."""

    __slots__ = (
        "approve", "budget", "context", "deadline", "journal", "listeners", "paused", "pipes", "policies", "task_run",
    )  # fmt: skip

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()
        self.budget: Budget | None = None
        self.deadline: tuple[float, TaskNode] | None = None
        self.context: Any = None
        self.pipes: tuple[Any, ...] = ()
        self.approve: Callable[[Any], Any] | None = None
        self.policies: tuple[Any, ...] = ()
        self.task_run: object = None
        self.journal: Any = None
        self.paused: Exception | None = None
        """The error of a call that waits for a decision: the calls beside it are asked about, and do not run."""

    def replace(self, **changes: Any) -> Scope:
        """Return a copy with some of its values replaced."""
        new = _new(Scope)
        new.listeners, new.budget, new.deadline, new.context = self.listeners, self.budget, self.deadline, self.context
        new.pipes, new.approve = self.pipes, self.approve
        new.policies, new.task_run, new.journal, new.paused = self.policies, self.task_run, self.journal, self.paused
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    __replace__ = replace


ROOT: Final = Scope()


class TaskNode:
    """A node of the run tree.

    A user's `Job` is a node, so the tree takes only the documented names on it; everything else is
    underscored. The invariants: a node that started ends exactly once, after those of its children that are awaited;
    the others are cancelled; nothing is started below a node that has ended.
    """

    __slots__ = (
        "__weakref__", "_children", "_failing", "_heard", "_key", "_name", "_ordinal", "_ordinals", "_parent",
        "_request", "_run_id", "_scope", "_session_id", "_sources", "_spent", "_state", "_stopping", "_target",
        "_wakers", "exception", "result",
    )  # fmt: skip
    _kind: str = "call"
    """The kind of node, for views: "call", "job", "handler" or "commander"."""
    _ordinals: dict[str, count[int]]
    """The counters of the names of its children; there are some where there is `_children`."""
    _session_id: Hashable

    def __init__(self, name: str, parent: TaskNode | None = None, scope: Scope | None = None) -> None:
        self._name = name
        self._state: NodeState = _PENDING
        self._parent: TaskNode | None = None
        self._children: dict[TaskNode, None] | None = None
        self._stopping: tuple[TaskNode, str] | None = None
        self._wakers: list[Callable[[], object]] | None = None
        self._key: str | None = None
        self._run_id: str | None = None
        self._spent: Any = None
        self._sources: frozenset[Any] = NOTHING
        self._request: object = None
        self._target: str = ""
        self._heard: tuple[Listener, ...] = ()  # its own, by `listen`
        self._failing: tuple[Listener, ...] = ()  # of a whole run, at its root: those that have raised
        self.exception: BaseException | None = None
        self.result: Any = None
        self._ordinal = 0
        if parent is None:
            self._scope, self._session_id = scope or ROOT, 0
        else:
            self._scope, self._session_id = scope or parent._scope, parent._session_id
            self._join(parent)

    def _join(self, parent: TaskNode) -> None:
        """Join the children of a node. The child joins first and reads the stop flag after: no kill is missed."""
        if parent._state is not _ACTIVE and parent._state is not _PENDING:
            raise FinishedNodeError(
                f"{self._name} cannot start below {parent._name}, which has ended: await it before its caller ends, "
                "run it in a context of its own, or use parent=node.commander"
            )
        self._parent = parent
        if parent._children is None:
            with lock:  # once, even where two threads start the first child
                if parent._children is None:
                    parent._ordinals, parent._children = {}, {}
        counter = parent._ordinals.get(self._name)
        if counter is None:  # setdefault and next are atomic: two threads never share a number
            counter = parent._ordinals.setdefault(self._name, count())
        self._ordinal = next(counter)
        parent._children[self] = None
        if parent._stopping is not None:
            self._stopping = parent._stopping

    def __repr__(self) -> str:
        return f"<{self._name}: {self.state.value}>"

    # ---- the documented names
    @property
    def parent(self) -> TaskNode | Literal["Null"]:
        """The node above, or "Null" at the root."""
        return "Null" if self._parent is None else self._parent

    @property
    def children(self) -> list[TaskNode]:
        """The nodes below that have not ended."""
        return list(self._children or ())

    @property
    def children_num(self) -> int:
        """The number of `children`."""
        return len(self.children)

    @property
    def state(self) -> NodeState:
        """The state of the node: TERMINATED from its cancellation on, EXCEPTION from the failure of its body on."""
        if self._state is not _PENDING and self._state is not _ACTIVE:
            return self._state
        return _TERMINATED if self._stopping is not None else self._state if self.exception is None else _EXCEPTION

    @property
    def ancestor_chain(self) -> list[TaskNode]:
        """This node, its parent, and so on up to the root."""
        chain: list[TaskNode] = [self]
        while (above := chain[-1]._parent) is not None:
            chain.append(above)
        return chain

    @property
    def commander(self) -> CommanderAsync[Any]:
        """The commander that it runs below.

        Raises:
            AttributeNotSetError: it does not run below one.
        """
        return self._holder().commander

    def _holder(self) -> WorkNode:
        """Return the node that can hold work: this one, or the nearest job, handler or commander above."""
        if self._parent is None:
            raise AttributeNotSetError(f"{self._name} does not run below a commander: put jobs into one that runs")
        return self._parent._holder()

    async def put_job(self, job: Job, parent: TaskNode | None = None) -> None:
        """Queue a job below this node, or below `parent`; waits while the queue is full.

        Raises:
            NotTaskerError: its task is not marked with `@tasker(PASS_WORD)`.
            FinishedNodeError: the node that it was put below has ended.
            CommanderNotRunError: the commander does not run.
        """
        above: TaskNode = check_option("parent", parent or self, TaskNode, "a job or a called handler", "put_job")
        await above.commander._put(job, above)

    def call_handler(self, handler: HandlerCoroutine[Any], parent: TaskNode | None = None) -> None:
        """Start a handler below this node, or below `parent`; it runs beside everything else.

        Raises:
            NotHandlerError: it is not a handler that was called.
            FinishedNodeError: the node that it was put below has ended.
            CommanderNotRunError: the commander does not run.
        """
        above: TaskNode = check_option("parent", parent or self, TaskNode, "a job or a called handler", "call_handler")
        above.commander.call_handler_threadsafe(handler, above)

    async def exit_commander(self, return_result: Any = None) -> None:
        """End the whole run; `run` returns `return_result`."""
        self.commander.exit(return_result, wait=False)

    # ---- identity
    def _path(self, most: int | None = None) -> str:
        """Return names and ordinals from the root, or only the nearest `most` of them, if the way up is too long."""
        names: list[str] = []
        node: TaskNode | None = self
        while node is not None and (most is None or len(names) < most):
            names.append(f"{node._name}#{node._ordinal}")
            node = node._parent
        return "/".join(reversed(names if node is None else [*names, "…"]))

    def _get_key(self) -> str:
        """Return a stable identity: equal in every run that takes the same path. O(1) once the parent has its own."""
        unnamed: list[TaskNode] = []
        node: TaskNode | None = self
        while node is not None and node._key is None:
            unnamed.append(node)
            node = node._parent
        key = "" if node is None else node._key or ""
        for node in reversed(unnamed):
            key = node._key = blake2b(f"{key}/{node._name}#{node._ordinal}".encode(), digest_size=12).hexdigest()
        return key

    # ---- events
    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for every event of this node and of all below, now and later.

        Returns:
            A function that ends it.

        Raises:
            ArgumentTypeError: it is no function, or an async one.
        """
        check_options(None, None, (listener,))
        heard = partial(listener)  # of this call alone: a listener may be registered twice
        self._change_listeners(lambda old: (*old, heard))
        return partial(self._change_listeners, lambda old: tuple(each for each in old if each is not heard))

    def _change_listeners(self, change: Callable[[tuple[Listener, ...]], tuple[Listener, ...]]) -> None:
        # The cost is paid here, once, never per event or per level: one new scope for each old one.
        made: dict[Scope, Scope] = {}
        self._heard = change(self._heard)
        for node in self._subtree():
            old = node._scope
            if old not in made:
                made[old] = old.replace(listeners=change(old.listeners))
            node._scope = made[old]

    # ---- life
    def _start(self) -> None:
        if self._stopping is not None or self._scope.deadline is not None:
            checkpoint(self)
        self._state = _ACTIVE
        if self._scope.listeners:
            emit(self, StartedEvent, None)

    def _close(self, error: BaseException | None = None) -> None:
        started, parent = self._state is _ACTIVE, self._parent
        if self._stopping is not None or (error is not None and isinstance(error, CancelledError)):
            self._state = _TERMINATED
        else:
            self._state = _COMPLETED if error is None else _EXCEPTION
        self.exception = error
        if self._children:
            for child in list(self._children):  # what nobody awaited gets no further than its next step
                child.kill("its caller has ended")
        if parent is not None:
            if parent._children:
                parent._children.pop(self, None)  # a finished subtree frees its memory
            if self._spent is not None:
                with lock:  # children may end in threads of their own
                    parent._spent = self._spent if parent._spent is None else parent._spent + self._spent
        if started and self._scope.listeners:
            emit(self, EndedEvent, error)

    def _outward(self, error: BaseException) -> BaseException:
        """Return the error for the caller of this node: a Cancellation passes up to the node that was cancelled."""
        if not isinstance(error, Cancellation) or self._stopping is None:
            if isinstance(error, LimitExceededError) and not error.path:
                error.path = self._path()
            if isinstance(error, RecursionError) and not isinstance(error, RecursionTooDeepError):
                return RecursionTooDeepError.of(self._name)
            return error
        cancelled, reason = self._stopping
        return error if cancelled is not self and self._parent is not None else error_of_stop(self, reason)

    # ---- stopping
    def kill(self, reason: str = "killed") -> None:
        """Stop this node and everything below; thread-safe, returns at once.

        Nothing below starts anything again, waiting code is woken, and the caller of this node gets a RunKilledError
        with the reason.
        """
        self._cancel_below(self, reason)

    def _cancel_below(self, cancelled: TaskNode, reason: str, except_for: TaskNode | None = None) -> None:
        """Flag this node and everything below except `except_for`, then wake it; the caller of `cancelled` gets it."""
        flagged: list[TaskNode] = []
        for node in self._subtree(except_for):
            if node._stopping is None:
                node._stopping = (cancelled, reason)
                flagged.append(node)
        for node in reversed(flagged):
            node._wake()

    def _wake(self) -> None:
        for waker in list(self._wakers or ()):
            waker()

    def _subtree(self, except_for: TaskNode | None = None) -> Iterator[TaskNode]:
        todo: list[TaskNode] = [self]
        while todo:  # iterative: a chain of 100,000 is fine
            node = todo.pop()
            if node is not except_for:
                yield node
                todo.extend(list(node._children or ()))


class WokenBy:
    """While the block runs, `kill` calls `waker`; at once if the node is already stopping."""

    __slots__ = ("_node", "_waker")  # a generator as context manager costs four times as much, at each wait

    def __init__(self, node: TaskNode, waker: Callable[[], object]) -> None:
        self._node, self._waker = node, waker

    def __enter__(self) -> None:
        node = self._node
        if node._wakers is None:
            with lock:
                node._wakers = [] if node._wakers is None else node._wakers
        node._wakers.append(self._waker)
        if node._stopping is not None:
            self._waker()

    def __exit__(self, *raised: object) -> None:
        assert self._node._wakers is not None
        self._node._wakers.remove(self._waker)


# ---- beside the class, since a user's `Job` is a node: what the runtime and other packages ask of any node
node_name: Callable[[TaskNode], str] = attrgetter("_name")
"""The name of the node."""
parent_of: Callable[[TaskNode], TaskNode | None] = attrgetter("_parent")
"""The node above; None at the root."""
scope_of: Callable[[TaskNode], Scope] = attrgetter("_scope")
"""The listeners, budget, deadline and so on of the node."""
session_of: Callable[[TaskNode], Hashable] = attrgetter("_session_id")
"""The session that the node belongs to."""
sources_of: Callable[[TaskNode], frozenset[Any]] = attrgetter("_sources")
"""The sources that were read in the node, and in everything below."""
stopped_by: Callable[[TaskNode], tuple[TaskNode, str] | None] = attrgetter("_stopping")
"""The node that was cancelled, this one or one above, and the reason; None if none was."""


def error_of_stop(node: TaskNode, reason: str) -> DeadlineExceededError | RunKilledError:
    """Return the error that the caller of a node gets when it was stopped for this reason."""
    path = node._path()
    if reason == "deadline":
        return DeadlineExceededError(f"{path} exceeded its time limit; raise timeout= or Limits(seconds=)", path)
    return RunKilledError(f"{path} was stopped: {reason}", path)


def key_of(node: TaskNode) -> str:
    """Return the identity of the node, equal in every run that takes the same path."""
    return node._get_key()


def claim_key(node: TaskNode, key: str) -> None:
    """Give the node another identity, before anything starts below it."""
    node._key = key


def change_scope(
    node: TaskNode,
    *,
    timeout: float | None = None,
    limits: Limits | None = None,
    listeners: tuple[Listener, ...] = (),
    **changes: Any,
) -> None:
    """Replace the scope of the node, for it and for everything that starts below it.

    Args:
        node: the node.
        timeout: seconds until it is stopped; the earlier deadline counts.
        limits: what it may spend, within the limits that it inherits.
        listeners: called in addition to those that it inherits.
        changes: other values of the scope, by name.
    """
    scope = node._scope
    if limits is not None:
        changes["budget"] = Budget(limits, scope.budget)
        if limits.seconds is not None:
            timeout = limits.seconds if timeout is None else min(timeout, limits.seconds)
    if timeout is not None:
        when = time.monotonic() + timeout
        if scope.deadline is None or when < scope.deadline[0]:
            changes["deadline"] = (when, node)
    if listeners:
        changes["listeners"] = (*scope.listeners, *listeners)
    node._scope = scope.replace(**changes)


def emit(node: TaskNode, event: type[Event[D, Any]], data: D) -> None:
    """Call the listeners of the node with an event; the first error of each in a run is logged: they only observe."""
    listeners = node._scope.listeners
    if listeners:
        happened: Any = event(node, data)
        for listener in listeners:
            try:
                listener(happened)
            except Exception:
                root = node.ancestor_chain[-1]
                if listener not in root._failing:
                    root._failing = (*root._failing, listener)
                    _log.exception("a listener failed at %r of %s; the run goes on", event.kind, node._path(most=8))


def checkpoint(node: TaskNode) -> None:
    """Raise Cancellation if the node is being stopped or its time is over."""
    if (deadline := node._scope.deadline) is not None and node._stopping is None and time.monotonic() >= deadline[0]:
        deadline[1].kill("deadline")
    if node._stopping is not None:
        raise Cancellation


def forget_name(node: TaskNode) -> None:
    """Drop the counter of the node's name at its parent, if no other node of that name will start there."""
    if node._parent is not None:
        node._parent._ordinals.pop(node._name, None)


def note_sources(node: TaskNode, sources: frozenset[Any]) -> None:
    """Note what was read, in the node and at once in all above: its words may be handed on before it ends."""
    above: TaskNode | None = node
    while above is not None and not sources <= above._sources:
        with lock:  # children may run in threads of their own
            above._sources |= sources
        above = above._parent


def sources_above(node: TaskNode | None) -> frozenset[Any]:
    """Return all that was read in the run so far: what the node was given, or makes, may repeat any of it."""
    while node is not None and node._parent is not None:  # the root knows all
        node = node._parent
    return NOTHING if node is None else node._sources


def time_left(node: TaskNode) -> float | None:
    """Return the seconds until the deadline of the node, at least 0; None if it has none."""
    deadline = node._scope.deadline
    return None if deadline is None else max(0.0, deadline[0] - time.monotonic())
