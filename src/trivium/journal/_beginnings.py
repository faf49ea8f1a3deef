"""Beginnings of the calls of a run: recorded by the first attempt, and held by later ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from trivium.commander.lowlevel import CallNode, change_scope, key_of, scope_of
from trivium.exceptions import AgentChangedError
from trivium.journal._codec import Codec
from trivium.journal._errors import stands_at
from trivium.journal._memories import HasState, RunMemories
from trivium.journal._records import Records
from trivium.journal._store import Store, chain_of

if TYPE_CHECKING:
    from trivium.policies import Policy

_Policies: TypeAlias = "Sequence[Policy]"


class _Task(Protocol):
    agent: object


class _TaskRun(Protocol):
    task: _Task


class Beginnings:
    """Records what the calls of an attempt begin with, and holds later attempts to it.

    A call has the policies of those above it, so that only what it has beside these is recorded.

    Args:
        run_id: the run.
        codec: the form of values.
        memories: what modules remember in the attempt.
        store: has the policies, each once.
        records: what the attempt writes.
    """

    def __init__(self, run_id: str, codec: Codec, memories: RunMemories, store: Store, records: Records) -> None:
        self._run_id, self._codec, self._memories, self._store, self._records = run_id, codec, memories, store, records
        self._known: dict[str, _Policies] = {}
        """The policies that the record gives to calls which have more of them than those above, by their keys."""
        self._written: dict[int, tuple[Policy, str]] = {}
        """Each policy that was written, which keeps its id, and its digest."""
        self._read: dict[str, dict[str, Any]] = {}
        """The JSON of each policy that was read, by its digest."""

    def body_of(self, node: CallNode, asked: object, state: HasState | None) -> str:
        """Return what a call begins with, as JSON.

        Args:
            node: the node of the call.
            asked: what it is asked, as JSON's own values.
            state: the module whose memory is recorded; None: none is.
        """
        body: dict[str, Any] = {"asked": asked}
        if node.session_id != 0:
            body["session"] = self._codec.encode(node.session_id)
        policies: _Policies = node.scope.policies
        if policies and (above := self._known_above(node)) is not policies:
            body["policies"] = [*map(self._written_as, _without(policies, above))]
            self._known[key_of(node)] = policies
        if state is not None:
            body |= self._memories.saved(state, node.session_id)
        return json.dumps(body, ensure_ascii=False)

    def hold(self, node: CallNode, body: str, module: HasState | None, *, is_new: bool) -> None:
        """Have a call go on with what it began with: its policies, beside those that it is given, and its memory.

        Args:
            node: the node of the call.
            body: what it began with.
            module: the module that is called.
            is_new: it is the first call of the module, which is to remember what it did then. So is one that has
                a memory in its record: earlier versions did not record what tools remember with their agent.

        Raises:
            AgentChangedError: it began under a policy of a class of its own, and none of that class is given.
        """
        if '"policies"' in body:
            self._hold_policies(node, json.loads(body).get("policies", ()), module)
        if module is not None and (is_new or ('"state"' in body and "state" in json.loads(body))):
            self._memories.rewind(module, node.session_id, body)

    def _hold_policies(self, node: CallNode, digests: Sequence[str], module: HasState | None) -> None:
        given: _Policies = node.scope.policies
        above = self._known_above(node)
        kept: list[Policy] = []
        own = _without(given, above)
        for digest in digests:
            kept.append(self._find(node, digest, given, own))
            own = _without(own, kept)  # each serves for one
        lost = _without(kept, given)
        _add(node, lost)
        run = cast("_TaskRun | None", node.scope.task_run)
        for each in node.ancestor_chain if lost and run is not None and run.task.agent is module else ():
            if scope_of(each).task_run is run:  # there the task handles what its agent calls
                _add(each, lost)
        recorded = (*above, *kept)
        self._known[key_of(node)] = recorded if _without(given, recorded) else node.scope.policies

    def _known_above(self, node: CallNode) -> _Policies:
        """Return the policies that the record gives to the calls above."""
        for each in node.ancestor_chain[1:]:
            if scope_of(each).journal is not node.scope.journal:
                break
            if (known := self._known.get(key_of(each))) is not None:
                return known
        return ()

    def _written_as(self, policy: Policy) -> str:
        """Return the digest of a policy, which is written with the next record."""
        if id(policy) not in self._written:
            own = [[each.__module__, each.__qualname__] for each in policy.own_classes]
            chain = chain_of([json.dumps({"own": own} if own else policy.as_json())])
            self._records.chains.append(chain)
            self._written[id(policy)] = policy, chain[-1].digest
        return self._written[id(policy)][1]

    def _find(self, node: CallNode, digest: str, given: _Policies, own: _Policies) -> Policy:
        """Return the policy of a digest: the one that is given, or a new one.

        Args:
            node: the node of the call.
            digest: the digest.
            given: the policies of the call.
            own: those that may be one of a class of its own.
        """
        from trivium.policies import Policy, Rule  # most runs have none

        if digest not in self._read:
            self._read[digest] = json.loads(self._store.parts(digest)[-1].body)
        written = self._read[digest]
        if "own" not in written:
            policy = Policy.from_json(written)
            return next((each for each in given if each == policy), policy)
        for each in own:
            if len(each.own_classes) == len(written["own"]) and all(map(stands_at, each.own_classes, written["own"])):
                return each
        if self._records.is_done:  # it is only read: whatever is new is refused
            return Policy([Rule("refuse")])
        name = " and ".join(".".join(each) for each in written["own"])
        raise AgentChangedError(
            f"{node.name} began in the run {self._run_id!r} under a policy with the class {name}, and does not go on "
            "without one. Nothing was asked or done. Give it to the agent, or to the call, as "
            "view.resume(program, policy=…)",
            self._run_id,
            node.name,
            ("policy",),
        )


def _without(policies: _Policies, others: _Policies) -> list[Policy]:
    """Return the policies that are none of the others; equal ones of a class of its own may differ."""
    return [each for each in policies if not any(each is other for other in others)]


def _add(node: Any, policies: _Policies) -> None:
    held = scope_of(node).policies
    if new := [each for each in policies if each not in held]:
        change_scope(node, policies=(*held, *new))
