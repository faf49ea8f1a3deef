"""Answers as the real services send them, streamed and whole, for the tests of their clients."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ._servers import Script, event_stream, http_answer

__all__ = [
    "HIDDEN",
    "SIGNED",
    "claude_events",
    "claude_said",
    "claude_text",
    "claude_thought",
    "claude_use",
    "claude_whole",
    "gemini_answer",
    "gemini_call",
    "gemini_piece",
    "gemini_stream",
    "gpt_call",
    "gpt_text",
    "refused",
    "sent",
]


SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
Block = tuple[dict[str, Any], list[dict[str, Any]]]


def sent(data: Any, name: str = "") -> bytes:
    """One event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def gpt_text(*texts: str) -> Script:
    """A text in pieces, as OpenAI streams it."""
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]} for text in texts]
    end: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    usage: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    return event_stream(*map(sent, [*chunks, end, usage]), b"data: [DONE]\n\n")


def gpt_call(name: str, arguments: str, call_id: str = "call_1") -> Script:
    """A tool call in pieces, as OpenAI streams it."""
    half = len(arguments) // 2
    first = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": part}} for part in (arguments[:half], arguments[half:])]
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in (first, *pieces)]
    end: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    return event_stream(*map(sent, [*chunks, end]), b"data: [DONE]\n\n")


def claude_events(blocks: Sequence[tuple[dict[str, Any], Sequence[dict[str, Any]]]], reason: str | None) -> list[bytes]:
    """The events of a message: for each block how it begins and its deltas."""
    usage = {"input_tokens": 25, "cache_read_input_tokens": 5, "output_tokens": 1}
    start: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    if reason is not None:
        delta = {"stop_reason": reason, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 15}})
        events.append({"type": "message_stop"})
    return [sent(event, event["type"]) for event in events]


def claude_use(name: Any, *pieces: Any, call_id: Any = "toolu_1", given: Any = None) -> Block:
    """A block that is a call, and its deltas."""
    deltas: list[dict[str, Any]] = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if given is None else given}, deltas


def claude_said(*pieces: str) -> Block:
    """A block of text, and its deltas."""
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


def claude_thought(*pieces: str, signature: str = "c2ln") -> Block:
    """A block of thoughts, and its deltas."""
    deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = {"type": "signature_delta", "signature": signature}
    return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]


def claude_text(*texts: str, reason: str | None = "end_turn") -> Script:
    """A text in pieces, as Anthropic streams it."""
    deltas = [{"type": "text_delta", "text": text} for text in texts]
    return event_stream(*claude_events([({"type": "text", "text": ""}, deltas)], reason))


def claude_whole(*blocks: dict[str, Any], reason: str | None = "end_turn") -> Script:
    """A whole message, as it comes where nothing is streamed."""
    usage = {"input_tokens": 25, "output_tokens": 15}
    message = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": reason, "usage": usage}
    return http_answer(json.dumps(message).encode())


def gemini_piece(*parts: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    """A piece of a stream, as Gemini sends it."""
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})], **more}


def gemini_call(name: Any, args: Any, call_id: Any = None, signature: str = "") -> dict[str, Any]:
    """A part that is a call."""
    call = {"name": name, "args": args, "id": call_id}
    part: dict[str, Any] = {"functionCall": {key: value for key, value in call.items() if value is not None}}
    return {**part, "thoughtSignature": signature} if signature else part


def gemini_answer(*texts: str, **more: Any) -> dict[str, Any]:
    """A whole answer, as it comes where nothing is streamed."""
    return gemini_piece(*({"text": text} for text in texts), reason="STOP", **more)


def gemini_stream(*parts: dict[str, Any]) -> Script:
    """Parts in pieces, as Gemini streams them."""
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2}
    pieces = [*map(gemini_piece, parts), gemini_piece(reason="STOP", usageMetadata=usage)]
    return event_stream(*map(sent, pieces))


def refused(status: str, message: str = "no", code: str = "", kind: str = "", **headers: str) -> Script:
    """An error status with an error object."""
    error = {"message": message, "code": code, "type": kind}
    return http_answer(json.dumps({"type": "error", "error": error}).encode(), status, **headers)
