"""The events of a run as the UI message stream of Vercel's AI SDK: always the same for the same events.

Source: the package `ai` 7, src/ui-message-stream/ui-message-chunks.ts
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trivium.events import JSONObject
from trivium.serving._openai import content_text


@dataclass(slots=True)
class AISDKEvents:
    """Translates the events of a run into the chunks of one message of the assistant.

    Each answer of a model is a step, so that one that does not count can be taken back.

    Args:
        message_id: the id of the message, which is the same after an approval.
    """

    message_id: str
    _step: str = ""
    """The key of the model's answer in the step."""
    _open: str = ""
    """The kind of part that grows: "text", "reasoning" or none."""
    _parts: int = 0
    _text: list[str] = field(default_factory=list[str])
    _last: str = ""

    def begin(self) -> Iterator[JSONObject]:
        """Yield the first chunks."""
        yield {"type": "start", "messageId": self.message_id}
        yield {"type": "start-step"}

    def read(self, event: JSONObject, is_last: bool = True) -> Iterator[JSONObject]:
        """Yield what an event of the run is to the client; `is_last` tells whether the stream ends with a pause."""
        match event["kind"]:
            case "delta" | "reasoning":
                yield from self._grow(event["key"], "text" if event["kind"] == "delta" else "reasoning", event["text"])
            case "answered":
                yield from self._close()
                self._last, self._text = "".join(self._text), []
            case "void" if event["key"] == self._step:
                self._step, self._open, self._text = "", "", []
                yield {"type": "reset-step"}
            case "tool_call":
                yield self._tool(
                    "tool-input-available", event, toolName=event["name"], input=parsed(event["arguments"])
                )
            case "tool_result":
                yield self._tool("tool-output-available", event, output=event["result"])
            case "tool_failed":
                yield self._tool("tool-output-error", event, errorText=event["error"])
            case "paused":
                for each in event["approvals"]:
                    yield {"type": "tool-approval-request", "approvalId": each["digest"], "toolCallId": each["key"]}
                if is_last:
                    yield from self._finish("tool-calls")
            case "done":
                text = content_text(event["message"])
                if text and text != self._last:
                    yield from self._grow("result", "text", text)
                yield from self._finish("stop")
            case "failed":
                yield {"type": "error", "errorText": event["error"]["message"]}
            case "cancelled":
                yield {"type": "abort", "reason": event.get("why", "")}
            case _:
                pass

    def _grow(self, key: str, kind: str, piece: str) -> Iterator[JSONObject]:
        if key != self._step:
            yield from self._close()
            if self._step:
                yield from ({"type": "finish-step"}, {"type": "start-step"})
            self._step, self._text = key, []
        if self._open != kind:
            yield from self._close()
            self._open, self._parts = kind, self._parts + 1
            yield {"type": f"{kind}-start", "id": f"{self.message_id}-{self._parts}"}
        if kind == "text":
            self._text.append(piece)
        yield {"type": f"{kind}-delta", "id": f"{self.message_id}-{self._parts}", "delta": piece}

    def _close(self) -> Iterator[JSONObject]:
        if self._open:
            yield {"type": f"{self._open}-end", "id": f"{self.message_id}-{self._parts}"}
        self._open = ""

    def _tool(self, kind: str, event: JSONObject, **fields: Any) -> JSONObject:
        return {"type": kind, "toolCallId": event["key"], "dynamic": True, "providerExecuted": True, **fields}

    def _finish(self, reason: str) -> Iterator[JSONObject]:
        yield from self._close()
        yield {"type": "finish-step"}
        yield {"type": "finish", "finishReason": reason}


def parsed(arguments: str) -> object:
    """Return the arguments of a call as a value of JSON; as a text where a model has written something else."""
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):  # as a model has written them
        return arguments
