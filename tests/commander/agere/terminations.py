"""Terminations: a node that is taken out of its tree, alone or with all below it."""

from __future__ import annotations

import asyncio
from typing import Any

from ._script import Run, script


class Waits:
    """A handler that waits for its event, below a job that ends with it."""

    def __init__(self, on: Run, *, name: str = "waits") -> None:
        self.started, self.event = asyncio.Event(), asyncio.Event()
        self.handler = on.watch(on.call(name, self.wait))
        self.on = on

    async def wait(self, me: Any) -> None:
        self.started.set()
        await self.event.wait()
        self.on.say("goes on")


@script
def a_handler_is_terminated(on: Run) -> Any:
    waits = Waits(on)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await waits.handler.terminate_task_node()
        on.say(waits.handler.state, waits.handler.children)

    job = on.watch(on.job("First", lambda me: waits.handler))
    on.run(job, on.job("Second", lambda me: on.call("stops", stop)))
    return [job.state, waits.handler.state, waits.handler.exception is None]


@script
def a_handler_is_closed(on: Run) -> Any:
    waits = Waits(on)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await waits.handler.close_task_node()
        on.say(waits.handler.state, waits.handler.children)

    job = on.watch(on.job("First", lambda me: waits.handler))
    on.run(job, on.job("Second", lambda me: on.call("stops", stop)))
    return [job.state, waits.handler.state]


@script
def a_terminated_coroutine_goes_on(on: Run) -> Any:
    waits = Waits(on)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await waits.handler.terminate_task_node()
        waits.event.set()
        await asyncio.sleep(0)

    job = on.job("First", lambda me: waits.handler)
    return on.run(job, on.job("Second", lambda me: on.call("stops", stop)))


@script
def a_job_is_terminated_while_its_handler_waits(on: Run) -> Any:
    waits = Waits(on)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await job.terminate_task_node()
        on.say(job.state, job.children, waits.handler.state)
        waits.event.set()

    job = on.watch(on.job("First", lambda me: waits.handler))
    on.run(job, on.job("Second", lambda me: on.call("stops", stop)))
    return job.state


@script
def a_job_is_closed_with_all_below_it(on: Run) -> Any:
    waits = Waits(on)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await job.close_task_node()
        on.say(job.state, waits.handler.state)

    job = on.watch(on.job("First", lambda me: waits.handler))
    on.run(job, on.job("Second", lambda me: on.call("stops", stop)))
    return [job.state, waits.handler.state]


@script
def what_is_put_below_a_closed_job_is_dropped(on: Run) -> Any:
    waits = Waits(on)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await job.close_task_node()
        try:
            await me.put_job(on.job("Put"), parent=job)
            me.call_handler(on.call("called"), parent=job)
        except Exception as error:
            on.say(error)
        on.say("after")

    job = on.job("First", lambda me: waits.handler)
    return on.run(job, on.job("Second", lambda me: on.call("stops", stop)))


@script
def the_parent_of_a_terminated_node_ends_without_it(on: Run) -> Any:
    waits, other = Waits(on), Waits(on, name="other")

    def fork(me: Any) -> None:
        me.call_handler(waits.handler)
        me.call_handler(other.handler)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await other.started.wait()
        await waits.handler.terminate_task_node()
        on.say(job.children)
        other.event.set()

    job = on.watch(on.job("First", fork))
    on.run(job, on.job("Second", lambda me: on.call("stops", stop)))
    return job.state


@script
def what_is_below_a_terminated_node_may_put_jobs(on: Run) -> Any:
    inner = asyncio.Event()

    async def deep(me: Any) -> None:
        me.call_handler(on.call("stops", stop), parent=me.commander)
        await inner.wait()
        await me.put_job(on.job("Put"))

    async def stop(me: Any) -> None:
        await outer.terminate_task_node()
        inner.set()

    outer = on.watch(on.call("outer", lambda me: me.call_handler(on.watch(on.call("deep", deep)))))
    job = on.watch(on.job("First", lambda me: outer))
    on.run(job)
    return [job.state, outer.state]


@script
def the_node_at_its_termination(on: Run) -> Any:
    waits = Waits(on)

    def note(task_node: Any) -> None:
        on.say(task_node, task_node.children_num)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await waits.handler.terminate_task_node()

    entry = {"function": note, "inject_task_node": True}
    waits.handler.add_callback_functions("at_terminate", entry)
    return on.run(on.job("First", lambda me: waits.handler), on.job("Second", lambda me: on.call("stops", stop)))


@script
def the_end_at_a_termination_starts_the_next(on: Run) -> Any:
    waits = Waits(on)

    async def next_one(task_node: Any) -> None:
        await task_node.put_job(on.job("Next"), parent=task_node.commander)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await waits.handler.terminate_task_node()

    waits.handler.add_callback_functions("at_terminate", {"function": next_one, "inject_task_node": True})
    return on.run(on.job("First", lambda me: waits.handler), on.job("Second", lambda me: on.call("stops", stop)))


@script
def a_job_terminates_itself(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.terminate_task_node()
        on.say("goes on", me.state)

    job = on.watch(on.job("First", work))
    on.run(job, on.job("Second"))
    return [job.state, job.result]


@script
def a_queued_job_is_terminated(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.put_job(queued)
        await queued.terminate_task_node()
        on.say(queued.state, me.children)

    queued = on.watch(on.job("Queued"))
    on.run(on.watch(on.job("First", work)))
    return queued.state


@script
def a_node_is_terminated_twice(on: Run) -> Any:
    waits = Waits(on)

    async def stop(me: Any) -> None:
        await waits.started.wait()
        await waits.handler.terminate_task_node()
        await waits.handler.terminate_task_node()
        on.say("twice")

    job = on.watch(on.job("First", lambda me: waits.handler), "at_job_end")
    return on.run(job, on.job("Second", lambda me: on.call("stops", stop)))


@script
def a_node_is_terminated_after_its_end(on: Run) -> Any:
    job = on.watch(on.job("First"))

    async def stop(me: Any) -> None:
        await job.terminate_task_node()
        on.say("after")

    on.run(job, on.job("Second", stop))
    return job.state
