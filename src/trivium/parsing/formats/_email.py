"""E-mail: the headers that people read, the body as text, the names of what is attached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.policy import compat32
from typing import NamedTuple, cast

from trivium.parsing.formats._dates import mail_date
from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._email_lines import Walk
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._html import marked_text
from trivium.parsing.formats._lines import split_line_marks, with_line_mark

__all__ = ["parse_email"]

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_LONGEST_HEADER = 20_000  # longer ones stay encoded: the standard library takes quadratic time
_NEXT_IN_MAILBOX = re.compile(rb"\r?\n\r?\nFrom [^\n]*\d{4}")


class _Body(NamedTuple):
    """What a part says, and whether that was written as plain text."""

    text: str
    is_plain: bool


def parse_email(original: Original) -> Parsed:
    """The first message: its headers as lines, its text (or its HTML as text), the attachments' names.

    Raises:
        UnreadableDocumentError: its parts are nested deeper than the interpreter allows.
    """
    whole = original.data.removeprefix(b"\xef\xbb\xbf")
    data = whole.lstrip(b"\r\n")
    first = 1 + whole[: len(whole) - len(data)].count(b"\n")
    if data.startswith(b"From "):
        following = _NEXT_IN_MAILBOX.search(data)
        data = data[: following.start()] if following else data
    try:
        # The newer policies parse headers on access, in quadratic time, and raise on malformed ones.
        message = message_from_bytes(data, policy=compat32)
        text, lines = split_line_marks(_message_text(message, Walk(data, first)))
    except RecursionError:
        raise original.unreadable("this e-mail nests its parts too deeply; save its text and give that") from None
    published = mail_date(_header(message, "Date"))
    return Parsed(text, _header(message, "Subject") or None, lines=lines, published=published)


def _message_text(message: Message, walk: Walk) -> str:
    """The text of a message, with marks of the lines on which it stands in the file."""
    attached: list[str] = []
    at = walk.headers()
    shown = [(name, value) for name in _SHOWN if (value := _header(message, name))]
    shown.sort(key=lambda header: at.get(header[0].lower(), 0))  # as in the file, whose lines a citation names
    headers = [_glued(f"{name}: {value}", at.get(name.lower())) for name, value in shown]
    body = _body(message, attached, walk).text.strip("\r\n")
    return "\n\n".join(block for block in ("\n".join(headers), body, "\n".join(attached)) if block) + "\n"


def _header(message: Message, name: str) -> str:
    # As they were sent: reading them by name would replace bytes beyond ASCII.
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
    words = "".join(_word(part, charset) for part, charset in parts)
    return " ".join(words.split()) or plain  # a broken encoded word decodes to nothing


def _word(part: bytes | str, charset: str | None) -> str:
    if isinstance(part, str):
        return part
    # Between encoded words the standard library gives the rest as bytes by this codec.
    return decode(part, charset) if charset else part.decode("raw-unicode-escape", "replace")


def _glued(text: str, line: int | None) -> str:
    return text if line is None else with_line_mark(text, line)


def _body(part: Message, attached: list[str], walk: Walk) -> _Body:
    """What a part says, whose body is where the walk has come to."""
    kind = part.get_content_type()
    if kind == "message/rfc822":
        return _Body("\n".join(_message_text(inner, walk) for inner in _children(part)), True)
    if part.is_multipart():
        bodies = [_part(child, part, attached, walk) for child in _children(part)]
        return _alternative(bodies) if kind == "multipart/alternative" else _sequence(bodies)
    name = _filename(part)
    if part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
        attached.append(f"Attachment: {name or f'({kind})'}")
        return _Body("", False)
    text = walk.marked(part, tidy(_payload(part)))
    return (
        _Body(marked_text(*split_line_marks(text)), False) if kind == "text/html" else _Body(text, kind == "text/plain")
    )


def _part(part: Message, container: Message, attached: list[str], walk: Walk) -> _Body:
    walk.next_part(container)
    at = walk.headers()
    known = len(attached)
    body = _body(part, attached, walk)
    line = at.get("content-disposition", at.get("content-type"))
    attached[known:] = [_glued(name, line) for name in attached[known:]]
    return body


def _children(part: Message) -> Iterator[Message]:
    payload = part.get_payload()
    if isinstance(payload, list):
        yield from cast("list[Message]", payload)


def _alternative(bodies: list[_Body]) -> _Body:
    """One rendering of the same text: the plain one, else the last, which is the richest (RFC 2046)."""
    filled = [body for body in bodies if body.text.strip()]
    plain = [body for body in filled if body.is_plain]
    return plain[0] if plain else filled[-1] if filled else _Body("", False)


def _sequence(bodies: list[_Body]) -> _Body:
    filled = [body for body in bodies if body.text.strip()]
    text = "\n\n".join(body.text.strip("\r\n") for body in filled)
    return _Body(text, any(body.is_plain for body in filled))


def _filename(part: Message) -> str:
    try:
        return tidy(_decoded(str(part.get_filename() or "")))
    except (LookupError, ValueError):  # an extended parameter (RFC 2231) in an unknown encoding
        return ""


def _payload(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    try:
        return decode(payload, str(part.get_content_charset() or ""))
    except (LookupError, ValueError):
        return decode(payload)
