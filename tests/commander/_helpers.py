"""Models, modules and entry points that the tests of this folder share."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest
import trio

from trivium import Agent, Message, Module
from trivium.commander import TaskNode, current
from trivium.llms import Delta, Request
from trivium.testing import ScriptedModel, call_tool

GUARD = 30.0
"""Seconds after which something hangs; nothing here waits for it to pass."""

Entry = Callable[..., Message]


def sync_entry(module: Module, *message: Any, **kwargs: Any) -> Message:
    return module(*message, **kwargs)


def async_entry(module: Module, *message: Any, **kwargs: Any) -> Message:
    return asyncio.run(module.acall(*message, **kwargs))


def loop_entry(module: Module, *message: Any, **kwargs: Any) -> Message:
    """A sync call inside a running loop."""

    async def main() -> Message:
        return module(*message, **kwargs)

    return asyncio.run(main())


def thread_entry(module: Module, *message: Any, **kwargs: Any) -> Message:
    return in_thread(lambda: module(*message, **kwargs))


def trio_entry(module: Module, *message: Any, **kwargs: Any) -> Message:
    """A sync call inside a trio program, on its own thread."""

    async def main() -> Message:
        await trio.lowlevel.checkpoint()
        return module(*message, **kwargs)

    return trio.run(main)


def trio_worker_entry(module: Module, *message: Any, **kwargs: Any) -> Message:
    """A sync call in a worker of a trio program."""

    async def main() -> Message:
        return await trio.to_thread.run_sync(lambda: module(*message, **kwargs))

    return trio.run(main)


ENTRIES: Sequence[Entry] = (sync_entry, async_entry, loop_entry, thread_entry, trio_entry, trio_worker_entry)
"""The ways to call a module: from sync and async code, inside a running loop, in a thread, under trio."""
every_entry = pytest.mark.parametrize("entry", ENTRIES)


def in_thread(work: Callable[[], Any], guard: float = GUARD) -> Any:
    """The outcome of `work` in a thread of its own, that knows nothing of this one's context."""
    outcome: Future[Any] = Future()

    def body() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=body, daemon=True).start()
    return outcome.result(guard)


def join_all(works: Sequence[Callable[[], Any]]) -> None:
    """Run all at once, each in its own thread, and raise the first failure."""
    threads = [threading.Thread(target=in_thread, args=(work,), daemon=True) for work in works]
    failed: list[BaseException] = []

    def guarded(work: Callable[[], Any]) -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD)
        assert not thread.is_alive(), "a thread hangs"
    if failed:
        raise failed[0]


def calling(name: str, times: int = 1, width: int = 1, **arguments: Any) -> ScriptedModel:
    """A model that calls a tool, `width` calls in each of `times` answers, then tells the results."""

    def answer(request: Request) -> Any:
        results = [message["content"] for message in request.messages if message["role"] == "tool"]
        if len(results) < times * width:
            return [call_tool(name, index, **arguments) for index in range(width)]
        return "done:" + ",".join(results)

    return ScriptedModel(answer)


def add(a: int, b: int) -> int:
    return a + b


async def aadd(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


def adder() -> Agent:
    return Agent(calling("aadd", a=1, b=2), tools=[aadd], name="leaf")


class Nest(Module):
    """A module around another."""

    def __init__(self, inner: Module, mark: str) -> None:
        super().__init__(name=f"{type(self).__name__}{mark}")
        self.inner, self.mark = inner, mark


class SyncNest(Nest):
    def forward(self, message: Message) -> str:
        return self.inner(message).content + self.mark


class AsyncNest(Nest):
    async def forward(self, message: Message) -> str:
        await asyncio.sleep(0)
        return (await self.inner.acall(message)).content + self.mark


class MixedNest(Nest):
    """An async forward that makes a sync call."""

    async def forward(self, message: Message) -> str:
        await asyncio.sleep(0)
        return self.inner(message).content + self.mark


def nest(kinds: Sequence[type[Nest]], leaf: Module) -> Module:
    module = leaf
    for number, kind in enumerate(kinds):
        module = kind(module, str(number))
    return module


class AsyncWaiter:
    """A model that says when it was asked, and never answers."""

    def __init__(self, first: Sequence[Delta] = ()) -> None:
        self.name = "waiter"
        self.first = first
        self.asked = threading.Event()
        self.closed: list[asyncio.AbstractEventLoop] = []

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        try:
            for delta in self.first:
                yield delta
            self.asked.set()
            await asyncio.get_running_loop().create_future()
        finally:
            self.closed.append(asyncio.get_running_loop())


class Endless:
    """A model that never stops to talk; it counts what was pulled, and in which threads."""

    def __init__(self) -> None:
        self.name = "endless"
        self.pulled = 0
        self.threads: set[int] = set()
        self.closed_in: list[int] = []

    def stream(self, request: Request) -> Iterator[Delta]:
        try:
            while True:
                self.pulled += 1
                self.threads.add(threading.get_ident())
                yield "x"
        finally:
            self.closed_in.append(threading.get_ident())


class AsyncEndless:
    """The same as an async generator."""

    def __init__(self) -> None:
        self.name = "endless"
        self.pulled = 0
        self.loops: set[int] = set()
        self.closed_in: list[int] = []

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        try:
            while True:
                self.pulled += 1
                self.loops.add(id(asyncio.get_running_loop()))
                await asyncio.sleep(0)
                yield "x"
        finally:
            self.closed_in.append(id(asyncio.get_running_loop()))


def here() -> TaskNode:
    """The node that runs this."""
    node = current.get()
    assert node is not None
    return node


def find(node: TaskNode, name: str) -> TaskNode:
    """The first node of that name at or below `node`."""
    return next(each for each in node._subtree() if each._name == name)
