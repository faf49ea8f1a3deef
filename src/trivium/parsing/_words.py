"""Words for searching: what a text and a question about it have in common, in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["stems"]

_RUNS = re.compile(r"[^\W\d_]+|\d+")
_FIRST_IDEOGRAPH = "\u2e80"  # from here on, scripts that put no spaces between words
_LAST_IDEOGRAPH = "\uffdc"


def stems(text: str) -> Iterator[str]:
    """Casefolded word stems in order: runs of letters or of digits, camelCase and snake_case split.

    Args:
        text: any text; compatibility forms such as ligatures and full-width digits count as plain ones.

    >>> list(stems("invoiceDate of the Companies, PO_4711"))
    ['invoice', 'date', 'of', 'the', 'company', 'po', '4711']
    """
    known: dict[str, tuple[str, ...]] = {}
    for run in _RUNS.findall(unicodedata.normalize("NFKC", text)):
        found = known.get(run)
        if found is None:
            found = known[run] = tuple(_stem(part.casefold()) for part in _parts(run))
        yield from found


def _parts(run: str) -> Iterator[str]:
    if _FIRST_IDEOGRAPH <= run[0] <= _LAST_IDEOGRAPH:
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    elif run.islower() or run.isupper() or run[1:].islower():
        yield run
    else:
        yield from _humps(run)


def _humps(run: str) -> Iterator[str]:
    start = 0
    for i in range(1, len(run)):
        ends_acronym = run[i - 1].isupper() and run[i + 1 : i + 2].islower()
        if run[i].isupper() and (run[i - 1].islower() or ends_acronym):
            yield run[start:i]
            start = i
    yield run[start:]


def _stem(word: str) -> str:
    """Without a plural ending; the rules of Harman's S stemmer (1991), which leave other endings alone."""
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us")):
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word[:-1]
