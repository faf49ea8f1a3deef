"""The message as a chat document: the names and the form that it has in a conversation among tasks."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast
from weakref import ref

from trivium.schema._conversions import FUNCTION_CALL, Conversions, call_kind, token_usage
from trivium.schema._documents import LINKED, ChatDocMetaData, as_metadata
from trivium.schema._registry import ObjectRegistry
from trivium.schema._status import Entity, Origin
from trivium.schema._values import ToolCall

if TYPE_CHECKING:
    from trivium.schema._message import Message

_TOOL: Final = "get_value_of_type"
"""A method that tool messages have and other values have not; their class stands above this package."""


class Changes:
    """Counts the changes of those messages that refer to it."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Links(TypedDict, total=False):
    """A message's place in a conversation; it keeps no other message alive. Stored as pydantic's private values."""

    parent: ref[Any]
    child: ref[Any]
    agent_id: str
    index: int
    began: int
    """Where the agent's memory ended before the run of its task whose result this is."""
    same: ref[Any]
    """The message that this is a remembered copy of; their ids are the same."""
    repairs: int
    """How often in a row, up to this message, a model was told that its answer or one of its calls does not fit."""
    misfits: frozenset[ToolCall]
    """The calls in the text of a model that fit no tool of its agent: the others in it do not run."""
    deleted: bool
    """True of a message that was deleted by its id, which does not find it again."""
    handled: tuple[object, object, str, tuple[Any, ...]]
    """The toolbox, config and name of an agent, and what of the message it handles."""
    made: datetime
    """When it was first remembered, or else first read in a history."""
    watched: list[Changes]
    """The counters of its changes."""


OF_ITSELF: Final = frozenset({"handled", "same", "watched"})
"""The links that a copy does not have."""


def links_of(message: Any) -> Links:
    """Return the message's place in a conversation, as far as it is known."""
    found: Any = message.__pydantic_private__
    return Links() if found is None else found


def linked(message: Any) -> Links:
    """The same, to write to."""
    found = message.__pydantic_private__
    if found is None:
        found = {}
        object.__setattr__(message, "__pydantic_private__", found)
    return cast("Links", found)


def ids_in(links: Links) -> dict[str, Any]:
    """A message's place as its metadata has it."""
    found = {"parent_id": links.get("parent"), "child_id": links.get("child")}
    alive = {name: each() for name, each in found.items() if each is not None}
    values = {name: message.id() for name, message in alive.items() if message is not None}
    own = {"agent_id": links.get("agent_id"), "msg_idx": links.get("index")}
    return values | {name: value for name, value in own.items() if value is not None}


def watch(message: Any, changes: Changes) -> None:
    """Count the changes of a message from now on, among those of others."""
    watched = linked(message).setdefault("watched", [])
    if changes not in watched:
        watched.append(changes)


def link(parent: Any, child: Any) -> None:
    """Say that one message answers the other, where nothing else is said already."""
    (child.__pydantic_private__ or linked(child)).setdefault("parent", ref(parent))
    (parent.__pydantic_private__ or linked(parent)).setdefault("child", ref(child))


class ChatDocumentForm(Conversions):
    """The names of a message in a task's conversation: views of the same values."""

    __slots__ = ()
    if TYPE_CHECKING:
        extra_info: Any
        __pydantic_extra__: Any

        @property
        def attachments(self) -> tuple[Any, ...]: ...

    # ---- metadata
    @property
    def metadata(self) -> ChatDocMetaData:
        """The speaker, the recipient and the history of the message: a live view."""
        found, message = self._stored_metadata(), cast("Message", self)
        entity = message.entity or Entity.USER
        name = "" if message.sender == entity else message.sender
        values: dict[str, Any] = {"sender": entity, "sender_name": name, "recipient": message.receiver or ""}
        values |= {"status": message.status, "usage": token_usage(message.usage), "oai_tool_id": message.tool_call_id}
        if found.source in ("context", *Entity):
            values["source"] = entity
        values["tools_from_agent"] = message.origin is not Origin.USER
        found.link_to(self, {**values, **ids_in(links_of(self))})
        return found

    def _stored_metadata(self) -> ChatDocMetaData:
        """Return the stored part of the metadata; the first call makes it, and the message's id known."""
        extra = cast("dict[str, Any]", self.__pydantic_extra__)
        found = extra["metadata"] = extra.get("metadata") or as_metadata({})
        same = links_of(self).get("same")
        original = None if same is None else same()
        if original is not None:
            vars(found)["id"] = original.id()
        is_deleted = any("deleted" in links_of(each) for each in (self, original or self))
        if not is_deleted and ObjectRegistry.get(found.id) is None:
            ObjectRegistry.registry[found.id] = self
        return found

    def id(self) -> str:
        """The message's id, made when it is first asked for; by it `from_id` finds the message."""
        return self._stored_metadata().id

    @property
    def parent(self) -> Message | None:
        """The message that this one answers, if somebody still holds it."""
        return self.metadata.parent

    @property
    def child(self) -> Message | None:
        """The message that answers this one, if somebody still holds it."""
        return self.metadata.child

    @staticmethod
    def from_id(id: str) -> Message | None:
        """The message with this id, if somebody still holds it."""
        return ObjectRegistry.get(id)

    @staticmethod
    def delete_id(id: str) -> None:
        """Let `from_id` find neither this message nor those that came of it."""
        found = ObjectRegistry.get(id)
        while found is not None:
            after, same = found.child, links_of(found).get("same")
            ObjectRegistry.remove(found.id())
            linked((same and same()) or found)["deleted"] = linked(found)["deleted"] = True
            found = after

    @staticmethod
    def deepcopy(doc: Message) -> Message:
        """A copy that has an id of its own and no place in the conversation."""
        new = doc.__deepcopy__()
        object.__setattr__(new, "__pydantic_private__", None)
        if "metadata" in new.__pydantic_extra__:
            new.metadata.parent_id = new.metadata.child_id = ""
        return new

    # ---- values
    @property
    def content_any(self) -> Any:
        """The value that a handler returned, where it was no text."""
        return next((each for each in self.attachments if not hasattr(each.__class__, _TOOL)), None)

    @property
    def tool_messages(self) -> list[Any]:
        """The tool messages that travel with the message."""
        return [each for each in self.attachments if hasattr(each.__class__, _TOOL)]

    @property
    def attachment(self) -> Any:
        """Anything that a user wants to send along."""
        return self.extra_info

    @property
    def oai_tool_id2result(self) -> OrderedDict[str, str] | None:
        """The results of several calls, by the ids of the calls."""
        results = cast("dict[str, Any]", self.__pydantic_extra__).get("tool_results")
        return None if results is None else OrderedDict(results)

    @property
    def oai_tool_choice(self) -> Any:
        """The choice that the model has among tools in its answer: "auto", "none", "required", or one tool."""
        return cast("dict[str, Any]", self.__pydantic_extra__).get("tool_choice", "auto")

    def pop_tool_ids(self) -> None:
        """Take the latest off the calls that wait for their results."""
        del self.metadata.tool_ids[-1:]


def is_tainted(message: Any) -> bool:
    """Return True if a message repeats text from outside: its text steers nothing."""
    found: ChatDocMetaData | None = message.__pydantic_extra__.get("metadata")
    return found is not None and found.tainted


_RENAMED: Final = {"attachment": "extra_info", "oai_tool_choice": "tool_choice", "oai_tool_id2result": "tool_results"}
_COMPUTED: Final = ("metadata", "content_any", "tool_messages", "function_call", "oai_tool_calls")
OLDER_FORM: Final = frozenset((*_RENAMED, *_COMPUTED))
"""Keywords of the older form; `from_older_form` reads them."""


def from_older_form(values: Mapping[str, Any], message: Any = None) -> dict[str, Any]:
    """Return the values as a message holds them, of keywords as the documents have them."""
    found = {_RENAMED.get(name, name): value for name, value in values.items() if name not in _COMPUTED}
    if values.get("oai_tool_choice") == "auto":
        found["tool_choice"] = None
    calls = _calls(values, message)
    if calls is not None:
        found["tool_calls"] = calls or None
    if {"content_any", "tool_messages"} & values.keys():
        found["attachments"] = _attachments(values, message)
    metadata = values.get("metadata")
    if isinstance(metadata, ChatDocMetaData):
        # The program says who speaks; data that is read from somewhere comes as a dict, and is nobody's word.
        given = dict(metadata)
        sender, receiver = metadata.sender_name or metadata.sender.value, metadata.recipient or None
        found |= {name: given[each] for each, name in LINKED.items()} | {"sender": sender, "receiver": receiver}
        found["metadata"] = metadata.for_copy() if metadata.is_view else metadata
        if metadata.sender is Entity.LLM and (not metadata.is_view or metadata.tools_from_agent):
            found["origin"] = Origin.MODEL if metadata.is_view else Origin.PROGRAM
        if (before := ObjectRegistry.get(metadata.id)) is not None and before.sources:  # that message is made anew
            found["sources"] = before.sources.union(values.get("sources", ()) if message is None else message.sources)
    elif metadata is not None:
        found["metadata"] = as_metadata(metadata)
    made = message is None  # a new message holds nothing that is None
    return {name: value for name, value in found.items() if not made or value is not None or name == "content"}


def _calls(values: Mapping[str, Any], message: Any) -> tuple[ToolCall, ...] | None:
    if not {"function_call", "oai_tool_calls"} & values.keys():
        return None
    kept = [] if message is None else [each for each in message.tool_calls if call_kind(each) not in values]
    one, many = values.get("function_call"), cast("Sequence[Any]", values.get("oai_tool_calls") or ())
    given = [(each.id or f"call_{n}", each.function) for n, each in enumerate(many) if each.function]
    given += [] if one is None else [(FUNCTION_CALL, one)]
    return (*kept, *(ToolCall(key, call.name, json.dumps(call.arguments or {})) for key, call in given))


def _attachments(values: Mapping[str, Any], message: Any) -> tuple[Any, ...] | None:
    value, tools = (None, ()) if message is None else (message.content_any, message.tool_messages)
    value, tools = values.get("content_any", value), values.get("tool_messages", tools)
    return (*(() if value is None else (value,)), *tools) or None
