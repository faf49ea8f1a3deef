"""How a model server is asked over HTTP: keys in turn, connections, retries, and one policy for what fails."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit
from weakref import WeakKeyDictionary, finalize

from trivium._arguments import positive
from trivium.commander import wait
from trivium.commander._workers import get_running_loop
from trivium.exceptions import (
    ConfigurationError,
    MalformedAnswerError,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
)
from trivium.llms._protocol import Delta
from trivium.llms.http._exchange import exchange, needed_key
from trivium.llms.wire._answers import error_text

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from ssl import SSLContext

    from httpx2 import AsyncClient, Response

__all__ = ["Keys", "Transport", "back_off", "bearer", "retry_delay", "seconds_to_wait", "with_path"]

CONNECT_SECONDS = 10.0
MAX_TRIES, FIRST_DELAY, LONGEST_DELAY = 3, 0.5, 30.0
RETRIED = {408, 409, 429}
MAX_ERROR_BYTES = 64 << 10
HEADERS = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
HINTS = {
    401: "; check the API key",
    402: "; check the plan and the billing of the API key",
    403: "; check the API key and what it may use",
    404: "; check {setting} and the name of the model",
    413: "; send less: a shorter document, or fewer fields",
    429: "; wait, or send fewer requests at once",
}
NO_MONEY = ("insufficient_quota", "credit balance is too low")
NO_MONEY_HINT = HINTS[402]


class Reader(Protocol):
    """Turns the body of an answer, piece by piece, into deltas."""

    def feed(self, piece: bytes) -> Iterator[Delta]:
        """The deltas that `piece` completes."""
        ...

    def end(self) -> Iterator[Delta]:
        """What is left at the end of the body."""
        ...


class Keys:
    """API keys that are used in turn. One that a server refuses is left out from then on, but for the last.

    Args:
        keys: the keys; none of them is shown.
        default: gives the key where there are none, at each request; "" for no key.
    """

    def __init__(self, keys: Sequence[str] = (), default: Callable[[], str] = str) -> None:
        if not all(isinstance(key, str) for key in keys if key):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("an API key is a text; several are a list of texts")
        self.all = self._keys = tuple(dict.fromkeys(key.strip() for key in keys if key))
        self._default = default
        self._turn, self._lock = count(), Lock()

    def take(self) -> str:
        """The next key.

        Raises:
            ConfigurationError: it cannot be a key.
        """
        keys = self._keys
        key = keys[next(self._turn) % len(keys)] if keys else self._default().strip()
        if not key.isascii() or not key.isprintable():
            raise ConfigurationError("the API key has characters that no API key has: copy it again")
        return key

    def refuse(self, key: str) -> bool:
        """Leave a key out, and tell whether there is another."""
        with self._lock:
            others = tuple(each for each in self._keys if each != key)
            self._keys = others or self._keys
        return bool(others)


def bearer(key: str) -> dict[str, str]:
    """The header that most servers want."""
    return {"authorization": f"Bearer {key}"} if key else {}


class Transport:
    """Posts JSON to one address and yields the deltas of the answer.

    A failed request is tried again a few times, but never after the first delta was given out. Connections are kept
    for each event loop and closed with it. Neither a key nor the password in an address is ever shown.

    Args:
        url: the whole address.
        keys: the API keys.
        headers: the headers of a request, from its key.
        setting: what the user calls the address, for error texts.
        timeout: seconds without a byte from the server after which it is given up.
        proxies: the proxy for each scheme; None takes what the environment says.

    Raises:
        ConfigurationError: the address is not one of HTTP.
    """

    def __init__(
        self,
        url: str,
        keys: Keys,
        headers: Callable[[str], Mapping[str, str]] = bearer,
        *,
        setting: str = "base_url",
        timeout: float = 120.0,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        positive(timeout=timeout)
        parts = _split(url, setting)
        self._scheme, host = parts.scheme, parts.netloc.rpartition("@")[2]
        self._auth = None if host == parts.netloc else (unquote(parts.username or ""), unquote(parts.password or ""))
        self._url = urlunsplit(parts._replace(netloc=host))  # without the password: the client logs it
        self.shown_url = urlunsplit(parts._replace(netloc=host, query="", fragment=""))
        self._keys, self._headers, self._setting = keys, headers, setting
        self._timeout, self._proxies = timeout, proxies
        self._ssl: SSLContext | None = None
        self._clients: WeakKeyDictionary[AbstractEventLoop, _Client] = WeakKeyDictionary()

    async def stream(
        self, body: Mapping[str, Any], reader: Callable[[], Reader], tries: int | None = None
    ) -> AsyncGenerator[Delta]:
        """Ask the server and yield its answer piece by piece; closing the generator ends the request.

        Args:
            body: what is posted.
            reader: makes the reader of an answer, for each try.
            tries: how often the server is asked at most; another key for a refused one does not count.

        Raises:
            ConfigurationError: the body is no JSON, or the key cannot be one.
            ProviderConnectionError: the server cannot be reached, or the connection broke.
            ProviderStatusError: the server refused.
            MalformedAnswerError: what it sent is not an answer.
        """
        data, client, attempt = _as_json(body), await self._client(), 1
        while True:
            key, begun = needed_key(self._keys.take), False
            headers = {**HEADERS, **self._headers(key)}
            try:
                async with contextlib.aclosing(self._ask(client, data, headers, reader())) as deltas:
                    async for delta in deltas:
                        begun = True
                        yield delta
                return
            except ProviderError as error:
                if not begun and _is_refused(error) and self._keys.refuse(key):
                    continue
                delay = None if begun or attempt >= (tries or MAX_TRIES) else retry_delay(error, attempt)
                if delay is None:
                    raise self._without_secrets(error, key, headers) from None
            attempt += 1
            await wait(delay)

    async def _ask(
        self, client: AsyncClient, data: bytes, headers: dict[str, str], reader: Reader
    ) -> AsyncGenerator[Delta]:
        """One request, with every error of the transport turned into one of ours."""
        import httpx2

        try:
            request = client.build_request("POST", self._url, content=data, headers=headers)
            secrets = (*self._keys.all, *(self._auth or ())[1:])
            async with exchange(request, partial(client.send, stream=True), secrets) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                async for piece in response.aiter_bytes():
                    for delta in reader.feed(piece):
                        yield delta
        except httpx2.DecodingError as error:
            raise MalformedAnswerError(
                f"{self.shown_url} sent an answer that cannot be unpacked; check what stands between, as a proxy"
            ) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise ProviderConnectionError(
                f"no answer from {self.shown_url} ({str(error) or type(error).__name__}): check that the "
                f"server runs, that {self._setting} is right and that the network lets it through"
            ) from error
        for delta in reader.end():
            yield delta

    async def _refusal(self, response: Response) -> ProviderStatusError:
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_ERROR_BYTES:
                break
        raw = body.decode("utf-8", "replace")
        try:
            message = error_text(json.loads(raw))
        except (ValueError, RecursionError):
            message = "" if raw.lstrip().startswith("<") else raw.strip()[:200]
        status = response.status_code
        hint = NO_MONEY_HINT if _has_no_money(raw) else _hint(status).format(setting=self._setting)
        text = f"{self.shown_url} answered {status}: {message or response.reason_phrase}{hint}"
        return ProviderStatusError(text, raw, status, seconds_to_wait(response.headers))

    def _without_secrets(self, error: ProviderError, key: str, headers: Mapping[str, str]) -> ProviderError:
        """`error` with all that is secret blotted out, which some servers send back."""
        sent = headers.get("authorization", "").removeprefix("Bearer ")
        pieces = (piece.strip() for each in (key, *self._keys.all) for piece in (each, *each.split(",")))
        for secret in filter(None, {sent, *pieces, *(self._auth or ())[1:]}):
            error.args = tuple(str(part).replace(secret, "***") for part in error.args)
            error.raw = error.raw.replace(secret, "***")
        return error

    async def _client(self) -> AsyncClient:
        loop = get_running_loop()
        assert loop is not None, "a coroutine of asyncio runs this"
        held = self._clients.get(loop)
        if held is None:
            # The loop closes its asynchronous generators when it ends, and so the client that one holds.
            held = self._clients[loop] = _Client(self, self._new_client())
            await anext(held.keeper)
        return held.client

    def _new_client(self) -> AsyncClient:
        import httpx2

        if self._ssl is None and self._scheme == "https":
            self._ssl = httpx2.create_ssl_context()
        limits = httpx2.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS))
        given = self._proxies or {}
        proxy = given.get(self._scheme) or given.get(f"{self._scheme}://") or given.get("all") or given.get("all://")
        environment = self._proxies is None
        return httpx2.AsyncClient(
            timeout=limits, verify=self._ssl or True, auth=self._auth, proxy=proxy, trust_env=environment
        )


class _Client:
    """A client and the generator that closes it, when its loop ends or its owner is gone."""

    def __init__(self, owner: Transport, client: AsyncClient) -> None:
        self.client = client
        roots: list[finalize[..., Any]] = []
        self.keeper = self._keep(client, roots)
        # An owner may go with a circle of objects, as of an error: its sockets must not go with them, unclosed.
        roots.append(finalize(owner, _let_go, self.keeper))
        roots[0].atexit = False

    @staticmethod
    async def _keep(client: AsyncClient, roots: list[finalize[..., Any]]) -> AsyncGenerator[None]:
        try:
            async with client:
                yield
        finally:
            roots.pop().detach()


def _let_go(keeper: AsyncGenerator[None]) -> None:
    """Drop the last reference to a generator; its loop then closes it."""


def with_path(url: str, path: str, setting: str = "base_url") -> str:
    """An address that ends with `path`, which may stand there already; a query stays behind it.

    Example:
        >>> with_path("http://localhost:8000/v1/", "/chat/completions")
        'http://localhost:8000/v1/chat/completions'

    Raises:
        ConfigurationError: the address is not one of HTTP.
    """
    parts = _split(url, setting)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/").removesuffix(path) + path))


def _split(url: str, setting: str) -> SplitResult:
    parts = urlsplit(url)
    with contextlib.suppress(ValueError):  # of a port that is no number
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    raise ConfigurationError(f"{setting} begins with http:// or https:// and a host")


def retry_delay(error: ProviderError, attempt: int) -> float | None:
    """Seconds to wait before a request is tried again, or None if it must not be.

    Args:
        error: why it failed; nothing of an answer was given out yet.
        attempt: how often it was tried, from 1.
    """
    asked = 0.0
    if isinstance(error, ProviderStatusError):
        asked = error.retry_after
        is_passing = error.status in RETRIED or error.status >= 500
        if not is_passing or asked > LONGEST_DELAY or _has_no_money(error.raw):
            return None
    elif not isinstance(error, ProviderConnectionError):
        return None
    return max(asked, min(back_off(FIRST_DELAY, attempt), LONGEST_DELAY))


def back_off(first: float, attempt: int) -> float:
    """Seconds to wait after an attempt, doubled at each next; spread, so that many callers do not come back at once."""
    return first * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - a delay, no secret


def _is_refused(error: ProviderError) -> bool:
    """Whether a server will not serve this key, whatever is asked."""
    return isinstance(error, ProviderStatusError) and (error.status in (401, 402) or _has_no_money(error.raw))


def _has_no_money(raw: str) -> bool:
    return any(sign in raw for sign in NO_MONEY)


def _hint(status: int) -> str:
    """What to do about an error status."""
    if status >= 500:
        return "; try again later, or look into the server's log"
    if status < 400:
        return "; check {setting}"
    return HINTS.get(status, "; change what it says is wrong, or try another model")


def seconds_to_wait(headers: Mapping[str, str]) -> float:
    """Seconds from `retry-after-ms`, or from `retry-after` as seconds or as a date; else 0."""
    with contextlib.suppress(ValueError):
        return max(0.0, float(headers.get("retry-after-ms", "")) / 1000)
    value = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    return 0.0


def _as_json(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"a message or a parameter cannot be sent as JSON: {error}") from error
