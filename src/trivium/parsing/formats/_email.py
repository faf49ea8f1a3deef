"""E-mail: the usual headers, the body as text, and the files attached to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.policy import compat32
from typing import NamedTuple, cast
from urllib.parse import unquote_to_bytes

from trivium.parsing.formats._dates import mail_date
from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._email_lines import Walk
from trivium.parsing.formats._formats import AttachedFile, Original, Parsed, suffix_of
from trivium.parsing.formats._html import marked_text
from trivium.parsing.formats._lines import split_line_marks, with_line_mark
from trivium.parsing.formats._media_types import CALENDAR, suffix_for

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_LONGEST_HEADER = 20_000  # longer ones stay encoded: the standard library takes quadratic time
_LONGEST_NAME = 200
_SMALL_PICTURE = 100_000  # bytes of a logo; a scan that stands in the text has more
_PICTURE_IN_HTML = re.compile(rb"cid:([^\s\"'<>)]+)", re.I)
_SIGNATURES = frozenset(
    [
        "application/pgp-encrypted",  # it tells the version of what follows
        "application/pgp-signature",
        "application/pkcs7-signature",
        "application/x-pkcs7-signature",
    ]
)
_NEXT_IN_MAILBOX = re.compile(rb"\r?\n\r?\nFrom [^\n]*\d{4}")


class _Body(NamedTuple):
    """The text of a part; `is_plain` if it was written as plain text."""

    text: str
    is_plain: bool


def parse_email(original: Original) -> Parsed:
    """Return the first message: headers as lines, its text (or its HTML as text), the names of the attached files, and
    these files without pictures that only decorate the text and without signatures.

    Raises:
        UnreadableDocumentError: its parts are nested deeper than the interpreter allows.
    """
    file = original.data.removeprefix(b"\xef\xbb\xbf")
    data = file.lstrip(b"\r\n")
    first = 1 + file[: len(file) - len(data)].count(b"\n")
    if data.startswith(b"From "):
        following = _NEXT_IN_MAILBOX.search(data)
        data = data[: following.start()] if following else data
    try:
        # The newer policies parse headers on access, in quadratic time, and raise on malformed ones.
        message = message_from_bytes(data, policy=compat32)
        text, lines = split_line_marks(_message_text(message, Walk(data, first)))
        attached = tuple(_attached_files(message))
    except RecursionError:
        raise original.unreadable("this e-mail nests its parts too deeply; save its text and give that") from None
    published = mail_date(_header(message, "Date"))
    return Parsed(text, _header(message, "Subject") or None, lines=lines, published=published, attached=attached)


def _message_text(message: Message, walk: Walk) -> str:
    """Return the text of a message, with marks of its lines in the file."""
    attached: list[str] = []
    at = walk.headers()
    found = [(name, value) for name in _HEADERS if (value := _header(message, name))]
    found.sort(key=lambda header: at.get(header[0].lower(), 0))  # the order of the file: citations name its lines
    headers = [_marked(f"{name}: {value}", at.get(name.lower())) for name, value in found]
    body = _body(message, attached, walk).text.strip("\r\n")
    return "\n\n".join(block for block in ("\n".join(headers), body, "\n".join(attached)) if block) + "\n"


def _header(message: Message, name: str) -> str:
    # The raw values: reading them by name would replace bytes beyond ASCII.
    values = (str(value) for key, value in message.raw_items() if key.lower() == name.lower())
    return tidy(", ".join(_decoded(value) for value in values))


def _decoded(value: str) -> str:
    # Bytes beyond ASCII, which a header should not hold, arrive as surrogates.
    plain = " ".join(decode(value.encode("utf-8", "surrogateescape")).split())
    if len(plain) > _LONGEST_HEADER:
        return plain
    try:
        parts = decode_header(plain)
    except (HeaderParseError, ValueError):
        return plain
    words: list[str] = []
    for part, charset in parts:
        if isinstance(part, str):
            words.append(part)
        else:  # the standard library gives the text between encoded words as bytes of raw-unicode-escape
            words.append(decode(part, charset) if charset else part.decode("raw-unicode-escape", "replace"))
    return " ".join("".join(words).split()) or plain  # a broken encoded word decodes to nothing


def _marked(text: str, line: int | None) -> str:
    return text if line is None else with_line_mark(text, line)


def _body(part: Message, attached: list[str], walk: Walk) -> _Body:
    """Return the text of a part whose body begins where the walk is; add the names of attachments to `attached`."""
    kind = part.get_content_type()
    if kind == "message/rfc822":
        return _Body("\n".join(_message_text(inner, walk) for inner in _children(part)), True)
    if part.is_multipart():
        bodies = [_part(child, part, attached, walk) for child in _children(part)]
        filled = [body for body in bodies if body.text.strip()]
        plain = [body for body in filled if body.is_plain]
        if kind == "multipart/alternative":  # renderings of one text, the richest last (RFC 2046): prefer the plain one
            return plain[0] if plain else filled[-1] if filled else _Body("", False)
        return _Body("\n\n".join(body.text.strip("\r\n") for body in filled), bool(plain))
    if _is_attached(part):
        attached.append(f"Attachment: {_name_of(part)[:_LONGEST_NAME]}")
        return _Body("", False)
    text = walk.mark_lines(part, tidy(_payload(part)))
    return (
        _Body(marked_text(*split_line_marks(text)), False) if kind == "text/html" else _Body(text, kind == "text/plain")
    )


def _part(part: Message, container: Message, attached: list[str], walk: Walk) -> _Body:
    walk.next_part(container)
    at = walk.headers()
    known = len(attached)
    body = _body(part, attached, walk)
    line = at.get("content-disposition", at.get("content-type"))
    attached[known:] = [_marked(name, line) for name in attached[known:]]
    return body


def _children(part: Message) -> Iterator[Message]:
    payload = part.get_payload()
    if isinstance(payload, list):
        yield from cast("list[Message]", payload)


def _payload(part: Message) -> str:
    return decode(_bytes_of(part), _charset_of(part) or "")


def _bytes_of(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _charset_of(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except (LookupError, ValueError):  # an extended parameter (RFC 2231) in an unknown encoding
        return None


def _name_of(part: Message) -> str:
    """Return the name of an attached file on one line; without one its media type in brackets."""
    try:
        name = tidy(_decoded(str(part.get_filename() or "")))
    except (LookupError, ValueError):
        name = ""
    return name or f"({part.get_content_type()})"


def _is_attached(part: Message) -> bool:
    is_text = part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment"
    # An invitation is declared to be another form of the text, but has the time and the place.
    return not part.is_multipart() and (not is_text or part.get_content_type() == CALENDAR)


def _attached_files(message: Message) -> Iterator[AttachedFile]:
    """Yield the files attached to a message, and to those within it, that may hold text of their own."""
    parts = list(message.walk())
    pages = [_bytes_of(part) for part in parts if part.get_content_type() == "text/html"]
    shown = {unquote_to_bytes(found) for page in pages for found in _PICTURE_IN_HTML.findall(page)}
    for part in filter(_is_attached, parts):
        data, name, kind = _bytes_of(part), _name_of(part), part.get_content_type()
        suffix = suffix_of(name)
        own = str(part.get("content-id", "")).strip("<> ").encode("utf-8", "surrogateescape")
        is_decoration = kind.startswith("image/") and own in shown and len(data) <= _SMALL_PICTURE
        if not is_decoration and kind not in _SIGNATURES and suffix != ".p7s":
            yield AttachedFile(name[:_LONGEST_NAME], suffix or suffix_for(kind), _charset_of(part), data)
