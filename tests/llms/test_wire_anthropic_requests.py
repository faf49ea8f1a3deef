"""What is sent to Anthropic's Messages interface fits its own package."""

from __future__ import annotations

import base64
import json
from contextlib import nullcontext
from typing import Any

import pytest

from trivium.exceptions import ConfigurationError
from trivium.llms import ReasoningState, Request
from trivium.llms._protocol import LongHistory
from trivium.llms.wire._claude_request import claude_beginning, claude_body, claude_names
from trivium.llms.wire._closed_schema import CLAUDE_FORMATS, OPENAI_FORMATS, closed_schema
from trivium.llms.wire._fields import family
from trivium.schema import FileAttachment, NoEffectWarning, ToolSpec

from ._fitting import misfit
from ._provider_answers import HIDDEN, SIGNED

NEW, OLD = "claude-opus-4-8", "claude-opus-4-1"
ASK = [{"role": "user", "content": "hi"}]
OPEN = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}, "required": ["x"]}
CLOSED = {
    "type": "object",
    "properties": {"x": {"type": "integer", "description": "minimum: 1"}},
    "required": ["x"],
    "additionalProperties": False,
}


def body_of(model: str, request: Request, **parameters: Any) -> dict[str, Any]:
    """What is posted, which the interface's own types must know."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    body = claude_body(model, request, parameters, claude_names(model, request))
    known = {name: value for name, value in body.items() if name not in ("temperature", "top_p", "top_k")}
    assert misfit(json.loads(json.dumps(known)), MessageCreateParamsStreaming) == ""
    return body


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


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
FOUND: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
USED: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
KEPT = (SIGNED, {"type": "text", "text": "Look: "}, SEARCH, FOUND, {"type": "tool_use", "id": "c1"}, SEARCH, FOUND)
REST = {"type": "text", "text": "it is."}


@pytest.mark.parametrize(
    ("text", "thinking", "sent"),
    [
        ("Look: it is.", "adaptive", [SIGNED, KEPT[1], SEARCH, FOUND, USED, SEARCH, FOUND, REST]),
        ("Look: it is.", "disabled", [KEPT[1], SEARCH, FOUND, USED, SEARCH, FOUND, REST]),
        ("it is.", "adaptive", [SIGNED, SEARCH, FOUND, USED, SEARCH, FOUND, REST]),  # the text was changed since
    ],
)
def test_what_the_server_did_itself_goes_back_in_its_place(text: str, thinking: str, sent: list[Any]) -> None:
    calls = [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]
    state = ReasoningState("anthropic", NEW, KEPT)
    said = {"role": "assistant", "content": text, "tool_calls": calls, "reasoning_state": state}
    result = {"role": "tool", "tool_call_id": "c1", "content": "1"}
    body = body_of(NEW, Request([*ASK, said, result]), thinking={"type": thinking})
    assert body["messages"][1]["content"] == sent


def acted(*items: dict[str, Any], calls: bool = False) -> dict[str, Any]:
    given = {"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]} if calls else {}
    return {"role": "assistant", "content": "", "reasoning_state": ReasoningState("anthropic", NEW, items), **given}


DONE = {"role": "tool", "tool_call_id": "c1", "content": "1"}


@pytest.mark.parametrize("answers", [1, 20])
@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ([acted(SIGNED, SEARCH), *ASK], []),  # it was cut off
        ([acted(SIGNED, SEARCH, FOUND), *ASK], [SEARCH, FOUND]),
        ([acted(SEARCH)], [SEARCH]),  # it paused
        ([acted(SEARCH, calls=True), DONE], [SEARCH]),
        ([acted(SEARCH, calls=True), DONE, acted(FOUND), *ASK], [SEARCH, FOUND]),
        ([acted(SEARCH, calls=True), DONE, acted(SIGNED), *ASK], []),
        ([acted(FOUND), *ASK], []),  # a memory dropped the use
    ],
)
def test_half_of_a_pair_of_the_servers_own_tools_is_not_sent(messages: Any, sent: list[Any], answers: int) -> None:
    others = [message for _ in range(answers) for message in (*ASK, {"role": "assistant", "content": "a"})]
    history, written = LongHistory.begin([*others, *ASK]), b""
    later = [{"role": "assistant", "content": "b"}, *others, *ASK] if messages[-1] in ASK else []
    for message in [*messages, *later]:  # each request keeps what it wrote
        history.append(message)
        request = Request(history)
        before = claude_beginning(NEW, request, {})
        written = claude_body(NEW, request, {}, claude_names(NEW, request, before), before)["messages"].body({})
    blocks = [block for message in json.loads(written)["messages"] for block in message["content"]]
    assert [block for block in blocks if block["type"] in (SEARCH["type"], FOUND["type"])] == sent


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
    plain = body_of(model, Request(ASK, output_schema=OPEN), temperature=0.5, top_k=3, seed=1)
    forced = body_of(model, Request(ASK, [ToolSpec("f", "", OPEN)], "required"))
    found = "output_config" in plain, "temperature" in plain, forced["tool_choice"] == {"type": "any"}
    assert (*found, plain["max_tokens"]) == FAMILIES[model]
    assert ("tools" in plain, "seed" in plain) == (not FAMILIES[model][0], False)
    assert {"temperature", "top_k"} & plain.keys() in (set(), {"temperature", "top_k"})


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
    ("model", "given", "sent", "is_told"),
    [
        ("claude-sonnet-4-6", {"reasoning_effort": "none"}, {}, False),
        ("claude-sonnet-4-6", {"reasoning_effort": "minimal"}, {"output_config": {"effort": "low"}}, False),
        ("claude-opus-4-5", {"reasoning_effort": "high"}, {"output_config": {"effort": "high"}}, False),
        ("claude-haiku-4-5", {"reasoning_effort": "high"}, {}, True),
        ("claude-haiku-4-5", {"reasoning_effort": "none"}, {}, False),
        ("claude-sonnet-4-6", {"service_tier": "default"}, {"service_tier": "standard_only"}, False),
        ("claude-sonnet-4-6", {"service_tier": "flex"}, {}, True),
        ("claude-sonnet-4-6", {"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5}, True),
        ("claude-sonnet-4-6", {"top_p": 0.9}, {"top_p": 0.9}, False),
        ("claude-sonnet-4", {"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}, False),
    ],
)
def test_values_of_other_interfaces_become_its_own_or_are_left_out_with_a_warning(
    model: str, given: dict[str, Any], sent: dict[str, Any], is_told: bool
) -> None:
    expected = {**body_of(model, Request(ASK)), **sent}
    with pytest.warns(NoEffectWarning, match="it is not sent") if is_told else nullcontext():
        assert body_of(model, Request(ASK), **given) == expected


@pytest.mark.parametrize(
    "name",
    ["logit_bias", "min_p", "prompt_cache_key", "reasoning_summary", "response_format", "store", "verbosity"],
)
def test_a_common_parameter_that_the_interface_does_not_have_is_left_out(name: str) -> None:
    assert body_of(NEW, Request(ASK), **{name: "auto"}) == body_of(NEW, Request(ASK))


@pytest.mark.parametrize("name", ["metadata", "thinking", "output_config"])
def test_a_parameter_that_is_no_object_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"parameter {name} is a dict"):
        body_of(NEW, Request(ASK), **{name: "x"})


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"user": "u-1"}, {"user_id": "u-1"}),
        ({"user": "u-1", "metadata": {"user_id": "u-2"}}, {"user_id": "u-2"}),
        ({"user": "u-1", "metadata": {"trace": "t"}}, {"user_id": "u-1"}),
        ({"metadata": {"trace": "t"}}, None),
    ],
)
def test_the_user_is_named_where_the_interface_wants_it(given: dict[str, Any], sent: dict[str, str] | None) -> None:
    assert body_of(NEW, Request(ASK), **given).get("metadata") == sent


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
        ({"type": "object", "properties": {"any": {"type": "object"}}}, None),
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "uri"}),
        ({"type": "string", "format": "x"}, {"type": "string", "description": "format: x"}),
        ({"type": "array", "items": {"$ref": "#/$defs/A", "description": "d"}, "$defs": {"A": {"type": "string"}}},
         {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/A"}], "description": "d"},
          "$defs": {"A": {"type": "string"}}}),
        ({"type": "array", "items": {"$ref": "#/definitions/A"}, "definitions": {"A": {"type": "string"}}}, None),
        ({"type": "array", "items": {"$ref": "#/$defs/A/items"}, "$defs": {"A": {"type": "string"}}}, None),
        ({"type": "array", "items": True}, None),
    ],
)  # fmt: skip
def test_schemas_are_closed_where_that_can_be(schema: dict[str, Any], closed: dict[str, Any] | None) -> None:
    before = json.dumps(schema)
    assert closed_schema(schema, CLAUDE_FORMATS) == closed
    assert json.dumps(schema) == before


def test_openai_knows_fewer_formats() -> None:
    closed = {"type": "string", "description": "format: uri"}
    assert closed_schema({"type": "string", "format": "uri"}, OPENAI_FORMATS) == closed


def test_each_definition_is_followed_once() -> None:
    twice = [{"anyOf": [{"$ref": f"#/$defs/M{at + 1}"}] * 2} for at in range(60)]
    schema = {"$ref": "#/$defs/M0", "$defs": {f"M{at}": each for at, each in enumerate([*twice, {"type": "null"}])}}
    assert closed_schema(schema, CLAUDE_FORMATS) == schema


@pytest.mark.parametrize(
    ("model", "name"),
    [("claude-opus-4-1-20250805", "claude-opus-4-1"), ("anthropic/claude-sonnet-4@20250514", "claude-sonnet-4")],
)
def test_a_release_does_not_make_another_model(model: str, name: str) -> None:
    assert family(model) == name


def test_a_recursive_type_is_closed_for_decoders_that_take_one() -> None:
    node = {"type": "object", "properties": {"below": {"$ref": "#/$defs/Node"}}, "required": ["below"]}
    closed = {**node, "additionalProperties": False}
    assert closed_schema({**node, "$defs": {"Node": node}}, CLAUDE_FORMATS) is None
    assert closed_schema({**node, "$defs": {"Node": node}}, OPENAI_FORMATS, may_recur=True) == {
        **closed,
        "$defs": {"Node": closed},
    }
    assert closed_schema(node, OPENAI_FORMATS, may_recur=True) is None


@pytest.mark.parametrize("url", ["data:image/png;base64,", "", "data:image/png,", "data:" + "x" * 999])
def test_an_empty_file_is_refused(url: str) -> None:
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    with pytest.raises(ConfigurationError, match=r"the file .{0,100} of a message is empty: leave it out"):
        body_of(NEW, Request([message]))


@pytest.mark.parametrize("url", ["data:image/png;base64,PHMvPg==", "data:image/png,<s/>", "data:image/png,%3Cs/%3E"])
def test_a_file_in_an_address_may_be_base64_or_percent_encoded(url: str) -> None:
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    (image,) = body_of(NEW, Request([message]))["messages"][0]["content"]
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": "PHMvPg=="}
