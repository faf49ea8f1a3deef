"""Conditions on metadata: how they are read, what they mean, and that every store gives the same."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from knowledge.stores._kinds import KINDS, Kind, Words
from trivium.exceptions import FilterError
from trivium.knowledge import Chunk, VectorStore
from trivium.knowledge.stores import AllOf, AnyOf, Compare, Not, matches_filter, parse_filter
from trivium.knowledge.stores._records import from_stored, metadata_of

BIG = 2**63


# ---- reading
@pytest.mark.parametrize(
    ("where", "tree"),
    [
        (None, AllOf(())),
        ("", AllOf(())),
        ("{}", AllOf(())),
        ({"a": 1}, Compare("a", "eq", 1)),
        ('{"a": {"$ne": null}}', Not(Compare("a", "eq", None))),
        ({"a": {"$gt": 1, "$lte": 2.5}}, AllOf((Compare("a", "gt", 1), Compare("a", "lte", 2.5)))),
        ({"$or": [{"a": "x"}, {"b": 1}]}, AnyOf((Compare("a", "eq", "x"), Compare("b", "eq", 1)))),
        ({"b": {"$in": [1, None]}}, Compare("b", "in", (1, None))),
        ({"$nor": [{"a": True}]}, Not(AnyOf((Compare("a", "eq", True),)))),
        ({"$and": []}, AllOf(())),
        ({"$or": []}, AnyOf(())),
        ({"a": {"$not": {"$prefix": "x"}}}, Not(Compare("a", "prefix", "x"))),
        ({"$not": {"a": 1, "b": 2}}, Not(AllOf((Compare("a", "eq", 1), Compare("b", "eq", 2))))),
        ({"a": numpy.int64(3)}, Compare("a", "eq", 3)),
        ({"a": {"$nin": ("x",)}}, Not(Compare("a", "in", ("x",)))),
    ],
)  # fmt: skip
def test_a_condition_is_read(where: Any, tree: Any) -> None:
    assert parse_filter(where) == tree


@pytest.mark.parametrize(
    ("where", "path", "said"),
    [
        ("{", "", "not JSON"),
        ("[1]", "", "no dict of conditions"),
        ({"$or": {"a": 1}}, "$or", "a list of conditions"),
        ({"$or": [{"a": {"$over": 1}}]}, "$or[0].a", "no operator '$over'"),
        ({"$over": 1}, "$over", "no operator"),
        ({"a": {}}, "a", "empty dict"),
        ({"a": {"b": 1}}, "a", "no operator 'b'"),
        ({"a": [1]}, "a", "not a text, a finite number"),
        ({"a": float("nan")}, "a", "finite"),
        ({"a": BIG}, "a", "64 bits"),
        ({"a": {"$gt": None}}, "a.$gt", "number or a text"),
        ({"a": {"$lt": True}}, "a.$lt", "number or a text"),
        ({"a": {"$prefix": 3}}, "a.$prefix", "needs a text"),
        ({"a": {"$in": "abc"}}, "a.$in", "needs a list"),
        ({"a": {"$in": [[1]]}}, "a.$in", "not a text, a finite number"),
        ({"": 1}, "", "no text"),
        ({3: 1}, "", "no text"),
        ({"$or": [{"a": 1}] * 1000}, "a", "more than 1000 conditions"),
        ({"a": {"$in": [*range(10_001)]}}, "a.$in", "more than 10000 numbers"),
        (7, "", "no dict"),
        ("notes.md", "", 'as {"source": "notes.md"}'),
    ],
)
def test_a_condition_that_is_none_is_reported_with_its_place(where: Any, path: str, said: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(where)
    assert said in str(caught.value)
    assert path in caught.value.path


def test_a_condition_may_not_be_nested_without_end() -> None:
    deep: dict[str, Any] = {"a": 1}
    for _ in range(100_000):
        deep = {"$not": deep}
    with pytest.raises(FilterError, match="deeper"):
        parse_filter(deep)
    with pytest.raises(FilterError):
        parse_filter('{"$not":' * 100_000)


NAMES = st.sampled_from(["$and", "$not", "$in", "$eq", "a"])


@settings(max_examples=50)
@given(
    st.text()
    | st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(NAMES, x))
)
def test_whatever_is_given_is_read_or_reported(where: Any) -> None:
    for given_ in (where, json.dumps(where)):
        try:
            tree = parse_filter(given_)
        except FilterError as error:
            assert str(error)  # noqa: PT017 - one of two outcomes
        else:
            assert isinstance(matches_filter(tree, {"a": 1}), bool)


# ---- meaning
META = {"page": 3, "tags": ["a", "b", 7], "ok": True, "none": None, "empty": [], "deep": {"x": 1}, "day": "2026-11-22"}


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ({"page": 3.0}, True),
        ({"page": "3"}, False),
        ({"ok": 1}, False),
        ({"ok": True}, True),
        ({"page": {"$in": [True, 3]}}, True),
        ({"tags": "b"}, True),
        ({"tags": {"$ne": "b"}}, False),
        ({"tags": {"$gt": 6}}, True),
        ({"tags": {"$gt": "a", "$lt": "b"}}, True),  # each by a value of its own
        ({"none": None}, True),
        ({"missing": None}, True),
        ({"empty": None}, True),
        ({"deep": None}, True),
        ({"page": None}, False),
        ({"missing": {"$ne": 3}}, True),
        ({"missing": {"$not": {"$gt": 3}}}, True),
        ({"missing": {"$lt": 3}}, False),
        ({"missing": {"$nin": ["x"]}}, True),
        ({"missing": {"$in": ["x", None]}}, True),
        ({"missing": {"$in": []}}, False),
        ({"day": {"$gte": "2026", "$lt": "2027"}}, True),
        ({"day": {"$prefix": "2026-11"}}, True),
        ({"day": {"$prefix": ""}}, True),
        ({"page": {"$prefix": ""}}, False),
        ({"page": {"$lt": "x"}}, False),
        ({"$and": [{"page": 3}, {"ok": False}]}, False),
        ({"$or": [{"page": 3}, {"ok": False}]}, True),
        ({"$or": []}, False),
        ({"$nor": []}, True),
        (None, True),
    ],
)
def test_what_a_condition_means(where: Any, holds: bool) -> None:
    assert matches_filter(parse_filter(where), META) is holds


# ---- every store gives the same
NUMBERS = st.sampled_from([0, 1, -1, 2, 3, 0.5, 1.0, 1.5, -2.5, BIG - 1, -BIG, 1e300, 2**53 + 1, float(2**53), 1e-320])
TEXTS = st.sampled_from([*"aAb13é\0𝄞'%", "", "ab", "abc", "true", "a\0b", "\ud800", "\ue000", "null"])
SCALARS = NUMBERS | TEXTS | st.booleans()
OWN = ("x", "y", "z.w", 'q"', "é")
FIELDS = st.sampled_from([*OWN, "source", "page", "line", "position", "title", "heading", "id", "is_chunk", "pages"])
EXTRA = st.dictionaries(
    st.sampled_from(OWN),
    SCALARS | st.none() | st.lists(SCALARS | st.none(), max_size=3) | st.just({"a": 1}) | st.just(10**30),
)
KNOWN = st.fixed_dictionaries(
    {},
    optional={
        "source": TEXTS,
        "page": st.integers(0, 3) | st.none(),
        "line": st.integers(0, 3),
        "position": st.integers(0, 3),
        "title": TEXTS,
        "heading": TEXTS,
        "is_chunk": st.booleans(),
        "pages": st.lists(st.integers(0, 3), max_size=2).map(tuple),
    },
)
TESTS = st.one_of(
    SCALARS | st.none(),
    st.fixed_dictionaries({"$ne": SCALARS | st.none()}),
    st.fixed_dictionaries({"$in": st.lists(SCALARS | st.none(), max_size=3)}),
    st.fixed_dictionaries({"$nin": st.lists(SCALARS | st.none(), max_size=3)}),
    st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), NUMBERS | TEXTS, min_size=1, max_size=2),
    st.fixed_dictionaries({"$prefix": TEXTS}),
    st.fixed_dictionaries({"$not": st.fixed_dictionaries({"$gte": NUMBERS | TEXTS})}),
)
WHERE: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(FIELDS, TESTS, max_size=2),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["$and", "$or", "$nor"]), st.lists(inner, max_size=3), min_size=1, max_size=2),
        st.fixed_dictionaries({"$not": inner}),
    ),
    max_leaves=5,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(rows=[({"x": True}, {}), ({"x": 1}, {}), ({}, {})], wheres=[{"x": 1}, {"x": True}, {"x": None}])
@example(rows=[({"x": "\0"}, {}), ({"x": "\ud800"}, {})], wheres=[{"x": {"$gt": "z"}}, {"x": {"$lt": "\ud800"}}])
@given(rows=st.lists(st.tuples(EXTRA, KNOWN), min_size=1, max_size=6), wheres=st.lists(WHERE, min_size=3, max_size=6))
def test_a_store_finds_what_the_condition_says(
    store: VectorStore, kind: Kind, rows: list[tuple[dict[str, Any], dict[str, Any]]], wheres: list[dict[str, Any]]
) -> None:
    if kind not in KINDS and len(rows) % 3:  # fewer examples where each takes its time
        return
    store.delete({})
    chunks = [Chunk.of("text", id=f"{at}", **extra, **known) for at, (extra, known) in enumerate(rows)]
    store.add_documents(chunks)
    vector = Words().embed(["text"])[0]
    for where in wheres:
        tree = parse_filter(where)
        right = {chunk.metadata.id for chunk in chunks if matches_filter(tree, chunk.metadata.model_dump(mode="json"))}
        assert {chunk.metadata.id for chunk in store.scan(where)} == right, where
        assert store.count(where) == len(right)
        assert {hit.chunk.metadata.id for hit in store.nearest(vector, 9, where)} == right
        found = store.full_text("text", 9, where)
        assert found is None or {hit.chunk.metadata.id for hit in found} == right
    assert store.delete(wheres[0]) == len(
        [1 for chunk in chunks if matches_filter(parse_filter(wheres[0]), chunk.metadata.model_dump(mode="json"))]
    )
    assert store.count(wheres[0]) == 0


def test_a_list_of_values_may_be_long(store: VectorStore) -> None:
    store.add_documents([Chunk.of("text", id=f"{at}", x=at, y=f"{at}") for at in range(10)])
    assert store.count({"y": {"$in": [f"{at}" for at in range(5, 33_000)]}}) == 5
    assert store.count({"id": {"$nin": [f"{at}" for at in range(5, 33_000)]}}) == 5
    assert store.count({"x": {"$in": [*range(5, 10_000)]}}) == 5
    assert store.count({"$or": [{"x": at} for at in range(5, 400)]}) == 5


def test_values_in_a_condition_are_never_code(store: VectorStore) -> None:
    store.add_documents([Chunk.of("text", id="1", x="y")])
    for evil in ("' OR 1=1 --", '" OR 1=1 --', "x) OR (1=1", "?", "#", "@", "{0}", "key", "1 OR served"):
        assert store.count({"x": evil}) == store.count({evil: "y"}) == 0
        assert store.count({"x": {"$ne": evil}}) == 1
        assert store.delete({evil: evil}) == 0
    assert store.count() == 1


@settings(max_examples=50)
@given(st.dictionaries(st.text(), st.text() | st.lists(st.text())))
def test_metadata_keep_their_order_and_their_differences(extra: dict[str, Any]) -> None:
    chunk = Chunk.of("x", id="1")
    chunk.metadata.__pydantic_extra__ = extra
    plain = metadata_of(chunk)
    assert len(plain) == len(chunk.metadata.model_dump())
    assert [from_stored(name) for name in plain] == list(chunk.metadata.model_dump())
