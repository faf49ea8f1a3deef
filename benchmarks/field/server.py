"""A server of OpenAI's chat completions in a process of its own: each answer takes as long as a model would.

    python server.py SECONDS

It prints its port, and ends with its standard input. It answers "hello", whole or as a stream, in the form that the
request asks for; `GET /requests` gives how many answers it has begun. Standard library only.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n"
ENVELOPE = {"id": "chatcmpl-1", "created": 1_760_000_000, "model": "served"}
USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
# How frameworks that have a form of their own ask for an answer.
DSPY, SMOLAGENTS = b"[[ ## answer ## ]]", b'"final_answer"'


def message_of(body: bytes) -> dict[str, Any]:
    """The answer, in the form that is asked for."""
    if DSPY in body:
        return {"content": "[[ ## answer ## ]]\nhello\n\n[[ ## completed ## ]]"}
    if SMOLAGENTS in body:
        function = {"name": "final_answer", "arguments": '{"answer": "hello"}'}
        return {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
    return {"content": "hello"}


def framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    event = {
        **ENVELOPE,
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }
    return framed(b"data: " + json.dumps(event).encode() + b"\n\n")


def streamed(message: dict[str, Any]) -> tuple[bytes, bytes]:
    """What comes half way, and what comes at the end."""
    calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls", ()))]
    delta = {"role": "assistant", "content": message["content"], **({"tool_calls": calls} if calls else {})}
    first = HEAD % (b"text/event-stream", b"transfer-encoding: chunked") + chunk({"role": "assistant", "content": ""})
    usage = framed(
        b"data: "
        + json.dumps({**ENVELOPE, "object": "chat.completion.chunk", "choices": [], "usage": USAGE}).encode()
        + b"\n\n"
    )
    last = (
        chunk(delta) + chunk({}, "tool_calls" if calls else "stop") + usage + framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"
    )
    return first, last


def whole(message: dict[str, Any]) -> bytes:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    body = json.dumps({**ENVELOPE, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()
    return HEAD % (b"application/json", b"content-length: %d" % len(body)) + body


class Server(asyncio.Protocol):
    """One connection; requests come one after the other."""

    seconds = 0.0
    begun = 0

    def connection_made(self, transport: Any) -> None:
        self.transport, self.rest = transport, b""
        self.loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self.rest += data
        while b"\r\n\r\n" in self.rest:
            head, _, body = self.rest.partition(b"\r\n\r\n")
            if head.startswith(b"GET"):
                self.rest = body
                told = b"%d" % Server.begun
                self.transport.write(HEAD % (b"text/plain", b"content-length: %d" % len(told)) + told)
                continue
            lines = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
            length = int(lines[b"content-length"])
            if len(body) < length:
                return
            self.rest = body[length:]
            self.answer(body[:length])

    def answer(self, body: bytes) -> None:
        Server.begun += 1
        message = message_of(body)
        if json.loads(body).get("stream"):
            first, last = streamed(message)
            self.loop.call_later(self.seconds / 2, self.transport.write, first)
            self.loop.call_later(self.seconds, self.transport.write, last)
        else:
            self.loop.call_later(self.seconds, self.transport.write, whole(message))


async def main(seconds: float) -> None:
    Server.seconds = seconds
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until whoever started it is gone


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
