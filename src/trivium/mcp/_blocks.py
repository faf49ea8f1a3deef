"""The program's values as a client receives them: blocks of content, structured content and its schema."""

from __future__ import annotations

import inspect
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast, get_args, get_type_hints

from trivium.actions import Tool, as_text
from trivium.actions.lowlevel import enclosed_schema, sendable_json
from trivium.exceptions import ToolError
from trivium.mcp._results import MCPContent
from trivium.schema import ActionReturn, Message

if TYPE_CHECKING:
    from mcp import types
    from pydantic import TypeAdapter

_CONTENT: Final = (ActionReturn, MCPContent, Message)
"""Types of results that are content as they are."""


@dataclass(frozen=True, slots=True)
class DeclaredOutput:
    """The declared type of a result.

    Args:
        schema: its JSON schema, of an object: older clients take no other.
        adapter: the type.
        is_wrapped: the value is no object, so it is sent as `{"result": value}`.
    """

    schema: dict[str, Any]
    adapter: TypeAdapter[Any]
    is_wrapped: bool

    def structured(self, values: Sequence[Any], name: str) -> dict[str, Any]:
        """Return as structured content the first of some values that is of the type, or is its JSON text.

        Raises:
            ToolError: none is of the declared type.
        """
        from pydantic import ValidationError

        failed: Exception | None = None
        for value in values:
            validate = self.adapter.validate_json, self.adapter.validate_python
            for each in validate if isinstance(value, str) else validate[1:]:
                try:
                    valid = each(value)
                    found = self.adapter.dump_python(valid, mode="json", by_alias=True)
                    _refuse_nan(found)
                    _refuse_nan(self.adapter.dump_python(valid, by_alias=True))  # `mode="json"` makes null of some
                except (ValidationError, ValueError) as error:
                    failed = failed or error
                else:
                    return {"result": found} if self.is_wrapped else found
        raise ToolError(f"{name} ran, but its result is not of the type that it declares: {failed}", name)


def _refuse_nan(value: object) -> None:
    """Raise a ValueError for nan and inf at any depth: JSON has neither."""
    json.dumps(
        value,
        allow_nan=False,
        skipkeys=True,
        default=lambda each: [*each] if isinstance(each, set | frozenset) else None,
    )


def output_of(kind: Any) -> DeclaredOutput | None:
    """Return what a client is told of results of a type; None: they are text, or have no schema."""
    from pydantic import PydanticUserError, TypeAdapter
    from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

    if kind in (None, Any, object, str, bytes) or _is_content(kind):
        return None
    try:
        adapter = TypeAdapter[Any](kind)
        schema, is_wrapped = enclosed_schema(adapter.json_schema(mode="serialization"), "result")
    except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return None
    return DeclaredOutput(schema, adapter, is_wrapped)


def _is_content(kind: Any) -> bool:
    """Return whether results of a type are, or have within, what is content as it is."""
    return (isinstance(kind, type) and issubclass(kind, _CONTENT)) or any(map(_is_content, get_args(kind)))


def returned_type(function: Callable[..., object]) -> Any:
    """Return the annotation of a function's result; None: there is none that can be read."""
    plain = inspect.unwrap(function.func if isinstance(function, partial) else function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        return None
    try:
        return get_type_hints(plain, include_extras=True).get("return")
    except (AttributeError, NameError, TypeError):
        return None


def tool_output(tool: Tool) -> DeclaredOutput | None:
    """Return what a tool declares of its results."""
    return output_of(returned_type(tool.call))


def to_tool_result(value: Any, output: DeclaredOutput | None, name: str) -> types.CallToolResult:
    """Convert what a tool returned.

    Raises:
        ToolError: it is not of the declared type.
    """
    from mcp.types import CallToolResult, TextContent

    if isinstance(value, ActionReturn) and value.errmsg is not None:
        return failure(value.errmsg)
    if output is not None:
        return CallToolResult(
            content=[TextContent(text=as_text(value))],
            structured_content=sendable_json(output.structured([value], name)),
        )
    if isinstance(value, ActionReturn):
        items = value.result or []
        given: object = items[0].get("structured") if items else None
        structured = cast("dict[str, Any]", sendable_json(given)) if isinstance(given, dict) else None
        return CallToolResult(content=[content_block(each) for each in items], structured_content=structured)
    values = as_list(value)
    if not any(isinstance(each, MCPContent) for each in values):
        values = [as_text(value)]
    return CallToolResult(content=[contents_block(each) for each in values])


def as_list(value: Any) -> list[Any]:
    """Return the items of a list or tuple; of another value a list of it."""
    return list(cast("Iterable[Any]", value)) if isinstance(value, list | tuple) else [value]


def contents_block(value: Any) -> types.ContentBlock:
    """Convert a content, or any other value to text."""
    from mcp.types import AudioContent, EmbeddedResource, ImageContent, TextContent

    if not isinstance(value, MCPContent):
        return TextContent(text=as_text(value))
    kind = {"image": ImageContent, "audio": AudioContent}.get(value.mime_type.partition("/")[0])
    if kind is not None and not value.uri and value.text is None:
        return kind(data=b64encode(value.data).decode(), mime_type=value.mime_type)
    if not value.uri and value.text is not None:
        return TextContent(text=as_text(value.text))
    return EmbeddedResource(resource=resource_contents(value.uri, value))


def resource_contents(uri: str, value: Any) -> types.TextResourceContents | types.BlobResourceContents:
    """Convert what a resource is: text, bytes, a content, or any other value as JSON."""
    from mcp.types import BlobResourceContents, TextResourceContents

    if isinstance(value, MCPContent):
        text, data, kind = value.text if value.text is None else as_text(value.text), value.data, value.mime_type
    elif isinstance(value, bytes):
        text, data, kind = None, value, ""
    else:
        text, data, kind = as_text(value), b"", "text/plain" if isinstance(value, str) else "application/json"
    if text is not None:
        return TextResourceContents(uri=uri, text=text, mime_type=kind or "text/plain")
    return BlobResourceContents(uri=uri, blob=b64encode(data).decode(), mime_type=kind or "application/octet-stream")


def content_block(item: Mapping[str, Any]) -> types.ContentBlock:
    """Convert an item of an `ActionReturn`: what came from another server goes on as it came."""
    from mcp.types import (
        AudioContent,
        BlobResourceContents,
        EmbeddedResource,
        ImageContent,
        ResourceLink,
        TextContent,
        TextResourceContents,
    )

    kinds = {"image": ImageContent, "audio": AudioContent}
    kind, uri, mime_type = item["type"], item.get("uri", ""), item.get("mime_type")
    if kind in kinds and "data" in item:
        return kinds[kind](data=item["data"], mime_type=mime_type or "")
    if kind == "resource" and uri and "data" in item:
        return EmbeddedResource(resource=BlobResourceContents(uri=uri, blob=item["data"], mime_type=mime_type))
    if kind == "resource_link":
        return ResourceLink(uri=item["content"], name=item.get("name", ""))
    if kind == "text" and uri:
        return EmbeddedResource(resource=TextResourceContents(uri=uri, text=item["content"], mime_type=mime_type))
    return TextContent(text=as_text(ActionReturn(result=[dict(item)]).format_result()))


def failure(text: str) -> types.CallToolResult:
    """Return the result of a tool that has failed; the model reads why."""
    from mcp.types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(text=text)], is_error=True)
