"""The files that a run writes: each is one of its own, and no other run writes it meanwhile."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from trivium.cli._records import storage
from trivium.cli._report import BEGINNING as REPORT
from trivium.exceptions import ConfigurationError, OutputError

_LONGEST = 16 << 20
"""Bytes of the longest first line that is read."""

_DATABASE, _WORKBOOK, _PARQUET = b"SQLite format 3\0", b"PK", b"PAR1"


def check_places(documents: Iterable[Path], written: Mapping[str, str | Path | None]) -> None:
    """Refuse files that are written twice, or that are documents which the user named.

    What an earlier run wrote there may be among the documents, as by `d/*`; it is left out of them.

    Args:
        documents: the files and folders that the user named.
        written: the files that are written, by the words that name them.

    Raises:
        ConfigurationError: two of them are one file, also by a link.
    """
    known: dict[object, str] = {}
    for name, place in written.items():
        if place is None:
            continue
        key = _key(place)
        if key in known:
            raise ConfigurationError(f"{known[key]} and {name} are one file, {place}: give each a file of its own")
        known[key] = name
    for path in documents:
        name = known.get(_key(path))
        if name is not None and not _is_own(path, name, written):
            raise ConfigurationError(
                f"{path} is given as a document, and as {name}, which would write over it: give another {name}"
            )


def _is_own(path: Path, name: str, written: Mapping[str, str | Path | None]) -> bool:
    """Tell whether a file is empty, or what an earlier run wrote as the same of its files."""
    with suppress(OSError):
        with path.open("rb") as file:
            line, more = file.readline(_LONGEST), file.read(len(REPORT))
        if not line:
            return True
        if name == "--report":
            return (line + more).startswith(REPORT.encode())
        if name != "--output":
            return line.startswith(_DATABASE)
        if line.startswith((_WORKBOOK, _PARQUET)):  # their records are in the journal
            journals = [str(each) for key, each in written.items() if each is not None and "journal" in key]
            return any("://" in each or _is_own(Path(each), "", {}) for each in journals)
        return _is_of_records(line.decode("utf-8-sig", "replace"))
    return False


def _is_of_records(line: str) -> bool:
    """Tell whether a line is a record, or the header of a table of records."""
    header = line.rstrip().split(",")
    if header[0] == "source" and header[-1] == "refused":
        return True
    with suppress(ValueError):
        record = json.loads(line)
        return isinstance(record, dict) and {"source", "fields", "refused"} <= record.keys()
    return False


def _key(place: str | Path) -> object:
    """Return what tells files apart; of what is no plain file, such as a folder or a device, nothing is equal."""
    if os.path.exists(place):
        found = os.stat(place)
        return (found.st_dev, found.st_ino) if os.path.isfile(place) else object()
    return os.path.normcase(os.path.realpath(place))


@contextmanager
def reserved(path: Path, *, is_kept: bool) -> Generator[None]:
    """Lock a file that is written until its run ends, also if it is killed; what is no plain file is not locked.

    Args:
        path: the file; it is created if there is none.
        is_kept: whether it stays if nothing was written to it.

    Raises:
        OutputError: another run writes it, or it cannot be written.
    """
    if sys.platform == "win32" or (path.exists() and not path.is_file()):
        yield
        return
    import fcntl

    is_new = not path.exists()
    with storage(path, {}):
        file = path.open("ab")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = f"cannot write {path}: another run writes it; wait for it, or give another --output"
            raise OutputError(text) from None
        except OSError:
            pass  # a file system without locks
        is_done = False
        try:
            yield
            is_done = True
        finally:
            with suppress(OSError):
                if is_new and not (is_kept and is_done) and not path.stat().st_size:
                    path.unlink()
