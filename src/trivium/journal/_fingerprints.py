"""What the agents of a run are made of, by which a later attempt notices that one was changed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import unified_diff
from typing import Any, Final, Literal, TypeAlias

from trivium.exceptions import AgentChangedError
from trivium.journal._store import Part, chain_of

Fingerprint: TypeAlias = Mapping[str, Any]
"""The parts of an agent by their names, as JSON's own values: its instruction, model, tools and output."""

Changes: TypeAlias = Literal["accept", "check", "refuse"]
"""An agent that was changed may go on; or may use recorded answers, but ask for nothing new; or not even that."""

_MOST_LINES: Final = 40


class Fingerprints:
    """What the agents of a run were made of when they were first asked in it.

    An agent may be made anew for each call, and many have the same name: so all that an agent of a name has been is
    known, and only one that is none of these was changed.

    Args:
        run_id: the run.
        parts: returns what is stored under a digest.
        changes: the treatment of an agent that was changed.
    """

    def __init__(self, run_id: str, parts: Callable[[str], Sequence[Part]], changes: Changes) -> None:
        self.changes: Changes = changes
        self._change: AgentChangedError | None = None
        self._run_id, self._parts = run_id, parts
        self._known = defaultdict[str, list[str]](list)
        self._calls = set[str]()
        self._new: dict[str, list[Part]] = {}

    def add(self, recorded: Mapping[str, str]) -> None:
        """Note the digests of agents, by their names, that an earlier attempt has recorded."""
        for name, digest in recorded.items():
            self._known[name].append(digest)

    def take_new(self) -> dict[str, list[Part]]:
        """Return the agents that are to be recorded with the next outcome, by their names."""
        new, self._new = self._new, {}
        return new

    def compare(self, call: str, name: str, is_recorded: bool, make: Callable[[], Fingerprint]) -> None:
        """Compare an agent with what those of its name have been, at the first answer of a call.

        Args:
            call: the key of the agent's call.
            name: the agent's name.
            is_recorded: whether its answer is taken from the journal.
            make: returns what the agent is made of.

        Raises:
            AgentChangedError: it was changed, and may not even use recorded answers.
        """
        if call in self._calls:
            return
        self._calls.add(call)
        now = make()
        chain, known = fingerprint_chain(now), self._known[name]
        digest = chain[-1].digest
        if digest in known:
            return
        if known and is_recorded and self.changes != "accept":
            before = json.loads(self._parts(known[-1])[-1].body)
            self._change = self._change or self._changed(name, before, now, known[-1])
            if self.changes == "refuse":
                raise self._change
            return
        known.append(digest)
        self._new[name] = chain

    def check(self) -> None:
        """Check that no agent was changed of which this attempt has used earlier answers: something new is asked.

        Raises:
            AgentChangedError: one was.
        """
        if self._change is not None:
            raise self._change

    def _changed(self, name: str, before: Fingerprint, now: Fingerprint, recorded: str) -> AgentChangedError:
        parts = tuple(_differing(before, now))
        lines = "\n".join(changed_lines(before, now))
        return AgentChangedError(
            f"{name} is not the agent with which the run {self._run_id!r} began: {', '.join(parts)} changed. Nothing "
            f"was asked or done. Go on with it as it was; or fork the run, journal.view({self._run_id!r}).fork(), and "
            f"resume the fork; or accept the change, by journal=journal.accepting_changes().\n{lines}",
            self._run_id,
            name,
            parts,
            recorded,
        )


def fingerprint_chain(made_of: Fingerprint) -> list[Part]:
    """Return what an agent is made of as a part to store; its digest stands for the agent."""
    return chain_of([json.dumps(made_of, ensure_ascii=False, sort_keys=True)])


def _differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterable[str]:
    for part in sorted(now):
        old, new = before[part], now[part]
        if part == "tools":
            yield from (f"tool {name}" for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name))
        elif old != new:
            yield part


def changed_lines(recorded: object, now: object) -> list[str]:
    """Return the lines in which two JSON values differ, and those next to them."""
    before, after = (json.dumps(each, indent=1, ensure_ascii=False, sort_keys=True) for each in (recorded, now))
    lines = unified_diff(before.splitlines(), after.splitlines(), "recorded", "now", n=1, lineterm="")
    return list(lines)[:_MOST_LINES]
