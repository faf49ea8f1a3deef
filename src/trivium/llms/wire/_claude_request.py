"""Request bodies of Anthropic's Messages interface. No I/O."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from trivium.llms._parameters import COMMON_PARAMETERS
from trivium.llms._protocol import ChatMessage, Parameters, Request
from trivium.llms.wire._closed_schema import CLAUDE_FORMATS, closed_schema
from trivium.llms.wire._fields import (
    Body,
    CallNames,
    Data,
    add_tools,
    arguments_of,
    called_tool,
    data_of,
    leave_out,
    object_of,
    own_state,
)
from trivium.llms.wire._tool_names import legal_names
from trivium.llms.wire._written import GOES_ON, SYSTEM, Beginning, begin_with_user
from trivium.schema import ToolSpec

FORM: Final = "anthropic"
THOUGHTS: Final = ("thinking", "redacted_thinking")
"""Kinds of blocks that are not sent back while the model does not think."""
_VERSION: Final = re.compile(r"claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_OLDER: Final = re.compile(r"claude-(\d|instant)")
_SAMPLING: Final = frozenset({"temperature", "top_p", "top_k"})
_NOT_THERE: Final = COMMON_PARAMETERS - {
    "max_tokens", "metadata", "parallel_tool_calls", "reasoning_effort", "service_tier", "stop", "thinking",
    "tool_choice", "user", *_SAMPLING,
}  # fmt: skip
"""Common parameters that the interface does not have; it refuses a request that has them."""


class ClaudeAbilities(NamedTuple):
    """The abilities of a family of models.

    Args:
        has_schemas: the interface enforces a schema for the answer; otherwise a tool takes the answer.
        is_strict: the interface enforces the schema of a tool.
        samples: the model accepts temperature, top_p and top_k.
        can_be_forced: the model can be forced to call a tool.
        max_tokens: default for the longest answer, in tokens.
        has_effort: the model accepts `effort`.
        samples_both: the model accepts temperature and top_p together.
    """

    has_schemas: bool
    is_strict: bool
    samples: bool
    can_be_forced: bool
    max_tokens: int
    has_effort: bool = True
    samples_both: bool = True

    @classmethod
    def of(cls, model: str) -> ClaudeAbilities:
        """Return the abilities of a model by its name; for an unknown model, those that every server has."""
        name = model.lower()
        if _OLDER.search(name):
            return cls(False, False, samples=True, can_be_forced=True, max_tokens=4096, has_effort=False)
        if found := _VERSION.search(name):
            version = int(found[2]), int(found[3] or 0)
            new = version >= (4, 5)
            can_be_forced = version <= (5, 0) or found[1] == "haiku"
            has_effort = version >= ((4, 5) if found[1] == "opus" else (4, 6))
            longest = 32_000 if new else 8192
            return cls(new, new, version < (4, 7), can_be_forced, longest, has_effort, version < (4, 1))
        return cls(has_schemas=False, is_strict=True, samples=True, can_be_forced=True, max_tokens=8192)


def claude_beginning(model: str, request: Request, parameters: Parameters) -> Beginning:
    """Return what was written of messages before, with the reasoning that the model wants back."""
    return Beginning.behind_system(request.messages, (FORM, model, _keeps_thoughts(parameters)), is_joined=True)


def _keeps_thoughts(parameters: Parameters) -> bool:
    """Tell whether the model's reasoning is sent back."""
    return object_of(parameters, "thinking").get("type") != "disabled"


def claude_names(model: str, request: Request, before: Beginning | None = None) -> CallNames:
    """Return the names of tools and calls for a model; `before`: the messages that were written before."""
    known = before or Beginning(FORM)
    schema = request.output_schema
    wanted = schema is not None and (not request.tools or request.tool_choice in ("auto", "none"))
    is_answer_a_call = wanted and _enforced_schema(ClaudeAbilities.of(model), schema) is None
    names = CallNames.of(request, is_answer_a_call, known.called, known.end)
    return names._replace(ids=legal_names(sorted(names.taken)))


def _enforced_schema(abilities: ClaudeAbilities, schema: ChatMessage | None) -> Body | None:
    """Return the schema that the interface itself enforces, or None if it cannot."""
    return closed_schema(schema, CLAUDE_FORMATS) if schema is not None and abilities.has_schemas else None


def claude_body(
    model: str, request: Request, parameters: Parameters, names: CallNames, before: Beginning | None = None
) -> Body:
    """Make the body of a request.

    Args:
        model: name of the model at the server.
        request: the request.
        parameters: all sampling parameters, by their common names; others by the interface's.
        names: the names of tools and calls at the server.
        before: the messages that were written before, see `claude_beginning`.
    """
    abilities = ClaudeAbilities.of(model)
    left_out = _NOT_THERE if abilities.samples else _NOT_THERE | _SAMPLING
    body = {name: value for name, value in parameters.items() if name not in left_out}
    _translate(body, abilities, model)
    _rename(body, None if names.answer else _enforced_schema(abilities, request.output_schema))
    thinking = object_of(body, "thinking")
    body.setdefault("max_tokens", abilities.max_tokens + int(thinking.get("budget_tokens") or 0))
    is_alone = body.pop("parallel_tool_calls", None) is False
    thinks = thinking.get("type", "disabled") != "disabled"
    keeps_thoughts, unpaired = _keeps_thoughts(parameters), _unpaired(request.messages, model)

    def write(messages: Sequence[ChatMessage]) -> list[Body]:
        return _joined(messages, model, keeps_thoughts, names, unpaired)

    before = before or claude_beginning(model, request, parameters)
    messages = before.write("messages", request.messages, (names.tools, names.ids, unpaired), write)
    begin_with_user(messages, {"role": "user", "content": [{"type": "text", "text": GOES_ON}]})
    body |= {"model": model, "messages": messages, "stream": True}
    if system := _system([*request.messages[: before.start], *request.messages[before.end :]]):
        body["system"] = system
    tools = [_tool(tool, abilities.is_strict, names) for tool in request.tools]
    if names.answer:
        described = "Give the answer. It is the last thing to do, when no other tool is needed."
        tools.append(_tool(ToolSpec(names.answer, described, dict(request.output_schema or {})), False, names))
    add_tools(body, tools)
    if tools:
        choice = _choice(request, names, abilities.can_be_forced, thinks, len(body["tools"]) > bool(names.answer))
        if is_alone and choice["type"] != "none":
            choice["disable_parallel_tool_use"] = True
        body["tool_choice"] = choice
    return body


def _translate(body: Body, abilities: ClaudeAbilities, model: str) -> None:
    """Translate values of other interfaces; what has no counterpart is left out."""
    effort, tier = body.get("reasoning_effort"), body.get("service_tier")
    if effort == "none":  # it thinks only if `thinking` says so
        del body["reasoning_effort"]
    elif not abilities.has_effort:
        leave_out(body, "reasoning_effort", model)
    elif effort == "minimal":
        body["reasoning_effort"] = "low"
    if tier == "default":
        body["service_tier"] = "standard_only"
    elif tier not in ("auto", "standard_only"):
        leave_out(body, "service_tier", model)
    if "temperature" in body and not abilities.samples_both:
        leave_out(body, "top_p", model)


def _rename(body: Body, schema: ChatMessage | None) -> None:
    """Rename common parameters to the interface's names."""
    stop = body.pop("stop", None)
    if words := [word for word in ([stop] if isinstance(stop, str) else stop or ()) if word.strip()]:
        body["stop_sequences"] = words
    metadata, output = object_of(body, "metadata"), object_of(body, "output_config")
    body.pop("metadata", None)
    body.pop("output_config", None)
    if (user := metadata.get("user_id", body.pop("user", None))) is not None:
        body["metadata"] = {"user_id": user}  # it takes no other
    if (effort := body.pop("reasoning_effort", None)) is not None:
        output.setdefault("effort", effort)
    if schema is not None:
        output["format"] = {"type": "json_schema", "schema": schema}
    if output:
        body["output_config"] = output


def _tool(tool: ToolSpec, can_be_strict: bool, names: CallNames) -> Body:
    found: Body = {"name": names.tools.get(tool.name, tool.name), "description": tool.description}
    schema = {"type": "object", **tool.parameters}
    if tool.strict and can_be_strict and (closed := closed_schema(schema, CLAUDE_FORMATS)) is not None:
        return {**found, "input_schema": closed, "strict": True}
    return {**found, "input_schema": schema}


def _choice(request: Request, names: CallNames, can_be_forced: bool, thinks: bool, has_others: bool) -> Body:
    choice = request.tool_choice
    if names.answer:
        if not can_be_forced or thinks:  # it cannot be forced while it thinks
            return {"type": "auto"}
        return {"type": "any"} if has_others and choice != "none" else {"type": "tool", "name": names.answer}
    if choice == "none":
        return {"type": "none"}
    if choice == "auto" or not can_be_forced:
        return {"type": "auto"}
    if choice == "required":
        return {"type": "any"}
    return {"type": "tool", "name": names.tools.get(choice, choice)}


def _system(messages: Sequence[ChatMessage]) -> str | list[Body]:
    """Return the system's texts; with all they have if one is marked for the cache."""
    said = [each for each in messages if each.get("role") in SYSTEM]
    blocks = [block for each in said for block in _content(each.get("content")) if "text" in block]
    is_marked = any(len(block) > 2 for block in blocks)
    return blocks if is_marked else "\n\n".join(block["text"] for block in blocks)


def _unpaired(messages: Sequence[ChatMessage], model: str) -> frozenset[str]:
    """Return the ids of uses of the server's tools that have no result, and of results that have no use before them:
    the interface refuses either, as where an answer was cut off or a memory is limited.

    Where the answer paused or calls other tools, the use at the end waits for its result.
    """
    used, waiting, lost = set[str](), set[str](), set[str]()
    for message in messages:
        before, waiting = waiting, set(waiting)
        for item in own_state(message, FORM, model) if "reasoning_state" in message else ():
            if (use := item.get("tool_use_id")) is not None:
                waiting.discard(use)
                lost |= {use} - used
            elif item.get("type") != "tool_use" and (use := item.get("id")) is not None:
                used.add(use)
                waiting.add(use)
        if message.get("tool_call_id") is None and message.get("role") not in SYSTEM:  # an answer, or the user's words
            lost |= before & waiting
    return frozenset(lost)


def _joined(
    messages: Sequence[ChatMessage], model: str, keeps_thoughts: bool, names: CallNames, unpaired: frozenset[str]
) -> list[Body]:
    """Return the other messages, with consecutive messages of one role joined.

    Args:
        messages: the messages of the request, or some that are never joined with others.
        model: the model, to which its own state is sent back.
        keeps_thoughts: its reasoning is sent back too.
        names: the names of tools and calls at the server.
        unpaired: the ids of uses and results of the server's tools that are left out.
    """
    found = list[Body]()
    for message in messages:
        role = message.get("role")
        if role in SYSTEM:
            continue
        role = "assistant" if role == "assistant" else "user"
        blocks = [*_blocks(message, model, keeps_thoughts, names)]
        blocks = [each for each in blocks if each.get("tool_use_id", each.get("id")) not in unpaired]
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        elif blocks:
            found.append({"role": role, "content": blocks})
    for each in found:
        if each["role"] == "user":
            blocks: list[Body] = each["content"]  # results of calls stand before the words of the user
            each["content"] = sorted(blocks, key=lambda block: block.get("type") != "tool_result")
    return found


def _blocks(message: ChatMessage, model: str, keeps_thoughts: bool, names: CallNames) -> Iterator[Body]:
    """Yield the blocks of a message: those of its state in their order, then the rest of its text and its calls."""
    content = message.get("content")
    if (call_id := message.get("tool_call_id")) is not None:
        call_id = str(call_id)
        yield {"type": "tool_result", "tool_use_id": names.ids.get(call_id, call_id), "content": _content(content)}
        return
    state, calls = own_state(message, FORM, model), list(message.get("tool_calls") or ())
    said = "".join(item["text"] for item in state if item.get("type") == "text")
    is_same = isinstance(content, str) and content.startswith(said)
    for item in state:
        kind = item.get("type")
        if kind == "text":
            if is_same and item["text"].strip():  # otherwise it was changed since
                yield item
        elif kind == "tool_use":
            yield from (_use(call, names) for call in calls if call.get("id") == item["id"])
            calls = [call for call in calls if call.get("id") != item["id"]]
        elif keeps_thoughts or kind not in THOUGHTS:
            yield item
    yield from _content(content[len(said) :] if isinstance(content, str) and is_same else content)
    yield from (_use(call, names) for call in calls)


def _use(call: ChatMessage, names: CallNames) -> Body:
    name, call_id = called_tool(call), str(call.get("id"))
    sent = {"id": names.ids.get(call_id, call_id), "name": names.tools.get(name, name)}
    return {"type": "tool_use", **sent, "input": arguments_of(call)}


def _content(content: object) -> list[Body]:
    """Return content blocks, without blank texts, which the interface refuses."""
    if not isinstance(content, list):
        content = [{"type": "text", "text": "" if content is None else str(content)}]
    parts = (_part(part) for part in cast("Sequence[Any]", content))
    return [part for part in parts if part.get("type") != "text" or str(part.get("text") or "").strip()]


def _part(part: object) -> Body:
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
