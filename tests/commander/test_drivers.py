"""Entry points: every call works from sync and async code, at any depth, and says where it runs."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from trivium import Agent, AsyncAgent, Message, Module
from trivium.commander import current, driver_neutral, invoke, sync_method
from trivium.exceptions import SuspendedError
from trivium.llms import Request
from trivium.testing import ScriptedModel

from ._helpers import (
    GUARD,
    AsyncNest,
    Entry,
    MixedNest,
    Nest,
    SyncNest,
    aadd,
    add,
    adder,
    calling,
    every_entry,
    in_thread,
    join_all,
    nest,
)

KINDS: Sequence[Sequence[type[Nest]]] = [
    (SyncNest, AsyncNest) * 3,
    (AsyncNest, SyncNest) * 3,
    (MixedNest,) * 6,
    (SyncNest, MixedNest, AsyncNest) * 2,
    (AsyncNest, MixedNest) * 3,
]


def test_a_sync_turn_needs_no_loop_and_no_thread():
    seen: list[tuple[int, object]] = []

    def answer(request: Request) -> str:
        seen.append((threading.get_ident(), asyncio._get_running_loop()))
        return "hi"

    threads = set(threading.enumerate())
    agent = Agent(ScriptedModel(answer), name="A")
    out = agent("x")
    assert (out.content, out.sender) == ("hi", "A")
    assert seen == [(threading.get_ident(), None)]
    assert set(threading.enumerate()) <= threads
    assert [message.content for message in agent.memory.get_memory()] == ["x", "hi"]  # type: ignore[union-attr]
    assert current.get() is None


def test_the_async_class_is_awaited():
    agent = AsyncAgent(ScriptedModel(["ok"]))

    async def main() -> Message:
        return await agent("x")  # type: ignore[misc]

    assert asyncio.run(main()).content == "ok"


@every_entry
@pytest.mark.parametrize("tool", [add, aadd])
def test_tools_may_be_sync_or_async(entry: Entry, tool: Callable[..., Any]):
    agent = Agent(calling(tool.__name__, times=2, a=1, b=2), tools=[tool])
    assert entry(agent, "x").content == "done:3,3"
    assert current.get() is None


@every_entry
@pytest.mark.parametrize("kinds", KINDS)
def test_calls_nest_to_any_depth(entry: Entry, kinds: Sequence[type[Nest]]):
    module = nest(kinds, adder())
    assert entry(module, "x").content == "done:3012345"
    assert current.get() is None


def test_many_threads_at_once_do_not_wait_for_each_other():
    module = nest((SyncNest, AsyncNest, MixedNest, SyncNest, AsyncNest, MixedNest), adder())
    answers: list[str] = []
    join_all([lambda n=n: answers.append(module("x", session_id=n).content) for n in range(20)])
    assert answers == ["done:3012345"] * 20


@pytest.mark.parametrize("kinds", [(), (AsyncNest,), (SyncNest, AsyncNest), (AsyncNest,) * 4])
def test_sync_code_of_a_sync_call_stays_in_the_callers_thread(kinds: Sequence[type[Nest]]):
    seen: set[int] = set()

    def where(a: int) -> int:
        seen.add(threading.get_ident())
        return a

    module = nest(kinds, Agent(calling("where", times=2, a=1), tools=[where]))
    module("x")
    assert seen == {threading.get_ident()}
    other = in_thread(lambda: (module("x", session_id=1), threading.get_ident())[1])
    assert seen == {threading.get_ident(), other}


def test_sync_code_under_the_async_driver_does_not_hold_the_loop():
    leave = threading.Event()

    async def main() -> str:
        loop, entered = asyncio.get_running_loop(), asyncio.Event()

        def hold(a: int) -> int:
            loop.call_soon_threadsafe(entered.set)
            assert leave.wait(GUARD)
            return a

        call = asyncio.create_task(Agent(calling("hold", a=1), tools=[hold]).acall("x"))
        await entered.wait()  # the loop runs while the tool holds its thread
        leave.set()
        return (await call).content

    assert asyncio.run(main()) == "done:1"


def test_async_tools_return_to_their_home_loop():
    loops: list[object] = []

    async def where(a: int) -> int:
        loops.append(asyncio.get_running_loop())
        return a

    module = SyncNest(Agent(calling("where", times=2, a=1), tools=[where]), "")

    async def main() -> object:
        await module.acall("x")
        return asyncio.get_running_loop()

    home = asyncio.run(main())
    assert loops == [home, home]


def test_a_nested_asyncio_run_is_a_world_of_its_own():
    inner = adder()

    def tool(a: int) -> str:
        return asyncio.run(inner.acall("x")).content

    agent = Agent(calling("tool", a=1), tools=[tool])
    assert agent("x").content == "done:done:3"
    assert asyncio.run(agent.acall("x", session_id=1)).content == "done:done:3"


@every_entry
def test_exceptions_reach_the_caller(entry: Entry):
    class Bad(Module):
        def forward(self, message: Message) -> str:
            raise ValueError("no")

    class AsyncBad(Module):
        async def forward(self, message: Message) -> str:
            await asyncio.sleep(0)
            raise ValueError("no")

    for module in (Bad(), AsyncBad(), SyncNest(AsyncBad(), ""), AsyncNest(Bad(), "")):
        with pytest.raises(ValueError, match="no"):
            entry(module, "x")
    assert current.get() is None


class Foreign:
    """Something that only a loop of its own kind could wait for."""

    def __await__(self) -> Any:
        yield self


def test_portable_code_that_awaits_something_foreign_is_refused_at_that_line():
    class Wrong(Module):
        @driver_neutral
        async def forward(self, message: Message) -> str:
            await Foreign()  # the line
            return "never"

    with pytest.raises(SuspendedError) as refused:
        Wrong()("x")
    last = refused.traceback[-1]
    assert "yield self" in str(last.statement)
    assert any("the line" in str(entry.statement) for entry in refused.traceback)
    assert current.get() is None


def test_portable_code_that_insists_is_refused_too():
    class Stubborn(Module):
        @driver_neutral
        async def forward(self, message: Message) -> str:
            while True:
                try:
                    await Foreign()
                except SuspendedError:
                    continue

    with pytest.raises((SuspendedError, RuntimeError)):
        Stubborn()("x")


@every_entry
def test_context_variables_flow_in(entry: Entry):
    variable = contextvars.ContextVar("variable", default="unset")
    seen: list[str] = []

    async def atool(a: int) -> int:
        seen.append(variable.get())
        return a

    def tool(a: int) -> int:
        seen.append(variable.get())
        return a

    def call() -> None:
        variable.set("set")
        for each in (tool, atool):
            entry(Agent(calling(each.__name__, a=1), tools=[each]), "x")

    if entry.__name__ == "thread_entry":  # a bare thread starts with an empty context, as everywhere
        call()
        assert seen == ["unset", "unset"]
    else:
        contextvars.copy_context().run(call)
        assert seen == ["set", "set"]


class PlainCallable:
    def __call__(self, a: int) -> int:
        return a + 1


class AsyncCallable:
    async def __call__(self, a: int) -> int:
        await asyncio.sleep(0)
        return a + 1


def gives_a_coroutine(a: int) -> Any:
    return AsyncCallable()(a)


async def plus(n: int, a: int) -> int:
    return a + n


@every_entry
@pytest.mark.parametrize(
    "function", [PlainCallable(), AsyncCallable(), gives_a_coroutine, partial(plus, 1), partial(partial(plus), 1)]
)
def test_whatever_can_be_called_is_invoked(entry: Entry, function: Callable[..., Any]):
    class Caller(Module):
        @driver_neutral
        async def forward(self, message: Message) -> int:
            return await invoke(function, 1)

    assert entry(Caller(), "x").content == 2


def test_invoke_works_outside_any_call():
    async def main() -> int:
        return await invoke(add, 1, 2) + await invoke(aadd, 3, 4)

    assert asyncio.run(main()) == 10


class Greeter:
    @driver_neutral
    async def greet_async(self, name: str) -> str:
        """Say hello."""
        return f"hello {name}"

    greet = sync_method(greet_async)


class Shouter(Greeter):
    async def greet_async(self, name: str) -> str:
        await asyncio.sleep(0)
        return (await super().greet_async(name)).upper()


def test_sync_and_async_calls_reach_the_override_of_a_subclass():
    assert (Greeter().greet("Ada"), Greeter.greet.__doc__) == ("hello Ada", "Say hello.")
    assert Shouter().greet("Ada") == "HELLO ADA"

    async def main() -> str:
        return await invoke(Shouter().greet, "Ada")

    assert asyncio.run(main()) == "HELLO ADA"


@every_entry
def test_stop_iteration_of_user_code_is_an_error_like_any_other(entry: Entry):
    class Stops(Module):
        def forward(self, message: Message) -> str:
            raise StopIteration("mine")

    with pytest.raises(RuntimeError, match="StopIteration"):
        entry(Stops(), "x")
