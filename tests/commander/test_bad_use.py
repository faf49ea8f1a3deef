"""Misuse: a typed error at the earliest moment, that says what to do instead."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, Callback, HandlerCoroutine, NodeState, TaskNode, handler, tasker
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    FinishedNodeError,
    LimitExceededError,
    NotHandlerError,
    NotTaskerError,
    PasswordError,
    TaskResultError,
    TriviumError,
)

from ._helpers import in_thread
from ._work import Do, doing, giving, outcome, run, run_jobs, stuck


@pytest.mark.parametrize("mark", [tasker, handler])
def test_a_decorator_without_its_password_is_an_error_at_the_decoration(mark: Any):
    async def task(self: Any) -> None: ...

    with pytest.raises(PasswordError, match="PASS_WORD"):
        mark(task)


def test_a_listener_is_a_plain_function():
    async def listen(event: object) -> None: ...

    with pytest.raises(ArgumentTypeError, match="list of sync functions as listeners"):
        CommanderAsync().listen(cast("Any", listen))


def test_only_a_coroutine_function_can_be_a_handler():
    async def stream(self_handler: HandlerCoroutine) -> AsyncIterator[int]:
        yield 1

    def plain(self_handler: HandlerCoroutine) -> None: ...

    for wrong in (stream, plain, 3):
        with pytest.raises(NotHandlerError, match=r"must be `async def`, and no generator") as raised:
            handler(PASS_WORD)(cast("Any", wrong))
        assert isinstance(raised.value, TypeError)


class Unmarked(Job):
    async def task(self) -> None: ...


def test_a_job_without_a_task_is_refused_where_it_is_made():
    class Empty(Job): ...

    for kind in (Job, Empty):
        with pytest.raises(TypeError, match="needs a task: write `@tasker") as raised:
            kind()
        assert isinstance(raised.value, NotTaskerError)


NO_JOBS = pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        (None, "subclass trivium.commander.Job"),
        ("text", "subclass trivium.commander.Job"),
        (Do, "subclass trivium.commander.Job"),
        (giving(), r"put BasicJob\(giving\(…\)\), or use call_handler"),
        (Unmarked(), "needs a task: write `@tasker"),
    ],
    ids=["none", "text", "class", "handler", "unmarked"],
)


@NO_JOBS
def test_what_is_no_job_is_refused_where_it_is_put(wrong: Any, advice: str):
    ran: list[str] = []
    given: list[Any] = [wrong, [Do(lambda job: ran.append("never")), wrong]]
    for begin in (CommanderAsync().run, CommanderAsync().run_auto):
        for each in given[wrong is None :]:  # None alone is no job at all
            with pytest.raises(NotTaskerError, match=advice):
                in_thread(lambda begin=begin, each=each: begin(each))
    with pytest.raises(NotTaskerError, match=advice):
        in_thread(lambda: CommanderAsync().put_job_threadsafe(wrong))
    assert ran == []

    async def puts(job: Job) -> None:
        with pytest.raises(NotTaskerError, match=advice):
            await job.put_job(wrong)
        with pytest.raises(NotTaskerError, match="is not a Job"):
            await job.put_job(cast("Any", [Do()]))

    outcome(puts)


def test_what_is_no_called_handler_is_refused_where_it_is_called():
    async def plain() -> None: ...

    def calls(job: Job) -> None:
        for wrong in (None, giving, Do(), plain, plain()):
            with pytest.raises(NotHandlerError, match="is no called handler: call what @handler"):
                job.call_handler(cast("Any", wrong))

    outcome(calls)


async def _stream() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda: Do(), r"returned the job Do: put it with `await self.put_job\(job\)`"),
        (lambda: giving, r"returned a handler that was not called: write `return handler\(…\)`"),
        (lambda: _stream(), "returned a async_generator that nobody runs: await it there, do not yield"),
        (lambda: asyncio.sleep(0), "returned a coroutine that nobody runs: await it there"),
        (lambda: (number for number in range(3)), "returned a generator that nobody runs"),
    ],
    ids=["a job", "a handler that was not called", "an async generator", "a coroutine", "a generator"],
)
@pytest.mark.parametrize("kind", [Do, doing])
def test_a_body_that_returns_work_which_nobody_would_run(kind: Any, make: Callable[[], Any], advice: str):
    class Returns(Job):
        @tasker(PASS_WORD)
        async def task(self) -> Any:
            return make()

    @handler(PASS_WORD)
    async def returns(self_handler: HandlerCoroutine) -> Any:
        return make()

    commander = run_jobs(Returns() if kind is Do else Do(lambda job: returns()))
    [(node, error)] = commander.failures
    assert (type(error), node.state) == (TaskResultError, NodeState.EXCEPTION)
    assert re.search(advice, str(error))


@pytest.mark.parametrize("value", [0, "", [], NotImplemented, object, {"a": 1}, asyncio.sleep])
def test_any_other_value_is_a_result(value: Any):
    assert outcome(lambda job: value) is value


def test_nothing_is_put_on_a_tree_that_has_ended():
    ended = Do()

    async def late(job: Job) -> None:
        with pytest.raises(FinishedNodeError, match=r"Do cannot start below Do, which .* parent=node\.commander"):
            await ended.put_job(Do())
        with pytest.raises(FinishedNodeError, match=r"Do cannot start below Do, which .* parent=node\.commander"):
            await job.put_job(Do(), parent=ended)
        with pytest.raises(FinishedNodeError, match="giving cannot start below Do, which has ended"):
            ended.call_handler(giving())

    assert run_jobs(ended, Do(late)).failures == []


def test_a_node_of_no_commander_holds_nothing():
    async def puts(job: Job) -> None:
        for node in (Do(), TaskNode("stranger")):
            with pytest.raises(TriviumError, match="below a"):
                await node.put_job(Do())

    outcome(puts)


@pytest.mark.parametrize("name", ["at_start", "at_job", "AT_JOB_END", ""])
def test_a_callback_of_an_unknown_kind_is_refused_where_it_is_made(name: str):
    makers: list[Callable[[], Any]] = [
        lambda: Callback(**cast("Any", {name: print})),
        lambda: Callback().add(name, print),
        lambda: Do().add_callback_functions(cast("Any", name), print),
    ]
    for make in makers:
        with pytest.raises(ConfigurationError, match=f"no callback '{name}'; the stages are at_job_start") as raised:
            make()
        assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    "wrong",
    [3, "print", {"functions": print}, {"function": 3}, {"function": print, "params": 3}, [print, 3],
     {"function": print, "params": {"a": 1}}, {"function": print, "inject": True}],
)  # fmt: skip
def test_a_callback_that_cannot_be_called_is_refused_where_it_is_added(wrong: Any):
    with pytest.raises(ConfigurationError, match="at_job_end"):
        Do().add_callback_functions("at_job_end", wrong)


@pytest.mark.parametrize("wrong", [3, print, [print], [Callback(), 3]])
def test_what_is_no_callback_is_refused(wrong: Any):
    for add in (Do().add_callback, Callback.merge, Callback().update):
        with pytest.raises(ConfigurationError, match="is not a Callback: write Callback"):
            add(wrong)


@pytest.mark.parametrize("kind", ["queued", "started", "ended"])
@pytest.mark.parametrize("who", ["commander", "Do", "giving"])
def test_a_listener_that_raises_changes_nothing_and_is_logged(kind: str, who: str, caplog: pytest.LogCaptureFixture):
    commander, heard = CommanderAsync(), list[str]()

    def listener(event: Any) -> None:
        if (event.kind, event.name) == (kind, who):
            heard.append(who)
            raise LookupError(kind)

    commander.listen(listener)
    job = Do(lambda job: giving())
    in_thread(lambda: commander.run(job, auto_exit=True))
    assert (commander.failures, job.state, job.exception) == ([], NodeState.COMPLETED, None)
    records = [each for each in caplog.records if each.name == "trivium.commander"]
    assert len(records) == len(heard)
    for record in records:
        assert record.exc_info is not None
        assert f"a listener failed at '{kind}' of " in record.getMessage()


def test_the_first_failure_of_a_listener_in_a_run_is_logged_alone(caplog: pytest.LogCaptureFixture):
    commander, heard = CommanderAsync(), list[str]()

    class Fails(list[str]):  # it cannot be hashed
        def __call__(self, event: Any) -> None:
            heard.append(event.kind)
            raise LimitExceededError("tokens", 1)

    commander.listen(Fails())
    commander.listen(Fails())
    for runs in (1, 2):
        commander.run([Do(), Do()], auto_exit=True)
        assert len(heard) == 2 * 8 * runs
        assert len([each for each in caplog.records if each.name == "trivium.commander"]) == 2 * runs


def test_one_node_is_started_once_at_a_time():
    called = stuck()

    async def work(job: Job) -> None:
        job.call_handler(called)
        with pytest.raises(TriviumError, match="queued or running already: make another one"):
            job.call_handler(called)
        called.kill()

    assert run(work)[1].exception is None
