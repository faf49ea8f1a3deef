"""Text files as tables: a row that differs from the others changes no other row, and is not lost."""

from __future__ import annotations

import codecs
import csv
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from trivium.agents.special.table._creating import create, duckdb_error, text_of
from trivium.exceptions import ConfigurationError, UnreadableDocumentError

__all__ = ["load_text_file"]

_MARKS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_DELIMITERS: Final = ",;\t|"
_HEAD: Final = 1 << 16  # bytes, of which the headers are found
_EMPTY: Final = "(empty)"
_WIDTH: Final = re.compile(r"CSV Error on Line: (\d+)(?s:.*)Expected Number of Columns: (\d+) Found: (\d+)")
_COLUMN: Final = re.compile(r'when converting column "(.*)"\. Could not')


def load_text_file(database: Any, name: str, file: Path, folder: Path, encoding: str) -> dict[str, str]:
    """Make a table of a file of values with delimiters.

    What a row lacks is NULL. A column whose values are of no one type is text.

    Args:
        database: a DuckDB connection that may read files.
        name: the table's name.
        file: where it is.
        folder: for files on the way.
        encoding: "" is UTF-8, or UTF-16 where the file is marked as such.

    Raises:
        UnreadableDocumentError: it is no text of this encoding, or a row has more values than there are headers.
        ConfigurationError: there is no such encoding.
    """
    path = folder / f"source{file.suffix}"  # its own name may hold what DuckDB reads as a pattern
    try:
        _in_utf8(file, path, encoding)
        layout = _layout_of(database, path)
        if not layout.is_own:
            try:
                return create(database, name, f"read_csv({text_of(path)}, header = true)")
            except duckdb_error("ConversionException", "InvalidInputException"):
                pass  # a later row is of another type, or another width
        even = _evened(database, path, layout, file)
        return _typed(database, name, even)
    finally:
        path.unlink(missing_ok=True)


def _in_utf8(file: Path, path: Path, encoding: str) -> None:
    """Put the file there in UTF-8."""
    with file.open("rb") as opened:
        start = opened.read(4096)
    marked = next((each for mark, each in _MARKS if start.startswith(mark)), "")
    if b"\0" in start and not encoding and not marked:
        raise UnreadableDocumentError(f"{file} is not text", str(file))
    encoding = encoding or marked or "utf-8"
    try:
        if codecs.lookup(encoding).name == "utf-8":
            path.symlink_to(file.resolve())
            return
        with file.open(encoding=encoding, newline="") as given, path.open("w", encoding="utf-8", newline="") as made:
            shutil.copyfileobj(given, made, 1 << 20)
    except LookupError:
        raise ConfigurationError(
            f"{encoding!r} is no encoding of text: give one that Python knows, as 'latin-1' or 'cp1252'"
        ) from None
    except UnicodeError as error:
        raise UnreadableDocumentError(
            f"{file} cannot be read ({error}): it is not {encoding}: give another encoding", str(file)
        ) from None


class _Layout(NamedTuple):
    """How a file is written: what parts its values, what stands around some, and how many lines come first.

    `is_own` tells that DuckDB would read the file otherwise.
    """

    delimiter: str
    quote: str
    skip: int
    width: int
    is_own: bool = False


def _layout_of(database: Any, path: Path) -> _Layout:
    """The layout that DuckDB finds, or one by the headers, where it would leave out rows or see one column only."""
    with path.open("rb") as opened:
        lines = re.split(r"\r\n|\r|\n", opened.read(_HEAD).decode("utf-8-sig", "replace"))
    own = _by_headers(lines)
    query = f"SELECT Delimiter, Quote, SkipRows, len(Columns) FROM sniff_csv({text_of(path)}, header = true)"  # noqa: S608
    try:
        delimiter, quote, skip, width = database.execute(query).fetchone()
    except duckdb_error("InvalidInputException"):
        return own
    skipped = lines[:skip]
    is_preamble = not skipped or not skipped[-1].strip()
    has_rows = any(delimiter in line and not line.startswith("#") for line in skipped)
    if (has_rows and not is_preamble) or (width == 1 < own.width):
        return own
    return _Layout(delimiter, '"' if quote == _EMPTY else quote, skip, width)


def _by_headers(lines: Sequence[str]) -> _Layout:
    """The layout by the first line that is not empty: what parts it into most headers."""
    skip = next((at for at, line in enumerate(lines) if line.strip()), 0)
    widths = {each: len(next(csv.reader(lines[skip:], delimiter=each), list[str]())) for each in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda each: widths[each])
    return _Layout(delimiter, '"', skip, widths[delimiter], is_own=True)


def _evened(database: Any, path: Path, layout: _Layout, file: Path) -> Path:
    """The same in a file whose rows are all as wide as the headers."""
    even = path.with_name("even.csv")
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(layout.width))
    quote = text_of(layout.quote)
    query = (
        f"read_csv({text_of(path)}, auto_detect = false, header = false, skip = {layout.skip}, null_padding = true, "
        f"delim = {text_of(layout.delimiter)}, quote = {quote}, escape = {quote}, parallel = false, "
        f"columns = {{{columns}}})"
    )
    try:
        database.execute(f"COPY (SELECT * FROM {query}) TO {text_of(even)} (FORMAT csv, HEADER false)")  # noqa: S608
    except duckdb_error("InvalidInputException") as error:
        if (found := _WIDTH.search(str(error))) is None:
            raise
        line, expected, width = found.groups()
        raise UnreadableDocumentError(
            f"{file}: line {line} has {width} values, and there are {expected} headers: put a value that holds "
            f"{layout.delimiter!r} in quotes, or mend the line",
            str(file),
        ) from None
    return even


def _typed(database: Any, name: str, even: Path) -> dict[str, str]:
    """A table of a file that is even; of a column whose values turn out to differ, its text."""
    texts = list[str]()
    read = f"read_csv({text_of(even)}, header = true, skip = 0, delim = ',', quote = '\"', escape = '\"'"
    try:
        while True:
            types = ", ".join(f"{text_of(column)}: 'VARCHAR'" for column in texts)
            given = f", types = {{{types}}}" if types else ""
            try:
                return create(database, name, f"{read}, sample_size = -1{given})")
            except duckdb_error("ConversionException") as error:
                found = _COLUMN.search(str(error))
                if found is None or found[1] in texts:
                    raise
                texts.append(found[1])
    finally:
        even.unlink()
