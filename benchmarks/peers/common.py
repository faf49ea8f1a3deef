"""What every adapter shares: scripts of models, tools, and the witness of what was really done. Standard library only.

An adapter is a file `<peer>_adapter.py` with a class `Peer(Adapter)`. It runs in the peer's own interpreter, says in
the peer's own documented terms how an agent is made, asked and remembered, and measures nothing: `driver.py` does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

__all__ = [
    "WITNESS",
    "Adapter",
    "Call",
    "Cannot",
    "Kept",
    "Script",
    "aadd",
    "add",
    "ask",
    "calls",
    "calls_each",
    "greeting",
    "handlers",
    "hello",
    "in_thread",
    "long_answer",
    "long_question",
    "pause",
    "pieces",
    "pieces_in_time",
    "report",
    "tools",
    "word",
]


class Call(NamedTuple):
    """A tool call that a scripted model makes."""

    name: str
    arguments: Mapping[str, Any]
    id: str = "call_0"


Script = Callable[[Sequence[str]], "str | Call | Iterable[str]"]
"""From the results of tools since the last question to what the model says: a text, a call, or a text in pieces."""


class Cannot(Exception):
    """A peer has no such thing; the sentence says why."""


class Witness:
    """What really happened: models note what they were sent, tools and nodes that they ran."""

    def __init__(self) -> None:
        self.word = "hello"
        self.paced = False
        self.reset()

    def reset(self) -> None:
        """Forget all."""
        self.requests = 0
        self.sent: Any = ()
        self.seen: list[str] = []
        self.ran: list[str] = []
        self.names: list[str] = []
        self.nodes = 0
        self.got: list[str] = []
        self.behind = 0


WITNESS = Witness()


def ask(script: Script, results: Sequence[Any], sent: Any) -> str | Call | Iterable[str]:
    """What a scripted model says, and the note of it.

    Args:
        script: of the model.
        results: of tools since the last question, as the model was told them.
        sent: all messages that the model was sent, as the peer has them: the driver searches them for what it asked.
    """
    WITNESS.requests += 1
    WITNESS.sent = sent
    WITNESS.seen = [str(each) for each in results]
    said = script(WITNESS.seen)
    return said._replace(id=f"call_{WITNESS.requests}") if isinstance(said, Call) else said


def hello(results: Sequence[str]) -> str:
    """A model that says hello."""
    return "hello"


def long_question(number: int) -> str:
    """A question like no other, as long as one of a user's."""
    return f"question-{number}. " + "Please tell me what I have ordered so far, and when it will come. " * 3


def long_answer(results: Sequence[str]) -> str:
    """A model that answers in some sentences."""
    return "You have ordered a chair and a table, and both will come on Monday, before noon. " * 3


def greeting(level: int) -> str:
    """What an agent answers that stands so many levels above the innermost, which says hello."""
    return "hello" + "+" * level


def calls_each(names: Sequence[str]) -> Script:
    """A model that calls each of some tools, one after the other, then says that it is done."""

    def script(results: Sequence[str]) -> str | Call:
        if len(results) < len(names):
            return Call(names[len(results)], {"a": len(results), "b": 1})
        return f"done {len(names)}"

    return script


def calls(number: int) -> Script:
    """A model that calls `add` so many times."""
    return calls_each(("add",) * number)


def word(results: Sequence[str]) -> str:
    """A worker's model, which says what nobody else can know."""
    return WITNESS.word


def report(call: Call) -> Script:
    """A manager's model, which makes a call and then says what came of it."""
    return lambda results: f"done {results[-1]}" if results else call


def pieces(number: int) -> Script:
    """A model whose answer comes in so many pieces."""
    words = tuple(f"word{index} " for index in range(number))
    return lambda results: words


def pieces_in_time(number: int) -> Script:
    """The same, which notes how far behind the reader is when it gives its last piece."""

    def given() -> Iterator[str]:
        for index in range(number):
            WITNESS.behind = index - len(WITNESS.got)
            yield f"word{index} "

    return lambda results: given()


async def pause() -> None:
    """What a model of `pieces_in_time` does between two pieces, so that others get on."""
    await asyncio.sleep(0.002)


def _named(name: str) -> Callable[..., int]:
    def tool(a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: the first number
            b: the second number
        """
        total = a + b
        WITNESS.ran.append(str(total))
        WITNESS.names.append(name)
        return total

    tool.__name__ = tool.__qualname__ = name
    return tool


def tools(number: int) -> list[Callable[..., int]]:
    """So many new functions as tools: `add`, and others like it."""
    return [_named(f"tool_{index}" if index else "add") for index in range(number)]


add = tools(1)[0]


async def aadd(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first number
        b: the second number
    """
    return add(a, b)


aadd.__name__ = aadd.__qualname__ = "add"
aadd.plain = add  # type: ignore[attr-defined] - for peers that have no async tools


class Kept:
    """What is made for each session, where an agent holds one conversation, or none.

    Args:
        make: makes it, of the session's name.
        agent: whose sessions these are, where they have one agent.
    """

    def __init__(self, make: Callable[[str], Any], agent: Any = None) -> None:
        self.make, self.agent = make, agent
        self.sessions: dict[str, Any] = {}

    def session(self, name: str) -> Any:
        """What was made for a session, or is made now."""
        if name not in self.sessions:
            self.sessions[name] = self.make(name)
        return self.sessions[name]


class Adapter:
    """How a peer is used. A method that a peer has no counterpart of stays as it is here, or raises `Cannot`.

    Attributes:
        title: the peer's name in tables.
        distributions: whose versions are told.
        statement: the import of what an agent with tools needs.
        notes: how a workload (by its name) is done where that differs from the others'.
        stores: where a conversation can be kept, each with "SQLite" or "PostgreSQL" in its name; see `converse`.
    """

    title: ClassVar[str] = ""
    distributions: ClassVar[Sequence[str]] = ()
    statement: ClassVar[str] = "pass"
    notes: ClassVar[Mapping[str, str]] = {}
    stores: ClassVar[Sequence[str]] = ()

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

    def apart(self, agent: Any) -> Any:
        """The agent for one of many runs at once: the same, or what the peer makes of it where it holds one run."""
        return agent

    def forget(self, agent: Any, sessions: Sequence[str]) -> None:
        """Forget sessions of an agent; it is not counted."""

    async def stream(self, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        """Ask an agent, and call `got` with each piece of text as it comes."""
        raise NotImplementedError

    def in_lagents_style(self, script: Script, tools: Sequence[Any]) -> Any:
        """An agent that `run` asks, written as Lagent's documents write one that calls tools; see `lagent_style`."""
        raise Cannot("has not the names that Lagent's documents use")

    def team(self) -> Callable[[str], str]:
        """A manager who hands the question to a worker, and answers with what he said; a function to ask it.

        The manager's model asks for the worker, the worker's says a word, the manager's says "done" and what it was
        told of that.
        """
        raise NotImplementedError

    def node(self) -> Callable[[int], float]:
        """A function from a number of nodes below one to the seconds of processor time that they took.

        Each node counts itself in `WITNESS.nodes` when it ends.
        """
        raise NotImplementedError

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        """A function that gives the state of agents within agents, so deep, each of which has heard one turn.

        Each has answered with its own `greeting`.
        """
        raise NotImplementedError

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        """An agent whose model is behind the peer's own client of OpenAI's chat completions, as that is by default.

        Args:
            url: of the server.
            tools: functions that it may call.
            streams: whether it asks for a stream or for a whole answer; None is as the peer does by itself.
        """
        raise Cannot("has no client of model servers")

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        """Ask such an agent, in the form that was chosen when it was made."""
        return await self.arun(agent, text, session)

    async def aclose(self, agent: Any) -> None:
        """Close what such an agent has opened: a socket that is merely dropped leaves its loop a wrong entry."""

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

    def converse(self, store: str, place: str, script: Script, texts: Iterable[str], done: int) -> None:
        """Hold a conversation that is kept in a store, one text after the other.

        Args:
            store: one of `stores`.
            place: the path of an SQLite file, or the URL of a PostgreSQL database.
            script: of the model.
            texts: what is asked; some of them were answered in a process that was killed.
            done: how many those are.
        """
        raise Cannot("keeps conversations in no store")


def handlers(package: Any) -> Callable[[int], float]:
    """Handlers that do nothing, below a job; `package` is a commander, ours or Agere's: the names are the same."""

    @package.handler(package.PASS_WORD)
    async def nothing(self_handler: Any) -> None:
        WITNESS.nodes += 1

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
