"""Nodes by hand, events of any kind, and a clock that ticks when it is read."""

# pyright: reportPrivateUsage=false
# Nodes are started and closed by hand here.
from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import pytest

from trivium.commander import Event, NodeState, StartedEvent, TaskNode
from trivium.commander.lowlevel import CallNode, emit
from trivium.events import event_class

WALL_TIME = 1_700_000_000.0


def happens(listener: Callable[[Any], object], kind: str, node: TaskNode, data: Any = None) -> None:
    """Call a listener with an event, of a kind that trivium may not know."""
    listener((event_class(kind) or new_kind(kind))(node, data))


def new_kind(kind: str) -> type[Event]:
    """A class of event that nothing in trivium knows."""
    return type(f"{kind.title()}Event", (Event,), {"kind": kind, "__slots__": ()})


def start(node: CallNode) -> None:
    """Start a node as a call does, without making it the current one."""
    node._state = NodeState.ACTIVE
    emit(node, StartedEvent, None)


def chain(length: int, name: str = "node") -> list[CallNode]:
    """Nodes that are not started, each below the one before."""
    nodes = [CallNode(f"{name}0")]
    for level in range(1, length):
        nodes.append(CallNode(f"{name}{level}", nodes[-1]))
    return nodes


@contextmanager
def ticking(*steps: float) -> Generator[None]:
    """The recorder's clock goes on by the next of these steps each time it is read, and in no other way."""

    def readings() -> Iterator[float]:
        now = 100.0
        for step in cycle(steps):
            yield now
            now += step

    clock = readings()
    fake = SimpleNamespace(monotonic=lambda: next(clock), time=lambda: WALL_TIME)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trivium.observers._record.time", fake)
        patch.setattr("trivium.observers._chrome.time", fake)
        yield


def grow(listener: Callable[[Any], object], moves: Sequence[tuple[int, int, bool]], *, nested: bool) -> int:
    """Grow a forest by moves, and tell the listener. How many nodes there were.

    Args:
        listener: gets every event.
        moves: (what to do, where, whether it fails); any integers do.
        nested: let nothing end before what is below it.
    """
    open_nodes: list[CallNode] = []
    made = 0
    for what, where, fails in moves:
        node = open_nodes[where % len(open_nodes)] if open_nodes else None
        if node is not None and what % 5 > 2:
            if nested:
                node = next(each for each in reversed(list(node._subtree())) if not each.children)
            assert isinstance(node, CallNode)
            open_nodes.remove(node)
            node._close(ValueError(f"move {made}") if fails else None)
            continue
        if node is None or what % 5 == 0 or node._stopping is not None:
            node = CallNode(f"root{made}")
            node.listen(listener)
        else:
            node = CallNode(f"node{made}", node)
        made += 1
        open_nodes.append(node)
        start(node)
    for node in reversed(open_nodes):
        node._close()
    return made
