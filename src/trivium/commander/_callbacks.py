"""Callbacks: functions that a user registers for the stages of a node's life."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Required, TypeAlias, TypedDict, cast, get_args

from trivium.commander._node import TaskNode
from trivium.exceptions import ArgumentTypeError, ConfigurationError

Stage = Literal[
    "at_job_start", "at_handler_start", "at_job_end", "at_handler_end", "at_commander_end", "at_exception",
    "at_terminate",
]  # fmt: skip
STAGES: tuple[Stage, ...] = get_args(Stage)


class CallbackDict(TypedDict, total=False):
    """A function to call, with its arguments; `inject_task_node` adds the node as the keyword `task_node`."""

    function: Required[Callable[..., Any]]
    params: Mapping[str, Any]
    inject_task_node: bool


Functions: TypeAlias = Callable[..., Any] | CallbackDict | Sequence[Callable[..., Any] | CallbackDict] | None


class Callback:
    """Functions to call at the stages of a node's life, each in the order in which it was added.

    Args:
        at_job_start, at_handler_start, at_job_end, at_handler_end, at_commander_end, at_exception, at_terminate:
            a function, a dict `{"function": f, "params": {"args": …, "kwargs": …}, "inject_task_node": bool}`,
            or a list of these. Functions may be sync or async.
        task_node: the node to inject; by default the node that the callback was added to last.
        task_node_auto_lock_num: the number of times that `task_node` may be set before it is locked.

    Attributes:
        at_job_start, at_handler_start, at_job_end, at_handler_end, at_commander_end, at_exception, at_terminate:
            the functions of each stage, as dicts, in the order in which they are called; a list that is set replaces
            them.

    Raises:
        ArgumentTypeError: there is no such stage.
        ConfigurationError: an entry cannot be called.

    Example:
        >>> Callback(at_job_end=print)
        Callback(at_job_end=1)
    """

    def __init__(
        self,
        *misplaced: object,
        task_node: TaskNode | None = None,
        task_node_auto_lock_num: int | None = None,
        **functions: Functions,
    ) -> None:
        if misplaced:
            raise ConfigurationError(f"say at which stage {misplaced[0]!r} is called: Callback(at_job_end=…)")
        (self.at_job_start, self.at_handler_start, self.at_job_end, self.at_handler_end, self.at_commander_end,
         self.at_exception, self.at_terminate) = (list[CallbackDict]() for _ in STAGES)  # fmt: skip
        self._task_node: TaskNode | None = None
        self._locked, self._settings_left = False, task_node_auto_lock_num
        for which, function in functions.items():
            self.add(which, function)
        if task_node is not None:
            self.task_node = task_node

    def add(self, which: str, functions: Functions) -> None:
        """Add one function or several for a stage."""
        if which not in STAGES:
            raise ArgumentTypeError(f"there is no callback '{which}'; the stages are {', '.join(STAGES)}", which)
        many = cast("Sequence[Any]", functions) if isinstance(functions, list | tuple) else (functions,)
        self.at(which).extend(_check_entry(which, each) for each in many if each is not None)

    def update(self, callbacks: Callback | Iterable[Callback | None] | None) -> Callback:
        """Add all functions of another callback, or of several; returns itself."""
        for each in callbacks_of(callbacks):
            for which in STAGES:
                self.at(which).extend(list(each.at(which)))
        return self

    @classmethod
    def merge(cls, callbacks: Iterable[Callback | None]) -> Callback:
        """Return a new callback with the functions of all, in order."""
        return cls().update(callbacks)

    def at(self, which: str) -> list[CallbackDict]:
        """The functions of one stage."""
        return vars(self)[which]

    # ---- the node that is injected
    @property
    def task_node(self) -> TaskNode | None:
        """The node that functions with `inject_task_node` get as `task_node`."""
        return self._task_node

    @task_node.setter
    def task_node(self, node: TaskNode | None) -> None:
        if self._settings_left is not None:
            self._locked = self._locked or self._settings_left <= 0
            self._settings_left -= 1
        if not self._locked:
            self._task_node = node

    def task_node_lock(self) -> None:
        """Lock `task_node`: adding the callback to other nodes no longer changes it."""
        self._locked = True

    def task_node_unlock(self) -> None:
        """Unlock `task_node`: it is set again to the node to which the callback is added."""
        self._locked = False

    def __repr__(self) -> str:
        counts = ", ".join(f"{which}={len(self.at(which))}" for which in STAGES if self.at(which))
        return f"Callback({counts})"


def callbacks_of(value: Callback | Iterable[Callback | None] | None) -> list[Callback]:
    """Return one callback or several as a list.

    Raises:
        ConfigurationError: one of them is no Callback.
    """
    found = [each for each in (value if isinstance(value, Iterable) else (value,)) if each is not None]
    for each in found:
        if not isinstance(each, Callback):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError(f"{each!r} is not a Callback: write Callback(at_job_end=…)")
    return found


def _check_entry(which: str, entry: Any) -> CallbackDict:
    given = dict(cast("Mapping[str, Any]", entry)) if isinstance(entry, Mapping) else {"function": entry}
    info = cast("CallbackDict", given)
    if not callable(info.get("function")):
        raise ConfigurationError(f"{which} needs a function to call, or a dict with 'function': got {entry!r}")
    params = info.get("params") or {}
    unknown = set(info) - set(CallbackDict.__annotations__)
    known = isinstance(params, Mapping)  # type: ignore[unnecessary] - users pass anything
    unknown |= {f"params.{name}" for name in set(params) - {"args", "kwargs"}} if known else {f"params={params!r}"}
    fits = known and isinstance(params.get("args", ()), Sequence) and isinstance(params.get("kwargs", {}), Mapping)
    if unknown or not fits:
        raise ConfigurationError(
            f"{which} does not know {', '.join(sorted(unknown)) or repr(params)}; a callback's dict has 'function', "
            "'params' ('args', a list, and 'kwargs', a dict) and 'inject_task_node'"
        )
    return info
