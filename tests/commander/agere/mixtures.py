"""Several parts together: jobs that put jobs from callbacks of handlers, exits among failures, nodes below nodes."""

from __future__ import annotations

import asyncio
from typing import Any

from ._script import Run, script


@script
def a_pipeline_of_jobs_by_their_ends(on: Run) -> Any:
    names = iter(["Second", "Third"])

    async def end(task_node: Any) -> None:
        name = next(names, None)
        if name is not None:
            await task_node.put_job(chained(name), parent=task_node.commander)

    def chained(name: str) -> Any:
        job = on.job(name)
        job.add_callback_functions("at_job_end", {"function": end, "inject_task_node": True})
        return job

    return on.run(chained("First"))


@script
def handlers_fan_out_and_one_ends_all(on: Run) -> Any:
    found: list[int] = []

    async def fan(me: Any) -> None:
        for number in range(4):
            me.call_handler(on.call(f"part{number}", lambda part, number=number: found.append(number)))

    async def end(task_node: Any) -> None:
        await task_node.exit_commander(sorted(found))

    job = on.job("First", lambda me: on.call("fan", fan))
    job.add_callback_functions("at_job_end", {"function": end, "inject_task_node": True})
    return on.run(job, auto_exit=False)


@script
def a_retry_by_the_callback_of_a_failure(on: Run) -> Any:
    tries: list[int] = []

    def body(me: Any) -> None:
        tries.append(len(tries))
        if len(tries) < 3:
            raise ValueError("not yet")

    async def again(task_node: Any) -> None:
        await task_node.put_job(made(), parent=task_node.commander)

    def made() -> Any:
        job = on.job("Try", body)
        job.add_callback_functions("at_exception", {"function": again, "inject_task_node": True})
        return job

    return [on.run(made()), len(tries)]


@script
def a_job_shares_data_with_the_jobs_below(on: Run) -> Any:
    def first(me: Any) -> Any:
        me.task_data = {"seen": ["First"]}
        return me.put_job(on.job("Second", lambda below: below.parent.task_data["seen"].append("Second")))

    job = on.job("First", first)
    return [on.run(job), job.task_data]


@script
def handlers_of_one_job_and_the_order_of_their_ends(on: Run) -> Any:
    async def waits(me: Any, rounds: int) -> None:
        for _ in range(rounds):
            await asyncio.sleep(0.01)

    async def both(me: Any) -> None:
        for name, rounds in (("slow", 6), ("fast", 1)):
            handler = on.call(name, lambda node, rounds=rounds: waits(node, rounds))
            me.call_handler(on.watch(handler, "at_handler_end"))

    return on.run(on.watch(on.job("First", lambda me: on.call("both", both)), "at_job_end"))


@script
def a_failure_beside_an_exit(on: Run) -> Any:
    async def fails(me: Any) -> None:
        raise ValueError("boom")

    async def exits(me: Any) -> None:
        await asyncio.sleep(0.02)
        await me.exit_commander("QUIT")

    async def both(me: Any) -> None:
        me.call_handler(on.watch(on.call("fails", fails), "at_exception", "at_handler_end"))
        me.call_handler(on.call("exits", exits))

    return on.run(on.job("First", lambda me: on.call("both", both)), auto_exit=False)


@script
def a_job_puts_two_that_put_two(on: Run) -> Any:
    def putting(name: str, depth: int) -> Any:
        async def body(me: Any) -> None:
            if depth:
                for letter in "ab":
                    await me.put_job(putting(name + letter, depth - 1))

        return on.watch(on.job(name, body), "at_job_end")

    return on.run(putting("J", 2))


@script
def a_callback_with_arguments_at_each_stage(on: Run) -> Any:
    def tell(*values: Any, **named: Any) -> None:
        on.say(values, sorted(named.items()))

    callback = on.Callback(
        at_job_start=[{"function": tell, "params": {"args": (1,), "kwargs": {"a": 2}}}],
        at_job_end=[{"function": tell, "params": {"args": (3, 4)}}],
    )
    return on.run(on.job("First", callback=callback))


@script
def an_async_callback_waits_for_the_next(on: Run) -> Any:
    async def slow() -> None:
        await asyncio.sleep(0.01)
        on.say("slow")

    job = on.job("First")
    for function in (slow, lambda: on.say("fast")):
        job.add_callback_functions("at_job_end", {"function": function})
    return on.run(job)


@script
def two_commanders_one_after_the_other(on: Run) -> Any:
    return [on.run(on.job("First", lambda me: me.exit_commander(1)), auto_exit=False), on.run(on.job("Second"))]


@script
def a_handler_puts_a_job_and_goes_on(on: Run) -> Any:
    async def work(me: Any) -> None:
        await me.put_job(on.job("Put"))
        await asyncio.sleep(0.02)
        on.say("goes on")

    return on.run(on.watch(on.job("First", lambda me: on.call("work", work)), "at_job_end"))


@script
def what_a_handler_returns_is_its_result(on: Run) -> Any:
    handler = on.call("work", lambda me: {"a": 1})
    on.run(on.job("First", lambda me: handler))
    return handler.result


@script
def the_result_of_a_job_whose_handler_has_one(on: Run) -> Any:
    job = on.job("First", lambda me: on.call("work", lambda node: 5))
    on.run(job)
    return [job.result, job.state]


@script
def a_basic_job_with_callbacks(on: Run) -> Any:
    job = on.BasicJob(on.call("work"))
    return on.run(on.watch(job, "at_job_start", "at_job_end"))


@script
def a_chain_of_handlers_five_deep(on: Run) -> Any:
    def deep(depth: int) -> Any:
        async def body(me: Any) -> None:
            if depth:
                me.call_handler(deep(depth - 1))

        return on.watch(on.call(f"h{depth}", body), "at_handler_end")

    return on.run(on.job("First", lambda me: deep(4)))


@script
def the_count_of_children_while_handlers_run(on: Run) -> Any:
    async def waits(me: Any) -> None:
        await asyncio.sleep(0.02)

    async def three(me: Any) -> None:
        for name in "abc":
            me.call_handler(on.call(name, waits))
        await asyncio.sleep(0.01)
        on.say("children", len(me.children))

    return on.run(on.job("First", lambda me: on.call("three", three)))


@script
def an_exit_in_the_last_of_three_jobs(on: Run) -> Any:
    jobs = [on.job("A"), on.job("B"), on.job("C", lambda me: me.exit_commander("C"))]
    return on.run(*jobs, auto_exit=False)


@script
def a_job_of_a_class_with_state(on: Run) -> Any:
    class Count(on.Job):
        def __init__(self, limit: int) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.limit, self.seen = limit, 0

        @on.tasker
        async def task(self) -> Any:
            return self.next()

        @on.handler
        async def next(self, self_handler: Any) -> None:
            self.seen += 1
            if self.seen < self.limit:
                self_handler.call_handler(self.next())

    job = Count(5)
    on.run(job)
    return job.seen


@script
def callbacks_are_updated_by_another(on: Run) -> Any:
    first = on.Callback(at_job_end=[{"function": on.noted("first", "callback")}])
    second = on.Callback(at_job_end=[{"function": on.noted("second", "callback")}])
    first.update(second)
    return on.run(on.job("First", callback=first))


@script
def a_failing_job_between_two_others(on: Run) -> Any:
    def fails(me: Any) -> None:
        raise KeyError("x")

    jobs = [on.watch(on.job(name, body)) for name, body in (("A", None), ("B", fails), ("C", None))]
    return [on.run(*jobs), [each.state for each in jobs]]
