"""A message's extras have one form, made where they enter: by the constructor, as data, by `replace`, by setting."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trivium import Agent, ChatDocument
from trivium.exceptions import InvalidSourcesError
from trivium.policies import Source
from trivium.schema import (
    ChatDocMetaData,
    Entity,
    FileAttachment,
    Message,
    Origin,
    StatusCode,
    ToolCall,
    Usage,
)
from trivium.testing import ScriptedModel

text = st.text(max_size=10)
names = st.text("abcxyz-_1", min_size=1, max_size=8)
plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text
counts = st.integers(0, 10**6)
own_metadata = st.fixed_dictionaries(
    {},
    optional={
        "id": names,
        "tainted": st.booleans(),
        "displayed": st.booleans(),
        "block": st.sampled_from(Entity),
        "tool_ids": st.lists(names, max_size=2),
        "title": names,
    },
)
extras: dict[str, st.SearchStrategy[Any]] = {
    "attachments": st.lists(plain, max_size=2),
    "entity": st.sampled_from(Entity),
    "files": st.lists(st.builds(FileAttachment, content=st.binary(max_size=9), filename=names), max_size=2),
    "logprobs": st.lists(plain, max_size=2),
    "metadata": own_metadata,
    "origin": st.sampled_from(Origin),
    "output": plain,
    "reasoning": text,
    "reasoning_state": st.dictionaries(text, plain, max_size=2),
    "sources": st.frozensets(st.builds(Source, st.sampled_from(["web", "tool"]), names), min_size=1, max_size=2),
    "status": st.sampled_from(StatusCode),
    "tool_call_id": names,
    "tool_calls": st.lists(st.builds(ToolCall, names, names, text), max_size=2),
    "tool_choice": names,
    "tool_results": st.dictionaries(names, text, max_size=2),
    "usage": st.builds(Usage, counts, counts, st.floats(0, 1), counts),
    "why": text,
}


def test_the_extras_of_the_tests_are_those_of_messages():
    assert sorted(extras) == sorted(Message.further_names)


@given(st.fixed_dictionaries({}, optional=extras))
def test_what_is_dumped_and_read_again_is_equal(values: dict[str, Any]):
    message = Message(content="x", **values)
    left = Message(content="x", **{name: each for name, each in values.items() if name not in ("origin", "output")})
    for read in (
        Message.model_validate_json(message.model_dump_json()),
        Message.model_validate(json.loads(message.model_dump_json())),
        Message.model_validate(message.model_dump()),
        Message.model_construct(**message.model_dump()),
        Message().replace(**message.model_dump()),
    ):
        assert read == left
        assert read.model_dump_json() == message.model_dump_json()
        assert repr(read) == repr(message)
        assert copy.deepcopy(read).replace(metadata=None) == read.replace(metadata=None)  # an id of its own


WRONG: list[tuple[str, Any, str]] = [
    ("attachments", 3, "the attachments of a message are a list, not int"),
    ("entity", "nobody", "'nobody' is not a valid Entity"),
    ("files", "a.txt", "the files of a message are a list, not str"),
    ("files", ["a.txt"], "FileAttachment"),
    ("logprobs", "x", "the logprobs of a message are a list, not str"),
    ("metadata", 3, "metadata is a ChatDocMetaData, not 3"),
    ("sources", ["web"], "the sources of a message are pairs"),
    ("status", "nonsense", "'nonsense' is not a valid StatusCode"),
    ("tool_calls", 3, "the tool_calls of a message are a list, not int"),
    ("tool_calls", [3], "ToolCall"),
    ("usage", 3, "the usage of a message is a Usage"),
]


@pytest.mark.parametrize(("name", "value", "told"), WRONG)
def test_a_value_of_another_form_is_an_error_where_it_is_set(name: str, value: Any, told: str):
    message = Message(content="x", status=StatusCode.OK)
    for refuse in (
        lambda: message.replace(**{name: value}),
        lambda: setattr(message, name, value),
        lambda: Message.model_construct(**{name: value}),
        lambda: Message.model_validate({name: value}),
    ):
        with pytest.raises((ValueError, TypeError), match=re.escape(told)):
            refuse()
    assert message == Message(content="x", status=StatusCode.OK)


def test_a_value_in_another_form_is_brought_into_its_own():
    message = Message(content="x")
    message.tool_calls, message.entity = [{"id": "1", "name": "f", "arguments": "{}"}], "LLM"  # type: ignore[misc]
    assert message.tool_calls == (ToolCall("1", "f", "{}"),)
    assert message.entity is Entity.LLM
    assert message.replace(usage={"input_tokens": 3}).usage == Usage(3)
    assert message.replace(files=[{"content": "YQ=="}]).files[0].content == b"a"


def test_none_is_nothing():
    values: dict[str, Any] = dict.fromkeys(["attachments", "entity", "files", "tool_calls", "sources", "usage"])
    assert Message(content="x", **values) == Message.model_construct(content="x", **values) == Message(content="x")
    assert Message(content="x", **values).model_dump() == Message(content="x").model_dump()


def test_wrong_sources_keep_their_own_error():
    make: Any = Message
    for refuse in (lambda: make(sources=3), lambda: Message().replace(sources=3)):
        with pytest.raises(InvalidSourcesError):
            refuse()
    with pytest.raises(ValidationError, match="the sources of a message are pairs"):
        Message.model_validate({"sources": 3})


def test_metadata_that_was_read_again_can_be_copied():
    read = Message.model_validate_json(ChatDocument.from_str("hi").model_dump_json())
    assert read.replace(content="x").metadata.tainted
    assert copy.deepcopy(read).metadata.tainted
    assert Agent(ScriptedModel(["fine"]))(read).content == "fine"


def test_a_saved_conversation_with_metadata_can_be_read():
    agent = Agent(ScriptedModel(["fine", "fine"]))
    agent(ChatDocument.from_str("hi"))
    agent.memory.open(0).messages[0].metadata.title = "kept"
    state = json.loads(json.dumps(agent.state_dict(), default=str))
    again = Agent(ScriptedModel(["fine"]))
    again.load_state_dict(state)
    assert again("go on").content == "fine"
    assert copy.deepcopy(again.memory.open(0).messages[0]).metadata.title == "kept"


def test_metadata_of_a_message_is_what_was_given():
    given_one = ChatDocMetaData(sender=Entity.LLM, tainted=True)
    assert Message(content="x", metadata=given_one).replace(content="y").metadata.tainted
    with pytest.raises(TypeError, match="metadata is a ChatDocMetaData, not 3"):
        Message(content="x", metadata=3)


@pytest.mark.filterwarnings("ignore:Field name")
def test_a_field_of_a_subclass_is_its_own():
    class Note(Message):
        status: str = "draft"  # type: ignore[assignment]
        entity: str = "nobody"  # type: ignore[assignment]

    note = Note.model_validate({"content": "x"}).replace(status="done")
    assert note.model_dump()["status"] == "done"
    assert copy.deepcopy(note) == note
    assert "status='done'" in repr(note)
    assert Note.model_validate_json(note.model_dump_json()) == note
