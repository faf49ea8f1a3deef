"""PDF, read by pdfium in a process of its own (`_apart`)."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trivium.exceptions import MissingExtraError, OCRMissingError
from trivium.parsing._boxes import PageLayout, Run
from trivium.parsing.formats._arranging import PlacedWord, arrange_page
from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import tidy
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._ocr import OCR, POINTS
from trivium.parsing.formats._pdf_form import BOXES, BUTTONS, FormField, add_fields, form_fields, open_form
from trivium.parsing.formats._pdf_words import display_matrix, page_words

if TYPE_CHECKING:
    from PIL.Image import Image


_DAMAGED = "this PDF is damaged; open it and print it to a new PDF"
_ENCRYPTED = "this PDF is encrypted; save a copy without password (for example qpdf --decrypt) and give that"
_NO_TEXT = "this PDF is a scan, or blank: it has no text, and OCR finds none; check that it is the right file"
_FEW_LETTERS = 20
"""A page with fewer letters than these may be a scan, on which a program put its name or a number."""

_FILLED = 0.4
"""The share of a page that the image of a scan fills at least."""

_PAUSES = range(100, 1001, 100)
"""The numbers of pages after which the time for reading begins anew."""

_NO_TITLES = frozenset({"", "untitled", "(anonymous)"})  # what programs write for none
_UNIT = b"/UserUnit"
_MOST_OBJECTS = 1000
_DPI = 200
_LOOK = 2000  # pixels, at least: a page of which only the colors count
_MOST_PIXELS = 20_000_000
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?")


def parse_pdf(original: Original) -> Parsed:
    """Return the text page by page, in reading order; each page begins on a new line after a blank one.

    Raises:
        UnreadableDocumentError: it is damaged, encrypted, or without any text.
        DocumentTooLargeError: it holds more than the limit.
        OCRMissingError: it is a scan, and the OCR engine is not installed.
        MissingExtraError: pypdfium2 is not installed.
    """
    with PDFFile.open(original) as file:
        reader = _Reader(file, original)
        parsed = reader.read(are_scans=False)
        if not parsed.text.strip(f"{BOXES}{BUTTONS}\n "):
            parsed = reader.read(are_scans=True)
        if not parsed.text.strip():
            raise original.unreadable(_NO_TEXT)
        title = tidy(file.about("Title")).strip()
        title = None if title.lower() in _NO_TITLES else title
        return parsed._replace(title=title, published=pdf_date(file.about("CreationDate")))


class _Reader:
    """Reads the pages of one file: those with text as they are, those that are images by OCR."""

    def __init__(self, file: PDFFile, original: Original) -> None:
        self._file, self._original = file, original
        self._engine: OCR | None = None
        self._scans = 0
        self._unread: list[int] = []

    def read(self, *, are_scans: bool) -> Parsed:
        """Read all pages; with `are_scans` each that shows anything and has no text, else those that an image fills.

        Raises:
            UnreadableDocumentError: a page is damaged.
            DocumentTooLargeError: the text is larger than the limit.
            OCRMissingError: all its pages are images, and the OCR engine is not installed.
        """
        parts: list[str] = []
        pages: list[int] = []
        layout, length = PageLayout(), 0
        self._scans, self._unread = 0, []
        for number in range(self._file.page_count):
            if number in _PAUSES:
                self._original.go_on()
            with self._file.page(number) as page:
                size = self._file.size(page)
                text, runs = self._read_page(page, number + 1, size, length, are_scans)
            text = tidy(text).rstrip("\n") + "\n\n"
            pages.append(length)
            parts.append(text)
            layout.add_page(size, runs)
            length += len(text)
            if length > self._original.limit:
                raise self._original.too_large("more text")
        return Parsed("".join(parts), pages=tuple(pages), layout=layout, unread=tuple(self._unread))

    def _read_page(
        self, page: Any, number: int, size: tuple[float, float], offset: int, is_scan: bool
    ) -> tuple[str, list[Run]]:
        words = self._file.words(page, size)
        if self._is_image(page, words, size, is_scan) and (found := self._scan(page, number, size, offset, is_scan)):
            return found
        return arrange_page(self._file.with_fields(words, number - 1, page, size), number, size, offset)

    def _is_image(self, page: Any, words: Sequence[PlacedWord], size: tuple[float, float], is_scan: bool) -> bool:
        letters = sum(len(word.text) for word in words)
        if letters >= _FEW_LETTERS:
            return False
        return self._file.image_share(page, size) >= _FILLED or (is_scan and not letters and self._file.shows(page))

    def _count_images(self, first: int, is_scan: bool) -> int:
        """Return the number of pages that are images, from one of them on; that of all pages, where that is allowed."""
        count = self._file.page_count - first
        if count <= self._original.scanning.pages:
            return count
        for number in range(first, self._file.page_count):
            with self._file.page(number) as page:
                size = self._file.size(page)
                count -= not self._is_image(page, self._file.words(page, size), size, is_scan)
        return count

    def _scan(
        self, page: Any, number: int, size: tuple[float, float], offset: int, is_scan: bool
    ) -> tuple[str, list[Run]] | None:
        """Return the text of an image; None without an engine, where other pages may have text."""
        if not self._scans:
            self._original.check_scans(self._count_images(number - 1, is_scan))
        self._scans += 1
        self._original.begin_scan(self._scans, self._file.page_count)
        try:
            self._engine = self._engine or OCR(self._original)
        except OCRMissingError:
            if is_scan or self._original.scanning.languages:
                raise
            self._unread.append(number)
            return None
        return self._engine.read_page(self._file.image(page, size), number, size, offset)


class PDFFile:
    """An open PDF; use it in the process that `_apart` bounds.

    Args:
        original: the file.
        document: pdfium's handle of it.
        pdfium: the module of pdfium's functions.
        form: pdfium's handle of its form; None if it has none.
    """

    def __init__(self, original: Original, document: Any, pdfium: Any, form: Any) -> None:
        self._original, self._document, self._form, self.pdfium = original, document, form, pdfium
        self._fields: dict[int, list[FormField]] = {}  # of the pages that were opened: they are drawn there since
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
            with open_form(pdfium, document) as form:
                file = cls(original, document, pdfium, form)
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
            if self._form:
                self._fields[number] = list(form_fields(self.pdfium, self._form, page))
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

    def words(self, page: Any, size: tuple[float, float]) -> list[PlacedWord]:
        """Return the words that are drawn on an open page of this size."""
        matrix = display_matrix(self.pdfium, page, *size)
        dpi = POINTS * max(1.0, _LOOK / max(*size, 1.0))
        words = page_words(self.pdfium, page, matrix, lambda: self.image(page, size, dpi), lambda: self._counts_points)
        width, height = size  # what was cut off is still in the file
        return [
            each for each in words if each.right > 0 and each.bottom > 0 and each.left < width and each.top < height
        ]

    @cached_property
    def _counts_points(self) -> bool:
        """True if no page counts in a unit of its own: pdfium does not tell that unit, but it writes it into a copy."""
        end, is_found = b"", False

        def write(_: Any, data: int, size: int) -> bool:
            nonlocal end, is_found
            block = end + ctypes.string_at(data, size)
            end = block[-len(_UNIT) :]
            is_found = is_found or _UNIT in block
            return not is_found

        copy = self.pdfium.FPDF_FILEWRITE(version=1)
        copy.WriteBlock = type(copy.WriteBlock)(write)
        is_written = self.pdfium.FPDF_SaveAsCopy(self._document, copy, self.pdfium.FPDF_NO_INCREMENTAL)
        return bool(is_written) and not is_found

    def with_fields(
        self, words: list[PlacedWord], number: int, page: Any, size: tuple[float, float]
    ) -> list[PlacedWord]:
        """Return the words of an open page with its check boxes, and with entries that are not drawn."""
        fields = self._fields.get(number, [])
        return add_fields(words, fields, display_matrix(self.pdfium, page, *size)) if fields else words

    def shows(self, page: Any) -> bool:
        """Tell that anything is drawn on an open page."""
        return self.pdfium.FPDFPage_CountObjects(page) > 0

    def image_share(self, page: Any, size: tuple[float, float]) -> float:
        """Return which share of an open page its largest image fills."""
        pdfium, largest = self.pdfium, 0.0
        edges = [ctypes.c_float() for _ in range(4)]
        for number in range(min(_MOST_OBJECTS, pdfium.FPDFPage_CountObjects(page))):
            each = pdfium.FPDFPage_GetObject(page, number)
            kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)  # many programs put the image in a form
            if pdfium.FPDFPageObj_GetType(each) in kinds and pdfium.FPDFPageObj_GetBounds(each, *edges):
                left, bottom, right, top = (edge.value for edge in edges)
                largest = max(largest, (right - left) * (top - bottom))
        return largest / (size[0] * size[1] or 1)

    def image(self, page: Any, size: tuple[float, float], dpi: float = _DPI) -> Image:
        """Return an open page as an image of so many dots an inch; a very large page has fewer.

        Raises:
            MissingExtraError: Pillow is not installed.
        """
        try:
            import PIL.Image
        except ImportError:
            raise MissingExtraError("pillow", "documents") from None
        pdfium = self.pdfium
        scale = min(dpi / POINTS, (_MOST_PIXELS / (size[0] * size[1] or 1)) ** 0.5)
        width, height = (max(1, round(scale * side)) for side in size)
        bitmap = pdfium.FPDFBitmap_Create(width, height, 0)
        if not bitmap:
            raise MemoryError
        try:
            pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xFFFFFFFF)
            pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, pdfium.FPDF_ANNOT)
            stride = pdfium.FPDFBitmap_GetStride(bitmap)
            data = ctypes.string_at(pdfium.FPDFBitmap_GetBuffer(bitmap), stride * height)
        finally:
            pdfium.FPDFBitmap_Destroy(bitmap)
        return PIL.Image.frombytes("RGB", (width, height), data, "raw", "BGRX", stride)

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
