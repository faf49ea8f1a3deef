"""One bad answer, sent to an agent with tools through a real socket; and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from trivium import Agent, ChatAgent, ChatAgentConfig, Module, Task, ToolMessage
from trivium.exceptions import TriviumError
from trivium.llms import ModelProtocol, RetryPolicy
from trivium.schema import Message

from ._answers import AGAIN, BOTH, CASES, REPAIRED, RUNS, SHOWN, Case
from ._bytes_server import BytesServer, Script
from ._faults import Fault
from ._said import Http, Said, Wire, as_bytes, stream_of
from ._wire_chat import Chat
from ._wire_claude import Claude
from ._wire_gemini import Gemini
from ._wire_responses import Responses

__all__ = [
    "AT_ONCE",
    "GOOD",
    "SECONDS",
    "TRIALS",
    "WIRES",
    "Broken",
    "Seen",
    "Trial",
    "agent_at",
    "asked",
    "break_down",
    "good",
    "script_of",
    "try_out",
]

WIRES: Final[Sequence[Wire]] = (Chat(), Responses(), Claude(), Gemini())
GOOD: Final = "all is well"
AT_ONCE: Final = RetryPolicy(first_delay=0.0, budget=None)
"""Three tries with no wait between; how long they would wait is tested where that is made."""
SECONDS: Final = 20.0
"""What no answer takes; one that does hangs."""


class Trial(NamedTuple):
    """A case in a wire format, streamed or whole."""

    case: Case
    wire: Wire
    streamed: bool

    @property
    def expected(self) -> str:
        return self.case.outcome(self.wire.name, self.streamed)

    @property
    def applies(self) -> bool:
        return not self.expected.startswith("-")

    def __str__(self) -> str:
        return f"{self.case.number} {self.case.what}, {self.wire.name}, {'streamed' if self.streamed else 'whole'}"


TRIALS: Final = [Trial(case, wire, streamed) for case in CASES for wire in WIRES for streamed in (True, False)]


class Seen(NamedTuple):
    """What became of an answer.

    Args:
        words: the same in words.
        answer: of the agent, or its error.
        runs: the arguments of each run of a tool.
        results: what the model was told, as the server received it.
        after: what the next turn answered.
        problems: of all requests that the server received.
    """

    words: str
    answer: Message | TriviumError
    runs: list[tuple[Any, ...]]
    results: list[str]
    after: str
    problems: list[str]


def script_of(wire: Wire, said: Said, streamed: bool, case: Case | None = None) -> Script:
    """The bytes of an answer."""
    if streamed:
        http = Http(stream_of(wire.events(said)), "text/event-stream")
    else:
        http = Http(as_bytes(wire.whole(said)), "application/json")
    return (http if case is None or case.way is None else case.way(http)).pieces()


class _Tools:
    """What the agent can do; each run is noted."""

    def __init__(self) -> None:
        self.runs: list[tuple[Any, ...]] = []

    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        self.runs.append((a, b))
        return a + b

    def half(self, x: float) -> float:
        """Half a number."""
        self.runs.append((x,))
        return x / 2

    def now(self) -> str:
        """Tell the time."""
        self.runs.append(())
        return "noon"

    def say(self, text: str) -> str:
        """Say something."""
        self.runs.append((text,))
        return text


class Add(ToolMessage):
    """The same tools as messages, for an agent in a task."""

    request: str = "add"
    purpose: str = "To add two numbers."
    a: int
    b: int


class Half(ToolMessage):
    request: str = "half"
    purpose: str = "To half a number."
    x: float


class Now(ToolMessage):
    request: str = "now"
    purpose: str = "To tell the time."


class Say(ToolMessage):
    request: str = "say"
    purpose: str = "To say something."
    text: str


class _Handling(ChatAgent):
    """An agent that handles the tools as messages, and whose task is done when its model calls none."""

    def __init__(self, model: ModelProtocol, tools: _Tools) -> None:
        super().__init__(ChatAgentConfig(llm=model, system_message="Be exact.", handle_llm_no_tool="done"))
        self.noted = tools
        self.enable_message([Add, Half, Now, Say])

    def add(self, message: Add) -> int:
        return self.noted.add(message.a, message.b)

    def half(self, message: Half) -> float:
        return self.noted.half(message.x)

    def now(self, message: Now) -> str:
        return self.noted.now()

    def say(self, message: Say) -> str:
        return self.noted.say(message.text)


def try_out(
    trial: Trial, model: ModelProtocol, server: BytesServer, in_loop: bool = False, in_task: bool = False
) -> Seen:
    """Send the bad answer, then good ones, and ask once more.

    Args:
        trial: what is tried.
        model: behind the server.
        server: who sends.
        in_loop: call the agent from async code.
        in_task: ask a task, whose chat agent has the tools as messages.
    """
    case, wire = trial.case, trial.wire
    server.play(script_of(wire, case.said, trial.streamed, case), then=script_of(wire, Said(text=GOOD), trial.streamed))
    tools = _Tools()
    agent: Module
    if in_task:
        agent = Task(_Handling(model, tools), interactive=False, restart=False)
    else:
        agent = Agent(model, "Be exact.", tools=[tools.add, tools.half, tools.now, tools.say])
    answer = asked(agent, "1 + 2?", in_loop)
    bodies = list(server.bodies)
    if case.next_call:
        server.scripts.append(script_of(wire, case.said, trial.streamed))
    after = asked(agent, "And then?", in_loop)
    problems = [problem for body in server.bodies for problem in wire.problems(body)]
    results = wire.results(bodies[-1])
    words = _words(answer, tools.runs[: len(results)], results, bodies)
    return Seen(words, answer, tools.runs, results, str(getattr(after, "content", after)), problems)


class Broken(NamedTuple):
    """What became of a fault.

    Args:
        words: the same in words.
        answer: of the agent, or its error.
        asked: how many requests the server received before the next turn.
        after: what the next turn answered.
        problems: of all requests that the server received.
    """

    words: str
    answer: Message | TriviumError
    asked: int
    after: str
    problems: list[str]


def agent_at(url: str, wire: Wire, retry: RetryPolicy = AT_ONCE, **options: Any) -> Agent:
    """An agent that can add."""
    return Agent(wire.model(url, retry=retry, **options), "Be exact.", tools=[_Tools().add])


def good(wire: Wire) -> list[Any]:
    """A good answer, as bytes."""
    return list(script_of(wire, Said(text=GOOD), streamed=True))


def break_down(fault: Fault, wire: Wire, server: BytesServer) -> Broken:
    """Let something break, then ask once more."""
    server.play(*fault.scripts(wire), then=good(wire))
    agent = agent_at(server.url, wire, **fault.options)
    answer = asked(agent, "1 + 2?")
    count = len(server.bodies)
    after = asked(agent, "And then?")
    problems = [problem for body in server.bodies for problem in wire.problems(body)]
    words = _words(answer, [], [], server.bodies[:count])
    if words.startswith(f"{AGAIN}, then "):
        words = f"{words.removeprefix(f'{AGAIN}, then ')} after {count} requests"
    return Broken(words, answer, count, str(getattr(after, "content", after)), problems)


def asked(agent: Module, text: str, in_loop: bool = False, timeout: float = SECONDS) -> Message | TriviumError:
    """What an agent answers, or its error."""
    try:
        return asyncio.run(agent.acall(text, timeout=timeout)) if in_loop else agent(text, timeout=timeout)
    except TriviumError as error:
        return error


def _words(answer: Message | TriviumError, runs: list[tuple[Any, ...]], results: list[str], bodies: list[Any]) -> str:
    again = f"{AGAIN}, then " if len(bodies) > 1 and bodies[0] == bodies[1] else ""
    if isinstance(answer, TriviumError):
        return f"{again}{type(answer).__name__}"
    if runs:
        return again + (RUNS if len(runs) == 1 else BOTH)
    if results:
        return again + REPAIRED
    return AGAIN if again else SHOWN
