"""What trivium starts in processes of their own, forked from one that has loaded what they need."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from cli._zygote import Forked

__all__ = ["forking"]

_LOADS = (
    "docx", "duckdb", "openpyxl", "pptx", "pypdfium2", "trivium.parsing.formats._apart_program",
    "trivium.parsing.formats._docx", "trivium.parsing.formats._pdf", "trivium.parsing.formats._pptx",
    "trivium.parsing.formats._sheet_program", "trivium.parsing.formats._xlsx",
)  # fmt: skip


class _Apart(Forked):
    """A program of trivium's own, to talk to in bytes, as `start_apart` starts it."""

    stdin: Any
    stdout: Any

    def __init__(self, program: Path, loads: tuple[str, ...]) -> None:
        (read, to_read), (out, to_out) = os.pipe(), os.pipe()
        err = os.open(os.devnull, os.O_WRONLY)
        streams = (read, to_out, err)
        super().__init__([sys.executable, str(program)], Path.cwd(), {**os.environ}, streams, loads=loads)
        for each in streams:
            os.close(each)
        self.stdin, self.stdout = os.fdopen(to_read, "wb"), os.fdopen(out, "rb")

    def communicate(self, text: str = "", timeout: float | None = None) -> Any:
        with suppress(BrokenPipeError):
            self.stdin.close()
        with self.stdout:
            self.stdout.read()
        self.wait(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.communicate()


@contextmanager
def forking(*loads: str) -> Generator[None]:
    """Have DuckDB, and what reads documents and sheets, run in such processes, as long as the block runs.

    Args:
        loads: what these have loaded: by default all readers, beside which there is little memory left for pictures.
    """
    users = ("agents.special.table._process", "parsing.formats._apart", "parsing.formats._sheets")
    with ExitStack() as patches:
        for each in users:
            patches.enter_context(patch(f"trivium.{each}.start_apart", partial(_Apart, loads=loads or _LOADS)))
        yield
