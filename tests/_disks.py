"""Disks that fill up, or can only be read."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["mounted", "read_only"]


@contextmanager
def mounted(folder: Path, size: str) -> Generator[Path]:
    """A file system of this size in a new folder, as "16k"; without the right to mount one the test is skipped."""
    folder.mkdir()
    with _mounted(folder, "-t", "tmpfs", "-o", f"size={size}", "none"):
        yield folder


@contextmanager
def read_only(folder: Path, place: Path) -> Generator[Path]:
    """Another place of a folder, where its files can only be read; without the right to mount the test is skipped."""
    place.mkdir()
    with _mounted(place, "--bind", "-o", "ro", str(folder)):
        yield place


@contextmanager
def _mounted(folder: Path, *options: str) -> Generator[None]:
    if subprocess.run(["mount", *options, folder], capture_output=True, check=False).returncode:
        pytest.skip("this process may not mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
