"""Disks that fill up."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["mounted"]


@contextmanager
def mounted(folder: Path, size: str) -> Generator[Path]:
    """A file system of this size in a new folder, as "16k"; without the right to mount one the test is skipped."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("this process may not mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
