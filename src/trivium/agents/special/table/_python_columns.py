"""Columns of Python's own values, as DuckDB reads them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from trivium.exceptions import ConfigurationError, RecursionTooDeepError

NULL: Final = "\\N"
"""What stands for a missing value in the file."""
UNSAVED: Final = {"formula": ""}
"""What stands for a formula of a sheet without a saved value; a missing value in the file."""
_TYPES: Final[Mapping[type, str]] = {
    bool: "BOOLEAN", float: "DOUBLE", datetime.datetime: "TIMESTAMP", datetime.date: "DATE", datetime.time: "TIME",
    datetime.timedelta: "INTERVAL",
}  # fmt: skip
_WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "DOUBLE": ("HUGEINT", "BIGINT", "DECIMAL"),
    "DECIMAL": ("HUGEINT", "BIGINT"),
    "HUGEINT": ("BIGINT",),
    "TIMESTAMP": ("DATE",),
}
_UNSAVED_COMMENT: Final = "NULL where a formula has no saved value: the file is to be saved by Excel first"
_WIDE_COMMENT: Final = "CAST(… AS DOUBLE) in a product, which has too many digits else"
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_DIGITS: Final = 38  # of a DECIMAL
_BIG, _HUGE = 1 << 63, 1 << 127


class PythonColumn:
    """A column of Python values: collects their types, and writes them as cells of a temporary CSV file."""

    def __init__(self, header: object) -> None:
        self.header = "" if header is None else str(header)
        self._types: set[str] = set()
        self._largest = self._decimals = 0
        self._has_unsaved = False

    def cell(self, value: object) -> str:
        """Write a value: in quotes, unless it is NULL.

        Raises:
            ConfigurationError: the value is an integer that DuckDB cannot hold.
            RecursionTooDeepError: the value is nested too deeply to be written.
        """
        value = _without_numpy(value)
        self._has_unsaved = self._has_unsaved or value is UNSAVED
        if value is None or value is UNSAVED:
            return NULL
        self._types.add(self._type_of(value))
        try:
            text = _written(value)
        except RecursionError:
            raise RecursionTooDeepError.of(f"a value of the column {self.header!r}") from None
        return '"' + text.replace("\0", "").replace('"', '""') + '"'

    def _type_of(self, value: object) -> str:
        if type(value) is int:
            if not -_HUGE < value < _HUGE:
                raise ConfigurationError(
                    f"the column {self.header!r} has {str(value)[:60]}, which DuckDB cannot hold: "
                    "give it as a float or as text"
                )
            self._largest = max(self._largest, abs(value))
            return "BIGINT" if -_BIG <= value < _BIG else "HUGEINT"
        if type(value) is Decimal:
            if not _is_exact(value):
                return "DOUBLE"
            self._largest = max(self._largest, abs(int(value)))
            self._decimals = max(self._decimals, -int(value.as_tuple().exponent))
            return "DECIMAL"
        kind = _TYPES.get(type(value), "VARCHAR")
        is_time = isinstance(value, datetime.datetime | datetime.time)
        return f"{kind}TZ" if is_time and kind != "VARCHAR" and value.utcoffset() is not None else kind

    @property
    def type(self) -> str:
        """The type that holds all values; VARCHAR if there is no other."""
        kinds = {kind for kind in self._types if self._types <= {kind, *_WIDER.get(kind, ())}}
        if kinds != {"DECIMAL"}:
            return next(iter(kinds), "VARCHAR")
        return f"DECIMAL({self._digits}, {self._decimals})" if self._digits <= _DIGITS else "DOUBLE"

    @property
    def _digits(self) -> int:
        return len(str(self._largest)) + self._decimals

    @property
    def comment(self) -> str:
        """What the model is told of the column; "" if there is nothing to say."""
        is_wide = self.type.startswith("DECIMAL") and self._digits > _DIGITS // 2
        return "; ".join([_UNSAVED_COMMENT] * self._has_unsaved + [_WIDE_COMMENT] * is_wide)


def _without_numpy(value: Any) -> object:
    """Return Python's value for a scalar of numpy."""
    if type(value).__module__ != "numpy" or value.shape:
        return value
    plain, kind = value.item(), value.dtype.kind
    if kind in "mM" and isinstance(plain, int):  # of nanoseconds, which Python's times have not
        plain = value.astype(f"{kind}8[us]").item()
        return str(value) if isinstance(plain, int) else plain  # a year that Python's times have not
    return plain


def _is_exact(number: Decimal) -> bool:
    return number.is_finite() and number.adjusted() < _DIGITS and -int(number.as_tuple().exponent) <= _DIGITS


def _written(value: object) -> str:
    if isinstance(value, datetime.timedelta):
        seconds, rest = divmod(abs(value // _MICROSECOND), 10**6)
        sign, part = "-" if value.days < 0 else "", f".{rest:06}" if rest else ""
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{part}"
    if isinstance(value, Decimal) and _is_exact(value):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
