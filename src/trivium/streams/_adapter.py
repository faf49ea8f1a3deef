"""A model's stream, sync or async, as an asynchronous iterable."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from trivium.streams._channel import Channel

_Entry: TypeAlias = Callable[..., Any] | Mapping[str, Any]
Functions: TypeAlias = _Entry | Sequence[_Entry]


class LLMAsyncAdapter:
    """Makes an asynchronous iterable of a model's stream, with callbacks at the start and the end of reception.

    A sync stream (of `openai.OpenAI`, a generator, a list) is read in a worker thread, so that it does not block the
    loop; an async stream is read in place. It works in a handler and in any other asyncio program. The stream is
    closed at its end, and when the reader stops early. An error of the stream is raised to the reader.

    Callbacks may be sync or async; a dict `{"function": f, "params": {"args": …, "kwargs": …}}` adds arguments, and a
    list has several callbacks.

    Args:
        at_receiving_start: called before the first item, also if there is none.
        at_receiving_end: called after the last item, also if the stream fails or the reader stops early, but only
            if the start was called. Its own failure does not hide that of the stream: it is logged.
        logger: default `trivium.utils`.

    Attributes:
        received_message: the items received so far in the last reception.

    Example:
        >>> import asyncio
        >>> adapter = LLMAsyncAdapter(at_receiving_end=lambda: print(adapter.received_message))
        >>> async def main():
        ...     async for piece in adapter.llm_to_async_iterable(response=iter(["Hel", "lo"])):
        ...         print(piece)
        >>> asyncio.run(main())
        Hel
        lo
        ['Hel', 'lo']
    """

    def __init__(
        self,
        at_receiving_start: Functions | None = None,
        at_receiving_end: Functions | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        self.received_message: list[Any] = []
        self.logger = logger or logging.getLogger("trivium.utils")
        self._at_start, self._at_end = at_receiving_start, at_receiving_end

    async def at_receiving_start(self) -> None:
        """Run before the first item; override it if a callback is not enough."""
        await _call(self._at_start)

    async def at_receiving_end(self) -> None:
        """Run after the last item; override it if a callback is not enough."""
        await _call(self._at_end)

    async def llm_to_async_iterable(
        self,
        response: Iterable[object] | AsyncIterable[object],
        at_receiving_start: Functions | None = None,
        at_receiving_end: Functions | None = None,
    ) -> AsyncGenerator[Any]:
        """Yield the items of `response`; callbacks given here replace the adapter's own."""
        start = self.at_receiving_start if at_receiving_start is None else partial(_call, at_receiving_start)
        end = self.at_receiving_end if at_receiving_end is None else partial(_call, at_receiving_end)
        received = self.received_message = list[Any]()
        started = False
        try:
            async with aclosing(_items_of(response)) as items:
                async for item in items:
                    if not started:
                        await start()
                        started = True
                    received.append(item)
                    yield item
        except BaseException:
            if started:
                await self._end_anyway(end)
            raise
        if not started:
            await start()
        await end()

    async def _end_anyway(self, end: Callable[[], Any]) -> None:
        try:
            await end()
        except Exception:
            self.logger.exception("at_receiving_end failed after a stream that ended early")


async def _items_of(source: Iterable[object] | AsyncIterable[object]) -> AsyncGenerator[Any]:
    arrived: deque[Any] = deque()
    channel = Channel(source, arrived.append)
    try:
        while arrived or await channel.more():
            while arrived:
                yield arrived.popleft()
    finally:
        await channel.aclose()


async def _call(functions: Functions | None) -> None:
    several = isinstance(functions, list | tuple)
    for each in cast("Sequence[_Entry]", functions if several else [functions] if functions else ()):
        entry = cast("Mapping[str, Any]", each if isinstance(each, Mapping) else {"function": each})
        params: Mapping[str, Any] = entry.get("params") or {}
        out = entry["function"](*params.get("args", ()), **params.get("kwargs", {}))
        if isawaitable(out):
            await out
