"""The nodes of calls, and the functions by which code finds its own."""

from __future__ import annotations

from collections.abc import Hashable
from contextvars import Token
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from trivium.commander._node import Scope, TaskNode, current, node_name, parent_of, scope_of
from trivium.exceptions import CommanderNotRunError

__all__ = ["CallNode", "is_within", "step", "this_call", "this_session"]


class CallNode(TaskNode):
    """The node of a call: an agent's turn, a model call, a tool call, a task and its steps.

    It is a context manager: driver-neutral code in its block runs as this call, which starts and ends with the block.
    """

    __slots__ = ("__dict__", "_token", "held_lock")
    held_lock: Any
    """The lock of its session that the call holds; absent for most calls."""
    may_be_abandoned: bool = False
    """Whether sync code of this call is left to its thread when the call is stopped: a tool with a timeout."""
    request: object = None
    """The question of the call, where it keeps that for listeners that record contents."""
    if TYPE_CHECKING:
        scope: Scope
        """Everything that the call inherits; replace it to change that for the call and everything below."""
    else:
        scope = TaskNode._scope  # the same slot by a public name: no property costs anything

    def __enter__(self) -> Self:
        self._token: Token[TaskNode | None] = current.set(self)
        try:
            self._start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        current.reset(self._token)
        outward = None if error is None else self._outward(error)
        self._close(outward)
        if outward is not error and outward is not None:
            raise outward from None

    @property
    def name(self) -> str:
        """The name of the module, model, tool or step that was called."""
        return self._name

    @property
    def session_id(self) -> Hashable:
        """The session that the call belongs to."""
        return self._scope.session_id

    @property
    def context(self) -> Any:
        """The object that the caller passed as `context=`; everything below inherits it."""
        return self._scope.context

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
        """The identity of the whole run."""
        return vars(self.ancestor_chain[-1]).setdefault("_run_id", uuid4().hex)


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
        raise CommanderNotRunError("no call runs here: this_call() is for code below a module's call")
    return node


def this_session() -> Hashable:
    """Return the session of the call that runs here; 0 outside any run, as at the root of each."""
    node = current.get()
    return 0 if node is None else scope_of(node).session_id


def is_within(name: str) -> bool:
    """Return whether the code runs as the call of this name itself, and not in one below it."""
    node = current.get()
    return isinstance(node, CallNode) and node_name(node) == name


def step(name: str) -> CallNode:
    """Make a call below the one whose code runs here; use it as a context manager around driver-neutral code."""
    return CallNode(name, current.get())
