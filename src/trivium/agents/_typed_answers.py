"""Answers of a type: the model is held to its schema, and the value travels with the message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from trivium.actions import ToolMessage
from trivium.actions.lowlevel import describe_errors, remove_titles
from trivium.agents._agent import Agent
from trivium.exceptions import ConfigurationError, MalformedAnswerError
from trivium.llms import Reply, Request
from trivium.llms.lowlevel import call_model
from trivium.schema import Message

__all__ = ["AnswerFormat", "TypedAnswers", "value_in"]

T = TypeVar("T")


class AnswerFormat:
    """A type that answers must have: its schema for the model, and the way back.

    Providers that keep to a schema want an object, so any other type is the `value` of one.

    Args:
        kind: a pydantic model, a tool message, or any type that pydantic can describe.
        include_defaults: show fields that have defaults.

    Example:
        >>> AnswerFormat(list[int]).parse('{"value": [1, 2]}')
        [1, 2]
    """

    __slots__ = ("_adapter", "is_wrapped", "kind", "schema")

    def __init__(self, kind: Any, include_defaults: bool = True) -> None:
        self.kind = kind
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
            if _is_class(kind, ToolMessage):
                schema = dict(kind.llm_function_schema(request=True, defaults=include_defaults).parameters)
            else:
                schema = remove_titles(self._adapter.json_schema())
        except Exception as error:
            raise ConfigurationError(f"{kind!r} cannot be the type of an answer: {error}") from None
        self.is_wrapped = schema.get("type") != "object"
        if self.is_wrapped:
            schema = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
        self.schema = schema

    def parse(self, text: str) -> Any:
        """The value that an answer states.

        Raises:
            MalformedAnswerError: it states none; the text says what is wrong, so that a model can mend it.
        """
        try:
            found: Any = json.loads(text)
            if self.is_wrapped and isinstance(found, dict) and list(cast("dict[str, Any]", found)) == ["value"]:
                found = cast("dict[str, Any]", found)["value"]
            if _is_class(self.kind, ToolMessage):
                return self.kind.parse(cast("Mapping[str, Any]", found))
            return self._adapter.validate_python(found)
        except ValidationError as error:
            raise MalformedAnswerError(describe_errors("the answer", error)) from None
        except (ValueError, TypeError, RecursionError) as error:
            raise MalformedAnswerError(f"the answer is not the JSON that was asked for: {error}") from None


class TypedAnswers(Agent):
    """What of a chat agent has to do with answers of a type."""

    _format: AnswerFormat | None = None
    _format_is_told: bool = True

    def set_output_format(
        self,
        output_type: Any,
        force_tools: bool | None = None,
        use: bool | None = None,
        handle: bool | None = None,
        instructions: bool | None = None,
        is_copy: bool = False,
    ) -> None:
        """Let every answer have a type; None lets it be free again.

        The model is held to the type's schema: by its provider's strict mode, or by constrained decoding where it runs
        here. The value is `message.content_any`, and what `from_ChatDocument` gives.

        Args:
            output_type: a pydantic model, a tool message, or any type that pydantic can describe.
            force_tools: for the documents' code; a schema is always sent as such here.
            use: let the model use an `output_type` that is a tool message; default: the config's.
            handle: handle it; default: the config's.
            instructions: describe the format in the system message; default: the config's.
            is_copy: for the documents' code.

        Raises:
            ConfigurationError: pydantic cannot describe the type.
        """
        config = self.config
        if output_type is None:
            self._format = None
            return
        self._format = AnswerFormat(output_type, getattr(config, "output_format_include_defaults", True))
        self._format_is_told = _first(instructions, getattr(config, "instructions_output_format", True))
        if _is_class(output_type, ToolMessage):
            use = _first(use, getattr(config, "use_output_format", True))
            handle = _first(handle, getattr(config, "handle_output_format", True))
            self.enable_message(output_type, use=use, handle=handle)

    def __getitem__(self, output_type: type) -> Self:
        """The same agent with answers of a type; its conversation is the same one."""
        new = self._copied("_known", "_usable", "_handled")
        new.set_output_format(output_type, is_copy=True)
        return new

    def _has_format(self) -> bool:
        return self._format is not None and self._format_is_told

    def _format_instructions(self) -> str:
        if self._format is None or not self._format_is_told:
            return ""
        return f"Answer with one JSON object of this schema, and nothing else:\n{json.dumps(self._format.schema)}"

    def _request(self, history: list[dict[str, Any]], extra: Mapping[str, Any]) -> Request:
        request = super()._request(history, extra)
        return request if self._format is None else request._replace(output_schema=self._format.schema)

    async def _finish(self, reply: Reply, history: list[dict[str, Any]], extra: Mapping[str, Any]) -> Message:
        """The answer with its value; one that does not fit is asked for once more, with what was wrong."""
        wanted = self._format
        if wanted is None or reply.tool_calls:
            return await super()._finish(reply, history, extra)
        try:
            value = wanted.parse(reply.text)
        except MalformedAnswerError as error:
            if not getattr(self.config, "strict_recovery", True):
                return self._said(reply)
            wrong = [
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": f"{error}. Answer again."},
            ]
            reply = await call_model(self.model, self._request([*history, *wrong], extra))
            try:
                value = wanted.parse(reply.text)
            except MalformedAnswerError:
                return self._said(reply)
        return self._said(reply).replace(attachments=None if isinstance(value, ToolMessage) else (value,))

    def from_ChatDocument(self, msg: Message, output_type: type[T]) -> T | None:
        """The value of a type that a message holds; None where it holds none. See `value_in`."""
        return value_in(msg, output_type, self)


def value_in(message: Message, kind: type[T], agent: Any = None) -> T | None:
    """The value of a type in a message.

    In this order: the value that travels with it, its text, a tool message of that type (or all, for a list), the
    field of that type in a tool message, what its text states as JSON.
    """
    content, value = message.content, message.content_any
    if kind is str and content:
        return cast("T", content)
    if value is not None and (found := _as_kind(value, kind)) is not None:
        return found
    tools = [*message.tool_messages, *(agent.try_get_tool_messages(message, True) if agent is not None else ())]
    inner = get_args(kind)[0] if get_origin(kind) is list else None
    if inner is not None and _is_class(inner, ToolMessage):
        return cast("T", [tool for tool in tools if isinstance(tool, inner)]) or None
    for tool in tools:
        if _is_class(kind, ToolMessage) and isinstance(tool, kind):
            return tool
    for tool in tools:
        if (found := tool.get_value_of_type(kind)) is not None:
            return found
    return _stated(content, kind) if isinstance(content, str) else None


def _as_kind(value: Any, kind: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value, strict=not isinstance(value, dict | BaseModel))
    except Exception:
        return None


def _stated(content: str, kind: Any) -> Any:
    try:
        return AnswerFormat(kind).parse(content)
    except (MalformedAnswerError, ConfigurationError):
        pass
    try:
        return TypeAdapter(kind).validate_python(content.strip())  # "42" for a number
    except Exception:
        return None


def _is_class(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _first(value: bool | None, default: bool) -> bool:
    return default if value is None else value
