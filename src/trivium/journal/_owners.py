"""The owners of runs: the attempts that are at work on them, each in a process of some machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from trivium.commander.lowlevel import is_blocking, place_of_caller
from trivium.exceptions import RunAliveError, RunTakenOverError

T = TypeVar("T")
_FIRST_NAMESPACE: Final = "pid:[4026531836]"
"""The namespace of processes that are in no container, on each Linux."""
_UNKNOWN: Final = "?"
"""The start of a process that is alive, where the system does not tell it."""
_ENDED: Final = ("Z", "X")
"""The states of a process that has ended, for which its parent has not waited yet."""


class Leases(Generic[T]):
    """The attempts of this process that are at work, each with what it holds; a child process has none of them."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], tuple[int, T]] = {}

    def add(self, run_id: str, epoch: int, holding: T) -> None:
        """Note that an attempt has begun."""
        self._held[run_id, epoch] = os.getpid(), holding

    def remove(self, run_id: str, epoch: int) -> T | None:
        """Note that an attempt is over; return what it held."""
        return self._held.pop((run_id, epoch), (0, None))[1]

    def find(self, run_id: str, epoch: int) -> T | None:
        """Return what an attempt holds; None for one that is over.

        Raises:
            RunTakenOverError: it is one of the process that this one was forked from.
        """
        pid, holding = self._held.get((run_id, epoch), (0, None))
        if pid and pid != os.getpid():
            raise RunTakenOverError(
                f"the run {run_id!r} belongs to the process that this one was forked from: begin processes outside of "
                "the run, or with 'spawn'",
                run_id,
            )
        return holding


class Owner(NamedTuple):
    """An attempt, as the store names it.

    Args:
        pid: the id of its process.
        start: when that process started, which tells it from a later one of its id.
        store: the token of its store object.
        thread: the thread that it runs in.
        task: the task that it runs in; 0: it runs in none.
        host: the name of its machine, and of its container by the namespace of its processes.
    """

    pid: int
    start: str
    store: str
    thread: int
    task: int
    host: str

    @classmethod
    def parse(cls, text: object) -> Owner:
        """Return the owner of a text that `own_process` gave; of another text, one that is not alive."""
        parts = str(text).split(":", 5)
        try:
            return cls(int(parts[0]), parts[1], parts[2], int(parts[3]), int(parts[4]), parts[5])
        except (IndexError, ValueError):
            return cls(0, "", "", 0, 0, "another machine")

    def is_alive(self, is_at_work: Callable[[bool], bool]) -> bool:
        """Return whether its process has not ended.

        Args:
            is_at_work: finds that out of one that is on another machine, in another container, or known by its id
                only, which may be another's by now; it is given the answer for where there is no other sign.
        """
        if not self.start:
            return False
        may_be_here = self.host in (_host(), platform.node())  # older records name no container, and have no lock
        start = _start_of(self.pid) if may_be_here else ""
        if start == self.start != _UNKNOWN:
            return True
        is_here = self.host == _host()
        is_unclear = not is_here or (start != "" and _UNKNOWN in (start, self.start))
        return is_unclear and is_at_work(is_here)

    @property
    def place(self) -> str:
        """Its process and its machine."""
        return f"the process {self.pid} of {self.host}"

    def error(self, run_id: str, caller: Caller) -> RunAliveError:
        """Return the error of a caller that meets this attempt at work on the run."""
        own = Owner.parse(own_process("", caller))
        is_here = (own.host, own.pid, own.start, own.thread) == (self.host, self.pid, self.start, self.thread) and (
            caller.is_blocking or self.task in (0, own.task)
        )
        advice = "wait until it ends, or stop that process"
        if own.host != self.host:
            advice += "; where it is known to be gone, `journal.give_up(journal.info(…), why)`, and resume it"
        if is_here:
            advice = "and this call keeps it from going on: `await` the async form in a task of its own, or another id"
        return RunAliveError(f"the run {run_id!r} goes on in {self.place}: {advice}", run_id, self.pid, is_here)


class Caller(NamedTuple):
    """The code that begins an attempt.

    Args:
        thread: the thread that it runs in.
        task: the task that it runs in; 0: it runs in none.
        is_blocking: True if it blocks its thread while it waits.
    """

    thread: int
    task: int
    is_blocking: bool

    @classmethod
    def here(cls) -> Caller:
        """Return the caller of this."""
        return cls(*place_of_caller(), is_blocking())


def own_process(token: str, caller: Caller) -> str:
    """Return the owner of a run that a caller begins; `token` is that of the store object."""
    parts = (os.getpid(), _start_of(os.getpid()), token, caller.thread, caller.task, _host())
    return ":".join(map(str, parts))


def _host() -> str:
    """Return the name of this machine, of which a container is another one: it sees other processes."""
    space = _FIRST_NAMESPACE
    with suppress(OSError):  # not Linux
        space = os.readlink("/proc/self/ns/pid")
    return platform.node() + ("" if space == _FIRST_NAMESPACE else f" ({space})")


def _start_of(pid: int) -> str:
    """Return when a process of this machine started, which tells it from a later one of its id; "" for none.

    It is "?" for one that may not be asked, and, where the system has no `/proc`, as macOS, for each that is alive.
    """
    if pid <= 0:
        return ""
    try:
        if sys.platform == "win32":  # where `os.kill(pid, 0)` sends Ctrl-C
            from trivium.journal._windows import start_of

            return start_of(pid)
        if not Path("/proc/self/stat").exists():
            os.kill(pid, 0)
            return _UNKNOWN
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return "" if stat[0] in _ENDED else stat[19]
    except PermissionError:
        return _UNKNOWN
    except (OSError, OverflowError):
        return ""
