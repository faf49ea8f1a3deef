"""Recorded errors and stops of an attempt, and which of them the next one tries again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

from trivium.commander.lowlevel import TaskNode, key_of, node_name
from trivium.events import is_of_signal_handler
from trivium.exceptions import AgentChangedError, DivergedError, LimitExceededError, ToolEndedError, ToolError
from trivium.journal._branches import Branches, Moment
from trivium.journal._store import Entry

_UNKNOWN: Final = (
    "it is not known whether ",
    " happened: it was broken off while it ran. Find out before you call it again",
)
_REFUSALS: Final = (AgentChangedError, DivergedError, LimitExceededError)


@dataclass(eq=False, slots=True)
class _Failure:
    node: TaskNode
    cause: Exception | TaskNode
    retry: Entry
    moment: Moment
    since: float | None
    """When an earlier attempt has recorded it; None: it is of this attempt."""
    act: TaskNode | None = None
    """What the program did after it, in its branch."""

    @property
    def error(self) -> object:
        return self.cause.exception if isinstance(self.cause, TaskNode) else self.cause

    @property
    def top(self) -> TaskNode:
        """The node that has failed: what starts below it is no sign that the program has caught the error."""
        return self.cause if isinstance(self.cause, TaskNode) else self.node


class Failures:
    """What has failed or was stopped in an attempt, now or as it is recorded: what ends the run is tried again.

    It is tried again only where nothing was done after it in its branch: an act in an `except` or `finally` block may
    have undone what came before, and a run that went on from there would be wrong. What the program has caught stays as
    it is recorded, also where another effect fails in the `except` block: Python gives that the caught error as its
    context. Only an error of the program's own is taken for a translation of the one that it has caught.

    Attributes:
        has_gone_on: whether the attempt has asked for something new.
    """

    def __init__(self) -> None:
        self.has_gone_on = False
        self._branches = Branches()
        self._noted: list[_Failure] = []
        self._errors = defaultdict[int, list[_Failure]](list)
        """Those with an error, by its id: each failure asks for the ones that have led to it."""
        self._stops: list[_Failure] = []
        self._last: list[_Failure] = []
        """Those after which nothing was done."""
        self._recorded: dict[str, float] = {}

    def read(self, entry: Entry) -> None:
        """Note a record of an earlier attempt."""
        if entry.kind == "error":
            self._recorded[entry.node] = entry.at

    def note(self, node: TaskNode, failure: Exception | TaskNode, retry: Entry, *, is_recorded: bool = False) -> None:
        """Note an error that the program gets, or that a call or an effect is stopped.

        Args:
            node: its node.
            failure: the error, or the node that is stopped, with all below.
            retry: the record that it is tried again.
            is_recorded: whether it is the one that is recorded.
        """
        if not _is_unknown(failure):
            since = self._recorded.get(key_of(node)) if is_recorded else None
            noted = _Failure(node, failure, retry, self._branches.moment(), since)
            self._noted.append(noted)
            (self._stops if isinstance(failure, TaskNode) else self._errors[id(failure)]).append(noted)
            self._last.append(noted)

    def go_on(self, node: TaskNode) -> None:
        """Note that the program goes on with this node in the branch that runs here."""
        self._branches.here()

    def act(self, node: TaskNode) -> None:
        """Note that the program does something that may undo what came before, now or as it is recorded."""
        last, self._last = self._last, []
        for each in last:
            if each.top in node.ancestor_chain or self._branches.is_beside(each.moment, each.error):
                self._last.append(each)
            else:
                each.act = node

    def behind(self, error: BaseException, top: TaskNode | None = None) -> list[Entry]:
        """Return the records for what has led to an error: its causes, and the members of groups.

        Args:
            error: the error.
            top: only what is below this node; None: all.
        """
        found = self._tried_again(self._led_to(error))
        return [each.retry for each in found if top is None or top in each.node.ancestor_chain]

    def explain(self, error: BaseException, run_id: str) -> None:
        """Add to the error that ends a run why it is not tried again, or that it is a recorded one, and what to do."""
        led = self._led_to(error)
        again = self._tried_again(led)
        told = [*(each for each in led if each not in again), *(each for each in again if each.since)]
        if not led and not self.has_gone_on:  # the program may have raised it for what it was told
            told = [each for each in self._noted if each.since][-1:]
        if not told:
            return
        first, way = told[0], f"journal.view({run_id!r}).fork(at={key_of(told[0].node)!r}).resume(…)"
        when = "" if first.since is None else f" on {datetime.fromtimestamp(first.since, UTC):%Y-%m-%d %H:%M:%S} UTC"
        text = f"{node_name(first.node)} has failed{when}, in the run {run_id!r}"
        text += ", and this is the recorded error" if first.since and led else ""
        if first in again:
            text += ": the next attempt tries it again"
        elif first.act is not None:
            text += (
                f". It is not tried again, for {node_name(first.act)} was done after it, and may have undone what came "
                f"before: {way} tries it again, at a key further up what was undone too"
            )
        elif led:
            text += ", and so have others, with the same error: the next attempt gets it once more, and then it is told"
        else:
            text += f". It is not tried again, for it cannot be told that the run has ended by it: {way} does so"
        error.add_note(text)

    def _led_to(self, error: BaseException) -> list[_Failure]:
        """Return the failures that have led to an error, in their order."""
        stops = {id(each.error) for each in self._stops}
        causes = _causes(error, lambda known: known in self._errors or known in stops)
        led = [each for known in causes for each in self._errors.get(known, ())]
        led += [each for each in self._stops if id(each.error) in causes]
        return sorted(led, key=lambda each: each.moment.number)

    def _tried_again(self, led: list[_Failure]) -> list[_Failure]:
        """Return those after which nothing was done; of effects with the same error object the one that ended it."""
        same = defaultdict[int, list[_Failure]](list)
        for each in led:
            same[id(each.cause)].append(each)
        kept = [each for many in same.values() for each in _last_of(many)]
        return [each for each in led if each in kept and each.act is None]


def _last_of(same: list[_Failure]) -> list[_Failure]:
    """Return the last of some failures with the same error, and those below from which it got it.

    There are none where another one has failed with it at the same time: nobody knows which of them was caught.
    """
    if isinstance(same[0].cause, TaskNode):  # all that was stopped
        return same
    kept = list[_Failure]()
    for each in reversed(same):
        if not kept or kept[-1].node in each.node.ancestor_chain:
            kept.append(each)
        elif not each.moment.is_in_line(kept[0].moment):
            return []
    return kept


def _causes(error: BaseException, is_noted: Callable[[int], bool]) -> set[int]:
    """Return the ids of an error, of its causes and the members of groups, and of what it translates.

    Args:
        error: the error.
        is_noted: tells by its id whether an error is one of an effect, which translates none.
    """
    causes, todo = set[int](), [error]
    while todo:
        cause = todo.pop()
        if id(cause) in causes:
            continue
        causes.add(id(cause))
        translates = cause.__cause__ is None and not is_noted(id(cause)) and _translates(cause)
        above = cause.__context__ if translates else cause.__cause__
        todo += () if above is None else (above,)
        if isinstance(cause, BaseExceptionGroup):
            todo += cast("BaseExceptionGroup[BaseException]", cause).exceptions
    return causes


def _translates(error: BaseException) -> bool:
    """Return whether the program may have raised an error for the one that it has caught: no Ctrl-C, and no refusal."""
    is_raised = isinstance(error, (Exception, SystemExit)) and not is_of_signal_handler(error)
    return is_raised and not isinstance(error, _REFUSALS)


def _is_unknown(failure: Exception | TaskNode) -> bool:
    """Return whether nobody knows if an act has happened.

    Of one that was broken off with its process only its text tells, as older journals have it too.
    """
    if isinstance(failure, TaskNode):
        return False
    begin, end = _UNKNOWN
    text = str(next(iter(failure.args), ""))
    is_ours = type(failure) is ToolError and text.startswith(begin) and text.endswith(end)
    return is_ours or "is_unknown" in vars(failure)


def mark_unknown(error: Exception, *, is_repeatable: bool) -> None:
    """Have the error of an act that must not be repeated say that nothing is known of the act, if it was broken off."""
    if isinstance(error, ToolEndedError) and not is_repeatable:
        vars(error)["is_unknown"] = True


def unknown_act(name: str) -> ToolError:
    """Return the error of an act that was broken off, and must not be repeated."""
    return ToolError(name.join(_UNKNOWN), name)
