"""An answer taken apart is the same however it was cut into pieces, and nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.exceptions import ConfigurationError, MalformedAnswerError
from trivium.llms import Delta, Finish, Reasoning, ToolCallPart
from trivium.schema import Usage
from trivium.streams._splitter import AnswerSplitter

from ._answers import FLAG, FORMS, JSON, SIZES, TEXT, Call, Expected, calls, deltas, expected


def split(items: Iterable[Any], flag: str = FLAG) -> Expected:
    splitter = AnswerSplitter(flag)
    pieces = [piece for item in items for piece in splitter.feed(item)] + list(splitter.end())
    said = "".join(text for role, text in pieces if role == "to_user")
    return said, [json.loads(text) for role, text in pieces if role == "function_call"]


def parts(index: int, *arguments: str, name: str = "add") -> list[Delta]:
    return [ToolCallPart(index, f"id{index}", name), *(ToolCallPart(index, arguments=each) for each in arguments)]


@settings(deadline=None)
@given(TEXT, st.lists(calls(), max_size=3), SIZES, FORMS)
def test_however_an_answer_is_cut_it_is_the_same(text: str, made: list[Call], sizes: list[int], form: Any):
    assert split(map(form, deltas(text, made, sizes))) == expected(text, made)


@settings(deadline=None)
@given(st.lists(calls(), min_size=2, max_size=3), SIZES, st.randoms())
def test_calls_that_arrive_in_turns_come_out_whole_and_in_order(made: list[Call], sizes: list[int], random: Any):
    queues = [list(parts(index, name=call.name)) for index, call in enumerate(made)]
    for index, call in enumerate(made):
        queues[index] += [part for part in deltas("", [call], sizes) if isinstance(part, ToolCallPart)][1:]
        queues[index][1:] = [part._replace(index=index) for part in queues[index][1:] if isinstance(part, ToolCallPart)]
    mixed = [queue.pop(0) for queue in queues]
    while any(queues):
        mixed.append(random.choice([queue for queue in queues if queue]).pop(0))
    said, out = split(mixed)
    assert out == expected("", made)[1]
    assert sorted(said.split("\n")) == sorted("\n".join(call.said for call in made if call.said).split("\n"))


@settings(deadline=None)
@given(calls(JSON), SIZES)
def test_what_is_no_text_is_said_as_json(call: Call, sizes: list[int]):
    assert split(deltas("", [call], sizes)) == expected("", [call])


@settings(deadline=None)
@given(TEXT, SIZES)
def test_a_broken_call_comes_out_as_it_was_written(text: str, sizes: list[int]):
    arguments = f'{{"a": "{text}'  # the end is missing
    call = Call("add", arguments)
    _, (out, last) = split(deltas("", [call, Call("add", "{}")], sizes))
    assert (out["name"], out["arguments"], last["arguments"]) == ("add", arguments, {})
    assert out["error"].startswith("the arguments of add are not a JSON object: ")
    assert "error" not in last


@pytest.mark.parametrize("arguments", ["[1]", '"a"', "null", '{"a": 1}}', "{'a': 1}", "[" * 100_000])
def test_what_is_no_object_is_not_given_as_arguments(arguments: str):
    _, (out,) = split(parts(0, arguments))
    assert out["arguments"] == arguments
    assert "not a JSON object" in out["error"]


def test_a_text_is_given_on_the_spot():
    splitter = AnswerSplitter(FLAG)
    given = [list(splitter.feed(part)) for part in parts(0, '{"a": 1, "to_user": "H', "i", "\\", 'n"}')]
    assert given == [[], [("to_user", "H")], [("to_user", "i")], [], [("to_user", "\n")]]


def test_a_call_comes_out_when_the_next_begins():
    splitter = AnswerSplitter(FLAG)
    given = [[role for role, _ in splitter.feed(part)] for part in [*parts(0, "{}"), *parts(1, "{}"), Finish("stop")]]
    assert given == [[], [], ["function_call"], [], ["function_call"]]


def test_a_call_is_heard_out_before_the_next_speaks():
    mixed = [*parts(0, '{"to_user": "on'), *parts(1, '{"to_user": "two"}'), *parts(2, '{"to_user": "thr')]
    mixed += [ToolCallPart(2, arguments='ee"}'), ToolCallPart(0, arguments='e"}')]
    assert split(mixed)[0] == "one\ntwo\nthree"
    assert split(mixed[:-1])[0] == "on\ntwo\nthree"


def test_the_name_of_the_flag_is_free():
    assert split(parts(0, '{"say": "a", "to_user": "b"}'), "say")[0] == "a"


def test_without_arguments_they_are_empty():
    assert [call["arguments"] for call in split([*parts(0), *parts(1, " \n"), *parts(2, "{}")])[1]] == [{}, {}, {}]


def test_line_breaks_in_a_text_are_taken_as_they_are():
    assert split(parts(0, '{"to_user": "a\nb", "c": "d\ne"}')) == (
        "a\nb",
        [{"tool_call_index": 0, "tool_call_id": "id0", "name": "add", "arguments": {"c": "d\ne"}}],
    )


def test_half_a_pair_can_be_printed():
    said, (call,) = split(parts(0, r'{"to_user": "\ud83d", "a": "\ud83d"}'))
    assert (said, call["arguments"]) == ("\ufffd", {"a": "\ud83d"})


def test_several_calls_in_one_chunk_and_without_an_index():
    function = [{"id": f"c{n}", "function": {"name": "add", "arguments": f'{{"a": {n}}}'}} for n in range(2)]
    said, out = split([{"choices": [{"delta": {"content": "Hm.", "tool_calls": function}}]}])
    assert (said, [(call["tool_call_index"], call["tool_call_id"], call["arguments"]) for call in out]) == (
        "Hm.",
        [(0, "c0", {"a": 0}), (1, "c1", {"a": 1})],
    )


def test_what_is_neither_text_nor_call_is_passed_over():
    assert split([Reasoning("?"), "a", "", Usage(1, 2), {"choices": []}, {"usage": {"prompt_tokens": 1}}]) == ("a", [])


def test_space_behind_a_call_is_no_call():
    assert len(split([*parts(0, "{}"), *parts(1, "{}"), ToolCallPart(0, arguments=" \n")])[1]) == 2


def test_what_comes_behind_a_call_is_not_lost():
    _, out = split([*parts(0, "{}"), *parts(1, "{}"), ToolCallPart(0, arguments="}")])
    assert [(call["tool_call_index"], call["arguments"]) for call in out] == [(0, {}), (1, {}), (0, "}")]


def test_nothing_comes_after_the_end():
    splitter = AnswerSplitter(FLAG)
    assert list(splitter.feed({"choices": [{"delta": {"content": "a"}, "finish_reason": "length"}]})) == [
        ("to_user", "a")
    ]
    assert splitter.ended
    assert [*splitter.feed("b"), *splitter.feed(Finish("stop")), *splitter.end()] == []


def test_what_is_no_piece_of_an_answer_is_refused():
    with pytest.raises(ConfigurationError, match="int is not a piece of an answer"):
        list(AnswerSplitter(FLAG).feed(1))


def test_an_error_that_the_server_sends_is_one():
    with pytest.raises(MalformedAnswerError, match="overloaded"):
        list(AnswerSplitter(FLAG).feed({"error": {"message": "overloaded"}}))


def test_four_times_the_arguments_take_about_four_times_as_long():
    def seconds(size: int) -> float:
        splitter, start = AnswerSplitter(FLAG), process_time()
        for character in f'{{"a": "{"x" * size}", "to_user": "{"y" * size}"}}':
            for _ in splitter.feed(ToolCallPart(0, "id", "add", character)):
                pass
        list(splitter.end())
        return process_time() - start

    ratios = (seconds(125_000) / seconds(31_250) for _ in range(5))
    assert any(ratio < 8 for ratio in ratios)
