"""Results that are too long: the model gets the beginning and the end, with a note of what is left out."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from itertools import count
from json import JSONDecoder
from typing import Final

ASK_LESS: Final = "ask for less, or for a part of it"
_HEAD: Final = 0.75  # of the text that is left; the end of a long result often has its outcome
_SLACK: Final = 2  # a boundary between lines is looked for in half of a piece
_LONGEST_CLUSTER: Final = 32
_SPACE: Final = " \t\n\r"
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


def cut_text(text: str, limit: int, how: str = ASK_LESS) -> str:
    """Cut a text that is longer than `limit` characters to its beginning and its end, with a note between.

    The cuts are between the items of a JSON list, else between lines, if possible; never within a
    grapheme cluster. With its note the text is no longer than the limit, unless the limit is too small for the note.

    Args:
        text: the text.
        limit: the most characters.
        how: how the reader can get the rest; `{offset}` is replaced by the position where the rest begins.

    Example:
        >>> print(cut_text("\\n".join(map(str, range(1000))), 112))
        0
        1
        2
        3
        4
        5
        6
        7
        [… 3,870 of 3,889 characters left out, from 16 on; ask for less, or for a part of it]
        999
    """
    if len(text) <= limit:
        return text
    room = max(0, limit - len(_note(text, len(text), len(text), how)) - 2)
    places = find_item_starts(text)
    head = _cut_before(text, int(room * _HEAD), places)
    tail = cut_after(text, len(text) - (room - int(room * _HEAD)), places)
    note = _note(text, head, max(tail, head), how)
    return f"{text[:head].rstrip(_SPACE)}\n{note}\n{text[max(tail, head) :].lstrip(_SPACE)}".strip(_SPACE)


def _note(text: str, head: int, tail: int, how: str) -> str:
    left = tail - head if tail > head else len(text)
    return f"[… {left:,} of {len(text):,} characters left out, from {head} on; {how.format(offset=head)}]"


def page_of(text: str, offset: int, length: int) -> tuple[str, int]:
    """Return a piece of a text and the position of the next one; the pieces together are the whole text.

    Args:
        text: the text.
        offset: where the piece begins.
        length: the most characters.
    """
    end = offset + length
    if end >= len(text):
        return text[offset:], len(text)
    found = _cut_before(text, end, None, offset)
    return (text[offset:found], found) if found > offset else (text[offset:end], end)


# ---- where a text may be cut
def find_item_starts(text: str) -> list[int] | None:
    """Find the positions where the items of a JSON list begin and the last one ends; None for any other text."""
    if not text.lstrip(_SPACE).startswith("["):
        return None
    decoder, places = JSONDecoder(strict=False), list[int]()
    at = text.index("[") + 1
    try:
        for _ in count():
            at = _past(text, at, _SPACE)
            places.append(at)
            item: tuple[object, int] = decoder.raw_decode(text, at)
            at = _past(text, item[1], _SPACE)
            if text[at] != ",":
                break
            at += 1
    except (ValueError, IndexError, RecursionError):
        return None
    return places if text[at] == "]" and not text[at + 1 :].strip(_SPACE) else None


def _past(text: str, at: int, which: str) -> int:
    while text[at] in which:
        at += 1
    return at


def _cut_before(text: str, end: int, places: list[int] | None, begin: int = 0) -> int:
    """Find the last good place for a cut that is not after `end`."""
    least = places[0] if places is not None else end - (end - begin) // _SLACK
    known = [text.rfind("\n", 0, end) + 1] if places is None else places
    index = bisect_right(known, end)
    if index and known[index - 1] > max(least, begin):
        return known[index - 1]
    return _whole(text, end, begin)


def cut_after(text: str, start: int, places: list[int] | None) -> int:
    """Find the first good place for a cut that is not before `start`."""
    most = len(text) - 1
    if places is None:
        most = start + (len(text) - start) // _SLACK
        found = text.find("\n", max(0, start - 1), most)
        places = [found + 1] if found >= 0 else []
    index = bisect_left(places, start)
    if index < len(places) and places[index] <= most:
        return places[index]
    end = start
    while end < len(text) and end - start < _LONGEST_CLUSTER and not _may_cut(text, end):
        end += 1
    return end


def _whole(text: str, end: int, begin: int) -> int:
    """Find the last position up to `end` that is not within a character."""
    at = end
    while at > begin and end - at < _LONGEST_CLUSTER and not _may_cut(text, at):
        at -= 1
    return at if _may_cut(text, at) else end


def _may_cut(text: str, at: int) -> bool:
    """True if a position is between two characters, as a reader sees them."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before == "\u200d" or after in _JOINERS or (before == "\r" and after == "\n"):
        return False
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return False
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return False
    if _is_flag(before) and _is_flag(after):
        letters = 0
        while at - 1 - letters >= 0 and letters < _LONGEST_CLUSTER and _is_flag(text[at - 1 - letters]):
            letters += 1
        return letters % 2 == 0
    return not unicodedata.category(after).startswith("M")


def _is_flag(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"
