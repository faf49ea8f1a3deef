"""A record in the Trace Event Format, for ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from trivium.events import JSONObject
from trivium.observers._export import NumberedNode, first_moment, json_scalar, number_nodes

if TYPE_CHECKING:
    from trivium.observers._record import RecordedNode

_PROCESS = 1
_DEEPEST = 200
"""Slices on top of each other in one lane; the viewers leave out what is far deeper."""


class TraceSlice:
    """A node on the time axis, in whole microseconds: rounding keeps the order, so nested slices stay nested.

    Args:
        each: the node.
        zero: when the first run began.
        now: the end of nodes that are still open.
    """

    __slots__ = ("busy_until", "depth", "each", "end", "lane", "start")

    def __init__(self, each: NumberedNode, zero: float, now: float) -> None:
        node = each.node
        self.each = each
        self.start = _microseconds(node.started - zero)
        self.end = max(self.start, _microseconds((now if node.is_open else node.started + node.seconds) - zero))
        self.lane = self.depth = 0
        self.busy_until = self.start

    def place(self, child: TraceSlice) -> bool:
        """Put a child on this slice's lane, if it fits there: inside the slice, behind the last child there.

        A child that began before its parent, because that was queued, does not fit, so the parent's lane is known.
        """
        if not (self.busy_until <= child.start and child.end <= self.end and self.depth < _DEEPEST):
            return False
        child.lane, child.depth = self.lane, self.depth + 1
        self.busy_until = child.end
        return True

    def events(self, zero: float) -> list[JSONObject]:
        """Return the slice as trace events: one for the node, and one for each event that happened there."""
        id, parent, node = self.each
        known = {
            "parent": parent,
            "error": node.error,
            "input_tokens": node.own_usage.input_tokens or None,
            "output_tokens": node.own_usage.output_tokens or None,
            "usd": node.own_usage.usd or None,
            "waited_ms": None if node.queued is None else round((node.started - node.queued) * 1000, 3),
        }
        arguments = {name: value for name, value in known.items() if value is not None}
        arguments = {"id": id, "session": json_scalar(node.session_id), "state": node.state.value, **arguments}
        place = {"pid": _PROCESS, "tid": self.lane}
        when = {"ts": self.start, "dur": self.end - self.start}
        found: list[JSONObject] = [{"ph": "X", "name": node.name, "cat": node.kind, **place, **when, "args": arguments}]
        for event in node.events:
            name = f"{event.kind}: {event.text}" if event.text else event.kind
            when = {"ts": _microseconds(event.at - zero), "args": {"id": id, **event.data}}
            found.append({"ph": "i", "s": "t", "name": name, "cat": "event", **place, **when})
        return found


def chrome_trace(roots: Sequence[RecordedNode]) -> JSONObject:
    """Return the runs as trace events.

    Each slice is put on its parent's lane if it fits there, else on the first lane that is free.
    """
    zero, now = first_moment(roots), time.monotonic()
    slices = [TraceSlice(each, zero, now) for each in number_nodes(roots)]
    in_time = sorted(slices, key=lambda each: each.start)  # stable: parents stay before their children
    busy: list[tuple[int, int]] = []  # the end of the lowest slice of each lane
    free: list[int] = []
    lanes = 0
    for each in in_time:
        parent = each.each.parent
        if parent is not None and slices[parent].place(each):
            continue
        while busy and busy[0][0] <= each.start:
            heappush(free, heappop(busy)[1])
        if free:
            each.lane = heappop(free)
        else:
            lanes = each.lane = lanes + 1
        heappush(busy, (each.end, each.lane))
    events = [_metadata("process_name", 0, "name", "trivium")]
    for lane in range(1, lanes + 1):
        events.append(_metadata("thread_name", lane, "name", f"lane {lane}"))
        events.append(_metadata("thread_sort_index", lane, "sort_index", lane))
    for each in in_time:
        events += each.events(zero)
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)


def _metadata(name: str, lane: int, argument: str, value: str | int) -> JSONObject:
    return {"ph": "M", "name": name, "pid": _PROCESS, "tid": lane, "ts": 0, "args": {argument: value}}
