"""Messages and documents: seven fields, a closed list of others, copies that share nothing, and JSON and back."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trivium.schema import (
    ActionReturn,
    AgentMessage,
    AgentStatusCode,
    ChatDocument,
    DocMetaData,
    Document,
    Entity,
    Message,
    ModelStatusCode,
    Origin,
    StatusCode,
    ToolCall,
    Usage,
)

SEVEN = ["content", "sender", "formatted", "extra_info", "type", "receiver", "stream_state"]
EXTRA = ["tool_calls", "tool_call_id", "usage", "entity", "status", "attachments"]

text = st.text(max_size=20)
names = st.text("abcxyz-_1", min_size=1, max_size=8)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(ToolCall, names, names, text)
usages = st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6))
extras: dict[str, st.SearchStrategy[Any]] = {
    "tool_calls": st.lists(calls, min_size=1, max_size=3).map(tuple),
    "tool_call_id": names,
    "usage": usages,
    "entity": st.sampled_from(Entity),
    "status": st.sampled_from(StatusCode),
    "attachments": st.lists(json_values, max_size=2).map(tuple),
}
fields: dict[str, st.SearchStrategy[Any]] = {
    "content": json_values,
    "sender": names,
    "formatted": json_values,
    "extra_info": json_values,
    "type": st.none() | names,
    "receiver": st.none() | names,
    "stream_state": st.sampled_from(AgentStatusCode),
}
message_values: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional={**fields, **extras})


def shown(message: Message) -> dict[str, Any]:
    """All that a message says of itself."""
    return {name: getattr(message, name) for name in (*SEVEN, *EXTRA, "origin")}


# ---- the class
def test_one_class_has_three_names():
    assert AgentMessage is Message is ChatDocument


def test_a_message_shows_its_seven_fields_as_documented():
    message = Message(content="hi", sender="Agent")
    assert str(message) == (
        "content='hi' sender='Agent' formatted=None extra_info=None type=None receiver=None "
        "stream_state=<AgentStatusCode.END: 0>"
    )
    assert list(message.model_dump()) == SEVEN
    assert Message().sender == "user"


@given(message_values)
def test_others_are_shown_only_where_they_are_set(values: dict[str, Any]):
    message = Message(**values)
    others = [name for name in values if name not in SEVEN]
    assert list(message.model_dump()) == [*SEVEN, *others]
    assert all((f" {name}=" in f" {message}") == (name in others) for name in EXTRA if name != "usage")
    assert "usage=" not in f"{message!r} {message}"  # what it cost is not what it says
    assert {name: getattr(message, name) for name in values} == values


def test_what_is_not_set_reads_as_nothing():
    assert [getattr(Message(), name) for name in EXTRA] == [(), None, None, None, None, ()]
    assert Message().origin is Origin.USER


@pytest.mark.parametrize("name", ["contnet", "session_id", "tool_call"])
def test_a_misspelt_keyword_is_an_error(name: str):
    values: dict[str, Any] = {name: 1}
    with pytest.raises(TypeError, match=f"Message takes no {name}"):
        Message(**values)
    with pytest.raises(TypeError, match=f"no '{name}'"):
        Message().replace(**values)
    with pytest.raises(ValidationError, match=name):
        Message.model_validate(values)


# ---- copies
@given(message_values, message_values)
def test_but_replaces_and_leaves_the_original(values: dict[str, Any], changes: dict[str, Any]):
    message = Message(**values)
    before = copy.deepcopy(shown(message))
    assert shown(message.replace(**changes)) == {**before, **changes}
    assert shown(message) == before
    assert message.replace() == message
    assert message.replace() is not message


def test_but_none_takes_away_what_is_not_one_of_the_seven():
    message = Message(content="x", status=StatusCode.OK)
    assert list(message.replace(status=None, content=None).model_dump()) == SEVEN
    assert message.replace(content=None).content is None


@given(message_values)
def test_a_deep_copy_shares_nothing_that_can_change(values: dict[str, Any]):
    message = Message(**values)
    for new in (copy.deepcopy(message), message.copy(deep=True), message.model_copy(deep=True)):
        assert new == message
        assert repr(new) == repr(message)
        assert new.model_fields_set == message.model_fields_set
        for name in values:
            value = getattr(message, name)
            assert not isinstance(value, list | dict) or getattr(new, name) is not value


def test_a_deep_copy_keeps_what_is_shared_within_it_shared():
    shared: list[int] = [1]
    new = Message(content=shared, formatted=shared).copy(deep=True)
    new.content.append(2)
    assert (new.formatted, shared) == ([1, 2], [1])


def test_a_copy_in_the_old_style():
    message = Message(content=["a"])
    new = message.copy(update={"sender": "B"})
    assert (new.sender, message.sender, new.content is message.content) == ("B", "user", True)


# ---- to JSON and back
@given(message_values)
def test_a_message_survives_json(values: dict[str, Any]):
    message = Message(**values)
    written = message.model_dump_json()
    for read in (Message.model_validate_json(written), Message.model_validate(json.loads(written))):
        assert read.model_dump_json() == written
        assert {**shown(read), "attachments": ()} == {**shown(message), "attachments": ()}
        assert json.loads(json.dumps(read.attachments)) == json.loads(json.dumps(message.attachments))
        assert type(read.stream_state) is AgentStatusCode
        assert read.entity is message.entity
        assert read.status is message.status


@given(message_values)
def test_a_message_survives_a_dict(values: dict[str, Any]):
    message = Message(**values)
    assert shown(Message.model_validate(message.model_dump())) == shown(message)


@given(message_values)
def test_no_data_that_is_read_makes_itself_a_models(values: dict[str, Any]):
    written = json.dumps({**Message(**values).model_dump(mode="json"), "origin": "model"})
    for read in (Message.model_validate_json(written), Message(**json.loads(written))):
        assert read.origin is Origin.USER
        assert read.copy(deep=True).replace(content="x").origin is Origin.USER


@given(message_values)
def test_the_origin_is_neither_shown_nor_dumped(values: dict[str, Any]):
    plain, said = Message(**values), Message(**values, origin=Origin.MODEL)
    assert (str(said), repr(said)) == (str(plain), repr(plain))
    assert (said.model_dump(), said.model_dump_json()) == (plain.model_dump(), plain.model_dump_json())


def test_the_origin_travels_with_every_copy():
    message = Message(content="x", origin=Origin.MODEL)
    for new in (message.replace(content="y"), message.copy(deep=True), copy.deepcopy(message), message.model_copy()):
        assert new.origin is Origin.MODEL


def test_both_kinds_of_stream_state_are_kept():
    for state in (ModelStatusCode.STREAM_ING, AgentStatusCode.CODING):
        assert Message(stream_state=state).stream_state is state


# ---- the other values
@given(text, message_values)
def test_a_document_survives_json(content: str, values: dict[str, Any]):
    extra: dict[str, Any] = {"extra": values.get("content")}
    document = Document(content=content, metadata=DocMetaData(source="s", pages=(0, 3), **extra))
    assert Document.model_validate_json(document.model_dump_json()) == document
    assert Document(content=content).metadata.source == "context"


def test_documents_do_not_share_their_metadata():
    first, second = Document(content="a"), Document(content="b")
    first.metadata.title = "mine"
    assert second.metadata.title == "Unknown Title"


@pytest.mark.parametrize("entity", Entity)
def test_entities_are_equal_to_their_names_in_any_case(entity: Entity):
    for name in (entity.value, entity.value.upper(), entity.value.lower()):
        assert entity == name
        assert hash(entity) == hash(name.lower())
    assert entity != f"{entity.value}s"
    assert entity != 1
    assert str(entity) == entity.value


@given(usages, usages)
def test_usages_add_up(first: Usage, second: Usage):
    assert (first + second).total == first.total + second.total
    assert first + Usage() == first


def test_the_result_of_an_action_as_text():
    items = [{"type": "text", "content": 1}, {"type": "image", "content": "a.png"}]
    assert ActionReturn(result=items).format_result() == "1\n[image](a.png)"
    assert ActionReturn().format_result() == ""


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("files", "a.txt", "the files of a message are a list, not str"),
        ("files", ["a.txt"], "FileAttachment"),
        ("attachments", 3, "the attachments of a message are a list"),
        ("tool_calls", 3, "the tool_calls of a message are a list"),
        ("tool_calls", [3], "ToolCall"),
        ("logprobs", 3, "the logprobs of a message are a list"),
        ("entity", "nobody", "'nobody' is not a valid Entity"),
        ("status", "over", "'over' is not a valid StatusCode"),
        ("usage", 3, "the usage of a message is a Usage"),
    ],
)
def test_a_value_of_another_form_is_an_error_where_the_message_is_made(name: str, value: Any, told: str):
    make: Any = Message
    with pytest.raises(ValidationError, match=re.escape(told)):
        make(content="x", **{name: value})
    assert not make(content="x", **{name: None}).files  # None is nothing
