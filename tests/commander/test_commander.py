"""The commander: how a run begins and ends, in which thread, and that it can be run again."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from trivium import CommanderAsync, Event, Job, Message, Module, this_call
from trivium.commander import PASS_WORD, BasicJob, HandlerCoroutine, NodeState, handler, tasker
from trivium.exceptions import CommanderAlreadyRunningError, CommanderNotRunError, RunKilledError

from ._helpers import GUARD, Entry, every_entry, here, in_thread
from ._work import giving


@handler(PASS_WORD)
async def stuck(self_handler: HandlerCoroutine, log: list[str]) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await asyncio.sleep(0)
        log.append("cleaned up")


class Exits(Job):
    """Starts a handler that never ends by itself, and leaves work in the queue."""

    def __init__(self, log: list[str], below: Job | None = None) -> None:
        super().__init__()
        self.log, self.below = log, below

    @tasker(PASS_WORD)
    async def task(self) -> None:
        if self.below is not None:
            await self.put_job(self.below)
        self.call_handler(stuck(self.log))
        await asyncio.sleep(0)
        await self.exit_commander(return_result="bye")


class Waits(Job):
    """Says where it runs, and lets others act until somebody exits."""

    def __init__(self) -> None:
        super().__init__()
        self.up = threading.Event()

    @tasker(PASS_WORD)
    async def task(self) -> None:
        self.up.set()


class Beside:
    """A commander that runs in a thread of its own."""

    def __init__(self) -> None:
        self.commander, job = CommanderAsync(), Waits()
        self.outcome: list[Any] = []
        self.thread = threading.Thread(target=lambda: self.outcome.append(self.commander.run(job)), daemon=True)
        self.thread.start()
        assert job.up.wait(GUARD)

    def join(self) -> Any:
        self.thread.join(GUARD)
        assert not self.thread.is_alive(), "the commander hangs"
        return self.outcome[0]


# ---- the end
def test_without_work_an_auto_exit_is_immediate():
    commander = CommanderAsync()
    assert commander.run(auto_exit=True) is None
    assert commander.state is NodeState.COMPLETED


def test_exit_drops_what_is_queued_and_cancels_what_runs():
    log: list[str] = []
    dropped = Waits()
    commander = CommanderAsync()
    assert commander.run(Exits(log, below=dropped)) == "bye"
    assert log == ["cleaned up"]
    assert not dropped.up.is_set()
    assert dropped.state is NodeState.TERMINATED
    assert (commander.state, commander.is_empty(), commander.failures) == (NodeState.COMPLETED, True, [])


def test_a_commander_can_run_again_and_keeps_nothing():
    commander, log = CommanderAsync(), list[str]()
    for _ in range(3):
        assert commander.run(Exits(log)) == "bye"
        assert commander.run(Waits(), auto_exit=True) is None
    assert log == ["cleaned up"] * 3
    assert commander.children == []


def test_after_a_kill_it_runs_again():
    class Kills(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            self.commander.kill("enough")

    commander = CommanderAsync()
    with pytest.raises(RunKilledError, match="enough"):
        commander.run(Kills())
    assert (commander.state, str(commander.exception)) == (NodeState.TERMINATED, "commander#0 was stopped: enough")
    assert commander.run(Exits([])) == "bye"
    assert (commander.state, commander.exception) == (NodeState.COMPLETED, None)


def test_a_run_that_could_not_begin_says_why_and_leaves_the_commander_usable():
    class Unmarked(Job):
        async def task(self) -> None: ...

    commander, queued = CommanderAsync(), Waits()
    with pytest.raises(TypeError, match="Unmarked needs a task"):
        commander.run([queued, Unmarked()])
    assert not queued.up.is_set()
    assert (commander.state, commander.children) == (NodeState.EXCEPTION, [])
    assert commander.run(Exits([])) == "bye"


def test_a_cancelled_run_ends_its_handlers_and_is_terminated():
    log: list[str] = []
    commander = CommanderAsync()

    class Starts(Job):
        @tasker(PASS_WORD)
        async def task(self) -> HandlerCoroutine:
            return stuck(log)

    async def main() -> None:
        run = asyncio.create_task(commander.run_async(Starts()))
        while not commander.children:  # noqa: ASYNC110 - one step of the loop each
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert commander.state is NodeState.TERMINATED
    assert commander.is_empty()


# ---- where it runs
def test_a_second_run_at_the_same_time_is_refused():
    beside = Beside()
    with pytest.raises(CommanderAlreadyRunningError, match="put_job_threadsafe"):
        beside.commander.run()
    with pytest.raises(CommanderAlreadyRunningError):
        asyncio.run(beside.commander.run_async())
    beside.commander.exit("first")
    assert beside.join() == "first"


def test_a_run_within_itself_is_refused():
    caught: list[str] = []

    class Again(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            try:
                self.commander.run()
            except CommanderAlreadyRunningError as error:
                caught.append(type(error).__name__)

    CommanderAsync().run(Again(), auto_exit=True)
    assert caught == ["CommanderAlreadyRunningError"]


def test_it_runs_inside_a_running_loop():
    async def main() -> tuple[Any, Any]:
        return CommanderAsync().run(Exits([])), await CommanderAsync().run_async(Exits([]))

    assert asyncio.run(main()) == ("bye", "bye")


def test_it_runs_inside_a_job_of_another():
    class Outer(Job):
        @tasker(PASS_WORD)
        async def task(self) -> tuple[Any, Any]:
            return await CommanderAsync(name="inner").run_async(Exits([])), CommanderAsync(name="inner").run(Exits([]))

    outer = Outer()
    CommanderAsync().run(outer, auto_exit=True)
    assert outer.result == ("bye", "bye")


# ---- other threads
def test_other_threads_put_jobs_call_handlers_and_exit():
    beside, ran, noted = Beside(), list[str](), threading.Semaphore(0)

    class Noting(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            note()

    @handler(PASS_WORD)
    async def noting(self_handler: HandlerCoroutine) -> None:
        note()

    def note() -> None:
        ran.append(threading.current_thread().name)
        noted.release()

    beside.commander.put_job_threadsafe(Noting())
    beside.commander.call_handler_threadsafe(noting())
    assert noted.acquire(timeout=GUARD)
    assert noted.acquire(timeout=GUARD)
    beside.commander.exit("done")
    assert beside.join() == "done"
    assert ran == [beside.thread.name] * 2


def test_what_needs_a_running_commander_says_so():
    commander = CommanderAsync()
    commander.run(auto_exit=True)
    for use in (
        lambda: commander.put_job_threadsafe(Waits()),
        lambda: commander.call_handler_threadsafe(stuck([])),
    ):
        with pytest.raises(CommanderNotRunError, match=r"start it with run\(\)"):
            use()


def test_a_bad_job_from_another_thread_is_an_error_there():
    class Unmarked(Job):
        async def task(self) -> None: ...

    beside = Beside()
    with pytest.raises(TypeError, match="Unmarked needs a task"):
        beside.commander.put_job_threadsafe(Unmarked())
    beside.commander.exit()
    beside.join()


def test_exit_before_a_run_does_not_stop_the_next():
    commander = CommanderAsync()
    commander.exit("early")
    assert commander.run(Exits([])) == "bye"


def test_a_hundred_commanders_at_once():
    async def main() -> list[Any]:
        return await asyncio.gather(*[CommanderAsync().run_async(Exits([])) for _ in range(100)])

    assert asyncio.run(main()) == ["bye"] * 100
    assert in_thread(lambda: CommanderAsync().run(Exits([]))) == "bye"


# ---- calls and jobs nest
@every_entry
def test_a_commander_below_a_call_inherits_what_the_call_has(entry: Entry):
    events: list[str] = []

    def note(event: Event) -> None:
        events.append(f"{event.kind} {event.name}")

    class Asks(Job):
        @tasker(PASS_WORD)
        async def task(self) -> Any:
            answer = await Leaf().acall("x")
            await self.exit_commander(answer.content)

    class Leaf(Module):
        def forward(self, message: Message) -> str:
            return f"{this_call().session_id} {this_call().context} {here()._path()}"

    class Outer(Module):
        def forward(self, message: Message) -> str:
            return CommanderAsync[str]().run(Asks()) or ""

    out = entry(Outer(), "x", session_id="s", context=7, listeners=[note])
    assert out.content == "s 7 Outer#0/commander#0/Asks#0/Leaf#0"
    assert events[:2] == ["started Outer", "started commander"]
    assert events[-2:] == ["ended commander", "ended Outer"]


def test_listeners_hear_every_run():
    kinds: list[str] = []
    commander = CommanderAsync()
    remove = commander.listen(lambda event: kinds.append(f"{event.kind} {event.name}"))
    expected = ["started commander", "queued Waits", "started Waits", "ended Waits", "ended commander"]
    for _ in range(2):
        kinds.clear()
        commander.run(Waits(), auto_exit=True)
        assert kinds == expected
    remove()
    kinds.clear()
    commander.run(Waits(), auto_exit=True)
    assert kinds == []


@pytest.mark.parametrize("make", [Waits, giving])
def test_a_job_or_handler_that_was_given_a_listener_is_heard_in_each_run(make: Callable[[], Any]):
    node, kinds, others = make(), list[str](), list[str]()

    def hear(event: Event[Any]) -> None:
        kinds.append(event.kind)

    node.listen(hear)
    for _ in range(2):
        commander = CommanderAsync()
        commander.listen(lambda event: others.append(event.kind) if event.node is node else None)
        commander.run(node if isinstance(node, Job) else BasicJob(node), auto_exit=True)
    assert (kinds, others) == (["queued", "started", "ended"] * 2, ["queued", "started", "ended"] * 2)


@pytest.mark.parametrize("make", [Waits, giving])
def test_a_job_or_handler_that_is_put_again_is_not_heard_by_the_call_before(make: Callable[[], Any]):
    node, heard = make(), list[str]()

    class Runs(Module):
        async def forward(self, message: Message) -> str:
            await CommanderAsync().run_async(node if isinstance(node, Job) else BasicJob(node), auto_exit=True)
            return ""

    for name in ("first", "second", "third"):
        heard.clear()
        Runs()("x", listeners=[lambda event, name=name: heard.append(name) if event.node is node else None])
        assert heard == [name] * 3


def test_a_listener_that_is_registered_twice_is_removed_once():
    kinds, commander = list[str](), CommanderAsync()
    remove, _ = commander.listen(listener := lambda event: kinds.append(event.kind)), commander.listen(listener)
    remove()
    remove()
    commander.run((), auto_exit=True)
    assert kinds == ["started", "ended"]


def test_each_run_has_an_identity_of_its_own():
    ids: list[tuple[str, str]] = []

    class Reads(Job):
        @tasker(PASS_WORD)
        async def task(self) -> None:
            for _ in range(2):
                await Reader().acall("x")

    class Reader(Module):
        def forward(self, message: Message) -> None:
            ids.append((this_call().run_id, this_call().key))

    commander = CommanderAsync()
    for _ in range(2):
        commander.run(Reads(), auto_exit=True)
    runs, keys = zip(*ids, strict=True)
    assert runs[0] == runs[1] != runs[2] == runs[3]
    assert keys[0] != keys[1]
    assert keys[:2] == keys[2:]
