"""The fields of forms in a PDF: check boxes as marks, and entries that the file does not draw."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from trivium.parsing.formats._arranging import PlacedWord
from trivium.parsing.formats._pdf_words import PageMatrix

BOXES, BUTTONS = "☐☒", "○◉"
"""Check boxes and radio buttons, not chosen and chosen."""

_LINE = 16.0  # points: a higher box has room for several lines


class FormField(NamedTuple):
    """The entry of a field, and left, bottom, right and top of its box, as PDF counts."""

    text: str
    box: tuple[float, float, float, float]


@contextmanager
def open_form(pdfium: Any, document: Any) -> Generator[Any]:
    """Open the form of a document; None if it has none."""
    if pdfium.FPDF_GetFormType(document) == pdfium.FORMTYPE_NONE:
        yield None
        return
    callbacks = pdfium.FPDF_FORMFILLINFO(version=2)  # pdfium keeps its address
    form = pdfium.FPDFDOC_InitFormFillEnvironment(document, callbacks)
    try:
        yield form
    finally:
        pdfium.FPDFDOC_ExitFormFillEnvironment(form)


def form_fields(pdfium: Any, form: Any, page: Any) -> Iterator[FormField]:
    """Yield the fields of an open page that are displayed and say anything."""
    marks = {pdfium.FPDF_FORMFIELD_CHECKBOX: BOXES, pdfium.FPDF_FORMFIELD_RADIOBUTTON: BUTTONS}
    entries = {pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX}
    hidden = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
    box = pdfium.FS_RECTF()
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        field = pdfium.FPDFPage_GetAnnot(page, number)
        kind = pdfium.FPDFAnnot_GetFormFieldType(form, field)
        if kind in marks:
            is_chosen = _string(pdfium.FPDFAnnot_GetStringValue, field, b"AS") not in {"", "Off"}  # as it is drawn
            text = marks[kind][is_chosen]
        else:
            flags = pdfium.FPDFAnnot_GetFormFieldFlags(form, field) if kind == pdfium.FPDF_FORMFIELD_TEXTFIELD else 0
            is_shown = kind in entries and not flags & pdfium.FPDF_FORMFLAG_TEXT_PASSWORD
            text = _string(pdfium.FPDFAnnot_GetFormFieldValue, form, field) if is_shown else ""
        if text and not pdfium.FPDFAnnot_GetFlags(field) & hidden and pdfium.FPDFAnnot_GetRect(field, box):
            yield FormField(text, (box.left, box.bottom, box.right, box.top))
        pdfium.FPDFPage_CloseAnnot(field)


def add_fields(words: list[PlacedWord], fields: Iterable[FormField], matrix: PageMatrix) -> list[PlacedWord]:
    """Return the words of a page with its marks, in the place of their drawings, and the entries that are not drawn."""
    for field in fields:
        left, top, right, bottom = box = matrix.box(*field.box)
        if field.text in BOXES + BUTTONS:
            words = [word for word in words if len(word.text) > 1 or not _is_in(word, box)]
        elif any(_is_in(word, box) for word in words):
            continue
        lines = [" ".join(line.split()) for line in field.text.splitlines() if line.strip()]
        height = min((bottom - top) / len(lines), _LINE)
        high = (top + bottom - height * len(lines)) / 2
        for at, line in enumerate(lines, 1):
            low = high + at * height
            words.append(PlacedWord(line, left, low - height, right, low, (left, low - 0.2 * height)))
    return words


def _is_in(word: PlacedWord, box: tuple[float, float, float, float]) -> bool:
    left, top, right, bottom = box
    return left <= (word.left + word.right) / 2 <= right and top <= (word.top + word.bottom) / 2 <= bottom


def _string(function: Callable[..., int], *of: Any) -> str:
    """Return a text that a function of pdfium writes."""
    buffer = (ctypes.c_ushort * (function(*of, None, 0) // 2 + 1))()
    function(*of, buffer, ctypes.sizeof(buffer))
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0").strip()
