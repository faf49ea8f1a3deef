"""OpenAI's chat format and its dialects: what is sent, against the official package's types, and bad answers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming, ResponseFormat
from pydantic import ConfigDict, TypeAdapter

from trivium.exceptions import (
    ContextOverflowError,
    MalformedAnswerError,
    ProviderConnectionError,
    ProviderError,
    ProviderQuotaError,
    ProviderStatusError,
)
from trivium.llms import Delta, Dialect, Finish, Logprobs, Reasoning, ReasoningState, Request, TokenLogprob
from trivium.llms.providers import PROFILES
from trivium.llms.wire._fields import CallNames
from trivium.llms.wire._openai_chat import OPENAI, OpenAIMessageReader, chat_body
from trivium.llms.wire._requests import sent_arguments
from trivium.schema import NoEffectWarning, ToolSpec, Usage

from ._wire_answers import (
    assert_answer_or_typed_error,
    calls_in,
    chat_chunk,
    read_pieces,
    read_whole,
    sent_events,
    with_oddities,
)

MESSAGES: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam], config=ConfigDict(extra="forbid"))
TOOLS: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionToolUnionParam], config=ConfigDict(extra="forbid"))
FORMAT: TypeAdapter[Any] = TypeAdapter(ResponseFormat | None, config=ConfigDict(extra="forbid"))
SCHEMA = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"], "additionalProperties": False}
STATE = ReasoningState("openai-chat", "m", ({"type": "reasoning.text", "text": "Hm."},))
ASK = [{"role": "user", "content": "hi"}]


def body_of(request: Request, dialect: Dialect = OPENAI, **parameters: Any) -> dict[str, Any]:
    """What is sent; to OpenAI itself, as far as the official package's types know it."""
    body = chat_body("m", request, parameters, CallNames.of(request, False), dialect)
    if dialect == OPENAI:
        assert set(body) <= set(CompletionCreateParamsStreaming.__annotations__)
        MESSAGES.validate_python(body["messages"])
        TOOLS.validate_python(body.get("tools", []))
        FORMAT.validate_python(body.get("response_format"))
    return body


def read(*chunks: Any, done: bool = True) -> list[Delta]:
    return read_pieces(OpenAIMessageReader(), sent_events(chunks) + (b"data: [DONE]\n\n" if done else b""))


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta for delta in deltas if isinstance(delta, str))


# ---- what is sent
def test_a_conversation_with_parts_calls_and_thoughts_is_one_that_openai_takes() -> None:
    call = {"id": "c1", "function": {"name": "Kit.add", "arguments": '{"n": 1}'}}
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "name": "Ann Lee", "content": ["look", {"type": "image_url", "image_url": "https://x/a.png"}]},
        {"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:,x"}}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning": "hm", "reasoning_state": STATE},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
        {"role": "environment", "content": "noise"},
    ]
    tools = [ToolSpec("Kit.add", "A sum.", SCHEMA, strict=True)]
    body = body_of(Request(messages, tools, output_schema=SCHEMA), parallel_tool_calls=False)
    assert body["messages"][1]["content"][1] == {"type": "image_url", "image_url": {"url": "https://x/a.png"}}
    assert body["messages"][3]["tool_calls"][0]["function"]["name"] == "Kit_add"
    assert body["messages"][5] == {"role": "user", "content": "noise", "name": "environment"}
    assert body["tools"][0]["function"]["strict"] is True
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("", {}),
        ("reasoning_content", {"reasoning_content": "Hm."}),
        ("reasoning", {"reasoning": "Hm."}),
        ("reasoning_details", {"reasoning_details": list(STATE.items)}),
    ],
)
def test_thoughts_go_back_as_the_server_wants_them(key: str, sent: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": "a", "reasoning": "Hm.", "reasoning_state": STATE}
    (found,) = body_of(Request([message]), Dialect(reasoning=key))["messages"]
    assert found == {"role": "assistant", "content": "a", **sent}


@pytest.mark.parametrize("state", [STATE._replace(model="other"), STATE._replace(form="anthropic"), None])
def test_thoughts_of_another_model_go_back_as_text_at_most(state: ReasoningState | None) -> None:
    message = {"role": "assistant", "content": "a", "reasoning": "Hm.", "reasoning_state": state}
    (found,) = body_of(Request([message]), Dialect(reasoning="reasoning_details"))["messages"]
    assert found == {"role": "assistant", "content": "a", "reasoning": "Hm."}


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_thoughts_go_back_under_the_key_under_which_they_came(key: str) -> None:
    reader = OpenAIMessageReader(model="m", keeps_key=True)
    deltas = read_pieces(reader, sent_events([chat_chunk({key: "Hm."}), chat_chunk({"content": "a"}, "stop")]))
    (state,) = [delta for delta in deltas if isinstance(delta, ReasoningState)]
    message = {"role": "assistant", "content": "a", "reasoning": "Hm.", "reasoning_state": state}
    for dialect, sent in ((Dialect(schema=False), {key: "Hm."}), (Dialect(reasoning="other"), {"other": "Hm."})):
        (found,) = body_of(Request([message]), dialect)["messages"]
        assert found == {"role": "assistant", "content": "a", **sent}


def test_what_came_beside_a_call_goes_back_with_it_to_the_same_model() -> None:
    extra = {"google": {"thought_signature": "c2ln"}}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    pieces = [chat_chunk({"tool_calls": [{"index": 0, **call, "extra_content": extra}]}), chat_chunk({}, "tool_calls")]
    deltas = read_pieces(OpenAIMessageReader(model="m"), sent_events(pieces))
    (state,) = [delta for delta in deltas if isinstance(delta, ReasoningState)]
    others = {**call, "id": "c2"}
    for model, sent in (("m", {"extra_content": extra}), ("other", {})):
        message = {"role": "assistant", "content": "", "tool_calls": [call, others], "reasoning_state": state}
        request = Request([message])
        body = chat_body(model, request, {}, CallNames.of(request, False), Dialect(reasoning="reasoning_details"))
        assert body["messages"] == [{"role": "assistant", "content": "", "tool_calls": [{**call, **sent}, others]}]


def test_ids_of_calls_are_short_where_the_server_wants_them_so() -> None:
    call = {"id": "call_0123456789ab", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call, {**call, "id": "a1B2c3D4e"}]},
        {"role": "tool", "tool_call_id": "call_0123456789ab", "content": "1"},
        {"role": "tool", "tool_call_id": "a1B2c3D4e", "content": "2"},
    ]
    said, *results = body_of(Request(messages), Dialect(short_ids=True))["messages"]
    ids = [each["id"] for each in said["tool_calls"]]
    assert ids == [each["tool_call_id"] for each in results]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", each) for each in ids)
    assert ids[1] == "a1B2c3D4e"


def test_parameters_that_a_server_does_not_have_are_left_out_and_a_tier_with_a_warning() -> None:
    given: dict[str, Any] = {"seed": 3, "verbosity": "low", "user": "ada@example.org", "temperature": 0}
    mistral = PROFILES["mistral"].dialect
    body = body_of(Request(ASK), mistral, **given)  # a warning would fail here: Claude and Gemini give none either
    assert {"random_seed": 3, "temperature": 0}.items() <= body.items()
    assert not {"seed", "verbosity", "user"} & body.keys()
    assert body_of(Request(ASK), mistral, seed=3, random_seed=7)["random_seed"] == 7
    with pytest.warns(NoEffectWarning, match=r"m takes no service_tier='flex': it is not sent"):
        assert "service_tier" not in body_of(Request(ASK), mistral, service_tier="flex")


@pytest.mark.parametrize(
    ("given_parameters", "sent"),
    [
        ({"logprobs": True}, (True, None)),
        ({"logprobs": 3}, (True, 3)),
        ({"top_logprobs": 2}, (True, 2)),
        ({"logprobs": False}, (False, None)),
        ({}, (None, None)),
    ],
)
def test_logprobs_are_asked_for_in_each_of_their_forms(given_parameters: dict[str, Any], sent: Any) -> None:
    body = body_of(Request(ASK), **given_parameters)
    assert (body.get("logprobs"), body.get("top_logprobs")) == sent


def test_a_server_without_schemas_and_usage_is_asked_for_an_object() -> None:
    body = body_of(
        Request(ASK, output_schema=SCHEMA), Dialect(usage=False, schema=False, max_tokens="max_new"), max_tokens=9
    )
    assert body["response_format"] == {"type": "json_object"}
    assert json.dumps(SCHEMA) in body["messages"][0]["content"]
    assert ("stream_options" in body, body["max_new"]) == (False, 9)


@settings(max_examples=30)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_whatever_stands_as_arguments_a_server_gets_an_object(value: Any) -> None:
    for arguments in (value, json.dumps(value)):
        assert isinstance(json.loads(sent_arguments(arguments)), dict)


@given(st.text())
def test_arguments_that_are_no_object_are_reported_as_they_stand(text: str) -> None:
    sent = json.loads(sent_arguments(text + "{"))
    assert sent == {"arguments": text + "{"} or not text


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": Infinity}', '{"a": 1,}', "[1]", "3", '"x"'])
def test_what_only_python_takes_for_an_object_is_reported_as_it_stands(text: str) -> None:
    assert json.loads(sent_arguments(text)) == {"arguments": text}


# ---- what is made of an answer
def test_the_thoughts_of_a_stream_are_kept_to_be_sent_back() -> None:
    def details(**more: Any) -> dict[str, Any]:
        return chat_chunk({"content": "", "reasoning_details": [{"type": "reasoning.text", "index": 0, **more}]})

    sealed = {"type": "reasoning.encrypted", "data": "x", "index": 1}
    deltas = read(
        details(text="Let me "), details(text="think."), details(text="", signature="s"),
        chat_chunk({"reasoning_details": [sealed]}), chat_chunk({"content": "a"}, "stop"),
    )  # fmt: skip
    thought = {"type": "reasoning.text", "index": 0, "text": "Let me think.", "signature": "s"}
    assert deltas == [
        Reasoning("Let me "),
        Reasoning("think."),
        "a",
        ReasoningState("openai-chat", "", (thought, sealed)),
        Finish("stop"),
    ]


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "Hm.", "content": "a"},
        {"reasoning": "Hm.", "reasoning_content": "Hm.", "content": "a"},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "a"},
            ]
        },
    ],
)
def test_thoughts_come_before_the_text_wherever_they_stand(delta: dict[str, Any]) -> None:
    assert read(chat_chunk(delta, "stop")) == [Reasoning("Hm."), "a", Finish("stop")]


def test_logprobs_come_with_their_text_and_odd_ones_are_passed_over() -> None:
    entry = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "a", "logprob": -0.5}, {}, None]}
    odd: list[Any] = [entry, {"token": None}, "x"]
    expected = Logprobs((TokenLogprob("a", -0.5, (("a", -0.5),)),))
    assert expected in read(chat_chunk({"content": "a"}, "stop", logprobs={"content": odd, "refusal": None}))
    nothings: list[Any] = [{}, {"content": None}, {"content": []}, [], "x"]
    for nothing in nothings:
        assert read(chat_chunk({"content": "a"}, "stop", logprobs=nothing)) == ["a", Finish("stop")]


def test_a_letter_that_was_cut_in_two_is_whole_again() -> None:
    halves = [chat_chunk({"content": "a\ud83d"}), chat_chunk({"content": "\ude00b"}, "stop")]
    assert text_of(read(*halves)) == "a\U0001f600b"
    parts = [call('{"a": "\ud83d', index=0, name="f"), call('\ude00"}', index=0)]
    pieces = map(chat_chunk, parts)
    assert calls_in(read(*pieces)) == [("f", '{"a": "\U0001f600"}')]


def call(arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    function = {key: more.pop(key) for key in ("name",) if key in more}
    return {"tool_calls": [{"function": {**function, "arguments": arguments}, **more}]}


CALLS: dict[str, tuple[list[Any], list[tuple[str | None, str]]]] = {
    "a name that comes late": ([call("{", index=0, id="a"), call("}", index=0, name="f")], [("f", "{}")]),
    "a name with blanks": ([call(index=0, id="a", name=" f ")], [("f", "{}")]),
    "one index, other names, no ids": ([call(index=0, name="f"), call(index=0, name="g")], [("f", "{}"), ("g", "{}")]),
    "one index, one name, no ids": ([call(index=0, name="f"), call(index=0, name="f")], [("f", "{}"), ("f", "{}")]),
    "a name in every piece": (
        [call('{"a"', index=0, id="a", name="f"), call(": 1}", index=0, id="a", name="f")],
        [("f", '{"a": 1}')],
    ),
    "an id in every piece": ([call("{", index=0, id="a", name="f"), call("}", index=0, id="b")], [("f", "{}")]),
    "a list without index and id": (
        [{"tool_calls": [{"function": {"name": "f", "arguments": {}}}, {"function": {"name": "f", "arguments": {}}}]}],
        [("f", "{}"), ("f", "{}")],
    ),
    "name and arguments outside": ([{"tool_calls": [{"index": 0, "name": "f", "arguments": "{}"}]}], [("f", "{}")]),
    "the older form": (
        [{"function_call": {"name": "f", "arguments": "{"}}, {"function_call": {"arguments": "}"}}],
        [("f", "{}")],
    ),
    "text before": ([{"content": "Now."}, call(index=0, name="f")], [("f", "{}")]),
    "two objects": ([call("{}{}", index=0, name="f")], [("f", "{}{}")]),
    "not a number, twice a key": (
        [call('{"a": NaN, "a": Infinity}', index=0, name="f")],
        [("f", '{"a": NaN, "a": Infinity}')],
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_no_part_of_a_call_is_lost(case: str) -> None:
    chunks, expected = CALLS[case]
    deltas = read(*map(chat_chunk, chunks))
    assert calls_in(deltas) == expected
    assert deltas[-1] == Finish("tool_calls")


def test_a_call_in_another_choice_counts_and_another_text_does_not() -> None:
    first, second = (
        chat_chunk({"content": "a"}),
        chat_chunk({"content": "b", **call(index=0, name="f")}, "stop", index=1),
    )
    deltas = read(first, second)
    assert (text_of(deltas), calls_in(deltas)) == ("a", [("f", "{}")])


def test_ids_of_the_history_are_not_given_again() -> None:
    reader = OpenAIMessageReader({}, {"call_0"})
    deltas = read_pieces(reader, sent_events([chat_chunk(call(index=0, id="call_0", name="f"))]) + b"data: [DONE]\n\n")
    assert deltas[0][1] not in ("call_0", None)  # type: ignore[index]


@pytest.mark.parametrize("reason", ["tool_calls", "function_call"])
def test_a_reason_without_calls_is_not_believed(reason: str) -> None:
    assert read(chat_chunk({"content": "a"}, reason)) == ["a", Finish("stop")]


def test_a_refusal_is_reported_as_one_whatever_the_reason_says() -> None:
    assert read(chat_chunk({"refusal": "no"}, "stop")) == ["no", Finish("content_filter")]
    assert read(chat_chunk({"refusal": "no"})) == ["no", Finish("content_filter")]


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": 5.0, "completion_tokens": True}, {"prompt_tokens": 5, "completion_tokens": 1}]
)
def test_tokens_are_counted_in_odd_forms_too(usage: Any) -> None:
    assert Usage(5, 1) in read(chat_chunk({"content": "a"}, "stop"), {"choices": [], "usage": usage})


@pytest.mark.parametrize(
    "usage", [None, "x", [], {"prompt_tokens": None}, {"prompt_tokens": float("nan")}, {"prompt_tokens": -5}]
)
def test_tokens_that_are_none_count_nothing(usage: Any) -> None:
    deltas = read(chat_chunk({"content": "a"}, "stop"), {"choices": [], "usage": usage})
    assert all(delta.total == 0 for delta in deltas if isinstance(delta, Usage))


THOUGHT = chat_chunk({"reasoning_content": "Hm."})
BAD: dict[str, tuple[bytes, type[ProviderError], str]] = {
    "an error with a status as its code": (b'{"error": {"message": "boom", "code": 429}}', ProviderStatusError, "boom"),
    "an error with a known code": (
        sent_events([{"error": {"message": "boom", "code": "rate_limit_exceeded"}}]),
        ProviderStatusError,
        "boom",
    ),
    "an error with a known type": (
        sent_events([chat_chunk({"content": "a"}), {"error": {"message": "boom", "type": "server_error"}}]),
        ProviderStatusError,
        "boom",
    ),
    "no money": (
        sent_events([{"error": {"message": "boom", "code": "insufficient_quota"}}]),
        ProviderQuotaError,
        "boom.*billing",
    ),
    "too long": (
        sent_events([{"error": {"message": "boom", "code": "context_length_exceeded"}}]),
        ContextOverflowError,
        "boom.*send less",
    ),
    "an error object itself": (b'{"object": "error", "message": "boom", "code": 400}', ProviderStatusError, "boom"),
    "a detail": (b'{"detail": "boom"}', MalformedAnswerError, "boom"),
    "an error in a choice": (
        sent_events([chat_chunk({"content": "a"}, "error", error={"message": "boom"})]),
        MalformedAnswerError,
        "boom",
    ),
    "content null": (sent_events([chat_chunk({"content": None}, "stop")]), MalformedAnswerError, "no answer.*'stop'"),
    "content empty": (sent_events([chat_chunk({"content": ""}, "stop")]), MalformedAnswerError, "no answer.*'stop'"),
    "calls that are none": (
        sent_events([chat_chunk({"tool_calls": []}, "tool_calls")]),
        MalformedAnswerError,
        "tool_calls",
    ),
    "thoughts alone": (sent_events([THOUGHT, chat_chunk({}, "length")]), MalformedAnswerError, "thought.*max_tokens"),
    "thoughts alone, done": (sent_events([THOUGHT]) + b"data: [DONE]\n\n", MalformedAnswerError, "thought"),
    "a custom call": (
        sent_events(
            [chat_chunk({"tool_calls": [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "add"}}]})]
        ),
        MalformedAnswerError,
        "the custom tool 'add'.*tools=",
    ),
    "arguments cut short": (
        sent_events([chat_chunk(call('{"a": ', index=0, name="f"), "length")]),
        MalformedAnswerError,
        "within a tool call",
    ),
    "arguments not begun": (
        sent_events([chat_chunk(call("", index=0, name="f"), "content_filter")]),
        MalformedAnswerError,
        "within a tool",
    ),
    "plain words": (b"upstream timed out", ProviderConnectionError, "no answer"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_answer_is_a_typed_error_with_what_was_sent(case: str) -> None:
    body, kind, text = BAD[case]
    with pytest.raises(kind, match=text) as caught:
        read_pieces(OpenAIMessageReader(), body)
    assert isinstance(caught.value, MalformedAnswerError) == (kind is MalformedAnswerError)
    assert caught.value.raw


def test_a_whole_call_counts_though_the_answer_was_cut_short() -> None:
    assert calls_in(read(chat_chunk(call('{"a": 1}', index=0, name="f"), "length"))) == [("f", '{"a": 1}')]


def test_text_that_looks_like_a_call_is_text() -> None:
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    answer = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    assert read_whole(OpenAIMessageReader(), answer) == [text, Finish("stop")]


LIKELY = {"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}]}
FULL: list[dict[str, Any]] = [
    chat_chunk({"role": "assistant", "content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "t"}]}),
    chat_chunk({"content": [{"type": "thinking", "thinking": [{"text": "t"}]}]}, logprobs={"content": [LIKELY]}),
    chat_chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}], "refusal": "r"}),
    chat_chunk({"reasoning_content": "t", "function_call": {"name": "f", "arguments": "{}"}}, "tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}, "error": None},
]


def test_any_odd_value_at_any_place_ends_in_an_answer_or_a_typed_error() -> None:
    for changed in with_oddities(FULL):
        assert_answer_or_typed_error(OpenAIMessageReader(), sent_events(changed) + b"data: [DONE]\n\n")
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "a",
        "reasoning": "t",
        "tool_calls": FULL[2]["choices"][0]["delta"]["tool_calls"],
    }
    for changed in with_oddities(
        {"choices": [{"message": message, "finish_reason": "stop"}], "usage": FULL[4]["usage"]}
    ):
        assert_answer_or_typed_error(OpenAIMessageReader(), json.dumps(changed).encode())
