"""One agent object, hundreds of sessions at once: each remembers its own talk and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trivium import Agent, ChatAgent, Hook, Message, Module, Task, ToolMessage, this_call
from trivium.llms import Delta, Request
from trivium.testing import call_tool

SESSIONS = 250
THREADS = 32


class Turned(Hook):
    """Takes a secret in and lets it out again."""

    def before_agent(self, agent: Any, messages: list[Message], session_id: Any) -> None:
        messages[0].content += f" hooked-{session_id}"


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "To look a <secret> up."
    secret: str

    def handle(self, agent: Any) -> str:
        return f"{self.secret} seen in {this_call().session_id} with {this_call().context}"


def secret_of(request: Request) -> str:
    """What the first user of this history said; a cross-talk would show in the answers."""
    text = next(message["content"] for message in request.messages if message["role"] == "user")
    return text.split()[0]


def answer(request: Request) -> list[Delta]:
    """Call the tool once in each turn, then tell what all of the history says."""
    secret = secret_of(request)
    if request.messages[-1]["role"] == "user" and "seen" not in request.messages[-1]["content"]:
        return [call_tool("look", secret=secret)]
    return ["told ", secret, " after ", str(len(request.messages))]


class Model:
    """A model that lets the others run between its words."""

    name = "sync"

    def stream(self, request: Request) -> Iterator[Delta]:
        yield from answer(request)


class AsyncModel:
    name = "async"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        for delta in answer(request):
            await asyncio.sleep(0)
            yield delta


def look(secret: str) -> str:
    return f"{secret} seen in {this_call().session_id} with {this_call().context}"


def agent(model: Any) -> Agent:
    return Agent(model, "Be kind.", tools=[look], hooks=Turned(), name="A")


def expected(session: str, turns: int) -> list[tuple[str, Any]]:
    """What the agent remembers of a session."""
    found: list[tuple[str, Any]] = []
    for turn in range(turns):
        found += [
            ("user", f"secret-{session} turn {turn} hooked-{session}"),
            ("A", ""),
            ("look", f"secret-{session} seen in {session} with {session}-context"),
            ("A", f"told secret-{session} after {4 + 4 * turn}"),
        ]
    return found


def check(module: Module, answers: dict[str, list[str]], turns: int) -> None:
    memory = module.memory
    assert memory is not None
    assert len(memory.memory_map) == len(answers) == SESSIONS
    for session, told in answers.items():
        remembered = [(message.sender, message.content) for message in memory.get_memory(session)]
        assert remembered == expected(session, turns)
        assert told == [content for sender, content in remembered if sender == "A" and content]


@pytest.mark.parametrize("model", [Model(), AsyncModel()])
def test_many_sessions_in_one_loop(model: Any):
    one = agent(model)

    async def talk(session: str) -> tuple[str, list[str]]:
        told: list[str] = []
        for turn in range(2):
            text = f"secret-{session} turn {turn}"
            told.append((await one.acall(text, session_id=session, context=f"{session}-context")).content)
        return session, told

    async def main() -> dict[str, list[str]]:
        return dict(await asyncio.gather(*[talk(f"s{n}") for n in range(SESSIONS)]))

    check(one, asyncio.run(main()), turns=2)


@pytest.mark.parametrize("model", [Model(), AsyncModel()])
def test_many_sessions_in_many_threads(model: Any):
    one = agent(model)

    def talk(session: str) -> tuple[str, list[str]]:
        told: list[str] = []
        for turn in range(2):
            text = f"secret-{session} turn {turn}"
            told.append(one(text, session_id=session, context=f"{session}-context").content)
        return session, told

    with ThreadPoolExecutor(THREADS) as pool:
        check(one, dict(pool.map(talk, [f"s{n}" for n in range(SESSIONS)])), turns=2)


def in_a_loop(work: Callable[[str], Any], sessions: list[str]) -> list[Any]:
    async def main() -> list[Any]:
        return await asyncio.gather(*[work(session) for session in sessions])

    return asyncio.run(main())


def in_threads(work: Callable[[str], Any], sessions: list[str]) -> list[Any]:
    with ThreadPoolExecutor(THREADS) as pool:
        return [each.result() for each in [pool.submit(asyncio.run, work(session)) for session in sessions]]


@pytest.mark.parametrize("at_once", [in_a_loop, in_threads])
def test_many_runs_of_one_task(at_once: Callable[..., list[Any]]):
    """The agent, its tool messages, a sub-task and its agent: all shared, one session each."""

    def told(request: Request) -> list[Delta]:
        text = str(request.messages[-1]["content"])
        if "echo" in text:
            return [f"DONE {text}"]
        return [f"__SEND__:second {text}" if "seen" in text else call_tool("look", secret=secret_of(request))]

    class Told(AsyncModel):
        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            await asyncio.sleep(0)
            for delta in told(request):
                yield delta

    class Echo(AsyncModel):
        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            await asyncio.sleep(0)
            yield f"DONE echo {request.messages[-1]['content']}"

    first, second = ChatAgent(Told(), name="first"), ChatAgent(Echo(), name="second")
    first.enable_message(Look)
    task = Task(first, interactive=False)
    task.add_sub_task(Task(second, interactive=False))

    async def work(session: str) -> tuple[str, str]:
        text = f"secret-{session}"
        return session, (await task.acall(text, session_id=session, context=f"{session}-context")).content

    for session, content in at_once(work, [f"s{n}" for n in range(SESSIONS)]):
        seen = f"secret-{session} seen in {session} with {session}-context"
        assert content == f"echo {seen}"
        assert second.memory is not None
        assert first.memory is not None
        assert [m.content for m in second.memory.get_memory(session)] == [seen, f"DONE echo {seen}"]
        assert all(session in str(m.content) for m in first.memory.get_memory(session) if m.content)
