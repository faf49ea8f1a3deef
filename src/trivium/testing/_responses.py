"""HTTP responses with another body, for layers between a model and its server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping

from trivium.http import HTTPResponse


def replace_body(
    response: HTTPResponse,
    pieces: AsyncGenerator[bytes],
    headers: Mapping[str, str] | None = None,
    on_close: Callable[[], None] | None = None,
) -> HTTPResponse:
    """Return a response with another body, whose `headers` replace those of the first; closing it closes both."""
    headers = {**response.headers, **(headers or {})}
    return HTTPResponse(response.status, headers, pieces, response.reason, on_close, response)
