"""The sentences of README.md that quote docs/benchmarks.md: written with that page, from its own text."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

__all__ = ["quote", "sentences"]

BEGIN, END = "<!-- from docs/benchmarks.md, by `make bench` -->", "<!-- so far -->"


def sentences(page: str) -> str:
    """The lines of README.md for a page of all figures."""
    held = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \| (?:held|\*\*missed\*\*) \|$", page, re.MULTILINE))

    def found(what: str, beside: str) -> str:
        return next(value for text, value in held.items() if text.startswith(f"{what}:") and beside in text)

    answers = re.search(r"^\| trivium \| (\d+) \| (\d+) \(.*?\) \| (\d+) \(.*?\) \| (\d+) \(", page, re.MULTILINE)
    assert answers, "the page has no table of bad answers"
    sent, bare, empty, hung = answers.groups()
    ten, turn, history = "ten tool calls", "a turn", "a turn after 1,000 messages"
    text = (
        f"Of the processor time of others, a run with ten tool calls takes {found(ten, 'Lagent')} of Lagent's and "
        f"{found(ten, 'Agno')} of Agno's, a turn {found(turn, 'Lagent')} of Lagent's and {found(turn, 'Agno')} of "
        f"Agno's; a turn after a thousand messages takes {found(history, 'after 10')} of what one takes after ten, but "
        f"for sending them. Of {sent} bad answers of a model server {empty} are silent empty successes, {hung} hang, "
        f"and {bare} are bare errors."
    )
    return textwrap.fill(text, 120, break_on_hyphens=False)


def quote(page: str, readme: Path) -> None:
    """Write the sentences into README.md, between its two marks."""
    before, _, rest = readme.read_text().partition(f"{BEGIN}\n")
    after = rest.partition(f"{END}\n")[2]
    readme.write_text(f"{before}{BEGIN}\n{sentences(page)}\n{END}\n{after}")
