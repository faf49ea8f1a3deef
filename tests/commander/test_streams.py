"""Streams: the same call with its events given out while it runs; leaving early stops and closes everything."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from trivium import Agent, Event, Message, Module
from trivium.commander import NodeState, current
from trivium.commander._streams import _MOST_BEHIND
from trivium.exceptions import LimitExceededError, RunKilledError
from trivium.llms import Request
from trivium.testing import ScriptedModel, call_tool

from ._helpers import (
    GUARD,
    AsyncEndless,
    AsyncNest,
    AsyncWaiter,
    Endless,
    MixedNest,
    Nest,
    SyncNest,
    aadd,
    calling,
    here,
    in_thread,
    nest,
)

NESTS: list[tuple[type[Nest], ...]] = [(), (SyncNest,), (AsyncNest,), (MixedNest, SyncNest), (AsyncNest, AsyncNest)]
nested = pytest.mark.parametrize("kinds", NESTS)
FREE = [kinds for kinds in NESTS if MixedNest not in kinds]
"""Those that leave the reader's loop free: an async forward that makes a sync call holds it."""


def deltas(events: Any) -> list[Any]:
    return [event.data for event in events if event.kind == "delta"]


async def read(module: Module, at_most: int = 10**9, **kwargs: Any) -> list[Any]:
    """The first deltas of a call in async code."""
    found: list[Any] = []
    async with module.open("x", **kwargs) as stream:
        async for event in stream:
            if event.kind == "delta":
                found.append(event.data)
            if len(found) == at_most:
                break
    return found


def talker() -> Agent:
    return Agent(ScriptedModel([["a", "b", "c"]]), name="talker")


@nested
def test_the_events_of_a_call_in_sync_code(kinds: tuple[type[Nest], ...]):
    stream = nest(kinds, talker()).stream("x")
    assert deltas(stream) == ["a", "b", "c"]
    assert stream.result.content.startswith("abc")
    assert current.get() is None


@nested
def test_the_events_of_a_call_in_async_code(kinds: tuple[type[Nest], ...]):
    async def main() -> str:
        async with nest(kinds, talker()).open("x") as stream:
            assert deltas([event async for event in stream]) == ["a", "b", "c"]
            assert current.get() is None
        return stream.result.content

    assert asyncio.run(main()).startswith("abc")


@nested
def test_a_sync_stream_inside_a_running_loop(kinds: tuple[type[Nest], ...]):
    module = nest(kinds, Agent(calling("aadd", a=1, b=2), tools=[aadd]))

    async def main() -> list[Any]:
        return deltas(module.stream("x"))

    assert asyncio.run(main())[-1] == "done:3"


def test_a_stream_and_a_typed_agent_show_what_they_are():
    stream = Agent(ScriptedModel(["x"]), name="Ada").stream("hi")
    assert repr(stream) == "Stream(<Ada: PENDING>)"
    assert stream.result.content == "x"
    assert repr(stream) == "Stream(<Ada: COMPLETED>)"
    assert repr(Agent(name="Ada").open("hi")) == "AsyncStream(<Ada: PENDING>)"
    assert repr(Agent[list[int]](name="Ada")) == "Agent(name='Ada', output=list[int])"


def test_the_result_alone_reads_the_stream_to_its_end():
    assert talker().stream("x").result.content == "abc"


def test_a_stream_that_is_read_again_is_at_its_end():
    stream = talker().stream("x")
    assert len(list(stream)) > 3
    assert list(stream) == []

    async def main() -> list[Event]:
        async with talker().open("x") as opened:
            assert [event async for event in opened]
            return [event async for event in opened]

    assert asyncio.run(main()) == []


def test_the_first_and_last_events_frame_the_call():
    events = list(nest((SyncNest,), talker()).stream("x"))
    assert (events[0].kind, events[0].node._name) == ("started", "SyncNest0")
    assert (events[-1].kind, events[-1].node._name) == ("ended", "SyncNest0")


def test_a_stream_within_a_call_belongs_to_its_tree():
    paths: list[str] = []

    class Outer(Module):
        def forward(self, message: Message) -> str:
            stream = talker().stream("x", session_id="mine")
            paths.extend({event.path.split("/")[1] for event in stream})
            assert here()._name == "Outer"
            return stream.result.content

    assert Outer()("x").content == "abc"
    assert paths == ["talker#0"]


@pytest.mark.parametrize("kinds", NESTS)
@pytest.mark.parametrize("make", [Endless, AsyncEndless])
def test_leaving_early_closes_the_provider_where_it_ran(kinds: tuple[type[Nest], ...], make: Callable[[], Any]):
    model = make()
    stream = nest(kinds, Agent(model)).stream("x")
    for event in stream:
        if event.kind == "delta":
            break
    stream.close()
    assert set(model.closed_in) == (model.threads if isinstance(model, Endless) else model.loops)
    assert stream.node.state is NodeState.TERMINATED
    with pytest.raises(RunKilledError, match="closed"):
        _ = stream.result


@pytest.mark.parametrize("kinds", FREE)
@pytest.mark.parametrize("make", [Endless, AsyncEndless])
def test_leaving_the_block_early_closes_the_provider(kinds: tuple[type[Nest], ...], make: Callable[[], Any]):
    model = make()
    assert asyncio.run(read(nest(kinds, Agent(model)), at_most=1)) == ["x"]
    assert set(model.closed_in) == (model.threads if isinstance(model, Endless) else model.loops)


def test_leaving_early_wakes_a_model_that_is_waited_for():
    for kinds in NESTS:
        model = AsyncWaiter(first=["a"])
        with nest(kinds, Agent(model)).stream("x") as stream:
            assert next(event.data for event in stream if event.kind == "delta") == "a"
        assert len(model.closed) == 1
    for kinds in FREE:
        model = AsyncWaiter(first=["a"])
        assert asyncio.run(read(nest(kinds, Agent(model)), at_most=1)) == ["a"]
        assert len(model.closed) == 1


def test_a_stream_that_was_never_read_never_ran():
    model = ScriptedModel(["never"])
    with Agent(model).stream("x") as stream:
        pass
    assert model.requests == []
    with pytest.raises(RunKilledError):
        _ = stream.result
    assert stream.node.state is NodeState.TERMINATED


def test_a_second_loop_goes_on_where_the_first_was_left():
    whole = [event.kind for event in talker().stream("x")]
    stream = talker().stream("x")
    events = iter(stream)
    kinds = [next(events).kind]
    give_up = time.monotonic() + GUARD
    while stream._outcome is None:  # else leaving it would kill the call
        assert time.monotonic() < give_up
        time.sleep(0)
    events.close()  # type: ignore[attr-defined] # pyright: ignore
    assert [*kinds, *(event.kind for event in stream)] == whole
    assert list(stream) == []


def test_an_error_comes_after_the_events_that_led_to_it():
    class Broken:
        name = "broken"

        def stream(self, request: Request) -> Iterator[str]:
            yield "a"
            raise ValueError("broken")

    found: list[Any] = []
    stream = Agent(Broken()).stream("x")
    with pytest.raises(ValueError, match="broken"):
        found.extend(event.data for event in stream if event.kind == "delta")
    with pytest.raises(ValueError, match="broken"):
        _ = stream.result
    with pytest.raises(ValueError, match="broken"):
        asyncio.run(read(Agent(Broken())))


def test_streams_take_the_arguments_of_a_call():
    from trivium import Limits

    with pytest.raises(LimitExceededError):
        list(Agent(calling("aadd", times=3, a=1, b=2), tools=[aadd]).stream("x", limits=Limits(turns=1)))
    agent = talker()
    list(agent.stream("x", session_id="s"))
    assert agent.memory is not None
    assert [each.content for each in agent.memory.get_memory("s")] == ["x", "abc"]


def test_two_streams_may_be_read_in_turns():
    one, other = talker().stream("x"), talker().stream("y")
    for first, second in zip(one, other, strict=True):
        assert (first.kind, first.data if isinstance(first.data, str) else None) == (
            second.kind,
            second.data if isinstance(second.data, str) else None,
        )
        assert current.get() is None


def test_a_stream_may_be_read_in_another_thread():
    assert in_thread(lambda: deltas(talker().stream("x"))) == ["a", "b", "c"]


# ---- back-pressure
@pytest.mark.parametrize("kinds", FREE)
@pytest.mark.parametrize("make", [Endless, AsyncEndless])
def test_a_slow_reader_pauses_the_provider(kinds: tuple[type[Nest], ...], make: Callable[[], Any]):
    model = make()
    stream = iter(nest(kinds, Agent(model)).stream("x"))
    read_events, most = 0, 0
    for event in stream:
        read_events += event.kind == "delta"
        most = max(most, model.pulled - read_events)
        if read_events == 3 * _MOST_BEHIND:
            break
    stream.close()  # type: ignore[attr-defined]
    assert most <= _MOST_BEHIND + 40


@pytest.mark.parametrize("make", [Endless, AsyncEndless])
def test_a_slow_reader_in_async_code_pauses_the_provider(make: Callable[[], Any]):
    model = make()

    async def main() -> int:
        most = read_events = 0
        async with Agent(model).open("x") as stream:
            async for event in stream:
                read_events += event.kind == "delta"
                most = max(most, model.pulled - read_events)
                if read_events == 3 * _MOST_BEHIND:
                    break
        return most

    assert asyncio.run(main()) <= _MOST_BEHIND + 40


def test_an_unread_stream_comes_to_rest():
    """Nobody reads: the provider is pulled until the backlog is full, then stands still until it is closed."""
    model = Endless()
    stream = Agent(model).stream("x")
    events = iter(stream)
    next(events)
    give_up = time.monotonic() + GUARD
    while not stream.pipe._waiting:  # the call waits at one of these
        assert time.monotonic() < give_up
        time.sleep(0)
    stream.close()
    assert model.pulled <= _MOST_BEHIND + 2
    assert len(model.closed_in) == 1


def test_a_fast_source_is_not_far_ahead_of_a_sync_call():
    """Without a stream too: what an async source gives is taken before it gives much more."""
    model, most = AsyncEndless(), 0

    def listener(event: Event) -> None:
        nonlocal most, heard
        heard += event.kind == "delta"
        most = max(most, model.pulled - heard)
        if heard == 500:
            event.node.kill()

    heard = 0
    with pytest.raises(RunKilledError):
        Agent(model)("x", listeners=[listener])
    assert most <= 40


# ---- nothing is left behind
def _files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nothing_is_left_after_many_streams():
    def rounds(number: int) -> None:
        for index in range(number):
            model = (Endless, AsyncEndless)[index % 2]()
            with nest(NESTS[index % len(NESTS)], Agent(model)).stream("x") as stream:
                for event in stream:
                    if event.kind == "delta":
                        break
            list(Agent(calling("aadd", a=1, b=2), tools=[aadd]).stream("x"))

    async def async_rounds(number: int) -> int:
        before = len(asyncio.all_tasks())
        for index in range(number):
            await read(nest(FREE[index % len(FREE)], Agent((Endless, AsyncEndless)[index % 2]())), at_most=2)
        await asyncio.sleep(0)
        return len(asyncio.all_tasks()) - before

    rounds(20)  # workers and background loops are made here, and kept for a while
    asyncio.run(async_rounds(20))
    threads, files = threading.active_count(), _files()
    rounds(100)
    assert asyncio.run(async_rounds(100)) == 0
    assert threading.active_count() <= threads + 1  # a worker may be on its way back when the next is wanted
    assert _files() <= files
    assert current.get() is None


def test_a_tool_call_is_streamed_before_it_runs():
    seen: list[str] = []

    def note(a: int) -> int:
        seen.append("ran")
        return a

    model = ScriptedModel([call_tool("note", a=1), "done"])
    for event in Agent(model, tools=[note]).stream("x"):
        if event.kind in ("tool_call", "tool_result"):
            seen.append(event.kind)
    assert seen.index("tool_call") < seen.index("tool_result")
    assert "ran" in seen
