"""Anthropic's Messages interface: requests from ours, deltas from its events. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self, cast

from trivium.exceptions import MalformedAnswerError, ProviderStatusError
from trivium.llms._protocol import Delta, Finish, Reasoning, Request, ToolCallPart
from trivium.llms.wire._answers import AGAIN, clean, error_text
from trivium.llms.wire._tool_names import legal_names
from trivium.schema import ToolSpec, Usage

__all__ = ["ClaudeMessageReader", "ClaudeNames", "claude_body"]

Block = dict[str, Any]
REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status of an error that comes as an event, for it is tried again by the same rules."""


class ClaudeNames(NamedTuple):
    """How tools and calls are called on the way.

    Args:
        tools: what is sent instead of the name of a tool.
        ids: what is sent instead of the id of a call.
        own: the name of a tool by the one that was sent.
        answer: the tool whose arguments are the answer, where an answer must have a form; else "".
    """

    tools: Mapping[str, str]
    ids: Mapping[str, str]
    own: Mapping[str, str]
    answer: str

    @classmethod
    def of(cls, request: Request) -> Self:
        """The names in a request."""
        calls = [call for message in request.messages for call in message.get("tool_calls") or ()]
        tools = [tool.name for tool in request.tools]
        sent = legal_names([*tools, *(str(call.get("function", call).get("name")) for call in calls)])
        results = (message.get("tool_call_id") for message in request.messages)
        ids = legal_names(str(each) for each in (*(call.get("id") for call in calls), *results) if each)
        answer = ""
        if request.output_schema is not None and (not tools or request.tool_choice in ("auto", "none")):
            answer = "answer"
            while answer in tools or answer in sent.values():
                answer += "_"
        return cls(sent, ids, {name: own for own, name in sent.items()}, answer)


def claude_body(model: str, request: Request, parameters: Mapping[str, Any], names: ClaudeNames) -> dict[str, Any]:
    """What is posted for a request.

    Args:
        model: its name at the server.
        request: the question.
        parameters: all sampling parameters, by their common names.
        names: how tools and calls are called on the way.
    """
    body = dict(parameters)
    stop = body.pop("stop", None)
    if words := [word for word in ([stop] if isinstance(stop, str) else stop or ()) if word.strip()]:
        body["stop_sequences"] = words
    system, messages = _split_off_system(request.messages, names)
    body |= {"model": model, "messages": messages, "stream": True}
    if system:
        body["system"] = system
    tools = [_tool(tool, names) for tool in request.tools]
    if names.answer:
        described = "Give the answer. It is the last thing to do, when no other tool is needed."
        tools.append(_tool(ToolSpec(names.answer, described, dict(request.output_schema or {})), names))
    if tools:
        body |= {"tools": tools, "tool_choice": _choice(request, names)}
    return body


def _tool(tool: ToolSpec, names: ClaudeNames) -> Block:
    found = {"name": names.tools.get(tool.name, tool.name), "description": tool.description}
    schema = {"type": "object", **tool.parameters}
    return {**found, "input_schema": schema, **({"strict": True} if tool.strict else {})}


def _choice(request: Request, names: ClaudeNames) -> Block:
    choice = request.tool_choice
    if names.answer:
        is_only = choice == "none" or not request.tools
        return {"type": "tool", "name": names.answer} if is_only else {"type": "any"}
    if choice in ("auto", "none"):
        return {"type": choice}
    if choice == "required":
        return {"type": "any"}
    return {"type": "tool", "name": names.tools.get(choice, choice)}


def _split_off_system(messages: Sequence[Mapping[str, Any]], names: ClaudeNames) -> tuple[str, list[Block]]:
    """The system's texts, and the other messages with what follows in one role joined."""
    system, found = list[str](), list[Block]()
    for message in messages:
        role = message.get("role")
        if role in ("system", "developer"):
            system += [block["text"] for block in _content(message.get("content")) if "text" in block]
            continue
        role = "assistant" if role == "assistant" else "user"
        blocks = _blocks(message, names)
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        elif blocks:
            found.append({"role": role, "content": blocks})
    return "\n\n".join(system), found


def _blocks(message: Mapping[str, Any], names: ClaudeNames) -> list[Block]:
    content = _content(message.get("content"))
    if (call_id := message.get("tool_call_id")) is not None:
        call_id = str(call_id)
        return [{"type": "tool_result", "tool_use_id": names.ids.get(call_id, call_id), "content": content}]
    return content + [_use(call, names) for call in message.get("tool_calls") or ()]


def _use(call: Mapping[str, Any], names: ClaudeNames) -> Block:
    function: Mapping[str, Any] = call.get("function", call)
    name, call_id = str(function.get("name")), str(call.get("id"))
    arguments: Any = function.get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):  # the model wrote it so, and reads it again so
            arguments = {"arguments": arguments}
    if not isinstance(arguments, dict):
        arguments = {"arguments": arguments}
    call_id = names.ids.get(call_id, call_id)
    return {"type": "tool_use", "id": call_id, "name": names.tools.get(name, name), "input": arguments}


def _content(content: Any) -> list[Block]:
    """Content blocks; a text of nothing but blanks is none, for the interface refuses it."""
    if not isinstance(content, list):
        content = [{"type": "text", "text": "" if content is None else str(content)}]
    parts = (_part(part) for part in cast("list[Any]", content))
    return [part for part in parts if part.get("type") != "text" or str(part.get("text") or "").strip()]


def _part(part: Any) -> Block:
    if not isinstance(part, Mapping):
        return {"type": "text", "text": str(part)}
    block = dict(cast("Mapping[str, Any]", part))
    if block.get("type") != "image_url":
        return block
    image = block.get("image_url")
    url = str(cast("Mapping[str, Any]", image).get("url") if isinstance(image, Mapping) else image)
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


class ClaudeMessageReader:
    """The events of one answer.

    Args:
        names: how tools are called on the way.
    """

    def __init__(self, names: ClaudeNames) -> None:
        self._names = names
        self._calls: dict[Any, int] = {}  # the server's index of a block: ours of the call; -1 for the answer
        self._usage: Usage | None = None
        self._reason: str | None = None
        self._done = self._any = self._answered = False

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of one event.

        Raises:
            ProviderStatusError: it is an error.
        """
        kind = chunk.get("type")
        if kind == "error" or "error" in chunk:
            raise _failure(chunk)
        if kind == "message_start":
            self._count(_dict(chunk, "message").get("usage"))
        elif kind == "content_block_start":
            yield from self._begun(chunk.get("index"), _dict(chunk, "content_block"))
        elif kind == "content_block_delta":
            yield from self._grown(chunk.get("index"), _dict(chunk, "delta"))
        elif kind == "message_delta":
            self._count(chunk.get("usage"))
            self._end_with(_dict(chunk, "delta").get("stop_reason"))
        elif kind == "message_stop":
            self._done = True

    def whole(self, answer: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of a whole message.

        Raises:
            ProviderStatusError: it is an error.
            MalformedAnswerError: it is none.
        """
        if answer.get("type") == "error" or "error" in answer:
            raise _failure(answer)
        content = answer.get("content")
        if not isinstance(content, list):
            raise MalformedAnswerError(
                "the server sent no answer with content: check that base_url is that of Anthropic's interface",
                json.dumps(answer),
            )
        for index, block in enumerate(cast("list[Any]", content)):
            if isinstance(block, dict):
                yield from self._begun(index, cast("Block", block))
        self._count(answer.get("usage"))
        self._end_with(answer.get("stop_reason"))

    def _begun(self, index: Any, block: Block) -> Iterator[Delta]:
        if block.get("type") != "tool_use":
            yield from self._said(block)
            return
        self._any = True
        given = block.get("input")
        arguments = json.dumps(given) if given else ""
        name = str(block.get("name") or "")
        if name and name == self._names.answer:
            self._answered, self._calls[index] = True, -1
            yield arguments
            return
        ours = self._calls[index] = sum(each >= 0 for each in self._calls.values())
        yield ToolCallPart(ours, str(block.get("id") or f"call_{ours}"), self._names.own.get(name, name), arguments)

    def _grown(self, index: Any, delta: Block) -> Iterator[Delta]:
        if delta.get("type") != "input_json_delta":
            yield from self._said(delta)
        elif (ours := self._calls.get(index)) is not None and (piece := _text(delta, "partial_json")):
            yield piece if ours < 0 else ToolCallPart(ours, arguments=piece)

    def _said(self, block: Block) -> Iterator[Delta]:
        if text := _text(block, "text"):
            self._any = True
            yield Reasoning(text) if self._names.answer else text
        if thought := _text(block, "thinking"):
            self._any = True
            yield Reasoning(thought)

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        counts, before = cast("dict[str, Any]", usage), self._usage or Usage()
        fresh, kept, read = (
            _number(counts, name) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        thoughts = _number(_dict(counts, "output_tokens_details"), "thinking_tokens")
        self._usage = Usage(
            fresh + kept + read or before.input_tokens,
            _number(counts, "output_tokens") or before.output_tokens,
            cached_tokens=read if fresh + kept + read else before.cached_tokens,
            cache_write_tokens=kept if fresh + kept + read else before.cache_write_tokens,
            reasoning_tokens=thoughts or before.reasoning_tokens,
        )

    def _end_with(self, reason: Any) -> None:
        if isinstance(reason, str) and reason:
            self._reason = REASONS.get(reason, reason)

    def end(self, done: bool) -> Iterator[Delta]:
        """Usage, and why it stopped.

        Raises:
            MalformedAnswerError: it broke off.
        """
        if self._usage is not None:
            yield self._usage
        if self._reason is None and not ((done or self._done) and self._any):
            what = "the server's answer broke off" if self._any else "the server sent no answer"
            raise MalformedAnswerError(f"{what}; {AGAIN}")
        calls = any(each >= 0 for each in self._calls.values())
        if self._answered and not calls and self._reason == "tool_calls":
            self._reason = "stop"
        yield Finish(self._reason or ("tool_calls" if calls else "stop"))


def _failure(chunk: dict[str, Any]) -> ProviderStatusError:
    kind = _dict(chunk, "error").get("type")
    status = STATUS.get(str(kind), 500)
    text = f"the server sent an error: {error_text(chunk) or kind}; {AGAIN}"
    return ProviderStatusError(text, json.dumps(chunk), status)


def _dict(chunk: dict[str, Any], key: str) -> dict[str, Any]:
    value = chunk.get(key)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(block: Block, key: str) -> str:
    value = block.get(key)
    return clean(value) if isinstance(value, str) else ""


def _number(counts: dict[str, Any], key: str) -> int:
    value = counts.get(key)
    return max(value, 0) if isinstance(value, int) else 0
