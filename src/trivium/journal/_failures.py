"""Recorded errors and stops of an attempt, and which of them the next one tries again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from trivium.commander.lowlevel import TaskNode
from trivium.events import is_of_signal_handler
from trivium.exceptions import AgentChangedError, DivergedError, LimitExceededError, ToolEndedError, ToolError
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

    @property
    def error(self) -> object:
        return self.cause.exception if isinstance(self.cause, TaskNode) else self.cause

    @property
    def top(self) -> TaskNode:
        """The node that has failed: what starts below it is no sign that the program has caught the error."""
        return self.cause if isinstance(self.cause, TaskNode) else self.node


class Failures:
    """What has failed or was stopped in an attempt, now or as it is recorded: what ends the run is tried again.

    What the program has caught stays as it is recorded, also where something else ends the attempt in the `except`
    block: Python gives that the caught error as its context. It counts as what has led to it only where the program
    has asked for nothing more since, and only translates the error.
    """

    def __init__(self) -> None:
        self._noted: list[_Failure] = []
        self._last: list[_Failure] = []
        """Those since which nothing has started."""

    def note(self, node: TaskNode, failure: Exception | TaskNode, retry: Entry) -> None:
        """Note an error that the program gets, or that a call or an effect is stopped.

        Args:
            node: its node.
            failure: the error, or the node that is stopped, with all below.
            retry: the record that it is tried again.
        """
        if not _is_unknown(failure):
            noted = _Failure(node, failure, retry)
            self._noted.append(noted)
            self._last.append(noted)

    def go_on(self, node: TaskNode) -> None:
        """Note that the program goes on with this node: what has failed elsewhere was caught, or is of another branch,
        which cannot be told apart."""
        if self._last:
            chain = node.ancestor_chain
            self._last = [each for each in self._last if each.top in chain]

    def behind(self, error: BaseException, top: TaskNode | None = None) -> list[Entry]:
        """Return the records for what has led to an error: its causes, and the members of groups.

        Args:
            error: the error.
            top: only what is below this node; None: all.
        """
        causes, translated = _causes(error), _causes(error, with_contexts=True)
        return [
            each.retry
            for each in self._noted
            if (id(each.error) in causes or (id(each.error) in translated and each in self._last))
            and (top is None or top in each.node.ancestor_chain)
        ]


def _causes(error: BaseException, *, with_contexts: bool = False) -> set[int]:
    """Return the ids of an error, of its causes and of the members of groups, if asked also of what it translates."""
    causes, todo = set[int](), [error]
    while todo:
        cause = todo.pop()
        if id(cause) in causes:
            continue
        causes.add(id(cause))
        above = (
            cause.__context__ if with_contexts and cause.__cause__ is None and _translates(cause) else cause.__cause__
        )
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
