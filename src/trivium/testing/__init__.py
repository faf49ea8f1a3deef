"""Tests without a network: scripted models, recorded requests, and faults. trivium's own tests use them too."""

from __future__ import annotations

from trivium.testing._cassette import Cassette, cassette
from trivium.testing._crashes import assert_crash_safe
from trivium.testing._faults import (
    BrokenGzip,
    ConnectionRefused,
    DNSFailure,
    Duplicated,
    Fault,
    FaultyTransport,
    Garbage,
    Reset,
    Slow,
    Stall,
    Status,
    TLSFailure,
    Truncated,
    WrongContentType,
)
from trivium.testing._interactions import RecordedRequest
from trivium.testing._recorded import RecordedModel
from trivium.testing._scripted import ScriptedModel, call_tool
from trivium.testing._stores import assert_store_works

__all__ = [
    "BrokenGzip",
    "Cassette",
    "ConnectionRefused",
    "DNSFailure",
    "Duplicated",
    "Fault",
    "FaultyTransport",
    "Garbage",
    "RecordedModel",
    "RecordedRequest",
    "Reset",
    "ScriptedModel",
    "Slow",
    "Stall",
    "Status",
    "TLSFailure",
    "Truncated",
    "WrongContentType",
    "assert_crash_safe",
    "assert_store_works",
    "call_tool",
    "cassette",
]
