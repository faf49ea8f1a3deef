"""Conditions for stores with few operators: each chunk is stored with its terms, and a condition tests for terms.

A term is a field with one of its values, or the field alone, as JSON text. A condition that terms cannot express, as an
order, is widened; `matches_filter` then selects among the chunks found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from trivium.knowledge.stores._filters import AllOf, Compare, Filter, Not, Scalar, matches_filter, values_of
from trivium.knowledge.stores._records import chunk_of, from_stored, to_stored


@dataclass(frozen=True, slots=True)
class Has:
    """The chunk has a term; if `there` is False, it does not."""

    term: str
    there: bool = True


@dataclass(frozen=True, slots=True)
class Every:
    """Each condition holds; without any it holds for everything."""

    of: tuple[TermFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """One of the conditions holds; without any it holds for nothing."""

    of: tuple[TermFilter, ...] = ()


TermFilter: TypeAlias = Has | Every | Some
NOTHING: Final = Some()
_Row = TypeVar("_Row", bound=Mapping[str, Any])


class Widened(NamedTuple):
    """A condition on terms; if it is not `exact`, it holds for more chunks than the original one."""

    filter: TermFilter
    exact: bool


def terms_of(metadata: Mapping[str, object]) -> list[str]:
    """Return the terms of metadata in the form of `metadata_of`.

    >>> terms_of({"page": 3, "tags": ["a", "b"], "note": None})
    ['["page"]', '["page",3]', '["tags"]', '["tags","a"]', '["tags","b"]']
    """
    found: dict[str, None] = {}
    for field, given in metadata.items():
        for value in values_of(given):
            found[_term(field)] = found[_term(field, from_stored(value) if isinstance(value, str) else value)] = None
    return list(found)


def term(field: str, value: Scalar) -> str:
    """Return the term of a field and a value, both as a user writes them.

    >>> term("source", "a.md")
    '["source","a.md"]'
    """
    return _term(to_stored(field), value)


def widen(condition: Filter, most: int = 1000) -> Widened:
    """Return a condition on terms that holds wherever a condition holds, and for few other chunks.

    Args:
        condition: the condition.
        most: maximum number of terms of the store; a condition that needs more is widened to everything.

    >>> from trivium.knowledge.stores._filters import parse_filter
    >>> widen(parse_filter({"page": 3}))
    Widened(filter=Has(term='["page",3]', there=True), exact=True)
    >>> widen(parse_filter({"page": {"$gt": 3}}))
    Widened(filter=Has(term='["page"]', there=True), exact=False)
    """
    made = _widened(condition, True)
    return made if _size(made.filter) <= most else Widened(Every(), False)


def _size(condition: TermFilter) -> int:
    return 1 if isinstance(condition, Has) else sum(map(_size, condition.of))


def search_widened(
    search: Callable[[TermFilter, int], list[_Row]], k: int, where: Filter, most: int = 1000
) -> list[_Row]:
    """Return the first k rows of a search that match a condition.

    Args:
        search: returns the best rows for a condition on terms and a maximum number, best first.
        k: maximum number of rows.
        where: the condition.
        most: as for `widen`.
    """
    condition, limit = widen(where, most), k
    while True:
        rows = search(condition.filter, limit)
        good = rows if condition.exact else [row for row in rows if metadata_fits(where, row["metadata"])]
        if condition.exact or len(good) >= k or len(rows) < limit:
            return good[:k]
        limit *= 4


def metadata_fits(where: Filter, metadata: str) -> bool:
    """Evaluate a condition on stored metadata, a JSON text."""
    kept = json.loads(metadata)
    return matches_filter(
        where, kept if to_stored(metadata) == metadata else chunk_of("", kept).metadata.model_dump(mode="json")
    )


def negate(condition: TermFilter) -> TermFilter:
    """Return the negation of a condition."""
    if isinstance(condition, Has):
        return Has(condition.term, not condition.there)
    return (Some if isinstance(condition, Every) else Every)(tuple(map(negate, condition.of)))


def _widened(condition: Filter, wider: bool) -> Widened:
    """Return the closest condition on terms that holds for more chunks, or, below a negation, for fewer."""
    if isinstance(condition, Not):
        inner = _widened(condition.of, not wider)
        return Widened(negate(inner.filter), inner.exact)
    if isinstance(condition, Compare):
        return _compared(condition, wider)
    many = [_widened(each, wider) for each in condition.of]
    made = (Every if isinstance(condition, AllOf) else Some)(tuple(each.filter for each in many))
    return Widened(made, all(each.exact for each in many))


def _compared(wanted: Compare, wider: bool) -> Widened:
    field = to_stored(wanted.field)
    if wanted.op not in ("eq", "in"):
        return Widened(Has(_term(field)) if wider else NOTHING, False)
    options = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
    many = tuple(Has(_term(field), False) if each is None else Has(_term(field, each)) for each in options)
    return Widened(many[0] if len(many) == 1 else Some(many), True)


def _term(field: str, *value: Scalar) -> str:
    """Return the term of a field and its values; equal numbers give equal terms."""
    return json.dumps([field, *map(_normalise, value)], ensure_ascii=False, separators=(",", ":"))


def _normalise(value: Scalar) -> Scalar:
    if isinstance(value, str):
        return to_stored(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
