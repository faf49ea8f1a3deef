"""The commander and other threads, and what each way to exit leaves."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest

from trivium import CommanderAsync, Job
from trivium.commander import PASS_WORD, Callback, HandlerCoroutine, NodeState, tasker
from trivium.commander._callbacks import STAGES
from trivium.exceptions import CommanderNotRunError, FinishedNodeError, WouldDeadlockError

from ._helpers import GUARD, in_thread, join_all
from ._work import Beside, Do, doing, giving, outcome, run_jobs, steps, stuck


def noting(log: list[str], owner: str) -> Callback:
    stages: dict[str, Any] = {stage: partial(log.append, f"{owner} {stage}") for stage in STAGES}
    return Callback(**stages)


# ---- exits
def test_at_an_exit_the_task_finishes_handlers_are_cancelled_and_their_trees_end():
    log: list[str] = []
    queued, running, below, called = Do(lambda job: log.append("never")), stuck(), stuck(), stuck()

    async def above(me: HandlerCoroutine) -> None:
        me.call_handler(below)

    async def work(job: Job) -> str:
        await job.put_job(queued)
        job.call_handler(running)
        job.call_handler(doing(above))
        await steps()
        job.call_handler(called)  # its first step has not come yet
        await job.exit_commander(return_result="bye")
        assert (job.commander.running_status, job.state) == (False, NodeState.ACTIVE)
        await job.put_job(Do(lambda job: log.append("never")))
        job.call_handler(doing(lambda me: log.append("never")))
        await steps()
        log.append("finished")
        return "result"

    job, commander = Do(work), CommanderAsync()
    for node, owner in ((job, "job"), (running, "handler"), (commander, "commander")):
        node.add_callback(noting(log, owner))
    assert in_thread(lambda: commander.run(job)) == "bye"
    middle = log[1:-4]
    assert sorted(middle) == sorted(["handler at_handler_start", "handler at_terminate", "finished"])
    ends = ["job at_commander_end", "handler at_commander_end", "commander at_commander_end"]
    assert (log[0], log[-4], log[-3:]) == ("job at_job_start", "job at_job_end", ends)
    assert (job.state, job.result) == (NodeState.COMPLETED, "result")
    assert {node.state for node in (queued, running, below, called)} == {NodeState.TERMINATED}
    assert (commander.is_empty(), commander.failures, commander.children) == (True, [], [])


@pytest.mark.parametrize("by", ["awaited", "below"])
def test_what_the_current_task_awaits_finishes_with_it(by: str):
    async def leaves(me: HandlerCoroutine) -> str:
        await me.exit_commander(return_result="bye")
        await steps()
        return "finished"

    async def work(job: Job) -> Any:
        return await (doing(leaves) if by == "awaited" else doing(lambda me: inner()))

    async def inner() -> Any:
        return await doing(leaves)

    job, commander = Do(work), CommanderAsync(raise_errors=True)
    assert in_thread(lambda: commander.run(job)) == "bye"
    assert (job.result, job.state) == ("finished", NodeState.COMPLETED)


def test_an_exit_from_a_handler_lets_the_current_task_finish():
    async def work(job: Job) -> str:
        job.call_handler(doing(lambda me: me.exit_commander("bye")))
        await steps(9)
        return "finished"

    job = Do(work)
    assert in_thread(lambda: CommanderAsync().run(job)) == "bye"
    assert job.result == "finished"


def test_the_last_exit_names_the_result():
    async def work(job: Job) -> None:
        await job.exit_commander("first")
        await job.exit_commander("second")

    assert in_thread(lambda: CommanderAsync().run(Do(work))) == "second"


def test_after_an_exit_with_work_left_the_next_run_starts_empty():
    async def leaves(job: Job) -> None:
        for _ in range(3):
            await job.put_job(Do())
            job.call_handler(stuck())
        await job.exit_commander("bye")

    ran: list[str] = []
    commander = CommanderAsync()
    for _ in range(3):
        assert in_thread(lambda: commander.run(Do(leaves))) == "bye"
        assert in_thread(lambda: commander.run(Do(lambda job: ran.append("ran")), auto_exit=True)) is None
    assert ran == ["ran"] * 3


@pytest.mark.parametrize("what", ["job", "handler"])
def test_nothing_is_put_at_the_end_of_an_automatic_exit(what: str):
    async def at_end(task_node: CommanderAsync) -> None:
        if what == "job":
            await task_node.put_job(Do())
        task_node.call_handler(giving())

    commander = CommanderAsync()
    commander.add_callback_functions("at_commander_end", {"function": at_end, "inject_task_node": True})
    for _ in range(2):
        in_thread(lambda: commander.run(Do(), auto_exit=True))
        assert [type(error) for _, error in commander.failures] == [CommanderNotRunError]
        assert (commander.is_empty(), commander.state) == (True, NodeState.COMPLETED)


def test_an_exit_of_a_stopped_commander_keeps_the_result():
    commander = CommanderAsync[str]()
    in_thread(lambda: commander.exit("kept"))
    assert (commander.wait_for_exit(), commander.running_status) == ("kept", False)
    assert in_thread(lambda: commander.run(auto_exit=True)) is None


# ---- other threads
def test_an_exit_may_wait_for_the_end():
    beside = Beside(Do(lambda job: stuck()))
    assert (beside.commander.running_status, beside.commander.is_empty()) == (True, False)
    in_thread(lambda: beside.commander.exit(return_result="bye", wait=True))
    assert (beside.commander.running_status, beside.commander.is_empty()) == (False, True)
    assert beside.join() == "bye"


def test_an_exit_need_not_wait():
    begun, gate = threading.Event(), threading.Event()
    beside = Beside(Do(lambda job: (begun.set(), gate.wait(GUARD))[1]))
    assert begun.wait(GUARD)
    in_thread(lambda: beside.commander.exit(return_result="bye", wait=False))
    assert beside.thread.is_alive()
    gate.set()
    assert beside.join() == "bye"


def test_many_threads_wait_for_the_end():
    beside, results = Beside(), list[Any]()
    waiting = [lambda: results.append(beside.commander.wait_for_exit())] * 8
    join_all([*waiting, lambda: beside.commander.exit("bye")])
    assert (results, beside.join()) == (["bye"] * 8, "bye")


@pytest.mark.parametrize("place", ["task", "handler", "sync task", "tool thread"])
def test_the_run_itself_never_waits_for_its_own_end(place: str):
    def wait(node: Any) -> None:
        with pytest.raises(WouldDeadlockError):
            node.commander.wait_for_exit()
        node.commander.exit("bye", wait=True)

    class Plain(Job):
        @tasker(PASS_WORD)
        def task(self) -> None:
            wait(self)

    jobs: dict[str, Job] = {
        "task": Do(wait),
        "handler": Do(lambda job: doing(wait)),
        "sync task": Plain(),
        "tool thread": Do(lambda job: asyncio.to_thread(wait, job)),
    }
    commander = CommanderAsync()
    assert in_thread(lambda: commander.run(jobs[place])) == "bye"
    assert commander.failures == []


def test_jobs_of_one_thread_run_in_their_order():
    ran: list[int] = []
    beside = Beside(auto_exit=False)
    for number in range(200):
        beside.commander.put_job_threadsafe(Do(lambda job, number=number: ran.append(number)))
    beside.commander.put_job_threadsafe(Do(lambda job: job.exit_commander()))
    beside.join()
    assert ran == list(range(200))


def failing_job() -> Do:
    def fail(job: Any) -> None:
        raise ConnectionError("dead server")

    return Do(fail)


def test_a_run_without_an_end_goes_on_after_a_failure_where_other_threads_give_it_work():
    beside = Beside(auto_exit=False)
    beside.commander.put_job_threadsafe(failing_job())
    beside.commander.put_job_threadsafe(Do(lambda job: job.exit_commander("later")))
    assert beside.join() == "later"
    assert [type(error) for _, error in beside.commander.failures] == [ConnectionError]


def test_work_of_a_runs_own_threads_does_not_keep_it_waiting_for_an_end():
    """The document's chat with a dead server: it printed one line and hung."""

    class Plain(Job):
        @tasker(PASS_WORD)
        def task(self) -> None:
            self.commander.put_job_threadsafe(failing_job())

    commander = CommanderAsync()
    with pytest.raises(ConnectionError, match="dead server"):
        in_thread(lambda: commander.run(Plain()))
    assert (commander.running_status, commander.is_empty()) == (False, True)
    assert in_thread(lambda: commander.run(Do(lambda job: job.exit_commander("again")))) == "again"


def test_threads_put_below_any_node_that_lives():
    gate, seen = threading.Event(), list[Any]()
    holder = Do(lambda job: stuck())
    beside = Beside(holder, Do(lambda job: gate.set()))
    assert gate.wait(GUARD)
    done = threading.Semaphore(0)

    def note(node: Any) -> None:
        seen.append(node.parent)
        done.release()

    beside.commander.put_job_threadsafe(Do(note), parent=holder)
    beside.commander.call_handler_threadsafe(doing(note), parent=holder)
    holder.call_handler(doing(note))
    for _ in range(3):
        assert done.acquire(timeout=GUARD)
    beside.commander.exit()
    assert (seen, beside.join()) == ([holder] * 3, None)
    beside.commander.exit("late")
    with pytest.raises(CommanderNotRunError):
        beside.commander.put_job_threadsafe(Do(), parent=holder)


def test_a_thread_that_puts_below_what_has_ended_is_told_so():
    ended, gate = Do(), threading.Event()
    beside = Beside(ended, Do(lambda job: gate.set()))
    assert gate.wait(GUARD)
    for put in (
        lambda: beside.commander.put_job_threadsafe(Do(), parent=ended),
        lambda: beside.commander.call_handler_threadsafe(giving(), parent=ended),
    ):
        with pytest.raises(FinishedNodeError, match="cannot start below Do, which has ended"):
            in_thread(put)
    beside.commander.exit()
    beside.join()


def test_a_job_is_put_below_a_node_of_another_commander():
    seen: list[Any] = []
    gate = threading.Event()
    holder = Do(lambda job: stuck())
    beside = Beside(holder, Do(lambda job: gate.set()))
    assert gate.wait(GUARD)

    async def work(job: Job) -> None:
        child = Do(lambda child: seen.append((child.parent, child.commander, threading.current_thread())))
        await job.put_job(child, parent=holder)
        await job.put_job(Do(lambda child: child.exit_commander("bye")), parent=holder.commander)

    assert outcome(work) is None
    assert beside.join() == "bye"
    assert seen == [(holder, beside.commander, beside.thread)]


def test_a_job_for_a_commander_that_does_not_run_is_an_error_of_who_puts():
    other = CommanderAsync()

    async def work(job: Job) -> None:
        with pytest.raises(CommanderNotRunError, match=r"start it with run\(\)"):
            await job.put_job(Do(), parent=other)
        with pytest.raises(CommanderNotRunError):
            job.call_handler(giving(), parent=other)

    outcome(work)


# ---- run_auto
def test_run_auto_runs_where_nothing_runs_and_adds_where_something_does():
    ran: list[str] = []
    commander = CommanderAsync()
    assert in_thread(lambda: commander.run_auto([Do(lambda job: ran.append("first"))])) is True
    beside = Beside()
    assert in_thread(lambda: beside.commander.run_auto([Do(lambda job: ran.append("added"))])) is False
    assert beside.commander.run_auto(Do(lambda job: job.exit_commander("bye"))) is False
    assert (beside.join(), ran) == ("bye", ["first", "added"])


def test_run_auto_may_wait_for_an_exit():
    commander = CommanderAsync()
    job = Do(lambda job: doing(lambda me: me.exit_commander("bye")))
    assert in_thread(lambda: commander.run_auto(job, auto_exit=False)) is True
    assert commander.wait_for_exit() == "bye"


def test_run_auto_within_the_run_adds_to_it():
    added = Do(lambda job: "ran")
    assert outcome(lambda job: job.commander.run_auto(added)) is False
    assert added.result == "ran"
    assert run_jobs(Do()).failures == []


# ---- the end of an automatic exit
@pytest.mark.parametrize("make", [Do, doing], ids=["job", "handler"])
def test_what_is_posted_at_the_end_either_runs_or_is_refused(make: Callable[[Callable[[Any], None]], Any]):
    """Threads post, one after the other, while runs end by themselves: nothing is lost, nothing runs twice."""
    commander, stop = CommanderAsync(), threading.Event()
    taken: list[int] = []
    ran: list[int] = []

    def post(thread: int) -> None:
        done = threading.Semaphore(0)
        for number in count(thread, 2):
            if stop.is_set():
                return
            node = make(lambda me, number=number: (ran.append(number), done.release())[1])
            try:
                _post(commander, node)
            except CommanderNotRunError:
                continue
            taken.append(number)
            assert done.acquire(timeout=GUARD), "it was taken, and is lost"

    def runs() -> None:
        try:
            while len(taken) < 100:
                commander.run(Do(lambda job: asyncio.to_thread(int)), auto_exit=True)  # so that others get a chance
                assert (commander.failures, commander.is_empty()) == ([], True)
        finally:
            stop.set()

    join_all([runs, *(partial(post, thread) for thread in range(2))])
    assert sorted(ran) == sorted(taken)


class _Held:
    """A gate that one thread passes only in the next run."""

    def __init__(self, gate: Any) -> None:
        self.gate, self.reached, self.next_run = gate, threading.Event(), threading.Event()
        self.held: threading.Thread | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is self.held:
            self.reached.set()
            assert self.next_run.wait(GUARD)
        self.gate.acquire()

    def __exit__(self, *error: object) -> None:
        self.gate.release()


def test_what_is_posted_while_the_run_changes_is_run_by_the_next():
    commander = CommanderAsync()
    gate = _Held(commander._gate)
    vars(commander)["_gate"] = gate
    posted = doing(lambda me: me.exit_commander("bye"))

    def post() -> None:
        gate.held = threading.current_thread()
        commander.call_handler_threadsafe(posted)

    def runs() -> None:
        thread = threading.Thread(target=post, daemon=True)
        commander.run(Do(lambda job: (thread.start(), asyncio.to_thread(gate.reached.wait, GUARD))[1]), auto_exit=True)
        assert commander.run(Do(lambda job: gate.next_run.set())) == "bye"

    in_thread(runs)


def _post(commander: CommanderAsync, node: Job | HandlerCoroutine) -> None:
    if isinstance(node, Job):
        commander.put_job_threadsafe(node)
    else:
        commander.call_handler_threadsafe(node)


def test_a_commander_is_not_empty_as_long_as_it_has_not_begun_what_a_thread_has_put():
    seen: list[tuple[int, bool]] = []

    async def later(job: Job) -> None:
        loop = asyncio.get_running_loop()

        def look() -> None:  # on the loop of the run, which cannot begin anything meanwhile
            thread = threading.Thread(target=lambda: commander.put_job_threadsafe(Do(lambda job: job.exit_commander())))
            thread.start()
            thread.join(GUARD)
            seen.append((commander.children_num, commander.is_empty()))

        loop.call_later(0.01, look)

    commander = CommanderAsync()
    in_thread(lambda: commander.run(Do(later)))
    assert (seen, commander.is_empty()) == ([(0, False)], True)
