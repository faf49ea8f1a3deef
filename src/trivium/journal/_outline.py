"""The outline of a recorded run: the place, times and status of each node, in columns, without what it was told."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from trivium.events import JSONObject
from trivium.journal._codec import notes_in, without_notes

NodeStatus: TypeAlias = Literal["done", "failed", "open"]
"""The status of a node; one that is open has begun, and nothing says that it has ended."""
_STATUS: Final[dict[str, NodeStatus]] = {
    "call": "open", "intent": "open", "outcome": "done", "decision": "done", "error": "failed", "end": "done"
}  # fmt: skip
"""The kinds of records that say how far a node is."""
_ASKED: Final = frozenset(("call", "intent", "outcome", "error"))
"""The kinds of records of nodes that ask or are asked something; the others are done when those below are."""
_BEGUN: Final = frozenset(("call", "intent", "node"))


Head: TypeAlias = tuple[int, str, str, str, str, float, str]
"""The head of a record: its number, kind, node, parent, name and time as an `Entry` has them, and its body where that
is the outcome of a model or an error; else "". The place, the times and the status of its node are computed from it."""


@dataclass(slots=True)
class RunOutline:
    """The nodes of a run in columns; the root is the first, and each node stands after the one above it.

    Made by `Journal.outline`: of a run of 100,000 nodes it takes less than half a second.

    Args:
        keys: their keys.
        names: their names.
        parents: the index of the node above each; -1 for the root.
        started: when each began, in seconds since the epoch.
        ended: when the last record of each, or of one below, was written.
        status: their status.
        first: the number of the first record of each, or of one below.
        last: the number of the last record of its own; 0: it has none.
        bodies: by index, the record of the last answer of a model, or of the error that a node has ended with.
        seq: the number of the last record.
    """

    keys: list[str]
    names: list[str]
    parents: list[int]
    started: list[float]
    ended: list[float]
    status: list[NodeStatus]
    first: list[int]
    last: list[int]
    bodies: dict[int, str] = field(default_factory=dict[int, str])
    seq: int = 0

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, key: str, name: str, parent: int, started: float, first: int) -> int:
        """Add a node that has just begun; return its index."""
        self.keys.append(key)
        self.names.append(name)
        self.parents.append(parent)
        self.started.append(started)
        self.ended.append(started)
        self.status.append("open")
        self.first.append(first)
        self.last.append(0)
        return len(self.keys) - 1

    def paths(self) -> list[str]:
        """Return the path of each node: the names and numbers of the nodes from the root to it."""
        found, counts = [f"{self.names[0]}#0"], dict[tuple[int, str], int]()
        for parent, name in zip(self.parents[1:], self.names[1:], strict=True):
            number = counts.get((parent, name), 0)
            counts[parent, name] = number + 1
            found.append(f"{found[parent]}/{name}#{number}")
        return found

    def as_json(self, after: int = 0, size: int = 0) -> JSONObject:
        """Return it as JSON values; times are milliseconds after `began`, and `name` is an index of `names`.

        Args:
            after: the number of the last record of an earlier outline of this run; 0: there is none.
            size: how many nodes the earlier outline had. Then the columns hold only the root and the nodes that have
                changed since; `at` has their indices. Where a node has come above earlier ones there is no `at`, and
                the columns hold every node.
        """
        names = {name: at for at, name in enumerate(dict.fromkeys(self.names))}
        began = self.started[0]
        at = self._changed(after) if 0 < after <= self.seq and bisect_right(self.first, after) == size else None
        chosen: Sequence[int] = range(len(self)) if at is None else at
        told = [each for each in chosen if each in self.bodies]
        failed = {each: without_notes(self.bodies[each]) for each in told if self.status[each] == "failed"}
        return {
            **({} if at is None else {"at": at}),
            "seq": self.seq,
            "began": began,
            "keys": [self.keys[each] for each in chosen],
            "names": [*names],
            "name": [names[self.names[each]] for each in chosen],
            "parent": [self.parents[each] for each in chosen],
            "start": [round((self.started[each] - began) * 1000, 1) for each in chosen],
            "took": [round((self.ended[each] - self.started[each]) * 1000, 1) for each in chosen],
            "status": "".join([self.status[each][0] for each in chosen]),
            "tokens": self.usage(told),
            "errors": {each: f"{error['kind']}: {error['text']}"[:300] for each, error in failed.items()},
        }

    def _changed(self, after: int) -> list[int]:
        """Return the root, and the nodes of which, or of one below which, a record after the one of a number tells."""
        changed = bytearray(len(self))
        changed[0] = 1
        for number, last in enumerate(self.last):
            at = number
            while last > after and not changed[at]:
                changed[at] = 1
                at = self.parents[at]
        return [at for at, is_changed in enumerate(changed) if is_changed]

    def usage(self, nodes: Iterable[int] | None = None) -> dict[int, list[float]]:
        """Return the input tokens, output tokens and dollars of the models' answers that tell them, by index.

        Args:
            nodes: the indices of those that count, of nodes that have `bodies`; None: all.
        """
        models = [at for at in (self.bodies if nodes is None else nodes) if self.names[at] == "model"]
        used = {at: _usage_in(self.bodies[at]) for at in models}
        return {at: each for at, each in used.items() if each is not None}


def _usage_in(body: str) -> list[float] | None:
    """Return the input and output tokens and the dollars of an answer; None: it does not tell them."""
    match without_notes(body):
        case {"$": "Reply", "v": {"usage": {"v": {**told}}}}:
            return [told.get("input_tokens", 0), told.get("output_tokens", 0), told.get("usd", 0.0)]
        case {"kind": str()} if (noted := notes_in(body).usage) is not None:  # of one that failed
            return [noted.input_tokens, noted.output_tokens, noted.usd]
        case _:  # also what a step returns that is called "model"
            return None


def outline_of(root: str, began: float, heads: Sequence[Head]) -> RunOutline:
    """Return the outline of a run.

    Args:
        root: the name of the root, which is its key.
        began: when the run began.
        heads: the heads of its records.
    """
    homes: dict[str, tuple[str, str]] = {}
    for _, _, node, parent, name, _, _ in heads:
        if node not in homes and node != root:
            homes[node] = parent, name
    index = {root: 0}
    out = RunOutline([root], [root], [-1], [began], [began], ["open"], [0], [0])
    parents, ended, last, status_of = out.parents, out.ended, out.last, out.status
    latest, is_asked = [began], [False]
    for seq, kind, node, _, name, time, body in heads:
        at = index.get(node)
        if at is None:
            chain = [node]
            while (above := homes[chain[-1]][0]) in homes and above not in index:
                chain.append(above)
            for each in reversed(chain):
                up = index.get(homes[each][0], 0)
                start = time if each == node and kind in _BEGUN else latest[up]
                if start < began <= time:  # of a fork: what is before it was copied
                    start = began
                at = index[each] = out.add(each, homes[each][1], up, start, seq)
                latest.append(start)
                is_asked.append(False)
        assert at is not None
        last[at] = seq
        if time > ended[at]:
            ended[at] = time
        if kind in _STATUS:
            status_of[at] = _STATUS[kind]
            if kind in _ASKED:
                is_asked[at] = True
            if kind == "error" or (kind == "outcome" and name == "model"):
                out.bodies[at] = body
            else:
                out.bodies.pop(at, None)  # it has begun anew, or has ended otherwise
        latest[parents[at] if at else 0] = time
        while kind == "decision" and at:  # nothing above went on while a user was waited for
            at = parents[at]
            latest[at] = time
    out.seq = heads[-1][0] if heads else 0
    _close(out, is_asked)
    return out


def _close(out: RunOutline, is_asked: Sequence[bool]) -> None:
    """Let nodes end with those below them; what asks nothing itself is done when these are."""
    has_open = [False] * len(out)
    for at in range(len(out) - 1, -1, -1):
        if not is_asked[at] and not has_open[at]:
            out.status[at] = "done"
        up = out.parents[at]
        if up >= 0:
            has_open[up] = has_open[up] or out.status[at] == "open"
            out.ended[up] = max(out.ended[up], out.ended[at])
