"""Lines of the file: whatever becomes of a text when it is read, each of its words is cited where it was written."""

from __future__ import annotations

import re
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.parsing import Locator, read
from trivium.parsing.formats._formats import Original
from trivium.parsing.formats._lines import line_mark, line_starts, split_line_marks, with_line_marks
from trivium.parsing.formats._reading import read_original
from trivium.schema import DocMetaData, Document

WORD = re.compile(r"w\d+x")


def document(text: str | bytes, suffix: str) -> Document:
    data = text if isinstance(text, bytes) else text.encode()
    return read_original(Original(data, f"a{suffix}", suffix, 10_000_000))


def words_at(found: Document) -> dict[str, int]:
    """The words of a document, each of which occurs once, with the line that is cited for them."""
    locator = Locator(found)
    return {word[0]: locator.place(word.start()).line for word in WORD.finditer(found.content)}


def lines_of(text: str) -> dict[str, int]:
    return {word[0]: text.count("\n", 0, word.start()) + 1 for word in WORD.finditer(text)}


PIECES = st.lists(
    st.sampled_from([
        "WORD ", "WORD", " ", "\n", "\n\n", "<p>", "</p>", "<b>", "</b>", "<br>\n", "<ul><li>", "</ul>", "<pre>\n",
        "</pre>",
        "<table>", "<tr>\n<td>", "<td\n class='a'>", "</table>", "<!-- a\nb -->", "<script>a\n</script>", "&nbsp;",
        "&amp;", "&#10;", "<div hidden>\n", "</div>", "<title>\nWORD</title>", "\u200b", "\t", "é", "<textarea>",
        "<p\n>", "a<b", "&am",
    ]),
    max_size=40,
)  # fmt: skip


def numbered(pieces: list[str]) -> str:
    """A text in which each WORD is another one."""
    parts = "".join(pieces).split("WORD")
    return "".join(part + f"w{number}x" for number, part in enumerate(parts[:-1])) + parts[-1]


@settings(max_examples=120)
@given(PIECES, st.sampled_from(["\n", "\r\n"]))
def test_words_of_a_page_are_cited_by_the_line_of_the_file(pieces: list[str], end: str) -> None:
    page = "<p>first" + numbered(pieces)
    found = document(page.replace("\n", end), ".html")
    expected = lines_of(page)
    cited = words_at(found)
    assert cited == {word: expected[word] for word in cited}


def test_lines_of_a_page() -> None:
    page = "<html><head><title>A\nb</title></head>\n<body>\n<h1>Fees</h1>\n<table><tr><td>Entry\n<td>5 EUR</table>\n"
    found = document(page + "<p>All fees\nare due\n  in <b>May</b>.", ".html")
    locator = Locator(found)
    text = found.content
    assert text == "Fees\n\nEntry | 5 EUR\n\nAll fees are due in May.\n"
    assert {word: locator.place(text.index(word)).line for word in ("Fees", "Entry", "5 EUR", "All", "are", "May")} == {
        "Fees": 4, "Entry": 5, "5 EUR": 6, "All": 7, "are": 8, "May": 9,
    }  # fmt: skip
    assert found.metadata.title == "A b"


def mail(parts: list[tuple[str, str, str]], subject: str, wrapped: bool) -> EmailMessage:
    message = EmailMessage(policy=SMTP if wrapped else SMTP.clone(linesep="\n"))
    message["Subject"] = subject
    message["From"] = "Ada <ada@example.org>"
    message["X-Other"] = "nothing"
    message["Date"] = "Fri, 01 Mar 2024 10:30:00 +0100"
    message["To"] = "bob@example.org"
    kind, encoding, text = parts[0]
    message.set_content(text, subtype=kind, cte=encoding)
    for kind, encoding, text in parts[1:]:
        message.add_attachment(text, subtype=kind, cte=encoding, disposition="inline", filename="w999x.txt")
    return message


TEXT = st.lists(
    st.sampled_from(["WORD ", "\n", "é ", "a b c ", "long " * 12, "=", "&amp; ", "  "]), min_size=1, max_size=20
)
PARTS = st.lists(
    st.tuples(st.sampled_from(["plain", "html"]), st.sampled_from(["quoted-printable", "base64", "8bit"]), TEXT),
    min_size=1,
    max_size=3,
)


def file_lines(data: bytes, words: list[str]) -> dict[str, set[int]]:
    """Where words stand in a message as it is in the file, by its own decoding of one line after the other."""
    import base64
    import quopri

    found: dict[str, set[int]] = {}
    held = b""
    for number, line in enumerate(data.splitlines(), 1):
        readings = [(line, {number}), (quopri.decodestring(line), {number})]
        if re.fullmatch(rb"[A-Za-z0-9+/]+={0,2}", line):
            decoded = base64.b64decode(line + b"==")
            readings.append((held + decoded, {number, number - 1}))
            held = decoded
        for reading, numbers in readings:
            for word in words:
                if word.encode() in reading:
                    found.setdefault(word, set()).update(numbers)
    return found


@settings(max_examples=50, deadline=None)
@given(PARTS, st.booleans())
def test_words_of_a_message_are_cited_by_the_line_of_the_file(
    parts: list[tuple[str, str, list[str]]], wrapped: bool
) -> None:
    count = 0
    given_parts: list[tuple[str, str, str]] = []
    for kind, encoding, pieces in parts:
        text = "".join(pieces)
        while "WORD" in text:
            text = text.replace("WORD", f"w{count}x", 1)
            count += 1
        given_parts.append((kind, encoding, text + "\nend\n"))
    data = mail(given_parts, "About w500x", wrapped).as_bytes()
    cited = words_at(document(data, ".eml"))
    assert {f"w{number}x" for number in range(count)} <= cited.keys()
    stands = file_lines(data, list(cited))
    wrong = {word: (line, stands.get(word)) for word, line in cited.items() if line not in stands.get(word, {line})}
    assert not wrong


def test_lines_of_a_message() -> None:
    data = (
        b"From x Fri Mar  1 10:30:00 2024\nReceived: here\n by there\nSubject: Lease\nFrom: ada@a.org\n"
        b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\npreamble\n--b\nContent-Type: text/plain\n'
        b"Content-Transfer-Encoding: quoted-printable\n\nThe rent is=\n 950 EUR.\n\nBye\n--b\n"
        b"Content-Type: text/html\n\n<p>In\n<b>May</b>\n--b\nContent-Type: image/png\n"
        b'Content-Disposition: attachment; filename="plan.png"\n\n\0\0\n--b--\n'
    )
    found = document(data, ".eml")
    assert found.content == (
        "Subject: Lease\nFrom: ada@a.org\n\nThe rent is 950 EUR.\n\nBye\n\nIn May\n\nAttachment: plan.png\n"
    )
    locator = Locator(found)
    lines = {word: locator.place(found.content.index(word)).line for word in
             ("From", "Subject", "rent", "950", "Bye", "In", "May", "Attachment")}  # fmt: skip
    assert lines == {"From": 5, "Subject": 4, "rent": 14, "950": 15, "Bye": 17, "In": 21, "May": 22, "Attachment": 25}


@pytest.mark.parametrize(
    "data",
    [
        b"From: a@b\nMIME-Version: 1.0\nContent-Type: multipart/mixed\n\nw1x\n",
        b"From: a@b\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\nno part w1x\n",
        b"From: a@b\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\nd!F4\n",
        b"From: a@b\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-16\n"
        b"Content-Transfer-Encoding: base64\n\n//53ADEA\neAAK\nAA==",
        b"From: a@b\nMessage-ID: 1\nno header w1x\n",
        b"From: a@b\nMessage-ID: 1",
    ],
)
def test_a_broken_message_is_read_as_before(data: bytes) -> None:
    found = document(data, ".eml")
    locator = Locator(found)
    for offset in range(len(found.content)):
        assert locator.place(offset).line >= 1


def test_dates_and_titles() -> None:
    message = document(mail([("plain", "8bit", "hello")], "Lease", False).as_bytes(), ".eml").metadata
    assert (message.title, message.published_date) == ("Lease", "2024-03-01T10:30:00+01:00")
    pages = {
        '<meta property="article:published_time" content="2024-03-01T10:30:00Z"><time datetime=2020-01-01>x</time>':
            "2024-03-01T10:30:00+00:00",
        "<p>On <time datetime='2023-05-06'>6 May</time>": "2023-05-06",
        "<meta name=date content=soon><p>x": "Unknown Date",
        "<p>x": "Unknown Date",
    }  # fmt: skip
    assert {page: document(page, ".html").metadata.published_date for page in pages} == pages
    assert document(b"From: a@b\nDate: someday\n\nhi", ".eml").metadata.published_date == "Unknown Date"


# --- the map itself ---------------------------------------------------------------------------------------------------


@given(st.text(alphabet="ab \n\u200b", max_size=40), st.integers(1, 2**30 - 100))
def test_marks_leave_the_text_and_tell_its_lines(text: str, first: int) -> None:
    plain, pairs = split_line_marks(with_line_marks(text, first))
    assert plain == text
    locator = Locator(Document(content=text, metadata=DocMetaData(source_lines=pairs)))
    for offset, letter in enumerate(text):
        if letter in "ab":
            assert locator.place(offset).line == first + text.count("\n", 0, offset)
    assert len(pairs) <= 1


@given(st.lists(st.tuples(st.text(alphabet="a\n", min_size=1, max_size=5), st.integers(1, 50)), max_size=6))
def test_line_starts_are_what_a_locator_says(parts: list[tuple[str, int]]) -> None:
    text, pairs = split_line_marks("".join(line_mark(line) + part for part, line in parts))
    starts = list(line_starts(text, pairs))
    locator = Locator(Document(content=text, metadata=DocMetaData(source_lines=pairs)))
    assert [offset for offset, _ in starts] == sorted({offset for offset, _ in starts})
    for offset, line in starts:
        assert locator.place(offset).line == line
    assert {offset for offset, _ in starts} >= {0, *(end.end() for end in re.finditer("\n", text))}


def test_pages_and_rows_are_both_told() -> None:
    rows = Document(content="A\nx\n\nB\ny\n", metadata=DocMetaData(pages=(0, 5), source_lines=((0, 1), (2, 7), (5, 1))))
    locator = Locator(rows)
    assert [str(locator.place(offset)) for offset in (0, 2, 5, 7)] == [
        "page 1, line 1", "page 1, line 7", "page 2, line 1", "page 2, line 2",
    ]  # fmt: skip


def test_a_file_of_text_needs_no_map(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("one\r\ntwo\n")
    assert read(path).metadata.source_lines == ()
