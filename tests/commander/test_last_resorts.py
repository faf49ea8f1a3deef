"""What no program should do, and what must not hang or be lost where one does: no stack left, exits in callbacks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, BasicJob, Event, HandlerCoroutine, NodeState, handler, tasker
from trivium.commander.edge import add_edge
from trivium.exceptions import NotHandlerError, NotTaskerError, RecursionTooDeepError

from ._helpers import in_thread


class Last(BaseException):
    """No Exception: most code does not catch it."""


@handler(PASS_WORD)
async def walk(self_handler: HandlerCoroutine, depth: int) -> int:
    return 1 + await walk(depth - 1) if depth else 0


@handler(PASS_WORD)
async def raises(self_handler: HandlerCoroutine, error: BaseException) -> None:
    raise error


class Calls(Job):
    """Raises in a callback."""

    def __init__(self, which: Any, error: BaseException) -> None:
        super().__init__()
        self.error = error
        self.add_callback_functions(which, self.fail)

    @tasker(PASS_WORD)
    async def task(self) -> None: ...

    def fail(self) -> None:
        raise self.error


def run(commander: CommanderAsync, *jobs: Job) -> Any:
    return in_thread(lambda: commander.run(jobs, auto_exit=True))


@pytest.mark.parametrize("depth", [300, 2_000])
def test_a_chain_of_awaits_that_is_too_deep_ends_with_an_error_on_its_node(depth: int):
    commander = CommanderAsync()
    run(commander, BasicJob(walk(depth)))
    assert [type(error) for _, error in commander.failures] == [RecursionTooDeepError]
    assert (commander.state, commander.children) == (NodeState.COMPLETED, [])


@pytest.mark.parametrize("which", ["at_job_start", "at_job_end", "at_commander_end"])
@pytest.mark.parametrize("error", [SystemExit("bye"), KeyboardInterrupt()])
def test_an_exit_in_a_callback_ends_the_run_and_comes_out_of_it(which: str, error: BaseException):
    commander = CommanderAsync()
    with pytest.raises(type(error)):
        run(commander, Calls(which, error))
    assert run(commander) is None, "it can run again"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_in_a_handler_ends_the_run_and_comes_out_of_it(error: BaseException):
    commander, failing = CommanderAsync(), raises(error)
    with pytest.raises(type(error)):
        run(commander, BasicJob(failing))
    assert failing.exception is error
    assert commander.children == []


@pytest.mark.parametrize("which", ["at_job_end", "at_commander_end"])
def test_an_error_that_is_no_exception_is_not_lost(which: str):
    commander, error, failing = CommanderAsync(), Last(), raises(Last("body"))
    job = Calls(which, error)
    run(commander, job, BasicJob(failing))
    assert {id(each) for _, each in commander.failures} == {id(error), id(failing.exception)}
    assert (job.state, failing.state) == (NodeState.COMPLETED, NodeState.EXCEPTION)


def test_a_listener_that_exits_at_an_end_does_not_hang():
    def listen(event: Event) -> None:
        if event.kind == "ended" and isinstance(event.node, Job):
            raise SystemExit("heard enough")

    commander = CommanderAsync()
    commander.listen(listen)
    with pytest.raises(SystemExit):
        run(commander, Calls("at_exception", Last()))


def test_what_a_job_does_to_its_task_does_not_reach_the_run():
    ran: list[str] = []

    async def fail() -> None:
        raise ValueError("planned")

    class Groups(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(fail())
            except* ValueError:
                ran.append("handled")

    class Next(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            ran.append("next")

    commander = CommanderAsync()
    run(commander, Groups(), Next())
    assert (ran, commander.failures) == (["handled", "next"], [])


def test_what_cannot_run_is_refused_where_it_is_named():
    class Unmarked(Job):
        async def task(self) -> None: ...

    with pytest.raises(NotTaskerError, match="Unmarked needs a task"):
        add_edge(Calls("at_job_end", Last()), Unmarked())
    for wrong in (3, None, walk, lambda: 0):
        with pytest.raises(NotHandlerError, match="a handler that was called"):
            BasicJob(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
