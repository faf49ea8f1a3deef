"""What breaks between us and a model server; each is written once, and told in the words of each wire format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from time import time
from typing import Any, Final

from ._answers import AGAIN, CUT, SHOWN
from ._bytes_server import Does, Script
from ._said import ADD, TEXT, Call, Http, Said, Wire, as_bytes, stream_of

__all__ = ["CONNECTION", "FAULTS", "Fault", "cuts", "events_of"]

BUSY: Final = "ProviderBusyError"
CONNECTION: Final = "ProviderConnectionError"
TEN_HOURS: Final = 36_000
FINE: Final = Said(text=TEXT)
CALLED: Final = Said(calls=(Call(arguments=ADD),), finish="tool_calls")


@dataclass(frozen=True)
class Fault:
    """Something that breaks.

    Args:
        what: in words for the table.
        scripts: what the server does to each request, one after the other; good answers follow.
        becomes: what the agent makes of it.
        asked: how many requests the server receives before the next turn.
        options: of the model.
        waits: what the error says in `retry_after`.
    """

    what: str
    scripts: Callable[[Wire], Sequence[Script]]
    becomes: str
    asked: int
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    waits: float = 0.0

    @property
    def expected(self) -> str:
        """What becomes of it, in words."""
        is_error = self.becomes.endswith("Error") and self.asked > 1
        return f"{self.becomes} after {self.asked} requests" if is_error else self.becomes

    def __str__(self) -> str:
        return self.what


def events_of(wire: Wire, said: Said = FINE) -> tuple[bytes, list[bytes]]:
    """The head of a stream, and its events one by one, each with its length: so what is missing is missed."""
    head, *_ = Http(b"", "text/event-stream", cuts=(1,)).pieces()
    events = [stream_of([event]) for event in wire.events(said)]
    return head, [b"%x\r\n%b\r\n" % (len(each), each) for each in events]


def cuts(wire: Wire, said: Said) -> Iterator[tuple[int, str, list[bytes]]]:
    """Each place at which a stream can end before its time: how much of it is sent, and what becomes of it then."""
    head, events = events_of(wire, said)
    begins = next(at for at, each in enumerate(events) if _tells(each)) + 1
    ends = max(at for at, each in enumerate(events) if _ends(each)) + 1
    for sent in range(len(events) + 1):
        expected = AGAIN if sent < begins else CUT if sent < ends else SHOWN
        yield sent, expected, [head, *events[:sent]]


def _tells(event: bytes) -> bool:
    """Whether a delta comes of an event: a piece of the text or of a call."""
    return any(each in event for each in (b'"na', b'"add"')) and b"response.created" not in event


def _ends(event: bytes) -> bool:
    """Whether an event says why the answer has ended."""
    marks = (b'"finish_reason": "', b'"stop_reason": "', b'"finishReason"', b'"status": "completed", "usage"')
    return any(mark in event for mark in marks)


def _refused(status: int, *headers: str) -> Callable[[Wire], list[Script]]:
    def scripts(wire: Wire) -> list[Script]:
        body = as_bytes(wire.whole(Said(error="not now", code=status)))
        return [Http(body, "application/json", f"{status} Refused", headers, len(body)).pieces()]

    return scripts


def _always(once: Callable[[Wire], Sequence[Script]], times: int = 3) -> Callable[[Wire], Sequence[Script]]:
    return lambda wire: [*once(wire)] * times


def _of(*script: bytes | Does, head: bool = False, events: int = 0) -> Callable[[Wire], Sequence[Script]]:
    """The beginning of an answer, then this."""

    def scripts(wire: Wire) -> list[Script]:
        start, all_events = events_of(wire)
        begun = [start] if head or events else []
        return [[*begun, *(all_events if events < 0 else all_events[:events]), *script]]

    return scripts


def _statuses() -> Iterator[Fault]:
    for status in (408, 409, 500, 502, 503, 529):
        yield Fault(f"{status}, once", _refused(status), AGAIN, 2)
        yield Fault(f"{status}, always", _always(_refused(status)), BUSY, 3)
    yield Fault("429, no Retry-After", _refused(429), AGAIN, 2)
    yield Fault("429, Retry-After in seconds", _refused(429, "retry-after: 0.001"), AGAIN, 2)
    yield Fault("429, Retry-After as a date", _refused(429, f"retry-after: {formatdate(usegmt=True)}"), AGAIN, 2)
    yield Fault("429, Retry-After in milliseconds", _refused(429, "retry-after-ms: 1"), AGAIN, 2)
    hours = _refused(429, f"retry-after: {TEN_HOURS}")
    yield Fault("429, Retry-After of ten hours", hours, BUSY, 1, waits=TEN_HOURS)
    later = formatdate(time() + TEN_HOURS, usegmt=True)
    yield Fault("429, the same as a date", _refused(429, f"retry-after: {later}"), BUSY, 1, waits=TEN_HOURS)
    yield Fault("429, always", _always(_refused(429)), BUSY, 3)


def _breaks() -> Iterator[Fault]:
    yield Fault("reset before the headers", _of(Does.RESET), AGAIN, 2)
    yield Fault("reset before the headers, always", _always(_of(Does.RESET)), CONNECTION, 3)
    yield Fault("the connection is closed before the headers", _of(), AGAIN, 2)
    yield Fault("reset after the headers", _of(Does.RESET, head=True), AGAIN, 2)
    yield Fault("the connection is closed after the headers", _of(head=True), AGAIN, 2)
    yield Fault("the connection breaks off after the last event", _of(events=-1), SHOWN, 1)
    soon = {"timeout": 0.1}
    yield Fault("a stall before the headers", _of(Does.STALL), AGAIN, 2, soon)
    yield Fault("a stall after the headers", _of(Does.STALL, head=True), AGAIN, 2, soon)
    yield Fault("a stall before the headers, always", _always(_of(Does.STALL)), CONNECTION, 3, {"timeout": 0.15})
    yield Fault("a stall after the last event", _of(Does.STALL, events=-1), SHOWN, 1, soon)


FAULTS: Final = [*_statuses(), *_breaks()]
