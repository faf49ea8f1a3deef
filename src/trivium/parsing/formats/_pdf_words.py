"""The words of a page of a PDF, with their boxes on the page as it is displayed."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from trivium.parsing.formats._arranging import PlacedWord

__all__ = ["page_words"]

_HYPHENS = frozenset([0x2, 0xFFFE])  # for pdfium, a hyphen at the end of a line, and one that it takes for soft
_IGNORED = frozenset([0xFEFF, 0xAD, 0xFFFF])
_SPACES = frozenset([0x0, 0x9, 0xA, 0xD, 0x20, 0xA0, 0x2002, 0x2003, 0x2009, 0x202F, 0x3000])
_FINE = 100_000


class _Glyph(NamedTuple):
    text: str
    left: float
    bottom: float
    right: float
    top: float


class _Matrix(NamedTuple):
    """The way from the coordinates of a page to points from the upper left corner of the displayed page."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float

    def point(self, x: float, y: float) -> tuple[float, float]:
        return self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f

    def box(self, left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def page_words(pdfium: Any, page: Any, width: float, height: float) -> Iterator[PlacedWord]:
    """Yield the words of a page in the order in which the file has them.

    Args:
        pdfium: the module of its functions.
        page: the open page.
        width: of the page as it is displayed, in points.
        height: the same.
    """
    text = pdfium.FPDFText_LoadPage(page)
    try:
        matrix = _display_matrix(pdfium, page, width, height)
        for start, glyphs in _words(pdfium, text):
            yield _placed(pdfium, text, start, glyphs, matrix)
    finally:
        pdfium.FPDFText_ClosePage(text)


def _words(pdfium: Any, text: Any) -> Iterator[tuple[int, list[_Glyph]]]:
    """Yield the characters between spaces and jumps, and the number of the first one."""
    box = pdfium.FS_RECTF()
    reference = ctypes.byref(box)
    code_of, box_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox
    start, glyphs = 0, list[_Glyph]()
    high = 0  # the first half of a character beyond the 16 bits in which pdfium gives them
    for number in range(pdfium.FPDFText_CountChars(text)):
        code = code_of(text, number)
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00 if high else 0xFFFD
        high = 0
        if code in _IGNORED:
            continue
        is_space = code in _SPACES
        if not is_space:
            box_of(text, number, reference)
            glyph = _Glyph(
                "-" if code in _HYPHENS else chr(min(code, 0x10FFFF)), box.left, box.bottom, box.right, box.top
            )
        if glyphs and (is_space or _jumps(glyphs[-1], glyph)):
            yield start, glyphs
            glyphs = []
        if not is_space:
            if not glyphs:
                start = number
            glyphs.append(glyph)
    if glyphs:
        yield start, glyphs


def _jumps(last: _Glyph, glyph: _Glyph) -> bool:
    """Tell that a character does not stand beside the last one, in whatever direction the text runs."""
    size = max(last.top - last.bottom, last.right - last.left, glyph.top - glyph.bottom, glyph.right - glyph.left)
    across = max(glyph.left - last.right, last.left - glyph.right)
    along = max(glyph.bottom - last.top, last.bottom - glyph.top)
    return across > 0.5 * size or along > 0.5 * size


def _placed(pdfium: Any, text: Any, start: int, glyphs: list[_Glyph], matrix: _Matrix) -> PlacedWord:
    boxes = [matrix.box(*glyph[1:]) for glyph in glyphs]
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text, start, x, y)
    angle = pdfium.FPDFText_GetCharAngle(text, start)
    (x0, y0), (x1, y1) = matrix.point(0, 0), matrix.point(math.cos(angle), math.sin(angle))
    turn = math.atan2(y1 - y0, x1 - x0) / (math.pi / 2) % 4
    is_straight = abs(turn - round(turn)) < 0.1
    return PlacedWord(
        "".join(glyph.text for glyph in glyphs),
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
        base=matrix.point(x.value, y.value),
        turn=round(turn) % 4 if is_straight else None,
        boxes=tuple(boxes),
    )


def _display_matrix(pdfium: Any, page: Any, width: float, height: float) -> _Matrix:
    """Ask pdfium for the places of three points: it knows about crop boxes and turned pages."""
    x, y = ctypes.c_int(), ctypes.c_int()
    places: list[tuple[float, float]] = []
    for point in ((0, 0), (1000, 0), (0, 1000)):
        pdfium.FPDF_PageToDevice(page, 0, 0, _FINE, _FINE, 0, *point, x, y)
        places.append((x.value * width / _FINE, y.value * height / _FINE))
    (e, f), (x1, y1), (x2, y2) = places
    return _Matrix((x1 - e) / 1000, (y1 - f) / 1000, (x2 - e) / 1000, (y2 - f) / 1000, e, f)
