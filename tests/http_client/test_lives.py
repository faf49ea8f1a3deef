"""Where connections go: calls that end while one is made, client certificates, logs, threads and forks."""

from __future__ import annotations

import asyncio
import logging
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace
from typing import Any

import pytest

from _http_server import LoopbackServer
from trivium.http import ConnectFailedError, ConnectionLostError, HTTPClient, HTTPError, HTTPRequest, ServerSilentError
from trivium.http._certificates import system_certificates

from ._raw_server import RawServer, Talk, answering
from .test_client import CERTIFICATE, OK, body_of, direct, get, serving, trusted, tunnelling


class DumbServer:
    """Accepts connections, says what it is given, and notes when the client has gone."""

    def __init__(self, says: bytes = b"") -> None:
        self._says = says
        self.heard, self.closed = asyncio.Event(), asyncio.Event()

    async def __aenter__(self) -> DumbServer:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(65536):
                writer.write(self._says)
                self._says = b""
                self.heard.set()
        except ConnectionError:
            pass
        finally:
            self.closed.set()
            writer.close()


WAYS = {
    "in the handshake of TLS": (b"", False),
    "before the proxy answers": (b"", True),
    "in the handshake behind a proxy": (b"HTTP/1.1 200 Established\r\n\r\n", True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ends", ["cancelled", "in time"])
async def test_a_connection_that_is_not_made_yet_is_closed_at_once(way: str, ends: str) -> None:
    says, by_proxy = WAYS[way]
    async with DumbServer(says) as server:
        proxies = {"https": f"http://127.0.0.1:{server.port}"} if by_proxy else {}
        client = HTTPClient(proxies=proxies, connect_timeout=60.0 if ends == "cancelled" else 1.0)
        call = asyncio.ensure_future(body_of(client, get(f"https://localhost:{server.port}")))
        await asyncio.wait_for(server.heard.wait(), 20)
        if ends == "cancelled":
            call.cancel()
        with pytest.raises(asyncio.CancelledError if ends == "cancelled" else ConnectFailedError):
            await call
        await asyncio.wait_for(server.closed.wait(), 20)


async def test_a_server_that_asks_for_a_certificate_gets_that_of_the_client() -> None:
    context = serving()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(CERTIFICATE)
    async with RawServer(answering(OK), context) as server:
        with pytest.raises(HTTPError):
            await body_of(HTTPClient(proxies={}, certificates=trusted()), get(server.url))
        mine = trusted()
        mine.load_cert_chain(CERTIFICATE)
        assert await body_of(HTTPClient(proxies={}, certificates=mine), get(server.url)) == (200, b"hi")


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
async def test_servers_are_verified_as_the_system_does_it(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import truststore  # before the platform is another one

    async with RawServer(answering(OK), serving()) as server:
        with monkeypatch.context() as patch:
            patch.setattr("trivium.http._certificates.sys", SimpleNamespace(platform=platform))
            for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
                patch.delenv(name, raising=False)
            found = system_certificates()
            patch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
            given = system_certificates()
        assert (type(found) is truststore.SSLContext) == (platform != "linux")
        with pytest.raises(ConnectFailedError, match="CERTIFICATE_VERIFY_FAILED"):
            await body_of(HTTPClient(proxies={}, certificates=found), get(server.url))
        assert await body_of(HTTPClient(proxies={}, certificates=given), get(server.url)) == (200, b"hi")
        found.load_verify_locations(CERTIFICATE)
        assert await body_of(HTTPClient(proxies={}, certificates=found), get(server.url)) == (200, b"hi")


async def test_a_proxy_without_a_password_gets_no_login() -> None:
    async with RawServer(answering(OK), serving()) as server, RawServer(tunnelling()) as proxy:
        client = HTTPClient(proxies={"all": f"127.0.0.1:{proxy.port}"}, certificates=trusted())
        assert await body_of(client, get(server.url)) == (200, b"hi")
        assert b"authorization" not in (proxy.heads[0] + server.heads[0]).lower()


async def stay_silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter, __: bytes) -> None:
    await reader.read(1)


@pytest.mark.parametrize(
    ("talk", "error"),
    [
        (answering(OK), None),
        (answering(b"nonsense\r\n\r\n"), ConnectionLostError),
        (stay_silent, ServerSilentError),
    ],
)
async def test_no_secret_is_in_errors_and_logs(
    talk: Talk, error: type[HTTPError] | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with RawServer(talk) as server:
        url = f"{server.url.replace('//', '//ada:secret@')}/tea?key=secret"
        request = HTTPRequest("POST", url, {"authorization": "secret"}, b"secret", 0.1 if error else 20)
        if error is None:
            assert await body_of(direct(), request) == (200, b"hi")
            assert f"POST http://localhost:{server.port}/tea: 200" in caplog.text
        else:
            with pytest.raises(error) as caught:
                await body_of(direct(), request)
            assert "secret" not in f"{caught.value}{caught.value!r}{caught.value.__cause__!r}"
    assert "secret" not in caplog.text
    assert "secret" not in repr(request).replace(url, "")
    for proxy in ("http://ada:secret@127.0.0.1:1", "http://ada:secret@[::1"):
        with pytest.raises(Exception, match=r"127\.0\.0\.1|a proxy begins") as refused:
            await body_of(HTTPClient(proxies={"all": proxy}), get("http://far.example/"))
        assert "secret" not in f"{refused.value}{refused.value!r}"


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.TimerHandle]:
    """The timers that are set on the loop."""
    made = list[asyncio.TimerHandle]()
    call_at = asyncio.BaseEventLoop.call_at

    def noted(*args: Any, **kwargs: Any) -> asyncio.TimerHandle:
        made.append(call_at(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(asyncio.BaseEventLoop, "call_at", noted)
    return made


def lasting(timers: list[asyncio.TimerHandle]) -> list[asyncio.TimerHandle]:
    """Those that watch a server: of the others, none lasts so long."""
    return [each for each in timers if each.when() > asyncio.get_running_loop().time() + 15]


async def test_a_connection_that_is_not_kept_is_forgotten_at_once(timers: list[asyncio.TimerHandle]) -> None:
    async with RawServer(answering(OK)) as server:
        assert await body_of(direct(), get(server.url, connection="close")) == (200, b"hi")
        await asyncio.wait_for(server.closed.wait(), 20)
    assert [each for each in lasting(timers) if not each.cancelled()] == []


async def test_one_timer_watches_all_requests_of_a_connection(timers: list[asyncio.TimerHandle]) -> None:
    client = direct()
    async with RawServer(answering(OK)) as server:
        for _ in range(5):
            assert await body_of(client, get(server.url)) == (200, b"hi")
        assert [each.cancelled() for each in lasting(timers)] == [False]
    with pytest.raises(HTTPError):
        await body_of(client, get(server.url))  # the server has closed it
    assert [each for each in lasting(timers) if not each.cancelled()] == []


class Greeter(LoopbackServer):
    """Answers each request with its own path."""

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("content-length", str(len(handler.path)))
        handler.end_headers()
        handler.wfile.write(handler.path.encode())
        handler.close_connection = False


def test_threads_share_a_client(recwarn: pytest.WarningsRecorder) -> None:
    client, found = direct(), list[tuple[str, bytes]]()

    async def call(thread: int) -> None:
        for number in range(25):
            paths = [f"/{thread}/{number}/{each}" for each in range(4)]
            bodies = await asyncio.gather(*[body_of(client, get(server.url + path)) for path in paths])
            found.extend(zip(paths, [body for _, body in bodies], strict=True))

    with Greeter() as server:
        threads = [threading.Thread(target=asyncio.run, args=(call(each),)) for each in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 800
    assert all(path.encode() == body for path, body in found)
    assert not [each for each in recwarn if issubclass(each.category, ResourceWarning)]


FORK = """
import asyncio, os, sys, warnings
from trivium.http import HTTPClient, HTTPRequest

warnings.simplefilter("ignore", DeprecationWarning)
client, loop = HTTPClient(proxies={}), asyncio.new_event_loop()

async def call(path):
    response = await client.send(HTTPRequest("GET", sys.argv[1] + path))
    body = b"".join([piece async for piece in response.pieces])
    await response.aclose()
    assert body == path.encode(), body

loop.run_until_complete(call("/before"))
child = os.fork()
if child == 0:
    for _ in range(3):
        asyncio.run(call("/child"))
    os._exit(0)
for number in range(20):
    loop.run_until_complete(call(f"/{number}"))
assert os.waitpid(child, 0)[1] == 0
loop.run_until_complete(loop.shutdown_asyncgens())
loop.close()
"""


def test_a_forked_child_has_connections_of_its_own() -> None:
    with Greeter() as server:
        command = [sys.executable, "-W", "error", "-c", FORK, server.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
