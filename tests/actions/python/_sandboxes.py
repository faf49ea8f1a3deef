"""What the tests of the sandbox share: running code there, and looking at what is left."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

from trivium import Message
from trivium.actions.python._kernel import Execution, Kernels


def execute(kernels: Kernels, code: str, seconds: float = 20, session_id: Hashable = 0) -> Execution:
    """Run one piece of code to its end."""
    found = [each for each in kernels.execute(session_id, [code], seconds) if each is not None]
    assert len(found) == 1
    return found[0]


def call(code: Any, name: str = "run", **more: Any) -> Message:
    return Message(content={"name": name, "parameters": {"command": code, **more}})


def parents() -> dict[int, int]:
    """Each process of this machine, with the one that started it."""
    found: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    return found


def descendants(pid: int | None = None) -> list[int]:
    """The processes below one; default: below this."""
    table = parents()

    def below(above: int) -> Iterator[int]:
        for child, parent in table.items():
            if parent == above:
                yield child
                yield from below(child)

    return sorted(below(pid or os.getpid()))


def command(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def state(pid: int) -> str:
    """R runs, S sleeps, T is stopped, Z has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def sandboxes() -> list[int]:
    """The bubblewraps that this process started and that still run."""
    return [pid for pid in descendants() if "--info-fd" in command(pid)]


def kernel_process(kernels: Kernels, session_id: Hashable = 0) -> int:
    """The Jupyter kernel of a session."""
    sandbox = kernels.sessions[session_id].sandbox
    assert sandbox is not None
    first = int(Path(f"/proc/self/fdinfo/{sandbox.process_fd}").read_text().rpartition("Pid:")[2].split()[0])
    found = [pid for pid in descendants(first) if "ipykernel" in command(pid)]
    assert found
    return found[0]
