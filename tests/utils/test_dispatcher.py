"""Two readers share an answer: each gets its part, whatever the other does, and the source is always closed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.commander import PASS_WORD, CommanderAsync, HandlerCoroutine, Job, NodeState, handler, tasker
from trivium.exceptions import ConfigurationError, RunKilledError
from trivium.llms import Delta, Finish, Request, ToolCallPart
from trivium.testing import ScriptedModel, call_tool
from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai

from ._answers import FORMS, SIZES, TEXT, Call, Expected, calls, deltas, expected

GUARD = 20.0
ANSWER: list[Delta] = ["One ", "moment. ", call_tool("add", to_user="I add.", a=1), Finish("tool_calls")]
SAID, CALLED = (
    "One moment. I add.",
    {"tool_call_index": 0, "tool_call_id": "call_0", "name": "add", "arguments": {"a": 1}},
)


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(main(), GUARD))


class Source:
    """An async source that counts what was pulled; behind its items it fails, waits for ever, or ends."""

    def __init__(self, items: Iterable[Any], end: BaseException | str = "end") -> None:
        self.items, self.end = list(items), end
        self.pulled = 0
        self.waits, self.closed = asyncio.Event(), asyncio.Event()
        self.state = "new"

    async def __aiter__(self) -> AsyncIterator[Any]:
        self.state = "open"
        try:
            for item in self.items:
                self.pulled += 1
                yield item
            if isinstance(self.end, BaseException):
                raise self.end
            if self.end == "wait":
                self.waits.set()
                await asyncio.get_running_loop().create_future()
        finally:
            self.state = "closed"
            self.closed.set()


async def joined(texts: AsyncIterator[str]) -> str:
    return "".join([text async for text in texts])


async def listed(texts: AsyncIterator[str]) -> list[Any]:
    return [json.loads(text) async for text in texts]


async def both(source: Any) -> Expected:
    make = await async_dispatcher_tools_call_for_openai(source=source)
    said, out = await asyncio.gather(joined(make("to_user")), listed(make("function_call")))
    return said, out


@settings(deadline=None, max_examples=40)
@given(TEXT, st.lists(calls(), max_size=2), SIZES, FORMS)
def test_each_reader_gets_its_part(text: str, made: list[Call], sizes: list[int], form: Any):
    items = [form(delta) for delta in deltas(text, made, sizes)]
    assert run(lambda: both(Source(items))) == expected(text, made)


@pytest.mark.parametrize("make_source", [list, tuple, iter, Source])
def test_any_source_will_do(make_source: Callable[[list[Delta]], Any]):
    async def main() -> Expected:  # an event belongs to its loop
        return await both(make_source(ANSWER))

    assert run(main) == (SAID, [CALLED])


def test_a_models_stream_goes_straight_in():
    model = ScriptedModel([ANSWER])
    assert run(lambda: both(model.stream(Request([])))) == (SAID, [CALLED])


@pytest.mark.parametrize("first", ["to_user", "function_call"])
def test_one_may_be_read_after_the_other(first: str):
    async def main() -> Any:
        make = await async_dispatcher_tools_call_for_openai(source=Source(ANSWER))
        if first == "to_user":
            return await joined(make("to_user")), await listed(make("tool_call"))
        out = await listed(make("tool_call"))
        return await joined(make("to_user")), out

    assert run(main) == (SAID, [CALLED])


@pytest.mark.parametrize("role", ["to_user", "function_call", "tool_call"])
def test_one_alone_will_do(role: str):
    async def main() -> str:
        make = await async_dispatcher_tools_call_for_openai(source=Source(["a"] * 10_000))
        return await joined(make(role))

    assert run(main) == ("a" * 10_000 if role == "to_user" else "")


def test_roles():
    async def main() -> None:
        make = await async_dispatcher_tools_call_for_openai(source=[])
        assert make("to_user") is make("to_user")
        assert make("function_call") is make("tool_call")
        with pytest.raises(ConfigurationError, match="'to_user', 'function_call' or 'tool_call'"):
            make("user")

    run(main)


def test_the_flag_has_another_name():
    async def main() -> str:
        make = await async_dispatcher_tools_call_for_openai(source=[call_tool("add", say="Hi")], to_user_flag="say")
        return await joined(make("to_user"))

    assert run(main) == "Hi"


@pytest.mark.parametrize("error", [OSError("the line is cut"), RuntimeError(), KeyError("a")])
def test_both_get_the_error_of_the_source_behind_what_came_before(error: Exception):
    async def read(texts: AsyncIterator[str]) -> list[Any]:
        found: list[Any] = []
        try:
            async for text in texts:
                found.append(text)
        except type(error) as raised:
            found.append(raised)
        return found

    async def main() -> Any:
        source = Source(ANSWER[:2], error)
        make = await async_dispatcher_tools_call_for_openai(source=source)
        out = await asyncio.gather(read(make("to_user")), read(make("function_call")))
        assert source.state == "closed"
        return out

    assert run(main) == [["One ", "moment. ", error], [error]]


def test_an_error_while_sorting_reaches_both():
    async def main() -> None:
        make = await async_dispatcher_tools_call_for_openai(source=["a", object()])
        for role in ("to_user", "function_call"):
            with pytest.raises(ConfigurationError, match="not a piece of an answer"):
                await joined(make(role))

    run(main)


@pytest.mark.parametrize("length", [1, 14, 15, 16, 40])
def test_what_comes_behind_the_end_is_still_read(length: int):
    async def main() -> None:
        source = Source([*"a" * length, Finish("stop"), *[{"choices": [], "usage": {}}] * 9])
        assert await both(source) == ("a" * length, [])
        assert (source.pulled, source.state) == (length + 10, "closed")

    run(main)


def test_a_source_that_stays_open_behind_the_end_holds_nobody_up():
    async def main() -> None:
        source = Source(ANSWER, "wait")
        assert await both(source) == (SAID, [CALLED])
        assert source.state == "closed"

    run(main)


def test_the_source_is_read_while_somebody_reads():
    async def main() -> None:
        source = Source(["a"] * 1000)
        make = await async_dispatcher_tools_call_for_openai(source=source)
        texts = make("to_user")
        await asyncio.sleep(0)
        assert source.pulled == 0
        assert await anext(texts) == "a"
        for _ in range(100):
            await asyncio.sleep(0)
        assert source.pulled <= 17

    run(main)


@pytest.mark.parametrize("started", [True, False])
def test_it_is_closed_when_both_are(started: bool):
    async def main() -> None:
        source = Source(["a"] * 1000)
        items = aiter(source)
        make = await async_dispatcher_tools_call_for_openai(source=items)
        if started:
            await anext(make("to_user"))
        await make("to_user").aclose()
        assert source.state == ("open" if started else "new")
        await make("function_call").aclose()
        assert source.state == ("closed" if started else "new")
        with pytest.raises(StopAsyncIteration):
            await anext(items)

    run(main)


def test_it_is_closed_when_the_one_reader_goes():
    async def read(source: Source) -> None:
        make = await async_dispatcher_tools_call_for_openai(source=source)
        async with aclosing(make("to_user")) as texts:
            await anext(texts)

    async def main() -> None:
        source = Source(["a"], "wait")
        await read(source)
        await source.closed.wait()  # the loop ends the generator that nobody holds any more

    run(main)


def test_what_is_for_a_reader_who_has_gone_is_dropped():
    async def main() -> str:
        make = await async_dispatcher_tools_call_for_openai(source=Source([*ANSWER[:-1], " Done."]))
        await make("function_call").aclose()
        return await joined(make("to_user"))

    assert run(main) == "One moment. I add. Done."


def test_a_reader_that_is_cancelled_leaves_the_other_alone():
    async def main() -> None:
        source = Source(ANSWER[:2], "wait")
        make = await async_dispatcher_tools_call_for_openai(source=source)
        reading = asyncio.create_task(joined(make("to_user")))
        calling = asyncio.create_task(listed(make("function_call")))
        await source.waits.wait()
        reading.cancel()
        await asyncio.wait([reading])
        assert (source.state, calling.done()) == ("open", False)
        calling.cancel()
        await asyncio.wait([calling])
        assert source.state == "closed"

    run(main)


def test_a_sync_source_holds_up_nothing():
    going_on = threading.Event()

    def items() -> Iterator[Delta]:
        yield "a"
        assert going_on.wait(GUARD)
        yield "b"

    async def main() -> str:
        make = await async_dispatcher_tools_call_for_openai(source=items())
        assert await anext(make("to_user")) == "a"
        going_on.set()  # the loop runs while the source waits
        return await joined(make("to_user"))

    assert run(main) == "b"


# ---- below a commander
class Talk(Job):
    """Takes an answer apart as the documents do: a handler forks in two."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self.source = source
        self.said: list[str] = []
        self.called: list[Any] = []
        self.readers: list[HandlerCoroutine] = []

    @tasker(PASS_WORD)
    async def task(self) -> HandlerCoroutine:
        return self.take_apart()

    @handler(PASS_WORD)
    async def take_apart(self, self_handler: HandlerCoroutine) -> None:
        make = await async_dispatcher_tools_call_for_openai(source=self.source)
        self.readers = [self.hear(make("to_user")), self.call(make("function_call"))]
        for each in self.readers:
            self_handler.call_handler(each)

    @handler(PASS_WORD)
    async def hear(self, self_handler: HandlerCoroutine, texts: AsyncIterator[str]) -> None:
        async for text in texts:
            self.said.append(text)

    @handler(PASS_WORD)
    async def call(self, self_handler: HandlerCoroutine, texts: AsyncIterator[str]) -> None:
        async for text in texts:
            self.called.append(json.loads(text))


@pytest.mark.parametrize("make_source", [list, iter, Source])
def test_two_handlers_share_an_answer(make_source: Callable[[list[Delta]], Any]):
    async def main() -> None:
        job = Talk(make_source(ANSWER))
        await CommanderAsync(raise_errors=True).run_async(job, auto_exit=True)
        assert ("".join(job.said), job.called) == (SAID, [CALLED])

    run(main)


def test_both_handlers_fail_with_the_source():
    async def main() -> None:
        error = OSError("the line is cut")
        commander, job = CommanderAsync(), Talk(Source(ANSWER[:2], error))
        await commander.run_async(job, auto_exit=True)
        assert commander.failures == [(each, error) for each in job.readers]
        assert (job.said, job.state) == (["One ", "moment. "], NodeState.COMPLETED)

    run(main)


def exit_run(job: Job) -> None:
    job.commander.exit("out")


def kill_job(job: Job) -> None:
    job.kill()


@pytest.mark.parametrize("kill", [exit_run, kill_job])
def test_a_stopped_run_closes_the_source(kill: Callable[[Job], None]):
    async def main() -> None:
        source = Source(["a"], "wait")
        commander, job = CommanderAsync(), Talk(source)
        running = asyncio.create_task(commander.run_async(job, auto_exit=True))
        await source.waits.wait()
        kill(job)
        await running
        assert source.state == "closed"
        assert {each.state for each in job.readers} == {NodeState.TERMINATED}

    run(main)


def test_a_killed_handler_leaves_the_other_alone():
    async def main() -> None:
        source = Source(["a"], "wait")
        commander, job = CommanderAsync(), Talk(source)
        running = asyncio.create_task(commander.run_async(job, auto_exit=True))
        await source.waits.wait()
        ended = asyncio.Event()
        job.readers[0].add_callback_functions("at_terminate", ended.set)
        job.readers[0].kill()
        await ended.wait()
        assert (source.state, job.readers[1].state) == ("open", NodeState.ACTIVE)
        commander.exit()
        await running
        assert source.state == "closed"

    run(main)


def test_a_reader_outside_of_what_was_killed_is_reported():
    async def main() -> None:
        source = Source(["a"], "wait")
        found: list[Any] = []

        @handler(PASS_WORD)
        async def begin(self_handler: HandlerCoroutine) -> None:
            found.append(await async_dispatcher_tools_call_for_openai(source=source))
            found.append(self_handler)

        class Begin(Job):
            @tasker(PASS_WORD)
            async def task(self) -> HandlerCoroutine:
                return begin()

        await CommanderAsync().run_async(Begin(), auto_exit=True)
        make, node = found
        reading = asyncio.create_task(joined(make("to_user")))
        await source.waits.wait()
        node.kill("enough")
        with pytest.raises(RunKilledError, match="cancelled before its end"):
            await reading

    run(main)


def test_a_part_without_a_name_is_one_too():
    assert run(lambda: both([ToolCallPart(0, arguments="{}")]))[1][0]["name"] == ""
