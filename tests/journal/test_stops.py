"""Effects that are stopped while their run goes on, and results of code that ends after its caller was cancelled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from threading import Event as ThreadEvent
from typing import Any

import pytest

from trivium import Agent, this_call
from trivium.actions import Tool
from trivium.exceptions import DeadlineExceededError, RunKilledError, RunPausedError, ToolFailedError
from trivium.journal import Journal, ask_later, step
from trivium.testing import ScriptedModel, call_tool


@pytest.fixture
def release() -> Iterator[ThreadEvent]:
    """Lets code that hangs end, at the latest with the test."""
    event = ThreadEvent()
    yield event
    event.set()


class Hanging:
    """A tool that takes longer than it may.

    Attributes:
        ran: how often it was called.
        began: set when it is called.
    """

    def __init__(self, release: ThreadEvent) -> None:
        self.ran, self.began, self._release = 0, ThreadEvent(), release

    def pay(self) -> str:
        """Pay."""
        self.ran += 1
        self.began.set()
        self._release.wait(60)
        return "paid"

    async def pay_async(self) -> str:
        """Pay."""
        self.ran += 1
        self.began.set()
        await asyncio.Event().wait()
        return "paid"

    def tool(self, form: str, **options: Any) -> Tool:
        return Tool.of(self.pay if form == "def" else self.pay_async).replace(name="pay", **options)


def answer(request: Any) -> Any:
    said = [each["content"] for each in request.messages if each["role"] == "tool"]
    return f"It says: {said[-1]}" if said else call_tool("pay")


def ask_clerk(request: Any) -> Any:
    found = answer(request)
    return found if isinstance(found, str) else call_tool("clerk", message="Pay.")


def buyer(*tools: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel(answer), tools=tools, name="buyer", **options)


def call(make: Callable[[], Agent], driver: str, **options: Any) -> str:
    if driver == "sync":
        return make()("Go.", **options).content

    async def main() -> str:
        return (await make().acall("Go.", **options)).content

    return asyncio.run(main())


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("effect", ["read", "once"])
@pytest.mark.parametrize("form", ["def", "async def"])
def test_a_tool_that_took_too_long_takes_too_long_in_each_attempt(
    journal: Journal, release: ThreadEvent, form: str, effect: str, driver: str
):
    hanging = Hanging(release)

    def make() -> Agent:
        return buyer(hanging.tool(form, effect=effect, timeout=0.05))

    first = call(make, driver, run_id="a", journal=journal)
    assert "longer than the 0.05 seconds" in first
    assert call(make, driver, run_id="a", journal=journal) == first
    assert journal.view("a").replay(make()).content == first
    assert journal.view("a").fork("b", at="buyer/model#1").resume(make()).content == first
    assert hanging.ran <= 1  # 0 where a busy machine took all of its time


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("effect", ["read", "once"])
@pytest.mark.parametrize("form", ["def", "async def"])
def test_a_tool_that_was_killed_alone_is_so_in_each_attempt(journal: Journal, form: str, effect: str, driver: str):
    ran = list[int]()

    def pay() -> str:
        ran.append(1)
        this_call().kill("enough")
        return "paid"

    async def pay_async() -> str:
        pay()
        await asyncio.Event().wait()
        return "paid"

    def make() -> Agent:
        return buyer(Tool.of(pay if form == "def" else pay_async).replace(name="pay", effect=effect))

    heard: list[list[Any]] = [[], []]
    first = call(make, driver, run_id="a", journal=journal, listeners=[heard[0].append])
    assert "was stopped: enough" in first
    assert journal.view("a").replay(make(), listeners=[heard[1].append]).content == first
    said = [[(each.path, each.detail()) for each in some if each.kind == "ended"] for some in heard]
    assert said[0] == said[1]
    assert call(make, driver, run_id="a", journal=journal) == first
    assert ran == [1]
    assert journal.view("a").node("buyer/tool:pay").error == "RunKilledError: buyer#0/tool:pay#0 was stopped: enough"


def test_an_agent_that_took_too_long_as_a_tool_does_so_in_each_attempt(journal: Journal, release: ThreadEvent):
    hanging = Hanging(release)

    def make() -> Agent:
        clerk = Agent(ScriptedModel(answer), tools=[hanging.tool("async def", effect="once")], name="clerk")

        async def ask(message: str) -> str:
            """Ask the clerk."""
            return (await clerk.acall(message)).content

        told = Tool.of(ask).replace(name="clerk", effect="composite", timeout=0.05)
        return Agent(ScriptedModel(ask_clerk), tools=[told], name="buyer")

    first = make()("Go.", run_id="a", journal=journal).content
    assert "longer than the 0.05 seconds" in first
    assert journal.view("a").replay(make()).content == first
    assert make()("Go.", run_id="a", journal=journal).content == first
    assert hanging.ran <= 1  # 0 where a busy machine took all of its time


def test_a_call_that_was_stopped_between_effects_asks_for_nothing_new_later(journal: Journal, release: ThreadEvent):
    hanging = Hanging(release)

    def make() -> Agent:
        clerk = Agent(ScriptedModel(answer), tools=[hanging.tool("async def", effect="read")], name="clerk")
        return Agent(ScriptedModel(ask_clerk), tools=[clerk], name="buyer")

    def stop(event: Any) -> None:
        if event.kind == "ended" and event.path.endswith("clerk#0/model#0"):
            event.node.ancestor_chain[1].kill("enough")

    first = make()("Go.", run_id="a", journal=journal, listeners=[stop]).content
    assert "was stopped: enough" in first
    assert journal.view("a").replay(make()).content == first
    assert make()("Go.", run_id="a", journal=journal).content == first
    assert hanging.ran == 0
    (asked,) = [each for each in journal.view("a").tree().walk() if each.name == "clerk"]
    assert (asked.status, asked.is_effect) == ("failed", False)
    assert journal.view("a").diff(journal.view("a").fork("b")) is None


@pytest.mark.parametrize("form", ["def", "async def"])
@pytest.mark.parametrize("effect", ["read", "once"])
def test_a_stop_that_ends_the_run_does_not_count_in_the_next_attempt(journal: Journal, form: str, effect: Any):
    ran = list[int]()

    def pay() -> str:
        ran.append(1)
        if len(ran) == 1:
            this_call().kill("enough")
        return "paid"

    async def pay_async() -> str:
        pay()
        if len(ran) == 1:
            await asyncio.Event().wait()
        return "paid"

    def program() -> str:
        with journal.run("a"):
            return step("pay", pay if form == "def" else pay_async, effect=effect, reconcile=lambda: "found")

    with pytest.raises(RunKilledError):
        program()
    assert journal.view("a").why.startswith("run#0/pay#0: RunKilledError: run#0/pay#0 was stopped: enough")
    wanted = "paid" if effect == "read" or form == "def" else "found"
    assert [program(), program()] == [wanted] * 2
    assert len(ran) == (2 if (form, effect) == ("async def", "read") else 1)  # a result that was there counts


def test_what_sync_code_has_done_is_kept_though_its_caller_was_cancelled(journal: Journal, release: ThreadEvent):
    hanging = Hanging(release)
    model = ScriptedModel(answer)

    def make() -> Agent:
        return Agent(model, tools=[hanging.tool("def", effect="once")], name="buyer")

    async def main() -> None:
        task = asyncio.create_task(make().acall("Go.", run_id="a", journal=journal))
        await asyncio.to_thread(hanging.began.wait)
        task.cancel()
        await asyncio.sleep(0)
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    assert [each.kind for each in journal.entries("a") if each.name == "tool:pay"] == ["intent", "outcome"]
    assert journal.info("a").status == "stopped"
    assert make()("Go.", run_id="a", journal=journal).content == "It says: paid"
    assert (hanging.ran, len(model.requests)) == (1, 2)


def test_an_error_after_a_cancellation_leaves_an_act_of_which_nothing_is_known(journal: Journal, release: ThreadEvent):
    hanging = Hanging(release)

    def fail() -> str:
        """Pay."""
        hanging.pay()
        raise OSError("no line")

    async def main() -> None:
        ours = buyer(Tool.of(fail).replace(name="pay", effect="once"))
        task = asyncio.create_task(ours.acall("Go.", run_id="a", journal=journal))
        await asyncio.to_thread(hanging.began.wait)
        task.cancel()
        await asyncio.sleep(0)
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert "not known whether pay happened" in buyer(hanging.tool("def"))("Go.", run_id="a", journal=journal).content
    assert hanging.ran == 1


def test_the_reason_of_a_stop_is_told(journal: Journal, release: ThreadEvent):
    hanging = Hanging(release)
    with pytest.raises(DeadlineExceededError):
        buyer(hanging.tool("async def"))("Go.", run_id="late", journal=journal, timeout=0.05)
    assert journal.view("late").why.startswith("buyer#0/tool:pay#0: DeadlineExceededError: buyer#0 exceeded")

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), journal.run("interrupted"):
        step("wait", interrupt, effect="read")
    assert journal.view("interrupted").why.startswith("run#0/wait#0: KeyboardInterrupt")


def test_an_approver_that_failed_may_be_asked_later(journal: Journal, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.CRITICAL)

    def fail(request: object) -> bool:
        raise OSError("no terminal")

    def make() -> Agent:
        return buyer(Tool.of(lambda: "paid").replace(name="pay", needs_approval=True), on_tool_error="raise")

    with pytest.raises(ToolFailedError):
        make()("Go.", run_id="a", journal=journal, approve=fail)
    for _ in range(2):
        with pytest.raises(RunPausedError):
            make()("Go.", run_id="a", journal=journal, approve=ask_later)
    (waiting,) = journal.pending()
    journal.approve("a", waiting.digest, by="ada")
    assert make()("Go.", run_id="a", journal=journal).content == "It says: paid"


@pytest.mark.parametrize("effect", ["read", "once"])
@pytest.mark.parametrize("form", ["def", "async def"])
@pytest.mark.parametrize("cause", [KeyboardInterrupt, RunKilledError])
def test_a_run_that_was_stopped_in_a_tool_names_it(
    journal: Journal, form: str, effect: Any, cause: type[BaseException]
) -> None:
    def pay() -> None:
        """Pay."""
        if cause is KeyboardInterrupt:
            raise KeyboardInterrupt
        [*this_call().ancestor_chain][-1].kill("enough")

    async def pay_async() -> None:
        """Pay."""
        pay()
        await asyncio.sleep(0)

    tool = Tool.of(pay if form == "def" else pay_async).replace(name="pay", effect=effect)
    with pytest.raises(cause):
        buyer(tool)("Go.", run_id="a", journal=journal)
    assert journal.info("a").status == "stopped"
    assert journal.view("a").why.startswith(f"buyer#0/tool:pay#0: {cause.__name__}")
