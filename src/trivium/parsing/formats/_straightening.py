"""Turned and skewed page images made straight, and the way back to where a pixel was."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE = 600  # pixels of the small image in which the angle is searched
_STEEPEST = 12.0
_LEAST = 0.4
"""Degrees below which OCR reads an image as well as a straight one."""


class Straightened(NamedTuple):
    """An image after it was turned by quarters clockwise (`turn`, in degrees), then by `angle` counterclockwise."""

    image: Image
    before: tuple[int, int]
    turn: int = 0
    angle: float = 0.0

    def place_before(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point of the image was in the image before."""
        width, height = self.before if self.turn % 180 == 0 else self.before[::-1]
        radians = math.radians(self.angle)
        dx, dy = x - self.image.width / 2, y - self.image.height / 2
        x = width / 2 + dx * math.cos(radians) - dy * math.sin(radians)
        y = height / 2 + dx * math.sin(radians) + dy * math.cos(radians)
        width, height = self.before
        back = {0: (x, y), 90: (y, height - x), 180: (width - x, height - y), 270: (width - y, x)}
        return back[self.turn % 360]


def turned(image: Image, degrees: int) -> Image:
    """Return an image turned clockwise by 0, 90, 180 or 270 degrees."""
    return image.rotate(-degrees, expand=True) if degrees % 360 else image


def straighten(image: Image, turn: int = 0) -> Straightened:
    """Turn a gray image so that its lines are level.

    Args:
        image: dark letters on light paper.
        turn: the degrees by which it was turned clockwise before.
    """
    from PIL.Image import Resampling

    before = image.size if turn % 180 == 0 else (image.height, image.width)
    angle = skew(image)
    if abs(angle) < _LEAST:
        return Straightened(image, before, turn)
    level = image.rotate(angle, Resampling.BICUBIC, expand=True, fillcolor=255)
    return Straightened(level, before, turn, angle)


def skew(image: Image) -> float:
    """Return by how many degrees to turn an image counterclockwise: then its rows differ most, ink from paper."""
    from PIL import ImageOps

    small = ImageOps.invert(image.copy())
    small.thumbnail((_SIDE, _SIDE))
    best, step = 0.0, 2.0
    while step >= 0.25:
        near = [best + step * each for each in range(-6, 7)] if step == 2.0 else [best - step, best, best + step]
        best = max((each for each in near if abs(each) <= _STEEPEST), key=lambda angle: _sharpness(small, angle))
        step /= 2
    return best


def _sharpness(image: Image, angle: float) -> float:
    """Return how much the brightness of neighbouring rows differs after a turn."""
    from PIL.Image import Resampling

    level = image.rotate(angle, Resampling.BILINEAR)
    rows = level.resize((1, level.height), Resampling.BOX).tobytes()
    return sum((one - other) ** 2 for one, other in pairwise(rows))
