"""Acts noted beside an SQLite file: by them a journal that was taken back to an earlier state is noticed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from trivium.journal._store import Entry, damaged

_FORGOTTEN: Final = 0
_LARGEST: Final = 1 << 16
"""The bytes from which on the notes are cleared, once the records stand in the main file."""


class ActNotes:
    """Notes of the durable records of a journal, in a file beside it.

    SQLite reads the log that a killed process leaves behind as far as it is whole, and goes on from there. If the log
    was damaged, the run would go on from an earlier state, and repeat what must happen once. So each record that must
    outlast everything is noted here too, by its number and link, after it was committed and before its act begins.
    When all records are in the main file, the notes are not needed any more.

    Args:
        journal: the file of the journal.
    """

    def __init__(self, journal: Path) -> None:
        self._path, self._log = Path(f"{journal}-acts"), Path(f"{journal}-wal")

    def exist(self) -> bool:
        """Return whether anything is noted."""
        return self._path.exists()

    def add(self, run_id: str, record: Entry) -> bool:
        """Note a record that was committed; return whether it is time to clear the notes."""
        return self._write(run_id, record.seq, record.link) > _LARGEST

    def forget(self, run_id: str) -> None:
        """Note that a run was deleted; what was noted of it before does not count."""
        if self.exist():
            self._write(run_id, _FORGOTTEN, "")

    def _write(self, *note: object) -> int:
        text = json.dumps(note)
        line = f"{_sum_of(text)} {text}\n".encode()
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, line)
            return os.fstat(file).st_size
        finally:
            os.close(file)

    def check(self, run_id: str, records: Sequence[Entry]) -> None:
        """Check that a run has all that is noted of it.

        Raises:
            JournalDamagedError: it has not.
        """
        try:
            lines = self._path.read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return
        begins = f"[{json.dumps(run_id)}, "
        noted: dict[int, str] = {}
        for line in lines:
            digest, _, text = line.partition(" ")
            if not text.startswith(begins) or digest != _sum_of(text):  # the latter was cut off, or edited
                continue
            _, number, link = json.loads(text)
            if number == _FORGOTTEN:
                noted.clear()
            else:
                noted[number] = link
        links = {each.seq: each.link for each in records}
        missing = [number for number, link in noted.items() if links.get(number) != link]
        if missing:
            raise damaged(
                run_id,
                f"record {missing[0]} of the run {run_id!r} is missing, though {self._path} has it: the journal or "
                "its log was damaged, or replaced by an older one, and what must happen once could be repeated (where "
                f"it may, delete {self._path})",
            )

    def clear(self) -> None:
        """Delete the notes, if all records stand in the main file; nobody may be writing to it meanwhile."""
        if not self._log.exists() or not self._log.stat().st_size:
            self._path.unlink(missing_ok=True)


def _sum_of(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
