"""The fetcher and servers that err, lie or never end: it tells each apart, and always lets go."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial

import pytest

from _bombs import packed_zeros
from trivium.actions.web import Fetcher
from trivium.commander import CallNode, step
from trivium.commander.lowlevel import change_scope
from trivium.exceptions import (
    DeadlineExceededError,
    FetchConnectionError,
    FetchContentTypeError,
    FetchStatusError,
    FetchTimeoutError,
    FetchTooLargeError,
    RunKilledError,
)

from ._sites import (
    CERTIFICATE,
    CHUNKED,
    LONG,
    Site,
    http,
    local,
    names,
    page,
    redirect,
    until_closed,
    without_end,
    zipped,
)


# ---- what servers do
@pytest.mark.parametrize(
    ("status", "hint"),
    [
        ("204 No Content", "another"), ("206 Partial", "another"), ("302 Found", "another"), ("304 Same", "another"),
        ("401 No", "login"), ("403 No", "another"), ("404 No", "search"), ("410 Gone", "search"), ("429 Slow", "wait"),
        ("500 Oh", "later"), ("503 Oh", "later"), ("999 What", "later"),
    ],
)  # fmt: skip
def test_another_status_is_an_error_that_says_it(site: Site, status: str, hint: str) -> None:
    body = b"" if status[:3] in ("204", "304") else b"<p>Sorry"
    site.answers["/"] = http(body, status=status)
    with pytest.raises(FetchStatusError, match=f"answered {status[:3]}.*{hint}") as caught:
        local(site).fetch(site.url())
    assert (caught.value.status, caught.value.url) == (int(status[:3]), site.url())


@pytest.mark.parametrize(
    "kind",
    ["image/png", "application/pdf", "application/octet-stream", "video/mp4", "image/svg+xml", "text/html, text/plain",
     "multipart/mixed", "tea", "", "application/zip; charset=utf-8", "text/css", "x" * 5000],
)  # fmt: skip
def test_another_type_is_an_error_that_says_it(site: Site, kind: str) -> None:
    site.answers["/"] = http(b"hello", kind)
    with pytest.raises(FetchContentTypeError) as caught:
        local(site).fetch(site.url())
    said = kind.partition(";")[0]
    assert caught.value.content_type == said
    assert said[:100] in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_header_with_control_characters_is_no_http(site: Site) -> None:
    site.answers["/"] = http(b"hello", "text/html\x1b[31m")
    with pytest.raises(FetchConnectionError, match="not HTTP"):
        local(site).fetch(site.url())


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "gzip, br, gzip", "tea"])
def test_a_packing_that_was_not_asked_for_is_an_error(site: Site, encoding: str) -> None:
    site.answers["/"] = http(zipped(b"hello", 2), content_encoding=encoding)
    with pytest.raises(FetchContentTypeError, match="was not requested"):
        local(site).fetch(site.url())


BOMB = packed_zeros(200 << 20)


@pytest.mark.parametrize(
    "answer",
    [
        http(b"a" * 100_001),
        http(BOMB, content_encoding="gzip"),
        http(BOMB, content_encoding="x-gzip", content_length=""),
        http(zipped(b"a" * 100_001), content_encoding="GZIP"),
        http(zipped(b"hello") + bytes(200_000), content_encoding="gzip"),
        without_end(b"a" * 65536, b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"),
        without_end(b"a" * 65536, LONG),
        without_end(b"1\r\na\r\n" * 999, CHUNKED),
    ],
)
def test_what_is_too_large_is_dropped_early(site: Site, answer: bytes) -> None:
    site.answers["/"] = answer
    with pytest.raises(FetchTooLargeError, match="100,000 bytes") as caught:
        local(site, max_bytes=100_000).fetch(site.url())
    assert (caught.value.value, caught.value.url, caught.value.status) == (100_000, site.url(), 200)


def test_a_page_of_just_the_largest_size_is_read(site: Site) -> None:
    site.answers["/"] = http(zipped(b"a" * 100_000), content_encoding="gzip")
    assert len(local(site, max_bytes=100_000).fetch(site.url()).text) == 100_000


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"hello",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 tea OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 10\r\ncontent-length: 11\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: -1\r\n\r\nhello",
        LONG + b"hello",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"5\r\nhel",
        http(b"not packed", content_encoding="gzip"),
        http(zipped(b"hello" * 99)[:-9], content_encoding="gzip"),
        http(zipped(b"hello" * 99)[:-1] + b"\x01", content_encoding="gzip"),
        without_end(b"x-tea: " + b"a" * 999 + b"\r\n", b"HTTP/1.1 200 OK\r\n"),
        without_end(b"a" * 9999, b"HTTP/1.1 200 "),
    ],
)
def test_what_is_no_whole_answer_is_a_broken_connection(site: Site, answer: bytes) -> None:
    site.answers["/"] = answer
    with pytest.raises(FetchConnectionError, match="open another page") as caught:
        local(site).fetch(site.url())
    assert caught.value.url == site.url()


def test_a_reset_is_a_broken_connection(site: Site) -> None:
    def reset(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()

    site.answers["/"] = reset
    with pytest.raises(FetchConnectionError):
        local(site).fetch(site.url())


def test_a_server_that_is_not_there_is_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(FetchConnectionError):
        Fetcher(allowed_hosts=[place]).fetch(f"http://{place}/")


# ---- time
def slowly(piece: bytes, head: bytes) -> Callable[[socket.socket], None]:
    """Sends a little again and again, so that no single read takes long."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        pause = threading.Event()
        while not pause.wait(0.02):
            connection.sendall(piece)

    return talk


@pytest.mark.parametrize(
    ("piece", "head"),
    [
        (b"a", LONG),
        (b"1\r\na\r\n", CHUNKED),
        (b"a", b"HTTP/1.1 200 O"),
        (b"x: y\r\n", b"HTTP/1.1 200 OK\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b""),
        (b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n", b""),
    ],
)
def test_a_slow_drip_ends_with_the_time_of_the_page(site: Site, piece: bytes, head: bytes) -> None:
    site.answers["/"] = slowly(piece, head)
    with pytest.raises(FetchTimeoutError, match=r"in 0\.3 s") as caught:
        local(site, timeout=0.3).fetch(site.url())
    assert caught.value.url == site.url()


@pytest.mark.parametrize("head", [b"", LONG, b"HTTP/1.1 "])
def test_silence_ends_with_the_time_of_the_page_and_the_connection_with_it(site: Site, head: bytes) -> None:
    closed = threading.Event()
    site.answers["/"] = until_closed(closed, head)
    with pytest.raises(FetchTimeoutError):
        local(site, timeout=0.3).fetch(site.url())
    assert closed.wait(30)


def test_slow_redirects_share_the_time_of_the_page(site: Site) -> None:
    def talk(connection: socket.socket) -> None:
        threading.Event().wait(0.2)
        connection.sendall(redirect("/"))

    site.answers["/"] = talk
    with pytest.raises(FetchTimeoutError):
        local(site, timeout=0.5).fetch(site.url())


def test_a_look_up_that_takes_for_ever_ends_too() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(FetchTimeoutError):
        Fetcher(resolve=resolve, timeout=0.2).fetch("http://site.example/")


def test_the_deadline_of_the_run_is_no_error_of_the_page(site: Site) -> None:
    def run() -> None:
        with step("run") as node:
            change_scope(node, timeout=0.2)
            local(site).fetch(site.url())

    site.answers["/"] = until_closed(threading.Event())
    with pytest.raises(DeadlineExceededError):
        run()


# ---- stopping
@pytest.mark.parametrize("head", [b"", LONG + b"hello"])
def test_a_kill_closes_the_connection(site: Site, head: bytes) -> None:
    closed = threading.Event()

    def run() -> None:
        with step("run") as node:
            site.answers["/"] = until_closed(closed, head, partial(node.kill, "enough"))
            local(site, timeout=60).fetch(site.url())

    with pytest.raises(RunKilledError, match="enough"):
        run()
    assert closed.wait(30)


def test_a_kill_closes_the_connection_in_async_code(site: Site) -> None:
    closed = threading.Event()

    async def main() -> None:
        with step("run") as node:
            site.answers["/"] = until_closed(closed, LONG, partial(node.kill, "enough"))
            await local(site, timeout=60).fetch_async(site.url())

    with pytest.raises(RunKilledError, match="enough"):
        asyncio.run(main())
    assert closed.wait(30)


def test_a_cancelled_task_closes_the_connection(site: Site) -> None:
    closed = threading.Event()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(local(site, timeout=60).fetch_async(site.url()))
        site.answers["/"] = until_closed(closed, LONG, lambda: loop.call_soon_threadsafe(task.cancel))
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert closed.wait(30)


# ---- TLS
def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(CERTIFICATE))


def test_tls_speaks_for_the_host_by_name_at_the_address_that_was_checked() -> None:
    with Site(tls=True) as site:
        site.answers["/"] = page("Hot.")
        fetcher = Fetcher(
            allowed_hosts=[f"site.example:{site.port}"],
            resolve=names({"site.example": ["127.0.0.1"]}),
            ssl_context=trusting(),
        )
        assert fetcher.fetch(site.url(host="site.example")).text == "Hot."
        assert fetcher.fetch(site.url(host="site.example.")).text == "Hot."
        assert site.asked[0].headers["host"] == f"site.example:{site.port}"


@pytest.mark.parametrize(("host", "trust"), [("other.example", True), ("site.example", False)])
def test_a_certificate_of_another_host_or_of_nobody_known_is_refused(host: str, trust: bool) -> None:
    with Site(tls=True) as site:
        fetcher = Fetcher(
            allowed_hosts=[f"{host}:{site.port}"],
            resolve=names({host: ["127.0.0.1"]}),
            ssl_context=trusting() if trust else None,
        )
        with pytest.raises(FetchConnectionError, match=r"(?i)certificate"):
            fetcher.fetch(site.url(host=host))
        assert site.asked == []


# ---- what is kept
def test_a_page_is_fetched_once_and_kept(site: Site) -> None:
    site.answers["/"] = page("Hot.")
    fetcher = local(site)
    assert fetcher.fetch(site.url()) == fetcher.fetch(site.url("/#part"))
    assert len(site.asked) == 1
    local(site).fetch(site.url())  # another fetcher has a cache of its own
    assert len(site.asked) == 2


def test_no_page_is_kept_for_no_time(site: Site) -> None:
    site.answers["/"] = page("Hot.")
    fetcher = local(site, cache_seconds=0)
    fetcher.fetch(site.url())
    fetcher.fetch(site.url())
    assert len(site.asked) == 2


def test_an_error_is_not_kept(site: Site) -> None:
    fetcher = local(site)
    with pytest.raises(FetchStatusError):
        fetcher.fetch(site.url())
    site.answers["/"] = page("Hot.")
    assert fetcher.fetch(site.url()).text == "Hot."


def test_twenty_who_want_the_same_page_are_one_request(site: Site) -> None:
    go = threading.Event()

    def talk(connection: socket.socket) -> None:
        go.wait(30)
        connection.sendall(page("Hot."))

    site.answers["/"] = talk
    fetcher = local(site, timeout=60)

    async def main() -> list[str]:
        tasks = [asyncio.create_task(fetcher.fetch_async(site.url())) for _ in range(20)]
        await asyncio.sleep(0)  # each has begun
        go.set()
        return [(await task).text for task in tasks]

    assert asyncio.run(main()) == ["Hot."] * 20
    assert len(site.asked) == 1


def test_threads_that_want_the_same_page_are_one_request(site: Site) -> None:
    waiting = threading.Barrier(3)
    found: list[str] = []

    def want() -> None:
        waiting.wait(30)
        found.append(fetcher.fetch(site.url()).text)

    def talk(connection: socket.socket) -> None:
        waiting.wait(30)  # both others are on their way before the page is
        connection.sendall(page("Hot."))

    site.answers["/"] = talk
    fetcher = local(site, timeout=60)
    first = threading.Thread(target=lambda: found.append(fetcher.fetch(site.url()).text))
    others = [threading.Thread(target=want) for _ in range(2)]
    for thread in (first, *others):
        thread.start()
    for thread in (first, *others):
        thread.join()
    assert found == ["Hot."] * 3
    assert len(site.asked) == 1


def test_who_waited_for_a_fetch_that_was_stopped_makes_it(site: Site) -> None:
    closed, arrived = threading.Event(), threading.Event()
    site.answers["/"] = until_closed(closed, b"", arrived.set)
    fetcher = local(site, timeout=60)

    async def main() -> str:
        first = asyncio.create_task(fetcher.fetch_async(site.url()))
        second = asyncio.create_task(fetcher.fetch_async(site.url()))
        await asyncio.to_thread(arrived.wait, 30)
        site.answers["/"] = page("Hot.")
        first.cancel()
        return (await second).text

    assert asyncio.run(main()) == "Hot."
    assert closed.wait(30)
    assert len(site.asked) == 2


def test_who_waited_for_a_fetch_that_failed_has_the_error_of_its_own(site: Site) -> None:
    fetcher = local(site)

    async def main() -> list[BaseException | object]:
        return await asyncio.gather(*(fetcher.fetch_async(site.url()) for _ in range(3)), return_exceptions=True)

    errors = asyncio.run(main())
    assert [isinstance(each, FetchStatusError) and each.status for each in errors] == [404] * 3
    assert len(set(map(id, errors))) == 3
    assert len(site.asked) == 1


def test_a_sync_call_on_a_loop_works_beside_one_in_a_thread(site: Site) -> None:
    """A call on a loop's own thread cannot wait for another run: it fetches for itself."""
    arrived, closed, nodes = threading.Event(), threading.Event(), list[CallNode]()
    site.answers["/"] = until_closed(closed, b"", arrived.set)
    fetcher = local(site, timeout=60)

    def other() -> None:
        with contextlib.suppress(RunKilledError), step("run") as node:
            nodes.append(node)
            fetcher.fetch(site.url())

    async def main() -> str:
        return fetcher.fetch(site.url()).text

    thread = threading.Thread(target=other)
    thread.start()
    assert arrived.wait(30)
    site.answers["/"] = page("Hot.")
    assert asyncio.run(main()) == "Hot."
    nodes[0].kill()
    thread.join()
    assert closed.is_set() or closed.wait(30)
