"""The fetcher: all page requests of trivium's tools go through it; no page and no model can reach a private address."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from socket import SOCK_STREAM
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from trivium.actions.web._addresses import Host, allowed, host_problem, is_literal, is_public
from trivium.actions.web._cache import Recent, SharedCalls
from trivium.actions.web._pages import Download, Page, Unpacker, printable, read_page, wrong_encoding, wrong_type
from trivium.commander import current, driver_neutral, invoke, step, sync_method
from trivium.commander.lowlevel import change_scope, running_loop, scope_of
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    FetchAddressError,
    FetchConnectionError,
    FetchContentTypeError,
    FetchStatusError,
    FetchTimeoutError,
)
from trivium.http import (
    ConnectFailedError,
    HTTPClient,
    HTTPError,
    HTTPRequest,
    HTTPResponse,
    InvalidRequestError,
    exchange,
)
from trivium.http.lowlevel import URL
from trivium.journal.lowlevel import recorded_read
from trivium.schema.lowlevel import checked, positive

if TYPE_CHECKING:
    from ssl import SSLContext

MAX_URL, MAX_REDIRECTS, MAX_ADDRESSES = 4096, 5, 4
PAGE_STATUSES = frozenset({200, 203})
ACCEPTED = (
    "text/html, application/xhtml+xml, text/plain, text/markdown, application/json;q=0.9, application/xml;q=0.9, "
    "*/*;q=0.1"
)
HINTS = {
    401: "; it needs a login: open another page",
    403: "; it refuses programs: open another page",
    404: "; check the URL, or search for the page",
    410: "; the page is gone: search for another",
    429: "; wait, or open another page",
}
T = TypeVar("T")
Problem: TypeAlias = Callable[[str, int, str], FetchContentTypeError | None]
"""A function from a page's URL, status and header to the error of its content type, or None."""
_LOGIN = re.compile(r"//[^/?#]*@")


class Fetcher:
    """Fetches pages of the public web by HTTP and HTTPS, and nothing else.

    A host is looked up once for each request, all its addresses must be public, and the connection goes to an
    address that was checked, with the host's name in TLS. Each redirect is checked in the same way. No cookies, no
    passwords, no proxies from the environment. Pages are cached for a while in this object, and simultaneous requests
    for a page share one download.

    Args:
        timeout: the limit of a page with all its redirects, in seconds; then its text is read, 2 MiB in a few seconds.
        max_bytes: the largest page, decompressed; default 2 MiB.
        allowed_hosts: hosts that need not be public, each as `host:port` (`host` is ports 80 and 443): an intranet,
            or a test server. No model and no page can add one.
        allowed_ports: the ports of public hosts that may be used.
        cache_seconds: how long a page is cached; 0 disables the cache.
        cached_pages: the most pages in the cache.
        resolve: a function from a host and a port to addresses, `def` or `async def`; default: the system's.
        ssl_context: the trusted authorities; default: the system's.

    Raises:
        ConfigurationError: an entry of `allowed_hosts` is not a host.

    Example::

        page = Fetcher().fetch("https://example.org/")
        page.title, page.text
    """

    @checked
    def __init__(
        self,
        *,
        timeout: float = 10.0,
        max_bytes: int = 2 << 20,
        allowed_hosts: Collection[str] = (),
        allowed_ports: Collection[int] = (80, 443),
        cache_seconds: float = 600.0,
        cached_pages: int = 100,
        resolve: Callable[[str, int], Any] | None = None,
        ssl_context: SSLContext | None = None,
    ) -> None:
        positive(timeout=timeout, max_bytes=max_bytes, cached_pages=cached_pages)
        if not cache_seconds >= 0 or not all(isinstance(port, int) for port in allowed_ports):  # type: ignore[unnecessary] - users pass anything
            raise ConfigurationError("cache_seconds is a number from 0 on, and allowed_ports are whole numbers")
        self._timeout, self._max_bytes = timeout, max_bytes
        self._allowed, self._ports = allowed(allowed_hosts), frozenset(allowed_ports)
        self._resolve = resolve or look_up
        self._client = HTTPClient(proxies={}, certificates=ssl_context)  # it has no cookies, redirects or retries
        self._pages = SharedCalls(Recent[str, Page](cached_pages, cache_seconds))

    def __repr__(self) -> str:
        return f"Fetcher(timeout={self._timeout:g}, max_bytes={self._max_bytes})"

    @driver_neutral
    async def fetch_async(self, url: str) -> Page:
        """Fetch a page; `fetch` is the sync form.

        Raises:
            FetchAddressError: the URL, a redirect of it, or an address behind one is not allowed.
            FetchConnectionError: the server cannot be reached, or broke the connection.
            FetchContentTypeError: it is not text.
            FetchStatusError: the server refused, or redirects too often.
            FetchTimeoutError: it did not arrive in time.
            FetchTooLargeError: it is larger than `max_bytes`.
        """
        begin = self._checked(url)
        act = partial(self._pages.get, str(begin), partial(self._fetch, begin, wrong_type, read_page))
        return await _recorded("page", begin, act)

    fetch = sync_method(fetch_async)

    @driver_neutral
    async def download_async(self, url: str) -> Download:
        """Fetch a file of any type, unchanged; `download` is the sync form. It is not cached.

        Raises:
            FetchError: as `fetch_async`, except for the content type.
        """
        begin = self._checked(url)
        return await _recorded("download", begin, partial(self._fetch, begin, accept_any_type, unchanged))

    download = sync_method(download_async)

    @driver_neutral
    async def _fetch(self, url: URL, problem: Problem, read: Callable[[Download], T]) -> T:
        try:
            with step("fetch") as node:
                change_scope(node, timeout=self._timeout)
                download = await invoke(self._download, url, problem)
                return await invoke(read, download)
        except DeadlineExceededError:
            text = f"{printable(str(url))} did not arrive in {self._timeout:g} s: open another page, or raise timeout=…"
            raise FetchTimeoutError(text, str(url), value=self._timeout) from None

    async def _download(self, url: URL, problem: Problem) -> Download:
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._request_page(url, problem)
            if isinstance(answer, Download):
                return answer
            url = self._check(answer)
        text = f"{printable(str(url))} is behind more than {MAX_REDIRECTS} redirects: open another page"
        raise FetchStatusError(text, str(url), 302)

    # ---- addresses
    def _checked(self, text: str) -> URL:
        """Parse a URL that may be requested, by its text alone; its fragment is dropped."""
        text = text.strip()
        if len(text) > MAX_URL:
            raise _refused(text, "it is too long")
        return self._check(url_from(URL.parse, text))

    def _check(self, url: URL) -> URL:
        """Return a URL if it may be requested, by its text alone."""
        host, problem = _host_of(url), ""
        if len(str(url)) > MAX_URL:
            problem = "it is too long"
        elif url.userinfo:
            problem = "it holds a user name or a password"
        elif host[1] not in self._ports and host not in self._allowed:
            problem = f"its port {host[1]} is not allowed, and its server is not in Fetcher(allowed_hosts=…)"
        problem = problem or host_problem(host[0])
        if problem:
            raise _refused(str(url), problem)
        return url

    async def find_addresses(self, url: URL) -> Sequence[str]:
        """Look up the addresses of a URL's host, and check that each is public or allowed.

        Raises:
            FetchConnectionError: the host is not known.
            FetchAddressError: an address is not public.
        """
        host = _host_of(url)
        try:
            found: Sequence[str] = [host[0]] if is_literal(host[0]) else await invoke(self._resolve, *host)
        except (OSError, UnicodeError):
            found = ()
        if not found:
            text = f"the host of {printable(str(url))} is not known: check the URL, or search for the page"
            raise FetchConnectionError(text, str(url))
        # The message omits the address: a model could map a network with it.
        if host not in self._allowed and not all(map(is_public, found)):
            raise _refused(str(url), "its host is not on the public network, nor in Fetcher(allowed_hosts=…)")
        return found[:MAX_ADDRESSES]

    # ---- one request
    async def _request_page(self, url: URL, wrong: Problem) -> Download | URL:
        """Request a page; return it, or the URL to which it redirects."""
        headers = {"accept": ACCEPTED, "accept-encoding": "gzip", "connection": "close"}
        request = HTTPRequest("GET", str(url), headers, timeout=self._timeout, is_raw=True)
        try:
            async with exchange(request, partial(self._send, url)) as response:
                return await self._read_response(url, response, wrong)
        except HTTPError as problem:
            text = f"no answer from {printable(str(url))} ({printable(str(problem)) or type(problem).__name__})"
            raise FetchConnectionError(f"{text}: open another page, or try again later", str(url)) from problem

    async def _send(self, url: URL, request: HTTPRequest) -> HTTPResponse:
        """Send the request to the first address that accepts a connection."""
        problem: Exception | None = None
        for address in await self.find_addresses(url):
            try:
                return await self._client.send(replace(request, address=address))
            except ConnectFailedError as error:
                problem = error
        assert problem is not None, "a host has an address"
        raise problem

    async def _read_response(self, url: URL, response: HTTPResponse, wrong: Problem) -> Download | URL:
        status, headers, said = response.status, response.headers, str(url)
        if response.redirect is not None:
            return url_from(url.join, response.redirect)
        if status not in PAGE_STATUSES:
            text = f"{printable(said)} answered {status}{_hint(status)}"
            raise FetchStatusError(text, said, status)
        kind, encoding = headers.get("content-type", ""), headers.get("content-encoding", "").strip().lower()
        problem = wrong(said, status, kind) or wrong_encoding(said, status, encoding, kind)
        if problem is not None:
            raise problem
        body = Unpacker(said, encoding, self._max_bytes)
        async for piece in response.pieces:
            body.feed(piece)
        return Download(said, kind, body.end())


def accept_any_type(_url: str, _status: int, _header: str) -> None:
    """Accept a page of every content type."""


def unchanged(download: Download) -> Download:
    """Return a download as it is."""
    return download


@driver_neutral
async def _recorded(name: str, url: URL, act: Callable[[], Awaitable[T]]) -> T:
    """Fetch something, or return what the journal of the run has; what others have fetched meanwhile does not count."""
    node = current.get()
    if node is None or scope_of(node).journal is None:
        return await act()
    with step(name) as place:
        return await recorded_read(place, str(url), act, (Page, Download))


async def look_up(host: str, port: int) -> list[str]:
    """Look up the addresses of a host with the system's resolver."""
    loop = running_loop()
    assert loop is not None, "a coroutine of asyncio runs this"
    found = await loop.getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _host_of(url: URL) -> Host:
    return url.host.removesuffix("."), url.port


def url_from(parse: Callable[[str], URL], text: str) -> URL:
    """Parse a URL of the web.

    Raises:
        FetchAddressError: it is not one.
    """
    try:
        return parse(text)
    except InvalidRequestError:
        why = "only URLs that begin with http:// or https:// and a valid host are allowed"
        raise _refused(text, why) from None


def _refused(url: str, why: str) -> FetchAddressError:
    url = _LOGIN.sub("//", url[:MAX_URL])
    return FetchAddressError(f"{printable(url)} may not be opened: {why}; nothing was sent there", url)


def _hint(status: int) -> str:
    """Return advice for an HTTP status."""
    return HINTS.get(status, "; try again later" if status >= 500 else "; open another page")
