"""Files that are made to cost memory or time: each is read, or a typed error that names its limit, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ._hostile import DOCUMENTS, TABLES
from ._measured import Cost, cost_of

# Less than half of what reading may take by default, so that it is over in less than half the time.
MEMORY, TIME = 80, 3
SECONDS = 9
TYPED = {
    "ConfigurationError", "DocumentTooLargeError", "DocumentTimeoutError", "EmptyDocumentError",
    "UnreadableDocumentError", "",
}  # fmt: skip


def check(cost: Cost, megabytes: int) -> None:
    """It is within bounds, and an error is typed; one of a limit says which it is."""
    print(f"{cost.error or 'read'} {cost.limit} {cost.seconds:.1f} s {cost.megabytes:.0f} MB: {cost.text[:150]}")
    assert cost.error in TYPED, cost
    assert cost.seconds < SECONDS, cost
    assert cost.megabytes < megabytes, cost
    assert bool(cost.limit) == (cost.error in {"DocumentTooLargeError", "DocumentTimeoutError"})


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hostile_document_costs_no_more_than_reading_may(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(DOCUMENTS[name]())
    limits = f"limits=ReadLimits(seconds={TIME}, memory={MEMORY << 20})"
    check(cost_of(f"from trivium.parsing import ReadLimits, read\nread(sys.argv[1], {limits})", file), MEMORY + 48)


@pytest.mark.parametrize("name", TABLES)
def test_a_hostile_table_costs_no_more_than_loading_may(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    TABLES[name](file)
    cost = cost_of("from trivium.agents.special.table import ReadOnlyTables\nReadOnlyTables(sys.argv[1])", file)
    check(cost, 256)
    # a quote that is not closed is an ordinary character where a layout of all rows has no quotes: no row is hidden
    assert cost.error or name == "later-quote.csv", "nothing is left out in silence"
