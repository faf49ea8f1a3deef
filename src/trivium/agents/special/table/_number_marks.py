"""The marks of numbers in a text file: 1.234,56 or 1,234.56. As with dates, all columns of a file are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from trivium.agents.special.table._creating import Execute, sql_name, sql_text

_FORMS: Final = {
    ",": r"[+-]?(0|[1-9]\d{0,2}(\.\d{3})+|[1-9]\d*)(,\d+)?",
    ".": r"[+-]?(0|[1-9]\d{0,2}(,\d{3})+|[1-9]\d*)(\.\d+)?",
}
"""Numbers by their decimal mark. One that begins with 0, such as 01067, is the code of something."""
_FIRST: Final = 2048  # values that are looked at before all are
_AT_ONCE: Final = 4  # columns that are looked at in one query: each takes the memory of several expressions
_DIGITS: Final = 18  # that a BIGINT holds


class NumberSigns(NamedTuple):
    """What tells of the marks besides the numbers: semicolons and dates with dots are used where decimals have commas.

    Args:
        delimiter: what separates the values of the file.
        has_dotted_dates: there are dates as 25.12.2024.
    """

    delimiter: str
    has_dotted_dates: bool


class NumberMarks(NamedTuple):
    """How the numbers of a column may be read.

    Args:
        column: the column's name.
        decimal: the decimal marks that fit all of its numbers.
        is_marked: one of them has a mark.
        is_sure: one of them has both marks, as 1.234,56.
        is_text: the column is a text so far.
        is_settled: there is one way to read them.
    """

    column: str
    decimal: tuple[str, ...]
    is_marked: bool
    is_sure: bool
    is_text: bool
    is_settled: bool = False

    @property
    def ways(self) -> list[str]:
        """SQL that reads the numbers, for each decimal mark."""
        return [f"CAST({_plain(self.column, each)} AS DOUBLE)" for each in self.decimal]


def read_numbers(execute: Execute, name: str, marks: NumberMarks) -> None:
    """Make numbers of a column of texts, by the one way to read them."""
    (mark,), column = marks.decimal, sql_name(marks.column)
    is_whole = f"bool_and(NOT contains({column}, {sql_text(mark)}) AND length({column}) <= {_DIGITS})"
    ((whole,),) = execute(f"SELECT {is_whole} FROM {sql_name(name)}")  # noqa: S608 - quoted
    kind = "BIGINT" if whole else "DOUBLE"
    value = f"CAST({_plain(column, mark)} AS {kind})"
    execute(f"ALTER TABLE {sql_name(name)} ALTER COLUMN {column} TYPE {kind} USING {value}")


def _plain(column: str, mark: str) -> str:
    return f"replace({column}, ',', '')" if mark == "." else f"replace(replace({column}, '.', ''), ',', '.')"


def unusual_numbers(
    execute: Execute, name: str, kinds: Mapping[str, str], source: str, headers: Mapping[str, str], signs: NumberSigns
) -> list[NumberMarks]:
    """Return the columns of numbers that DuckDB takes for texts, or for other numbers than they are or may be.

    A column is settled if its numbers fit one decimal mark, and no other column contradicts; or if they fit both, and
    another column settles it. 1.234 alone is a decimal number where commas separate the values.

    Args:
        execute: runs statements in DuckDB.
        name: the table's name.
        kinds: the types of its columns.
        source: reads the same file, with texts for numbers.
        headers: the headers of the file by the names of the columns.
        signs: what else tells of the marks.
    """
    has_comma = signs.delimiter == ";" or signs.has_dotted_dates
    is_open = has_comma or signs.delimiter != "," or len(kinds) == 1
    texts = {column: column for column, kind in kinds.items() if kind == "VARCHAR"}
    found = _numbers(execute, sql_name(name), texts, is_text=True)
    decimals = {column: headers[column] for column, kind in kinds.items() if kind == "DOUBLE"}
    if found or is_open:
        found += _numbers(execute, source, decimals, is_text=False)
    only = [each for each in found if len(each.decimal) == 1]
    proven = {each.decimal[0] for each in only if each.is_sure or has_comma or each.decimal == (".",)}
    unusual = list[NumberMarks]()
    for each in found:
        fitting = each.decimal if each.is_sure else tuple(proven & {*each.decimal}) if len(proven) == 1 else ()
        marks = each._replace(decimal=fitting, is_settled=True) if fitting else each
        if marks.is_text or (marks.decimal != (".",) and (is_open or proven)):
            unusual.append(marks)
    return unusual


def _numbers(execute: Execute, source: str, headers: Mapping[str, str], is_text: bool) -> list[NumberMarks]:
    """Return those of some columns whose values are numbers with marks; the first values tell of most."""
    first = _fitting(execute, source, headers, is_text, f" LIMIT {_FIRST}")
    told = [each for each in first if not is_text and each.is_marked and "," not in each.decimal]
    waiting = {each.column: headers[each.column] for each in first if is_text or "," in each.decimal}
    return told + [each for each in _fitting(execute, source, waiting, is_text) if each.is_marked]


def _fitting(
    execute: Execute, source: str, headers: Mapping[str, str], is_text: bool, limit: str = ""
) -> list[NumberMarks]:
    """Return those of some columns whose values are all numbers; a few at a time, for the sake of memory."""
    if len(headers) > _AT_ONCE:
        columns = [*headers]
        some = (
            {each: headers[each] for each in columns[at : at + _AT_ONCE]} for at in range(0, len(columns), _AT_ONCE)
        )
        return [found for each in some for found in _fitting(execute, source, each, is_text, limit)]
    if not headers:
        return []
    parts = list[str]()
    for header in headers.values():
        value = f"trim({sql_name(header)})"
        tests = [f"regexp_full_match({value}, {sql_text(form)})" for form in _FORMS.values()]
        tests += [f"regexp_matches({value}, '[.,]')", f"({value} LIKE '%.%' AND {value} LIKE '%,%')"]
        parts += [f"count({value})", *(f"count(*) FILTER ({test})" for test in tests)]
    few = f"SELECT {', '.join(map(sql_name, headers.values()))} FROM {source}{limit}"  # noqa: S608 - quoted
    (counts,) = execute(f"SELECT {', '.join(parts)} FROM ({few})")  # noqa: S608 - quoted
    found = list[NumberMarks]()
    for at, column in enumerate(headers):
        total, comma, dot, marked, both = counts[5 * at : 5 * at + 5]
        fits = (comma == total, dot == total or not is_text)  # DuckDB has read the latter by their dots
        decimal = tuple(mark for mark, is_fit in zip(_FORMS, fits, strict=True) if is_fit)
        if decimal:
            found.append(NumberMarks(column, decimal, marked > 0, both > 0, is_text))
    return found
