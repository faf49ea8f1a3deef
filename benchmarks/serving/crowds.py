"""Clients that connect and say little: what they add to turns of others. `python crowds.py KIND PORT` is a crowd."""

from __future__ import annotations

import asyncio
import selectors
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from os import sched_getaffinity, sched_setaffinity
from pathlib import Path
from typing import NamedTuple, cast

from streams import running, turn_at

__all__ = ["KINDS", "Beside", "measured_beside"]

HALF_OPEN, SLOW_BODIES, BURST, CHUNKED = 1000, 150, 810, 100
HEAD = b"POST /runs HTTP/1.1\r\nHost: 127."
BODY = b"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer t\r\nContent-Length: 1000\r\n\r\n{"
CHUNKS = BODY.replace(b"Content-Length: 1000", b"Transfer-Encoding: chunked")[:-1] + b"1\r\n{\r\n" * 1001
KINDS = {
    "": "nobody",
    "slow": f"{HALF_OPEN:,} half-open connections and {SLOW_BODIES} slow bodies, opened again a second after their end",
    "flood": "the same, opened again at once",
    "chunks": f"{CHUNKED} clients whose bodies are chunks of one byte, opened again at once",
    "burst": f"bursts of {BURST} connections, one after the other",
}
"""The crowds, and their names on the page."""


class Beside(NamedTuple):
    """The milliseconds of turns beside a crowd: the 50th and the 99th percentile, and the longest."""

    median: float
    most: float
    longest: float


def _connect(port: int, said: bytes, number: int) -> socket.socket:
    """A connection from one of eight addresses of this machine that has said so much."""
    client = socket.create_connection(("127.0.0.1", port), 30, (f"127.0.0.{2 + number % 8}", 0))
    client.sendall(said)
    return client


def _slow(port: int, pause: float = 1.0) -> None:
    """Hold connections, send a byte of each body ten times a second, and open what is closed again after a pause."""
    waiting, closed = selectors.DefaultSelector(), deque[tuple[float, int]]()

    def open_at(number: int) -> None:
        made = _connect(port, HEAD if number < HALF_OPEN else BODY, number)
        waiting.register(made, selectors.EVENT_READ, number)

    for number in range(HALF_OPEN + SLOW_BODIES):
        open_at(number)
    print("ready", flush=True)
    while True:
        for key, _ in waiting.select(0.1):
            waiting.unregister(key.fileobj)
            cast("socket.socket", key.fileobj).close()
            closed.append((time.monotonic() + pause, key.data))
        while closed and closed[0][0] <= time.monotonic():
            open_at(closed.popleft()[1])
        for key in list(waiting.get_map().values()):
            if key.data >= HALF_OPEN:
                with suppress(OSError):  # it is closed: the next look opens it again
                    cast("socket.socket", key.fileobj).send(b" ")


def _chunks(port: int) -> None:
    """Send bodies of chunks of one byte, and open what is closed again at once."""
    waiting = selectors.DefaultSelector()
    for number in range(CHUNKED):
        waiting.register(_connect(port, CHUNKS, number), selectors.EVENT_READ, number)
    print("ready", flush=True)
    while True:
        for key, _ in waiting.select():
            waiting.unregister(key.fileobj)
            cast("socket.socket", key.fileobj).close()
            waiting.register(_connect(port, CHUNKS, key.data), selectors.EVENT_READ, key.data)


def _bursts(port: int) -> None:
    print("ready", flush=True)
    while True:
        for each in [_connect(port, HEAD, number) for number in range(BURST)]:
            each.close()


@contextmanager
def _crowd(kind: str, port: int, processors: set[int]) -> Generator[None]:
    if not kind:
        yield
        return
    command = [sys.executable, __file__, kind, str(port)]
    with subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True) as process:
        try:
            sched_setaffinity(process.pid, processors)
            assert process.stdout is not None
            assert process.stdout.readline()
            yield
        finally:
            process.kill()


async def _turns(port: int, seconds: float) -> list[float]:
    """The milliseconds of turns, each of a new client, one after the other."""
    found, end = list[float](), time.monotonic() + seconds
    while time.monotonic() < end:
        found.append(await turn_at(port))
    return sorted(found)


def measured_beside(kind: str, seconds: float) -> Beside:
    """Measure turns for some seconds beside a crowd, which has a processor of its own."""
    all_processors = sched_getaffinity(0)
    of_crowd = {max(all_processors)}
    sched_setaffinity(0, all_processors - of_crowd or all_processors)  # the server inherits it
    try:
        with running([sys.executable, "ours.py", "crowds"]) as (port, _):
            asyncio.run(_turns(port, seconds / 4))  # what is loaded and opened once is loaded now
            with _crowd(kind, port, of_crowd):
                found = asyncio.run(_turns(port, seconds))
    finally:
        sched_setaffinity(0, all_processors)
    return Beside(found[len(found) // 2], found[len(found) * 99 // 100], found[-1])


if __name__ == "__main__":
    crowds = {"slow": _slow, "flood": partial(_slow, pause=0.0), "chunks": _chunks, "burst": _bursts}
    crowds[sys.argv[1]](int(sys.argv[2]))
