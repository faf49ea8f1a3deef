"""Jobs and handlers: their order, their results and errors, and what they may start."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest

from trivium import CommanderAsync, Job, RunRecord
from trivium.commander import PASS_WORD, HandlerCoroutine, NodeState, TaskNode, handler, tasker
from trivium.exceptions import (
    AttributeNotSetError,
    CommanderError,
    ConfigurationError,
    FinishedNodeError,
    NotHandlerError,
    NotTaskerError,
    RunKilledError,
)

from ._helpers import find, here
from ._work import Do, doing


@handler(PASS_WORD)
async def giving(self_handler: HandlerCoroutine, value: Any = None) -> Any:
    return value


@handler(PASS_WORD)
async def failing(self_handler: HandlerCoroutine) -> None:
    raise ValueError("broken")


@handler(PASS_WORD)
async def stuck(self_handler: HandlerCoroutine) -> None:
    await asyncio.get_running_loop().create_future()


def run(work: Callable[[Do], Any], **kwargs: Any) -> tuple[CommanderAsync, Do]:
    """Run one job to the end of all that it starts."""
    commander, job = CommanderAsync(**kwargs), Do(work)
    commander.run(job, auto_exit=True)
    return commander, job


@pytest.mark.parametrize("options", [{}, {"unsafe_hash": True}, {"eq": False}])
def test_jobs_of_a_dataclass_with_equal_fields_are_several_jobs(options: dict[str, bool]):
    @dataclass(**options)
    class Fetch(Job):
        url: str

        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            fetched.append(self.url)
            return giving()

    fetched, commander, record = list[str](), CommanderAsync(), RunRecord()
    commander.listen(record)
    commander.run([Fetch("a"), Fetch("b"), Fetch("a")], auto_exit=True)
    assert (fetched, commander.failures) == (["a", "b", "a"], [])
    assert [node.name for node in record.roots[0].children] == ["Fetch"] * 3


def test_a_job_keeps_the_comparison_that_its_class_defines_and_all_equals_run():
    class Fetch(Job):
        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Fetch) and other.url == self.url

        def __hash__(self) -> int:
            return hash(self.url)

        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            fetched.append(self.url)
            return giving()

    fetched, commander = list[str](), CommanderAsync()
    jobs = [Fetch("a"), Fetch("b"), Fetch("a")]
    assert len(set(jobs)) == 2
    commander.run(jobs, auto_exit=True)
    assert (fetched, commander.failures, commander.children) == (["a", "b", "a"], [], [])


def test_a_frozen_job_is_refused():
    @dataclass(frozen=True)
    class Frozen(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None: ...

    with pytest.raises(ConfigurationError, match="Frozen is frozen: leave out frozen=True"):
        Frozen()


# ---- what must be marked
@pytest.mark.parametrize("mark", [tasker, handler])
def test_the_password_is_asked_for(mark: Callable[[str], Any]):
    with pytest.raises(AssertionError, match="PASS_WORD"):
        mark("open sesame")


def test_a_job_without_a_tasker_is_refused_where_it_is_put():
    class Plain(Job):
        async def task(self) -> None: ...

    class Empty(Job): ...

    for kind in (Plain, Empty):
        with pytest.raises(NotTaskerError, match=f"{kind.__name__} needs a task"):
            CommanderAsync().run(kind())

    async def put(job: Do) -> None:
        with pytest.raises(NotTaskerError, match="Plain"):
            await job.put_job(Plain())

    assert run(put)[0].failures == []


def test_only_a_coroutine_function_can_be_a_handler():
    def plain(self_handler: HandlerCoroutine) -> None: ...

    with pytest.raises(NotHandlerError, match="plain must be `async def`"):
        handler(PASS_WORD)(cast("Any", plain))


def test_only_a_handler_can_be_called():
    async def plain() -> None: ...

    coroutine: Any = plain()

    def call(job: Do) -> None:
        with pytest.raises(NotHandlerError, match="decorate its function"):
            job.call_handler(coroutine)

    run(call)
    coroutine.close()


# ---- order
def test_jobs_run_in_the_order_in_which_they_were_put():
    ran: list[str] = []

    def job(name: str, *below: Job) -> Do:
        async def work(self: Do) -> None:
            for each in below:
                await self.put_job(each)
            await asyncio.sleep(0)
            ran.append(name)

        return Do(work)

    CommanderAsync().run([job("a", job("a1", job("a11")), job("a2")), job("b", job("b1"))], auto_exit=True)
    assert ran == ["a", "b", "a1", "a2", "b1", "a11"]


def test_the_next_job_starts_when_the_body_returned_though_its_handlers_still_run():
    async def main() -> list[str]:
        ran: list[str] = []
        second = asyncio.Event()

        @handler(PASS_WORD)
        async def beside(self_handler: HandlerCoroutine) -> None:
            await second.wait()
            ran.append("handler")

        def go_on(job: Do) -> None:
            ran.append("second")
            second.set()

        await CommanderAsync().run_async([Do(lambda job: beside()), Do(go_on)], auto_exit=True)
        return ran

    assert asyncio.run(main()) == ["second", "handler"]


def test_handlers_run_side_by_side():
    async def main() -> int:
        meeting = asyncio.Barrier(3)

        @handler(PASS_WORD)
        async def meet(self_handler: HandlerCoroutine) -> None:
            await meeting.wait()

        def work(job: Do) -> None:
            for _ in range(3):
                job.call_handler(meet())

        commander = CommanderAsync()
        await commander.run_async(Do(work), auto_exit=True)
        return len(commander.failures)

    assert asyncio.run(main()) == 0


def test_ids_are_given_in_the_order_of_the_starts():
    ids: dict[str, Any] = {}

    class Numbered(Job):
        def __init__(self, name: str, *below: Numbered) -> None:
            super().__init__()
            self.name, self.below = name, below

        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            ids[self.name] = self.id
            for each in self.below:
                await self.put_job(each)
            return giving()

    named = Numbered("mine")
    named.id = "by hand"
    commander = CommanderAsync()
    commander.run([Numbered("a", Numbered("a1"), named), Numbered("b")], auto_exit=True)
    assert commander.id == 1
    assert (ids["a"], ids["mine"]) == (2, "by hand")
    assert ids["a"] < ids["b"] < ids["a1"]


# ---- results and errors
@pytest.mark.parametrize("value", [None, 0, "text", [1, 2]])
def test_what_a_body_returns_is_its_result(value: Any):
    job = run(lambda job: value)[1]
    assert (job.result, job.state, job.exception) == (value, NodeState.COMPLETED, None)


def test_a_plain_task_works_too():
    class Plain(Job):
        @tasker(PASS_WORD)
        def task(self) -> HandlerCoroutine:
            self.call_handler(giving(1))
            return giving(2)

    job = Plain()
    CommanderAsync().run(job, auto_exit=True)
    assert (job.state, job.children) == (NodeState.COMPLETED, [])


def test_a_returned_handler_is_started_below_the_job():
    parents: list[Any] = []

    @handler(PASS_WORD)
    async def child(self_handler: HandlerCoroutine) -> str:
        parents.append(self_handler.parent)
        return "answer"

    job = run(lambda job: child())[1]
    assert parents == [job]
    assert (type(job.result), job.result.result) == (HandlerCoroutine, "answer")


def test_handler_methods_are_bound_and_take_arguments():
    class Desk:
        name = "desk"

        @handler(PASS_WORD)
        async def serve(self, self_handler: HandlerCoroutine, guest: str, *, meal: str) -> str:
            assert self_handler.parent is here().parent
            return f"{self.name}: {meal} for {guest}"

    async def work(job: Do) -> str:
        return await Desk().serve("Ada", meal="soup")

    assert run(work)[1].result == "desk: soup for Ada"


def test_an_error_stays_in_its_node():
    commander, job = run(lambda job: failing())
    failed = job.result
    assert [(node, str(error)) for node, error in commander.failures] == [(failed, "broken")]
    assert (failed.state, str(failed.exception), failed.result) == (NodeState.EXCEPTION, "broken", None)
    assert (job.state, job.exception) == (NodeState.COMPLETED, None)


def test_one_failing_job_does_not_keep_the_next_from_running():
    second = Do(lambda job: "ran")
    commander = CommanderAsync()
    commander.run([Do(lambda job: 1 / 0), second], auto_exit=True)
    assert second.result == "ran"
    assert [type(error) for _, error in commander.failures] == [ZeroDivisionError]


def test_errors_can_be_raised_at_the_end():
    with pytest.raises(ValueError, match="broken"):
        run(lambda job: failing(), raise_errors=True)
    run(lambda job: giving(), raise_errors=True)


# ---- awaited handlers
def test_an_awaited_handler_gives_its_result_to_who_awaits():
    async def work(job: Do) -> Any:
        return [await giving(1), await giving(2)]

    assert run(work)[1].result == [1, 2]


def test_an_awaited_handler_gives_its_error_to_who_awaits():
    async def work(job: Do) -> str:
        with pytest.raises(ValueError, match="broken"):
            await failing()
        return "went on"

    commander, job = run(work)
    assert (job.result, commander.failures) == ("went on", [])


def test_handlers_can_be_awaited_without_a_commander():
    async def main() -> Any:
        return await giving("alone")

    assert asyncio.run(main()) == "alone"


def test_a_killed_handler_is_an_error_of_who_awaits_it_only():
    async def work(job: Do) -> str:
        asyncio.get_running_loop().call_soon(lambda: find(job, "stuck").kill("enough"))
        with pytest.raises(RunKilledError, match="enough"):
            await stuck()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)
        return "went on"

    assert run(work)[1].result == "went on"


# ---- where things are put
def test_a_job_can_be_put_below_any_node_that_lives():
    below: list[tuple[str, Any]] = []

    def child(name: str) -> Do:
        return Do(lambda job: below.append((name, job.parent)))

    async def work(job: Do) -> None:
        await job.put_job(child("default"))
        await job.put_job(job=child("root"), parent=job.commander)
        job.call_handler(giving(), parent=job.commander)
        assert job.commander.children_num == 2

    commander, job = run(work)
    assert below == [("default", job), ("root", commander)]


def test_nothing_is_put_below_what_has_ended():
    kept: list[Do] = []

    async def late(job: Do) -> None:
        with pytest.raises(FinishedNodeError, match="Do"):
            await job.put_job(Do(lambda _: None), parent=kept[0])
        with pytest.raises(AttributeNotSetError, match="stranger does not run below a commander"):
            job.call_handler(giving(), parent=TaskNode("stranger"))

    commander = CommanderAsync()
    commander.run([Do(kept.append), Do(late)], auto_exit=True)
    assert commander.failures == []


def test_a_node_can_be_queued_once_at_a_time():
    again = Do(lambda job: None)
    called = stuck()

    async def work(job: Do) -> None:
        await job.put_job(again)
        with pytest.raises(CommanderError, match="queued or running already"):
            await job.put_job(again)
        job.call_handler(called)
        with pytest.raises(CommanderError, match="queued or running already"):
            job.call_handler(called)
        called.kill()

    assert [type(error) for _, error in run(work)[0].failures] == [RunKilledError]


def test_a_job_can_run_again_once_it_has_ended():
    ran: list[int] = []
    job = Do(lambda job: ran.append(len(ran)))
    commander = CommanderAsync()
    for _ in range(3):
        commander.run(job, auto_exit=True)
    assert ran == [0, 1, 2]


def test_a_handler_that_nobody_listens_to_takes_few_calls():
    def calls(number: int) -> int:
        files: list[str] = []
        job = Do(lambda job: [job.call_handler(doing(lambda _: None)) for _ in range(number)])
        sys.setprofile(lambda frame, event, _: files.append(frame.f_code.co_filename) if event == "call" else None)
        try:
            CommanderAsync().run(job, auto_exit=True)
        finally:
            sys.setprofile(None)
        return sum("/trivium/commander/" in each for each in files)

    assert calls(20) - calls(10) <= 19 * 10  # 19 are from its call to its end


@pytest.mark.parametrize("name", ["id", "commander"])
def test_what_a_node_gets_when_it_is_scheduled_is_not_there_before(name: str):
    for node in (Do(lambda job: None), giving()):
        with pytest.raises(AttributeNotSetError, match=name):
            getattr(node, name)
