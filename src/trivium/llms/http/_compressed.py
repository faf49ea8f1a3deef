"""The beginning of a compressed body, which is kept for the error of one that cannot be unpacked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx2 import Response

__all__ = ["copy_beginning"]

BEGINNING = 2_000


def copy_beginning(response: Response, beginning: bytearray) -> None:
    """Copy the first bytes of an unread body into `beginning` while it is read."""
    from httpx2 import AsyncByteStream

    if not isinstance(response.stream, AsyncByteStream):
        return
    stream: AsyncByteStream = response.stream

    class Copied(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in stream:
                beginning.extend(piece[: BEGINNING - len(beginning)])
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Copied()
