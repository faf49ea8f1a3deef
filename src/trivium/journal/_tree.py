"""The tree of a recorded run: its nodes with their times, tokens, errors and outcomes, computed from the records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from trivium.journal._codec import Codec, notes_in, without_notes
from trivium.journal._outline import NodeStatus, outline_of
from trivium.journal._store import Entry
from trivium.schema import ToolCall, Usage


@dataclass(slots=True, eq=False)
class RunNode:
    """A node of a recorded run.

    Args:
        key: its identity, which is the same in each attempt and in each fork.
        name: the name of the call, as "model" or "tool:pay".
        path: the names and numbers of the nodes from the root to this one.
        started: when it began, in seconds since the epoch. Where no record says that, as for the answer of a model, it
            is when what stands before it had ended.
        ended: when its last record was written.
        status: its status.
        error: the error that it ended with, on one line; None: it has none.
        is_effect: whether it asked the world outside, as a model, a tool, a step or a clock.
        digest: the digest of what it was asked.
        asked: what it was asked, as JSON values; None where that is not recorded.
        outcome: what it was answered, as JSON values; None where it has no outcome.
        usage: the tokens of its own answer.
        first: the number of the first record of it or of a node below.
        last: the number of its own last record; 0: it has none.
        children: the nodes below it, in the order of their records.
    """

    key: str
    name: str
    path: str = ""
    started: float = 0.0
    ended: float = 0.0
    status: NodeStatus = "open"
    error: str | None = None
    is_effect: bool = False
    digest: str = ""
    asked: Any = None
    outcome: Any = None
    usage: Usage = field(default_factory=Usage)
    first: int = 0
    last: int = 0
    children: list[RunNode] = field(default_factory=list["RunNode"], repr=False)

    @property
    def seconds(self) -> float:
        """How long it took, as far as that is recorded."""
        return max(0.0, self.ended - self.started)

    @property
    def total(self) -> Usage:
        """Tokens and dollars of this node and all below."""
        return sum((each.usage for each in self.walk()), Usage())

    @property
    def reply(self) -> tuple[str, list[ToolCall]] | None:
        """The text and the tool calls that a model answered; None for another node, and where no answer is recorded."""
        if self.name != "model" or self.outcome is None:
            return None
        said = self.outcome["v"]
        calls = said.get("tool_calls") or {"v": ()}
        return said["text"], [ToolCall(**each["v"]) for each in calls["v"]]

    def walk(self: RunNode) -> Iterator[RunNode]:
        """Yield this node and all below, parents first."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))

    def read(self, entry: Entry, codec: Codec) -> None:
        """Accept what a record of this node holds."""
        match entry.kind:
            case "call" | "intent":
                body = json.loads(entry.body)
                self.asked = body["asked"] if entry.kind == "call" else body
                self.digest, self.is_effect = entry.digest, entry.kind == "intent"
                self.error = None
            case "outcome":
                value = codec.load(entry.body)
                self.error, self.outcome = None, without_notes(entry.body)
                self.digest, self.is_effect = entry.digest, True
                usage = cast("dict[str, Any]", value).get("usage") if isinstance(value, dict) else None
                if self.name == "model" and isinstance(usage, Usage):
                    self.usage += usage
            case "decision":
                self.outcome = json.loads(entry.body)
            case "error":
                found = codec.load(entry.body)
                self.error = f"{found['kind']}: {found['text']}"
                self.is_effect = self.is_effect or not self.digest  # a call that was stopped is none
                self.digest = entry.digest
                if self.name == "model":
                    self.usage += notes_in(entry.body).usage or Usage()
            case _:
                pass


def tree_of(root: str, began: float, entries: Sequence[Entry], codec: Codec) -> RunNode:
    """Return the root of a run, with all nodes of its records below it.

    Args:
        root: the name of the root, which is its key.
        began: when the run began.
        entries: the records.
        codec: reads what they hold.
    """
    outline = outline_of(root, began, [each.head for each in entries])
    nodes = list[RunNode]()
    for at, path in enumerate(outline.paths()):
        nodes.append(
            RunNode(
                outline.keys[at], outline.names[at], path, outline.started[at], outline.ended[at], outline.status[at],
                first=outline.first[at], last=outline.last[at],
            )
        )  # fmt: skip
        if at:
            nodes[outline.parents[at]].children.append(nodes[at])
    index = {each.key: each for each in nodes}
    for entry in entries:
        index[entry.node].read(entry, codec)
    return nodes[0]
