"""Anthropic's Messages interface: what is sent fits its own package, and what comes is read whatever it is."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent
from trivium.exceptions import (
    ConfigurationError,
    ContextOverflowError,
    MalformedAnswerError,
    ProviderBusyError,
    ProviderError,
    ProviderStatusError,
)
from trivium.llms import (
    AnthropicModel,
    ClaudeAPI,
    Delta,
    Finish,
    LanguageModel,
    Reasoning,
    ReasoningState,
    Request,
    ToolCallPart,
)
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._claude import ClaudeMessageReader
from trivium.llms.wire._claude_request import claude_body, claude_names
from trivium.llms.wire._closed_schema import closed_schema
from trivium.llms.wire._fields import CallNames, family
from trivium.schema import FileAttachment, ToolSpec, Usage

from ._fitting import misfit
from ._provider_answers import claude_events, claude_text, sent
from ._servers import ChatServer, event_stream

NEW, OLD = "claude-opus-4-8", "claude-opus-4-1"
ASK = [{"role": "user", "content": "hi"}]
OPEN = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}, "required": ["x"]}
CLOSED = {
    "type": "object",
    "properties": {"x": {"type": "integer", "description": "minimum: 1"}},
    "required": ["x"],
    "additionalProperties": False,
}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
USED = Usage(30, 15, cached_tokens=5)
NAMES = CallNames({}, {}, {})
Blocks = Sequence[tuple[dict[str, Any], Sequence[dict[str, Any]]]]


def body_of(model: str, request: Request, **parameters: Any) -> dict[str, Any]:
    """What is posted, which the interface's own types must know."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    body = claude_body(model, request, parameters, claude_names(model, request))
    known = {name: value for name, value in body.items() if name not in ("temperature", "top_p", "top_k")}
    assert misfit(json.loads(json.dumps(known)), MessageCreateParamsStreaming) == ""
    return body


def read(*pieces: bytes, names: CallNames = NAMES) -> list[Delta]:
    reader = AnswerReader(ClaudeMessageReader(names, NEW))
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    return [*deltas, *reader.end()]


def use(name: Any, *pieces: Any, call_id: Any = "toolu_1", given: Any = None) -> tuple[dict[str, Any], Any]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given}, deltas


def text(*pieces: str) -> tuple[dict[str, Any], Any]:
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


def thought(*pieces: str, signature: str = "c2ln") -> tuple[dict[str, Any], Any]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = {"type": "signature_delta", "signature": signature}
    return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]


def sent_ascii(event: dict[str, Any]) -> bytes:
    """An event in ASCII, as a lone surrogate cannot be sent in any other way."""
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def whole(*blocks: Any, reason: str | None = "end_turn", **more: Any) -> bytes:
    return json.dumps({"type": "message", "content": blocks, "stop_reason": reason, **more}).encode()


# What is sent.


def test_a_conversation_with_everything_in_it_is_what_the_interface_takes() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAA="}}
    call = {"id": "functions.f:0", "function": {"name": "Kit.f", "arguments": '{"x": 1}'}}
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        {"role": "assistant", "content": "I see", "tool_calls": [call], "reasoning": "hm",
         "reasoning_state": ReasoningState("anthropic", f"{NEW}-20260101", (SIGNED, HIDDEN))},
        {"role": "user", "content": "and?"},
        {"role": "tool", "tool_call_id": "functions.f:0", "content": [{"type": "text", "text": "2"}, picture]},
    ]  # fmt: skip
    tools = [ToolSpec("Kit.f", "Does f.", OPEN, strict=True), ToolSpec("g", "", {"properties": {}})]
    body = body_of(NEW, Request(messages, tools, "Kit.f", OPEN), cache_control={"type": "ephemeral"})
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAA="}}
    use_it = {"type": "tool_use", "id": "functions_f_0", "name": "Kit_f", "input": {"x": 1}}
    seen = {"type": "tool_result", "tool_use_id": "functions_f_0", "content": [{"type": "text", "text": "2"}, image]}
    assert body == {
        "model": NEW,
        "stream": True,
        "max_tokens": 32_000,
        "cache_control": {"type": "ephemeral"},
        "system": "be kind",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
            {"role": "assistant", "content": [SIGNED, HIDDEN, {"type": "text", "text": "I see"}, use_it]},
            {"role": "user", "content": [seen, {"type": "text", "text": "and?"}]},
        ],
        "tools": [
            {"name": "Kit_f", "description": "Does f.", "input_schema": CLOSED, "strict": True},
            {"name": "g", "description": "", "input_schema": {"type": "object", "properties": {}}},
        ],
        "tool_choice": {"type": "tool", "name": "Kit_f"},
        "output_config": {"format": {"type": "json_schema", "schema": CLOSED}},
    }


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        (ReasoningState("anthropic", NEW, (SIGNED,)), [SIGNED]),
        (["anthropic", NEW, [SIGNED]], [SIGNED]),
        ({"form": "anthropic", "model": NEW, "items": [SIGNED]}, [SIGNED]),
        (ReasoningState("anthropic", OLD, (SIGNED,)), []),
        (ReasoningState("gemini", NEW, (SIGNED,)), []),
        (ReasoningState("anthropic", NEW, ("odd",)), []),
        ("odd", []),
        (None, []),
    ],
)
def test_thoughts_go_back_to_the_model_that_had_them_alone(state: Any, kept: list[Any]) -> None:
    said = {"role": "assistant", "content": "a", "reasoning_state": state}
    body = body_of(NEW, Request([*ASK, said, *ASK]))
    assert body["messages"][1]["content"] == [*kept, {"type": "text", "text": "a"}]


def test_no_thoughts_go_back_where_thinking_is_off() -> None:
    said = {"role": "assistant", "content": "a", "reasoning_state": ReasoningState("anthropic", NEW, (SIGNED,))}
    body = body_of(NEW, Request([*ASK, said, *ASK]), thinking={"type": "disabled"})
    assert body["messages"][1]["content"] == [{"type": "text", "text": "a"}]


FILES: list[tuple[FileAttachment, dict[str, Any]]] = [
    (
        FileAttachment.from_bytes(b"%PDF", "a.pdf"),
        {"type": "document", "title": "a.pdf",
         "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
    ),
    (
        FileAttachment.from_path("https://x/a.pdf"),
        {"type": "document", "title": "a.pdf", "source": {"type": "url", "url": "https://x/a.pdf"}},
    ),
    (
        FileAttachment.from_text("Rent: 950 €", "a.csv", "text/csv"),
        {"type": "document", "title": "a.csv",
         "source": {"type": "text", "media_type": "text/plain", "data": "Rent: 950 €"}},
    ),
    (
        FileAttachment.from_bytes(b"\xff", "a.png"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "/w=="}},
    ),
    (
        FileAttachment.from_path("https://x/a.png"),
        {"type": "image", "source": {"type": "url", "url": "https://x/a.png"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("file", "block"), FILES)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_files_are_sent_as_pictures_and_documents(file: FileAttachment, block: dict[str, Any], role: str) -> None:
    message = {"role": role, "content": [file.to_dict(NEW)], **({"tool_call_id": "c"} if role == "tool" else {})}
    content = body_of(NEW, Request([message]))["messages"][0]["content"]
    assert (content[0]["content"] if role == "tool" else content) == [block]


def test_an_uploaded_file_is_named() -> None:
    part = {"type": "file", "file": {"file_id": "file_1"}}
    content = body_of(NEW, Request([{"role": "user", "content": [part]}]))["messages"][0]["content"]
    assert content == [{"type": "document", "source": {"type": "file", "file_id": "file_1"}}]


def test_a_file_that_is_no_text_keeps_its_kind() -> None:
    part = FileAttachment.from_bytes(b"\xff\xfe", "a.docx").to_dict(NEW)
    request = Request([{"role": "user", "content": [part]}])
    source = claude_body(NEW, request, {}, claude_names(NEW, request))["messages"][0]["content"][0]["source"]
    assert (source["type"], base64.b64decode(source["data"])) == ("base64", b"\xff\xfe")


def test_a_mark_for_the_cache_stays_on_the_system_message() -> None:
    marked = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = body_of(NEW, Request([{"role": "system", "content": [marked]}, *ASK]))
    assert body["system"] == [marked]


FAMILIES: dict[str, tuple[bool, bool, bool, int]] = {  # native schemas, sampling, forced calls, max_tokens
    "claude-3-haiku-20240307": (False, True, True, 4096),
    "claude-3-7-sonnet-latest": (False, True, True, 4096),
    "claude-sonnet-4-20250514": (False, True, True, 8192),
    "anthropic/claude-opus-4.1": (False, True, True, 8192),
    "claude-haiku-4-5-20251001": (True, True, True, 32_000),
    "us.anthropic.claude-opus-4-6-v1:0": (True, True, True, 32_000),
    "claude-opus-4-7": (True, False, True, 32_000),
    "claude-sonnet-5": (True, False, True, 32_000),
    "claude-opus-5-5": (True, False, False, 32_000),
    "claude-fable-5-1": (True, False, False, 32_000),
    "claude-haiku-5-5": (True, False, True, 32_000),
    "kimi-k3": (False, True, True, 8192),
}


@pytest.mark.parametrize("model", FAMILIES)
def test_each_family_gets_what_it_takes(model: str) -> None:
    plain = body_of(model, Request(ASK, output_schema=OPEN), temperature=0.5, top_p=1, top_k=3, seed=1)
    forced = body_of(model, Request(ASK, [ToolSpec("f", "", OPEN)], "required"))
    found = "output_config" in plain, "temperature" in plain, forced["tool_choice"] == {"type": "any"}
    assert (*found, plain["max_tokens"]) == FAMILIES[model]
    assert ("tools" in plain, "seed" in plain) == (not FAMILIES[model][0], False)
    assert {"temperature", "top_p", "top_k"} & plain.keys() in (set(), {"temperature", "top_p", "top_k"})


def test_thoughts_have_tokens_beside_those_of_the_answer() -> None:
    thinking = {"type": "enabled", "budget_tokens": 5000}
    assert body_of(OLD, Request(ASK), thinking=thinking)["max_tokens"] == 13_192
    assert body_of(OLD, Request(ASK), thinking=thinking, max_tokens=6000)["max_tokens"] == 6000
    assert body_of(OLD, Request(ASK), thinking=thinking)["thinking"] == thinking


def test_common_names_become_those_of_the_interface() -> None:
    body = body_of(NEW, Request(ASK), stop=["a", " "], reasoning_effort="low", service_tier="auto", seed=3, n=2)
    assert body["stop_sequences"] == ["a"]
    assert body["output_config"] == {"effort": "low"}
    assert body["service_tier"] == "auto"
    assert body_of(NEW, Request(ASK), stop="a")["stop_sequences"] == ["a"]


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("auto", {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", {"type": "any", "disable_parallel_tool_use": True}),
        ("none", {"type": "none"}),
    ],
)
def test_one_call_at_a_time_is_asked_for_in_the_words_of_the_interface(choice: str, wanted: dict[str, Any]) -> None:
    request = Request(ASK, [ToolSpec("f", "", OPEN)], choice)
    assert body_of(NEW, request, parallel_tool_calls=False)["tool_choice"] == wanted
    assert "parallel_tool_calls" not in body_of(NEW, Request(ASK), parallel_tool_calls=True)


ANY_KEYS = {"type": "object", "additionalProperties": {"type": "string"}}


def test_a_schema_that_no_decoder_holds_is_held_by_a_tool_which_a_thinking_model_is_not_forced_to_call() -> None:
    request = Request(ASK, output_schema=ANY_KEYS)
    assert body_of(NEW, request)["tool_choice"] == {"type": "tool", "name": "answer"}
    assert body_of(NEW, request, thinking={"type": "adaptive"})["tool_choice"] == {"type": "auto"}
    names = claude_names(NEW, request)
    events = claude_events([text('{"a"', ': "b"}')], "end_turn")
    assert read(*events, names=names) == [
        Reasoning('{"a"'), Reasoning(': "b"}'), '{"a": "b"}', USED, Finish("stop"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "closed"),
    [
        (OPEN, CLOSED),
        (ANY_KEYS, None),
        ({"type": "object", "properties": {"x": {}}}, None),
        ({"type": ["string", "null"]}, None),
        ({"type": "array", "items": {"type": "string", "format": "uuid"}, "minItems": 2},
         {"type": "array", "items": {"type": "string", "format": "uuid"}, "description": "minItems: 2"}),
        ({"oneOf": [{"type": "null"}, {"enum": [1]}], "description": "d", "default": None},
         {"anyOf": [{"type": "null"}, {"enum": [1]}], "description": "d (default: None)"}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string", "pattern": "x"}}},
         {"$ref": "#/$defs/A", "$defs": {"A": {"type": "string", "description": "pattern: x"}}}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}}, None),
        ({"type": "object", "properties": 3}, None),
        ({"type": "array", "items": True}, None),
    ],
)  # fmt: skip
def test_schemas_are_closed_where_that_can_be(schema: dict[str, Any], closed: dict[str, Any] | None) -> None:
    before = json.dumps(schema)
    assert closed_schema(schema) == closed
    assert json.dumps(schema) == before


@pytest.mark.parametrize(
    ("model", "name"),
    [("claude-opus-4-1-20250805", "claude-opus-4-1"), ("anthropic/claude-sonnet-4@20250514", "claude-sonnet-4")],
)
def test_a_release_does_not_make_another_model(model: str, name: str) -> None:
    assert family(model) == name


# What comes.


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


def test_a_thought_that_nobody_signed_is_not_kept() -> None:
    unsigned = ({"type": "thinking", "thinking": "hm"}, [])
    assert read(*claude_events([unsigned, text("a")], "end_turn")) == [Reasoning("hm"), "a", USED, Finish("stop")]


def test_usage_tells_what_was_read_from_the_cache_and_written_to_it() -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000}
    told = whole({"type": "text", "text": "a"}, usage={**usage, "output_tokens": 7})
    assert read(told)[1] == Usage(3210, 7, cached_tokens=3000, cache_write_tokens=200)


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


@pytest.mark.parametrize("index", [[0, 0], [None, None], [7, 3], [[1], {}]])
def test_calls_are_told_apart_whatever_their_index(index: list[Any]) -> None:
    events = list[bytes]()
    for at, name in zip(index, "fg", strict=True):
        begun, pieces = use(name, f'{{"{name}":', "1}", call_id=f"toolu_{name}")
        events.append(sent({"type": "content_block_start", "index": at, "content_block": begun}))
        events += [sent({"type": "content_block_delta", "index": at, "delta": delta}) for delta in pieces]
    found = read(*events, sent({"type": "message_stop"}))
    assert [(each.index, each.name, each.arguments) for each in found if isinstance(each, ToolCallPart)] == [
        (0, "f", ""), (0, None, '{"f":'), (0, None, "1}"), (1, "g", ""), (1, None, '{"g":'), (1, None, "1}"),
    ]  # fmt: skip


def test_the_input_of_a_tool_that_the_server_runs_is_no_call_of_ours() -> None:
    searched, pieces = use("web_search", '{"query"', ': "x"}')
    blocks = [({**searched, "type": "server_tool_use"}, pieces), text("a")]
    assert read(*claude_events(blocks, "end_turn")) == ["a", USED, Finish("stop")]


FAILS: dict[str, tuple[bytes, str]] = {
    "3 content null": (b'{"content": null}', "no answer with content"),
    "3 content a text": (b'{"content": "a"}', "no answer with content"),
    "1 another interface": (b'{"choices": []}', "no answer with content"),
    "5 nothing at all": (b'{"content": []}', "no answer"),
    "17 arguments of nothing": (
        sent({"type": "content_block_delta", "index": 4, "delta": use("f", "{}")[1][0]}), "no tool call",
    ),
    "19 the reason error": (b"".join(claude_events([text("a")], "error")), "gave up"),
    "24 broken off": (b"".join(claude_events([text("a")], None)), "broke off"),
    "24 broken off in a call": (b"".join(claude_events([use("f", '{"x"')], None)), "broke off"),
    "29 refused in a call": (b"".join(claude_events([text("a"), use("f", '{"x"')], "refusal")), "refused"),
    "29 refused with nothing": (
        whole(reason="refusal", stop_details={"type": "refusal", "explanation": "not this"}),
        "refused to answer: not this",
    ),
    "30 a list of something": (b"[1]", "no answer"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILS)
def test_what_is_no_answer_is_a_typed_error_that_says_what_to_do(case: str) -> None:
    data, said = FAILS[case]
    with pytest.raises(MalformedAnswerError, match=said) as caught:
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


# The model.


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "TRIVIUM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def route(start: str) -> str:
    """Find a way.

    Args:
        start: where.
    """
    return f"from {start}"


@pytest.mark.parametrize("kind", [AnthropicModel, ClaudeAPI])
def test_an_agent_sends_the_thoughts_back_with_its_results(chat: ChatServer, kind: type[Any]) -> None:
    asks = event_stream(*claude_events([thought("h", "m"), use("route", '{"start": "A"}')], "tool_use"))
    again = event_stream(*claude_events([(HIDDEN, []), use("route", '{"start": "B"}', call_id="toolu_2")], "tool_use"))
    chat.scripts = [asks, again, claude_text("done"), claude_text("bye")]
    agent = Agent(kind(NEW, base_url=chat.url), tools=[route])
    assert agent("go").content == "done"
    assert agent("and now?").content == "bye"
    _, first, result, second, *rest = chat.received[3].body["messages"]
    assert first["content"] == [SIGNED, {"type": "tool_use", "id": "toolu_1", "name": "route", "input": {"start": "A"}}]
    assert result["content"][0]["tool_use_id"] == "toolu_1"
    assert second["content"][:1] == [HIDDEN]
    assert [each["role"] for each in rest] == ["user", "assistant", "user"]


def test_the_model_sends_what_it_is_told(chat: ChatServer) -> None:
    chat.scripts = [claude_text("Hel", "lo")] * 2
    model: LanguageModel = AnthropicModel(NEW, base_url=chat.url, api_key="sk-1", parameters={"max_tokens": 9})
    assert isinstance(model, LanguageModel)
    assert AnthropicModel(NEW, base_url=f"{chat.url}/messages", api_key="sk-1").chat("hi") == "Hello"
    assert Agent(model)("hi").content == "Hello"
    assert [each.path for each in chat.received] == ["/v1/messages"] * 2
    headers = chat.received[1].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("sk-1", "2023-06-01")
    assert chat.received[1].body["max_tokens"] == 9
    assert repr(model) == f"AnthropicModel({NEW!r}, base_url={chat.url.removesuffix('/v1')!r})"


def test_the_provider_s_own_key_goes_to_the_provider_alone(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="TRIVIUM_API_KEY or ANTHROPIC_API_KEY"):
        AnthropicModel(NEW).chat("hi")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-own")
    chat.scripts = [claude_text("a")] * 2
    model = AnthropicModel(NEW, base_url=chat.url)
    model.chat("hi")
    monkeypatch.setenv("TRIVIUM_API_KEY", "sk-ours")
    model.chat("hi")
    assert [each.headers.get("x-api-key") for each in chat.received] == [None, "sk-ours"]


def test_parameters_of_a_call_go_before_those_of_the_model(chat: ChatServer) -> None:
    chat.scripts = [claude_text("a")]
    given: Mapping[str, Any] = {"temperature": 1, "max_new_tokens": 5, "stop_words": ["x"]}
    AnthropicModel("kimi", base_url=chat.url, parameters=given).chat("hi", temperature=0)
    body = chat.received[0].body
    assert (body["temperature"], body["max_tokens"], body["stop_sequences"]) == (0, 5, ["x"])
