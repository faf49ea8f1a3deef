"""Reading a file as a document: one function for every format."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from trivium.exceptions import (
    DocumentError,
    DocumentNotFoundError,
    EmptyDocumentError,
    UnreadableDocumentError,
)
from trivium.knowledge._decoding import decode, tidy
from trivium.knowledge._docx import parse_docx
from trivium.knowledge._email import parse_email
from trivium.knowledge._formats import (
    DOCX,
    EMAIL,
    GZIP,
    HTML,
    PDF,
    Original,
    Parsed,
    media_type,
    shown,
    suffix_of,
)
from trivium.knowledge._html import parse_html
from trivium.knowledge._pdf import parse_pdf
from trivium.schema import DocMetaData, Document

__all__ = ["read"]

_PARSERS: tuple[tuple[str, Callable[[Original], Parsed]], ...] = (
    (HTML, parse_html),
    (EMAIL, parse_email),
    (DOCX, parse_docx),
    (PDF, parse_pdf),
)


def read(path: str | os.PathLike[str], *, max_bytes: int = 32 * 1024 * 1024) -> Document:
    """The text of a file, whatever its format, or one typed error that says what to do.

    Plain text, Markdown, HTML (what is visible), e-mail (the first message of a mailbox), DOCX, PDF with a
    text layer, and any of them compressed by gzip. The content decides the format, then the suffix. Lines
    end in `\\n`; `metadata` holds the source, the title, the media type and, for PDF, the pages' offsets.

    Args:
        path: the file.
        max_bytes: the most bytes taken, of the file and of what is packed in it (default 32 MiB).

    Raises:
        DocumentNotFoundError: there is no such file.
        DocumentTooLargeError: it holds more than `max_bytes`.
        EmptyDocumentError: it holds no text.
        UnreadableDocumentError: it is a folder, may not be read, is damaged, encrypted, scanned or binary.
        MissingExtraError: it is a DOCX or PDF file, and the extra `documents` is not installed.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "page.html").write_text("<p>Fish &amp; chips<p>Peas")
    >>> read(pathlib.Path(folder.name, "page.html")).content
    'Fish & chips\\n\\nPeas\\n'
    >>> folder.cleanup()
    """
    # A file name may hold bytes that are not text; a source is stored and shown, so it must be text.
    source = os.fsencode(path).decode("utf-8", "replace")
    original = _load(path, Original(b"", source, suffix_of(source), max_bytes))
    kind = _kind(original)
    if kind == GZIP:
        original = _unzipped(original)
        kind = _kind(original)
    if kind == GZIP:
        raise original.unreadable("this is compressed twice; unpack it and give the file inside")
    parser = dict(_PARSERS).get(kind)
    parsed = parser(original) if parser else Parsed(tidy(decode(original.data)))
    if not parsed.text.strip():
        raise _empty(source)
    metadata = DocMetaData(source=source, media_type=kind, pages=parsed.pages)
    if parsed.title:
        metadata.title = parsed.title
    return Document(content=parsed.text, metadata=metadata)


def _kind(original: Original) -> str:
    if not original.data.strip():
        raise _empty(original.source)
    return media_type(original)


def _empty(source: str) -> EmptyDocumentError:
    return EmptyDocumentError(f"{shown(source)}: there is no text in this file; check that it is the right one", source)


def _load(path: str | os.PathLike[str], original: Original) -> Original:
    try:
        size = os.stat(path).st_size
        if size > original.limit:
            raise original.too_large(f"{size:,} bytes")
        with Path(path).open("rb") as file:
            data = file.read(original.limit + 1)  # a pipe has no size, and a log may grow meanwhile
    except (OSError, ValueError) as error:
        raise _not_opened(error, original.source) from None
    if len(data) > original.limit:
        raise original.too_large("more")
    return original._replace(data=data)


def _not_opened(error: OSError | ValueError, source: str) -> DocumentError:
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
