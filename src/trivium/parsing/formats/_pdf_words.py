"""The words of a page of a PDF, with their boxes on the page as it is displayed."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from trivium.parsing.formats._arranging import PlacedWord

if TYPE_CHECKING:
    from PIL.Image import Image

_HYPHENS = frozenset([0x2, 0xFFFE])  # for pdfium, a hyphen at the end of a line, and one that it takes for soft
_IGNORED = frozenset([0xFEFF, 0xAD, 0xFFFF])
_SPACES = frozenset([0x0, 0x9, 0xA, 0xD, 0x20, 0xA0, 0x2002, 0x2003, 0x2009, 0x202F, 0x3000])
_FINE = 100_000
_LEGIBLE = 1.0  # points
_WHITE = 250  # of 255
_MOST_OBJECTS = 1000


_Glyph = tuple[str, float, float, float, float]
"""A character, and left, bottom, right and top of its box, as PDF counts."""


class PageMatrix(NamedTuple):
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


def page_words(
    pdfium: Any, page: Any, matrix: PageMatrix, image: Callable[[], Image], counts_points: Callable[[], bool]
) -> Iterator[PlacedWord]:
    """Yield the words of a page in the order in which the file has them, without those that certainly nobody sees.

    Args:
        pdfium: the module of its functions.
        page: the open page.
        matrix: the way to the page as it is displayed.
        image: returns the page as it is displayed.
        counts_points: tells that sizes are certainly points.
    """
    text = pdfium.FPDFText_LoadPage(page)
    try:
        hidden = _Hidden(pdfium, page, text, matrix, image)
        for start, glyphs, way in _words(pdfium, text):
            is_tiny = hidden.is_tiny(start, glyphs, way) and counts_points()
            if not is_tiny and not hidden.is_white(start, glyphs):
                yield _placed(pdfium, text, start, glyphs, way, matrix)
    finally:
        pdfium.FPDFText_ClosePage(text)


class _Hidden:
    """Tells words that certainly nobody sees: those in white where the page is white, and those too small to read."""

    def __init__(self, pdfium: Any, page: Any, text: Any, matrix: PageMatrix, image: Callable[[], Image]) -> None:
        self._pdfium, self._page, self._text, self._matrix, self._draw = pdfium, page, text, matrix, image
        self._color = [ctypes.c_uint() for _ in range(4)]
        self._color_references = [ctypes.byref(each) for each in self._color]

    def is_tiny(self, start: int, glyphs: list[_Glyph], way: tuple[float, float]) -> bool:
        _, left, bottom, right, top = glyphs[0]
        if (top - bottom if abs(way[0]) >= abs(way[1]) else right - left) >= _LEGIBLE:
            return False
        left, bottom, right, top = self._drawing(start)
        return max(right - left, top - bottom) < _LEGIBLE

    def is_white(self, start: int, glyphs: list[_Glyph]) -> bool:
        pdfium = self._pdfium
        has_color = pdfium.FPDFText_GetFillColor(self._text, start, *self._color_references)
        if not has_color or any(each.value < _WHITE for each in self._color[:3]):
            return False
        mode = pdfium.FPDFTextObj_GetTextRenderMode(pdfium.FPDFText_GetTextObject(self._text, start))
        if mode != pdfium.FPDF_TEXTRENDERMODE_FILL or self._image is None:
            return False
        drawings = (self._drawing(start + at) for at in range(len(glyphs)))
        boxes = [self._matrix.box(*box) for box in (*(glyph[1:] for glyph in glyphs), *drawings)]
        return self._is_blank(self._image, boxes)

    def _drawing(self, number: int) -> tuple[float, float, float, float]:
        """Return the box of what a character draws: fonts of bitmaps may state any size."""
        edges = [ctypes.c_double() for _ in range(4)]
        self._pdfium.FPDFText_GetCharBox(self._text, number, *edges)
        left, right, bottom, top = (each.value for each in edges)
        return left, bottom, right, top

    def _is_blank(self, image: Image, boxes: list[tuple[float, float, float, float]]) -> bool:
        lefts, tops, rights, bottoms = zip(*boxes, strict=True)
        x = image.width / (self._pdfium.FPDF_GetPageWidthF(self._page) or 1)
        y = image.height / (self._pdfium.FPDF_GetPageHeightF(self._page) or 1)
        left, right = (min(max(0, x * edge), image.width) for edge in (min(lefts), max(rights)))
        top, bottom = (min(max(0, y * edge), image.height) for edge in (min(tops), max(bottoms)))
        part = image.crop((math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)))
        return part.getbbox() is None

    @cached_property
    def _image(self) -> Image | None:
        """The page as it is displayed, with 0 for white; None if that is too much to draw.

        It shows what pdfium does not tell of colors: patterns count as white.
        """
        if self._pdfium.FPDFPage_CountObjects(self._page) > _MOST_OBJECTS:
            return None
        image = self._draw()
        return image.point(([255] * _WHITE + [0] * (256 - _WHITE)) * len(image.getbands()))


def _words(pdfium: Any, text: Any) -> Iterator[tuple[int, list[_Glyph], tuple[float, float]]]:
    """Yield the characters between spaces and jumps: the number of the first, all with their boxes, and their way."""
    box, way = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
    box_reference, way_reference = ctypes.byref(box), ctypes.byref(way)
    code_of, box_of, way_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox, pdfium.FPDFText_GetMatrix
    start, glyphs = 0, list[_Glyph]()
    high = 0  # the first half of a character beyond the 16 bits in which pdfium gives them
    for number in range(pdfium.FPDFText_CountChars(text)):
        code = code_of(text, number)
        if code in _SPACES:
            if glyphs:
                yield start, glyphs, (way.a, way.b)
                glyphs = []
            continue
        if code in _IGNORED or 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00 if high else 0xFFFD
            high = 0
        box_of(text, number, box_reference)
        glyph = ("-" if code in _HYPHENS else chr(code), box.left, box.bottom, box.right, box.top)
        if glyphs and _jumps(glyphs[-1], glyph, abs(way.a) >= abs(way.b)):
            yield start, glyphs, (way.a, way.b)
            glyphs = []
        if not glyphs:
            start = number
            way_of(text, number, way_reference)
        glyphs.append(glyph)
    if glyphs:
        yield start, glyphs, (way.a, way.b)


def _jumps(last: _Glyph, glyph: _Glyph, is_level: bool) -> bool:
    """Tell that a character does not stand beside the last one, in the direction in which the text runs."""
    _, left, bottom, right, top = glyph
    _, last_left, last_bottom, last_right, last_top = last
    size = max(last_top - last_bottom, last_right - last_left, top - bottom, right - left)
    across = max(left - last_right, last_left - right)
    along = max(bottom - last_top, last_bottom - top)
    return across > 0.5 * size or along > 0.5 * size or (along if is_level else across) > -0.3 * size


def _placed(
    pdfium: Any, text: Any, start: int, glyphs: list[_Glyph], way: tuple[float, float], matrix: PageMatrix
) -> PlacedWord:
    letters, lefts, bottoms, rights, tops = zip(*glyphs, strict=True)
    word = "".join(letters)
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text, start, x, y)
    a, b = way
    turn = math.atan2(matrix.b * a + matrix.d * b, matrix.a * a + matrix.c * b) / (math.pi / 2) % 4
    quarter = round(turn) % 4 if abs(turn - round(turn)) < 0.1 else None
    return PlacedWord(
        word,
        *matrix.box(min(lefts), min(bottoms), max(rights), max(tops)),
        base=matrix.point(x.value, y.value),
        turn=quarter,
        is_spaced=start > 0 and _is_space(pdfium, text, start - 1),
        boxes=() if word.isalnum() and quarter == 0 else tuple(matrix.box(*glyph[1:]) for glyph in glyphs),
    )


def _is_space(pdfium: Any, text: Any, number: int) -> bool:
    """Tell a space of the file from one that pdfium concludes from a gap."""
    return pdfium.FPDFText_GetUnicode(text, number) in _SPACES and not pdfium.FPDFText_IsGenerated(text, number)


def display_matrix(pdfium: Any, page: Any, width: float, height: float) -> PageMatrix:
    """Ask pdfium for the places of three points: it knows about crop boxes and turned pages."""
    x, y = ctypes.c_int(), ctypes.c_int()
    places: list[tuple[float, float]] = []
    for point in ((0, 0), (1000, 0), (0, 1000)):
        pdfium.FPDF_PageToDevice(page, 0, 0, _FINE, _FINE, 0, *point, x, y)
        places.append((x.value * width / _FINE, y.value * height / _FINE))
    (e, f), (x1, y1), (x2, y2) = places
    return PageMatrix((x1 - e) / 1000, (y1 - f) / 1000, (x2 - e) / 1000, (y2 - f) / 1000, e, f)
