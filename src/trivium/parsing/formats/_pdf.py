"""PDF, read by pdfium in a process of its own (`_apart`)."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from trivium.exceptions import MissingExtraError
from trivium.parsing._boxes import PageLayout
from trivium.parsing.formats._arranging import arrange_page
from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import tidy
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._pdf_words import page_words

__all__ = ["PDFFile", "parse_pdf"]

_DAMAGED = "this PDF is damaged; open it and print it to a new PDF"
_ENCRYPTED = "this PDF is encrypted; save a copy without password (for example qpdf --decrypt) and give that"
_SCANNED = "this PDF has no text, only images (a scan); run OCR on it (for example ocrmypdf) and give the result"
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?")


def parse_pdf(original: Original) -> Parsed:
    """Return the text page by page, in reading order; each page begins on a new line after a blank one.

    Raises:
        UnreadableDocumentError: it is damaged, encrypted, or a scan without text.
        DocumentTooLargeError: it holds more than the limit.
        MissingExtraError: pypdfium2 is not installed.
    """
    with PDFFile.open(original) as file:
        parts: list[str] = []
        pages: list[int] = []
        layout = PageLayout()
        length = 0
        for number in range(file.page_count):
            with file.page(number) as page:
                size = file.size(page)
                words = page_words(file.pdfium, page, *size)
                text, found = arrange_page(words, number + 1, size, length)
            text = tidy(text).rstrip("\n") + "\n\n"
            pages.append(length)
            parts.append(text)
            layout.add_page(size, found)
            length += len(text)
            if length > original.limit:
                raise original.too_large("more text")
        text = "".join(parts)
        if not text.strip():
            raise original.unreadable(_SCANNED)
        title = tidy(file.about("Title")).strip() or None
        published = pdf_date(file.about("CreationDate"))
    return Parsed(text, title, tuple(pages), published=published, layout=layout)


class PDFFile:
    """An open PDF; use it in the process that `_apart` bounds.

    Args:
        original: the file.
        document: pdfium's handle of it.
        pdfium: the module of pdfium's functions.
    """

    def __init__(self, original: Original, document: Any, pdfium: Any) -> None:
        self._original, self._document, self.pdfium = original, document, pdfium
        self.page_count: int = pdfium.FPDF_GetPageCount(document)

    @classmethod
    @contextmanager
    def open(cls, original: Original) -> Generator[PDFFile]:
        """Open a file that is in memory.

        Raises:
            UnreadableDocumentError: it is damaged or encrypted.
            MissingExtraError: pypdfium2 is not installed.
        """
        try:
            import pypdfium2.raw as raw  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            raise MissingExtraError("pypdfium2", "documents") from None
        pdfium: Any = raw  # made by a program from C's headers
        pdfium.FPDF_InitLibrary()
        document = pdfium.FPDF_LoadMemDocument64(original.data, len(original.data), None)
        if not document:
            is_locked = pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD
            raise original.unreadable(_ENCRYPTED if is_locked else _DAMAGED)
        try:
            file = cls(original, document, pdfium)
            if not file.page_count:
                raise original.unreadable(_DAMAGED)
            yield file
        finally:
            pdfium.FPDF_CloseDocument(document)

    @contextmanager
    def page(self, number: int) -> Generator[Any]:
        """Open a page with what is filled in on it; pages count from 0.

        Raises:
            UnreadableDocumentError: it is damaged.
        """
        page = self.pdfium.FPDF_LoadPage(self._document, number)
        if not page:
            raise self._original.unreadable(f"page {number + 1} of {_DAMAGED}")
        if self.pdfium.FPDFPage_GetAnnotCount(page):  # fields of forms, and notes, become part of the page
            self.pdfium.FPDFPage_Flatten(page, self.pdfium.FLAT_NORMALDISPLAY)
            self.pdfium.FPDF_ClosePage(page)
            page = self.pdfium.FPDF_LoadPage(self._document, number)
        try:
            yield page
        finally:
            self.pdfium.FPDF_ClosePage(page)

    def size(self, page: Any) -> tuple[float, float]:
        """Return width and height of an open page, as it is displayed, in points."""
        return self.pdfium.FPDF_GetPageWidthF(page), self.pdfium.FPDF_GetPageHeightF(page)

    def about(self, key: str) -> str:
        """Return an entry of what the file tells about itself; "" if it does not."""
        length = self.pdfium.FPDF_GetMetaText(self._document, key.encode(), None, 0)
        buffer = ctypes.create_string_buffer(min(length, 1 << 16))
        self.pdfium.FPDF_GetMetaText(self._document, key.encode(), buffer, len(buffer))
        return buffer.raw.decode("utf-16-le", "replace").rstrip("\0")


def pdf_date(given: str) -> str | None:
    """Return a date of a PDF in ISO 8601; None if it is written in another notation.

    >>> pdf_date("D:20240301103000+01'00'"), pdf_date("D:20240301"), pdf_date("1.3.2024")
    ('2024-03-01T10:30:00+01:00', '2024-03-01', None)
    """
    found = _DATE.match(given)
    if found is None:
        return None
    year, month, day, hour, minute, second, utc, zone, zone_minutes = found.groups()
    offset = "+00:00" if utc else f"{zone}:{zone_minutes or '00'}" if zone else ""
    time = f"T{hour}:{minute}:{second or '00'}{offset}" if hour else ""
    return iso_date(f"{year}-{month}-{day}{time}")
