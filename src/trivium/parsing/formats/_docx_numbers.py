"""The automatic numbers of DOCX paragraphs, which their text does not hold: of clauses, headings and lists."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE = re.compile("%([1-9])")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_HIGHEST = 4000  # from which on digits are written
_UNSEEN = ("bullet", "none")


class _Level(NamedTuple):
    """A level of a list: its first number, the kind of its digits, the text around them, and the style of its lines."""

    start: int
    kind: str
    text: str
    style: str
    is_legal: bool  # the numbers of all levels are digits


def write_numbers(root: Any, styles: Any, numbering: Any) -> None:
    """Write before the text of each numbered paragraph its number, as Word displays it; bullets are left out.

    Args:
        root: the element of the body.
        styles: the styles, which may number their paragraphs.
        numbering: the definitions of lists.
    """
    by_id = {each.get(f"{_WORD}styleId"): each for each in styles.iter(f"{_WORD}style")}
    levels = {each.get(f"{_WORD}abstractNumId"): _levels(each) for each in numbering.iter(f"{_WORD}abstractNum")}
    lists = {each.get(f"{_WORD}numId"): each for each in numbering.iter(f"{_WORD}num")}
    counts = defaultdict[str, dict[int, int]](dict)
    begun: set[tuple[str, int]] = set()
    for paragraph in list(root.iter(f"{_WORD}p")):
        number, depth, style = _numbered(paragraph, by_id)
        if (one := lists.get(number)) is None:
            continue
        name = _value(one, "abstractNumId")
        known = levels.get(name, {})
        depth = next((at for at, level in known.items() if style and level.style == style), depth)
        if depth not in known or next(paragraph.iterancestors("{*}Fallback"), None) is not None:
            continue
        count = counts[name]
        if (number, depth) not in begun:
            begun.add((number, depth))
            for override in one.iterfind(f"{_WORD}lvlOverride"):
                if _int(override.get(f"{_WORD}ilvl")) == depth and (start := _value(override, "startOverride")):
                    count[depth] = _int(start) - 1
        counts[name] = {at: each for at, each in count.items() if at <= depth}
        counts[name][depth] = count.get(depth, known[depth].start - 1) + 1
        if text := _shown(depth, known, counts[name]):
            _put_before(paragraph, f"{text} ")


def _levels(abstract: Any) -> dict[int, _Level]:
    return {
        _int(each.get(f"{_WORD}ilvl")): _Level(
            _int(_value(each, "start")),
            _value(each, "numFmt"),
            _value(each, "lvlText"),
            _value(each, "pStyle"),
            each.find(f"{_WORD}isLgl") is not None,
        )
        for each in abstract.iterfind(f"{_WORD}lvl")
    }


def _numbered(paragraph: Any, styles: Mapping[str, Any]) -> tuple[str, int, str]:
    """Return the list of a paragraph and its level in it; and the style that names the list, where one does."""
    owner, style, seen = paragraph, "", set[str]()
    while owner is not None:
        if number := _value(owner, "pPr/numPr/numId"):
            return number, _int(_value(owner, "pPr/numPr/ilvl")), style
        style = _value(owner, "basedOn" if seen else "pPr/pStyle")
        owner = None if style in seen else styles.get(style)
        seen.add(style)
    return "", 0, ""


def _shown(depth: int, levels: Mapping[int, _Level], count: Mapping[int, int]) -> str:
    level = levels[depth]
    if level.kind in _UNSEEN:
        return ""

    def written(place: re.Match[str]) -> str:
        at = int(place[1]) - 1
        other = levels.get(at, level)
        return digits(count.get(at, other.start), "decimal" if level.is_legal else other.kind)

    return _PLACE.sub(written, level.text)


def digits(number: int, kind: str) -> str:
    """Write a number in the digits of a kind, as DOCX names it.

    >>> [digits(28, kind) for kind in ("decimal", "lowerLetter", "upperRoman")], digits(5, "decimalZero")
    (['28', 'bb', 'XXVIII'], '05')
    """
    if kind == "decimalZero":
        return f"{number:02}"
    if not 0 < number < _HIGHEST or not kind.endswith(("Letter", "Roman")):
        return str(number)
    text = ""
    if kind.endswith("Letter"):
        text = chr(ord("a") + (number - 1) % 26) * ((number + 25) // 26)
    else:
        for size, letters in _ROMAN:
            text, number = text + number // size * letters, number % size
    return text.upper() if kind.startswith("upper") else text


def _put_before(paragraph: Any, text: str) -> None:
    """Put a text before that of a paragraph; one without text stays empty."""
    first = next((each for each in paragraph if not str(each.tag).endswith("}pPr")), None)
    if first is None or next(paragraph.iter(f"{_WORD}t"), None) is None:
        return
    run = paragraph.makeelement(f"{_WORD}r")
    written = run.makeelement(f"{_WORD}t")
    written.text = text
    run.append(written)
    first.addprevious(run)


def _value(owner: Any, path: str) -> str:
    found = owner.find("/".join(_WORD + each for each in path.split("/")))
    return "" if found is None else str(found.get(f"{_WORD}val") or "")


def _int(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
