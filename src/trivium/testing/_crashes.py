"""Crashes: a durable run that is killed at each place where something is written down, and goes on."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from trivium.exceptions import ConfigurationError
from trivium.journal import Journal
from trivium.journal.lowlevel import Appending, PostgresRunStore, SQLiteRunStore, Store, Writing

_FAILED = 3


class _Crashing:
    """A store that notes what it has committed, and whose process is killed at a place: before or after a commit."""

    left = 0
    committed = Path()

    def append_all(self, group: Sequence[Appending]) -> Mapping[int, Exception]:
        """Write records, unless the process is killed before; it may be killed after."""
        self._pass()
        errors = cast("Store", super()).append_all(group)
        for at, each in enumerate(group):
            if at not in errors:
                self._note_committed(each.run_id, each.written)
        self._pass()
        return errors

    def transact(self, run_id: str, epoch: int, act: Callable[[Any], Writing]) -> None:
        """Write records in a transaction, as `append_all`."""
        made = list[Writing]()

        def kept(connection: Any) -> Writing:
            made.append(act(connection))
            return made[0]

        self._pass()
        cast("Store", super()).transact(run_id, epoch, kept)
        self._note_committed(run_id, made[0])
        self._pass()

    def _pass(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def _note_committed(self, run_id: str, written: Writing) -> None:
        with self.committed.open("a", encoding="utf-8") as file:  # outlives the process, which is killed
            file.writelines(f"{json.dumps([run_id, each.seq, each.link])}\n" for each in written.entries)


class _CrashingSQLite(_Crashing, SQLiteRunStore):
    pass


class _CrashingPostgres(_Crashing, PostgresRunStore):
    pass


class _Places:
    """The journals of a sweep, each of them empty: files of their own, or one database that is emptied.

    Args:
        folder: the folder of the files.
        url: the URL of the database; "": files.
    """

    def __init__(self, folder: str, url: str) -> None:
        self._folder, self._url, self._number = folder, url, 0

    def next(self) -> None:
        """Begin with an empty journal."""
        self._number += 1
        if self._url:
            journal = Journal(self._url)
            journal.forget([run.id for run in journal.runs()])
            journal.close()

    def store(self, at: int = 0) -> SQLiteRunStore | PostgresRunStore:
        """Return the store of the journal; its process is killed at this place, 0 for nowhere."""
        made = _CrashingPostgres(self._url) if self._url else _CrashingSQLite(self._path("db"))
        made.left, made.committed = at, self._path("committed")
        return made

    def committed(self) -> set[tuple[str, int, str]]:
        """Return the run, number and link of each record that was committed."""
        path = self._path("committed")
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return {tuple(json.loads(line)) for line in lines if line.endswith("]")}

    def _path(self, end: str) -> Path:
        return Path(self._folder, f"{self._number}.{end}")


def assert_crash_safe(
    program: Callable[[Journal], object], *, most: int = 1000, moments: int = 0, url: str = ""
) -> int:
    """Kill a durable program at each place where its journal is written, and have it go on.

    A child process really is killed, with SIGKILL, before and after each record; another one then runs the program
    again with the same journal. It must end with the same result; no record that was committed may be lost, no effect
    that must happen once may be begun twice, and no answer of a model may be asked for again that was written down.
    Call it from a program or test without other
    threads, on Linux or macOS: it forks.

    Args:
        program: makes its agents anew, and runs them with the journal and a run id; its result is compared as text,
            sets in sorted order; leave out of it what is random, such as the ids of metadata.
        most: the most places.
        moments: how often it is also killed at a random moment, once or several times in a run.
        url: an empty PostgreSQL database for its journal; default: SQLite files in a temporary folder.

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
        places = _Places(folder, url)
        places.next()
        began = time.monotonic()
        wanted = _run(program, places.store())
        took = time.monotonic() - began
        if wanted is None:
            raise AssertionError("the program ended without a result, though nothing killed it")
        killed = 0
        while killed < most:
            places.next()
            if _run(program, places.store(killed + 1)) is not None:
                break
            killed += 1
            at = f"place {killed}"
            _check(_run(program, places.store(), at=at), wanted, places, at)
        if most and not killed:
            raise AssertionError("the program wrote nothing into its journal: give its calls run_id= and journal=")
        at_moments = 0
        while at_moments < moments:
            places.next()
            before = at_moments
            while (found := _run(program, places.store(), random.uniform(0, took))) is None:  # noqa: S311 - no secret
                at_moments += 1
            _check(found, wanted, places, f"random moments {before + 1} to {at_moments}")
        return killed + at_moments


def _check(found: str | None, wanted: str, places: _Places, at: str) -> None:
    """Check the result of a run that was killed, and that nothing was lost or done twice.

    Raises:
        AssertionError: another result, or something was.
    """
    assert found == wanted, f"killed at {at}, it ends with {found}, not with {wanted}"
    journal, lost = Journal(places.store()), places.committed()
    for run in journal.runs():
        entries = journal.entries(run.id)
        lost -= {(run.id, each.seq, each.link) for each in entries}
        again = {each.node for each in entries if each.kind == "retry"}
        for kind in ("intent", "outcome"):
            counts = Counter((each.node, each.name) for each in entries if each.kind == kind)
            twice = [name for (node, name), count in counts.items() if count > 1 and node not in again]
            assert not twice, f"killed at {at}, the {kind} of {', '.join(twice)} was written twice"
    assert not lost, f"killed at {at}, records that were committed are lost: {sorted(lost)}"
    journal.close()


def _text(value: Any) -> str:
    """Write a result as text, the same for equal sets: `repr` has their members in the order of a hash table."""
    kind = cast("type[Any]", type(value))
    if kind is dict:
        return f"{{{', '.join(f'{_text(key)}: {_text(item)}' for key, item in value.items())}}}"
    if kind not in (list, tuple, set, frozenset):
        return repr(value)
    texts = [*map(_text, value)]
    return f"{kind.__name__}({', '.join(texts if kind in (list, tuple) else sorted(texts))})"


def _run(
    program: Callable[[Journal], object], store: Store, seconds: float | None = None, *, at: str = ""
) -> str | None:
    """Run the program in a child process; return its result as text, or None if it was killed.

    It is killed after the seconds, if it still runs; `at` is the place where it was killed before.

    Raises:
        AssertionError: it failed.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 0
        try:
            said = _text(program(Journal(store)))
        except BaseException as error:
            status, said = _FAILED, f"{type(error).__name__}: {error}"
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(said.encode())
        os._exit(status)
    os.close(writing)
    if seconds is not None and not select.select([reading], [], [], seconds)[0]:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended):
        return None
    assert os.WEXITSTATUS(ended) == 0, f"{at and f'killed at {at}, '}the program failed with {said}"
    return said
