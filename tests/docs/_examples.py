"""Examples as processes of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from cli._zygote import Forked

from ._runner import ROOT

__all__ = ["Run", "started"]

Run = Callable[..., str]


def started(folder: Path, name: str, *arguments: object) -> Forked:
    """Start an example in a folder, where a warning is an error; what it writes on both streams is its `stdout`."""
    program = [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]
    (read, typed), (out, written) = os.pipe(), os.pipe()
    process = Forked(program, folder, dict(os.environ), (read, written, written))
    os.close(read)
    os.close(written)
    process.stdin, process.stdout = os.fdopen(typed, "w", encoding="utf-8"), os.fdopen(out, encoding="utf-8")
    return process
