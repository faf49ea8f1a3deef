"""Limits: stated once, counted along the chain of those that enclose them, and never exceeded."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent, Limits, Message, Module, RunRecord
from trivium.commander import Budget
from trivium.exceptions import LimitExceededError
from trivium.llms import Request
from trivium.schema import Usage
from trivium.testing import ScriptedModel

from ._helpers import AsyncNest, Entry, SyncNest, add, calling, every_entry, join_all, nest


class Metered:
    """A model of which every answer costs the same; it counts how often it was asked."""

    def __init__(self, tokens: int = 10) -> None:
        self.tokens, self.asked = tokens, 0
        self._lock = threading.Lock()
        self.model = ScriptedModel(self._answer)

    def _answer(self, request: Request) -> Any:
        with self._lock:
            self.asked += 1
        return ["hello", Usage(self.tokens - 1, 1)]


class Repeating(Module):
    """Calls another so often."""

    def __init__(self, inner: Module, times: int, **kwargs: Any) -> None:
        super().__init__()
        self.inner, self.times, self.kwargs = inner, times, kwargs

    def forward(self, message: Message) -> int:
        for _ in range(self.times):
            self.inner("x", **self.kwargs)
        return self.times


@every_entry
def test_turns_are_counted_through_everything_below(entry: Entry):
    metered = Metered()
    module = nest((SyncNest, AsyncNest), Repeating(Agent(metered.model), 9))
    with pytest.raises(LimitExceededError) as reached:
        entry(module, "x", limits=Limits(turns=3))
    assert (reached.value.limit, reached.value.maximum) == ("turns", 3)
    assert reached.value.path == "AsyncNest1#0/SyncNest0#0/Repeating#0/Agent#3/model#0"
    assert metered.asked == 3


@every_entry
def test_tokens_stop_the_call_after_the_one_that_passed_the_limit(entry: Entry):
    metered = Metered(tokens=10)
    with pytest.raises(LimitExceededError, match="25 tokens"):
        entry(Repeating(Agent(metered.model), 9), "x", limits=Limits(tokens=25))
    assert metered.asked == 3


@every_entry
def test_tool_calls_are_counted_and_the_limit_is_not_fed_to_the_model(entry: Entry):
    model = calling("add", times=9, a=1, b=2)
    with pytest.raises(LimitExceededError, match="tool_calls"):
        entry(Agent(model, tools=[add]), "x", limits=Limits(tool_calls=2))
    assert len(model.requests) == 3


@every_entry
def test_a_limit_reached_by_a_sub_agent_in_a_tool_ends_the_run(entry: Entry):
    metered = Metered()
    inner = Agent(metered.model)

    def ask() -> str:
        return inner("x").content

    model = calling("ask", times=9)
    with pytest.raises(LimitExceededError):
        entry(Agent(model, tools=[ask]), "x", limits=Limits(turns=4))
    assert (len(model.requests), metered.asked) == (2, 2)


@every_entry
def test_the_narrower_of_two_limits_holds_and_both_count(entry: Entry):
    metered = Metered()
    inner = Repeating(Agent(metered.model), 9)

    class Outer(Module):
        def forward(self, message: Message) -> list[int]:
            counts: list[int] = []
            for turns in (2, 99):
                before = metered.asked
                try:
                    inner("x", limits=Limits(turns=turns))
                except LimitExceededError:
                    counts.append(metered.asked - before)
            return counts

    assert entry(Outer(), "x", limits=Limits(turns=5)).content == [2, 3]


@every_entry
def test_what_is_within_the_limits_runs(entry: Entry):
    limits = Limits(turns=2, tool_calls=1, tokens=10**6)
    assert entry(Agent(calling("add", a=1, b=2), tools=[add]), "x", limits=limits).content == "done:3"


def test_limits_are_per_run():
    metered = Metered()
    module = Repeating(Agent(metered.model), 2)
    for _ in range(5):
        assert module("x", limits=Limits(turns=2)).content == 2


@pytest.mark.parametrize("name", ["turns", "tool_calls"])
def test_a_limit_is_exact_under_twenty_threads(name: str):
    outer = Budget(Limits(**{name: 1000}))
    inner = [Budget(Limits(**{name: 60}), outer) for _ in range(20)]
    taken = [0] * 20

    def spend(number: int) -> Callable[[], None]:
        take = inner[number].take_turn if name == "turns" else inner[number].take_tool_call

        def body() -> None:
            for _ in range(100):
                try:
                    take()
                except LimitExceededError:
                    continue
                taken[number] += 1

        return body

    join_all([spend(number) for number in range(20)])
    assert sum(taken) == 1000 == getattr(outer, name)
    assert max(taken) <= 60
    assert [getattr(each, name) for each in inner] == taken


def test_one_run_of_twenty_threads_never_exceeds_its_limit():
    metered = Metered()
    agent = Agent(metered.model, memory=False)

    class Fan(Module):
        def forward(self, message: Message) -> int:
            refused: list[LimitExceededError] = []

            def body() -> None:
                for _ in range(10):
                    try:
                        agent("x")
                    except LimitExceededError as error:
                        refused.append(error)

            join_all([partial(contextvars.copy_context().run, body) for _ in range(20)])
            return len(refused)

    record = RunRecord()
    assert Fan()("x", limits=Limits(turns=77), listeners=[record]).content == 200 - 77
    assert metered.asked == 77
    assert record.roots[0].tokens == 770
    assert len(record.roots[0].children) == 200


@given(
    st.lists(st.integers(0, 8) | st.none(), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), max_size=40),
)
def test_every_budget_counts_what_was_taken_below_it(maxima: list[int | None], takers: list[int]):
    chain: list[Budget] = []
    for maximum in maxima:
        chain.append(Budget(Limits(turns=maximum), chain[-1] if chain else None))
    counts = [0] * len(chain)
    for taker in (taker for taker in takers if taker < len(chain)):
        room = all(most is None or count < most for most, count in zip(maxima[: taker + 1], counts, strict=False))
        try:
            chain[taker].take_turn()
        except LimitExceededError:
            assert not room
        else:
            assert room
            counts[: taker + 1] = [count + 1 for count in counts[: taker + 1]]
    assert [budget.turns for budget in chain] == counts


def test_the_text_says_what_to_raise():
    assert str(LimitExceededError("turns", 3)) == "the run reached its limit of 3 turns; raise Limits(turns=…)"
