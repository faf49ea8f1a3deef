"""The tree of a recorded run: its nodes with their times, tokens, errors and outcomes, computed from the records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from trivium.journal._codec import Codec, without_notes
from trivium.journal._store import Entry
from trivium.schema import Usage

__all__ = ["NodeStatus", "RunNode", "tree_of"]

NodeStatus: TypeAlias = Literal["done", "failed", "open"]
"""The status of a node; one that is open has begun, and nothing says that it has ended."""


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

    def walk(self: RunNode) -> Iterator[RunNode]:
        """Yield this node and all below, parents first."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))

    def read(self, entry: Entry, codec: Codec) -> None:
        """Accept a record of this node."""
        self.last, self.ended = entry.seq, max(self.ended, entry.at)
        match entry.kind:
            case "call" | "intent":
                body = json.loads(entry.body)
                self.asked = body["asked"] if entry.kind == "call" else body
                self.digest, self.is_effect = entry.digest, entry.kind == "intent"
                self.status, self.error = "open", None
            case "outcome":
                value = codec.load(entry.body)
                self.status, self.error, self.outcome = "done", None, without_notes(entry.body)
                self.digest, self.is_effect = entry.digest, True
                usage = cast("dict[str, Any]", value).get("usage") if isinstance(value, dict) else None
                if self.name == "model" and isinstance(usage, Usage):
                    self.usage += usage
            case "decision":
                self.status, self.outcome = "done", json.loads(entry.body)
            case "error":
                found = codec.load(entry.body)
                self.status, self.error = "failed", f"{found['kind']}: {found['text']}"
                self.digest, self.is_effect = entry.digest, True
            case "end":
                self.status = "done"
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
    top = RunNode(root, root, f"{root}#0", began, began)
    nodes, parents = {root: top}, dict[str, str]()
    for entry in entries:
        if entry.node not in nodes:
            nodes[entry.node], parents[entry.node] = RunNode(entry.node, entry.name), entry.parent
    latest = {root: began}
    counts = Counter[tuple[str, str]]()
    for entry in entries:
        above = parents.get(entry.node, root)
        for node in _newly_reached(entry.node, nodes, parents):
            parent = nodes.get(parents[node.key], top)
            node.path = f"{parent.path}/{node.name}#{counts[parent.key, node.name]}"
            counts[parent.key, node.name] += 1
            has_begun_here = node.key == entry.node and entry.kind in ("call", "intent", "node")
            node.started = entry.at if has_begun_here else latest.get(parent.key, parent.started)
            node.ended, node.first = node.started, entry.seq
            parent.children.append(node)
        nodes[entry.node].read(entry, codec)
        latest[above if above in nodes else root] = entry.at
    for node in reversed([*top.walk()]):
        node.ended = max([node.ended, *(each.ended for each in node.children)])
        if not node.is_effect and node.asked is None and all(each.status != "open" for each in node.children):
            node.status = "done"
    return top


def _newly_reached(key: str, nodes: dict[str, RunNode], parents: dict[str, str]) -> list[RunNode]:
    """Return the node of a key and those above it that have no place in the tree so far, the highest first."""
    found: list[RunNode] = []
    while key in parents and not nodes[key].path:
        found.append(nodes[key])
        key = parents[key]
    return found[::-1]
