"""Exits: what they return, what is still run, what is dropped, and the next run."""

from __future__ import annotations

import asyncio
from typing import Any

from ._script import Run, script


@script
def a_job_exits(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.exit_commander(return_result="QUIT")
        on.say("goes on", me.commander.running_status)

    return on.run(on.watch(on.job("First", work)), auto_exit=False)


@script
def a_handler_exits(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.exit_commander(return_result={"a": 1})

    return on.run(on.job("First", lambda me: on.call("work", work)), auto_exit=False)


@script
def a_callback_exits(on: Run) -> Any:
    async def end(task_node: Any) -> None:
        await task_node.exit_commander(return_result="QUIT")

    job = on.job("First")
    job.add_callback_functions("at_job_end", {"function": end, "inject_task_node": True})
    return on.run(job, auto_exit=False)


@script
def an_exit_without_a_result(on: Run) -> Any:
    return on.run(on.job("First", lambda me: me.exit_commander()), auto_exit=False)


@script
def the_end_by_itself_has_no_result(on: Run) -> Any:
    return on.run(on.job("First", lambda me: on.call("work", lambda work: "result")))


@script
def an_exit_though_it_would_end_by_itself(on: Run) -> Any:
    return on.run(on.job("First", lambda me: me.exit_commander("QUIT")), auto_exit=True)


@script
def two_exits(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.exit_commander("first")
        await me.exit_commander("second")

    return on.run(on.job("First", work), auto_exit=False)


@script
def an_exit_drops_the_jobs_that_wait(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.put_job(put)
        await me.exit_commander("QUIT")
        on.say("goes on")

    put, second = on.watch(on.job("Put")), on.watch(on.job("Second"))
    return [on.run(on.job("First", work), second, auto_exit=False), put.result, second.result]


@script
def after_an_exit_a_put_job_is_dropped(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.exit_commander("QUIT")
        await me.put_job(on.job("Put"))

    return on.run(on.job("First", work), auto_exit=False)


@script
def after_an_exit_a_called_handler_is_dropped(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.exit_commander("QUIT")
        me.call_handler(on.call("work"))

    return on.run(on.job("First", work), auto_exit=False)


@script
def an_exit_cancels_handlers(on: Run) -> Any:
    async def wait_for_ever(me: Any) -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            on.say("cancelled", error)
            raise
        finally:
            on.say("finally")

    async def leave(me: Any) -> None:
        await started.wait()
        await me.exit_commander("QUIT")

    started = asyncio.Event()

    def fork(me: Any) -> None:
        me.call_handler(on.watch(on.call("waits", wait_for_ever)))
        me.call_handler(on.watch(on.call("leaves", leave)))

    return on.run(on.watch(on.job("First", fork)), auto_exit=False)


@script
def an_exit_and_the_end_of_the_commander(on: Run) -> Any:
    job = on.watch(on.job("First", lambda me: me.exit_commander("QUIT")), "at_job_end", "at_commander_end")
    return on.run(job, on.watch(on.job("Second"), "at_commander_end"), auto_exit=False)


@script
def a_handler_that_was_called_and_not_started_at_the_exit(on: Run) -> Any:
    async def work(me: Any) -> None:
        me.call_handler(never)
        await me.exit_commander("QUIT")

    never = on.watch(on.call("never"))
    return on.run(on.watch(on.job("First", work)), auto_exit=False)


@script
def a_run_after_an_exit(on: Run) -> Any:
    on.say(on.run(on.job("First", lambda me: me.exit_commander("QUIT")), auto_exit=False))
    on.say(on.commander.running_status, on.commander.is_empty())
    return on.again(on.job("Second", lambda me: me.exit_commander("AGAIN")), auto_exit=False)


@script
def a_run_after_an_exit_ends_by_itself(on: Run) -> Any:
    on.run(on.job("First", lambda me: me.exit_commander("QUIT")), auto_exit=False)
    return on.again(on.job("Second"))


@script
def a_run_after_an_exit_with_work_left(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.put_job(on.job("Put"))
        await me.exit_commander("QUIT")

    on.run(on.job("First", work), auto_exit=False)
    on.say(on.commander.is_empty())
    return on.again(on.job("Second"))


@script
def an_exit_where_nothing_runs(on: Run) -> Any:
    commander = on.Commander()
    commander.exit(return_result="stored")
    return commander.wait_for_exit()


@script
def a_run_below_a_run(on: Run) -> Any:
    def work(me: Any) -> None:
        me.commander.run(on.job("Below"))

    job = on.job("First", work)
    on.run(job)
    return [job.state, job.exception]


@script
def a_run_that_joins_the_one_that_runs(on: Run) -> Any:
    def work(me: Any) -> None:
        on.say(me.commander.run_auto(on.job("Joined", lambda joined: on.say(joined.parent))))
        on.say(me.commander.run_auto([on.job("A"), on.job("B")]))

    return on.run(on.job("First", work))


@script
def a_run_that_starts_one(on: Run) -> Any:
    commander = on.Commander()
    on.say(commander.run_auto(on.job("First")))
    on.say(commander.run_auto(on.job("Second", lambda me: me.exit_commander("QUIT")), auto_exit=False))
    return commander.wait_for_exit()


@script
def a_run_goes_on_with_the_queue_of_the_one_before(on: Run) -> Any:
    async def leave(me: Any) -> None:
        await me.put_job(on.job("Left"))
        await me.exit_commander("QUIT")

    commander = on.Commander()
    commander.run(on.job("First", leave))
    on.tried(lambda: commander.run(on.job("Second", lambda me: me.exit_commander()), new_queue=False))
