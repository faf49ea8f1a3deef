"""Crashes: a durable run that is killed at each place where something is written down, and goes on."""

from __future__ import annotations

import os
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trivium.exceptions import ConfigurationError
from trivium.journal import Entry, Journal
from trivium.journal.lowlevel import SQLiteStore

__all__ = ["assert_crash_safe"]

_FAILED = 3


class _CrashingStore(SQLiteStore):
    """A journal's file whose process is killed at a place: before or after the records of a number are written."""

    def __init__(self, path: Path, at: int) -> None:
        super().__init__(path)
        self._left = at

    def append(self, run_id: str, epoch: int, entries: Sequence[Entry], *, is_durable: bool = False) -> None:
        """Write records, unless the process is killed before; it may be killed after."""
        self._pass()
        super().append(run_id, epoch, entries, is_durable=is_durable)
        self._pass()

    def _pass(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def assert_crash_safe(program: Callable[[Journal], object], *, most: int = 1000) -> int:
    """Kill a durable program at each place where its journal is written, and have it go on.

    A child process really is killed, with SIGKILL, before and after each record; another one then runs the program
    again with the same journal. It must end with the same result; no effect that must happen once may be begun twice,
    and no answer of a model may be asked for again that was written down. Call it from a program or test without other
    threads, on Linux or macOS: it forks.

    Args:
        program: makes its agents anew, and runs them with the journal and a run id; its result is compared as text.
        most: the most places.

    Returns:
        How often it was killed.

    Raises:
        AssertionError: the program goes wrong after a crash; the text says after which.

    Example::

        def order(journal):
            return make_agent()("Order a chair.", run_id="order-17", journal=journal).content

        assert_crash_safe(order)
    """
    if not hasattr(os, "fork"):
        raise ConfigurationError("assert_crash_safe kills processes that it forks, which this system cannot")
    with tempfile.TemporaryDirectory() as folder:
        wanted = _run(program, SQLiteStore(Path(folder, "whole.db")))
        if wanted is None:
            raise AssertionError("the program ended without a result, though nothing killed it")
        for at in range(1, most + 1):
            path = Path(folder, f"{at}.db")
            if _run(program, _CrashingStore(path, at)) is not None:
                return at - 1
            found = _run(program, SQLiteStore(path))
            assert found == wanted, f"killed at place {at}, it ends with {found}, not with {wanted}"
            _check_effects(Journal(path), at)
        return most


def _check_effects(journal: Journal, at: int) -> None:
    """Check that nothing was done twice.

    Raises:
        AssertionError: something was.
    """
    for run in journal.runs():
        entries = journal.entries(run.id)
        again = {each.node for each in entries if each.kind == "retry"}
        for kind in ("intent", "outcome"):
            counts = Counter((each.node, each.name) for each in entries if each.kind == kind)
            twice = [name for (node, name), count in counts.items() if count > 1 and node not in again]
            assert not twice, f"killed at place {at}, the {kind} of {', '.join(twice)} was written twice"


def _run(program: Callable[[Journal], object], store: SQLiteStore) -> Any:
    """Run the program in a child process; return its result as text, or None if it was killed.

    Raises:
        AssertionError: it failed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 0
        try:
            said = repr(program(Journal(store)))
        except BaseException as error:
            status, said = _FAILED, f"{type(error).__name__}: {error}"
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(said.encode())
        os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended):
        return None
    assert os.WEXITSTATUS(ended) == 0, f"the program failed with {said}"
    return said
