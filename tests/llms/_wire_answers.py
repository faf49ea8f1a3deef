"""Answers in OpenAI's two formats, checked against the types of the official package, and how they are read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from trivium.exceptions import ProviderError
from trivium.llms import Delta, Finish, ToolCallPart
from trivium.llms.wire._answers import AnswerReader, MessageReader

__all__ = [
    "assert_answer_or_typed_error",
    "call_item",
    "calls_in",
    "chat_chunk",
    "message_item",
    "read_pieces",
    "read_whole",
    "reasoning_item",
    "response",
    "sent_events",
    "streamed",
    "with_oddities",
]  # fmt: skip

EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
Item = dict[str, Any]


def sent_events(chunks: Iterable[Any]) -> bytes:
    """Chunks as an event stream."""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def read_pieces(reader: MessageReader, *pieces: bytes) -> list[Delta]:
    """The deltas of a body that comes in pieces."""
    answer = AnswerReader(reader)
    return [*(delta for piece in pieces for delta in answer.feed(piece)), *answer.end()]


def read_whole(reader: MessageReader, answer: Any) -> list[Delta]:
    """The deltas of an answer that is not streamed."""
    return read_pieces(reader, json.dumps(answer).encode())


def assert_answer_or_typed_error(reader: MessageReader, body: bytes) -> None:
    """A body is an answer that says something and has an end, or an error of ours that has what was sent."""
    try:
        deltas = read_pieces(reader, body)
    except ProviderError as raised:
        deltas, error = [], raised
    else:
        error = None
    if error is not None:
        assert error.raw, body
        return
    assert any(isinstance(delta, str | ToolCallPart) for delta in deltas), body
    assert isinstance(deltas[-1], Finish), body


def calls_in(deltas: Iterable[Delta]) -> list[tuple[str | None, str]]:
    """The name and the arguments of each call."""
    found: dict[int, tuple[list[str], list[str]]] = {}
    for part in deltas:
        if isinstance(part, ToolCallPart):
            names, arguments = found.setdefault(part.index, ([], []))
            names += [part.name] if part.name else []
            arguments.append(part.arguments)
    return [("".join(names) or None, "".join(arguments)) for names, arguments in found.values()]


def chat_chunk(delta: Any = None, reason: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    """A chunk of the chat format."""
    return {"choices": [{"index": index, "delta": delta or {}, "finish_reason": reason, **more}]}


def message_item(text: str, **more: Any) -> Item:
    """A message of the Responses format."""
    part: Item = {"type": "output_text", "text": text, "annotations": []}
    item: Item = {
        "type": "message",
        "id": f"msg_{text[:3]}",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    return {**item, **more}


def call_item(name: str, arguments: str, call_id: str) -> Item:
    """A call of a function in the Responses format."""
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments}
    return {**item, "status": "completed"}


def reasoning_item(*summary: str, encrypted: str | None = "gAAA") -> Item:
    """A thought in the Responses format."""
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": f"rs_{encrypted}", "summary": parts, "encrypted_content": encrypted}


def response(*output: Item, status: str = "completed", **more: Any) -> dict[str, Any]:
    """A whole answer of the Responses format."""
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 14,
    }
    answer = {
        "id": "resp_1", "object": "response", "created_at": 1.0, "model": "gpt-5-mini", "status": status,
        "output": list(output), "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage, **more,
    }  # fmt: skip
    Response.model_validate(answer)
    return answer


def streamed(*output: Item, end: str = "response.completed", **more: Any) -> list[dict[str, Any]]:
    """The events by which OpenAI streams an answer, each as the official package has it."""
    status = end.rpartition(".")[2]
    events: list[dict[str, Any]] = [{"type": "response.created", "response": response(status="in_progress")}]
    for index, item in enumerate(output):
        begun = {**item, "status": "in_progress"}
        begun |= {key: empty for key, empty in _EMPTY.items() if key in item}
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events += [{"item_id": item["id"], "output_index": index, **event} for event in _pieces(item)]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": end, "response": response(*output, status=status, **more)})
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    for event in numbered:
        EVENTS.validate_python(event)
    return numbered


ODD: tuple[Any, ...] = (None, "", "x", 0, -1, 10**400, True, [], [None], {}, {"message": []}, [[]])


def with_oddities(value: Any) -> Iterator[Any]:
    """`value` with an odd one at one of its places, for each place and each odd value; and with each key left out."""
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        for key in known:
            yield {each: inner for each, inner in known.items() if each != key}
            for changed in (*ODD, *with_oddities(known[key])):
                yield {**known, key: changed}
    elif isinstance(value, list):
        several = cast("list[Any]", value)
        for place, inner in enumerate(several):
            for changed in (*ODD, *with_oddities(inner)):
                yield [*several[:place], changed, *several[place + 1 :]]


_EMPTY: dict[str, Any] = {"arguments": "", "content": [], "summary": [], "encrypted_content": None}


def _pieces(item: Item) -> list[dict[str, Any]]:
    if item["type"] == "function_call":
        kind = "response.function_call_arguments"
        deltas = [{"type": f"{kind}.delta", "delta": piece} for piece in _halves(item["arguments"])]
        return [*deltas, {"type": f"{kind}.done", "arguments": item["arguments"]}]
    if item["type"] == "reasoning":
        kind, parts = "response.reasoning_summary_text", enumerate(part["text"] for part in item["summary"])
        return [
            {"type": f"{kind}.delta", "delta": piece, "summary_index": number}
            for number, text in parts
            for piece in _halves(text)
        ]
    found: list[dict[str, Any]] = []
    for number, part in enumerate(item["content"]):
        kind = "response.output_text" if "text" in part else "response.refusal"
        more = {"logprobs": part.get("logprobs", [])} if "text" in part else {}
        text = part.get("text") or part.get("refusal") or ""
        found += [{"type": f"{kind}.delta", "delta": piece, "content_index": number, **more} for piece in _halves(text)]
    return found


def _halves(text: str) -> Sequence[str]:
    return text[: len(text) // 2], text[len(text) // 2 :]
