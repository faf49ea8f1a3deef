"""A process that has loaded the command already, and forks one for each run: what a run does is a process of its own,
but need not load everything again. `Command` starts it once for each process of the tests."""

from __future__ import annotations

import fcntl
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from atexit import _run_exitfuncs, register  # pyright: ignore[reportPrivateUsage]  # as the interpreter's end does
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TextIO

__all__ = ["Forked", "started_zygote"]

_LOADED = (
    "trivium.cli._app", "trivium.cli._ask", "trivium.cli._chat", "trivium.cli._extract", "trivium.cli._models",
    "trivium.cli._runs", "trivium.cli._serve", "trivium.observers", "trivium.observers.lowlevel", "trivium.tasks",
    "trivium.terminal", "trivium.testing", "trivium.llms._openai", "rich.progress", "typer.testing",
)  # fmt: skip
_OF_POSTGRESQL = ("dbos", "psycopg", "sqlalchemy.dialects.postgresql")
"""Loaded before the first run whose journal is there: half a second, which most processes of the tests never need."""


class Forked:
    """A run of the command, or of a Python script, with what `subprocess.Popen` offers of it.

    Args:
        program: the program and its arguments.
        folder: where it runs.
        environment: all of it.
        streams: file descriptors of stdin, stdout and stderr.
        on_terminal: whether stdin is the terminal that it is to control.
        loads: the modules that it needs, if it is not the command: each choice has a process of its own that forks.
    """

    stdin: IO[str] | None = None
    stdout: IO[str] | None = None
    stderr: IO[str] | None = None

    def __init__(
        self,
        program: list[str],
        folder: Path,
        environment: dict[str, str],
        streams: tuple[int, int, int],
        on_terminal: bool = False,
        loads: tuple[str, ...] = (),
    ) -> None:
        self.returncode: int | None = None
        self._waiting = threading.Lock()
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(started_zygote(*loads))
        wanted = {"program": program, "folder": str(folder), "environment": environment, "on_terminal": on_terminal}
        sent = json.dumps(wanted).encode()
        socket.send_fds(self._connection, [len(sent).to_bytes(4, "big")], list(streams))
        self._connection.sendall(sent)
        self.pid = _number(self._connection)

    def poll(self) -> int | None:
        if self._waiting.acquire(blocking=False):  # another thread waits otherwise: it has not ended
            try:
                if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
                    self._end()
            finally:
                self._waiting.release()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        with self._waiting:
            if self.returncode is None:
                self._connection.settimeout(timeout)
                self._end()
        assert self.returncode is not None
        return self.returncode

    def _end(self) -> None:
        self.returncode = _number(self._connection)
        self._connection.close()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and nobody has told yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, text: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Give it a last input; what it wrote until its end, where those are pipes."""
        if self.stdin is not None:
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(text)
        guard = threading.Timer(timeout or threading.TIMEOUT_MAX, self.kill)
        guard.start()
        try:
            with ThreadPoolExecutor() as threads:
                out, err = threads.map(_rest_of, (self.stdout, self.stderr))
            self.wait(timeout)
        finally:
            guard.cancel()
        return out, err


def _rest_of(stream: IO[str] | None) -> str:
    if stream is None:
        return ""
    with stream:
        return stream.read()


def _number(connection: socket.socket) -> int:
    data = connection.recv(4, socket.MSG_WAITALL)
    assert len(data) == 4, "the process that forks has ended"
    return int.from_bytes(data, "big", signed=True)


@cache
def started_zygote(*loads: str) -> str:
    """Start the process that forks; return the path of its socket."""
    warnings = () if loads else ("-W", "error")  # who reads files is started without, and Pillow warns of some
    program = [sys.executable, *warnings, str(Path(__file__)), *loads]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    register(process.kill)
    return process.stdout.readline().strip()


def _load_command() -> None:
    import typer.main

    from trivium.cli import _app

    for module in _LOADED:
        import_module(module)
    typer.main.get_command = cache(typer.main.get_command)  # the same for each run
    typer.main.get_command(_app.app)


def _serve(*loads: str) -> None:
    for module in loads:
        import_module(module)
    if not loads:
        _load_command()
    gc.collect()
    gc.freeze()  # what all runs share is not gone through by each, which would copy it
    folder = tempfile.mkdtemp()
    path = f"{folder}/zygote"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who waits for the run is the child that forks it
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print(path, flush=True)
        while True:
            connection, _ = listener.accept()
            head, streams, _, _ = socket.recv_fds(connection, 4, 3)
            wanted = json.loads(connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
            if wanted["environment"].get("TRIVIUM_JOURNAL", "").startswith("postgresql"):
                for module in _OF_POSTGRESQL:
                    import_module(module)
            if os.fork() == 0:
                listener.close()
                _attend(connection, wanted, streams)
            connection.close()
            for each in streams:
                os.close(each)


def _attend(connection: socket.socket, wanted: dict[str, Any], streams: list[int]) -> None:
    """Fork the run, wait for it, and tell its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(wanted, streams)
    for each in streams:
        os.close(each)
    connection.sendall(pid.to_bytes(4, "big", signed=True))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection.sendall(status.to_bytes(4, "big", signed=True))
    os._exit(0)


def _become(wanted: dict[str, Any], streams: list[int]) -> None:
    """The program, as if it had just been started."""
    if wanted["on_terminal"]:
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)  # so that Ctrl-C typed there is a signal to the process
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for each in streams:
        os.close(each)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    tempfile.tempdir = None  # which that of the tests is not
    program, *arguments = wanted["program"]
    is_unbuffered = arguments[:1] == ["-u"]
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors, closefd=False)
    sys.stdout = sys.__stdout__ = _written(1, sys.stdout, is_unbuffered)
    sys.stderr = sys.__stderr__ = _written(2, sys.stderr, is_unbuffered, line_buffering=True)
    status: object = 0
    try:
        if program == sys.executable:
            sys.argv = arguments[is_unbuffered:]
            sys.path[0] = str(Path(sys.argv[0]).parent.absolute())
            runpy.run_path(sys.argv[0], run_name="__main__")
        else:
            sys.argv = wanted["program"]
            sys.path[0] = str(Path(program).parent)
            from trivium.cli import main

            main()
    except SystemExit as left:
        status = left.code
    _end(status)


def _end(status: object) -> None:
    """End as the interpreter does, but for taking all modules apart: half of a short run's time goes there, since what
    the runs share is copied for it."""
    threading._shutdown()  # type: ignore[attr-defined]
    _run_exitfuncs()
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(status, int):
        os._exit(status & 0xFF)
    sys.exit(status)  # type: ignore[arg-type]


def _written(number: int, like: TextIO, is_unbuffered: bool, line_buffering: bool = False) -> TextIO:
    """A stream as Python makes it when it starts."""
    buffer = os.fdopen(number, "wb", 0 if is_unbuffered else -1, closefd=False)
    return io.TextIOWrapper(
        buffer,
        like.encoding,
        like.errors,
        line_buffering=line_buffering or os.isatty(number),
        write_through=is_unbuffered,
    )


if __name__ == "__main__":
    _serve(*sys.argv[1:])
