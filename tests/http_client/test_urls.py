"""Addresses: what is parsed as it is sent, what is refused, and where redirects lead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.http import InvalidRequestError
from trivium.http.lowlevel import URL


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("http://site.example", "http://site.example/"),
        ("HTTPS://Site.Example:443/Tea?a=b#c", "https://site.example/Tea?a=b"),
        ("http://site.example:8080/?", "http://site.example:8080/"),
        ("http://site.example:0/", "http://site.example:0/"),
        ("http://site.example./a b/ü?q=1 2&r=ä%20", "http://site.example./a%20b/%C3%BC?q=1%202&r=%C3%A4%20"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("https://[::1]:80/", "https://[::1]:80/"),
        ("http://Bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://straße.example/", "http://xn--strae-oqa.example/"),
        ("http://食狮。中国/", "http://xn--85x722f.xn--fiqs8s/"),
        ("http://①②⑦。0.0.1/", "http://127.0.0.1/"),
    ],
)
def test_an_address_is_written_as_it_is_sent(text: str, sent: str) -> None:
    url = URL.parse(text)
    assert str(url) == repr(url) == sent
    assert URL.parse(sent) == url


def test_the_password_of_an_address_is_not_in_its_repr() -> None:
    url = URL.parse("http://ada:p%40w@Site.example/")
    assert (url.userinfo, str(url), repr(url)) == (
        "ada:p%40w", "http://ada:p%40w@site.example/", "http://site.example/"
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "", "tea", "//site.example/", "http://", "http:///tea", "ftp://site.example/", "http://[::1/",
        "http://site.example:99999/", "http://site.example:-1/", "http://site.example:tea/", "http://a\tb.example/",
        "http://site.example/\r\nx: y", "http://site.example/\0", "http://٠.0.0.1/", "http://❤.example/",
        "http://a\u200d.example/", "http://ü:secret@ｅ／example/",
    ],
)  # fmt: skip
def test_what_is_no_address_of_http_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="begins with") as caught:
        URL.parse(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "http://ada:pw@site.example:81/b"),
        ("../c?d=e#f", "http://ada:pw@site.example:81/c?d=e"),
        ("?x", "http://ada:pw@site.example:81/a/tea?x"),
        ("//other.example/b", "http://other.example/b"),
        ("https://bob:pw@other.example", "https://bob:pw@other.example/"),
        ("http://site.example:82/", "http://site.example:82/"),
        ("/ü".encode().decode("latin-1"), "http://ada:pw@site.example:81/%C3%BC"),
        ("/\xfc", "http://ada:pw@site.example:81/%FC"),
        ("http://bücher.example/".encode().decode("latin-1"), "http://xn--bcher-kva.example/"),
    ],
)
def test_a_redirect_leads_to_an_address(location: str, target: str) -> None:
    joined = URL.parse("http://ada:pw@site.example:81/a/tea?q").join(location)
    assert joined == URL.parse(target)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://[::1/", "javascript:1", "http://site.example:tea/"])
def test_a_redirect_to_what_is_no_address_is_refused(location: str) -> None:
    with pytest.raises(InvalidRequestError):
        URL.parse("http://site.example/").join(location)


@given(st.text(), st.text())
def test_any_text_is_an_address_or_refused(host: str, rest: str) -> None:
    try:
        url = URL.parse(f"http://{host}/{rest}")
    except InvalidRequestError:
        return
    assert repr(url).isascii()
    assert URL.parse(str(url)) == url
