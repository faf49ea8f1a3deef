"""Failures: what they stop and what they do not, and where they are told."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from ._script import Run, script


def fail(me: Any) -> None:
    raise LookupError("no such thing")


async def fail_later(me: Any) -> None:
    await asyncio.sleep(0)
    raise LookupError("no such thing")


@script
def a_job_fails(on: Run) -> Any:
    job = on.watch(on.job("First", fail))
    result = on.run(job, on.job("Second"))
    return [result, job.state, job.exception, job.result, on.commander.is_empty()]


@script
def a_handler_fails(on: Run) -> Any:
    work = on.watch(on.call("work", fail))
    job = on.watch(on.job("First", lambda me: work))
    result = on.run(job)
    return [result, job.state, job.exception, work.state, work.exception, work.result]


@script
def a_sync_task_fails(on: Run) -> Any:
    class Sync(on.Job):
        @on.tasker
        def task(self) -> None:
            raise LookupError("no such thing")

    job = on.watch(Sync())
    on.run(job)
    return [job.state, job.exception]


@script
def a_job_fails_after_it_put_others(on: Run) -> Any:
    async def put_and_fail(me: Any) -> None:
        await me.put_job(on.watch(on.job("Put", lambda put: on.say(put.parent, put.parent.state)), "at_job_end"))
        fail(me)

    job = on.watch(on.job("First", put_and_fail))
    on.run(job, on.job("Second"))
    return [job.state, job.exception]


@script
def a_job_fails_after_it_called_a_handler(on: Run) -> Any:
    event = asyncio.Event()

    def call_and_fail(me: Any) -> None:
        me.call_handler(on.watch(on.call("work", lambda work: event.wait()), "at_handler_end"))
        fail(me)

    job = on.watch(on.job("First", call_and_fail))
    on.run(job, on.job("Second", lambda me: on.say(job.state) or event.set()))
    return [job.state, job.exception]


@script
def one_of_two_handlers_fails(on: Run) -> Any:
    failed = asyncio.Event()

    async def go_on(me: Any) -> str:
        await failed.wait()
        on.say("goes on")
        return "done"

    good, bad = on.watch(on.call("good", go_on)), on.watch(on.call("bad", fail))
    bad.add_callback_functions("at_exception", {"function": failed.set})

    def fork(me: Any) -> None:
        me.call_handler(good)
        me.call_handler(bad)

    job = on.watch(on.job("First", fork))
    on.run(job)
    return [job.state, good.state, good.result, bad.state]


@script
def a_handler_below_a_handler_fails(on: Run) -> Any:
    outer = on.watch(on.call("outer", lambda me: me.call_handler(on.watch(on.call("inner", fail)))))
    job = on.watch(on.job("First", lambda me: outer))
    on.run(job)
    return [job.state, outer.state]


@script
def a_handler_is_no_more_pending_after_its_job_failed(on: Run) -> Any:
    job = on.job("First", fail)
    on.run(job)
    return [job.children_num, job.children, job.id, job.parent]


@script
def the_logger_hears_of_failures(on: Run) -> Any:
    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            on.say("logged", record.levelname)

    logger = logging.Logger("mine")
    logger.addHandler(Heard())
    return on.run(on.job("First", fail), on.job("Second", lambda me: on.call("work", fail)), logger=logger)


@script
def the_error_is_the_one_that_was_raised(on: Run) -> Any:
    class Mine(ValueError):
        """A user's error."""

    error = Mine("mine", 7)

    def fail_so(me: Any) -> None:
        raise error

    job = on.job("First", fail_so)
    on.run(job)
    return [job.exception is error, job.exception.args]


@script
def the_user_catches_the_error_of_what_it_does(on: Run) -> Any:
    async def work(me: Any) -> None:
        try:
            await fail_later(me)
        except LookupError as error:
            on.say("caught", error)

    job = on.watch(on.job("First", work))
    on.run(job)
    return [job.state, job.exception]


@script
def a_handler_raises_a_cancelled_error(on: Run) -> Any:
    def fail_so(me: Any) -> None:
        raise asyncio.CancelledError

    work = on.watch(on.call("work", fail_so))
    job = on.watch(on.job("First", lambda me: work))
    on.run(job)
    return [job.state, work.state]


@script
def a_handler_raises_system_exit(on: Run) -> Any:
    def fail_so(me: Any) -> None:
        raise SystemExit(3)

    on.tried(lambda: on.run(on.watch(on.job("First", lambda me: on.call("work", fail_so)), "at_job_end")))
    return on.commander.running_status


@script
def every_job_of_many_fails(on: Run) -> Any:
    jobs = [on.job(f"Job{number}", fail) for number in range(5)]
    on.run(*jobs)
    return [each.state for each in jobs]


@script
def the_failure_of_a_job_does_not_stay_for_the_next_run(on: Run) -> Any:
    on.run(on.job("First", fail))
    job = on.job("Second")
    return [on.again(job), job.state, on.commander.is_empty()]


@script
def a_job_fails_and_nothing_is_left_that_could_exit(on: Run) -> Any:
    return on.run(on.watch(on.job("First", fail), "at_job_end"), on.job("Second"), auto_exit=False)


@script
def a_handler_fails_and_nothing_is_left_that_could_exit(on: Run) -> Any:
    return on.run(on.job("First", lambda me: on.call("work", fail_later)), auto_exit=False)


@script
def a_handler_fails_and_another_exits(on: Run) -> Any:
    async def leave(me: Any) -> None:
        await asyncio.sleep(0.01)
        await me.exit_commander("QUIT")

    def fork(me: Any) -> None:
        me.call_handler(on.call("work", fail))
        me.call_handler(on.call("leave", leave))

    return on.run(on.job("First", fork), auto_exit=False)


@script
def a_failure_is_answered_by_an_exit(on: Run) -> Any:
    async def leave(task_node: Any) -> None:
        await task_node.exit_commander(return_result=type(task_node.exception).__name__)

    job = on.job("First", fail)
    job.add_callback_functions("at_exception", {"function": leave, "inject_task_node": True})
    return on.run(job, auto_exit=False)


@script
def a_failure_is_answered_by_another_job(on: Run) -> Any:
    async def again(task_node: Any) -> None:
        job = on.job("Second", lambda me: me.exit_commander("QUIT"))
        await task_node.put_job(job, parent=task_node.commander)

    job = on.job("First", fail)
    job.add_callback_functions("at_job_end", {"function": again, "inject_task_node": True})
    return on.run(job, auto_exit=False)
