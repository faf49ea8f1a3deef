"""DuckDB in a process of its own, so that no query takes more memory, or more time, than it was given."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from threading import Lock
from typing import Any, Final
from uuid import UUID

__all__ = ["QueryProcess"]

_ANSWERING: Final = Path(__file__).with_name("_answering.py")
_LATE_SECONDS: Final = 1.0
"""How long DuckDB has to stop a query itself before its process ends."""


class QueryProcess:
    """Asks a process that holds the tables; it is started with the first query, and after one that ended it.

    DuckDB counts not all memory that it takes, and cannot stop in the middle of an expression: a process can.

    Args:
        file: DuckDB's file; it is opened for reading.
        settings: statements that DuckDB runs first.
        memory: bytes for a query.
        seconds: for a query.
    """

    def __init__(self, file: Path, settings: Sequence[str], memory: int, seconds: float) -> None:
        self._memory, self._seconds = memory, seconds + _LATE_SECONDS
        self._order = {"file": str(file), "settings": settings, "memory": memory, "seconds": self._seconds}
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, sql: str, rows: int) -> list[Any]:
        """Run a query there.

        Args:
            sql: the query.
            rows: of its answer, at most.

        Returns:
            `["rows", names, rows]`, `["late"]`, or `["error", text]`.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self.close()
                self._process = self._started()
                if self._told(self._process, self._order) != ["ready"]:
                    return ["error", "DuckDB does not start in a process of its own"]
            began = time.monotonic()
            kind, *said = self._told(self._process, [sql, rows]) or ["ended"]
            if kind == "broken":
                self.close()  # what it holds it may not give back
                return ["error", *said]
            if kind != "ended":
                return [kind, *said]
            if time.monotonic() - began >= self._seconds:
                return ["late"]
            return ["error", f"it took more memory than it may ({self._memory} bytes): read fewer rows"]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this very interpreter, with code that stands beside
            [sys.executable, "-P", str(_ANSWERING)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # a Ctrl-C at the terminal is not for it
        )

    def _told(self, process: subprocess.Popen[bytes], message: Any) -> list[Any]:
        """What the process says to a message; nothing, if it ended."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line.endswith(b"\n"):
                return json.loads(line, object_hook=_unpacked)
        except OSError:
            pass
        except BaseException:
            self.close()  # what it says later would be taken for the answer to the next query
            raise
        self.close()
        return []


def _unpacked(named: dict[str, Any]) -> Any:
    ((kind, value),) = named.items()
    return _UNPACKED.get(kind, str)(value)


def _timedelta(parts: list[int]) -> datetime.timedelta:
    return datetime.timedelta(*parts)


_UNPACKED: Final[Mapping[str, Callable[..., Any]]] = {
    "tuple": tuple, "dict": dict, "bytes": bytes.fromhex, "Decimal": Decimal, "UUID": UUID,
    "date": datetime.date.fromisoformat, "time": datetime.time.fromisoformat,
    "datetime": datetime.datetime.fromisoformat, "timedelta": _timedelta,
}  # fmt: skip
