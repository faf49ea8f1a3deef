"""Work on foreign files in a process of its own, which may take only so much memory and time.

The libraries for PDF and Office files cannot be bounded from within: a file of a few kilobytes can cost gigabytes or
hours. A process can be ended, and the kernel bounds its memory.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trivium.exceptions import (
    DocumentError,
    DocumentTooLargeError,
    EmptyDocumentError,
    MissingExtraError,
    UnreadableDocumentError,
)
from trivium.parsing._boxes import PageLayout
from trivium.parsing.formats._formats import Original, Parsed

if TYPE_CHECKING:
    from trivium.parsing._limits import ReadLimits

__all__ = ["OUT_OF_MEMORY", "limit_process", "read_apart", "start_apart"]

OUT_OF_MEMORY: Final = b"out of memory"
_PROGRAM: Final = Path(__file__).with_name("_apart_program.py")
_ERRORS: Final = {each.__name__: each for each in (EmptyDocumentError, UnreadableDocumentError)}


def start_apart(program: Path) -> subprocess.Popen[bytes]:
    """Start a program of trivium's own, to talk to over stdin and stdout."""
    return subprocess.Popen(  # noqa: S603 - this interpreter, with a program of this package
        [sys.executable, "-P", str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,  # a Ctrl-C at the terminal must not reach it
    )


def limit_process(memory: int, seconds: float) -> None:
    """Limit the data and the computing time of this process, where the system can."""
    with suppress(ImportError, ValueError, OSError):  # Windows cannot, and macOS does not limit memory
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        most = math.ceil(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))  # should this one's parent be killed


def read_apart(original: Original, limits: ReadLimits) -> tuple[str, Parsed]:
    """Return the media type and the content of a file, as `parse_original` finds them.

    Raises:
        DocumentError: as `parse_original`; or it took too much time or memory.
        MissingExtraError: the library for its format is not installed.
    """
    order: dict[str, Any] = {**original._asdict(), "memory": limits.memory, "seconds": limits.seconds}
    del order["data"]
    with start_apart(_PROGRAM) as process:
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(order).encode() + b"\n")
            answer, _ = process.communicate(original.data, timeout=limits.seconds)
        except subprocess.TimeoutExpired:
            raise original.too_slow(limits.seconds) from None
        finally:
            process.kill()
    end = answer.find(b"\n")
    if end < 0 or answer[:end] == OUT_OF_MEMORY:  # without an answer, it was ended before it could tell
        raise original.too_demanding(limits.memory)
    found: dict[str, Any] = json.loads(answer[:end])
    if "package" in found:
        raise MissingExtraError(found["package"], found["extra"])
    if found.get("error") == DocumentTooLargeError.__name__:
        raise DocumentTooLargeError(found["text"], original.source, "max_bytes", original.limit)
    if "error" in found:
        raise _ERRORS.get(found["error"], DocumentError)(found["text"], original.source)
    kind, pages, text_end = found.pop("kind"), tuple(found.pop("pages")), end + 1 + found.pop("text_bytes")
    lines, headings = (tuple((at, line) for at, line in found.pop(name)) for name in ("lines", "headings"))
    view = memoryview(answer)
    text, boxes = str(view[end + 1 : text_end], "utf-8"), view[text_end:]
    layout = PageLayout.from_bytes(boxes) if boxes else None
    return kind, Parsed(text, pages=pages, lines=lines, headings=headings, layout=layout, **found)
