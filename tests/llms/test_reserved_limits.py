"""Tokens and money are reserved before a request is made, so that requests at once cannot overrun a limit together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from trivium import Agent, ChatAgent, Limits, Message, Module, StatusCode, Task
from trivium.commander import driver_neutral, gather
from trivium.exceptions import LimitExceededError
from trivium.llms import Request
from trivium.schema import Usage
from trivium.testing import ScriptedModel


class Slow:
    """A model that answers when all that were let through have asked, or nobody more comes."""

    name = "slow"

    def __init__(self) -> None:
        self.asked = 0

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        self.asked += 1
        for _ in range(20):
            await asyncio.sleep(0)
        yield "yes"
        yield Usage(100, 1)


class Many(Module):
    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.agent = agent
        self.refused = 0

    @driver_neutral
    async def forward(self, message: Message) -> str:
        await gather(*[self.ask] * 8)
        return "done"

    @driver_neutral
    async def ask(self) -> None:
        try:
            await self.agent.acall("x" * 400)
        except LimitExceededError:
            self.refused += 1


@pytest.mark.shows("Task.run(max_tokens)", "weak point 4")
def test_requests_at_once_take_what_is_left_of_the_tokens_before_they_are_made() -> None:
    model = Slow()
    many = Many(Agent(model, memory=False))
    many("go", limits=Limits(tokens=350))
    assert model.asked == 3, "each needs a hundred tokens at least"
    assert many.refused == 5


def test_a_request_that_is_too_long_by_itself_is_not_made() -> None:
    model = ScriptedModel(["yes"])
    with pytest.raises(LimitExceededError):
        Agent(model, memory=False)("x" * 4000, limits=Limits(tokens=500))
    assert model.requests == []


@pytest.mark.shows("Task.run(max_cost)", "StatusCode.MAX_COST")
def test_a_run_and_all_below_it_cost_no_more_than_they_may() -> None:
    model = ScriptedModel([["what next?", Usage(10, 10, 0.3)]])
    below = Task(ChatAgent(model, name="below"), interactive=False, single_round=True)
    above = Task(ChatAgent(ScriptedModel([["go on", Usage(10, 10, 0.3)]]), name="above"), interactive=False)
    above.add_sub_task(below)
    result = above.run("begin", max_cost=1.0)
    assert result is not None
    assert result.status is StatusCode.MAX_COST
    assert len(model.requests) <= 2, "three or four requests at thirty cents"


def test_what_was_reserved_is_given_back_where_a_request_fails() -> None:
    model = ScriptedModel([ValueError("no"), ["yes", Usage(90, 1)]])
    agent = Agent(model, memory=False)

    class Twice(Module):
        @driver_neutral
        async def forward(self, message: Message) -> str:
            with pytest.raises(ValueError, match="no"):
                await agent.acall("x" * 360)
            return (await agent.acall("x" * 360)).content

    assert Twice()("go", limits=Limits(tokens=120)).content == "yes"
