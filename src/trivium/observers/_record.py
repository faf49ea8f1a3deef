"""A recorder of runs: a listener that stores nodes, which the tree drops when they end."""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from logging import INFO
from os import PathLike
from threading import Lock

from trivium.commander import EndedEvent, Event, NodeState, QueuedEvent, StartedEvent, TaskNode
from trivium.commander.lowlevel import session_of
from trivium.events import JSONObject, exception_line
from trivium.observers._chrome import chrome_trace
from trivium.observers._export import error_at_end, run_json, write_text
from trivium.observers._redaction import mask_secrets
from trivium.schema import Usage


@dataclass(slots=True)
class RecordedEvent:
    """Something that happened at a node.

    Args:
        kind: the kind of event.
        at: when it happened, on the clock of `RecordedNode.started`.
        text: its detail on one line; no content.
        data: its fields as JSON values; contents only in a `RunRecord(content=True)`.
    """

    kind: str
    at: float
    text: str = ""
    data: JSONObject = field(default_factory=JSONObject)


@dataclass(slots=True, eq=False)
class RecordedNode:
    """A recorded node: its name and session, its time in seconds, its usage, and its children.

    Args:
        name: the name of the call.
        session_id: the session that it belongs to.
        started: when its code began, in seconds on the monotonic clock; for one that never began, when it was queued.
        seconds: how long it took; 0 until it ends.
        own_usage: what its own model call used.
        error: what ended it, on one line.
        children: the nodes started below it, in order.
        kind: "call", "job", "handler" or "commander".
        state: the last state that is known.
        queued: the time when it was queued, if it was.
        wall_time: when a root began, in seconds since the epoch; None below.
        events: tool calls, retries, notes and the like, and the first piece of a model's stream.
    """

    name: str
    session_id: Hashable
    started: float
    seconds: float = 0.0
    own_usage: Usage = field(default_factory=Usage)
    error: str | None = None
    children: list[RecordedNode] = field(default_factory=list["RecordedNode"], repr=False)
    kind: str = "call"
    state: NodeState = NodeState.ACTIVE
    queued: float | None = None
    wall_time: float | None = None
    events: list[RecordedEvent] = field(default_factory=list[RecordedEvent], repr=False)

    @property
    def usage(self) -> Usage:
        """Tokens and dollars of this node and all below, failed requests included."""
        return sum((node.own_usage for node in self.walk()), Usage())

    @property
    def tokens(self) -> int:
        """Input and output tokens of this node and all below."""
        return self.usage.total

    @property
    def is_open(self) -> bool:
        """True until the node has ended, as far as is known."""
        return _is_open(self.state)

    def walk(self: RecordedNode) -> Iterator[RecordedNode]:
        """Yield this node and all below, parents first."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))


class RunRecord:
    """A listener that records the tree of every run; it may listen to several at once, from any thread.

    By default it records names, times, counts and errors, but no messages, arguments and results: such a record can be
    given to readers who may not see these.

    Args:
        content: record contents too, in the `data` of the events: the requests that models got and their replies,
            messages, arguments and results of tools. Values under names such as `password` or `api_key`, and texts
            of the form of a key, become `***`.

    Attributes:
        roots: the runs, in the order in which they began.

    Example:
        >>> from trivium import Agent
        >>> from trivium.observers import RunRecord
        >>> from trivium.testing import ScriptedModel
        >>> record = RunRecord()
        >>> _ = Agent(ScriptedModel(["hello"]))("hi", listeners=[record])
        >>> [node.name for node in record.roots[0].walk()]
        ['Agent', 'model']
    """

    def __init__(self, *, content: bool = False) -> None:
        self.content = content
        self.roots: list[RecordedNode] = []
        # No lock around these: each step below is one operation of a dict or a list. Counting is not.
        self._open: dict[TaskNode, RecordedNode] = {}
        self._queued: dict[TaskNode, RecordedNode] = {}
        self._counting = Lock()

    def __repr__(self) -> str:
        nodes = sum(1 for root in self.roots for _ in root.walk())
        return f"RunRecord(runs={len(self.roots)}, nodes={nodes})"

    def __call__(self, event: Event) -> None:
        """Accept one event."""
        node = event.node
        recorded = self._open.get(node)
        if recorded is not None and event.piece is not None:  # first: most are
            kind, events = event.kind, recorded.events
            if not events or (events[-1].kind != kind and all(each.kind != kind for each in events)):
                events.append(RecordedEvent(kind, time.monotonic(), event.detail(), event.fields()))
            return
        if recorded is None:
            recorded = self._begin(event)
        if recorded is None:
            return
        if (usage := event.usage) is not None:
            with self._counting:
                recorded.own_usage += usage
        if self.content or event.level >= INFO:
            self._keep(event, recorded)
        if isinstance(event, EndedEvent):
            self._end(event, recorded)

    @property
    def usage(self) -> Usage:
        """Tokens and dollars of all runs."""
        return sum((root.usage for root in self.roots), Usage())

    def as_json(self) -> JSONObject:
        """Return the record as JSON values: `runs`, and all `nodes` in one flat list, with the `id` of each `parent`.

        Parents come before their children. Times are seconds after the first run began; `seconds` is null for a
        node that has not ended. A session that is no JSON value is written as its repr.
        The `data` of an event are its fields; it is left out where there are none.

        Example:
            >>> from trivium import Agent
            >>> from trivium.testing import ScriptedModel
            >>> record = RunRecord()
            >>> _ = Agent(ScriptedModel(["hello"]))("hi", listeners=[record])
            >>> [(node["id"], node["parent"], node["name"]) for node in record.as_json()["nodes"]]
            [(0, None, 'Agent'), (1, 0, 'model')]
        """
        return run_json(self.roots)

    def as_chrome_trace(self) -> JSONObject:
        """Return the record in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open.

        Nodes that ran at the same time have separate lanes. Each slice names its parent in its arguments.

        Example:
            >>> from trivium import Agent
            >>> from trivium.testing import ScriptedModel
            >>> record = RunRecord()
            >>> _ = Agent(ScriptedModel(["hello"]))("hi", listeners=[record])
            >>> [each["name"] for each in record.as_chrome_trace()["traceEvents"] if each["ph"] == "X"]
            ['Agent', 'model']
        """
        return chrome_trace(self.roots)

    def write_json(self, path: str | PathLike[str]) -> None:
        """Write `as_json()` to a file; a reader sees the old file or the new one, never a part.

        Raises:
            OutputError: it cannot be written.
        """
        write_text(path, json.dumps(self.as_json()) + "\n")

    def write_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write `as_chrome_trace()` to a file, as `write_json` does.

        Raises:
            OutputError: it cannot be written.
        """
        write_text(path, json.dumps(self.as_chrome_trace()) + "\n")

    # ---- what events do
    def _begin(self, event: Event) -> RecordedNode | None:
        """Return the record of a node that is not open: a new one if it starts or is queued."""
        node = event.node
        recorded = self._queued.get(node)
        if isinstance(event, StartedEvent):
            now = time.monotonic()
            recorded = recorded or self._add(event, now)
            recorded.started, recorded.state = now, NodeState.ACTIVE
            self._open[node] = recorded  # before it leaves the queue: other threads find it in one of the two
            self._queued.pop(node, None)
        elif isinstance(event, QueuedEvent):
            now = time.monotonic()
            self._queued[node] = recorded = self._add(event, now)
            recorded.state, recorded.queued = NodeState.PENDING, now
        return recorded

    def _keep(self, event: Event, recorded: RecordedNode) -> None:
        """Record an event; of kinds that occur in every run only the contents."""
        fields = event.fields()
        if self.content:
            known, fields = fields, event.fields(content=True)
            if event.level < INFO and known == fields:
                return
            fields = mask_secrets(fields)
        recorded.events.append(RecordedEvent(event.kind, time.monotonic(), event.detail(), fields))

    def _end(self, event: EndedEvent, recorded: RecordedNode) -> None:
        """Close the record of a node; with a root end the nodes of its run that were queued and never started."""
        node = event.node
        if node in self._open:
            recorded.seconds = time.monotonic() - recorded.started  # first: a Ctrl-C may come between any two lines
            self._open.pop(node, None)
        self._queued.pop(node, None)
        error = error_at_end(event)
        recorded.error = None if error is None else exception_line(error)
        recorded.state = node.state
        if recorded.wall_time is None:
            return
        for waiting, left in self._queued.copy().items():
            above = waiting.parent
            if not _is_open(waiting.state) or (isinstance(above, TaskNode) and not _is_open(above.state)):
                self._queued.pop(waiting, None)
                left.state = NodeState.TERMINATED

    def _add(self, event: Event, now: float) -> RecordedNode:
        recorded = RecordedNode(event.name, session_of(event.node), now, kind=event.node_kind)
        parent = event.parent
        above = None if parent is None else self._open.get(parent) or self._queued.get(parent)
        if above is None:
            recorded.wall_time = time.time()
            self.roots.append(recorded)
        else:
            above.children.append(recorded)
        return recorded


def _is_open(state: NodeState) -> bool:
    return state is NodeState.ACTIVE or state is NodeState.PENDING
