"""The marks of numbers in a text file: 1.234,56 or 1,234.56. As with dates, all columns of a file are looked at.

A column whose numbers all have one currency, or are percents, and one with words for a missing value are numbers, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from trivium.agents.special.table._creating import Execute, sql_name, sql_text
from trivium.parsing.lowlevel import CURRENCY_CODES

_SPACES: Final = r"[ \x{a0}\x{202f}]"
_FORMS: Final = {
    mark: rf"[+-]?(0|[1-9]\d{{0,2}}(({thousands}\d{{3}})+|({_SPACES}\d{{3}})+)|[1-9]\d*)({decimal}\d+)?"
    for mark, thousands, decimal in ((",", r"\.", ","), (".", ",", r"\."))
}
"""Numbers by their decimal mark. One that begins with 0, such as 01067, is the code of something."""
_FIRST: Final = 2048  # values that are looked at before all are
_AT_ONCE: Final = 4  # columns that are looked at in one query: each takes the memory of several expressions
_DIGITS: Final = 18  # that a BIGINT holds
_MISSING: Final = ("NA", "N/A", "#N/A", "NULL", "NONE", "-", "–", "\\N")
_OTHERS: Final = r"[^\d.,+\-\s\x{a0}\x{202f}]"  # what a unit is written with
_AROUND: Final = rf"^([+-]?){_OTHERS}{{1,4}}{_SPACES}*|{_SPACES}*{_OTHERS}{{1,4}}$"
_UNIT: Final = re.compile(r"[%‰]|(?:[A-Z]{1,2}|MEX|CAN)?[$€£¥₹₽₩₺₪₴฿₫]|zł|Kč|Ft|kr")


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
        unit: the currency or percent sign that all of them have.
        is_missing: a word such as NA stands for a missing one.
        is_spaced: spaces that do not break set off thousands.
        is_settled: there is one way to read them.
    """

    column: str
    decimal: tuple[str, ...]
    is_marked: bool
    is_sure: bool
    is_text: bool
    unit: str = ""
    is_missing: bool = False
    is_spaced: bool = False
    is_settled: bool = False

    @property
    def ways(self) -> list[str]:
        """SQL that reads the numbers, for each decimal mark."""
        value = _bare(self.column) if self.is_other else self.column
        return [f"CAST({_plain(value, each)} AS DOUBLE)" for each in self.decimal]

    @property
    def is_other(self) -> bool:
        """True for texts that more than decimal marks sets apart from numbers."""
        return self.is_text and bool(self.unit or self.is_missing or self.is_spaced)

    @property
    def note(self) -> str:
        """A comment on the numbers that the column is made of, "" if there is nothing to say."""
        notes = [self.unit and f"in {self.unit}", "NULL where the file has a word such as NA" * self.is_missing]
        return ", ".join(filter(None, notes))


def read_numbers(execute: Execute, name: str, marks: NumberMarks) -> None:
    """Make numbers of a column of texts, by the one way to read them."""
    (mark,), column = marks.decimal, sql_name(marks.column)
    bare = _bare(column)
    is_whole = f"bool_and(NOT contains({bare}, {sql_text(mark)}) AND length({bare}) <= {_DIGITS})"
    ((whole,),) = execute(f"SELECT {is_whole} FROM {sql_name(name)}")  # noqa: S608 - quoted
    kind = "BIGINT" if whole else "DOUBLE"
    value = f"CAST({_plain(bare, mark)} AS {kind})"
    execute(f"ALTER TABLE {sql_name(name)} ALTER COLUMN {column} TYPE {kind} USING {value}")


def _plain(value: str, mark: str) -> str:
    value = f"regexp_replace({value}, '{_SPACES}', '', 'g')"
    return f"replace({value}, ',', '')" if mark == "." else f"replace(replace({value}, '.', ''), ',', '.')"


def _bare(column: str) -> str:
    """Write the SQL of a value without its unit; NULL for a word that stands for a missing one."""
    words = ", ".join(map(sql_text, _MISSING))
    value = f"regexp_replace(trim({column}), '{_AROUND}', '\\1')"
    return f"CASE WHEN upper(trim({column})) NOT IN ({words}) THEN {value} END"


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
    plain = [each._replace(decimal=(".",), is_settled=True) for each in found if not each.is_marked]
    found = [each for each in found if each.is_marked]
    only = [each for each in found if len(each.decimal) == 1]
    proven = {each.decimal[0] for each in only if each.is_sure or has_comma or each.decimal == (".",)}
    unusual = list[NumberMarks]()
    for each in found:
        fitting = each.decimal if each.is_sure else tuple(proven & {*each.decimal}) if len(proven) == 1 else ()
        marks = each._replace(decimal=fitting, is_settled=True) if fitting else each
        if marks.is_text or (marks.decimal != (".",) and (is_open or proven)):
            unusual.append(marks)
    return unusual + plain


def _numbers(execute: Execute, source: str, headers: Mapping[str, str], is_text: bool) -> list[NumberMarks]:
    """Return those of some columns whose values are numbers with marks; the first values tell of most."""
    first = _fitting(execute, source, headers, is_text, f" LIMIT {_FIRST}")
    told = [each for each in first if not is_text and each.is_marked and "," not in each.decimal]
    waiting = {each.column: headers[each.column] for each in first if is_text or "," in each.decimal}
    return told + [each for each in _fitting(execute, source, waiting, is_text) if each.is_marked or each.is_other]


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
    parts = ", ".join(_counts(sql_name(header)) for header in headers.values())
    few = f"SELECT {', '.join(map(sql_name, headers.values()))} FROM {source}{limit}"  # noqa: S608 - quoted
    (counts,) = execute(f"SELECT {parts} FROM ({few})")  # noqa: S608 - quoted
    found = list[NumberMarks]()
    for at, column in enumerate(headers):
        total, missing, least, unit, comma, dot, marked, both, spaced = counts[9 * at : 9 * at + 9]
        fits = (comma == total, dot == total or not is_text)  # DuckDB has read the latter by their dots
        decimal = tuple(mark for mark, is_fit in zip(_FORMS, fits, strict=True) if is_fit)
        is_unit = least == unit and (_UNIT.fullmatch(unit or "") or unit in CURRENCY_CODES)
        if decimal and (not unit or is_unit or not is_text):
            others = (unit or "", total > 0 < missing, spaced > 0)
            found.append(NumberMarks(column, decimal, marked > 0, both > 0, is_text, *others))
    return found


def _counts(column: str) -> str:
    """Write the SQL that counts what the values of a column are, and finds the first and the last of their units."""
    value = _bare(column)
    unit = f"regexp_replace(CASE WHEN {value} IS NOT NULL THEN {column} END, '[\\d.,+\\-]|{_SPACES}', '', 'g')"
    tests = [f"regexp_full_match({value}, '{form}')" for form in _FORMS.values()]
    tests += [f"regexp_matches({value}, '[.,]')", f"regexp_matches({value}, '[. \\x{{a0}}\\x{{202f}}].*,|,.*\\.')"]
    tests.append(f"regexp_matches({value}, '[\\x{{a0}}\\x{{202f}}]')")
    parts = [f"count({value})", f"count({column}) - count({value})", f"min({unit})", f"max({unit})"]
    return ", ".join([*parts, *(f"count(*) FILTER ({test})" for test in tests)])
