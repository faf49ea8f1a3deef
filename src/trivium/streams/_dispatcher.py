"""A model's answer as two streams: what the user reads, and the tool calls."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from typing import Any, Protocol, get_args

from trivium.commander import wait
from trivium.exceptions import ConfigurationError
from trivium.streams._channel import Channel
from trivium.streams._splitter import AnswerSplitter, Piece, Role

__all__ = ["StreamSplitter", "async_dispatcher_tools_call_for_openai", "split_among_readers"]

_GRACE = 1.0
"""Seconds for a source to end by itself behind the end of the answer: the usage comes there."""


async def async_dispatcher_tools_call_for_openai(
    source: AsyncIterable[Any] | Iterable[Any], to_user_flag: str = "to_user"
) -> Callable[[str], AsyncGenerator[str]]:
    """Take a model's answer apart while it arrives: what the user reads, and the tool calls.

    Offer tools with a parameter called `to_user`, and the model can talk to the user while it calls them. The
    generator "to_user" gives the model's text and the text of these parameters, piece by piece, as soon as it
    arrives; of several calls one after the other, with a line break between. A value that is no text is given as
    JSON when its call is complete, null not at all.

    The generator "function_call" gives each call as one JSON text with `tool_call_index`, `tool_call_id`, `name`
    and `arguments`, an object without `to_user`. If what the model wrote is no object, `arguments` is that text,
    and `error` says what is wrong: send it back to the model.

    Both generators end where the model says why it stopped, or with the source, and raise what the source
    raises. Neither waits for the other, so one may be left unread, or read after the other; what it holds is at
    most this one answer. The source is read by a task of its own, only while somebody reads, and is closed when
    both generators are.

    Args:
        source: chunks of an OpenAI stream, their dicts, or the deltas of a trivium model, mixed as they come;
            reasoning and usage are passed over.
        to_user_flag: the name of the parameter that is for the user.

    Returns:
        A function that gives the generator "to_user", or "function_call" (also called "tool_call"). It raises
        `ConfigurationError` for another name.

    Example:
        >>> import asyncio
        >>> from trivium.testing import call_tool
        >>> async def main():
        ...     answer = ["Hello. ", call_tool("add", to_user="One moment.", a=1)]
        ...     make = await async_dispatcher_tools_call_for_openai(source=answer)
        ...     print("".join([text async for text in make("to_user")]))
        ...     print([call async for call in make("function_call")])
        >>> asyncio.run(main())
        Hello. One moment.
        ['{"tool_call_index": 0, "tool_call_id": "call_0", "name": "add", "arguments": {"a": 1}}']
    """
    return await split_among_readers(source, AnswerSplitter(to_user_flag))


async def split_among_readers(
    source: AsyncIterable[Any] | Iterable[Any], splitter: StreamSplitter
) -> Callable[[str], AsyncGenerator[str]]:
    """The generators of a source that `splitter` sorts; see `async_dispatcher_tools_call_for_openai`."""
    answer = _Answer(source, splitter)
    generators = {role: answer.read(role) for role in answer.arrived}
    for each in generators.values():
        await anext(each)  # so that it ends its part of the answer even if nobody reads it

    def make_generator(role: str) -> AsyncGenerator[str]:
        """The generator of a role, each time the same."""
        name = "function_call" if role == "tool_call" else role
        if name not in generators:
            raise ConfigurationError(f"there is no role {role!r}: take 'to_user', 'function_call' or 'tool_call'")
        return generators[name]

    return make_generator


class StreamSplitter(Protocol):
    """Splits the items of a source into pieces, each for one reader."""

    ended: bool
    """Whether the answer is over, whatever the source still gives; `end` makes it true."""

    def feed(self, item: Any) -> Iterable[Piece]:
        """Return the pieces that an item adds."""
        ...

    def end(self) -> Iterable[Piece]:
        """Return the pieces that are left at the end of the source."""
        ...


class _Answer:
    """An answer on its way to its readers."""

    def __init__(self, source: AsyncIterable[Any] | Iterable[Any], splitter: StreamSplitter) -> None:
        self.arrived: dict[str, deque[str]] = {role: deque() for role in get_args(Role)}
        self._splitter = splitter
        self._channel = Channel(source, self._take)

    def _take(self, item: Any) -> None:
        self._sort(self._splitter.feed(item))

    def _sort(self, pieces: Iterable[Piece]) -> None:
        for role, text in pieces:
            if role in self.arrived:
                self.arrived[role].append(text)

    async def read(self, role: str) -> AsyncGenerator[str]:
        pieces = self.arrived[role]
        try:
            yield ""
            while pieces or await self._more():
                while pieces:
                    yield pieces.popleft()
        finally:
            del self.arrived[role]
            if not self.arrived:
                await self._close()

    async def _more(self) -> bool:
        """Wait for more of the answer; False at its end."""
        if self._splitter.ended:
            return False
        if not await self._channel.more():
            self._sort(self._splitter.end())
        return True

    async def _close(self) -> None:
        try:
            if self._splitter.ended and not self._channel.over.is_set():
                self._channel.want()
                await wait(_GRACE, self._channel.over)
        finally:
            await self._channel.aclose()
