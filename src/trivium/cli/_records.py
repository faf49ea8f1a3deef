"""Where records go: a file that a later run continues, in JSON lines or CSV."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from trivium.cli._kinds import described, fits, read_cell
from trivium.exceptions import ConfigurationError, OutputError
from trivium.extraction import Field

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
    """Cells as one line of CSV; a cell may hold line ends, in quotes."""
    out = io.StringIO()
    csv.writer(out).writerow(cells)  # with another line end, a lone carriage return would stand without quotes
    return out.getvalue().removesuffix("\r\n") + "\n"


def _record_of_row(cells: Sequence[str], fields: Sequence[Field]) -> dict[str, Any]:
    """The record of which `csv_row` made these cells."""
    entries: dict[str, Any] = {}
    for place, field in enumerate(fields):
        value, page, line, quote = cells[1 + 4 * place : 5 + 4 * place]
        numbers = {"page": int(page) if page else None, "line": int(line) if line else None}
        quoted = read_cell(field, quote) if field.kind == "list" else quote or None
        entries[field.name] = {"value": read_cell(field, value), **numbers, "quote": quoted}
    return {"source": cells[0], "fields": entries, "refused": json.loads(cells[-1]) if cells[-1] else {}}


class RecordFile:
    """A file of records, appended one by one and closed at each, so that nothing finished is lost.

    What an earlier run wrote stays until the first new record is there to be written, also with `restart`.

    Args:
        path: the file; its folder must be there.
        fields: what is asked for.
        as_csv: CSV instead of JSON lines.
        restart: begin anew instead of going on.

    Attributes:
        finished: the records that the file holds, by source.

    Raises:
        ConfigurationError: the file holds records with other fields or kinds of values, or something else.
        OutputError: it cannot be read or written.
    """

    def __init__(self, path: Path, fields: Sequence[Field], *, as_csv: bool = False, restart: bool = False) -> None:
        self.path, self._fields, self._as_csv = path, tuple(fields), as_csv
        self._names = [field.name for field in fields]
        self.finished: dict[str, dict[str, Any]] = {}
        with self._storage():
            with path.open("ab"):
                pass  # whether it can be written shows before the first document is read
            if not restart:
                self._go_on()
        self._begun = bool(self.finished)

    def _go_on(self) -> None:
        """Take what an earlier run finished; a line that was torn when it died is cut off."""
        data = self.path.read_bytes() if self.path.is_file() else b""
        whole = data[: self._end_of_last_record(data)]
        text = whole.decode("utf-8")
        records = self._records_in_csv(text) if self._as_csv else self._records_in_json(text)
        for record in records:
            self._check_kinds(record)
        self.finished = {record["source"]: record for record in records}
        if data and not records and not self._is_torn_start(data):
            raise self._other()
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))

    def _is_torn_start(self, data: bytes) -> bool:
        """Whether this is a part of what the first record writes: the run before died at once."""
        start = csv_line(csv_header(self._names)) if self._as_csv else '{"source": '
        size = min(len(data), len(start.encode()))
        return data[:size] == start.encode()[:size]

    def _end_of_last_record(self, data: bytes) -> int:
        """Where the last whole line ends; in CSV, a line end between quotes ends nothing."""
        end = data.rfind(b"\n") + 1
        while self._as_csv and data.count(b'"', 0, end) % 2:
            end = data.rfind(b"\n", 0, end - 1) + 1
        return end

    def _records_in_csv(self, text: str) -> list[dict[str, Any]]:
        header, *rows = list(csv.reader(io.StringIO(text, newline=""))) or [csv_header(self._names)]
        if header != csv_header(self._names):
            raise self._other()
        try:
            return [_record_of_row(row, self._fields) for row in rows]
        except (ValueError, IndexError):
            raise self._other() from None

    def _records_in_json(self, text: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for line in text.split("\n")[:-1]:
            try:
                record = json.loads(line)
                names, source = list(record["fields"]), record["source"]
                [entry["value"] for entry in record["fields"].values()]
            except (ValueError, KeyError, TypeError, AttributeError):
                raise self._other() from None
            if names != self._names or not isinstance(source, str):
                raise self._other()
            found.append(record)
        return found

    def _check_kinds(self, record: dict[str, Any]) -> None:
        for field in self._fields:
            value = record["fields"][field.name]["value"]
            if not fits(field, value):
                shown = json.dumps(value, ensure_ascii=False)
                raise ConfigurationError(
                    f"{self.path} was begun with other fields: there {field.name!r} is {_short(shown)}, which is no "
                    f"value of {described(field)}; give another --output, or --restart"
                )

    def _other(self) -> ConfigurationError:
        return ConfigurationError(
            f"{self.path} holds something other than records of these fields; give another --output, or --restart"
        )

    def append(self, record: dict[str, Any]) -> None:
        """Write one record, whole or not at all."""
        with self._storage():
            if not self._begun:
                self.path.write_bytes(csv_line(csv_header(self._names)).encode() if self._as_csv else b"")
                self._begun = True
            self._write(csv_line(csv_row(record)) if self._as_csv else as_json_line(record))
        self.finished[record["source"]] = record

    def _write(self, line: str) -> None:
        before = self.path.stat().st_size
        try:
            with self.path.open("ab") as file:
                file.write(line.encode("utf-8", "replace"))
        except OSError:
            with suppress(OSError):  # a device has no length
                os.truncate(self.path, before)
            raise

    @contextmanager
    def _storage(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            kept = "; the finished records in it are kept" if self.finished else ""
            raise OutputError(f"cannot write {self.path}: {_advice(error, self.path)}{kept}") from None
        except UnicodeDecodeError:
            raise self._other() from None


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _advice(error: OSError, path: Path) -> str:
    """What is wrong with the place, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no space is left there; free some, then run the same command again"
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"there is no folder {path.parent}; make it, or give another --output"
    if error.errno == errno.EISDIR:
        return "it is a folder; name a file in it"
    return f"{error.strerror}; give another --output"
