"""A durable run: what its calls claim of the record of an earlier attempt, and the effects that it performs."""

from __future__ import annotations

import json
import time
from asyncio import CancelledError
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, repeat
from threading import RLock
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar, cast

from pydantic import BaseModel

from trivium.commander.lowlevel import (
    CallNode,
    TaskNode,
    claim_key,
    current,
    driver_neutral,
    emit,
    is_blocking,
    key_of,
    node_name,
    note_sources,
    parent_of,
    run_in_worker,
    settle,
    sources_of,
    wait,
)
from trivium.exceptions import DivergedError, RunAliveError, RunPausedError, ToolError
from trivium.journal._approvals import Decided, is_settled
from trivium.journal._codec import Codec, digest_of, notes_in, with_notes
from trivium.journal._events import Fork, ForkedEvent
from trivium.journal._fingerprints import Fingerprint, Fingerprints, changed_lines
from trivium.journal._store import Caller, Entry, EntryKind, Part, RunStatus, Store, chain_of
from trivium.policies import NOTHING, Sources

__all__ = ["DurableRun", "EffectKind", "HasState", "Reconcile"]

T = TypeVar("T")
EffectKind: TypeAlias = Literal["read", "idempotent", "once"]
"""The effect of an act on the world: none; the same for any number of times; or one that must happen once."""

Reconcile: TypeAlias = Callable[[], Any]
"""Finds out whether an act has happened whose outcome is not known: returns the outcome, or raises LookupError."""

_REPEATABLE: Final = ("read", "idempotent")
_PAUSES: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Seconds between looks at a run that another attempt has, the last one again and again."""


class HasState(Protocol):
    """A module, as far as a run restores it."""

    def state_dict(self, session_id: Hashable = 0) -> Mapping[str, list[Any]]:
        """Return what it remembers of a session."""
        ...

    def load_state_dict(self, state: Mapping[str, Any], session_id: Hashable = 0) -> None:
        """Take what `state_dict` gave."""
        ...

    def named_modules(self) -> Iterable[tuple[str, object]]:
        """Return it and all modules below."""
        ...


class _Record:
    """What an earlier attempt has recorded of one node."""

    __slots__ = ("asked", "claimed", "digest", "end", "key", "name", "outcome", "start")

    def __init__(self, entry: Entry) -> None:
        self.key, self.name, self.digest = entry.node, entry.name, entry.digest
        self.asked = entry.body if entry.kind in ("call", "intent") else ""
        self.outcome: tuple[EntryKind, str] | None = None
        """The kind and the body of its latest record, where that is no beginning."""
        self.start, self.end = entry.seq, 1 << 62
        self.claimed = False

    def overlaps(self, other: _Record) -> bool:
        """Return whether both ran at the same time."""
        return self.start < other.end and other.start < self.end


class DurableRun:
    """One attempt of a run: made by a journal, and the `journal` of the scope of all its nodes.

    It begins with the call that it was made for, and ends with it.

    Args:
        store: where the records are.
        codec: the form of values.
        run_id: the run.
        accepts_changes: whether agents may have been changed since the run began.
    """

    def __init__(self, store: Store, codec: Codec, run_id: str, accepts_changes: bool = False) -> None:
        self.id, self.epoch = run_id, 0
        self._fingerprints = Fingerprints(run_id, store.parts, accepts_changes)
        self._chains: list[list[Part]] = []
        """What the records that wait refer to."""
        self._store, self._codec = store, codec
        self._lock = RLock()
        self._last: Entry | None = None
        self._by_key: dict[str, _Record] = {}
        self._siblings: defaultdict[tuple[str, str], list[_Record]] = defaultdict(list)
        self._taken: set[str] = set()
        self._located: set[str] = set()
        """The keys of nodes that have no claim, and whose place in the tree is recorded."""
        self._failed: list[tuple[Exception, TaskNode]] = []
        self._waiting: list[Entry] = []
        self._begun: str | None = None
        """The JSON of what the run began with, in an attempt after the first."""
        self._entered: set[tuple[int, Hashable]] = set()
        """The modules that were called in this attempt, with the session."""

    def _read(self, entry: Entry) -> None:
        self._last = entry
        if entry.kind == "begin":
            self._begun = entry.body
            return
        if entry.kind == "node":
            self._located.add(entry.node)
            return
        record = self._by_key.get(entry.node)
        if record is None:
            record = self._by_key[entry.node] = _Record(entry)
            self._siblings[entry.parent, entry.name].append(record)
        if entry.kind == "intent":  # again, of what is tried once more
            record.outcome = None
        elif entry.kind != "call":
            if entry.kind == "outcome":
                self._fingerprints.add(notes_in(entry.body)[1])
            record.outcome = entry.kind, entry.body
            record.end = entry.seq

    # ---- claims
    def claim(self, node: TaskNode, digest: str, asked: object, *, is_strict: bool = True) -> _Record | None:
        """Claim the record of a node, which takes its key; None for a node that has none.

        It is the one of its key, if its digest is the same; else the first of its siblings of that name whose digest
        is the same, which nobody has claimed.

        Args:
            node: the node, which has just started.
            digest: the digest of what it is asked.
            asked: what it is asked, as JSON's own values, for the error.
            is_strict: whether another digest at its key is an error wherever it stands.

        Raises:
            DivergedError: the record of its key is that of something else.
        """
        with self._lock:
            key = key_of(node)
            own = self._by_key.get(key)
            if own is not None and own.digest == digest and not own.claimed:
                return self._take(own)
            above = parent_of(node)
            siblings = self._siblings[key_of(above) if above is not None else "", node_name(node)]
            for each in siblings:
                if not each.claimed and each.digest == digest:
                    claim_key(node, each.key)
                    return self._take(each)
            if own is not None or key in self._taken:
                if own is not None and (
                    is_strict or not any(own.overlaps(each) for each in siblings if each is not own)
                ):
                    raise self._diverged(node, own, asked)
                own_key, number = key, 0
                while key in self._taken or key in self._by_key:
                    number += 1
                    key = f"{own_key}~{number}"
                claim_key(node, key)
            self._taken.add(key)
            return None

    def _take(self, record: _Record) -> _Record:
        record.claimed = True
        self._taken.add(record.key)
        return record

    def _diverged(self, node: TaskNode, record: _Record, asked: object) -> DivergedError:
        path = node.path if isinstance(node, CallNode) else node_name(node)
        changes = f"now it asks: …{json.dumps(asked, indent=1, ensure_ascii=False, sort_keys=True)[-500:]}"
        if record.asked:
            recorded: object = json.loads(record.asked)
            was = cast("dict[str, object]", recorded)["asked"] if isinstance(recorded, dict) else recorded
            changes = "\n".join(changed_lines(was, asked))
        return DivergedError(
            f"{path} does not ask what the run {self.id!r} has recorded there. Code between effects must do the same "
            "in every attempt: take the time, random numbers and ids from this_call(), or give the new program a new "
            f"run id.\n{changes}",
            self.id,
            path,
        )

    # ---- calls
    @driver_neutral
    async def call(
        self, node: CallNode, asked: object, act: Callable[[], Awaitable[T]], state: HasState | None = None
    ) -> T:
        """Record a call; the first one is the whole run.

        Args:
            node: the node of the call, which has started.
            asked: what it is asked.
            act: does what the call does.
            state: what the run begins with is recorded, and in a later attempt restored, in the session of the call.

        Raises:
            RunInputError: the run began with another input, or another module.
            RunAliveError: the caller is at work on it, and would wait for itself.
            DivergedError: something else was asked here.
        """
        encoded = self._codec.encode(asked)
        digest = digest_of(encoded)
        is_new = state is not None and self._is_new(node, state)
        if not self.epoch:
            await self.begin(node, digest)
            with self.until_end():
                self._restore(node, state, self._begun)
                if self._begun is None:
                    self._write(self._entry("begin", node, "", self._body(node, encoded, state)))
                return await act()
        record = self.claim(node, digest, encoded, is_strict=False)
        if record is None:
            self._waiting.append(
                self._entry("call", node, digest, self._body(node, encoded, state if is_new else None))
            )
        elif is_new:
            self._restore(node, state, record.asked)
        try:
            return await act()
        finally:
            if record is None or record.outcome is None:
                self._waiting.append(self._entry("end", node, "", ""))

    def _is_new(self, node: CallNode, state: HasState) -> bool:
        """Return whether a module has not been called before in this attempt, in this session."""
        places = {(id(module), node.session_id) for _, module in state.named_modules()}
        is_new = (id(state), node.session_id) not in self._entered
        self._entered |= places
        return is_new

    def _body(self, node: CallNode, asked: object, state: HasState | None) -> str:
        body = {"asked": asked}
        if node.session_id != 0:
            body["session"] = self._codec.encode(node.session_id)
        saved = dict[str, list[Any]]() if state is None else dict(state.state_dict(node.session_id))
        chains = {path: chain_of(map(self._codec.dump, messages)) for path, messages in saved.items() if messages}
        if chains:
            body["state"] = {path: chain[-1].digest for path, chain in chains.items()}
            self._chains += chains.values()
        return json.dumps(body, ensure_ascii=False)

    @driver_neutral
    async def begin(self, node: CallNode, digest: str = "") -> None:
        """Begin the run with this node, or go on with it; while another attempt is at work on it, wait for that.

        The wait ends with the deadline of the node.

        Raises:
            RunInputError: the run began with another input, or another module.
            RunAliveError: the caller is at work on it, and would wait for itself.
        """
        claim_key(node, node_name(node))  # wherever it is called from
        self._located.add(key_of(node))
        pauses = chain(_PAUSES, repeat(_PAUSES[-1]))
        while not self.epoch:
            try:
                self.epoch, entries = await self._beside_loop(
                    partial(self._store.begin, self.id, node_name(node), digest, Caller.here())
                )
            except RunAliveError as error:
                if error.is_here:
                    raise
                await wait(next(pauses))
            else:
                for entry in entries:
                    self._read(entry)
        fork = None if self._begun is None else json.loads(self._begun).get("fork")
        if fork is not None:
            self._fingerprints.accepts = True
            emit(node, ForkedEvent, Fork(*fork))

    @contextmanager
    def until_end(self) -> Generator[None]:
        """End the run with the block."""
        try:
            yield
        except BaseException as error:
            ended = "stopped" if not isinstance(error, Exception) else "failed"
            self._end("paused" if isinstance(error, RunPausedError) else ended, error)
            raise
        self._end("done")

    def _restore(self, node: CallNode, state: HasState | None, body: str | None) -> None:
        """Have a module remember what it did when it was first called, or nothing."""
        if state is None or body is None:
            return
        heads = json.loads(body).get("state", {})
        kept = {path: list[Any]() for path in state.state_dict(node.session_id)}
        for path, head in heads.items():
            kept[path] = [self._codec.load(part.body) for part in self._store.parts(head)]
        outside = current.set(None)  # it was remembered then: what this run has read is not in it
        try:
            state.load_state_dict(kept, node.session_id)
        finally:
            current.reset(outside)

    def _end(self, status: RunStatus, error: BaseException | None = None) -> None:
        """Note how the attempt has ended; the effect whose error ended it is tried again by the next one."""
        causes: list[BaseException] = []
        cause = error
        while cause is not None and cause not in causes:
            causes.append(cause)
            cause = cause.__cause__ or cause.__context__
        for failure, node in self._failed:
            if failure in causes:
                self._waiting.append(self._entry("retry", node, "", ""))
        why = "" if error is None else f"{type(error).__name__}: {error}"[:1000]
        try:
            self._write()
            self._store.end(self.id, self.epoch, status, why)
        finally:
            self._store.leave(self.id, self.epoch)

    # ---- effects
    @driver_neutral
    async def perform(
        self,
        node: CallNode,
        asked: object,
        act: Callable[[], Awaitable[T]],
        effect: EffectKind | None = "read",
        reconcile: Reconcile | None = None,
        types: tuple[type, ...] = (),
        bases: tuple[type[BaseModel], ...] = (),
        made_of: Callable[[], Fingerprint] | None = None,
    ) -> T:
        """Perform an effect, or return the outcome that an earlier attempt has recorded.

        The caller always gets the outcome as it can be read from the journal, so that the first attempt and a later
        one go on with the same value.

        Args:
            node: the node of the effect.
            asked: what is asked.
            act: performs it.
            effect: its effect on the world; None: unknown, which is treated as "once".
            reconcile: finds out whether an act has happened that was broken off.
            types: classes of outcomes that come back as themselves, beside those that the journal knows.
            bases: classes all of whose subclasses do.
            made_of: returns what the agent is made of whose model is asked.

        Raises:
            AgentChangedError: an agent was changed since an earlier attempt, and this effect would be a new one.
            DivergedError: something else was asked here.
            ToolError: an earlier attempt was broken off in an act that must not be repeated.
            Exception: the error of the act, also where it is recorded.
        """
        codec = self._codec.also(types, bases)
        encoded = codec.encode(asked)
        digest = digest_of(encoded)
        record = self.claim(node, digest, encoded)
        outcome = None if record is None or record.outcome is None or not is_settled(record.outcome) else record.outcome
        above = parent_of(node)
        if made_of is not None and above is not None:
            is_recorded = outcome is not None and outcome[0] == "outcome"
            self._fingerprints.compare(key_of(above), node_name(above), is_recorded, made_of)
        if outcome is not None:
            return self._recorded(node, outcome, codec)
        if self._fingerprints.change is not None:
            raise self._fingerprints.change
        if effect not in _REPEATABLE:
            if record is not None and record.outcome is None:
                return await self._reconciled(node, digest, reconcile)
            intent = self._entry("intent", node, digest, json.dumps(encoded, ensure_ascii=False))
            try:
                await self._beside_loop(partial(self._write, intent, is_durable=True))
            except CancelledError:  # it was not begun
                self._waiting.append(self._entry("retry", node, digest, ""))
                raise
        before = sources_of(node)  # these are noted again by the caller
        try:
            value = await act()
        except RunPausedError:
            if record is None:
                self._write(self._entry("intent", node, digest, json.dumps(encoded, ensure_ascii=False)))
            raise
        except Exception as error:
            self._failed.append((error, node))
            body = with_notes(self._codec.dump_error(error), sources_of(node) - before)
            self._write(self._entry("error", node, digest, body))
            raise
        return await self._beside_loop(partial(self._keep, node, digest, value, codec, before))

    def value(self, name: str, make: Callable[[], T]) -> T:
        """Return a value that the program takes from outside, such as the time; a later attempt gets the same."""
        with CallNode(name, current.get()) as node:
            record = self.claim(node, name, name)
            if record is not None and record.outcome is not None:
                return self._recorded(node, record.outcome, self._codec)
            return self._keep(node, name, make(), self._codec)

    def _keep(self, node: TaskNode, digest: str, value: object, codec: Codec, before: Sources = NOTHING) -> Any:
        body = codec.dump(value)
        agents = self._fingerprints.take_new()
        self._chains += agents.values()
        read = sources_of(node) - before
        noted = with_notes(body, read, {name: chain[-1].digest for name, chain in agents.items()})
        self._write(self._entry("outcome", node, digest, noted))
        return codec.load(body)

    def _recorded(self, node: TaskNode, outcome: tuple[EntryKind, str], codec: Codec) -> Any:
        """Return or raise what is recorded; the node has read what was read for it."""
        kind, body = outcome
        if kind == "decision":
            return Decided(**json.loads(body))
        note_sources(node, notes_in(body)[0])
        if kind == "error":
            raise codec.load_error(body)
        return codec.load(body)

    async def _reconciled(self, node: CallNode, digest: str, reconcile: Reconcile | None) -> Any:
        """Return the outcome of an act that was broken off, if it can be found out.

        Raises:
            ToolError: it cannot.
        """
        name = node_name(node).removeprefix("tool:")
        if reconcile is None:
            error = ToolError(
                f"it is not known whether {name} happened: the process ended while it ran. Find out before you call it "
                "again",
                name,
            )
            self._write(self._entry("error", node, digest, self._codec.dump_error(error)))
            raise error
        return self._keep(node, digest, await settle(reconcile()), self._codec)

    # ---- writing
    def _entry(self, kind: EntryKind, node: TaskNode, digest: str, body: str) -> Entry:
        above = parent_of(node)
        parent = "" if above is None else key_of(above)
        if kind != "begin" and above is not None and parent not in self._taken and parent not in self._located:
            self._located.add(parent)
            self._waiting.append(self._entry("node", above, "", ""))
        return Entry(0, kind, key_of(node), parent, node_name(node), digest, body, time.time())

    @driver_neutral
    async def _beside_loop(self, work: Callable[[], T]) -> T:
        """Do what waits for a disk or a server; a loop goes on meanwhile. It is done also if the wait is cancelled."""
        return work() if is_blocking() else await run_in_worker(work)

    def _write(self, *entries: Entry, is_durable: bool = False) -> None:
        """Write what waits, and then these, all or none."""
        with self._lock:
            last, numbered, waiting = self._last, list[Entry](), tuple(self._waiting)
            chains = tuple(self._chains)
            for entry in (*waiting, *entries):
                number, link = (0, "") if last is None else (last.seq, last.link)
                last = entry._replace(seq=number + 1).linked(link)
                numbered.append(last)
            if numbered:
                self._store.append(self.id, self.epoch, numbered, is_durable=is_durable, chains=chains)
            self._last = last
            del self._waiting[: len(waiting)], self._chains[: len(chains)]  # other threads add some
