"""The body of a response of a server over HTTP, with a limit: the SDK reads it whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Final, cast

from httpx2 import AsyncByteStream, Response

__all__ = ["BoundedBody"]

_LARGEST_RATIO: Final = 1032
"""How many bytes a packed byte may unpack to."""


class BoundedBody(AsyncByteStream):
    """A body that is an error where it has more bytes than it may, or could unpack to more.

    Args:
        response: the response.
        most: the most bytes.
        too_large: makes the error.
    """

    def __init__(self, response: Response, most: int, too_large: Callable[[], Exception]) -> None:
        is_packed = response.headers.get("content-encoding", "identity") != "identity"  # nobody asked for that
        self._most = most // _LARGEST_RATIO if is_packed else most
        self._stream, self._too_large = cast("AsyncByteStream", response.stream), too_large

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        count = 0
        async for piece in self._stream:
            count += len(piece)
            if count > self._most:
                raise self._too_large()
            yield piece

    async def aclose(self) -> None:
        """Close the body."""
        await self._stream.aclose()
