"""Where sentences end, in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trivium.parsing._passages import Passage

__all__ = ["sentence_ends", "sentences"]

# The full stop of most scripts stands before white space; that of some ends a sentence by itself. What stands before
# the first group keeps a long row of dots from being tried at each of them.
_END = re.compile(
    r"(?<![.!?…؟۔։])([.!?…؟۔։]++[\"'”’»)\]]*+)\s+"
    r"|[。！？｡︒।॥።။។།]++[\"'”’」』）》)\]]*+\s*"
)
_BEFORE = re.compile(r"[\w.'’]*\Z")
_LONGEST = 20
_OPENING = "\"'“‘«([{*_"
_SHORT = frozenset(
    [
        "al",
        "approx",
        "ca",
        "cf",
        "ch",
        "dr",
        "e.g",
        "ed",
        "eds",
        "eq",
        "esp",
        "fig",
        "figs",
        "gen",
        "hon",
        "i.e",
        "inc",
        "jr",
        "ltd",
        "max",
        "messrs",
        "min",
        "mr",
        "mrs",
        "ms",
        "mt",
        "no",
        "nos",
        "op",
        "p",
        "pp",
        "prof",
        "rev",
        "sec",
        "sect",
        "sr",
        "st",
        "vol",
        "vols",
        "vs",
        "viz",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
        "abs",
        "art",
        "aufl",
        "bd",
        "bspw",
        "bzw",
        "d.h",
        "evtl",
        "ggf",
        "hr",
        "hrsg",
        "i.d.r",
        "inkl",
        "kap",
        "mio",
        "mrd",
        "nr",
        "s",
        "sog",
        "str",
        "u.a",
        "usw",
        "vgl",
        "z.b",
        "zzgl",
        "mme",
        "mlle",
        "p.ex",
        "av",
        "sig",
        "dott",
        "ing",
        "sra",
        "dra",
        "núm",
        "pág",
        "г",
        "ул",
        "стр",
        "рис",
        "им",
        "т.е",
        "т.д",
        "т.п",
    ]
)


def sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """The offsets behind the sentences that end between two offsets, in order."""
    for match in _END.finditer(text, start, end):
        if match[1] is None or not _goes_on(text, match):
            yield match.end()


def _goes_on(text: str, match: re.Match[str]) -> bool:
    """Whether no sentence begins behind it, or its full stop is that of an abbreviation, an initial or a number."""
    following = text[match.end() : match.end() + 2].lstrip(_OPENING)[:1]
    if following.islower():
        return True
    if match[1].rstrip("\"'”’»)]") != ".":
        return False
    found = _BEFORE.search(text, max(0, match.start() - _LONGEST), match.start())
    word = found[0].lower() if found else ""
    if word.isdigit():  # "3. Mai", or the number of an item
        return len(word) <= 2
    return word in _SHORT or _is_dotted(word) or (len(word) == 1 and found is not None and found[0].isupper())


def _is_dotted(word: str) -> bool:
    """Whether it is letters with full stops between them, as in U.S."""
    return "." in word and all(len(each) <= 1 for each in word.split("."))


def sentences(text: str) -> Iterator[Passage]:
    """The sentences of a text, in any script, each with the white space behind it; together they are the text.

    A full stop ends none within a number, behind an abbreviation or an initial, or before a small letter. A blank line
    always ends one.

    >>> [each.text for each in sentences("It costs 3.50 EUR, e.g. at Dr. Bell's. Is that much? 是的。好。")]
    ["It costs 3.50 EUR, e.g. at Dr. Bell's. ", 'Is that much? ', '是的。', '好。']
    """
    ends = {*sentence_ends(text, 0, len(text)), *(match.end() for match in re.finditer(r"\n[ \t]*\n\s*", text))}
    start = 0
    for end in sorted(ends | {len(text)} if text else ends):
        yield Passage(start, end, text[start:end])
        start = end
