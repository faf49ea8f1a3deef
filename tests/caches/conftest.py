"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from trivium.caches import SQLiteCache


@pytest.fixture
def cache(tmp_path: Path) -> Generator[SQLiteCache]:
    made = SQLiteCache(tmp_path / "cache.db")
    yield made
    made.close()
