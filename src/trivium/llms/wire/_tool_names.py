"""Names of tools, senders and calls in the form that the interfaces of providers accept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def legal(name: str) -> str:
    """Return a name of 1 to 64 letters, digits, _ and -; a legal name stays as it is."""
    return _ILLEGAL.sub("_", name)[:64] or "_"


def legal_names(names: Iterable[str]) -> dict[str, str]:
    """Map each name that the interfaces refuse to a distinct legal name.

    Example:
        >>> legal_names(["search", "Maps.route"])
        {'Maps.route': 'Maps_route'}
    """
    taken = dict.fromkeys(names)
    odd = [name for name in taken if not _LEGAL.fullmatch(name)]
    found = dict[str, str]()
    for name in odd:
        sent = legal(name)
        for turn in range(len(taken) + 1):
            if sent not in taken:
                break
            mark = hashlib.sha256(f"{name}{turn or ''}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
            sent = f"{legal(name)[:55]}_{mark}"
        taken[sent] = None
        found[name] = sent
    return found
