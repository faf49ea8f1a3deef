"""Deadlines: absolute, inherited as the minimum, and the node that set one answers for it."""

from __future__ import annotations

import time

import pytest

from trivium import Agent, Limits, Message, Module, Tool
from trivium.commander import driver_neutral, wait
from trivium.commander.lowlevel import time_left
from trivium.exceptions import DeadlineExceededError

from ._helpers import AsyncNest, AsyncWaiter, Entry, MixedNest, SyncNest, calling, every_entry, here, nest

SOON, NEVER = 0.1, 3600.0


@every_entry
@pytest.mark.parametrize("kinds", [(), (SyncNest,), (AsyncNest,), (MixedNest, AsyncNest, SyncNest)])
def test_a_deadline_wakes_a_model_that_is_waited_for(entry: Entry, kinds: tuple[type[SyncNest], ...]):
    model = AsyncWaiter()
    module = nest(kinds, Agent(model))
    with pytest.raises(DeadlineExceededError) as late:
        entry(module, "x", timeout=SOON)
    assert isinstance(late.value, TimeoutError)
    assert late.value.path == f"{module.name}#0"
    assert len(model.closed) == model.asked.is_set()  # on a busy machine the time may be over before it is asked


@every_entry
def test_a_deadline_ends_a_wait(entry: Entry):
    class Waits(Module):
        @driver_neutral
        async def forward(self, message: Message) -> None:
            await wait(NEVER)

    with pytest.raises(DeadlineExceededError):
        entry(Waits(), "x", timeout=SOON)


class Trying(Module):
    """Calls another with a timeout of its own, and says which errors it saw."""

    def __init__(self, inner: Module, timeout: float) -> None:
        super().__init__()
        self.inner, self.timeout = inner, timeout

    def forward(self, message: Message) -> str:
        try:
            self.inner(message, timeout=self.timeout)
        except DeadlineExceededError as error:
            return f"inner: {error.path}"
        return "in time"


@every_entry
def test_the_inner_deadline_ends_the_inner_call_only(entry: Entry):
    out = entry(Trying(Agent(AsyncWaiter(), name="slow"), SOON), "x", timeout=NEVER)
    assert out.content == "inner: Trying#0/slow#0"


@every_entry
def test_the_outer_deadline_holds_where_the_inner_is_later(entry: Entry):
    with pytest.raises(DeadlineExceededError) as late:
        entry(Trying(Agent(AsyncWaiter(), name="slow"), NEVER), "x", timeout=SOON)
    assert late.value.path == "Trying#0"


@every_entry
def test_seconds_are_a_deadline_too(entry: Entry):
    with pytest.raises(DeadlineExceededError):
        entry(Agent(AsyncWaiter()), "x", limits=Limits(seconds=SOON))
    with pytest.raises(DeadlineExceededError):
        entry(Agent(AsyncWaiter()), "x", limits=Limits(seconds=NEVER), timeout=SOON)
    with pytest.raises(DeadlineExceededError):
        entry(Agent(AsyncWaiter()), "x", limits=Limits(seconds=SOON), timeout=NEVER)


class Clock:
    """A clock that can be put forward."""

    def __init__(self) -> None:
        self.forward = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.forward


@every_entry
def test_sync_code_that_overruns_fails_at_its_end(entry: Entry, monkeypatch: pytest.MonkeyPatch):
    clock, ran = Clock(), list[int]()
    monkeypatch.setattr("trivium.commander._node.time", clock)

    def tool(a: int) -> int:
        clock.forward += NEVER
        ran.append(a)
        return a

    with pytest.raises(DeadlineExceededError):
        entry(Agent(calling("tool", times=9, a=1), tools=[tool]), "x", timeout=NEVER / 2)
    assert ran == [1]


@every_entry
def test_a_tools_own_timeout_is_a_result_for_the_model(entry: Entry):
    stuck = AsyncWaiter()

    async def slow(a: int) -> str:
        return (await Agent(stuck).acall("x")).content

    def busy(a: int) -> int:
        while time_left(here()):
            time.sleep(0)
        return a

    for function in (slow, busy):
        agent = Agent(calling(function.__name__, a=1), tools=[Tool.of(function).replace(timeout=SOON)])
        out = entry(agent, "x").content
        assert out.startswith("done:error: ")
        assert "took longer" in out
