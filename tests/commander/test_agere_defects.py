"""The known defects of the original, by their numbers: trivium has none of them. A guard makes a hang a failure."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import metadata
from typing import Any

import pytest

import trivium.commander
from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, HandlerCoroutine, NodeState, handler, tasker
from trivium.exceptions import NotTaskerError, PasswordError
from trivium.llms import Delta
from trivium.testing import call_tool
from trivium.utils.dispatcher import async_dispatcher_tools_call_for_openai
from trivium.utils.llm_async_converters import LLMAsyncAdapter

from ._helpers import GUARD, in_thread
from ._work import Do, doing, failing, giving, outcome, run, run_jobs, steps, stuck, types_of


def test_defect_1_await_handler_works_in_and_out_of_a_commander():
    async def work(job: Job) -> Any:
        return await giving(7)

    async def main() -> Any:
        return await giving(7)

    assert (outcome(work), in_thread(lambda: asyncio.run(main()))) == (7, 7)


def test_defect_2_a_task_without_tasker_is_an_error_and_no_hang():
    class Plain(Job):
        async def task(self) -> None: ...

    with pytest.raises(NotTaskerError, match="Plain needs a task"):
        in_thread(lambda: CommanderAsync().run(Plain()))


@pytest.mark.parametrize("stage", ["at_job_start", "at_job_end", "at_exception", "at_commander_end"])
def test_defect_3_a_raising_callback_is_reported_and_no_hang(stage: Any):
    def raising() -> None:
        raise LookupError(stage)

    job = Do(lambda job: 1 / 0 if stage == "at_exception" else None)
    job.add_callback_functions(stage, raising)
    assert ("Do", "LookupError") in types_of(run_jobs(job, Do()))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
@pytest.mark.parametrize(
    "arguments",
    ['{"to_user": "a, b", "x": 1}', '{"x": 1, "to_user": "a, b"}', '{"to_user": "a, b"}', '{"x": 1}', "{}"],
)
def test_defect_4_no_call_is_lost_wherever_the_chunks_break(size: int, arguments: str):
    part = call_tool("add")
    pieces = [part._replace(arguments="")]
    pieces += [part._replace(arguments=arguments[at : at + size], name=None) for at in range(0, len(arguments), size)]
    plain = [piece._replace(index=1) for piece in pieces]

    async def read(job: Job) -> Any:
        make = await async_dispatcher_tools_call_for_openai([*pieces, *plain])
        return [json.loads(call)["arguments"] async for call in make("function_call")]

    expected = {key: value for key, value in json.loads(arguments).items() if key != "to_user"}
    assert outcome(read) == [expected, expected]


def test_defect_5_after_an_exit_with_work_left_the_next_run_ends():
    async def leaves(job: Job) -> None:
        job.call_handler(stuck())
        await job.put_job(Do())
        await job.exit_commander()

    commander = CommanderAsync()
    in_thread(lambda: commander.run(Do(leaves)))
    assert commander.is_empty()
    assert in_thread(lambda: commander.run(Do(), auto_exit=True)) is None


def test_defect_6_errors_are_logged_listed_and_raised_on_demand(caplog: pytest.LogCaptureFixture):
    commander, _ = run(lambda job: failing(ValueError("broken")))
    assert types_of(commander) == [("failing", "ValueError")]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    with pytest.raises(ValueError, match="broken"):
        run(lambda job: failing(ValueError("broken")), raise_errors=True)


class Broken(Exception):
    """The source's own error."""


def _sync_source() -> Iterator[Delta]:
    yield "first"
    raise Broken


async def _async_source() -> AsyncIterator[Delta]:
    yield "first"
    raise Broken


@pytest.mark.parametrize("source", [_sync_source, _async_source])
def test_defect_7_an_error_of_the_source_reaches_both_readers(source: Callable[[], Any]):
    async def read(job: Job) -> Any:
        make = await async_dispatcher_tools_call_for_openai(LLMAsyncAdapter().llm_to_async_iterable(source()))
        found: list[str] = []
        for role in ("to_user", "function_call"):
            with pytest.raises(Broken):
                found.extend([text async for text in make(role)])
        return found

    outcome(read)


def test_defect_7_all_calls_of_one_chunk_are_seen():
    async def read(job: Job) -> Any:
        function = {"name": "add", "arguments": "{}"}
        calls = [{"index": index, "id": str(index), "function": function} for index in range(3)]
        chunk = {"choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
        make = await async_dispatcher_tools_call_for_openai([chunk])
        return [json.loads(call)["tool_call_index"] async for call in make("tool_call")]

    assert outcome(read) == [0, 1, 2]


def test_defect_8_handler_methods_of_nested_local_classes():
    class Outer:
        class Inner:
            @handler(PASS_WORD)
            async def method(self, self_handler: HandlerCoroutine, value: int) -> tuple[Any, int]:
                return self, value

    inner = Outer.Inner()

    async def work(job: Job) -> Any:
        return await inner.method(7)

    assert outcome(work) == (inner, 7)


def test_defect_9_an_idle_commander_sleeps():
    """While it waits for a handler, the loop has nothing to do: it is not asked again and again."""

    async def main() -> int:
        loop, gate = asyncio.get_running_loop(), asyncio.Event()
        job = Do(lambda job: doing(lambda me: gate.wait()))
        running = asyncio.create_task(CommanderAsync().run_async(job, auto_exit=True))
        await steps(20)
        turns = 0

        def scheduled(*args: Any, **kwargs: Any) -> Any:
            nonlocal turns
            turns += 1
            return call_soon(*args, **kwargs)

        call_soon, loop.call_soon = loop.call_soon, scheduled  # type: ignore[method-assign] - counts what is scheduled
        await asyncio.wait([running], timeout=0.05)
        idle = turns
        gate.set()
        await asyncio.wait_for(running, GUARD)
        return idle

    assert in_thread(lambda: asyncio.run(main())) < 10


def test_defect_10_run_works_inside_a_running_loop():
    async def main() -> tuple[Any, Any]:
        job = [Do(lambda job: job.exit_commander("bye")) for _ in range(2)]
        return CommanderAsync().run(job[0]), await CommanderAsync().run_async(job[1])

    assert in_thread(lambda: asyncio.run(main())) == ("bye", "bye")


def test_defect_11_what_is_terminated_stops():
    ran: list[str] = []

    async def slow(me: HandlerCoroutine) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ran.append("stopped")

    async def work(job: Job) -> None:
        running = doing(slow)
        job.call_handler(running)
        await steps()
        await running.terminate_task_node()
        assert running.state is NodeState.TERMINATED

    assert run(work)[0].failures == []
    assert ran == ["stopped"]


def test_defect_12_a_handler_that_nobody_starts_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        giving(7)
        commander = CommanderAsync()
        in_thread(lambda: commander.run(Do(lambda job: job.exit_commander()), auto_exit=True))
        job = Do(lambda job: (job.commander.exit(), giving(7))[1])
        in_thread(lambda: commander.run(job))
        gc.collect()


def test_defect_13_a_wrong_password_says_what_to_write():
    for mark in (tasker, handler):
        with pytest.raises(PasswordError, match=r"@tasker\(PASS_WORD\) or @handler\(PASS_WORD\)"):
            mark("open sesame")


def test_defect_14_what_is_documented_is_what_is_installed():
    assert metadata.version("trivium")
    assert {"PASS_WORD", "Job", "tasker", "handler", "Callback", "CommanderAsync"} <= set(trivium.commander.__all__)
