"""Sentences, in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trivium.parsing._passages import Passage

# In most scripts whitespace follows the full stop; in some the full stop suffices. The look-behind prevents that a long
# row of dots is tried at each of them.
_END = re.compile(
    r"(?<![.!?…؟۔։])([.!?…؟۔։]++[\"'”’»)\]]*+)\s+"
    r"|[。！？｡︒।॥።။។།]++[\"'”’」』）》)\]]*+\s*"
)
_BEFORE = re.compile(r"[\w.'’]*\Z")
_LETTER = re.compile(r"[^\W\d_]\.")
_LONGEST = 20
_OPENING = "\"'“‘«([{*_"
_SHORT = frozenset(
    [
        "al",
        "approx",
        "ave",
        "ca",
        "cf",
        "ch",
        "dr",
        "e.g",
        "ed",
        "eds",
        "eq",
        "esp",
        "excl",
        "fig",
        "figs",
        "gen",
        "hon",
        "i.e",
        "inc",
        "incl",
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
        "rd",
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
    """Return the offsets behind the sentences that end between two offsets, in order."""
    for match in _END.finditer(text, start, end):
        if match[1] is None or not is_within_sentence(text, match):
            yield match.end()


def is_within_sentence(text: str, match: re.Match[str]) -> bool:
    """Tell that a full stop ends no sentence: lower case follows, or it ends an abbreviation, an initial or a number.

    Args:
        text: the complete text.
        match: the match of `_END` at the full stop.
    """
    following = text[match.end() : match.end() + 2].lstrip(_OPENING)[:1]
    if following.islower():
        return True
    if match[1].rstrip("\"'”’»)]") != ".":
        return False
    found = _BEFORE.search(text, max(0, match.start() - _LONGEST), match.start())
    word = found[0].lower() if found else ""
    if word.isdigit():  # "3. Mai", or the number of an item
        return len(word) <= 2
    if word == "no" and found is not None and not following.isdigit():  # "order No. A-7", but "No. It is free."
        return found[0] == "No" and text[max(0, found.start() - 2) : found.start()].strip()[-1:].isalnum()
    if len(word) == 1 and _LETTER.match(text, match.end()):  # "z. B."
        return True
    is_dotted = "." in word and all(len(each) <= 1 for each in word.split("."))  # as U.S
    return word in _SHORT or is_dotted or (len(word) == 1 and found is not None and found[0].isupper())


def sentences(text: str) -> Iterator[Passage]:
    """Split a text into its sentences, in any script, each with the whitespace behind it; no character is lost.

    A full stop does not end a sentence within a number, after an abbreviation or an initial, or before lower case. A
    blank line always ends one.

    >>> [each.text for each in sentences("It costs 3.50 EUR, e.g. at Dr. Bell's. Is that much? 是的。好。")]
    ["It costs 3.50 EUR, e.g. at Dr. Bell's. ", 'Is that much? ', '是的。', '好。']
    """
    ends = {*sentence_ends(text, 0, len(text)), *(match.end() for match in re.finditer(r"\n[ \t]*\n\s*", text))}
    start = 0
    for end in sorted(ends | {len(text)} if text else ends):
        yield Passage(start, end, text[start:end])
        start = end
