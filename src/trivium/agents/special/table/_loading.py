"""Tables from files, frames and rows into DuckDB; only here DuckDB reads files, which queries later cannot."""

from __future__ import annotations

import datetime
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import closing, contextmanager
from contextvars import copy_context
from decimal import Decimal
from functools import partial
from gc import get_referents
from itertools import chain, dropwhile, islice
from pathlib import Path
from queue import SimpleQueue
from sys import getsizeof
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any, Final, NamedTuple, cast

from trivium.agents.special.table._creating import (
    create_table,
    plain_names,
    sql_name,
    sql_text,
)
from trivium.agents.special.table._limits import TableLimits
from trivium.agents.special.table._process import DuckDBProcess, unpack
from trivium.agents.special.table._python_columns import NULL, UNSAVED, PythonColumn
from trivium.agents.special.table._text_files import load_text_file
from trivium.commander.lowlevel import Outcome, ThreadEvent, capture, get_item, submit, value_or_raise
from trivium.exceptions import (
    ConfigurationError,
    DocumentNotFoundError,
    DocumentTimeoutError,
    DocumentTooLargeError,
    EmptyDocumentError,
    UnreadableDocumentError,
)  # fmt: skip
from trivium.parsing.lowlevel import SheetOrder, sheet_rows

_TEXT: Final = (".csv", ".tsv", ".txt", ".psv")
_EXCEL: Final = (".xlsx", ".xlsm")
_HEAD_ROWS: Final = 20  # of a sheet, in which its headers stand
_TITLE_ROWS: Final = 3
_CONTAINERS: Final = (list, tuple, set, frozenset, deque)
_ATOMS: Final = (str, bytes, bytearray, int, float, NoneType, Decimal, datetime.date, datetime.time)
_CODE: Final = (type, ModuleType, FunctionType, MethodType, BuiltinFunctionType, CodeType)


def table_name(source: object) -> str:
    """Return the name of a source's table: from the name of its file, else "data"."""
    return plain_names([Path(source).stem if isinstance(source, str | Path) else "data"])[0]


def _value(cell: object) -> object:
    if cell == UNSAVED:
        return UNSAVED
    return unpack(cast("dict[str, Any]", cell)) if isinstance(cell, dict) else cell


def _is_filled(cell: object) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else cell is not None


def _width(row: Sequence[object]) -> int:
    """Return the number of cells up to the last that has a value and is not blank."""
    return next((at for at in range(len(row), 0, -1) if _is_filled(row[at - 1]) and row[at - 1] != UNSAVED), 0)


def title_rows(rows: Sequence[tuple[int, Sequence[object]]]) -> int:
    """Return how many of the first rows of a sheet are a title; 0 unless they can hardly be anything else.

    A title has at most three rows with one cell each, in the first column of the sheet, no numbers. Headers and values
    follow, with two cells or more; the headers are texts, or the first of them is and an empty row stands above it.

    Args:
        rows: the first rows that are not empty, with their numbers.

    Example:
        >>> title_rows([(1, ["Report"]), (3, ["Name", "City"]), (4, ["Ada", "Oslo"])])
        1
    """
    filled = [[at for at, cell in enumerate(row) if _is_filled(cell)] for _, row in rows]
    count = next((at for at, cells in enumerate(filled) if len(cells) > 1), 0)
    first = min((cells[0] for cells in filled if cells), default=0)
    titles = [(row, cells) for (_, row), cells in zip(rows[:count], filled[:count], strict=True) if cells]
    is_block = all(cells == [first] and isinstance(row[first], str | dict) for row, cells in titles)
    has_rows = any(len(cells) > 1 for cells in filled[count + 1 :])
    if not (is_block and has_rows and len(titles) <= _TITLE_ROWS and count):
        return 0
    texts = [isinstance(rows[count][1][at], str) for at in filled[count]]
    is_apart = rows[count][0] > rows[count - 1][0] + 1 or not filled[count - 1]
    return count if all(texts) or (is_apart and texts[0]) else 0


def _fitting(rows: Iterable[tuple[int, Sequence[object]]], width: int, file: Path) -> Iterator[list[object]]:
    """Return rows of a sheet, none of which is wider than its headers."""
    for number, row in rows:
        if (found := _width(row)) > width:
            raise UnreadableDocumentError(
                f"{file}: row {number} has {found} values, and there are {width} headers: give each column a header, "
                "or clear the cells beyond them",
                str(file),
            )
        if any(cell is not None for cell in row[:width]):
            yield list(map(_value, row[:width]))


def memory_of(row: object, most: int, known: set[int]) -> int:
    """Return about how many bytes a row takes, with all that it refers to; counting ends above the most.

    What stands in it several times counts each time, as in the text that is made of it; only names of columns and what
    objects of other classes refer to count once.

    Args:
        row: the row.
        most: the most bytes that it may take.
        known: the ids of what counts once and was counted; those of this row are added.
    """
    size, waiting = 0, [row]
    while waiting and size <= most:
        value = waiting.pop()
        size += max(getsizeof(value), value.nbytes if hasattr(value, "nbytes") else 0)  # type: ignore[attr-defined] - numpy's
        if isinstance(value, Mapping):
            named = cast("Mapping[object, object]", value)
            waiting += named.values()
            waiting += (each for each in named if id(each) not in known)
            known.update(map(id, named))
        elif isinstance(value, Iterable) and isinstance(value, _CONTAINERS):
            waiting += cast("Iterable[object]", value)
        elif not isinstance(value, _ATOMS):
            parts = [each for each in get_referents(value) if id(each) not in known and not isinstance(each, _CODE)]
            known.update(map(id, parts))
            waiting += parts
    return size


def _too_many(what: str, limit: str, most: int) -> DocumentTooLargeError:
    advice = {"columns": "give some", "line_bytes": "shorten it"}.get(limit, "give them as a file or a list")
    text = f"the {what} {most:,}; {advice}, or raise TableLimits({limit}=…)"
    return DocumentTooLargeError(text, "", limit, most)


def _too_demanding(source: object, option: str, most: int) -> DocumentTooLargeError:
    text = f"{source}: making a table of it takes more memory than it may; give a part of it, or raise {option}"
    return DocumentTooLargeError(text, str(source), "memory", most)


_VECTOR: Final = 2048
"""The values of a column that DuckDB holds at once."""


def is_frame(source: object) -> bool:
    """Test whether a source is a frame of pandas, polars or pyarrow."""
    return hasattr(source, "__arrow_c_stream__") or type(source).__name__ in ("DataFrame", "LazyFrame")


def load_frames(frames: Mapping[str, Any], settings: Sequence[str]) -> dict[str, dict[str, str]]:
    """Make tables of frames, which are in the memory of this process.

    Args:
        frames: the frames by the names of the tables.
        settings: statements that DuckDB runs first.

    Returns:
        For each table the headers of the frame by the names of the columns.

    Raises:
        ConfigurationError: a frame cannot be read.
    """
    import duckdb

    with duckdb.connect(config={"threads": 1, "async_threads": 0}) as database:

        def execute(sql: str) -> list[Any]:
            return database.execute(sql).fetchall()

        for statement in settings:
            database.execute(statement)
        made = dict[str, dict[str, str]]()
        for name, frame in frames.items():
            try:
                database.register("frame_", frame.collect() if type(frame).__name__ == "LazyFrame" else frame)
                made[name] = create_table(execute, name, "frame_")
            except duckdb.Error as error:
                raise ConfigurationError(f"the frame cannot be read as a table: {error}") from None
        return made


class Loader(NamedTuple):
    """Makes tables of files and rows.

    Args:
        database: DuckDB in a process of its own, which may read files.
        folder: a folder for temporary files.
        encoding: the encoding of text files; "" is UTF-8, or UTF-16 if the file begins with its mark.
        sheet: the sheet of Excel files, or a part of it; None: the first.
        limits: what loading may take.
        memory: bytes that DuckDB may use.
    """

    database: DuckDBProcess
    folder: Path
    encoding: str
    sheet: str | None
    limits: TableLimits
    memory: int

    def load(self, name: str, source: Any) -> dict[str, str]:
        """Make a table of a source.

        Args:
            name: the table's name.
            source: a file's path, rows as mappings, or columns by name.

        Returns:
            The headers of the source by the names of the columns.

        Raises:
            DocumentError: the file is missing, is empty, reaches a limit, or cannot be read as a table.
            ConfigurationError: the source is of an unknown kind.
        """
        kind = type(source).__name__
        if isinstance(source, str | Path):
            return self.load_file(name, Path(source).expanduser())
        if isinstance(source, Mapping) and all(
            isinstance(each, Sized) for each in cast("Mapping[str, object]", source).values()
        ):
            columns = cast("Mapping[str, Sequence[object]]", source)
            lengths = {header: len(values) for header, values in columns.items()}
            if len(set(lengths.values())) > 1:
                listed = ", ".join(f"{header!r} has {length}" for header, length in lengths.items())
                raise ConfigurationError(f"the columns are not of one length: {listed}")
            return self._load_rows(name, list(columns), zip(*columns.values(), strict=True))
        if isinstance(source, Iterable):
            given = self.take_rows(cast("Iterable[object]", source))
            if all(isinstance(each, Mapping) for each in given):
                rows = cast("list[Mapping[object, object]]", given)
                headers = list(dict.fromkeys(key for row in rows for key in row))
                return self._load_rows(name, headers, ([row.get(key) for key in headers] for row in rows))
        raise ConfigurationError(
            f"{kind} is no table: give a file's path, a frame, a list of dicts, or a dict of columns"
        )

    def take_rows(self, source: Iterable[object]) -> list[object]:
        """Return the rows that an iterable gives; they are limited unless they are in memory already.

        A generator may block for ever before its next row, so a thread reads it, which is abandoned where time is over.
        """
        if isinstance(source, Sized):
            return list(source)
        inbox, is_late, seconds = SimpleQueue[Outcome[list[object]]](), ThreadEvent(), self.limits.seconds
        read = partial(capture, lambda: self._read_rows(source, is_late))
        submit(partial(copy_context().run, lambda: inbox.put(read())))
        try:
            rows, error = get_item(inbox, seconds)
        except TimeoutError:
            text = f"the rows take longer than {seconds:g} seconds; give them as a list, or raise "
            raise DocumentTimeoutError(f"{text}TableLimits(seconds=…)", "", "seconds", seconds) from None
        finally:
            is_late.set()
        if isinstance(error, Exception) and "thread" in str(error).lower():  # as sqlite3 says it of its cursors
            error.add_note("A thread reads the rows of a generator: give those that are bound to another as a list.")
        return value_or_raise((rows, error))

    def _read_rows(self, source: Iterable[object], is_late: ThreadEvent) -> list[object]:
        given, size, limits, known = list[object](), 0, self.limits, set[int]()
        for row in source:
            given.append(row)
            if isinstance(row, Mapping):
                self._check_width(cast("Mapping[object, object]", row))
            size += memory_of(cast("object", row), limits.given_bytes - size, known)
            if len(given) > limits.rows:
                raise _too_many("rows are more than", "rows", limits.rows)
            if size > limits.given_bytes:
                raise _too_many("rows take more bytes than", "given_bytes", limits.given_bytes)
            if is_late.is_set():
                break
        return given

    def _check_width(self, headers: Sized) -> None:
        if len(headers) > self.limits.columns:
            raise _too_many("columns are more than", "columns", self.limits.columns)

    def load_file(self, name: str, file: Path) -> dict[str, str]:
        """Make a table of a file, by its suffix."""
        import duckdb

        if file.is_dir():
            raise UnreadableDocumentError(
                f"{file} is a folder: name its files, as in data=['sales.csv', 'towns.csv']; each becomes a table",
                str(file),
            )
        if not file.is_file():
            raise DocumentNotFoundError(f"there is no file {file}", str(file))
        if file.stat().st_size == 0:
            raise EmptyDocumentError(f"{file} is empty: a table has a line of headers at least", str(file))
        suffix = file.suffix.lower()
        if suffix in _EXCEL:
            return self.load_excel(name, file)
        if suffix not in (*_TEXT, ".parquet"):
            known = ", ".join((*_TEXT, *_EXCEL, ".parquet"))
            raise UnreadableDocumentError(f"{file} cannot be read as a table: its suffix is none of {known}", str(file))
        link = self.folder / "source.parquet"  # the file's own name may hold characters of a pattern
        try:
            if suffix == ".parquet":
                link.symlink_to(file.resolve())
                return self._load_parquet(name, file, f"read_parquet({sql_text(link)})")
            with self.bounded(file):
                return load_text_file(self.database.execute, name, file, self.folder, self.encoding, self.limits)
        except duckdb.InterruptException:
            seconds = self.limits.seconds
            text = f"{file}: making a table of it takes longer than {seconds:g} seconds; give a part of it, or raise "
            raise DocumentTimeoutError(f"{text}TableLimits(seconds=…)", str(file), "seconds", seconds) from None
        except duckdb.OutOfMemoryException:
            raise _too_demanding(file, "memory=…", self.memory) from None
        except duckdb.Error as error:
            reason = str(error).replace(str(self.folder / f"source{file.suffix}"), file.name).splitlines()[0]
            advice = "it is damaged, or no table"
            if "utf-8" in str(error).lower() or "unicode" in str(error).lower():
                advice = "it is not UTF-8: give encoding='cp1252' (Western), or save it as UTF-8"
            raise UnreadableDocumentError(f"{file} cannot be read ({reason}): {advice}", str(file)) from None
        finally:
            link.unlink(missing_ok=True)

    def load_excel(self, name: str, file: Path) -> dict[str, str]:
        """Make a table of a sheet; its first row below a title holds the headers."""
        limits = self.limits
        order = SheetOrder(str(file), self.sheet, limits.columns, limits.unpacked_bytes, limits.memory, limits.seconds)
        with closing(sheet_rows(order)) as rows:
            filled = dropwhile(lambda row: not _width(row[1]), rows)
            head = list(islice(filled, _HEAD_ROWS))
            if not head:
                raise EmptyDocumentError(
                    f"{file} has an empty sheet: a table has a line of headers at least", str(file)
                )
            (_, headers), *below = head[title_rows(head) :]
            while headers and headers[-1] is None:
                headers.pop()
            return self._load_rows(
                name,
                [None if each == UNSAVED else _value(each) for each in headers],
                _fitting(chain(below, rows), len(headers), file),
            )

    def _load_parquet(self, name: str, file: Path, source: str) -> dict[str, str]:
        columns, most = self.database.execute(f"DESCRIBE FROM {source}"), self.limits.columns
        if len(columns) > most:
            text = f"{file}: it has more than {most:,} columns; give some, or raise TableLimits(columns=…)"
            raise DocumentTooLargeError(text, str(file), "columns", most)
        if not self._has_long_values(columns, source):
            return create_table(self.database.execute, name, source)
        with self.bounded(file):
            return create_table(self.database.execute, name, source)

    @contextmanager
    def bounded(self, source: object) -> Generator[None]:
        """Let DuckDB hold only what a table may take while it is made.

        Raises:
            DocumentTooLargeError: it takes more.
        """
        import duckdb

        most = self.limits.memory * 3 // 4
        self.database.limit_memory(min(most, self.memory))
        try:
            yield
            self.database.limit_memory(self.memory)
        except duckdb.OutOfMemoryException:
            if self.memory < most:
                raise _too_demanding(source, "memory=…", self.memory) from None
            raise _too_demanding(source, "TableLimits(memory=…)", self.limits.memory) from None

    def _has_long_values(self, columns: Sequence[Sequence[str]], source: str) -> bool:
        """Return whether a Parquet file may have values that take much memory: few of its bytes may unpack to them."""
        if any(kind == "BLOB" or kind.endswith("]") or kind.startswith(("STRUCT", "MAP")) for _, kind, *_ in columns):
            return True
        longest = [f"max(strlen({sql_name(column)}))" for column, kind, *_ in columns if kind == "VARCHAR"]
        query = f"SELECT count(*), {', '.join(longest) or 0} FROM {source}"  # noqa: S608 - made above
        rows, *lengths = next(iter(self.database.execute(query)), (0, 0))
        return sum(filter(None, lengths)) * min(rows, _VECTOR) > self.limits.memory // 4

    def _load_rows(self, name: str, headers: Sequence[object], rows: Iterable[Sequence[object]]) -> dict[str, str]:
        """Make a table of Python's own values by way of a file, so that any number of rows takes no memory."""
        import duckdb

        if not headers:
            raise EmptyDocumentError("there are no columns: a table has one at least")
        self._check_width(headers)
        names = plain_names(headers)
        columns = [PythonColumn(header) for header in headers]
        path, longest = self.folder / "rows.csv", self.limits.line_bytes
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            for row in rows:
                cells = (*row, *[None] * len(names))[: len(names)]
                written = [column.cell(value) for column, value in zip(columns, cells, strict=True)]
                if {*written} == {NULL} and any(each is UNSAVED for each in cells):
                    continue  # of formulas alone, as a row of totals below the table
                line = ",".join(written) + "\r\n"
                if len(line) > longest or len(line.encode(errors="replace")) > longest:
                    raise _too_many("rows have one that has, as text, more bytes than", "line_bytes", longest)
                file.write(line)
        types = ", ".join(f"'{each}': '{column.type}'" for each, column in zip(names, columns, strict=True))
        try:
            read = (
                f"read_csv({sql_text(path)}, columns = {{{types}}}, header = false, auto_detect = false, delim = ',', "
                f"quote = '\"', nullstr = '{NULL}', allow_quoted_nulls = false, new_line = '\\r\\n', "
                f"max_line_size = {longest}, buffer_size = {max(4 << 20, 2 * longest)})"
            )
            with self.bounded(f"the table {name}"):
                self.database.execute(f"CREATE TABLE {sql_name(name)} AS SELECT * FROM {read}")  # noqa: S608 - made above
            for each, comment in zip(names, (column.comment for column in columns), strict=True):
                if comment:
                    column = f"{sql_name(name)}.{sql_name(each)}"
                    self.database.execute(f"COMMENT ON COLUMN {column} IS {sql_text(comment)}")
        except duckdb.Error as error:
            raise ConfigurationError(f"the rows cannot be read as a table: {str(error).splitlines()[0]}") from None
        finally:
            os.unlink(path)
        return {each: column.header for each, column in zip(names, columns, strict=True)}
