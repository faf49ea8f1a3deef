"""Requests, responses, and what can go wrong between them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from trivium.exceptions import TriviumError


class HTTPError(TriviumError):
    """An HTTP request got no response, or not all of it."""


class InvalidRequestError(HTTPError):
    """A request cannot be sent: its address or one of its headers is not valid."""


class ConnectFailedError(HTTPError):
    """No connection to the server could be made; `__cause__` says why.

    Args:
        message: the text.
        proxy: the host and the port of the proxy that the connection goes through; "" for none.
    """

    def __init__(self, message: str, proxy: str = "") -> None:
        super().__init__(message)
        self.proxy = proxy


class ConnectionLostError(HTTPError):
    """The connection broke, or the server sent what is not HTTP."""


class ServerSilentError(HTTPError):
    """The server sent nothing for longer than the time allowed."""


class BodyError(HTTPError):
    """A body could not be decompressed.

    Args:
        message: the text.
        raw: the first bytes of the body, as they came.
    """

    def __init__(self, message: str, raw: bytes = b"") -> None:
        super().__init__(message)
        self.raw = raw


@dataclass(frozen=True, slots=True)
class HTTPRequest:
    """A request; its text shows neither headers nor body.

    Args:
        method: the method, such as "POST".
        url: the address, without user and password.
        headers: the headers; Host, the length and the accepted encodings are added.
        content: the body.
        timeout: seconds that the server may send nothing.
        is_raw: give the body as it comes, not decompressed.
        address: the IP address to connect to, in place of what the host's name resolves to.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    content: bytes = field(default=b"", repr=False)
    timeout: float = 120.0
    is_raw: bool = False
    address: str | None = None


class HTTPResponse:
    """A response whose body is still to be read.

    Args:
        status: the status, such as 200.
        headers: the headers, by their names in lower case; several of one name are joined by a comma.
        pieces: the body as it arrives, decompressed.
        reason: the phrase beside the status.
        on_close: called once, when the response is closed.
        below: the response that this one was made from; it is closed too.
    """

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        pieces: AsyncGenerator[bytes],
        reason: str = "",
        on_close: Callable[[], object] | None = None,
        below: HTTPResponse | None = None,
    ) -> None:
        self.status, self.headers, self.pieces, self.reason = status, headers, pieces, reason
        self._on_close, self._below = on_close, below

    @property
    def redirect(self) -> str | None:
        """The address to which the response redirects, as its header has it; None for one that does not."""
        return self.headers.get("location") if self.status in _REDIRECTS else None

    @property
    def has_arrived(self) -> bool:
        """Whether all of the body is there, so that reading it does not wait; False where that is not known."""
        return False

    async def read(self, limit: int) -> bytes:
        """Return the body, or its first pieces once they have more than `limit` bytes."""
        body = bytearray()
        async for piece in self.pieces:
            body += piece
            if len(body) > limit:
                break
        return bytes(body)

    async def aclose(self) -> None:
        """End the response: its connection is kept if all of it has arrived, and closed at once otherwise."""
        await self.pieces.aclose()
        if self._below is not None:
            await self._below.aclose()
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()


_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
MAX_HEAD: Final = 100 << 10
"""Bytes that the status line and the headers of a response may have."""
