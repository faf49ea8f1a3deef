from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks write their logs into the current folder."""
    monkeypatch.chdir(tmp_path)
