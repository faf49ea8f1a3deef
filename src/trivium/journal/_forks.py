"""Runs made of others, and compared with them: the records before a node, an edited outcome, the first difference."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple, cast

from trivium.exceptions import RunInputError, UnknownNodeError
from trivium.journal._codec import Codec, notes_in, with_notes
from trivium.journal._store import Entry, RunInfo, Store
from trivium.journal._tree import RunNode
from trivium.schema import ToolCall
from trivium.schema.lowlevel import EDITED

KEEP: Final[Any] = object()
"""In place of an edited outcome: the node runs again."""
_CLOCKS: Final = frozenset(("now", "random", "new_id"))
"""The names of effects whose outcomes differ in any two runs, and mean nothing by that."""
_ENDS: Final = frozenset(("outcome", "error", "retry"))
_LONGEST: Final = 200
_WORDS: Final = {
    "input": "began with something else", "missing": "is in one of them alone",
    "asked": "was asked something else", "answered": "gave another answer",
}  # fmt: skip


class Divergence(NamedTuple):
    """The first difference of two runs.

    Args:
        path: the node, by its path.
        what: "input": they began with other messages; "asked": the node was asked something else; "answered": it gave
            another answer; "missing": only one of them has the node.
        first: what the first run has there, on one line; "" for nothing.
        second: the same of the second run.
    """

    path: str
    what: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.path} {_WORDS[self.what]}\n- {self.first}\n+ {self.second}"


def add_fork(
    store: Store, run_id: str | None, origin: RunInfo, digest: str, begun: Mapping[str, Any], entries: Sequence[Entry]
) -> str:
    """Add a run that goes on from records of another one, and return its id; see `RunView.fork`.

    Args:
        store: the store of both.
        run_id: its id; None: the other one's with a number.
        origin: the other run.
        digest: the digest of the input.
        begun: what it begins with.
        entries: its records.

    Raises:
        RunInputError: there is a run of that id.
    """
    first = Entry(0, "begin", origin.root, "", origin.root, "", json.dumps(begun, ensure_ascii=False), time.time())
    records = [first, *(each for each in entries if each.kind != "begin")]
    taken = {each.id for each in store.runs()}
    numbered = (name for at in count(1) if (name := f"{origin.id}-fork-{at}") not in taken)
    for own in numbered if run_id is None else [run_id]:
        if own not in taken and store.add_fork(own, origin, digest, store.seal.link(own, records, None)):
            return own
    raise RunInputError(f"there is a run {run_id!r} already: give the fork an id of its own", run_id or "")


def entries_before(entries: Sequence[Entry], node: RunNode, edit: Any, codec: Codec, run_id: str) -> list[Entry]:
    """Return the records of a run up to a node, which has an edited outcome if one is given.

    The outcome of an effect that was intended before belongs to them, also where it came later.

    Raises:
        UnknownNodeError: the node has no outcome that could be edited.
    """
    begun = {each.node for each in entries if each.kind == "intent" and each.seq < node.first}
    below = set[str]() if edit is KEEP else {each.key for each in node.walk()} - {node.key}  # of what does not run
    kept = [
        each
        for each in entries
        if each.seq < node.first or each.node in below or (each.kind in _ENDS and each.node in begun)
    ]
    if edit is KEEP:
        return kept
    if not node.is_effect:
        raise UnknownNodeError(
            f"{node.path} asks nothing of the world outside, so it has no outcome to edit: name a model, tool or step "
            "below it",
            run_id,
            node.path,
        )
    own = [each for each in entries if each.node == node.key and each.kind in ("outcome", "error", "intent")]
    body = codec.dump(edit) if node.name != "model" else _reply(edit, codec)
    read = notes_in(own[-1].body)._replace(agents={})  # who edits a text may leave what was read for it
    return [*kept, own[0]._replace(kind="outcome", body=with_notes(body, read))]


def without_decisions(entries: Sequence[Entry]) -> list[Entry]:
    """Return records without the decisions on calls that have not begun: these count for their run alone."""
    last = dict[str, int]()
    for at, each in enumerate(entries):
        last[each.node] = last[each.parent] = at
    return [each for at, each in enumerate(entries) if each.kind != "decision" or last[each.parent] > at]


def _reply(edit: Any, codec: Codec) -> str:
    """Return the recorded form of the answer of a model."""
    if isinstance(edit, str):
        return codec.dump({"text": edit, "finish_reason": EDITED}).join(('{"$":"Reply","v":', "}"))
    calls = (edit,) if isinstance(edit, ToolCall) else tuple(edit)
    return codec.dump({"text": "", "tool_calls": calls}).join(('{"$":"Reply","v":', "}"))


# ---- two runs
def first_divergence(first: RunNode, second: RunNode) -> Divergence | None:
    """Return the first difference of two trees, in the order of the first one's records."""
    ours, theirs = (
        [each for each in sorted(top.walk(), key=_place) if each is not top and each.name not in _CLOCKS]
        for top in (first, second)
    )
    others = {each.key: each for each in theirs}
    for node in ours:
        other = others.get(node.key)
        if other is None:
            return Divergence(node.path, "missing", _said(node), "")
        if node.digest != other.digest:
            return Divergence(node.path, "asked", _asked(node), _asked(other))
        if _answer(node) != _answer(other):
            return Divergence(node.path, "answered", _said(node), _said(other))
    known = {each.key for each in ours}
    for node in theirs:
        if node.key not in known:
            return Divergence(node.path, "missing", "", _said(node))
    return None


def _place(node: RunNode) -> int:
    """Return the record from which on a node counts: that of its outcome, and of other nodes the first."""
    return node.last if node.is_effect else node.first


def _answer(node: RunNode) -> Any:
    """Return what a node was answered, as far as it matters: not what it cost."""
    value = node.error or node.outcome
    if node.name == "model" and isinstance(value, dict):
        return {key: each for key, each in cast("dict[str, Any]", value)["v"].items() if key in ("text", "tool_calls")}
    return value


def _asked(node: RunNode) -> str:
    return f"digest {node.digest}" if node.asked is None else _short(node.asked)


def _said(node: RunNode) -> str:
    answer = _answer(node)
    if isinstance(answer, dict) and node.name == "model":
        said = cast("dict[str, Any]", answer)
        return _short(said["text"] or said.get("tool_calls", ""))
    return _short("" if answer is None else answer)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
