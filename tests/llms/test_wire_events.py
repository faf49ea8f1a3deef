"""Server-sent events, however they are cut, ended and mixed with what is none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import MalformedAnswerError
from trivium.llms.wire._events import MAX_BYTES, EventDecoder

LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1, max_size=20)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
COMMENTS = st.lists(st.sampled_from([": ping", "event: x", "id: 7", "retry: 1", "database: no"]), max_size=2)


def events_of(data: bytes, *cuts: int) -> list[bytes]:
    """The events of a body that is cut at these places."""
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    decoder = EventDecoder()
    found = [event for start, end in pairwise(edges) for event in decoder.feed(data[start:end])]
    return [*found, *decoder.end()]


@given(
    st.lists(st.tuples(COMMENTS, st.lists(LINES, min_size=1, max_size=3)), max_size=4),
    ENDS,
    st.booleans(),
    st.lists(st.integers(0, 300), max_size=12),
)
def test_every_event_comes_out_wherever_the_body_is_cut(
    events: list[tuple[list[str], list[str]]], newline: str, has_mark: bool, cuts: list[int]
) -> None:
    body = "".join(
        newline.join([*comments, *(f"data: {line}" for line in lines), "", ""]) for comments, lines in events
    )
    data = ("\ufeff" if has_mark else "") + body
    assert events_of(data.encode(), *cuts) == ["\n".join(lines).encode() for _, lines in events]


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_any_bytes_give_the_same_events_in_one_piece_and_in_many(data: bytes, cuts: list[int]) -> None:
    assert events_of(data, *cuts) == events_of(data)


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data\n\n", [b""]),
        (b"data:\n\n", [b""]),
        (b"data:  two spaces\n\n", [b" two spaces"]),
        (b": only\n\n:comments\n\n", []),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\n", [b"a"]),
        (b"", []),
    ],
)
def test_the_corners_of_the_format(body: bytes, events: list[bytes]) -> None:
    assert events_of(body) == events


def test_the_two_ends_of_a_line_may_come_apart() -> None:
    body = b"data: a\r\ndata: b\r\n\r\n"
    assert [events_of(body, cut) for cut in range(1, len(body))] == [[b"a\nb"]] * (len(body) - 1)


def test_an_event_without_end_is_given_up() -> None:
    body = b"data: x\n" + b"y" * MAX_BYTES
    with pytest.raises(MalformedAnswerError, match="64 MB"):
        events_of(body, MAX_BYTES // 2)


def test_many_events_are_not_one_that_is_too_long() -> None:
    decoder = EventDecoder()
    event = b"data: " + b"x" * (MAX_BYTES // 4) + b"\n\n"
    assert sum(len(found) for _ in range(6) for found in decoder.feed(event)) == 6 * (MAX_BYTES // 4)
