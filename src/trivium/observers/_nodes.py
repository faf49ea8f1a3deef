"""What observers know of events and nodes: the one place in this room that reads the tree's own names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from trivium.commander import Event, NodeState, TaskNode

_LONGEST_TEXT = 200


class Facts(NamedTuple):
    """What is known of a node from its first event on."""

    name: str
    kind: str
    session_id: Hashable
    parent: TaskNode | None


def facts_of(node: TaskNode) -> Facts:
    """What a node is called, what it is, whose it is, and what it stands below."""
    return Facts(node._name, getattr(node, "_kind", "call"), node._scope.session_id, node._parent)


def is_over(node: TaskNode) -> bool:
    """Whether a node has ended, or can never start because what it stands below has ended."""
    above = node._parent
    return _is_final(node.state) or (above is not None and _is_final(above.state))


def _is_final(state: NodeState) -> bool:
    return state is not NodeState.PENDING and state is not NodeState.ACTIVE


def describe(error: object) -> str:
    """An error on one line: its kind, and what it says."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception:  # an error of a user's that cannot even be written
        return kind
    return f"{kind}: {text}" if text else kind


def text_of(event: Event) -> str:
    """A word about an event that holds nothing of what was said: a tool's name, an error, the text of a note."""
    data: Any = event.data
    if isinstance(data, BaseException):
        return describe(data)
    if event.kind == "tool_call" and isinstance(data, tuple) and data:
        return str(data[0])  # pyright: ignore[reportUnknownArgumentType] - its arguments stay behind
    if event.kind == "note" and isinstance(data, str):
        return data[:_LONGEST_TEXT]
    return ""
