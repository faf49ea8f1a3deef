"""PPTX, by python-pptx: slides as pages."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from trivium.exceptions import MissingExtraError
from trivium.parsing.formats._decoding import tidy
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._inline import LOWERED, RAISED, STRUCK, marked_run, runs_with_signs
from trivium.parsing.formats._packages import read_properties, reading_package


def parse_pptx(original: Original) -> Parsed:
    """Return texts and tables of each slide in the order of its shapes, then its notes; hidden slides are empty.

    Raises:
        UnreadableDocumentError: it is damaged or encrypted.
        DocumentTooLargeError: it unpacks to more than the limit.
        MissingExtraError: python-pptx is not installed.
    """
    try:
        import pptx
    except ImportError:
        raise MissingExtraError("python-pptx", "documents") from None
    parts: list[str] = []
    pages: list[int] = []
    length = 0
    with reading_package(original, "PPTX"):
        presentation: Any = pptx.Presentation(BytesIO(original.data))
        for slide in presentation.slides:
            text = tidy("\n".join(slide_lines(slide))).strip("\n")
            pages.append(length)
            parts.append(f"{text}\n\n" if text else "")
            length += len(parts[-1])
            if length > original.limit:
                raise original.too_large("more text")
        title, published = read_properties(original)
    return Parsed("".join(parts), title, tuple(pages), published=published)


def slide_lines(slide: Any) -> Iterator[str]:
    """Return the lines of a slide and of its notes; none if it is hidden."""
    if slide._element.get("show") == "0":
        return
    yield from _shape_lines(slide.shapes)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
        yield from ("", f"Notes: {_text(frame)}")


def _shape_lines(shapes: Any) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _shape_lines(shape.shapes)
        elif hasattr(shape, "has_table") and shape.has_table:
            yield from ("", *(_row(row) for row in shape.table.rows), "")
        elif shape.has_text_frame and shape.text_frame.text.strip():
            yield from (_text(shape.text_frame), "")


def _row(row: Any) -> str:
    return " | ".join(" ".join(_text(cell.text_frame).split()) for cell in row.cells)


def _text(frame: Any) -> str:
    """Return the text of a frame, in which a break within a paragraph is a vertical tab."""
    lines = (runs_with_signs("".join(map(_run, each._p.content_children))) for each in frame.paragraphs)
    return "\n".join(lines).replace("\v", "\n").strip("\n")


def _run(run: Any) -> str:
    """Return the text of a run, a field or a break, with the marks of its own format."""
    found = (dict[str, str](each.attrib) for each in run if str(each.tag).endswith("}rPr"))
    properties = next(found, dict[str, str]())
    offset = properties.get("baseline", "0").rstrip("%")
    is_struck = properties.get("strike") in ("sngStrike", "dblStrike")
    kinds = [LOWERED if offset.startswith("-") else RAISED] if offset.strip("-0.") else []
    return marked_run(run.text, [*kinds, STRUCK] if is_struck else kinds)
