"""Bodies in pieces, types and texts, as the parsers alone see them; and the table of what was used last."""

from __future__ import annotations

import gzip
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _bombs import packed_zeros
from trivium.actions.web._cache import Recent
from trivium.actions.web._pages import Download, Unpacker, read_page, wrong_type
from trivium.exceptions import FetchConnectionError, FetchTooLargeError


def fed(data: bytes, cuts: list[int], encoding: str, limit: int) -> bytes:
    """The body, given in pieces."""
    body = Unpacker("http://site.example/", encoding, limit)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        body.feed(data[start:end])
    return body.end()


@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=9), st.booleans())
def test_a_body_is_the_same_however_it_is_cut(data: bytes, cuts: list[int], packed: bool) -> None:
    sent = gzip.compress(data) if packed else data
    assert fed(sent, cuts, "gzip" if packed else "", 4000) == data


@given(st.integers(0, 3000), st.lists(st.integers(0, 3000), max_size=9), st.booleans(), st.integers(100, 3000))
def test_no_body_is_larger_than_the_limit(size: int, cuts: list[int], packed: bool, limit: int) -> None:
    data = bytes(size)
    sent = gzip.compress(data) if packed else data
    if size > limit:
        with pytest.raises(FetchTooLargeError):
            fed(sent, cuts, "gzip" if packed else "", limit)
    else:
        assert fed(sent, cuts, "gzip" if packed else "", limit) == data


@pytest.mark.parametrize("size", [1 << 10, 1 << 20])
def test_a_bomb_is_never_unpacked(size: int) -> None:
    bomb = packed_zeros(100 << 20)
    body = Unpacker("http://site.example/", "gzip", size)
    tracemalloc.start()
    try:
        with pytest.raises(FetchTooLargeError):
            body.feed(bomb)
        assert tracemalloc.get_traced_memory()[1] < 4 * size + (1 << 20)
    finally:
        tracemalloc.stop()


@given(st.binary(min_size=1, max_size=500), st.lists(st.integers(0, 500), max_size=5))
def test_any_bytes_are_unpacked_or_a_broken_connection(data: bytes, cuts: list[int]) -> None:
    with pytest.raises(FetchConnectionError):
        fed(data, cuts, "gzip", 10_000)


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "application/json"]), st.text(max_size=20))
def test_any_bytes_are_a_page_that_can_be_stored(data: bytes, kind: str, charset: str) -> None:
    page = read_page(Download("http://site.example/", f"{kind}; charset={charset}", data))
    (page.text + page.title).encode()
    assert not set(map(chr, range(32))) - {"\n", "\t"} & set(page.text)


@given(st.text(max_size=60))
def test_any_content_type_can_be_reported(header: str) -> None:
    error = wrong_type("http://site.example/", 200, header)
    assert error is None or str(error).isprintable()


def test_the_table_drops_what_was_not_used_for_longest() -> None:
    table = Recent[str, int](2)
    table.put("a", 1)
    table.put("b", 2)
    assert table.get("a") == 1
    table.put("c", 3)
    assert (table.get("a"), table.get("b"), table.get("c"), len(table)) == (1, None, 3, 2)


def test_the_table_drops_what_is_too_old() -> None:
    now = [0.0]
    table = Recent[str, int](2, 10, clock=lambda: now[0])
    table.put("a", 1)
    now[0] = 9.9
    assert table.get("a") == 1  # to be read does not make it younger
    now[0] = 10
    assert (table.get("a"), len(table)) == (None, 0)
