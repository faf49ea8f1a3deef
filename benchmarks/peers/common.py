"""What every adapter shares: scripts of models, tools, and the witness of what was really done. Standard library only.

An adapter is a file `<peer>_adapter.py` with a class `Peer(Adapter)`. It runs in the peer's own interpreter, says in
the peer's own documented terms how an agent is made, asked and remembered, and measures nothing: `driver.py` does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

__all__ = [
    "WITNESS",
    "Adapter",
    "Call",
    "Cannot",
    "Script",
    "aadd",
    "add",
    "ask",
    "calls",
    "handlers",
    "hello",
    "in_thread",
    "pieces",
    "tools",
]


class Call(NamedTuple):
    """A tool call that a scripted model makes."""

    name: str
    arguments: Mapping[str, Any]
    id: str = "call_0"


Script = Callable[[Sequence[str]], "str | Call | tuple[str, ...]"]
"""From the results of tools since the last question to what the model says: a text, a call, or a text in pieces."""


class Cannot(Exception):
    """A peer has no such thing; the sentence says why."""


class Witness:
    """What really happened: models note their requests, and tools their runs."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all."""
        self.requests = 0
        self.heard: Callable[[], int] = int
        self.seen: list[str] = []
        self.ran: list[str] = []


WITNESS = Witness()


def ask(script: Script, results: Sequence[Any], heard: Callable[[], int]) -> str | Call | tuple[str, ...]:
    """What a scripted model says, and the note of it.

    Args:
        script: of the model.
        results: of tools since the last question, as the model was told them.
        heard: counts the questions among the messages that the model was sent; it is called when nothing is timed.
    """
    WITNESS.requests += 1
    WITNESS.heard = heard
    WITNESS.seen = [str(each) for each in results]
    said = script(WITNESS.seen)
    return said._replace(id=f"call_{WITNESS.requests}") if isinstance(said, Call) else said


def hello(results: Sequence[str]) -> str:
    """A model that says hello."""
    return "hello"


def calls(number: int) -> Script:
    """A model that calls `add` so many times, one after the other, then says that it is done."""

    def script(results: Sequence[str]) -> str | Call:
        if len(results) < number:
            return Call("add", {"a": len(results), "b": 1})
        return f"done {number}"

    return script


def pieces(number: int) -> Script:
    """A model whose answer comes in so many pieces."""
    words = tuple(f"word{index} " for index in range(number))
    return lambda results: words


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first number
        b: the second number
    """
    total = a + b
    WITNESS.ran.append(str(total))
    return total


async def aadd(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first number
        b: the second number
    """
    return add(a, b)


aadd.__name__ = aadd.__qualname__ = "add"
aadd.plain = add  # type: ignore[attr-defined] - for peers that have no async tools


def _named(name: str) -> Callable[..., int]:
    def tool(a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: the first number
            b: the second number
        """
        return a + b

    tool.__name__ = tool.__qualname__ = name
    return tool


_MANY = [_named(f"tool_{index}") for index in range(1, 20)]


def tools(number: int) -> list[Callable[..., int]]:
    """So many tools: `add`, and others like it."""
    return [add, *_MANY][:number]


class Adapter:
    """How a peer is used. A method that a peer has no counterpart of stays as it is here, or raises `Cannot`.

    Attributes:
        title: the peer's name in tables.
        distributions: whose versions are told.
        statement: the import of what an agent with tools needs.
        notes: how a workload (by its name) is done where that differs from the others'.
    """

    title: ClassVar[str] = ""
    distributions: ClassVar[Sequence[str]] = ()
    statement: ClassVar[str] = "pass"
    notes: ClassVar[Mapping[str, str]] = {}

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        """An agent with a scripted model.

        Args:
            script: of the model.
            tools: functions that it may call.
            in_loop: it will be asked in async code.
            remembers: it keeps the conversation of each session.
        """
        raise NotImplementedError

    def run(self, agent: Any, text: str, session: str) -> str:
        """Ask an agent in sync code."""
        raise Cannot("has no sync call")

    async def arun(self, agent: Any, text: str, session: str) -> str:
        """Ask an agent in async code."""
        raise Cannot("has no async call")

    def forget(self, agent: Any, sessions: Sequence[str]) -> None:
        """Forget sessions of an agent; it is not counted."""

    async def stream(self, agent: Any, text: str) -> list[str]:
        """Ask an agent, and give the pieces of text in which the answer came."""
        raise Cannot("does not stream")

    def team(self) -> Callable[[str], str]:
        """A manager who hands the question to a worker, and answers with what he said; a function to ask it.

        The manager's model asks for the worker, the worker's says "hello", the manager's says "done hello".
        """
        raise Cannot("has no agent or task below another")

    def node(self) -> Callable[[int], float]:
        """A function from a number of nodes below one to the seconds of processor time that they took."""
        raise Cannot("has no run tree that is used without a model")

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        """A function that gives the state of agents within agents, so deep, each of which has heard one turn."""
        raise Cannot("has no state of agents within agents")

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool = False) -> Any:
        """An agent whose model is behind the peer's own client of OpenAI's chat completions."""
        raise Cannot("has no client of model servers")

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        """Ask such an agent, in the form that was chosen when it was made."""
        return await self.arun(agent, text, session)

    async def aclose(self, agent: Any) -> None:
        """Close what such an agent has opened."""

    def errors(self) -> tuple[type[BaseException], ...]:
        """The roots of the errors that the peer and its client of model servers document."""
        return ()

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> Any:
        """An agent that writes what it does below a folder, so that a new process can go on."""
        raise Cannot("writes nothing down by which a killed run could go on")

    def start(self, agent: Any, text: str) -> str:
        """Begin a durable run."""
        return self.run(agent, text, "kept")

    def resume(self, agent: Any) -> str:
        """Go on with a durable run in a new process."""
        raise Cannot("writes nothing down by which a killed run could go on")


def handlers(package: Any) -> Callable[[int], float]:
    """Handlers that do nothing, below a job; `package` is a commander, ours or Agere's: the names are the same."""

    @package.handler(package.PASS_WORD)
    async def nothing(self_handler: Any) -> None: ...

    class AtOnce(package.Job):
        number = 0

        @package.tasker(package.PASS_WORD)
        async def task(self) -> None:
            self.began = time.process_time()
            for _ in range(self.number):
                self.call_handler(nothing())

    def seconds(number: int) -> float:
        job = AtOnce()
        job.number = number
        package.CommanderAsync().run(job, auto_exit=True)
        return time.process_time() - job.began

    return seconds


_threads = ThreadPoolExecutor(1000)


async def in_thread(call: Callable[..., Any], *arguments: Any) -> Any:
    """For peers without async calls: the call in a thread of its own."""
    return await asyncio.get_running_loop().run_in_executor(_threads, call, *arguments)
