"""How much runs and waits at once: exact limits, kept order, and no deadlock."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import HandlerCoroutine, NodeState
from trivium.exceptions import CommanderNotRunError, ConfigurationError, RunKilledError

from ._helpers import GUARD, in_thread, join_all
from ._work import Beside, Do, doing, outcome, run, run_jobs, steps, stuck


class Meter:
    """Counts who is inside."""

    def __init__(self) -> None:
        self.inside = self.peak = 0
        self.order: list[int] = []

    async def visit(self, number: int, node: Any) -> None:
        self.order.append(number)
        self.inside += 1
        self.peak = max(self.peak, self.inside)
        await steps(3)
        self.inside -= 1

    def visits(self, count: int) -> list[HandlerCoroutine]:
        return [doing(partial(self.visit, number)) for number in range(count)]


# ---- handlers at once
@pytest.mark.parametrize("limit", [1, 2, 7, 50])
def test_at_most_so_many_handlers_run_and_in_the_order_of_their_calls(limit: int):
    meter = Meter()

    def work(job: Job) -> None:
        for each in meter.visits(50):
            job.call_handler(each)

    commander, _ = run(work, max_running=limit)
    assert (meter.peak, meter.order, commander.failures) == (limit, list(range(50)), [])


def test_handlers_that_fail_or_are_stopped_give_their_places_back():
    meter = Meter()
    left = doing(lambda me: me.kill("enough"))
    fails, waiting = doing(lambda me: 1 / 0), stuck()

    async def work(job: Job) -> None:
        for each in (left, fails, waiting, *meter.visits(9)):
            job.call_handler(each)
        await steps(9)
        waiting.kill("enough")

    run(work, max_running=1)
    assert (meter.peak, meter.order) == (1, list(range(9)))


def test_one_that_is_stopped_while_it_waits_for_its_turn_never_runs_and_ends_at_once():
    ran: list[str] = []
    holding, waiting = stuck(), doing(lambda me: ran.append("never"))
    waiting.add_callback_functions("at_terminate", lambda: ran.append("at_terminate"))

    async def work(job: Job) -> None:
        job.call_handler(holding)
        job.call_handler(waiting)
        await steps()
        waiting.kill("enough")
        assert waiting.state is NodeState.TERMINATED
        await steps()
        assert (waiting.children, type(waiting.exception)) == ([], RunKilledError)
        holding.kill("enough")

    assert run(work, max_running=1)[1].exception is None
    assert ran == ["at_terminate"]


def test_handlers_below_handlers_wait_for_their_turn_and_none_for_another():
    async def nest(me: HandlerCoroutine, depth: int) -> int:
        for _ in range(2 if depth else 0):
            me.call_handler(doing(lambda me: nest(me, depth - 1)))
        ran.append(depth)
        return depth

    ran: list[int] = []
    run(lambda job: doing(lambda me: nest(me, 6)), max_running=1)
    assert len(ran) == 2**7 - 1


@pytest.mark.parametrize("end", ["exit", "kill"])
def test_at_the_end_of_the_run_those_that_wait_for_their_turn_end_too(end: str):
    waiting = [stuck() for _ in range(9)]
    commander = CommanderAsync(max_running=1)

    async def work(job: Job) -> None:
        for each in waiting:
            job.call_handler(each)
        await steps()
        if end == "exit":
            await job.exit_commander("bye")
        else:
            commander.kill("enough")

    job = Do(work)
    if end == "exit":
        assert in_thread(lambda: commander.run(job)) == "bye"
    else:
        with pytest.raises(RunKilledError, match="enough"):
            in_thread(lambda: commander.run(job))
    assert {each.state for each in waiting} == {NodeState.TERMINATED}
    assert commander.is_empty()
    meter = Meter()
    in_thread(lambda: commander.run([Do(lambda job, each=each: each) for each in meter.visits(3)], auto_exit=True))
    assert (meter.peak, meter.order) == (1, [0, 1, 2]), "the next run has all its places"


def test_calls_from_threads_are_limited_too():
    meter, beside = Meter(), Beside(max_running=2)
    visits = meter.visits(40)
    done = threading.Semaphore(0)
    for each in visits:
        each.add_callback_functions("at_handler_end", lambda: done.release())
    join_all([partial(beside.commander.call_handler_threadsafe, each) for each in visits])
    for _ in visits:
        assert done.acquire(timeout=GUARD)
    beside.commander.exit()
    beside.join()
    assert meter.peak <= 2
    assert sorted(meter.order) == list(range(40))


# ---- jobs in the queue
def watched(commander: CommanderAsync) -> list[int]:
    """How many jobs wait, noted each time one more does."""
    lengths: list[int] = []
    commander.listen(lambda event: lengths.append(len(commander._queue) + 1) if event.kind == "queued" else None)
    return lengths


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_handler_waits_for_room_in_the_queue_and_the_order_is_kept(limit: int):
    ran: list[int] = []
    commander = CommanderAsync(max_queued=limit)
    lengths: list[int] = []

    async def puts(me: HandlerCoroutine) -> None:
        for number in range(20):
            await me.put_job(Do(lambda job, number=number: ran.append(number)))
            lengths.append(len(commander._queue))

    in_thread(lambda: commander.run(Do(lambda job: doing(puts)), auto_exit=True))
    assert ran == list(range(20))
    assert max(lengths) == limit


def test_the_body_of_a_job_never_waits_for_room_for_it_empties_the_queue_itself():
    ran: list[int] = []

    async def work(job: Job) -> None:
        async def puts(me: Any) -> None:
            for number in range(10):
                await me.put_job(Do(lambda job, number=number: ran.append(number)))

        await puts(job)
        await doing(puts)

    outcome(work, max_queued=1)
    assert ran == list(range(10)) * 2


@pytest.mark.parametrize("when", ["before it waits", "while it waits"])
def test_a_handler_that_the_current_job_awaits_does_not_wait_for_room(when: str):
    async def puts(me: HandlerCoroutine) -> str:
        for _ in range(9):
            await me.put_job(Do())
        return "all put"

    async def joins(me: HandlerCoroutine) -> str:
        return await putting

    putting = doing(puts)

    async def work(job: Job) -> Any:
        job.call_handler(putting)
        through = doing(joins)
        job.call_handler(through)
        await steps(0 if when == "before it waits" else 9)
        return await through

    assert outcome(work, max_queued=1) == "all put"


def test_a_run_within_a_job_may_put_into_the_run_around_it():
    ran: list[str] = []

    async def work(job: Job) -> None:
        async def puts(me: HandlerCoroutine) -> None:
            for _ in range(5):
                await job.put_job(Do(lambda job: ran.append("outer")))

        await CommanderAsync().run_async(Do(lambda inner: doing(puts)), auto_exit=True)

    outcome(work, max_queued=1)
    assert ran == ["outer"] * 5


def test_threads_wait_for_room_and_the_limit_is_exact():
    gate, running = threading.Event(), threading.Event()
    commander, ran = CommanderAsync(max_queued=3), list[int]()
    lengths = watched(commander)

    def hold(job: Job) -> None:
        running.set()
        assert gate.wait(GUARD)

    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(commander.run(Do(hold))), daemon=True)
    thread.start()
    assert running.wait(GUARD)

    def puts(first: int) -> None:
        for number in range(first, first + 10):
            commander.put_job_threadsafe(Do(lambda job, number=number: ran.append(number)))

    putting = threading.Thread(target=lambda: join_all([partial(puts, 10 * n) for n in range(4)]), daemon=True)
    putting.start()
    while len(commander._posted) < 3:
        assert putting.is_alive()
    assert len(commander._posted) == 3, "the loop is held: three were taken, and no thread gets further"
    gate.set()
    putting.join(GUARD)
    assert not putting.is_alive(), "a thread hangs"
    commander.put_job_threadsafe(Do(lambda job: job.exit_commander("bye")))
    thread.join(GUARD)
    assert (outcomes, sorted(ran)) == (["bye"], list(range(40)))
    assert max(lengths) <= 3
    for first in range(0, 40, 10):
        own = [number for number in ran if first <= number < first + 10]
        assert own == sorted(own), "jobs of one thread stay in their order"


@pytest.mark.parametrize("end", ["exit", "kill"])
@pytest.mark.parametrize("who", ["thread", "handler"])
def test_who_waits_for_room_is_let_go_at_the_end_of_the_run(end: str, who: str):
    commander = CommanderAsync(max_queued=1)
    full, results = threading.Event(), list[str]()

    def put() -> None:
        try:
            commander.put_job_threadsafe(Do())
            results.append("dropped")
        except CommanderNotRunError:
            results.append("refused")

    async def puts(me: HandlerCoroutine) -> None:
        for _ in range(3):
            await me.put_job(Do())

    async def work(job: Job) -> None:
        if who == "handler":
            job.call_handler(doing(puts))
        await job.put_job(Do())
        full.set()
        await steps(9)
        await asyncio.sleep(0.05)  # by now the thread waits too
        assert results == []
        (commander.exit if end == "exit" else commander.kill)("bye")

    def runs() -> None:
        try:
            commander.run(Do(work))
        except RunKilledError:
            results.append("killed")

    def puts_when_full() -> None:
        assert full.wait(GUARD)
        put()

    join_all([runs, puts_when_full] if who == "thread" else [runs])
    assert ("killed" in results) == (end == "kill")
    assert len(results) == (who == "thread") + (end == "kill")
    assert commander.is_empty()


def test_a_job_that_is_stopped_in_the_queue_gives_its_room():
    queued = Do(lambda job: "never")

    async def puts(me: HandlerCoroutine) -> None:
        await me.put_job(Do(lambda job: job.exit_commander("bye")))

    async def work(job: Job) -> None:
        await job.put_job(queued)
        job.commander.call_handler(doing(puts))
        await steps()
        queued.kill("enough")

    assert in_thread(lambda: CommanderAsync(max_queued=1).run(Do(work))) == "bye"
    assert queued.state is NodeState.TERMINATED


@pytest.mark.parametrize("name", ["max_running", "max_queued"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3"])
def test_a_limit_that_cannot_be_is_refused(name: str, value: Any):
    make: Callable[..., Any] = CommanderAsync
    with pytest.raises(ConfigurationError, match="1 or more; None is no limit"):
        make(**cast("Any", {name: value}))


def test_both_limits_together():
    meter = Meter()

    async def puts(me: HandlerCoroutine) -> None:
        for each in meter.visits(20):
            await me.put_job(Do(lambda job, each=each: each))

    commander = run_jobs(Do(lambda job: doing(puts)), max_running=2, max_queued=2)
    assert (commander.failures, meter.order) == ([], list(range(20)))
    assert meter.peak <= 2
