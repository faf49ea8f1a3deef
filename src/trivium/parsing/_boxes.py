"""Boxes on pages: the place of each character of a document that has a layout."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

_SCALE = 65535
_UNREAD = 255


class Box(NamedTuple):
    """A rectangle on a displayed page, in points (1/72 inch) from its upper left corner; pages count from 1."""

    page: int
    left: float
    top: float
    right: float
    bottom: float

    def union(self, other: Box) -> Box:
        """Return the smallest box around this one and another of the same page."""
        return Box(
            self.page,
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def continues(self, other: Box) -> bool:
        """Tell that this box follows the other on its line."""
        height = min(self.bottom - self.top, other.bottom - other.top)
        overlap = min(self.bottom, other.bottom) - max(self.top, other.top)
        near = max(self.left, other.left) - min(self.right, other.right) <= 3 * height
        return self.page == other.page and near and overlap >= 0.5 * height


class Run(NamedTuple):
    """Characters that stand in one box; `confidence` is that of OCR in percent, None for a text layer."""

    start: int
    length: int
    box: Box
    confidence: int | None = None


class PageLayout:
    """The boxes of the characters of a text, in 15 bytes for each run of letters or digits.

    Args:
        sizes: width and height of each page as it is displayed, in points.
        runs: boxes of characters, by offset.

    Example:
        >>> layout = PageLayout([(200, 100)], [Run(0, 4, Box(1, 10, 20, 50, 30)), Run(5, 2, Box(1, 60, 20, 80, 30))])
        >>> [tuple(map(round, box)) for box in layout.boxes(2, 7)]
        [(1, 30, 20, 80, 30)]
    """

    def __init__(self, sizes: Sequence[tuple[float, float]] = (), runs: Iterable[Run] = ()) -> None:
        self._sizes = array("d", [each for size in sizes for each in size])
        self._starts, self._lengths = array("I"), array("H")
        self._corners, self._confidences = array("H"), array("B")
        self._firsts = array("I", [0] * len(sizes))  # of each page the number of its first run
        for run in runs:
            self._add(run)

    @property
    def sizes(self) -> tuple[tuple[float, float], ...]:
        """Width and height of each page."""
        return tuple(zip(self._sizes[::2], self._sizes[1::2], strict=True))

    def add_page(self, size: tuple[float, float], runs: Iterable[Run]) -> None:
        """Add a page behind the others."""
        self._sizes.extend(size)
        self._firsts.append(len(self._starts))
        for run in runs:
            self._add(run)

    def _add(self, run: Run) -> None:
        for page in range(run.box.page, len(self._firsts)):
            self._firsts[page] = len(self._starts) + 1
        self._starts.append(run.start)
        self._lengths.append(min(run.length, _SCALE))
        self._confidences.append(_UNREAD if run.confidence is None else min(100, max(0, run.confidence)))
        page, *corners = run.box
        x, y = _SCALE / (self._sizes[2 * page - 2] or 1), _SCALE / (self._sizes[2 * page - 1] or 1)
        for corner, scale in zip(corners, (x, y, x, y), strict=True):
            self._corners.append(min(_SCALE, max(0, round(corner * scale))))

    def boxes(self, start: int, end: int) -> tuple[Box, ...]:
        """Return the boxes around the characters from `start` to `end`: one for each line and column they stand in."""
        found: list[Box] = []
        for number in self._numbers(start, end):
            box = self._box(number, start, end)
            if found and box.continues(found[-1]):
                found[-1] = found[-1].union(box)
            else:
                found.append(box)
        return tuple(found)

    def confidence(self, start: int, end: int) -> float | None:
        """Return the least confidence with which OCR read one of the characters, 0 to 1; None if it read none."""
        found = [self._confidences[number] for number in self._numbers(start, end)]
        read = [each for each in found if each != _UNREAD]
        return min(read) / 100 if read else None

    def scanned_pages(self) -> list[int]:
        """Return the numbers of the pages that OCR has read, from 1."""
        return [page for page in range(1, len(self.sizes) + 1) if self.page_confidence(page) is not None]

    def page_confidence(self, page: int) -> float | None:
        """Return the mean confidence with which OCR read the characters of a page, 0 to 1; None if it read none."""
        last = self._firsts[page] if page < len(self._firsts) else len(self._starts)
        numbers = [each for each in range(self._firsts[page - 1], last) if self._confidences[each] != _UNREAD]
        length = sum(self._lengths[each] for each in numbers)
        return (
            sum(self._confidences[each] * self._lengths[each] for each in numbers) / (100 * length) if length else None
        )

    def _numbers(self, start: int, end: int) -> range:
        first = max(0, bisect_right(self._starts, start) - 1)
        if first < len(self._starts) and self._starts[first] + self._lengths[first] <= start:
            first += 1
        return range(first, max(first, bisect_right(self._starts, end - 1)))

    def _box(self, number: int, start: int, end: int) -> Box:
        """Return the part of a run's box that holds these characters, as if all were equally wide."""
        page = bisect_right(self._firsts, number)
        width, height = self._sizes[2 * page - 2 : 2 * page]
        left, top, right, bottom = self._corners[4 * number : 4 * number + 4]
        before, length = self._starts[number], self._lengths[number]
        share = (right - left) / max(1, length)
        right = left + share * min(length, end - before)
        left += share * max(0, start - before)
        x, y = width / _SCALE, height / _SCALE
        return Box(page, round(x * left, 2), round(y * top, 2), round(x * right, 2), round(y * bottom, 2))

    def to_bytes(self) -> bytes:
        """Return the layout as bytes, for `from_bytes` on the same machine."""
        parts = [each.tobytes() for each in self._arrays()]
        return struct.pack(f"{len(parts)}Q", *map(len, parts)) + b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        """Return the layout of some bytes of `to_bytes`."""
        ends = [struct.calcsize("6Q")]
        for length in struct.unpack_from("6Q", data):
            ends.append(ends[-1] + length)
        new = cls()
        for each, (start, end) in zip(new._arrays(), pairwise(ends), strict=True):
            each.frombytes(data[start:end])
        return new

    def _arrays(self) -> tuple[array[float] | array[int], ...]:
        return self._sizes, self._firsts, self._starts, self._lengths, self._corners, self._confidences
