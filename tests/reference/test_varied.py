"""Programs that vary the examples of Langroid's documents come to the same here, or to what the table explains."""

from __future__ import annotations

import json
from typing import Any

import pytest

import trivium

from ._varied import PROGRAMS, TABLE, outcome

ROWS: dict[str, dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_says_with_langroid(name: str):
    row = ROWS[name]
    assert outcome(trivium, name) == row.get("differs", row["expected"])
    assert ("differs" in row) is bool(row.get("why")), "a difference has a reason"


def test_each_program_was_asked_of_langroid():
    assert [*ROWS] == [*PROGRAMS]
