"""What Anthropic's Messages interface sends is read, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import (
    ContextOverflowError,
    MalformedAnswerError,
    ProviderBusyError,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
)
from trivium.llms import Delta, Finish, Reasoning, ReasoningState, ToolCallPart
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._claude import ClaudeMessageReader
from trivium.llms.wire._fields import CallNames
from trivium.schema import Usage

from ._provider_answers import HIDDEN, SIGNED, claude_events, sent
from ._provider_answers import claude_said as text
from ._provider_answers import claude_thought as thought
from ._provider_answers import claude_use as use

NEW = "claude-opus-4-8"
USED = Usage(30, 15, cached_tokens=5)
NAMES = CallNames({}, {}, {})
Blocks = Sequence[tuple[dict[str, Any], Sequence[dict[str, Any]]]]


def read(*pieces: bytes, names: CallNames = NAMES) -> list[Delta]:
    reader = AnswerReader(ClaudeMessageReader(names, NEW))
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    return [*deltas, *reader.end()]


def sent_ascii(event: dict[str, Any]) -> bytes:
    """An event in ASCII, as a lone surrogate cannot be sent in any other way."""
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def whole(*blocks: Any, reason: str | None = "end_turn", **more: Any) -> bytes:
    return json.dumps({"type": "message", "content": blocks, "stop_reason": reason, **more}).encode()


def test_what_the_tests_send_is_what_the_interface_sends() -> None:
    from anthropic.types import RawMessageStreamEvent
    from pydantic import TypeAdapter

    known: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    events = claude_events([thought("a"), (HIDDEN, []), text("b"), use("f", '{"x"', ": 1}")], "tool_use")
    kinds = [json.loads(event.split(b"data: ")[1]) for event in events]
    for each in kinds:
        if each["type"] == "message_start":
            each["message"]["model"] = NEW
        if each["type"] != "ping":
            known.validate_python(each)
    assert len(kinds) > 10


def test_thoughts_are_given_as_they_come_and_kept_to_be_sent_back() -> None:
    first, second = thought("h", "m"), thought(signature="omitted")
    events = claude_events([first, (HIDDEN, []), second, text("a")], "end_turn")
    state = ReasoningState("anthropic", NEW, (SIGNED, HIDDEN, {**SIGNED, "thinking": "", "signature": "omitted"}))
    assert read(*events) == [Reasoning("h"), Reasoning("m"), "a", state, USED, Finish("stop")]
    blocks = whole(SIGNED, HIDDEN, {"type": "text", "text": "a"})
    assert read(blocks) == [Reasoning("hm"), "a", state._replace(items=(SIGNED, HIDDEN)), Finish("stop")]


def test_a_model_that_answers_without_the_tool_for_the_answer_has_answered() -> None:
    names = CallNames({}, {}, {}, "answer")
    events = claude_events([text('{"a"', ': "b"}')], "end_turn")
    assert read(*events, names=names) == [
        Reasoning('{"a"'), Reasoning(': "b"}'), '{"a": "b"}', USED, Finish("stop"),
    ]  # fmt: skip


def test_a_thought_that_nobody_signed_is_not_kept() -> None:
    events = claude_events([({"type": "thinking", "thinking": "hm"}, []), text("a")], "end_turn")
    assert read(*events) == [Reasoning("hm"), "a", USED, Finish("stop")]


def test_usage_tells_what_was_read_from_the_cache_and_written_to_it() -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000}
    received = whole({"type": "text", "text": "a"}, usage={**usage, "output_tokens": 7})
    assert read(received)[1] == Usage(3210, 7, cached_tokens=3000, cache_write_tokens=200)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause_turn"),
        ("refusal", "content_filter"),
        ("tool_use", "stop"),  # with no call there is none to run
        ("later", "later"),
    ],
)
def test_each_stop_reason_has_its_word(reason: str, finish: str) -> None:
    assert read(*claude_events([text("a")], reason))[-1] == Finish(finish)


@pytest.mark.parametrize(
    ("kind", "message", "error", "status"),
    [
        ("overloaded_error", "Overloaded", ProviderBusyError, 529),
        ("rate_limit_error", "slow", ProviderBusyError, 429),
        ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextOverflowError, 400),
        ("authentication_error", "no", ProviderStatusError, 401),
        ("conflict_error", "no", ProviderStatusError, 409),
        (None, "no", ProviderStatusError, 500),
    ],
)
@pytest.mark.parametrize("is_whole", [False, True])
def test_an_error_with_status_200_is_the_error_that_it_says(
    kind: str | None, message: str, error: type[ProviderStatusError], status: int, is_whole: bool
) -> None:
    answer = {"type": "error", "error": {"type": kind, "message": message}}
    with pytest.raises(error, match=message) as caught:
        read(json.dumps(answer).encode() if is_whole else sent(answer, "error"))
    assert caught.value.status == status
    assert json.loads(caught.value.raw) == answer


def deltas_of_calls(*calls: tuple[str, str]) -> list[Delta]:
    return [ToolCallPart(index, f"toolu_{index + 1}", name, given) for index, (name, given) in enumerate(calls)]


GO_ON: dict[str, tuple[Blocks, str | None, list[Any]]] = {
    "5 a text that is empty beside another": ([text(""), text("a")], "end_turn", ["a"]),
    "6 arguments empty": ([use("f", "")], "tool_use", [ToolCallPart(0, "toolu_1", "f")]),
    "7 arguments null": ([use("f", None)], "tool_use", [ToolCallPart(0, "toolu_1", "f")]),
    "8 arguments cut at the length": (
        [use("f", '{"x')], "max_tokens", [ToolCallPart(0, "toolu_1", "f"), ToolCallPart(0, arguments='{"x')],
    ),
    "9 arguments a list": ([use("f", given=[1])], "tool_use", deltas_of_calls(("f", "[1]"))),
    "9 arguments a string": ([use("f", given="x")], "tool_use", deltas_of_calls(("f", "x"))),
    "9 arguments a number": ([use("f", given=3)], "tool_use", deltas_of_calls(("f", "3"))),
    "10 two objects": (
        [use("f", "{}{}")], "tool_use", [ToolCallPart(0, "toolu_1", "f"), ToolCallPart(0, arguments="{}{}")],
    ),
    "11 arguments at once and in pieces": (
        [use("f", '{"x": 1}', given={"x": 1})], "tool_use", deltas_of_calls(("f", '{"x": 1}')),
    ),
    "14 no name": ([use(None)], "tool_use", [ToolCallPart(0, "toolu_1", "")]),
    "14 a name with spaces": ([use("f g")], "tool_use", [ToolCallPart(0, "toolu_1", "f g")]),
    "18 a call after text": ([text("a"), use("f")], "tool_use", ["a", ToolCallPart(0, "toolu_1", "f")]),
    "19 no reason at the end": ([text("a")], "", ["a"]),
    "27 NUL": ([text("\0")], "end_turn", ["\0"]),
    "27 lone surrogates": ([use("f", given={"x": "\ud800"})], "tool_use", deltas_of_calls(("f", '{"x": "�"}'))),
    "28 text like a call": ([text('{"name": "f"}')], "end_turn", ['{"name": "f"}']),
}  # fmt: skip


@pytest.mark.parametrize("case", GO_ON)
def test_nothing_is_lost_where_the_answer_is_odd_but_whole(case: str) -> None:
    blocks, reason, expected = GO_ON[case]
    data = [
        sent_ascii({"type": "content_block_start", "index": index, "content_block": block})
        + b"".join(
            sent_ascii({"type": "content_block_delta", "index": index, "delta": delta})
            for delta in deltas
        )
        for index, (block, deltas) in enumerate(blocks)
    ]  # fmt: skip
    ended = sent({"type": "message_delta", "delta": {"stop_reason": reason or None}}), sent({"type": "message_stop"})
    found = read(*data, *ended)
    assert found[:-1] == expected
    assert isinstance(found[-1], Finish)


@pytest.mark.parametrize("given", [None, "", 3, "toolu_1"])
def test_each_call_has_an_id_of_its_own(given: Any) -> None:
    names = CallNames({}, {}, {}, taken=frozenset({"toolu_1"}))
    events = claude_events([use("f", call_id=given), use("g", call_id=given)], "tool_use")
    ids = [delta.id for delta in read(*events, names=names) if isinstance(delta, ToolCallPart)]
    assert len({*ids, "toolu_1"}) == 3
    assert all(ids)


INDICES: list[tuple[list[Any], list[Any]]] = [  # of blocks where they begin, and where they grow
    ([0, 0], [0, 0]),
    ([None, None], [None, None]),
    ([7, 3], [7, 3]),
    ([[1], {}], [[1], {}]),
    ([0, 1], [None, None]),
    ([0, 1], [8, 9]),
]


@pytest.mark.parametrize(("begun", "grown"), INDICES)
def test_calls_are_reported_apart_whatever_their_index(begun: list[Any], grown: list[Any]) -> None:
    events = list[bytes]()
    for start, delta, name in zip(begun, grown, "fg", strict=True):
        block, pieces = use(name, f'{{"{name}":', "1}", call_id=f"toolu_{name}")
        events.append(sent({"type": "content_block_start", "index": start, "content_block": block}))
        events += [sent({"type": "content_block_delta", "index": delta, "delta": piece}) for piece in pieces]
    found = read(*events, sent({"type": "message_stop"}))
    assert [(each.index, each.name, each.arguments) for each in found if isinstance(each, ToolCallPart)] == [
        (0, "f", ""), (0, None, '{"f":'), (0, None, "1}"), (1, "g", ""), (1, None, '{"g":'), (1, None, "1}"),
    ]  # fmt: skip


SEARCH = {"type": "server_tool_use", "id": "toolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "toolu_1",
    "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e", "page_age": None}],
}
CITATION = {"type": "web_search_result_location", "url": "u", "title": "t", "cited_text": "a", "encrypted_index": "i"}
SAID = [{"type": "text", "text": "Let me see."}, SEARCH, FOUND]
CITED = {"type": "text", "text": "a", "citations": [CITATION]}


def searched(*blocks: Any) -> Blocks:
    begun, pieces = use("web_search", '{"query"', ': "x"}')
    return [
        thought("hm"),
        text("Let me", " see."),
        ({**begun, "type": "server_tool_use"}, pieces),
        (FOUND, []),
        *blocks,
    ]


def cited(piece: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    begun, pieces = text(piece)
    return {**begun, "citations": None}, [*pieces, {"type": "citations_delta", "citation": CITATION}]


@pytest.mark.parametrize(
    ("blocks", "reason", "items"),
    [
        ([text("a")], "end_turn", SAID),  # the message has the rest
        ([cited("a"), text("b")], "end_turn", [*SAID, CITED]),
        ([use("f", "{}", call_id="toolu_2")], "tool_use", SAID),
        ([text("a")], "pause_turn", [*SAID, {"type": "text", "text": "a"}]),
        ([({**SEARCH, "input": {}}, use("", '{"qu')[1])], "max_tokens", SAID),  # cut off
    ],
)
def test_what_the_server_did_itself_is_kept_in_its_place(blocks: Any, reason: str, items: list[Any]) -> None:
    state = next(each for each in read(*claude_events(searched(*blocks), reason)) if isinstance(each, ReasoningState))
    assert state.items == ({**SIGNED, "thinking": "hm"}, *items)


def test_what_the_server_did_itself_is_kept_of_a_whole_message_too() -> None:
    state = next(each for each in read(whole(*SAID, CITED)) if isinstance(each, ReasoningState))
    assert state.items == (*SAID, CITED)


@pytest.mark.parametrize(
    ("first", "last", "used"),
    [
        ((25, 1000), {"input_tokens": 25}, Usage(1025, 0, cached_tokens=1000)),
        ((25, 0), {"input_tokens": 0, "cache_read_input_tokens": 25}, Usage(25, 0, cached_tokens=25)),
        ((25, 1000), {"input_tokens": 0, "cache_read_input_tokens": 0}, Usage(1025, 0, cached_tokens=1000)),
    ],
)
def test_counts_that_come_again_replace_their_own_kind_alone(
    first: tuple[int, int], last: dict[str, int], used: Usage
) -> None:
    usage = {"input_tokens": first[0], "cache_read_input_tokens": first[1]}
    started = {"type": "message_start", "message": {"usage": usage}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}
    said = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}
    assert read(sent(started), sent(said), sent(ended))[1] == used


FAILS: dict[str, tuple[bytes, str]] = {
    "3 content null": (b'{"content": null}', "no answer with content"),
    "3 content a text": (b'{"content": "a"}', "no answer with content"),
    "1 another interface": (b'{"choices": []}', "no answer with content"),
    "5 nothing at all": (b'{"content": []}', "no answer"),
    "17 arguments of nothing": (
        sent({"type": "content_block_delta", "index": 4, "delta": use("f", "{}")[1][0]}), "no tool call",
    ),
    "19 the reason error": (b"".join(claude_events([text("a")], "error")), "gave up"),
    "29 refused in a call": (b"".join(claude_events([text("a"), use("f", '{"x"')], "refusal")), "refused"),
    "29 refused with nothing": (
        whole(reason="refusal", stop_details={"type": "refusal", "explanation": "not this"}),
        "refused to answer: not this",
    ),
    "30 a list of something": (b"[1]", "no answer"),
}  # fmt: skip
BROKEN_OFF: dict[str, tuple[bytes, str]] = {
    "24 broken off": (b"".join(claude_events([text("a")], None)), "broke off"),
    "24 broken off in a call": (b"".join(claude_events([use("f", '{"x"')], None)), "broke off"),
}


@pytest.mark.parametrize("case", [*FAILS, *BROKEN_OFF])
def test_what_is_no_answer_is_a_typed_error_that_says_what_to_do(case: str) -> None:
    data, said = {**FAILS, **BROKEN_OFF}[case]
    kind = ProviderConnectionError if case in BROKEN_OFF else MalformedAnswerError
    with pytest.raises(kind, match=said) as caught:
        read(data)
    assert any(mark in str(caught.value) for mark in ("; ", ": check"))


def test_counts_that_are_none_are_none() -> None:
    usage = {"input_tokens": -3, "output_tokens": "many", "cache_read_input_tokens": None}
    assert read(whole({"type": "text", "text": "a"}, usage=usage)) == ["a", Usage(0, 0), Finish("stop")]
    assert read(whole({"type": "text", "text": "a"}, usage=None, error=None)) == ["a", Finish("stop")]


BLOCK = st.one_of(
    st.lists(st.text(min_size=1), max_size=3).map(lambda pieces: text(*pieces)),
    st.lists(st.text(min_size=1), max_size=3).map(lambda pieces: thought(*pieces)),
    st.lists(st.text(min_size=1), max_size=3).map(lambda pieces: use("f", *pieces)),
)


@given(
    st.lists(BLOCK, min_size=1, max_size=4),
    st.lists(st.integers(0, 2000), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_any_cut_of_the_bytes_gives_the_same_deltas(blocks: Any, cuts: list[int], end: str) -> None:
    blocks = json.loads(json.dumps(blocks).encode("utf-8", "replace"))
    for number, (block, _) in enumerate(blocks):
        if "id" in block:
            block["id"] = f"toolu_{number}"
    data = b"".join(claude_events(blocks, "end_turn")).replace(b"\n", end.encode())
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:stop] for start, stop in pairwise(edges)]
    try:
        expected = read(data)
    except ProviderError as error:
        with pytest.raises(type(error)):
            read(*pieces)
    else:
        assert read(*pieces) == expected
