"""Reading a file as a document: one function for every format."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from trivium._arguments import checked
from trivium.exceptions import (
    DocumentError,
    DocumentNotFoundError,
    EmptyDocumentError,
    UnreadableDocumentError,
)
from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._docx import parse_docx
from trivium.parsing.formats._email import parse_email
from trivium.parsing.formats._formats import Original, Parsed, media_type, shown, suffix_of
from trivium.parsing.formats._front_matter import parse_markdown
from trivium.parsing.formats._html import parse_html
from trivium.parsing.formats._json_text import parse_json
from trivium.parsing.formats._media_types import (
    CSV,
    DOCX,
    EMAIL,
    GZIP,
    HTML,
    JSON,
    JSON_LINES,
    MARKDOWN,
    PDF,
    PPTX,
    TSV,
    XLSX,
)
from trivium.parsing.formats._pdf import parse_pdf
from trivium.parsing.formats._pptx import parse_pptx
from trivium.parsing.formats._records import parse_csv, parse_tsv
from trivium.parsing.formats._xlsx import parse_xlsx
from trivium.schema import DocMetaData, Document

__all__ = ["empty", "not_opened", "read", "read_original"]

_PARSERS: tuple[tuple[str, Callable[[Original], Parsed]], ...] = (
    (MARKDOWN, parse_markdown),
    (HTML, parse_html),
    (EMAIL, parse_email),
    (CSV, parse_csv),
    (TSV, parse_tsv),
    (JSON, parse_json),
    (JSON_LINES, parse_json),
    (DOCX, parse_docx),
    (PPTX, parse_pptx),
    (XLSX, parse_xlsx),
    (PDF, parse_pdf),
)


@checked
def read(path: str | os.PathLike[str], *, max_bytes: int = 32 * 1024 * 1024) -> Document:
    """The text of a file, whatever its format, or one typed error that says what to do.

    Plain text, Markdown, source code, JSON, CSV, HTML (what is visible), e-mail (the first message of a mailbox),
    DOCX, PPTX, XLSX, PDF with a text layer, and any of them compressed by gzip. The content decides the format, then
    the suffix. Lines end in `\\n`; `metadata` holds the source, the media type, the title and the date if the file
    states them, the offsets of pages (of PDF), slides or sheets, and for HTML, e-mail, CSV and XLSX the lines or rows
    of the file on which the text stands.

    Args:
        path: the file.
        max_bytes: the most bytes taken, of the file and of what is packed in it (default 32 MiB).

    Raises:
        DocumentNotFoundError: there is no such file.
        DocumentTooLargeError: it holds more than `max_bytes`.
        EmptyDocumentError: it holds no text.
        UnreadableDocumentError: it is a folder, may not be read, is damaged, encrypted, scanned or binary.
        MissingExtraError: it is a DOCX, PPTX, XLSX or PDF file, and the extra `documents` is not installed.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "page.html").write_text("<p>Fish &amp; chips<p>Peas")
    >>> read(pathlib.Path(folder.name, "page.html")).content
    'Fish & chips\\n\\nPeas\\n'
    >>> folder.cleanup()
    """
    # A file name may hold bytes that are not text; a source is stored and shown, so it must be text.
    source = os.fsencode(path).decode("utf-8", "replace")
    return read_original(_load(path, Original(b"", source, suffix_of(source), max_bytes)))


def read_original(original: Original) -> Document:
    """The text of a file whose bytes are here; see `read`."""
    kind = _kind(original)
    if kind == GZIP:
        original = _unzipped(original)
        kind = _kind(original)
    if kind == GZIP:
        raise original.unreadable("this is compressed twice; unpack it and give the file inside")
    parser = dict(_PARSERS).get(kind)
    parsed = parser(original) if parser else Parsed(tidy(decode(original.data, original.charset)))
    if not parsed.text.strip():
        raise empty(original.source)
    metadata = DocMetaData(source=original.source, media_type=kind, pages=parsed.pages, source_lines=parsed.lines)
    metadata.headings = parsed.headings
    metadata.title = parsed.title or metadata.title
    metadata.published_date = parsed.published or metadata.published_date
    return Document(content=parsed.text, metadata=metadata)


def _kind(original: Original) -> str:
    if not original.data.strip():
        raise empty(original.source)
    return media_type(original)


def empty(source: str) -> EmptyDocumentError:
    """The error to raise when there is no text."""
    return EmptyDocumentError(f"{shown(source)}: there is no text in it; check that it is the right one", source)


def _load(path: str | os.PathLike[str], original: Original) -> Original:
    try:
        size = os.stat(path).st_size
        if size > original.limit:
            raise original.too_large(f"{size:,} bytes")
        with Path(path).open("rb") as file:
            data = file.read(original.limit + 1)  # a pipe has no size, and a log may grow meanwhile
    except (OSError, ValueError) as error:
        raise not_opened(error, original.source) from None
    if len(data) > original.limit:
        raise original.too_large("more")
    return original._replace(data=data)


def not_opened(error: OSError | ValueError, source: str) -> DocumentError:
    """The error to raise when the system refuses a file."""
    number = error.errno if isinstance(error, OSError) else errno.ENOENT  # ValueError: a NUL in the name
    if number in {errno.ENOENT, errno.ENOTDIR}:
        return DocumentNotFoundError(f"{shown(source)}: there is no such file; check the path", source)
    if number == errno.EISDIR:
        return UnreadableDocumentError(f"{shown(source)}: this is a folder; give a file, or each file in it", source)
    if number in {errno.EACCES, errno.EPERM}:
        return UnreadableDocumentError(f"{shown(source)}: permission denied; allow reading it (chmod u+r)", source)
    return UnreadableDocumentError(f"{shown(source)}: it cannot be opened ({os.strerror(number or 0)})", source)


def _unzipped(original: Original) -> Original:
    try:
        with gzip.GzipFile(fileobj=BytesIO(original.data)) as file:
            data = file.read(original.limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise original.unreadable(f"this is a damaged gzip file ({error}); get it again") from None
    if len(data) > original.limit:
        raise original.too_large("more when unpacked")
    return original._replace(data=data)
