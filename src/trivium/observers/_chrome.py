"""A record in the Trace Event Format, for ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from trivium.observers._export import Numbered, first_moment, numbered, plain

if TYPE_CHECKING:
    from trivium.observers._record import RecordedNode

_PROCESS = 1
_DEEPEST = 200
"""Slices on top of each other in one lane; the viewers leave out what is far deeper."""


class _Slice:
    """A node on the time axis, in whole microseconds: rounding keeps order, so what nests goes on nesting."""

    __slots__ = ("busy_until", "depth", "each", "end", "lane", "start")

    def __init__(self, each: Numbered, zero: float, now: float) -> None:
        node = each.node
        self.each = each
        self.start = _microseconds(node.started - zero)
        self.end = max(self.start, _microseconds((now if node.is_open else node.started + node.seconds) - zero))
        self.lane = self.depth = 0
        self.busy_until = self.start

    def has_room_for(self, child: _Slice) -> bool:
        """Whether a child fits on this slice's own lane: inside it, behind the last child there.

        A child that began before its parent (which was queued) does not, so the parent's lane is known.
        """
        return self.busy_until <= child.start and child.end <= self.end and self.depth < _DEEPEST

    def take(self, child: _Slice) -> None:
        """Lay a child on this slice."""
        child.lane, child.depth = self.lane, self.depth + 1
        self.busy_until = child.end


def chrome_trace(roots: Sequence[RecordedNode]) -> dict[str, Any]:
    """The runs as trace events."""
    zero, now = first_moment(roots), time.monotonic()
    slices = [_Slice(each, zero, now) for each in numbered(roots)]
    in_time = sorted(slices, key=lambda each: each.start)  # stable: parents stay before their children
    lanes = _lay_out(slices, in_time)
    events = [*_metadata(lanes)]
    for each in in_time:
        events.append(_complete(each))
        events += _instants(each, zero)
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)


def _lay_out(slices: Sequence[_Slice], in_time: Sequence[_Slice]) -> int:
    """Give each slice a lane: its parent's where there is room, else the first that is free. How many there are."""
    busy: list[tuple[int, int]] = []  # when the undermost slice of each lane ends
    free: list[int] = []
    lanes = 0
    for each in in_time:
        parent = each.each.parent
        if parent is not None and slices[parent].has_room_for(each):
            slices[parent].take(each)
            continue
        while busy and busy[0][0] <= each.start:
            heappush(free, heappop(busy)[1])
        if free:
            each.lane = heappop(free)
        else:
            lanes = each.lane = lanes + 1
        heappush(busy, (each.end, each.lane))
    return lanes


def _metadata(lanes: int) -> Iterator[dict[str, Any]]:
    yield _meta("process_name", 0, name="trivium")
    for lane in range(1, lanes + 1):
        yield _meta("thread_name", lane, name=f"lane {lane}")
        yield _meta("thread_sort_index", lane, sort_index=lane)


def _meta(which: str, lane: int, **values: Any) -> dict[str, Any]:
    return {"ph": "M", "name": which, "pid": _PROCESS, "tid": lane, "ts": 0, "args": values}


def _complete(each: _Slice) -> dict[str, Any]:
    id, parent, node = each.each
    known = {
        "parent": parent,
        "error": node.error,
        "input_tokens": node.own_usage.input_tokens or None,
        "output_tokens": node.own_usage.output_tokens or None,
        "usd": node.own_usage.usd or None,
        "waited_ms": None if node.queued is None else round((node.started - node.queued) * 1000, 3),
    }
    said = {name: value for name, value in known.items() if value is not None}
    return {
        "ph": "X",
        "name": node.name,
        "cat": node.kind,
        "pid": _PROCESS,
        "tid": each.lane,
        "ts": each.start,
        "dur": each.end - each.start,
        "args": {"id": id, "session": plain(node.session_id), "state": node.state.value, **said},
    }


def _instants(each: _Slice, zero: float) -> Iterator[dict[str, Any]]:
    for event in each.each.node.events:
        name = f"{event.kind}: {event.text}" if event.text else event.kind
        common = {"pid": _PROCESS, "tid": each.lane, "ts": _microseconds(event.at - zero)}
        yield {"ph": "i", "s": "t", "name": name, "cat": "event", **common, "args": {"id": each.each.id}}
