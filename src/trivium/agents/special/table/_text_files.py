"""Text files as tables: a row that differs from the others changes no other row, and is not lost."""

from __future__ import annotations

import codecs
import csv
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from trivium.agents.special.table._creating import (
    Execute,
    create_table,
    sql_name,
    sql_text,
    warn_of_values_as_headers,
)
from trivium.agents.special.table._limits import TableLimits
from trivium.agents.special.table._number_marks import NumberSigns, read_numbers, unusual_numbers
from trivium.exceptions import ConfigurationError, DocumentTooLargeError, UnreadableDocumentError
from trivium.parsing.lowlevel import column_names, declared_separator

_MARKS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_DELIMITERS: Final = ",;\t|"
_HEAD: Final = 1 << 16  # bytes of a file in which its layout is found
_WINDOW: Final = 1 << 14  # bytes; longer lines are looked at one by one
_EMPTY: Final = "(empty)"
_WIDTH: Final = re.compile(r"CSV Error on Line: (\d+)(?s:.*)Expected Number of Columns: (\d+) Found: (\d+)")
_FIRST: Final = 20  # rows in which a column of dates has one
_DATE: Final = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b")
_DAYS: Final = tuple(
    each.replace("/", sign) for sign in "/.-" for each in ("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y")
)
_TIMES: Final = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
_PARTS: Final = re.compile("%[dmyY]")
_OFFSET: Final = r":.*(Z|[+-]\d\d(:?\d\d)?)\s*$"
_LINE_END: Final = re.compile(rb"[\r\n]")
_COLUMN: Final = re.compile(r'when converting column "(.*)"\. Could not')


def load_text_file(
    execute: Execute, name: str, file: Path, folder: Path, encoding: str, limits: TableLimits
) -> dict[str, str]:
    """Make a table of a file of values with delimiters.

    Missing values of a row are NULL. A column whose values have different types is text.

    Args:
        execute: runs statements in a DuckDB that may read files.
        name: the table's name.
        file: the file.
        folder: a folder for temporary files.
        encoding: the file's encoding; "" is UTF-8, or UTF-16 if the file begins with its mark.
        limits: what loading may take.

    Returns:
        The headers of the file by the names of the columns.

    Raises:
        UnreadableDocumentError: it is no text of this encoding, a row has more values than there are headers, or a
            quote that is never closed hides rows.
        DocumentTooLargeError: a line is too long, or has too many columns.
        ConfigurationError: there is no such encoding.
    """

    path = folder / f"source{file.suffix}"  # the file's own name may hold characters of a pattern
    try:
        write_utf8(file, path, encoding)
        quotes = check_lines(path, file, limits)
        layout = find_layout(execute, path, file, limits)
        headers = create_text_table(execute, name, path, layout, file)
        if len(headers) > limits.columns:
            raise too_many_columns(file, limits)
        if quotes % 2:
            check_open_quote(execute, name, path, layout, file)
        warn_of_values_as_headers(execute, name, headers, file)
        return headers
    finally:
        path.unlink(missing_ok=True)


def create_text_table(execute: Execute, name: str, path: Path, layout: Layout, file: Path) -> dict[str, str]:
    """Make a table of a file in UTF-8, by DuckDB's way to read it where that leaves out nothing."""
    import duckdb

    if not layout.is_own:
        try:
            return create_typed(execute, name, f"{sql_text(path)}, header = true, {layout.buffers}", layout.delimiter)
        except (duckdb.ConversionException, duckdb.InvalidInputException):
            pass  # a later row is of another type, or another width
    even = write_even(execute, path, layout, file)
    try:
        read = f"{sql_text(even)}, header = true, skip = 0, delim = ',', quote = '\"', escape = '\"', {layout.buffers}"
        return create_differing(execute, name, read, layout.delimiter)
    finally:
        even.unlink()


def check_lines(path: Path, file: Path, limits: TableLimits) -> int:
    """Refuse what costs DuckDB memory that it does not count; return the number of quotes in a file in UTF-8.

    Raises:
        DocumentTooLargeError: a line or a value in quotes is too long, or a long line has too many columns.
    """
    quotes = quiet = 0
    line = bytearray()
    with path.open("rb") as opened:
        while window := opened.read(_WINDOW):
            found = window.count(b'"')
            quotes += found
            quiet = 0 if found or quotes % 2 == 0 else quiet + len(window)
            end = b"\n" if b"\n" in window else b"\r"
            first, behind = window.find(end), window.rfind(end) + 1
            line += window if first < 0 else window[:first]
            if len(line) > limits.line_bytes:
                raise too_large(file, "a line has more than {:,} bytes; break it up", "line_bytes", limits.line_bytes)
            if first >= 0 or len(window) < _WINDOW:
                if len(line) > _WINDOW:
                    check_width(bytes(line), file, limits)
                line = bytearray(window[behind:])
            if quiet > limits.line_bytes:  # what stands between two quotes, if all before were closed
                check_values(path, file, limits)
                quiet = -sys.maxsize
    return quotes


def check_width(line: bytes, file: Path, limits: TableLimits) -> None:
    """Refuse a line that has too many values, whatever separates them.

    Raises:
        DocumentTooLargeError: it has too many.
    """
    lines = [line.decode("utf-8", "replace")]
    if max(len(_cells(lines, each)) for each in _DELIMITERS) > limits.columns:
        raise too_many_columns(file, limits)


def check_values(path: Path, file: Path, limits: TableLimits) -> None:
    """Refuse a file with a value in quotes that is too long, as it is where a quote is never closed.

    Raises:
        DocumentTooLargeError: it names the line.
    """
    line = 0
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
        reader = csv.reader(opened, strict=True)
        try:
            for _ in reader:
                line = reader.line_num
        except csv.Error as error:
            if "larger" in str(error) or "end of data" in str(error):
                text = f"line {line + 1} opens a quote that is not closed within {{:,}} bytes; close it, or double it"
                raise too_large(file, text, "line_bytes", limits.line_bytes) from None


def too_large(file: Path, text: str, limit: str, value: int) -> DocumentTooLargeError:
    """Return the error for a file that reaches a limit."""
    said = f"{file}: {text.format(value)}, or raise TableLimits({limit}=…)"
    return DocumentTooLargeError(said, str(file), limit, value)


def too_many_columns(file: Path, limits: TableLimits) -> DocumentTooLargeError:
    """Return the error for a file with a line of too many values."""
    return too_large(file, "a line has more than {:,} values; leave out some", "columns", limits.columns)


def check_open_quote(execute: Execute, name: str, path: Path, layout: Layout, file: Path) -> None:
    """Refuse a file in which a quote that is never closed hid rows; as an ordinary character it hides none.

    Raises:
        UnreadableDocumentError: it names the line.
    """
    (rows,) = next(iter(execute(f"SELECT count(*) FROM {sql_name(name)}")), (0,))  # noqa: S608 - quoted
    records = line = 0
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
        for _ in range(layout.skip):
            next(opened, "")
        reader = csv.reader(opened, delimiter=layout.delimiter, strict=True)
        try:
            for record in reader:
                line = reader.line_num
                records += bool(record)
        except csv.Error:  # the quote, or a value that no reader would take
            if rows < records:
                at = line + 1 + layout.skip
                raise UnreadableDocumentError(
                    f"{file}: line {at} opens a quote that is never closed, and hides the rest: close it, or double it",
                    str(file),
                ) from None


def write_utf8(file: Path, path: Path, encoding: str) -> None:
    """Write a file at a path in UTF-8; a link is enough for one that is UTF-8 already."""
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


class Layout(NamedTuple):
    """The layout of a file: delimiter and quote, the number of lines before the headers, and the number of headers.

    `buffers` is what DuckDB's reader is told of the longest line; `is_own` is True if it would find another layout.
    """

    delimiter: str
    quote: str
    skip: int
    width: int
    buffers: str
    is_own: bool = False


def find_layout(execute: Execute, path: Path, file: Path, limits: TableLimits) -> Layout:
    """Return the layout that DuckDB finds; if it would leave out rows or see one column only, one by the headers.

    The headers are the first line that is not empty, and the delimiter the character that gives most of them.

    Raises:
        DocumentTooLargeError: there are too many columns.
    """
    import duckdb

    with path.open("rb") as opened:
        head = opened.read(_HEAD)
        if not _LINE_END.search(head):
            head += opened.read(limits.line_bytes)
    lines = re.split(r"\r\n|\r|\n", head.decode("utf-8-sig", "replace"))
    declared = declared_separator(lines[0])
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    widths = {each: len(_cells(lines[first:], each)) for each in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda each: widths[each])
    empty = next((at for at, line in enumerate(lines) if at > first and line and not line.strip(f'" {best}')), 0)
    names = list(filter(None, column_names(_cells(lines[empty + 1 :], best))))  # below a line such as ";;;"
    above = lines[first:empty]
    has_remarks = bool(above) and all(len(list(filter(None, _cells([each], best)))) < len(names) for each in above)
    if has_remarks:
        first, widths[best] = empty + 1, len(_cells(lines[empty + 1 :], best))
    if declared:
        best, first, widths[declared] = declared, 1, len(_cells(lines[1:], declared))
    # Left to itself DuckDB takes no line of 2,000,000 bytes, and keeps 16 times the longest line.
    buffers = f"max_line_size = {limits.line_bytes}, buffer_size = {max(4 << 20, 2 * limits.line_bytes)}"
    own = Layout(best, '"', first, widths[best], buffers, is_own=True)
    if own.width > limits.columns:
        raise too_many_columns(file, limits)
    if declared or has_remarks:
        return own
    source = f"sniff_csv({sql_text(path)}, header = true, {buffers})"
    query = f"SELECT Delimiter, Quote, SkipRows, len(Columns) FROM {source}"  # noqa: S608
    try:
        found = execute(query)
    except duckdb.InvalidInputException:
        return own
    ((delimiter, quote, skip, width),) = found
    skipped = lines[:skip]
    is_preamble = not skipped or not skipped[-1].strip()
    has_rows = any(delimiter in line and not line.startswith("#") for line in skipped)
    if (has_rows and not is_preamble) or (width == 1 < own.width):
        return own
    return Layout(delimiter, '"' if quote == _EMPTY else quote, skip, width, buffers)


def _cells(lines: list[str], delimiter: str) -> list[str]:
    try:
        return next(csv.reader(lines, delimiter=delimiter), list[str]())
    except csv.Error:  # a value that is longer than Python's reader takes
        return [lines[0]]


def write_even(execute: Execute, path: Path, layout: Layout, file: Path) -> Path:
    """Write the same values to a file whose rows are all as wide as the headers; return its path.

    Raises:
        UnreadableDocumentError: a row has more values than there are headers.
    """
    import duckdb

    even = path.with_name("even.csv")
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(layout.width))
    quote = sql_text(layout.quote)
    query = (
        f"read_csv({sql_text(path)}, auto_detect = false, header = false, skip = {layout.skip}, null_padding = true, "
        f"delim = {sql_text(layout.delimiter)}, quote = {quote}, escape = {quote}, parallel = false, "
        f"columns = {{{columns}}}, {layout.buffers})"
    )
    try:
        execute(f"COPY (SELECT * FROM {query}) TO {sql_text(even)} (FORMAT csv, HEADER false)")  # noqa: S608
    except duckdb.InvalidInputException as error:
        if (found := _WIDTH.search(str(error))) is None:
            raise
        line, expected, width = found.groups()
        raise UnreadableDocumentError(
            f"{file}: line {line} has {width} values, and there are {expected} headers: put a value that holds "
            f"{layout.delimiter!r} in quotes, or mend the line",
            str(file),
        ) from None
    return even


def create_typed(execute: Execute, name: str, read: str, delimiter: str, texts: Sequence[str] = ()) -> dict[str, str]:
    """Make a table of a file; dates and numbers that may as well be others are texts, and a comment says so.

    Args:
        execute: runs statements in DuckDB.
        name: the table's name.
        read: the arguments of `read_csv`.
        delimiter: the delimiter in the file that was given.
        texts: headers of columns that are texts.
    """
    source, as_text = _source(read, texts), f"read_csv({read}, all_varchar = true)"
    headers = create_table(execute, name, f"read_csv{source}", as_text)
    kinds = {row[0]: row[1] for row in execute(f"DESCRIBE {sql_name(name)}")}
    unclear, has_dots = dict[str, list[str]](), False
    if {"DATE", "TIMESTAMP"} & {*kinds.values()}:
        found = execute(f"SELECT DateFormat, TimestampFormat FROM sniff_csv{source}")[0]  # noqa: S608 - made above
        for kind, written in zip(("DATE", "TIMESTAMP"), found, strict=True):
            columns = [column for column, each in kinds.items() if each == kind]
            form = with_day_first(execute, name, columns, written or "", kind)
            has_dots |= bool(columns) and form.startswith("%d.")
            unclear |= unclear_dates(execute, name, columns, form)
            for column in set(columns) - {*unclear}:
                if has_early_years(execute, name, column, as_text, headers[column]):
                    unclear[column] = []
    shifted = with_offsets(execute, as_text, [headers[each] for each in kinds if kinds[each] == "TIMESTAMP"])
    unusual = unusual_numbers(execute, name, kinds, as_text, headers, NumberSigns(delimiter, has_dots))
    again = [headers[column] for column in (*unclear, *(each.column for each in unusual if not each.is_text))] + shifted
    if again:
        headers = create_typed(execute, name, read, delimiter, [*texts, *again])
    for column, ways in dates_as_texts(execute, name, kinds).items():
        comment_ways(execute, name, column, "dates as texts", ways)
    for column, forms in unclear.items():
        ways = [f"strptime({column}, {sql_text(each)})" for each in forms]
        comment_ways(execute, name, column, "dates whose order is unknown", ways)
    for marks in () if again else unusual:
        if marks.is_settled:
            read_numbers(execute, name, marks)
            if marks.note:
                comment_ways(execute, name, marks.column, marks.note, ())
        else:
            comment_ways(execute, name, marks.column, "numbers whose marks are unknown", marks.ways)
    return headers


def with_offsets(execute: Execute, as_text: str, stamps: Sequence[str]) -> list[str]:
    """Return the headers of times where one has an offset, which DuckDB drops if the first ones have none."""
    if not stamps:
        return []
    tests = ", ".join(f"bool_or(regexp_matches({sql_name(each)}, {sql_text(_OFFSET)}))" for each in stamps)
    (found,) = execute(f"SELECT {tests} FROM {as_text}")  # noqa: S608 - quoted
    return [header for header, has_offset in zip(stamps, found, strict=True) if has_offset]


def dates_as_texts(execute: Execute, name: str, columns: Iterable[str]) -> dict[str, list[str]]:
    """Return the columns of texts that are all dates, as 25/12/2024 10:30, with SQL that reads them, in each order."""
    table, found = sql_name(name), dict[str, list[str]]()
    first = f"(SELECT * FROM {table} LIMIT {_FIRST})"  # noqa: S608 - quoted
    for column, values in zip(columns, zip(*execute(f"FROM {first}"), strict=True), strict=False):
        given = [each for each in values if each is not None]
        if given and all(isinstance(each, str) and _DATE.match(each) for each in given):
            forms = [day + time for day in _DAYS for time in _TIMES]
            for source in (first, table):  # few forms are left when all rows are read
                forms = fitting_forms(execute, source, column, forms)
            found |= {column: [f"strptime({column}, {sql_text(form)})" for form in forms]} if forms else {}
    return found


def fitting_forms(execute: Execute, source: str, column: str, forms: Sequence[str]) -> list[str]:
    """Return the formats of dates that all texts of a column have; 1.2.10 may as well be a version."""
    tests = list[str]()
    for form in forms:
        year = f"year(try_strptime({sql_name(column)}, {sql_text(form)}))"
        tests.append(f"{year} > 99" + (f" AND {year} % 100 > 12" if form.endswith(".%y") else ""))
    counts = ", ".join(f"count(*) FILTER ({test})" for test in tests)
    found = execute(f"SELECT count({sql_name(column)}), {counts} FROM {source}")[0] if forms else [0]  # noqa: S608
    return [form for form, number in zip(forms, found[1:], strict=True) if number == found[0]]


def comment_ways(execute: Execute, name: str, column: str, what: str, ways: Sequence[str]) -> None:
    """Tell the model in a column's comment how its texts may be read."""
    comment = sql_text(what + (f": {' or '.join(ways)}" if ways else ""))
    execute(f"COMMENT ON COLUMN {sql_name(name)}.{sql_name(column)} IS {comment}")


def with_day_first(execute: Execute, name: str, columns: Sequence[str], form: str, kind: str) -> str:
    """Read dates with dots again where DuckDB took another part for the day; return their format."""
    first = next((each for each in _other_orders(form) if each.startswith("%d.")), None)
    if first is None:
        return form
    dates = [f"try_strptime(strftime({sql_name(each)}, {sql_text(form)}), {sql_text(first)})" for each in columns]
    for column, date in zip(columns, dates, strict=True):
        test = f"count({sql_name(column)}) = count({date})"
        if "%y" in first:  # "01.02.03" may be a version: a year of two digits is one that no day or month can be
            test += f" AND min(year({date}) % 100) > 12"
        if not execute(f"SELECT {test} FROM {sql_name(name)}")[0][0]:  # noqa: S608 - quoted
            return form
    for column, date in zip(columns, dates, strict=True):
        execute(
            f"ALTER TABLE {sql_name(name)} ALTER COLUMN {sql_name(column)} TYPE {kind} USING CAST({date} AS {kind})"
        )
    return first


def _source(read: str, texts: Sequence[str]) -> str:
    """Return the arguments of a reader that finds types by all rows.

    By the first 20,480 alone DuckDB would take a later 00123 for 123, and a later time for its date.
    """
    types = ", ".join(f"{sql_text(column)}: 'VARCHAR'" for column in texts)
    return f"({read}, sample_size = -1{f', types = {{{types}}}' if types else ''})"


def unclear_dates(execute: Execute, name: str, columns: Sequence[str], form: str) -> dict[str, list[str]]:
    """Return the formats that the columns of dates may have whose parts may be read in another order too.

    There is none if another column has dates in that format which fit no other order: a file has one format.
    """
    others, found = list(_other_orders(form)), dict[str, list[str]]()
    for column in columns if others else ():
        date = sql_name(column)
        moved = [f"try_strptime(strftime({date}, {sql_text(form)}), {sql_text(other)})" for other in others]
        counts = ", ".join(f"count({each}), count(*) FILTER ({each} <> {date})" for each in moved)
        total, *numbers = execute(f"SELECT count({date}), {counts} FROM {sql_name(name)}")[0]  # noqa: S608 - quoted
        fits = [every == total for every in numbers[::2]]
        if not any(fits):
            return {}
        if unlike := [each for each, fit, other in zip(others, fits, numbers[1::2], strict=True) if fit and other]:
            found[column] = [form, *unlike]
    return found


def has_early_years(execute: Execute, name: str, column: str, source: str, header: str) -> bool:
    """Tell that dates before the year 1000 are none as they are written, with four digits.

    DuckDB takes the first number of 01-02-03 for the year, where it finds no format.
    """
    early = f"SELECT count(*) FILTER (year({sql_name(column)}) < 1000) FROM {sql_name(name)}"  # noqa: S608 - quoted
    if not execute(early)[0][0]:
        return False
    written = r"'^\s*(\d+\D+\d+\D+)?\d{3}'"
    short = f"SELECT count(*) FROM {source} WHERE NOT regexp_matches({sql_name(header)}, {written})"  # noqa: S608
    return bool(execute(short)[0][0])


def _other_orders(form: str) -> Iterator[str]:
    """Return other formats that dates may have as well; none if the day stands first and has a dot.

    >>> list(_other_orders("%d/%m/%Y")), list(_other_orders("%d.%m.%Y")), list(_other_orders("%y-%m-%d"))
    (['%m/%d/%Y'], [], ['%d-%m-%y', '%m-%d-%y'])
    """
    codes = _PARTS.findall(form)
    year = "%y" if "%y" in codes else "%Y"
    orders = [["%d", "%m", year], ["%m", "%d", year], *([["%y", "%m", "%d"]] if year == "%y" else [])]
    if codes in orders and not form.startswith("%d."):
        for order in orders:
            parts = iter(order)
            if order != codes:
                yield _PARTS.sub(lambda _, parts=parts: next(parts), form)


def create_differing(execute: Execute, name: str, read: str, delimiter: str) -> dict[str, str]:
    """Make a table of a file with even rows; a column whose values turn out to differ in type is text too."""
    import duckdb

    texts = list[str]()
    while True:
        try:
            return create_typed(execute, name, read, delimiter, texts)
        except duckdb.ConversionException as error:
            found = _COLUMN.search(str(error))
            if found is None or found[1] in texts:
                raise
            texts.append(found[1])
