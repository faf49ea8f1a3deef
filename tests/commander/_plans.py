"""Random plans of runs: what each node does, how it ends, and all that a run of the plan leaves to be seen."""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Literal, get_args

from hypothesis import strategies as st

from trivium import Agent, ChatAgent, CommanderAsync, Event, Job, Message, Module, Task
from trivium.commander import (
    PASS_WORD,
    Callback,
    HandlerCoroutine,
    TaskNode,
    ThreadEvent,
    driver_neutral,
    handler,
    run_sync,
    tasker,
    wait,
)
from trivium.commander._callbacks import STAGES, Stage
from trivium.commander._work import WorkNode
from trivium.commander._workers import post
from trivium.exceptions import RunKilledError
from trivium.tasks import SEND_TO
from trivium.testing import ScriptedModel, call_tool

from ._helpers import GUARD, here

Work = Literal["job", "sync job", "started", "returned", "awaited", "thread job", "thread handler"]
Call = Literal["sync", "async", "core", "agent", "task"]
End = Literal["ok", "fail", "kill", "kill parent", "kill root", "exit", "close parent", "terminate parent"]
Tries = Literal["once", "retries", "timeout"]
How = Literal["sync", "async", "raise", "start", "kill"]

WORK: Sequence[Work] = get_args(Work)
CALLS: Sequence[Call] = get_args(Call)
POLICIES: dict[Tries, dict[str, Any]] = {"once": {}, "retries": {"retries": 1}, "timeout": {"timeout": 0.01}}
CALM: Sequence[End] = ("ok", "ok", "fail")
WILD: Sequence[End] = ("ok",) * 4 + get_args(End)


class Planned(Exception):
    """An error that a plan wants; each is an object of its own."""


@dataclass(frozen=True)
class Plan:
    """What a node does: what it starts, whether it minds the errors of what it awaits, and how it ends."""

    kind: Work | Call
    end: End = "ok"
    below: tuple[Plan, ...] = ()
    catches: bool = True
    tries: Tries = "once"
    callbacks: tuple[tuple[Stage, How], ...] = ()


@dataclass(frozen=True)
class Kill:
    """At the event of this number, the node that is so many levels above where it happens is killed."""

    at: int
    up: int


@dataclass(frozen=True)
class Story:
    """A whole run."""

    plan: Plan
    max_running: int | None = None
    kills: tuple[Kill, ...] = ()


def plans(work: Sequence[Work] = WORK, ends: Sequence[End] = WILD) -> st.SearchStrategy[Plan]:
    """Trees of plans below a job; calls start work too, as a tool does."""
    stages: st.SearchStrategy[Stage] = st.sampled_from(STAGES[:4] + STAGES[5:])
    hows: Sequence[How] = get_args(How) if ends is WILD else ("sync", "async", "raise")
    tries: Sequence[Tries] = ("once",) * 4 + get_args(Tries) if ends is WILD else ("once", "once", "retries")
    pairs = st.tuples(stages, st.sampled_from(hows))
    callbacks = st.lists(pairs, max_size=2).map(tuple)

    def node(below: st.SearchStrategy[tuple[Plan, ...]]) -> st.SearchStrategy[Plan]:
        end, mind = st.sampled_from(ends), st.booleans()
        works = st.builds(Plan, st.sampled_from(work), end, below, mind, st.sampled_from(tries), callbacks)
        return works | st.builds(Plan, st.sampled_from(CALLS), end, below, mind)

    inner = st.recursive(node(st.just(())), lambda one: node(st.lists(one, max_size=3).map(tuple)), max_leaves=10)
    return st.lists(inner, min_size=1, max_size=4).map(lambda below: Plan("job", below=tuple(below)))


stories = st.builds(
    Story,
    plans(),
    st.sampled_from((None, None, 1, 2)),
    st.lists(st.builds(Kill, st.integers(1, 40), st.integers(0, 5)), max_size=2).map(tuple),
)


class Played:
    """A run of a story, and what was seen of it.

    Args:
        story: what is to happen.
        killer: runs the kills, and lets them come from any thread; by default each is made between two steps of
            the loop, so that what had been told to stop by when is certain.

    Attributes:
        events: all events, each with the parent that the node had at that moment.
        stages: (node, what was called, whether it had been told to stop by then), where "body" is its function.
        raised: each planned error, and the node whose code raised it.
        caught: the errors that awaiting code was given and kept.
    """

    def __init__(self, story: Story, killer: Callable[[Callable[[], None]], object] | None = None) -> None:
        self.story, self._killer = story, killer
        self._on_the_loop = killer is None
        self.events: list[tuple[Event, TaskNode | None]] = []
        self.stages: list[tuple[TaskNode, str, bool]] = []
        self.raised: list[tuple[Planned, TaskNode]] = []
        self.caught: list[Exception] = []
        self.refused: list[Exception] = []
        self.tasks_left: set[asyncio.Task[Any]] = set()
        self._failed_once: set[TaskNode] = set()
        self._threads: list[threading.Thread] = []
        quiet = logging.Logger("quiet", logging.CRITICAL)
        self.commander = CommanderAsync(logger=quiet, max_running=story.max_running)
        self.commander.listen(self._hear)

    async def run(self) -> Played:
        """Play it to its end."""
        root = self._job(self.story.plan)
        with suppress(RunKilledError):
            await self.commander.run_async(root, auto_exit=True)
        self.tasks_left = asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]
        for thread in self._threads:
            await asyncio.to_thread(thread.join, GUARD)
            assert not thread.is_alive(), "a thread that posts hangs"
        return self

    def _hear(self, event: Event) -> None:
        self.events.append((event, event.node._parent))
        for kill in self.story.kills:
            if kill.at == len(self.events):
                chain = event.node.ancestor_chain
                act = partial(self._kill, chain[min(kill.up, len(chain) - 1)], "by an event")
                _ = act() if self._killer is None else self._killer(act)

    def _kill(self, node: TaskNode, reason: str) -> None:
        loop = self.commander._loop
        if loop is not None and self._on_the_loop:
            post(loop, node.kill, reason)
        else:
            node.kill(reason)

    # ---- making nodes
    def _job(self, plan: Plan) -> Job:
        async def task(job: Job) -> Any:
            return await self._body(plan, job)

        def sync_task(job: Job) -> Any:
            return self._sync_body(plan, job)

        mark = tasker(PASS_WORD, **POLICIES[plan.tries])
        kind = type(plan.kind, (Job,), {"task": mark(sync_task if plan.kind == "sync job" else task)})
        return self._hang_on(plan, kind())

    def _handler(self, plan: Plan) -> HandlerCoroutine[Any]:
        async def planned(self_handler: HandlerCoroutine[Any]) -> Any:
            return await self._body(plan, self_handler)

        planned.__name__ = plan.kind
        return self._hang_on(plan, handler(PASS_WORD, **POLICIES[plan.tries])(planned)())

    def _hang_on(self, plan: Plan, node: Any) -> Any:
        notes: dict[str, Any] = {stage: partial(self._note, node, stage) for stage in STAGES}
        node.add_callback(Callback(**notes))
        for stage, how in plan.callbacks:
            node.add_callback_functions(stage, partial(getattr(self, f"_callback_{how}"), node))
        return node

    def _note(self, node: TaskNode, what: str) -> None:
        self.stages.append((node, what, node._stopping is not None))

    # ---- what callbacks do
    def _callback_sync(self, node: WorkNode) -> None: ...

    async def _callback_async(self, node: WorkNode) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    def _callback_raise(self, node: WorkNode) -> None:
        self._fail(node)

    def _callback_kill(self, node: WorkNode) -> None:
        self._kill(node, "by a callback")

    async def _callback_start(self, node: WorkNode) -> None:
        try:
            await node.put_job(self._job(Plan("job")))
            node.call_handler(self._handler(Plan("started")))
        except Exception as error:  # the node has ended, or never began
            self.refused.append(error)

    # ---- what bodies do
    def _fail(self, node: TaskNode) -> None:
        error = Planned()
        self.raised.append((error, node))
        raise error

    def _keep(self, plan: Plan, error: Exception) -> None:
        if not plan.catches:
            raise error
        self.caught.append(error)

    async def _body(self, plan: Plan, node: TaskNode) -> Any:
        if isinstance(node, WorkNode):
            self._note(node, "body")
        returned = None
        for each in plan.below:
            try:
                if each.kind == "returned" and returned is None and isinstance(node, WorkNode):
                    returned = self._handler(each)
                elif each.kind == "awaited" and isinstance(node, WorkNode):
                    await self._handler(each)
                elif each.kind in ("job", "sync job"):
                    await node.put_job(self._job(each))
                elif each.kind in CALLS:
                    await self._called(each).acall("x")
                else:
                    self._begin(each, node)
            except Exception as error:
                self._keep(plan, error)
        if plan.tries == "timeout":
            await asyncio.get_running_loop().create_future()
        holder = self._ending(plan, node)
        if holder is not None:
            await (holder.close_task_node() if plan.end == "close parent" else holder.terminate_task_node())
        return returned

    def _sync_body(self, plan: Plan, node: TaskNode) -> None:
        """The same in a worker."""
        if isinstance(node, WorkNode):
            self._note(node, "body")
        for each in plan.below:
            try:
                if each.kind in ("job", "sync job"):
                    node.commander.put_job_threadsafe(self._job(each), node)
                elif each.kind in CALLS:
                    self._called(each)("x")
                else:
                    self._begin(each, node)
            except Exception as error:
                self._keep(plan, error)
        if plan.tries == "timeout":
            run_sync(wait, event=ThreadEvent())
        self._ending(plan, node)

    def _begin(self, plan: Plan, node: TaskNode) -> None:
        if not plan.kind.startswith("thread"):
            node.call_handler(self._handler(plan))
            return

        def post() -> None:
            commander = self.commander
            try:
                if plan.kind == "thread job":
                    commander.put_job_threadsafe(self._job(plan), node._holder())
                else:
                    commander.call_handler_threadsafe(self._handler(plan), node._holder())
            except Exception as error:  # the node or the whole run was over first
                self.refused.append(error)

        self._threads.append(threading.Thread(target=post, daemon=True))
        self._threads[-1].start()

    def _ending(self, plan: Plan, node: TaskNode) -> WorkNode | None:
        """End as planned; a node above that is still to be closed or terminated is given back."""
        if plan.tries == "retries" and node not in self._failed_once:
            self._failed_once.add(node)
            self._fail(node)
        above = node._parent
        holder = above._holder() if above is not None else self.commander
        if plan.end == "fail":
            self._fail(node)
        elif plan.end == "kill":
            self._kill(node, "by itself")
        elif plan.end == "kill parent":
            self._kill(holder, "by a child")
        elif plan.end == "kill root":
            self._kill(self.commander, "by a node")
        elif plan.end == "exit":
            self.commander.exit(wait=False)
        elif plan.end != "ok" and holder is not self.commander:
            return holder
        return None

    # ---- calls
    def _called(self, plan: Plan) -> Module:
        if plan.kind in ("agent", "task"):
            return self._agent(plan)
        return Planning(plan.kind, self, plan)

    def _agent(self, plan: Plan) -> Module:
        numbers = count()

        async def work() -> str:
            try:
                await self._body(plan, here())
            except Exception as error:  # told to the model
                self.caught.append(error)
                raise
            return "worked"

        def sync_work() -> str:
            try:
                self._sync_body(plan, here())
            except Exception as error:
                self.caught.append(error)
                raise
            return "worked"

        tool = work if plan.catches else sync_work
        model = ScriptedModel(lambda request: call_tool(tool.__name__) if next(numbers) == 0 else "DONE ok")
        if plan.kind == "agent":
            return Agent(model, tools=[tool], name="agent")
        inner = Task(ChatAgent(model, tools=[tool], name="inner"), interactive=False)
        outer = Task(ChatAgent(ScriptedModel([f"{SEND_TO}inner go", "DONE ok"]), name="outer"), interactive=False)
        outer.add_sub_task(inner)
        return outer


class Planning(Module):
    """A call that does what its plan says, in each form of `forward`."""

    def __init__(self, kind: str, played: Played, plan: Plan) -> None:
        super().__init__(name=kind)

        def by_def(message: Message) -> str:
            played._sync_body(plan, here())
            return "ok"

        async def by_async_def(message: Message) -> str:
            await played._body(plan, here())
            return "ok"

        self.forward = {"sync": by_def, "async": by_async_def, "core": driver_neutral(by_async_def)}[kind]
