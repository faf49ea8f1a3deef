"""Texts of paragraphs, with the headings that the text shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trivium.parsing._chunk import Chunk
from trivium.parsing.chunks._blocks import Block, Count, Outline, Sizes, chunks_from, join_titles
from trivium.schema import Document

_BLANK = re.compile(r"\n[ \t]*\n\s*(?<=\n)")  # to the indentation of the line that follows
_BLANK_LINES = re.compile(r"(?:[ \t]*+\n)*+")
_UNDERLINED = re.compile(
    r"(?P<over>([=\-~^\"'`#*+.:_<>])\2{2,}[ \t]*\n)?"
    r"[ \t]*(?P<title>\S[^\n]{0,200})\n(?P<under>([=\-~^\"'`#*+.:_<>])\5{2,})[ \t]*(?:\n|\Z)"
)
_NUMBERED = re.compile(r"(?:§[ \t]*)?(\d{1,3}(?:\.\d{1,3}){1,5})\.?[ \t]+[^\W\d_].*(?<![.,;:?!])\Z")
_DIVISION = re.compile(r"(?:chapter|part|appendix|annex|kapitel|chapitre)[ \t]+[\dA-Z]{1,5}\b.*\Z", re.I)
_LONGEST = 120  # characters of a line that is a heading


def chunk_text(document: Document, *, size: int = 1200, overlap: int = 0, count: Count = len) -> Iterator[Chunk]:
    """Return the chunks of a text of paragraphs: cut between these, in long ones between sentences.

    Headings are those of the document's metadata; without any, lines that are underlined as in reStructuredText, and
    single lines with a number, as `3.2 Rent`.

    Args:
        document: the text.
        size: maximum size of a chunk (default 1200).
        overlap: maximum size of its part that repeats the end of the chunk before (default 0).
        count: measures both; default: characters. A tokenizer's function measures about in tokens.

    Raises:
        ConfigurationError: the size is below 1, or the overlap is not smaller.

    >>> lease = Document(content="Lease\\n=====\\n\\nIt costs 950 EUR.\\n\\n1.1 Pets\\n\\nDogs are welcome.")
    >>> [(each.metadata.line, each.metadata.heading) for each in chunk_text(lease)]
    [(1, 'Lease'), (6, 'Lease > 1.1 Pets')]
    """
    known = document.metadata.headings
    blocks = marked_blocks(document.content, known) if known else guessed_blocks(document.content)
    return chunks_from(document, blocks, Sizes(size, overlap, count))


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _BLANK.finditer(text, start, end):
        if match.end() < end:
            yield start, match.end()
            start = match.end()
    if start < end:
        yield start, end


def _past_blank(text: str, at: int) -> int:
    """Return the offset of the next line that is not blank."""
    found = _BLANK_LINES.match(text, at)
    return at if found is None else found.end()


def marked_blocks(text: str, headings: Iterable[tuple[int, int]]) -> Iterator[Block]:
    """Return the blocks of a text whose format marks headings, given as offsets and levels."""
    outline, start, heading = Outline(), 0, ""
    blocks: list[Block] = []
    for at, level in [*headings, (len(text), 0)]:
        blocks += [Block(*each, heading) for each in _paragraphs(text, start, at)]
        if level:
            stop = _past_blank(text, text.find("\n", at) + 1 or len(text))
            heading = outline.enter(level, text[at:stop])
            blocks.append(Block(at, stop, heading, is_title=True))
            start = stop
    return join_titles(blocks)


def guessed_blocks(text: str) -> Iterator[Block]:
    """Return the blocks of a text whose headings have to be recognised."""
    outline, styles, heading = Outline(), list[str](), ""
    blocks: list[Block] = []
    for start, end in _paragraphs(text, 0, len(text)):
        stop = start
        if (found := _heading(text, start, end, styles)) is not None:
            stop, level, title = found
            heading = outline.enter(level, title)
            blocks.append(Block(start, stop, heading, is_title=True))
        if stop < end:
            blocks.append(Block(stop, end, heading))
    return join_titles(blocks)


def _heading(text: str, start: int, end: int, styles: list[str]) -> tuple[int, int, str] | None:
    """Return end, level and title of the heading at the beginning of a paragraph; None if there is none.

    Args:
        text: the complete text.
        start: start of the paragraph.
        end: end of the paragraph.
        styles: underlines of the headings so far, outermost first; a new one is appended.
    """
    found = _UNDERLINED.match(text, start, end)
    if found is not None:
        title, over, under = found["title"].strip(), (found["over"] or "").strip(), found["under"]
        is_level = len(under) >= 0.75 * len(title) and any(map(str.isalnum, title))
        if is_level and (not over or over[0] == under[0]):
            style = under[0] + over[:1]
            if style not in styles:
                styles.append(style)
            return _past_blank(text, found.end()), styles.index(style) + 1, title
    line = text[start:end].rstrip()
    if "\n" in line or len(line) > _LONGEST:
        return None
    numbered = _NUMBERED.match(line)
    if numbered is not None:
        return end, numbered[1].count(".") + 1, line
    return (end, 1, line) if _DIVISION.match(line) else None
