"""A record as JSON values: one flat list of nodes, so that a deep run is written and read as well as a wide one."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from trivium.commander import EndedEvent
from trivium.commander.lowlevel import Cancellation, error_of_stop, stopped_by
from trivium.events import JSONObject
from trivium.exceptions import OutputError

if TYPE_CHECKING:
    from trivium.observers._record import RecordedEvent, RecordedNode

VERSION = 1
"""The version of the JSON's shape; it changes when a name is removed or gets another meaning."""


class NumberedNode(NamedTuple):
    """A recorded node with its number and the number of its parent."""

    id: int
    parent: int | None
    node: RecordedNode


def error_at_end(event: EndedEvent) -> BaseException | None:
    """Return the error with which a node ended; of one that was stopped with a node above, the error of that stop."""
    if isinstance(event.data, Cancellation) and (stop := stopped_by(event.node)) is not None:
        return error_of_stop(*stop)
    return event.data


def number_nodes(roots: Sequence[RecordedNode]) -> Iterator[NumberedNode]:
    """Number all nodes from 0, parents first."""
    todo: list[tuple[RecordedNode, int | None]] = [(root, None) for root in reversed(roots)]
    numbers = count()
    while todo:
        node, parent = todo.pop()
        each = NumberedNode(next(numbers), parent, node)
        yield each
        todo.extend((child, each.id) for child in reversed(node.children))


def first_moment(roots: Sequence[RecordedNode]) -> float:
    """Return when the first run began, on the monotonic clock."""
    return min((root.started if root.queued is None else root.queued for root in roots), default=0.0)


def run_json(roots: Sequence[RecordedNode]) -> JSONObject:
    """Return the runs and their nodes as JSON values."""
    zero, runs, nodes = first_moment(roots), list[JSONObject](), list[JSONObject]()
    for id, parent, node in number_nodes(roots):
        if parent is None:
            wall_time = node.wall_time
            began = None if wall_time is None else datetime.fromtimestamp(wall_time, UTC).isoformat()
            runs.append({"root": id, "started_at": began})
        nodes.append({
            "id": id,
            "parent": parent,
            "name": node.name,
            "kind": node.kind,
            "session": json_scalar(node.session_id),
            "queued": None if node.queued is None else node.queued - zero,
            "started": node.started - zero,
            "seconds": None if node.is_open else node.seconds,
            "state": node.state.value,
            "error": node.error,
            "input_tokens": node.own_usage.input_tokens,
            "output_tokens": node.own_usage.output_tokens,
            "usd": node.own_usage.usd,
            "events": [_event_json(event, zero) for event in node.events],
        })  # fmt: skip
    return {"version": VERSION, "runs": runs, "nodes": nodes}


def _event_json(event: RecordedEvent, zero: float) -> JSONObject:
    data = {"data": event.data} if event.data else {}
    return {"kind": event.kind, "at": event.at - zero, "text": event.text, **data}


def json_scalar(value: object) -> str | int | float | None:
    """Return a value as one JSON value that is no container: itself, or its repr."""
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    try:
        return repr(value)
    except Exception:  # a user's object whose repr fails
        return f"<{type(value).__name__}>"


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file that is complete at every moment.

    Raises:
        OutputError: it cannot be written.
    """
    target = Path(path).resolve()
    special = target.exists() and not target.is_file()  # a device or a pipe is written to, not replaced
    part = target if special else target.with_name(f".{target.name}.{token_hex(4)}.part")
    try:
        try:
            part.write_text(text, encoding="utf-8")
            if not special:
                os.replace(part, target)
        except BaseException:
            if not special:
                with suppress(OSError):
                    part.unlink()
            raise
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another path") from error
