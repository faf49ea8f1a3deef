"""Programs as users write them print the same here as with the original, or what the table explains."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ._said import SYSTEMS, TABLE, programs, said

ROWS: dict[str, dict[str, dict[str, Any]]] = json.loads(TABLE.read_text(encoding="utf-8"))
ALL = [(system, name) for system in SYSTEMS for name in programs(system)]


@pytest.mark.parametrize(("system", "name"), ALL, ids=map(" ".join, ALL))
def test_a_program_prints_what_it_prints_with_the_original(system: str, name: str):
    row = ROWS[system][name]
    expected: list[str] = row.get("differs", row["expected"])
    error = expected[-1].partition("raised ")[2] if expected else ""
    assert said(system, name, "trivium", error) == expected
    assert ("differs" in row) is bool(row.get("why")), "a difference has a reason"


def test_each_program_was_asked_of_the_original():
    assert {system: [*ROWS[system]] for system in SYSTEMS} == {system: [*programs(system)] for system in SYSTEMS}
