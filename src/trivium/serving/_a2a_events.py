"""The events of a run as those of a task of A2A 1.0: always the same for the same events.

Source: https://github.com/a2aproject/A2A/blob/v1.0.1/specification/a2a.proto
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from trivium.events import JSONObject
from trivium.serving._approvals import question
from trivium.serving._openai import is_answer

END_STATES: Final = {
    "done": "TASK_STATE_COMPLETED", "failed": "TASK_STATE_FAILED", "cancelled": "TASK_STATE_CANCELED"
}  # fmt: skip


@dataclass(slots=True)
class A2AEvents:
    """Translates the events of a run, from its beginning, into a task and the updates that are sent of it.

    The answers of the agent are artifacts. Its tools are not shown: an agent of A2A is opaque.

    Args:
        task_id: the task.
        context_id: the conversation.

    Attributes:
        history: what the client said, and what it was asked.
        artifacts: the answers; one whose text is empty is none.
        status: the state of the task, with what is said of it.
        status_time: since when, in seconds since the epoch.
    """

    task_id: str
    context_id: str
    history: list[JSONObject] = field(default_factory=list[JSONObject])
    status: JSONObject = field(default_factory=lambda: {"state": "TASK_STATE_SUBMITTED"})
    status_time: float = 0.0
    artifacts: list[JSONObject] = field(default_factory=list[JSONObject])
    _of: dict[str, JSONObject] = field(default_factory=dict[str, JSONObject])
    """The artifacts whose text counts, by the keys of their nodes."""
    _pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Their text, by the same keys."""
    _free: list[JSONObject] = field(default_factory=list[JSONObject])
    """Those whose text does not count: the next answers take their place."""
    _last: object = ""

    def task(self) -> JSONObject:
        """Return the task as it is."""
        for key, pieces in self._pieces.items():
            self._of[key]["parts"] = [{"text": "".join(pieces)}]
        artifacts = [each for each in self.artifacts if each["parts"] != [{"text": ""}]]
        names = {"id": self.task_id, "contextId": self.context_id}
        return {**names, "status": self.status, "artifacts": artifacts, "history": self.history}

    def note(self, message: JSONObject) -> None:
        """Add a message to the history."""
        self.history.append({**message, "taskId": self.task_id, "contextId": self.context_id})

    def read(self, event: JSONObject) -> Iterator[JSONObject]:
        """Yield what an event of the run is to the client."""
        kind = event["kind"]
        if kind == "started":
            self._move("TASK_STATE_SUBMITTED", event)
        elif self.status["state"] == "TASK_STATE_SUBMITTED" and kind != "resumed":
            yield self._move("TASK_STATE_WORKING", event)
        match kind:
            case "delta" if is_answer(event) and event["text"]:
                yield self._grow(event["key"], event["text"])
            case "answered" if event["key"] in self._of:
                self._last = event["text"]
                yield self._update(self._of[event["key"]], "", append=True, lastChunk=True)
            case "void" if event["key"] in self._of:
                artifact, _ = self._of.pop(event["key"]), self._pieces.pop(event["key"])
                artifact["parts"] = [{"text": ""}]
                self._free.append(artifact)
                yield self._update(artifact, "")
            case "paused":
                yield self._ask(event)
            case "resumed":
                self._answered(event)
                yield self._move("TASK_STATE_WORKING", event)
            case "done" | "failed" | "cancelled":
                yield from self._end(event)
            case _:
                pass

    # ---- answers
    def _grow(self, key: str, piece: str) -> JSONObject:
        artifact = self._of.get(key)
        self._pieces.setdefault(key, []).append(piece)
        if artifact is not None:
            return self._update(artifact, piece, append=True)
        artifact = self._of[key] = self._free.pop() if self._free else self._add(f"answer-{len(self.artifacts) + 1}")
        artifact["parts"] = [{"text": piece}]
        return self._update(artifact, piece)

    def _add(self, name: str) -> JSONObject:
        self.artifacts.append({"artifactId": name})
        return self.artifacts[-1]

    def _update(self, artifact: JSONObject, piece: str, **place: bool) -> JSONObject:
        return self._sent("artifactUpdate", artifact={**artifact, "parts": [{"text": piece}]}, **place)

    # ---- states
    def _ask(self, event: JSONObject) -> JSONObject:
        asked = [{name: value for name, value in each.items() if name != "key"} for each in event["approvals"]]
        text = "\n".join(map(question, asked))
        parts = [{"text": text}, {"data": {"approvals": asked}, "mediaType": "application/json"}]
        return self._move("TASK_STATE_INPUT_REQUIRED", event, *parts)

    def _answered(self, event: JSONObject) -> None:
        """Note what was asked, and what the client has answered."""
        if asked := self.status.get("message"):
            self.note(asked)
        if given := event.get("body", {}).get("a2a"):
            self.note(given)

    def _end(self, event: JSONObject) -> Iterator[JSONObject]:
        told: list[JSONObject] = []
        if event["kind"] == "done":
            content = event["message"]["content"]
            if content not in (None, "", self._last):
                artifact = self._add("result")
                artifact["parts"] = [{"text": content} if isinstance(content, str) else {"data": content}]
                yield self._sent("artifactUpdate", artifact=artifact, lastChunk=True)
        elif event["kind"] == "failed":
            told.append({"text": event["error"]["message"]})
        elif event.get("why"):
            told.append({"text": event["why"]})
        yield self._move(END_STATES[event["kind"]], event, *told)

    def _move(self, state: str, event: JSONObject, *parts: JSONObject) -> JSONObject:
        at = self.status_time = event["time"]
        told = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.status = {"state": state, "timestamp": told}
        if parts:
            names = {"messageId": f"{self.task_id}-{event['seq']}", "role": "ROLE_AGENT"}
            places = {"taskId": self.task_id, "contextId": self.context_id}
            self.status["message"] = {**names, **places, "parts": [*parts]}
        return self._sent("statusUpdate", status=self.status)

    def _sent(self, kind: str, **fields: object) -> JSONObject:
        return {kind: {"taskId": self.task_id, "contextId": self.context_id, **fields}}
