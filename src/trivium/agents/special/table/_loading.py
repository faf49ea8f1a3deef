"""Tables from files, frames and rows into DuckDB; here it reads files, which queries later cannot."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, cast

from trivium.agents.special.table._creating import create, duckdb_error, names_of, quoted, reserved, text_of
from trivium.agents.special.table._text_files import load_text_file
from trivium.exceptions import (
    ConfigurationError,
    DocumentNotFoundError,
    EmptyDocumentError,
    MissingExtraError,
    UnreadableDocumentError,
)  # fmt: skip

__all__ = ["load", "name_of"]

_TEXT: Final = (".csv", ".tsv", ".txt", ".psv")
_EXCEL: Final = (".xlsx", ".xlsm")
_NULL: Final = "\\N"
_TYPES: Final[Mapping[type, str]] = {
    bool: "BOOLEAN", float: "DOUBLE", Decimal: "DOUBLE", datetime.datetime: "TIMESTAMP",
    datetime.date: "DATE", datetime.time: "TIME",
}  # fmt: skip
_WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "DOUBLE": ("HUGEINT", "BIGINT"),
    "HUGEINT": ("BIGINT",),
    "TIMESTAMP": ("DATE",),
}
_BIG, _HUGE = 1 << 63, 1 << 127


def name_of(source: Any) -> str:
    """A table's name, made of that of its file."""
    return names_of([Path(source).stem if isinstance(source, str | Path) else "data"])[0]


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
    if isinstance(source, Mapping) and all(
        isinstance(each, Sized) for each in cast("Mapping[str, Any]", source).values()
    ):
        columns = cast("Mapping[str, Sequence[Any]]", source)
        lengths = {header: len(values) for header, values in columns.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{header!r} has {length}" for header, length in lengths.items())
            raise ConfigurationError(f"the columns are not of one length: {told}")
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
    try:
        if kind == ".parquet":
            return _load_parquet(database, name, file, folder)
        return load_text_file(database, name, file, folder, options.get("encoding") or "")
    except duckdb_error() as error:
        said = str(error).replace(str(folder / f"source{file.suffix}"), file.name).splitlines()
        advice = "it is damaged, or no table"
        if "utf-8" in str(error).lower() or "unicode" in str(error).lower():
            advice = "it is not UTF-8: give encoding='latin-1', or save it as UTF-8"
        raise UnreadableDocumentError(f"{file} cannot be read ({said[0]}): {advice}", str(file)) from None


def _load_parquet(database: Any, name: str, file: Path, folder: Path) -> dict[str, str]:
    link = folder / "source.parquet"  # its own name may hold what DuckDB reads as a pattern
    link.symlink_to(file.resolve())
    try:
        return create(database, name, f"read_parquet({text_of(link)})")
    finally:
        link.unlink()


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
        return create(database, name, "frame_")
    except duckdb_error() as error:
        raise ConfigurationError(f"the frame cannot be read as a table: {error}") from None
    finally:
        database.unregister("frame_")


def _load_rows(
    database: Any, name: str, headers: Sequence[Any], rows: Iterable[Sequence[Any]], folder: Path
) -> dict[str, str]:
    """A table of Python's own values, by way of a file, so that any number takes no memory."""
    if not headers:
        raise EmptyDocumentError("there are no columns: a table has one at least")
    names = names_of(headers, reserved(database))
    kinds: list[set[str]] = [set() for _ in names]
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        for row in rows:
            cells = (*row, *[None] * len(names))[: len(names)]
            for header, kind, value in zip(headers, kinds, cells, strict=True):
                if value is not None:
                    kind.add(_kind_of(value, header))
            file.write(",".join(map(_cell, cells)) + "\r\n")
    columns = ", ".join(f"'{each}': '{_type_of(kind)}'" for each, kind in zip(names, kinds, strict=True))
    made = f"read_csv({text_of(path)}, columns = {{{columns}}}, header = false, auto_detect = false"
    try:
        read = (
            f"{made}, delim = ',', quote = '\"', nullstr = '{_NULL}', allow_quoted_nulls = false, new_line = '\\r\\n')"
        )
        database.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM {read}")  # noqa: S608 - names are made above
    except duckdb_error() as error:
        raise ConfigurationError(f"the rows cannot be read as a table: {str(error).splitlines()[0]}") from None
    finally:
        os.unlink(path)
    return dict(zip(names, (str("" if each is None else each) for each in headers), strict=True))


def _kind_of(value: Any, header: Any) -> str:
    """The type of a column of such values."""
    kind = cast("type[Any]", type(value))
    if kind is not int:
        return _TYPES.get(kind, "VARCHAR")
    if not -_HUGE < value < _HUGE:
        raise ConfigurationError(
            f"the column {header!r} has {str(value)[:60]}, which DuckDB cannot hold: give it as a float or as text"
        )
    return "BIGINT" if -_BIG <= value < _BIG else "HUGEINT"


def _type_of(kinds: set[str]) -> str:
    """The type of a column whose values are of these."""
    for type_, others in _WIDER.items():
        if type_ in kinds and kinds <= {type_, *others}:
            return type_
    return kinds.pop() if len(kinds) == 1 else "VARCHAR"


def _cell(value: Any) -> str:
    """A value as the file on the way has it: only what is not NULL stands in quotes."""
    if value is None:
        return _NULL
    text = value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
    return '"' + text.replace("\0", "").replace('"', '""') + '"'
