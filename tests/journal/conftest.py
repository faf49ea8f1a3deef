"""The places of a journal: an SQLite file, and a schema of a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from journal._places import Place, postgres_place, sqlite_place
from trivium.journal import Journal

_numbers = count()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal in a file of its own, which is closed after the test."""
    made = Journal(tmp_path / "runs.db")
    yield made
    made.close()


@pytest.fixture
def postgres(server_url: str) -> Place:
    return postgres_place(server_url, f"place_{next(_numbers)}")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place, on each kind of store."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres")
    return sqlite_place(tmp_path / "runs.db")
