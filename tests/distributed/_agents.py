"""Agents that are made in other processes, from their dotted paths."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from policies._office import READ, TO_EVE, Outbox
from trivium import Message, Module
from trivium.commander import wait
from trivium.memory import MemoryManager

__all__ = ["Clerk", "Place", "broken", "loud", "make_place", "no_module"]


class Place(Module):
    """Says where it runs; asked to, it marks a file when it begins and when it is stopped."""

    def __init__(self, greeting: str = "here", helper: Any = None) -> None:
        super().__init__(name="Place", memory=MemoryManager())
        self.greeting, self.helper = greeting, helper

    async def forward(self, message: Message, **kwargs: Any) -> str:
        if message.content.startswith("wait "):
            mark = Path(message.content.removeprefix("wait "))
            mark.with_suffix(".began").touch()
            try:
                await wait()
            finally:
                mark.with_suffix(".ended").touch()
        if message.content == "fail":
            raise ValueError("as you wished")
        cards = os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
        return f"{self.greeting} {os.getpid()} {cards} {self.helper} {kwargs}"


def make_place(**kwargs: Any) -> Place:
    """A function that makes one."""
    return Place(greeting="made", **kwargs)


def broken() -> Module:
    """What fails as it is made."""
    raise OSError("no such disk")


def no_module() -> int:
    """What makes something else."""
    return 3


def loud() -> Module:
    """What writes more than a pipe holds, and fails."""
    sys.stderr.write("noise\n" * 100_000 + "the last word\n")
    os._exit(7)


class Clerk(Module):
    """Reads a mail, does what it says, and answers with the recipients of what it has sent."""

    def forward(self, *message: Message) -> str:
        outbox = Outbox()
        outbox.agent(READ, TO_EVE)(*message)
        return ", ".join(outbox.sent) or "nobody"
