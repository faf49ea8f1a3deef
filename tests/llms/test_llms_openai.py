"""The OpenAI-compatible client against a real socket, odd servers included."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
from collections.abc import Sequence
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy
import pytest

from trivium.caches import SQLiteCache
from trivium.exceptions import (
    ConfigurationError,
    MalformedAnswerError,
    ProviderConnectionError,
    ProviderStatusError,
)
from trivium.llms import CachedModel, Delta, Finish, OpenAIModel, Reasoning, ReasoningState, Request, ToolCallPart
from trivium.llms.http._policy import RetryPolicy
from trivium.schema import ToolSpec, Usage

from ._servers import ChatServer, Script, event_stream, http_answer

ASK = Request([{"role": "user", "content": "hi"}])
STOP = Finish("stop")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trivium.llms.http._transport.FIRST_DELAY", 0.0)
    for name in ("TRIVIUM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


async def collect(model: OpenAIModel, request: Request = ASK) -> list[Delta]:
    return [delta async for delta in model.stream(request)]


def answer(chat: ChatServer, *scripts: Script, request: Request = ASK, **options: Any) -> list[Delta]:
    chat.scripts = list(scripts)
    return asyncio.run(collect(OpenAIModel("m", base_url=chat.url, **options), request))


def event(delta: dict[str, Any] | None = None, reason: str | None = None, **more: Any) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": reason}], **more}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def call(arguments: Any, **more: Any) -> dict[str, Any]:
    function = {"name": more.pop("name", None), "arguments": arguments}
    return {"tool_calls": [{"function": function, **more}]}


END = event(reason="stop")
DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 5, "completion_tokens": 2}


def test_streams_text_usage_and_finish(chat: ChatServer) -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}\n\n'
    script = event_stream(event({"role": "assistant", "content": ""}), event({"content": "Hel"}))
    deltas = answer(chat, [*script, event({"content": "lo"}), END, usage, DONE])
    assert deltas == ["Hel", "lo", Usage(5, 2), STOP]
    assert chat.received[0].path == "/v1/chat/completions"
    assert "authorization" not in chat.received[0].headers


def test_sends_tools_schema_and_parameters(chat: ChatServer) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    tools = [ToolSpec("weather", "The weather.", schema), ToolSpec("sum", "A sum.", schema, strict=True)]
    request = Request(ASK.messages, tools, "weather", schema, {"temperature": 0.5, "seed": None})
    answer(chat, event_stream(event({"content": "x"}), END), request=request, parameters={"top_p": 1})
    body = chat.received[0].body
    assert (body["model"], body["stream"], body["stream_options"]) == ("m", True, {"include_usage": True})
    assert (body["temperature"], body["top_p"], "seed" in body) == (0.5, 1, False)
    assert body["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert [tool["function"].get("strict") for tool in body["tools"]] == [None, True]
    assert body["response_format"]["json_schema"] == {"name": "answer", "strict": False, "schema": schema}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}, True),
        ({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False}, False),
        ({"type": "array", "items": {"type": "object"}}, False),
        ({"type": "string"}, True),
        ({"allOf": [{"type": "string"}]}, False),
    ],
)
def test_is_strict_only_where_the_schema_allows_it(chat: ChatServer, schema: dict[str, Any], strict: bool) -> None:
    script = event_stream(event({"content": "x"}), END)
    answer(chat, script, request=Request(ASK.messages, output_schema=schema))
    assert chat.received[0].body["response_format"]["json_schema"]["strict"] is strict


NEEDED = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]}
CLOSED = {
    **NEEDED,
    "properties": {"a": {"type": "integer", "description": "minimum: 1"}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("provider", "interface", "schema", "sent"),
    [
        ("openai", "chat", NEEDED, CLOSED),
        ("openai", "responses", NEEDED, CLOSED),
        ("azure", "chat", NEEDED, CLOSED),
        ("vllm", "chat", NEEDED, NEEDED),  # it holds answers to any schema, `minimum` too
        ("vllm", "responses", NEEDED, NEEDED),
        ("openai", "chat", NEEDED | {"required": []}, NEEDED | {"required": []}),
        ("openai", "chat", {"anyOf": [NEEDED]}, {"anyOf": [NEEDED]}),  # a strict schema is no union
    ],
)
def test_a_schema_that_needs_only_be_closed_is_closed_for_who_enforces_strict_ones(
    chat: ChatServer, provider: str, interface: Any, schema: dict[str, Any], sent: dict[str, Any]
) -> None:
    request = Request(ASK.messages, output_schema=schema)
    with pytest.raises(ProviderStatusError):
        answer(chat, refused("400 No"), request=request, provider=provider, interface=interface, api_key="k")
    body = chat.received[0].body
    form = body["text"]["format"] if interface == "responses" else body["response_format"]["json_schema"]
    assert (form["strict"], form["schema"]) == (sent == CLOSED, sent)


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_sends_the_general_tool_choices_as_they_are(chat: ChatServer, choice: str) -> None:
    request = Request(ASK.messages, [ToolSpec("a", "", {"type": "object"})], choice)
    answer(chat, event_stream(event({"content": "x"}), END), request=request)
    assert chat.received[0].body["tool_choice"] == choice


BROKEN_LETTER = event({"content": "né"})
CUT = BROKEN_LETTER.index(b"\xc3") + 1
WHOLE = {"choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}

STREAMS: dict[str, tuple[Script, list[Delta]]] = {
    "no [DONE]": (event_stream(event({"content": "a"}), END), ["a", STOP]),
    "no finish reason": (event_stream(event({"content": "a"}), DONE), ["a", STOP]),
    "no last empty line": (event_stream(event({"content": "a"}), END.strip()), ["a", STOP]),
    "CRLF": (event_stream((event({"content": "a"}) + END).replace(b"\n", b"\r\n")), ["a", STOP]),
    "CR": (event_stream((event({"content": "a"}) + END).replace(b"\n", b"\r")), ["a", STOP]),
    "CR and LF apart": (event_stream(event({"content": "a"})[:-2] + b"\r", b"\n\r\n", END), ["a", STOP]),
    "comments and other fields": (
        event_stream(b": ping\n\nevent: x\nid: 1\n", event({"content": "a"}), b":\n\n", END),
        ["a", STOP],
    ),
    "cut inside a letter": (event_stream(BROKEN_LETTER[:CUT], BROKEN_LETTER[CUT:], END), ["né", STOP]),
    "BOM": (event_stream(b"\xef\xbb\xbf", event({"content": "a"}), END), ["a", STOP]),
    "no space after data": (event_stream(event({"content": "a"}).replace(b"data: ", b"data:"), END), ["a", STOP]),
    "role changes": (event_stream(event({"role": "tool", "content": "a"}), END), ["a", STOP]),
    "null choices with usage": (
        event_stream(event({"content": "a"}), END, b'data: {"choices": null, "usage": {}}\n\n'),
        ["a", Usage(), STOP],
    ),
    "bad usage": (event_stream(event({"content": "a"}, usage={"prompt_tokens": -1}), END), ["a", Usage(), STOP]),
    "usage twice": (
        event_stream(event({"content": "a"}, usage={"prompt_tokens": 1}), event(reason="stop", usage=USAGE)),
        ["a", Usage(5, 2), STOP],
    ),
    "reasoning": (
        event_stream(event({"reasoning_content": "hm"}), event({"content": "a"}), END),
        [Reasoning("hm"), "a", ReasoningState("openai-chat", "m", ({"came_as": "reasoning_content"},)), STOP],
    ),
    "content in parts": (event_stream(event({"content": [{"type": "text", "text": "a"}]}), END), ["a", STOP]),
    "refusal": (event_stream(event({"refusal": "no"}), END), ["no", Finish("content_filter")]),
    "lone surrogate": (
        event_stream(b'data: {"choices": [{"delta": {"content": "a\\ud83d"}}]}\n\n', END),
        ["a", "\ufffd", STOP],
    ),
    "length": (event_stream(event({"content": "a"}), event(reason="length")), ["a", Finish("length")]),
    "whole answer": (http_answer(json.dumps({**WHOLE, "usage": USAGE}).encode()), ["hello", Usage(5, 2), STOP]),
    "whole answer, wrong type": (http_answer(json.dumps(WHOLE).encode(), kind="text/plain"), ["hello", STOP]),
    "whole answer, no reason": (http_answer(b'{"choices": [{"message": {"content": "a"}}]}'), ["a", STOP]),
}


@pytest.mark.parametrize("case", STREAMS)
def test_goes_on_where_nothing_is_lost(chat: ChatServer, case: str) -> None:
    script, expected = STREAMS[case]
    assert answer(chat, script) == expected


CALLS: dict[str, tuple[list[dict[str, Any]], list[tuple[int, str | None, str]]]] = {
    "usual": (
        [call("", index=0, id="a", name="f"), call('{"x"', index=0), call(": 1}", index=0)],
        [(0, "f", '{"x": 1}')],
    ),
    "two": (
        [call("{}", index=0, id="a", name="f"), call("[]", index=1, id="b", name="g")],
        [(0, "f", "{}"), (1, "g", "[]")],
    ),
    "out of order": (
        [
            *(call("{", index=5, id="a", name="f"), call("{", index=2, id="b", name="g")),
            *(call("}", index=5), call("}", index=2)),
        ],
        [(0, "f", "{}"), (1, "g", "{}")],
    ),
    "no index": (
        [call("{", id="a", name="f"), call("}"), call("{}", id="b", name="g")],
        [(0, "f", "{}"), (1, "g", "{}")],
    ),
    "id repeated without index": ([call("{", id="a", name="f"), call("}", id="a")], [(0, "f", "{}")]),
    "shared index": (
        [call("{}", index=0, id="a", name="f"), call("{}", index=0, id="b", name="g")],
        [(0, "f", "{}"), (1, "g", "{}")],
    ),
    "shared id": (
        [call("{}", index=0, id="a", name="f"), call("{}", index=1, id="a", name="g")],
        [(0, "f", "{}"), (1, "g", "{}")],
    ),
    "no id": ([call("{}", index=0, name="f")], [(0, "f", "{}")]),
    "empty id": ([call("{}", index=0, id="", name="f")], [(0, "f", "{}")]),
    "arguments as object": ([call({"x": 1}, index=0, id="a", name="f")], [(0, "f", '{"x": 1}')]),
    "arguments as list": ([call([1], index=0, id="a", name="f")], [(0, "f", "[1]")]),
    "arguments null": ([call(None, index=0, id="a", name="f")], [(0, "f", "")]),
    "name null": ([call("{}", index=0, id="a")], [(0, None, "{}")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_puts_tool_calls_together(chat: ChatServer, case: str) -> None:
    deltas, expected = CALLS[case]
    parts = answer(chat, event_stream(*map(event, deltas), DONE))
    assert parts.pop() == Finish("tool_calls")
    calls: dict[int, list[ToolCallPart]] = {}
    for part in parts:
        assert isinstance(part, ToolCallPart)
        calls.setdefault(part.index, []).append(part)
    found = [(i, call[0].name, "".join(part.arguments for part in call)) for i, call in sorted(calls.items())]
    assert found == expected
    ids = [call[0].id for call in calls.values()]
    assert all(ids)
    assert len(set(ids)) == len(ids)


MALFORMED: dict[str, tuple[Script, str]] = {
    "web page": (http_answer(b"<html>hi</html>", kind="text/html"), "web page"),
    "not JSON": (http_answer(b"{nope"), "not JSON"),
    "list": (http_answer(b"[1]"), "no answer"),
    "deep": (http_answer(b"[" * 200_000), "not JSON"),
    "no choices": (http_answer(b"{}"), "without choices"),
    "empty choices": (http_answer(b'{"choices": []}'), "without choices"),
    "null choices": (http_answer(b'{"choices": null}'), "without choices"),
    "null message": (http_answer(b'{"choices": [{"message": null}]}'), "no answer"),
    "error with 200": (http_answer(b'{"error": {"message": "overloaded"}}'), "overloaded"),
    "nothing in the stream": (event_stream(DONE), "no answer"),
    "error in the stream": (event_stream(event({"content": "a"}), b'data: {"error": "boom"}\n\n'), "boom"),
    "text in the stream": (event_stream(b"data: hello\n\n"), "not JSON"),
    "gave up": (event_stream(event({"content": "a"}), event(reason="error")), "gave up"),
    "broken gzip": (http_answer(b"nonsense", content_encoding="gzip"), "unpacked"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_names_what_is_no_answer(chat: ChatServer, case: str) -> None:
    script, text = MALFORMED[case]
    with pytest.raises(MalformedAnswerError, match=text) as caught:
        answer(chat, script)
    assert re.search("[;:] (check|run it again)", str(caught.value))
    assert len(chat.received) == 1


GOOD = event_stream(event({"content": "a"}), END)


def refused(status: str, message: str = "no", **headers: str) -> Script:
    return http_answer(json.dumps({"error": {"message": message}}).encode(), status, **headers)


@pytest.mark.parametrize(
    "scripts",
    [
        [[], GOOD],
        [refused("503 Busy"), refused("500 Oops"), GOOD],
        [refused("429 Slow", retry_after="0"), GOOD],
        [refused("408 Late"), GOOD],
        [refused("409 Conflict", retry_after_ms="1"), GOOD],
        [refused("529 Overloaded", retry_after="Mon, 01 Jan 2024 00:00:00 GMT"), GOOD],
        [refused("503 Busy", retry_after="soon"), GOOD],
    ],
)
def test_tries_again_before_the_first_delta(chat: ChatServer, scripts: list[Script]) -> None:
    assert answer(chat, *scripts) == ["a", STOP]
    assert chat.scripts == []


@pytest.mark.parametrize(
    ("scripts", "text"),
    [
        ([refused("401 No", "wrong key")], "answered 401: wrong key; no API key was sent: set TRIVIUM_API_KEY"),
        ([refused("404 No", "no such model")], "no such model; check base_url"),
        ([refused("400 No", "bad schema")], "answered 400: bad schema"),
        ([refused("429 Slow", retry_after="36000")], "429"),
        ([refused("503 Busy", retry_after=formatdate(4e9, usegmt=True))], "503"),
        ([refused("503 Busy")] * 3, "503"),
        ([http_answer(b"<html>", "502 Bad Gateway", kind="text/html")] * 3, "answered 502: Bad Gateway"),
        ([http_answer(b'{"detail": "oops"}', "418 Tea")], "answered 418: oops"),
        ([http_answer(b"plain words", "400 Bad")], "answered 400: plain words"),
        ([http_answer(b"", "307 Elsewhere", location="http://127.0.0.1:1/?a=b")], r"127.0.0.1:1/; check base_url"),
        ([http_answer(b"", "307 No", location="http://u:pw@h/{setting}")], r"points to http://h/\{setting\}; check b"),
        ([http_answer(b"", "302 Found")], "answered 302: Found; check base_url"),
        ([refused("400 No", "m does not support tools")], r"tools; try capabilities=Capabilities\(tools=False\)"),
        ([refused("408 Late")] * 3, "408: no; try again later, or send less"),
    ],
)
def test_reports_a_refusal(chat: ChatServer, scripts: list[Script], text: str) -> None:
    with pytest.raises(ProviderStatusError, match=text) as caught:
        answer(chat, *scripts)
    assert str(caught.value.status) in str(caught.value)
    assert re.search(r"; (check|wait|send|change|try|no API key was sent: set)\b", str(caught.value))
    assert chat.scripts == []
    assert len(chat.received) == len(scripts)


def test_never_asks_again_after_the_first_delta(chat: ChatServer) -> None:
    script = http_answer(event({"content": "a"}), kind="text/event-stream")[0].replace(b"length: ", b"length: 9")
    seen: list[Delta] = []

    async def run() -> None:
        async for delta in OpenAIModel("m", base_url=chat.url).stream(ASK):
            seen.append(delta)

    chat.scripts = [[script.replace(b"content-length", b"Content-Length")], GOOD]
    with pytest.raises(ProviderConnectionError, match=r"the answer from .* broke off"):
        asyncio.run(run())
    assert seen == ["a"]
    assert len(chat.received) == 1


def test_names_a_server_that_is_not_there() -> None:
    model = OpenAIModel("m", base_url="http://user:secret@127.0.0.1:1/v1")
    with pytest.raises(ProviderConnectionError, match=r"http://127\.0\.0\.1:1/v1.*base_url") as caught:
        asyncio.run(collect(model))
    assert "secret" not in f"{caught.value}{model!r}"


@pytest.mark.parametrize("key", ["a", "x", "none", "EMPTY"])
def test_a_short_key_is_hidden_as_a_word_and_no_other_word_is_harmed(chat: ChatServer, key: str) -> None:
    told = f"no answer, {key}; key {key} ?key={key}&b q{key}q {key.join('__')} %3A{key} \\n{key} [{key}]"
    chat.scripts = [refused("401 No", told)]
    with pytest.raises(ProviderStatusError) as caught:
        asyncio.run(collect(OpenAIModel("m", base_url=chat.url, api_key=key)))
    hidden = told.replace(f", {key};", ", ***;").replace(f" {key} ", " *** ").replace(f"={key}&", "=***&")
    hidden = hidden.replace(f"_{key}_", "_***_")
    hidden = hidden.replace(f"3A{key} ", "3A*** ").replace(f"\\n{key} ", "\\n*** ").replace(f"[{key}]", "[***]")
    assert hidden in str(caught.value)


def test_gives_a_silent_server_up(chat: ChatServer) -> None:
    silent = event_stream(event({"content": "a"}))[:1]
    chat.scripts = [[silent[0].replace(b"connection: close", b"content-length: 99")]] * 3
    with pytest.raises(ProviderConnectionError, match="sent nothing"):
        asyncio.run(collect(OpenAIModel("m", base_url=chat.url, timeout=0.05)))


def test_sends_the_key_and_never_shows_it(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIVIUM_API_KEY", "sk-secret")
    model = OpenAIModel("m", base_url=chat.url)
    chat.scripts = [refused("401 No", "bad key sk-secret")]
    with pytest.raises(ProviderStatusError, match=r"bad key \*\*\*; check the API key") as caught:
        asyncio.run(collect(model))
    assert chat.received[0].headers["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in f"{caught.value}{caught.value.raw}{model!r}{vars(caught.value)}"


def test_the_public_key_goes_to_the_public_server_only(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("", " "):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
            asyncio.run(collect(OpenAIModel("m")))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-public")
    answer(chat, GOOD)
    assert "authorization" not in chat.received[0].headers


@pytest.mark.parametrize("key", ["ключ", "a\nb"])
def test_refuses_a_key_that_cannot_be_one(chat: ChatServer, key: str) -> None:
    with pytest.raises(ConfigurationError, match="API key") as caught:
        answer(chat, GOOD, api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://"])
def test_refuses_a_url_that_cannot_be_one(url: str) -> None:
    with pytest.raises(ConfigurationError, match="http://"):
        OpenAIModel("m", base_url=url)


def test_keeps_one_connection_in_a_loop_and_closes_it_with_the_loop(chat: ChatServer) -> None:
    whole = http_answer(json.dumps(WHOLE).encode())
    chat.scripts = [whole] * 4
    model = OpenAIModel("m", base_url=chat.url)

    async def twice() -> Sequence[list[Delta]]:
        return [await collect(model), await collect(model)]

    assert asyncio.run(twice()) == [["hello", STOP]] * 2
    assert chat.closed.wait(60)
    assert chat.connections == 1
    assert asyncio.run(twice()) == [["hello", STOP]] * 2
    assert chat.connections == 2


def test_closing_the_stream_ends_the_request(chat: ChatServer) -> None:
    async def first() -> Delta:
        stream = OpenAIModel("m", base_url=chat.url).stream(ASK)
        delta = await anext(stream)
        await stream.aclose()
        assert await asyncio.to_thread(chat.closed.wait, 60)
        return delta

    script = event_stream(event({"content": "a"}))
    chat.scripts = [[script[0].replace(b"connection: close", b"x-keep: content-length"), script[1]]]
    assert asyncio.run(first()) == "a"


def test_one_line_may_hold_a_megabyte(chat: ChatServer) -> None:
    text = "x" * 1_000_000
    assert answer(chat, event_stream(event({"content": text}), END)) == [text, STOP]


def test_what_must_not_be_tried_again() -> None:
    assert RetryPolicy().delay(MalformedAnswerError("x"), 1) is None
    assert RetryPolicy().delay(ProviderConnectionError("x"), 1) is not None


def test_the_parts_of_the_usage_are_kept(chat: ChatServer) -> None:
    parts: dict[str, Any] = {
        "prompt_tokens": 50,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    script = event_stream(event({"content": "a"}, usage=parts), END)
    assert answer(chat, script)[1] == Usage(50, 20, 0.0, 40, 3, 15)
    deepseek = {"prompt_tokens": 50, "completion_tokens": 20, "prompt_cache_hit_tokens": 40}
    assert answer(chat, event_stream(event({"content": "a"}, usage=deepseek), END))[1] == Usage(
        50, 20, cached_tokens=40
    )


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("temperature", numpy.float32(0.5), 0.5),
        ("temperature", numpy.float64(0.5), 0.5),
        ("seed", numpy.int64(3), 3),
        ("logit_bias", {"1": numpy.float32(2)}, {"1": 2.0}),
        ("store", numpy.bool_(True), True),
        ("top_p", numpy.array(0.5), 0.5),
        ("stop", numpy.array(["a"]), None),
        ("temperature", math.nan, None),
        ("logit_bias", {"1": math.inf}, None),
    ],
)
@pytest.mark.parametrize("is_cached", [False, True])
def test_numbers_are_sent_as_json_and_what_is_no_json_is_a_typed_error(
    chat: ChatServer, name: str, value: Any, sent: Any, is_cached: bool, tmp_path: Path
) -> None:
    chat.scripts = [event_stream(event({"content": "a"}), END)]
    model: Any = OpenAIModel("m", base_url=chat.url, parameters={name: value})
    fails = pytest.raises(ConfigurationError, match=r"cannot be sent as JSON|no JSON|an array")
    with (
        contextlib.closing(SQLiteCache(tmp_path / "a.db")) as cache,
        fails if sent is None else contextlib.nullcontext(),
    ):
        (CachedModel(model, cache) if is_cached else model).chat("hi")
    assert [each.body[name] for each in chat.received] == ([] if sent is None else [sent])


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("text", "thoughts", "said"),
    [
        ('\n<think>hm {"a"} <b></think>\n{"a": 1}', 'hm {"a"} <b>', '\n{"a": 1}'),
        ('<think></think>{"a": 1}', "", '{"a": 1}'),
        (' {"a": "<think>b</think>"}', "", ' {"a": "<think>b</think>"}'),
        ("<thin", "", "<thin"),
        ("<think>never ends</thi", "never ends</thi", ""),
    ],
)
def test_thoughts_before_json_are_thoughts(chat: ChatServer, text: str, thoughts: str, said: str, size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    script = event_stream(*(event({"content": piece}) for piece in pieces), END)
    typed = answer(chat, script, request=ASK._replace(output_schema=NEEDED))
    assert "".join(each.text for each in typed if isinstance(each, Reasoning)) == thoughts
    assert "".join(each for each in typed if isinstance(each, str)) == said
    plain = answer(chat, script)  # its texts are the user's to read
    assert "".join(each for each in plain if isinstance(each, str)) == text
