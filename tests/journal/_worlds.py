"""What is outside of a run that is killed, and of its process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from trivium import this_call
from trivium.journal import Journal


class World:
    """What is outside of the run, and of its process.

    Args:
        folder: has the journal, and a file of what was asked of the world.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.limit = folder, 60.0
        self.journal = Journal(folder / "runs.db")

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text() if (self.folder / "said").exists() else ""

    def pay(self) -> str:
        """Pay."""
        with open(self.folder / "said", "a") as file:
            file.write("P")
        return "paid"

    def ask(self) -> str:
        """Ask something that fails the first time."""
        is_first = "a" not in self.said
        with open(self.folder / "said", "a") as file:
            file.write("a")
        if is_first:
            raise ConnectionError("the line was down")
        return "answered"

    async def ask_async(self) -> str:
        return self.ask()

    async def pay_async(self) -> str:
        return self.pay()

    async def stop_first(self) -> str:
        """Have the caller stopped the first time."""
        with suppress(ConnectionError):
            return self.ask()
        this_call().ancestor_chain[1].kill("enough")
        await asyncio.Event().wait()
        raise AssertionError

    def die(self) -> None:
        """End the process, if this is the attempt that is killed."""
        if (self.folder / "deadly").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    def attempt(self, program: Callable[[World], str], is_killed: bool = False) -> str:
        """Run a program in a process of its own; return its answer, or the class of its error, or "killed"."""
        deadly, told = self.folder / "deadly", self.folder / "told"
        deadly.touch() if is_killed else deadly.unlink(missing_ok=True)
        told.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                try:
                    told.write_text(program(World(self.folder)))
                except Exception as error:
                    told.write_text(type(error).__name__)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        return told.read_text() if told.exists() else "killed"
