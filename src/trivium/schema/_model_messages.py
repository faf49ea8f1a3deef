"""Requests to a model and its answers, as the documents name them: messages by role, answers, calls, tokens."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Literal, cast

from pydantic import Field, field_validator

from trivium.exceptions import AnswerFormatError
from trivium.policies import NOTHING, Sources
from trivium.schema._addresses import named_recipient, recipient_in
from trivium.schema._files import FileAttachment
from trivium.schema._lenient_json import read_json
from trivium.schema._models import OlderNames
from trivium.schema._values import ToolCall, ToolSpec, Usage


class Role(str, Enum):
    """The author of a message in a chat with a model."""

    USER = "user"
    SYSTEM = "system"
    ASSISTANT = "assistant"
    FUNCTION = "function"
    TOOL = "tool"


class StreamEventType(Enum):
    """The part of an answer to which a piece of a model's stream belongs."""

    TEXT = 1
    FUNC_NAME = 2
    FUNC_ARGS = 3
    TOOL_NAME = 4
    TOOL_ARGS = 5
    REASONING = 6


class LLMFunctionCall(OlderNames):
    """A model's wish to call a function.

    Args:
        name: of the function.
        arguments: what it is called with.

    Example:
        >>> LLMFunctionCall.from_dict({"name": "square", "arguments": '{"x": 3}'}).arguments
        {'x': 3}
    """

    name: str
    arguments: dict[str, Any] | None = None

    @field_validator("arguments", mode="before")
    @classmethod
    def _is_object(cls, given: Any) -> Any:
        return _arguments(given) if isinstance(given, str) else given

    @staticmethod
    def from_dict(message: Mapping[str, Any]) -> LLMFunctionCall:
        """Return the call as a provider sends it, with its arguments as text.

        Raises:
            AnswerFormatError: the arguments are no object.
        """
        return LLMFunctionCall(name=message["name"], arguments=_arguments(message.get("arguments")))

    def __str__(self) -> str:
        return f"FUNC: {_as_json(self.model_dump(), 2)}"


class LLMFunctionSpec(OlderNames):
    """The description of a function that is sent to a model.

    Args:
        name: of the function.
        description: what it does.
        parameters: JSON schema of its arguments.
    """

    name: str
    description: str
    parameters: dict[str, Any]

    def to_tool_spec(self, strict: bool = False) -> ToolSpec:
        """The same as a tool that trivium's models are offered."""
        return ToolSpec(self.name, self.description, self.parameters, strict)


class OpenAIToolCall(OlderNames):
    """One tool call of an answer.

    Args:
        id: to which the tool's result refers.
        type: only functions can be called.
        function: which one, and with what.
        extra_content: what the provider wants back with it.
    """

    id: str | None = None
    type: Literal["function"] = "function"
    function: LLMFunctionCall | None = None
    extra_content: dict[str, Any] | None = None

    @staticmethod
    def from_dict(message: Mapping[str, Any]) -> OpenAIToolCall:
        """Return the call as a provider sends it.

        Raises:
            AnswerFormatError: the arguments are no object.
        """
        function = LLMFunctionCall.from_dict(message["function"])
        return OpenAIToolCall(id=message.get("id"), function=function, extra_content=message.get("extra_content"))

    @staticmethod
    def from_call(call: ToolCall) -> OpenAIToolCall:
        """Return a call of one of trivium's messages in this form; arguments that cannot be read are None."""
        arguments: dict[str, Any] | None = None
        with contextlib.suppress(AnswerFormatError):
            arguments = _arguments(call.arguments)
        return OpenAIToolCall(id=call.id, function=LLMFunctionCall(name=call.name, arguments=arguments))

    def __str__(self) -> str:
        return "" if self.function is None else f"OAI-TOOL: {_as_json(self.function.model_dump(), 2)}"


class OpenAIToolSpec(OlderNames):
    """A tool that a model is offered.

    Args:
        type: only functions can be offered.
        strict: whether its arguments must satisfy the schema; None leaves it to the provider.
        function: what is called.
    """

    type: Literal["function"] = "function"
    strict: bool | None = None
    function: LLMFunctionSpec

    def to_tool_spec(self) -> ToolSpec:
        """The same as a tool that trivium's models are offered."""
        return self.function.to_tool_spec(bool(self.strict))


class OpenAIJsonSchemaSpec(OlderNames):
    """A JSON schema that an answer's text must satisfy.

    Args:
        strict: whether it must; None leaves it to the provider.
        function: name and description of the answer, with the schema as its parameters.
    """

    strict: bool | None = None
    function: LLMFunctionSpec

    def to_dict(self) -> dict[str, Any]:
        """The same as providers take it for `response_format`."""
        function = self.function
        schema = {"name": function.name, "description": function.description, "schema": function.parameters}
        strict = {} if self.strict is None else {"strict": self.strict}
        return {"type": "json_schema", "json_schema": schema | strict}


class LLMTokenUsage(OlderNames):
    """A count of what models cost; unlike `Usage`, one that changes.

    Args:
        prompt_tokens: tokens read.
        cached_tokens: those of them that the provider had kept.
        completion_tokens: tokens written.
        cost: US dollars.
        calls: the number of requests.

    Example:
        >>> print(LLMTokenUsage(prompt_tokens=10, completion_tokens=2, calls=1))
        Tokens = (prompt 10, cached 0, completion 2), Cost=0.0, Calls=1
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    calls: int = 0

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    def reset(self) -> None:
        """Count from zero again."""
        self.__init__()

    @staticmethod
    def from_usage(usage: Usage, calls: int = 1) -> LLMTokenUsage:
        """Return the count of a message's `usage`."""
        tokens = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
        return LLMTokenUsage(**tokens, cached_tokens=usage.cached_tokens, cost=usage.usd, calls=calls)

    def to_usage(self) -> Usage:
        """The count as a message holds it."""
        return Usage(self.prompt_tokens, self.completion_tokens, self.cost, self.cached_tokens)

    def __str__(self) -> str:
        tokens = f"(prompt {self.prompt_tokens}, cached {self.cached_tokens}, completion {self.completion_tokens})"
        return f"Tokens = {tokens}, Cost={self.cost}, Calls={self.calls}"


class LLMMessage(OlderNames):
    """An entry of the history that is sent to a model.

    Args:
        role: its author.
        name: of the speaker; of the function, where it is a function's result.
        tool_call_id: the call that it answers.
        tool_id: an id of the caller's own, which is not sent.
        content: the text; None is none at all, as beside a call.
        files: the files that go with it.
        function_call: the call that the model wished, by the older interface.
        tool_calls: the calls that the model wished.
        timestamp: when it was made, in UTC.
        chat_document_id: the id of the message that it was made from.
        sources: what that message may repeat; they are not sent.

    Example:
        >>> LLMMessage(role=Role.USER, content="hi", name="Ada").api_dict("gpt-4o")
        {'role': 'user', 'content': 'hi', 'name': 'Ada'}
    """

    role: Role
    name: str | None = None
    tool_call_id: str | None = None
    tool_id: str = ""
    content: str | None = None
    files: list[FileAttachment] = Field(default_factory=list[FileAttachment])
    function_call: LLMFunctionCall | None = None
    tool_calls: list[OpenAIToolCall] | None = None
    timestamp: datetime = Field(default_factory=lambda: datetime.now(UTC))
    chat_document_id: str = ""
    sources: Sources = Field(default=NOTHING, exclude_if=lambda sources: not sources)

    def api_dict(self, model: str = "", has_system_role: bool = True) -> dict[str, Any]:
        """The message as chat interfaces take it, with nothing else in it.

        Args:
            model: who will read it; files are sent as it wants them.
            has_system_role: whether it knows that role; if not, a system message is sent as a user's.
        """
        role, content = self.role.value, cast("Any", self.content)
        if self.role is Role.SYSTEM and not has_system_role:
            role, content = "user", f"Follow these instructions:\n\n{content}" if content else content
        function, calls = _wire_function(self.function_call), [_wire_call(call) for call in self.tool_calls or ()]
        if self.files and self.role is Role.USER:
            content = [{"type": "text", "text": content or ""}, *(each.to_dict(model) for each in self.files)]
        if not content:  # some take no empty message, and others no text beside a call
            content = None if calls or function else " "
        given = {"role": role, "content": content, "name": self.name or None, "tool_call_id": self.tool_call_id}
        return _without_none(given | {"function_call": function, "tool_calls": calls or None})

    def __str__(self) -> str:
        name = f" ({self.name})" if self.name else ""
        said = str(self.function_call) if self.function_call is not None else self.content or _join(self.tool_calls)
        return f"{self.role.value}{name}: {said}"


class LLMMessages(list[LLMMessage]):
    """Messages to a model; a list of one answers as its message, too.

    Example:
        >>> LLMMessages([LLMMessage(role=Role.USER, content="hi")]).content
        'hi'
    """

    def __getattr__(self, name: str) -> Any:
        if len(self) != 1 or name.startswith("__"):
            raise AttributeError(f"a list of {len(self)} messages has no '{name}': take one of them")
        return getattr(self[0], name)

    def __str__(self) -> str:
        return "\n".join(map(str, self))


class LLMResponse(OlderNames):
    """A model's answer.

    Args:
        message: its text; None is none at all, as beside a call.
        reasoning: what the model thought before.
        message_with_reasoning: the text with the thoughts in it, where they came so.
        tool_id: an id of the caller's own.
        oai_tool_calls: the calls that the model wishes.
        function_call: the call that the model wishes, by the older interface.
        usage: what it cost.
        cached: it came from a cache.

    Example:
        >>> LLMResponse(message="TO[Bob]: How old are you?").get_recipient_and_message()
        ('Bob', 'How old are you?')
    """

    message: str | None = None
    reasoning: str = ""
    message_with_reasoning: str | None = None
    tool_id: str = ""
    oai_tool_calls: list[OpenAIToolCall] | None = None
    function_call: LLMFunctionCall | None = None
    usage: LLMTokenUsage | None = None
    cached: bool = False

    def __str__(self) -> str:
        return self.tools_content() or self.message or ""

    def tools_content(self) -> str:
        """The calls as text; "" where there are none."""
        return _join(self.oai_tool_calls) if self.function_call is None else str(self.function_call)

    def to_LLMMessage(self) -> LLMMessage:
        """The answer as an entry of the history."""
        name = None if self.function_call is None else self.function_call.name
        called: Any = {"function_call": self.function_call, "tool_calls": self.oai_tool_calls}
        return LLMMessage(role=Role.ASSISTANT, content=self.message, name=name, **called)

    def get_recipient_and_message(self, recognize_recipient_in_content: bool = True) -> tuple[str, str]:
        """Return the recipient ("": nobody in particular), and the text without the address.

        A call says it by its argument `recipient`, and has no text then. Else the text may begin with `TO[name]:`, or
        hold a JSON object with a `recipient`, which stays in it.

        Args:
            recognize_recipient_in_content: whether the text counts.
        """
        if self.function_call is not None:
            return named_recipient(self.function_call.arguments), ""
        for call in self.oai_tool_calls or ():
            if found := named_recipient(call.function and call.function.arguments):
                return found, ""
        text = self.message or ""
        return recipient_in(text) if recognize_recipient_in_content else ("", text)


def _arguments(given: Any) -> dict[str, Any] | None:
    """Arguments of a call, of their text: JSON, or what a model took for it."""
    if given is None or isinstance(given, Mapping):
        return None if given is None else dict(cast("Mapping[str, Any]", given))
    with contextlib.suppress(ValueError):
        value = read_json(str(given).strip() or "{}")
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    raise AnswerFormatError("the arguments of a call are a JSON object, and these are not; see .raw", str(given))


def _as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, default=str)


def _join(calls: Sequence[OpenAIToolCall] | None) -> str:
    return "\n".join(map(str, calls or ()))


def _wire_function(function: LLMFunctionCall | None) -> dict[str, str] | None:
    return function and {"name": function.name, "arguments": _as_json(function.arguments or {})}


def _wire_call(call: OpenAIToolCall) -> dict[str, Any]:
    return _without_none({**dict(call), "function": _wire_function(call.function)})


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
