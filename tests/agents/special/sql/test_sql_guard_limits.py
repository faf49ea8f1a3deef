"""The time that the guard takes, and the numbers that it reads."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest

from trivium.agents.special.sql import check_query
from trivium.exceptions import QueryRefusedError

from ._legal import LEGAL


@pytest.mark.parametrize("dialect", sorted(LEGAL))
@pytest.mark.parametrize(
    "brackets", ["ARRAY[ ]", "[ ]", "{ }", "[{'a': }]", "{'a': }", "[1, ]", "ARRAY[{ }]", "f([ ])"]
)
def test_brackets_that_a_parser_tries_in_several_ways_are_read_or_refused_at_once(dialect: str, brackets: str) -> None:
    opening, closing = brackets.rsplit(" ", 1)
    began = process_time()
    for depth in (8, 14, 29):
        with suppress(QueryRefusedError):
            check_query(f"SELECT {opening * depth}1{closing * depth}", dialect)
    assert process_time() - began < 2  # 26 seconds for a depth of 8, and twice or four times as many for each more


def test_a_long_plain_query_with_lists_is_read() -> None:
    lists = ", ".join("ARRAY[ARRAY[1, 2], ARRAY[3]]" for _ in range(600))
    assert check_query(f"SELECT {lists}", "postgres") == f"SELECT {lists}"


@pytest.mark.parametrize("dialect", sorted(LEGAL))
def test_a_limit_with_too_many_digits_is_refused(dialect: str) -> None:
    with pytest.raises(QueryRefusedError, match="LIMIT is no plain number"):
        check_query(f"SELECT 1 LIMIT {'9' * 5000}", dialect, max_rows=50)
