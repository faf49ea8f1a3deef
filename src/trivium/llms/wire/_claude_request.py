"""Requests of Anthropic's Messages interface, made from ours. No I/O."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from trivium.llms._protocol import ChatMessage, Parameters, Request
from trivium.llms.wire._closed_schema import closed_schema
from trivium.llms.wire._fields import Body, CallNames, Data, arguments_of, called_tool, data_of, own_state
from trivium.schema import ToolSpec

__all__ = ["FORM", "ClaudeAbilities", "claude_body", "claude_names"]

FORM: Final = "anthropic"
_VERSION: Final = re.compile(r"claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_OLDER: Final = re.compile(r"claude-(\d|instant)")
_SAMPLING: Final = frozenset({"temperature", "top_p", "top_k"})
_NOT_THERE: Final = frozenset(
    {"frequency_penalty", "logprobs", "n", "presence_penalty", "repetition_penalty", "seed", "top_logprobs"}
)
"""Common names for which the interface has nothing; it refuses a request that has them."""


class ClaudeAbilities(NamedTuple):
    """What a family of models can do.

    Args:
        has_schemas: an answer can be held to a schema by the interface; else a tool takes the answer.
        is_strict: a tool can be held to its schema.
        samples: it takes temperature, top_p and top_k.
        can_be_forced: it can be made to call a tool.
        max_tokens: the longest answer where none is asked for, in tokens.
    """

    has_schemas: bool
    is_strict: bool
    samples: bool
    can_be_forced: bool
    max_tokens: int

    @classmethod
    def of(cls, model: str) -> ClaudeAbilities:
        """The abilities of the model of this name; of one that is not known, those that every server has."""
        name = model.lower()
        if _OLDER.search(name):
            return cls(has_schemas=False, is_strict=False, samples=True, can_be_forced=True, max_tokens=4096)
        if found := _VERSION.search(name):
            version = int(found[2]), int(found[3] or 0)
            new = version >= (4, 5)
            can_be_forced = version <= (5, 0) or found[1] == "haiku"
            return cls(new, new, version < (4, 7), can_be_forced, max_tokens=32_000 if new else 8192)
        return cls(has_schemas=False, is_strict=True, samples=True, can_be_forced=True, max_tokens=8192)


def claude_names(model: str, request: Request) -> CallNames:
    """How tools and calls are called on the way to a model."""
    schema = request.output_schema
    wanted = schema is not None and (not request.tools or request.tool_choice in ("auto", "none"))
    return CallNames.of(request, wanted and _held(ClaudeAbilities.of(model), schema) is None)


def _held(abilities: ClaudeAbilities, schema: ChatMessage | None) -> Body | None:
    """The schema to which the interface itself holds the answer, or None where it cannot."""
    return closed_schema(schema) if schema is not None and abilities.has_schemas else None


def claude_body(model: str, request: Request, parameters: Parameters, names: CallNames) -> Body:
    """What is posted for a request.

    Args:
        model: its name at the server.
        request: the question.
        parameters: all sampling parameters, by their common names; others by the interface's.
        names: how tools and calls are called on the way.
    """
    abilities = ClaudeAbilities.of(model)
    left_out = _NOT_THERE if abilities.samples else _NOT_THERE | _SAMPLING
    body = {name: value for name, value in parameters.items() if name not in left_out}
    _rename(body, None if names.answer else _held(abilities, request.output_schema))
    thinking: ChatMessage = body.get("thinking") or {}
    body.setdefault("max_tokens", abilities.max_tokens + int(thinking.get("budget_tokens") or 0))
    is_alone = body.pop("parallel_tool_calls", None) is False
    thinks = thinking.get("type", "disabled") != "disabled"
    system, messages = _split_off_system(request, model if thinking.get("type") != "disabled" else "", names)
    body |= {"model": model, "messages": messages, "stream": True}
    if system:
        body["system"] = system
    if tools := _tools(request, abilities, names):
        choice = _choice(request, names, abilities.can_be_forced, thinks)
        if is_alone and choice["type"] != "none":
            choice["disable_parallel_tool_use"] = True
        body |= {"tools": tools, "tool_choice": choice}
    return body


def _rename(body: Body, schema: ChatMessage | None) -> None:
    """Put what has a name of its own at the interface under that name."""
    stop = body.pop("stop", None)
    if words := [word for word in ([stop] if isinstance(stop, str) else stop or ()) if word.strip()]:
        body["stop_sequences"] = words
    output = dict(body.pop("output_config", None) or {})
    if (effort := body.pop("reasoning_effort", None)) is not None:
        output.setdefault("effort", effort)
    if schema is not None:
        output["format"] = {"type": "json_schema", "schema": schema}
    if output:
        body["output_config"] = output


def _tools(request: Request, abilities: ClaudeAbilities, names: CallNames) -> list[Body]:
    tools = [_tool(tool, abilities.is_strict, names) for tool in request.tools]
    if names.answer:
        described = "Give the answer. It is the last thing to do, when no other tool is needed."
        tools.append(_tool(ToolSpec(names.answer, described, dict(request.output_schema or {})), False, names))
    return tools


def _tool(tool: ToolSpec, can_be_strict: bool, names: CallNames) -> Body:
    found: Body = {"name": names.tools.get(tool.name, tool.name), "description": tool.description}
    schema = {"type": "object", **tool.parameters}
    if tool.strict and can_be_strict and (closed := closed_schema(schema)) is not None:
        return {**found, "input_schema": closed, "strict": True}
    return {**found, "input_schema": schema}


def _choice(request: Request, names: CallNames, can_be_forced: bool, thinks: bool) -> Body:
    choice = request.tool_choice
    if names.answer:
        if not can_be_forced or thinks:  # it cannot be forced while it thinks
            return {"type": "auto"}
        is_only = choice == "none" or not request.tools
        return {"type": "tool", "name": names.answer} if is_only else {"type": "any"}
    if choice == "none":
        return {"type": "none"}
    if choice == "auto" or not can_be_forced:
        return {"type": "auto"}
    if choice == "required":
        return {"type": "any"}
    return {"type": "tool", "name": names.tools.get(choice, choice)}


def _split_off_system(request: Request, thinker: str, names: CallNames) -> tuple[str | list[Body], list[Body]]:
    """The system's texts, and the other messages with what follows in one role joined.

    Args:
        request: the question.
        thinker: whose thoughts are sent back; "" for nobody's.
        names: how tools and calls are called on the way.
    """
    system, found = list[Body](), list[Body]()
    for message in request.messages:
        role = message.get("role")
        if role in ("system", "developer"):
            system += [block for block in _content(message.get("content")) if "text" in block]
            continue
        role = "assistant" if role == "assistant" else "user"
        blocks = _blocks(message, thinker, names)
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        elif blocks:
            found.append({"role": role, "content": blocks})
    for each in found:
        if each["role"] == "user":
            each["content"].sort(key=_comes_later)
    if any(len(block) > 2 for block in system):  # marked for the cache
        return system, found
    return "\n\n".join(block["text"] for block in system), found


def _comes_later(block: Body) -> bool:
    """Results of calls stand in front of what a user said after the calls."""
    return block.get("type") != "tool_result"


def _blocks(message: ChatMessage, thinker: str, names: CallNames) -> list[Body]:
    content = _content(message.get("content"))
    if (call_id := message.get("tool_call_id")) is not None:
        call_id = str(call_id)
        return [{"type": "tool_result", "tool_use_id": names.ids.get(call_id, call_id), "content": content}]
    thoughts = own_state(message, FORM, thinker) if thinker else []
    return [*thoughts, *content, *(_use(call, names) for call in message.get("tool_calls") or ())]


def _use(call: ChatMessage, names: CallNames) -> Body:
    name, call_id = called_tool(call), str(call.get("id"))
    sent = {"id": names.ids.get(call_id, call_id), "name": names.tools.get(name, name)}
    return {"type": "tool_use", **sent, "input": arguments_of(call)}


def _content(content: Any) -> list[Body]:
    """Content blocks; a text of nothing but blanks is none, for the interface refuses it."""
    if not isinstance(content, list):
        content = [{"type": "text", "text": "" if content is None else str(content)}]
    parts = (_part(part) for part in cast("Sequence[Any]", content))
    return [part for part in parts if part.get("type") != "text" or str(part.get("text") or "").strip()]


def _part(part: Any) -> Body:
    if not isinstance(part, Mapping):
        return {"type": "text", "text": str(part)}
    given = cast("ChatMessage", part)
    data = data_of(given)
    if data is None:
        return dict(given)
    if given.get("type") == "image_url" or data.kind.startswith("image/"):
        return {"type": "image", "source": _source(data)}
    return {"type": "document", "source": _source(data), **({"title": data.name} if data.name else {})}


def _source(data: Data) -> Body:
    if data.file_id:
        return {"type": "file", "file_id": data.file_id}
    if not data.data:
        return {"type": "url", "url": data.url}
    if not data.kind.startswith("image/") and data.kind != "application/pdf":
        try:  # the interface reads any text, by the one name of plain text
            text = base64.b64decode(data.data).decode()
        except ValueError:
            pass
        else:
            return {"type": "text", "media_type": "text/plain", "data": text}
    return {"type": "base64", "media_type": data.kind, "data": data.data}
