"""`super().forward(…)`: plain code gets the answer, as in Lagent; async code a coroutine."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest

from trivium import Agent, Message, Module
from trivium.actions import BaseAction
from trivium.agents import AgentForInternLM, AsyncAgent, AsyncSequential, Sequential, StreamingAgent
from trivium.agents.stream import MathCoder
from trivium.commander import driver_neutral
from trivium.module import AsyncModule, overridable
from trivium.testing import ScriptedModel


def model() -> ScriptedModel:
    return ScriptedModel(["a"])


class Double(BaseAction):
    def run(self, number: int) -> int:
        """Double a number."""
        return 2 * number


class Loud(Agent):
    def forward(self, *message: Message, **kwargs: Any) -> Any:
        return super().forward(*message, **kwargs).content.upper()


class LoudInTurn(Sequential):
    def forward(self, *message: Message, **kwargs: Any) -> Any:
        return super().forward(*message, **kwargs).content.upper()


class LoudWithTools(AgentForInternLM):
    def forward(self, *message: Message, **kwargs: Any) -> Any:
        return super().forward(*message, **kwargs).content.upper()


class LoudCoder(MathCoder):
    def forward(self, *message: Message, **kwargs: Any) -> Any:
        return super().forward(*message, **kwargs).content.upper()


class Twice(Loud):
    async def forward(self, *message: Message, **kwargs: Any) -> Any:
        return 2 * super().forward(*message, **kwargs)  # what is above is plain code


class LoudInAsyncCode(Agent):
    async def forward(self, *message: Message, **kwargs: Any) -> Any:
        return (await super().forward(*message, **kwargs)).content.upper()


class LoudAsync(AsyncAgent):
    async def forward(self, *message: Message, **kwargs: Any) -> Any:
        return (await super().forward(*message, **kwargs)).content.upper()


class HandedOn(AsyncAgent):
    def forward(self, *message: Message, **kwargs: Any) -> Any:
        return super().forward(*message, **kwargs)


class LoudYielding(Agent):
    def forward(self, *message: Message, **kwargs: Any) -> Any:
        yield super().forward(*message, **kwargs).content.upper()


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: Loud(model()), "A"),
        (lambda: LoudInTurn(Agent(model())), "A"),
        (lambda: LoudWithTools(model(), plugins=[Double()]), "A"),
        (lambda: LoudCoder(model()), "A"),
        (lambda: LoudInAsyncCode(model()), "A"),
        (lambda: LoudYielding(model()), "A"),
        (lambda: HandedOn(model()), "a"),
        (lambda: LoudAsync(model()), "A"),
        (lambda: AsyncSequential(LoudAsync(model())), "A"),
    ],
)
def test_an_override_gets_the_answer_of_the_class_above(made: Callable[[], Any], says: str):
    assert asyncio.run(made().acall("q")).content == says
    if not isinstance(agent := made(), AsyncModule):
        assert agent("q").content == says


def test_many_sessions_of_an_override_run_at_once():
    agent = Loud(ScriptedModel(lambda request: request.messages[-1]["content"]), memory=None)

    async def ask() -> list[str]:
        return [each.content for each in await asyncio.gather(*(agent.acall(f"q{n}", session_id=n) for n in range(20)))]

    assert asyncio.run(ask()) == [f"Q{n}" for n in range(20)]


def test_a_plain_override_within_a_running_loop():
    async def ask() -> str:
        return Loud(model())("q").content

    assert asyncio.run(ask()) == "A"


def logged(function: Callable[..., Any], log: list[str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        log.append("called")
        return function(*args, **kwargs)

    return inner


def test_a_decorator_around_an_inherited_forward_counts():
    log: list[str] = []

    class Decorated(Agent):
        forward = logged(Agent.forward, log)

    class Wrapping(Agent):
        @functools.wraps(Agent.forward)
        async def forward(self, *message: Message, **kwargs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            log.append("called")
            return await super().forward(*message, **kwargs)

    on_the_object = Agent(model())
    on_the_object.forward = logged(on_the_object.forward, log)
    for count, agent in enumerate((Decorated(model()), Wrapping(model()), on_the_object), 1):
        assert agent("q").content == "a"
        agent.llm = model()
        assert asyncio.run(agent.acall("q")).content == "a"
        assert len(log) == 2 * count


def test_code_that_both_drivers_run_awaits_the_class_above():
    class Neutral(Agent):
        @driver_neutral
        async def forward(self, *message: Message, **kwargs: Any) -> Any:
            return (await super().forward(*message, **kwargs)).content + "!"

    class Inner(Agent):
        @overridable
        async def forward(self, *message: Message, **kwargs: Any) -> Any:
            return (await super().forward(*message, **kwargs)).content + "!"

    for kind in (Neutral, Inner):
        assert kind(model())("q").content == asyncio.run(kind(model()).acall("q")).content == "a!"


def test_by_hand_it_answers_plain_code():
    message = Message(content="q", sender="user")
    assert Agent(model(), memory=None).forward(message).content == "a"
    assert asyncio.run(AsyncAgent(model(), memory=None).forward(message)).content == "a"

    async def within() -> Message:
        return await Agent(model(), memory=None).forward(message)

    assert asyncio.run(within()).content == "a"


def test_a_streaming_agent_is_called_by_what_it_holds():
    class Held(StreamingAgent):
        def forward(self, *message: Message, **kwargs: Any) -> Any:
            yield from super().forward(*message, **kwargs)

    with pytest.raises(TypeError, match="coroutine"), pytest.warns(RuntimeWarning, match="never awaited"):
        list(Held(model())("q"))


def test_a_forgotten_await_is_made_up_for():
    class Asks(Module):
        def __init__(self) -> None:
            super().__init__()
            self.agent = AsyncAgent(model())

        async def forward(self, message: Message) -> Any:
            return self.agent(message)

    assert Asks()("q").content == asyncio.run(Asks().acall("q")).content == "a"
