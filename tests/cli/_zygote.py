"""A process that has loaded the command already, and forks one for each run: what a run does is a process of its own,
but need not load everything again. `Command` starts it once for each process of the tests."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
from atexit import register
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["forked"]

_LOADED = (
    "trivium.cli._app", "trivium.cli._chat", "trivium.cli._extract", "trivium.cli._models", "trivium.testing",
    "trivium.tasks", "trivium.llms._openai", "rich.progress", "typer.testing",
)  # fmt: skip


def forked(arguments: list[str], folder: Path, environment: dict[str, str], streams: tuple[int, int, int]) -> int:
    """Run `trivium` in a process of its own, to its end; its exit status.

    Args:
        arguments: what stands behind `trivium`.
        folder: where it runs.
        environment: all of it.
        streams: file descriptors of stdin, stdout and stderr.
    """
    path = _started()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        wanted = json.dumps({"arguments": arguments, "folder": str(folder), "environment": environment}).encode()
        socket.send_fds(connection, [len(wanted).to_bytes(4, "big")], list(streams))
        connection.sendall(wanted)
        return int.from_bytes(connection.recv(4), "big", signed=True)


@cache
def _started() -> str:
    program = [sys.executable, "-W", "error", str(Path(__file__))]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    register(process.kill)
    return process.stdout.readline().strip()


def _serve() -> None:
    import importlib
    import tempfile

    for module in _LOADED:
        importlib.import_module(module)
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
            if os.fork() == 0:
                listener.close()
                _attend(connection)
            connection.close()


def _attend(connection: socket.socket) -> None:
    """Fork the run, wait for it, and tell its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    size, data = int.from_bytes(head, "big"), b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(json.loads(data), streams)
    for each in streams:
        os.close(each)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection.sendall(status.to_bytes(4, "big", signed=True))
    os._exit(0)


def _become(wanted: dict[str, Any], streams: list[int]) -> None:
    """The command, as if it had just been started."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for each in streams:
        os.close(each)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv = ["trivium", *wanted["arguments"]]
    from trivium.cli import main

    main()
    sys.exit(0)  # the interpreter ends as it always does


if __name__ == "__main__":
    _serve()
