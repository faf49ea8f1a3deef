"""The sentences of the lists of facts, and the tests that say of each that it holds.

An item of a list is a number, paragraph or bullet with its indented lines; a sentence ends with a full stop or a
semicolon.
"3.2" is the second sentence of the third item. `says` marks a test with the sentences that it checks, and with words of
the guide where trivium differs on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

from ._documents import REFERENCE

F = TypeVar("F", bound=Callable[..., Any])

LISTS = {
    "lagent A1": ("lagent", "## A1", "## A2"),
    "lagent A2": ("lagent", "## A2", "## A3"),
    "agere B1": ("agere", "## B1", "## B2"),
    "agere B2": ("agere", "## B2", "## B3"),
}
"""The lists of which each sentence is counted: the system, and what stands before and behind the list."""


class Said(NamedTuple):
    """A test that checks a sentence; with words of the guide where trivium differs."""

    test: str
    differs: str = ""


CHECKED: dict[tuple[str, str], list[Said]] = {}
"""The tests by list and number."""


def says(name: str, numbers: str, differs: str = "") -> Callable[[F], F]:
    """Mark a test of this folder with the sentences that it checks."""

    def mark(test: F) -> F:
        path = f"tests/reference/{test.__module__.rpartition('.')[2]}.py::{test.__name__}"
        for number in numbers.split():
            CHECKED.setdefault((name, number), []).append(Said(path, differs))
        return test

    return mark


@cache
def sentences(name: str) -> dict[str, str]:
    """Return the sentences of a list by their numbers."""
    system, begin, end = LISTS[name]
    text = (REFERENCE / f"{system}-semantics.md").read_text(encoding="utf-8")
    text = text[text.index(begin) : text.index(end, text.index(begin))]
    items: list[str] = []
    for line in text.splitlines()[1:]:
        if line[:1].isspace() and items and not re.match(r" \d ", line):
            items[-1] += f" {line.strip()}"
        elif line.strip():
            items.append(line.strip())
    parts = ((at, re.split(r"(?<![. ]\.)(?<!\.)\.\s+|;\s+", item)) for at, item in enumerate(items, 1))
    return {f"{at}.{number}": each for at, part in parts for number, each in enumerate(filter(None, part), 1)}
