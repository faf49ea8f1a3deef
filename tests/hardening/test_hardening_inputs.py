"""Files that are made to cost memory or time: each is read, or a typed error that names its limit, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ._hostile import DOCUMENTS, TABLES
from ._measured import Cost, cost_of

MEGABYTES, SECONDS = 256, 20
TYPED = {
    "ConfigurationError", "DocumentTooLargeError", "DocumentTimeoutError", "EmptyDocumentError",
    "UnreadableDocumentError", "",
}  # fmt: skip


def check(cost: Cost) -> None:
    """It is within bounds, and an error is typed; one of a limit says which it is."""
    print(f"{cost.error or 'read'} {cost.limit} {cost.seconds:.1f} s {cost.megabytes:.0f} MB: {cost.text[:150]}")
    assert cost.error in TYPED, cost
    assert cost.seconds < SECONDS, cost
    assert cost.megabytes < MEGABYTES, cost
    assert bool(cost.limit) == (cost.error in {"DocumentTooLargeError", "DocumentTimeoutError"})


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hostile_document_costs_no_more_than_reading_may(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(DOCUMENTS[name]())
    check(cost_of("from trivium.parsing import read\nread(sys.argv[1])", file))


@pytest.mark.parametrize("name", TABLES)
def test_a_hostile_table_costs_no_more_than_loading_may(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    TABLES[name](file)
    cost = cost_of("from trivium.agents.special.table import ReadOnlyTables\nReadOnlyTables(sys.argv[1])", file)
    check(cost)
    assert cost.error, "nothing is left out in silence"
