"""Limits of loading tables."""

from __future__ import annotations

from dataclasses import dataclass

from trivium.schema.lowlevel import positive


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLimits:
    """The limits of loading one table. A file that reaches a limit is an error that names it.

    Args:
        columns: columns of a table.
        line_bytes: bytes of one line of a text file, of one value in quotes, and of one row of other data as text.
        unpacked_bytes: bytes of the XML in an Excel file.
        rows: rows that a generator may give; other rows are in memory already.
        given_bytes: bytes of memory that the rows of a generator may take.
        memory: bytes of data that the process that reads an Excel file may hold (enforced on Linux), and, less a
            quarter, that DuckDB may hold while it makes a table of a text file, of rows, or of a Parquet file with long
            texts; some 500 columns fit.
        seconds: time for reading a file, for all rows of a generator (it runs in a thread, which is abandoned where it
            blocks: give a list of rows that are bound to a thread, as those of a cursor of sqlite3), and for each
            statement that makes a table.

    Raises:
        ConfigurationError: one of them is not more than 0.
    """

    columns: int = 2_000
    line_bytes: int = 2 << 20
    unpacked_bytes: int = 512 << 20
    rows: int = 500_000
    given_bytes: int = 144 << 20
    memory: int = 192 << 20
    seconds: float = 300.0

    def __post_init__(self) -> None:
        positive(
            columns=self.columns, line_bytes=self.line_bytes, unpacked_bytes=self.unpacked_bytes, rows=self.rows,
            given_bytes=self.given_bytes, memory=self.memory, seconds=self.seconds,
        )  # fmt: skip
