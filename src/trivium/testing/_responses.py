"""An answer of HTTP made of pieces, as those make it that stand between a model and its server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx2 import Request, Response

__all__ = ["made", "remade"]

_OF_THE_BYTES = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def made(
    request: Request,
    pieces: AsyncGenerator[bytes],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    below: Response | None = None,
    ended: Callable[[], None] | None = None,
) -> Response:
    """An answer whose body is `pieces`; with it they and the answer `below` are closed, and `ended` is called."""
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


def remade(
    request: Request,
    response: Response,
    pieces: AsyncGenerator[bytes],
    headers: Mapping[str, str] | None = None,
    ended: Callable[[], None] | None = None,
) -> Response:
    """The answer with another body, made of its own unpacked one; `headers` go before its headers."""
    kept = {name: value for name, value in response.headers.items() if name.lower() not in _OF_THE_BYTES}
    return made(request, pieces, response.status_code, {**kept, **(headers or {})}, response, ended)
