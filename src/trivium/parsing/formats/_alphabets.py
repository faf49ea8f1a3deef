"""Languages in Latin letters that have other encodings than the Western one, told by the letters of their words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_WORD = re.compile(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*")
_WESTERN = [
    "äöüß", "àâæçéèêëîïôœùûüÿ", "áéíñóúü", "àçèéíïòóúü", "áàâãçéêíóôõúü", "àèéìíîòóùú", "äåéöü", "åæéèêòóôøü",
    "áæéíðóöúýþ", "äéëèêïóöü", "äöüõšžåé",
]  # fmt: skip
_CENTRAL = ["ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ"]
_OTHERS = {
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
    "cp1254": ["âçğıîöşüû\u0307"],  # U+0307: the dot of a lowered İ
    "cp1257": ["ąčęėįšųūž", "āčēģīķļņšūž"],
}
_SIGNS = frozenset("‘’‚“”„«»‹›…–—•·´¨˜°§×÷™®©€‰†‡¤µ½\xa0\xad")
_EDGES = "".join(_SIGNS) + "¡¢£¥¦ª¬¯±²³¶¸¹º¼¾¿"
_LEAST = 10  # words that no Western language has, for each that the other language has not


def other_latin(data: bytes) -> str | None:
    """Return the encoding of a text whose words have the letters of Central Europe, Turkey or the Baltics.

    None where each word may be of a Western language, or where no other language has nearly all of them.

    >>> other_latin("Do zapłaty: 5 zł".encode("cp1250")), other_latin("Señor Müller, 5 m³".encode("cp1252"))
    ('cp1250', None)
    """
    words = set(_WORD.findall(data))
    foreign = sum(not any(map(letters.issubset, _WESTERN)) for letters in _letters(words, "cp1252"))
    if not foreign:
        return None
    unknown = {
        encoding: min(sum(not letters.issubset(each) for letters in found) for each in alphabets)
        for encoding, alphabets in _OTHERS.items()
        for found in [list(_letters(words, encoding))]
    }
    best = min(unknown, key=unknown.__getitem__)
    return best if _LEAST * unknown[best] <= foreign else None


def _letters(words: Iterable[bytes], encoding: str) -> Iterator[frozenset[str]]:
    """Return the letters and signs beyond ASCII of each word but those signs that are in all these encodings."""
    for word in words:
        text = word.decode(encoding, "replace").strip(_EDGES).lower()
        yield frozenset(each for each in text if not each.isascii()) - _SIGNS
