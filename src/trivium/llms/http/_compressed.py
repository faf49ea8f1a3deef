"""The beginning of a compressed body, which is kept for the error of one that cannot be unpacked."""

from __future__ import annotations

from collections.abc import AsyncIterator

from httpx2 import AsyncByteStream, Response

__all__ = ["copy_beginning"]

BEGINNING = 2_000


class _Copied(AsyncByteStream):
    def __init__(self, stream: AsyncByteStream, beginning: bytearray) -> None:
        self._stream, self._beginning = stream, beginning

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._beginning += piece[: BEGINNING - len(self._beginning)]
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def copy_beginning(response: Response, beginning: bytearray) -> None:
    """Copy the first bytes of an unread body into `beginning` while it is read."""
    if isinstance(response.stream, AsyncByteStream):
        response.stream = _Copied(response.stream, beginning)
