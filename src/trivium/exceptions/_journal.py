"""Errors of the journal and of durable runs."""

from __future__ import annotations

from trivium.exceptions._root import TriviumError


class JournalError(TriviumError):
    """A journal cannot be used, or a run in it cannot go on.

    `run_id` is the run that is concerned, and `place` the journal that cannot be used; "" where there is none.
    """

    def __init__(self, message: str, run_id: str = "", place: str = "") -> None:
        super().__init__(message)
        self.run_id, self.place = run_id, place


class JournalVersionError(JournalError):
    """A newer version of trivium wrote the journal."""


class JournalDamagedError(JournalError):
    """A record of the journal is damaged, or was changed by somebody else."""


class JournalNameError(JournalError, ValueError):
    """The id of a run, or the name of an agent or a step, is no text that a journal can hold."""


class UnknownRunError(JournalError, KeyError):
    """The journal has no run of this id."""


class UnknownScheduleError(JournalError, KeyError):
    """The journal has no schedule of this name."""


class UnknownNodeError(JournalError, KeyError):
    """The run has no such node, or none that can be changed there. `node` is the one that was named."""

    def __init__(self, message: str, run_id: str = "", node: str = "") -> None:
        super().__init__(message, run_id)
        self.node = node


class RunInputError(JournalError, ValueError):
    """The run of this id began with another input, or another module."""


class RunAliveError(JournalError, RuntimeError):
    """The run of this id goes on, and the caller would wait for itself.

    `owner` is the id of its process. `is_here` is False where another thread, task or process has it.
    """

    def __init__(self, message: str, run_id: str = "", owner: int = 0, is_here: bool = False) -> None:
        super().__init__(message, run_id)
        self.owner, self.is_here = owner, is_here


class RunTakenOverError(JournalError, RuntimeError):
    """Another process has resumed the run; this one can write nothing any more."""


class RunPausedError(JournalError):
    """The run waits for a decision on a call of the tool `tool`: the attempt ends, and the run may be resumed."""

    def __init__(self, message: str, tool: str = "", run_id: str = "") -> None:
        super().__init__(message, run_id)
        self.tool = tool


class CannotWaitError(JournalError):
    """A call of the tool `tool` cannot wait for a decision, as it stands below an act that may not be begun again."""

    def __init__(self, message: str, run_id: str = "", tool: str = "") -> None:
        super().__init__(message, run_id)
        self.tool = tool


class WorkerLostError(JournalError, RuntimeError):
    """The run was the end of its workers, `attempts` times in a row, and recorded nothing more in any of them."""

    def __init__(self, message: str, run_id: str = "", attempts: int = 0) -> None:
        super().__init__(message, run_id)
        self.attempts = attempts


class NoSuchRequestError(JournalError, KeyError):
    """No request of this digest waits for a decision: it was decided before, or the call is another one now."""


class DecisionNotValidError(JournalError, ValueError):
    """A decision is not signed by one of those whose decisions count in the journal."""


class NestedRunError(JournalError, RuntimeError):
    """A run with an id of its own was begun within another one."""


class DivergedError(JournalError, RuntimeError):
    """The program does not ask what the journal has recorded at this place, or asks for more in a run that is done.

    `path` is the place in the run tree.
    """

    def __init__(self, message: str, run_id: str = "", path: str = "") -> None:
        super().__init__(message, run_id)
        self.path = path


class AgentChangedError(JournalError, RuntimeError):
    """An agent is not made as it was when the run began. `agent` is its name, `changed` names its parts that differ.

    `recorded` is the fingerprint of the agent as it was.
    """

    def __init__(
        self, message: str, run_id: str = "", agent: str = "", changed: tuple[str, ...] = (), recorded: str = ""
    ) -> None:
        super().__init__(message, run_id)
        self.agent, self.changed, self.recorded = agent, changed, recorded


class NotRecordedError(JournalError, LookupError):
    """A replay asks for an answer that the run has no record of. `path` is the place in the run tree."""

    def __init__(self, message: str, run_id: str = "", path: str = "") -> None:
        super().__init__(message, run_id)
        self.path = path


class RecordedError(TriviumError):
    """An error of an earlier attempt of a run, whose class the journal cannot make again: `kind` is its name."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.is_key = False
        """Whether its text is a missing key alone, which tells nobody anything without the class."""
