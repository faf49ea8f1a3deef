"""One batch while it runs: results in the order of the items, whichever item ends first."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterable, Callable, Coroutine, Iterable, Sequence, Sized
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, TypeAlias, TypedDict

from trivium.commander import CallNode, Limits, Listener, driver_neutral, for_each, wait
from trivium.commander.lowlevel import drive, forget_name, invoke_in_place, is_in_trio, run_from_trio
from trivium.exceptions import ArgumentTypeError, RunPausedError
from trivium.module import OPTIONS, Module, call_node
from trivium.observers import ProgressBar
from trivium.policies import Policy
from trivium.schema.lowlevel import check_name, positive

Items: TypeAlias = Iterable[Any] | AsyncIterable[Any]
Progress: TypeAlias = bool | Callable[[int, int | None], object]
Work: TypeAlias = Callable[[int, Any], Coroutine[Any, Any, Any]]
_BY_ALL = ("batch_size", "input_map", "output_map", "sequential")  # parameters of each function of a batch
_MOST_AT_ONCE = 100
"""The most items at once by default: practically all, without exhausting the machine's threads."""


class ExceptionHandling(str, Enum):
    """The treatment of an item of a batch that fails.

    RAISE stops the others and raises the error; where the item waits for a decision of a person, the others that have
    begun end first. RETURN_NONE puts None into the results, RETURN_EXCEPTION the error.
    """

    RAISE = "raise"
    RETURN_NONE = "return_none"
    RETURN_EXCEPTION = "return_exception"


class BatchKeywords(TypedDict, total=False):
    """The keywords of every batch; `run_batch_tasks` describes them."""

    stop_on_first_result: bool
    handle_exceptions: ExceptionHandling | bool
    progress: Progress
    approve: Callable[[Any], Any] | None
    context: Any
    listeners: Sequence[Listener]
    policy: Policy | None
    timeout: float | None


class _OverError(Exception):
    """The batch ends early, with the first result."""


@dataclass(slots=True)
class Batch:
    """Runs `work(index, item)` for each item, as one call of which each item is a child.

    Args:
        name: the i-th item is the node "name-i".
        items: any iterable, sync or async.
        work: a core coroutine function.
        sequential: run one item at a time.
        batch_size: the most items at once, unless they are sequential.
        options: how it runs; see `run_batch_tasks`.
        title: the text before the progress bar.
        limits: the limits of all items together.
        has_sessions: each item has a session of its own.
    """

    name: str
    items: Items
    work: Work
    sequential: bool
    batch_size: int | None
    options: BatchKeywords
    title: str = ""
    limits: Limits | None = None
    has_sessions: bool = True
    results: list[Any] = field(default_factory=list[Any], init=False)
    done: int = field(default=0, init=False)
    at_work: set[CallNode] = field(default_factory=set[CallNode], init=False)
    over: BaseException | None = field(default=None, init=False)
    """The first error: it decides how the batch ends."""

    @driver_neutral
    async def run(self) -> list[Any]:
        """Run all items, and return the results in their order.

        Raises:
            ArgumentTypeError: there is no such option, or it has not the kind that it should; nothing has run.
        """
        for name in self.options:
            check_name(name, sorted({*BatchKeywords.__annotations__, *_BY_ALL}), "a batch takes no")
        if not isinstance(self.items, Iterable | AsyncIterable):  # type: ignore[unnecessary] - users pass anything
            raise ArgumentTypeError(f"a batch takes a list of items, not {type(self.items).__name__}", "items")
        if self.batch_size is not None:
            positive(batch_size=self.batch_size)
        handling = read_handling(self.options.get("handle_exceptions", ExceptionHandling.RAISE))
        inherited: Any = {name: value for name, value in self.options.items() if name in OPTIONS}
        node = call_node(Module("batch"), limits=self.limits, **inherited)
        work = self._run(node, handling)
        return await (run_from_trio(node, partial(drive, work)) if is_in_trio() else work)

    async def _run(self, node: CallNode, handling: ExceptionHandling) -> list[Any]:
        total = len(self.items) if isinstance(self.items, Sized) else None
        title, progress = self.title or f"Running {self.name}", self.options.get("progress", False)
        bar = ProgressBar(title) if progress is True else nullcontext(progress or None)
        try:
            with node, bar as report:

                async def one(index: int, item: Any) -> None:
                    try:
                        await self._one(node, index, item, handling)
                        if report is not None:
                            await invoke_in_place(report, self.done, total)
                        if self.options.get("stop_on_first_result") and self.results[index] is not None:
                            raise _OverError
                    except BaseException as error:
                        if self.over is None:
                            self.over = error
                            for each in node.children if not isinstance(error, RunPausedError) else ():
                                each.kill("the batch is over")
                        while isinstance(self.over, RunPausedError) and self.at_work:
                            await wait(0.02)  # the items at work end, and may ask too
                        raise

                with suppress(_OverError):
                    await for_each(self.items, one, 1 if self.sequential else self.batch_size or _MOST_AT_ONCE)
                if not isinstance(self.over, _OverError | None):
                    raise self.over
        except BaseException as error:
            error.add_note(f"the batch was stopped when {self.done}{f' of {total}' if total else ''} items were done")
            raise
        return self.results + [None] * ((total or 0) - len(self.results))

    async def _one(self, batch: CallNode, index: int, item: Any, handling: ExceptionHandling) -> None:
        self.results += [None] * (index + 1 - len(self.results))
        self.at_work.add(node := CallNode(f"{self.name}-{index}", batch))
        if self.has_sessions:
            node.session_id = f"{node.run_id}/{node.key}"
        result = None
        try:
            with node:
                result = await self.work(index, item) if self.over is None else None
        except Exception as error:
            if handling is ExceptionHandling.RAISE and self.over is None:
                error.add_note(f"this was item {index} of the batch")
                raise
            if handling is ExceptionHandling.RETURN_EXCEPTION:
                result = error
        finally:
            forget_name(node)  # it does not come again: nothing grows with the items
            self.at_work.discard(node)
        if self.over is not None:  # another was first
            raise _OverError
        self.results[index] = result
        self.done += 1


def read_handling(given: object) -> ExceptionHandling:
    """Return the policy; True and False are its deprecated names."""
    if isinstance(given, ExceptionHandling):
        return given
    if not isinstance(given, bool):
        raise ArgumentTypeError(f"handle_exceptions={given!r:.40} is no ExceptionHandling", "handle_exceptions")
    meant = ExceptionHandling.RETURN_NONE if given else ExceptionHandling.RAISE
    warnings.warn(f"handle_exceptions={given} is now {meant}", DeprecationWarning, stacklevel=2)
    return meant
