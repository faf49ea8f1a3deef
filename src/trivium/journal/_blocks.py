"""Code of a program's own that is durable: blocks that are runs, and steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, TypeVar, get_args

from trivium.commander.lowlevel import CallNode, current, drive, driver_neutral, invoke, scope_of, sync_function
from trivium.commander.lowlevel import step as node_of
from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.journal._effects import EffectKind
from trivium.journal._reconciling import Reconcile
from trivium.journal._run import DurableRun

T = TypeVar("T")
_EFFECTS: Final = get_args(EffectKind)


class RunBlock:
    """A block of code that is a run: made by `Journal.run`."""

    def __init__(self, attempt: DurableRun, name: str) -> None:
        self._attempt, self._name = attempt, name
        self._ending = ExitStack()

    def __enter__(self) -> CallNode:
        return drive(self.__aenter__())

    @driver_neutral
    async def __aenter__(self) -> CallNode:
        node = CallNode(self._name, current.get())
        node.scope = node.scope.replace(journal=self._attempt)
        with ExitStack() as opened:
            opened.enter_context(node)
            await self._attempt.begin(node)
            opened.enter_context(self._attempt.until_end(node))
            self._ending = opened.pop_all()
        return node

    def __exit__(self, *error: Any) -> None:
        self._ending.__exit__(*error)

    async def __aexit__(self, *error: Any) -> None:
        self._ending.__exit__(*error)


@driver_neutral
async def step_async(
    name: str,
    function: Callable[..., Awaitable[T] | T],
    *args: Any,
    effect: EffectKind | None = None,
    reconcile: Reconcile | None = None,
    **kwargs: Any,
) -> T:
    """Call a function whose result is written into the journal of the run, if it has one.

    In a later attempt of the run the function is not called again. `step` is the same for sync code.

    Args:
        name: the name of the step in the run tree.
        function: the function, `def` or `async def`.
        *args: its arguments.
        effect: its effect on the world. One that is broken off while it runs is repeated if it is "read" or
            "idempotent". A "transactional" one happens exactly once: what it writes by `this_call().transaction`, a
            connection to the journal's database, is committed together with its result. Of others only `reconcile`
            can tell what became of them.
        reconcile: finds that out: a function that returns the outcome, or `NOT_DONE`; then the act is done now.
        **kwargs: further arguments.

    Raises:
        ArgumentTypeError: the name is no text, or the function nothing that can be called.
        ConfigurationError: there is no such effect.
        ToolError: it was broken off in an earlier attempt, and it is not known whether it happened; or `reconcile` has
            failed, which is called again in the next attempt. Its `LookupError` is raised as it is.
    """
    if not isinstance(name, str) or not callable(function):  # type: ignore[unnecessary] - users pass anything
        raise ArgumentTypeError(
            f'a step takes a name, a function that is not called yet, and its arguments: step("read", load, path), not '
            f"step({name!r:.40}, {function!r:.40})",
            "function",
        )
    if effect is not None and effect not in _EFFECTS:
        raise ConfigurationError(f"the effect of a step is {', '.join(_EFFECTS)} or None, not {effect!r}")
    with node_of(name) as node:
        act = partial(invoke, function, *args, **kwargs)
        journal: DurableRun | None = scope_of(node).journal
        if journal is None:
            return await act()
        return await journal.perform(node, [name, args, kwargs], act, effect, reconcile)


step = sync_function(step_async)
