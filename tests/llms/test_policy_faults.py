"""What breaks between us and a model server, over real sockets: each a retry or one typed error, and none hangs."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from http_client._raw_server import RawServer, answering
from trivium.exceptions import (
    ConfigurationError,
    MalformedAnswerError,
    ProviderBusyError,
    ProviderConnectionError,
    ProviderError,
)
from trivium.http import HTTPClient
from trivium.llms import Delta, OpenAIModel, Request, RetryPolicy

from ._provider_answers import gpt_text
from ._servers import ChatServer, http_answer

ASK = Request([{"role": "user", "content": "hi"}])
ONCE = RetryPolicy(max_tries=1)
TWICE = RetryPolicy(max_tries=2, first_delay=0.0)
GOOD = b"".join(gpt_text("Hel", "lo"))
WHOLE = http_answer(GOOD.partition(b"\r\n\r\n")[2], kind="text/event-stream")[0]
Talk = Callable[[socket.socket], object]


class Crooked:
    """Gives the n-th connection to the n-th talk, after it has read the request."""

    def __init__(self, *talks: Talk) -> None:
        self.asked = 0
        self._talks = talks
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Crooked:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            for talk in self._talks:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(OSError):
                    self.asked += 1
                    _read_request(connection)
                    talk(connection)


def _read_request(connection: socket.socket) -> None:
    """All of it, for what is not read resets the connection when it is closed."""
    data = connection.recv(65536)
    while data.startswith(b"POST") and not data.endswith(b"}"):
        data += connection.recv(65536)


def reset_after(data: bytes = b"") -> Talk:
    """Send so much, then reset the connection."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return talk


def stall_after(data: bytes = b"") -> Talk:
    """Send so much, then nothing until the client has left."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(data)
        while connection.recv(65536):
            pass

    return talk


def say(data: bytes) -> Talk:
    return lambda connection: connection.sendall(data)


def ask(server: Crooked, retry: RetryPolicy, scheme: str = "http", **options: Any) -> list[Delta]:
    return asyncio.run(
        collect(OpenAIModel("m", base_url=f"{scheme}://127.0.0.1:{server.port}", retry=retry, **options))
    )


async def collect(model: OpenAIModel) -> list[Delta]:
    return [delta async for delta in model.stream(ASK)]


def test_a_reset_before_the_headers_is_tried_again() -> None:
    with Crooked(reset_after(), say(GOOD)) as server:
        assert ask(server, TWICE)[:2] == ["Hel", "lo"]
        assert server.asked == 2


def test_a_reset_after_the_headers_is_tried_again() -> None:
    head = GOOD.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    with Crooked(reset_after(head), say(GOOD)) as server:
        assert ask(server, TWICE)[:2] == ["Hel", "lo"]
        assert server.asked == 2


def ends() -> Iterator[int]:
    """Places in the whole answer: between two bytes of its head, and at the end of each event."""
    yield from (0, 9, 40)
    at = 0
    while (at := WHOLE.find(b"\n\n", at)) != -1:
        yield (at := at + 2)


@pytest.mark.parametrize("end", list(ends())[:-1])
@pytest.mark.parametrize("how", [reset_after, say])
def test_an_answer_that_ends_anywhere_is_a_typed_error_or_a_retry(end: int, how: Callable[[bytes], Talk]) -> None:
    seen: list[Delta] = []

    async def run() -> None:
        async for delta in OpenAIModel("m", base_url=f"http://127.0.0.1:{server.port}", retry=TWICE).stream(ASK):
            seen.append(delta)

    with Crooked(how(WHOLE[:end]), say(WHOLE)) as server:
        try:
            asyncio.run(run())
        except ProviderConnectionError:
            assert "".join(each for each in seen if isinstance(each, str)) in ("Hel", "Hello")
            assert server.asked == 1
        else:  # nothing was seen of the first answer, or all; a reset takes with it what was not read yet
            whole = b'"stop"' in WHOLE[:end]
            assert whole or how is reset_after or b"Hel" not in WHOLE[:end]
            assert seen[:2] == ["Hel", "lo"]
            assert whole or server.asked == 2


@pytest.mark.parametrize("data", [b"", WHOLE[:9], WHOLE[:60], WHOLE[:-30]])
def test_a_stall_is_a_typed_error(data: bytes) -> None:
    with (
        Crooked(stall_after(data)) as server,
        pytest.raises(ProviderConnectionError, match=r"timeout=|ask again"),
    ):
        ask(server, ONCE, timeout=0.05)


def test_a_tls_handshake_that_is_broken_off_is_a_typed_error() -> None:
    for talk in (reset_after(), say(b""), say(b"HTTP/1.1 400 Bad\r\n\r\n"), say(b"\x15\x03\x01\x00\x02\x02\x28")):
        with Crooked(talk) as server, pytest.raises(ProviderConnectionError, match="base_url"):
            ask(server, ONCE, "https")


@pytest.mark.parametrize(
    ("file", "host", "said"),
    [
        ("nobody.pem", "localhost", r"SSL_CERT_FILE=FILE, or client=HTTPClient\(certificates="),
        ("http_client/localhost.pem", "127.0.0.1", "by a name that its certificate has"),
        ("http_client/expired.pem", "localhost", "renew the certificate"),
    ],
)
def test_a_certificate_that_is_not_accepted_is_told_with_what_to_do(file: str, host: str, said: str) -> None:
    here = Path(__file__).parents[1]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(here / "http_client" / ("expired.pem" if "expired" in file else "localhost.pem"))
    client = HTTPClient(certificates=ssl.create_default_context(cafile=here / file))

    async def run() -> None:
        async with RawServer(answering(b""), context) as server:
            await collect(OpenAIModel("m", base_url=server.url.replace("localhost", host), retry=ONCE, client=client))

    with pytest.raises(ProviderConnectionError, match=said):
        asyncio.run(run())


REFUSED = b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("scheme", "talk", "said"),
    [
        ("https", say(REFUSED), r"through the proxy 127\.0\.0\.1:\d+: it answered 407 Login\): check the proxy"),
        ("https", reset_after(), r"through the proxy 127\.0\.0\.1:\d+: .*: check the proxy"),
        ("http", say(REFUSED), r"answered 407: Login; give the user and the password of the proxy"),
    ],
)
def test_a_proxy_that_fails_is_named(scheme: str, talk: Talk, said: str) -> None:
    with Crooked(talk) as proxy:
        client = HTTPClient(proxies={scheme: f"http://ada:secret@127.0.0.1:{proxy.port}"})
        model = OpenAIModel("m", base_url=f"{scheme}://far.example/v1", retry=ONCE, client=client)
        with pytest.raises(ProviderError, match=said) as caught:
            asyncio.run(collect(model))
    assert "secret" not in str(caught.value)


def test_a_proxy_of_the_environment_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(ConfigurationError, match=r"not socks5://: change ALL_PROXY, or what proxies= has for 'all'"):
        asyncio.run(collect(OpenAIModel("m", base_url="http://far.example/v1", retry=ONCE)))


@pytest.mark.parametrize("replay", [False, True])
def test_an_answer_that_breaks_off_after_text_is_called_so(replay: bool) -> None:
    with Crooked(reset_after(WHOLE[:-30])) as server, pytest.raises(ProviderConnectionError) as caught:
        ask(server, replace(ONCE, replay=replay))
    assert re.match(r"the answer from http://\S+ broke off \(.*\): ask again", str(caught.value))
    assert ("RetryPolicy(replay=True)" in str(caught.value)) is not replay  # it is no advice where it was done
    assert "ask again" in str(caught.value)


def close_delimited(body: bytes) -> Talk:
    """An answer that only the end of its connection ends, and that is sent in full as far as HTTP goes."""
    return say(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + body)


def chunked(body: bytes) -> Talk:
    """An answer with a proper last chunk, as a proxy sends of a worker that has died."""
    head = (
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    return say(head + (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n")


HEL = GOOD.partition(b"\r\n\r\n")[2].partition(b"\n\n")[0] + b"\n\n"


@pytest.mark.parametrize("framed", [close_delimited, chunked])
@pytest.mark.parametrize(
    ("body", "replay"),
    [
        (HEL, True),
        (HEL + HEL[:20], True),
        (b"", False),
        (b": ping\n\n", False),
        (b"data: {", False),
        (b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}\n\n', False),
    ],
)
def test_an_answer_without_the_mark_of_its_end_broke_off_though_its_body_ended_cleanly(
    framed: Callable[[bytes], Talk], body: bytes, replay: bool
) -> None:
    with Crooked(framed(body), say(GOOD)) as server:
        assert ask(server, replace(TWICE, replay=replay))[:2] == ["Hel", "lo"]
    with Crooked(framed(body)) as server, pytest.raises(ProviderConnectionError, match=r"broke off|no answer|empty"):
        ask(server, replace(ONCE, replay=replay))


def test_what_was_given_out_before_a_clean_end_is_not_asked_for_again() -> None:
    with Crooked(close_delimited(HEL)) as server, pytest.raises(ProviderConnectionError, match="broke off"):
        ask(server, TWICE)


def _unknown(*_: object, **__: object) -> object:
    """No question leaves this machine."""
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def test_a_name_that_nobody_knows_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _unknown)
    model = OpenAIModel("m", base_url="http://nobody.invalid/v1", retry=ONCE)
    with pytest.raises(ProviderConnectionError, match=r"nobody\.invalid.*not known.*base_url"):
        asyncio.run(collect(model))


@pytest.mark.parametrize("host", ["a b", "☃" * 80, "a..b", "-", "%00", "[::1"])
def test_a_host_that_cannot_be_one_is_a_typed_error(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _unknown)
    with pytest.raises((ConfigurationError, ProviderError)):
        asyncio.run(collect(OpenAIModel("m", base_url=f"http://{host}/v1", retry=ONCE)))


@pytest.mark.parametrize("length", [b"Content-Length: 5", b"Content-Length: -1", b"X: 1\r\nContent-Length: x"])
def test_a_wrong_length_is_a_typed_error(length: bytes) -> None:
    head, _, body = WHOLE.partition(b"\r\n\r\n")
    lines = [length if line.startswith(b"content-length") else line for line in head.split(b"\r\n")]
    with Crooked(say(b"\r\n".join(lines) + b"\r\n\r\n" + body)) as server, pytest.raises(ProviderError):
        ask(server, ONCE)


def packed(data: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
    return head + b"connection: close\r\n\r\n" + data


def test_what_is_packed_is_unpacked_and_what_is_packed_wrong_is_a_typed_error() -> None:
    body = gzip.compress(WHOLE.partition(b"\r\n\r\n")[2])
    with Crooked(say(packed(body))) as server:
        assert ask(server, ONCE)[:2] == ["Hel", "lo"]
    for broken in (b"nonsense", body[:20] + b"\0" * 20 + body[40:]):
        with Crooked(say(packed(broken))) as server, pytest.raises(MalformedAnswerError):
            ask(server, TWICE)
    with Crooked(say(packed(body[: len(body) // 2]))) as server, pytest.raises(ProviderError):
        ask(server, ONCE)


@pytest.mark.parametrize(
    "junk", [b"SSH-2.0-OpenSSH_9\r\n", b"\0" * 100, b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nx\r\n\r\n"]
)
def test_what_is_not_http_is_a_typed_error(junk: bytes) -> None:
    with Crooked(say(junk)) as server, pytest.raises(ProviderConnectionError):
        ask(server, ONCE)


def test_a_refusal_whose_body_is_packed_wrong_keeps_its_status() -> None:
    answer = packed(b"nonsense").replace(b"200 OK", b"503 Busy")
    with Crooked(say(answer), say(GOOD)) as server:
        assert ask(server, TWICE)[:2] == ["Hel", "lo"]
    with Crooked(say(answer)) as server, pytest.raises(ProviderBusyError, match="503"):
        ask(server, ONCE)


def test_a_kept_connection_that_the_server_has_closed_meanwhile_is_made_again(chat: ChatServer) -> None:
    """No try is lost over it: the pool sees that it is closed before it sends."""
    chat.scripts = [[WHOLE], [WHOLE]]
    model = OpenAIModel("m", base_url=chat.url, retry=ONCE)

    async def twice() -> None:
        await collect(model)
        for connection in chat.open_sockets:
            connection.shutdown(socket.SHUT_RDWR)
        assert await asyncio.to_thread(chat.closed.wait, 60)
        await collect(model)

    asyncio.run(twice())
    assert chat.connections == 2


@pytest.mark.parametrize(("end", "connections"), [("with the answer", 1), ("later", 1), ("never", 2)])
def test_the_connection_of_a_whole_answer_is_kept_if_the_body_ends(end: str, connections: int) -> None:
    body = GOOD.partition(b"\r\n\r\n")[2]

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter, __: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        whole = head + b"%x\r\n%s\r\n" % (len(body), body)
        writer.write(whole + b"0\r\n\r\n" if end == "with the answer" else whole)
        if end == "later":
            await writer.drain()
            await asyncio.sleep(0.1)
            writer.write(b"0\r\n\r\n")

    async def twice() -> int:
        async with RawServer(talk) as server:
            model = OpenAIModel("m", base_url=server.url, retry=ONCE)
            for _ in range(2):
                assert (await collect(model))[:2] == ["Hel", "lo"]
            return server.connections

    assert asyncio.run(twice()) == connections


@pytest.mark.parametrize(
    ("query", "headers", "said"),
    [
        ("", {}, "denied; no API key was sent: set TRIVIUM_API_KEY"),
        ("", {"x-team": "blue"}, "denied; no API key was sent"),
        ("", {"x-auth-token": "abcdefgh"}, "denied; check the API key"),
        ("", {"cf-access-client-secret": "abcdefgh"}, "denied; check the API key"),
        ("?api_key=abcdefgh", {}, "denied; check the API key"),
    ],
)
def test_a_refusal_says_whether_a_key_was_sent_wherever_it_stands(
    chat: ChatServer, monkeypatch: pytest.MonkeyPatch, query: str, headers: dict[str, str], said: str
) -> None:
    monkeypatch.delenv("TRIVIUM_API_KEY", raising=False)
    chat.scripts = [http_answer(b'{"error": {"message": "denied"}}', "401 No")]
    with pytest.raises(ProviderError, match=said):
        asyncio.run(collect(OpenAIModel("m", base_url=chat.url + query, headers=headers, retry=ONCE)))
