"""What a server sends, as trivium's values: the outcome of a tool, what a resource holds, the messages of a prompt."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trivium.schema import ActionReturn, ActionStatusCode, Message

__all__ = ["MCPContent", "MCPPrompt", "MCPResource", "as_action_return", "contents_of", "messages_of"]


@dataclass(frozen=True, slots=True)
class MCPResource:
    """A resource that a server offers; of a template, `uri` has names in braces.

    Args:
        uri: how it is read.
        name: its name.
        description: what the server says of it.
        mime_type: its type, or "".
        is_template: whether `uri` has to be filled in.
    """

    uri: str
    name: str
    description: str = ""
    mime_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class MCPPrompt:
    """A prompt that a server offers.

    Args:
        name: how it is got.
        description: what the server says of it.
        arguments: the names of its arguments.
        required: those of them that have to be given.
    """

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MCPContent:
    """What a resource holds, or a part of it: text, or bytes where it has none.

    Args:
        uri: what was read.
        text: the text, or None.
        data: the bytes, where it is no text.
        mime_type: its type, or "".
    """

    uri: str
    text: str | None = None
    data: bytes = b""
    mime_type: str = ""

    def __str__(self) -> str:
        return self.text if self.text is not None else _told(self.mime_type, len(self.data))


def as_action_return(result: Any, hidden: Callable[[str], str] = str) -> ActionReturn:
    """The outcome of a tool call. Text is text; of an image or a file the model reads what it is.

    The item keeps its bytes as base64 in `data`. The first item has what the server gave as structured content in
    `structured`; where it gave nothing else, that is the text.

    Args:
        result: what came.
        hidden: from a text to the one that may be seen.
    """
    items = [_item(block) for block in result.content]
    structured = result.structured_content
    if structured is not None:
        items = items or [{"type": "text", "content": json.dumps(structured, ensure_ascii=False)}]
        items[0]["structured"] = structured
    for item in items:
        item["content"] = hidden(item["content"])
    returned = ActionReturn(result=items)
    if result.is_error:
        text = returned.format_result() or "the tool failed, and did not say why"
        return returned.replace(errmsg=text, state=ActionStatusCode.API_ERROR)
    return returned


def _item(block: Any) -> dict[str, Any]:
    if block.type == "text":
        return {"type": "text", "content": block.text}
    if block.type == "resource_link":
        return {"type": "resource_link", "content": block.uri, "name": block.name}
    if block.type == "resource":
        content = _content(block.resource)
        if content.text is not None:
            return {"type": "text", "content": content.text, "uri": content.uri}
        told = f"{content.uri}, {content}"
        return {"type": "resource", "content": told, "mime_type": content.mime_type, "data": block.resource.blob}
    told = _told(block.mime_type, len(block.data) * 3 // 4)
    return {"type": block.type, "content": told, "mime_type": block.mime_type, "data": block.data}


def _told(mime_type: str, size: int) -> str:
    return f"{mime_type or 'bytes'}, {size:,} bytes"


def contents_of(result: Any) -> list[MCPContent]:
    """What a server sent of a resource."""
    return [_content(each) for each in result.contents]


def _content(each: Any) -> MCPContent:
    text, blob = getattr(each, "text", None), getattr(each, "blob", "")
    try:
        data = b"" if text is not None else b64decode(blob, validate=True)
    except (Base64Error, ValueError):  # no base64: what it is cannot be said
        data = b""
    return MCPContent(str(each.uri), text, data, each.mime_type or "")


def messages_of(result: Any) -> list[Message]:
    """The messages of a prompt, as a server filled it in; none of them is a model's own word here."""
    return [Message(content=_text(each.content), sender=each.role) for each in result.messages]


def _text(block: Any) -> str:
    return ActionReturn(result=[_item(block)]).format_result()
