"""Tables from files, frames and rows into DuckDB; here it reads files, which queries later cannot."""

from __future__ import annotations

import csv
import datetime
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from trivium.exceptions import (
    ConfigurationError,
    DocumentNotFoundError,
    EmptyDocumentError,
    MissingExtraError,
    UnreadableDocumentError,
)  # fmt: skip

__all__ = ["load", "name_of", "names_of"]

_TEXT: Final = (".csv", ".tsv", ".txt", ".psv")
_EXCEL: Final = (".xlsx", ".xlsm")
_NULL: Final = "\\N"
_TYPES: Final[Mapping[type, str]] = {
    bool: "BOOLEAN", int: "HUGEINT", float: "DOUBLE", Decimal: "DOUBLE", datetime.datetime: "TIMESTAMP",
    datetime.date: "DATE", datetime.time: "TIME",
}  # fmt: skip
_MARKS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def name_of(source: Any) -> str:
    """A table's name, made of that of its file."""
    return names_of([Path(source).stem if isinstance(source, str | Path) else "data"])[0]


def names_of(headers: Iterable[Any], reserved: Iterable[str] = ()) -> list[str]:
    """Names that need no quotes, one for each header, no two alike.

    Example:
        >>> names_of(["Unit Price ($)", "", "Größe", "2024", "unit price", None])
        ['unit_price', 'column_2', 'größe', 'c_2024', 'unit_price_2', 'column_6']
    """
    found: list[str] = []
    taken = set(reserved)
    for at, header in enumerate(headers, 1):
        plain = re.sub(r"\W+", "_", str("" if header is None else header).strip().lower()).strip("_")
        name = plain or f"column_{at}"
        name = f"c_{name}" if name[0].isdigit() else name
        made = next(each for each in chain([name], (f"{name}_{n}" for n in range(2, 10**6))) if each not in taken)
        taken.add(made)
        found.append(made)
    return found


def load(database: Any, name: str, source: Any, folder: Path, options: Mapping[str, Any]) -> dict[str, str]:
    """Make a table of a source.

    Args:
        database: a DuckDB connection that may read files.
        name: the table's name.
        source: a file's path, a frame, rows as mappings, or columns by name.
        folder: for files on the way.
        options: `encoding` and `sheet`.

    Returns:
        The headers of the source by the names of the columns.

    Raises:
        DocumentError: the file is not there, is empty, or cannot be read as a table.
        ConfigurationError: the source is of no kind that is known.
    """
    kind = type(source).__name__
    if isinstance(source, str | Path):
        return _load_file(database, name, Path(source).expanduser(), folder, options)
    if hasattr(source, "__arrow_c_stream__") or kind in ("DataFrame", "LazyFrame"):
        return _load_frame(database, name, source)
    if isinstance(source, Mapping):
        columns = cast("Mapping[str, Sequence[Any]]", source)
        rows: Iterable[Sequence[Any]] = zip(*columns.values(), strict=True)
        return _load_rows(database, name, list(columns), rows, folder)
    if isinstance(source, Iterable):
        given = list(cast("Iterable[Any]", source))
        if all(isinstance(each, Mapping) for each in given):
            headers = list(dict.fromkeys(key for row in given for key in row))
            return _load_rows(database, name, headers, ([row.get(key) for key in headers] for row in given), folder)
    raise ConfigurationError(f"{kind} is no table: give a file's path, a frame, a list of dicts, or a dict of columns")


# ---- files
def _load_file(database: Any, name: str, file: Path, folder: Path, options: Mapping[str, Any]) -> dict[str, str]:
    if not file.is_file():
        raise DocumentNotFoundError(f"there is no file {file}", str(file))
    if file.stat().st_size == 0:
        raise EmptyDocumentError(f"{file} is empty: a table has a line of headers at least", str(file))
    kind = file.suffix.lower()
    if kind in _EXCEL:
        return _load_excel(database, name, file, folder, options.get("sheet"))
    if kind not in (*_TEXT, ".parquet"):
        known = ", ".join((*_TEXT, *_EXCEL, ".parquet"))
        raise UnreadableDocumentError(f"{file} is of no kind that is read as a table: {known} are", str(file))
    link = folder / f"source{kind}"  # its own name may hold what DuckDB reads as a pattern
    link.symlink_to(file.resolve())
    try:
        if kind == ".parquet":
            return _create(database, name, f"read_parquet({_text_of(link)})")
        return _load_csv(database, name, link, file, options.get("encoding") or "")
    except _duckdb_error() as error:
        said = str(error).replace(str(link), file.name).splitlines()
        advice = "it is damaged, or no table"
        if "utf-8" in str(error).lower() or "unicode" in str(error).lower():
            advice = "it is not UTF-8: give encoding='latin-1', or save it as UTF-8"
        raise UnreadableDocumentError(f"{file} cannot be read ({said[0]}): {advice}", str(file)) from None
    finally:
        link.unlink()


def _load_csv(database: Any, name: str, link: Path, file: Path, encoding: str) -> dict[str, str]:
    with file.open("rb") as opened:
        start = opened.read(4096)
    if b"\0" in start and not encoding and not start.startswith(tuple(mark for mark, _ in _MARKS)):
        raise UnreadableDocumentError(f"{file} is not text", str(file))
    encoding = encoding or next((each for mark, each in _MARKS if start.startswith(mark)), "utf-8")
    if not re.fullmatch(r"[\w-]+", encoding):
        raise ConfigurationError(f"{encoding!r} is no encoding")
    read = f"read_csv({_text_of(link)}, header = true, encoding = '{encoding}'"
    try:
        return _create(database, name, f"{read})")
    except _duckdb_error("ConversionException", "InvalidInputException"):  # what comes later is of another type
        database.execute(f'DROP TABLE IF EXISTS "{name}"')
        return _create(database, name, f"{read}, sample_size = -1)")


def _create(database: Any, name: str, source: str) -> dict[str, str]:
    """A table of what DuckDB reads from a source, with names that need no quotes."""
    headers = [str(row[0]) for row in database.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]  # noqa: S608
    names = names_of(headers, _reserved(database))
    chosen = ", ".join(f"{_quoted(header)} AS {_quoted(made)}" for header, made in zip(headers, names, strict=True))
    database.execute(f"CREATE TABLE {_quoted(name)} AS SELECT {chosen} FROM {source}")  # noqa: S608 - all quoted
    return dict(zip(names, headers, strict=True))


def _load_excel(database: Any, name: str, file: Path, folder: Path, sheet: str | None) -> dict[str, str]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtraError("openpyxl", "table") from None
    try:
        book: Any = load_workbook(file, read_only=True, data_only=True)
    except Exception as error:  # whatever a damaged file brings up
        raise UnreadableDocumentError(
            f"{file} cannot be read ({error}): it is damaged, or no Excel file", str(file)
        ) from None
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise ConfigurationError(f"{file.name} has no sheet {sheet!r}; it has {', '.join(book.sheetnames)}")
        rows: Iterator[tuple[Any, ...]] = iter(
            (book[sheet] if sheet else book.worksheets[0]).iter_rows(values_only=True)
        )
        headers = next((row for row in rows if any(cell is not None for cell in row)), None)
        if headers is None:
            raise EmptyDocumentError(f"{file} has an empty sheet: a table has a line of headers at least", str(file))
        filled = (row for row in rows if any(cell is not None for cell in row))
        return _load_rows(database, name, list(headers), filled, folder)
    finally:
        book.close()


# ---- frames and rows
def _load_frame(database: Any, name: str, frame: Any) -> dict[str, str]:
    try:
        database.register("frame_", frame.collect() if type(frame).__name__ == "LazyFrame" else frame)
        return _create(database, name, "frame_")
    except _duckdb_error() as error:
        raise ConfigurationError(f"the frame cannot be read as a table: {error}") from None
    finally:
        database.unregister("frame_")


def _load_rows(
    database: Any, name: str, headers: Sequence[Any], rows: Iterable[Sequence[Any]], folder: Path
) -> dict[str, str]:
    """A table of Python's own values, by way of a file, so that any number takes no memory."""
    if not headers:
        raise EmptyDocumentError("there are no columns: a table has one at least")
    names = names_of(headers, _reserved(database))
    kinds: list[set[Any]] = [set() for _ in names]
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        for row in rows:
            for kind, value in zip(kinds, row, strict=False):
                kind.add(type(value))
            writer.writerow(
                [_NULL if each is None else _text(each) for each in (*row, *[None] * len(names))[: len(names)]]
            )
    columns = ", ".join(f"'{each}': '{_type_of(kind)}'" for each, kind in zip(names, kinds, strict=True))
    made = f"read_csv({_text_of(path)}, columns = {{{columns}}}, header = false, auto_detect = false"
    try:
        read = (
            f"{made}, delim = ',', quote = '\"', nullstr = '{_NULL}', allow_quoted_nulls = true, new_line = '\\r\\n')"
        )
        database.execute(f"CREATE TABLE {_quoted(name)} AS SELECT * FROM {read}")  # noqa: S608 - names are made above
    except _duckdb_error() as error:
        raise ConfigurationError(f"the rows cannot be read as a table: {str(error).splitlines()[0]}") from None
    finally:
        os.unlink(path)
    return dict(zip(names, (str("" if each is None else each) for each in headers), strict=True))


def _type_of(kinds: set[Any]) -> str:
    known = {_TYPES.get(each, "VARCHAR") for each in kinds - {type(None)}}
    if known == {"HUGEINT", "DOUBLE"}:
        return "DOUBLE"
    if known == {"DATE", "TIMESTAMP"}:
        return "TIMESTAMP"
    kind = known.pop() if len(known) == 1 else "VARCHAR"
    return "BIGINT" if kind == "HUGEINT" else kind


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.replace("\0", "")
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


def _reserved(database: Any) -> list[str]:
    return [
        row[0]
        for row in database.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category != 'unreserved'"
        ).fetchall()
    ]


def _text_of(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _duckdb_error(*names: str) -> Any:
    import duckdb

    return tuple(cast("type[Exception]", getattr(duckdb, each)) for each in names) or duckdb.Error
