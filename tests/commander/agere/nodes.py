"""Nodes: ids, places, states, children."""

from __future__ import annotations

import asyncio
from typing import Any

from ._script import Run, script


@script
def before_it_is_scheduled(on: Run) -> None:
    for node in (on.job("First"), on.call("work")):
        for read in (lambda node=node: node.id, lambda node=node: node.commander, lambda node=node: node.parent):
            on.tried(read)
        on.say(node.state, node.children_num, node.children, node.callback, node.result, node.exception)


@script
def a_job_that_is_queued(on: Run) -> Any:
    async def put(me: Any) -> None:
        queued = on.job("Queued")
        await me.put_job(queued)
        on.say(queued.state, queued.parent, queued.commander, queued.children_num)
        on.tried(lambda: queued.id)

    return on.run(on.job("First", put))


@script
def a_handler_that_was_called_and_has_not_started(on: Run) -> Any:
    def work(me: Any) -> None:
        called = on.call("work")
        me.call_handler(called)
        on.say(called.state, called.parent, called.id, called.children_num, called.commander)

    return on.run(on.job("First", work))


@script
def the_commander(on: Run) -> Any:
    commander = on.Commander()
    on.say(commander.id, commander.parent, commander.commander, commander.state, commander.children)
    return [commander.is_empty(), commander.running_status, commander.ancestor_chain]


@script
def ids_count_on(on: Run) -> Any:
    async def put(me: Any) -> None:
        me.call_handler(on.call("a", lambda a: on.say("id", a.id)))
        await me.put_job(on.job("Put", lambda put: on.say("id", put.id)))
        on.say("id", me.id)

    def last(me: Any) -> None:
        on.say("id", me.id)

    on.run(on.job("First", put), on.job("Second", last))
    return on.again(on.job("Third", last))


@script
def ids_set_by_hand_are_kept(on: Run) -> Any:
    work = on.call("work", lambda work: on.say(work.id))
    job = on.job("First", lambda me: work)
    job.id, work.id = "mine", "its"
    on.run(job, on.job("Second", lambda me: on.say(me.id)))
    return [job.id, work.id]


@script
def states_on_the_way(on: Run) -> Any:
    event = asyncio.Event()
    work = on.call("work", lambda work: on.say(work.state, first.state) or event.wait())
    first = on.job("First", lambda me: on.say(me.state) or work)
    on.say(first.state, work.state)
    on.run(first, on.job("Second", lambda me: on.say(work.state, first.state) or event.set()))
    return [first.state, work.state]


@script
def children_while_the_body_runs_and_after(on: Run) -> Any:
    event = asyncio.Event()

    def work(me: Any) -> None:
        on.say(me.children, me.children_num)
        me.call_handler(below)
        on.say(me.children, me.children_num)

    below = on.call("below", lambda _: event.wait())
    first = on.job("First", work)
    second = on.job("Second", lambda me: on.say(first.children, first.children_num, below.children) or event.set())
    on.run(first, second)
    return [first.children, first.children_num]


@script
def children_of_the_commander(on: Run) -> Any:
    event = asyncio.Event()
    first = on.job("First", lambda me: on.call("waits", lambda _: event.wait()))
    second = on.job("Second", lambda me: on.say(me.commander.children) or event.set())
    on.run(first, second)
    return on.commander.children


@script
def queued_jobs_are_children_too(on: Run) -> Any:
    async def put(me: Any) -> None:
        await me.put_job(on.job("A"))
        await me.put_job(on.job("B"))
        on.say(me.children)

    return on.run(on.watch(on.job("First", put), "at_job_end"))


@script
def a_node_ends_when_all_below_it_has_ended(on: Run) -> Any:
    events = {name: asyncio.Event() for name in ("slow", "fast")}

    def fork(me: Any) -> None:
        for name, event in events.items():
            me.call_handler(on.watch(on.call(name, lambda _, event=event: event.wait()), "at_handler_end"))

    async def release(me: Any) -> None:
        events["fast"].set()
        await fast_ended.wait()
        on.say(first.state, first.children)
        events["slow"].set()

    fast_ended = asyncio.Event()
    first = on.watch(on.job("First", fork), "at_job_end")

    async def after(me: Any) -> None:
        await events["fast"].wait()
        fast_ended.set()

    on.run(first, on.job("Second", lambda me: on.call("after", after)), on.job("Third", release))
    return first.state


@script
def the_commander_is_not_empty_while_something_runs(on: Run) -> Any:
    event = asyncio.Event()
    first = on.job("First", lambda me: on.call("waits", lambda _: event.wait()))

    def look(me: Any) -> None:
        on.say(me.commander.is_empty(), me.commander.running_status)
        event.set()

    on.run(first, on.job("Second", look))
    return on.commander.is_empty()


@script
def the_data_of_a_node_are_the_users(on: Run) -> Any:
    def work(me: Any) -> None:
        on.say(me.note)
        me.note = "changed"

    job = on.job("First", work)
    job.note = "given"
    on.run(job)
    return job.note


@script
def a_chain_of_a_hundred_jobs(on: Run) -> Any:
    def link(left: int) -> Any:
        async def put(me: Any) -> None:
            await me.put_job(link(left - 1)) if left else on.say(len(me.ancestor_chain))

        job = on.job("Link", put)
        return on.watch(job, "at_job_end") if left in (0, 99) else job

    on.run(link(99))
    on.log[:] = [line for line in on.log if line != "Link"]


# ---- several commanders
@script
def a_job_runs_a_commander_of_its_own(on: Run) -> Any:
    """In a thread, as a second loop in the first one's thread would block it."""

    async def work(me: Any) -> None:
        inner = on.Commander()
        out = await asyncio.to_thread(inner.run, on.job("Inner", lambda each: each.exit_commander("from inside")))
        on.say(out, me.commander.running_status)

    return on.run(on.job("Outer", work))


# ---- names
@script
def the_names_of_the_package(on: Run) -> Any:
    names = [
        "PASS_WORD", "BasicJob", "Callback", "CallbackDict", "CommanderAsync", "Job", "handler", "tasker",
        "AttributeNotSetError", "CommanderAlreadyRunningError", "CommanderNotRunError", "NotHandlerError",
        "NotTaskerError",
    ]  # fmt: skip
    return [name for name in names if hasattr(on.names, name)]


@script
def the_interface_of_a_commander(on: Run) -> bool:
    return hasattr(on.names, "CommanderAsyncInterface")


@script
def the_requester_of_a_job(on: Run) -> Any:
    job = on.job("First", lambda me: me.put_job(on.job("Put"), requester=me))
    on.run(job)
    return [job.state, job.exception]
