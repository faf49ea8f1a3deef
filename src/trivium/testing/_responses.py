"""HTTP answers made of pieces, for layers between a model and its server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx2 import Request, Response

__all__ = ["make_response", "replace_body"]

_OF_THE_BYTES = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def make_response(
    request: Request,
    pieces: AsyncGenerator[bytes],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    below: Response | None = None,
    ended: Callable[[], None] | None = None,
) -> Response:
    """Make an answer from `pieces`; closing it closes them and the answer `below`, and calls `ended`."""
    import httpx2

    class Stream(httpx2.AsyncByteStream):
        def __aiter__(self) -> AsyncGenerator[bytes]:  # type: ignore[override] - an iterator, not a coroutine of one
            return pieces

        async def aclose(self) -> None:
            await pieces.aclose()
            if below is not None:
                await below.aclose()
            if ended is not None:
                ended()

    return httpx2.Response(status, headers=dict(headers or {}), stream=Stream(), request=request)


def replace_body(
    request: Request,
    response: Response,
    pieces: AsyncGenerator[bytes],
    headers: Mapping[str, str] | None = None,
    ended: Callable[[], None] | None = None,
) -> Response:
    """Replace the body of an answer; the pieces are decompressed, and `headers` replace its headers."""
    kept = {name: value for name, value in response.headers.items() if name.lower() not in _OF_THE_BYTES}
    return make_response(request, pieces, response.status_code, {**kept, **(headers or {})}, response, ended)
