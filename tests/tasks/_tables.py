"""Tables of scripts, and of what the original of a system made of each (`scripts/scenarios.py` writes them)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    return json.loads(path.read_text(encoding="utf-8"))


def parameter(row: Row) -> Any:
    marks = [pytest.mark.xfail(reason="not there yet", raises=Exception)] if row.get("pending") else []
    return pytest.param(row, id=row["name"], marks=marks)


def promised(row: Row) -> Row:
    """What comes of it on trivium: what the original made of it, but for what differs on purpose."""
    return {**row["expected"], **{name: value for name, value in row.get("differs", {}).items() if name != "why"}}


def check_table(rows: list[Row]) -> None:
    """Check that the rows are many, each with a name of its own; that what differs says why, and does differ."""
    names = [each["name"] for each in rows]
    assert len(set(names)) == len(names) > 60
    for each in rows:
        if "differs" in each:
            assert each["differs"]["why"]
            assert promised(each) != each["expected"]
