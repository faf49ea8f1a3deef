"""The fetcher: what it reads, whom it never asks, and where it does not follow."""

from __future__ import annotations

import asyncio
import socket

import pytest

from trivium.actions.web import Fetcher
from trivium.exceptions import (
    ConfigurationError,
    FetchAddressError,
    FetchConnectionError,
    FetchStatusError,
)

from ._sites import (
    CHUNKED,
    Site,
    http,
    local,
    names,
    page,
    redirect,
    zipped,
)


def nobody(host: str, port: int) -> list[str]:
    raise AssertionError(f"{host} was looked up")


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
        ["127.0.0.1"], ["::1"], ["10.1.2.3"], ["169.254.169.254"], ["::ffff:192.168.0.1"], ["fe80::1%eth0"],
        ["0.0.0.0"], ["93.184.216.34", "127.0.0.1"], ["2606:2800:220:1::1", "::1"], ["no address"], [""],
    ],
)  # fmt: skip
def test_each_address_of_a_host_must_be_public(found: list[str]) -> None:
    with pytest.raises(FetchAddressError, match="not on the public network") as caught:
        Fetcher(resolve=names({"site.example": found})).fetch("https://site.example/tea")
    assert caught.value.url == "https://site.example/tea"
    assert found[-1] == "" or found[-1] not in str(caught.value)  # a model could map a network by it


@pytest.mark.parametrize("url", ["http://site.example:8080/", "http://127.0.0.1/"])
def test_a_server_of_one_s_own_comes_with_the_option_that_allows_it(url: str) -> None:
    with pytest.raises(FetchAddressError, match=r"in Fetcher\(allowed_hosts=…\); nothing was sent there"):
        Fetcher(resolve=nobody).fetch(url)


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
        "http://site.example:25/", "/" + "a" * 5000, "http://0x7f.1/", "http://[", "http://%7f/", "http://localhost/",
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
    site.answers["/utf8"] = redirect("/ü")
    site.answers["/%C3%BC"] = redirect("/b")
    site.answers["/a/0"] = redirect("1?x=1")
    site.answers["/a/1?x=1"] = redirect("../b#part", "308 Permanent")
    site.answers["/b"] = page("Hot.")
    found = local(site).fetch(site.url("/a/0"))
    assert (found.text, found.url) == ("Hot.", site.url("/b"))
    assert local(site).fetch(site.url("/utf8")).url == site.url("/b")


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
