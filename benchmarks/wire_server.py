"""The server of `benchmarks/wire.py`, in a process of its own: it answers at once, and always the same."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, ClassVar

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n"
ENVELOPE = {"id": "chatcmpl-1", "created": 1_760_000_000, "model": "bench"}
USAGE = {"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": 50}


def chunk(delta: dict[str, Any], reason: str | None = None, **extra: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
    event = {**ENVELOPE, "object": "chat.completion.chunk", "choices": [choice], **extra}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def streamed(pieces: int, arguments: int) -> bytes:
    """An answer of so many pieces of text, or one call whose arguments come in so many bytes, twenty a piece."""
    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": f"word{index} "}) for index in range(pieces)]
    if arguments:
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "save", "arguments": '{"text": "'}}
        events.append(chunk({"tool_calls": [call]}))
        piece = {"tool_calls": [{"index": 0, "function": {"arguments": "x" * 20}}]}
        events += [chunk(piece)] * (arguments // 20)
        events.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"}'}}]}))
    events.append(chunk({}, "tool_calls" if arguments else "stop"))
    events.append(b"data: " + json.dumps({**ENVELOPE, "choices": [], "usage": USAGE}).encode() + b"\n\n")
    events.append(b"data: [DONE]\n\n")
    framed = b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"
    return HEAD % (b"text/event-stream", b"transfer-encoding: chunked") + framed


def whole() -> bytes:
    message = {"role": "assistant", "content": "word " * 20, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    body = json.dumps({**ENVELOPE, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()
    return HEAD % (b"application/json", b"content-length: %d" % len(body)) + body


class Server(asyncio.Protocol):
    """Reads whole requests, and answers by the name of the model: `pieces-N`, `arguments-N`, or `whole`."""

    answers: ClassVar[dict[str, bytes]] = {}

    def connection_made(self, transport: Any) -> None:
        self.transport, self.rest = transport, b""

    def data_received(self, data: bytes) -> None:
        self.rest += data
        while b"\r\n\r\n" in self.rest:
            head, _, body = self.rest.partition(b"\r\n\r\n")
            lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            length = int(lines[b"content-length"])
            if len(body) < length:
                return
            self.rest = body[length:]
            self.transport.write(self.answer(json.loads(body[:length])["model"]))

    def answer(self, model: str) -> bytes:
        if model not in self.answers:
            kind, _, number = model.partition("-")
            counts = {"pieces": (int(number or 0), 0), "arguments": (0, int(number or 0))}
            self.answers[model] = whole() if kind == "whole" else streamed(*counts[kind])
        return self.answers[model]


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until whoever started it is gone


if __name__ == "__main__":
    asyncio.run(main())
