"""A message from and to the forms that models have, and as a line of a log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.schema import (
    ChatDocLoggerFields,
    ChatDocMetaData,
    ChatDocument,
    Entity,
    FileAttachment,
    LLMFunctionCall,
    LLMMessage,
    LLMResponse,
    LLMTokenUsage,
    OpenAIToolCall,
    Origin,
    Role,
    ToolCall,
    Usage,
)

CALL = LLMFunctionCall(name="square", arguments={"x": 3})
TEXT_CALL = 'So: {"request": "square", "x": 3} and {"request": "root"}'

ODD_CALLS: list[tuple[str, dict[str, Any] | None, tuple[str, dict[str, Any]]]] = [
    ("functions square", {"x": 3}, ("square", {"x": 3})),
    ("functions.square", {"x": 3}, ("square", {"x": 3})),
    ("functions", {"request": "square", "x": 3}, ("square", {"x": 3})),
    ("other", {"request": "square"}, ("square", {})),
    ("functions_of_x", {"request": ""}, ("functions_of_x", {})),
    ("square", None, ("square", {})),
]


def tool(key: str, name: str = "square", **arguments: Any) -> OpenAIToolCall:
    return OpenAIToolCall(id=key, function=LLMFunctionCall(name=name, arguments=arguments))


def said(by: Entity, content: str = "x", **values: Any) -> ChatDocument:
    metadata = {name: values.pop(name) for name in list(values) if name in ChatDocMetaData.model_fields}
    return ChatDocument(content=content, metadata=ChatDocMetaData(sender=by, **metadata), **values)


# ---- what a model called
@pytest.mark.shows("ChatDocument.function_call", "ChatDocument.oai_tool_calls")
def test_calls_are_seen_by_the_interface_that_they_came_by():
    document = said(Entity.LLM, function_call=CALL, oai_tool_calls=[tool("c1", x=1), tool("c2", "root")])
    assert document.function_call == CALL
    assert document.oai_tool_calls == [tool("c1", x=1), tool("c2", "root")]
    written = said(Entity.LLM, tool_calls=(ToolCall("", "square", "{}"),))
    assert (written.function_call, written.oai_tool_calls) == (None, None)


@pytest.mark.shows("ChatDocument.function_call", "ChatDocument.oai_tool_calls")
def test_setting_one_kind_of_calls_leaves_the_others():
    document: Any = said(Entity.LLM, function_call=CALL, oai_tool_calls=[tool("c1")])
    document.function_call = None
    assert (document.function_call, document.oai_tool_calls) == (None, [tool("c1")])
    document.oai_tool_calls = [tool("c2")]
    document.function_call = CALL
    assert (document.function_call, document.oai_tool_calls) == (CALL, [tool("c2")])
    document.oai_tool_calls = None
    assert [call.name for call in document.tool_calls] == ["square"]


@pytest.mark.shows("ChatDocument.get_tool_names", "ChatDocument.get_json_tools")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        (TEXT_CALL, ["square", "root"]),
        ("<tool> <request> square </request> <x>3</x> </tool>", ["square"]),
        ("<request>square</request>" + TEXT_CALL, ["square"]),
        ('{"x": 3}', []),
        ("no", []),
        (None, []),
    ],
)
def test_the_tools_that_a_text_tries_to_call_are_named(text: str | None, names: list[str]):
    document = ChatDocument(content=text)
    assert document.get_tool_names() == document.get_json_tools() == names


@given(st.text(max_size=300))
def test_any_text_can_be_looked_through_for_tools(text: str):
    names = ChatDocument(content=text).get_tool_names()
    assert all(name in text for name in names)


# ---- a line of a log
@pytest.mark.shows(
    "ChatDocLoggerFields",
    "ChatDocLoggerFields.sender_entity",
    "ChatDocLoggerFields.sender_name",
    "ChatDocLoggerFields.recipient",
    "ChatDocLoggerFields.block",
    "ChatDocLoggerFields.tool_type",
    "ChatDocLoggerFields.tool",
    "ChatDocLoggerFields.content",
    "ChatDocLoggerFields.tsv_header",
    "ChatDocument.log_fields",
)
def test_a_log_tells_who_speaks_to_whom_and_which_tool_is_called():
    document = said(Entity.LLM, "so", sender_name="Ada", recipient="Bob", block=Entity.USER, function_call=CALL)
    assert document.log_fields() == ChatDocLoggerFields(
        sender_entity=Entity.LLM, sender_name="Ada", recipient="Bob", block=Entity.USER, tool_type="FUNC",
        tool="square", content=f"so{CALL}",
    )  # fmt: skip
    header = "sender_entity\tsender_name\trecipient\tblock\ttool_type\ttool\tcontent"
    assert ChatDocLoggerFields.tsv_header() == header
    assert tuple(ChatDocLoggerFields().model_dump().values()) == (Entity.USER, "", "", None, "", "", "")


@pytest.mark.shows("ChatDocument.log_fields")
def test_a_log_tells_how_a_tool_was_called():
    native = said(Entity.LLM, TEXT_CALL, oai_tool_calls=[tool("c1"), tool("c2", "root")])
    written, told, bare = said(Entity.LLM, TEXT_CALL), said(Entity.SYSTEM, TEXT_CALL), said(Entity.USER)
    found = [(each.log_fields().tool_type, each.log_fields().tool) for each in (native, written, told, bare)]
    assert found == [("OAI_TOOL", "square,root"), ("TOOL", "square"), ("", ""), ("", "")]


@pytest.mark.shows("ChatDocument.tsv_str")
@given(st.text(max_size=400))
def test_a_log_line_is_one_line_with_seven_fields(text: str):
    line = said(Entity.LLM, text, sender_name="Ada").tsv_str()
    fields = line.split("\t")
    assert (len(fields), len(line.splitlines()), fields[:2]) == (7, 1, ["LLM", "Ada"])
    assert len(fields[6]) <= 163


@pytest.mark.shows("ChatDocument.tsv_str")
def test_of_a_long_text_a_log_line_has_both_ends():
    assert said(Entity.LLM, "a" * 160).tsv_str().endswith("\t" + "a" * 160)
    assert said(Entity.LLM, "a" * 100 + "b" * 100).tsv_str().endswith("\t" + "a" * 80 + "..." + "b" * 80)


# ---- from a model
@pytest.mark.shows(
    "ChatDocument.from_LLMResponse",
    "ChatDocument.from_LLMResponse(response)",
    "ChatDocument.from_LLMResponse(displayed)",
)
def test_an_answer_becomes_the_message_of_a_model():
    usage = LLMTokenUsage(prompt_tokens=5, completion_tokens=2, cost=0.25)
    answer = LLMResponse(message=" TO[Bob]: hi ", reasoning="hm", usage=usage, cached=True)
    document = ChatDocument.from_LLMResponse(answer)
    seen = document.metadata
    assert (document.content, document.receiver, document.reasoning, document.origin) == (
        "hi",
        "Bob",
        "hm",
        Origin.PROGRAM,
    )
    assert (seen.sender, seen.source, seen.recipient, seen.cached, seen.displayed) == (
        Entity.LLM, Entity.LLM, "Bob", True, False,
    )  # fmt: skip
    assert document.usage == Usage(5, 2, 0.25)
    assert (seen.usage.prompt_tokens, seen.usage.completion_tokens, seen.usage.cost) == (5, 2, 0.25)
    assert ChatDocument.from_LLMResponse(answer, displayed=True).metadata.displayed is True
    assert ChatDocument.from_LLMResponse(answer, False, False).content == "TO[Bob]: hi"


@pytest.mark.shows("ChatDocMetaData.usage")
def test_the_metadata_count_tokens_in_the_documented_form():
    document = said(Entity.LLM)
    assert document.metadata.usage is None
    document.metadata.usage = LLMTokenUsage(prompt_tokens=3)
    assert (document.usage, document.metadata.usage.prompt_tokens) == (Usage(3, 0), 3)


@pytest.mark.parametrize("text", ["''", '""', "  ", None])
def test_an_answer_that_says_nothing_is_empty(text: str | None):
    assert ChatDocument.from_LLMResponse(LLMResponse(message=text)).content == ""


@pytest.mark.shows("ChatDocument.from_LLMResponse")
@pytest.mark.parametrize(("name", "arguments", "cleaned"), ODD_CALLS)
def test_odd_names_of_calls_are_cleaned_and_the_answer_is_left_as_it_is(
    name: str, arguments: dict[str, Any] | None, cleaned: tuple[str, dict[str, Any]]
):
    call = LLMFunctionCall(name=name, arguments=arguments)
    answer = LLMResponse(function_call=call, oai_tool_calls=[OpenAIToolCall(id="c", function=call)])
    before = answer.model_dump()
    document = ChatDocument.from_LLMResponse(answer)
    found = [document.function_call, *[each.function for each in document.oai_tool_calls or ()]]
    assert [(each.name, each.arguments) for each in found if each] == [cleaned, cleaned]
    assert answer.model_dump() == before


# ---- from others
@pytest.mark.shows("ChatDocument.from_str")
@pytest.mark.parametrize(
    ("text", "content", "recipient"),
    [
        ("TO[sub-2]: hi", "hi", "sub-2"),
        ('{"recipient": "Bob"}', '{"recipient": "Bob"}', "Bob"),
        ("hi", "hi", ""),
        ("", "", ""),
    ],
)
def test_a_text_from_outside_is_a_users_and_may_be_addressed(text: str, content: str, recipient: str):
    document = ChatDocument.from_str(text)
    seen = document.metadata
    assert (document.content, seen.recipient, seen.sender, seen.tainted) == (content, recipient, Entity.USER, True)
    assert document.origin is Origin.USER


@pytest.mark.shows("ChatDocument.from_LLMMessage")
@pytest.mark.parametrize(
    ("role", "sender"),
    [
        (Role.USER, Entity.USER),
        (Role.SYSTEM, Entity.SYSTEM),
        (Role.ASSISTANT, Entity.LLM),
        (Role.FUNCTION, Entity.AGENT),
        (Role.TOOL, Entity.AGENT),
    ],
)
def test_an_entry_of_a_history_becomes_a_message(role: Role, sender: Entity):
    file = FileAttachment.from_bytes(b"x", "a.png")
    entry = LLMMessage(role=role, content="9", tool_call_id="c", tool_id="t", tool_calls=[tool("d")], files=[file])
    document = ChatDocument.from_LLMMessage(entry, sender_name="Ada", recipient="Bob")
    seen = document.metadata
    assert (seen.sender, seen.sender_name, seen.recipient) == (sender, "Ada", "Bob")
    assert (document.content, seen.oai_tool_id, seen.tool_ids) == ("9", "c", ["t"])
    assert (document.oai_tool_calls, document.files) == ([tool("d")], [file])


def test_an_entry_is_a_models_word_only_if_the_model_said_it_here():
    answer = ChatDocument.from_LLMResponse(LLMResponse(oai_tool_calls=[tool("c")]))
    typed = said(Entity.USER, TEXT_CALL)
    for document, origin in ((answer, Origin.PROGRAM), (typed, Origin.USER)):
        entry = ChatDocument.to_LLMMessage(document)[0].model_copy(update={"role": Role.ASSISTANT})
        assert ChatDocument.from_LLMMessage(entry).origin is origin
    forged = LLMMessage(role=Role.ASSISTANT, content=TEXT_CALL, chat_document_id="none")
    assert ChatDocument.from_LLMMessage(forged).origin is Origin.USER


# ---- to a model
@pytest.mark.shows("ChatDocument.to_LLMMessage", "ChatDocument.to_LLMMessage(message)")
@pytest.mark.parametrize(
    ("sender", "role"),
    [
        (Entity.SYSTEM, Role.SYSTEM),
        (Entity.LLM, Role.ASSISTANT),
        (Entity.USER, Role.USER),
        (Entity.AGENT, Role.USER),
    ],
)
def test_who_spoke_gives_the_role(sender: Entity, role: Role):
    file = FileAttachment.from_bytes(b"x", "a.png")
    document = said(sender, sender_name="Ada", tool_ids=["t1", "t2"], files=[file])
    entry = ChatDocument.to_LLMMessage(document)
    assert (entry.role, entry.content, entry.name, entry.tool_id, entry.files) == (role, "x", "Ada", "t2", [file])
    assert ChatDocument.from_id(entry.chat_document_id) is document


def test_a_text_is_a_users_as_it_stands():
    entry = ChatDocument.to_LLMMessage("TO[Bob]: hi")
    assert (len(entry), entry.role, entry.content) == (1, Role.USER, "TO[Bob]: hi")


def test_the_answer_to_a_function_call_is_the_functions():
    asked = said(Entity.LLM, "", function_call=CALL)
    answer = said(Entity.AGENT, "9", parent_id=asked.id())
    entry = ChatDocument.to_LLMMessage(answer)
    assert (entry.role, entry.name, entry.content) == (Role.FUNCTION, "square", "9")


@pytest.mark.shows("ChatDocument.to_LLMMessage(oai_tools)")
def test_results_answer_the_calls_that_wait_for_them():
    one, two = tool("c1"), tool("c2")
    anything = ChatDocument.to_LLMMessage(said(Entity.USER, "9"), [one])
    assert [(each.role, each.tool_call_id, each.content) for each in anything] == [(Role.TOOL, "c1", "9")]
    for_two = ChatDocument.to_LLMMessage(said(Entity.AGENT, "9", oai_tool_id="c2"), [one, two])
    assert (for_two.role, for_two.tool_call_id) == (Role.TOOL, "c2")
    both = ChatDocument.to_LLMMessage(said(Entity.AGENT, "", oai_tool_id2result={"c1": "1", "c2": "2"}), [one, two])
    assert [(each.tool_call_id, each.content) for each in both] == [("c1", "1"), ("c2", "2")]
    unrelated = ChatDocument.to_LLMMessage(said(Entity.USER, "9"), [one, two])
    assert (unrelated.role, unrelated.tool_call_id) == (Role.USER, None)


def test_calls_that_a_user_hands_on_become_text():
    folded = ChatDocument.to_LLMMessage(said(Entity.USER, "hm", function_call=CALL))
    assert (folded.content, folded.function_call) == (f"hm {CALL}", None)
    several = ChatDocument.to_LLMMessage(said(Entity.USER, "", oai_tool_calls=[tool("c1"), tool("c2")]))
    assert (several.content, several.tool_calls) == (f"{tool('c1')}\n\n{tool('c2')}", None)
    kept = ChatDocument.to_LLMMessage(said(Entity.LLM, "", function_call=CALL, oai_tool_calls=[tool("c1")]))
    assert (kept.function_call, kept.tool_calls) == (CALL, [tool("c1")])


def test_a_value_that_is_no_text_is_sent_as_json():
    assert ChatDocument.to_LLMMessage(ChatDocument(content={"a": [1]})).content == '{"a": [1]}'
    assert ChatDocument.to_LLMMessage(said(Entity.AGENT, "", content_any={"a": 1})).content == '{"a": 1}'
    assert ChatDocument.to_LLMMessage(ChatDocument(content=None)).content is None
