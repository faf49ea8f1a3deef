"""The runs as they stand now: what the live view draws. What has ended is folded into counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from trivium.commander import Event, NodeState, TaskNode
from trivium.observers._export import plain
from trivium.observers._nodes import describe, facts_of, text_of
from trivium.schema import Usage

_KEPT = 8
_TAIL = 240


@dataclass(slots=True, eq=False)
class Branch:
    """A node that runs, with sums of what has ended below it; or one of the few that ended last."""

    name: str
    started: float
    above: Branch | None
    seconds: float = 0.0
    state: NodeState = NodeState.ACTIVE
    error: str | None = None
    usage: Usage = field(default_factory=Usage)
    done: int = 0
    failed: int = 0
    tail: str = ""
    below: dict[TaskNode, Branch] = field(default_factory=dict[TaskNode, "Branch"])
    recent: list[Branch] = field(default_factory=list["Branch"])

    def take_in(self, child: Branch) -> None:
        """Fold a child that has ended into this one."""
        self.done += child.done + 1
        self.failed += child.failed + (child.state is NodeState.EXCEPTION)
        self.usage += child.usage
        self.recent.append(child)
        if len(self.recent) > _KEPT:
            del self.recent[0]


class Forest:
    """All runs that are watched. It grows with what is open, not with what has been; one thread at a time.

    Attributes:
        top: stands above the roots.
        failures: the last nodes that failed, each with an error that no other in the list has.
        queued: what waits to start.
        done: how many nodes have ended, `failed` of them with an error of their own; `usage` is of all.
    """

    def __init__(self) -> None:
        self.top = Branch("", 0.0, None)
        self.open: dict[TaskNode, Branch] = {}
        self.queued: dict[TaskNode, None] = {}
        self.failures: deque[Branch] = deque(maxlen=_KEPT)
        self.began: float | None = None
        self.done = self.failed = 0
        self.usage = Usage()

    def take(self, now: float, event: Event) -> None:
        """Take one event that happened at `now`."""
        kind, node, branch = event.kind, event.node, self.open.get(event.node)
        if kind == "started" and branch is None:
            self._start(now, node)
        elif kind == "queued":
            self.queued[node] = None
        elif kind == "ended":
            self._end(now, node, branch, event.data)
        elif kind == "usage" and branch is not None:
            branch.usage += event.data
            self.usage += event.data
        elif branch is not None:
            _note(branch, event)

    def _start(self, now: float, node: TaskNode) -> None:
        self.queued.pop(node, None)
        self.began = now if self.began is None else self.began
        facts = facts_of(node)
        above = self.open.get(facts.parent, self.top) if facts.parent is not None else self.top
        name = facts.name if above is not self.top else _root_name(facts.name, facts.session_id)
        self.open[node] = above.below[node] = Branch(name, now, above)

    def _end(self, now: float, node: TaskNode, branch: Branch | None, error: object) -> None:
        self.queued.pop(node, None)
        if branch is None or branch.above is None:
            return
        above = branch.above
        del self.open[node], above.below[node]
        branch.seconds, branch.state, branch.tail = now - branch.started, node.state, ""
        if error is not None:
            branch.error = describe(error)
            if all(each.error != branch.error for each in self.failures):
                self.failures.append(branch)
        for child in branch.below.values():  # nobody awaited them: they are told to stop, and end later
            child.above = above
        above.below.update(branch.below)
        branch.below = {}
        if above is not self.top:
            branch.recent.clear()
        elif not self.open:
            self.queued.clear()  # what never started never will
        above.take_in(branch)
        self.done += 1
        self.failed += branch.state is NodeState.EXCEPTION


def _root_name(name: str, session_id: object) -> str:
    return name if session_id in (0, "") else f"{name} ({plain(session_id)})"


def _note(branch: Branch, event: Event) -> None:
    data: Any = event.data
    if event.kind == "delta":
        branch.tail = (branch.tail + data)[-_TAIL:]
    else:
        branch.tail = text_of(event) or event.kind
