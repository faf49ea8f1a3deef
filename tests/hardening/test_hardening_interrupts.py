"""Ctrl-C anywhere in a request: the run ends, and the session goes on with a history that its provider accepts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from _signals import press_ctrl_c

from ._bytes_server import BytesServer, Does, Script
from ._faults import CALLED, FINE, events_of
from ._said import Said, Wire
from ._trial import GOOD, SECONDS, WIRES, script_of

ROOT = Path(__file__).parents[2]
REFUSED = [b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"]


@pytest.fixture(scope="module")
def server() -> Iterator[BytesServer]:
    with BytesServer([]) as running:
        yield running


@pytest.fixture(scope="module")
def program(server: BytesServer) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "hardening._interrupted", server.url]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    environment = {**os.environ, "PYTHONPATH": paths}
    # Its errors are not looked at: asyncio tells of signals that fell into its own callbacks.
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as running:
        yield running
        running.communicate(timeout=SECONDS)
        assert running.returncode == 0


def places(wire: Wire) -> dict[str, Script]:
    """What the server does until the signal comes."""
    found: dict[str, Script] = {"before the headers": [Does.STALL]}
    for name, said in {"text": FINE, "call": CALLED}.items():
        head, events = events_of(wire, said)
        found[f"after the headers of a {name}"] = [head, Does.STALL]
        found[f"within a {name}"] = [head, *events[:-1], Does.STALL]
    return {**found, "between two tries": REFUSED, "in the tool": script_of(wire, CALLED, streamed=True)}


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("number", range(len(WIRES)), ids=[wire.name for wire in WIRES])
def test_an_interrupted_run_leaves_a_history_that_goes_on(
    number: int, mode: str, server: BytesServer, program: subprocess.Popen[str]
) -> None:
    wire = WIRES[number]
    for place, script in places(wire).items():
        server.play(script, then=list(script_of(wire, Said(text=GOOD), streamed=True)))
        _say(program.stdin, f"{number} {mode}{' tool' if place == 'in the tool' else ''}\n")
        if Does.STALL in script:
            assert server.stalled.wait(SECONDS)
        elif script is REFUSED:
            assert _line(program.stdout) == "waiting"
        seen = None if place == "in the tool" else press_ctrl_c(program)
        assert (place, _line(program.stdout)) == (place, f"KeyboardInterrupt, {GOOD}")
        if seen is not None:
            seen.set()
        assert [problem for body in server.bodies for problem in wire.problems(body)] == []


def _say(pipe: IO[str] | None, text: str) -> None:
    assert pipe is not None
    pipe.write(text)
    pipe.flush()


def _line(pipe: IO[str] | None) -> str:
    assert pipe is not None
    return pipe.readline().strip()
