"""English stems by the rules of Porter's second stemmer ("English" of Snowball); the steps have his numbers.

`r1` and `r2` are the offsets of Porter's regions R1 and R2, in which endings are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_VOWELS: Final = "aeiouy"
_REGION: Final = re.compile(r"[aeiouy][^aeiouy]")
_FIRST_REGION: Final = re.compile(r"gener|commun|arsen|past|univers|later|emerg|organ|inter")
_SHORT_END: Final = re.compile(r"(?:(?:^|.*[^aeiouy])[aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy]|^past)$")
_DOUBLED: Final = re.compile(r"(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$")
_ONLY_S: Final = re.compile(r"[aeiouy].+s$")  # a vowel, but not directly before the s

_EXCEPTIONS: Final[Mapping[str, str]] = {
    "skis": "ski", "skies": "sky", "idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli",
    "only": "onli", "singly": "singl", "sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas",
    "cosmos": "cosmos", "bias": "bias", "andes": "andes", "dying": "die", "lying": "lie", "tying": "tie",
}  # fmt: skip
_DERIVED: Final[Mapping[str, str]] = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent",
    "izer": "ize", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "aliti": "al", "alli": "al",
    "fulness": "ful", "ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive", "biliti": "ble",
    "bli": "ble", "fulli": "ful", "lessli": "less",
}  # fmt: skip
_DERIVED_AGAIN: Final[Mapping[str, str]] = {
    "ational": "ate", "tional": "tion", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic", "ful": "",
    "ness": "",
}  # fmt: skip
_LAST: Final = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion",
)  # fmt: skip


def stem(word: str) -> str:
    """Return the stem of an English word; words of other scripts stay as they are.

    A stem need not be a word: it is the same for words that belong together, as "sorting", "sorted" and "sort".

    Args:
        word: a word in lower case.

    >>> [stem(word) for word in ["interpolation", "interpolated", "sorting", "sorts", "size", "größe"]]
    ['interpol', 'interpol', 'sort', 'sort', 'size', 'größe']
    """
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    word = re.sub(r"^y|(?<=[aeiouy])y", "Y", word)  # a y that sounds as a consonant
    first = _FIRST_REGION.match(word)
    r1 = first.end() if first else _next_region(word, 0)
    r2 = _next_region(word, r1)
    word = step_1b(step_1a(word), r1)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:  # step 1c
        word = word[:-1] + "i"
    word = step_3(step_2(word, r1), r1, r2)
    return step_5(step_4(word, r2), r1, r2).lower()


def _next_region(word: str, start: int) -> int:
    """Return the offset behind the first consonant that follows a vowel."""
    match = _REGION.search(word, start)
    return match.end() if match else len(word)


def step_1a(word: str) -> str:
    """Remove a plural ending."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _ONLY_S.search(word):
        return word[:-1]
    return word


def step_1b(word: str, r1: int) -> str:
    """Remove the endings of past tenses and of the -ing form."""
    for ending in ("eedly", "ingly", "edly", "eed", "ing", "ed"):
        if not word.endswith(ending):
            continue
        if ending.startswith("eed"):
            keeps = word.startswith(("proc", "exc", "succ"))
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= r1 and not keeps else word
        rest = word[: -len(ending)]
        if not any(letter in _VOWELS for letter in rest):
            return word
        if rest.endswith(("at", "bl", "iz")):
            return rest + "e"
        if _DOUBLED.search(rest):
            return rest[:-1] if len(rest) > 3 or rest[0] not in "aeo" else rest
        return rest + "e" if r1 >= len(rest) and _SHORT_END.match(rest) else rest
    return word


def step_2(word: str, r1: int) -> str:
    """Shorten a double derivation, as -ization to -ize."""
    ending = _longest(word, (*_DERIVED, "ogi", "li"))
    rest = word[: len(word) - len(ending)]
    if not ending or len(rest) < r1:
        return word
    if ending == "ogi":
        return word[:-1] if rest.endswith("l") else word
    if ending == "li":
        return rest if rest and rest[-1] in "cdeghkmnrt" else word
    return rest + _DERIVED[ending]


def step_3(word: str, r1: int, r2: int) -> str:
    """Shorten a derivation, as -icate to -ic."""
    ending = _longest(word, (*_DERIVED_AGAIN, "ative"))
    rest = word[: len(word) - len(ending)]
    if not ending or len(rest) < (r2 if ending == "ative" else r1):
        return word
    return rest + _DERIVED_AGAIN.get(ending, "")


def step_4(word: str, r2: int) -> str:
    """Remove the last derivation, as -ment."""
    ending = _longest(word, _LAST)
    rest = word[: len(word) - len(ending)]
    return rest if ending and len(rest) >= r2 and (ending != "ion" or rest.endswith(("s", "t"))) else word


def step_5(word: str, r1: int, r2: int) -> str:
    """Remove a final e, or one of a final double l."""
    rest = word[:-1]
    if word.endswith("e") and (len(rest) >= r2 or (len(rest) >= r1 and not _SHORT_END.match(rest))):
        return rest
    return rest if word.endswith("ll") and len(rest) >= r2 else word


def _longest(word: str, endings: tuple[str, ...]) -> str:
    return max((each for each in endings if word.endswith(each)), key=len, default="")
