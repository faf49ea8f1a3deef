"""The languages in which a scan is read where the user names none: those that its first page shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trivium.parsing.formats._ocr import ScannedPage

_FEW = 3
"""As many languages are read at once: each costs time, and more of them read each worse."""

_TELLING = 3  # frequent words

_FREQUENT = {
    "eng": "the and of to in is for with from this date by on total",
    "deu": "der die das und den von mit für ist im zu auf ein bis",
    "fra": "le la les des et en du pour une est au par sur vous",
    "nld": "de het een van en voor op met aan dat zijn uw te bij",
    "ita": "il di che la per una del con sono dei alla nel gli della",
    "spa": "el la los de que en del por con una para las su fecha",
    "por": "o de que do da em um para com uma os dos ao não",
    "pol": "i w na z do się jest za od oraz nie dla ul data",
    "ces": "a v na se je z do za od pro ve ze dne ulice",
    "dan": "og i af til på er den med for at det fra kr ikke",
    "swe": "och i av till på är den med för att det från som inte",
    "nor": "og i av til på er den med for at det fra som ikke",
    "fin": "ja on ei se että kun oli mutta ovat sekä tai päivä yhteensä alv",
    "hun": "a az és egy hogy nem is van meg fő összesen dátum szám kelt",
    "ron": "și de la în cu pe din pentru este un sau nr data prin",
    "tur": "ve bir bu için ile da de olarak tarih toplam daha en olan gibi",
}


_SCRIPTS = {
    "Arabic": "ara fas kur_ara pus snd uig urd",
    "Armenian": "hye",
    "Bengali": "asm ben",
    "Cyrillic": "aze_cyrl bel bul kaz kir mkd mon rus srp tat tgk ukr uzb_cyrl",
    "Devanagari": "hin mar nep san",
    "Ethiopic": "amh tir",
    "Georgian": "kat kat_old",
    "Greek": "ell grc",
    "Gujarati": "guj",
    "Gurmukhi": "pan",
    "Han": "chi_sim chi_sim_vert chi_tra chi_tra_vert jpn jpn_vert kor kor_vert",
    "Hebrew": "heb yid",
    "Kannada": "kan",
    "Khmer": "khm",
    "Lao": "lao",
    "Malayalam": "mal",
    "Myanmar": "mya",
    "Oriya": "ori",
    "Sinhala": "sin",
    "Syriac": "syr",
    "Tamil": "tam",
    "Telugu": "tel",
    "Thai": "tha",
    "Tibetan": "bod dzo",
}
"""The scripts that the engine tells apart, and the languages in each; all others are in Latin letters."""

_SCRIPT_OF = {name: script for script, names in _SCRIPTS.items() for name in names.split()}
_LIKE = {"Fraktur": "Latin", **dict.fromkeys(("Hangul", "Hiragana", "Japanese", "Katakana", "Korean"), "Han")}


def likely_languages(installed: Sequence[str], page: ScannedPage) -> list[str]:
    """Choose languages for a page: by frequent words, else by its script and the confidence of readings.

    Args:
        installed: the names for the engine of those that are installed, as "eng" and "deu".
        page: the page.
    """
    if len(installed) <= _FEW:
        return list(installed)
    first = "eng" if "eng" in installed else installed[0]
    script, turn = "", None
    counts = _count_frequent(page.look(first, 0)[1], installed)
    if max(counts.values()) < _TELLING:
        script, turn = page.stand
        counts = _count_frequent(page.look(first, turn or 0)[1], installed)
    if max(counts.values()) < _TELLING:
        others = sorted(set(installed) - {first}, key=lambda name: (-counts[name], name not in _FREQUENT, name))
        best = _surest(first, others, _LIKE.get(script, script), turn or 0, page)
    else:
        best = max(counts, key=lambda name: (counts[name], name == first))
    return list(dict.fromkeys([best, first]))


def _surest(first: str, others: Sequence[str], script: str, turn: int, page: ScannedPage) -> str:
    """Return the language of the reading with most confidence: of one, and of all of the script while there is time."""
    confidence, text = page.look(first, turn)
    found = {first: confidence}
    written = [name for name in others if _SCRIPT_OF.get(name, "Latin") == script] or others
    for name in written if text or script else ():  # else it is blank
        if len(found) == 1 or page.has_time(1 / 4):
            found[name], _ = page.look(name, turn)
    return max(found, key=lambda name: found[name])


def _count_frequent(text: str, names: Sequence[str]) -> dict[str, int]:
    words = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    return {name: sum(words[word] for word in _FREQUENT.get(name, "").split()) for name in names}
