"""Reading a file as a document: one function for every format."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType

from trivium.exceptions import (
    DocumentError,
    DocumentNotFoundError,
    EmptyDocumentError,
    UnreadableDocumentError,
)
from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._docx import parse_docx
from trivium.parsing.formats._email import parse_email
from trivium.parsing.formats._formats import Original, Parsed, detect_media_type, escape_unprintable, suffix_of
from trivium.parsing.formats._front_matter import parse_markdown
from trivium.parsing.formats._html import parse_html
from trivium.parsing.formats._json_text import parse_json_file
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
from trivium.schema.lowlevel import checked

__all__ = ["empty_error", "opening_error", "read", "read_original"]

_PARSERS: Mapping[str, Callable[[Original], Parsed]] = MappingProxyType(
    {
        MARKDOWN: parse_markdown,
        HTML: parse_html,
        EMAIL: parse_email,
        CSV: parse_csv,
        TSV: parse_tsv,
        JSON: parse_json_file,
        JSON_LINES: parse_json_file,
        DOCX: parse_docx,
        PPTX: parse_pptx,
        XLSX: parse_xlsx,
        PDF: parse_pdf,
    }
)


@checked
def read(path: str | os.PathLike[str], *, max_bytes: int = 32 * 1024 * 1024) -> Document:
    """Read the text of a file in any supported format, or raise one typed error that says what to do.

    Supported are plain text, Markdown, source code, JSON, CSV, HTML (its visible text), e-mail (the first message of a
    mailbox), DOCX, PPTX, XLSX, PDF with a text layer, and each of them compressed by gzip. The content decides the
    format first, the suffix second. Lines end in `\\n`. `metadata` holds the source and the media type; the title and
    the date, if the file states them; the offsets of pages (PDF), slides or sheets; and for HTML, e-mail, CSV and XLSX
    the lines or rows of the file on which the text stands.

    Args:
        path: the file.
        max_bytes: the largest size of the file and of its unpacked content, in bytes (default 32 MiB).

    Raises:
        DocumentNotFoundError: there is no such file.
        DocumentTooLargeError: the file holds more than `max_bytes`.
        EmptyDocumentError: the file holds no text.
        UnreadableDocumentError: the path is a folder, or the file is not readable, damaged, encrypted, scanned or
            binary.
        MissingExtraError: the file is DOCX, PPTX, XLSX or PDF, and the extra `documents` is not installed.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "page.html").write_text("<p>Fish &amp; chips<p>Peas")
    >>> read(pathlib.Path(folder.name, "page.html")).content
    'Fish & chips\\n\\nPeas\\n'
    >>> folder.cleanup()
    """
    # A file name may hold bytes that are not text; a source is stored and displayed, so it must be text.
    source = os.fsencode(path).decode("utf-8", "replace")
    original = Original(b"", source, suffix_of(source), max_bytes)
    try:
        size = os.stat(path).st_size
        if size > max_bytes:
            raise original.too_large(f"{size:,} bytes")
        with Path(path).open("rb") as file:
            data = file.read(max_bytes + 1)  # a pipe has no size, and a log may grow meanwhile
    except (OSError, ValueError) as error:
        raise opening_error(error, source) from None
    if len(data) > max_bytes:
        raise original.too_large("more")
    return read_original(original._replace(data=data))


def read_original(original: Original) -> Document:
    """Read the text of a file whose bytes are in memory; see `read`."""
    kind = _kind(original)
    if kind == GZIP:
        try:
            with gzip.GzipFile(fileobj=BytesIO(original.data)) as file:
                data = file.read(original.limit + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise original.unreadable(f"this is a damaged gzip file ({error}); get it again") from None
        if len(data) > original.limit:
            raise original.too_large("more when unpacked")
        original = original._replace(data=data)
        kind = _kind(original)
    if kind == GZIP:
        raise original.unreadable("this is compressed twice; unpack it and give the file inside")
    parser = _PARSERS.get(kind)
    parsed = parser(original) if parser else Parsed(tidy(decode(original.data, original.charset)))
    if not parsed.text.strip():
        raise empty_error(original.source)
    metadata = DocMetaData(source=original.source, media_type=kind, pages=parsed.pages, source_lines=parsed.lines)
    metadata.headings = parsed.headings
    metadata.title = parsed.title or metadata.title
    metadata.published_date = parsed.published or metadata.published_date
    return Document(content=parsed.text, metadata=metadata)


def _kind(original: Original) -> str:
    if not original.data.strip():
        raise empty_error(original.source)
    return detect_media_type(original)


def empty_error(source: str) -> EmptyDocumentError:
    """Return the error for a file without text."""
    name = escape_unprintable(source)
    return EmptyDocumentError(f"{name}: there is no text in it; check that it is the right one", source)


def opening_error(error: OSError | ValueError, source: str) -> DocumentError:
    """Return the error for a file that the operating system does not open."""
    name = escape_unprintable(source)
    number = error.errno if isinstance(error, OSError) else errno.ENOENT  # ValueError: a NUL in the name
    if number in {errno.ENOENT, errno.ENOTDIR}:
        return DocumentNotFoundError(f"{name}: there is no such file; check the path", source)
    if number == errno.EISDIR:
        return UnreadableDocumentError(f"{name}: this is a folder; give a file, or each file in it", source)
    if number in {errno.EACCES, errno.EPERM}:
        return UnreadableDocumentError(f"{name}: permission denied; allow reading it (chmod u+r)", source)
    return UnreadableDocumentError(f"{name}: it cannot be opened ({os.strerror(number or 0)})", source)
