"""DuckDB in a process of its own, so that no query takes more memory or time than it may."""

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

__all__ = ["QueryProcess"]

_ANSWERING: Final = Path(__file__).with_name("_answering.py")
_LATE_SECONDS: Final = 1.0
"""Seconds that DuckDB has to stop a query itself before its process ends."""


class QueryProcess:
    """A process that holds the tables; it starts with the first query, and again after one that ended it.

    DuckDB does not count all the memory that it uses, and cannot stop in the middle of an expression; a process can.

    Args:
        file: DuckDB's file; it is opened for reading.
        settings: statements that DuckDB runs first.
        memory: the most bytes of a query.
        seconds: the most seconds of a query.
    """

    def __init__(self, file: Path, settings: Sequence[str], memory: int, seconds: float) -> None:
        self._memory, self._seconds = memory, seconds + _LATE_SECONDS
        self._order = {"file": str(file), "settings": settings, "memory": memory, "seconds": self._seconds}
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def query(self, sql: str, rows: int) -> list[Any]:
        """Run a query in the process.

        Args:
            sql: the query.
            rows: the most rows of its answer.

        Returns:
            `["rows", names, rows]`, `["late"]`, `["large", text]`, or `["error", text]`.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self.close()
                self._process = start_apart(_ANSWERING)
                if self._exchange(self._process, self._order) != ["ready"]:
                    return ["error", "DuckDB does not start in a process of its own"]
            began = time.monotonic()
            kind, *details = self._exchange(self._process, [sql, rows]) or ["ended"]
            if kind in ("broken", "large"):
                self.close()  # it may not free the memory that it holds
                return ["error" if kind == "broken" else kind, *details]
            if kind != "ended":
                return [kind, *details]
            if time.monotonic() - began >= self._seconds:
                return ["late"]
            return ["large", f"it took more memory than it may ({self._memory} bytes): read fewer rows"]

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
            self.close()  # a later answer would be read as that to the next query
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
