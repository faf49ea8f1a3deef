"""The body of a response of a server over HTTP, with a limit: the SDK reads it whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from httpx2 import AsyncByteStream, Response

_LARGEST_RATIO: Final = 1032
"""How many bytes a packed byte may unpack to."""


def bounded_body(response: Response, most: int, too_large: Callable[[], Exception]) -> AsyncByteStream:
    """Return the body of a response; to read it is an error where it has more bytes than it may, or could unpack to.

    Args:
        response: the response.
        most: the most bytes.
        too_large: makes the error.
    """
    from httpx2 import AsyncByteStream

    is_packed = response.headers.get("content-encoding", "identity") != "identity"  # nobody asked for that
    largest = most // _LARGEST_RATIO if is_packed else most
    body = cast("AsyncByteStream", response.stream)

    class Bounded(AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes]:
            count = 0
            async for piece in body:
                count += len(piece)
                if count > largest:
                    raise too_large()
                yield piece

        async def aclose(self) -> None:
            await body.aclose()

    return Bounded()
