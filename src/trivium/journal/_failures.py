"""Recorded errors and stops of an attempt, and which of them the next one tries again."""

from __future__ import annotations

from typing import Final, cast

from trivium.commander.lowlevel import TaskNode
from trivium.exceptions import ToolError
from trivium.journal._store import Entry

_UNKNOWN: Final = "it is not known whether"


class Failures:
    """What has failed or was stopped in an attempt, now or as it is recorded: what ends the run is tried again."""

    def __init__(self) -> None:
        self._noted: list[tuple[TaskNode, Exception | TaskNode, Entry]] = []

    def note(self, node: TaskNode, failure: Exception | TaskNode, retry: Entry) -> None:
        """Note an error that the program gets, or that a call or an effect is stopped.

        Args:
            node: its node.
            failure: the error, or the node that is stopped, with all below.
            retry: the record that it is tried again.
        """
        if not _is_unknown(failure):
            self._noted.append((node, failure, retry))

    def behind(self, error: BaseException, top: TaskNode | None = None) -> list[Entry]:
        """Return the records for what has led to an error: its causes, and the members of groups.

        Args:
            error: the error.
            top: only what is below this node; None: all.
        """
        causes, todo = set[int](), [error]
        while todo:
            cause = todo.pop()
            if id(cause) in causes:
                continue
            causes.add(id(cause))
            above = cause.__context__ if cause.__cause__ is None else cause.__cause__
            todo += () if above is None else (above,)
            if isinstance(cause, BaseExceptionGroup):
                todo += cast("BaseExceptionGroup[BaseException]", cause).exceptions
        return [
            retry
            for node, failure, retry in self._noted
            if id(failure.exception if isinstance(failure, TaskNode) else failure) in causes
            and (top is None or top in node.ancestor_chain)
        ]


def _is_unknown(failure: Exception | TaskNode) -> bool:
    """Return whether nobody knows if an act has happened; not by its class, which others share, nor by a mark, which
    older journals lack."""
    return isinstance(failure, ToolError) and str(next(iter(failure.args), "")).startswith(_UNKNOWN)


def unknown_act(name: str) -> ToolError:
    """Return the error of an act that was broken off, and must not be repeated."""
    return ToolError(
        f"{_UNKNOWN} {name} happened: it was broken off while it ran. Find out before you call it again", name
    )
