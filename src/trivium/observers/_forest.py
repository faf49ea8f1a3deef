"""The present state of runs, for the live view. Nodes that have ended are folded into counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from trivium.commander import EndedEvent, Event, NodeState, QueuedEvent, StartedEvent, TaskNode
from trivium.commander.lowlevel import session_of
from trivium.events import exception_line
from trivium.observers._export import error_at_end, json_scalar
from trivium.schema import Usage

_MOST_RECENT = 8
_LONGEST_TAIL = 240


@dataclass(slots=True, eq=False)
class Branch:
    """A node that runs, with the sums of all that has ended below it; or one of the few that ended last.

    Args:
        tail: the last words of a model, or the summary of the last event.
        streams: the tail is a growing text, which further pieces extend.
        below: the open nodes below.
        recent: the nodes below that ended last.
    """

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
    streams: bool = False
    below: dict[TaskNode, Branch] = field(default_factory=dict[TaskNode, "Branch"])
    recent: list[Branch] = field(default_factory=list["Branch"])

    def show(self, event: Event) -> None:
        """Let the tail show an event: a piece of a stream extends it, any other event replaces it."""
        piece = event.piece
        if piece is None:
            self.tail = event.summary()
        else:
            self.tail = ((self.tail if self.streams else "") + piece)[-_LONGEST_TAIL:]
        self.streams = piece is not None

    def fold(self, child: Branch) -> None:
        """Fold a child that has ended into this branch."""
        self.done += child.done + 1
        self.failed += child.failed + (child.state is NodeState.EXCEPTION)
        self.usage += child.usage
        self.recent.append(child)
        if len(self.recent) > _MOST_RECENT:
            del self.recent[0]


class Forest:
    """All watched runs. Its size is that of the open nodes, not of all nodes; for one thread at a time.

    Attributes:
        top: the branch above the roots.
        failures: the last nodes that failed, each with an error that no other in the list has.
        queued: the nodes that wait to start.
        done: the number of nodes that have ended, `failed` of them with their own error; `usage` is the sum of all.
    """

    def __init__(self) -> None:
        self.top = Branch("", 0.0, None)
        self.open: dict[TaskNode, Branch] = {}
        self.queued: dict[TaskNode, None] = {}
        self.failures: deque[Branch] = deque(maxlen=_MOST_RECENT)
        self.began: float | None = None
        self.done = self.failed = 0
        self.usage = Usage()

    def accept(self, now: float, event: Event) -> None:
        """Accept one event that happened at `now`, on the monotonic clock."""
        branch = self.open.get(event.node)
        if isinstance(event, StartedEvent):
            if branch is None:  # else it is run again
                self.start(now, event)
        elif isinstance(event, QueuedEvent):
            self.queued[event.node] = None
        elif isinstance(event, EndedEvent):
            self.end(now, event)
        elif branch is not None:
            usage = event.usage
            if usage is None:
                branch.show(event)
            else:
                branch.usage += usage
                self.usage += usage

    def start(self, now: float, event: StartedEvent) -> None:
        """Open a branch for a node."""
        node, parent, session_id = event.node, event.parent, session_of(event.node)
        self.queued.pop(node, None)
        self.began = now if self.began is None else self.began
        above = self.top if parent is None else self.open.get(parent, self.top)
        is_named = above is not self.top or session_id in (0, "")
        name = event.name if is_named else f"{event.name} ({json_scalar(session_id)})"
        self.open[node] = above.below[node] = Branch(name, now, above)

    def end(self, now: float, event: EndedEvent) -> None:
        """Fold the branch of a node into the one above."""
        node = event.node
        self.queued.pop(node, None)
        branch = self.open.pop(node, None)
        if branch is None or branch.above is None:
            return
        above = branch.above
        del above.below[node]
        branch.seconds, branch.state, branch.tail = now - branch.started, node.state, ""
        if (error := error_at_end(event)) is not None:
            branch.error = exception_line(error)
            if all(each.error != branch.error for each in self.failures):
                self.failures.append(branch)
        for child in branch.below.values():  # they were not awaited: they are being cancelled, and end later
            child.above = above
        above.below.update(branch.below)
        branch.below = {}
        if above is not self.top:
            branch.recent.clear()
        elif not self.open:
            self.queued.clear()  # nodes that have not started never will
        above.fold(branch)
        self.done += 1
        self.failed += branch.state is NodeState.EXCEPTION
