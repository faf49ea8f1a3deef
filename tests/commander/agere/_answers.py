"""Answers of a model, as OpenAI's own client reads them from a server's stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

Delta = dict[str, Any]
"""A choice's delta; with `finish_reason`, the end of the answer."""


def cut(words: str, size: int) -> list[str]:
    return [words[at : at + size] for at in range(0, len(words), size)]


def text(words: str, size: int) -> list[Delta]:
    return [{"role": "assistant", "content": ""}, *({"content": piece} for piece in cut(words, size))]


def call(name: str, arguments: str, size: int, index: int = 0) -> list[Delta]:
    """A tool call: its name first, then its arguments piece by piece, as OpenAI's server sends it."""

    def part(**fields: Any) -> Delta:
        return {"tool_calls": [{"index": index, **fields}]}

    first = part(id=f"id{index}", type="function", function={"name": name, "arguments": ""})
    return [first, *(part(function={"arguments": piece}) for piece in cut(arguments, size))]


def finish(reason: str) -> Delta:
    return {"finish_reason": reason}


def chunks(answer: Iterable[Delta], *, usage: bool = False) -> Iterator[Any]:
    """The chunks that the client makes of an answer."""
    import httpx
    from openai import OpenAI

    def chunk(choices: list[Any], **more: Any) -> dict[str, Any]:
        return {"id": "c", "created": 1, "model": "m", "object": "chat.completion.chunk", "choices": choices, **more}

    def choice(delta: Delta) -> dict[str, Any]:
        fields = dict(delta)
        reason = fields.pop("finish_reason", None)
        return {"index": 0, "delta": fields, "finish_reason": reason}

    sent = [chunk([choice(delta)]) for delta in answer]
    if usage:
        sent.append(chunk([], usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}))
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in sent) + "data: [DONE]\n\n"
    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, headers=headers, content=body.encode()))
    http: Any = httpx.Client(transport=transport)  # any client will do, of whatever class the package names
    with http, OpenAI(api_key="k", base_url="http://m", http_client=http) as client:
        yield from client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}], stream=True)
