"""The events of a run as those of OpenAI's Responses: always the same for the same events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trivium.events import JSONObject
from trivium.serving._openai import content_text, is_answer
from trivium.serving._wire import Failure

LABEL: Final = "trivium"
"""The `server_label` of tools: they run here, as those of an MCP server do for OpenAI."""


@dataclass(slots=True)
class _Text:
    """A message that grows."""

    item: JSONObject
    index: int
    pieces: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class ResponseEvents:
    """Translates the events of a run, from its beginning or from where it was resumed, up to its end or its next pause.

    An answer of the agent's own model is a message; one that does not count stays in its place, without content. A tool
    call is an `mcp_call`: it runs here, no client is asked to run it. A call that waits for a decision is an
    `mcp_approval_request`: the response is complete with it, and the run goes on with the response in which the client
    answers.

    Args:
        response: the response object as it begins, without its output.
        calls: the events of tool calls that began earlier in the run, by their keys; `asked` is the id of the item
            that asked for an approval.
        before: the usage of the run up to here.
    """

    response: JSONObject
    calls: Mapping[str, JSONObject] = field(default_factory=dict[str, JSONObject])
    before: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _texts: dict[str, _Text] = field(default_factory=dict[str, _Text])
    _calls: dict[str, tuple[JSONObject, int]] = field(default_factory=dict[str, tuple[JSONObject, int]])
    _number: int = 0
    _whole: str = ""
    """The key of the answer that has ended last, until the next event tells whether it counts."""
    _last: str = ""

    def begin(self) -> Iterator[JSONObject]:
        """Yield the first events."""
        for kind in ("created", "in_progress"):
            yield self._event(f"response.{kind}", response={**self.response, "output": []})

    def read(self, event: JSONObject) -> Iterator[JSONObject]:
        """Yield what an event of the run is to the client."""
        whole, self._whole = self._whole, ""
        if whole and (event["kind"], event.get("key")) != ("void", whole):
            self._last = self._texts[whole].text
            yield from self._close_text(whole, "completed")
        match event["kind"]:
            case "delta" if is_answer(event):
                yield from self._grow(event["key"], event["text"])
            case "answered" if is_answer(event) and event["key"] in self._texts:
                self._whole = event["key"]
            case "void" if event["key"] in self._texts:
                text = self._texts.pop(event["key"])
                yield self._done(text, "incomplete")
            case "tool_call":
                yield from self._begin_call(event)
            case "tool_result" | "tool_failed" if event["key"] in self._calls or event["key"] in self.calls:
                yield from self._end_call(event)
            case "paused":
                yield from self._ask(event)
            case "done" | "failed" | "cancelled":
                yield from self._end(event)
            case _:
                pass

    def tell(self, failure: Failure) -> Iterator[JSONObject]:
        """Yield what says that nothing more is sent; it has the number of the last event, after which more may come."""
        told = {"code": failure.kind, "message": failure.message, "param": None}
        yield {"type": "error", "sequence_number": self._number - 1, **told}

    def _event(self, kind: str, **fields: Any) -> JSONObject:
        event = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return event

    def _add(self, item: JSONObject) -> tuple[JSONObject, int, JSONObject]:
        self.response["output"].append(item)
        index = len(self.response["output"]) - 1
        return item, index, self._event("response.output_item.added", output_index=index, item=dict(item))

    # ---- messages
    def _grow(self, key: str, piece: str) -> Iterator[JSONObject]:
        text = self._texts.get(key)
        if text is None:
            item: JSONObject = {"type": "message", "role": "assistant", "status": "in_progress", "content": []}
            number = len(self.response["output"])
            item, index, added = self._add({"id": f"msg_{self.response['id'][5:]}_{number}", **item})
            yield added
            text = self._texts[key] = _Text(item, index)
            yield self._of(text, "response.content_part.added", part=_part(""))
        text.pieces.append(piece)
        yield self._of(text, "response.output_text.delta", delta=piece, logprobs=[])

    def _of(self, message: _Text, kind: str, **fields: Any) -> JSONObject:
        return self._event(kind, item_id=message.item["id"], output_index=message.index, content_index=0, **fields)

    def _close_text(self, key: str, status: str) -> Iterator[JSONObject]:
        text = self._texts[key]
        yield self._of(text, "response.output_text.done", text=text.text, logprobs=[])
        yield self._of(text, "response.content_part.done", part=_part(text.text))
        yield self._done(text, status, _part(text.text))

    def _done(self, message: _Text, status: str, *parts: JSONObject) -> JSONObject:
        message.item.update(status=status, content=[*parts])
        return self._event("response.output_item.done", output_index=message.index, item=dict(message.item))

    # ---- tools
    def _begin_call(self, event: JSONObject) -> Iterator[JSONObject]:
        call = {
            "id": f"mcp_{self.response['id'][5:]}_{event['key']}", "type": "mcp_call", "server_label": LABEL,
            "name": event["name"], "arguments": "", "output": None, "error": None,
            "status": "in_progress", "approval_request_id": event.get("asked"),
        }  # fmt: skip
        item, index, added = self._add(call)
        item["arguments"] = arguments = event["arguments"]  # to the client they come piece by piece, as with OpenAI
        self._calls[event["key"]] = item, index
        yield added
        place = {"item_id": item["id"], "output_index": index}
        yield self._event("response.mcp_call.in_progress", **place)
        yield self._event("response.mcp_call_arguments.delta", delta=arguments, **place)
        yield self._event("response.mcp_call_arguments.done", arguments=arguments, **place)

    def _end_call(self, event: JSONObject) -> Iterator[JSONObject]:
        if event["key"] not in self._calls:  # it was asked about, in the response before
            yield from self._begin_call(self.calls[event["key"]])
        item, index = self._calls.pop(event["key"])
        if event["kind"] == "tool_result":
            item.update(status="completed", output=content_text({"content": event["result"]}))
        else:
            item.update(status="failed", error={"type": "mcp_tool_execution_error", "content": event["error"]})
        yield self._event(f"response.mcp_call.{item['status']}", item_id=item["id"], output_index=index)
        yield self._event("response.output_item.done", output_index=index, item=dict(item))

    def _ask(self, event: JSONObject) -> Iterator[JSONObject]:
        """Ask for approvals: the calls that have begun are asked about, and nothing else of them is told."""
        for item, index in self._calls.values():
            item["status"] = "incomplete"
            yield self._event("response.output_item.done", output_index=index, item=dict(item))
        self._calls.clear()
        for each in event["approvals"]:
            asked = {
                "id": asked_id(self.response["id"], each["digest"]), "type": "mcp_approval_request",
                "server_label": LABEL, "name": each["name"], "arguments": content_text({"content": each["arguments"]}),
            }  # fmt: skip
            item, index, added = self._add(asked)
            yield added
            yield self._event("response.output_item.done", output_index=index, item=dict(item))
        yield from self._finish("completed", event["time"], event.get("usage"))

    # ---- the end
    def _end(self, event: JSONObject) -> Iterator[JSONObject]:
        if event["kind"] == "done":
            text = content_text(event["message"])
            if text != self._last:
                yield from self._grow("result", text)
        for key in [key for key, text in self._texts.items() if text.item["status"] == "in_progress"]:
            yield from self._close_text(key, "completed" if event["kind"] == "done" else "incomplete")
        if event["kind"] == "failed":
            told = {"code": "server_error", "message": event["error"]["message"]}
            self.response["error"] = {"type": "server_error", **told}  # Vercel's AI SDK reads only one with a type
        status = {"done": "completed"}.get(event["kind"], event["kind"])
        yield from self._finish(status, event["time"], event.get("usage"))

    def _finish(self, status: str, at: float, used: Mapping[str, Any] | None) -> Iterator[JSONObject]:
        self.response.update(status=status, completed_at=int(at) if status == "completed" else None)
        self.response["usage"] = None if used is None else usage_of(used, self.before)
        kind = "incomplete" if status == "cancelled" else status
        yield self._event(f"response.{kind}", response=dict(self.response))


def asked_id(response_id: str, digest: str) -> str:
    """Return the id of the item with which a response asks for an approval."""
    return f"mcpr_{response_id[5:]}_{digest}"


def response_id_of(item_id: str) -> str:
    """Return the id of the response of which an item is output; "resp_": the id of the item names none."""
    return f"resp_{item_id.partition('_')[2].rpartition('_')[0]}"


def _part(text: str) -> JSONObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def usage_of(used: Mapping[str, Any], before: Mapping[str, Any]) -> JSONObject:
    """Return usage as Responses have it, without that of an earlier response of the run."""
    own = {name: value - before.get(name, 0) for name, value in used.items()}
    return {
        "input_tokens": own["input_tokens"],
        "input_tokens_details": {
            "cached_tokens": own["cached_tokens"],
            "cache_write_tokens": own["cache_write_tokens"],
        },
        "output_tokens": own["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": own["reasoning_tokens"]},
        "total_tokens": own["input_tokens"] + own["output_tokens"],
    }
