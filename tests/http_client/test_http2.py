"""The client of HTTP/2: many requests on one connection, each of which ends alone."""

from __future__ import annotations

import asyncio
import gc
import gzip
import subprocess
import sys

import pytest
from hyperframe.frame import GoAwayFrame

from trivium.http import ConnectionLostError, HTTP2Client, HTTPRequest, InvalidRequestError, ServerSilentError

from ._h2_server import H2Server, Talker
from ._raw_server import RawServer, answering
from .test_client import OK, body_of, get, serving, trusted, tunnelling


def client() -> HTTP2Client:
    return HTTP2Client(proxies={}, certificates=trusted())


async def greet(talker: Talker) -> None:
    await talker.whole.wait()
    await talker.answer(b"hi")


@pytest.mark.parametrize("_loop", ["asyncio", "uvloop"])
async def test_a_request_is_sent_and_its_response_read(_loop: str) -> None:
    async def talk(talker: Talker) -> None:
        await talker.whole.wait()
        if talker.headers[":method"] == "HEAD":
            talker.begin(201, {"content-length": "9"}, ends=True)
            return
        await talker.answer(gzip.compress(b"hi" * 500), 201, {"content-encoding": "gzip", "x-one": "a"})

    async with H2Server(talk, serving()) as server:
        ours = client()
        url = server.url.replace("//", "//ada:pw@") + "/a b?q=ü"
        response = await ours.send(HTTPRequest("POST", url, {"X-Mine": "1", "Connection": "close"}, b"body"))
        body = await response.read(10_000)
        await response.aclose()
        assert (response.status, response.headers["x-one"], body) == (201, "a", b"hi" * 500)
        assert server.requests[0].headers == {
            ":method": "POST", ":scheme": "https", ":authority": f"localhost:{server.port}", ":path": "/a%20b?q=%C3%BC",
            "accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "trivium", "x-mine": "1",
            "authorization": "Basic YWRhOnB3", "content-length": "4",
        }  # fmt: skip
        assert server.requests[0].body == b"body"
        assert await body_of(ours, HTTPRequest("HEAD", server.url)) == (201, b"")


@pytest.mark.parametrize("streams", [100, 250])
async def test_a_thousand_requests_share_the_connections_that_they_need(streams: int) -> None:
    async def talk(talker: Talker) -> None:
        await asyncio.sleep(0.05)
        await greet(talker)

    async with H2Server(talk, serving(), streams=streams) as server:
        ours = client()
        found = await asyncio.gather(*[body_of(ours, get(server.url)) for _ in range(1000)])
        assert found == [(200, b"hi")] * 1000
        assert max(each.most for each in server.connections) <= streams
        assert len(server.connections) <= 20
        assert await body_of(ours, get(server.url)) == (200, b"hi")
        assert len(server.requests) == 1001


@pytest.mark.parametrize("version", ["h2", "http/1.1", "of the proxy"])
async def test_the_server_chooses_the_version(version: str) -> None:
    if version == "http/1.1":
        async with RawServer(answering(OK), serving()) as server:
            ours = client()
            assert await asyncio.gather(*[body_of(ours, get(server.url)) for _ in range(9)]) == [(200, b"hi")] * 9
            assert await body_of(ours, get(server.url)) == (200, b"hi")
        return
    async with H2Server(greet, serving()) as server, RawServer(tunnelling()) as proxy:
        proxies = {"https": f"http://127.0.0.1:{proxy.port}"} if version == "of the proxy" else {}
        ours = HTTP2Client(proxies=proxies, certificates=trusted())
        assert await asyncio.gather(*[body_of(ours, get(server.url)) for _ in range(9)]) == [(200, b"hi")] * 9
        assert (len(server.connections), proxy.connections) == (1, len(proxies))


async def test_a_connection_without_tls_is_one_of_http1() -> None:
    async with RawServer(answering(OK)) as server:
        assert await body_of(client(), get(server.url)) == (200, b"hi")
        assert server.heads[0].startswith(b"GET / HTTP/1.1\r\n")


@pytest.mark.parametrize("when", ["before the head", "in the body"])
@pytest.mark.parametrize("ends", ["cancelled", "left", "silent"])
async def test_a_request_that_ends_is_cancelled_at_the_server_at_once_and_no_other(when: str, ends: str) -> None:
    asked = asyncio.Event()

    async def talk(talker: Talker) -> None:
        if talker.headers[":path"] == "/other":
            await greet(talker)
            return
        if when == "in the body":
            talker.begin()
            await talker.say(b"h")
        asked.set()

    async with H2Server(talk, serving()) as server:
        ours = client()
        assert await body_of(ours, get(server.url + "/other")) == (200, b"hi")
        if ends == "left" and when == "in the body":
            response = await ours.send(get(server.url))
            assert await anext(response.pieces) == b"h"
            await response.aclose()
        elif ends == "silent":
            with pytest.raises(ServerSilentError):
                await body_of(ours, get(server.url, timeout=0.3))
        else:
            call = asyncio.ensure_future(body_of(ours, get(server.url)))
            await asked.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        await asyncio.wait_for(server.requests[1].reset.wait(), 20)
        assert await body_of(ours, get(server.url + "/other")) == (200, b"hi")
        assert len(server.connections) == 1


async def test_bodies_are_sent_and_read_as_fast_as_both_sides_read() -> None:
    large, said = bytes(range(256)) * 8192, 0  # 2 MB

    async def talk(talker: Talker) -> None:
        nonlocal said
        await talker.whole.wait()
        talker.begin()
        for start in range(0, len(talker.body), 65536):
            await talker.say(bytes(talker.body[start : start + 65536]))
            said += 65536
        await talker.say(b"", ends=True)

    async with H2Server(talk, serving()) as server:
        ours = client()
        response = await ours.send(HTTPRequest("POST", server.url, {}, large, timeout=2.0))
        await asyncio.sleep(2.5)  # longer than the server may be silent: the wait is the reader's
        assert said <= 512 << 10
        for _ in range(3):  # what was not read is no burden for the next
            left = await ours.send(HTTPRequest("POST", server.url, {}, large))
            await left.aclose()
        assert b"".join([piece async for piece in response.pieces]) == large
        await response.aclose()
        assert await body_of(ours, HTTPRequest("POST", server.url, {}, large)) == (200, large)
        assert len(server.connections) == 1


async def test_a_server_that_responds_before_the_end_of_a_body_is_heard() -> None:
    async def talk(talker: Talker) -> None:
        await talker.answer(b"no", 413)

    async with H2Server(talk, serving(), reads=False) as server:
        assert await body_of(client(), HTTPRequest("POST", server.url, {}, bytes(1 << 20))) == (413, b"no")
        await asyncio.wait_for(server.requests[0].reset.wait(), 20)


async def test_a_server_that_takes_a_body_slowly_is_not_silent() -> None:
    async def talk(talker: Talker) -> None:
        taken = 0
        while not talker.whole.is_set():
            talker.connection.h2.acknowledge_received_data(len(talker.body) - taken, talker.number)
            talker.connection.flush()
            taken = len(talker.body)
            await asyncio.sleep(0.1)  # all together longer than a server may be silent
        await talker.answer(b"hi")

    async with H2Server(talk, serving(), reads=False) as server:
        request = HTTPRequest("POST", server.url, {}, bytes(512 << 10), timeout=0.4)
        assert await body_of(client(), request) == (200, b"hi")


async def reset(talker: Talker) -> None:
    talker.begin()
    talker.connection.h2.reset_stream(talker.number, 2)
    talker.connection.flush()


async def go_away(talker: Talker) -> None:
    talker.connection.transport.write(GoAwayFrame(0).serialize())  # of all requests it has taken none


async def go_away_in_the_body(talker: Talker) -> None:
    talker.begin()
    await talker.say(b"h" * 1000)
    await go_away(talker)


async def hang_up(talker: Talker) -> None:
    talker.begin()
    await talker.say(b"h")
    talker.connection.transport.close()


async def talk_nonsense(talker: Talker) -> None:
    talker.connection.transport.write(bytes(9))  # data of no stream


async def talk_http1(talker: Talker) -> None:
    talker.connection.transport.write(OK)


async def overflow(talker: Talker) -> None:
    talker.begin(200, {f"x-{number}": "x" * 1000 for number in range(200)})


@pytest.mark.parametrize("talk", [reset, go_away, go_away_in_the_body, hang_up, talk_nonsense, talk_http1, overflow])
async def test_a_response_that_is_not_whole_is_an_error_and_the_next_request_is_served(talk: object) -> None:
    async def first_bad(talker: Talker) -> None:
        await (talk if len(server.requests) == 1 else greet)(talker)  # type: ignore[operator]

    async with H2Server(first_bad, serving()) as server:
        ours = client()
        with pytest.raises(ConnectionLostError):
            await body_of(ours, get(server.url))
        assert await body_of(ours, get(server.url)) == (200, b"hi")


async def test_a_server_that_takes_no_more_requests_ends_those_that_it_has() -> None:
    async def talk(talker: Talker) -> None:
        if len(server.requests) > 1:
            await greet(talker)
            return
        talker.begin()
        await talker.say(b"h")
        frame = GoAwayFrame(0)
        frame.last_stream_id = talker.number
        talker.connection.transport.write(frame.serialize())
        await told.wait()
        await talker.say(b"i", ends=True)

    told = asyncio.Event()
    async with H2Server(talk, serving()) as server:
        ours = client()
        response = await ours.send(get(server.url))
        assert await anext(response.pieces) == b"h"
        assert await body_of(ours, get(server.url)) == (200, b"hi")
        told.set()
        assert [piece async for piece in response.pieces] == [b"i"]
        await response.aclose()
        assert len(server.connections) == 2


async def test_a_header_that_cannot_be_sent_is_refused() -> None:
    async with H2Server(greet, serving()) as server:
        ours = client()
        with pytest.raises(InvalidRequestError):
            await body_of(ours, HTTPRequest("GET", server.url, {"te": "x"}))
        assert await body_of(ours, get(server.url)) == (200, b"hi")


async def test_many_requests_on_a_connection_leave_nothing_behind() -> None:
    async with H2Server(greet, serving()) as server:
        ours = client()

        async def some(calls: int) -> int:
            for _ in range(calls // 50):
                await asyncio.gather(*[body_of(ours, get(server.url)) for _ in range(50)])
                server.requests.clear()
                server.tasks.clear()
                server.connections[0].talkers.clear()
            gc.collect()  # h2 remembers the numbers of 65,536 exchanges, and nothing else of them
            return sum(type(each).__name__ in ("HTTP2Exchange", "H2Stream", "TimerHandle") for each in gc.get_objects())

        before = await some(1000)
        assert await some(3000) < before + 300  # of the last ones, until it looks again
        assert len(server.connections) == 1


def test_connections_end_with_their_loop(recwarn: pytest.WarningsRecorder) -> None:
    ours = client()

    async def run() -> None:
        async with H2Server(greet, serving()) as server:
            assert await body_of(ours, get(server.url)) == (200, b"hi")

    for _ in range(5):
        asyncio.run(run())
    assert not [each for each in recwarn if issubclass(each.category, ResourceWarning)]


def test_without_the_extra_an_error_tells_it() -> None:
    program = "import sys; sys.modules['h2'] = None\nfrom trivium.http import *\nprint('listed')\nHTTP2Client()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "listed\n"
    assert "MissingExtraError" in done.stderr
    assert 'pip install -e ".[http2]"' in done.stderr
