"""Any stream becomes an asynchronous iterable, with a beginning and an end that others hear of."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from trivium.commander import PASS_WORD, CommanderAsync, HandlerCoroutine, Job, handler, tasker
from trivium.utils.llm_async_converters import LLMAsyncAdapter

GUARD = 20.0


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(main(), GUARD))


class Stream:
    """A sync stream like that of an SDK: `__next__`, and a `close` that must be called."""

    def __init__(self, items: Iterable[Any], error: BaseException | None = None) -> None:
        self.items, self.error = iter(items), error
        self.threads: set[int] = set()
        self.is_closed = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.threads.add(threading.get_ident())
        try:
            return next(self.items)
        except StopIteration:
            if self.error is not None:
                raise self.error from None
            raise

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.is_closed = True


class AsyncStream(Stream):
    """An async one like that of an SDK: its `close` is a coroutine."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    async def close(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as in the SDKs
        await asyncio.sleep(0)
        self.is_closed = True


async def agen(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


both_kinds = pytest.mark.parametrize("kind", [Stream, AsyncStream])
every_kind = pytest.mark.parametrize("kind", [Stream, AsyncStream, agen, iter, list, tuple])


async def collect(items: AsyncIterable[Any], log: list[Any]) -> None:
    async for item in items:
        log.append(item)


@every_kind
@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_the_items_in_order_between_start_and_end(kind: Callable[[Iterable[Any]], Any], count: int):
    log: list[Any] = []
    adapter = LLMAsyncAdapter(lambda: log.append("start"), lambda: log.append("end"))
    run(lambda: collect(adapter.llm_to_async_iterable(response=kind(range(count))), log))
    assert log == ["start", *range(count), "end"]
    assert adapter.received_message == [*range(count)]


@both_kinds
def test_a_stream_is_closed_at_its_end(kind: type[Stream]):
    stream = kind("ab")
    run(lambda: collect(LLMAsyncAdapter().llm_to_async_iterable(response=stream), []))
    assert stream.is_closed


@both_kinds
@pytest.mark.parametrize("before", ["", "ab"])
def test_an_error_reaches_the_reader_behind_what_came_before(kind: type[Stream], before: str):
    error, log = OSError("the line is cut"), list[Any]()
    stream = kind(before, error)
    adapter = LLMAsyncAdapter(lambda: log.append("start"), lambda: log.append("end"))
    with pytest.raises(OSError, match="the line is cut") as raised:
        run(lambda: collect(adapter.llm_to_async_iterable(response=stream), log))
    assert raised.value is error
    assert log == (["start", *before, "end"] if before else [])
    assert stream.is_closed


def test_an_error_of_the_close_reaches_the_reader():
    class Unclosable(Stream):
        def close(self) -> None:
            raise OSError("cannot be closed")

    log: list[Any] = []
    with pytest.raises(OSError, match="cannot be closed"):
        run(lambda: collect(LLMAsyncAdapter().llm_to_async_iterable(response=Unclosable("ab")), log))
    assert log == ["a", "b"]
    with pytest.raises(LookupError):
        run(lambda: collect(LLMAsyncAdapter().llm_to_async_iterable(response=Unclosable("", LookupError())), log))


@both_kinds
def test_a_reader_that_leaves_early_closes_it(kind: type[Stream]):
    log: list[Any] = []
    stream = kind(iter(int, 1))
    adapter = LLMAsyncAdapter(at_receiving_end=lambda: log.append(stream.is_closed))

    async def main() -> None:
        async with aclosing(adapter.llm_to_async_iterable(response=stream)) as items:
            assert await anext(items) == 0

    run(main)
    assert log == [True]
    assert adapter.received_message == [0]


def test_a_sync_stream_is_pulled_elsewhere():
    stream = Stream("ab")
    run(lambda: collect(LLMAsyncAdapter().llm_to_async_iterable(response=stream), []))
    assert threading.get_ident() not in stream.threads


def test_the_loop_goes_on_while_a_sync_stream_waits():
    going_on = threading.Event()

    def items() -> Iterator[str]:
        yield "a"
        assert going_on.wait(GUARD)
        yield "b"

    async def main() -> None:
        items_of = LLMAsyncAdapter().llm_to_async_iterable(response=items())
        assert await anext(items_of) == "a"
        going_on.set()
        assert [item async for item in items_of] == ["b"]

    run(main)


def test_a_generator_is_closed_in_the_thread_that_pulled_it():
    threads: list[int] = []

    def items() -> Iterator[str]:
        try:
            while True:
                threads.append(threading.get_ident())
                yield "a"
        finally:
            threads.append(threading.get_ident())

    async def main() -> None:
        async with aclosing(LLMAsyncAdapter().llm_to_async_iterable(response=items())) as texts:
            await anext(texts)

    run(main)
    assert len({*threads}) == 1


def test_functions_of_every_form():
    log: list[Any] = []

    async def later(*args: Any, **kwargs: Any) -> None:
        await asyncio.sleep(0)
        log.append((args, kwargs))

    start = [later, {"function": log.append, "params": {"args": ("a",)}}, {"function": later}]
    end = {"function": later, "params": {"args": (1,), "kwargs": {"b": 2}}}
    run(lambda: collect(LLMAsyncAdapter(start, end).llm_to_async_iterable(response=()), []))
    assert log == [((), {}), "a", ((), {}), ((1,), {"b": 2})]


def test_functions_of_one_reception():
    log: list[str] = []
    adapter = LLMAsyncAdapter(lambda: log.append("start"), lambda: log.append("end"))

    async def main() -> None:
        once = adapter.llm_to_async_iterable(
            response="", at_receiving_start=[], at_receiving_end=lambda: log.append("once")
        )
        await collect(once, [])
        await collect(adapter.llm_to_async_iterable(response=""), [])

    run(main)
    assert log == ["once", "start", "end"]


def test_the_methods_can_be_overridden():
    class Counting(LLMAsyncAdapter):
        counts: list[int] = []  # noqa: RUF012 - one object

        async def at_receiving_start(self) -> None:
            self.counts.append(len(self.received_message))

        async def at_receiving_end(self) -> None:
            self.counts.append(len(self.received_message))

    adapter = Counting()
    run(lambda: collect(adapter.llm_to_async_iterable(response="abc"), []))
    assert adapter.counts == [0, 3]


def test_each_reception_has_a_message_of_its_own():
    adapter = LLMAsyncAdapter()

    async def main() -> list[Any]:
        await collect(adapter.llm_to_async_iterable(response="abc"), [])
        first = adapter.received_message
        await collect(adapter.llm_to_async_iterable(response="d"), [])
        return [first, adapter.received_message]

    assert run(main) == [["a", "b", "c"], ["d"]]


def fail() -> None:
    raise LookupError("the end failed")


def test_a_failing_function_is_an_error_too():
    for adapter in (LLMAsyncAdapter(at_receiving_start=fail), LLMAsyncAdapter(at_receiving_end=fail)):
        with pytest.raises(LookupError, match="the end failed"):
            run(lambda each=adapter: collect(each.llm_to_async_iterable(response="a"), []))


def test_a_failing_end_does_not_hide_why_the_stream_failed(caplog: pytest.LogCaptureFixture):
    adapter = LLMAsyncAdapter(at_receiving_end=fail, logger=logging.getLogger("mine"))
    with pytest.raises(OSError, match="cut"):
        run(lambda: collect(adapter.llm_to_async_iterable(response=Stream("a", OSError("cut"))), []))
    assert [(record.name, record.exc_info and str(record.exc_info[1])) for record in caplog.records] == [
        ("mine", "the end failed")
    ]


@every_kind
def test_it_works_in_a_handler(kind: Callable[[Iterable[Any]], Any]):
    log: list[Any] = []

    class Read(Job):
        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            return self.read()

        @handler(PASS_WORD)
        async def read(self, self_handler: HandlerCoroutine) -> None:
            await collect(LLMAsyncAdapter().llm_to_async_iterable(response=kind("abc")), log)

    CommanderAsync(raise_errors=True).run(Read(), auto_exit=True)
    assert log == ["a", "b", "c"]


def test_a_stopped_run_closes_the_stream_and_says_so():
    log: list[Any] = []
    stream = Stream(iter(int, 1))
    adapter = LLMAsyncAdapter(at_receiving_end=lambda: log.append(stream.is_closed))

    class Read(Job):
        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            return self.read()

        @handler(PASS_WORD)
        async def read(self, self_handler: HandlerCoroutine) -> None:
            async for _ in adapter.llm_to_async_iterable(response=stream):
                await self_handler.exit_commander("out")

    assert CommanderAsync().run(Read()) == "out"
    assert log == [True]
