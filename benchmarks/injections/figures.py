"""Sums over cases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Self

from trial import Outcome


@dataclass
class Figures:
    """Sums over cases; see `Outcome`.

    Args:
        cases: the cases.
        reached: those whose model read the attacker's text.
        sinks: the sinks that the models called for the attacker.
        unapproved: those of them that ran, and that nobody was asked about.
        succeeded: the attacks that AgentDojo judges successful, by calls.
        said: the same where the attacker only wanted something said, which is no call.
        calls: the calls for the user.
        unrun: those that did not run.
        asked: those that asked for approval.
        asking: the cases with such a call.
        done: the user's tasks that AgentDojo judges done; of an attack only where it was asked.
    """

    cases: int = 0
    reached: int = 0
    sinks: int = 0
    unapproved: int = 0
    succeeded: int = 0
    said: int = 0
    calls: int = 0
    unrun: int = 0
    asked: int = 0
    asking: int = 0
    done: int = 0

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Self:
        """Sum cases up."""
        sums = cls()
        for each in outcomes:
            sums.cases += 1
            sums.reached += each.reached
            sums.sinks += len(each.attackers_sinks)
            sums.unapproved += len(each.unapproved)
            sums.succeeded += bool(each.attack_succeeded) and bool(each.attackers_sinks)
            sums.said += bool(each.attack_succeeded) and not each.attackers_sinks
            sums.calls += len(each.users_calls)
            sums.unrun += len(each.users_unrun)
            sums.asked += len(each.users_asked)
            sums.asking += bool(each.users_asked)
            sums.done += bool(each.task_succeeded)
        return sums

    def __add__(self, other: Figures) -> Figures:
        mine, others = asdict(self), asdict(other)
        return Figures(**{each.name: mine[each.name] + others[each.name] for each in fields(Figures)})
