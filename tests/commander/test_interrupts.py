"""Ctrl-C: prompt wherever it lands, and the tree is closed behind it. Real signals, in programs of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from textwrap import dedent

import pytest

from ._helpers import GUARD

HEAD = """
import asyncio, sys, threading, time
from trivium import Agent, Module, RunRecord, CommanderAsync, Job
from trivium.commander import current, PASS_WORD, tasker, handler
from trivium.testing import ScriptedModel, call_tool

record, ended = RunRecord(), []
def up():
    print("up", flush=True)
async def aslow(a: int) -> int:
    try:
        up()
        await asyncio.sleep(600)
    finally:
        ended.append("aslow")
    return a
def slow(a: int) -> int:
    ended.append(threading.current_thread() is threading.main_thread())
    up()
    time.sleep(600)
    return a
def agent(tool):
    return Agent(ScriptedModel([call_tool(tool.__name__, a=1)]), tools=[tool])
class Outer(Module):
    def __init__(self, inner):
        self.inner = inner
    async def forward(self, message):
        await asyncio.sleep(0)
        return await self.inner.acall(message)
class SlowModel:
    name = "slow"
    async def stream(self, request):
        try:
            yield "first"
            up()
            await asyncio.sleep(600)
        finally:
            ended.append("model")
def closed():
    return not record._open and all(node.seconds > 0 for root in record.roots for node in root.walk())
def report(error):
    print(type(error).__name__, ended, current.get(), closed(), flush=True)
"""

PROGRAMS = {
    "async tool of a sync call": (
        'agent(aslow)("x", listeners=[record])',
        "KeyboardInterrupt ['aslow'] None True",
    ),
    "sync tool of a sync call": (
        'agent(slow)("x", listeners=[record])',
        "KeyboardInterrupt [True] None True",
    ),
    "sync tool below an async forward": (
        'Outer(agent(slow))("x", listeners=[record])',
        "KeyboardInterrupt [True] None True",
    ),
    "async tool below two forwards": (
        'Outer(Outer(agent(aslow)))("x", listeners=[record])',
        "KeyboardInterrupt ['aslow'] None True",
    ),
    "async call": (
        'asyncio.run(agent(aslow).acall("x", listeners=[record]))',
        "KeyboardInterrupt ['aslow'] None True",
    ),
    "parallel async tools": (
        'Agent(ScriptedModel([[call_tool("aslow", 0, a=1), call_tool("aslow", 1, a=1)]]), tools=[aslow], '
        'parallel=True)("x", listeners=[record])',
        "KeyboardInterrupt ['aslow', 'aslow'] None True",
    ),
    "stream": (
        'list(Agent(SlowModel()).stream("x", listeners=[record]))',
        "KeyboardInterrupt ['model'] None True",
    ),
    "model": (
        'Agent(SlowModel())("x", listeners=[record])',
        "KeyboardInterrupt ['model'] None True",
    ),
    "job": (
        """
class Slow(Job):
    @tasker(PASS_WORD)
    async def task(self):
        await aslow(1)
commander = CommanderAsync()
commander.listen(record)
commander.run(Slow())
""",
        "KeyboardInterrupt ['aslow'] None True",
    ),
    "idle commander": (
        """
class Quick(Job):
    @tasker(PASS_WORD)
    async def task(self):
        up()
commander = CommanderAsync()
commander.listen(record)
commander.run(Quick())
""",
        "KeyboardInterrupt [] None True",
    ),
}


def interrupted(body: str) -> str:
    """What a program reports that is interrupted as soon as it is where it shall be interrupted."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    program = f"{dedent(HEAD)}\ntry:\n{lines}\nexcept BaseException as error:\n    report(error)\n"
    process = subprocess.Popen([sys.executable, "-X", "dev", "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=GUARD)
    finally:
        process.kill()
        process.wait()
    return out.replace("up\n", "").strip()


@pytest.mark.parametrize("name", PROGRAMS)
def test_control_c(name: str):
    body, expected = PROGRAMS[name]
    assert interrupted(body) == expected
