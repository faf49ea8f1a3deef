"""Sync code that can be left behind: it has a time limit of its own, and a thread that nobody waits for after it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

from trivium.commander._doors import Bell, invoke, is_async, portable, settled, wait
from trivium.commander._doors_loop import blocking, current_level, home_loop_here, worker_context
from trivium.commander._workers import Outcome, get_running_loop, outcome_of, submit

__all__ = ["invoke_or_leave"]


@portable
async def invoke_or_leave(function: Callable[..., Any], on_left: Callable[[], object], /, **arguments: Any) -> Any:
    """Call user code as `invoke` does, but wait for sync code no longer than the node that runs here lives.

    Sync code cannot be stopped. It gets a worker, and where the node is stopped meanwhile, by its deadline or by a
    kill, that thread is left behind: `on_left` is told, and whatever primitive it comes to next raises. A sync call
    on the thread of a running loop cannot wait for another thread; there the function runs in place.
    """
    is_in_loop = blocking() and get_running_loop() is not None
    if is_async(function) or hasattr(function, "__core__") or is_in_loop:
        return await invoke(function, **arguments)
    bell, outcome = Bell(), list[Outcome[Any]]()
    context, home, level = copy_context(), get_running_loop() or home_loop_here(), current_level()

    def body() -> None:
        worker_context(home, level)
        outcome.append(outcome_of(partial(context.run, partial(function, **arguments))))
        bell.ring()

    submit(body)
    try:
        await wait(bell=bell)
    finally:
        if not bell.rung:
            on_left()
    out, error = outcome[0]
    if error is not None:
        raise error
    return await settled(out)
