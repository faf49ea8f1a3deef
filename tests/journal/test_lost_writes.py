"""Records that could not be written while the attempt went on to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent
from trivium.actions import tool
from trivium.exceptions import JournalError
from trivium.journal import Journal
from trivium.journal.lowlevel import Appending, SQLiteRunStore
from trivium.testing import call_tool

from ._programs import Stateless


class LosesAnError:
    """A store that cannot be reached when the first error is recorded, and can be again at the end of the attempt."""

    def __init__(self, store: SQLiteRunStore) -> None:
        self._store, self.lost = store, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
        if not self.lost and any(each.kind == "error" for each in group[0].written.entries):
            self.lost += 1
            raise JournalError("the network is cut", group[0].run_id)
        return self._store.append_all(group)


def test_a_tool_whose_error_could_not_be_recorded_runs_again(tmp_path: Path):
    calls: list[int] = []

    @tool(effect="idempotent")
    def note() -> str:
        """Note."""
        calls.append(len(calls))
        return str(1 / (len(calls) - 1))

    store: Any = LosesAnError(SQLiteRunStore(tmp_path / "runs.db"))
    journal = Journal(store)
    clerk = Agent(Stateless(call_tool("note"), "done"), tools=[note], name="clerk")
    with pytest.raises(JournalError, match="the network is cut"):
        clerk("Go.", run_id="a", journal=journal)
    assert store.lost == 1
    assert clerk("Go.", run_id="a", journal=journal).content == "done"
    assert len(calls) == 2
    assert [each.kind for each in journal.entries("a")] == ["begin", "outcome", "outcome", "outcome", "end"]
    journal.close()
