"""Calls on one session of one agent take turns, in the order in which they came."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Hashable, Iterator
from typing import Any

import pytest

from trivium import Agent
from trivium.commander import ThreadEvent, wait
from trivium.exceptions import DeadlineExceededError, RunKilledError, WouldDeadlockError
from trivium.llms import Delta, Request
from trivium.memory import MemoryManager
from trivium.module import Module
from trivium.schema import Message
from trivium.testing import ScriptedModel


class Gate:
    """A model that answers each question with an echo once it is let through; async."""

    name = "gate"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.open = asyncio.Event()
        self.came = asyncio.Semaphore(0)

    async def until_asked(self, count: int = 1) -> None:
        for _ in range(count):
            await self.came.acquire()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        text = str(request.messages[-1]["content"])
        self.asked.append(text)
        self.came.release()
        await self.open.wait()
        yield f"re {text}"


def said(agent: Module, session: Hashable = 0) -> list[Any]:
    assert agent.memory is not None
    return [message.content for message in agent.memory.get_memory(session)]


def test_concurrent_calls_on_one_session_keep_their_order() -> None:
    async def main() -> None:
        gate = Gate()
        agent = Agent(gate)
        calls = [asyncio.create_task(agent.acall(f"{n}")) for n in range(20)]
        await gate.until_asked()
        for _ in range(50):
            await asyncio.sleep(0)
        assert gate.asked == ["0"]
        gate.open.set()
        answers = await asyncio.gather(*calls)
        assert [answer.content for answer in answers] == [f"re {n}" for n in range(20)]
        assert said(agent) == [text for n in range(20) for text in (f"{n}", f"re {n}")]

    asyncio.run(main())


def test_other_sessions_do_not_wait() -> None:
    async def main() -> None:
        gate = Gate()
        agent = Agent(gate)
        calls = [asyncio.create_task(agent.acall(f"{n}", session_id=n)) for n in range(20)]
        await gate.until_asked(20)
        gate.open.set()
        await asyncio.gather(*calls)

    asyncio.run(main())


def test_an_agent_without_memory_answers_all_at_once() -> None:
    async def main() -> None:
        gate = Gate()
        agent = Agent(gate, memory=None)
        calls = [asyncio.create_task(agent.acall(f"{n}")) for n in range(20)]
        await gate.until_asked(20)
        gate.open.set()
        await asyncio.gather(*calls)

    asyncio.run(main())


def test_threads_take_turns_too() -> None:
    inside: list[int] = []

    def answer(request: Request) -> str:
        inside.append(1)
        assert len(inside) == 1
        inside.pop()
        return f"re {request.messages[-1]['content']}"

    agent = Agent(ScriptedModel(answer))
    threads = [threading.Thread(target=agent, args=(f"{n}",)) for n in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    texts = said(agent)
    assert len(texts) == 60
    assert all(texts[at + 1] == f"re {texts[at]}" for at in range(0, 60, 2))


def test_a_call_below_the_one_whose_turn_it_is_does_not_wait() -> None:
    class Twice(Agent):
        def forward(self, *message: Message, **kwargs: Any) -> Any:
            return "inner" if message[0].content == "again" else f"outer of {self('again').content}"

    assert Twice()("go").content == "outer of inner"


def test_agents_that_share_a_memory_nest() -> None:
    shared = MemoryManager()

    class Outer(Agent):
        def __init__(self) -> None:
            super().__init__(memory=shared)
            self.inner = Agent(ScriptedModel(["yes"]), memory=shared)

        def forward(self, *message: Message, **kwargs: Any) -> Any:
            return self.inner(*message)

    assert Outer()("go").content == "yes"


def test_a_call_that_fails_or_is_stopped_hands_its_turn_on() -> None:
    async def main() -> None:
        gate = Gate()
        agent = Agent(gate)
        first = asyncio.create_task(agent.acall("0"))
        await gate.until_asked()
        cancelled = asyncio.create_task(agent.acall("1"))
        late = asyncio.create_task(agent.acall("2", timeout=0.01))
        last = asyncio.create_task(agent.acall("3"))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(DeadlineExceededError):
            await late
        first.cancel()
        gate.open.set()
        assert (await last).content == "re 0\n\n3"  # what users say one after the other is one message
        await asyncio.gather(first, cancelled, return_exceptions=True)
        assert said(agent) == ["0", "3", "re 0\n\n3"]
        assert not agent.memory.locks._locks  # type: ignore[union-attr]

    asyncio.run(main())


def test_a_kill_reaches_who_waits_in_a_thread() -> None:
    entered, release = threading.Event(), threading.Event()

    def answer(request: Request) -> str:
        entered.set()
        assert release.wait(20)
        return "done"

    agent = Agent(ScriptedModel(answer))
    holder = threading.Thread(target=agent, args=("0",))
    holder.start()
    assert entered.wait(20)
    errors: list[BaseException] = []
    waiting = agent.stream("1")

    def read() -> None:
        try:
            list(waiting)
        except RunKilledError as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    waiting.node.kill("enough")
    reader.join(20)
    assert len(errors) == 1
    release.set()
    holder.join(20)
    assert said(agent) == ["0", "done"]


def test_those_who_would_wait_for_each_other_are_told() -> None:
    class Calls(Agent):
        other: Agent
        met: ThreadEvent
        mine: ThreadEvent

        async def forward(self, *message: Message, **kwargs: Any) -> Any:
            if message[0].content == "inner":
                return f"{self.name} inner"
            self.mine.set()
            await wait(event=self.met)
            return await self.other.acall("inner")

    async def main() -> None:
        one, two = Calls(name="one"), Calls(name="two")
        bells = ThreadEvent(), ThreadEvent()
        one.mine, two.mine = bells
        two.met, one.met = bells
        # Neither is a part of the other: the tree of modules would have no end.
        object.__setattr__(one, "other", two)
        object.__setattr__(two, "other", one)
        found = await asyncio.wait_for(asyncio.gather(one.acall("go"), two.acall("go"), return_exceptions=True), 20)
        errors = [each for each in found if isinstance(each, BaseException)]
        assert [type(each) for each in errors] == [WouldDeadlockError]
        assert "sessions of their own" in str(errors[0])
        answers = [each.content for each in found if isinstance(each, Message)]
        assert len(answers) == 1
        assert answers[0].endswith("inner")

    asyncio.run(main())


def test_a_sync_call_on_a_running_loop_refuses_to_wait_for_another_run() -> None:
    async def main() -> None:
        gate = Gate()
        agent = Agent(gate)
        first = asyncio.create_task(agent.acall("0"))
        await gate.until_asked()
        with pytest.raises(WouldDeadlockError, match="await"):
            agent("1")
        gate.open.set()
        assert (await first).content == "re 0"

    asyncio.run(main())


def test_a_stream_that_is_left_gives_its_turn_back() -> None:
    def pieces() -> Iterator[Delta]:
        yield from ("a", "b", "c")

    agent = Agent(ScriptedModel(lambda _: pieces()))
    with agent.stream("0") as events:
        next(iter(events))
    assert agent("1").content == "abc"
