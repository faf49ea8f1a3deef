"""A Jupyter kernel, and a person at its front end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_client.manager import start_new_kernel

__all__ = ["INTERRUPT", "Cell", "Notebook"]

INTERRUPT = object()
"""In place of an answer: the person interrupts the kernel."""
_GUARD = 60


class Cell(NamedTuple):
    """What is seen of a cell that ran: its output, the prompts that asked for a line, and the error's name and text."""

    out: str
    prompts: list[str]
    error: tuple[str, str] | None


class Notebook:
    """A kernel that runs cells.

    Args:
        folder: where it runs.
        python_path: where it finds modules.
    """

    def __init__(self, folder: Path, python_path: str) -> None:
        environment = {**os.environ, "PYTHONPATH": python_path, "PYTHONWARNINGS": "default"}
        self.manager, self.client = start_new_kernel(kernel_name="python3", cwd=str(folder), env=environment)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code: str, answers: Sequence[Any] = (), *, allow_stdin: bool = True) -> Cell:
        """Run a cell; each line that it asks for is the next of the answers."""
        left, prompts, out, errors = list(answers), list[str](), list[str](), list[tuple[str, str]]()

        def asked(message: dict[str, Any]) -> None:
            prompts.append(message["content"]["prompt"])
            while left:
                answer = left.pop(0)
                if answer is not INTERRUPT:
                    self.client.input(answer)
                    return
                self.manager.interrupt_kernel()

        def written(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                out.append(content["text"])
            elif message["msg_type"] == "error":
                errors.append((content["ename"], content["evalue"]))

        hook: Callable[[dict[str, Any]], None] | None = asked if allow_stdin else None
        self.client.execute_interactive(
            code, allow_stdin=allow_stdin, stdin_hook=hook, output_hook=written, timeout=_GUARD
        )
        assert not left, f"nobody asked for {left}"
        return Cell("".join(out), prompts, errors[0] if errors else None)
