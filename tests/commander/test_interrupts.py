"""Ctrl-C: prompt wherever it lands, and the tree is closed behind it. Real signals, in programs of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from _signals import press_ctrl_c
from docs._examples import started

from ._helpers import GUARD

HEAD = """
import asyncio, signal, sys, threading, time
from trivium import Agent, Module, RunRecord, CommanderAsync, Job
from trivium.commander import current, PASS_WORD, tasker, handler
from trivium.testing import ScriptedModel, call_tool

record, ended = RunRecord(), []
def up():
    if threading.current_thread() is not threading.main_thread():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
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
def up_when_idle(loop, rounds=20):
    loop.call_soon(up_when_idle, loop, rounds - 1) if rounds else up()
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
    "callbacks of a job": (
        """
class Slow(Job):
    @tasker(PASS_WORD)
    async def task(self):
        up_when_idle(asyncio.get_running_loop())
        await asyncio.sleep(600)
job, stages = Slow(), ("at_terminate", "at_exception", "at_job_end", "at_commander_end")
for stage in stages:
    job.add_callback_functions(stage, {"function": ended.append, "params": {"args": (stage,)}})
CommanderAsync().run(job, auto_exit=True)
""",
        "KeyboardInterrupt ['at_terminate', 'at_commander_end'] None True",
    ),
    "idle commander": (
        """
class Quick(Job):
    @tasker(PASS_WORD)
    async def task(self):
        up_when_idle(asyncio.get_running_loop())
commander = CommanderAsync()
commander.listen(record)
commander.run(Quick())
""",
        "KeyboardInterrupt [] None True",
    ),
}


WAITING = ("async tool of a sync call", "async tool below two forwards", "parallel async tools", "stream", "model")
"""Where the main thread waits in code of ours."""


def interrupted(folder: Path, body: str, head: str = "") -> str:
    """What a program reports that is interrupted as soon as it is where it shall be interrupted."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    program = f"{dedent(HEAD)}\n{head}\ntry:\n{lines}\nexcept BaseException as error:\n    report(error)\n"
    (folder / "program.py").write_text(program)
    process = started(folder, folder / "program.py")
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "up\n"
        press_ctrl_c(process)
        out, _ = process.communicate(timeout=GUARD)
    finally:
        process.kill()
        process.wait()
    return out.replace("up\n", "").strip()


@pytest.mark.parametrize("name", PROGRAMS)
def test_control_c(name: str, tmp_path: Path):
    body, expected = PROGRAMS[name]
    assert interrupted(tmp_path, body) == expected


@pytest.mark.parametrize("name", WAITING)
def test_control_c_that_does_not_wake_the_main_thread(name: str, tmp_path: Path):
    """As one that comes just before the wait begins: here another thread takes it, and the main thread sleeps on."""
    body, expected = PROGRAMS[name]
    assert interrupted(tmp_path, body, "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])") == expected


AT_ANY_MOMENT = """
import os, random, signal, threading
from trivium import Module

class Short(Module):
    def forward(self, message):
        return "short"

class Long(Module):
    async def forward(self, message):
        for _ in range(300):
            await short.acall("x")

short, pressed = Short(), 0
random.seed(1)
signal.signal(signal.SIGINT, signal.default_int_handler)
for _ in range(40):
    timer = threading.Timer(random.uniform(0.005, 0.03), os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        Long()("x")
        timer.join()
        threading.Event().wait(0.1)
    except KeyboardInterrupt:
        pressed += 1
    timer.join()
print(pressed)
"""


def test_ctrl_c_between_two_steps_of_sync_code_is_never_lost():
    ended = subprocess.run([sys.executable, "-c", AT_ANY_MOMENT], capture_output=True, text=True, timeout=GUARD)
    assert ended.stdout == "40\n", ended.stderr
