"""The documents of a run, from the paths that the user gives."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from trivium.exceptions import DocumentError, DocumentNotFoundError
from trivium.parsing import ReadLimits, read
from trivium.parsing.lowlevel import opening_error
from trivium.schema import Document

STDIN = Path("-")
_DEVICE = "/dev/stdin"
_MEMORY_PER_BYTE = 6  # of a document, while it is read


def find_documents(paths: Iterable[Path], outputs: Iterable[Path | None]) -> tuple[list[Path], list[DocumentError]]:
    """Find the files, and the files in folders, in order and without repetition; the outputs are left out.

    Returns:
        The files, and an error for each folder that holds none or cannot be read. A missing file is an error when it is
        read.
    """
    seen = {os.path.abspath(output) for output in outputs if output is not None}
    found: list[Path] = []
    errors: list[DocumentError] = []

    def report(error: OSError) -> None:
        source = source_of(Path(error.filename))
        errors.append(opening_error(error, source))

    for path in paths:
        before = len(errors)
        inside = list(walk_files(path, report)) if path != STDIN and os.path.isdir(path) else [path]
        if not inside and len(errors) == before:
            source = source_of(path)
            errors.append(DocumentNotFoundError(f"{source}: there is no document in this folder", source))
        for each in inside:
            if (name := os.path.abspath(each)) not in seen:
                seen.add(name)
                found.append(each)
    return found, errors


def source_of(path: Path) -> str:
    r"""Return the name of a document in records: its path as text; bytes that are none are written as \xff."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_limits(max_bytes: int, seconds: float) -> ReadLimits:
    """Return the limits of reading documents of that size; the memory grows with it."""
    return ReadLimits(seconds, max(_MEMORY_PER_BYTE * max_bytes, ReadLimits().memory))


def open_document(path: Path, **options: Any) -> Document:
    """Read a file, or standard input for `-`; the options are those of `trivium.parsing.read`."""
    if path != STDIN:
        return read(path, **options)
    try:
        document = read(_DEVICE, **options)
    except DocumentError as error:
        raise type(error)(str(error).replace(_DEVICE, "standard input"), source_of(path)) from None
    document.metadata.source = source_of(path)
    return document


def walk_files(folder: Path, on_error: Callable[[OSError], object]) -> Iterator[Path]:
    """Yield the files of a folder, then those of the folders in it, in order, without hidden ones.

    Args:
        folder: the folder.
        on_error: called with the error of each folder that cannot be read.
    """
    for place, folders, files in os.walk(folder, onerror=on_error):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = (Path(place, name) for name in sorted(files) if not name.startswith("."))
        yield from filter(_may_be_read, inside)


def _may_be_read(path: Path) -> bool:
    """Tell regular files from devices, pipes and links to nothing; a file that is kept secret is an error when read."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        return True
    except OSError:
        return False
