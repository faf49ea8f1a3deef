"""HTML and e-mail: what a person would read, in every encoding, in linear time, whatever is broken."""

from __future__ import annotations

from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import UnreadableDocumentError
from trivium.parsing import Locator, MailDocument, read
from trivium.parsing.formats._email import parse_email
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._html import parse_page
from trivium.parsing.formats._markup import Tag, tokenize_html
from trivium.schema import Document

# --- HTML ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>Rent<del>5 EUR</del><ins>6 EUR</ins> <s>7</s></p>", "Rent ~~5 EUR~~ 6 EUR ~~7~~"),
        ("<p>x<del>y</del>z, (<s>10</s>), w<s>in<s>g</s></s></p>", "x~~y~~z, (~~10~~), w~~ing~~"),
        ("<del><p>gone</p></del><p>stay</p><s></s><s>open<p>rest", "~~gone~~\n\nstay\n\nopen\n\nrest"),
        (
            "<h1>Head</h1><p>One\n two<br>three</p><ul><li>a<li>b</ul>end",
            "Head\n\nOne two\nthree\n\na\nb\n\nend",
        ),
        ("a<script>if (1<2) {'</p>'}</script><style>p{}</style><noscript>n</noscript>b", "ab"),
        ("Fish &amp; chips&nbsp;&euro;5 &#8364; &lt;b&gt; &bogus;", "Fish & chips €5 € <b> &bogus;"),
        ("&lt; &#" + "9" * 5000, "< &#" + "9" * 5000),
        ("<b>bo</b>ld <i> it </i>!", "bold it !"),
        ("<pre>a\n  b\n\nc</pre>d", "a\n  b\n\nc\n\nd"),
        ("a<!-- <p>no</p> -->b<!---->c<!-->d<?php no ?>e<![CDATA[no]]>f", "abcdef"),
        ("1 < 2 and 3 > 2 <3", "1 < 2 and 3 > 2 <3"),
        ("<a title='x > y' href=don't>link</a> <p title=\"a>b\">c", "link\n\nc"),
        (
            "<div hidden>no<div>no</div></div>a<p style='color:red; display : none'>no<p>b<b hidden>no</b>",
            "a\n\nb",
        ),
        ("<ul><li hidden>no</ul>yes <img hidden>yes<div hidden=until-found>yes</div>", "yes yes\nyes"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zerowidth"),
        ("<svg><title>no</title><text>no</text></svg>a<svg/>b<template>no</template>", "ab"),
        ("<textarea><b>as is</b></textarea>", "<b>as is</b>"),
    ],
)
def test_visible_text(markup: str, text: str) -> None:
    assert parse_page(markup).text == f"{text}\n"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<b>249<sup>99</sup> €</b>", "249^99 €"),
        ("1.250<sup>1</sup> € 500,00<sup>2)</sup>", "1.250^1 € 500,00^2)"),
        ("250.<sup>1</sup> 12,<sup>99</sup> € <b>7<sup>a</sup></b>", "250.^1 12,99 € 7a"),
        ("<sup>1</sup>250 € <sup>2</sup> 300 €, 8 <sup>100</sup>", "1^ 250 € 2^ 300 €, 8 ^100"),
        ("7<sup>1</sup><sup>2</sup>, 6<sup>1,2</sup>5", "7^1^2, 6^1,2^ 5"),
        ("10 m<sup>2</sup> CO<sub>2</sub> 500, 2<sup>nd</sup>, 9<sup></sup>9", "10 m2 CO2 500, 2nd, 99"),
        ("5<sup>1</sup>/<sub>2</sub>, 24<sub>99</sub>, log<sub>2</sub>8", "5^1/2, 24_99, log2_ 8"),
        ("<s>24<sup>99</sup></s>, 24<sup><s>9</s></sup>, 24<sup> 99 ", "~~24^99~~, 24 ~~9~~, 24 99"),
        ("<table><tr><td>Price<td>249<sup>99</sup> €<tr><td>a<td>b</table>", "Price | 249^99 €\na | b"),
        ("<p>Price<sup>1</p><p>249<sup>99</sup> €", "Price1\n\n249^99 €"),
        ("10<sup>-3</sup>, 10<sup>−3</sup>", "10^-3, 10^−3"),
        ("5\ufdd26\ufdd3", "56"),
    ],
)
def test_raised_and_lowered_digits_do_not_join_those_beside_them(markup: str, text: str) -> None:
    assert parse_page(markup).text == f"{text}\n"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("<input type=checkbox checked> Mail <input type=CHECKBOX> Ads", "☒ Mail ☐ Ads"),
        ("<label><input type=radio>A</label><label><input type=radio checked='checked'>B</label>", "○ A ◉ B"),
        ("Name: <input value='Ada &amp; Bob'><input type=date value=2025-03-01>", "Name: Ada & Bob 2025-03-01"),
        ("<select><option>A<option selected>B</select>", "A\n◉ B"),
        ("a<input type=hidden value=x><input type=password value=y><input type=checkbox style='display:none'>", "a"),
        ("</form><input type=checkbox id=menu>Menu<form>", "Menu"),
    ],
)
def test_forms_have_their_entries_and_choices(form: str, text: str) -> None:
    assert parse_page(f"<form>{form}</form>").text == f"{text}\n"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("<tr><td>A<td rowspan=2>9<td>1<tr><td>B<td>7<tr><td>C<td>2<td>3", "A | 9 | 1\nB | 9 | 7\nC | 2 | 3"),
        (
            "<tr><th colspan=2>Price<th rowspan=2>Name<tr><th>net<th>gross<tr><td>5<td>6<td>Ada",
            "Price | Name\nnet | gross | Name\n5 | 6 | Ada",
        ),
        ("<tr><td colspan=2>North<td>6<td rowspan=2>paid<tr><td>S<td>5<td>7", "North | 6 | paid\nS | 5 | 7 | paid"),
        ("<tr><td rowspan=4><p>Nav<p>Two<td>a<tr><td>b<tr><td>c", "Nav\n\nTwo\na\nb\nc"),
        ("<tr><td rowspan=4><a>Nav</a> <a>Two</a><td>a<tr><td>b<tr><td>c<td>d", "Nav Two | a\nb\n | c | d"),
        ("<tr><td rowspan=3><p>1<br>x</p><td>a<tr><td><tr><td>c", "1 x | a\n1 x | c"),
        ("<tr><th rowspan=3>A<th>x</tr><tr><td>y</tr><tr></tr><tbody><tr><td>b<td>z", "A | x\nA | y\nb | z"),
        ("<tr><th>Item</th><th>Price</th></tr><tr><td>Tea<td>2&nbsp;€", "Item | Price\nTea | 2 €"),
        ("<thead><tr><td>a<td>b<tbody><tr><td>c<td>d", "a | b\nc | d"),
        ("<tr><td><p>a</p></td><td>Main St<br>\nTown</td><td></td><td>d</td>", "a | Main St Town |  | d"),
        ("<caption>Fees</caption><td>a</td><td>b</td>", "Fees\n\na | b"),
        ("<tr><td></td><td>alone</td></tr><tr><td></td></tr>", "alone"),
        ("<tr><td><p>One.</p><p>Two.</p></td><td>side</td></tr>", "One.\n\nTwo.\nside"),
        ("<tr><td>menu</td><td><table><tr><td>a<td>b</table></td></tr>", "menu\na | b"),
    ],
)
def test_tables(rows: str, text: str) -> None:
    assert parse_page(f"before<table>{rows}</table>after").text == f"before\n\n{text}\n\nafter\n"


@pytest.mark.parametrize(
    ("encoding", "head"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", "<meta charset=utf-16>"),
        ("cp1252", ""),
        ("cp1252", "<meta charset='iso-8859-1'>"),
        ("cp1252", "<meta charset=utf-8>"),  # wrong, as many pages are
        ("cp1252", "<meta charset=idna>"),
        ("utf-8", "<meta charset=utf-16>"),
        ("cp850", '<meta http-equiv="Content-Type" content="text/html; charset=cp850">'),
        ("iso-8859-15", "<?xml version='1.0' encoding='iso-8859-15'?>"),
    ],
)
def test_html_encodings(tmp_path: Path, encoding: str, head: str) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(f"{head}<title>Prix\n &amp; café</title><p>Garçon à 5".encode(encoding))
    document = read(path)
    assert document.content == "Garçon à 5\n"
    assert document.metadata.title == "Prix & café"


def test_shift_jis(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes("<meta charset=Shift_JIS><p>東京都".encode("shift_jis"))
    assert read(path).content == "東京都\n"


# fmt: off
PIECES_OF_HTML = [
    "<", ">", "</", "<!--", "-->", "<p", "<td>", "<tr>", "<table>", "</table>", "</td>", "</p>", "<pre>", "a",
    "\n", '"', "'", "=", "/", "&", "<script>", "</script", "<title>", "<div hidden>", "</div>", "<li hidden>",
    "<svg/>", " ",
]
HOSTILE = [
    "<!--", '<a b=">"', "<a b='", "<table><td>", "<div>", "<title>", "&amp", "<a b=\"'>", "</", "<b",
    "<script>", "<p hidden>", "<td>", "<!", "<a =",
]
# fmt: on


@given(st.lists(st.sampled_from(PIECES_OF_HTML)).map("".join))
def test_no_markup_crashes(markup: str) -> None:
    assert parse_page(markup).text.endswith("\n")


@pytest.mark.parametrize("text", ["<" * 100_000, "1 < 2 << 3 <= <", "<<\n< "])
def test_signs_that_begin_no_tag_are_one_text(text: str) -> None:
    assert [*tokenize_html(f"{text}<br>{text}")] == [text, Tag("br", is_end=False, rest=""), text]


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_markup_takes_linear_time(piece: str) -> None:
    def seconds(count: int) -> float:
        start = process_time()
        parse_page(piece * count)
        return process_time() - start

    count = 240_000 // len(piece)
    assert any(seconds(4 * count) < 10 * seconds(count) + 0.2 for _ in range(5))


# --- e-mail -------------------------------------------------------------------------------------------------


def mail(body: str = "Grüße,\nJörg\n", charset: str = "utf-8", encoding: str = "quoted-printable") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Jörg Müller <joerg@example.org>"
    message["To"] = "a@example.org, Zoë <z@example.org>"
    message["Cc"] = "c@example.org"
    message["Date"] = "Mon, 03 Mar 2025 10:00:00 +0100"
    message["Subject"] = "Rechnung über 5 € und noch ein langer Betreff, der umgebrochen werden muss: 4711"
    message["X-Other"] = "not shown"
    message.set_content(body, charset=charset, cte=encoding)
    return message


HEADERS = """\
From: Jörg Müller <joerg@example.org>
To: a@example.org, Zoë <z@example.org>
Cc: c@example.org
Date: Mon, 03 Mar 2025 10:00:00 +0100
Subject: Rechnung über 5 € und noch ein langer Betreff, der umgebrochen werden muss: 4711
"""


def read_mail(folder: Path, data: bytes, name: str = "a.eml") -> Document:
    path = folder / name
    path.write_bytes(data)
    return read(path)


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "cp1252", "cp850"])
@pytest.mark.parametrize("encoding", ["quoted-printable", "base64"])
def test_mail_charsets(tmp_path: Path, charset: str, encoding: str) -> None:
    document = read_mail(tmp_path, mail(charset=charset, encoding=encoding).as_bytes())
    assert document.content == f"{HEADERS}\nGrüße,\nJörg\n"
    assert document.metadata.media_type == "message/rfc822"
    assert str(document.metadata.title).startswith("Rechnung über 5 €")


def test_mail_with_crlf_and_utf8_headers(tmp_path: Path) -> None:
    data = mail(encoding="8bit").as_bytes(policy=SMTP.clone(utf8=True))
    assert read_mail(tmp_path, data).content == f"{HEADERS}\nGrüße,\nJörg\n"


def test_plain_text_is_preferred_and_attachments_are_named_and_read(tmp_path: Path) -> None:
    message = mail("plain\n")
    message.add_alternative("<p>rich", subtype="html")
    message.add_attachment(b"\0", maintype="application", subtype="pdf", filename="Übersicht 1.pdf")
    message.add_attachment("shown\n", filename="notes.txt")
    text = read_mail(tmp_path, message.as_bytes()).content
    assert (
        text
        == f"{HEADERS}\nplain\n\nAttachment: Übersicht 1.pdf\nAttachment: notes.txt\n\nAttachment: notes.txt\nshown\n"
    )


def test_an_invitation_has_its_time_and_place(tmp_path: Path) -> None:
    message = mail("Please come.\n")
    event = "DTSTART:20240305T100000\nLOCATION:Room 7\\, no\n rth\nSUMMARY:Audit\\nof May\n"
    message.add_alternative(event, subtype="calendar")
    found = read_mail(tmp_path, message.as_bytes())
    assert isinstance(found, MailDocument)
    assert found.content.startswith(f"{HEADERS}\nPlease come.\n\nAttachment: (text/calendar)\n\nAttachment: (text/")
    text = found.attachments[0].document
    assert text.content == "DTSTART:20240305T100000\nLOCATION:Room 7, north\nSUMMARY:Audit of May\n"
    assert Locator(text).place(text.content.index("Audit")).line == 4


def test_html_mail_becomes_text(tmp_path: Path) -> None:
    message = mail(" \n")
    message.add_alternative("<p>Total<table><tr><td>5<td>€</table>", subtype="html")
    assert read_mail(tmp_path, message.as_bytes()).content == f"{HEADERS}\nTotal\n\n5 | €\n"


def test_a_forwarded_message_is_read(tmp_path: Path) -> None:
    message = mail("See below.\n")
    message.add_attachment(mail("Inner text.\n"))
    assert read_mail(tmp_path, message.as_bytes()).content == f"{HEADERS}\nSee below.\n\n{HEADERS}\nInner text.\n"


@pytest.mark.parametrize("name", ["a.mbox", "saved"])
def test_the_first_message_of_a_mailbox(tmp_path: Path, name: str) -> None:
    mailbox = b"From joerg@example.org Mon Mar  3 10:00:00 2025\nMIME-Version: 1.0\n" + mail("one\n").as_bytes()
    text = read_mail(tmp_path, mailbox + b"\n" + mailbox.replace(b"one", b"two"), name).content
    assert text == f"{HEADERS}\none\n"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"From: =?x-none?q?J=F6rg?= <a@b>\n\nhi", "From: Jörg <a@b>\n\nhi\n"),
        (b"From: J\xf6rg\nSubject: a\n\tb\n\nhi", "From: Jörg\nSubject: a b\n\nhi\n"),
        (b"Subject: =?utf-8?b?!!!?=\n\nhi", "Subject: =?utf-8?b?!!!?=\n\nhi\n"),
        (b"Content-Type: text/plain; charset=nonsense\n\nJ\xf6rg", "Jörg\n"),
        (b"Content-Type: text/plain; charset*=''%\n\nhi", "hi\n"),
        (b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\ncut", "cut\n"),
        (b"Content-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAA=", "Attachment: (image/png)\n"),
        (b"no header at all\n", "no header at all\n"),
    ],
)
def test_malformed_mail(tmp_path: Path, data: bytes, text: str) -> None:
    assert read_mail(tmp_path, data).content == text


# fmt: off
PIECES_OF_MAIL = [
    "From: ", "Subject: ", "Content-Type: ", "multipart/mixed; boundary=x", "text/html", "message/rfc822",
    "\n", "\n\n", "--x", "--x--", "=?utf-8?", "b?", "q?", "?=", "; charset*0*=", "'", "%",
    "Content-Disposition: ", "attachment", "; filename*=", "utf-9''a",
    "\udcff", "Content-Transfer-Encoding: base64\n", '"', "<p>a",
]
# fmt: on


@given(st.lists(st.sampled_from(PIECES_OF_MAIL)))
def test_no_mail_crashes(pieces: list[str]) -> None:
    data = "".join(pieces).encode("utf-8", "surrogateescape")
    parse_email(Original(data, "a.eml", ".eml", 1000)).text.encode("utf-8")


def test_mail_nested_too_deeply(tmp_path: Path) -> None:
    data = b"".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (n, n) for n in range(3000))
    with pytest.raises(UnreadableDocumentError, match="nests its parts"):
        read_mail(tmp_path, data)


def test_cells_that_take_many_rows_are_repeated_within_a_limit() -> None:
    markup = f"<table><tr><td rowspan=60000>{'x' * 5000}" + "<td rowspan=60000>y" * 500 + "<tr><td>z" * 5000
    assert len(parse_page(markup).text) < 3 << 20
