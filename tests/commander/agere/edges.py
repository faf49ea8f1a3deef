"""Edges: flows of independent nodes. Agere has them in its repository; its last release has none."""

from __future__ import annotations

from typing import Any

from ._script import Run, script


def edge(on: Run, *args: Any, **options: Any) -> None:
    on.named("commander.edge", "add_edge")(*args, **options)


def choice(on: Run, *args: Any, **options: Any) -> None:
    on.named("commander.edge", "add_conditional_edge")(*args, **options)


@script
def an_edge_between_two_jobs(on: Run) -> Any:
    first, second = on.job("First"), on.job("Second", lambda me: on.say(me.parent))
    edge(on, first, second)
    return on.run(first)


@script
def an_edge_between_a_job_and_a_handler(on: Run) -> Any:
    first, work, last = on.job("First"), on.call("work", lambda work: on.say(work.parent)), on.job("Last")
    edge(on, from_node=first, to_node=work)
    edge(on, from_node=work, to_node=last)
    return on.run(first)


@script
def edges_share_data(on: Run) -> Any:
    data: list[str] = []
    first = on.job("First", lambda me: me.data.append("first"))
    second = on.job("Second", lambda me: me.data.append("second"))
    first.data = data
    edge(on, first, second, data=data)
    on.run(first)
    return data


@script
def two_edges_of_one_node(on: Run) -> Any:
    first, left, right = (on.job(name) for name in ("First", "Left", "Right"))
    edge(on, first, left)
    edge(on, first, right)
    return on.run(first)


@script
def an_edge_waits_for_all_below_the_node(on: Run) -> Any:
    first = on.watch(on.job("First", lambda me: me.put_job(on.job("Below"))), "at_job_end")
    edge(on, first, on.job("Second"))
    return on.run(first)


@script
def a_conditional_edge(on: Run) -> Any:
    for result in ("left", "right", "neither"):
        work = on.call("work", lambda work, result=result: result)
        choice(on, work, {"left": on.job("Left"), "right": on.job("Right")})
        on.run(on.job("First", lambda me, work=work: work))


@script
def a_conditional_edge_of_a_job(on: Run) -> Any:
    first = on.job("First", lambda me: "right")
    choice(on, from_node=first, map={"left": on.job("Left"), "right": on.job("Right")})
    return on.run(first)


@script
def edges_in_a_circle(on: Run) -> Any:
    data = {"count": 0}

    def count(me: Any) -> str:
        me.data["count"] += 1
        return "again" if me.data["count"] < 4 else "enough"

    @on.handler
    async def counts(self_handler: Any) -> str:
        on.say("counts")
        return count(self_handler)

    again, work = on.job("Again", lambda me: count(me)), counts()
    again.data = data
    edge(on, again, work, data=data)
    choice(on, work, {"again": again}, data=data)
    on.run(again)
    return data


@script
def an_edge_from_a_job_that_fails(on: Run) -> Any:
    def fail(me: Any) -> None:
        raise LookupError("no such thing")

    first = on.job("First", fail)
    edge(on, first, on.job("Second"))
    return on.run(first)


@script
def the_flow_of_the_document(on: Run) -> Any:
    data: dict[str, Any] = {"nodes": [], "count": 0}

    def note(me: Any, name: str) -> int:
        me.data["nodes"].append(name)
        me.data["count"] += 1
        return me.data["count"]

    job_1 = on.job("Job1", lambda me: note(me, "job_1") and None)
    job_2 = on.job("Job2", lambda me: "job_1" if note(me, "job_2") % 3 == 0 else "handler_1")

    @on.handler
    async def handler_1(self_handler: Any) -> str:
        return "handler_2" if note(self_handler, "handler_1") > 4 else "job_2"

    @on.handler
    async def handler_2(self_handler: Any) -> None:
        note(self_handler, "handler_2")

    first, second = handler_1(), handler_2()
    job_1.data = data
    targets = {"job_1": job_1, "job_2": job_2, "handler_1": first, "handler_2": second}
    edge(on, from_node=job_1, to_node=first, data=data)
    choice(on, from_node=first, map=targets, data=data)
    choice(on, from_node=job_2, map=targets, data=data)
    on.run(job_1)
    return data
