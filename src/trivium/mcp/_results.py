"""The results of a server as trivium's values: of tools, resources and prompts."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trivium.policies import NOTHING, Sources
from trivium.schema import ActionReturn, ActionStatusCode, Message

if TYPE_CHECKING:
    from mcp import types


@dataclass(frozen=True, slots=True)
class MCPResource:
    """A resource that a server offers; of a template, `uri` has names in braces.

    Args:
        uri: its address.
        name: its name.
        description: the server's description.
        mime_type: its type, or "".
        is_template: True if `uri` has names to fill in.
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
        name: its name.
        description: the server's description.
        arguments: the names of its arguments.
        required: the names of the required ones.
    """

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MCPContent:
    """The content of a resource, or a part of it: text or bytes.

    Args:
        uri: the address of the resource.
        text: the text, or None.
        data: the bytes, if it is no text.
        mime_type: its type, or "".
        sources: the server that it was read from, for policies: give them to the message that it goes into.
    """

    uri: str
    text: str | None = None
    data: bytes = b""
    mime_type: str = ""
    sources: Sources = field(default=NOTHING, compare=False)

    def __str__(self) -> str:
        return self.text if self.text is not None else describe_bytes(self.mime_type, len(self.data))


def as_action_return(result: types.CallToolResult, hidden: Callable[[str], str] = str) -> ActionReturn:
    """Convert the result of a tool call. Of an image or a file the model reads the type and the size.

    Such an item has its bytes as base64 in `data`. The first item has the server's structured content in `structured`;
    without other content, that is its text.

    Args:
        result: the server's result.
        hidden: removes secrets from a text.
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


def _item(block: types.ContentBlock) -> dict[str, Any]:
    if block.type == "text":
        return {"type": "text", "content": block.text}
    if block.type == "resource_link":
        return {"type": "resource_link", "content": block.uri, "name": block.name}
    if block.type == "resource":
        content = _content(block.resource)
        if content.text is not None:
            return {"type": "text", "content": content.text, "uri": content.uri}
        text, data = f"{content.uri}, {content}", block.resource.model_dump().get("blob", "")
        return {"type": "resource", "content": text, "mime_type": content.mime_type, "data": data}
    text = describe_bytes(block.mime_type, len(block.data) * 3 // 4)
    return {"type": block.type, "content": text, "mime_type": block.mime_type, "data": block.data}


def describe_bytes(mime_type: str, size: int) -> str:
    """Describe bytes by their type and size."""
    return f"{mime_type or 'bytes'}, {size:,} bytes"


def contents_of(result: types.ReadResourceResult, sources: Sources) -> list[MCPContent]:
    """The contents of a resource, which has these sources."""
    return [_content(each, sources) for each in result.contents]


def _content(each: types.TextResourceContents | types.BlobResourceContents, sources: Sources = NOTHING) -> MCPContent:
    fields = each.model_dump()
    text: str | None = fields.get("text")
    try:
        data = b"" if text is not None else b64decode(fields.get("blob", ""), validate=True)
    except (Base64Error, ValueError):  # no base64: the content is unknown
        data = b""
    return MCPContent(str(each.uri), text, data, each.mime_type or "", sources)


def messages_of(result: types.GetPromptResult) -> list[Message]:
    """The messages of a prompt, filled in by the server; the origin of none of them is a model."""
    texts = [ActionReturn(result=[_item(each.content)]).format_result() for each in result.messages]
    return [Message(content=text, sender=each.role) for text, each in zip(texts, result.messages, strict=True)]
