"""Open streams at a server in another process: what each of them takes, and what they add to the turns of others."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from os import sysconf
from pathlib import Path
from typing import NamedTuple

__all__ = ["Measured", "Subject", "asked", "measured", "running", "subjects", "turn_at"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 60.0
Asked = tuple[str, Mapping[str, str], bytes]
"""The path, the headers and the body of a request that begins a stream."""


class Subject(NamedTuple):
    """A server of the benchmark.

    Args:
        title: its name on the page.
        command: the command that starts it.
        request: makes the request in which it is told something.
    """

    title: str
    command: list[str]
    request: Callable[[str], Asked]


def _json(path: str, body: object, **headers: str) -> Asked:
    return path, {"content-type": "application/json", "authorization": "Bearer t", **headers}, json.dumps(body).encode()


def _runs(said: str) -> Asked:
    return _json("/runs", {"message": said, "stream": True})


def _tool(said: str) -> Asked:
    """A call of a tool in MCP 2026-07-28, whose progress is wanted."""
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    }
    params = {"name": "ask", "arguments": {"message": said}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    names = {"mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "ask"}
    return _json("/mcp", body, accept="application/json, text/event-stream", **names)


def _form(said: str) -> Asked:
    body = f"message={said}&stream=true".encode()
    return "/agents/ask/runs", {"content-type": "application/x-www-form-urlencoded"}, body


def subjects(folder: Path) -> list[Subject]:
    """The servers, each in turn; what they store is in a folder."""
    agno = str(ROOT / ".peers/agno_os/bin/python")
    return [
        Subject("trivium, `POST /runs`", [sys.executable, "ours.py", "runs"], _runs),
        Subject("Agno's AgentOS", [agno, "agno_os.py"], _form),
        Subject("Agno's AgentOS with SqliteDb", [agno, "agno_os.py", str(folder / "agno.db")], _form),
        Subject("trivium over MCP", [sys.executable, "ours.py", "mcp"], _tool),
        Subject("the MCP SDK's server", [sys.executable, "mcp_sdk.py"], _tool),
    ]


@contextmanager
def running(command: list[str]) -> Iterator[tuple[int, int]]:
    """The port and the process of a server."""
    process = subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            yield next(int(line) for line in process.stdout if line.strip().isdigit()), process.pid
        finally:
            process.kill()


@asynccontextmanager
async def asked(port: int, request: Asked) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of a response that is a stream of events, up to its end."""
    path, headers, body = request
    fields = {"host": f"127.0.0.1:{port}", **headers, "content-length": str(len(body)), "connection": "close"}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body)

    async def lines() -> AsyncIterator[str]:
        while line := await reader.readline():
            yield line.decode()

    try:
        yield lines()
    finally:
        writer.close()


class Measured(NamedTuple):
    """The figures of a server.

    Args:
        kilobytes: memory of the process for each open stream.
        opening: seconds until all streams were open.
        idle: milliseconds of processor time a second while nothing happened on them.
        alone: the 50th and 99th percentile of a turn without other streams, milliseconds.
        among: the same while they were open.
    """

    kilobytes: float
    opening: float
    idle: float
    alone: tuple[float, float]
    among: tuple[float, float]


async def _turn(port: int, request: Asked) -> float:
    """Milliseconds of a turn, from connecting to the end of the stream."""
    began = time.perf_counter()
    async with asked(port, request) as lines:
        text = "".join([line async for line in lines])
    assert "200 OK" in text[:20], text[:2000]
    assert "begun" in text, text
    assert "end" in text, text
    return (time.perf_counter() - began) * 1000


async def turn_at(port: int) -> float:
    """Milliseconds of a turn at trivium's own server."""
    return await _turn(port, _runs("go"))


async def _hold(port: int, request: Asked, is_open: asyncio.Event) -> None:
    async with asked(port, request) as lines:
        async for line in lines:
            if "begun" in line:
                is_open.set()


async def _percentiles(port: int, request: Asked, turns: int) -> tuple[float, float]:
    """The 50th and the 99th percentile of turns one after the other, the least of three rounds."""
    rounds = [sorted([await _turn(port, request) for _ in range(turns)]) for _ in range(3)]
    return min(each[turns // 2] for each in rounds), min(each[turns * 99 // 100] for each in rounds)


def _memory(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * sysconf("SC_PAGE_SIZE") / 1024


def _processor(pid: int) -> float:
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / sysconf("SC_CLK_TCK")


async def measured(subject: Subject, streams: int, turns: int, idle_seconds: float) -> Measured:
    """Measure a server."""
    with running(subject.command) as (port, pid):
        go, hold = subject.request("go"), subject.request("hold")
        await _percentiles(port, go, turns // 3)  # what is loaded and opened once is loaded now
        alone, memory = await _percentiles(port, go, turns), _memory(pid)
        opened, began = [asyncio.Event() for _ in range(streams)], time.perf_counter()
        held = [asyncio.create_task(_hold(port, hold, each)) for each in opened]
        try:
            async with asyncio.timeout(PATIENCE):
                for each in opened:
                    await each.wait()
            opening, taken = time.perf_counter() - began, _memory(pid) - memory
            await asyncio.sleep(1)
            used = _processor(pid)
            await asyncio.sleep(idle_seconds)
            idle = (_processor(pid) - used) / idle_seconds * 1000
            return Measured(taken / streams, opening, idle, alone, await _percentiles(port, go, turns))
        finally:
            for each in held:
                each.cancel()
            await asyncio.gather(*held, return_exceptions=True)
