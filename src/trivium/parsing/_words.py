"""Words for searching: the stems that a text and a question about it have in common, in any script."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_RUNS = re.compile(r"[^\W\d_]+|\d+")
_SOFT_HYPHEN = "\u00ad"
_FIRST_IDEOGRAPH = "\u2e80"  # from here on, scripts that put no spaces between words
_LAST_IDEOGRAPH = "\uffdc"


def stems(text: str) -> list[str]:
    """Return the casefolded word stems of a text, in order: camelCase and snake_case are split.

    Args:
        text: any text; compatibility forms such as ligatures and full-width digits count as plain ones, and soft
            hyphens are none of it.

    >>> stems("invoiceDate of the Companies, PO_4711")
    ['invoice', 'date', 'of', 'the', 'company', 'po', '4711']
    """
    runs = _RUNS.findall(unicodedata.normalize("NFKC", text.replace(_SOFT_HYPHEN, "")))
    return [stem for run in runs for stem in (_known if len(run) <= _LONGEST_KNOWN else _stems_of)(run)]


def _stems_of(run: str) -> tuple[str, ...]:
    """Return the stems of a run of letters or of digits."""
    if run.isdecimal():
        return ("".join(str(unicodedata.decimal(each)) for each in run),)
    if _FIRST_IDEOGRAPH <= run[0] <= _LAST_IDEOGRAPH:
        parts = [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    elif run.islower() or run.isupper() or run[1:].islower():
        parts = [run]
    else:
        parts = split_camel_case(run)
    return tuple([without_plural(part.casefold()) for part in parts])


_LONGEST_KNOWN = 60  # letters: longer runs are hardly words, and would fill the memory
_known = lru_cache(50_000)(_stems_of)


def split_camel_case(run: str) -> list[str]:
    """Split a run of letters before each capital that begins a word; an acronym is one word.

    >>> split_camel_case("parseHTMLPage")
    ['parse', 'HTML', 'Page']
    """
    parts: list[str] = []
    start = 0
    for i in range(1, len(run)):
        ends_acronym = run[i - 1].isupper() and run[i + 1 : i + 2].islower()
        if run[i].isupper() and (run[i - 1].islower() or ends_acronym):
            parts.append(run[start:i])
            start = i
    return [*parts, run[start:]]


def without_plural(word: str) -> str:
    """Remove a plural ending, by the rules of Harman's S stemmer (1991); other endings stay.

    >>> without_plural("companies"), without_plural("bus")
    ('company', 'bus')
    """
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us")):
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word[:-1]
