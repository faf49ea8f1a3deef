"""The HTTP transport to a model server: one request, retried by a policy, with a typed error for each failure."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from ssl import SSLCertVerificationError
from typing import Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

from trivium.commander import wait
from trivium.exceptions import (
    AnswerBrokeOffError,
    ConfigurationError,
    MalformedAnswerError,
    ProviderAuthenticationError,
    ProviderConnectionError,
    ProviderError,
    ProviderQuotaError,
    ProviderStatusError,
)
from trivium.http import (
    BodyError,
    ConnectFailedError,
    HTTPClient,
    HTTPError,
    HTTPRequest,
    HTTPResponse,
    InvalidRequestError,
    Sender,
    ServerSilentError,
    exchange,
    replaces_network,
)
from trivium.http.lowlevel import TimeLimit, login_of
from trivium.llms._protocol import Delta
from trivium.llms.http._keys import Keys, bearer
from trivium.llms.http._policy import RetryBudget, RetryPolicy, Tries, before_retry
from trivium.llms.http._refusals import SHORTEN, refusal
from trivium.llms.http._secrets import redact, redact_url, secrets_of
from trivium.llms.wire._written import WrittenMessages, sent_json
from trivium.schema import Usage
from trivium.schema.lowlevel import positive

T = TypeVar("T")
FIRST_DELAY = 0.5
MAX_ERROR_BYTES = 64 << 10
LINGER = 0.5
"""Seconds between the end of the answer and the end of the body, after which the connection is closed."""
CERTIFICATES = {
    9: "its certificate is not valid yet: check the clock of this machine and that of the server",
    10: "renew the certificate of the server, or check the clock of this machine",
    **dict.fromkeys((62, 64), "ask the server, or the proxy, by a name that its certificate has"),
}
"""Advice by what OpenSSL says of a certificate; of any other, its authority is unknown."""
HEADERS = {"content-type": "application/json", "accept": "text/event-stream, application/json"}


class Reader(Protocol):
    """Turns the body of a response, piece by piece, into deltas.

    Attributes:
        done: True once the server has marked the end.
    """

    done: bool

    @property
    def usage(self) -> Usage | None:
        """The usage that the server has reported so far."""
        ...

    def feed(self, piece: bytes) -> Iterator[Delta]:
        """Yield the deltas that `piece` completes."""
        ...

    def end(self) -> Iterator[Delta]:
        """Yield the rest at the end of the body."""
        ...


class Transport:
    """Posts JSON to one address and yields the deltas of the answer.

    A failed request is retried by a policy, but never after the first delta was yielded. Connections are kept for each
    event loop and closed with it. Keys and the password in an address are redacted everywhere.

    Args:
        url: the complete address.
        keys: the API keys.
        headers: function from a key to the headers of a request.
        setting: the user's name for the address, for error texts.
        shorten: advice for what does not fit into the model, for error texts.
        timeout: seconds without a byte from the server after which the request fails.
        proxies: the proxy for each scheme; None: those of the environment.
        retry: the policy for failed requests; None: `RetryPolicy()`.
        client: sends the requests; None: an `HTTPClient` with those proxies.

    Attributes:
        shown_url: the address in error texts, without its query.
        known_url: the address with everything that distinguishes servers, without secrets.

    Raises:
        ConfigurationError: the address is not an HTTP URL, or the client cannot send requests.
    """

    def __init__(
        self,
        url: str,
        keys: Keys,
        headers: Callable[[str], Mapping[str, str]] = bearer,
        *,
        setting: str = "base_url",
        shorten: str = SHORTEN,
        timeout: float = 120.0,
        proxies: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
        client: Sender | None = None,
    ) -> None:
        positive(timeout=timeout)
        parts = _split(url, setting)
        userinfo, _, host = parts.netloc.rpartition("@")
        login = login_of(userinfo)
        self._login = {} if login is None else {"authorization": login}
        self._url = urlunsplit(parts._replace(netloc=host))
        self.shown_url = urlunsplit(parts._replace(netloc=host, query="", fragment=""))
        self.known_url = redact_url(self._url)
        self._timeout = timeout
        self._keys, self._headers, self._setting, self._shorten = keys, headers, setting, shorten
        self._hidden = {secret for each in (url, *(proxies or {}).values()) for secret in secrets_of(str(each))}
        self._retry = retry or RetryPolicy(first_delay=FIRST_DELAY)
        self._budget = RetryBudget(self._retry.budget)
        self._client = HTTPClient(proxies=proxies) if client is None else client
        if isinstance(client, type) or not hasattr(self._client, "send"):
            raise ConfigurationError(f"client is what sends requests, as HTTPClient(…), not {client!r:.100}")

    async def stream(
        self, body: Mapping[str, object], reader: Callable[[], Reader], tries: int | None = None
    ) -> AsyncGenerator[Delta]:
        """Send a request and yield the deltas of the answer; closing the generator ends the request.

        Args:
            body: the body of the request.
            reader: makes the reader of an answer, for each attempt.
            tries: the most attempts; a new attempt with another key does not count.

        Raises:
            ConfigurationError: the body is not JSON, or the key is not valid.
            ProviderConnectionError: the server cannot be reached, or the connection broke.
            ProviderStatusError: the server refused.
            MalformedAnswerError: the server sent no valid answer.
        """
        data, left = _as_json(body), Tries(self._retry, self._budget, tries)
        spent: Usage | None = None  # by attempts that broke off
        while True:
            key, begun, answer = self._next_key(), False, reader()
            headers = {**HEADERS, **self._headers(key), **self._login}
            deltas = self._ask(data, key, headers, answer, left.left())
            try:
                for delta in [each async for each in deltas] if self._retry.replay else ():
                    begun = True
                    yield _with_spent(delta, spent)
                async for delta in deltas:
                    begun = True
                    yield _with_spent(delta, spent)
                return
            except ProviderError as error:
                is_refused = isinstance(error, ProviderQuotaError)
                if isinstance(error, ProviderAuthenticationError):
                    is_refused = error.status != 403  # that may be of the country, or of the model
                if not begun and is_refused and self._keys.refuse(key):
                    continue
                self._redact(error, key, headers)
                delay = None if begun else left.next_delay(error)
                if answer.usage is not None:
                    spent = _with_spent(answer.usage, spent)
                if delay is None:
                    if spent is not None:
                        yield spent
                    raise error from None
            finally:
                await deltas.aclose()
            await wait(delay)
            if (counted := before_retry.get()) is not None:
                await counted()

    async def _ask(
        self, data: bytes, key: str, headers: dict[str, str], reader: Reader, seconds: float | None
    ) -> AsyncGenerator[Delta]:
        """Make one attempt, whose answer begins in time, and convert every error of the HTTP library."""
        request = HTTPRequest("POST", self._url, headers, data, self._timeout)
        begun, limit = False, TimeLimit(seconds)
        try:
            async with limit, exchange(request, self._client.send, self._secrets(key, headers)) as response:
                if response.status != 200:
                    raise await self._refusal(response, headers)
                async for piece in response.pieces:
                    for delta in reader.feed(piece) if begun else self._begin(limit, reader.feed(piece)):
                        begun = True
                        yield delta
                    if reader.done:
                        await _ended(response)
                        break
        except BodyError as error:
            raise MalformedAnswerError(
                f"{self.shown_url} sent an answer that cannot be read ({error}): check what stands between, as a proxy",
                error.raw.decode("latin-1"),  # a character for each byte
            ) from error
        except InvalidRequestError as error:
            raise ConfigurationError(f"{self._setting} is no address that can be asked: {error}") from error
        except (HTTPError, OSError) as error:
            rest = _rest(reader)  # where the answer is whole, nothing was lost
            if rest:
                for delta in rest:
                    yield delta
                return
            why = str(error) or type(error).__name__
            if limit.expired:
                text = (
                    f"no answer from {self.shown_url} in {self._retry.total_seconds:g} s, all tries together: raise "
                    "RetryPolicy(total_seconds=…), or ask for less"
                )
            elif begun:
                again = "ask again" if self._retry.replay else "ask again, as RetryPolicy(replay=True) does by itself"
                text = f"the answer from {self.shown_url} broke off ({why}): {again}"
            else:
                text = f"no answer from {self.shown_url} ({why}): {_advice(error, self._setting)}"
            raise (AnswerBrokeOffError if begun and not limit.expired else ProviderConnectionError)(text) from error
        for delta in reader.end():
            yield delta

    def _begin(self, limit: TimeLimit, deltas: Iterator[Delta]) -> Iterator[Delta]:
        """Yield deltas; the first ends the limit of time, unless the whole answer is waited for."""
        for delta in deltas:
            if not self._retry.replay:
                limit.lift()
            yield delta

    def _secrets(self, key: str, headers: Mapping[str, str]) -> Iterator[str]:
        """Yield the secrets of a request; they are looked for only where they are read."""
        yield from (key, *self._keys.all, *self._hidden, *secrets_of("", headers))

    def _next_key(self) -> str:
        try:
            return self._keys.next_key()
        except Exception:  # of a function that asks for a token, too
            if replaces_network():
                return ""
            raise

    async def _refusal(self, response: HTTPResponse, sent: Mapping[str, str]) -> ProviderStatusError:
        """Return the error of a refusal, also if its body does not arrive."""
        body = bytearray()
        with contextlib.suppress(HTTPError, OSError):
            async for piece in response.pieces:
                body += piece
                if len(body) > MAX_ERROR_BYTES:
                    break
        raw = body.decode("utf-8", "replace")
        has_key = any(secrets_of(self._url, sent))
        told = (response.status, response.reason, response.headers, raw)
        return refusal(self.shown_url, self._setting, *told, has_key=has_key, shorten=self._shorten)

    def _redact(self, error: ProviderError, key: str, headers: Mapping[str, str]) -> None:
        """Redact the secrets in an error, since some servers send them back."""
        pieces = (piece.strip() for each in (key, *self._keys.all) for piece in (each, *each.split(",")))
        secrets = {*pieces, *secrets_of("", headers), *self._hidden}
        error.args = tuple(redact(str(part), secrets) for part in error.args)
        error.raw = redact(error.raw, secrets)
        error.__cause__ = error.__context__ = None  # they hold the request, or the data of the answer


def _advice(error: Exception, setting: str) -> str:
    """Return the advice for a server that cannot be reached."""
    if isinstance(error, ServerSilentError):
        return "raise timeout=, or check that the server works"
    if isinstance(error.__cause__, SSLCertVerificationError):
        return CERTIFICATES.get(error.__cause__.verify_code) or (
            "name a file with the certificate of the authority that it was signed by: SSL_CERT_FILE=FILE, or "
            "client=HTTPClient(certificates=ssl.create_default_context(cafile=FILE))"
        )
    if isinstance(error, ConnectFailedError) and error.proxy:
        return "check the proxy, which HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or proxies= names, its user and its password"
    return f"check that the server runs, that {setting} is right and that the network lets it through"


async def _ended(response: HTTPResponse) -> None:
    """Read a body to its end, so that its connection can be used again, unless the server leaves it open."""
    with contextlib.suppress(TimeoutError):
        async with TimeLimit(None if response.has_arrived else LINGER):
            async for _ in response.pieces:
                pass


def _with_spent(delta: T, spent: Usage | None) -> T | Usage:
    """Return a delta; to a usage, that of earlier attempts is added."""
    return delta if spent is None or not isinstance(delta, Usage) else spent + delta


def _rest(reader: Reader) -> list[Delta]:
    """Return the end of an answer if all of it has arrived."""
    try:
        return list(reader.end())
    except ProviderError:
        return []


def with_path(url: str, path: str, setting: str = "base_url") -> str:
    """Append a path to an address, unless it is there already; a query stays at the end.

    Example:
        >>> with_path("http://localhost:8000/v1/", "/chat/completions")
        'http://localhost:8000/v1/chat/completions'

    Raises:
        ConfigurationError: the address is not an HTTP URL.
    """
    parts = _split(url, setting)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/").removesuffix(path) + path))


def _split(url: str, setting: str) -> SplitResult:
    with contextlib.suppress(ValueError):  # of a port that is no number, or of half an IPv6 address
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    raise ConfigurationError(f"{setting} begins with http:// or https:// and a host")


def _as_json(body: Mapping[str, object]) -> bytes:
    try:
        for messages in body.values():
            if isinstance(messages, WrittenMessages):
                return messages.body(body)
        return sent_json(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"a message or a parameter cannot be sent as JSON: {error}") from error
