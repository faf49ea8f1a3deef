"""A record as JSON values: flat, so that a deep run can be written and read as well as a wide one."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

from trivium.exceptions import OutputError

if TYPE_CHECKING:
    from trivium.observers._record import RecordedNode

VERSION = 1
"""Of the JSON's shape; it changes when a name goes or comes to mean something else."""


class Numbered(NamedTuple):
    """A recorded node with its number, and that of its parent."""

    id: int
    parent: int | None
    node: RecordedNode


def numbered(roots: Sequence[RecordedNode]) -> Iterator[Numbered]:
    """All nodes, numbered from 0, parents first."""
    todo: list[tuple[RecordedNode, int | None]] = [(root, None) for root in reversed(roots)]
    numbers = count()
    while todo:
        node, parent = todo.pop()
        each = Numbered(next(numbers), parent, node)
        yield each
        todo.extend((child, each.id) for child in reversed(node.children))


def first_moment(roots: Sequence[RecordedNode]) -> float:
    """When the first run began, on the monotonic clock."""
    return min((root.started if root.queued is None else root.queued for root in roots), default=0.0)


def run_json(roots: Sequence[RecordedNode]) -> dict[str, Any]:
    """The runs and their nodes as JSON values."""
    zero, nodes = first_moment(roots), list(numbered(roots))
    runs = [{"root": id, "started_at": _as_date(node.wall_time)} for id, parent, node in nodes if parent is None]
    return {"version": VERSION, "runs": runs, "nodes": [_node_json(each, zero) for each in nodes]}


def _node_json(each: Numbered, zero: float) -> dict[str, Any]:
    node = each.node
    return {
        "id": each.id,
        "parent": each.parent,
        "name": node.name,
        "kind": node.kind,
        "session": plain(node.session_id),
        "queued": None if node.queued is None else node.queued - zero,
        "started": node.started - zero,
        "seconds": None if node.is_open else node.seconds,
        "state": node.state.value,
        "error": node.error,
        "input_tokens": node.own_usage.input_tokens,
        "output_tokens": node.own_usage.output_tokens,
        "usd": node.own_usage.usd,
        "events": [{"kind": event.kind, "at": event.at - zero, "text": event.text} for event in node.events],
    }


def _as_date(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def plain(value: object) -> str | int | float | None:
    """A value that JSON knows, or what it looks like."""
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    try:
        return repr(value)
    except Exception:  # an object of a user's that cannot even be shown
        return f"<{type(value).__name__}>"


def write_atomically(path: str | os.PathLike[str], value: dict[str, Any]) -> None:
    """Write JSON to a file that is whole at every moment.

    Raises:
        OutputError: it cannot be written.
    """
    target = Path(path).resolve()
    special = target.exists() and not target.is_file()  # a device or a pipe is written, not replaced
    part = target if special else target.with_name(f".{target.name}.{token_hex(4)}.part")
    try:
        try:
            part.write_text(json.dumps(value) + "\n", encoding="ascii")
            if not special:
                os.replace(part, target)
        except BaseException:
            if not special:
                with suppress(OSError):
                    part.unlink()
            raise
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another place") from error
