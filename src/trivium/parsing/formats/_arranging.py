"""Words on a page arranged as text: rows of tables and keys with their values on one line, columns one by one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from statistics import median
from typing import NamedTuple

from trivium.parsing._boxes import Box, Run

_PIECE = re.compile(r"[^\W_]+|[\W_]")
_LETTER = re.compile("(?s).")
_NUMBER = re.compile(r"[\W\d_]*\d[\W\d_]*")
_AMOUNT = re.compile(r"[\W\d_]*\d[.,]\d\d(?:[\W_]*|[A-Z]{3})")
_CELL_GAP = "   "
_NEAR = 2.0  # points
_MOST_CELLS = 4000
"""A page with more of them has no columns that anybody would read: its lines go across."""

Corners = tuple[float, float, float, float]


class PlacedWord(NamedTuple):
    """A word with its box on the page, in points from the upper left corner.

    `base` is the point of its baseline where it begins, `turn` the direction in which it is read: quarters of a turn
    clockwise, None for one between. `is_spaced` is true if a space stands before it in the file. `boxes` are those of
    its characters; it needs none where a part of the word has the same part of its box.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    base: tuple[float, float]
    turn: int | None = 0
    is_spaced: bool = True
    boxes: tuple[Corners, ...] = ()
    confidence: int | None = None


class _Cell(NamedTuple):
    """Words that stand side by side in one row, in coordinates in which the text runs to the right."""

    left: float
    top: float
    right: float
    bottom: float
    base: float
    words: tuple[PlacedWord, ...]

    @property
    def height(self) -> float:
        return self.bottom - self.top


def arrange_page(
    words: Iterable[PlacedWord], page: int, size: tuple[float, float], offset: int
) -> tuple[str, list[Run]]:
    """Return the text of a page, and the boxes of its characters.

    Args:
        words: its words.
        page: its number, from 1.
        size: its width and height.
        offset: the place of the page in the text of the document.
    """
    parts: list[str] = []
    runs: list[Run] = []

    def write(text: str) -> None:
        nonlocal offset
        parts.append(text)
        offset += len(text)

    by_turn = sorted(words, key=lambda word: 4 if word.turn is None else word.turn)
    for turn, turned in groupby(by_turn, key=lambda word: word.turn):
        if parts:
            write("\n")
        before: _Cell | None = None
        rows = list(_rows_in_order([_turned(word, turn, size) for word in turned], turn is not None))
        columns = _column_names(rows)
        for row in rows:
            cells = row
            if _is_right_to_left(row):
                cells = [cell._replace(words=cell.words[::-1]) for cell in reversed(row)]
            if before is not None and _is_apart(before, row[0]):
                write("\n")
            for number, cell in enumerate(cells):
                write((_CELL_GAP if number else "") + columns.get(id(cell), ""))
                for at, word in enumerate(cell.words):
                    write(_space(cell.words[at - 1], word, turn) if at else "")
                    runs += _runs(word, page, offset)
                    write(word.text)
            write("\n")
            before = row[0]
    return "".join(parts), runs


def _turned(word: PlacedWord, turn: int | None, size: tuple[float, float]) -> _Cell:
    """Turn a page so that the text of a word runs to the right."""
    width, height = size
    left, top, right, bottom = word[1:5]
    x, y = word.base
    if turn == 1:
        return _Cell(top, width - right, bottom, width - left, width - x, (word,))
    if turn == 2:
        return _Cell(width - right, height - bottom, width - left, height - top, height - y, (word,))
    if turn == 3:
        return _Cell(height - bottom, left, height - top, right, x, (word,))
    return _Cell(left, top, right, bottom, y, (word,))


def _runs(word: PlacedWord, page: int, offset: int) -> Iterator[Run]:
    """Yield the boxes of a word's letters and digits, one for each stretch of them, and of its other characters."""
    if not word.boxes:
        yield Run(offset, len(word.text), Box(page, *word[1:5]), word.confidence)
        return
    for piece in (_PIECE if word.turn == 0 else _LETTER).finditer(word.text):
        start, end = piece.span()
        lefts, tops, rights, bottoms = zip(*word.boxes[start:end], strict=True)
        box = Box(page, min(lefts), min(tops), max(rights), max(bottoms))
        yield Run(offset + start, end - start, box, word.confidence)


def _space(last: PlacedWord, word: PlacedWord, turn: int | None) -> str:
    """Return the space between two words of a cell: none where a program wrote one word in parts."""
    if turn in {1, 3}:
        gap = max(word.top - last.bottom, last.top - word.bottom)
        size, is_below = word.right - word.left, abs(word.base[0] - last.base[0]) > 0.5 * (word.right - word.left)
    else:
        gap = max(word.left - last.right, last.left - word.right)
        size, is_below = word.bottom - word.top, abs(word.base[1] - last.base[1]) > 0.5 * (word.bottom - word.top)
    return " " if word.is_spaced or is_below or gap >= 0.15 * size else ""


def _is_apart(before: _Cell, cell: _Cell) -> bool:
    """Tell that a blank line stands between two rows, or that the text goes on in another place."""
    size = max(before.height, cell.height)
    return not -0.5 * size < cell.top - before.bottom < 0.9 * size


def _is_right_to_left(row: Sequence[_Cell]) -> bool:
    kinds = [unicodedata.bidirectional(word.text[0]) for cell in row for word in cell.words]
    return sum(kind in {"R", "AL"} for kind in kinds) > len(kinds) / 2


# --- tables with empty cells ----------------------------------------------------------------------------------


def _column_names(rows: Sequence[list[_Cell]]) -> dict[int, str]:
    """Return the names of columns to write before cells, by the id of the cell.

    In a row with an empty cell, those behind it would be taken for those of other columns; where only the last cells
    are empty, the last one that is not is named. There are no names if a table with a head is not certain.
    """
    names: dict[int, str] = {}
    start, above = 0, 0
    while start < len(rows):
        table = _table(rows, start)
        follows, above = above > 1, len(table)
        start += max(1, len(table))
        if follows or not _is_certain(table):  # words right below a table may be a row of it, as "Shipping  free"
            continue
        head = [" ".join(word.text for word in cell.words).rstrip(" :") for cell in table[0].values()]
        for row in table[1:]:
            if len(row) < len(head):
                first = next((at for number, at in enumerate(row) if at != number), max(row))
                names |= {id(cell): f"{head[at]}: " for at, cell in row.items() if at >= first}
    return names


def _table(rows: Sequence[list[_Cell]], start: int) -> list[dict[int, _Cell]]:
    """Return a row as the head of a table, and those below it whose cells stand under one of its cells, by column."""
    head = rows[start]
    if (
        len(head) < 3
        or any(map(_has_digit, head))
        or _is_right_to_left(head)
        or head[0].words[0].confidence is not None
    ):
        return []
    edges = [(cell.left, cell.right) for cell in head]
    table = [dict(enumerate(head))]
    for number in range(start + 1, len(rows)):
        row, places = rows[number], dict[int, _Cell]()
        space = min(cell.top for cell in row) - max(cell.bottom for cell in rows[number - 1])
        for cell in row:
            under = [at for at, (left, right) in enumerate(edges) if cell.left < right and cell.right > left]
            if len(under) == 1:
                places[under[0]] = cell
                edges[under[0]] = min(edges[under[0]][0], cell.left), max(edges[under[0]][1], cell.right)
        if not 1 < len(row) == len(places) or 0 not in places or not -row[0].height < space < 2.5 * row[0].height:
            break
        if not any(map(_has_digit, row)) and any(_has_digit(cell) for at, cell in table[-1].items() if at in places):
            break  # words below numbers: the head of another table
        table.append(places)
    return table


def _is_certain(table: Sequence[Mapping[int, _Cell]]) -> bool:
    """Tell a table: at least three rows below a head, columns with common edges, and one with numbers only."""
    if len(table) < 4 or not any(map(_has_digit, table[1].values())):
        return False
    columns = [[row[at] for row in table[1:] if at in row] for at in table[0]]
    return any(all(map(_has_digit, column)) for column in columns) and all(map(_are_aligned, columns))


def _are_aligned(cells: Sequence[_Cell]) -> bool:
    sides = ([cell.left for cell in cells], [cell.right for cell in cells], [cell.left + cell.right for cell in cells])
    return bool(cells) and any(max(side) - min(side) < _NEAR for side in sides)


def _has_digit(cell: _Cell) -> bool:
    return any(map(str.isdigit, _text(cell)))


# --- rows and columns -----------------------------------------------------------------------------------------


def _rows_in_order(words: list[_Cell], is_straight: bool) -> Iterator[list[_Cell]]:
    """Yield the rows of a page in reading order, each of cells from left to right."""
    if not is_straight:  # as the stamp across a page: only the file knows the order
        yield [_joined(words)]
        return
    cells = [cell for row in _lines(words) for cell in _cells(row)]
    parts = [cells] if len(cells) <= _MOST_CELLS else []
    if not parts:
        yield from _rows(cells)
    while parts:
        part = parts.pop(0)
        divided = next((found for band in _bands(part) if (found := _columns(band)) is not None), None)
        if divided is None:
            yield from _with_wrapped(_rows(part))
            continue
        inside = {id(cell) for side in divided for cell in side}
        top = min(cell.top for side in divided for cell in side)
        others = [cell for cell in part if id(cell) not in inside]
        above = [cell for cell in others if cell.top < top]
        below = [cell for cell in others if cell.top >= top]
        yield from _with_wrapped(_rows(above))
        parts[:0] = [each for each in (*divided, below) if each]


def _lines(words: Iterable[_Cell]) -> list[list[_Cell]]:
    """Group words that stand on one baseline, or are raised or lowered a little."""
    lines: list[list[_Cell]] = []
    for word in sorted(words, key=lambda word: (word.base, word.left)):
        if lines and _is_level(word, lines[-1][-1]):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [sorted(line, key=lambda word: word.left) for line in lines]


def _rows(cells: Iterable[_Cell]) -> list[list[_Cell]]:
    """Group cells that stand beside each other: on one baseline, or a small label beside the value that it is for."""
    rows: list[list[_Cell]] = []
    for cell in sorted(cells, key=lambda cell: (cell.base, cell.left)):
        last = rows[-1][-1] if rows else None
        if last is not None and (_is_level(cell, last) or (_is_label(cell, last) and _is_free(cell, rows[-1]))):
            rows[-1].append(cell)
        else:
            rows.append([cell])
    return [sorted(row, key=lambda cell: cell.left) for row in rows]


def _is_level(cell: _Cell, other: _Cell) -> bool:
    return abs(cell.base - other.base) <= 0.3 * max(cell.height, other.height)


def _is_label(cell: _Cell, other: _Cell) -> bool:
    """Tell that one of two cells is in small print, and no higher or lower than the other."""
    low, high = sorted((cell.height, other.height))
    return low < 0.8 * high and min(cell.bottom, other.bottom) - max(cell.top, other.top) > 0.8 * low


def _is_free(cell: _Cell, row: Sequence[_Cell]) -> bool:
    return all(cell.left > other.right or cell.right < other.left for other in row)


def _with_wrapped(rows: Sequence[list[_Cell]]) -> Iterator[list[_Cell]]:
    """Yield rows of tables with the further lines of their cells, so that each row is one line."""
    row: list[_Cell] = []
    last = 0.0  # the baseline of the line before
    for number, line in enumerate(rows):
        step = line[0].base - last
        following = rows[number + 1][0].base - line[0].base if number + 1 < len(rows) else step
        longer = _with_line(row, line, step, following) if row else None
        if longer is None and row:
            yield row
        row = line if longer is None else longer
        last = line[0].base
    if row:
        yield row


def _with_line(row: Sequence[_Cell], line: Sequence[_Cell], step: float, following: float) -> list[_Cell] | None:
    """Return a row with a further line of its cells; None if the line is a row of its own."""
    if len(line) >= len(row) or step > 1.6 * line[0].height:
        return None
    longer = list(row)
    free = 0
    for cell in line:
        near = 0.25 * cell.height
        place = next((at for at, above in enumerate(longer) if abs(above.left - cell.left) < near), None)
        if place is not None and not (_is_number(cell) and _is_number(longer[place])):
            longer[place] = _joined([longer[place], cell])
        elif place is None and _is_free(cell, row):
            longer.append(cell)
            free += 1
        else:
            return None
    longer.sort(key=lambda cell: cell.left)
    if free == len(line) or any(cell.right > other.left for cell, other in pairwise(longer)):
        return None
    # The first cell often names the row: a line below it is the next row, unless space tells that it is not.
    is_named = longer[0].words[0] is row[0].words[0] and longer[0] is not row[0]
    return None if is_named and (len(line) > 1 or len(row) < 3 or following < 1.25 * step) else longer


def _is_number(cell: _Cell) -> bool:
    return _NUMBER.fullmatch(_text(cell)) is not None


def _text(cell: _Cell) -> str:
    return "".join(word.text for word in cell.words)


def _cells(row: Sequence[_Cell]) -> Iterator[_Cell]:
    """Join the words of a row that stand close together; a word that is drawn twice to make it bold counts once."""
    group: list[_Cell] = []
    for word in row:
        if group and word.words[0].text == group[-1].words[0].text and abs(word.left - group[-1].left) < 1:
            continue
        if group and word.left - group[-1].right > 0.9 * max(word.height, group[-1].height):
            yield _joined(group)
            group = []
        group.append(word)
    if group:
        yield _joined(group)


def _joined(cells: Sequence[_Cell]) -> _Cell:
    return _Cell(
        min(cell.left for cell in cells),
        min(cell.top for cell in cells),
        max(cell.right for cell in cells),
        max(cell.bottom for cell in cells),
        cells[0].base,
        tuple(word for cell in cells for word in cell.words),
    )


def _bands(cells: Sequence[_Cell]) -> Iterator[list[_Cell]]:
    """Yield the parts of a page between which there is space of about two lines."""
    if not cells:
        return
    space = 1.6 * median(cell.height for cell in cells)
    band: list[_Cell] = []
    bottom = 0.0
    for cell in sorted(cells, key=lambda cell: cell.top):
        if band and cell.top - bottom > space:
            yield band
            band = []
        bottom = max(bottom, cell.bottom) if band else cell.bottom
        band.append(cell)
    yield band


def _columns(band: Sequence[_Cell]) -> tuple[list[_Cell], list[_Cell]] | None:
    """Return the two sides of the gutter with most lines beside it; None if the lines go across."""
    best: tuple[list[_Cell], list[_Cell]] | None = None
    band, rows = sorted(band, key=lambda cell: cell.top), _rows(band)
    for gutter in _gutters(band):
        for stretch in _stretches(band, rows, gutter):
            left = [cell for cell in stretch if cell.right <= gutter]
            right = [cell for cell in stretch if cell.left >= gutter]
            if _are_columns(left, right) and (best is None or len(stretch) > len(best[0]) + len(best[1])):
                best = left, right
    return best


def _gutters(band: Sequence[_Cell]) -> list[float]:
    """Return where at least three cells begin below each other."""
    lefts = sorted(cell.left for cell in band)
    return [each - 0.5 for each, third in zip(lefts, lefts[2:], strict=False) if third - each < 3]


def _stretches(band: Sequence[_Cell], rows: Sequence[list[_Cell]], gutter: float) -> Iterator[list[_Cell]]:
    """Yield the cells between those that reach across the gutter, and between tables that do, from top to bottom."""
    stretch: list[_Cell] = []
    tables = {id(cell) for cell in _in_tables(rows, gutter)}
    for cell in band:
        if cell.left < gutter < cell.right or id(cell) in tables:
            yield stretch
            stretch = []
        else:
            stretch.append(cell)
    yield stretch


def _in_tables(rows: Sequence[list[_Cell]], gutter: float) -> Iterator[_Cell]:
    """Yield the cells of rows with amounts, at least two below each other, that stand on both sides of the gutter."""
    table: list[list[_Cell]] = []
    for row in (*rows, []):
        if len(row) >= 3 and row[0].right <= gutter <= row[-1].left and _AMOUNT.fullmatch(_text(row[-1])):
            table.append(row)
            continue
        if len(table) > 1:
            yield from chain.from_iterable(table)
        table = []


def _are_columns(left: Sequence[_Cell], right: Sequence[_Cell]) -> bool:
    """Tell columns, each of which is read for itself, from the rows of a table.

    The rows of a table have one baseline on both sides, as keys have with their values. Lines of columns stand beside
    each other on different baselines, or are full of words.
    """
    if min(len(left), len(right)) < 3:
        return False
    fewer, more = sorted((_rows(left), _rows(right)), key=len)
    beside = [row for row in more if row[0].bottom > fewer[0][0].top and row[0].top < fewer[-1][0].bottom]
    if min(len(fewer), len(beside)) < 3:
        return False
    aligned, crossed = _matches(fewer, beside)
    return (crossed >= 3 and crossed >= 0.5 * aligned) or (_is_prose(fewer) and _is_prose(more))


def _matches(rows: Sequence[Sequence[_Cell]], others: Sequence[Sequence[_Cell]]) -> tuple[int, int]:
    """Return the number of rows with the baseline of another, and of those that overlap one on another baseline."""
    aligned = crossed = 0
    for row in rows:
        cell, least = row[0], 0.3 * row[0].height
        near = [other[0] for other in others if min(cell.bottom, other[0].bottom) - max(cell.top, other[0].top) > least]
        if any(abs(cell.base - other.base) <= 0.5 * least or _is_label(cell, other) for other in near):
            aligned += 1
        elif near:
            crossed += 1
    return aligned, crossed


def _is_prose(rows: Sequence[Sequence[_Cell]]) -> bool:
    """Tell lines of running text: most have one cell of several words, and are about equally long."""
    if len(rows) < 4:
        return False
    width = max(row[-1].right for row in rows) - min(row[0].left for row in rows)
    full = [len(row) == 1 and len(row[0].words) >= 4 and row[0].right - row[0].left > 0.6 * width for row in rows]
    return sum(full) >= 0.6 * len(rows)
