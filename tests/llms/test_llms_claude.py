"""ClaudeAPI against a real socket that speaks Anthropic's Messages interface."""

from __future__ import annotations

import asyncio
import contextlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, AsyncAgent
from trivium.exceptions import (
    ConfigurationError,
    MalformedAnswerError,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
)
from trivium.llms import AsyncClaudeAPI, ClaudeAPI, Delta, Finish, Reasoning, ReasoningState, Request, ToolCallPart
from trivium.llms.wire._answers import AnswerReader
from trivium.llms.wire._claude import ClaudeMessageReader
from trivium.llms.wire._fields import CallNames
from trivium.schema import ModelStatusCode, ToolSpec, Usage

from ._provider_answers import claude_events, claude_text, claude_whole, refused, sent
from ._servers import ChatServer, Script, event_stream, http_answer

ASK = [{"role": "user", "content": "hi"}]
SAID = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
ING, END = ModelStatusCode.STREAM_ING, ModelStatusCode.END
OBJECT = {"type": "object", "properties": {"start": {"type": "string"}}}
USED = Usage(30, 15, cached_tokens=5)
RESET: Script = []
STATE = ReasoningState("anthropic", "claude-x", ({"type": "thinking", "thinking": "hm", "signature": "x"},))
NO_NAMES = CallNames({}, {}, {})


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trivium.llms.http._transport.FIRST_DELAY", 0.0)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def claude(chat: ChatServer, **options: Any) -> ClaudeAPI:
    return ClaudeAPI("claude-x", base_url=chat.url, **options)


def claude_async(chat: ChatServer, **options: Any) -> AsyncClaudeAPI:
    return AsyncClaudeAPI("claude-x", base_url=chat.url, **options)


def deltas_of(chat: ChatServer, script: Script, request: Request | None = None) -> list[Delta]:
    async def collect() -> list[Delta]:
        return [delta async for delta in claude(chat, retry=1).stream(request or Request(ASK))]

    chat.scripts = [script] * 5
    return asyncio.run(collect())


def test_a_chat_sends_what_the_interface_wants(chat: ChatServer) -> None:
    chat.scripts = [claude_text("Hel", "lo ")]
    assert claude(chat, key="k1", stop_words=["x", " "]).chat(ASK) == "Hello "
    assert chat.received[0].path == "/v1/messages"
    headers = chat.received[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("k1", "2023-06-01")
    assert "authorization" not in headers
    assert chat.received[0].body == {
        "model": "claude-x",
        "max_tokens": 512,
        "stop_sequences": ["x"],
        "messages": [SAID],
        "stream": True,
    }


def test_sampling_is_sent_only_where_it_is_given(chat: ChatServer) -> None:
    chat.scripts = [claude_text("a")] * 3
    model = claude(chat, temperature=0.5, top_k=3, stop_words="x")
    model.chat(ASK, max_new_tokens=9, stop_words=None)
    Agent(model, parameters={"max_tokens": 7})("hi")
    body, other = (each.body for each in chat.received)
    assert (body["temperature"], body["top_k"], body["max_tokens"], "top_p" in body) == (0.5, 3, 9, False)
    assert "stop_sequences" not in body
    assert (other["max_tokens"], other["stop_sequences"]) == (7, ["x"])


def test_max_tokens_is_refused_with_the_name_that_is_meant(chat: ChatServer) -> None:
    with pytest.raises(NotImplementedError, match="max_new_tokens"):
        claude(chat).chat(ASK, max_tokens=3)


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/messages"])
def test_the_address_is_taken_with_and_without_its_last_part(chat: ChatServer, end: str) -> None:
    chat.scripts = [claude_text("a")]
    ClaudeAPI("claude-x", base_url=chat.url.removesuffix("/v1") + end).chat(ASK)
    assert chat.received[0].path == "/v1/messages"


def test_growing_and_several_answers_sync_and_async(chat: ChatServer) -> None:
    growing = [(ING, "a", None), (ING, "ab", None), (END, "ab", None)]
    chat.scripts = [claude_text("a", "b")] * 6
    assert list(claude(chat).stream_chat(ASK)) == growing
    assert claude(chat).chat([ASK, ASK]) == ["ab", "ab"]

    async def ask() -> tuple[list[Any], Any]:
        model = claude_async(chat)
        return [item async for item in model.stream_chat(ASK)], await model.chat([ASK, ASK])

    assert asyncio.run(ask()) == (growing, ["ab", "ab"])


def test_messages_are_translated(chat: ChatServer) -> None:
    chat.scripts = [claude_text("a")]
    call = {"id": "functions.f:0", "type": "function", "function": {"name": "Kit.f", "arguments": '{"x": 1}'}}
    bad = {"id": "c2", "function": {"name": "g", "arguments": "{x"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAA="}}
    claude(chat, meta_template=None).chat(
        [
            {"role": "system", "content": "one"},
            {"role": "system", "content": "two", "name": "interpreter"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
            {"role": "environment", "content": "sunny"},
            {"role": "assistant", "content": None, "tool_calls": [call, bad]},
            {"role": "tool", "tool_call_id": "functions.f:0", "content": "2"},
            {"role": "tool", "tool_call_id": "c2", "content": ""},
            {"role": "user", "content": "  ", "name": "Ada"},
            {"role": "user", "content": "and?"},
        ]
    )
    body = chat.received[0].body
    assert body["system"] == "one\n\ntwo"
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAA="}},
                {"type": "text", "text": "sunny"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "functions_f_0", "name": "Kit_f", "input": {"x": 1}},
                {"type": "tool_use", "id": "c2", "name": "g", "input": {"arguments": "{x"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "functions_f_0", "content": [{"type": "text", "text": "2"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": []},
                {"type": "text", "text": "and?"},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("Kit.f", {"type": "tool", "name": "Kit_f"}),
    ],
)
def test_tools_and_their_choice_are_translated(chat: ChatServer, choice: str, wanted: dict[str, str]) -> None:
    tools = [ToolSpec("Kit.f", "Does f.", {"properties": {}}), ToolSpec("g", "", OBJECT, strict=True)]
    deltas_of(chat, claude_text("a"), Request(ASK, tools, choice))
    body = chat.received[0].body
    assert body["tools"] == [
        {"name": "Kit_f", "description": "Does f.", "input_schema": {"type": "object", "properties": {}}},
        {"name": "g", "description": "", "input_schema": OBJECT | {"additionalProperties": False}, "strict": True},
    ]
    assert body["tool_choice"] == wanted


def use(name: str, *pieces: str, call_id: str = "toolu_1") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}, deltas


def text(*pieces: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


THOUGHT = ({"type": "thinking", "thinking": ""}, [
    {"type": "thinking_delta", "thinking": "hm"},
    {"type": "signature_delta", "signature": "x"},
])  # fmt: skip
ANSWERS: dict[str, tuple[Script, list[Delta]]] = {
    "text": (claude_text("a", "b"), ["a", "b", USED, Finish("stop")]),
    "stop word": (claude_text("a", reason="stop_sequence"), ["a", USED, Finish("stop")]),
    "length": (claude_text("a", reason="max_tokens"), ["a", USED, Finish("length")]),
    "refusal": (claude_text("a", reason="refusal"), ["a", USED, Finish("content_filter")]),
    "another reason": (claude_text("a", reason="later"), ["a", USED, Finish("later")]),
    "thinking": (
        event_stream(*claude_events([THOUGHT, text("a")], "end_turn")),
        [Reasoning("hm"), "a", USED, STATE, Finish("stop")],
    ),
    "two calls": (
        event_stream(
            *claude_events([text("a"), use("f", "", '{"x"', ":1}"), use("g", call_id="toolu_2")], "tool_use")
        ),
        [
            "a",
            *(ToolCallPart(0, "toolu_1", "f"), ToolCallPart(0, arguments='{"x"'), ToolCallPart(0, arguments=":1}")),
            *(ToolCallPart(1, "toolu_2", "g"), USED, Finish("tool_calls")),
        ],
    ),
    "an unknown block and event": (
        event_stream(
            sent({"type": "later"}),
            *claude_events([({"type": "server_tool_use", "input": {}}, []), text("a")], "end_turn"),
        ),
        ["a", USED, STATE._replace(items=({"type": "server_tool_use", "input": {}},)), Finish("stop")],
    ),
    "no last event": (event_stream(*claude_events([text("a")], "end_turn")[:-1]), ["a", USED, Finish("stop")]),
    "usage at the end": (
        event_stream(
            *claude_events([text("a")], None),
            sent({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 9}}),
        ),
        ["a", Usage(14, 1, cached_tokens=5), Finish("stop")],
    ),
    "whole": (claude_whole({"type": "text", "text": "a"}), ["a", Usage(25, 15), Finish("stop")]),
    "whole with a call": (
        claude_whole({"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}, reason="tool_use"),
        [ToolCallPart(0, "t", "f", '{"x": 1}'), Usage(25, 15), Finish("tool_calls")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_become_deltas(chat: ChatServer, case: str) -> None:
    script, expected = ANSWERS[case]
    assert deltas_of(chat, script) == expected


MALFORMED: dict[str, tuple[Script, str]] = {
    "web page": (http_answer(b"<html>", kind="text/html"), "web page"),
    "not JSON": (http_answer(b"{nope"), "not JSON"),
    "list": (http_answer(b"[1]"), "no answer"),
    "no content": (http_answer(b"{}"), "no answer"),
    "null content": (http_answer(b'{"content": null}'), "no answer"),
    "empty content": (http_answer(b'{"content": []}'), "no answer"),
    "odd content": (http_answer(b'{"content": [1, {"type": "text", "text": 3}]}'), "no answer"),
    "text in the stream": (event_stream(b"data: hello\n\n"), "not JSON"),
    "broken gzip": (http_answer(b"nonsense", content_encoding="gzip"), "unpacked"),
}
BROKEN_OFF: dict[str, tuple[Script, str]] = {
    "only a start": (event_stream(*claude_events([], None)), "no answer"),
    "broken off": (claude_text("a", reason=None), "broke off"),
}


@pytest.mark.parametrize("case", [*MALFORMED, *BROKEN_OFF])
def test_what_is_no_answer_is_a_typed_error(chat: ChatServer, case: str) -> None:
    script, said = {**MALFORMED, **BROKEN_OFF}[case]
    kind = ProviderConnectionError if case in BROKEN_OFF else MalformedAnswerError
    with pytest.raises(kind, match=said) as caught:
        deltas_of(chat, script)
    assert any(mark in str(caught.value) for mark in ("; check", ": check", "; run it again"))
    with pytest.raises(ProviderError):
        asyncio.run(claude_async(chat, retry=1).chat(ASK))


def error(kind: str) -> bytes:
    return sent({"type": "error", "error": {"type": kind, "message": "no"}}, "error")


@pytest.mark.parametrize(
    ("scripts", "asked"),
    [
        ([event_stream(error("overloaded_error")), claude_text("a")], 2),
        ([refused("529 Overloaded", kind="overloaded_error"), claude_text("a")], 2),
        ([refused("429 Slow", kind="rate_limit_error", retry_after="0"), claude_text("a")], 2),
        ([event_stream(error("api_error")), RESET, claude_text("a")], 3),
    ],
)
def test_what_passes_is_tried_again(chat: ChatServer, scripts: list[Script], asked: int) -> None:
    chat.scripts = scripts
    assert claude(chat).chat(ASK) == "a"
    assert len(chat.received) == asked


@pytest.mark.parametrize(
    ("scripts", "status"),
    [
        ([refused("529 Overloaded")] * 2, 529),
        ([event_stream(error("overloaded_error"))] * 2, 529),
        ([event_stream(error("invalid_request_error"))], 400),
        ([event_stream(*claude_events([text("a")], None), error("overloaded_error"))], 529),
        ([http_answer(b'{"type": "error", "error": {"type": "not_found_error", "message": "no"}}')], 404),
        ([event_stream(error("new_error"))] * 2, 500),
    ],
)
def test_what_stays_is_a_typed_error(chat: ChatServer, scripts: list[Script], status: int) -> None:
    chat.scripts = list(scripts)
    with pytest.raises(ProviderStatusError, match="no") as caught:
        claude(chat, retry=2).chat(ASK)
    assert caught.value.status == status
    assert chat.scripts == []


def test_a_key_without_credit_is_left_out_and_none_is_shown(chat: ChatServer) -> None:
    poor = refused("400 Bad", "Your credit balance is too low", kind="invalid_request_error")
    chat.scripts = [poor, refused("401 No", "sk-2 is bad"), refused("400 Bad", "sk-1 says no")]
    model = claude(chat, key=["sk-1", "sk-2", "sk-3"], retry=1)
    with pytest.raises(ProviderStatusError, match=r"\*\*\* says no") as caught:
        model.chat(ASK)
    assert sorted(each.headers["x-api-key"] for each in chat.received) == ["sk-1", "sk-2", "sk-3"]
    assert "sk-" not in f"{caught.value!r}{caught.value.raw}{model!r}"


def test_a_server_that_is_not_there_ends_after_the_tries() -> None:
    with pytest.raises(ProviderConnectionError, match="base_url"):
        ClaudeAPI("x", base_url="http://127.0.0.1:1", retry=2).chat(ASK)


def test_the_public_server_is_not_asked_without_a_key() -> None:
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY"):
        ClaudeAPI().chat(ASK)


def test_the_key_comes_from_the_environment(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    chat.scripts = [claude_text("a")]
    claude(chat).chat(ASK)
    assert chat.received[0].headers["x-api-key"] == "k"


def route(start: str) -> str:
    """Find a way.

    Args:
        start: where.
    """
    return f"from {start}"


def test_an_agent_calls_its_tools_through_it(chat: ChatServer) -> None:
    asks = event_stream(*claude_events([text("I look."), use("route", '{"start": ', '"A"}')], "tool_use"))
    chat.scripts = [asks, claude_text("done")] * 2
    assert Agent(claude(chat), tools=[route])("go").content == "done"
    assert asyncio.run(AsyncAgent(claude_async(chat), tools=[route]).acall("go")).content == "done"
    for number in (1, 3):
        _, called, result = chat.received[number].body["messages"]
        assert called["content"] == [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "route", "input": {"start": "A"}},
        ]
        found = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "from A"}]}
        assert result["content"] == [found]


def test_a_schema_is_kept_by_a_tool_that_takes_the_answer(chat: ChatServer) -> None:
    script = event_stream(*claude_events([text("Well,"), use("answer", '{"start"', ': "A"}')], "tool_use"))
    found = deltas_of(chat, script, Request(ASK, output_schema=OBJECT))
    assert found == [Reasoning("Well,"), "", '{"start"', ': "A"}', USED, Finish("stop")]
    body = chat.received[0].body
    assert body["tools"][0]["input_schema"] == OBJECT
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}


def test_a_schema_beside_tools_leaves_the_model_the_choice(chat: ChatServer) -> None:
    tools = [ToolSpec("answer", "", OBJECT)]
    script = event_stream(*claude_events([use("answer", "{}")], "tool_use"))
    found = deltas_of(chat, script, Request(ASK, tools, output_schema=OBJECT))
    assert found[0] == ToolCallPart(0, "toolu_1", "answer")
    body = chat.received[0].body
    assert [tool["name"] for tool in body["tools"]] == ["answer", "answer_"]
    assert body["tool_choice"] == {"type": "any"}


def read(pieces: list[bytes]) -> list[Delta]:
    reader = AnswerReader(ClaudeMessageReader(NO_NAMES))
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    return [*deltas, *reader.end()]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5), st.lists(st.integers(0, 900), max_size=8))
def test_cuts_change_nothing(texts: list[str], cuts: list[int]) -> None:
    texts = [each.encode("utf-8", "replace").decode() for each in texts]
    data = b"".join(claude_events([text(*texts)], "end_turn"))
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    assert read([data[start:end] for start, end in pairwise(edges)]) == [*texts, USED, Finish("stop")]


EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["content_block_start", "content_block_delta", "message_delta", "error", "message_start"]
        )
    },
    optional={
        "index": st.integers() | st.none(),
        **{
            name: st.recursive(
                st.none() | st.integers() | st.text(max_size=5),
                lambda inner: st.dictionaries(
                    st.sampled_from(["type", "text", "input", "partial_json", "usage", "stop_reason", "name"]), inner
                ),
                max_leaves=6,
            )
            for name in ("content_block", "delta", "message", "usage", "error")
        },
    },
)


@given(st.lists(EVENTS, max_size=6), st.booleans())
def test_any_events_end_in_deltas_or_a_typed_error(events: list[Any], is_whole: bool) -> None:
    with contextlib.suppress(ProviderError):
        read([json.dumps({"content": events}).encode()] if is_whole else [sent(event) for event in events])
