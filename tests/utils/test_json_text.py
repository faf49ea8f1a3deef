"""The text at a key is read while the object arrives: nothing too early, nothing late, nothing twice."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import jiter
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.streams._json_text import JSONText

from ._answers import FLAG, JSON, SIZES, TEXT, Call, calls, cut


def read(text: str, sizes: list[int] | None = None) -> str:
    reader = JSONText(FLAG)
    return "".join(map(reader.feed, cut(text, sizes or [len(text)])))


@settings(deadline=None)
@given(calls(), SIZES)
def test_however_it_is_cut_it_is_what_json_says(call: Call, sizes: list[int]):
    assert read(call.arguments, sizes) == call.said


@settings(deadline=None)
@given(calls())
def test_each_character_comes_as_soon_as_it_is_whole(call: Call):
    reader, so_far = JSONText(FLAG), ""
    for at, character in enumerate(call.arguments, 1):
        so_far += reader.feed(character)
        assert so_far == known(call.arguments[:at])


def known(text: str) -> str:
    """What another parser of unfinished JSON knows of the wanted text; half an escape says nothing."""
    for end in range(len(text), max(len(text) - 12, 0), -1):
        try:
            value: Any = jiter.from_json(text[:end].encode(), partial_mode="trailing-strings")
        except ValueError:
            continue
        said = value.get(FLAG)
        return said if isinstance(said, str) else ""
    return ""


@settings(deadline=None)
@given(JSON, SIZES)
def test_only_a_text_of_the_outermost_object_counts(value: Any, sizes: list[int]):
    text = value.get(FLAG) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    assert read(json.dumps(value), sizes) == (text if isinstance(text, str) else "")


@settings(deadline=None)
@given(TEXT, SIZES)
def test_text_that_is_no_json_breaks_nothing(text: str, sizes: list[int]):
    read(text, sizes)
    assert read(f'{{"{FLAG}": "{text}', sizes) == read(f'{{"{FLAG}": "{text}')


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r'{"to_user": "\ud83d\ude00"}', "\U0001f600"),
        (r'{"to_user": "\ud83d"}', "\ufffd"),
        (r'{"to_user": "\ud83d\ud83d\ude00\n"}', "\ufffd\U0001f600\n"),
        (r'{"to_user": "\ude00\u00e9"}', "\ufffdé"),
        (r'{"to_user": "\ud83dA\ud83d\u0041"}', "\ufffdA\ufffdA"),
        (r'{"to_user": "a\/\b\f\r\t\\\""}', 'a/\b\f\r\t\\"'),
        (r'{"to\u005fuser": "a"}', "a"),
        ('{"to_user": "a\nb"}', "a\nb"),
        ('[{"to_user": "a"}, "to_user", "b"]', ""),
        ('{"a": "to_user", "to_user" : "b"}', "b"),
        ('{"to_user": ["a", {"to_user": "b"}], "c": "d"}', ""),
        ('  {"to_user":"a"}  ', "a"),
        ('"to_user": "a"', ""),
        ('[1, {"to_user": "a"}, "to_user", "b"]', ""),
        ('["a", "to_user", {"b": "to_user"}, ["c"]]', ""),
    ],
)
def test_escapes_and_places(text: str, wanted: str):
    assert {read(text, [size]) for size in range(1, len(text) + 1)} == {wanted}


@settings(deadline=None)
@given(st.integers(1, 40))
def test_it_knows_where_it_is(size: int):
    reader = JSONText(FLAG)
    states: list[tuple[bool, bool]] = []
    for piece in ('{"a": [{}, 1], "to_user": ', '"b', '"', "}"):
        for part in cut(piece, [size]):
            reader.feed(part)
        states.append((reader.reading, reader.closed))
    assert states == [(False, False), (True, False), (False, False), (False, True)]


@pytest.mark.parametrize("filler", ["a", r"\n", r"\ud83d\ude00", '", "b": "c'])
def test_four_times_the_text_takes_about_four_times_as_long(filler: str):
    """A reader that goes back over what it has read would take sixteen times as long."""

    def seconds(size: int) -> float:
        run = filler * (size // len(filler))
        text = f'{{"a": {{"b": "{run}"}}, "to_user": "{run}"}}'
        reader, start = JSONText(FLAG), process_time()
        for character in text:
            reader.feed(character)
        return process_time() - start

    ratios = (seconds(125_000) / seconds(31_250) for _ in range(5))
    assert any(ratio < 8 for ratio in ratios)
