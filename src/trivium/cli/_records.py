"""Where records go: a file that a later run continues, in JSON lines or CSV."""

from __future__ import annotations

import csv
import errno
import io
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trivium.exceptions import ConfigurationError, OutputError

__all__ = ["RecordFile", "as_json_line", "csv_header", "csv_line", "csv_row"]

_PARTS = ("value", "page", "line", "quote")


def as_json_line(record: dict[str, Any]) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def csv_header(names: Sequence[str]) -> list[str]:
    """The columns: source, then value, page, line and quote of each field, then what was refused."""
    parts = [name if part == "value" else f"{name}_{part}" for name in names for part in _PARTS]
    return ["source", *parts, "refused"]


def csv_row(record: dict[str, Any]) -> list[str]:
    """A record as a row; what is no plain text or number is JSON."""
    cells = [_cell(entry[part]) for entry in record["fields"].values() for part in _PARTS]
    return [record["source"], *cells, json.dumps(record["refused"], ensure_ascii=False) if record["refused"] else ""]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def csv_line(cells: Sequence[str]) -> str:
    """Cells as one line of CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


class RecordFile:
    """A file of records, appended one by one and flushed at each, so that nothing finished is lost.

    Args:
        path: the file; its folder must be there.
        names: the names of the fields.
        as_csv: CSV instead of JSON lines.
        restart: begin anew instead of going on.

    Raises:
        ConfigurationError: the file holds records with other fields, or something else.
        OutputError: it cannot be read or written.
    """

    def __init__(self, path: Path, names: Sequence[str], *, as_csv: bool = False, restart: bool = False) -> None:
        self.path, self._names, self._as_csv = path, list(names), as_csv
        self.finished: set[str] = set()
        with self._storage():
            if restart or not path.exists() or not path.stat().st_size:
                path.write_text(csv_line(csv_header(self._names)) if as_csv else "", encoding="utf-8")
            else:
                self._go_on()

    def _go_on(self) -> None:
        """Take what an earlier run finished; a line that was torn when it died is cut off."""
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            self.path.write_text(whole, encoding="utf-8")
        self.finished = self._sources_in_csv(whole) if self._as_csv else self._sources_in_json(whole)

    def _sources_in_csv(self, text: str) -> set[str]:
        rows = list(csv.reader(io.StringIO(text)))
        if rows and rows[0] != csv_header(self._names):
            raise self._other()
        return {row[0] for row in rows[1:] if row}

    def _sources_in_json(self, text: str) -> set[str]:
        found: set[str] = set()
        for line in text.splitlines():
            try:
                record = json.loads(line)
                names, source = list(record["fields"]), record["source"]
            except (ValueError, KeyError, TypeError):
                raise self._other() from None
            if names != self._names:
                raise self._other()
            found.add(source)
        return found

    def _other(self) -> ConfigurationError:
        return ConfigurationError(
            f"{self.path} holds something other than records of these fields; give another --output, or --restart"
        )

    def append(self, record: dict[str, Any]) -> None:
        """Write one record, whole or not at all."""
        line = csv_line(csv_row(record)) if self._as_csv else as_json_line(record)
        with self._storage():
            before = self.path.stat().st_size
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(line)
            except OSError:
                with self.path.open("r+b") as file:
                    file.truncate(before)
                raise
        self.finished.add(record["source"])

    @contextmanager
    def _storage(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            kept = f"; the {len(self.finished)} finished records are kept there" if self.finished else ""
            what = "no space is left there: free some" if error.errno == errno.ENOSPC else f"{error.strerror}"
            raise OutputError(f"cannot write {self.path}: {what}{kept}; then run the same command again") from None
        except UnicodeDecodeError:
            raise self._other() from None
