from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trivium.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "runs.db")
    yield made
    made.close()
