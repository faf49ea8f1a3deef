"""What the nodes of an attempt claim of the record of an earlier one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import RLock
from typing import Final, cast

from trivium.commander.lowlevel import (
    CallNode,
    TaskNode,
    claim_key,
    driver_neutral,
    key_of,
    lender,
    node_name,
    parent_of,
    place_of_caller,
    wait,
)
from trivium.exceptions import DivergedError
from trivium.journal._branches import is_alone
from trivium.journal._codec import notes_in
from trivium.journal._fingerprints import changed_lines
from trivium.journal._store import Entry, EntryKind, check_text

_PAUSES: Final = (0.0, 0.05, 0.2, 0.5)
"""Seconds in which others may claim what was done before."""

NOT_STOPPED: Final = '"not stopped"'
"""The body of the record that a stop, the one before it, does not count: what an effect had come to until then does."""


class Record:
    """What an earlier attempt has recorded of one node."""

    __slots__ = ("asked", "before", "claimed", "digest", "end", "has_company", "key", "name", "outcome", "start")

    def __init__(self, entry: Entry) -> None:
        self.key, self.name, self.digest = entry.node, entry.name, entry.digest
        self.asked = entry.body if entry.kind in ("call", "intent") else ""
        self.outcome: tuple[EntryKind, str] | None = None
        """The kind and the body of its latest record, where that is no beginning."""
        self.before: tuple[EntryKind, str] | None = None
        """Those of the record before that one."""
        self.start, self.end = entry.seq, 1 << 62
        self.claimed = self.has_company = False

    def has_result(self) -> bool:
        """Return whether its outcome or its error is recorded."""
        return self.outcome is not None and self.outcome[0] in ("outcome", "error")

    def overlaps(self, other: Record) -> bool:
        """Return whether both ran at the same time."""
        return self is not other and self.start < other.end and other.start < self.end


class Claims:
    """The records of a run, each of which one node of an attempt claims when it starts.

    Args:
        run_id: the run.
        on_start: called with each node that starts.

    Attributes:
        started: the nodes that have started, by their keys: for each the id of its asyncio task; 0: none.
    """

    def __init__(self, run_id: str, on_start: Callable[[TaskNode], object]) -> None:
        self.started: dict[str, int] = {}
        self._root_place = (0, 0)
        self._held_up = set[int]()  # the asyncio tasks that wait in `refuse_repeat`
        self._on_start = on_start
        self._run_id, self._lock = run_id, RLock()
        self._by_key: dict[str, Record] = {}
        self._acts: dict[str, Record] = {}  # those with an intent that nobody has claimed
        self._parents: dict[str, str] = {}
        self._running: defaultdict[str, set[str]] = defaultdict(set)
        self._in_company: set[str] = set()
        self._siblings: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)

    @contextmanager
    def running(self, node: TaskNode) -> Generator[None]:
        """Note which nodes below the same one run at the same time, as long as the block runs."""
        above, key = parent_of(node), key_of(node)
        siblings = self._running["" if above is None else key_of(above)]
        siblings.add(key)
        if len(siblings) > 1:
            self._in_company |= siblings
        try:
            yield
        finally:
            siblings.discard(key)

    def has_company(self, node: TaskNode) -> bool:
        """Return whether others below the same node have run at the same time."""
        return key_of(node) in self._in_company

    def read(self, entry: Entry) -> None:
        """Note a record of an earlier attempt."""
        self._parents[entry.node] = entry.parent
        if entry.kind == "node":
            return
        record = self._by_key.get(entry.node)
        if record is None:
            record = self._by_key[entry.node] = Record(entry)
            self._siblings[entry.parent, entry.name].append(record)
        if entry.kind == "intent":  # perhaps again, of what is tried once more
            record.asked, record.outcome = entry.body, None
            self._acts[record.key] = record
        elif entry.body == NOT_STOPPED:
            record.outcome = record.before
        elif entry.kind != "call":
            record.before, record.outcome = record.outcome, (entry.kind, entry.body)
            record.end = entry.seq
            record.has_company |= notes_in(entry.body).has_company

    def record_of(self, key: str) -> Record | None:
        """Return the record of a node; None: it has none."""
        return self._by_key.get(key)

    def is_done(self, key: str) -> bool:
        """Return whether a result or an error of a node is recorded."""
        record = self._by_key.get(key)
        return record is not None and record.has_result()

    def unclaimed(self) -> list[str]:
        """Return the keys of records that no node has claimed, but for those below another one of them, or a result."""
        return [key for key, each in self._by_key.items() if not each.claimed and not self._is_covered(key)]

    def _is_covered(self, key: str) -> bool:
        return any(not above.claimed or above.has_result() for above in self._above(key))

    def _above(self, key: str) -> Generator[Record]:
        while key := self._parents.get(key, ""):
            if (record := self._by_key.get(key)) is not None:
                yield record

    def claim(self, node: TaskNode, digest: str, asked: Callable[[], object]) -> Record | None:
        """Claim the record of a node, which takes its key; None for a node that has none.

        It is the one of its key, if its digest is the same; else the first of its siblings of that name whose digest
        is the same, which nobody has claimed. Another digest at its key is an error, unless the record there is of one
        of several that ran at once, or the node runs in an asyncio task of its own, as each branch of a `gather` does:
        these start in any order, and some were perhaps never recorded.

        Args:
            node: the node, which has just started.
            digest: the digest of what it is asked.
            asked: returns what it is asked, as JSON's own values, for the error.

        Raises:
            DivergedError: the record of its key is that of something else.
            JournalError: its name is no valid text.
        """
        check_text(self._run_id, node_name(node))
        with self._lock:
            record = self._find(node, digest, asked)
            if record is not None:
                record.claimed, key = True, record.key
                self._acts.pop(key, None)
            else:
                key = own_key = key_of(node)
                number = 0
                while key in self.started or key in self._by_key:
                    number += 1
                    key = f"{own_key}~{number}"
            claim_key(node, key)
            self.start(node)
            return record

    def start(self, node: TaskNode) -> None:
        """Note that a node has started, in the asyncio task that runs here."""
        self._on_start(node)
        place = place_of_caller()
        self._root_place = self._root_place if self.started else place
        self.started[key_of(node)] = place[1]

    @driver_neutral
    async def refuse_repeat(self, node: TaskNode) -> None:
        """Refuse a new act that must happen once, where an act of its name, done by an earlier attempt, was passed by.

        It is probably the same, with another question or in a call of another name: the program was changed, or does
        not do the same in each attempt. But branches start in any order, so the others may claim theirs meanwhile; a
        branch beside which others run goes on after that, for these may still come.

        Raises:
            DivergedError: some are still not claimed.
        """
        if not self._acts:  # most runs
            return
        name, place = node_name(node), place_of_caller()
        self._held_up.add(place[1])
        try:
            for pause in _PAUSES:
                await wait(pause)
                if not any(self._is_missed(each, name) for each in list(self._acts.values())):
                    return
            above = {self.started.get(key_of(each)) for each in node.ancestor_chain}
            if place != self._root_place and not is_alone({*above, *self._held_up}):
                return
        finally:
            self._held_up.discard(place[1])
        path = node.path if isinstance(node, CallNode) else node_name(node)
        raise DivergedError(
            f"{path} would be done now, but the run {self._run_id!r} has done {name.removeprefix('tool:')} for which "
            "this attempt has not asked: it may be the same. Nothing was done. Have the program do what it did, with "
            "the same questions in calls of the same names; or give the new program a new run id; or, if this is "
            "something else, resume the run with journal.accepting_changes().",
            self._run_id,
            path,
        )

    @driver_neutral
    async def refuse_new(self, node: CallNode) -> None:
        """Refuse an effect in a run that is done; a branch waits a moment: what others repeat may have stopped it.

        Raises:
            DivergedError: it says what to do instead.
        """
        if place_of_caller() != self._root_place:
            for pause in _PAUSES:
                await wait(pause)
        text = f"{node.path} would be done now, but the run {self._run_id!r} is finished: what it has recorded is"
        advice = f"Fork it (`trivium fork {self._run_id}`), or give the call another run id"
        raise DivergedError(f"{text} repeated, and nothing new is done. {advice}", self._run_id, node.path)

    def _is_missed(self, record: Record, name: str) -> bool:
        """Return whether an act has this name, may have happened, and stands below no result."""
        has_happened = record.outcome is None or record.outcome[0] == "outcome"
        return record.name == name and has_happened and not any(map(Record.has_result, self._above(record.key)))

    def _find(self, node: TaskNode, digest: str, asked: Callable[[], object]) -> Record | None:
        own = self._by_key.get(key_of(node))
        if own is not None and own.digest == digest and not own.claimed:
            return own
        above = parent_of(node)
        siblings = self._siblings[key_of(above) if above is not None else "", node_name(node)]
        for each in siblings:
            if not each.claimed and each.digest == digest:
                return each
        if own is None or own.claimed or own.has_company or any(map(own.overlaps, siblings)) or self._is_branch(node):
            return None
        raise self._diverged(node, own, asked())

    def _is_branch(self, node: TaskNode) -> bool:
        """Return whether an asyncio task runs here that is not the one of the node above."""
        task, above = place_of_caller()[1], parent_of(node)
        while above is not None and key_of(above) not in self.started:
            above = parent_of(above)
        if above is None or not task:
            return False
        before = self.started[key_of(above)]
        return task != before if before else lender.get() is None  # a sync caller lends its thread, but not to `gather`

    def _diverged(self, node: TaskNode, record: Record, asked: object) -> DivergedError:
        path = node.path if isinstance(node, CallNode) else node_name(node)
        changes = f"now it asks: …{json.dumps(asked, indent=1, ensure_ascii=False, sort_keys=True)[-500:]}"
        if record.asked:
            recorded: object = json.loads(record.asked)
            was = cast("dict[str, object]", recorded)["asked"] if isinstance(recorded, dict) else recorded
            changes = "\n".join(changed_lines(was, asked))
        return DivergedError(
            f"{path} does not ask what the run {self._run_id!r} has recorded there. Code between effects must do the "
            "same in every attempt: take the time, random numbers and ids from this_call(), or give the new program a "
            f"new run id.\n{changes}",
            self._run_id,
            path,
        )
