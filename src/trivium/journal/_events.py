"""What a durable run says to listeners beside what its nodes do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from logging import WARNING, getLogger
from typing import Any, Literal, NamedTuple
from warnings import warn

from trivium.commander.lowlevel import CallNode, TaskNode, emit, node_name
from trivium.events import Event, JSONObject

_logger = getLogger("trivium.journal")


class Fork(NamedTuple):
    """The place where a run was forked from another one.

    Args:
        run_id: the other run.
        key: the key of its node from which on this run goes its own way; "" for its end.
    """

    run_id: str
    key: str


class ForkedEvent(Event[Fork, Literal["forked"]]):
    """A run begins that was forked from another one."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the other run."""
        return self.data.run_id

    def fields(self, content: bool = False) -> JSONObject:
        """Return the run and the key of the node."""
        return {"run_id": self.data.run_id, "fork_key": self.data.key}

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Fork:
        """Return the place of a fork that another process sent."""
        return Fork(fields["run_id"], fields["fork_key"])


class UnclaimedEvent(Event[tuple[str, ...], Literal["unclaimed"]], level=WARNING):
    """A run has ended well, and not asked again for some effects that an earlier attempt has recorded: their paths."""

    __slots__ = ()

    def detail(self, content: bool = False) -> str:
        """Name the effects."""
        return ", ".join(self.data)

    def fields(self, content: bool = False) -> JSONObject:
        """Return the paths of the effects."""
        return {"paths": list(self.data)}

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the paths that another process sent."""
        return tuple(fields["paths"])


def report_unclaimed(node: CallNode, run_id: str, paths: tuple[str, ...]) -> None:
    """Report the recorded nodes that an attempt has not asked for; `node` is its root."""
    emit(node, UnclaimedEvent, paths)
    _logger.warning(
        "the run %r did not ask again for what it has recorded at %s; what was done there stays done. The program "
        "was changed, or does not do the same in each attempt",
        run_id,
        ", ".join(paths),
    )


def warn_of_lost(node: TaskNode, lost: Sequence[str]) -> None:
    """Warn of what a program gets back as text from a step; what models and tools give is read as text anyway."""
    name = node_name(node)
    if not lost or name == "model" or name.startswith("tool:"):
        return
    warn(
        f"the result of {name} has what comes back as text, in all attempts: {', '.join(dict.fromkeys(lost))}. Name "
        "its class in Journal(…, types=(…)) if that is a dataclass, pydantic model, named tuple or enumeration; else "
        "have the step return such a one, or values of JSON",
        stacklevel=2,
    )


def report_waiting(run_id: str, process: int) -> None:
    """Report that a call waits for the end of an attempt in another process, thread or task."""
    _logger.warning("the run %r is at work in process %d; waiting for it", run_id, process)
