"""A durable run: what its calls claim of the record of an earlier attempt, and the effects that it performs."""

from __future__ import annotations

import json
import time
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, repeat
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel

from trivium.commander.lowlevel import (
    CallNode,
    Cancellation,
    TaskNode,
    checkpoint,
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
    wait,
)
from trivium.exceptions import JournalError, RunAliveError, RunPausedError
from trivium.journal._approvals import Decisions
from trivium.journal._beginnings import Beginnings
from trivium.journal._claims import NOT_STOPPED, Claims, Record
from trivium.journal._codec import Codec, Notes, digest_of_messages, is_large, notes_in, with_notes
from trivium.journal._digests import Digests
from trivium.journal._effects import MAY_REPEAT, REPEATABLE, EffectKind, Permit
from trivium.journal._events import Fork, ForkedEvent, report_unclaimed, report_waiting, warn_of_lost
from trivium.journal._failures import Failures, mark_unknown, unknown_act
from trivium.journal._fingerprints import Changes, Fingerprint, Fingerprints
from trivium.journal._memories import HasState, RunMemories
from trivium.journal._owners import Caller
from trivium.journal._reconciling import NOT_DONE, Reconcile, find_out
from trivium.journal._records import Records
from trivium.journal._seals import Decided
from trivium.journal._stops import cancelled_after, ending_of, find_stop, stop_again, stopped_in
from trivium.journal._store import Entry, EntryKind, RunStatus, Store, check_text
from trivium.journal._transactions import Transactions, check_transactional
from trivium.journal._tree import tree_of
from trivium.policies import NOTHING, Sources

T = TypeVar("T")
_PAUSES: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Seconds between looks at a run that another attempt has, the last one again and again."""
_SILENT: Final = 1.0
"""Seconds after which it is told that one waits."""


class DurableRun:
    """One attempt of a run: made by a journal, and the `journal` of the scope of all its nodes.

    It begins with the call that it was made for, and ends with it.

    Args:
        store: where the records are.
        codec: the form of values.
        run_id: the run.
        changes: the treatment of agents that were changed since the run began.
        digests: what is known of conversations of other runs.
    """

    def __init__(
        self, store: Store, codec: Codec, run_id: str, changes: Changes = "check", digests: Digests | None = None
    ) -> None:
        self.id, self._root, self.journal = run_id, "", cast("object", None)
        self._records = Records(run_id, store)
        self._memories = RunMemories(codec, store, self._records.chains)
        self._beginnings = Beginnings(run_id, codec, self._memories, store, self._records)
        self._fingerprints = Fingerprints(run_id, store.parts, changes)
        self._store, self._codec = store, codec
        self._failures, self._digests = Failures(), digests or Digests()
        self._claims = Claims(run_id, self._failures.go_on)
        self.decisions = Decisions(run_id, store.seal, self._claims)
        self._located: set[str] = set()
        """The keys of nodes that have no claim, and whose place in the tree is recorded."""
        self._asking: set[str] = set()
        """Those of calls that have no record of their own yet: it is asked whether they may be performed."""
        self._stops: dict[str, Exception] = {}
        """The recorded stops of calls that have started, by their keys."""
        self._stopped_in, self._waits = "", False
        """The path of the innermost node in which the run was stopped, with a colon."""
        self._transactions = Transactions(run_id, store, self._records)
        self._begun: str | None = None
        """The JSON of what the run began with, in an attempt after the first."""

    def _read(self, entry: Entry) -> None:
        self._records.last = entry
        if entry.kind == "begin":
            self._begun = entry.body
        if entry.node == self._root:
            return
        if entry.kind == "node":
            self._located.add(entry.node)
        self._claims.read(entry)
        self.decisions.read(entry)
        self._failures.read(entry)
        if entry.kind == "outcome":
            self._fingerprints.add(notes_in(entry.body).agents)

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
            AgentChangedError: it began under a policy of a class of its own, is not done, and goes on without it.
            DivergedError: something else was asked here.
        """
        if self.transaction_of(node) is not None:
            return await act()
        encoded = self._codec.encode(asked)
        digest = digest_of_messages(encoded)
        is_new = state is not None and self._memories.is_new(state, node.session_id)
        if not self._records.epoch:
            await self.begin(node, digest)
            with self.until_end(node, state) as ending:
                if self._begun is None:
                    self._records.write(self._entry("begin", node, "", self._beginnings.body_of(node, encoded, state)))
                else:
                    self._beginnings.hold(node, self._begun, state, is_new=True)
                result = await act()
                ending.append(result)
                return result
        record = self._claims.claim(node, digest, lambda: encoded)
        if record is None:
            body = self._beginnings.body_of(node, encoded, state if is_new else None)
            self._records.waiting.append(self._entry("call", node, digest, body))
        else:
            self._beginnings.hold(node, record.asked, state, is_new=is_new)
        stop = self._stop_in(node, record)
        with self._stops_noted(node, digest, node.sources):
            try:
                result = await act()
                if stop is not None:
                    stop_again(node, stop)
                return result
            finally:
                if record is None or record.outcome is None:
                    self._records.waiting.append(self._entry("end", node, "", ""))

    def _stop_in(self, node: CallNode, record: Record | None) -> Exception | None:
        """Return the recorded stop of a call that starts: it is stopped again before it asks for something new."""
        if record is None or record.outcome is None or record.outcome[0] != "error":
            return None
        stop = self._stops[key_of(node)] = self._error_in(node, record.outcome[1], self._codec)
        return stop

    def _error_in(self, node: TaskNode, body: str, codec: Codec) -> Exception:
        """Return the recorded error, or stop, of a node; if it ends the run again, the next attempt tries again."""
        error = codec.load_error(body)
        stopped = stopped_in(node, error)
        again = self._entry("retry", node, "", NOT_STOPPED if stopped else "")
        self._failures.note(node, stopped or error, again, is_recorded=True)
        return error

    @driver_neutral
    async def begin(self, node: CallNode, digest: str = "") -> None:
        """Begin the run with this node, or go on with it; while another attempt is at work on it, wait for that.

        The wait ends with the deadline of the node.

        Raises:
            RunInputError: the run began with another input, or another module.
            RunAliveError: the caller is at work on it, and would wait for itself.
        """
        self._root = node_name(node)
        check_text(self.id, self.id, self._root)
        claim_key(node, self._root)  # wherever it is called from
        self._claims.start(node)
        self._located.add(self._root)
        pauses, since, is_told = chain(_PAUSES, repeat(_PAUSES[-1])), time.monotonic(), False
        while not self._records.epoch:
            try:
                await self._beside_loop(partial(self._begin, node_name(node), digest, Caller.here()))
            except RunAliveError as error:
                if error.is_here:
                    raise
                if not is_told and time.monotonic() - since >= _SILENT:
                    is_told = True
                    report_waiting(self.id, error.owner)
                await wait(next(pauses))
            except CancelledError:
                self._store.leave(self.id, self._records.epoch)
                raise
        if (fork := json.loads(self._begun or "{}").get("fork")) is not None:
            self._fingerprints.changes = "accept"
            emit(node, ForkedEvent, Fork(*fork))

    def _begin(self, name: str, digest: str, caller: Caller) -> None:
        for entry in self._records.begin(name, digest, caller):
            self._read(entry)

    @contextmanager
    def until_end(self, node: CallNode, state: HasState | None = None) -> Generator[list[object]]:
        """End the run with the block, which is that of its node.

        It records the result, if the block puts one into the list, and what is remembered of a session.
        """
        results: list[object] = []
        try:
            yield results
            if keys := self._claims.unclaimed():
                tree = tree_of(self._root, 0.0, self._store.entries(self.id), self._codec)
                report_unclaimed(node, self.id, tuple(each.path for each in tree.walk() if each.key in keys))
            if results and not self._records.is_done and not self._waits:
                body: dict[str, Any] = {"result": [self._codec.encode(each) for each in results]}
                if state is not None and node.session_id != 0:
                    body |= self._memories.saved(state, node.session_id)
                self._records.waiting.append(self._entry("end", node, "", json.dumps(body, ensure_ascii=False)))
        except BaseException as error:
            ended = "stopped" if not isinstance(error, Exception) else "failed"
            why = (self._stopped_in if ended == "stopped" else "") + ending_of(node, error)
            self._end("paused" if isinstance(error, RunPausedError) else ended, error, why)
            raise
        else:
            self._end("paused" if self._waits else "done")
        finally:
            self._memories.go_on()

    def _end(self, status: RunStatus, error: BaseException | None = None, why: str = "") -> None:
        """Note how the attempt has ended; the effect whose error ended it is tried again by the next one."""
        if error is not None and status != "paused" and not self._records.is_done:
            self._failures.explain(error, self.id)
            self._records.waiting += self._failures.behind(error)
        self._records.end(status, why, error)

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
        permit: Permit | None = None,
        recorded: object = None,
    ) -> T:
        """Perform an effect, or return the outcome that an earlier attempt has recorded.

        The caller always gets the outcome as it can be read from the journal, so that the first attempt and a later
        one go on with the same value.

        Args:
            node: the node of the effect.
            asked: what is asked.
            act: performs it.
            effect: its effect on the world; None: unknown, which is treated as "once".
            reconcile: finds out what became of an act that was broken off.
            types: classes of outcomes that come back as themselves, beside those that the journal knows.
            bases: classes all of whose subclasses do.
            made_of: returns what the agent is made of whose model is asked.
            permit: asks whether it may be performed.
            recorded: what is recorded as asked, where that is more than what identifies it; None: it is not.

        Raises:
            AgentChangedError: an agent was changed since an earlier attempt, and this effect would be a new one.
            DivergedError: something else was asked here.
            ToolError: an earlier attempt was broken off in an act that must not be repeated.
            Exception: the error of the act, also where it is recorded.
        """
        if self.transaction_of(node) is not None:
            check_transactional(node, effect)
            if permit is not None:
                await permit(False)
            return await act()
        codec = self._codec.also(types, bases)
        digest, encoded = self._digests.of(asked, codec), partial(codec.encode, asked if recorded is None else recorded)
        record = self._claims.claim(node, digest, encoded)
        if effect != "read":
            self._failures.act(node)
        outcome = None if record is None or self.decisions.flaw_of(node, record) else record.outcome
        if made_of is not None and (above := parent_of(node)) is not None:
            is_recorded = outcome is not None and outcome[0] == "outcome"
            self._fingerprints.compare(key_of(above), node_name(above), is_recorded, made_of)
        if outcome is not None:
            if permit is not None:
                await permit(True)
            return self._recorded(node, outcome, codec)
        may_repeat = effect in MAY_REPEAT
        broken_off = record if record is not None and record.outcome is None and not may_repeat else None
        if permit is not None and broken_off is None:
            await self._ask(node, record, permit, may_repeat=may_repeat)
        await self._go_on(node, effect, is_new=record is None and effect not in REPEATABLE)
        with self._claims.running(node):
            if effect == "transactional":
                act = partial(self._beside_loop, partial(self._transact, node, digest, act, codec))
            elif not may_repeat:
                if broken_off and (found := await self._reconciled(node, broken_off, reconcile)) is not NOT_DONE:
                    return found
                await self._intend(node, digest, json.dumps(encoded(), ensure_ascii=False))
            before = node.sources  # these are noted again by the caller
            with cancelled_after(node), self._stops_noted(node, digest, before), self.decisions.acting(node, effect):
                value = await self._acted(node, digest, record, encoded, act, before, effect)
                if effect != "transactional":
                    value = await self._keep(node, digest, value, codec, before)
                checkpoint(node)  # sync code cannot be interrupted
                return value

    @driver_neutral
    async def _go_on(self, node: CallNode, effect: EffectKind | None, *, is_new: bool) -> None:
        """Go on with an act that has no outcome: the run becomes longer than it was before."""
        for each in node.ancestor_chain if self._stops else ():
            if key_of(each) in self._stops:
                stop_again(node, self._stops[key_of(each)])
        if self._records.is_done and effect in ("idempotent", "transactional"):  # of one that happens once: `_intend`
            await self._claims.refuse_new(node)
        self._fingerprints.check()
        if is_new and self._fingerprints.changes != "accept":
            await self._claims.refuse_repeat(node)
        self._stopped_in, self._failures.has_gone_on = "", True

    @driver_neutral
    async def _ask(self, node: CallNode, record: Record | None, permit: Permit, *, may_repeat: bool) -> None:
        """Ask whether an act may be performed that is not recorded; meanwhile it has not begun."""
        if record is not None and not may_repeat:
            self.decisions.try_again(node, record)
        self._asking.add(key_of(node))
        try:
            await permit(False)
        except RunPausedError:
            self._waits = True
            raise
        finally:
            self._asking.discard(key_of(node))

    @driver_neutral
    async def _acted(
        self,
        node: CallNode,
        digest: str,
        record: Record | None,
        asked: Callable[[], object],
        act: Callable[[], Awaitable[T]],
        before: Sources,
        effect: EffectKind | None,
    ) -> T:
        """Return what an act gives; record the error that it raises, or what it asks for if the run pauses."""
        try:
            return await act()
        except RunPausedError:
            if not self.decisions.has_asked(node, record):
                told = self.decisions.digest_of(node, digest), json.dumps(asked(), ensure_ascii=False)
                self._records.write(self._entry("intent", node, *told))
            raise
        except Exception as error:
            if type(error) is not JournalError or error.place != self._store.place:  # that one is no outcome
                self._records.waiting += self._failures.behind(error, node)  # none is reached while this stands
                mark_unknown(error, is_repeatable=effect in MAY_REPEAT)
                self._note_error(node, digest, error, before)
            elif effect is not None and effect != "once":  # no intent that it would be taken for
                raise
            self._failures.note(node, error, self._entry("retry", node, digest, ""))  # now that it is recorded
            raise

    def _note_error(self, node: CallNode, digest: str, error: Exception, before: Sources) -> None:
        notes = Notes(node.sources - before, {}, self._claims.has_company(node), node.spent)
        self._records.write(self._entry("error", node, digest, with_notes(self._codec.dump_error(error), notes)))

    @contextmanager
    def _stops_noted(self, node: CallNode, digest: str, before: Sources) -> Generator[None]:
        """Record that a call or an effect is stopped, if the run goes on; a stop that ends it does not count later."""
        try:
            yield
        except (Cancellation, CancelledError, KeyboardInterrupt):  # the second where foreign code was woken above
            stop = None if key_of(node) in self._stops else find_stop(node, self._root)
            if stop is not None:
                self._note_error(node, digest, stop.error, before)
                self._failures.note(node, stop.node, self._entry("retry", node, "", NOT_STOPPED))
            else:
                self._stopped_in = self._stopped_in or f"{node.path}: "
            raise

    @driver_neutral
    async def _intend(self, node: CallNode, digest: str, asked: str) -> None:
        """Write the intent of an act that must not be repeated, unless the run is done."""
        if self._records.is_done:
            await self._claims.refuse_new(node)
        try:
            await self._records.write_beside(self._entry("intent", node, digest, asked), is_durable=True)
        except CancelledError:  # it was not begun
            self._records.waiting.append(self._entry("retry", node, digest, ""))
            raise

    def transaction_of(self, node: TaskNode) -> object:
        """Return the connection of the transaction in which a node is; None: it is in none."""
        return self._transactions.connection_of(node)

    def _transact(self, node: CallNode, digest: str, act: Callable[[], Awaitable[T]], codec: Codec) -> T:
        """Perform an act in a transaction; see `Transactions.perform`."""

        def entry(body: str, before: Sources) -> Entry:
            return self._entry("outcome", node, digest, self._noted(node, body, before))

        return self._transactions.perform(node, act, codec, entry)

    def value(self, name: str, make: Callable[[], T]) -> T:
        """Return a value that the program takes from outside, such as the time; a later attempt gets the same."""
        with CallNode(name, current.get()) as node:
            if self.transaction_of(node) is not None:
                return make()
            record = self._claims.claim(node, name, lambda: name)
            if record is not None and record.outcome is not None:
                return self._recorded(node, record.outcome, self._codec)
            body = self._codec.dump(make())
            self._records.write(self._entry("outcome", node, name, self._noted(node, body, NOTHING)))
            return self._codec.load(body)

    @driver_neutral
    async def _keep(self, node: CallNode, digest: str, value: object, codec: Codec, before: Sources = NOTHING) -> Any:
        is_long, kept = is_large(value), None
        with suppress(RuntimeError):  # what runs on the loop has changed the value meanwhile
            kept = await self._beside_loop(partial(codec.keep, value)) if is_long else None
        body, load, lost = kept or codec.keep(value)
        await self._records.write_beside(self._entry("outcome", node, digest, self._noted(node, body, before)))
        warn_of_lost(node, lost)
        return await self._beside_loop(load) if is_long else load()

    def _noted(self, node: CallNode, body: str, before: Sources) -> str:
        """Return the body of an outcome, with what was read for it and the agents that are new."""
        agents = self._fingerprints.take_new()
        self._records.chains += agents.values()
        digests = {name: chain[-1].digest for name, chain in agents.items()}
        spent = None if node.name == "model" else node.spent  # a reply tells that itself
        return with_notes(body, Notes(node.sources - before, digests, self._claims.has_company(node), spent))

    def _recorded(self, node: CallNode, outcome: tuple[EntryKind, str], codec: Codec) -> Any:
        """Return or raise what is recorded; the node has read what was read for it, and spent what was spent."""
        kind, body = outcome
        if kind == "decision":
            return Decided(**json.loads(body))
        notes = notes_in(body)
        note_sources(node, notes.sources)
        if (spent := notes.usage) is not None:
            node.spent = spent
            if node.name != "model" and (budget := node.scope.budget) is not None:  # a model counts its own
                budget.settle((0, 0.0), spent.total, spent.usd)
        if kind == "error":
            vars(error := self._error_in(node, body, codec))["_is_recorded"] = True  # who logs errors has told it
            stop_again(node, error)
            raise error
        return codec.load(body)

    async def _reconciled(self, node: CallNode, record: Record, reconcile: Reconcile | None) -> Any:
        """Return the outcome of an act that was broken off, or `NOT_DONE`, if it can be found out.

        Raises:
            ToolError: it cannot.
        """
        name = node_name(node).removeprefix("tool:")
        record.outcome = "outcome", ""  # so that nobody misses what stands below it
        if reconcile is None:
            error = unknown_act(name)
            self._records.write(self._entry("error", node, record.digest, self._codec.dump_error(error)))
            raise error
        found = await find_out(name, reconcile)
        if found is not NOT_DONE:
            return await self._keep(node, record.digest, found, self._codec)
        record.outcome = None
        return found

    # ---- writing
    def _entry(self, kind: EntryKind, node: TaskNode, digest: str, body: str) -> Entry:
        above = None if key_of(node) == self._root else parent_of(node)
        parent = "" if above is None else key_of(above)
        is_open = parent not in self._claims.started or parent in self._asking
        if above is not None and is_open and parent not in self._located:
            self._located.add(parent)
            self._records.waiting.append(self._entry("node", above, "", ""))
        return Entry(0, kind, key_of(node), parent, node_name(node), digest, body, time.time())

    @driver_neutral
    async def _beside_loop(self, work: Callable[[], T]) -> T:
        """Do what waits for a disk or a server; a loop goes on meanwhile. It is done also if the wait is cancelled."""
        return work() if is_blocking() else await run_in_worker(work)
