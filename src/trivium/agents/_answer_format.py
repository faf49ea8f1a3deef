"""The type of an answer: its schema for the model, and the way back from the model's text to a value."""

from __future__ import annotations

import json
import re
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

import trivium.actions.lowlevel as actions
from trivium.actions import ToolMessage
from trivium.commander import RetriedEvent, current
from trivium.commander.lowlevel import emit
from trivium.exceptions import AnswerFormatError, AnswerTypeError
from trivium.llms import Reply
from trivium.schema import Message, ToolCall
from trivium.schema.lowlevel import unfence

if TYPE_CHECKING:
    from trivium.agents._agent import Agent
    from trivium.agents._names import AgentNames

_OPEN_NUMBER = re.compile(r"(?:\A|(?<=[:,\[\s]))-?\d[\d.eE+-]*\Z")
"""A number at the end of a text, which may go on."""


class AnswerFormat:
    """A type that answers must have.

    Providers that hold a model to a schema want an object, so any other type is the `value` of one.

    Args:
        kind: a pydantic model, a tool message, or any type that pydantic can describe.
        include_defaults: describe fields that have defaults.

    Raises:
        AnswerTypeError: pydantic cannot describe the type, or no JSON could be its value.

    Example:
        >>> AnswerFormat(list[int]).parse_response('{"value": [1, 2]}')
        [1, 2]
    """

    __slots__ = ("_adapter", "include_defaults", "is_wrapped", "kind", "schema")

    def __init__(self, kind: Any, include_defaults: bool = True) -> None:
        if isinstance(kind, str) or kind is BaseModel or not getattr(kind, "__members__", True):
            raise AnswerTypeError(f"give the type of an answer itself, with fields or members, not {kind!r}", str(kind))
        self.kind, self.include_defaults = kind, include_defaults
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(actions.with_lists(kind))
            if is_class(kind, ToolMessage):
                schema = dict(kind.llm_function_schema(request=True, defaults=include_defaults).parameters)
            else:
                schema = actions.remove_titles(self._adapter.json_schema())
        except Exception as error:
            name, why = name_of_type(kind), str(error).partition(" Set `arbitrary_types")[0]
            raise AnswerTypeError(f"{name} cannot be the type of an answer: {why}", name) from None
        self.schema, self.is_wrapped = actions.enclosed_schema(schema)

    def parse_response(self, text: str) -> Any:
        """Return the value that an answer states.

        Raises:
            AnswerFormatError: it states none; the text says what is wrong, so that a model can correct it.
        """
        try:
            found = actions.read_exact_json(unfence(text))
            if self.is_wrapped and isinstance(found, dict) and list(cast("dict[str, Any]", found)) == ["value"]:
                found = cast("dict[str, Any]", found)["value"]
            if "true" in text or "false" in text:
                actions.refuse_booleans(self._adapter.validate_json, json.dumps(found))
            if is_class(self.kind, ToolMessage):
                return self.kind.parse(cast("Mapping[str, Any]", found))
            return self._adapter.validate_python(found)
        except ValidationError as error:
            raise AnswerFormatError(actions.describe_errors("the answer does not fit", error), text) from error
        except (ValueError, TypeError, RecursionError) as error:
            raise AnswerFormatError(f"the answer is not the JSON that was asked for: {error}", text) from error

    def with_value(self, answer: Message, text: str) -> Message:
        """Set the value that an answer's text states as its output; see `parse_response`."""
        extras = cast("dict[str, Any]", answer.__pydantic_extra__)
        extras["output"] = value = self.parse_response(text)
        if not isinstance(value, ToolMessage):
            extras["attachments"] = (value,)
        return answer

    def __reduce__(self) -> tuple[Any, ...]:
        return AnswerFormat, (self.kind, self.include_defaults)

    def format_instruction(self) -> str:
        """Return the paragraph of the system message that describes the format."""
        return f"Answer with one JSON object of this schema, and nothing else:\n{json.dumps(self.schema)}"

    def partial_value(self, text: str) -> Any:
        """Return the value that the beginning of an answer states so far; None where it states none yet.

        It is always a whole value of the type: what is still being written and does not fit yet, such as the last of
        several objects, is left out.

        Example:
            >>> AnswerFormat(list[str]).partial_value('{"value": ["one", "tw')
            ['one', 'tw']
        """
        import jiter  # for those who watch an answer grow

        try:
            begun = _OPEN_NUMBER.sub("", text).encode("utf-8", "replace")
            found: Any = jiter.from_json(begun, partial_mode="trailing-strings", catch_duplicate_keys=True)
            if self.is_wrapped and isinstance(found, dict):
                found = cast("dict[str, Any]", found)["value"]
        except (ValueError, KeyError):
            return None
        open_ones: list[Any] = [found]
        while isinstance(last := open_ones[-1], dict | list) and last:
            held = cast("list[Any]", last if isinstance(last, list) else [*cast("dict[str, Any]", last).values()])
            open_ones.append(held[-1])
        for last in reversed([None, *open_ones]):
            try:
                return self._adapter.validate_python(found)
            except (ValueError, TypeError):
                if isinstance(last, dict | list) and last:
                    last.pop() if isinstance(last, list) else cast("dict[str, Any]", last).popitem()
        return None


_cached_format = lru_cache(maxsize=256)(AnswerFormat)


def answer_format(kind: Any, include_defaults: bool = True) -> AnswerFormat | None:
    """Return the format of a type; None for `str` and `Any`, which need none. It is made once for each type."""
    if kind is str or kind is Any:
        return None
    try:
        return _cached_format(kind, include_defaults)
    except TypeError:  # a type that cannot be hashed
        return AnswerFormat(kind, include_defaults)


def repair(agent: Agent, reply: Reply, error: AnswerFormatError, faults: int) -> Iterator[dict[str, Any]]:
    """Yield the chat messages that ask a model again, with what is wrong with its answer.

    Args:
        agent: the model's agent; the errors of a parser of its own are not repaired.
        reply: the answer.
        error: what is wrong with it.
        faults: how many responses before it were wrong too.

    Raises:
        AnswerFormatError: it was asked again as often as it may be, or has refused.
    """
    if (form := agent.answer_format) is None:
        raise error
    schema, is_refused = json.dumps(form.schema), reply.finish_reason == "content_filter"
    if is_refused or faults >= agent.repairs or not agent.options.strict_recovery:
        cure = "Use a stronger model, a simpler type, or Agent(repairs=…)"
        fault = f"{reply.why}. It begins with {reply.text!r:.200}" if reply.why else f"{error}. {cure}"
        text = f"the model was to answer with {name_of_type(form.kind)}, and did not: {fault}"
        raise AnswerFormatError(f"{text}. The schema of the answer is {schema}", reply.text) from error
    if (node := current.get()) is not None:
        emit(node, RetriedEvent, error)
    yield {"role": "assistant", "content": reply.text}
    yield {"role": "user", "content": f"{error}. Answer again, with JSON of this schema: {schema}"}


def repairs_exceeded(result: Message, calls: Sequence[ToolCall]) -> AnswerFormatError:
    """Return the error of a model whose calls did not fit more often than they may be repaired."""
    return AnswerFormatError(
        f"the model's calls still do not fit their tools after its repairs; the last result was {result.content!r}. "
        "Use a stronger model, simpler tools, or Agent(repairs=…)",
        "\n".join(f"{call.name} {call.arguments}" for call in calls),
    )


async def with_output(form: AnswerFormat, agent: AgentNames, turn: Coroutine[Any, Any, Message]) -> Message:
    """Return the answer of a typed agent's call; its `output` is of the type, or raises an error that says why not."""
    answer = await turn
    extra = cast("dict[str, Any]", answer.__pydantic_extra__)
    if "output" in extra and "forward" not in agent.overridden:
        return answer
    calls = ", ".join(call.name for call in answer.tool_calls)
    why = f"it calls {calls}, which is left to a task: run the agent in one" if calls else "it states none"
    text = f"the answer of {agent.name} has no value of the type {name_of_type(form.kind)}: {why}"
    is_of_tools = any(is_class(each, ToolMessage) for each in (form.kind, *get_args(form.kind)))
    values = values_in(answer, form.kind, agent if is_of_tools else None)  # what a call states is no answer yet
    extra["output"] = next(values, AnswerFormatError(text, str(answer.content)))
    return answer


def values_in(message: Message, kind: Any, agent: AgentNames | None = None) -> Iterator[Any]:
    """Yield the values of a type in a message, the best first.

    In this order: the value that travels with it, its text, a tool message of that type (or all, for a list), the
    field of that type in a tool message, and the value that its text states as JSON.

    Args:
        message: the message.
        kind: the type.
        agent: knows the tool messages that the text may hold.
    """
    content, extra = message.content, cast("dict[str, Any]", message.__pydantic_extra__)
    if kind is str and content:
        yield content
    if "output" in extra:
        yield from _validate(extra["output"], kind)
    for value in (message.content_any, content):
        if value is not None:
            yield from _validate(value, kind)
    tools = [*message.tool_messages, *(agent.try_get_tool_messages(message, True) if agent is not None else ())]
    inner = get_args(kind)[0] if get_origin(kind) is list else None
    if inner is not None and is_class(inner, ToolMessage):
        if many := [tool for tool in tools if isinstance(tool, inner)]:
            yield many
        return
    if is_class(kind, ToolMessage):
        yield from (tool for tool in tools if isinstance(tool, kind))
    for tool in tools:
        if (found := tool.get_value_of_type(kind)) is not None:
            yield found
    if isinstance(content, str) and (form := answer_format(kind)) is not None:
        try:
            yield form.parse_response(content)
        except AnswerFormatError:
            yield from _validate(content.strip(), kind, strict=False)  # "42" for a number


def _validate(value: object, kind: Any, strict: bool | None = None) -> Iterator[Any]:
    strict = not isinstance(value, dict | BaseModel) if strict is None else strict
    with suppress(Exception):
        yield TypeAdapter(kind).validate_python(value, strict=strict)


def name_of_type(kind: object) -> str:
    """Return the name of a type as users write it: `City`, `list[int]`."""
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)


def is_class(kind: object, base: type) -> bool:
    """Return whether a type is a class below another one; type hints such as `list[int]` are none."""
    return isinstance(kind, type) and issubclass(kind, base)
