"""The events of a run as those of AG-UI 1.0: always the same for the same events.

Source: https://ag-ui.com/spec/1.0/schema.json
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from trivium.events import JSONObject
from trivium.serving._approvals import question
from trivium.serving._log import agent_of
from trivium.serving._openai import content_text

VERSION: Final = "1.0"
_DECISION: Final[JSONObject] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}


@dataclass(slots=True)
class AGUIEvents:
    """Translates the events of a run, from its beginning or from where it was resumed, up to its end or its next pause.

    Args:
        thread_id: the conversation, as the client names it.
        run_id: the run, as the client names it; each resumption has another one.
        messages: the conversation before, as the client has it; what the run adds is appended.
        is_whole: whether these are all; else no snapshot of them is sent, which would delete the others.
        is_resumed: whether it goes on with a run whose calls the client knows.
    """

    thread_id: str
    run_id: str
    messages: list[JSONObject] = field(default_factory=list[JSONObject])
    is_whole: bool = True
    is_resumed: bool = False
    _of: dict[str, JSONObject] = field(default_factory=dict[str, JSONObject])
    """The messages whose text counts, by the keys of their nodes."""
    _open: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The text of those that grow, by the same keys."""
    _thoughts: dict[str, str] = field(default_factory=dict[str, str])
    _answers: int = 0
    _last: str = ""
    _parents: dict[str, JSONObject | None] = field(default_factory=dict[str, JSONObject | None])
    """The latest message of each agent, by its path: what its tool calls belong to."""

    def begin(self, at: float) -> Iterator[JSONObject]:
        """Yield the first events."""
        names = {"threadId": self.thread_id, "runId": self.run_id}
        yield _event("RUN_STARTED", at, **names, protocolVersion=VERSION)
        if self.is_resumed:
            yield from self._snapshot(at)

    def read(self, event: JSONObject) -> Iterator[JSONObject]:
        """Yield what an event of the run is to the client."""
        at = event["time"]
        match event["kind"]:
            case "delta":
                yield from self._end_thought(event["key"], at)
                yield from self._grow(event, at)
            case "reasoning":
                yield from self._think(event["key"], event["text"], at)
            case "answered":
                yield from self._end_thought(event["key"], at)
                yield from self._end_text(event["key"], at)
                self._parents[agent_of(event["path"])] = message = self._of.get(event["key"])
                self._last = message["content"] if message else self._last
            case "void":
                yield from self._end_thought(event["key"], at)
                yield from self._take_back(event["key"], at)
            case "tool_call":
                yield from self._call(event, at)
            case "tool_result":
                yield from self._result(event["key"], content_text({"content": event["result"]}), at)
            case "tool_failed":
                yield from self._result(event["key"], event["error"], at)
            case "paused":
                yield from self._ask(event, at)
            case "done" | "failed" | "cancelled":
                yield from self._end(event, at)
            case _:
                pass

    # ---- text and thoughts
    def _grow(self, event: JSONObject, at: float) -> Iterator[JSONObject]:
        key, agent, piece = event["key"], event["agent"], event["text"]
        message = self._of.get(key)
        if message is None:
            self._answers += 1
            made = f"{self.run_id}-{self._answers}"
            message = self._of[key] = {"id": made, "role": "assistant", "content": "", "name": agent}
            self._open[key] = []
            self.messages.append(message)
            yield _event("TEXT_MESSAGE_START", at, messageId=made, role="assistant", name=agent)
        if piece:
            self._open[key].append(piece)
            yield _event("TEXT_MESSAGE_CONTENT", at, messageId=message["id"], delta=piece)

    def _end_text(self, key: str, at: float) -> Iterator[JSONObject]:
        pieces = self._open.pop(key, None)
        if pieces is not None:
            self._of[key]["content"] = "".join(pieces)
            yield _event("TEXT_MESSAGE_END", at, messageId=self._of[key]["id"])

    def _take_back(self, key: str, at: float) -> Iterator[JSONObject]:
        """End a message whose text does not count, and send those that there are without it."""
        yield from self._end_text(key, at)
        if message := self._of.pop(key, None):
            self.messages.remove(message)
            yield from self._snapshot(at)

    def _think(self, key: str, piece: str, at: float) -> Iterator[JSONObject]:
        if not piece:
            return
        made = self._thoughts.get(key)
        if made is None:
            self._answers += 1
            made = self._thoughts[key] = f"{self.run_id}-{self._answers}"
            yield _event("REASONING_START", at, messageId=f"{made}-span")
            yield _event("REASONING_MESSAGE_START", at, messageId=made, role="reasoning")
        yield _event("REASONING_MESSAGE_CONTENT", at, messageId=made, delta=piece)

    def _end_thought(self, key: str, at: float) -> Iterator[JSONObject]:
        if made := self._thoughts.pop(key, None):
            yield _event("REASONING_MESSAGE_END", at, messageId=made)
            yield _event("REASONING_END", at, messageId=f"{made}-span")

    # ---- tools
    def _call(self, event: JSONObject, at: float) -> Iterator[JSONObject]:
        call: JSONObject = {
            "id": event["key"], "type": "function",
            "function": {"name": event["name"], "arguments": event["arguments"] or "{}"},
        }  # fmt: skip
        place = {"toolCallId": event["key"]}
        owner = self._parents.get(agent_of(event["path"]))
        parent: JSONObject = {"parentMessageId": owner["id"]} if owner else {}
        yield _event("TOOL_CALL_START", at, **place, toolCallName=event["name"], **parent)
        yield _event("TOOL_CALL_ARGS", at, **place, delta=call["function"]["arguments"])
        yield _event("TOOL_CALL_END", at, **place)
        if owner is None:
            owner = {"id": event["key"], "role": "assistant"}
            self.messages.append(owner)
        owner["toolCalls"] = [*owner.get("toolCalls", ()), call]

    def _result(self, key: str, content: str, at: float) -> Iterator[JSONObject]:
        found: JSONObject = {"id": f"{key}-result", "role": "tool", "toolCallId": key, "content": content}
        self.messages.append(found)
        yield _event("TOOL_CALL_RESULT", at, messageId=found["id"], toolCallId=key, content=content, role="tool")

    def _ask(self, event: JSONObject, at: float) -> Iterator[JSONObject]:
        yield from self._close(at)
        yield from self._snapshot(at)
        asked = [
            {
                "id": each["digest"], "reason": "tool_call", "toolCallId": each["key"], "responseSchema": _DECISION,
                "message": question(each),
            }
            for each in event["approvals"]
        ]  # fmt: skip
        yield self._finished(at, {"type": "interrupt", "interrupts": asked}, event["usage"])

    def _snapshot(self, at: float) -> Iterator[JSONObject]:
        if self.is_whole:
            for key, pieces in self._open.items():
                self._of[key]["content"] = "".join(pieces)
            yield _event("MESSAGES_SNAPSHOT", at, messages=[*self.messages])

    # ---- the end
    def _end(self, event: JSONObject, at: float) -> Iterator[JSONObject]:
        yield from self._close(at)
        if event["kind"] == "failed":
            yield _event("RUN_ERROR", at, message=event["error"]["message"], code=event["error"]["type"])
        elif event["kind"] == "cancelled":
            yield self._finished(at, {"type": "cancelled"})
        else:
            text = content_text(event["message"])
            if text and text != self._last:
                yield from self._grow({"key": "result", "agent": event["message"]["sender"], "text": text}, at)
                yield from self._end_text("result", at)
            yield self._finished(at, {"type": "success"}, event["usage"], result=event["message"]["content"])

    def _close(self, at: float) -> Iterator[JSONObject]:
        for key in [*self._thoughts]:
            yield from self._end_thought(key, at)
        for key in [*self._open]:
            yield from self._end_text(key, at)

    def _finished(self, at: float, outcome: JSONObject, usage: JSONObject | None = None, **fields: Any) -> JSONObject:
        used: JSONObject = {} if usage is None else {"usage": _usage(usage)}
        names = {"threadId": self.thread_id, "runId": self.run_id}
        return _event("RUN_FINISHED", at, **names, outcome=outcome, **used, **fields)


def _usage(used: JSONObject) -> Sequence[JSONObject]:
    if not used["input_tokens"] + used["output_tokens"]:
        return []
    return [{
        "inputTokens": used["input_tokens"], "outputTokens": used["output_tokens"],
        "totalTokens": used["input_tokens"] + used["output_tokens"], "reasoningTokens": used["reasoning_tokens"],
        "cachedInputTokens": used["cached_tokens"], "cacheWriteInputTokens": used["cache_write_tokens"],
    }]  # fmt: skip


def _event(kind: str, at: float, **fields: Any) -> JSONObject:
    return {"type": kind, "timestamp": int(at * 1000), **fields}
