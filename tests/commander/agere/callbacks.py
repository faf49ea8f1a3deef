"""Callbacks: each stage, their order, their arguments, the node that they get, and how they are given."""

from __future__ import annotations

import asyncio
from typing import Any

from ._script import STAGES, Run, script

ENDS = (*STAGES, "at_commander_end")


@script
def the_stages_of_a_job_and_its_handler(on: Run) -> Any:
    return on.run(on.watch(on.job("First", lambda me: on.watch(on.call("work"), *ENDS)), *ENDS))


@script
def the_stages_of_two_jobs(on: Run) -> Any:
    first = on.watch(on.job("First", lambda me: me.put_job(on.watch(on.job("Put"), *ENDS))), *ENDS)
    return on.run(first, on.watch(on.job("Second"), *ENDS))


@script
def the_stages_of_a_job_that_fails(on: Run) -> Any:
    def fail(me: Any) -> None:
        raise LookupError("no such thing")

    return on.run(on.watch(on.job("First", fail), *ENDS))


@script
def the_stages_of_a_handler_that_fails(on: Run) -> Any:
    def fail(me: Any) -> None:
        raise LookupError("no such thing")

    return on.run(on.watch(on.job("First", lambda me: on.watch(on.call("work", fail), *ENDS)), *ENDS))


@script
def a_callback_that_is_no_stage_of_the_node(on: Run) -> Any:
    job = on.watch(on.job("First", lambda me: on.watch(on.call("work"), "at_job_start", "at_job_end")))
    return on.run(on.watch(job, "at_handler_start", "at_handler_end"))


@script
def functions_may_be_sync_or_async(on: Run) -> Any:
    async def later() -> None:
        await asyncio.sleep(0)
        on.say("async")

    job = on.job("First")
    functions = [{"function": later}, {"function": lambda: on.say("sync")}, {"function": later}]
    job.add_callback_functions(which="at_job_end", functions_info=functions)
    return on.run(job)


@script
def functions_get_their_arguments_and_the_node(on: Run) -> Any:
    def note(*args: Any, **kwargs: Any) -> None:
        on.say(args, sorted(kwargs), on.plain(kwargs.get("task_node")))

    job = on.job("First")
    entries: tuple[dict[str, Any], ...] = (
        {"function": note},
        {"function": note, "inject_task_node": True},
        {"function": note, "inject_task_node": False},
        {"function": note, "params": {"args": (1, 2)}},
        {"function": note, "params": {"kwargs": {"a": 1}}, "inject_task_node": True},
        {"function": note, "params": {"args": (1,), "kwargs": {"a": 2}}},
        {"function": note, "params": {}},
    )
    for entry in entries:
        job.add_callback_functions("at_job_start", entry)
    return on.run(job)


@script
def the_order_in_which_they_were_added(on: Run) -> Any:
    def note(text: str) -> dict[str, Any]:
        return {"function": on.say, "params": {"args": (text,)}}

    job = on.Callback(at_job_start=[note("given")])
    first = on.job("First", callback=job)
    first.add_callback_functions("at_job_start", note("one"))
    first.add_callback_functions("at_job_start", [note("two"), note("three")])
    first.add_callback(on.Callback(at_job_start=[note("four")], at_job_end=[note("end")]))
    first.add_callback([on.Callback(at_job_start=[note("five")]), None, on.Callback(at_job_start=[note("six")])])
    return on.run(first)


@script
def an_unknown_stage(on: Run) -> None:
    for node in (on.job("First"), on.call("work")):
        on.tried(lambda node=node: node.add_callback_functions("at_lunch", {"function": print}))
    on.tried(lambda: on.Callback(at_lunch=[{"function": print}]))


@script
def callbacks_are_merged(on: Run) -> Any:
    def note(text: str) -> dict[str, Any]:
        return {"function": on.say, "params": {"args": (text,)}}

    one, two = (
        on.Callback(at_job_end=[note("one")]),
        on.Callback(at_job_end=[note("two")], at_job_start=[note("start")]),
    )
    merged = on.Callback.merge([one, None, two])
    updated = one.update([two])
    on.say(updated is one, merged is one)
    return on.run(on.job("First", callback=merged), on.job("Second", callback=one), on.job("Third", callback=two))


@script
def a_callback_is_an_argument_of_a_handler(on: Run) -> Any:
    def note(text: str) -> Any:
        return on.Callback(at_handler_start=[{"function": on.say, "params": {"args": (text,)}}])

    @on.handler
    async def work(self_handler: Any, first: Any, second: Any = None, *, third: Any = None) -> None:
        on.say([isinstance(each, on.Callback) for each in (first, second, third)])
        on.say(first.task_node)

    async def call(me: Any) -> None:
        me.call_handler(work(note("one")))
        me.call_handler(work(note("one"), "text", third=note("three")))
        me.call_handler(work(note("one"), note("two"), third=note("three")))

    return on.run(on.job("First", call))


class Desk:
    """The name by which Agere finds the class of a handler's method."""


@script
def a_callback_is_an_argument_of_a_method(on: Run) -> Any:
    class Desk:
        @on.handler
        async def serve(self, self_handler: Any, callback: Any) -> None:
            on.say("serves", callback.task_node)

    callback = on.Callback(at_handler_end=[{"function": on.say, "params": {"args": ("end",)}}])
    return on.run(on.job("First", lambda me: Desk().serve(callback=callback)))


@script
def a_callback_is_added_to_a_called_handler(on: Run) -> Any:
    def note(task_node: Any) -> None:
        on.say(task_node, task_node.state)

    def call(me: Any) -> Any:
        work = on.call("work")
        work.add_callback_functions("at_handler_start", {"function": note, "inject_task_node": True})
        work.add_callback(on.Callback(at_handler_end=[{"function": note, "inject_task_node": True}]))
        return work

    return on.run(on.job("First", call))


@script
def the_node_at_each_stage(on: Run) -> Any:
    def note(task_node: Any) -> None:
        on.say(task_node, task_node.state, task_node.children_num, task_node.result, task_node.exception)

    job = on.job("First", lambda me: None)
    for which in ("at_job_start", "at_job_end", "at_commander_end"):
        job.add_callback_functions(which, {"function": note, "inject_task_node": True})
    return on.run(job)


@script
def the_node_of_a_handler_at_each_stage(on: Run) -> Any:
    def note(task_node: Any) -> None:
        on.say(task_node, task_node.state, task_node.children_num, task_node.result, task_node.exception)

    def call(me: Any) -> Any:
        work = on.call("work", lambda work: "result")
        for which in ("at_handler_start", "at_handler_end", "at_commander_end"):
            work.add_callback_functions(which, {"function": note, "inject_task_node": True})
        return work

    return on.run(on.job("First", call))


@script
def the_node_where_it_failed(on: Run) -> Any:
    def note(task_node: Any) -> None:
        on.say(task_node, task_node.state, task_node.exception, task_node.children_num)

    def fail(me: Any) -> None:
        raise LookupError("no such thing")

    job = on.job("First", fail)
    for which in ("at_exception", "at_job_end"):
        job.add_callback_functions(which, {"function": note, "inject_task_node": True})
    return on.run(job)


@script
def the_id_at_the_start(on: Run) -> Any:
    def note(task_node: Any) -> None:
        on.tried(lambda: on.say(task_node.id))

    job = on.job("First", lambda me: on.say(me.id))
    job.add_callback_functions("at_job_start", {"function": note, "inject_task_node": True})
    return on.run(job)


@script
def one_callback_of_two_jobs(on: Run) -> Any:
    def note(task_node: Any) -> None:
        on.say("ends", task_node)

    entry = {"function": note, "inject_task_node": True}
    shared = on.Callback(at_job_end=[entry])
    return on.run(on.job("First", callback=shared), on.job("Second", callback=shared))


@script
def one_callback_of_two_jobs_at_the_end_of_the_commander(on: Run) -> Any:
    shared = on.Callback(at_commander_end=[{"function": lambda: on.say("end")}])
    return on.run(on.job("First", callback=shared), on.job("Second", callback=shared))


@script
def the_order_at_the_end_of_the_commander(on: Run) -> Any:
    jobs = [on.watch(on.job(name), "at_commander_end", "at_job_end") for name in ("First", "Second", "Third")]
    on.run(*jobs)
    on.say("again")
    return on.again(on.job("Fourth"))


@script
def the_node_of_a_callback(on: Run) -> Any:
    first, second = on.job("First"), on.job("Second")
    callback = on.Callback()
    on.say(callback.task_node)
    first.add_callback(callback)
    on.say(callback.task_node)
    callback.task_node_lock()
    on.job("Third", callback=callback)
    on.say(callback.task_node)
    callback.task_node_unlock()
    on.job("Fourth", callback=callback)
    on.say(callback.task_node)
    return on.plain(on.Callback(task_node=second).task_node)


@script
def the_node_of_a_callback_locks_by_itself(on: Run) -> Any:
    for given, times in ((None, 1), (None, 2), ("Given", 1), ("Given", 2), (None, 0)):
        task_node = None if given is None else on.job(given)
        callback = on.Callback(task_node=task_node, task_node_auto_lock_num=times)
        for name in ("First", "Second", "Third"):
            on.job(name, callback=callback)
        on.say(given, times, callback.task_node)


@script
def the_end_of_a_job_starts_the_next(on: Run) -> Any:
    """As the program of the document goes on, until the user has enough."""

    def chat(number: int) -> Any:
        async def next_one(task_node: Any) -> None:
            if number == 3:
                await task_node.exit_commander(return_result="QUIT")
                return
            await task_node.put_job(job=chat(number + 1), parent=task_node.commander)

        job = on.job(f"Chat{number}", lambda me: on.call("work", lambda work: on.say(len(work.ancestor_chain))))
        job.add_callback_functions(which="at_job_end", functions_info={"function": next_one, "inject_task_node": True})
        return job

    return on.run(chat(1), auto_exit=False)


@script
def the_start_of_a_job_puts_another(on: Run) -> Any:
    async def before(task_node: Any) -> None:
        await task_node.put_job(on.job("Put"))

    job = on.watch(on.job("First"), "at_job_end")
    job.add_callback_functions("at_job_start", {"function": before, "inject_task_node": True})
    return on.run(job)


@script
def the_end_of_a_job_puts_another_below_it(on: Run) -> Any:
    left = [1]

    async def after(task_node: Any) -> None:
        if left and left.pop():
            await task_node.put_job(on.watch(on.job("Put", lambda put: on.say(put.parent)), "at_job_end"))

    def note(task_node: Any) -> None:
        on.say(task_node.children)

    job = on.job("First")
    job.add_callback_functions("at_job_end", {"function": after, "inject_task_node": True})
    job.add_callback_functions("at_job_end", {"function": note, "inject_task_node": True})
    on.run(job)
    return job.state


@script
def a_failure_puts_a_job_that_tries_again(on: Run) -> Any:
    def attempt(number: int) -> Any:
        def fail(me: Any) -> None:
            if number < 3:
                raise LookupError("no such thing")

        async def again(task_node: Any) -> None:
            on.say(task_node.exception, task_node.state)
            await task_node.put_job(attempt(number + 1), parent=task_node.commander)

        job = on.job(f"Attempt{number}", fail)
        job.add_callback_functions("at_exception", {"function": again, "inject_task_node": True})
        return job

    return on.run(attempt(1))


@script
def a_callback_is_added_while_the_job_runs(on: Run) -> Any:
    return on.run(on.job("First", lambda me: on.watch(me, "at_job_start", "at_job_end", "at_commander_end") and None))


@script
def a_callback_at_the_start_fails(on: Run) -> Any:
    def fail() -> None:
        raise LookupError("no such thing")

    job = on.watch(on.job("First"), "at_job_end")
    job.add_callback_functions("at_job_start", {"function": fail})
    return on.run(job, on.job("Second"))


@script
def a_callback_at_the_end_of_a_handler_fails(on: Run) -> Any:
    def fail() -> None:
        raise LookupError("no such thing")

    def call(me: Any) -> Any:
        work = on.call("work")
        work.add_callback_functions("at_handler_end", {"function": fail})
        return work

    return on.run(on.watch(on.job("First", call), "at_job_end"), on.job("Second"))


@script
def the_callback_of_a_node(on: Run) -> Any:
    job, callback = on.job("First"), on.Callback(at_job_end=[{"function": print}])
    on.say(job.callback)
    job.add_callback(callback)
    on.say(isinstance(job.callback, on.Callback), job.callback.task_node)
    return job.callback is callback


@script
def the_functions_of_a_callback_can_be_read_and_added_to(on: Run) -> Any:
    callback = on.Callback(at_job_end=[{"function": lambda: on.say("given")}])
    on.say(len(callback.at_job_end), callback.at_job_start, callback.at_exception)
    callback.at_job_end.append({"function": lambda: on.say("added")})
    return on.run(on.job("First", callback=callback))


@script
def a_callback_by_its_place(on: Run) -> Any:
    entry = {"function": lambda: on.say("start")}
    callback = on.tried(lambda: on.Callback([entry]), ValueError)
    return on.run(on.job("First", callback=callback))


@script
def an_entry_of_a_callback_as_a_user_types_it(on: Run) -> Any:
    entry = on.names.CallbackDict(function=on.say, params={"args": ("end",), "kwargs": {}})
    return on.run(on.job("First", callback=on.Callback(at_job_end=[entry])))


@script
def the_functions_of_a_stage_are_replaced(on: Run) -> Any:
    callback = on.Callback(at_job_start=[{"function": lambda: on.say("old")}])
    callback.at_job_start = [{"function": lambda: on.say("new")}]
    callback.update(on.Callback(at_job_start=[{"function": lambda: on.say("more")}]))
    return on.run(on.job("First", callback=callback))
