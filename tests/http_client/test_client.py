"""The HTTP client against raw sockets: what servers send, what they leave out, and where connections go."""

from __future__ import annotations

import asyncio
import copy
import gzip
import pickle
import ssl
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from _bombs import packed_zeros
from trivium.exceptions import ConfigurationError
from trivium.http import (
    BodyError,
    ConnectFailedError,
    ConnectionLostError,
    HTTP2Client,
    HTTPClient,
    HTTPRequest,
    InvalidRequestError,
    ServerSilentError,
)

from ._raw_server import RawServer, Talk, answering

pytestmark = pytest.mark.anyio
CERTIFICATE = Path(__file__).with_name("localhost.pem")
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


LOOPS = pytest.mark.parametrize("anyio_backend", ["asyncio", ("asyncio", {"use_uvloop": True})], ids=["own", "uvloop"])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def body_of(client: HTTPClient, request: HTTPRequest) -> tuple[int, bytes]:
    response = await client.send(request)
    try:
        return response.status, b"".join([piece async for piece in response.pieces])
    finally:
        await response.aclose()


def get(url: str, timeout: float = 20.0, **headers: str) -> HTTPRequest:
    return HTTPRequest("GET", url, headers, timeout=timeout)


def direct() -> HTTPClient:
    return HTTPClient(proxies={})


@pytest.mark.parametrize(
    ("data", "closes", "status", "body"),
    [
        (OK, False, 200, b"hi"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", True, 200, b"until the end"),
        (b"HTTP/1.0 200\r\n\r\n", True, 200, b""),
        (b"HTTP/1.1 204 None\r\n\r\n", False, 204, b""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: a\r\n\r\n" + OK, False, 200, b"hi"),
        (CHUNKED + b"2;x=y\r\nhi\r\n1\r\n!\r\n0\r\nafter: all\r\n\r\n", False, 200, b"hi!"),
        (b"HTTP/1.1 404 Nowhere\r\ncontent-length: 4\r\n\r\nlost", False, 404, b"lost"),
        (b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n", False, 302, b""),
    ],
)  # fmt: skip
async def test_what_is_http_is_read(data: bytes, closes: bool, status: int, body: bytes) -> None:
    async with RawServer(answering(data), closes=closes) as server:
        assert await body_of(direct(), get(server.url)) == (status, body)


@pytest.mark.parametrize(
    ("data", "closes", "said"),
    [
        (b"", True, "without a response"),
        (b"nonsense\r\n\r\n", True, "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-len", True, "without a response"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi", True, "before the end"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n", True, "before the end"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", True, "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nhi", True, "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nname: " + b"x" * 200_000, True, "larger than"),
        (b"HTTP/1.1 200 OK\r\n" + b"name: value\r\n" * 20_000, True, "larger than"),
    ],
)
async def test_what_is_not_http_or_not_whole_is_an_error(data: bytes, closes: bool, said: str) -> None:
    async with RawServer(answering(data), closes=closes) as server:
        with pytest.raises(ConnectionLostError, match=said):
            await body_of(direct(), get(server.url))


@LOOPS
async def test_a_connection_serves_again_unless_something_speaks_against_it() -> None:
    async with RawServer(answering(OK)) as server:
        client = direct()
        for _ in range(3):
            await body_of(client, get(server.url))
        assert server.connections == 1
        response = await client.send(get(server.url))
        await response.aclose()  # nothing of the body was read: all of it has come
        await body_of(client, get(server.url, connection="close"))
        await body_of(client, get(server.url))
        assert server.connections == 2


@pytest.mark.parametrize("data", [OK + b"more", OK.replace(b"\r\ncon", b"\r\nconnection: close\r\ncon", 1), OK + OK])
async def test_a_connection_with_more_than_the_response_is_not_used_again(data: bytes) -> None:
    async with RawServer(answering(data)) as server:
        client = direct()
        assert await body_of(client, get(server.url)) == (200, b"hi")
        assert await body_of(client, get(server.url)) == (200, b"hi")
        assert server.connections == 2


async def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    async with RawServer(answering(OK), closes=True) as server:
        client = direct()
        for _ in range(20):
            assert await body_of(client, get(server.url)) == (200, b"hi")
        assert server.connections == 20


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n"])
async def test_who_is_cancelled_closes_the_connection_at_once(sent: bytes) -> None:
    asked = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(sent)
        asked.set()
        await reader.read(1)

    async with RawServer(talk) as server:
        call = asyncio.ensure_future(body_of(direct(), get(server.url)))
        await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.closed.wait(), 20)


async def test_who_leaves_a_body_closes_the_connection_at_once() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhi")
        await reader.read(1)

    async with RawServer(talk) as server:
        response = await direct().send(get(server.url))
        assert await anext(response.pieces) == b"hi"
        await response.aclose()
        await asyncio.wait_for(server.closed.wait(), 20)


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 ", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi"])
async def test_a_server_that_falls_silent_is_given_up(sent: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(sent)
        await reader.read(1)

    async with RawServer(talk) as server:
        with pytest.raises(ServerSilentError, match=r"0\.1 s"):
            await body_of(direct(), get(server.url, timeout=0.1))
        await asyncio.wait_for(server.closed.wait(), 20)


@pytest.mark.parametrize(("first", "second"), [(60.0, 0.1), (0.1, 20.0)])
async def test_each_request_of_a_connection_has_its_own_time(first: float, second: float) -> None:
    """The server says nothing for a moment before its second answer, longer than one of the two may wait."""
    asked = 0

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.4 * (asked == 2))
        writer.write(OK)

    async with RawServer(talk) as server:
        client = direct()
        assert await body_of(client, get(server.url, timeout=first)) == (200, b"hi")
        if second < first:
            with pytest.raises(ServerSilentError, match=r"0\.1 s"):
                await body_of(client, get(server.url, timeout=second))
        else:
            assert await body_of(client, get(server.url, timeout=second)) == (200, b"hi")
        assert server.connections == 1


async def test_a_reader_that_is_slow_makes_the_server_wait_and_is_not_silent_itself() -> None:
    written = 0

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 64000000\r\n\r\n")
        for _piece in range(64):
            writer.write(b"x" * 1_000_000)
            await writer.drain()
            written += 1

    async with RawServer(talk) as server:
        response = await direct().send(get(server.url, timeout=0.2))
        await asyncio.sleep(0.5)  # longer than the server may be silent: the wait is the reader's
        assert written < 32
        assert sum([len(piece) async for piece in response.pieces]) == 64_000_000
        await response.aclose()


# ---- compressed bodies
def packed(body: bytes, encoding: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


LONG = b"hi" * 500
RAW_DEFLATE = zlib.compressobj(wbits=-15)
RAW = RAW_DEFLATE.compress(LONG) + RAW_DEFLATE.flush()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(LONG, mtime=0), "gzip"),
        (gzip.compress(LONG[:9], mtime=0) + gzip.compress(LONG[9:], mtime=0), "gzip"),
        (gzip.compress(LONG, mtime=0) + b"\0" * 9, "gzip"),
        (zlib.compress(LONG), "deflate"),
        (RAW, "deflate"),
        (LONG, "identity"),
    ],
)
async def test_a_compressed_body_is_unpacked(body: bytes, encoding: str) -> None:
    async with RawServer(answering(packed(body, encoding))) as server:
        assert await body_of(direct(), get(server.url)) == (200, b"hi" * 500)
        raw = HTTPRequest("GET", server.url, is_raw=True)
        assert await body_of(direct(), raw) == (200, body)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"nonsense", "gzip"), (gzip.compress(LONG, mtime=0)[:-9], "gzip"), (b"x", "br"), (b"x", "gzip, gzip")],
)
async def test_what_cannot_be_unpacked_is_an_error(body: bytes, encoding: str) -> None:
    async with RawServer(answering(packed(body, encoding))) as server:
        with pytest.raises(BodyError):
            await body_of(direct(), get(server.url))


async def test_a_bomb_comes_in_pieces_of_a_bounded_size() -> None:
    async with RawServer(answering(packed(packed_zeros(100_000_000), "gzip"))) as server:
        response = await direct().send(get(server.url))
        assert max([len(piece) async for piece in response.pieces]) <= 256 << 10
        await response.aclose()


# ---- what is sent
async def test_the_request_is_sent_as_it_was_given() -> None:
    async with RawServer(answering(OK)) as server:
        url = server.url.replace("//", "//ada:p%40ss@") + "/a b/ü?q=1 2&r=ä%20"
        await body_of(direct(), HTTPRequest("POST", url, {"X-Mine": "1", "Accept": "text/plain"}, b"body"))
        line, *headers = server.heads[0].decode("latin-1").strip().split("\r\n")
        assert line == "POST /a%20b/%C3%BC?q=1%202&r=%C3%A4%20 HTTP/1.1"
        assert dict(each.split(": ", 1) for each in headers) == {
            "host": f"localhost:{server.port}", "accept": "text/plain", "accept-encoding": "gzip, deflate",
            "user-agent": "trivium", "authorization": "Basic YWRhOnBAc3M=", "x-mine": "1", "content-length": "4",
        }  # fmt: skip


@pytest.mark.parametrize(
    "request_",
    [
        get("ftp://localhost/"), get("http://"), get("http://[::1/"), get("http://localhost:99999/"),
        get("http://localhost/", x="a\r\nevil: 1"), get("http://localhost/", x="ж"),
        HTTPRequest("GET", "http://localhost/", {"na me": "x"}), HTTPRequest("GET", "http://localhost/", {"a\nb": "x"}),
    ],
)  # fmt: skip
async def test_what_cannot_be_sent_is_refused(request_: HTTPRequest) -> None:
    async with RawServer(answering(OK)) as server:
        url = request_.url.replace("localhost/", f"localhost:{server.port}/")
        with pytest.raises(InvalidRequestError):
            await body_of(direct(), HTTPRequest("GET", url, request_.headers))
        assert not server.heads


async def test_where_nobody_listens_no_connection_is_made() -> None:
    async with RawServer(answering(OK)) as server:
        url = server.url
    with pytest.raises(ConnectFailedError):
        await body_of(direct(), get(url))


# ---- proxies and certificates
def trusted() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(CERTIFICATE))


def serving() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def tunnelling(status: bytes = b"200 Established") -> Talk:
    """A proxy: it connects where it is told to, and passes on what it reads."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        host, _, port = head.split(b" ")[1].decode().rpartition(":")
        writer.write(b"HTTP/1.1 " + status + b"\r\n\r\n")
        if not status.startswith(b"200"):
            return
        there, back = await asyncio.open_connection(host, int(port))

        async def pass_on(source: AsyncIterator[bytes], target: asyncio.StreamWriter) -> None:
            async for data in source:
                target.write(data)

        ways = (pass_on(_read(reader), back), pass_on(_read(there), writer))
        try:
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            back.close()
            await back.wait_closed()

    return talk


async def _read(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while data := await reader.read(4096):
        yield data


@LOOPS
async def test_https_goes_through_a_proxy_as_a_tunnel_with_its_password() -> None:
    async with RawServer(answering(OK), serving()) as server, RawServer(tunnelling()) as proxy:
        client = HTTPClient(proxies={"https": f"http://ada:secret@127.0.0.1:{proxy.port}"}, certificates=trusted())
        assert await body_of(client, get(server.url, authorization="mine")) == (200, b"hi")
        assert b"Proxy-Authorization: Basic YWRhOnNlY3JldA==" in proxy.heads[0]
        assert b"mine" not in proxy.heads[0]
        assert b"proxy-authorization" not in server.heads[0].lower()
        assert await body_of(client, get(server.url)) == (200, b"hi")
        assert (proxy.connections, server.connections) == (1, 1)


async def test_http_goes_through_a_proxy_by_its_whole_address() -> None:
    async with RawServer(answering(OK)) as proxy:
        client = HTTPClient(proxies={"http": f"http://ada:secret@127.0.0.1:{proxy.port}"})
        assert await body_of(client, get("http://far.example/there")) == (200, b"hi")
        assert proxy.heads[0].startswith(b"GET http://far.example/there HTTP/1.1\r\n")
        assert b"proxy-authorization: Basic YWRhOnNlY3JldA==" in proxy.heads[0]


async def test_a_proxy_that_refuses_is_no_connection() -> None:
    async with RawServer(tunnelling(b"407 Who are you")) as proxy:
        client = HTTPClient(proxies={"all": f"http://127.0.0.1:{proxy.port}"}, certificates=trusted())
        with pytest.raises(ConnectFailedError, match="407 Who are you"):
            await body_of(client, get("https://far.example/"))


async def test_proxies_of_the_environment_count_unless_they_are_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawServer(answering(OK)) as server, RawServer(answering(OK)) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "localhost")
        assert await body_of(HTTPClient(), get("http://far.example/")) == (200, b"hi")
        assert await body_of(HTTPClient(), get(server.url)) == (200, b"hi")
        assert (len(proxy.heads), len(server.heads)) == (1, 1)
    with pytest.raises(ConfigurationError, match="socks5"):
        await body_of(HTTPClient(proxies={"http": "socks5://127.0.0.1:1"}), get("http://far.example/"))


async def test_a_certificate_is_verified_by_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawServer(answering(OK), serving()) as server:
        with pytest.raises(ConnectFailedError, match="CERTIFICATE_VERIFY_FAILED"):
            await body_of(direct(), get(server.url))
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        assert await body_of(direct(), get(server.url)) == (200, b"hi")
        with pytest.raises(ConnectFailedError, match="CERTIFICATE_VERIFY_FAILED"):
            await body_of(direct(), get(server.url.replace("localhost", "127.0.0.1")))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, r"cannot be read \(No such file"),
        ("no", r"cannot be read as PEM certificates \(NO_CERTIFICATE_OR_CRL_FOUND\)"),
        (f"{CERTIFICATE.read_text()}-----BEGIN CERTIFICATE-----\nAAAA\n", r"cannot be read as PEM .*\[X509\] PEM lib"),
    ],
)
async def test_a_file_of_certificates_that_cannot_be_used_is_named(
    content: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "company.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(ConfigurationError, match=rf"SSL_CERT_FILE names .*company\.pem, which {why}"):
        await body_of(direct(), get("https://127.0.0.1:1/"))


async def test_the_folder_of_certificates_counts_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(Path(__file__).parents[1] / "nobody.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    async with RawServer(answering(OK), serving()) as server:
        with pytest.raises(ConnectFailedError, match="CERTIFICATE_VERIFY_FAILED"):
            await body_of(direct(), get(server.url))
        (tmp_path / "52fccf89.0").write_bytes(CERTIFICATE.read_bytes())  # the hash of its subject
        assert await body_of(direct(), get(server.url)) == (200, b"hi")


# ---- many
async def test_a_thousand_requests_at_once_are_answered() -> None:
    async with RawServer(answering(OK)) as server:
        client = direct()
        found = await asyncio.gather(*[body_of(client, get(server.url)) for _ in range(1000)])
        assert found == [(200, b"hi")] * 1000


def test_a_client_serves_loops_one_after_the_other_and_leaves_nothing(recwarn: pytest.WarningsRecorder) -> None:
    client = direct()

    async def run() -> None:
        async with RawServer(answering(OK)) as server:
            for _ in range(3):
                assert await body_of(client, get(server.url)) == (200, b"hi")
            assert server.connections == 1

    for _ in range(20):
        asyncio.run(run())
    assert not [each for each in recwarn if issubclass(each.category, ResourceWarning)]


async def test_a_client_is_copied_as_itself_and_sent_without_its_connections():
    async with RawServer(answering(OK)) as server:
        client = HTTPClient(proxies={})
        request = get(server.url)
        assert (await body_of(client, request))[1] == b"hi"
        assert copy.deepcopy([client])[0] is client
        sent = pickle.loads(pickle.dumps(client))
        assert (await body_of(sent, request))[1] == b"hi"
        assert server.connections == 2
    for kind in (HTTPClient, HTTP2Client):
        assert type(pickle.loads(pickle.dumps(kind(connect_timeout=3.0)))) is kind
        with pytest.raises(ConfigurationError, match="cannot be pickled: make it where it is used"):
            pickle.dumps(kind(certificates=ssl.create_default_context()))
