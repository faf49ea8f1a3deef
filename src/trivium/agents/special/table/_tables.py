"""Tables that can only be read: in a DuckDB file of their own, beyond which no query can reach."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, cast
from weakref import finalize

from trivium.agents.special.sql._guard import check_query
from trivium.agents.special.sql._rows import Rows
from trivium.agents.special.sql._schema import Column, Table
from trivium.agents.special.table._creating import plain_names, sql_text
from trivium.agents.special.table._limits import TableLimits
from trivium.agents.special.table._loading import Loader, is_frame, load_frames, table_name
from trivium.agents.special.table._process import OWN, DuckDBProcess
from trivium.exceptions import ConfigurationError, MissingExtraError, QueryError, QueryTimeoutError, QueryTooLargeError
from trivium.schema.lowlevel import checked

_SETTINGS: Final = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",  # a query names no variable of the program
    "SET temp_directory = ''",
    "SET threads = 2",
    "SET async_threads = 0",  # with them a statement that fails may wait for ever, and what is read ahead takes memory
    "SET read_ahead_depth = 0",
    "SET enable_progress_bar = false",  # it would be printed
    "SET enable_progress_bar_print = false",
)
_LOADING: Final = (
    "SET threads = 1",  # of two, the one ahead keeps rows until the other has written those before them
    "SET write_buffer_row_group_count = 1",
)
_LEAVING: Final = ("USE memory", "DETACH tables")  # it writes what is not in the file yet
_IN_SMALL_PARTS: Final = "BLOCK_SIZE 16384, ROW_GROUP_SIZE 8192"
"""Each column of a table that is made has its own memory: an eighth of a gigabyte for 500 of them otherwise."""
_LOCKS: Final = ("SET enable_external_access = false", "SET lock_configuration = true")
_EXAMPLES: Final = 3


class ReadOnlyTables:
    """Answers queries from tables of a program: CSV, Excel and Parquet files, frames, rows.

    The tables are copied once into a DuckDB file in a temporary folder, so that they may be larger than the memory.
    Queries see only that copy: `check_query` refuses queries that do more than read; behind it the copy is opened for
    reading, DuckDB may use no file, no network and no extension, and its settings are locked. It runs in a process of
    its own, which may use a quarter of a gigabyte more than `memory` (enforced on Linux), and which is ended if a query
    runs a second longer than its time.

    Headers become names that need no quotes: "Unit Price ($)" is `unit_price`, and "When" is `c_when`, since SQL has
    that word. Missing values of a row of a text file are NULL; a row with too many is an error that names its line. Of
    an Excel file the first sheet is read, or `sheet`; a title above its headers is left out: up to three rows with one
    text each. Dates of a text file whose day may as well be the month stay text, unless another column settles it; so
    do numbers such as 2.500 where semicolons or dates with dots let them be 2500, and no other column tells.

    Args:
        data: a file (.csv, .tsv, .parquet, .xlsx), a frame of pandas, polars or pyarrow, a list of dicts, a dict of
            columns; or, for several tables, `{"name": …}` with such values, or a list of files.
        encoding: of text files, as Python names it; "" is UTF-8, or UTF-16 if they begin with its mark.
        sheet: the sheet of Excel files, or a part of one with several tables, as "Sales!A12:C40"; None: the first.
        max_rows: the most rows of an answer.
        timeout: seconds for a query.
        memory: the most bytes that a query may use.
        limits: what loading each table may take; default `TableLimits()`.

    Raises:
        DocumentError: a file is missing, is empty, reaches a limit, or cannot be read as a table.
        ConfigurationError: the data are of an unknown kind.
        MissingExtraError: DuckDB is not installed.

    Example:
        >>> sales = ReadOnlyTables([{"Item": "pen", "Price": 2.5}, {"Item": "ink", "Price": 4.0}])
        >>> sales.query("SELECT max(price) FROM data").rows
        [(4.0,)]
        >>> sales.close()
    """

    @checked
    def __init__(
        self,
        data: object,
        *,
        encoding: str = "",
        sheet: str | None = None,
        max_rows: int = 50,
        timeout: float = 30.0,
        memory: int = 1 << 30,
        limits: TableLimits | None = None,
    ) -> None:
        if max_rows < 1 or not 0 < timeout < float("inf") or memory < 1 << 26:
            raise ConfigurationError("max_rows is at least 1, timeout more than 0 seconds, memory at least 64 MiB")
        try:
            import_module("duckdb")  # its process starts only later
        except ImportError:
            raise MissingExtraError("duckdb", "table") from None
        self.max_rows, self._timeout, self._memory = max_rows, timeout, memory
        self._sources, limits = _sources_of(data), limits or TableLimits()
        settings = (*_SETTINGS, f"SET memory_limit = '{memory}B'")
        folder = Path(tempfile.mkdtemp(prefix="trivium-tables-"))
        file, late = folder / "tables.duckdb", f"SET max_execution_time = {max(1, round(timeout * 1000))}"
        limit = f"SET max_execution_time = {max(1, round(limits.seconds * 1000))}"
        attach = f"ATTACH {sql_text(file)} AS tables ({_IN_SMALL_PARTS})"
        loading = (*settings, limit, *_LOADING, attach, "USE tables")
        self._process = DuckDBProcess(None, loading, memory, limits.seconds, folder)
        self._close = finalize(self, _remove, self._process, folder)
        try:
            frames = {name: source for name, source in self._sources.items() if is_frame(source)}
            self._headers = load_frames(frames, loading) if frames else {}
            loader = Loader(self._process, folder, encoding, sheet, limits, memory)
            others = {name: source for name, source in self._sources.items() if name not in frames}
            self._headers |= {name: loader.load(name, source) for name, source in others.items()}
            for statement in _LEAVING if others else ():
                self._process.execute(statement)
            self._process.reopen(file, (*settings, late, *_LOCKS), memory, timeout)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"ReadOnlyTables({', '.join(self._sources)})"

    def close(self) -> None:
        """Delete the copy; without this, it is deleted with the object."""
        self._close()

    def query(self, sql: str, *, max_rows: int | None = None) -> Rows:
        """Run a query and return its rows.

        Args:
            sql: the query, in DuckDB's dialect.
            max_rows: fewer rows than an answer has otherwise; None: `max_rows` of the object.

        Raises:
            QueryRefusedError: it is not a query that only reads.
            QueryTimeoutError: it took too long, and was stopped.
            QueryTooLargeError: it took too much memory, and was stopped.
            QueryError: DuckDB does not run it; the text is DuckDB's.
        """
        rows = self.max_rows if max_rows is None else min(max_rows, self.max_rows)
        return self._run(check_query(sql, "duckdb", tables=self._sources, max_rows=rows + 1), rows)

    def _run(self, sql: str, rows: int) -> Rows:
        """Run this text unchanged: here the second line of defence is alone."""
        kind, *details = self._process.query(sql, rows + 1)
        if kind == "late":
            text = f"it took longer than {self._timeout:g} seconds and was stopped: read fewer rows, or raise timeout=…"
            raise QueryTimeoutError(text, repr(self), sql, self._timeout)
        if kind != "rows":
            text, error = details
            said = text if error == OWN else f"the database says: {' '.join(text.split())}"
            if kind == "large":
                raise QueryTooLargeError(f"{said}; or raise memory=…", repr(self), sql, "memory", self._memory)
            raise QueryError(said, repr(self), sql)
        names, found = details
        return Rows(tuple(names), [tuple(row) for row in found[:rows]], len(found) > rows)

    def tables(self) -> list[Table]:
        """Return the tables with their columns; a column's comment has its header and some values."""
        return [self._table(name) for name in self._sources]

    def _table(self, name: str) -> Table:
        first = self._run(f'SELECT * FROM "{name}" LIMIT {_EXAMPLES}', _EXAMPLES)  # noqa: S608 - a name of our own
        kinds = {row[0]: str(row[1]) for row in self._run(f'DESCRIBE "{name}"', 10**6).rows}
        query = f"SELECT column_name, comment FROM duckdb_columns() WHERE table_name = {sql_text(name)}"  # noqa: S608
        said = {row[0]: row[1] or "" for row in self._run(query, 10**6).rows}
        columns = [
            Column(column, kinds[column], comment=self._about(name, column, [row[at] for row in first.rows], said))
            for at, column in enumerate(first.columns)
        ]
        rows = self._run(f'SELECT count(*) FROM "{name}"', 1).rows[0][0]  # noqa: S608 - a name of our own
        return Table(name, "", tuple(columns), f"{rows} rows")

    def _about(self, table: str, column: str, values: list[object], said: Mapping[str, str]) -> str:
        header = self._headers[table].get(column, "")
        examples = list(dict.fromkeys(str(each)[:30] for each in values if each is not None))
        parts = [f'"{header}"' if header not in ("", column) else "", f"as {', '.join(examples)}" if examples else ""]
        parts.append(said.get(column, ""))
        return "; ".join(filter(None, parts))


def _sources_of(data: object) -> dict[str, object]:
    """Return the tables' sources by name."""
    if isinstance(data, Mapping):
        given = cast("Mapping[str, object]", data)
        if not given:
            raise ConfigurationError("there is no table: give a file, a frame or rows")
        if not any(map(_is_source, given.values())):
            return {"data": given}
        return dict(zip(plain_names(given), given.values(), strict=True))
    only = {table_name(data): data}
    files = list(cast("Sequence[object]", data)) if isinstance(data, list | tuple) else []
    stems = [Path(each).stem for each in files if isinstance(each, str | Path)]
    if files and len(stems) == len(files):
        return dict(zip(plain_names(stems), files, strict=True))
    return only


def _is_source(value: object) -> bool:
    """Test whether a value of a mapping is a table's source, and not a column: a sequence, or an array of numpy."""
    if isinstance(value, str | bytes | bytearray | memoryview) or is_frame(value):
        return True
    if type(value).__module__ != "numpy" and not isinstance(value, Sequence):
        return True
    return any(isinstance(each, Mapping) for each in cast("Sequence[object]", value))


def _remove(process: DuckDBProcess, folder: Path) -> None:
    process.close()
    shutil.rmtree(folder, ignore_errors=True)
