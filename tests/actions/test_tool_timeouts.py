"""Tools with a time of their own: what the model reads after it, and what becomes of the code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from commander._helpers import GUARD, AsyncWaiter, Entry, async_entry, every_entry, sync_entry
from trivium import Agent, ChatAgent, Limits, Tool, ToolMessage
from trivium.actions import ActionExecutor, BaseAction, ToolAbandonedEvent, tool, tool_api
from trivium.commander import Event, this_call
from trivium.exceptions import DeadlineExceededError, RetryableToolError, RunKilledError
from trivium.schema import ActionReturn, ActionStatusCode, Message, Origin, ToolCall
from trivium.testing import ScriptedModel, call_tool

SOON = 0.05
both = pytest.mark.parametrize("entry", [sync_entry, async_entry])


class Stuck:
    """Sync code that hangs until it is let go, and what became of it."""

    def __init__(self) -> None:
        self.gate, self.began, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None
        self.error: BaseException | None = None

    def hang(self) -> str:
        self.thread = threading.current_thread()
        self.began.set()
        try:
            assert self.gate.wait(GUARD)
            Agent(ScriptedModel(["never"]))("x")
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.ended.set()
        return "late"


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    made = Stuck()
    yield made
    made.gate.set()
    assert not made.began.is_set() or made.ended.wait(GUARD)


@both
def test_sync_code_that_hangs_is_abandoned_and_reported(entry: Entry, stuck: Stuck):
    events: list[Event[Any]] = []
    agent = Agent(ScriptedModel([call_tool("hang"), "ok"]), tools=[Tool.of(stuck.hang).replace(timeout=SOON)])
    assert entry(agent, "x", listeners=[events.append]).content == "ok"
    result = agent.memory.get_memory()[2]
    assert result.content == "error: hang took longer than the 0.05 seconds that it has; ask it for less"
    assert result.formatted.state is ActionStatusCode.API_ERROR
    assert [event.data for event in events if isinstance(event, ToolAbandonedEvent)] == ["hang"]
    assert stuck.thread is not None
    assert stuck.thread.is_alive()


@both
def test_what_was_left_behind_gets_no_further_than_its_next_step(entry: Entry, stuck: Stuck):
    agent = Agent(ScriptedModel([call_tool("hang"), "ok"]), tools=[Tool.of(stuck.hang).replace(timeout=SOON)])
    entry(agent, "x")
    stuck.gate.set()
    assert stuck.ended.wait(GUARD)
    assert type(stuck.error).__name__ in ("FinishedNodeError", "Cancellation", "DeadlineExceededError")


@both
def test_an_action_and_a_tool_message_are_left_behind_too(entry: Entry):
    first, second = Stuck(), Stuck()

    class Hang(BaseAction):
        @tool_api(timeout=SOON)
        def run(self) -> str:
            return first.hang()

    class Wait(ToolMessage):
        request: str = "wait"
        purpose: str = "To wait."
        _timeout = SOON

        def handle(self) -> str:
            return second.hang()

    try:
        agent = Agent(ScriptedModel([call_tool("Hang"), "ok"]), tools=[Hang()])
        entry(agent, "x")
        assert "took longer" in agent.memory.get_memory()[2].content
        chat = ChatAgent(ScriptedModel(["x"]))
        chat.enable_message(Wait)
        asked = Message(content="", tool_calls=(ToolCall("1", "wait", "{}"),), origin=Origin.MODEL)
        answer = chat.agent_response(asked) if entry is sync_entry else asyncio.run(chat.agent_response_async(asked))
        assert answer is not None
        assert answer.content == "error: wait took longer than the 0.05 seconds that it has; ask it for less"
    finally:
        for each in (first, second):
            each.gate.set()
            assert each.ended.wait(GUARD)


@every_entry
def test_an_async_tool_is_cancelled_and_has_cleaned_up_before_the_model_goes_on(entry: Entry):
    seen: list[str] = []

    async def hang() -> str:
        try:
            await asyncio.sleep(GUARD)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            seen.append("cleaned up")
        return "late"

    agent = Agent(ScriptedModel([call_tool("hang"), "ok"]), tools=[Tool.of(hang).replace(timeout=SOON)])
    assert entry(agent, "x").content == "ok"
    assert seen == ["cancelled", "cleaned up"]
    assert "hang took longer" in agent.memory.get_memory()[2].content


@every_entry
def test_a_tool_that_is_in_time_gives_its_result_and_sees_its_call(entry: Entry):
    def quick(a: int) -> str:
        return f"{this_call().session_id} {a}"

    agent = Agent(ScriptedModel([call_tool("quick", a=1), "ok"]), tools=[Tool.of(quick).replace(timeout=GUARD)])
    assert entry(agent, "x", session_id="ada").content == "ok"
    assert agent.memory.get_memory("ada")[2].content == "ada 1"


@both
@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(2)])
def test_what_a_tool_with_a_time_raises_is_its_error(entry: Entry, error: BaseException):
    def fail() -> None:
        raise error

    agent = Agent(ScriptedModel([call_tool("fail"), "ok"]), tools=[Tool.of(fail).replace(timeout=GUARD)])
    assert entry(agent, "x").content == "ok"
    assert agent.memory.get_memory()[2].content.startswith("error: ")


@both
def test_the_runs_own_deadline_ends_the_run_though_the_tool_has_more_time(entry: Entry, stuck: Stuck):
    agent = Agent(ScriptedModel([call_tool("hang"), "ok"]), tools=[Tool.of(stuck.hang).replace(timeout=GUARD)])
    with pytest.raises(DeadlineExceededError) as late:
        entry(agent, "x", limits=Limits(seconds=SOON))
    assert late.value.path == "Agent#0"


def test_a_kill_does_not_wait_for_what_can_be_left_behind(stuck: Stuck):
    agent = Agent(ScriptedModel([call_tool("hang"), "ok"]), tools=[Tool.of(stuck.hang).replace(timeout=GUARD)])

    async def main() -> None:
        nodes: list[Any] = []

        def listen(event: Event) -> None:
            nodes.append(event.node)

        running = asyncio.ensure_future(agent.acall("x", listeners=[listen]))
        assert await asyncio.to_thread(stuck.began.wait, GUARD)
        nodes[0].kill("enough")
        with pytest.raises(RunKilledError, match="enough"):
            await running

    asyncio.run(main())


@both
def test_all_tries_share_the_time(entry: Entry):
    tries: list[int] = []

    def fail() -> None:
        tries.append(1)
        raise RetryableToolError("busy", after=GUARD)

    agent = Agent(ScriptedModel([call_tool("fail"), "ok"]), tools=[Tool.of(fail).replace(timeout=SOON, retries=9)])
    assert entry(agent, "x").content == "ok"
    assert "took longer" in agent.memory.get_memory()[2].content
    assert len(tries) <= 1


def test_a_timeout_is_an_outcome_with_state_and_arguments():
    @tool(timeout=SOON)
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)

    call = {"name": "sleep", "parameters": {"seconds": GUARD}}
    returned: ActionReturn = ActionExecutor(sleep)(Message(content=call)).content
    assert (returned.state, returned.args) == (ActionStatusCode.API_ERROR, {"seconds": GUARD})
    assert returned.errmsg == "sleep took longer than the 0.05 seconds that it has; ask it for less"


def test_the_timeout_of_what_a_tool_calls_is_reported_as_it_is():
    @tool(timeout=GUARD)
    async def ask() -> str:
        return (await Agent(AsyncWaiter(), name="inner").acall("x", timeout=SOON)).content

    returned = ActionExecutor(ask)(Message(content={"name": "ask", "parameters": {}})).content
    assert "inner#0 exceeded" in str(returned.errmsg)
