"""The tree of jobs and handlers as documented: names, states, order, results, exceptions, and what an exit leaves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, HandlerCoroutine, NodeState, handler, tasker
from trivium.exceptions import AttributeNotSetError, FinishedNodeError, RunKilledError

from ._helpers import in_thread
from ._work import Do, doing, failing, giving, outcome, run, run_jobs, steps, stuck, types_of


# ---- names
@pytest.mark.parametrize("name", ["id", "commander", "parent"])
@pytest.mark.parametrize("make", [Do, giving])
def test_before_it_is_scheduled_a_node_has_no_place(name: str, make: Callable[[], Any]):
    with pytest.raises(AttributeNotSetError, match=name) as raised:
        getattr(make(), name)
    assert isinstance(raised.value, AttributeError)


def test_before_it_is_scheduled_a_node_is_pending_and_holds_nothing():
    for node in (Do(), giving()):
        assert (node.state, node.result, node.exception, node.data) == (NodeState.PENDING, None, None, None)


def test_the_commander_is_the_root_with_the_id_one():
    commander = CommanderAsync()
    assert (commander.id, commander.commander, commander.parent) == (1, commander, "Null")
    assert (commander.state, commander.children, commander.is_empty()) == (NodeState.PENDING, [], True)


def test_jobs_get_ids_when_they_start_and_handlers_when_they_are_called():
    async def work(job: Job) -> list[Any]:
        queued, called, awaited = Do(), stuck(), giving()
        await job.put_job(queued)
        with pytest.raises(AttributeNotSetError):
            _ = queued.id
        job.call_handler(called)
        await awaited
        called.kill()
        return [job.id, called.id, awaited.id]

    assert run(work)[1].result == [2, 3, 4]


def test_ids_set_by_hand_are_kept():
    job, called = Do(lambda job: called), giving()
    job.id, called.id = "first", "second"
    run_jobs(job)
    assert (job.id, called.id) == ("first", "second")


def test_children_are_the_node_itself_while_its_body_runs_and_what_has_not_ended_below():
    async def work(job: Job) -> Any:
        below = stuck()
        before = (list(job.children), job.children_num)
        job.call_handler(below)
        during = (list(job.children), job.children_num)
        return below, before, during

    async def watch(job: Do) -> None:
        below, before, during = first.result
        assert before == ([first], 1)
        assert during == ([first, below], 2)
        assert (first.children, first.children_num) == ([below], 1)
        below.kill()
        await steps()
        assert (first.children, first.children_num) == ([], 0)

    first = Do(work)
    assert types_of(run_jobs(first, Do(watch))) == [("stuck", "RunKilledError")]


def test_the_ancestor_chain_leads_to_the_commander():
    async def work(job: Job) -> Any:
        return await doing(lambda outer: doing(lambda inner: inner.ancestor_chain))

    commander, job = run(work)
    outer_result: HandlerCoroutine = job.result
    chain = outer_result.result
    assert chain[0] is outer_result
    assert chain[-2:] == [job, commander]


def test_the_states_of_a_life():
    seen: list[NodeState] = []

    async def work(job: Job) -> None:
        child = doing(lambda me: seen.append(me.state))
        seen.append(child.state)
        job.call_handler(child)
        seen.append(child.state)
        await steps()
        seen.append(child.state)

    commander, job = run(work)
    pending, active, completed = NodeState.PENDING, NodeState.ACTIVE, NodeState.COMPLETED
    assert seen == [pending, pending, active, completed]
    assert (job.state, commander.state) == (completed, completed)


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (lambda: giving(), NodeState.COMPLETED),
        (lambda: failing(ValueError()), NodeState.EXCEPTION),
        (lambda: doing(lambda me: me.kill()), NodeState.TERMINATED),
    ],
)
def test_the_three_ends_of_a_life(end: Callable[[], HandlerCoroutine], state: NodeState):
    _, job = run(lambda job: end())
    assert (job.result.state, job.state) == (state, NodeState.COMPLETED)


# ---- jobs
def test_a_task_that_waits_holds_all_jobs_and_no_handler():
    ran: list[str] = []

    async def first(job: Job) -> None:
        job.call_handler(doing(lambda me: ran.append("handler")))
        await steps()
        ran.append("first")

    run_jobs(Do(first), Do(lambda job: ran.append("second")))
    assert ran == ["handler", "first", "second"]


def test_a_sync_task_holds_the_next_job_and_not_the_handlers():
    ran: list[str] = []

    class Plain(Job):
        @tasker(PASS_WORD)
        def task(self) -> str:
            self.call_handler(doing(lambda me: ran.append("handler")))
            self.commander.put_job_threadsafe(Do(lambda job: ran.append("below")), parent=self)
            self.commander.put_job_threadsafe(Do(lambda job: ran.append("root")))
            while "handler" not in ran:
                pass
            ran.append("plain")
            return "result"

    plain = Plain()
    run_jobs(plain, Do(lambda job: ran.append("second")))
    assert ran == ["handler", "plain", "second", "below", "root"]
    assert plain.result == "result"


def test_the_result_of_a_job_is_the_handler_that_it_returned():
    called = giving(7)
    _, job = run(lambda job: called)
    assert job.result is called
    assert called.result == 7


def test_a_handler_may_return_a_handler():
    inner = giving(7)
    _, job = run(lambda job: doing(lambda me: inner))
    assert job.result.result is inner
    assert (inner.result, inner.parent) == (7, job.result)


def test_the_same_job_runs_once_for_each_run_with_a_fresh_result():
    numbers = iter(range(3))
    job, commander = Do(lambda job: next(numbers)), CommanderAsync()
    for expected in range(2):
        in_thread(lambda: commander.run(job, auto_exit=True))
        assert (job.result, job.state, job.id) == (expected, NodeState.COMPLETED, 2)
    other = run_jobs(job)
    assert (job.result, job.commander) == (2, other)


def test_a_failing_job_can_run_again_without_its_error():
    ends: list[Any] = [ValueError("first"), None]

    def work(job: Job) -> None:
        if (error := ends.pop(0)) is not None:
            raise error

    job = Do(work)
    run_jobs(job)
    assert (job.state, str(job.exception)) == (NodeState.EXCEPTION, "first")
    run_jobs(job)
    assert (job.state, job.exception) == (NodeState.COMPLETED, None)


# ---- exceptions
def test_an_exception_is_kept_and_its_parents_go_on():
    error = ValueError("broken")
    commander, job = run(lambda job: doing(lambda me: failing(error)))
    outer = job.result
    assert (outer.result.exception, outer.result.state, outer.result.result) == (error, NodeState.EXCEPTION, None)
    assert (outer.state, job.state, commander.state) == (NodeState.COMPLETED,) * 3
    assert commander.failures == [(outer.result, error)]


def test_run_raises_nothing_unless_it_was_told_to():
    def job() -> Do:
        return Do(lambda job: failing(ValueError("first")))

    commander = CommanderAsync(raise_errors=True)
    assert sorted(types_of(run_jobs(job(), Do(lambda job: 1 / 0)))) == [
        ("Do", "ZeroDivisionError"),
        ("failing", "ValueError"),
    ]
    with pytest.raises(ValueError, match="first"):
        in_thread(lambda: commander.run(job(), auto_exit=True))
    assert commander.state is NodeState.COMPLETED
    assert in_thread(lambda: commander.run(Do(), auto_exit=True)) is None, "the next run has failures of its own"


def test_a_system_exit_of_a_task_ends_the_program_and_the_run():
    def leave(job: Job) -> None:
        raise SystemExit(3)

    commander = CommanderAsync()
    with pytest.raises(SystemExit):
        in_thread(lambda: commander.run([Do(leave), Do()]))
    assert commander.is_empty()
    assert in_thread(lambda: commander.run(Do(), auto_exit=True)) is None


def test_failures_are_logged_with_their_place():
    records: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(f"{record.levelname} {record.getMessage()}")

    logger = logging.Logger("mine")
    logger.addHandler(Keep())
    run(lambda job: failing(ValueError("broken")), logger=logger)
    assert records == ["ERROR commander#0/Do#0/failing#0 failed: ValueError: broken"]


class Mute(Exception):
    def __str__(self) -> str:
        raise LookupError("no words")


@pytest.mark.parametrize(("error", "text"), [(ValueError("broken"), "ValueError: broken"), (Mute(), "Mute")])
def test_without_a_logger_of_ones_own_failures_are_logged_too(
    error: Exception, text: str, caplog: pytest.LogCaptureFixture
):
    run(lambda job: failing(error))
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("trivium.commander", "ERROR")
    assert record.getMessage() == f"commander#0/Do#0/failing#0 failed: {text}"
    assert "    raise error\n" in caplog.text, "the traceback says where"


# ---- terminating and closing
def test_terminate_stops_one_node_and_what_it_started_goes_on():
    log: list[str] = []

    async def parent(me: HandlerCoroutine) -> None:
        me.call_handler(doing(child))
        await asyncio.get_running_loop().create_future()

    async def child(me: HandlerCoroutine) -> None:
        below.append(me)
        await gate.wait()
        await me.put_job(Do(lambda job: log.append("put by the child")))

    below: list[HandlerCoroutine] = []
    gate = asyncio.Event()
    ended = doing(parent)
    ended.add_callback_functions("at_terminate", lambda: log.append("terminated"))
    ended.add_callback_functions("at_handler_end", lambda: log.append("never"))

    async def work(job: Job) -> Any:
        job.call_handler(ended)
        await steps()
        await ended.terminate_task_node()
        assert (ended.state, ended.children) == (NodeState.TERMINATED, [])
        assert (below[0].state, below[0].parent) == (NodeState.ACTIVE, job.commander)
        gate.set()

    assert run(work)[0].failures == []
    assert log == ["terminated", "put by the child"]


def test_close_stops_a_node_and_all_below_and_waits_for_their_end():
    log: list[str] = []

    async def leaf(me: HandlerCoroutine) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await steps()
            log.append("cleaned up")

    async def parent(me: HandlerCoroutine) -> None:
        me.call_handler(doing(leaf))
        await me.put_job(queued)

    queued = Do(lambda job: log.append("never"))
    ended = doing(parent)

    async def work(job: Job) -> None:
        job.call_handler(ended)
        await steps()
        assert queued.state is NodeState.PENDING
        await ended.close_task_node()  # though its job waits for this one in the queue
        assert (ended.state, ended.children) == (NodeState.TERMINATED, [])
        with pytest.raises(FinishedNodeError):
            await ended.put_job(Do())
        with pytest.raises(FinishedNodeError):
            ended.call_handler(giving())
        log.append("closed")

    assert run(work)[0].failures == []
    assert log == ["cleaned up", "closed"]
    assert queued.state is NodeState.TERMINATED


@pytest.mark.parametrize("name", ["terminate_task_node", "close_task_node"])
def test_a_node_may_end_itself(name: str):
    async def end(me: HandlerCoroutine) -> None:
        await getattr(me, name)()
        await steps()
        raise AssertionError("it goes no further than its next step")

    ended = doing(end)
    commander, job = run(lambda job: ended)
    assert (ended.state, type(ended.exception), commander.failures) == (NodeState.TERMINATED, RunKilledError, [])
    assert job.state is NodeState.COMPLETED


def test_what_is_put_below_a_node_that_is_told_to_stop_never_runs():
    ran: list[str] = []

    async def work(job: Job) -> None:
        job.kill("enough")
        await job.put_job(Do(lambda job: ran.append("job")))
        job.call_handler(doing(lambda me: ran.append("handler")))

    commander, job = run(work)
    assert (ran, job.state, types_of(commander)) == ([], NodeState.TERMINATED, [("Do", "RunKilledError")])


def test_a_node_that_is_killed_after_its_body_says_so_too():
    below = stuck()
    job = Do(lambda job: below)
    seen: list[Any] = []
    job.add_callback_functions("at_terminate", lambda: seen.append(type(job.exception)))
    commander = run_jobs(job, Do(lambda _: job.kill("enough")))
    assert seen == [RunKilledError]
    assert [(node, str(error)) for node, error in commander.failures] == [(job, "commander#0/Do#0 was stopped: enough")]
    assert (job.state, below.state, job.exception) == (*[NodeState.TERMINATED] * 2, commander.failures[0][1])


@handler(PASS_WORD)
async def returns_itself(self_handler: HandlerCoroutine) -> HandlerCoroutine:
    return self_handler


def test_a_handler_that_returns_itself_is_an_error_that_says_so():
    commander, _ = run(lambda job: returns_itself())
    assert types_of(commander) == [("returns_itself", "CommanderError")]
    assert outcome(lambda job: 1) == 1
