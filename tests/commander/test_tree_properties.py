"""Any tree of jobs, handlers, calls and tasks, under failures, kills, exits, timeouts, retries and threads.

The plans are the same in each run, so that a change is judged by what it changed; take `derandomize` away to search.
"""

# These tests look at the internals of nodes, which are underscored since a user's `Job` is a node.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import gc
import logging
import queue
import re
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from trivium.commander import NodeState, TaskNode, _workers
from trivium.commander._callbacks import STAGES
from trivium.commander._work import WorkNode

from ._helpers import GUARD, in_thread
from ._plans import CALM, Plan, Played, Story, plans, stories

pytestmark = pytest.mark.usefixtures("frozen", "unlogged")

LETTERS: dict[str, str] = dict(zip((*STAGES, "body"), "ssEECxtb", strict=True))
"""Each stage as a letter: start, End, Commander end, exception, terminate, body."""
FINISHED = re.compile(r"sb*x?E")  # a retried body runs again; one that is awaited may fail before its function
BARRED = "bE"
STOPPED = re.compile(r"(sb*x?)?t")


@pytest.fixture
def unlogged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the errors of tools out of the log, whose records hold tracebacks, and with these the nodes."""
    monkeypatch.setattr(logging.getLogger("trivium.tools"), "disabled", True)


def play(played: Played) -> Played:
    """Run it in a thread of its own, so that what hangs is a failure."""
    return in_thread(lambda: asyncio.run(played.run()), GUARD / 3)


def busy_workers() -> int:
    alive = sum(each.name == "trivium-worker" for each in threading.enumerate())
    return alive - len(_workers._idle)


def until(holds: Callable[[], bool]) -> None:
    """A worker says that it is free after it has given its result: that moment is waited for."""
    give_up = time.monotonic() + GUARD
    while not holds():
        assert time.monotonic() < give_up, "it never holds"
        time.sleep(0)


# ---- what holds of every run
def check_lives(played: Played) -> None:
    """Each node that started ends once, inside the life of the node above, in a state that fits its exception."""
    started: set[TaskNode] = set()
    ended: set[TaskNode] = set()
    for event, parent in played.events:
        node = event.node
        if event.kind == "started":
            assert node not in started, f"{node._path()} started twice"
            assert parent not in ended, f"{node._path()} started below what had ended"
            assert parent is None or parent in started
            started.add(node)
        elif event.kind == "ended":
            assert node in started - ended, f"{node._path()} ended twice, or never started"
            assert parent not in ended, f"{node._path()} outlived the node above"
            assert event.data is node.exception
            ended.add(node)
    assert started == ended
    for node in started:
        assert node.children == []
        check_state(node)


def check_state(node: TaskNode) -> None:
    fits = {NodeState.COMPLETED: node.exception is None, NodeState.EXCEPTION: node.exception is not None}
    assert fits.get(node.state, node.state is NodeState.TERMINATED and node._stopping is not None), node._path()
    if isinstance(node, WorkNode):
        assert node.exception is None or isinstance(node.exception, Exception), "a Cancellation is seen outside"


def check_stages(played: Played, sharp: bool = True) -> None:
    """Start, body, exception or terminate, end, and at last the commander's end; the stopped have no end."""
    by_node: dict[TaskNode, str] = {}
    for node, stage, stopping in played.stages:
        by_node[node] = by_node.get(node, "") + LETTERS[stage]
        if sharp:
            assert not (stopping and LETTERS[stage] in BARRED), f"{stage} of {node._path()}, which had been stopped"
    for node, letters in by_node.items():
        assert letters[-1] == "C", f"{letters} of {node._path()}"
        assert FINISHED.fullmatch(letters[:-1]) or STOPPED.fullmatch(letters[:-1]), f"{letters} of {node._path()}"
        assert not sharp or STOPPED.fullmatch(letters[:-1]) or "x" in letters or node.exception is None
    last = [LETTERS[stage] == "C" for _, stage, _ in played.stages]
    assert last == sorted(last), "something was called after the commander's end"


def check_errors(played: Played) -> None:
    """A raised error is a failure of a node, or somebody got it: one of them, once."""
    failures = [error for _, error in played.commander.failures]
    assert all(isinstance(error, Exception) for error in failures)
    retried = [event.data for event, _ in played.events if event.kind == "retried"]
    found = Counter(id(error) for error in (*failures, *played.caught, *retried))
    for error, node in played.raised:
        stopped = any(each._stopping is not None for each in node.ancestor_chain)
        assert found[id(error)] == 1 or (stopped and found[id(error)] == 0), f"{node._path()}: {found[id(error)]} times"


def check_nothing_is_left(played: Played, busy_before: int) -> None:
    assert played.commander.is_empty()
    assert played.commander.children == []
    assert played.commander.state in (NodeState.COMPLETED, NodeState.TERMINATED)
    assert not played.tasks_left
    until(lambda: busy_workers() <= busy_before)


def check_memory(played: Played) -> None:
    """Once nobody holds its nodes, none is left."""
    nodes = [weakref.ref(event.node) for event, _ in played.events if event.node is not played.commander]
    for seen in (played.events, played.stages, played.raised, played.caught, played.refused, played._failed_once):
        seen.clear()
    played.commander.failures.clear()
    played.commander.exception = None
    gc.collect()
    assert [each for node in nodes if (each := node()) is not None] == []


def check(played: Played, busy_before: int, sharp: bool = True) -> None:
    check_lives(played)
    check_stages(played, sharp)
    check_errors(played)
    check_nothing_is_left(played, busy_before)
    if not played.tasks_left:
        check_memory(played)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(stories)
def test_any_run_keeps_the_promises_of_the_tree(story: Story):
    busy = busy_workers()
    check(play(Played(story)), busy)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(stories)
def test_any_run_keeps_them_while_another_thread_kills(story: Story):
    """The kills of the story come from a thread beside, at whatever moment it gets to them."""
    busy, orders = busy_workers(), queue.SimpleQueue[Callable[[], None] | None]()

    def obey() -> None:
        while (kill := orders.get()) is not None:
            kill()

    killer = threading.Thread(target=obey, daemon=True)
    killer.start()
    try:
        played = play(Played(story, killer=orders.put))
    finally:
        orders.put(None)
        killer.join(GUARD)
    check(played, busy, sharp=False)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(plans(work=("job", "sync job", "started", "returned", "awaited"), ends=CALM))
def test_every_run_of_a_plan_gives_the_same_keys(plan: Plan):
    def keys() -> dict[str, str]:
        started = [event.node for event, _ in play(Played(Story(plan))).events if event.kind == "started"]
        by_path = {node._path(): node._get_key() for node in started}
        assert len(set(by_path.values())) == len(started), "two nodes share a key"
        return by_path

    assert keys() == keys()
