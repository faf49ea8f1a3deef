"""The Python blocks of a document as one program in a process of its own: `python -m docs._program DOCUMENT`."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from ._blocks import Block, blocks_in

__all__ = ["joined_blocks"]


def joined_blocks(document: str) -> list[Block]:
    """The blocks that are one program together."""
    return [
        block
        for block in blocks_in(document)
        if block.language == "python" and block.runs and block.file is None and not block.is_program
    ]


def _printed(path: Path) -> Iterator[tuple[int, str]]:
    module = ModuleType("trivium_document")
    sys.modules[module.__name__] = module  # where classes look up the names in their annotations
    for block in joined_blocks(path.read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            try:
                # Tracebacks name the lines of the document.
                exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), module.__dict__)
            except Exception:
                traceback.print_exc(limit=-1, file=out)
        yield block.line, out.getvalue()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(list(_printed(Path(sys.argv[1])))))
