"""Gemini's interface: what is sent fits its own package, and what comes is read whatever it is."""

from __future__ import annotations

import contextlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import (
    MalformedAnswerError,
    ProviderBusyError,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
)
from trivium.llms import (
    Delta,
    Finish,
    Logprobs,
    Reasoning,
    ReasoningState,
    Request,
    TokenLogprob,
    ToolCallPart,
)
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._fields import CallNames
from trivium.llms.wire._gemini import FAILED, GeminiMessageReader
from trivium.llms.wire._gemini_request import MADE_UP, NO_SIGNATURE, gemini_body, gemini_names
from trivium.schema import FileAttachment, ToolSpec, Usage

from ._provider_answers import gemini_answer, gemini_call, gemini_piece, sent

NEW, OLD = "gemini-3.1-pro-preview", "gemini-2.5-flash"
ASK = [{"role": "user", "content": "hi"}]
SAID = {"role": "user", "parts": [{"text": "hi"}]}
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}}
SIGN = "c2lnbmVk"
NAMES = CallNames({}, {}, {})


def body_of(model: str, request: Request, **parameters: Any) -> dict[str, Any]:
    """What is posted, which the package's own types must know."""
    from google.genai import types

    body = gemini_body(model, request, parameters, gemini_names(model, request))
    known: dict[str, Any] = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
        "safetySettings": list[types.SafetySetting],
        "cachedContent": str,
    }
    from pydantic import TypeAdapter

    for name, value in json.loads(json.dumps(body)).items():
        TypeAdapter(known[name]).validate_python(value)
    return body


def read(*pieces: bytes, names: CallNames = NAMES) -> list[Delta]:
    reader = AnswerReader(GeminiMessageReader(names, NEW))
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    return [*deltas, *reader.end()]


def stream(*parts: dict[str, Any], reason: str | None = "STOP", **more: Any) -> bytes:
    """A stream with a piece for each part, and the reason at the end."""
    return b"".join([*(sent(gemini_piece(part)) for part in parts), sent(gemini_piece(reason=reason, **more))])


# What is sent.


def test_a_conversation_with_everything_in_it_is_what_the_interface_takes() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAA="}}
    call = {"id": "c1", "function": {"name": "Kit.f", "arguments": '{"x": 1}'}}
    mine = {"id": f"{MADE_UP}1", "function": {"name": "g", "arguments": "[1]"}}
    items = ({"thought": True, "text": "hm", "thoughtSignature": SIGN}, {"call": "c1", "thoughtSignature": SIGN})
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        {"role": "assistant", "content": "I see", "tool_calls": [call, mine],
         "reasoning_state": ReasoningState("gemini", NEW, items)},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "2"}, picture]},
        {"role": "tool", "tool_call_id": f"{MADE_UP}1", "content": "3"},
        {"role": "user", "content": "and?"},
    ]  # fmt: skip
    tools = [ToolSpec("Kit.f", "Does f.", SCHEMA), ToolSpec("g", "", {"properties": {}})]
    body = body_of(NEW, Request(messages, tools, "Kit.f", SCHEMA), max_tokens=9)
    image = {"inlineData": {"mimeType": "image/png", "data": "AAA="}}
    assert body == {
        "systemInstruction": {"parts": [{"text": "be kind"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "look"}, image]},
            {"role": "model", "parts": [
                items[0],
                {"text": "I see"},
                {"functionCall": {"name": "Kit_f", "args": {"x": 1}, "id": "c1"}, "thoughtSignature": SIGN},
                {"functionCall": {"name": "g", "args": {"arguments": [1]}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "Kit_f", "response": {"output": "2"}, "id": "c1", "parts": [image]}},
                {"functionResponse": {"name": "g", "response": {"output": "3"}}},
            ]},
            {"role": "user", "parts": [{"text": "and?"}]},
        ],
        "tools": [{"functionDeclarations": [
            {"name": "Kit_f", "description": "Does f.", "parametersJsonSchema": SCHEMA},
            {"name": "g", "description": "", "parametersJsonSchema": {"type": "object", "properties": {}}},
        ]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["Kit_f"]}},
        "generationConfig": {
            "maxOutputTokens": 9, "responseMimeType": "application/json", "responseJsonSchema": SCHEMA,
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "items", "parts"),
    [
        ("abc", [{"text": "c", "thoughtSignature": SIGN}], [{"text": "ab"}, {"text": "c", "thoughtSignature": SIGN}]),
        ("abc", [{"text": "", "thoughtSignature": SIGN}], [{"text": "abc"}, {"text": "", "thoughtSignature": SIGN}]),
        ("abc", [{"text": "a", "thoughtSignature": SIGN}], [{"text": "a", "thoughtSignature": SIGN}, {"text": "bc"}]),
        ("changed", [{"text": "abc", "thoughtSignature": SIGN}], [{"text": "changed"}]),
        ("abc", [], [{"text": "abc"}]),
    ],
)
def test_a_text_goes_back_in_the_pieces_that_were_signed(said: str, items: list[Any], parts: list[Any]) -> None:
    state = ReasoningState("gemini", NEW, tuple(items))
    body = body_of(NEW, Request([*ASK, {"role": "assistant", "content": said, "reasoning_state": state}, *ASK]))
    assert body["contents"][1] == {"role": "model", "parts": parts}


@pytest.mark.parametrize(("model", "signature"), [(NEW, NO_SIGNATURE), (OLD, None), ("learnlm-2", None)])
def test_a_call_of_another_model_gets_what_stands_for_a_signature_where_it_must_have_one(
    model: str, signature: str | None
) -> None:
    calls = [{"id": f"c{number}", "function": {"name": "f", "arguments": ""}} for number in (1, 2)]
    results = [{"role": "tool", "tool_call_id": f"c{number}", "content": ""} for number in (1, 2)]
    state = ReasoningState("gemini", "gemini-3-flash", ({"call": "c1", "thoughtSignature": SIGN},))
    said = {"role": "assistant", "content": None, "tool_calls": calls, "reasoning_state": state}
    parts = body_of(model, Request([*ASK, said, *results]))["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [signature, None]


FILES: list[tuple[FileAttachment, dict[str, Any]]] = [
    (FileAttachment.from_bytes(b"%PDF", "a.pdf"), {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}}),
    (
        FileAttachment.from_path("https://x/a.pdf?v=1"),
        {"fileData": {"fileUri": "https://x/a.pdf?v=1", "mimeType": "application/pdf"}},
    ),
    (FileAttachment.from_path("https://x/a"), {"fileData": {"fileUri": "https://x/a"}}),
]


@pytest.mark.parametrize(("file", "part"), FILES)
@pytest.mark.parametrize("model", [NEW, "another"])
def test_files_are_sent_as_they_are_or_by_their_address(file: FileAttachment, part: Any, model: str) -> None:
    message = {"role": "user", "content": [file.to_dict(model)]}
    assert body_of(NEW, Request([message]))["contents"] == [{"role": "user", "parts": [part]}]


def test_sounds_and_parts_of_the_interface_s_own_are_sent_too() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAA=", "format": "mp3"}}
    own = {"fileData": {"fileUri": "files/1"}, "videoMetadata": {"startOffset": "1s"}}
    parts = body_of(NEW, Request([{"role": "user", "content": [sound, own, "text"]}]))["contents"][0]["parts"]
    assert parts == [{"inlineData": {"mimeType": "audio/mp3", "data": "AAA="}}, own, {"text": "text"}]


@pytest.mark.parametrize(
    ("choice", "strict", "wanted"),
    [
        ("auto", False, {"mode": "AUTO"}),
        ("auto", True, {"mode": "VALIDATED"}),
        ("none", False, {"mode": "NONE"}),
        ("required", False, {"mode": "ANY"}),
        ("9.f", False, {"mode": "ANY", "allowedFunctionNames": ["_9_f"]}),
    ],
)
def test_the_choice_of_tools_is_translated(choice: str, strict: bool, wanted: dict[str, Any]) -> None:
    tools = [ToolSpec("9.f", "", SCHEMA, strict), ToolSpec("-", "", SCHEMA), ToolSpec("_9_g", "", SCHEMA)]
    body = body_of(NEW, Request(ASK, tools, choice))
    assert body["toolConfig"] == {"functionCallingConfig": wanted}
    names = [tool["name"] for tool in body["tools"][0]["functionDeclarations"]]
    assert names == ["_9_f", "_-", "_9_g"]


def test_names_that_would_become_one_are_kept_apart() -> None:
    tools = [ToolSpec("9", "", SCHEMA), ToolSpec("_9", "", SCHEMA)]
    names = gemini_names(NEW, Request(ASK, tools))
    assert (names.tools, names.own) == ({"9": "__9"}, {"__9": "9"})


def test_common_names_become_those_of_the_interface_and_others_are_passed_on() -> None:
    body = body_of(
        NEW,
        Request(ASK),
        temperature=0,
        top_p=0.5,
        top_k=3,
        max_tokens=9,
        stop="x",
        seed=1,
        frequency_penalty=0.1,
        presence_penalty=0.2,
        logprobs=True,
        top_logprobs=2,
        reasoning_effort="low",
        thinking_config={"includeThoughts": True},
        parallel_tool_calls=False,
        n=2,
        safety_settings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        cachedContent="cachedContents/1",
    )
    assert body == {
        "contents": [SAID],
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "cachedContent": "cachedContents/1",
        "generationConfig": {
            "temperature": 0, "topP": 0.5, "topK": 3, "maxOutputTokens": 9, "stopSequences": ["x"], "seed": 1,
            "frequencyPenalty": 0.1, "presencePenalty": 0.2, "responseLogprobs": True, "logprobs": 2,
            "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True},
        },
    }  # fmt: skip
    assert body_of(NEW, Request(ASK), logprobs=5)["generationConfig"] == {"responseLogprobs": True, "logprobs": 5}
    assert body_of(NEW, Request(ASK), logprobs=False) == {"contents": [SAID]}


@pytest.mark.parametrize(
    "name",
    [
        "logit_bias",
        "metadata",
        "min_p",
        "prompt_cache_key",
        "reasoning_summary",
        "response_format",
        "user",
        "verbosity",
    ],
)
def test_a_common_parameter_that_the_interface_does_not_have_is_left_out(name: str) -> None:
    assert body_of(NEW, Request(ASK), **{name: "auto"}) == {"contents": [SAID]}


def test_tools_that_the_server_runs_stand_beside_ours() -> None:
    body = body_of(NEW, Request(ASK, [ToolSpec("f", "", SCHEMA)]), tools=[{"googleSearch": {}}])
    assert [next(iter(tool)) for tool in body["tools"]] == ["googleSearch", "functionDeclarations"]


def test_empty_messages_are_not_sent() -> None:
    messages = [{"role": "user", "content": ""}, {"role": "user", "content": [{"type": "text", "text": ""}]}, *ASK]
    assert body_of(NEW, Request(messages))["contents"] == [SAID]


def test_before_gemini_3_a_tool_takes_the_answer_beside_other_tools() -> None:
    request = Request(ASK, [ToolSpec("answer", "", SCHEMA)], output_schema=SCHEMA)
    assert "responseJsonSchema" in body_of(OLD, request._replace(tool_choice="none"))["generationConfig"]
    body = body_of(OLD, request)
    assert [tool["name"] for tool in body["tools"][0]["functionDeclarations"]] == ["answer", "answer_"]
    assert ("generationConfig" in body, body["toolConfig"]["functionCallingConfig"]) == (False, {"mode": "ANY"})
    names = gemini_names(OLD, request)
    found = read(stream({"text": "Well,"}, gemini_call("answer_", {"x": 1})), names=names)
    assert found == [Reasoning("Well,"), '{"x": 1}', Finish("stop")]
    found = read(stream({"text": "hm", "thought": True}, {"text": '{"x"'}, {"text": ": 1}"}), names=names)
    assert found == [Reasoning("hm"), Reasoning('{"x"'), Reasoning(": 1}"), '{"x": 1}', Finish("stop")]


# What comes.


def test_what_the_tests_send_is_what_the_interface_sends() -> None:
    from google.genai import types

    call = gemini_call("f", {"x": 1}, call_id="c1", signature=SIGN)
    usage = {"promptTokenCount": 1, "thoughtsTokenCount": 2}
    for each in (gemini_piece(call), gemini_answer("a", usageMetadata=usage), gemini_piece(reason="SAFETY")):
        types.GenerateContentResponse.model_validate(each)


def test_a_stream_becomes_deltas() -> None:
    usage = {
        "promptTokenCount": 10, "toolUsePromptTokenCount": 3, "candidatesTokenCount": 5, "thoughtsTokenCount": 7,
        "cachedContentTokenCount": 4, "totalTokenCount": 25,
    }  # fmt: skip
    thought = {"text": "hm", "thought": True}
    parts = [thought, {"text": "a"}, {"text": "b"}, gemini_call("f", {"x": 1}, "c1", SIGN), gemini_call("g", None)]
    found = read(stream(*parts, {"text": "", "thoughtSignature": SIGN}, usageMetadata=usage))
    second = found[4]
    assert isinstance(second, ToolCallPart)
    assert str(second.id).startswith(MADE_UP)
    assert found == [
        Reasoning("hm"),
        "a",
        "b",
        ToolCallPart(0, "c1", "f", '{"x": 1}'),
        ToolCallPart(1, second.id, "g", "{}"),
        ReasoningState("gemini", NEW, (
            {"call": "c1", "thoughtSignature": SIGN}, {"text": "", "thoughtSignature": SIGN},
        )),
        Usage(13, 12, cached_tokens=4, reasoning_tokens=7),
        Finish("tool_calls"),
    ]  # fmt: skip


def test_whole_answers_and_lists_of_pieces_say_the_same_as_a_stream() -> None:
    pieces = [gemini_piece({"text": "a"}), gemini_piece({"text": "b"}), gemini_piece(reason="STOP")]
    expected = ["a", "b", Finish("stop")]
    assert read(b"".join(map(sent, pieces))) == expected
    assert read(json.dumps(pieces).encode()) == expected
    assert read(json.dumps(gemini_answer("a", "b")).encode()) == expected


def test_a_signed_thought_goes_back_as_it_came() -> None:
    signed = {"text": "hm", "thought": True, "thoughtSignature": SIGN}
    found = read(stream(signed, {"text": "a"}))
    state = found[2]
    assert found == [Reasoning("hm"), "a", state, Finish("stop")]
    said = {"role": "assistant", "content": "a", "reasoning_state": state}
    assert body_of(NEW, Request([*ASK, said, *ASK]))["contents"][1]["parts"] == [signed, {"text": "a"}]


def test_log_probabilities_are_given_with_the_likeliest_tokens() -> None:
    chosen = [{"token": "a", "logProbability": -0.5}, {"token": "b", "logProbability": 0}]
    top = [{"candidates": [*chosen[:1], {"token": "c", "logProbability": -2}]}]
    piece = gemini_piece({"text": "ab"}, reason="STOP")
    piece["candidates"][0]["logprobsResult"] = {"chosenCandidates": chosen, "topCandidates": top}
    tokens = TokenLogprob("a", -0.5, (("a", -0.5), ("c", -2.0))), TokenLogprob("b", 0.0)
    assert read(sent(piece)) == ["ab", Logprobs(tokens), Finish("stop")]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("OTHER", "other"),
        ("LATER", "later"),
    ],
)
def test_each_reason_has_its_word(reason: str, finish: str) -> None:
    assert read(stream({"text": "a"}, reason=reason)) == ["a", Finish(finish)]


def test_every_reason_of_the_interface_ends_in_a_word_or_a_typed_error() -> None:
    from google.genai import types

    for reason in types.FinishReason:
        if reason.value in FAILED:
            with pytest.raises(MalformedAnswerError, match="the model") as caught:
                read(stream({"text": "a"}, reason=reason.value))
            assert reason.value in caught.value.raw
        elif reason.value != "FINISH_REASON_UNSPECIFIED":
            finish = read(stream({"text": "a"}, reason=reason.value))[-1]
            assert isinstance(finish, Finish)
            assert finish.reason == finish.reason.lower()


@pytest.mark.parametrize("form", ["stream", "whole", "list"])
def test_an_error_with_status_200_is_the_error_that_it_says(form: str) -> None:
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
    answer = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": [wait]}}
    data = sent(answer) if form == "stream" else json.dumps([answer] if form == "list" else answer).encode()
    with pytest.raises(ProviderBusyError, match="slow") as caught:
        read(data)
    assert (caught.value.status, caught.value.retry_after) == (429, 7.0)
    with pytest.raises(ProviderStatusError, match="answered 500: oops"):
        read(sent({"error": "oops"}))


GO_ON: dict[str, tuple[bytes, list[Any]]] = {
    "6 no arguments": (stream(gemini_call("f", None, "c")), [ToolCallPart(0, "c", "f", "{}")]),
    "9 arguments a list": (stream(gemini_call("f", [1], "c")), [ToolCallPart(0, "c", "f", "[1]")]),
    "9 arguments a text": (stream(gemini_call("f", "{x", "c")), [ToolCallPart(0, "c", "f", "{x")]),
    "14 no name": (stream(gemini_call(None, {}, "c")), [ToolCallPart(0, "c", "", "{}")]),
    "18 a call after text, in another candidate": (
        sent({"candidates": [*gemini_piece({"text": "a"})["candidates"],
                             *gemini_piece(gemini_call("f", {}, "c"), reason="STOP")["candidates"]]}),
        ["a", ToolCallPart(0, "c", "f", "{}")],
    ),
    "19 no reason in a whole answer": (json.dumps(gemini_piece({"text": "a"})).encode(), ["a"]),
    "25 no role": (sent({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]}), ["a"]),
    "27 NUL": (stream({"text": "\0"}), ["\0"]),
    "27 lone surrogates": (
        b"data: " + json.dumps(gemini_piece(gemini_call("f", {"x": "\ud800"}, "c"), reason="STOP")).encode() + b"\n\n",
        [ToolCallPart(0, "c", "f", '{"x": "�"}')],
    ),
    "28 text like a call": (stream({"text": '{"functionCall": {}}'}), ['{"functionCall": {}}']),
    "odd parts": (stream({"text": None}, {"inlineData": {}}, {"text": "a", "thought": "no"}), ["a"]),
}  # fmt: skip


@pytest.mark.parametrize("case", GO_ON)
def test_nothing_is_lost_where_the_answer_is_odd_but_whole(case: str) -> None:
    data, expected = GO_ON[case]
    found = read(data)
    assert found[:-1] == expected
    assert isinstance(found[-1], Finish)


@pytest.mark.parametrize("given", [None, "", 3, "c1"])
def test_each_call_has_an_id_of_its_own(given: Any) -> None:
    names = CallNames({}, {}, {}, taken=frozenset({"c1"}))
    found = read(stream(gemini_call("f", {}, given), gemini_call("f", {}, given)), names=names)
    ids = [delta.id for delta in found if isinstance(delta, ToolCallPart)]
    assert len({*ids, "c1"}) == 3


FAILS: dict[str, tuple[bytes, str]] = {
    "1 no candidates": (b'{"candidates": []}', "no answer with candidates"),
    "2 candidates null": (b'{"candidates": null}', "no answer with candidates"),
    "3 content null": (b'{"candidates": [{"content": null}]}', "sent no answer"),
    "22 the question is blocked": (
        sent({"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "not this"}}), "not this",
    ),
    "29 stopped at a call": (stream(gemini_call("f", {}), reason="SAFETY"), "filter"),
    "29 stopped with nothing": (stream(reason="PROHIBITED_CONTENT"), "filter"),
    "an image": (stream({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}), r"a file \(image/png\).*for text"),
    "a call that cannot be read": (stream({"text": "a"}, reason="MALFORMED_FUNCTION_CALL"), "cannot be read"),
    "an unknown tool": (stream(reason="UNEXPECTED_TOOL_CALL"), "not given"),
    "another interface": (b'{"choices": [{"message": {"content": "a"}}]}', "Gemini's interface"),
    "a list of something": (b"[1]", "no answer"),
}  # fmt: skip
BROKEN_OFF: dict[str, tuple[bytes, str]] = {
    "1 no candidates in a stream": (sent({"candidates": []}), "sent no answer"),
    "24 broken off": (stream({"text": "a"}, reason=None), "broke off"),
    "24 broken off in thought": (sent(gemini_piece({"text": "a", "thought": True})), "broke off"),
}


@pytest.mark.parametrize("case", [*FAILS, *BROKEN_OFF])
def test_what_is_no_answer_is_a_typed_error_that_says_what_to_do(case: str) -> None:
    data, said = {**FAILS, **BROKEN_OFF}[case]
    kind = ProviderConnectionError if case in BROKEN_OFF else MalformedAnswerError
    with pytest.raises(kind, match=said) as caught:
        read(data)
    assert any(mark in str(caught.value) for mark in ("; ", ": check"))


def test_counts_that_are_none_are_none() -> None:
    usage = {"promptTokenCount": -3, "candidatesTokenCount": "many", "thoughtsTokenCount": None}
    assert read(stream({"text": "a"}, usageMetadata=usage)) == ["a", Usage(), Finish("stop")]
    assert read(stream({"text": "a"}, usageMetadata=None)) == ["a", Finish("stop")]


PART = st.one_of(
    st.fixed_dictionaries({"text": st.text()}, optional={"thought": st.booleans(), "thoughtSignature": st.just(SIGN)}),
    st.builds(gemini_call, st.text(), st.dictionaries(st.text(), st.integers() | st.text()), st.just("c")),
)


@given(
    st.lists(PART, min_size=1, max_size=4),
    st.lists(st.integers(0, 2000), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_any_cut_of_the_bytes_gives_the_same_deltas(parts: Any, cuts: list[int], end: str) -> None:
    parts = [{"text": "so"}, *json.loads(json.dumps(parts).encode("utf-8", "replace"))]
    for number, part in enumerate(parts):
        if "functionCall" in part:
            part["functionCall"]["id"] = f"c{number}"
    data = stream(*parts).replace(b"\n", end.encode())
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    assert read(*(data[start:stop] for start, stop in pairwise(edges))) == read(data)


ODD = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["content", "parts", "text", "functionCall", "args", "name", "id", "finishReason", "details"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)
CHUNKS = st.dictionaries(st.sampled_from(["candidates", "usageMetadata", "promptFeedback", "error"]), ODD)


@given(st.lists(CHUNKS, max_size=4), st.booleans())
def test_any_pieces_end_in_deltas_or_a_typed_error(chunks: list[Any], is_list: bool) -> None:
    with contextlib.suppress(ProviderError):
        found = read(json.dumps(chunks).encode() if is_list else b"".join(map(sent, chunks)))
        assert isinstance(found[-1], Finish)
