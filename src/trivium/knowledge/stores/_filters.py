"""Conditions on metadata: a small language, parsed to a tree that every store compiles.

`matches_filter` defines the meaning; each store gives the same results. A field of the metadata has *values*: a scalar
is one value, a list has its scalars, and a missing field, null, an empty list or a dict has none. A comparison holds if
one of the values fits. Texts, numbers and truth values never compare with each other: `{"page": "3"}` does not
find page 3. `None` finds chunks without a value. `$ne`, `$nin` and `$not` are the exact negations of their opposites.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from trivium.exceptions import FilterError
from trivium.knowledge.stores._records import to_stored

Scalar: TypeAlias = str | int | float | bool
Where: TypeAlias = Mapping[str, Any] | str | None
"""A condition on metadata: a dict as `{"source": "a.md", "page": {"$gte": 3}}`, the same as JSON, or None for all."""

Operator: TypeAlias = Literal["eq", "in", "gt", "gte", "lt", "lte", "prefix"]
_MAX_DEPTH: Final = 30
_MAX_CONDITIONS: Final = 1000  # longer alternatives are a list, for `$in`
_MAX_NUMBERS: Final = 10_000  # in a list; texts may be any number
_LARGEST: Final = sys.float_info.max
_OPERATORS: Final = ("$eq", "$ne", "$in", "$nin", "$gt", "$gte", "$lt", "$lte", "$prefix", "$not")


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison: it holds if one of the field's values fits.

    Args:
        field: its name; never empty, never begins with "$".
        op: "eq" takes a scalar, or None for no value; "in" takes a tuple of these; "gt", "gte", "lt" and "lte" take a
            number or a text, and texts are compared by code points; "prefix" takes a text.
        value: the value to compare with. Numbers are finite, and whole ones have at most 64 bits.
    """

    field: str
    op: Operator
    value: Scalar | tuple[Scalar | None, ...] | None


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction: each condition holds; without any it holds for everything."""

    of: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction: one of the conditions holds; without any it holds for nothing."""

    of: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A negation: the condition does not hold."""

    of: Filter


Filter: TypeAlias = Compare | AllOf | AnyOf | Not
"""A parsed condition, of one of four classes."""


def parse_filter(where: Where) -> Filter:
    """Parse a condition.

    Args:
        where: a dict, or one as JSON; None, "" and {} hold for everything. All entries must hold. A field takes a
            value, or operators: `$eq $ne $in $nin $gt $gte $lt $lte $prefix $not`. `$and`, `$or` and `$nor` take lists
            of conditions, `$not` takes one.

    Raises:
        FilterError: it is not valid; the message names the place.

    Example:
        >>> parse_filter({"source": "a.md", "page": {"$gte": 3}})
        AllOf(of=(Compare(field='source', op='eq', value='a.md'), Compare(field='page', op='gte', value=3)))
        >>> parse_filter({"page": {"$gt": None}})
        Traceback (most recent call last):
        ...
        trivium.exceptions.FilterError: the filter needs a number or a text at page.$gt: None
    """
    if isinstance(where, str):
        try:
            where = cast("Where", json.loads(where)) if where.strip() else None
        except (ValueError, RecursionError) as error:
            advice = 'give a dict or JSON, as {"source": "notes.md"} for all of one source'
            raise FilterError(f"the filter is not JSON ({error}): {advice}") from None
    return _Reader().conditions({} if where is None else where, "", 0)


class _Reader:
    """Parses one filter, and counts its conditions."""

    def __init__(self) -> None:
        self._count = 0

    def conditions(self, given: object, path: str, depth: int) -> Filter:
        if not isinstance(given, Mapping):
            raise _wrong("is no dict of conditions", given, path)
        self._check(depth, path)
        entries = cast("Mapping[Any, Any]", given)
        return _all_of([self._entry(name, value, path, depth) for name, value in entries.items()])

    def _entry(self, name: object, given: object, path: str, depth: int) -> Filter:
        if not isinstance(name, str) or not name:
            raise _wrong("has a field whose name is no text", name, path)
        here = f"{path}.{name}" if path else name
        if name in ("$and", "$or", "$nor"):
            if not isinstance(given, list | tuple):
                raise _wrong("needs a list of conditions", given, here)
            listed = cast("Sequence[Any]", given)
            many = tuple(self.conditions(each, f"{here}[{i}]", depth + 1) for i, each in enumerate(listed))
            if name == "$and":
                return _all_of(list(many))
            return AnyOf(many) if name == "$or" else Not(AnyOf(many))
        if name == "$not":
            return Not(self.conditions(given, here, depth + 1))
        if name.startswith("$"):
            raise FilterError(f"the filter has no operator '{name}' at {path or 'its top'}", here)
        return self._field(name, given, here, depth)

    def _field(self, field: str, given: object, path: str, depth: int) -> Filter:
        self._check(depth, path)
        if not isinstance(given, Mapping):
            return Compare(field, "eq", _scalar(given, path))
        operators = cast("Mapping[Any, Any]", given)
        if not operators:
            raise FilterError(f"the filter compares with an empty dict at {path}: give a value or an operator", path)
        return _all_of([self._compared(field, op, value, path, depth) for op, value in operators.items()])

    def _compared(self, field: str, op: object, given: object, path: str, depth: int) -> Filter:
        if op not in _OPERATORS:
            raise FilterError(f"the filter has no operator {op!r} at {path}: there are {' '.join(_OPERATORS)}", path)
        path = f"{path}.{op}"
        if op == "$not":
            return Not(self._field(field, given, path, depth + 1))
        if op in ("$eq", "$ne"):
            equal = Compare(field, "eq", _scalar(given, path))
            return equal if op == "$eq" else Not(equal)
        if op in ("$in", "$nin"):
            if not isinstance(given, list | tuple | set | frozenset):
                raise _wrong("needs a list of values", given, path)
            listed = cast("Sequence[Any]", given)
            values = tuple(_scalar(each, path) for each in listed)
            if sum(not isinstance(each, str) for each in values) > _MAX_NUMBERS:
                raise FilterError(f"the filter has more than {_MAX_NUMBERS} numbers in a list at {path}", path)
            within = Compare(field, "in", values)
            return within if op == "$in" else Not(within)
        value = _scalar(given, path)
        if isinstance(value, bool) or value is None or (op == "$prefix" and not isinstance(value, str)):
            raise _wrong("needs a text" if op == "$prefix" else "needs a number or a text", given, path)
        return Compare(field, cast("Operator", op[1:]), value)

    def _check(self, depth: int, path: str) -> None:
        self._count += 1
        if depth > _MAX_DEPTH:
            raise FilterError(f"the filter is nested deeper than {_MAX_DEPTH}", path)
        if self._count > _MAX_CONDITIONS:
            raise FilterError(
                f"the filter has more than {_MAX_CONDITIONS} conditions: put values in a list, by $in", path
            )


def _all_of(many: list[Filter]) -> Filter:
    return many[0] if len(many) == 1 else AllOf(tuple(many))


def _scalar(given: Any, path: str) -> Scalar | None:
    if hasattr(given, "item") and not isinstance(given, str | int | float):  # a scalar of numpy
        given = given.item()
    if given is None or isinstance(given, str | bool):
        return given
    if isinstance(given, int) and -(2**63) <= given < 2**63:
        return int(given)
    if isinstance(given, float) and math.isfinite(given):
        return float(given)
    raise _wrong("compares with a value that is not a text, a finite number of 64 bits, a bool or None", given, path)


def _wrong(what: str, given: Any, path: str) -> FilterError:
    said = repr(given)
    said = said if len(said) <= 60 else f"{said[:57]}..."
    return FilterError(f"the filter {what} at {path or 'its top'}: {said}", path)


def matches_filter(condition: Filter, metadata: Mapping[str, object]) -> bool:
    """Evaluate a condition on metadata, a dict of JSON values. Every store must give the same result.

    Example:
        >>> matches_filter(parse_filter({"tags": "b", "page": {"$ne": 3}}), {"tags": ["a", "b"]})
        True
    """
    if isinstance(condition, Compare):
        return _fits(condition, list(values_of(metadata.get(condition.field))))
    if isinstance(condition, Not):
        return not matches_filter(condition.of, metadata)
    check = all if isinstance(condition, AllOf) else any
    return check(matches_filter(each, metadata) for each in condition.of)


def values_of(given: object) -> Iterator[Scalar]:
    """Return the values of a field: its scalar, or the scalars of its list."""
    for each in cast("list[Any]", given) if isinstance(given, list | tuple) else (given,):
        if isinstance(each, str | bool):
            yield each
        elif isinstance(each, int | float) and abs(each) <= _LARGEST:
            yield each if isinstance(each, float) or -(2**63) <= each < 2**63 else float(each)


def _fits(wanted: Compare, values: list[Scalar]) -> bool:
    options = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
    if wanted.op in ("eq", "in"):
        return any(
            not values if each is None else any(_kind(each) == _kind(value) and each == value for value in values)
            for each in options
        )
    bound = cast("Any", wanted.value)
    return any(holds_order(wanted.op, value, bound) for value in values if _kind(value) == _kind(bound))


def holds_order(op: Operator, value: Any, bound: Any) -> bool:
    """Evaluate an order or a prefix on two values of the same kind."""
    if op == "prefix":
        return value.startswith(bound)
    if isinstance(bound, str):  # compare texts as stores keep them
        value, bound = to_stored(value), to_stored(bound)
    if op in ("gt", "gte"):
        return value > bound or (op == "gte" and value == bound)
    return value < bound or (op == "lte" and value == bound)


def _kind(value: Scalar) -> type:
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float
