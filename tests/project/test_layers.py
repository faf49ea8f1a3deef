"""Imports go downwards only: the contract in `.importlinter`, and what may be imported only late."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from . import _imports
from ._source import ROOT, read

PROGRAM = "from importlinter.cli import lint_imports_command as run; run()"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contract against the package that lies in a folder's `src`."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def package(folder: Path, **rooms: str) -> Path:
    """A small trivium with our contract: each keyword is a room of one file, each value its text."""
    shutil.copy(ROOT / ".importlinter", folder)
    root = folder / "src" / "trivium"
    root.mkdir(parents=True)
    for name, text in {"__init__": "", **rooms}.items():
        (root / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def test_the_library_keeps_the_contract():
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_missing_rooms_are_tolerated(tmp_path: Path):
    done = lint_imports(package(tmp_path, tasks="import trivium.exceptions", exceptions=""))
    assert done.returncode == 0, done.stdout + done.stderr


UPWARDS = [
    ("commander", "schema"), ("schema", "commander"), ("agents", "tasks"), ("module", "llms"),
    ("agents", "testing"), ("actions", "utils"), ("extraction", "cli"), ("exceptions", "schema"),
]  # fmt: skip


@pytest.mark.parametrize("form", ["import trivium.{}", "def f():\n    from trivium import {}"])
def test_imports_upwards_break_the_contract(tmp_path: Path, form: str):
    rooms = {room: "" for pair in UPWARDS for room in pair}
    for number, (lower, upper) in enumerate(UPWARDS):
        rooms[lower] += form.replace("f()", f"f{number}()").format(upper) + "\n"
    done = lint_imports(package(tmp_path, **rooms))
    assert done.returncode == 1
    assert "BROKEN" in done.stdout
    for lower, upper in UPWARDS:
        assert f"trivium.{lower} -> trivium.{upper} " in done.stdout, done.stdout


def test_imports_for_types_are_free(tmp_path: Path):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import trivium.tasks"
    done = lint_imports(package(tmp_path, agents=text, tasks="import trivium.agents"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_room_needs_a_place(tmp_path: Path):
    done = lint_imports(package(tmp_path, attic="", schema=""))
    assert done.returncode == 1
    assert "attic" in done.stdout


def test_vendor_packages_are_imported_late():
    assert _imports.vendor_imports(read("src")) == []


def test_only_the_runtime_imports_threads_and_loops():
    assert _imports.concurrency_imports(read("src")) == []
