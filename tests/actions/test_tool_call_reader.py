"""Tool calls in a text that arrives in pieces: how it was cut changes nothing, and text does not wait long."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise
from typing import Any

import jiter
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trivium.schema import ToolCall
from trivium.schema._lenient_json import DEEPEST, QUOTES, read_json
from trivium.schema._tool_text import ToolCallReader, tool_calls_in

scraps = st.sampled_from(
    ['{"request": "add", "a": 1}', '{"a": {"request": "x"}}', '{"request": 3}', "{", "}", '"', "\\", " ", "a", "{x",
     '{"a"', ":", '"request"', ",", "[", "]", '{"request": "q", "t": "}{\\""}', "\n", "ü", '{"request": "a" b}',
     "{'request': 'q', 't': '}'}", "{'", "{request:", "'", '{"properties": {"request": "p"}}', "{“request”: “q”}"]
)  # fmt: skip
texts = st.lists(scraps, max_size=12).map("".join) | st.text()


def plainly(text: str) -> tuple[str, list[tuple[str, str]]]:
    """What is text and what is called, found in the slowest and plainest way: an object may end at any brace."""
    said, calls, at = "", list[tuple[str, str]](), 0
    while at < len(text):
        end = next((e for e in range(at + 1, len(text) + 1) if text[at] == "{" and is_object(text[at:e])), None)
        values: dict[str, Any] = {} if end is None else read_json(text[at:end])
        name = values.pop("request", None)
        if isinstance(name, str) and name:
            calls.append((name, json.dumps(values, ensure_ascii=False) if is_strict(text[at:end]) else text[at:end]))
        else:
            said += text[at : end or at + 1]
        at = end or at + 1
    return said, calls


def is_object(text: str) -> bool:
    first = text[1:].lstrip()
    if not re.match(r"""["}]|['“]?request""", first):
        return False
    try:
        return text.endswith("}") and isinstance(read_json(text, '"' if first[0] in '"}' else QUOTES), dict)
    except ValueError:
        return False


def is_strict(text: str) -> bool:
    try:
        jiter.from_json(text.encode(), catch_duplicate_keys=True, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def read(*pieces: str) -> tuple[str, list[tuple[str, str]]]:
    reader = ToolCallReader()
    parts = [part for piece in pieces for part in reader.feed(piece)] + reader.feed("", is_end=True)
    calls = [part for part in parts if isinstance(part, ToolCall)]
    assert {call.id for call in calls} <= {""}, "they were written as text"
    said = "".join(part for part in parts if isinstance(part, str))
    return said, [(call.name, call.arguments) for call in calls]


@given(texts, st.lists(st.integers(0, 200)))
@example('{"a" "{"request":"x"} }', [])
@example('{"request": "a\\', [15, 16])
def test_how_a_text_is_cut_changes_nothing(text: str, cuts: list[int]):
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[one:other] for one, other in pairwise(places)]
    assert read(*pieces) == read(*text) == plainly(text)
    assert [(call.name, call.arguments) for call in tool_calls_in(text)] == plainly(text)[1]


@pytest.mark.parametrize("text", ["{x", "a { b", "{{ name }}", "f() {\n  return", '{"a": 1}', '{"a" 1}', "}", '"'])
def test_what_cannot_be_a_call_does_not_wait_for_more(text: str):
    assert "".join(str(part) for part in ToolCallReader().feed(text)) == text


def test_what_may_be_a_call_waits_until_it_is_clear():
    reader = ToolCallReader()
    assert reader.feed('Look. {"request": "add", "a": "}') == ["Look. "]
    assert reader.feed('"') == []
    assert reader.feed("} Done.") == [ToolCall("", "add", '{"a": "}"}'), " Done."]


@pytest.mark.parametrize(("levels", "calls"), [(DEEPEST, 1), (DEEPEST + 1, 0)])
def test_a_call_has_so_many_levels(levels: int, calls: int):
    text = '{"a": ' * levels + "1" + "}" * levels
    assert len(tool_calls_in('{"request": "x", ' + text[1:])) == calls


@pytest.mark.parametrize("piece", ["abc", '\\"', "{", "a 'b' "], ids=repr)
@pytest.mark.parametrize("begun", ['{"request": "note", "text": "', '{"request": "note", "text": 1'])
def test_an_object_in_many_pieces_takes_time_in_proportion_to_its_length(begun: str, piece: str):
    def seconds(number: int) -> float:
        reader, began = ToolCallReader(), time.process_time()
        for each in [begun, *[piece if begun.endswith('"') else " "] * number]:
            assert reader.feed(each) == []
        (call,) = reader.feed('"}' if begun.endswith('"') else "}")
        assert isinstance(call, ToolCall)
        return time.process_time() - began

    assert seconds(16_000) < 12 * seconds(4_000)
