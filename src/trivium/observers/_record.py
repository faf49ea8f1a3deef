"""A recorder of runs: a listener that keeps what the tree forgets when its nodes end."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from threading import Lock
from typing import Any

from trivium.commander import Event, NodeState, TaskNode
from trivium.observers._chrome import chrome_trace
from trivium.observers._export import run_json, write_atomically
from trivium.observers._nodes import describe, facts_of, is_over, text_of
from trivium.schema import Usage


@dataclass(slots=True)
class RecordedEvent:
    """Something that happened at a node: its kind, when (on the clock of `RecordedNode.started`), a word about it."""

    kind: str
    at: float
    text: str = ""


@dataclass(slots=True, eq=False)
class RecordedNode:
    """A node as it was: its name and session, its time in seconds, what it used, and what was below it.

    Args:
        name: what was called.
        session_id: the session that it belongs to.
        started: when its code began, in seconds on the monotonic clock; for one that never began, when it was queued.
        seconds: how long it took; 0 until it ends.
        own_usage: what its own model call used.
        error: what ended it, on one line.
        children: what was started below it, in order.
        kind: "call", "job", "handler" or "commander".
        state: where it stood when it was last heard of.
        queued: when it was put in a queue, if it was.
        wall_time: when a root began, in seconds since the epoch; None below.
        events: its tool calls and notes, and the first piece of a model's stream; of no message more than its kind.
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
        """Tokens and dollars of this node and all below, also of requests that failed after their usage was told."""
        return sum((node.own_usage for node in self.walk()), Usage())

    @property
    def tokens(self) -> int:
        """Input and output tokens of this node and all below."""
        return self.usage.total

    @property
    def is_open(self) -> bool:
        """Whether it had not ended when it was last heard of."""
        return self.state is NodeState.ACTIVE or self.state is NodeState.PENDING

    def walk(self: RecordedNode) -> Iterator[RecordedNode]:
        """This node and all below, parents first."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))


class RunRecord:
    """Keeps the tree of every run that it listens to; it may listen to several at once, from any thread.

    Of messages, arguments and results it keeps nothing: a record can be shown to people who may not read them.

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

    def __init__(self) -> None:
        self.roots: list[RecordedNode] = []
        # No lock around these: each step below is one operation of a dict or a list. Counting is not.
        self._open: dict[TaskNode, RecordedNode] = {}
        self._queued: dict[TaskNode, RecordedNode] = {}
        self._counting = Lock()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        kind = event.kind
        if kind == "started":
            self._started(event.node)
        elif kind == "ended":
            self._ended(event.node, event.data)
        elif kind == "usage":
            self._used(event.node, event.data)
        elif kind == "queued":
            now = time.monotonic()
            self._queued[event.node] = recorded = self._add(event.node, now)
            recorded.state, recorded.queued = NodeState.PENDING, now
        elif kind != "message":
            self._happened(event)

    @property
    def usage(self) -> Usage:
        """Tokens and dollars of all runs."""
        return sum((root.usage for root in self.roots), Usage())

    def as_json(self) -> dict[str, Any]:
        """The record as JSON values: `runs`, and all `nodes` in one flat list, each with its `id` and its `parent`.

        Parents stand before their children. Times are seconds after the first run began; `seconds` is null for a
        node that has not ended. A session that is no JSON value is given as its repr.

        Example:
            >>> from trivium import Agent
            >>> from trivium.testing import ScriptedModel
            >>> record = RunRecord()
            >>> _ = Agent(ScriptedModel(["hello"]))("hi", listeners=[record])
            >>> [(node["id"], node["parent"], node["name"]) for node in record.as_json()["nodes"]]
            [(0, None, 'Agent'), (1, 0, 'model')]
        """
        return run_json(self.roots)

    def as_chrome_trace(self) -> dict[str, Any]:
        """The record in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open.

        What ran at the same time is laid on lanes of its own. Each slice names its parent in its arguments.

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
        """Write `as_json()` to a file; who reads it sees the old file or the new one, never a part.

        Raises:
            OutputError: it cannot be written.
        """
        write_atomically(path, self.as_json())

    def write_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write `as_chrome_trace()` to a file, as `write_json` does.

        Raises:
            OutputError: it cannot be written.
        """
        write_atomically(path, self.as_chrome_trace())

    # ---- one kind of event each
    def _add(self, node: TaskNode, now: float) -> RecordedNode:
        name, kind, session_id, parent = facts_of(node)
        recorded = RecordedNode(name, session_id, now, kind=kind)
        above = self._at(parent)
        if above is None:
            recorded.wall_time = time.time()
            self.roots.append(recorded)
        else:
            above.children.append(recorded)
        return recorded

    def _at(self, node: TaskNode | None) -> RecordedNode | None:
        if node is None:
            return None
        return self._open.get(node) or self._queued.get(node)

    def _started(self, node: TaskNode) -> None:
        if node in self._open:  # it is tried again
            return
        now = time.monotonic()
        recorded = self._queued.get(node) or self._add(node, now)
        recorded.started, recorded.state = now, NodeState.ACTIVE
        self._open[node] = recorded  # before it leaves the queue: whoever looks finds it in one of the two
        self._queued.pop(node, None)

    def _ended(self, node: TaskNode, error: object) -> None:
        recorded = self._open.pop(node, None)
        if recorded is not None:
            recorded.seconds = time.monotonic() - recorded.started
        else:
            recorded = self._queued.pop(node, None)
        if recorded is None:
            return
        recorded.error = None if error is None else describe(error)
        recorded.state = node.state
        if recorded.wall_time is not None:
            self._let_go()

    def _let_go(self) -> None:
        """A run is over: what was queued in it and never started has ended too."""
        for node, recorded in self._queued.copy().items():
            if is_over(node):
                self._queued.pop(node, None)
                recorded.state = NodeState.TERMINATED

    def _used(self, node: TaskNode, usage: Any) -> None:
        recorded = self._at(node)
        if recorded is not None:
            with self._counting:
                recorded.own_usage += usage

    def _happened(self, event: Event) -> None:
        recorded = self._at(event.node)
        if recorded is None or (event.kind == "delta" and recorded.events):
            return
        recorded.events.append(RecordedEvent(event.kind, time.monotonic(), text_of(event)))
