"""The programs that workers of the tests serve, and what they do to the world: rows in the database of the journal."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from trivium import Agent, Message, Module, this_call
from trivium.actions import tool
from trivium.exceptions import RunPausedError
from trivium.journal import Journal
from trivium.testing import ScriptedModel, call_tool
from trivium.workers import Worker

__all__ = ["ENDS", "PROGRAMS", "Ending", "Stateless", "prepare", "serve"]

_EFFECTS = """
CREATE TABLE IF NOT EXISTS paid (run TEXT);
CREATE TABLE IF NOT EXISTS noted (run TEXT, key TEXT, PRIMARY KEY (run, key));
CREATE TABLE IF NOT EXISTS booked (run TEXT);
"""


def prepare(url: str) -> None:
    """Make the tables of the effects."""
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(_EFFECTS.encode())


class Stateless:
    """A model that answers by how often it has answered in the conversation, as a real one does."""

    name = "stateless"

    def __init__(self, *answers: Any, seconds: float = 0.0) -> None:
        self.answers, self.seconds = answers, seconds

    def stream(self, request: Any) -> Iterator[Any]:
        asked = sum(each["role"] == "assistant" for each in request.messages)
        time.sleep(self.seconds)
        yield from ScriptedModel([self.answers[asked]]).stream(request)


class Stuck(Stateless):
    """Answers once, and then no more: its runs have begun, and do not end."""

    def stream(self, request: Any) -> Iterator[Any]:
        if any(each["role"] == "assistant" for each in request.messages):
            threading.Event().wait()
        yield from super().stream(request)


def clerk(url: str, *, seconds: float = 0.0, kind: Callable[..., Any] = Stateless, **options: Any) -> Agent:
    """Pays, notes and books: an effect of each kind, each a row of its run; `kind` makes its model."""

    @tool(effect="once")
    def pay() -> str:
        """Pay."""
        with psycopg.connect(url, autocommit=True) as database:
            database.execute("INSERT INTO paid VALUES (%s)", (this_call().run_id,))
        return "paid"

    @tool(effect="idempotent")
    def note() -> str:
        """Note."""
        with psycopg.connect(url, autocommit=True) as database:
            key = this_call().run_id, this_call().key
            database.execute("INSERT INTO noted VALUES (%s, %s) ON CONFLICT DO NOTHING", key)
        return "noted"

    @tool(effect="transactional")
    def book() -> str:
        """Book."""
        this_call().transaction.execute("INSERT INTO booked VALUES (%s)", (this_call().run_id,))
        return "booked"

    answers = (call_tool("pay"), call_tool("note"), call_tool("book"), "done")
    return Agent(kind(*answers, seconds=seconds), tools=[pay, note, book], name="clerk", **options)


def echo(url: str) -> Agent:
    """Says what it was told."""
    return Agent(ScriptedModel(lambda request: request.messages[-1]["content"]), name="echo")


def newer_clerk(url: str) -> Agent:
    """The clerk of the next release."""
    return clerk(url, system_message="Be kind.")


def buyer(url: str) -> Agent:
    """Asks before it buys."""

    @tool(effect="once", needs_approval=True)
    def buy(item: str) -> str:
        """Buy."""
        return f"bought {item}"

    return Agent(Stateless(call_tool("buy", item="tea"), "It is bought."), tools=[buy], name="buyer")


class Careful(Module):
    """Asks the buyer, and has an answer of its own while that waits for a decision."""

    def __init__(self, buyer: Agent) -> None:
        super().__init__(name="careful")
        self.buyer = buyer

    async def forward(self, message: Message) -> str:
        try:
            return (await self.buyer.acall(message)).content
        except RunPausedError:
            return "You will hear from us."


def careful(url: str) -> Module:
    """Catches that its run pauses."""
    return Careful(buyer(url))


def waiter(url: str) -> Agent:
    """Waits for a minute."""

    async def stay() -> str:
        """Stay."""
        await asyncio.sleep(60)
        return "waited"

    return Agent(Stateless(call_tool("stay"), "done"), tools=[stay], name="waiter")


def chores(url: str, seconds: float = 0.0) -> Agent:
    """As many answers and tools as the clerk, and no effect on the world."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "it is there"

    return Agent(Stateless(*[call_tool("look")] * 3, "done", seconds=seconds), tools=[look], name="chores")


def fragile(url: str) -> Module:
    """Fails until a file is there; ends its process, or would, when told "exit"; has no words when told "weird"."""

    class Weird(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    class Fragile(Module):
        def forward(self, message: Message) -> str:
            if message.content == "exit":
                raise SystemExit(3)
            if message.content == "weird":
                raise Weird
            return "mended" if Path(message.content).exists() else str(1 / 0)

    return Fragile(name="fragile")


ENDS: dict[str, type[BaseException]] = {
    "exit": SystemExit, "pressed": KeyboardInterrupt, "closed": GeneratorExit, "cancelled": asyncio.CancelledError,
}  # fmt: skip


class Ending(Module):
    """Raises what it is told, in itself, in a task of its own, or in its model."""

    def __init__(self) -> None:
        super().__init__(name="ending")
        self.agent = Agent(ScriptedModel(self._raised), name="inner", memory=False)

    def _raised(self, request: Any) -> str:
        raise ENDS[request.messages[-1]["content"]]

    async def _raise(self, what: str) -> None:
        raise ENDS[what]

    async def forward(self, message: Message) -> Any:
        what, _, where = str(message.content).partition(" in ")
        if not where:
            return "It goes on."
        if where == "model":
            return await self.agent.acall(what)
        await (asyncio.create_task(self._raise(what)) if where == "task" else self._raise(what))


def ending(url: str) -> Module:
    """Raises what would end a program or a task."""
    return Ending()


def blocked(url: str) -> Agent:
    """Has a tool that holds its thread the first time."""

    @tool(effect="read")
    def hold(path: str) -> str:
        """Hold."""
        if Path(f"{path}.again").exists():
            return "free"
        Path(f"{path}.again").touch()
        time.sleep(60)
        return "late"

    def answer(request: Any) -> Any:
        asked = request.messages[-1]
        return call_tool("hold", path=asked["content"]) if asked["role"] == "user" else asked["content"]

    return Agent(ScriptedModel(answer), tools=[hold], name="blocked")


def deadly(url: str) -> Agent:
    """Asks a tool that is the end of the process as long as a file is not there."""

    @tool(effect="read")
    def open_it(path: str) -> str:
        """Open it."""
        if not Path(path).exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return "opened"

    def answer(request: Any) -> Any:
        asked = request.messages[-1]
        return call_tool("open_it", path=asked["content"]) if asked["role"] == "user" else "done"

    return Agent(ScriptedModel(answer), tools=[open_it], name="deadly")


PROGRAMS: dict[str, Callable[..., Module]] = {
    "clerk": clerk, "slow": partial(clerk, seconds=0.1), "stuck": partial(clerk, kind=Stuck), "newer": newer_clerk,
    "echo": echo, "buyer": buyer, "waiter": waiter, "deadly": deadly, "fragile": fragile, "chores": chores,
    "patient": partial(chores, seconds=0.1), "ending": ending, "blocked": blocked,
    "careful": careful,
}  # fmt: skip


def serve(url: str, names: tuple[str, ...], ready: Any = None, **options: Any) -> None:
    """Be a worker until SIGTERM."""
    served = {agent.name: agent for agent in (PROGRAMS[name](url) for name in names)}
    worker = Worker(served, Journal(url), **options)
    signal.signal(signal.SIGTERM, lambda number, frame: worker.stop())
    worker.run(bool if ready is None else ready.set)
    if worker.runs:
        os._exit(0)  # as the command does
