"""The forms of records, JSON lines and CSV, and a file of them that a later run continues."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from codecs import BOM_UTF8
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from trivium.cli._columns import Columns, Record
from trivium.cli._kinds import is_value_of, kind_text, read_cell
from trivium.exceptions import ConfigurationError, FieldsError, OutputError
from trivium.extraction import Field


class JSONLines:
    """Records as lines of JSON.

    Args:
        fields: the fields of each record.

    Attributes:
        header: the text before the first record.
        beginning: the text with which a file of records begins.
    """

    header = ""
    beginning = '{"source": '

    def __init__(self, fields: Sequence[Field]) -> None:
        self._names = [field.name for field in fields]

    def write(self, record: Record) -> str:
        """Write a record as one line."""
        return json.dumps(record, ensure_ascii=False) + "\n"

    def length(self, data: bytes) -> int:
        """Return the number of bytes up to the end of the last complete record."""
        return data.rfind(b"\n") + 1

    def read(self, text: str) -> list[Record]:
        """Read complete records.

        Raises:
            ValueError: the text is something else.
        """
        found: list[Record] = []
        for line in text.split("\n")[:-1]:
            record = json.loads(line)
            try:
                names, values = list(record["fields"]), [each["value"] for each in record["fields"].values()]
                is_record = sorted(names) == sorted(self._names) and len(values) == len(names)
                is_record = is_record and isinstance(record["source"], str)
            except (KeyError, TypeError, AttributeError):
                is_record = False
            if not is_record:
                raise ValueError("this is no record of these fields")
            record["fields"] = {name: record["fields"][name] for name in self._names}
            found.append(record)
        return found


class CSV:
    """Records as rows of CSV, in plain columns: the rows of `Columns`.

    Args:
        fields: the fields of each record.
        confidence: a column with the confidence of each value, too.

    Attributes:
        columns: the columns.
        header: the text before the first record.
        beginning: the text with which a file of records begins.

    Raises:
        FieldsError: two columns would have one name.
    """

    def __init__(self, fields: Sequence[Field], *, confidence: bool = False) -> None:
        self._fields, self.columns = tuple(fields), Columns(fields, confidence=confidence)
        self.header = self.beginning = _csv_line(self.columns.names)

    def write(self, record: Record) -> str:
        """Write a record as rows: one, or one for each line item; lists are JSON."""
        return "".join(_csv_line([_cell(cell) for cell in row]) for row in self.columns.rows(record))

    def length(self, data: bytes) -> int:
        """Return the number of bytes up to the end of the last complete record; a quoted line end ends nothing."""
        pieces, end = data.split(b'"'), len(data)
        for at in range(len(pieces) - 1, -1, -1):  # each second one is within quotes
            start = end - len(pieces[at])
            if at % 2 == 0 and (last := data.rfind(b"\n", start, end)) >= 0:
                return last + 1
            end = start - 1
        return 0

    def read(self, text: str) -> list[Record]:
        """Read complete records, as `JSONLines.read`."""
        try:
            header, *rows = list(csv.reader(io.StringIO(text, newline=""))) or [self.columns.names]
        except csv.Error as error:
            raise ValueError(f"this is no CSV of records: {error}") from None
        records = [self._record(header, cells) for cells in rows]
        fits = all(
            is_value_of(field, each["fields"][field.name]["value"]) for each in records for field in self._fields
        )
        if header != self.columns.names and (fits or not records):
            raise ValueError("these are other columns")
        return records

    def _record(self, header: Sequence[str], cells: Sequence[str]) -> Record:
        """Read a row by its header, which may be that of other kinds of fields."""
        if not header or len(cells) != len(header) or header[0] != "source" or header[-1] != "refused":
            raise ValueError("a row is not complete")
        entries: dict[str, Any] = {}
        at = 1
        for field in self._fields:
            is_money = header[at + 1 : at + 2] == [f"{field.name}_currency"]
            places = [f"{field.name}_{part}" for part in self.columns.places]
            end = at + 1 + is_money + len(places)
            if header[at : at + 1] != [field.name] or header[end - len(places) : end] != places:
                raise ValueError("these are other columns")
            value = read_cell(field, cells[at])
            if is_money and cells[at]:
                value = {"amount": json.loads(cells[at]), "currency": cells[at + 1] or None}
            page, line, quote, attachment, *rest = cells[end - len(places) : end]
            place: dict[str, Any] = {"attachment": attachment} if attachment else {}
            place |= {"page": int(page) if page else None, "line": int(line) if line else None}
            quoted = read_cell(field, quote) if field.kind == "list" else quote or None
            entries[field.name] = {"value": value, **place, "quote": quoted}
            if any(rest):
                entries[field.name]["confidence"] = float(rest[0])
            at = end
        if at != len(header) - 1:
            raise ValueError("these are other columns")
        return {"source": cells[0], "fields": entries, "refused": json.loads(cells[-1]) if cells[-1] else {}}


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _csv_line(cells: Sequence[str]) -> str:
    """Write cells as one row of CSV; a cell may hold line ends, in quotes."""
    out = io.StringIO()
    csv.writer(out).writerow(cells)  # with another line end, a lone carriage return would have no quotes
    return out.getvalue().removesuffix("\r\n") + "\n"


class RecordFile:
    """A file of records, appended one by one and closed at each, so that no finished record is lost.

    The records of an earlier run stay until the first new one is written, also with `restart`.

    Args:
        path: the file; its folder must exist.
        fields: the fields of each record.
        as_csv: CSV instead of JSON lines.
        restart: start again instead of continuing.
        confidence: a column of CSV with the confidence of each value, too.

    Attributes:
        finished: the records in the file, by source.

    Raises:
        ConfigurationError: the file holds records with other fields or kinds of values, or something else.
        OutputError: the file cannot be read or written.
    """

    def __init__(
        self,
        path: Path,
        fields: Sequence[Field],
        *,
        as_csv: bool = False,
        restart: bool = False,
        confidence: bool = False,
    ) -> None:
        self.path, self._fields = path, tuple(fields)
        self._form = CSV(fields, confidence=confidence) if as_csv else JSONLines(fields)
        self._has_confidence = confidence
        self.finished: dict[str, Record] = {}
        with storage(self.path, self.finished):
            with path.open("ab"):
                pass  # a file that cannot be written is an error before the first document is read
            if not restart:
                self._continue()
        self._is_to_clear, self._has_begun = restart, bool(self.finished)

    def _continue(self) -> None:
        """Read the records of an earlier run; a line that was cut off when it died is removed."""
        data = self.path.read_bytes() if self.path.is_file() else b""
        complete = data[: self._form.length(data)]
        try:
            records = self._form.read(complete.decode("utf-8-sig"))
        except ValueError:
            raise (self._other_model(complete) or self._wrong_content()) from None
        for record in records:
            for field in self._fields:
                value = record["fields"][field.name]["value"]
                if not is_value_of(field, value):
                    text = json.dumps(value, ensure_ascii=False)
                    text = text if len(text) <= 60 else text[:59] + "…"
                    raise ConfigurationError(
                        f"{self.path} was begun with other fields: there {field.name!r} is {text}, which is no value "
                        f"of {kind_text(field)}; give another --output, or --restart"
                    )
        self.finished = {record["source"]: record for record in records}
        beginning = self._form.beginning.encode()
        is_torn_start = data.startswith(beginning) or beginning.startswith(data)  # the earlier run died at once
        if not records and not is_torn_start:
            raise self._wrong_content()
        if len(complete) < len(data):
            os.truncate(self.path, len(complete))

    def _wrong_content(self) -> ConfigurationError:
        return ConfigurationError(
            f"{self.path} holds something other than records of these fields; give another --output, or --restart"
        )

    def _other_model(self, complete: bytes) -> ConfigurationError | None:
        """Return the error of a table of these fields whose columns differ by the confidence alone."""
        other = b""
        if isinstance(self._form, CSV):
            with suppress(FieldsError):  # a field may be named as one of those columns
                other = CSV(self._fields, confidence=not self._has_confidence).header.encode()
        if not other or not complete.removeprefix(BOM_UTF8).startswith(other):
            return None
        begun, now = ("has no", "tells") if self._has_confidence else ("has", "does not tell")
        return ConfigurationError(
            f"{self.path} {begun} columns for the confidence of values, which this model {now}: take the model with "
            "which it was begun, or give another --output, a ….jsonl, or --restart"
        )

    def append(self, record: Record) -> None:
        """Write one record, completely or not at all."""
        with storage(self.path, self.finished):
            if self._is_to_clear:
                self.path.write_bytes(b"")
                self._is_to_clear = False
            before = self.path.stat().st_size
            header = "" if self._has_begun or before else self._form.header
            try:
                with self.path.open("ab") as file:
                    file.write((header + self._form.write(record)).encode("utf-8", "replace"))
            except OSError:
                with suppress(OSError):  # a device has no length
                    os.truncate(self.path, before)
                raise
            self._has_begun = True
        self.finished[record["source"]] = record

    def finish(self) -> None:
        """Write what is written at the end; of a file that is appended to nothing."""


@contextmanager
def storage(path: Path, finished: Mapping[str, Record]) -> Generator[None]:
    """Turn errors of a file of records into `OutputError`."""
    try:
        yield
    except OSError as error:
        kept = "; the finished records in it are kept" if finished else ""
        raise OutputError(f"cannot write {path}: {advice_for(error, path)}{kept}") from None


def advice_for(error: OSError, path: Path, option: str = "--output") -> str:
    """Say what is wrong with the path of an option, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no space is left there; free some, then run the same command again"
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not path.parent.is_dir():
        return f"there is no folder {path.parent}; make it, or give another {option}"
    if error.errno == errno.EISDIR:
        return "it is a folder; name a file in it"
    return f"{error.strerror}; give another {option}"
