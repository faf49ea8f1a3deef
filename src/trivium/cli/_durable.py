"""The journal of an extraction: the runs of its documents, and the records that they have ended with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from trivium.cli._columns import Record
from trivium.cli._kinds import kind_text
from trivium.cli._records import storage
from trivium.exceptions import ConfigurationError
from trivium.extraction import Field
from trivium.journal import Journal
from trivium.journal.lowlevel import digest_of

_OWN = "extract"


def journal_beside(table: Path) -> Path:
    """Return the journal of a table for which no other one is given."""
    return table.with_name(f"{table.name}.journal")


def journal_files(place: str | Path) -> list[Path]:
    """Return the files of a journal, with those that are beside it while it is used."""
    return [Path(f"{place}{end}") for end in ("", "-wal", "-shm", "-acts")]


def check_known(table: Path, place: str | Path, is_known: bool) -> None:
    """Raise a ConfigurationError if there is a table, and a journal does not know it."""
    if not is_known and table.exists() and table.stat().st_size:
        text = f"{table} exists, and {place} has no records of it; give another --output, or --restart"
        raise ConfigurationError(text)


class ExtractionRuns:
    """The runs of an extraction, one for each document.

    Args:
        place: the journal.
        name: what the ids of the runs begin with; default: that of a journal of this extraction alone, whose file only
            its owner may read.

    Raises:
        OutputError: the file cannot be written.
    """

    def __init__(self, place: str | Path, name: str = "") -> None:
        if not name:
            with storage(Path(place), {}):
                os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600))
        self._name, self.place = name or _OWN, str(place)
        self.journal = Journal(place, key=os.environ.get("TRIVIUM_JOURNAL_KEY", "")).accepting_changes()

    def ids(self) -> list[str]:
        """Return the ids of the runs, the first one first."""
        return [each.id for each in reversed(self.journal.runs()) if each.id.startswith(f"{self._name} ")]

    def forget(self) -> None:
        """Forget them all, so that the extraction begins anew."""
        self.journal.forget(self.ids())

    def records(self, run_id: str, table: Path) -> Iterator[Record]:
        """Yield the records of the documents that are done, for a table.

        Args:
            run_id: what the ids of the runs for these fields begin with.
            table: the table.

        Raises:
            ConfigurationError: the table is not made of these runs, or they are of other fields.
        """
        ids = self.ids()
        check_known(table, self.place, bool(ids))
        if any(not each.startswith(f"{run_id} ") for each in ids):
            raise ConfigurationError(f"{table} was begun with other fields; give another --output, or --restart")
        for each in ids:
            run = self.journal.view(each)
            if run.result is not None:
                yield run.result.content

    def run_id(self, fields: Sequence[Field]) -> str:
        """Return what the ids of runs for these fields begin with."""
        return f"{self._name} {digest_of([f'{each.name}: {kind_text(each)}' for each in fields])[:8]}"
