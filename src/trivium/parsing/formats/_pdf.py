"""PDF with a text layer, by pypdf, whose own limits bound what a stream may unpack to."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from typing import TYPE_CHECKING

from trivium.exceptions import DocumentError, MissingExtraError
from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import tidy
from trivium.parsing.formats._formats import Original, Parsed

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["parse_pdf"]

_ENCRYPTED = "this PDF is encrypted; save a copy without password (for example qpdf --decrypt) and give that"
_SCANNED = "this PDF has no text, only images (a scan); run OCR on it (for example ocrmypdf) and give the result"


def parse_pdf(original: Original) -> Parsed:
    """The text page by page, each page beginning on a new line after a blank one.

    Raises:
        UnreadableDocumentError: it is damaged, encrypted, or a scan without text.
        DocumentTooLargeError: it holds more than the limit.
        MissingExtraError: pypdf is not installed.
    """
    try:
        import pypdf
    except ImportError:
        raise MissingExtraError("pypdf", "documents") from None
    with _quiet():
        try:
            reader = pypdf.PdfReader(BytesIO(original.data))
            if reader.is_encrypted:
                _unlock(reader, original)
            return _joined(reader, original)
        except DocumentError:
            raise
        except Exception as error:  # pypdf documents that broken files may raise anything
            reason = f"this PDF is damaged ({error or type(error).__name__}); open it and print it to a new PDF"
            raise original.unreadable(reason) from None


def _unlock(reader: PdfReader, original: Original) -> None:
    """Opens what only forbids changes: such files have an empty password for reading."""
    from pypdf.errors import DependencyError

    try:
        unlocked = reader.decrypt("")
    except DependencyError:
        raise original.unreadable(_ENCRYPTED) from None
    if not unlocked:
        raise original.unreadable(_ENCRYPTED)


def _joined(reader: PdfReader, original: Original) -> Parsed:
    parts: list[str] = []
    pages: list[int] = []
    length = 0
    for page in reader.pages:
        text = tidy(page.extract_text()).rstrip("\n") + "\n\n"
        pages.append(length)
        parts.append(text)
        length += len(text)
        if length > original.limit:
            raise original.too_large("more text")
    text = "".join(parts)
    if not text.strip():
        raise original.unreadable(_SCANNED)
    title = str(reader.metadata.title or "") if reader.metadata else ""
    return Parsed(text, tidy(title).strip() or None, tuple(pages), published=_date(reader))


def _date(reader: PdfReader) -> str | None:
    try:
        return iso_date(reader.metadata.creation_date) if reader.metadata else None
    except ValueError:  # many programs write dates in ways of their own
        return None


_is_reading: ContextVar[bool] = ContextVar("_is_reading", default=False)


def _is_wanted(record: logging.LogRecord) -> bool:
    return not _is_reading.get()


@contextmanager
def _quiet() -> Generator[None]:
    """Keeps pypdf's remarks on sloppy files out of the log, for this reader only.

    A level set on its logger would be seen by other threads, and by code that uses pypdf itself.
    """
    for name in [name for name in sys.modules if name == "pypdf" or name.startswith("pypdf.")]:
        logging.getLogger(name).addFilter(_is_wanted)  # adding it again changes nothing
    token = _is_reading.set(True)
    try:
        yield
    finally:
        _is_reading.reset(token)
