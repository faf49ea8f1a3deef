from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from journal._places import postgres_place

_numbers = count()


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks write their logs into the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The place of a journal of its own, in a file and in a database."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    return postgres_place(request.getfixturevalue("server_url"), f"serving{next(_numbers)}").name
