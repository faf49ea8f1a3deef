"""PDF with a text layer, read by pypdf in a process of its own (`_apart`)."""

from __future__ import annotations

from contextlib import suppress
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
    """Return the text page by page; each page begins on a new line after a blank one.

    Raises:
        UnreadableDocumentError: it is damaged, encrypted, or a scan without text.
        DocumentTooLargeError: it holds more than the limit.
        MissingExtraError: pypdf is not installed.
    """
    try:
        import pypdf
    except ImportError:
        raise MissingExtraError("pypdf", "documents") from None
    try:
        reader = pypdf.PdfReader(BytesIO(original.data))
        if reader.is_encrypted:
            unlock_pdf(reader, original)
        return join_pages(reader, original)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # by its documentation, pypdf may raise any exception for a broken file
        reason = f"this PDF is damaged ({error or type(error).__name__}); open it and print it to a new PDF"
        raise original.unreadable(reason) from None


def unlock_pdf(reader: PdfReader, original: Original) -> None:
    """Open a file that only forbids changes: its password for reading is empty.

    Raises:
        UnreadableDocumentError: it needs a password.
    """
    from pypdf.errors import DependencyError

    try:
        unlocked = reader.decrypt("")
    except DependencyError:
        raise original.unreadable(_ENCRYPTED) from None
    if not unlocked:
        raise original.unreadable(_ENCRYPTED)


def join_pages(reader: PdfReader, original: Original) -> Parsed:
    """Join the texts of the pages.

    Raises:
        UnreadableDocumentError: no page has text.
        DocumentTooLargeError: the text is larger than the limit.
    """
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
    title, published = "", None
    if about := reader.metadata:
        title = str(about.title or "")
        with suppress(ValueError):  # many programs write dates in notations of their own
            published = iso_date(about.creation_date)
    return Parsed(text, tidy(title).strip() or None, tuple(pages), published=published)
