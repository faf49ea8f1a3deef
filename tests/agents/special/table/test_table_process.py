"""Tables are made in a process of their own, whose statements end in time whatever DuckDB does."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

from trivium.agents.special.table import ReadOnlyTables, TableLimits
from trivium.agents.special.table._loading import Loader
from trivium.agents.special.table._process import DuckDBProcess
from trivium.exceptions import DocumentLimitError, DocumentTimeoutError, DocumentTooLargeError

from .test_table_guard import HUNGRY, STUBBORN


class Replacing(DuckDBProcess):
    """One in which other statements stand for those that make a table."""

    instead: Iterator[str]

    def execute(self, sql: str) -> list[Any]:
        return super().execute(next(self.instead) if sql.startswith("CREATE") else sql)


def test_errors_and_values_are_those_that_duckdb_gives() -> None:
    with closing(DuckDBProcess(None, [], 1 << 28, 30)) as process:
        with pytest.raises(duckdb.ConversionException, match="Could not convert string 'x' to INT32"):
            process.execute("SELECT 'x'::INTEGER")
        with pytest.raises(duckdb.CatalogException):
            process.execute("SELECT * FROM nothing")
        assert process.execute("SELECT 1, 'a', DATE '2024-01-02'") == [[1, "a", datetime.date(2024, 1, 2)]]


@pytest.mark.parametrize(
    ("statement", "error", "limit", "seconds"),
    [(STUBBORN, DocumentTimeoutError, "seconds", 0.2), (HUNGRY[0], DocumentTooLargeError, "memory", 60.0)],
)
def test_a_statement_that_cannot_be_stopped_is_ended_with_its_process(
    tmp_path: Path, statement: str, error: type[DocumentLimitError], limit: str, seconds: float
) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    limits = TableLimits(seconds=seconds, memory=1 << 26)
    with closing(Replacing(None, [], 1 << 28, seconds)) as process:
        process.instead = iter([statement.replace("x ->", "lambda x:").replace("y ->", "lambda y:")])
        with pytest.raises(error, match=rf"raise TableLimits\({limit}=…\)") as caught:
            Loader(process, tmp_path, "", None, limits, 1 << 28).load("data", tmp_path / "data.csv")
        assert (caught.value.limit, caught.value.value) == (limit, getattr(limits, limit))
        assert process.execute("SELECT 1") == [[1]]


@pytest.mark.parametrize("ending", ["SIGTERM", "SIGKILL"])
def test_the_copy_of_a_program_that_is_killed_is_deleted(tmp_path: Path, ending: str) -> None:
    program = (
        "from trivium.agents.special.table import ReadOnlyTables\ntables = ReadOnlyTables([{'a': 1}])\n"
        "print('ready', flush=True)\ninput()"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    given: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": environment}
    with subprocess.Popen([sys.executable, "-c", program], **given) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        assert [each.name[:15] for each in tmp_path.iterdir()] == ["trivium-tables-"]
        running.send_signal(getattr(signal, ending))
    ends = time.monotonic() + 30
    while [*tmp_path.iterdir()]:
        assert time.monotonic() < ends, "the copy stays"


def test_nothing_is_read_ahead_in_threads_of_duckdb_that_a_failing_statement_would_wait_for() -> None:
    """DuckDB 2.0 waits for ever where one of some hundred statements over a text file fails (duckdb/duckdb#23885)."""
    asked = "SELECT current_setting('async_threads'), current_setting('read_ahead_depth')"
    tables = ReadOnlyTables([{"a": 1}])
    assert [int(each) for each in tables._process.execute(asked)[0]] == [0, 0]
    tables.close()


def test_frames_stand_beside_files_and_rows(tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text("a\n1\n")
    frame = import_module("pyarrow").table({"a": [2]})
    tables = ReadOnlyTables({"file": tmp_path / "file.csv", "frame": frame, "rows": [{"a": 3}]})
    query = "SELECT file.a, frame.a, rows.a FROM file, frame, rows"
    assert tables.query(query).rows == [(1, 2, 3)]
    assert [each.name for each in tables.tables()] == ["file", "frame", "rows"]
    tables.close()
