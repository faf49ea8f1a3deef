"""The log of a served run: what its clients are sent, in order, the same for each of them and for each protocol."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from trivium.commander import wait
from trivium.commander.lowlevel import run_in_worker
from trivium.events import JSONObject
from trivium.exceptions import AnswerFormatError, JournalError, RunKilledError, ToolNotApprovedError
from trivium.serving._store import RunRequest, RunStore
from trivium.serving._tasks import Background, News

if TYPE_CHECKING:
    from trivium.events import RunEvent

ENDS: Final = ("done", "failed", "cancelled")
"""The kinds of the last event of a run."""
STOPS: Final = (*ENDS, "paused")
"""The kinds after which nothing follows until a client acts."""
RETRY_SECONDS: Final = 1.0
_log = logging.getLogger("trivium.serve")


class EventLog:
    """The events of one run as JSON values, each with `seq`, its number from 1.

    An event is sent only after it is written, so that no client knows more than the server after a restart. A later
    attempt of the run emits again what it takes from the journal; what is in the log already is not added again. Kinds:

    - `delta`, `reasoning`: a piece of a model's text, or of its thoughts; `key` is the node, `agent` whose model it is.
    - `answered`: the model's answer is whole: `text`, all pieces together, and `usage`.
    - `void`: the text of `key` so far does not count, also where it was whole: the model failed, or the server did, or
      the answer does not fit its type, and the model is asked again.
    - `tool_call`, `tool_result`, and other events that are for clients, with the fields of their kind.
    - `tool_failed`: a tool call has no result: `error`.
    - `started`, `paused` (with `approvals`), `decided`, `resumed`, and one of `ENDS` last.

    Args:
        run_id: the run.
        writer: writes the events; None: they are kept in memory only.
        events: what is written already.
        epoch: that of the run, as this server knows it.
    """

    def __init__(
        self, run_id: str, writer: EventWriter | None = None, events: Iterable[JSONObject] = (), epoch: int = 0
    ) -> None:
        self.run_id, self._writer, self.epoch = run_id, writer, epoch
        self.events = [*events]
        self._is_lost = False
        self._readable = len(self.events)
        self._news = News()
        self._is_closed = False
        self._begin_attempt()

    def _begin_attempt(self) -> None:
        """Prepare for the events of an attempt: those that are logged come again."""
        self._again = Counter((each.get("key"), each["kind"]) for each in self.events)
        self._texts: dict[str, list[str]] = {}
        """The pieces of text that are logged of each model's answer that is not whole."""
        self._whole = set[str]()
        """The answers that are whole, and count."""
        self._latest: dict[str, str] = {}
        """The answer of each agent's model that came last in this attempt, by the path of the agent."""
        for each in self.events:
            self._note_text(each)

    def _note_text(self, event: JSONObject) -> None:
        match event["kind"]:
            case "delta":
                self._texts.setdefault(event["key"], []).append(event["text"])
            case "reasoning":
                self._texts.setdefault(event["key"], [])
            case "answered":
                self._texts.pop(event["key"], None)
                self._whole.add(event["key"])
            case "void":
                self._texts.pop(event["key"], None)
                self._whole.discard(event["key"])
            case _:
                pass

    @property
    def is_over(self) -> bool:
        """Return whether the run has ended."""
        return bool(self.events) and self.events[-1]["kind"] in ENDS

    @property
    def pauses(self) -> list[JSONObject]:
        """The events in which the run asked for approvals."""
        return [each for each in self.events if each["kind"] == "paused"]

    # ---- writing
    def add(self, kind: str, time: float, request: RunRequest | None = None, **fields: Any) -> None:
        """Add an event of the server's own.

        Args:
            kind: the kind.
            time: when it happened.
            request: how far the run is with this event; it is written together with it.
            **fields: further fields.
        """
        if self._is_lost:
            return
        event = {"seq": len(self.events) + 1, "kind": kind, "time": time, **fields}
        self.events.append(event)
        self._note_text(event)
        if self._writer is None:
            self.release(len(self.events))
        else:
            self._writer.write(self, event, request)

    def resume(self, time: float, request: RunRequest | None = None, **fields: Any) -> None:
        """Begin a further attempt; see `add`."""
        self._begin_attempt()
        for key in [*self._texts]:
            self.add("void", time, key=key)
        self.add("resumed", time, request, **fields)

    def receive(self, event: RunEvent) -> None:
        """Add an event of the run, if it is for clients and new."""
        if event.kind == "ended":
            if event.name == "model":
                self._end_answer(event)
            elif event.name.startswith("tool:") and _has_failed(event.data):
                self._end_tool(event.key, event.path, event.time, event.data)
        elif event.kind == "retried" and isinstance(event.data, AnswerFormatError):
            if (key := self._latest.get(event.path, "")) in self._whole:
                self.add("void", event.time, key=key)
        elif event.is_for_clients():
            found = event.as_json(content=True)
            fields = {name: value for name, value in found.items() if name not in ("kind", "time", "type", "node")}
            kind = "reasoning" if found.get("type") == "reasoning" else event.kind
            if kind in ("delta", "reasoning"):
                if self._again[event.key, "answered"] > 0:  # the answer is whole already
                    return
                fields = {"key": event.key, "path": event.path, "agent": event.caller, "text": found["text"]}
                self.add(kind, event.time, None, **fields)
            elif not self._was_logged(event.key, kind):
                self.add(kind, event.time, None, **fields)

    def _end_answer(self, event: RunEvent) -> None:
        key, answer = event.key, event.node.result
        pieces = self._texts.get(key)
        if answer is None:
            if pieces is not None:
                self.add("void", event.time, key=key)
            return
        self._latest[agent_of(event.path)] = key
        if self._was_logged(key, "answered"):
            return
        text, logged = str(answer.text), "".join(pieces or ())
        if not text.startswith(logged):
            self.add("void", event.time, key=key)
            logged = ""
        if rest := text[len(logged) :]:
            self.add("delta", event.time, key=key, path=event.path, agent=event.caller, text=rest)
        self.add("answered", event.time, key=key, path=event.path, agent=event.caller, text=text)

    def _end_tool(self, key: str, path: str, time: float, error: Exception) -> None:
        """Add that a tool has no result; its error is told only where a user has refused the call."""
        if not self._was_logged(key, "tool_failed"):
            told = (
                str(error) if isinstance(error, ToolNotApprovedError) else "the tool failed; the server's log says why"
            )
            self.add("tool_failed", time, key=key, path=path, error=told)

    def _was_logged(self, key: str, kind: str) -> bool:
        """Return whether an event was logged in an earlier attempt, and count it."""
        if self._again[key, kind] <= 0:
            return False
        self._again[key, kind] -= 1
        return True

    def note(self, request: RunRequest) -> None:
        """Write how far the run is, without an event."""
        if self._writer is not None and not self._is_lost:
            self._writer.write(self, None, request)

    async def written(self) -> None:
        """Wait until everything is written, another server has taken the run up, or the log is closed."""
        while self._readable < len(self.events) and not self._is_closed:
            await self._news.wait()

    # ---- what other servers write
    def lose(self) -> None:
        """Drop what is not written, and what would be: another server has taken the run up."""
        del self.events[self._readable :]
        self._is_lost = True
        self._news.announce()

    def catch_up(self, events: Iterable[JSONObject], epoch: int | None = None) -> None:
        """Add the events that another server has written.

        Args:
            events: the events.
            epoch: that of the run, where this server takes it up.
        """
        if epoch is not None:
            self.lose()
            self._is_lost, self.epoch = False, epoch
        if self._readable == len(self.events):
            self.events += [each for each in events if each["seq"] > len(self.events)]
            self.release(len(self.events))

    def release(self, seq: int) -> None:
        """Let those who follow read the events up to one of a number."""
        self._readable = seq
        self._news.announce()

    def close(self) -> None:
        """End those who follow, though the run has not: the server shuts down."""
        self._is_closed = True
        self.release(self._readable)

    # ---- reading
    @property
    def is_followed(self) -> bool:
        """Return whether somebody waits for the next event."""
        return self._news.is_awaited

    async def follow(self, after: int = 0, until: tuple[str, ...] = ENDS) -> AsyncGenerator[JSONObject]:
        """Yield the events after the one of a number, also those to come, up to one of the kinds that end it.

        Args:
            after: the number of the last event that is known.
            until: the kinds of events that are the last one.
        """
        while True:
            while after < self._readable:
                event = self.events[after]
                after += 1
                yield event
                if event["kind"] in until:
                    return
            if self._is_closed or (self.is_over and self._readable == len(self.events)):
                return
            await self._news.wait()


def agent_of(path: str) -> str:
    """Return the path of the agent whose model or tool a path is of.

    >>> agent_of("desk#0/tool:ask#0/clerk#0/model#1")
    'desk#0/tool:ask#0/clerk#0'
    """
    return path.rpartition("/")[0]


def first_event(request: RunRequest) -> JSONObject:
    """Return the first event of a run, which is written together with it."""
    named = {"run": request.id, "name": request.name, "session": request.session}
    return {"seq": 1, "kind": "started", "time": request.created, **named}


def _has_failed(error: object) -> TypeGuard[Exception]:
    """Return whether a tool has failed by an error; none does that waits, is stopped, or cannot be written down."""
    return isinstance(error, Exception) and not isinstance(error, JournalError | RunKilledError)


def _json(event: JSONObject) -> str:
    """Return an event as JSON that can be stored and sent: a lone surrogate becomes "?", as in what is sent."""
    return json.dumps(event, ensure_ascii=False).encode("utf-8", "replace").decode()


class EventWriter:
    """Writes the events of all runs of a server: what comes while it writes is one transaction with the next.

    Args:
        store: where it writes.
        on_lost: called with the id of a run that another server has taken up.
    """

    def __init__(self, store: RunStore, on_lost: Callable[[str], object] = bool) -> None:
        self._store, self._on_lost = store, on_lost
        self._waiting: list[tuple[EventLog, int, JSONObject | None, RunRequest | None]] = []
        self._writing: Background | None = None

    def write(self, log: EventLog, event: JSONObject | None, request: RunRequest | None = None) -> None:
        """Write an event, or how far a run is, soon; and then let those who follow the log read it."""
        self._waiting.append((log, log.epoch, event, request))
        if self._writing is None or self._writing.is_over:
            self._writing = Background(self._write)

    async def _write(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            batch = [(log, event, request) for log, epoch, event, request in waiting if epoch == log.epoch]
            events = [(log.run_id, event["seq"], _json(event)) for log, event, _ in batch if event is not None]
            requests = [request for _, _, request in batch if request is not None]
            epochs = {log.run_id: log.epoch for log, _, _ in batch}
            lost = await self._written(partial(self._store.write, events, requests, epochs))
            for log, seq in {log: event["seq"] for log, event, _ in batch if event is not None}.items():
                if log.epoch != epochs[log.run_id]:  # taken up again meanwhile
                    continue
                if log.run_id in lost:
                    log.lose()
                    self._on_lost(log.run_id)
                else:
                    log.release(seq)

    async def _written(self, write: Callable[[], set[str]]) -> set[str]:
        """Write; where the store fails, try again until it does not: what was not written is not sent."""
        while True:
            try:
                return await run_in_worker(write)
            except JournalError:
                _log.exception("events of runs cannot be written, and so are not sent; tried again every second")
                await wait(RETRY_SECONDS)

    async def flush(self) -> None:
        """Wait until everything is written."""
        while self._waiting or (self._writing is not None and not self._writing.is_over):
            assert self._writing is not None
            await self._writing.ended()
