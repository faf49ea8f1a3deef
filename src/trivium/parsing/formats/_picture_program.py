"""The program of the process that draws pages: its order and the file on stdin, JPEG images on stdout."""

from __future__ import annotations

import faulthandler
import json
import sys
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from trivium.exceptions import DocumentError, MissingExtraError
from trivium.parsing.formats._apart import limit_process
from trivium.parsing.formats._formats import Original, detect_media_type
from trivium.parsing.formats._images import image_pages, size_in_points
from trivium.parsing.formats._media_types import PDF
from trivium.parsing.formats._pdf import PDFFile

if TYPE_CHECKING:
    from PIL.Image import Image


_DPI = 110
_QUALITY = 60


def pictures(original: Original, pages: list[int]) -> Iterator[tuple[int, Image]]:
    """Yield pages, counted from 1, as images of moderate size."""
    if detect_media_type(original) == PDF:
        with PDFFile.open(original) as file:
            for number in pages:
                with file.page(number - 1) as page:
                    yield number, file.image(page, file.size(page), _DPI)
        return
    for number, _, image in image_pages(original):
        if number in pages:
            scale = _DPI / 72
            width, height = (max(1, round(scale * side)) for side in size_in_points(image))
            yield number, image.convert("RGB").resize((width, height))


def render() -> None:
    """Write for each page a line with its number and the length of its image, and the image."""
    order = json.loads(sys.stdin.buffer.readline())
    limit_process(order["memory"], order["seconds"])
    faulthandler.dump_traceback_later(order["seconds"], exit=True)
    data = sys.stdin.buffer.read()
    try:
        for number, image in pictures(Original(data, "", order["suffix"], len(data)), order["pages"]):
            out = BytesIO()
            image.save(out, "JPEG", quality=_QUALITY, optimize=True)
            sys.stdout.buffer.write(f"{number} {out.tell()}\n".encode() + out.getvalue())
    except (DocumentError, MissingExtraError, MemoryError):
        pass  # whoever asked shows the text instead
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    render()
