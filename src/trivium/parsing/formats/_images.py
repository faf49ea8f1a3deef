"""Images of pages: PNG, JPEG, GIF, WebP and BMP, and TIFF with any number of them."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from trivium.exceptions import MissingExtraError
from trivium.parsing._boxes import PageLayout
from trivium.parsing.formats._decoding import tidy
from trivium.parsing.formats._formats import Original, Parsed, name_binary_format
from trivium.parsing.formats._ocr import OCR, POINTS

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "TIFF", "GIF", "WEBP", "BMP")
_DPI = 200
_MOST_PIXELS = 120_000_000
_DARK = 128  # of 255


def parse_image(original: Original) -> Parsed:
    """Return the text of the pages by OCR; each begins on a new line after a blank one.

    Raises:
        UnreadableDocumentError: the image is damaged, or the engine failed.
        DocumentTooLargeError: it has more pages or pixels than may be read.
        OCRMissingError: the OCR engine is not installed.
        MissingExtraError: Pillow is not installed.
    """
    parts: list[str] = []
    pages: list[int] = []
    layout, length = PageLayout(), 0
    engine: OCR | None = None
    for number, count, image in image_pages(original):
        if engine is None:
            original.check_scans(count)
        original.begin_scan(number, count)
        engine = engine or OCR(original)
        size = size_in_points(image)
        text, runs = engine.read_page(image, number, size, length)
        layout.add_page(size, runs)
        text = tidy(text).rstrip("\n") + "\n\n"
        pages.append(length)
        parts.append(text)
        length += len(text)
    return Parsed("".join(parts), pages=tuple(pages), layout=layout)


def image_pages(original: Original) -> Iterator[tuple[int, int, Image]]:
    """Yield the number of each page from 1, their count, and the image, as it is displayed.

    Raises:
        UnreadableDocumentError: the image is damaged.
        DocumentTooLargeError: it has more pixels than may be read.
        MissingExtraError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise MissingExtraError("pillow", "documents") from None
    try:
        with Image.open(BytesIO(original.data), formats=_FORMATS) as file:
            # The images of a TIFF file are pages; those of others move, or are previews.
            count = int(getattr(file, "n_frames", 1)) if file.format == "TIFF" else 1
            for number in range(count):
                file.seek(number)
                if file.width * file.height > _MOST_PIXELS:
                    raise original.too_many_pixels(_MOST_PIXELS)
                if count == 1:
                    file.draft("L", file.size)
                yield number + 1, count, _on_paper(ImageOps.exif_transpose(file))
    except Image.DecompressionBombError:
        raise original.too_many_pixels(_MOST_PIXELS) from None
    except (OSError, ValueError, SyntaxError, EOFError, ArithmeticError) as error:
        kind = name_binary_format(original.data)
        raise original.unreadable(f"this is {kind}, and damaged ({error}); open it and save it anew") from None


def _on_paper(image: Image) -> Image:
    """Lay an image with a transparent ground on white; on black, if nothing dark shows on white."""
    from PIL import Image

    if not image.has_transparency_data:
        return image
    drawn = image if image.mode == "RGBA" else image.convert("RGBA")
    alpha = drawn.getchannel("A")
    if not any(alpha.histogram()[:255]):
        return image
    for ground in ("white", "black"):
        paper = Image.new("RGB", image.size, ground)
        paper.paste(drawn, mask=alpha)
        if any(paper.convert("L").histogram()[:_DARK]):
            break
    paper.info = image.info
    return paper


def size_in_points(image: Image) -> tuple[float, float]:
    """Return width and height of an image on paper; where it does not tell, at 200 dots an inch."""
    given = image.info.get("dpi")
    dpi = float(given[0]) if given and 50 <= float(given[0]) <= 2400 else _DPI
    return image.width * POINTS / dpi, image.height * POINTS / dpi
