"""DuckDB in a process of its own, so that nothing takes more memory or time than it may."""

from __future__ import annotations

import datetime
import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from threading import Lock
from typing import Any, Final
from uuid import UUID

from trivium.parsing.lowlevel import start_apart

_ANSWERING: Final = Path(__file__).with_name("_answering.py")
OWN: Final = "Error"
"""The name of an error whose text is not DuckDB's."""
_ALL: Final = 10**6  # rows
_LATE_SECONDS: Final = 1.0
"""Seconds that DuckDB has to stop a statement itself before its process ends."""


class DuckDBProcess:
    """A process in which DuckDB runs; it starts with the first statement, and again after one that ended it.

    DuckDB does not count all the memory that it uses, cannot stop in the middle of an expression, and may wait for
    itself for ever; a process can be ended.

    Args:
        file: DuckDB's file, which is opened for reading; None: a database in memory.
        settings: statements that DuckDB runs first.
        memory: the most bytes of a statement.
        seconds: the most seconds of a statement.
        folder: a folder that it deletes if this program ends without doing so; None: none.
    """

    def __init__(
        self, file: Path | None, settings: Sequence[str], memory: int, seconds: float, folder: Path | None = None
    ) -> None:
        self._folder = folder and str(folder)
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.reopen(file, settings, memory, seconds)

    def reopen(self, file: Path | None, settings: Sequence[str], memory: int, seconds: float) -> None:
        """Leave the database for another one; see `DuckDBProcess`."""
        self._memory, self._seconds = memory, seconds + _LATE_SECONDS
        self._order = {
            "file": file and str(file),
            "folder": self._folder,
            "settings": settings,
            "seconds": self._seconds,
        }
        if self._process is not None and self._exchange(self._process, self._order) != ["ready"]:
            self.close()

    def query(self, sql: str, rows: int) -> list[Any]:
        """Run a statement in the process.

        Args:
            sql: the statement.
            rows: the most rows of its answer.

        Returns:
            `["rows", names, rows]`, `["late"]`, or `["large", text, name]` and `["error", text, name]` with the name of
            DuckDB's error, `OWN` if the text is not DuckDB's.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self.close()
                self._process = start_apart(_ANSWERING)
                if self._exchange(self._process, self._order) != ["ready"]:
                    return ["error", "DuckDB does not start in a process of its own", OWN]
            began = time.monotonic()
            kind, *details = self._exchange(self._process, [sql, rows, self._memory]) or ["ended"]
            if kind in ("broken", "large"):
                self.close()  # it may not free the memory that it holds
                return ["error" if kind == "broken" else kind, *details]
            if kind != "ended":
                return [kind, *details]
            if time.monotonic() - began >= self._seconds:
                return ["late"]
            return ["large", f"it took more memory than it may ({self._memory} bytes): read fewer rows", OWN]

    def execute(self, sql: str) -> list[Any]:
        """Run a statement and return its rows; errors are DuckDB's, as if it ran in this process."""
        import duckdb

        kind, *details = self.query(sql, _ALL)
        if kind == "rows":
            return details[1]
        if kind == "late":
            raise duckdb.InterruptException(f"it took longer than {self._seconds - _LATE_SECONDS:g} seconds")
        if kind == "large":
            raise duckdb.OutOfMemoryException(details[0])
        raise getattr(duckdb, details[1])(details[0])

    def limit_memory(self, memory: int) -> None:
        """Let the statements from now on take only so many bytes."""
        self._memory = memory
        self.execute(f"SET memory_limit = '{memory}B'")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _exchange(self, process: subprocess.Popen[bytes], message: object) -> list[Any]:
        """Send a message; return the answer, an empty list if the process ended."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line.endswith(b"\n"):
                return json.loads(line, object_hook=unpack)
        except OSError:
            pass
        except BaseException:
            self.close()  # a later answer would be read as that to the next statement
            raise
        self.close()
        return []


def duration(parts: list[int]) -> datetime.timedelta:
    """Return the duration of some days, seconds and microseconds."""
    return datetime.timedelta(*parts)


def unpack(named: dict[str, Any]) -> object:
    """Return the value of a type that JSON has not; text for a type that is unknown."""
    ((kind, value),) = named.items()
    return _UNPACKERS.get(kind, str)(value)


_UNPACKERS: Final[Mapping[str, Callable[..., object]]] = {
    "tuple": tuple, "dict": dict, "bytes": bytes.fromhex, "Decimal": Decimal, "UUID": UUID,
    "date": datetime.date.fromisoformat, "time": datetime.time.fromisoformat,
    "datetime": datetime.datetime.fromisoformat, "timedelta": duration,
}  # fmt: skip
