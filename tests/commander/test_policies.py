"""Time-outs and retries of single jobs and handlers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, HandlerCoroutine, NodeState, RetriedEvent, handler, tasker
from trivium.exceptions import ConfigurationError, DeadlineExceededError, RunKilledError

from ._helpers import in_thread
from ._work import Do, doing, giving, run_jobs, steps, stuck, types_of

SOON = 0.02
Work = Callable[[Any], Any]


def job_with(work: Work, **policy: Any) -> Job:
    class Limited(Job):
        @tasker(PASS_WORD, **policy)
        async def task(self) -> Any:
            out = work(self)
            return await out if asyncio.iscoroutine(out) else out

    return Limited()


def handler_with(work: Work, **policy: Any) -> HandlerCoroutine:
    @handler(PASS_WORD, **policy)
    async def limited(self_handler: HandlerCoroutine) -> Any:
        out = work(self_handler)
        return await out if asyncio.iscoroutine(out) else out

    return limited()


def start(node: Any) -> Job:
    return node if isinstance(node, Job) else Do(lambda job: node)


KINDS = pytest.mark.parametrize("make", [job_with, handler_with])


async def forever(node: Any) -> None:
    await asyncio.get_running_loop().create_future()


# ---- time-outs
@KINDS
@pytest.mark.parametrize("where", ["in its body", "below", "awaited", "in the queue"])
def test_at_its_timeout_a_node_and_all_below_is_stopped(make: Callable[..., Any], where: str):
    below = doing(forever)
    queued = Do(lambda job: "never")

    async def body(node: Any) -> None:
        if where == "in its body":
            await forever(node)
        elif where == "awaited":
            await below
        elif where == "below":
            node.call_handler(below)
        else:
            await node.put_job(queued)

    async def waits(job: Job) -> None:
        """It stands before the queued one, and goes on until that has ended: without its turn."""
        while queued.exception is None:  # noqa: ASYNC110 - one step of the loop each
            await asyncio.sleep(0)

    node = make(body, timeout=SOON)
    log: list[str] = []
    for stage in ("at_job_end", "at_handler_end", "at_terminate"):
        node.add_callback_functions(stage, lambda stage=stage: log.append(stage))
    commander = run_jobs(start(node), *([Do(waits)] if where == "in the queue" else []))
    assert (node.state, type(node.exception)) == (NodeState.TERMINATED, DeadlineExceededError)
    assert commander.failures == [(node, node.exception)]
    assert str(node.exception).endswith("exceeded its time limit; raise timeout= or Limits(seconds=)")
    assert log == ["at_terminate"]
    assert {below.state, queued.state} <= {NodeState.TERMINATED, NodeState.PENDING}
    assert commander.state is NodeState.COMPLETED


@KINDS
def test_within_its_timeout_nothing_happens(make: Callable[..., Any]):
    def work(node: Any) -> None:
        node.call_handler(giving())

    node = make(work, timeout=60.0)
    commander = run_jobs(start(node), Do(lambda job: steps()))
    assert (node.state, commander.failures) == (NodeState.COMPLETED, [])


def test_the_timeout_of_an_awaited_handler_is_an_error_of_who_awaits():
    slow = handler_with(forever, timeout=SOON)

    async def work(job: Job) -> str:
        with pytest.raises(DeadlineExceededError, match="limited#0 exceeded"):
            await slow
        return "went on"

    job = Do(work)
    assert run_jobs(job).failures == []
    assert (job.result, slow.state) == ("went on", NodeState.TERMINATED)


def test_the_inner_timeout_stops_the_inner_only():
    inner = handler_with(forever, timeout=SOON)
    outer = handler_with(lambda me: inner, timeout=60.0)
    commander = run_jobs(start(outer))
    assert (inner.state, outer.state) == (NodeState.TERMINATED, NodeState.COMPLETED)
    assert types_of(commander) == [("limited", "DeadlineExceededError")]


def test_the_outer_timeout_stops_the_inner_too():
    inner = handler_with(forever, timeout=60.0)
    outer = handler_with(lambda me: inner, timeout=SOON)
    commander = run_jobs(start(outer))
    assert (inner.state, outer.state) == (NodeState.TERMINATED, NodeState.TERMINATED)
    assert [node for node, _ in commander.failures] == [outer]
    assert type(inner.exception) is RunKilledError


def test_a_timeout_counts_from_the_start_of_each_life():
    lives: list[str] = []

    async def body(node: Any) -> str:
        lives.append("life")
        if len(lives) == 1:
            await forever(node)
        return "in time"

    job = job_with(body, timeout=SOON)
    commander = CommanderAsync()
    in_thread(lambda: commander.run(job, auto_exit=True))
    assert job.state is NodeState.TERMINATED
    in_thread(lambda: commander.run(job, auto_exit=True))
    assert (job.state, job.result, job.exception) == (NodeState.COMPLETED, "in time", None)


def test_a_handler_that_waits_for_its_turn_ends_at_the_timeout_above():
    """The only place is taken for ever: who waits for it ends nevertheless, and with it the node above."""
    waiting = giving()
    job = job_with(lambda job: waiting, timeout=SOON)
    job.add_callback_functions("at_terminate", lambda: job.commander.exit("over"))
    commander = CommanderAsync(max_running=1)
    assert in_thread(lambda: commander.run([Do(lambda job: stuck()), job])) == "over"
    assert (job.state, waiting.state) == (NodeState.TERMINATED, NodeState.TERMINATED)


# ---- retries
@KINDS
@pytest.mark.parametrize("fails", [0, 1, 3, 4])
def test_a_body_is_tried_as_often_as_was_said(make: Callable[..., Any], fails: int):
    tried: list[int] = []
    retried: list[str] = []
    commander = CommanderAsync()
    commander.listen(lambda event: retried.append(str(event.data)) if isinstance(event, RetriedEvent) else None)

    def body(node: Any) -> str:
        tried.append(1)
        if len(tried) <= fails:
            raise ValueError(len(tried))
        return "result"

    node = make(body, retries=3)
    log: list[str] = []
    for stage in ("at_job_start", "at_handler_start", "at_exception"):
        node.add_callback_functions(stage, lambda stage=stage: log.append(stage))
    in_thread(lambda: commander.run(start(node), auto_exit=True))
    assert len(tried) == min(fails + 1, 4)
    assert retried == [str(number + 1) for number in range(min(fails, 3))]
    assert len(log) == (2 if fails == 4 else 1), "the callbacks frame all tries together"
    assert (node.result, len(commander.failures)) == ((None, 1) if fails == 4 else ("result", 0))


@KINDS
def test_only_the_errors_that_are_worth_it_are_retried(make: Callable[..., Any]):
    errors: list[Exception] = [KeyError(), OSError(), ValueError("not this"), KeyError()]

    def body(node: Any) -> None:
        raise errors.pop(0)

    node = make(body, retries=9, retry_on=(LookupError, OSError))
    run_jobs(start(node))
    assert (str(node.exception), len(errors)) == ("not this", 1)


def test_the_delay_doubles_with_each_retry(monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []

    async def wait(seconds: float, bell: Any = None) -> None:
        waited.append(seconds)

    monkeypatch.setattr("trivium.commander._work.wait", wait)
    run_jobs(job_with(lambda job: 1 / 0, retries=4, retry_delay=0.5))
    assert waited == [0.5, 1.0, 2.0, 4.0]


@KINDS
def test_the_timeout_holds_for_all_tries_and_their_delays(make: Callable[..., Any]):
    def work(node: Any) -> None:
        raise ValueError

    node = make(work, timeout=SOON, retries=9, retry_delay=60.0)
    run_jobs(start(node))
    assert (node.state, type(node.exception)) == (NodeState.TERMINATED, DeadlineExceededError)


@KINDS
def test_a_killed_node_is_not_retried(make: Callable[..., Any]):
    tried: list[int] = []
    retried: list[Any] = []

    async def body(node: Any) -> None:
        tried.append(1)
        node.kill("enough")
        raise ValueError("while it was stopped")

    node = make(body, retries=3)
    commander = CommanderAsync()
    commander.listen(lambda event: retried.append(event) if isinstance(event, RetriedEvent) else None)
    in_thread(lambda: commander.run(start(node), auto_exit=True))
    assert (tried, retried, node.state) == ([1], [], NodeState.TERMINATED)
    assert types_of(commander) == [(node._name, "RunKilledError")]


def test_an_exit_ends_a_delay():
    node = handler_with(lambda me: 1 / 0, retries=1, retry_delay=60.0)

    async def leave(job: Job) -> None:
        await steps()
        await job.exit_commander("bye")

    assert in_thread(lambda: CommanderAsync().run([start(node), Do(leave)])) == "bye"
    assert node.state is NodeState.TERMINATED


def test_an_awaited_handler_is_retried_in_place():
    ends: list[Any] = [ValueError(), ValueError(), "result"]

    def body(me: Any) -> str:
        end = ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    async def work(job: Job) -> Any:
        return await handler_with(body, retries=2)

    job = Do(work)
    assert run_jobs(job).failures == []
    assert job.result == "result"


@pytest.mark.parametrize("mark", [tasker, handler])
@pytest.mark.parametrize(
    "policy",
    [
        {"timeout": 0},
        {"timeout": -1.0},
        {"timeout": float("nan")},
        {"timeout": "5"},
        {"retries": -1},
        {"retries": 1.5},
        {"retries": "2"},
        {"retry_delay": -0.1},
        {"retry_delay": None},
        {"retry_on": "ValueError"},
        {"retry_on": (ValueError, 3)},
        {"retry_on": KeyboardInterrupt},
        {"retry_on": BaseException},
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_at_the_decoration(mark: Any, policy: dict[str, Any]):
    with pytest.raises(ConfigurationError, match="timeout must be > 0"):
        mark(PASS_WORD, **policy)
