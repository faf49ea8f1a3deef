"""Long texts in parts, so that memory does not grow with the size of the file."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import IO

from trivium.exceptions import EmptyDocumentError
from trivium.parsing._limits import MAX_BYTES, ReadLimits
from trivium.parsing.formats._decoding import decode, guess_charset, is_improbable, named_encoding, tidy
from trivium.parsing.formats._formats import Original, detect_media_type, is_image, suffix_of
from trivium.parsing.formats._json_text import decode_escapes
from trivium.parsing.formats._lines import LinePairs, join_lines
from trivium.parsing.formats._media_types import BINARY_SUFFIXES, CSV, JSON_LINES, PLAIN, TSV
from trivium.parsing.formats._reading import opening_error, read_original, warn_of_encoding
from trivium.parsing.formats._records import record_lines
from trivium.schema import DocMetaData, Document

_PART = 1 << 20
_STREAMED = frozenset([PLAIN, CSV, TSV, JSON_LINES])
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LAST_LETTER = re.compile(rb"[\xc0-\xff][\x80-\xbf]*\Z|\r\Z")


def read_parts(
    file: IO[bytes], source: str, *, max_bytes: int = MAX_BYTES, limits: ReadLimits | None = None, encoding: str = ""
) -> Iterator[Document]:
    """Read an open file like `read`, a long text in consecutive parts.

    A text that is empty or blank has no parts, nor has an image without text; an empty PDF or Office file is a broken
    copy, and an error. Plain text,
    CSV, TSV and JSON Lines of more than 1 MiB come in parts of about that size, without a limit. A part ends with a
    line; a longer line is cut. `metadata.first_offset` is the offset of a part in the complete text; its lines are
    those of the file. Any other file is one document of at most `max_bytes`.

    Args:
        file: open for reading bytes; it need not be seekable.
        source: its name, whose suffix helps to recognise the format.
        max_bytes: maximum size of a file that does not come in parts.
        limits: what reading a file that does not come in parts may take; default `ReadLimits()`.
        encoding: that of a text without a byte order mark; see `read`.

    Raises:
        DocumentError: as `read`.
        MissingExtraError: as `read`.
        ConfigurationError: there is no such encoding.

    >>> from io import BytesIO
    >>> parts = list(read_parts(BytesIO(b"The rent is 950 EUR.\\n" * 100_000), "a.log"))
    >>> len(parts), parts[1].metadata.first_offset, len(parts[0].content)
    (3, 1048572, 1048572)
    """
    original = Original(b"", source, suffix_of(source), max_bytes, named_encoding(encoding))
    head = _read(file, _PART + 1, source)
    is_long = len(head) > _PART and not head.startswith(b"PK\x03\x04")  # a part of an archive cannot be recognised
    kind = detect_media_type(original._replace(data=head)) if is_long else ""
    if kind in _STREAMED:
        yield from _parts(file, head, original, kind)
    else:
        original = original._replace(data=head + _read(file, max_bytes + 1 - len(head), source))
        if len(original.data) > max_bytes:
            raise original.too_large("more")
        if original.suffix in BINARY_SUFFIXES or not _is_blank(original.data):
            yield from _whole(original, limits)


def _whole(original: Original, limits: ReadLimits | None) -> Iterator[Document]:
    """Yield the document of a file that is read as a whole; of a photo, in which nothing is written, none."""
    try:
        yield read_original(original, limits)
    except EmptyDocumentError:
        if not is_image(original.data):
            raise


def _wide_encoding(data: bytes) -> str | None:
    """Return UTF-16 or UTF-32 where the data begin with its mark."""
    return next((name for mark, name in _WIDE if data.startswith(mark)), None)


def _is_blank(data: bytes) -> bool:
    """Test whether a text holds nothing but blanks and the mark of its encoding."""
    other = _wide_encoding(data)
    return not (data.decode(other, "replace") if other else data.removeprefix(codecs.BOM_UTF8)).strip()


def _parts(file: IO[bytes], head: bytes, original: Original, kind: str) -> Iterator[Document]:
    source = original.source
    texts = _texts(file, head, original)
    if kind in {CSV, TSV}:
        parts = _tables(texts, "\t" if kind == TSV else None)
    else:
        parts = _lines(map(decode_escapes, texts) if kind == JSON_LINES else texts)
    offset = 0
    for text, lines in parts:
        if text.strip():
            metadata = DocMetaData(source=source, media_type=kind, source_lines=lines, first_offset=offset)
            yield Document(content=text, metadata=metadata)
        offset += len(text)


def _lines(texts: Iterable[str]) -> Iterator[tuple[str, LinePairs]]:
    line = 1
    for text in texts:
        yield text, ((0, line),) if line > 1 else ()
        line += text.count("\n")


def _tables(texts: Iterable[str], separator: str | None) -> Iterator[tuple[str, LinePairs]]:
    lines = (line for text in texts for line in StringIO(text, newline="\n"))
    records = record_lines(lines, separator)
    while (part := join_lines(records, _PART))[0]:
        yield part


def _texts(file: IO[bytes], head: bytes, original: Original) -> Iterator[str]:
    """Return the text in pieces of about the size of a part, which end with a line if one ends in them."""
    source, named = original.source, original.charset
    is_utf8 = head.startswith(codecs.BOM_UTF8) or named in {"utf-8", "ascii"}
    other = _wide_encoding(head) or (None if is_utf8 else named)
    if other is None and named is None and is_improbable(head):
        other = guess_charset(head)
        warn_of_encoding(other, source)
    if other is not None:
        yield from map(tidy, decode_other(file, head, source, other))
        return
    held = head
    while held:
        cut = len(held) if len(held) < _PART else cut_offset(held)
        yield tidy(decode(held[:cut]))
        held = held[cut:] + _read(file, _PART - len(held) + cut, source)


def decode_other(file: IO[bytes], head: bytes, source: str, encoding: str) -> Iterator[str]:
    """Decode another encoding than UTF-8 piece by piece; `head` is the part of the file that is read already."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    held, block = "", head
    while block:
        held += decoder.decode(block)
        cut = held.rfind("\n") + 1 or len(held) - held.endswith("\r")
        yield held[:cut]
        held, block = held[cut:], _read(file, _PART, source)
    yield held + decoder.decode(b"", True)


def cut_offset(block: bytes) -> int:
    """Return the offset behind the last line; without a line end, before the last character of UTF-8 or a lone CR."""
    letter = _LAST_LETTER.search(block, len(block) - 4)
    return block.rfind(b"\n") + 1 or (letter.start() if letter else len(block))


def _read(file: IO[bytes], most: int, source: str) -> bytes:
    """Return the next bytes, fewer than `most` only at the end of the file; a pipe may give fewer at a time."""
    parts: list[bytes] = []
    try:
        while most > 0 and (part := file.read(most)):
            parts.append(part)
            most -= len(part)
    except OSError as error:
        raise opening_error(error, source) from None
    return b"".join(parts)
