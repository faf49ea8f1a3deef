"""A run that is done: what it has recorded is repeated, nothing new is done, and nothing of its record changes."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from journal._places import Place
from journal._programs import Stateless
from trivium import Agent, AsyncAgent, ChatAgent, Message, Module, RunRecord, Task, this_call, tool
from trivium.commander import Limits
from trivium.exceptions import DeadlineExceededError, DivergedError, LimitExceededError, RunPausedError, ToolFailedError
from trivium.journal import Journal, ask_later, step, step_async
from trivium.journal._effects import EffectKind
from trivium.llms import Request
from trivium.schema import StatusCode, Usage
from trivium.testing import ScriptedModel, call_tool


@pytest.mark.parametrize("effect", ["idempotent", "transactional", "once", None])
def test_a_new_step_of_a_finished_run_is_refused_before_it_happens(place: Place, effect: EffectKind | None):
    done, journal = list[str](), place.journal()

    def program(*names: str, run_id: str = "r", into: Journal = journal) -> None:
        with into.run(run_id):
            for name in names:
                step(name, done.append, name, effect=effect)

    program("a")
    for into in (journal, journal.accepting_changes()):
        with pytest.raises(DivergedError, match=r"b#0 would be done now, but the run 'r' is finished.*trivium fork r"):
            program("a", "b", into=into)
    program("a")
    assert (done, journal.info("r").status, journal.info("r").why) == (["a"], "done", "")
    journal.view("r").fork("r2")
    program("a", "b", run_id="r2")
    assert done == ["a", "b"]
    journal.close()


@pytest.mark.parametrize("ask", ["now", "random", "new_id"])
def test_what_is_read_anew_in_a_finished_run_is_not_recorded(journal: Journal, ask: str):
    def program() -> None:
        with journal.run("r"):
            getattr(this_call(), ask)()
            step("look", list, effect="read")

    with journal.run("r"):
        pass
    program()
    assert journal.entries("r") == []
    assert journal.info("r").epoch == 1


def test_what_a_program_has_cut_off_is_cut_off_again(journal: Journal):
    @tool(effect="read")
    async def search() -> str:
        """Search."""
        await asyncio.sleep(60)
        return "found"

    async def program() -> str:
        async with journal.run("r"):
            slow = AsyncAgent(ScriptedModel([call_tool("search")]), tools=[search])
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await slow("hi")
            return (await AsyncAgent(ScriptedModel(["fast"]))("hi")).content

    assert [asyncio.run(program()) for _ in range(2)] == ["fast"] * 2
    assert (journal.info("r").status, journal.info("r").epoch) == ("done", 1)


def test_a_run_that_waits_for_a_decision_is_not_done_though_its_program_caught_the_pause(journal: Journal):
    paid = list[int]()

    @tool(effect="once", needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def ask(request: Request) -> Any:
        return call_tool("pay", amount=1) if len(request.messages) < 2 else "ok"

    async def program(approve: Callable[[Any], Any]) -> list[Any]:
        async with journal.run("r"):
            agents = [AsyncAgent(ScriptedModel(ask), tools=[pay], approve=approve) for _ in range(2)]
            return await asyncio.gather(*(each("go") for each in agents), return_exceptions=True)

    assert all(isinstance(each, RunPausedError) for each in asyncio.run(program(ask_later)))
    assert (journal.info("r").status, len(journal.pending())) == ("paused", 2)
    for _ in range(2):
        assert [each.content for each in asyncio.run(program(lambda request: True))] == ["ok", "ok"]
        assert (journal.info("r").status, paid) == ("done", [1, 1])


def test_an_agent_with_another_tool_pays_nothing_and_asks_no_approver_and_no_model(journal: Journal):
    paid, asked = list[int](), list[object]()

    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    @tool(effect="once", needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def buyer(*answers: Any, tools: list[Any]) -> Agent:
        return Agent(ScriptedModel(answers), tools=tools, name="buyer", approve=lambda each: not asked.append(each))

    first = buyer(call_tool("look"), "done", tools=[look])
    assert first("go", run_id="r", journal=journal).content == "done"

    def code(*then: Agent) -> None:
        with journal.run("code"):
            for each in (buyer("done", tools=[]), *then):
                each("go")

    code()
    before = journal.entries("r")
    with pytest.raises(DivergedError, match="finished"):
        code(buyer(call_tool("pay", amount=3), "done", tools=[pay]))
    again = buyer(call_tool("pay", amount=3), tools=[look, pay])
    assert again("go", run_id="r", journal=journal.accepting_changes()).content == "done"
    assert (paid, asked, journal.entries("r")) == ([], [], before)


def test_a_call_that_repeats_a_finished_run_changes_nothing_of_its_record(place: Place):
    journal = place.journal()

    def program() -> str:
        agent = Agent(ScriptedModel(["hello"]), name="greeter")
        return agent("hi", run_id="r", session_id="s", journal=journal).content

    program()
    before = journal.info("r"), journal.entries("r"), journal.view("r").tree().seconds
    assert [program() for _ in range(2)] == ["hello"] * 2
    assert (journal.info("r"), journal.entries("r"), journal.view("r").tree().seconds) == before
    journal.close()


def test_a_finished_run_that_fails_outside_of_its_effects_stays_done(journal: Journal):
    def program(error: type[BaseException] | None = None) -> None:
        with journal.run("r"):
            step("a", list)
            if error is not None:
                raise error

    program()
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            program(error)
    assert (journal.info("r").status, journal.info("r").epoch) == ("done", 1)


def test_branches_that_lose_in_a_finished_run_lose_again(journal: Journal):
    done = list[str]()

    async def act(name: str) -> None:
        await asyncio.sleep(0.3 if name == "slow" else 0)
        done.append(name)

    async def loser() -> None:
        await step_async("first", act, "first")
        await asyncio.sleep(0 if done.count("slow") else 5)
        await step_async("never", act, "never")

    async def program() -> str:
        async with journal.run("r"):
            other = asyncio.create_task(loser())
            await step_async("slow", act, "slow")
            await asyncio.sleep(0.1)
            other.cancel()
            await asyncio.wait([other])
            return "cancelled" if other.cancelled() else "lost"

    assert [asyncio.run(program()) for _ in range(2)] == ["cancelled"] * 2
    assert "never" not in done


def test_many_repeat_a_finished_run_at_once(place: Place):
    journal, barrier = place.journal(), threading.Barrier(4)
    with journal.run("r"):
        step("a", int)

    def repeat() -> object:
        with journal.run("r"):
            barrier.wait(20)
            return step("a", int)

    with ThreadPoolExecutor(4) as pool:
        assert [each.result() for each in [pool.submit(repeat) for _ in range(4)]] == [0] * 4
    assert journal.info("r").epoch == 1
    journal.close()


# ---- approvers that fail, errors that are repeated, and calls that wait
def test_an_approver_that_fails_decides_nothing_in_a_durable_run(journal: Journal, caplog: pytest.LogCaptureFixture):
    paid = list[int]()

    @tool(effect="once", needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def program(approve: Callable[[object], bool]) -> str:
        agent = Agent(ScriptedModel([call_tool("pay", amount=3), "Done."][len(paid) :]), tools=[pay], name="buyer")
        return agent("Pay.", run_id="r", journal=journal, approve=approve).content

    def fail(request: object) -> bool:
        raise OSError("no terminal")

    with pytest.raises(ToolFailedError, match="the approver failed: no terminal"):
        program(fail)
    assert (journal.info("r").status, paid) == ("failed", [])
    assert [each.message for each in caplog.records if each.exc_info] == [
        "the tool pay raised ToolNotApprovedError: not approved: the approver failed: no terminal"
    ]
    answers = [call_tool("pay", amount=3), "Done."]
    agent = Agent(ScriptedModel(answers[1:]), tools=[pay], name="buyer")
    assert agent("Pay.", run_id="r", journal=journal, approve=lambda _: True).content == "Done."
    assert (journal.info("r").status, paid) == ("done", [3])


def test_a_recorded_error_of_a_tool_is_not_logged_again(journal: Journal, caplog: pytest.LogCaptureFixture):
    @tool(effect="once")
    def book() -> str:
        """Book."""
        raise ValueError("no room")

    for _ in range(2):
        agent = Agent(ScriptedModel([call_tool("book"), "Sorry."]), tools=[book], name="booker")
        assert agent("Book.", run_id="r", journal=journal).content == "Sorry."
    told = [each for each in caplog.records if "no room" in each.getMessage() and each.levelno > logging.DEBUG]
    assert len(told) == 1


def test_a_call_that_waits_for_another_attempt_says_so_once(
    journal: Journal, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    begun, other = threading.Event(), Journal(tmp_path / "runs.db")

    def work() -> None:
        with journal.run("w"):
            begun.set()
            step("slow", threading.Event().wait, 2.0)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(work)
        begun.wait(20)
        with other.run("w"):
            step("slow", threading.Event().wait, 2.0)
        first.result()
    told = [each.getMessage() for each in caplog.records]
    assert len(told) == 1
    assert told[0].startswith("the run 'w' is at work in process ")
    assert told[0].endswith("; waiting for it")
    other.close()


def test_each_finished_run_of_a_module_has_its_result_for_another_process(place: Place):
    journal = place.journal()
    Agent(ScriptedModel(["hello"]), name="greeter")("hi", run_id="r", journal=journal)
    with journal.run("code"):
        step("a", list)
    other = place.journal()
    result = other.view("r").result
    assert (result and result.content, other.view("code").result) == ("hello", None)
    for each in (journal, other):
        each.close()


def test_an_answer_that_failed_has_cost_in_each_attempt_what_it_cost(journal: Journal):
    model = ScriptedModel([[" ", Usage(70, 30)], ["DONE hello", Usage(7, 3)]])
    for limits in (None, Limits(turns=2), Limits(turns=1), Limits(tokens=50)):
        record = RunRecord()
        task = Task(ChatAgent(model, name="clerk"), interactive=False)
        result = task("Go.", run_id="a", journal=journal, limits=limits, listeners=[record])
        assert (result.status is StatusCode.DONE) is (limits is None or limits.turns == 2)
        if result.status is StatusCode.DONE:
            assert (result.usage, record.roots[0].tokens) == (Usage(77, 33), 110)
    assert journal.view("a").usage == Usage(77, 33)
    assert sum(map(sum, journal.outline("a").usage().values())) == 110
    assert len(model.requests) == 2


def test_an_answer_that_was_stopped_is_a_turn_in_each_attempt_and_one_that_a_limit_refused_is_none(journal: Journal):
    async def stream(request: Request) -> AsyncIterator[Any]:
        yield Usage(70, 30)
        await asyncio.Event().wait()

    models: list[Any] = [SimpleNamespace(name="hanging", stream=stream), Stateless(["ok", Usage(1, 1)])]
    late, clerk = (Agent(each, name="clerk", memory=False) for each in models)

    class Patient(Module):
        def forward(self, message: Message) -> str:
            with suppress(LimitExceededError):
                clerk("Go on. " * 100, limits=Limits(tokens=10))
            with suppress(DeadlineExceededError):
                late("Go.", timeout=0.05)
            return clerk("Go.").content

    for limits in (Limits(turns=2), Limits(turns=2), Limits(turns=1), Limits(tokens=100)):
        record = RunRecord()
        with nullcontext() if limits.turns == 2 else pytest.raises(LimitExceededError):
            result = Patient()("Go.", run_id="a", journal=journal, limits=limits, listeners=[record])
            assert (result.usage, record.roots[0].tokens) == (Usage(71, 31), 102)


def test_what_agents_have_spent_below_a_recorded_tool_counts_in_each_attempt(journal: Journal):
    inner = Agent(ScriptedModel([["yes", Usage(100, 50)]]), name="inner", memory=False)

    def ask() -> str:
        """Ask another agent."""
        return inner("Is it so?").content

    ours = Agent(Stateless([call_tool("ask"), Usage(1, 1)], ["done", Usage(2, 2)]), tools=[ask], memory=False)
    for limits in (None, Limits(tokens=200)):
        assert ours("Go.", run_id="a", journal=journal, limits=limits).usage == Usage(103, 53)
        assert journal.view("a").usage == Usage(103, 53)
    with pytest.raises(LimitExceededError):
        ours("Go.", run_id="a", journal=journal, limits=Limits(tokens=152))
