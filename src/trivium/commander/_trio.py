"""The bridge from trio: a call runs in a worker, and trio's cancellation is a kill."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar, cast

from trivium.commander._loops import enter_worker, is_blocking
from trivium.commander._node import TaskNode
from trivium.commander._workers import Outcome, capture, get_running_loop, submit

T = TypeVar("T")


def is_in_trio() -> bool:
    """Return True in a task of a trio program."""
    trio: Any = sys.modules.get("trio")
    return trio is not None and get_running_loop() is None and not is_blocking() and trio.lowlevel.in_trio_task()


async def run_from_trio(node: TaskNode, work: Callable[[], T]) -> T:
    """Run blocking work in a worker; a cancellation kills the node, and is raised when the work has ended."""
    trio: Any = sys.modules["trio"]
    over, context = trio.Event(), copy_context()
    outcome: list[Outcome[T]] = []
    wake = partial(trio.lowlevel.current_trio_token().run_sync_soon, over.set)

    def body() -> None:
        enter_worker(None, 0)
        outcome.append(capture(partial(context.run, work)))
        wake()

    submit(body)
    try:
        await over.wait()
    except trio.Cancelled:
        node.kill("cancelled")
        with trio.CancelScope(shield=True):
            await over.wait()
        raise
    out, error = outcome[0]
    if error is not None:
        raise error
    return cast("T", out)
