"""Servers as processes, and what tests wait for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from trivium.commander import run_sync, wait

__all__ = ["GUARD", "PEERS", "PLAIN_SERVER", "ROOT", "SDK_SERVER", "child_pids", "is_alive", "listening", "soon"]

GUARD = 30.0
"""Seconds after which something hangs; nothing here waits for it to pass."""
ROOT = Path(__file__).parents[2]
PLAIN_SERVER = [sys.executable, str(Path(__file__).with_name("_plain_server.py"))]
SDK_SERVER = [sys.executable, str(Path(__file__).with_name("_sdk_server.py"))]
PEERS = ROOT / ".peers" / "mcp-servers" / "bin"


def soon(holds: Callable[[], object]) -> None:
    """Wait until something holds; it fails where that never comes."""
    for _ in range(int(GUARD / 0.02)):
        if holds():
            return
        run_sync(wait, 0.02)
    raise AssertionError("it never came")


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be looked after does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def child_pids() -> set[str]:
    """The processes that this one has started, and that are there."""
    found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {pid for each in found for pid in each.read_text().split() if is_alive(int(pid))}


@contextmanager
def listening(command: list[str], port: int = 0) -> Generator[tuple[int, subprocess.Popen[str]]]:
    """A server that prints the port where it listens."""
    with subprocess.Popen([*command, str(port)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline()), process
        finally:
            process.kill()
