"""What is sent to a model and what comes back, by the documented names."""

from __future__ import annotations

import json
from datetime import UTC, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trivium.exceptions import AnswerFormatError
from trivium.schema import (
    FileAttachment,
    LLMFunctionCall,
    LLMFunctionSpec,
    LLMMessage,
    LLMMessages,
    LLMResponse,
    LLMTokenUsage,
    Message,
    OpenAIJsonSchemaSpec,
    OpenAIToolCall,
    OpenAIToolSpec,
    Role,
    StreamEventType,
    ToolCall,
    Usage,
)

CALL = LLMFunctionCall(name="square", arguments={"x": 3})
TOOL = OpenAIToolCall(id="call_9", function=CALL)
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}}
SPEC = LLMFunctionSpec(name="square", description="Square it.", parameters=SCHEMA)

names = st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)
values: st.SearchStrategy[Any] = st.dictionaries(
    st.text(max_size=8), st.none() | st.booleans() | st.integers() | st.text(max_size=12), max_size=4
)


# ---- calls
@pytest.mark.shows("LLMFunctionCall", "LLMFunctionCall.name", "LLMFunctionCall.arguments", "LLMFunctionCall.from_dict")
@given(names, values)
def test_a_call_is_read_as_a_provider_sends_it(name: str, arguments: dict[str, Any]):
    call = LLMFunctionCall.from_dict({"name": name, "arguments": json.dumps(arguments)})
    assert (call.name, call.arguments) == (name, arguments)


@pytest.mark.shows("LLMFunctionCall.from_dict")
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (None, None),
        ("", {}),
        ("{'x': 3,}", {"x": 3}),
        ('{"x": "two\nlines"}', {"x": "two\nlines"}),
        ({"x": 3}, {"x": 3}),
    ],
)
def test_arguments_that_a_model_wrote_carelessly_are_read(text: Any, arguments: Any):
    assert LLMFunctionCall.from_dict({"name": "f", "arguments": text}).arguments == arguments


@pytest.mark.parametrize("text", ["[1]", "3", "{", '{"x": 3', "none at all"])
def test_arguments_that_are_no_object_are_an_error_with_the_text(text: str):
    with pytest.raises(AnswerFormatError) as caught:
        LLMFunctionCall.from_dict({"name": "f", "arguments": text})
    assert (caught.value.raw, isinstance(caught.value, ValueError)) == (text, True)


@pytest.mark.shows("LLMFunctionCall.__str__", "OpenAIToolCall.__str__")
def test_calls_are_shown_with_their_arguments():
    assert str(CALL) == 'FUNC: {\n  "name": "square",\n  "arguments": {\n    "x": 3\n  }\n}'
    assert str(TOOL) == str(CALL).replace("FUNC", "OAI-TOOL")
    assert str(OpenAIToolCall()) == ""


@pytest.mark.shows(
    "OpenAIToolCall",
    "OpenAIToolCall.id",
    "OpenAIToolCall.type",
    "OpenAIToolCall.function",
    "OpenAIToolCall.extra_content",
    "OpenAIToolCall.from_dict",
)
def test_a_tool_call_keeps_what_the_provider_wants_back():
    given = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 3}'}}
    call = OpenAIToolCall.from_dict({**given, "extra_content": {"signature": "s"}})
    assert (call.id, call.type, call.function) == ("c1", "function", LLMFunctionCall(name="f", arguments={"x": 3}))
    sent = LLMMessage(role=Role.ASSISTANT, tool_calls=[call]).api_dict("gemini-2.5-pro")
    assert sent == {"role": "assistant", "tool_calls": [{**given, "extra_content": {"signature": "s"}}]}
    assert OpenAIToolCall().model_dump() == {"id": None, "type": "function", "function": None, "extra_content": None}


def test_a_call_of_a_message_that_cannot_be_read_has_no_arguments():
    call = OpenAIToolCall.from_call(ToolCall("c", "f", "{"))
    assert (call.id, call.function) == ("c", LLMFunctionCall(name="f", arguments=None))


# ---- specs
@pytest.mark.shows("LLMFunctionSpec", "OpenAIToolSpec", "OpenAIToolSpec.strict", "OpenAIToolSpec.function")
def test_specs_are_tools_that_models_are_offered():
    spec = OpenAIToolSpec(type="function", function=SPEC, strict=True).to_tool_spec()
    assert (spec.name, spec.description, spec.parameters, spec.strict) == ("square", "Square it.", SCHEMA, True)
    assert OpenAIToolSpec(function=SPEC).to_tool_spec().strict is False


@pytest.mark.shows("OpenAIJsonSchemaSpec", "OpenAIJsonSchemaSpec.to_dict")
@pytest.mark.parametrize("strict", [True, False, None])
def test_a_schema_is_written_as_providers_take_it(strict: bool | None):
    sent = OpenAIJsonSchemaSpec(strict=strict, function=SPEC).to_dict()
    inner = {"name": "square", "description": "Square it.", "schema": SCHEMA}
    assert sent == {"type": "json_schema", "json_schema": inner if strict is None else {**inner, "strict": strict}}


# ---- tokens
@pytest.mark.shows(
    "LLMTokenUsage",
    "LLMTokenUsage.prompt_tokens",
    "LLMTokenUsage.cached_tokens",
    "LLMTokenUsage.completion_tokens",
    "LLMTokenUsage.cost",
    "LLMTokenUsage.calls",
    "LLMTokenUsage.total_tokens",
    "LLMTokenUsage.reset",
)
def test_tokens_are_counted_shown_and_counted_anew():
    usage = LLMTokenUsage(prompt_tokens=10, cached_tokens=4, completion_tokens=2, cost=0.5, calls=3)
    assert usage.total_tokens == 12
    assert str(usage) == "Tokens = (prompt 10, cached 4, completion 2), Cost=0.5, Calls=3"
    usage.reset()
    assert (
        usage
        == LLMTokenUsage()
        == LLMTokenUsage(prompt_tokens=0, cached_tokens=0, completion_tokens=0, cost=0.0, calls=0)
    )


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1e6))
def test_tokens_of_a_message_and_documented_ones_say_the_same(read: int, written: int, usd: float):
    assert LLMTokenUsage.from_usage(Usage(read, written, usd)).to_usage() == Usage(read, written, usd)


def test_a_usage_without_a_price_looks_as_before_and_prices_add_up():
    assert repr(Usage(1, 2)) == "Usage(input_tokens=1, output_tokens=2)"
    assert Usage(1, 2, 0.25) + Usage(3, 4, 0.5) == Usage(4, 6, 0.75)
    assert repr(Usage(1, 2, 0.5)) == "Usage(input_tokens=1, output_tokens=2, usd=0.5)"


def test_the_parts_of_a_usage_are_summed_and_shown_and_dumped_only_where_there_are_any() -> None:
    parts = Usage(9, 8, 0.5, cached_tokens=7, cache_write_tokens=1, reasoning_tokens=5)
    assert parts + parts == Usage(18, 16, 1.0, 14, 2, 10)
    assert repr(parts).endswith("usd=0.5, cached_tokens=7, cache_write_tokens=1, reasoning_tokens=5)")
    assert Message(usage=Usage(1, 2)).model_dump()["usage"] == {"input_tokens": 1, "output_tokens": 2, "usd": 0.0}
    message = Message(content="x", usage=parts)
    assert message.model_dump()["usage"]["reasoning_tokens"] == 5
    assert Message.model_validate_json(message.model_dump_json()).usage == parts


# ---- messages
@pytest.mark.shows("Role", "Role.USER", "Role.SYSTEM", "Role.ASSISTANT", "Role.FUNCTION", "Role.TOOL")
def test_roles_are_those_of_chat_interfaces():
    assert [role.value for role in Role] == ["user", "system", "assistant", "function", "tool"]
    assert [LLMMessage(role=role, content="x").api_dict("m")["role"] for role in Role] == [each.value for each in Role]


@pytest.mark.shows("StreamEventType")
def test_kinds_of_pieces_have_their_documented_numbers():
    kinds = ["TEXT", "FUNC_NAME", "FUNC_ARGS", "TOOL_NAME", "TOOL_ARGS", "REASONING"]
    assert [(each.name, each.value) for each in StreamEventType] == list(zip(kinds, range(1, 7), strict=True))


@pytest.mark.shows(
    "LLMMessage",
    "LLMMessage.role",
    "LLMMessage.content",
    "LLMMessage.name",
    "LLMMessage.tool_call_id",
    "LLMMessage.tool_id",
    "LLMMessage.timestamp",
    "LLMMessage.chat_document_id",
    "LLMMessage.api_dict",
)
def test_only_what_interfaces_take_is_sent():
    message = LLMMessage(role=Role.TOOL, content="9", tool_call_id="c", tool_id="own", name="", chat_document_id="d")
    assert message.api_dict("gpt-4o") == {"role": "tool", "content": "9", "tool_call_id": "c"}
    assert message.timestamp.utcoffset() == timedelta(0)
    assert message.timestamp.tzinfo is UTC
    bare = LLMMessage(role=Role.USER).model_dump(exclude={"timestamp"})
    assert bare == {
        "role": Role.USER, "name": None, "tool_call_id": None, "tool_id": "", "content": None, "files": [],
        "function_call": None, "tool_calls": None, "chat_document_id": "",
    }  # fmt: skip
    with pytest.raises(ValidationError):
        LLMMessage(role="nobody")  # type: ignore[arg-type]


@pytest.mark.shows("LLMMessage.api_dict(has_system_role)")
def test_a_system_message_is_a_users_where_there_is_no_such_role():
    message = LLMMessage(role=Role.SYSTEM, content="Be kind.")
    assert message.api_dict("m") == {"role": "system", "content": "Be kind."}
    sent = message.api_dict("m", has_system_role=False)
    assert (sent["role"], sent["content"].endswith("Be kind."), len(sent["content"]) > 8) == ("user", True, True)


@pytest.mark.shows("LLMMessage.function_call", "LLMMessage.tool_calls")
def test_calls_are_sent_with_their_arguments_as_text_and_no_empty_content():
    sent = LLMMessage(role=Role.ASSISTANT, content="", function_call=CALL, tool_calls=[TOOL]).api_dict("m")
    function = {"name": "square", "arguments": '{"x": 3}'}
    call = {"id": "call_9", "type": "function", "function": function}
    assert sent == {"role": "assistant", "function_call": function, "tool_calls": [call]}
    no_arguments = LLMMessage(role=Role.ASSISTANT, function_call=LLMFunctionCall(name="f"), tool_calls=[])
    assert no_arguments.api_dict("m") == {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("content", [None, ""])
def test_a_message_is_never_sent_empty(content: str | None):
    assert LLMMessage(role=Role.USER, content=content).api_dict("m") == {"role": "user", "content": " "}


@pytest.mark.shows("LLMMessage.files", "LLMMessage.api_dict(model)")
def test_files_go_beside_the_text_of_a_user_only():
    picture = FileAttachment.from_bytes(b"\x89PNG", "a.png")
    sent = LLMMessage(role=Role.USER, content="Look", files=[picture]).api_dict("gpt-4o")
    uri = {"url": "data:image/png;base64,iVBORw=="}
    assert sent["content"] == [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": uri}]
    assert LLMMessage(role=Role.ASSISTANT, content="Look", files=[picture]).api_dict("m")["content"] == "Look"


@pytest.mark.shows("weak point 13", "LLMMessage.__str__")
def test_a_message_with_a_call_can_be_shown():
    assert str(LLMMessage(role=Role.ASSISTANT, name="Ada", function_call=CALL)) == f"assistant (Ada): {CALL}"
    assert str(LLMMessage(role=Role.ASSISTANT, tool_calls=[TOOL])) == f"assistant: {TOOL}"
    assert str(LLMMessage(role=Role.USER, content="hi")) == "user: hi"


def test_a_list_of_one_message_answers_as_it_and_others_say_what_to_do():
    one = LLMMessage(role=Role.USER, content="hi", name="Ada")
    assert (LLMMessages([one]).content, LLMMessages([one]).api_dict("m"), str(LLMMessages([one]))) == (
        "hi", one.api_dict("m"), "user (Ada): hi",
    )  # fmt: skip
    for several in (LLMMessages(), LLMMessages([one, one])):
        with pytest.raises(AttributeError, match="take one"):
            _ = several.content


# ---- answers
@pytest.mark.shows("LLMResponse", "LLMResponse.message", "LLMResponse.__str__", "LLMResponse.tools_content")
def test_an_answer_is_shown_by_its_calls_or_else_its_text():
    text, call = LLMResponse(message="hi"), LLMResponse(message="hi", function_call=CALL)
    assert (str(LLMResponse()), str(text), text.tools_content()) == ("", "hi", "")
    assert str(call) == call.tools_content() == str(CALL)
    assert str(LLMResponse(oai_tool_calls=[TOOL, TOOL])) == f"{TOOL}\n{TOOL}"


@pytest.mark.shows(
    "LLMResponse.reasoning",
    "LLMResponse.message_with_reasoning",
    "LLMResponse.tool_id",
    "LLMResponse.oai_tool_calls",
    "LLMResponse.function_call",
    "LLMResponse.usage",
    "LLMResponse.cached",
)
def test_an_answer_without_anything():
    assert LLMResponse().model_dump() == {
        "message": None, "reasoning": "", "message_with_reasoning": None, "tool_id": "", "oai_tool_calls": None,
        "function_call": None, "usage": None, "cached": False,
    }  # fmt: skip


@pytest.mark.shows("LLMResponse.to_LLMMessage")
def test_an_answer_becomes_an_entry_of_the_history():
    message = LLMResponse(message="so", function_call=CALL, oai_tool_calls=[TOOL]).to_LLMMessage()
    found = (message.role, message.content, message.name, message.function_call, message.tool_calls)
    assert found == (Role.ASSISTANT, "so", "square", CALL, [TOOL])
    assert LLMResponse(message="so").to_LLMMessage().name is None


@pytest.mark.shows("LLMResponse.get_recipient_and_message")
@given(names, st.text(max_size=40))
def test_a_text_may_begin_with_whom_it_is_for(name: str, text: str):
    answer = LLMResponse(message=f"TO[{name}]: {text}")
    assert answer.get_recipient_and_message() == (name, text.lstrip())
    assert answer.get_recipient_and_message(recognize_recipient_in_content=False) == ("", answer.message)


@pytest.mark.shows("LLMResponse.get_recipient_and_message")
@pytest.mark.parametrize(
    ("text", "recipient"),
    [
        ('{"recipient": "Bob", "x": 1}', "Bob"),
        ('Here: {"request": "add", "recipient": "sub-2"} ok', "sub-2"),
        ('{"a": 1} {"recipient": "Eve"}', "Eve"),
        ('{"recipient": 3}', ""),
        ('{"inner": {"recipient": "Bob"}}', ""),
        ('"recipient": "Bob"', ""),
        ('{"recipient": "Bob"', ""),
        ("so TO[Bob]: hi", ""),
        ("TO[]: hi", ""),
        ("TO[two words]: hi", ""),
    ],
)
def test_a_text_may_hold_an_object_that_says_whom_it_is_for(text: str, recipient: str):
    assert LLMResponse(message=text).get_recipient_and_message() == (recipient, text)


def test_a_call_says_whom_it_is_for_and_has_no_text_then():
    to_bob = LLMFunctionCall(name="f", arguments={"recipient": "Bob"})
    tool = OpenAIToolCall(id="1", function=to_bob)
    assert LLMResponse(message="x", function_call=to_bob).get_recipient_and_message() == ("Bob", "")
    assert LLMResponse(message="x", function_call=CALL).get_recipient_and_message() == ("", "")
    assert LLMResponse(message="x", oai_tool_calls=[TOOL, tool]).get_recipient_and_message() == ("Bob", "")
    assert LLMResponse(message="x", oai_tool_calls=[TOOL]).get_recipient_and_message() == ("", "x")


@given(st.text(max_size=200))
def test_whatever_a_model_writes_someone_or_nobody_is_addressed(text: str):
    recipient, rest = LLMResponse(message=text).get_recipient_and_message()
    assert rest in text
    assert recipient in text
