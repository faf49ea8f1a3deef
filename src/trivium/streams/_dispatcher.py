"""A model's answer as two streams: the text for the user, and the tool calls."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from typing import Any, Protocol, get_args

from trivium.commander import wait
from trivium.exceptions import UnknownRoleError
from trivium.streams._channel import Channel
from trivium.streams._splitter import AnswerSplitter, Piece, Role

_GRACE = 1.0
"""Seconds for a source to end by itself after the end of the answer, where the usage is sent."""


async def async_dispatcher_tools_call_for_openai(
    source: AsyncIterable[object] | Iterable[object], to_user_flag: str = "to_user"
) -> Callable[[str], AsyncGenerator[str]]:
    """Split a model's answer while it arrives into text for the user and tool calls.

    If tools have a parameter called `to_user`, the model can write to the user while it calls them. The generator
    "to_user" yields the model's text and the text of these parameters, piece by piece, as soon as it arrives; several
    calls follow one another, with a line break between. A value that is not text is yielded as JSON when its call is
    complete; null is left out.

    The generator "function_call" yields each call as one JSON text with `tool_call_index`, `tool_call_id`, `name`
    and `arguments`, an object without `to_user`. If the model did not write an object, `arguments` is its text, and
    `error` describes the mistake: send it back to the model.

    Both generators end with the model's finish reason, or with the source, and raise the errors of the source.
    Neither waits for the other: one may stay unread, or be read later; it buffers at most this one answer. The source
    is read by its own task, only while a generator is read, and is closed with both generators.

    Args:
        source: chunks of an OpenAI stream, their dicts, or the deltas of a trivium model, in any mixture;
            reasoning and usage are ignored.
        to_user_flag: the name of the parameter for the user.

    Returns:
        A function that returns the generator "to_user", or "function_call" (also called "tool_call"). It raises
        `UnknownRoleError`, a `KeyError`, for another name.

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
    source: AsyncIterable[object] | Iterable[object], splitter: StreamSplitter
) -> Callable[[str], AsyncGenerator[str]]:
    """Make the generators of a source that `splitter` splits; see `async_dispatcher_tools_call_for_openai`."""
    answer = _Answer(source, splitter)
    generators = {role: answer.read(role) for role in answer.arrived}
    for each in generators.values():
        await anext(each)  # start it, so that its end runs even if it is never read

    def make_generator(role: str) -> AsyncGenerator[str]:
        """Return the generator of a role, the same each time."""
        name = "function_call" if role == "tool_call" else role
        if name not in generators:
            raise UnknownRoleError(f"there is no role {role!r}: take 'to_user', 'function_call' or 'tool_call'", role)
        return generators[name]

    return make_generator


class StreamSplitter(Protocol):
    """Splits the items of a source into pieces for the readers."""

    ended: bool
    """True once the answer is complete, even if the source goes on; `end` sets it."""

    def feed(self, item: object) -> Iterable[Piece]:
        """Return the pieces of an item."""
        ...

    def end(self) -> Iterable[Piece]:
        """Return the remaining pieces at the end of the source."""
        ...


class _Answer:
    """An answer with the pieces that its readers have not read."""

    def __init__(self, source: AsyncIterable[Any] | Iterable[Any], splitter: StreamSplitter) -> None:
        self.arrived: dict[str, deque[str]] = {role: deque() for role in get_args(Role)}
        self._splitter = splitter
        self._channel = Channel(source, self._receive)

    def _receive(self, item: object) -> None:
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
        """Wait for more of the answer; return False at its end."""
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
