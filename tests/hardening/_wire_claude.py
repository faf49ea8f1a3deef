"""Anthropic's Messages interface: how it says an answer, and which requests it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, cast

from trivium.llms import ClaudeModel, ModelProtocol

from ._said import LEFT_OUT, USUAL, Call, Event, Raw, Said, given_of, halves
from ._wire_chat import surrogates

__all__ = ["Claude", "object_of"]

Block = dict[str, Any]
LEGAL: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
REASONS: Final = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


class Claude:
    """Anthropic's Messages interface."""

    name = "Anthropic"

    def model(self, url: str, **options: Any) -> ModelProtocol:
        return ClaudeModel("claude-sonnet-4-6", api_key="sk-of-a-test", base_url=url, **options)

    def whole(self, said: Said) -> Any:
        if said.error:
            return _error(said)
        blocks = [block for block, _ in _blocks(said, whole=True)]
        blocks = blocks if said.message is USUAL else [said.message]
        usage = said.usage[-1] if said.usage else LEFT_OUT
        found = self._message(said, blocks if said.parts is USUAL else said.parts)
        return {**found, **given_of(stop_reason=_reason(said.finish), usage=_usage(usage))}

    def _message(self, said: Said, content: Any) -> Block:
        return {
            "id": "msg_1",
            "type": "message",
            **given_of(role=said.roles[-1]),
            "content": content,
            "model": said.model,
        }

    def events(self, said: Said) -> list[Event]:
        first = said.usage[0] if said.usage else LEFT_OUT
        start = {**self._message(said, [] if said.parts is USUAL else said.parts), "stop_reason": None}
        start.update(given_of(usage=_usage(first if said.usage_first or len(said.usage) > 1 else (0, 0))))
        found: list[Any] = [{"type": "message_start", "message": start if said.message is USUAL else said.message}]
        found.append({"type": "ping"})
        for number, (index, block, deltas) in enumerate(_places(said)):
            place = given_of(index=number if index is USUAL else index)
            found.append({"type": "content_block_start", **place, "content_block": block})
            found += [{"type": "content_block_delta", **place, "delta": each} for each in deltas]
            found.append({"type": "content_block_stop", **place})
        if said.error:
            found.append(_error(said))
        else:
            usage = given_of(usage=LEFT_OUT if said.usage_first or not said.usage else _usage(said.usage[-1]))
            found.append({"type": "message_delta", "delta": given_of(stop_reason=_reason(said.finish)), **usage})
        return [(each["type"], each) for each in [*found, *([{"type": "message_stop"}] if said.done else [])]]

    def problems(self, body: Any) -> list[str]:
        found = surrogates(body)
        before = ""
        waited: list[str] = []
        seen: set[str] = set()
        for message in body["messages"]:
            content: list[Block] = message["content"]
            if message["role"] == before or not content:
                found.append(f"{message['role']} after {before or 'nothing'} with {len(content)} blocks")
            before = message["role"]
            results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
            if sorted(results) != sorted(waited):
                found.append(f"results of {results} for {waited}")
            if any(block["type"] != "tool_result" for block in content[: len(results)]):
                found.append("something before a result")
            waited = [block["id"] for block in content if block["type"] == "tool_use"]
            found += [f"the id {each!r}" for each in waited if not LEGAL.fullmatch(each) or each in seen]
            found += ["an id twice"] * (len(waited) - len(set(waited)))
            seen.update(waited)
            found += [problem for block in content for problem in _problems(block)]
        first, last = body["messages"][0], body["messages"][-1]
        roles = [each["role"] for each in (first, last)]
        return found if roles == ["user", "user"] else [*found, f"from {roles[0]} to {roles[1]}"]

    def results(self, body: Any) -> list[str]:
        blocks = [block for message in body["messages"] for block in message["content"]]
        results = [block["content"] for block in blocks if block["type"] == "tool_result"]
        return [each if isinstance(each, str) else "".join(part["text"] for part in each) for each in results]


def _problems(block: Block) -> Iterator[str]:
    if block["type"] == "text" and not block["text"].strip():
        yield "a text of blanks"
    if block["type"] == "tool_use":
        if not LEGAL.fullmatch(block["name"]):
            yield f"a call of {block['name']!r}"
        if not isinstance(block["input"], dict):
            yield f"the arguments {block['input']!r:.80}"


def _blocks(said: Said, whole: bool = False) -> Iterator[tuple[Block, list[Block]]]:
    """How each block begins, and its deltas."""
    if said.reasoning:
        thought = said.reasoning if whole else ""
        deltas = [{"type": "thinking_delta", "thinking": each} for each in halves(said.reasoning)]
        signed = [*deltas, {"type": "signature_delta", "signature": "s"}]
        yield {"type": "thinking", "thinking": thought, "signature": "s" if whole else ""}, signed
    text = said.refusal or said.text
    if text is not LEFT_OUT:
        deltas = [{"type": "text_delta", "text": each} for each in (halves(text) if isinstance(text, str) else [text])]
        yield {"type": "text", "text": text if whole else ""}, deltas
    for call in said.calls:
        head = {"type": "tool_use", **given_of(id=call.id, name=call.name)}
        if whole or not isinstance(call.arguments, str):
            yield {**head, "input": object_of(call.arguments)}, []
            continue
        pieces = [{"type": "input_json_delta", "partial_json": each} for each in halves(call.arguments)]
        yield {**head, "input": {}}, pieces


def _places(said: Said) -> Iterator[tuple[Any, Block, list[Block]]]:
    """The same, with the index that the stream gives each."""
    blocks = list(_blocks(said)) if said.message is USUAL and said.parts is USUAL else []
    calls = [Call()] * (len(blocks) - len(said.calls)) + list(said.calls)
    for number, (call, (block, deltas)) in enumerate(zip(calls, blocks, strict=True)):
        yield number if call.index is USUAL else call.index, block, deltas


def object_of(arguments: Any) -> Any:
    """Arguments where an interface wants an object: text that is one JSON value as it is, other text as text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        json.loads(arguments)
    except ValueError:
        return arguments
    return Raw(arguments)


def _reason(finish: Any) -> Any:
    return REASONS.get(finish, finish) if isinstance(finish, str) else finish


def _usage(usage: Any) -> Any:
    if not isinstance(usage, tuple):
        return usage
    tokens, written = cast("tuple[Any, Any]", usage)
    return {"input_tokens": tokens, "output_tokens": written}


def _error(said: Said) -> Block:
    kind = {500: "api_error", 400: "invalid_request_error"}.get(said.code, "odd")
    return {"type": "error", "error": {"type": kind, "message": said.error}}
