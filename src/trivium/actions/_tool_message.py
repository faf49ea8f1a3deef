"""The tool message: a tool call as a typed message, with its handler on it or on an agent."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from trivium.actions._tool import describe_errors, plain_schema
from trivium.exceptions import ToolArgumentsError, ToolDefinitionError
from trivium.module import Module
from trivium.schema import Message, ToolSpec

__all__ = ["AgentDoneTool", "FinalResultTool", "ToolMessage", "find_handler"]

_NOT_ARGUMENTS = ("request", "purpose", "id")


class ToolMessage(BaseModel):
    """A tool call that a model makes by filling in a message.

    Define `request` (the tool's name) and `purpose` (what it is for) as defaults, and a field for each
    argument. It is handled by the agent's method named like `request`, else by its own `handle`, which may
    take the agent and the message in any order.

    Example:
        >>> class Square(ToolMessage):
        ...     request: str = "square"
        ...     purpose: str = "To square a <number>."
        ...     number: int
        ...     def handle(self):
        ...         return str(self.number ** 2)
        >>> Square(number=3).handle(), Square.spec().name
        ('9', 'square')
    """

    model_config = ConfigDict(extra="allow", validate_assignment=True, validate_default=True)

    request: str
    purpose: str
    id: str = ""

    _spec: ClassVar[ToolSpec | None] = None

    @classmethod
    def name(cls) -> str:
        """The tool's name: the default of `request`."""
        default = cls.model_fields["request"].default
        if not isinstance(default, str) or not default:
            raise ToolDefinitionError(f'{cls.__name__} needs a name: write `request: str = "…"`', cls.__name__)
        return default

    @classmethod
    def spec(cls) -> ToolSpec:
        """What a model is told about the tool; made once for the class."""
        if cls.__dict__.get("_spec") is None:
            schema = plain_schema(cls.model_json_schema())
            properties = schema.get("properties", {})
            for name in _NOT_ARGUMENTS:
                properties.pop(name, None)
            schema["required"] = [each for each in schema.get("required", ()) if each not in _NOT_ARGUMENTS]
            for unwanted in ("additionalProperties", "description"):
                schema.pop(unwanted, None)
            purpose = cls.model_fields["purpose"].default
            cls._spec = ToolSpec(cls.name(), purpose if isinstance(purpose, str) else "", schema)
        return cast("ToolSpec", cls._spec)

    @classmethod
    def parse(cls, arguments: str | Mapping[str, Any]) -> Self:
        """The message that a model filled in.

        Raises:
            ToolArgumentsError: the arguments do not fit; the text says which and why.
        """
        try:
            values = json.loads(arguments or "{}", strict=False) if isinstance(arguments, str) else dict(arguments)
        except (ValueError, RecursionError) as error:
            raise ToolArgumentsError(f"the arguments of {cls.name()} are no JSON: {error}", cls.name()) from None
        if isinstance(values, dict) and list(cast("dict[str, Any]", values)) == ["properties"]:
            values = cast("dict[str, Any]", values)["properties"]  # some models answer in the form of the schema
        if isinstance(values, dict):  # which tool it is, the call says: a model cannot choose another handler
            given = cast("dict[str, Any]", values).items()
            values = {name: value for name, value in given if name not in ("request", "purpose")}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ToolArgumentsError(describe_errors(cls.name(), error), cls.name()) from None

    def arguments(self) -> dict[str, Any]:
        """The fields that a model fills in."""
        return self.model_dump(exclude=set(_NOT_ARGUMENTS))


class AgentDoneTool(ToolMessage):
    """What an agent's handler returns to end its task, with the task's result.

    Args:
        content: the result; text becomes the content of the result message, anything else also its attachment.
    """

    request: str = "agent_done_tool"
    purpose: str = "To end the task with a result."
    content: Any = None


class FinalResultTool(AgentDoneTool):
    """What an agent's handler returns to end its task and every task above it, with the result of them all."""

    request: str = "final_result_tool"
    purpose: str = "To end all tasks with a result."


def find_handler(agent: Any, message: ToolMessage) -> Callable[[Message], Any] | None:
    """What handles a tool message at an agent: the agent's own method first, else the message's `handle`.

    What every module has (`reset`, `stream`, …) handles nothing.

    Returns:
        A function of the chat message that carried the call, or None.
    """
    method = getattr(agent, message.request, None)
    if callable(method) and not isinstance(method, Module) and not hasattr(Module, message.request):
        return _bind(method, message, agent)
    handle = getattr(message, "handle", None) or getattr(message, "response", None)
    return None if handle is None else _bind(handle, None, agent)


def _bind(method: Callable[..., Any], message: ToolMessage | None, agent: Any) -> Callable[[Message], Any]:
    """Give the handler what its parameters ask for: the tool message first, the agent, the chat message."""
    parameters = list(inspect.signature(method).parameters.values())
    if message is not None:
        parameters = parameters[1:]

    def call(chat_message: Message) -> Any:
        extra = [agent if _wants_agent(parameter) else chat_message for parameter in parameters]
        return method(*(() if message is None else (message,)), *extra)

    call.__wrapped__ = method  # type: ignore[attr-defined] - as functools.wraps does
    return call


def _wants_agent(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.name == "agent" or name.rsplit(".", 1)[-1].endswith("Agent")
