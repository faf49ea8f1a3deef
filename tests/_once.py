"""A costly text that is the same for all workers of a run: one makes it, the others read it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable

import pytest

__all__ = ["made_once"]


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[], str]) -> str:
    """The text of that name. The first worker who wants it makes it; others wait meanwhile."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # of all workers
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = folder / f"{name}.txt"
        if not file.exists():
            text = make()  # one that fails leaves nothing
            file.write_text(text, encoding="utf-8")
        return file.read_text(encoding="utf-8")
