"""Examples, run as their readers would."""

from __future__ import annotations

import io
import logging
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ._blocks import blocks_in
from ._examples import Run, started
from ._runner import ROOT, save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the letters of the tutorial."""
    blocks = blocks_in((ROOT / "docs/tutorial.md").read_text(encoding="utf-8"))
    assert list(save(blocks, tmp_path)) == []
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Runs an example, and gives what it printed."""

    def run(name: str, *arguments: object, typed: str = "", fails: bool = False) -> str:
        process = started(folder, ROOT / "examples" / name, *arguments)
        shown, _ = process.communicate(typed, timeout=50)
        assert (process.returncode != 0) == fails, shown
        return shown

    return run


@pytest.fixture
def run_here(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs an example in this process, where the embedded model is loaded once for all of them."""
    monkeypatch.chdir(folder)
    logger = logging.getLogger("trivium.commander")  # which an example silences
    level = logger.level

    def run_here(name: str | Path, *arguments: object, typed: str = "") -> str:
        program = str(ROOT / "examples" / name)
        monkeypatch.setattr(sys, "argv", [program, *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        runpy.run_path(program, run_name="__main__")
        shown = capsys.readouterr()
        return (shown.err + shown.out).replace("\r", "\n")

    yield run_here
    logger.setLevel(level)
