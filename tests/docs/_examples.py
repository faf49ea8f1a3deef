"""Programs of documents, and examples, as processes of their own, which have the package loaded as they begin."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from cli._zygote import Forked, started_zygote

__all__ = ["Run", "command_in", "started"]

Run = Callable[..., str]


def started(folder: Path, script: Path, *arguments: object, environment: Mapping[str, str] = os.environ) -> Forked:
    """Start a script in a folder, where a warning is an error; what it writes on both streams is its `stdout`."""
    program = [sys.executable, str(script), *map(str, arguments)]
    (read, typed), (out, written) = os.pipe(), os.pipe()
    process = Forked(program, folder, {**environment}, (read, written, written))
    os.close(read)
    os.close(written)
    process.stdin, process.stdout = os.fdopen(typed, "w", encoding="utf-8"), os.fdopen(out, encoding="utf-8")
    return process


_COMMAND = """#!{python} -IS
import json, os, socket, sys
wanted = {{"program": sys.argv, "folder": os.getcwd(), "environment": {{**os.environ}}, "on_terminal": False}}
sent = json.dumps(wanted).encode()
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({place!r})
    socket.send_fds(connection, [len(sent).to_bytes(4, "big")], [0, 1, 2])
    connection.sendall(sent)
    _, status = (connection.recv(4, socket.MSG_WAITALL) for _ in range(2))
sys.exit(int.from_bytes(status, "big", signed=True))
"""


def command_in(folder: Path) -> None:
    """Make the command `trivium` there, for shells: it is forked, as a script."""
    folder.mkdir(exist_ok=True)
    command = folder / "trivium"
    command.write_text(_COMMAND.format(python=sys.executable, place=started_zygote()), encoding="utf-8")
    command.chmod(0o755)
