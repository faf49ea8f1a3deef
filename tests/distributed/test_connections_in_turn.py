"""What a server does for many connections, a few at a time: what is late, and what comes in small pieces."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from trivium.serving import ConnectionLimits
from trivium.serving._tasks import Deadlines
from trivium.serving._uvicorn import BoundedConnection, Bounds


def test_many_that_are_late_at_once_are_over_in_turn_and_few_at_a_turn_of_the_loop() -> None:
    async def counted() -> tuple[list[int], list[int]]:
        over, counts = list[int](), [0]
        deadlines = Deadlines[str, int]({"a": (0.0, over.append), "b": (0.0, over.append), "long": (600, over.append)})
        for number in range(100):
            deadlines.move(number, None, "a")
        deadlines.move(1, "a", "b")
        deadlines.move(2, "a", "long")
        deadlines.move(3, "a", None)
        while len(over) < 98:
            counts.append(len(over))
            await asyncio.sleep(0)
        return over, counts

    over, counts = asyncio.run(counted())
    assert [each for each in over if each != 1] == [0, *range(4, 100)]
    assert 1 in over
    assert max(after - before for before, after in pairwise(counts)) <= 16


class Wire:
    """A transport that notes whether it is read."""

    def __init__(self) -> None:
        self.is_read, self.closed, self.read_on = True, False, asyncio.Event()

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else None

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True
        self.read_on.set()

    def is_closing(self) -> bool:
        return self.closed

    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_request_that_comes_byte_by_byte_is_read_at_intervals(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setattr("trivium.serving._uvicorn._REST_SECONDS", 0.0)
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n"

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def played() -> None:
        config, wire = uvicorn.Config(app), Wire()
        config.load()
        bounds = Bounds(ConnectionLimits())
        connection = BoundedConnection(config, ServerState(), {}, bounds=bounds)
        connection.connection_made(wire)
        connection.data_received(head + (b"\r\n" if part == "body" else b"X: "))
        for _ in range(15):
            connection.data_received(b"x")
        assert wire.is_read
        if part == "body":
            connection.data_received(b"x" * 2000)
            assert wire.is_read
        connection.data_received(b"x")
        assert not wire.is_read
        await wire.read_on.wait()
        assert wire.is_read
        connection.connection_lost(None)

    asyncio.run(played())
