"""Work on foreign files in a process of its own, which may take only so much memory and time.

The libraries for PDF and Office files cannot be bounded from within: a file of a few kilobytes can cost gigabytes or
hours. A process can be ended, and the kernel bounds its memory.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from trivium.exceptions import (
    DocumentError,
    DocumentTimeoutError,
    DocumentTooLargeError,
    EmptyDocumentError,
    MissingExtraError,
    OCRMissingError,
    UnreadableDocumentError,
)
from trivium.parsing._boxes import PageLayout
from trivium.parsing.formats._formats import AttachedFile, Original, Parsed

if TYPE_CHECKING:
    from trivium.parsing._limits import ReadLimits

OUT_OF_MEMORY: Final = b"out of memory"
_PROGRAM: Final = Path(__file__).with_name("_apart_program.py")
PAGE: Final = b"page "
"""The beginning of a line that reports a page: its number and their count."""

_NEEDED: Final = (
    "APPDATA", "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE",
    "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LD_LIBRARY_PATH", "LD_PRELOAD", "LOCALAPPDATA",
    "OPENBLAS_CORETYPE", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUTF8",
    "SYSTEMROOT", "TEMP", "TESSDATA_PREFIX", "TMP", "TMPDIR", "TZ", "USERPROFILE",
)  # fmt: skip
"""The variables of the environment that such a process has."""

_ERRORS: Final = {each.__name__: each for each in (EmptyDocumentError, UnreadableDocumentError)}
_LIMIT_ERRORS: Final = {each.__name__: each for each in (DocumentTooLargeError, DocumentTimeoutError)}


def environment_apart(**own: str) -> dict[str, str]:
    """Return the environment of a process that reads foreign files: its own variables, and no keys of this one."""
    return {**{name: os.environ[name] for name in _NEEDED if name in os.environ}, **own}


def start_apart(program: Path) -> subprocess.Popen[bytes]:
    """Start a program of trivium's own, to talk to over stdin and stdout."""
    return subprocess.Popen(  # noqa: S603 - this interpreter, with a program of this package
        [sys.executable, "-P", str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment_apart(PYTHONPATH=os.pathsep.join(filter(None, sys.path)), OPENBLAS_NUM_THREADS="1"),
        start_new_session=True,  # a Ctrl-C at the terminal must not reach it
    )


def limit_process(memory: int, seconds: float) -> None:
    """Limit the data and the computing time of this process, where the system can."""
    with suppress(ImportError, ValueError, OSError):  # Windows cannot, and macOS does not limit memory
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        hardest = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used + seconds) + 1, hardest))


def end_apart(process: subprocess.Popen[bytes]) -> None:
    """End a process, and the programs that it started."""
    if hasattr(os, "killpg") and process.returncode is None:  # so its number is not that of another process
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _error(found: dict[str, Any], source: str) -> DocumentError:
    """Make the error that the process reports."""
    if found["error"] == OCRMissingError.__name__:
        return OCRMissingError(found["text"], source, found["package"])
    if kind := _LIMIT_ERRORS.get(found["error"]):
        return kind(found["text"], source, found["limit"], found["value"])
    return _ERRORS.get(found["error"], DocumentError)(found["text"], source)


def read_apart(original: Original, limits: ReadLimits) -> tuple[str, Parsed]:
    """Return the media type and the content of a file, as `parse_original` finds them.

    Raises:
        DocumentError: as `parse_original`; or it took too much time or memory.
        MissingExtraError: the library for its format is not installed.
    """
    scanning = original.scanning._replace(seconds=limits.seconds, pages=limits.scanned_pages, report=None, go_on=None)
    order: dict[str, Any] = {**original._asdict(), "scanning": scanning, "memory": limits.memory}
    del order["data"]
    with start_apart(_PROGRAM) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        began = monotonic()
        head, answer = b"", b""
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(order).encode() + b"\n" + original.data)
            with suppress(BrokenPipeError):
                process.stdin.close()
            while (head := process.stdout.readline()).startswith(PAGE):
                began = monotonic()
                if original.scanning.report is not None:
                    original.scanning.report(*map(int, head.split()[1:]))
            answer = process.stdout.read()
        finally:
            end_apart(process)
    if not head and monotonic() - began >= limits.seconds:  # without an answer, it was ended before it could tell
        raise original.too_slow(limits.seconds)
    if not head or head.rstrip() == OUT_OF_MEMORY:
        raise original.too_demanding(limits.memory)
    found: dict[str, Any] = json.loads(head)
    if "extra" in found:
        raise MissingExtraError(found["package"], found["extra"])
    if "error" in found:
        raise _error(found, original.source)
    kind, pages = found.pop("kind"), tuple(found.pop("pages"))
    found["unread"] = tuple(found["unread"])
    lines, headings = (tuple((at, line) for at, line in found.pop(name)) for name in ("lines", "headings"))
    view, parts, done = memoryview(answer), list[memoryview](), 0
    for size in found.pop("sizes"):
        parts.append(view[done : done + size])
        done += size
    text, boxes, *files = parts
    named: list[tuple[str, str, str | None]] = found["attached"]
    found["attached"] = tuple(AttachedFile(*about, bytes(file)) for about, file in zip(named, files, strict=True))
    layout = PageLayout.from_bytes(boxes) if boxes else None
    return kind, Parsed(str(text, "utf-8"), pages=pages, lines=lines, headings=headings, layout=layout, **found)
