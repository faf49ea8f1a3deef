"""The child process of an `HTTPAgentServer`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path

from trivium.commander.lowlevel import submit
from trivium.distributed._config import make_module
from trivium.serving import AgentServer


def run_child() -> None:
    """Read the order from the first line of stdin, and serve the agent until stdin ends or a signal arrives."""
    order = json.loads(sys.stdin.buffer.readline())
    agent = make_module(json.loads(order["config"]))
    server = AgentServer(agent, order["host"], order["port"], token=order["token"], grace=order["grace"])
    folder = Path(order["folder"])
    submit(partial(_follow, server, folder))
    server.serve(partial(_ready, server, folder))


def _follow(server: AgentServer, folder: Path) -> None:
    """Stop when the parent is gone, and clean up in its place: however it ended, its end of the pipe is closed."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    server.stop()


def _ready(server: AgentServer, folder: Path) -> None:
    written = folder / "port.new"
    written.write_text(str(server.port))
    written.rename(folder / "port")
