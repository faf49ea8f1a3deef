"""Documents and their metadata; the metadata of a message, which is a view of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast
from weakref import ref

from pydantic import ConfigDict, Field, PrivateAttr, field_validator

from trivium.exceptions import ArgumentTypeError
from trivium.schema._models import OlderNames
from trivium.schema._registry import ObjectRegistry
from trivium.schema._status import Entity, StatusCode

_UNKNOWN = "unknown"
_IDS = frozenset(("id", "parent_id", "child_id", "agent_id", "msg_idx"))


class DocMetaData(OlderNames):
    """The metadata of a document; other keys may be added.

    Args:
        source: its origin: a path, a URL or a name.
        source_content: the source, and what stands there.
        title: its title.
        published_date: the date when it came out.
        is_chunk: it is a part of another already, and is not split again.
        id: its id; numbers become text, None a new one.
        window_ids: the ids of the parts around it.
        media_type: the media type of the file that it was read from.
        pages: offset in the content at which each page begins; empty where the format has no pages.
        source_lines: where the lines of the content are not those of the file: pairs of an offset in the content and
            the line of the file that stands there, by offset; up to the next pair each line break counts one more.
        first_offset: where the content begins in the whole text, of which it is a part.
        headings: of each heading the offset of its line in the content, and its level from 1, by offset; empty where
            the format does not tell.
    """

    model_config = ConfigDict(extra="allow")

    source: str = "context"
    source_content: str = "context"
    title: str = "Unknown Title"
    published_date: str = "Unknown Date"
    is_chunk: bool = False
    id: str = Field(default_factory=ObjectRegistry.new_id)
    window_ids: list[str] = Field(default_factory=list[str])
    media_type: str = "text/plain"
    pages: tuple[int, ...] = ()
    source_lines: tuple[tuple[int, int], ...] = ()
    first_offset: int = 0
    headings: tuple[tuple[int, int], ...] = ()

    @field_validator("id", mode="before")
    @classmethod
    def _as_text(cls, given: Any) -> str:
        return ObjectRegistry.new_id() if given is None else str(given)

    def dict_bool_int(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the metadata as a dict in which truth values are 0 or 1, for stores that know no others."""
        dumped = self.model_dump(*args, **kwargs)
        return {name: int(value) if isinstance(value, bool) else value for name, value in dumped.items()}

    def __str__(self) -> str:
        day = self.published_date
        with suppress(ValueError):
            day = datetime.datetime.fromisoformat(day.strip()).date().isoformat()
        shown = {"Title": self.title, "Date": day}.items()
        known = [f"{name}: {text}" for name, text in shown if text.strip() and _UNKNOWN not in text.lower()]
        return ", ".join([self.source, *known])


class _AlsoMessages(type(OlderNames)):
    """Messages count as documents: they have a content and metadata, though not as fields of this model."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (cls is Document and hasattr(instance.__class__, "delete_id"))


class Document(OlderNames, metaclass=_AlsoMessages):
    """A text with its metadata. A message is one too.

    Example:
        >>> print(Document.from_string("Rent: 950 EUR", source="lease.txt"))
        CONTENT: Rent: 950 EUR
        SOURCE: lease.txt
    """

    content: str
    metadata: DocMetaData = Field(default_factory=DocMetaData)

    def id(self) -> str:
        """Return the id in its metadata."""
        return self.metadata.id

    @staticmethod
    def from_string(content: str, source: str = "context", is_chunk: bool = True) -> Document:
        """Return a document of a text alone.

        Args:
            content: the text.
            source: its origin: a path, a URL or a name.
            is_chunk: it is short enough to be found as it is; False where it is to be split, as by `Parser.split`.
        """
        return Document(content=content, metadata=DocMetaData(source=source, is_chunk=is_chunk))

    def __str__(self) -> str:
        return f"CONTENT: {self.content}\nSOURCE: {self.metadata}"


class ChatDocMetaData(DocMetaData):
    """The metadata of a message: its speaker, its recipient, its history.

    `message.metadata` is a live view: a value that is set here is set on the message, and the other way round.

    Args:
        sender: the responder that spoke (required).
        sender_name: the name of the agent or task that it belongs to.
        recipient: the name of the recipient; "": everybody.
        block: a responder that must not answer.
        status: how the task ended whose result this is.
        usage: what the message cost; read, it is an `LLMTokenUsage`.
        parent_id: the id of the message that it answers.
        child_id: the id of the message that answers it.
        agent_id: the id of the agent that made it.
        msg_idx: its place in that agent's history; -1 is none.
        tool_ids: ids of calls that wait for their results, the latest last.
        oai_tool_id: the call that it answers.
        cached: it came from a cache.
        displayed: somebody has shown it already.
        has_citation: it names its sources.
        tools_from_agent: a model wrote it.
        tainted: it repeats what came from outside.

    Example:
        >>> from trivium import ChatDocument, Entity
        >>> message = ChatDocument(content="hi", metadata=ChatDocMetaData(sender=Entity.LLM, sender_name="Ada"))
        >>> message.metadata.recipient = "Bob"
        >>> message.sender, message.receiver
        ('Ada', 'Bob')
    """

    sender: Entity
    sender_name: str = ""
    recipient: str = ""
    block: Entity | None = None
    status: StatusCode | None = None
    usage: Any = None
    parent_id: str = ""
    child_id: str = ""
    agent_id: str = ""
    msg_idx: int = -1
    tool_ids: list[str] = Field(default_factory=list[str])
    oai_tool_id: str | None = None
    cached: bool = False
    displayed: bool = False
    has_citation: bool = False
    tools_from_agent: bool = False
    tainted: bool = False

    _message: Callable[[], Any] | None = PrivateAttr(None)

    @property
    def parent(self) -> Any:
        """The message that this one answers, if somebody still holds it."""
        return ObjectRegistry.get(self.parent_id)

    @property
    def child(self) -> Any:
        """The message that answers this one, if somebody still holds it."""
        return ObjectRegistry.get(self.child_id)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        message = self._message and self._message()
        if message is not None and name in LINKED:
            message._take(LINKED[name], value)

    def __getstate__(self) -> dict[Any, Any]:
        # pickled with its message, it shows that one again as soon as somebody asks it for its metadata
        return {**super().__getstate__(), "__pydantic_private__": {"_message": None}}

    @property
    def is_view(self) -> bool:
        """True if the metadata is a view of a message."""
        return self._message is not None

    def link_to(self, message: Any, values: dict[str, Any]) -> None:
        """Show this message: its values, and from now on what is set there."""
        vars(self).update(values)
        if self._message is None:
            self._message = ref(message)

    def own_values(self) -> dict[str, Any]:
        """Return the values that stand only here and are not the defaults; without ids that were made for the view."""
        left_out = {*LINKED, *(_IDS - self.model_fields_set), "tools_from_agent"}
        dumped = self.model_dump(exclude=left_out, exclude_defaults=True)
        if dumped.get("source") in tuple(Entity):
            del dumped["source"]
        return dumped

    def for_copy(self) -> ChatDocMetaData:
        """Return the metadata of a copy of the message, which has an id of its own."""
        left_out = ("id", "parent_id", "child_id", "tool_ids")
        kept = {name: value for name, value in self if name not in left_out}
        given = self.model_fields_set.difference(left_out[:3])
        return type(self).model_construct(given, tool_ids=self.tool_ids.copy(), **kept)


LINKED: Final = {
    "sender": "entity",
    "sender_name": "sender",
    "recipient": "receiver",
    "status": "status",
    "usage": "usage",
    "oai_tool_id": "tool_call_id",
}
"""The metadata that stand on the message itself, and their names there."""


def as_metadata(value: Any) -> ChatDocMetaData:
    """Return the metadata of a message that was dumped; the sender is the message's own."""
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"metadata is a ChatDocMetaData, not {value!r}", "metadata")
    own = cast("Mapping[str, Any]", value)
    found = ChatDocMetaData.model_validate({**own, "sender": Entity.USER})
    found.__pydantic_fields_set__ &= own.keys()
    return found
