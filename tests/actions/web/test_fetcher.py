"""The fetcher: what it reads, whom it never asks, and how it ends what would not end."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from trivium.actions.web import Fetcher
from trivium.commander import CallNode, step
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    FetchAddressError,
    FetchConnectionError,
    FetchContentTypeError,
    FetchStatusError,
    FetchTimeoutError,
    FetchTooLargeError,
    RunKilledError,
)

from ._sites import CERTIFICATE, Site, http, page, redirect, until_closed, without_end, zipped

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n"
LONG = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 1000000000\r\n\r\n"


def nobody(host: str, port: int) -> list[str]:
    raise AssertionError(f"{host} was looked up")


def names(table: dict[str, Sequence[str]]) -> Callable[[str, int], Sequence[str]]:
    """A resolver that knows these hosts only."""

    def resolve(host: str, port: int) -> Sequence[str]:
        return table.get(host, ())

    return resolve


def local(site: Site, **options: object) -> Fetcher:
    return Fetcher(allowed_hosts=[site.place], **options)  # type: ignore[arg-type]  # pyright: ignore


# ---- what it reads
def test_a_page_is_its_visible_text_and_its_title(site: Site) -> None:
    site.answers["/tea"] = http(b"<title>Tea &amp; milk</title><script>no()</script><h1>Tea</h1><p>Hot.")
    found = local(site).fetch(site.url("/tea#part"))
    assert (found.title, found.text, found.url) == ("Tea & milk", "Tea\n\nHot.", site.url("/tea"))
    assert found.content_type == "text/html"


def test_it_is_awaited_in_async_code(site: Site) -> None:
    site.answers["/"] = page("Hot.")
    assert asyncio.run(local(site).fetch_async(site.url())).text == "Hot."


def test_it_says_who_it_is_and_sends_nothing_else(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    site.answers["/set"] = redirect("/", status="302 Found\r\nset-cookie: id=secret")
    site.answers["/"] = page("Hot.")
    local(site).fetch(site.url("/set"))
    names_sent = {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert [set(asked.headers) for asked in site.asked] == [names_sent, names_sent]
    assert "trivium" in site.asked[0].headers["user-agent"]
    assert site.asked[0].headers["host"] == site.place


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", b"a  b\r\nc", "a  b\nc"),
        ("text/plain; charset=iso-8859-2", b"\xb1", "ą"),
        ('text/html; charset="windows-1251"', b"\xef\xf0\xe8\xe2\xe5\xf2", "привет"),
        ("text/html", b'<meta charset="shift_jis"><p>' + "日本".encode("shift_jis"), "日本"),
        ("text/html; charset=utf-8", b'<meta charset="latin-1"><p>' + "日本".encode(), "日本"),
        ("text/html; charset=no-such-thing", "é".encode(), "é"),
        ("text/html", "日本".encode("utf-16"), "日本"),
        ("TEXT/Markdown", b"# T\n\n* a", "# T\n\n* a"),
        ("application/json", b'{"a": "\xc3\xa9"}', '{"a": "é"}'),
        ("application/ld+json", b"{}", "{}"),
        ("application/xhtml+xml", b"<html><body><p>a</p></body></html>", "a"),
        ("application/xml", b'<?xml version="1.0" encoding="iso-8859-1"?><a>\xe9</a>',
         '<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>'),
        ("application/rss+xml", b"<a/>", "<a/>"),
        ("text/html", b"a\x00b\x1b[31mc\x7f", "ab[31mc"),
        ("text/plain", b"", ""),
    ],
)  # fmt: skip
def test_types_and_encodings(site: Site, kind: str, body: bytes, text: str) -> None:
    site.answers["/"] = http(body, kind)
    assert local(site).fetch(site.url()).text == text


def test_a_packed_page_is_unpacked(site: Site) -> None:
    site.answers["/"] = http(zipped(b"<p>" + b"tea " * 9000), content_encoding="gzip")
    assert local(site).fetch(site.url()).text.count("tea") == 9000


def test_a_chunked_page_comes_whole(site: Site) -> None:
    site.answers["/"] = CHUNKED + b"3\r\n<p>\r\n3\r\ntea\r\n0\r\n\r\n"
    assert local(site).fetch(site.url()).text == "tea"


# ---- whom it never asks
REFUSED = [
    "", "tea", "//site.example/", "http://", "http:///tea", "http:/site.example/", "https:site.example",
    "file:///etc/passwd", "ftp://site.example/", "gopher://site.example/", "data:text/html,hi", "javascript:alert(1)",
    "ws://site.example/", "unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/info",
    "http://ada:secret@site.example/", "http://ada@site.example/", "http://:secret@site.example/",
    "http://site.example\\@127.0.0.1/", "http://1.1.1.1 &@127.0.0.1/",
    "http://site.example:22/", "http://site.example:8080/", "http://site.example:0/", "http://site.example:99999/",
    "http://site.example:80:80/", "http://site.example:-1/", "https://site.example:٨١/",
    "http://127.0.0.1/", "http://127.1/", "http://127.0.0.1./", "http://2130706433/", "http://0x7f000001/",
    "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://017700000001/", "http://127.0.0.01/", "http://0/",
    "http://１２７.0.0.1/", "http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/", "http://%31%32%37.0.0.1/", "http://0x/",
    "http://0.0.0.0/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/", "http://255.255.255.255/",
    "http://100.64.0.1/", "http://198.18.0.1/", "http://224.0.0.1/", "http://240.0.0.1/", "http://192.0.2.1/",
    "http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/", "http://100.100.100.200/",
    "http://168.63.129.16/", "http://192.0.0.192/",
    "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/", "http://[::127.0.0.1]/",
    "http://[::ffff:7f00:1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::a00:1]/", "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fc00::1]/",
    "http://[fd00:ec2::254]/", "http://[ff02::1]/", "http://[fec0::1]/", "http://[100::1]/", "http://[1:2]/",
    "http://a..example/", "http://-a.example/", "http://a b.example/", "http://" + "a" * 64 + ".example/",
    "http://" + "a." * 127 + "example/", "http://site.example/" + "a" * 5000, "http://site.exa\nmple/",
    "http://site.example/\r\nx: y", "http://site.example\x00.org/",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
def test_a_forbidden_url_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(FetchAddressError, match="may not be opened") as caught:
        Fetcher(resolve=nobody).fetch(url)
    assert "secret" not in str(caught.value) + caught.value.url
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"], ["::1"], ["10.1.2.3"], ["169.254.169.254"], ["::ffff:192.168.0.1"], ["fe80::1%eth0"], ["0.0.0.0"],
        ["93.184.216.34", "127.0.0.1"], ["2606:2800:220:1::1", "::1"], ["no address"], [""],
    ],
)  # fmt: skip
def test_each_address_of_a_host_must_be_public(found: list[str]) -> None:
    with pytest.raises(FetchAddressError, match="not on the public network") as caught:
        Fetcher(resolve=names({"site.example": found})).fetch("https://site.example/tea")
    assert caught.value.url == "https://site.example/tea"
    assert found[-1] == "" or found[-1] not in str(caught.value)  # a model could map a network by it


def test_a_name_for_this_machine_is_refused_with_the_system_s_own_look_up(site: Site) -> None:
    fetcher = Fetcher(allowed_ports=[site.port])
    with pytest.raises(FetchAddressError):
        fetcher.fetch(site.url(host="localhost"))
    assert site.connections == 0


def test_an_unknown_host_is_no_connection() -> None:
    with pytest.raises(FetchConnectionError, match="is not known"):
        Fetcher(resolve=names({})).fetch("http://site.example/")


def test_a_look_up_that_fails_is_no_connection() -> None:
    def resolve(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    with pytest.raises(FetchConnectionError, match="check the URL"):
        Fetcher(resolve=resolve).fetch("http://site.example/")


def test_a_host_is_looked_up_once_and_the_connection_goes_to_what_was_checked(site: Site) -> None:
    answers = iter([["127.0.0.1"], ["192.0.2.9"]])  # whoever looked again would be sent elsewhere

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    site.answers["/"] = page("Hot.")
    fetcher = Fetcher(allowed_hosts=[f"site.example:{site.port}"], resolve=resolve)
    assert fetcher.fetch(site.url(host="site.example")).text == "Hot."
    assert site.asked[0].headers["host"] == f"site.example:{site.port}"
    assert next(answers) == ["192.0.2.9"]


def test_a_host_whose_address_changes_between_two_hops_is_checked_again(site: Site) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    hosts: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        hosts.append(host)
        return next(answers)

    site.answers["/"] = redirect("http://rebind.example/")
    with pytest.raises(FetchAddressError, match="rebind"):
        Fetcher(allowed_hosts=[f"site.example:{site.port}"], resolve=resolve).fetch(site.url(host="site.example"))
    assert hosts == ["site.example", "rebind.example"]


def test_the_next_address_is_tried_where_one_does_not_answer(site: Site) -> None:
    site.answers["/"] = page("Hot.")
    resolve = names({"site.example": ["127.0.0.77", "127.0.0.1"]})
    fetcher = Fetcher(allowed_hosts=[f"site.example:{site.port}"], resolve=resolve)
    assert fetcher.fetch(site.url(host="site.example")).text == "Hot."


@pytest.mark.parametrize("url", ["http://127.0.0.1:{other}/", "http://localhost:{port}/", "http://127.0.0.2:{port}/"])
def test_an_allowed_host_allows_no_other(site: Site, url: str) -> None:
    with Site() as other:
        with pytest.raises(FetchAddressError):
            local(site).fetch(url.format(other=other.port, port=site.port))
        assert (site.connections, other.connections) == (0, 0)


@pytest.mark.parametrize(
    "entry", ["", "10.0.0.0/8", "*", "*.example", "http://site.example", "a b", "ada@site", "a:b", "0x7f.1"]
)
def test_an_entry_of_allowed_hosts_that_is_no_host_is_an_error(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="allowed_hosts"):
        Fetcher(allowed_hosts=[entry])


# ---- redirects
@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd", "ftp://site.example/", "javascript:alert(1)", "data:text/html,hi", "//169.254.169.254/",
        "http://169.254.169.254/latest/meta-data/", "http://127.0.0.1/", "http://2130706433/", "http://[::1]/",
        "http://[::ffff:127.0.0.1]/", "http://ada:secret@127.0.0.1/", "https://127.0.0.1:22/", "http://10.0.0.1:80/",
        "http://site.example:25/", "http://0x7f.1/", "http://[", "http://\x7f/", "http://localhost/",
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", ["301 Moved", "307 Temporary"])
def test_a_redirect_to_a_forbidden_place_is_not_followed(site: Site, location: str, status: str) -> None:
    site.answers["/1"] = redirect("/2", status)
    site.answers["/2"] = redirect(location, status)
    with pytest.raises(FetchAddressError) as caught:
        local(site, resolve=names({"localhost": ["127.0.0.1"]})).fetch(site.url("/1"))
    assert site.paths() == ["/1", "/2"]
    assert "secret" not in str(caught.value)


def test_redirects_are_followed_to_the_page(site: Site) -> None:
    site.answers["/a/0"] = redirect("1?x=1")
    site.answers["/a/1?x=1"] = redirect("../b#part", "308 Permanent")
    site.answers["/b"] = page("Hot.")
    found = local(site).fetch(site.url("/a/0"))
    assert (found.text, found.url) == ("Hot.", site.url("/b"))


@pytest.mark.parametrize("last", [5, 6])
def test_five_redirects_are_followed_and_no_more(site: Site, last: int) -> None:
    for each in range(last):
        site.answers[f"/{each}"] = redirect(f"/{each + 1}")
    site.answers[f"/{last}"] = page("Hot.")
    if last == 5:
        assert local(site).fetch(site.url("/0")).text == "Hot."
        return
    with pytest.raises(FetchStatusError, match="more than 5 redirects"):
        local(site).fetch(site.url("/0"))
    assert len(site.asked) == 6


def test_a_redirect_to_itself_ends(site: Site) -> None:
    site.answers["/"] = redirect("/")
    with pytest.raises(FetchStatusError, match="redirects"):
        local(site).fetch(site.url())


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
     "multipart/mixed", "tea", "", "application/zip; charset=utf-8", "text/css", "x" * 5000 + "\x1b[31m"],
)  # fmt: skip
def test_another_type_is_an_error_that_says_it(site: Site, kind: str) -> None:
    site.answers["/"] = http(b"hello", kind)
    with pytest.raises(FetchContentTypeError) as caught:
        local(site).fetch(site.url())
    said = kind.partition(";")[0]
    assert caught.value.content_type == said
    assert said[:100] in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "gzip, br, gzip", "tea"])
def test_a_packing_that_was_not_asked_for_is_an_error(site: Site, encoding: str) -> None:
    site.answers["/"] = http(zipped(b"hello", 2), content_encoding=encoding)
    with pytest.raises(FetchContentTypeError, match="was not asked for"):
        local(site).fetch(site.url())


BOMB = zipped(bytes(200 << 20))


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
    assert (caught.value.limit, caught.value.url, caught.value.status) == (100_000, site.url(), 200)


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
    with pytest.raises(FetchTimeoutError, match="within 0.3 s") as caught:
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
    from trivium.commander._node import make_scope

    site.answers["/"] = until_closed(threading.Event())
    with pytest.raises(DeadlineExceededError), step("run") as node:
        node._scope = make_scope(node, timeout=0.2, limits=None)
        local(site).fetch(site.url())


# ---- stopping
@pytest.mark.parametrize("head", [b"", LONG + b"hello"])
def test_a_kill_closes_the_connection(site: Site, head: bytes) -> None:
    closed = threading.Event()
    with pytest.raises(RunKilledError, match="enough"), step("run") as node:
        site.answers["/"] = until_closed(closed, head, partial(node.kill, "enough"))
        local(site, timeout=60).fetch(site.url())
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
        with pytest.raises(FetchConnectionError, match="(?i)certificate"):
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
        with pytest.raises(RunKilledError), step("run") as node:
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
