"""Pictures of pages, drawn in a process of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from trivium.parsing._limits import ReadLimits
from trivium.parsing.formats._apart import end_apart, start_apart
from trivium.parsing.formats._formats import suffix_of

_PROGRAM: Final = Path(__file__).with_name("_picture_program.py")


def page_pictures(data: bytes, name: str, pages: Sequence[int], limits: ReadLimits) -> dict[int, bytes]:
    """Draw pages of a PDF or an image as JPEG; those that cannot be drawn within the limits are left out.

    Args:
        data: the file.
        name: its name.
        pages: the numbers of pages, from 1.
        limits: of all pages together.
    """
    order = {"pages": sorted(set(pages)), "suffix": suffix_of(name), "memory": limits.memory, "seconds": limits.seconds}
    found: dict[int, bytes] = {}
    with start_apart(_PROGRAM) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(order).encode() + b"\n" + data)
            with suppress(BrokenPipeError):
                process.stdin.close()
            while head := process.stdout.readline().split():
                number, length = map(int, head)
                if len(picture := process.stdout.read(length)) == length:
                    found[number] = picture
        finally:
            end_apart(process)
    return found
