"""What the forms of an English word have in common: the rules of Porter's second stemmer ("English" of Snowball)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

__all__ = ["stem"]

_VOWELS: Final = "aeiouy"
_REGION: Final = re.compile(r"[aeiouy][^aeiouy]")
_FIRST_REGION: Final = re.compile(r"gener|commun|arsen|past|univers|later|emerg|organ|inter")
_SHORT_END: Final = re.compile(r"(?:(?:^|.*[^aeiouy])[aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy]|^past)$")
_DOUBLED: Final = re.compile(r"(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$")
_ONLY_S: Final = re.compile(r"[aeiouy].+s$")  # a vowel, but not right before the s

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


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem of a word, by the rules of Porter's second stemmer for English; other words stay as they are.

    A stem is no word: it tells which words belong together, as "sorting", "sorted" and "sort".

    Args:
        word: a word in small letters.

    >>> [stem(word) for word in ["interpolation", "interpolated", "sorting", "sorts", "size", "größe"]]
    ['interpol', 'interpol', 'sort', 'sort', 'size', 'größe']
    """
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    word = re.sub(r"^y|(?<=[aeiouy])y", "Y", word)  # a y that sounds as a consonant
    first = _FIRST_REGION.match(word)
    one = first.end() if first else _behind(word, 0)
    two = _behind(word, one)
    word = _without_inflection(_without_plural(word), one)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _without_last(_without_derivation(word, one, two), two)
    return _without_e(word, one, two).lower()


def _behind(word: str, start: int) -> int:
    """Where the part begins that may be an ending: behind the first consonant that follows a vowel."""
    match = _REGION.search(word, start)
    return match.end() if match else len(word)


def _without_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _ONLY_S.search(word):
        return word[:-1]
    return word


def _without_inflection(word: str, one: int) -> str:
    for ending in ("eedly", "ingly", "edly", "eed", "ing", "ed"):
        if not word.endswith(ending):
            continue
        if ending.startswith("eed"):
            keeps = word.startswith(("proc", "exc", "succ"))
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= one and not keeps else word
        rest = word[: -len(ending)]
        if not any(letter in _VOWELS for letter in rest):
            return word
        if rest.endswith(("at", "bl", "iz")):
            return rest + "e"
        if _DOUBLED.search(rest):
            return rest[:-1] if len(rest) > 3 or rest[0] not in "aeo" else rest
        return rest + "e" if one >= len(rest) and _SHORT_END.match(rest) else rest
    return word


def _without_derivation(word: str, one: int, two: int) -> str:
    ending = _longest(word, (*_DERIVED, "ogi", "li"))
    rest = word[: len(word) - len(ending)]
    if ending and len(rest) >= one:
        if ending == "ogi":
            word = word[:-1] if rest.endswith("l") else word
        elif ending == "li":
            word = rest if rest and rest[-1] in "cdeghkmnrt" else word
        else:
            word = rest + _DERIVED[ending]
    ending = _longest(word, (*_DERIVED_AGAIN, "ative"))
    rest = word[: len(word) - len(ending)]
    if not ending or len(rest) < (two if ending == "ative" else one):
        return word
    return rest + _DERIVED_AGAIN.get(ending, "")


def _without_last(word: str, two: int) -> str:
    ending = _longest(word, _LAST)
    rest = word[: len(word) - len(ending)]
    return rest if ending and len(rest) >= two and (ending != "ion" or rest.endswith(("s", "t"))) else word


def _without_e(word: str, one: int, two: int) -> str:
    rest = word[:-1]
    if word.endswith("e") and (len(rest) >= two or (len(rest) >= one and not _SHORT_END.match(rest))):
        return rest
    return rest if word.endswith("ll") and len(rest) >= two else word


def _longest(word: str, endings: tuple[str, ...]) -> str:
    return max((each for each in endings if word.endswith(each)), key=len, default="")
