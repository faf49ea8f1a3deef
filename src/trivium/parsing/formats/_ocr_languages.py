"""The languages in which a scan is read where the user names none: those that its first page shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

_FEW = 3
"""As many languages are read at once: each costs time, and more of them read each worse."""

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


def likely_languages(installed: Sequence[str], read: Callable[[Sequence[str]], str]) -> list[str]:
    """Choose languages among those that are installed.

    Args:
        installed: their names for the engine, as "eng" and "deu".
        read: reads the first page in some languages.

    >>> likely_languages(["deu", "eng"], lambda names: "")
    ['deu', 'eng']
    >>> likely_languages(["deu", "eng", "fra", "ita"], lambda names: "Le total de la facture est à payer par vous")
    ['fra', 'eng']
    """
    if len(installed) <= _FEW:
        return list(installed)
    first = "eng" if "eng" in installed else installed[0]
    words = Counter(re.findall(r"[^\W\d_]+", read([first]).lower()))
    counts = {name: sum(words[word] for word in _FREQUENT.get(name, "").split()) for name in installed}
    best = max(counts, key=lambda name: (counts[name], name == first))
    if counts[best] < 3:  # perhaps another script, of which the first language reads nothing
        return [first, *(name for name in installed if name != first)]
    return list(dict.fromkeys([best, first]))
