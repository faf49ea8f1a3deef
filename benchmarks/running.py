"""A server of a benchmark in a process of its own, which prints its port and ends with its standard input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["running"]


@contextmanager
def running(script: Path, *arguments: str) -> Iterator[str]:
    """The address of a server that a script is."""
    command = [sys.executable, str(script), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()
