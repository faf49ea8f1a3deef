"""The documents of a run, from the paths that the user gives."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from trivium.exceptions import DocumentError, DocumentNotFoundError
from trivium.knowledge.lowlevel import FileChoice
from trivium.parsing import ReadLimits, read
from trivium.parsing.lowlevel import MAX_BYTES, opening_error
from trivium.schema import Document

STDIN = Path("-")
_DEVICE = "/dev/stdin"
_MEMORY_PER_BYTE = 6  # of a document, while it is read


class ReadOptions(NamedTuple):
    """The options of a command that tell which files of folders are read, and how any document is.

    Args:
        max_bytes: the largest size of a document that is not read in parts.
        seconds: time for reading one document.
        encoding: that of texts without a byte order mark; "": the declared one, or a guess.
        include: patterns of files in folders; without any, all are read.
        exclude: patterns of files in folders that are left out.
        max_scans: the most pages of a scan that are read.
        languages: those of scans; none: those that are seen.
    """

    max_bytes: int = MAX_BYTES
    seconds: float = 15.0
    encoding: str = ""
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    max_scans: int = 200
    languages: Sequence[str] = ()

    @property
    def limits(self) -> ReadLimits:
        """The limits of reading one document; the memory grows with its size."""
        memory = max(_MEMORY_PER_BYTE * self.max_bytes, ReadLimits().memory)
        return ReadLimits(self.seconds, memory, self.max_scans)


def find_documents(
    paths: Iterable[Path], outputs: Iterable[Path | None], reading: ReadOptions
) -> tuple[list[Path], list[DocumentError]]:
    """Find the files, and those in folders that are chosen, in order, without repetition and without the outputs.

    Returns:
        The files, and an error for each folder that holds none or cannot be read. A missing file is an error when it is
        read.
    """
    seen = {os.path.abspath(output) for output in outputs if output is not None}
    found: list[Path] = []
    errors: list[DocumentError] = []
    choice = FileChoice.of(reading.include, reading.exclude)

    def report(error: OSError) -> None:
        source = source_of(Path(error.filename))
        errors.append(opening_error(error, source))

    for path in paths:
        before = len(errors)
        inside = list(walk_files(path, choice, report)) if path != STDIN and os.path.isdir(path) else [path]
        if not inside and len(errors) == before:
            source = source_of(path)
            chosen = " that --include and --exclude choose" if choice != FileChoice() else ""
            errors.append(DocumentNotFoundError(f"{source}: there is no document in this folder{chosen}", source))
        for each in inside:
            if (name := os.path.abspath(each)) not in seen:
                seen.add(name)
                found.append(each)
    return found, errors


def source_of(path: Path) -> str:
    r"""Return the name of a document in records: its path as text; bytes that are none are written as \xff."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def open_document(path: Path, reading: ReadOptions, on_page: Callable[[int, int], object] | None = None) -> Document:
    """Read a file, or standard input for `-`."""
    try:
        document = read(
            path if path != STDIN else _DEVICE,
            max_bytes=reading.max_bytes,
            limits=reading.limits,
            languages=reading.languages,
            encoding=reading.encoding,
            on_page=on_page,
        )
    except DocumentError as error:
        if path != STDIN:
            raise
        raise type(error)(str(error).replace(_DEVICE, "standard input"), source_of(path)) from None
    document.metadata.source = source_of(path)
    return document


def walk_files(folder: Path, choice: FileChoice, on_error: Callable[[OSError], object]) -> Iterator[Path]:
    """Yield the chosen files of a folder, then those of the folders in it, in order, without hidden ones.

    Args:
        folder: the folder.
        choice: the choice of files.
        on_error: called with the error of each folder that cannot be read.
    """
    for place, folders, files in os.walk(folder, onerror=on_error):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        parts = Path(place).relative_to(folder).parts
        names = (name for name in sorted(files) if not name.startswith(".") and choice.wants((*parts, name)))
        inside = (Path(place, name) for name in names)
        yield from filter(_may_be_read, inside)


def _may_be_read(path: Path) -> bool:
    """Tell regular files from devices, pipes and links to nothing; a file that is kept secret is an error when read."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        return True
    except OSError:
        return False
