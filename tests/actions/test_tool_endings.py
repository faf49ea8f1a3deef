"""What ends a program or a task, raised within a run: a failure of its tool or of the run, and of nothing beside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, Message, Module
from trivium.commander import gather
from trivium.journal import Journal
from trivium.testing import ScriptedModel, call_tool


async def broken_off() -> str:
    """Awaits a job of the program, which somebody else has cancelled."""
    job = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    job.cancel()
    await job
    return "never"


def broken_off_at_once() -> str:
    """Raises what a library lets through."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("function", [broken_off, broken_off_at_once])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_cancellation_that_nobody_has_asked_for_is_a_failure_of_the_tool(
    function: Callable[..., Any], is_async: bool, parallel: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    def fine() -> str:
        return "fine"

    def answer(request: Any) -> Any:
        is_first = request.messages[-1]["role"] == "user"
        return [call_tool(function.__name__, 0), call_tool("fine", 1)] if is_first else "ok"

    agent = Agent(ScriptedModel(answer), tools=[function, fine], parallel=parallel)
    options: dict[str, Any] = {"journal": Journal(tmp_path / "runs.db"), "run_id": "a"}
    assert (asyncio.run(agent.acall("go", **options)) if is_async else agent("go", **options)).content == "ok"
    asked = agent.llm.requests[-1].messages
    told = "was broken off: what it waited for was cancelled, but neither the call nor the run"
    assert [each["content"] for each in asked if each["role"] == "tool"] == [
        f"error: the tool {function.__name__} {told}",
        "fine",
    ]
    assert f"the tool {function.__name__} raised CancelledError" in caplog.text
    noted = [each.error for each in options["journal"].view("a").tree().walk() if each.error]
    assert [each.partition(":")[0] for each in noted] == ["ToolEndedError"]


def test_a_cancellation_by_the_caller_is_none_of_the_tool():
    async def main() -> None:
        begun = asyncio.Event()

        async def stays() -> str:
            begun.set()
            await asyncio.sleep(60)
            return "never"

        agent = Agent(ScriptedModel([call_tool("stays"), "never"]), tools=[stays])
        calling = asyncio.create_task(agent.acall("go"))
        await begun.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    asyncio.run(main())


def test_ctrl_c_in_a_sync_tool_below_async_code_is_no_failure_of_the_tool(tmp_path: Path):
    def pressed() -> str:
        raise KeyboardInterrupt

    class Desk(Module):
        async def forward(self, message: Message) -> Any:
            return await Agent(ScriptedModel([call_tool("pressed"), "never"]), tools=[pressed], name="inner").acall(
                "go"
            )

    journal = Journal(tmp_path / "runs.db")
    with pytest.raises(KeyboardInterrupt):
        Desk()("go", journal=journal, run_id="a")
    assert [each.kind for each in journal.entries("a") if each.kind in ("error", "outcome")] == ["outcome"]


class Exiting(Module):
    """Ends the program within a task of the runtime: the thread of a generator, a branch, or a stream."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    async def forward(self, message: Message) -> Any:
        def exits_soon(request: object) -> str:
            raise SystemExit(3)

        async def branch() -> None:
            raise SystemExit(3)

        if self.where == "branch":
            return await gather(branch, branch)
        return await Agent(ScriptedModel(exits_soon)).acall("go")


@pytest.mark.parametrize("where", ["branch", "generator"])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_an_exit_within_a_run_ends_no_loop_but_reaches_its_caller(where: str, is_streamed: bool):
    async def main() -> list[object]:
        seen: list[object] = []
        try:
            if is_streamed:
                async with Exiting(where).open("go") as events:
                    async for _ in events:
                        pass
            else:
                await Exiting(where).acall("go")
        except SystemExit as error:
            await asyncio.sleep(0)  # the loop runs
            seen.append(error.code)
        return seen

    assert asyncio.run(main()) == [3]
