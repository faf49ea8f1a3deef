"""A recorder of runs: a listener that keeps what the tree forgets when its nodes end."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from trivium.commander import Event, TaskNode


@dataclass(slots=True)
class RecordedNode:
    """A node as it was: its name and session, its time in seconds, its own tokens, and what was below it."""

    name: str
    session_id: Hashable
    started: float
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    error: str | None = None
    children: list[RecordedNode] = field(default_factory=list["RecordedNode"])

    @property
    def tokens(self) -> int:
        """Input and output tokens of this node and all below."""
        return sum(node.input_tokens + node.output_tokens for node in self.walk())

    def walk(self: RecordedNode) -> Iterator[RecordedNode]:
        """This node and all below, parents first."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))


class RunRecord:
    """Keeps the tree of every run that it listens to.

    Example:
        >>> from trivium import Agent
        >>> from trivium.observers import RunRecord
        >>> from trivium.testing import ScriptedModel
        >>> record = RunRecord()
        >>> _ = Agent(ScriptedModel(["hello"]))("hi", listeners=[record])
        >>> [node.name for node in record.roots[0].walk()]
        ['Agent', 'model']
    """

    def __init__(self) -> None:
        self.roots: list[RecordedNode] = []
        self._open: dict[TaskNode, RecordedNode] = {}

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if event.kind == "started":
            self._started(event.node)
            return
        recorded = self._open.get(event.node)
        if recorded is None:
            return
        if event.kind == "usage":
            recorded.input_tokens += event.data.input_tokens
            recorded.output_tokens += event.data.output_tokens
        elif event.kind == "ended":
            recorded.seconds = time.monotonic() - recorded.started
            recorded.error = None if event.data is None else _describe(event.data)
            del self._open[event.node]

    def _started(self, node: TaskNode) -> None:
        recorded = RecordedNode(node._name, node._scope.session_id, time.monotonic())
        above = self._open.get(node._parent) if node._parent is not None else None
        (self.roots if above is None else above.children).append(recorded)
        self._open[node] = recorded


def _describe(error: Any) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
