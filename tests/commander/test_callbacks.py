"""Callbacks: when they are called, with what, and that one that fails harms nobody."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, Callback, HandlerCoroutine, NodeState, TaskNode, handler, tasker
from trivium.commander._callbacks import STAGES, Stage
from trivium.exceptions import ConfigurationError, RunKilledError

from ._helpers import here


def noting(log: list[str], owner: str) -> Callback:
    """A callback that notes each stage."""
    stages: dict[str, Any] = {stage: partial(log.append, f"{owner} {stage}") for stage in STAGES}
    return Callback(**stages)


@handler(PASS_WORD)
async def work(self_handler: HandlerCoroutine, log: list[str], end: str, callback: Callback | None = None) -> None:
    log.append("H body")
    if end == "fail":
        raise ValueError("planned")
    if end == "kill":
        self_handler.kill("planned")


class Start(Job):
    def __init__(self, log: list[str], end: str = "ok") -> None:
        super().__init__()
        self.log, self.end = log, end
        self.add_callback(noting(log, "J"))

    @tasker(PASS_WORD)
    async def task(self) -> HandlerCoroutine:
        self.log.append("J body")
        return work(self.log, self.end, callback=noting(self.log, "H"))


@pytest.mark.parametrize(
    ("end", "between"),
    [("ok", []), ("fail", ["H at_exception"]), ("kill", ["H at_terminate"])],
)
def test_the_stages_come_in_this_order(end: str, between: list[str]):
    log: list[str] = []
    CommanderAsync().run(Start(log, end), auto_exit=True)
    before = ["J at_job_start", "J body", "H at_handler_start", "H body"]
    ends = ["H at_handler_end"] if end != "kill" else []  # what was stopped has no end of its own
    after = ["J at_job_end", "J at_commander_end", "H at_commander_end"]
    assert log == [*before, *between, *ends, *after]


def test_what_a_job_adds_while_it_runs_is_called_at_the_end_before_what_its_handler_has():
    class Adding(Start):
        def __init__(self, log: list[str]) -> None:
            Job.__init__(self)
            self.log, self.end = log, "ok"

        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            self.add_callback(noting(self.log, "J"))
            return work(self.log, self.end, callback=noting(self.log, "H"))

    log: list[str] = []
    CommanderAsync().run(Adding(log), auto_exit=True)
    assert log[-2:] == ["J at_commander_end", "H at_commander_end"]


def test_the_commander_has_callbacks_too():
    log: list[str] = []
    commander = CommanderAsync()
    commander.add_callback(noting(log, "C"))
    commander.run(Start([]), auto_exit=True)
    assert log == ["C at_commander_end"]


def test_the_end_of_a_run_is_not_the_end_of_the_one_before():
    log: list[str] = []
    commander = CommanderAsync()
    commander.run(Start(log), auto_exit=True)
    log.clear()
    commander.run(auto_exit=True)
    assert log == []


def test_functions_of_a_stage_are_called_in_the_order_of_addition():
    called: list[Any] = []

    def note(*args: Any, **kwargs: Any) -> None:
        called.append((args, kwargs))

    async def note_later(task_node: TaskNode) -> None:
        await asyncio.sleep(0)
        called.append(task_node)

    job = Start([])
    job.add_callback_functions("at_job_end", note)
    job.add_callback_functions("at_job_end", [{"function": note, "params": {"args": [1], "kwargs": {"b": 2}}}])
    job.add_callback_functions(which="at_job_end", functions_info={"function": note_later, "inject_task_node": True})
    job.add_callback([Callback(at_job_end=(note, note)), None, Callback(at_exception=note)])
    CommanderAsync().run(job, auto_exit=True)
    assert called == [((), {}), ((1,), {"b": 2}), job, ((), {}), ((), {})]


def test_merging_leaves_both_as_they_were():
    first, second = Callback(at_job_end=print), Callback(at_job_end=[print, print], at_exception=print)
    assert repr(Callback.merge([first, None, second])) == "Callback(at_job_end=3, at_exception=1)"
    assert (repr(first), repr(second)) == ("Callback(at_job_end=1)", "Callback(at_job_end=2, at_exception=1)")


def test_an_unknown_stage_is_an_error_that_names_the_stages():
    with pytest.raises(ConfigurationError, match="'at_dawn'; the stages are at_job_start"):
        Callback(at_dawn=print)
    assert issubclass(ConfigurationError, ValueError)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("end", ["ok", "fail", "kill"])
def test_a_raising_callback_is_reported_and_keeps_nothing_from_happening(stage: Stage, end: str):
    def raising() -> None:
        raise LookupError(stage)

    def run(*functions: Callable[[], None]) -> tuple[list[str], list[tuple[str, str]], list[NodeState]]:
        log: list[str] = []
        nodes: list[TaskNode] = []
        commander = CommanderAsync()
        commander.listen(lambda event: nodes.append(event.node) if event.kind == "ended" else None)
        job = Start(log, end)
        for function in functions:
            job.add_callback_functions(stage, function)
        commander.run(job, auto_exit=True)
        failures = [(node._name, type(error).__name__) for node, error in commander.failures]
        return log, failures, [node.state for node in nodes]

    log, failures, states = run()
    raised = [("Start", "LookupError")] if f"J {stage}" in log else []
    log_with, failures_with, states_with = run(raising)
    assert (log_with, states_with) == (log, states)
    assert sorted(failures_with) == sorted(failures + raised)


def test_at_its_end_callback_a_node_still_holds_what_it_starts():
    seen: list[Any] = []

    class Next(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            assert isinstance(self.parent, TaskNode)
            seen.append(("next below", self.parent.state))

    async def at_end(task_node: Job) -> None:
        seen.append((task_node.state, task_node.children_num, here() is task_node))
        await task_node.put_job(Next())

    log: list[str] = []
    job = Start(log)
    job.add_callback_functions("at_job_end", {"function": at_end, "inject_task_node": True})
    CommanderAsync().run(job, auto_exit=True)
    assert seen == [(NodeState.ACTIVE, 0, True), ("next below", NodeState.ACTIVE)]
    assert log.count("J at_job_end") == 1


def test_the_end_of_a_turn_starts_the_next():
    """The circular flow of the documents: a new root job from the end of the last."""
    turns: list[int] = []

    class Turn(Job):
        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine | None:
            if len(turns) == 3:
                await self.exit_commander(return_result="QUIT")
            turns.append(self.commander.children_num)
            self.add_callback_functions("at_job_end", {"function": again, "inject_task_node": True})
            return None

    async def again(task_node: Turn) -> None:
        await task_node.put_job(job=Turn(), parent=task_node.commander)

    assert CommanderAsync().run(Turn()) == "QUIT"
    assert turns == [1, 1, 1, 1], "a turn that is over is not in the tree any more"


@pytest.mark.parametrize("waits", [True, False])
def test_a_kill_does_not_cut_the_callbacks_of_the_killed(waits: bool):
    finished: list[str] = []

    async def slow(name: str) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        finished.append(name)

    @handler(PASS_WORD)
    async def killing(self_handler: HandlerCoroutine, callback: Callback) -> None:
        self_handler.kill("enough")
        if waits:
            await asyncio.get_running_loop().create_future()

    class Killing(Job):
        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            return killing(Callback(at_terminate=partial(slow, "terminate"), at_handler_end=partial(slow, "end")))

    commander = CommanderAsync()
    commander.run(Killing(), auto_exit=True)
    assert finished == ["terminate"]
    assert [(node.state, type(error)) for node, error in commander.failures] == [(NodeState.TERMINATED, RunKilledError)]
