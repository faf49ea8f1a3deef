"""The chat document and its metadata, as the documents have them."""

from __future__ import annotations

import copy
import gc
import pickle
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

import trivium as lr
from trivium import ChatDocument, DocMetaData, Document, Entity, StatusCode, ToolMessage
from trivium.parsing.file_attachment import FileAttachment
from trivium.schema import ChatDocMetaData, LLMTokenUsage, ObjectRegistry


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int = 2


def message(content: str = "hi", sender: Entity = Entity.LLM, **metadata: Any) -> ChatDocument:
    return ChatDocument(content=content, metadata=ChatDocMetaData(sender=sender, **metadata))


# ---- enums
@pytest.mark.shows("Entity", "Entity.AGENT", "Entity.LLM", "Entity.USER", "Entity.SYSTEM", "mytypes.Entity")
@pytest.mark.shows("semantic 10")
@pytest.mark.parametrize(
    ("entity", "text"),
    [(Entity.AGENT, "Agent"), (Entity.LLM, "LLM"), (Entity.USER, "User"), (Entity.SYSTEM, "System")],
)
def test_an_entity_is_its_name_in_any_case(entity: Entity, text: str):
    from trivium.mytypes import Entity as ByPath

    assert entity == text == str(entity) == ByPath(text)
    assert entity == text.upper() == ByPath(text)
    assert text.lower() == entity
    assert entity != "somebody"
    assert {entity: 1} == {text.lower(): 1}, "equal keys have one hash"
    assert [each for each in Entity if each == text.lower()] == [entity]


@pytest.mark.shows(
    "StatusCode", "StatusCode.OK", "StatusCode.ERROR", "StatusCode.DONE", "StatusCode.STALLED", "StatusCode.INF_LOOP",
    "StatusCode.KILL", "StatusCode.FIXED_TURNS", "StatusCode.MAX_TURNS", "StatusCode.MAX_COST",
    "StatusCode.MAX_TOKENS", "StatusCode.TIMEOUT", "StatusCode.NO_ANSWER", "StatusCode.USER_QUIT",
)  # fmt: skip
def test_a_status_is_its_own_name():
    names = ["OK", "ERROR", "DONE", "STALLED", "INF_LOOP", "KILL", "FIXED_TURNS", "MAX_TURNS", "MAX_COST"]
    names += ["MAX_TOKENS", "TIMEOUT", "NO_ANSWER", "USER_QUIT"]
    assert [each.value for each in StatusCode] == [each.name for each in StatusCode] == names
    assert StatusCode.DONE == "DONE"
    assert StatusCode("KILL") is StatusCode.KILL


# ---- documents
@pytest.mark.shows(
    "DocMetaData", "DocMetaData.source='context'", "DocMetaData.source_content='context'",
    "DocMetaData.title='Unknown Title'", "DocMetaData.published_date='Unknown Date'", "DocMetaData.is_chunk=False",
    "DocMetaData.id", "DocMetaData.window_ids=[]", "mytypes.DocMetaData",
)  # fmt: skip
def test_the_metadata_of_a_document_has_the_documented_defaults():
    from trivium.mytypes import DocMetaData as ByPath

    metadata = ByPath()
    values = metadata.model_dump(include={"source", "source_content", "title", "published_date", "is_chunk"})
    assert list(values.values()) == ["context", "context", "Unknown Title", "Unknown Date", False]
    assert metadata.window_ids == [] != DocMetaData(window_ids=["a"]).window_ids
    assert metadata.id not in ("", DocMetaData().id)
    assert (DocMetaData(id=None).id != "", DocMetaData(id=7).id) == (True, "7")  # type: ignore[arg-type]
    assert DocMetaData(page=3).page == 3, "other keys may be added"  # type: ignore[call-arg, attr-defined]


@pytest.mark.shows("DocMetaData.dict_bool_int", "DocMetaData.dict_bool_int(args)", "DocMetaData.dict_bool_int(kwargs)")
def test_truth_values_become_numbers_for_a_store():
    metadata = DocMetaData(is_chunk=True, title="Lease", read=False)  # type: ignore[call-arg]
    values = metadata.dict_bool_int()
    assert values["title"] == "Lease"
    assert [type(values[name]) for name in ("is_chunk", "read")] == [int, int]
    assert metadata.dict_bool_int(include={"is_chunk"}) == {"is_chunk": 1}
    assert "title" not in metadata.dict_bool_int(exclude={"title"})


@pytest.mark.shows("DocMetaData")
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "context"),
        ({"source": "lease.txt", "title": "Lease"}, "lease.txt, Title: Lease"),
        ({"title": "T", "published_date": "2024-03-01"}, "context, Title: T, Date: 2024-03-01"),
        ({"title": "unknown"}, "context"),
    ],
)
def test_metadata_prints_what_is_known(given: dict[str, Any], text: str):
    assert str(DocMetaData(**given)).replace(" Date", ", Date").replace(",,", ",") == text


@pytest.mark.shows(
    "Document", "Document.content", "Document.metadata", "Document.id", "Document.from_string", "mytypes.Document"
)
def test_a_document_is_a_text_and_its_metadata():
    from trivium.mytypes import Document as ByPath

    document = ByPath(content="Rent: 950", metadata=DocMetaData(id="7", source="lease.txt"))
    assert (document.content, document.id(), document.metadata.source) == ("Rent: 950", "7", "lease.txt")
    assert "Rent: 950" in str(document)
    assert "lease.txt" in str(document)
    made = Document.from_string("text", source="web")
    assert (made.content, made.metadata.source, made.metadata.is_chunk) == ("text", "web", True)
    assert Document.from_string("text", is_chunk=False).metadata.is_chunk is False
    with pytest.raises(ValidationError):
        Document()  # type: ignore[call-arg]


# ---- metadata of a message
DEFAULTS: dict[str, Any] = {
    "parent_id": "", "child_id": "", "agent_id": "", "msg_idx": -1, "tool_ids": [], "block": None,
    "sender_name": "", "recipient": "", "usage": None, "cached": False, "displayed": False, "has_citation": False,
    "status": None, "tainted": False, "tools_from_agent": False,
}  # fmt: skip


@pytest.mark.shows(
    "ChatDocMetaData", "ChatDocMetaData.parent_id", "ChatDocMetaData.child_id", "ChatDocMetaData.agent_id",
    "ChatDocMetaData.msg_idx", "ChatDocMetaData.sender", "ChatDocMetaData.tool_ids", "ChatDocMetaData.block",
    "ChatDocMetaData.sender_name", "ChatDocMetaData.recipient", "ChatDocMetaData.usage", "ChatDocMetaData.cached",
    "ChatDocMetaData.displayed", "ChatDocMetaData.has_citation", "ChatDocMetaData.status",
    "ChatDocMetaData.tainted", "ChatDocMetaData.tools_from_agent",
)  # fmt: skip
def test_a_message_says_who_speaks_and_the_rest_has_defaults():
    metadata = lr.ChatDocMetaData(sender=Entity.LLM)
    assert {name: getattr(metadata, name) for name in DEFAULTS} == DEFAULTS
    assert isinstance(metadata, DocMetaData)
    with pytest.raises(ValidationError, match="sender"):
        ChatDocMetaData()  # type: ignore[call-arg]


VALUES: dict[str, Any] = {
    "sender": Entity.AGENT, "sender_name": "Ada", "recipient": "Bob", "block": Entity.LLM, "status": StatusCode.DONE,
    "usage": LLMTokenUsage(prompt_tokens=1, completion_tokens=2, cost=0.5, calls=1),
    "parent_id": "p", "child_id": "c", "agent_id": "a", "msg_idx": 3, "tool_ids": ["t"],
    "oai_tool_id": "o", "cached": True, "displayed": True, "has_citation": True, "tainted": True, "source": "web",
}  # fmt: skip


@pytest.mark.shows("ChatDocument.metadata", "ChatDocMetaData", "ChatDocMetaData.oai_tool_id", "ChatDocument(data)")
@pytest.mark.parametrize("name", VALUES)
def test_metadata_is_kept_whether_given_or_set(name: str):
    values: dict[str, Any] = {"sender": Entity.LLM, name: VALUES[name]}
    given = ChatDocument(content="x", metadata=ChatDocMetaData(**values))
    assert getattr(given.metadata, name) == VALUES[name]
    later = message()
    setattr(later.metadata, name, VALUES[name])
    assert getattr(later.metadata, name) == VALUES[name]
    assert getattr(ChatDocument.deepcopy(given).metadata, name) == (
        "" if name in ("parent_id", "child_id") else VALUES[name]
    )


@pytest.mark.shows("ChatDocMetaData", "ChatDocMetaData.recipient", "ChatDocMetaData.status")
@pytest.mark.parametrize(
    ("name", "mine"),
    [("recipient", "receiver"), ("sender_name", "sender"), ("status", "status"),
     ("sender", "entity"), ("oai_tool_id", "tool_call_id")],
)  # fmt: skip
def test_metadata_is_one_with_the_message(name: str, mine: str):
    first, second = message(), message().replace(**{mine: VALUES[name]})  # type: ignore[arg-type]
    setattr(first.metadata, name, VALUES[name])
    assert getattr(first, mine) == getattr(second.metadata, name) == VALUES[name]


# ---- the chat document
@pytest.mark.shows(
    "ChatDocument", "ChatDocument(data)", "ChatDocument.content", "ChatDocument.content_any",
    "ChatDocument.tool_messages", "ChatDocument.attachment", "ChatDocument.files",
)  # fmt: skip
def test_a_chat_document_carries_values_beside_its_text():
    tool, file = Square(number=3), FileAttachment.from_text("f")
    doc = ChatDocument(
        content="x", content_any={"a": 1}, tool_messages=[tool], attachment="note", files=[file],
        metadata=ChatDocMetaData(sender=Entity.AGENT),
    )  # fmt: skip
    assert (doc.content, doc.content_any, doc.tool_messages) == ("x", {"a": 1}, [tool])
    assert (doc.attachment, list(doc.files)) == ("note", [file])
    plain = message()
    assert (plain.content_any, plain.tool_messages, plain.attachment, list(plain.files)) == (None, [], None, [])
    assert isinstance(doc, Document)


@pytest.mark.shows("ChatDocument.from_id", "ObjectRegistry", "Document.id", "semantic 10")
@pytest.mark.usefixtures("frozen")
def test_a_message_is_found_by_its_id_as_long_as_somebody_holds_it():
    doc = message()
    identity = doc.id()
    assert ChatDocument.from_id(identity) is doc is ObjectRegistry.get(identity)
    assert ChatDocument.from_id("nothing") is None
    del doc
    gc.collect()
    assert ChatDocument.from_id(identity) is None


@pytest.mark.shows("ChatDocument.delete_id", "ChatDocument.delete_id(id)", "ChatDocMetaData.child_id")
def test_deleting_a_message_deletes_what_came_of_it():
    chain = [message(str(number)) for number in range(4)]
    for before, after in pairwise(chain):
        before.metadata.child_id, after.metadata.parent_id = after.id(), before.id()
    assert chain[1].child is chain[2]
    assert chain[2].parent is chain[1]
    ids = [each.id() for each in chain]
    ChatDocument.delete_id(ids[1])
    assert [ChatDocument.from_id(each) for each in ids] == [chain[0], None, None, None]
    assert [each.id() for each in chain] == ids
    assert ChatDocument.from_id(ids[1]) is None, "to read an id brings nothing back"
    ChatDocument.delete_id("nothing")


@pytest.mark.shows("ChatDocument.deepcopy")
def test_a_deep_copy_shares_nothing_and_stands_outside_the_conversation():
    first, doc = message("before"), message("x", tool_ids=["t"], recipient="Bob")
    doc.metadata.parent_id, doc.metadata.child_id = first.id(), first.id()
    new = ChatDocument.deepcopy(doc)
    assert (new.content, new.metadata.recipient, new.metadata.sender) == ("x", "Bob", Entity.LLM)
    assert new.id() != doc.id()
    assert (new.parent, new.child, new.metadata.parent_id) == (None, None, "")
    new.metadata.tool_ids.append("u")
    new.metadata.recipient = "Eve"
    assert (doc.metadata.tool_ids, doc.metadata.recipient) == (["t"], "Bob")
    assert ChatDocument.from_id(new.id()) is new
    assert copy.deepcopy(doc).id() != doc.id()


@pytest.mark.shows("ChatDocument.pop_tool_ids", "ChatDocMetaData.tool_ids")
def test_the_latest_waiting_call_is_taken_off():
    doc = message(tool_ids=["a", "b"])
    doc.pop_tool_ids()
    assert doc.metadata.tool_ids == ["a"]
    doc.pop_tool_ids()
    doc.pop_tool_ids()
    assert doc.metadata.tool_ids == []


@pytest.mark.shows("ChatDocument.get_json_tools", "ChatDocument.get_tool_names", "both names 2")
@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("nothing", []),
        ('{"request": "square", "number": 3}', ["square"]),
        ('First {"request": "a"} then {"request": "b"}.', ["a", "b"]),
        ('{"x": 1}', []),
    ],
)
def test_the_tools_that_a_text_attempts_are_named(content: str, names: list[str]):
    assert message(content).get_tool_names() == names
    assert message(content).get_json_tools() == names  # type: ignore[attr-defined] - the older name


@pytest.mark.shows("ChatDocument.from_str", "ChatDocument")
def test_a_text_becomes_a_users_message():
    doc = ChatDocument.from_str("hello")
    assert (doc.content, doc.metadata.sender) == ("hello", Entity.USER)


@pytest.mark.shows("ChatDocument")
def test_a_chat_document_prints_who_says_what_to_whom():
    text = str(message("hi there", sender_name="Ada", recipient="Bob"))
    for part in ("LLM", "Ada", "Bob", "hi there"):
        assert part in text


@pytest.mark.shows("weak point 4", "weak point 8")
@pytest.mark.usefixtures("frozen")
def test_messages_that_nobody_holds_are_not_kept():
    gc.collect()
    before = len(ObjectRegistry.registry)
    kept = [message(str(number)) for number in range(100)]
    assert len({each.id() for each in kept}) == 100
    assert len(ObjectRegistry.registry) >= before + 100
    del kept
    gc.collect()
    assert len(ObjectRegistry.registry) <= before


def test_a_message_whose_metadata_was_read_can_be_pickled_and_the_copy_shows_itself():
    first = message("hi", sender=Entity.USER)
    assert first.metadata.recipient == ""
    other = pickle.loads(pickle.dumps(first))
    other.metadata.recipient = "Bob"
    assert (other.receiver, first.receiver) == ("Bob", None)
