"""What an owner may spend is shared by all runs of the owner, and counts once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from threading import Semaphore
from typing import Any

from serving._served import GUARD, approve_all, events_of, serving
from trivium import Agent
from trivium.actions import tool
from trivium.commander import Limits, ThreadEvent, wait
from trivium.llms import Delta, Request
from trivium.schema import Usage
from trivium.serving import OwnerLimits
from trivium.testing import call_tool


class Spender:
    """A model that calls a tool some times, and uses 1,500 tokens for each answer."""

    name = "spender"

    def __init__(self, times: int, may_answer: ThreadEvent | None = None) -> None:
        self.times, self.may_answer = times, may_answer
        self.asked, self.is_asked = 0, Semaphore(0)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.asked += 1
        self.is_asked.release()
        if self.may_answer is not None:
            await wait(event=self.may_answer)
        done = sum(each["role"] == "tool" for each in request.messages)
        yield call_tool("pay", amount=done) if done < self.times else "paid"
        yield Usage(1000, 500)


def make_spender(model: Spender, asks: bool = False) -> Agent:
    @tool(effect="read", needs_approval=asks)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    return Agent(model, name="spender", tools=[pay])


def begin(client: Any) -> str:
    return client.post("/runs", json={"message": "pay"}).json()["id"]


def test_runs_at_once_cannot_each_spend_what_is_left():
    model = Spender(2, ThreadEvent())
    with serving(make_spender(model), owner_limits=OwnerLimits(tokens_per_day=3500)) as client:
        runs = [begin(client) for _ in range(2)]
        assert all(model.is_asked.acquire(timeout=GUARD) for _ in runs)
        assert model.may_answer is not None
        model.may_answer.set()
        errors = [[*events_of(client, each)][-1]["error"] for each in runs]
        assert [(each["type"], each["limit"], each["value"]) for each in errors] == [
            ("SpentForToday", "tokens_per_day", 3500)
        ] * 2
        assert model.asked <= 4  # each may have asked a second time before the other's second answer


def test_what_a_run_spent_before_an_approval_counts_once():
    with serving(make_spender(Spender(1), asks=True), owner_limits=OwnerLimits(tokens_per_day=2500)) as client:
        run = begin(client)
        approve_all(client, run)
        assert [*events_of(client, run)][-1]["message"]["content"] == "paid"
        refused = client.post("/runs", json={"message": "pay"})
        assert [refused.status_code, refused.json()["error"]["limit"]] == [429, "tokens_per_day"]


def test_a_run_that_reaches_its_own_limit_is_told_which():
    limits: dict[str, Any] = {"limits": Limits(turns=1), "owner_limits": OwnerLimits(tokens_per_day=9999)}
    with serving(make_spender(Spender(1)), **limits) as client:
        error = [*events_of(client, begin(client))][-1]["error"]
        assert [error["limit"], error["value"]] == ["turns", 1]
