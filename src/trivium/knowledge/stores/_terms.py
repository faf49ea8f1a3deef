"""Conditions for stores that can do little: each chunk is kept with its terms, and a condition asks which it has.

A term is a field with one of its values, or the field alone, as JSON text. What terms cannot say, as an order, is
widened; `matches` then tells which of the chunks that were found do fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from trivium.knowledge.stores._filters import AllOf, Compare, Filter, Not, Scalar, matches, values_of
from trivium.knowledge.stores._records import chunk_of, plain, restored

__all__ = [
    "NOTHING",
    "Every",
    "Has",
    "Some",
    "TermFilter",
    "Widened",
    "fits",
    "found",
    "negated",
    "terms_of",
    "widened",
]


@dataclass(frozen=True, slots=True)
class Has:
    """A chunk has a term; or, if `there` is false, it has not."""

    term: str
    there: bool = True


@dataclass(frozen=True, slots=True)
class Every:
    """Each of them holds; none at all is everything."""

    of: tuple[TermFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """One of them holds; none at all is nothing."""

    of: tuple[TermFilter, ...] = ()


TermFilter: TypeAlias = Has | Every | Some
NOTHING: Final = Some()
Row = TypeVar("Row", bound=Mapping[str, Any])


class Widened(NamedTuple):
    """A condition on terms; if it is not `exact`, it finds more than was asked for."""

    filter: TermFilter
    exact: bool


def terms_of(metadata: Mapping[str, Any]) -> list[str]:
    """The terms of metadata as `metadata_of` gives them.

    >>> terms_of({"page": 3, "tags": ["a", "b"], "note": None})
    ['["page"]', '["page",3]', '["tags"]', '["tags","a"]', '["tags","b"]']
    """
    found: dict[str, None] = {}
    for field, given in metadata.items():
        for value in values_of(given):
            found[_term(field)] = found[_term(field, restored(value) if isinstance(value, str) else value)] = None
    return list(found)


def term(field: str, value: Scalar) -> str:
    """The term of a value, as a user writes both.

    >>> term("source", "a.md")
    '["source","a.md"]'
    """
    return _term(plain(field), value)


def widened(condition: Filter, most: int = 1000) -> Widened:
    """A condition on terms that holds for all that a condition holds for, and hardly more.

    Args:
        condition: the condition.
        most: how many terms a store can be asked for; where that is not enough, everything holds.

    >>> from trivium.knowledge.stores._filters import parse_filter
    >>> widened(parse_filter({"page": 3}))
    Widened(filter=Has(term='["page",3]', there=True), exact=True)
    >>> widened(parse_filter({"page": {"$gt": 3}}))
    Widened(filter=Has(term='["page"]', there=True), exact=False)
    """
    made = _widened(condition, True)
    return made if _size(made.filter) <= most else Widened(Every(), False)


def _size(condition: TermFilter) -> int:
    return 1 if isinstance(condition, Has) else sum(map(_size, condition.of))


def found(search: Callable[[TermFilter, int], list[Row]], k: int, where: Filter, most: int = 1000) -> list[Row]:
    """The first k rows of a search that fit a condition.

    Args:
        search: gives the best rows that fit a condition on terms, up to a number of them, best first.
        k: how many are wanted.
        where: the condition.
        most: as for `widened`.
    """
    condition, limit = widened(where, most), k
    while True:
        rows = search(condition.filter, limit)
        good = rows if condition.exact else [row for row in rows if fits(where, row["metadata"])]
        if condition.exact or len(good) >= k or len(rows) < limit:
            return good[:k]
        limit *= 4


def fits(where: Filter, metadata: str) -> bool:
    """Whether a condition holds for metadata as a store keeps them, as JSON text."""
    kept = json.loads(metadata)
    return matches(where, kept if plain(metadata) == metadata else chunk_of("", kept).metadata.model_dump(mode="json"))


def negated(condition: TermFilter) -> TermFilter:
    """What holds exactly where this does not."""
    if isinstance(condition, Has):
        return Has(condition.term, not condition.there)
    return (Some if isinstance(condition, Every) else Every)(tuple(map(negated, condition.of)))


def _widened(condition: Filter, wider: bool) -> Widened:
    """The nearest condition on terms that holds more often, or, below a Not, less often."""
    if isinstance(condition, Not):
        inner = _widened(condition.of, not wider)
        return Widened(negated(inner.filter), inner.exact)
    if isinstance(condition, Compare):
        return _compared(condition, wider)
    many = [_widened(each, wider) for each in condition.of]
    made = (Every if isinstance(condition, AllOf) else Some)(tuple(each.filter for each in many))
    return Widened(made, all(each.exact for each in many))


def _compared(wanted: Compare, wider: bool) -> Widened:
    field = plain(wanted.field)
    if wanted.op not in ("eq", "in"):
        return Widened(Has(_term(field)) if wider else NOTHING, False)
    options = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
    many = tuple(Has(_term(field), False) if each is None else Has(_term(field, each)) for each in options)
    return Widened(many[0] if len(many) == 1 else Some(many), True)


def _term(field: str, *value: Scalar) -> str:
    """Numbers that are equal give equal terms."""
    return json.dumps([field, *map(_plain, value)], ensure_ascii=False, separators=(",", ":"))


def _plain(value: Scalar) -> Scalar:
    if isinstance(value, str):
        return plain(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
