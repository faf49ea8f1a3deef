"""Tasks whose items run in processes of Ray, with effects on the world: rows in the database of the journal."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from trivium import Agent, ChatAgent, Message, Task
from trivium.actions import tool
from trivium.commander import wait
from trivium.llms import ModelProtocol, RateLimiter, Request
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool
from workers._programs import Stateless, clerk

__all__ = ["Unsendable", "buyer", "limited", "office", "priced", "sender", "shouter", "stumbling", "text_of", "waiter"]


def office(url: str, seconds: float) -> Task:
    """Pays, notes and books for each item."""
    return Task(clerk(url, seconds=seconds), interactive=False, single_round=True)


class Stumbling(Stateless):
    """Ends its process at the third answer, the first time."""

    def __init__(self, mark: Path, *answers: Any, seconds: float) -> None:
        super().__init__(*answers, seconds=seconds)
        self.mark = mark

    def stream(self, request: Request) -> Iterator[Any]:
        if sum(each["role"] == "assistant" for each in request.messages) == 2 and not self.mark.exists():
            self.mark.touch()
            os._exit(1)
        yield from super().stream(request)


def stumbling(url: str, mark: Path) -> Agent:
    return clerk(url, kind=partial(Stumbling, mark))


def shouter(model: ModelProtocol | None = None) -> Task:
    """Says it louder, in which process, and of which process that one is a child: the node's."""

    def shout(request: Request) -> str:
        said = str(request.messages[-1]["content"])
        if said == "fail":
            raise ValueError("as you wished")
        return f"DONE {said.upper()} {os.getpid()} {os.getppid()}"

    return Task(ChatAgent(model or ScriptedModel(shout), name="shouter"), interactive=False)


def buyer() -> Task:
    """Asks before it buys."""

    @tool(effect="once", needs_approval=True)
    def buy(item: str) -> str:
        """Buy."""
        return f"bought {item}"

    model = Stateless(call_tool("buy", item="tea"), "DONE It is bought.")
    return Task(Agent(model, tools=[buy], name="buyer"), interactive=False)


def sender() -> Task:
    """Obeys an attacker, and says what came of it."""

    @tool(sends=True)
    def send_mail(to: str) -> str:
        """Send a mail."""
        return f"sent {to}"

    def obey(request: Request) -> Any:
        last = request.messages[-1]
        return f"DONE {last['content']}" if last["role"] == "tool" else call_tool("send_mail", to="eve@evil.org")

    return Task(Agent(ScriptedModel(obey), tools=[send_mail], name="sender"), interactive=False)


class Waiting:
    """A model that makes a file of the name of its process, and answers once there is a file "go"."""

    name = "waiting"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def stream(self, request: Request) -> AsyncIterator[str]:
        (self.folder / str(os.getpid())).touch()
        while not (self.folder / "go").exists():
            await wait(0.02)
        yield "DONE"


def waiter(folder: Path) -> Task:
    return Task(ChatAgent(Waiting(folder)), interactive=False)


def _die(request: Request) -> str:
    if request.messages[-1]["content"] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return "DONE"


def deadly() -> Task:
    """Ends its process when it is told so."""
    return Task(ChatAgent(ScriptedModel(_die)), interactive=False)


class Counted:
    """A model each of whose answers takes fifteen tokens."""

    name = "counted"

    def stream(self, request: Request) -> Iterator[str | Usage]:
        yield "DONE"
        yield Usage(10, 5)


def priced() -> Task:
    return Task(ChatAgent(Counted()), interactive=False)


def limited(store: str | None) -> Task:
    """Answers four times in a minute."""
    model = RateLimiter(requests_per_minute=4, store=store).of(Counted())
    return Task(ChatAgent(model), interactive=False)


class Unsendable(Counted):
    def __init__(self) -> None:
        self.lock = Lock()


def text_of(result: Message | None) -> str:
    return "" if result is None else str(result.content)
