"""OpenAI's Responses format, against the types of the official package: what is sent, and what is made of answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import ResponseInputItemParam, ToolParam
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming, ToolChoice
from openai.types.responses.response_text_config_param import ResponseTextConfigParam
from openai.types.shared_params import Reasoning as SentReasoning
from pydantic import ConfigDict, TypeAdapter

from trivium.exceptions import MalformedAnswerError, ProviderConnectionError, ProviderError, ProviderStatusError
from trivium.llms import Delta, Finish, Logprobs, Reasoning, ReasoningState, Request, TokenLogprob, ToolCallPart
from trivium.llms.wire._fields import CallNames
from trivium.llms.wire._openai_responses import ResponsesReader, responses_body
from trivium.schema import ToolSpec, Usage

from ._wire_answers import (
    assert_answer_or_typed_error,
    call_item,
    calls_in,
    message_item,
    read_pieces,
    read_whole,
    reasoning_item,
    response,
    sent_events,
    streamed,
    with_oddities,
)

ITEMS: TypeAdapter[Any] = TypeAdapter(list[ResponseInputItemParam], config=ConfigDict(extra="forbid"))
TOOLS: TypeAdapter[Any] = TypeAdapter(list[ToolParam], config=ConfigDict(extra="forbid"))
CHOICE: TypeAdapter[Any] = TypeAdapter(ToolChoice, config=ConfigDict(extra="forbid"))
STATE: TypeAdapter[Any] = TypeAdapter(tuple[ResponseTextConfigParam | None, SentReasoning | None])
NO_NAMES = CallNames.of(Request([]), False)
NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"], "additionalProperties": False}
ADD = ToolSpec("Kit.add", "A sum.", NUMBER)


def body_of(request: Request, model: str = "gpt-5-mini", **parameters: Any) -> dict[str, Any]:
    """What is sent, as far as the official package's types know it."""
    body = responses_body(model, request, parameters, CallNames.of(request, False))
    assert set(body) <= set(ResponseCreateParamsStreaming.__annotations__)
    ITEMS.validate_python(body["input"])
    TOOLS.validate_python(body.get("tools", []))
    CHOICE.validate_python(body.get("tool_choice", "auto"))
    STATE.validate_python((body.get("text"), body.get("reasoning")))
    return body


def reader(model: str = "gpt-5-mini") -> ResponsesReader:
    return ResponsesReader(NO_NAMES, model)


# ---- what is sent
def test_a_conversation_becomes_instructions_and_items() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "Kit.add", "arguments": '{"n": 1}'}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": "1?"},
        {"role": "assistant", "content": "Adding.", "tool_calls": [call], "reasoning": "hm"},
        {"role": "tool", "tool_call_id": "c1", "content": "2", "name": "Kit.add"},
        {"role": "system", "content": "Late."},
        {"role": "environment", "content": "noise"},
    ]
    body = body_of(Request(messages, [ADD], "Kit.add"), max_tokens=9, temperature=0.5)
    assert body["instructions"] == "Be brief.\n\nBe kind."
    assert body["input"] == [
        {"role": "user", "content": "1?"},
        {"role": "assistant", "content": "Adding."},
        {"type": "function_call", "call_id": "c1", "name": "Kit_add", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "2"},
        {"role": "system", "content": "Late."},
        {"role": "user", "content": "noise"},
    ]
    assert body["tools"][0] | {"parameters": 0} == {
        "type": "function", "name": "Kit_add", "description": "A sum.", "parameters": 0, "strict": False
    }  # fmt: skip
    assert body["tool_choice"] == {"type": "function", "name": "Kit_add"}
    assert (body["max_output_tokens"], body["temperature"]) == (9, 0.5)
    assert (body["stream"], body["store"], body["include"]) == (True, False, ["reasoning.encrypted_content"])


def test_images_and_files_go_as_parts() -> None:
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://x/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": "data:image/png;base64,AA=="},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}},
        {"type": "file", "file": {"filename": "b.pdf", "file_data": "https://x/b.pdf"}},
    ]
    result = {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "seen"}, parts[1]]}
    sent = body_of(Request([{"role": "user", "content": parts}, result]))["input"]
    assert [part["type"] for part in sent[0]["content"]] == ["input_text", *["input_image"] * 2, *["input_file"] * 2]
    assert sent[0]["content"][1]["detail"] == "low"
    assert sent[0]["content"][4] == {"type": "input_file", "file_url": "https://x/b.pdf"}
    assert [part["type"] for part in sent[1]["output"]] == ["input_text", "input_image"]


def test_parameters_stand_where_the_format_has_them() -> None:
    request = Request([{"role": "user", "content": "x"}], output_schema=NUMBER)
    body = body_of(request, reasoning_effort="low", reasoning_summary="auto", verbosity="low", top_logprobs=3, seed=1)
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body["text"]["verbosity"] == "low"
    assert body["text"]["format"] == {"type": "json_schema", "name": "answer", "strict": True, "schema": NUMBER}
    assert "message.output_text.logprobs" in body["include"]
    assert body["top_logprobs"] == 3
    assert not {"seed", "logprobs", "tools", "parallel_tool_calls"} & set(body)


# ---- thoughts go back
def answered(*items: dict[str, Any], model: str = "gpt-5-mini") -> tuple[ReasoningState, list[Delta]]:
    deltas = read_pieces(reader(model), sent_events(streamed(*items)))
    return next(delta for delta in deltas if isinstance(delta, ReasoningState)), deltas


def message_of(state: ReasoningState, text: str, *calls: tuple[str, str]) -> dict[str, Any]:
    made = [{"id": id, "function": {"name": name, "arguments": "{}"}} for id, name in calls]
    return {"role": "assistant", "content": text, "tool_calls": made, "reasoning_state": state}


THOUGHT = ("Plan.", "More.")


def test_thoughts_go_back_in_their_place_among_calls_and_text() -> None:
    said = message_item("On it.", phase="commentary")
    first, second = reasoning_item(*THOUGHT, encrypted="e1"), reasoning_item(encrypted="e2")
    state, _ = answered(first, said, call_item("f", "{}", "c1"), second, call_item("g", "{}", "c2"))
    assert (state.form, state.model) == ("openai-responses", "gpt-5-mini")
    message = message_of(state, "On it.", ("c1", "f"), ("c2", "g"))
    sent = body_of(Request([message]), "gpt-5-mini-2025-08-07")["input"]
    assert [item.get("type", item.get("phase")) for item in sent] == [
        "reasoning", "commentary", "function_call", "reasoning", "function_call"
    ]  # fmt: skip
    assert [item["encrypted_content"] for item in sent if "encrypted_content" in item] == ["e1", "e2"]


@pytest.mark.parametrize("model", ["gpt-5", "o3"])
def test_another_model_gets_no_thoughts(model: str) -> None:
    state, _ = answered(reasoning_item(*THOUGHT), call_item("f", "{}", "c1"))
    sent = body_of(Request([message_of(state, "", ("c1", "f"))]), model)["input"]
    assert [item["type"] for item in sent] == ["function_call"]


def test_a_thought_does_not_go_back_without_what_came_of_it() -> None:
    state, _ = answered(reasoning_item(*THOUGHT), call_item("f", "{}", "c1"))
    assert body_of(Request([message_of(state, "changed")]))["input"] == [{"role": "assistant", "content": "changed"}]


def test_a_text_that_was_changed_goes_back_as_it_is_now() -> None:
    state, _ = answered(reasoning_item(*THOUGHT), message_item("old"), call_item("f", "{}", "c1"))
    sent = body_of(Request([message_of(state, "new", ("c1", "f"))]))["input"]
    assert [item.get("content") for item in sent if item.get("role")] == ["new"]
    assert [item.get("type") for item in sent] == ["reasoning", None, "function_call"]


def test_a_thought_with_nothing_in_it_is_not_kept() -> None:
    deltas = read_pieces(reader(), sent_events(streamed(reasoning_item("Hm.", encrypted=None), message_item("a"))))
    assert not [delta for delta in deltas if isinstance(delta, ReasoningState)]


SERVED: list[dict[str, Any]] = [
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "container_id": "c", "code": "1",
     "outputs": None},
]  # fmt: skip


@pytest.mark.parametrize("item", SERVED)
def test_what_the_server_did_itself_goes_back_as_it_came(item: dict[str, Any]) -> None:
    deltas = read_whole(reader(), response(reasoning_item(*THOUGHT), item, message_item("a")))
    state = next(delta for delta in deltas if isinstance(delta, ReasoningState))
    thought, sent, said = body_of(Request([message_of(state, "a")]))["input"]
    assert (thought["type"], sent, said["content"]) == ("reasoning", item, "a")


# ---- what is made of an answer
def test_streamed_events_and_whole_answers_say_the_same() -> None:
    items = reasoning_item(*THOUGHT), message_item("Hello."), call_item("f", '{"n": 1}', "c1")
    for deltas in (read_pieces(reader(), sent_events(streamed(*items))), read_whole(reader(), response(*items))):
        assert "".join(delta.text for delta in deltas if isinstance(delta, Reasoning)) == "Plan.\n\nMore."
        assert "".join(delta for delta in deltas if isinstance(delta, str)) == "Hello."
        assert calls_in(deltas) == [("f", '{"n": 1}')]
        assert deltas[-3:] == [ReasoningState("openai-responses", "gpt-5-mini", deltas[-3][2]), deltas[-2], deltas[-1]]  # type: ignore[index]
        assert deltas[-2:] == [deltas[-2], Finish("tool_calls")]
        assert isinstance(deltas[-2], Usage)
        assert (deltas[-2].input_tokens, deltas[-2].output_tokens) == (9, 5)


def test_logprobs_come_with_their_text() -> None:
    item = message_item("a")
    likely = {"token": "a", "logprob": -0.5, "bytes": [97]}
    item["content"][0]["logprobs"] = [{**likely, "top_logprobs": [likely, {**likely, "token": "b", "logprob": -1}]}]
    expected = Logprobs((TokenLogprob("a", -0.5, (("a", -0.5), ("b", -1.0))),))
    assert expected in read_pieces(reader(), sent_events(streamed(item)))
    assert expected in read_whole(reader(), response(item))


def test_a_refusal_is_reported_as_one() -> None:
    item = message_item("x", content=[{"type": "refusal", "refusal": "I will not."}])
    for deltas in (read_pieces(reader(), sent_events(streamed(item))), read_whole(reader(), response(item))):
        assert "".join(delta for delta in deltas if isinstance(delta, str)) == "I will not."
        assert deltas[-1] == Finish("content_filter")


@pytest.mark.parametrize(
    ("why", "reason"), [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("steered", "steered")]
)
def test_an_incomplete_answer_says_why(why: str, reason: str) -> None:
    more = {"incomplete_details": {"reason": why}}
    deltas = read_pieces(reader(), sent_events(streamed(message_item("ab"), end="response.incomplete", **more)))
    assert deltas[-1] == Finish(reason)


CUT = streamed(
    call_item("f", '{"n": 1', "c1"), end="response.incomplete", incomplete_details={"reason": "content_filter"}
)
ERROR = {"code": "rate_limit_exceeded", "message": "too many"}
FAILED = streamed(message_item("ab"), end="response.failed", error=ERROR)
GONE = streamed(message_item("ab"))
BAD: dict[str, tuple[bytes, type[ProviderError], str]] = {
    "failed": (sent_events(FAILED), ProviderStatusError, "too many"),
    "failed, whole": (json.dumps(FAILED[-1]["response"]).encode(), ProviderStatusError, "too many"),
    "error event": (sent_events([{"type": "error", **ERROR, "sequence_number": 1}]), ProviderStatusError, "too many"),
    "error object": (b'{"error": {"message": "boom"}}', MalformedAnswerError, "boom"),
    "error object in a stream": (
        sent_events([{"error": {"message": "boom", "code": 503}}]),
        ProviderStatusError,
        "boom",
    ),
    "broken off": (sent_events(GONE[:-1]), ProviderConnectionError, "broke off"),
    "nothing": (sent_events([{"type": "response.created"}]), ProviderConnectionError, "no answer"),
    "empty output": (
        sent_events([{"type": "response.completed", "response": response()}]),
        MalformedAnswerError,
        "no answer",
    ),
    "null output": (b'{"status": "completed", "output": null}', MalformedAnswerError, "without output"),
    "the other format": (b'{"choices": [{"message": {"content": "a"}}]}', MalformedAnswerError, "without output"),
    "a custom call": (
        sent_events([{"type": "response.output_item.done", "item": {"type": "custom_tool_call", "name": "add"}}]),
        MalformedAnswerError,
        r"the custom tool 'add'.*tools=",
    ),
    "only thoughts": (sent_events(streamed(reasoning_item("Hm."))), MalformedAnswerError, "thought"),
    "a call cut short": (sent_events(CUT), MalformedAnswerError, "within a tool call"),
    "a content filter without a word": (
        sent_events(streamed(end="response.incomplete", incomplete_details={"reason": "content_filter"})),
        MalformedAnswerError,
        "content_filter",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_answer_is_a_typed_error_with_what_was_sent(case: str) -> None:
    body, kind, text = BAD[case]
    with pytest.raises(kind, match=text) as caught:
        read_pieces(reader(), body)
    assert isinstance(caught.value, MalformedAnswerError) == (kind is MalformedAnswerError)
    assert caught.value.raw
    if isinstance(caught.value, ProviderStatusError):
        assert caught.value.status in (429, 503)


def test_nothing_is_lost_where_a_server_leaves_events_out() -> None:
    items = message_item("Hello."), call_item("f", '{"n": 1}', "c1"), call_item("g", '{"n": 2}', "c2")
    events = streamed(*items)
    kinds = {event["type"] for event in events}
    for left_out in kinds - {"response.completed"}:
        deltas = read_pieces(reader(), sent_events(event for event in events if event["type"] != left_out))
        assert "".join(delta for delta in deltas if isinstance(delta, str)) == "Hello.", left_out
        assert calls_in(deltas) == [("f", '{"n": 1}'), ("g", '{"n": 2}')], left_out


def test_calls_that_share_one_index_stay_apart() -> None:
    items = reasoning_item("Hm."), message_item("a"), call_item("f", '{"n": 1}', "c1"), call_item("g", '{"n": 2}', "c2")
    events = streamed(*items)
    shared = [event | ({"output_index": 0} if "output_index" in event else {}) for event in events]
    deltas = read_pieces(reader(), sent_events(shared))
    assert calls_in(deltas) == [("f", '{"n": 1}'), ("g", '{"n": 2}')]
    (state,) = (delta for delta in deltas if isinstance(delta, ReasoningState))
    assert [item.get("type", item.get("role")) for item in state.items] == [
        "reasoning", "assistant", "function_call", "function_call"
    ]  # fmt: skip


def test_ids_are_unique_over_the_answer_and_the_history() -> None:
    history = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]}
    taken = ResponsesReader(CallNames.of(Request([history]), False))
    items = [
        call_item("f", "{}", "c1"),
        call_item("f", "{}", "c2"),
        call_item("f", "{}", "c2"),
        call_item("f", "{}", ""),
    ]
    deltas = read_whole(taken, response(*items))
    ids = [part.id for part in deltas if isinstance(part, ToolCallPart)]
    assert "c1" not in ids
    assert len(set(ids)) == len(ids) == 4


def test_any_odd_value_at_any_place_ends_in_an_answer_or_a_typed_error() -> None:
    items = reasoning_item("Hm."), message_item("a"), call_item("f", "{}", "c1")
    for changed in with_oddities(streamed(*items)):
        assert_answer_or_typed_error(reader(), sent_events(changed))
    for changed in with_oddities(response(*items)):
        assert_answer_or_typed_error(reader(), json.dumps(changed).encode())
