"""A plain script with an interactive task, on a real terminal and without one."""

# pyright: reportPrivateUsage=false
# The process at the terminal is looked at.
from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from cli._command import Command
from cli.test_cli_chat_terminal import CTRL_C, CTRL_D, PROMPT, QUIET, Typist, plain

SCRIPT = """
import asyncio, sys
from trivium import ChatAgent, Task
from trivium.terminal import Terminal
from trivium.testing import ScriptedModel

agent = ChatAgent(ScriptedModel([["What is ", "your name?"], "Hello you"]), name="Ada")
{setup}
task = Task(agent, interactive=True)
{run}
sys.stdout.write(f"RESULT {{result.content}} {{result.status.name}}\\n")
"""
SYNC = "result = task.run('hi'{listeners})"
ASYNC = "result = asyncio.run(task.run_async('hi'{listeners}))"
IN_LOOP = """
async def main():
    return task.run('hi'{listeners})
result = asyncio.run(main())
"""


@pytest.fixture
def python(tmp_path: Path) -> Command:
    """Runs Python where the command would run."""
    command = Command(tmp_path)
    command._process = [sys.executable]
    return command


def run(python: Command, script: str, *typed: tuple[str, bytes], **environment: str) -> str:
    (python.folder / "script.py").write_text(script)
    typist = Typist(*typed)
    ended = python.on_terminal("script.py", environment={**QUIET, **environment}, seen=typist)
    assert (ended.status, typist.is_done) == (0, True), plain(ended.out)
    return plain(ended.out)


@pytest.mark.shows("Task(interactive)")
@pytest.mark.parametrize("how", [SYNC, ASYNC, IN_LOOP])
def test_the_user_of_an_interactive_task_is_asked_at_the_terminal(python: Command, how: str):
    script = SCRIPT.format(setup="", run=how.format(listeners=""))
    text = run(python, script, (PROMPT, b"I am Bob\r"), ("Hello you", b""), (PROMPT, b"q\r"))
    assert text.index("What is your name?") < text.index("I am Bob") < text.index("Hello you")
    assert "RESULT q USER_QUIT" in text


@pytest.mark.parametrize("how", [SYNC, ASYNC])
def test_a_terminal_shows_the_run_and_is_asked_in_one(python: Command, how: str):
    setup = "terminal = Terminal()\nagent.ask_user = terminal.ask"
    script = SCRIPT.format(setup=setup, run=how.format(listeners=", listeners=[terminal]"))
    text = run(python, script, (PROMPT, b"I am Bob\r"), ("Hello you", b""), (PROMPT, b"q\r"))
    assert text.count("What is your name?") == 1  # as it came: not again as the prompt
    assert "Ada: What is your name?" in text
    assert "RESULT q USER_QUIT" in text


APPROVAL = """
import sys
from trivium import Agent
from trivium.actions import tool
from trivium.terminal import Terminal
from trivium.testing import ScriptedModel, call_tool

@tool(needs_approval=True)
def delete(path: str) -> str:
    return f"deleted {path}"

agent = Agent(ScriptedModel(lambda request: call_tool("delete", path="a") if len(request.messages) == 1
              else request.messages[-1]["content"]), tools=[delete])
sys.stdout.write(f"RESULT {agent('x', approve=Terminal().approve).content}\\n")
"""


@pytest.mark.parametrize(
    ("typed", "result"),
    [
        (b"y\r", "deleted a"),
        (b"n\r", "error: not approved: it was refused; go on without it"),
        (CTRL_D, "error: not approved: it was refused; go on without it"),
        (b"not today\r", "error: not approved: not today"),
    ],
)
def test_a_person_at_the_terminal_approves_a_call(python: Command, typed: bytes, result: str):
    text = run(python, APPROVAL, ("or why not: ", typed))
    assert "delete(path='a')" in text
    assert f"RESULT {result}" in text


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_who_leaves_ends_the_task(python: Command, key: bytes):
    script = SCRIPT.format(setup="", run=SYNC.format(listeners=""))
    assert "RESULT q USER_QUIT" in run(python, script, (PROMPT, key))


def test_without_the_extra_the_question_is_plain(python: Command):
    setup = "sys.modules['prompt_toolkit'] = None"
    script = SCRIPT.format(setup=setup, run=SYNC.format(listeners=""))
    text = run(python, script, (PROMPT, b"I am Bob\n"), ("Hello you", b""), (PROMPT, CTRL_D))
    assert re.search(r"What is your name\?\nyou: ", text)
    assert "RESULT q USER_QUIT" in text


def test_what_was_typed_before_is_one_key_away(python: Command):
    script = SCRIPT.format(setup="", run=SYNC.format(listeners=""))
    text = run(python, script, (PROMPT, b"I am Bob\r"), ("Hello you", b""), (PROMPT, b"\x1b[A"), ("Bob", b"\x15q\r"))
    assert "RESULT q USER_QUIT" in text


def test_without_a_terminal_nobody_is_asked(python: Command, tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT.format(setup="", run=SYNC.format(listeners="")))
    ended: Any = python("script.py")
    assert ended.status == 1
    assert "NotInteractiveError: the user is to answer and there is no terminal" in ended.err
    assert os.linesep in ended.err
