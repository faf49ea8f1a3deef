"""Jobs, handlers, agents and their tools are one tree: each may start the other, and a listener sees them all."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import pytest

from trivium import Agent, CommanderAsync, Event, Job, Message, Module, Task, this_call
from trivium.commander import HandlerCoroutine, TaskNode
from trivium.exceptions import AttributeNotSetError
from trivium.testing import ScriptedModel

from ._helpers import add, calling, in_thread
from ._work import Do, doing, giving, outcome, run, run_jobs


def paths_of(*jobs: Job) -> list[str]:
    """Where everything that started stood, in order."""
    paths: list[str] = []

    def note(event: Event) -> None:
        if event.kind == "started":
            paths.append(event.path)

    commander = CommanderAsync()
    commander.listen(note)
    in_thread(lambda: commander.run(jobs, auto_exit=True))
    assert commander.failures == []
    return paths


def agent(name: str = "ada") -> Agent:
    return Agent(calling("add", a=1, b=2), tools=[add], name=name)


TURN = ["", "/model#0", "/tool:add#0", "/model#1"]


@pytest.mark.parametrize("way", ["sync", "async", "handler"])
def test_the_turn_of_an_agent_stands_below_the_job(way: str):
    async def work(node: Any) -> Any:
        if way == "sync":
            return agent()("x").content
        return (await agent().acall("x")).content

    where = "commander#0/Do#0" + ("/doing#0" if way == "handler" else "")
    paths = paths_of(Do(lambda job: doing(work)) if way == "handler" else Do(work))
    assert paths[-4:] == [f"{where}/ada#0{step}" for step in TURN]


def test_a_task_and_its_steps_stand_below_the_job():
    async def work(job: Job) -> str:
        task = Task(Agent(ScriptedModel(["DONE hello"]), name="bob"), interactive=False)
        out = await task.run_async("x")
        return out.content if out is not None else ""

    paths = paths_of(Do(work))
    assert paths[:2] == ["commander#0", "commander#0/Do#0"]
    assert any("/bob#0" in path and path.endswith("/model#0") for path in paths)
    assert all(path.startswith("commander#0/Do#0/") for path in paths[2:])


def test_a_kill_of_the_job_stops_the_agent_below():
    asked: list[Job] = []
    job = Do(lambda job: (asked.append(job), Agent(ScriptedModel(kill), name="ada").acall("x"))[1])

    def kill(request: Any) -> str:
        asked[0].kill("enough")
        return "never heard"

    commander = run_jobs(job)
    assert [str(error) for _, error in commander.failures] == ["commander#0/Do#0 was stopped: enough"]


def test_an_async_tool_starts_jobs_and_handlers_below_the_job_of_its_agent():
    started: list[Any] = []

    async def starts(a: int) -> str:
        await this_call().put_job(Do(lambda job: started.append(("job", job.parent))))
        this_call().call_handler(doing(lambda me: started.append(("handler", me.parent))))
        return str(await giving("awaited"))

    async def work(job: Job) -> str:
        return (await Agent(calling("starts", a=1), tools=[starts]).acall("x")).content

    _, job = run(work)
    assert job.result == "done:awaited"
    assert sorted(started, key=str) == sorted([("handler", job), ("job", job)], key=str)


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("limits", [{}, {"max_queued": 1, "max_running": 1}], ids=str)
def test_a_sync_tool_in_its_worker_starts_them_too(asynchronous: bool, limits: Any):
    started: list[Any] = []

    def starts(a: int) -> str:
        node = this_call()
        for _ in range(3):
            node.commander.put_job_threadsafe(Do(lambda job: started.append(("job", job.parent))), parent=node)
        node.call_handler(doing(lambda me: started.append(("handler", me.parent))))
        return "ok"

    async def work(job: Job) -> str:
        module = Agent(calling("starts", a=1), tools=[starts])
        return (await module.acall("x") if asynchronous else module("x")).content

    _, job = run(work, **limits)
    assert job.result == "done:ok"
    assert sorted(started, key=str) == sorted([("handler", job), *[("job", job)] * 3], key=str)


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_tool_runs_a_commander_of_its_own(asynchronous: bool, kind: str):
    seen: list[str] = []

    def job() -> Job:
        return Do(lambda job: (seen.append(job._path()), job.exit_commander("inner"))[1])

    def runs(a: int) -> str:
        return str(CommanderAsync[str]().run(job()))

    async def aruns(a: int) -> str:
        return str(await CommanderAsync[str]().run_async(job()))

    tool = runs if kind == "sync" else aruns
    module = Agent(calling(tool.__name__, a=1), tools=[tool], name="ada")

    async def work(job: Job) -> str:
        return (await module.acall("x") if asynchronous else module("x")).content

    assert outcome(work) == "done:inner"
    assert seen == [f"commander#0/Do#0/ada#0/tool:{tool.__name__}#0/commander#0/Do#0"]
    seen.clear()
    assert in_thread(lambda: module("x", session_id="alone").content) == "done:inner"
    assert seen == [f"ada#0/tool:{tool.__name__}#0/commander#0/Do#0"]


def test_outside_a_commander_a_tool_cannot_put_jobs_and_hears_why():
    async def puts(a: int) -> str:
        with pytest.raises(AttributeNotSetError, match="does not run below a commander: put jobs into one that runs"):
            await this_call().put_job(Do())
        return "refused"

    assert in_thread(lambda: Agent(calling("puts", a=1), tools=[puts])("x").content) == "done:refused"


def test_the_job_waits_for_what_a_call_below_it_has_started():
    order: list[str] = []

    class Starts(Module):
        def forward(self, message: Message) -> str:
            this_call().call_handler(doing(late))
            return "ok"

    async def late(me: HandlerCoroutine) -> None:
        await giving()
        order.append("handler")

    async def work(job: Job) -> None:
        await Starts().acall("x")
        order.append("body")

    job = Do(work)
    job.add_callback_functions("at_job_end", lambda: order.append("end"))
    run_jobs(job)
    assert order[-1] == "end"
    assert sorted(order) == ["body", "end", "handler"]


def test_a_listener_of_one_job_hears_only_what_is_below_it():
    heard: set[TaskNode] = set()
    first, second = Do(lambda job: agent().acall("x")), Do(lambda job: agent("bob").acall("x"))

    def note(event: Event) -> None:
        heard.add(event.node)

    def listen(job: Any) -> Any:
        job.listen(note)
        return agent().acall("x")

    first.work = listen
    run_jobs(first, second)
    assert {node._name for node in heard} == {"Do", "ada", "model", "tool:add"}
    assert second not in heard
