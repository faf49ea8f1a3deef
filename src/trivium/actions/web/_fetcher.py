"""The fetcher: the one way from trivium's tools to a page, which no page and no model can lead elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from functools import partial
from socket import SOCK_STREAM
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from trivium.actions.web._addresses import Host, allowed, host_problem, is_literal, is_public
from trivium.actions.web._cache import Recent, SharedCalls
from trivium.actions.web._pages import Download, Page, Unpacker, read_page, shown, wrong_encoding, wrong_type
from trivium.commander import driver_neutral, invoke, step, sync_method
from trivium.commander.lowlevel import change_scope, running_loop
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    FetchAddressError,
    FetchConnectionError,
    FetchContentTypeError,
    FetchStatusError,
    FetchTimeoutError,
)
from trivium.llms.http import exchange
from trivium.schema.lowlevel import checked, positive

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import URL, Request, Response

__all__ = ["Fetcher"]

MAX_URL, MAX_REDIRECTS, MAX_ADDRESSES = 4096, 5, 4
PORTS = {"http": 80, "https": 443}
PAGE_STATUSES, REDIRECT_STATUSES = frozenset({200, 203}), frozenset({301, 302, 303, 307, 308})
ACCEPTED = (
    "text/html, application/xhtml+xml, text/plain, text/markdown, application/json;q=0.9, application/xml;q=0.9, "
    "*/*;q=0.1"
)
HINTS = {
    401: "; it needs a login: open another page",
    403: "; it lets no programs in: open another page",
    404: "; check the URL, or search for the page",
    410: "; the page is gone: search for another",
    429: "; wait, or open another page",
}
T = TypeVar("T")
Problem: TypeAlias = Callable[[str, int, str], FetchContentTypeError | None]
"""What is wrong with the type of a page, by its URL, its status and what its server says."""
_LOGIN = re.compile(r"//[^/?#]*@")


class Fetcher:
    """Fetches pages of the public web by HTTP and HTTPS, and nothing else.

    A host is looked up once for each request, every address that it has must be a public one, and the connection
    goes to the address that was checked, with the host's own name in TLS. Each redirect is a new URL that is checked
    likewise. No cookies, no passwords, no proxies from the environment. What was fetched is kept for a while, in
    this object; who asks for a page that is on its way waits for it.

    Args:
        timeout: seconds for a page with all its redirects.
        max_bytes: the largest page, after it is unpacked; default 2 MiB.
        allowed_hosts: hosts that need not be public, each as `host:port` (`host` is ports 80 and 443): an intranet,
            or a server of a test. Nothing that a model or a page says can add one.
        allowed_ports: ports that public hosts may be asked at.
        cache_seconds: how long a page is kept; 0 keeps none.
        cached_pages: how many are kept.
        resolve: gives the addresses of a host and a port, `def` or `async def`; default: the system's.
        ssl_context: whom to trust; default: the system's authorities.

    Raises:
        ConfigurationError: `allowed_hosts` holds what is no host.

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
        self._resolve, self._ssl = resolve or look_up, ssl_context
        self._pages = SharedCalls(Recent[str, Page](cached_pages, cache_seconds))

    def __repr__(self) -> str:
        return f"Fetcher(timeout={self._timeout:g}, max_bytes={self._max_bytes})"

    @driver_neutral
    async def fetch_async(self, url: str) -> Page:
        """Fetch a page; `fetch` is the same from sync code.

        Raises:
            FetchAddressError: the URL, a redirect of it, or an address behind one is not allowed.
            FetchConnectionError: the server cannot be reached, or broke off.
            FetchContentTypeError: it is no text.
            FetchStatusError: the server refused, or redirects for ever.
            FetchTimeoutError: it was not there in time.
            FetchTooLargeError: it is larger than `max_bytes`.
        """
        begin = self._checked(url)
        return await self._pages.get(str(begin), partial(self._fetch, begin, wrong_type, read_page))

    fetch = sync_method(fetch_async)

    @driver_neutral
    async def download_async(self, url: str) -> Download:
        """Fetch a file of whatever type, as it is sent; `download` is the same from sync code. It is not kept.

        Raises:
            FetchError: as `fetch_async`, but that it is no text.
        """
        return await self._fetch(self._checked(url), accept_any_type, unchanged)

    download = sync_method(download_async)

    @driver_neutral
    async def _fetch(self, url: URL, problem: Problem, read: Callable[[Download], T]) -> T:
        try:
            with step("fetch") as node:
                change_scope(node, timeout=self._timeout)
                download = await invoke(self._download, url, problem)
                return await invoke(read, download)
        except DeadlineExceededError:
            text = f"{shown(str(url))} was not there within {self._timeout:g} s: open another page, or try again later"
            raise FetchTimeoutError(text, str(url)) from None

    async def _download(self, url: URL, problem: Problem) -> Download:
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._ask(url, problem)
            if isinstance(answer, Download):
                return answer
            url = self._checked(answer)
        text = f"{shown(str(url))} is behind more than {MAX_REDIRECTS} redirects: open another page"
        raise FetchStatusError(text, str(url), 302)

    # ---- where to
    def _checked(self, text: str) -> URL:
        """A URL that may be asked, as far as it tells itself; without its fragment, which no server sees."""
        import httpx2

        try:
            url = httpx2.URL(text.strip()[: MAX_URL + 1]).copy_with(fragment=None)
            host, problem = _host_of(url), "" if len(text.strip()) <= MAX_URL else "it is too long"
        except (httpx2.InvalidURL, ValueError):
            raise _refused(text, "it is no URL") from None
        if url.scheme not in PORTS or not host[0]:
            problem = "only URLs that begin with http:// or https:// and a host are"
        elif url.userinfo:
            problem = "it holds a user name or a password"
        elif host[1] not in self._ports and host not in self._allowed:
            problem = f"its port {host[1]} is not allowed"
        problem = problem or host_problem(host[0])
        if problem:
            raise _refused(text, problem)
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
            text = f"the host of {shown(str(url))} is not known: check the URL, or search for the page"
            raise FetchConnectionError(text, str(url))
        # Which address it was is not told: a model could map a network by it.
        if host not in self._allowed and not all(map(is_public, found)):
            raise _refused(str(url), "its host is not on the public network")
        return found[:MAX_ADDRESSES]

    # ---- one request
    async def _ask(self, url: URL, wrong: Problem) -> Download | str:
        """Request a page; return it, or the URL to which it redirects."""
        import httpx2

        request = self._request(url, url.raw_host.decode())
        try:
            async with AsyncExitStack() as stack, exchange(request, partial(self._send, url, stack)) as response:
                return await self._take(url, response, wrong)
        except httpx2.HTTPError as problem:
            text = f"no answer from {shown(str(url))} ({shown(str(problem)) or type(problem).__name__})"
            raise FetchConnectionError(f"{text}: open another page", str(url)) from problem

    async def _send(self, url: URL, stack: AsyncExitStack, _: Request) -> Response:
        """Send the request to the first address that accepts a connection, which `stack` closes."""
        import httpx2

        problem: Exception | None = None
        for address in await self.find_addresses(url):
            # A transport alone: no cookies, no redirects, no proxies and no retries are there to be switched off.
            transport = httpx2.AsyncHTTPTransport(verify=self.ssl_context(url), trust_env=False)
            await stack.enter_async_context(transport)
            try:
                return await transport.handle_async_request(self._request(url, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                problem = error
        assert problem is not None, "a host has an address"
        raise problem

    def _request(self, url: URL, address: str) -> Request:
        import httpx2

        host = url.raw_host.decode().removesuffix(".")
        return httpx2.Request(
            "GET",
            url.copy_with(host=address),
            headers={
                "host": url.netloc.decode(),
                "user-agent": "trivium",
                "accept": ACCEPTED,
                "accept-encoding": "gzip",
                "connection": "close",
            },
            # A dead address leaves time for the next one.
            extensions={
                "timeout": httpx2.Timeout(self._timeout, connect=self._timeout / 2).as_dict(),
                "sni_hostname": host,
            },
        )

    def ssl_context(self, url: URL) -> SSLContext | bool:
        """The context that verifies the certificates of a URL's server; False where there is no TLS."""
        import httpx2

        if self._ssl is None and url.scheme == "https":
            self._ssl = httpx2.create_ssl_context(trust_env=False)
        return self._ssl or False  # without TLS nothing is verified, and no context is made

    async def _take(self, url: URL, response: Response, wrong: Problem) -> Download | str:
        status, headers, said = response.status_code, response.headers, str(url)
        if status in REDIRECT_STATUSES and "location" in headers:
            return redirect_target(url, headers["location"])
        if status not in PAGE_STATUSES:
            text = f"{shown(said)} answered {status}{_hint(status)}"
            raise FetchStatusError(text, said, status)
        kind, encoding = headers.get("content-type", ""), headers.get("content-encoding", "").strip().lower()
        problem = wrong(said, status, kind) or wrong_encoding(said, status, encoding, kind)
        if problem is not None:
            raise problem
        body = Unpacker(said, encoding, self._max_bytes)
        async for piece in response.aiter_raw():
            body.feed(piece)
        return Download(said, kind, body.end())


def accept_any_type(_url: str, _status: int, _header: str) -> None:
    """Accept a page of every content type."""


def unchanged(download: Download) -> Download:
    """Return a download as it is."""
    return download


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system finds them."""
    loop = running_loop()
    assert loop is not None, "a coroutine of asyncio runs this"
    found = await loop.getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _host_of(url: URL) -> Host:
    port = PORTS.get(url.scheme, 0) if url.port is None else url.port
    return url.raw_host.decode().lower().removesuffix("."), port


def redirect_target(url: URL, location: str) -> str:
    """The URL to which a page redirects.

    Raises:
        FetchAddressError: it is no URL.
    """
    import httpx2

    try:
        return str(url.join(location))
    except (httpx2.InvalidURL, ValueError):
        raise _refused(location, "it is no URL") from None


def _refused(url: str, why: str) -> FetchAddressError:
    url = _LOGIN.sub("//", url[:MAX_URL])
    return FetchAddressError(f"{shown(url)} may not be opened: {why}; nothing was sent there", url)


def _hint(status: int) -> str:
    """Advice for an HTTP status."""
    return HINTS.get(status, "; try again later" if status >= 500 else "; open another page")
