"""Tokens and money are reserved before a request is made, so that requests at once cannot overrun a limit together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, ChatAgent, Limits, Message, Module, StatusCode, Task
from trivium.commander import driver_neutral, gather
from trivium.exceptions import LimitExceededError
from trivium.journal import Journal
from trivium.llms import ChatModel, Price, Request
from trivium.llms.lowlevel import call_model
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


class InTurn(Module):
    """Asks an agent so often; an answer that was broken off is not asked for again."""

    def __init__(self, agent: Agent, times: int) -> None:
        super().__init__()
        self.agent, self.times = agent, times

    @driver_neutral
    async def forward(self, message: Message) -> str:
        for _ in range(self.times):
            with suppress(ValueError):
                await self.agent.acall("x" * 400)
        return "done"


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


@pytest.mark.parametrize("limits", [Limits(tokens=450), Limits(usd=0.45)], ids=["tokens", "usd"])
@pytest.mark.parametrize("is_durable", [False, True], ids=["plain", "durable"])
def test_an_answer_whose_server_tells_no_usage_is_counted_by_its_size(
    tmp_path: Path, limits: Limits, is_durable: bool
) -> None:
    model = ScriptedModel(["y" * 200])
    model.price = Price(1000.0, 1000.0)  # a tenth of a cent a token
    many = InTurn(Agent(model, memory=False), 20)
    durable: dict[str, Any] = {}
    if is_durable:
        durable = {"journal": Journal(tmp_path / "runs.db"), "run_id": "one"}
    for _ in range(1 + is_durable):  # what a journal repeats counts as it did
        with pytest.raises(LimitExceededError):
            many("go", limits=limits, **durable)
        assert len(model.requests) == 3, "each has a hundred tokens, and fifty of an answer"


def test_an_answer_that_was_broken_off_is_counted_as_far_as_it_came() -> None:
    asked: list[Request] = []

    class Breaking(ChatModel):
        name = "breaking"

        def stream(self, request: Request) -> Iterator[Any]:
            asked.append(request)
            yield "y" * 800
            raise ValueError("broken off")

    with pytest.raises(LimitExceededError):
        InTurn(Agent(Breaking(), memory=False), 9)("go", limits=Limits(tokens=650))
    assert len(asked) == 2


def test_what_a_call_below_has_counted_is_not_counted_again() -> None:
    inner = ScriptedModel([["yes", Usage(100, 1)]])

    class Asking(ChatModel):
        """Asks the inner model by a call of its own, and tells no usage."""

        name = "asking"

        @driver_neutral
        async def stream(self, request: Request) -> AsyncIterator[Any]:
            yield (await call_model(inner, request)).text

    with pytest.raises(LimitExceededError):
        InTurn(Agent(Asking(), memory=False), 9)("go", limits=Limits(tokens=450))
    assert len(inner.requests) == 4


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
