"""Markdown: sections, paragraphs, lists, tables and code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from trivium.parsing._chunk import Chunk
from trivium.parsing._passages import LINES, WORDS, Border, border
from trivium.parsing.chunks._blocks import CODE, PROSE, Block, Count, Outline, Sizes, chunks_from, join_titles
from trivium.schema import Document

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_BREAK = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_INDENTED = re.compile(r" {2}|\t| \t")
_TARGET = r"(?:\([^()]*\)|\[[^\[\]]*\])"
_MARKS = re.compile(
    rf"\[!\[([^\[\]]*)\]{_TARGET}\]{_TARGET}|!\[([^\[\]]*)\]{_TARGET}|\[([^\[\]]*)\]\([^()]*\)"  # images, links
    r"|[*`]+|\{#[^{}]*\}|<[^<>]*>"
)
_ITEMS = (border(r"\n(?= {0,3}(?:[-*+]|\d{1,9}[.)])\s)"), border(r"\n(?=[ \t]*(?:[-*+]|\d{1,9}[.)])\s)"), *PROSE[1:])
_ROWS = (LINES, WORDS)
_LONGEST = 400


def chunk_markdown(document: Document, *, size: int = 1200, overlap: int = 0, count: Count = len) -> Iterator[Chunk]:
    """Return the chunks of Markdown: none spans a heading, and a table, list or code block is kept complete if it fits.

    Args:
        document: the text.
        size: maximum size of a chunk (default 1200).
        overlap: maximum size of its part that repeats the end of the chunk before (default 0).
        count: measures both; default: characters. A tokenizer's function measures about in tokens.

    Raises:
        ConfigurationError: the size is below 1, or the overlap is not smaller.

    >>> lease = Document(content="# Lease\\n\\n## Rent\\n\\nIt costs *950 EUR*.\\n\\n## Pets\\n\\n- dogs\\n- cats\\n")
    >>> for each in chunk_markdown(lease):
    ...     print(each.metadata.line, each.metadata.end_line, each.metadata.heading)
    1 5 Lease > Rent
    7 10 Lease > Pets
    """
    return chunks_from(document, join_titles(_blocks(document.content)), Sizes(size, overlap, count))


def _blocks(text: str) -> Iterator[Block]:
    lines = text.split("\n")
    outline, heading, start = Outline(), "", 0
    number = 0
    while number < len(lines):
        first, (end, borders, level) = number, _extent(lines, number)
        title = _title(lines[first:end]) if level else ""
        while end < len(lines) and not lines[end].strip():  # blank lines belong to the block before
            end += 1
        stop = min(start + sum(map(len, lines[first:end])) + end - first, len(text))
        if level:
            heading = outline.enter(level, title)
        if stop > start:
            yield Block(start, stop, heading, borders, is_title=bool(level))
        number, start = end, stop


def _extent(lines: Sequence[str], first: int) -> tuple[int, tuple[Border, ...], int]:
    """Return the line behind the block that begins at `first`, its borders, and its level if it is a heading."""
    line = lines[first]
    if first == 0 and line.rstrip() in ("---", "+++"):
        end = _closing(lines, first, lambda each: each.rstrip() in (line.rstrip(), "..."))
        if end is not None:
            return end, CODE, 0
    if (atx := _ATX.match(line)) is not None:
        return first + 1, PROSE, len(atx[1])
    if (fence := _FENCE.match(line)) is not None:
        mark = fence[1]
        end = _closing(lines, first, lambda each: each.strip().startswith(mark) and not each.strip().strip(mark[0]))
        return len(lines) if end is None else end, CODE, 0
    if _is_table(lines, first):
        return _until(lines, first + 2, lambda each: "|" not in each), _ROWS, 0
    if _ITEM.match(line):
        return list_end(lines, first), _ITEMS, 0
    if line.startswith(("    ", "\t")):
        return _until(lines, first + 1, lambda each: not each.startswith((" ", "\t"))), CODE, 0
    end, level = paragraph_end(lines, first)
    return end, PROSE, level


def _closing(lines: Sequence[str], first: int, closes: Callable[[str], bool]) -> int | None:
    """Return the line behind the one that closes the block that begins at `first`; None if there is none."""
    return next((number + 1 for number in range(first + 1, len(lines)) if closes(lines[number])), None)


def _until(lines: Sequence[str], first: int, ends: Callable[[str], bool]) -> int:
    """Return the first line from `first` on that is blank or ends the block."""
    return next((n for n in range(first, len(lines)) if not lines[n].strip() or ends(lines[n])), len(lines))


def _is_table(lines: Sequence[str], first: int) -> bool:
    if "|" not in lines[first] or first + 1 == len(lines):
        return False
    divider = lines[first + 1]
    return "|" in divider and "-" in divider and not divider.strip(" \t|:-")


def list_end(lines: Sequence[str], first: int) -> int:
    """Return the line behind a list, which goes on over blank lines as long as items or indented lines follow."""
    number = first + 1
    while number < len(lines):
        line = lines[number]
        if line.strip():
            if not _INDENTED.match(line) and (_ATX.match(line) or _FENCE.match(line)):
                return number
            number += 1
            continue
        following = next((n for n in range(number, len(lines)) if lines[n].strip()), len(lines))
        if following == len(lines) or not (_INDENTED.match(lines[following]) or _ITEM.match(lines[following])):
            return number
        number = following
    return number


def paragraph_end(lines: Sequence[str], first: int) -> tuple[int, int]:
    """Return the line behind a paragraph, and 1 or 2 if it is an underlined heading of that level, else 0."""
    if _BREAK.match(lines[first]):
        return first + 1, 0
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if (under := _SETEXT.match(line)) is not None:
            return number + 1, 1 if under[1][0] == "=" else 2
        if not line.strip() or _ATX.match(line) or _FENCE.match(line) or _ITEM.match(line) or _is_table(lines, number):
            return number, 0
    return len(lines), 0


def _title(lines: Sequence[str]) -> str:
    """Return the text of a heading without its markup."""
    atx = _ATX.match(lines[0])
    text = " ".join(lines[:-1]) if atx is None else _CLOSING.sub("", atx[2] or "")
    return _MARKS.sub(lambda mark: mark[mark.lastindex] if mark.lastindex else "", text[:_LONGEST])
