"""A plain script with an interactive task, on a real terminal and without one."""

# pyright: reportPrivateUsage=false
# The process at the terminal is looked at.
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from _signals import press_ctrl_c
from cli._command import GUARD, Command, Ended
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


# ---- without a terminal
AT_A_TERMINAL = "terminal = Terminal()\nagent.ask_user = terminal.ask"
IN_JOBS = """
import sys
from trivium.commander import PASS_WORD, CommanderAsync, Job, tasker

class Chat(Job):
    @tasker(PASS_WORD)
    async def task(self):
        self.add_callback_functions("at_job_end", {"function": self.again, "inject_task_node": True})

    async def again(self, task_node):
        if input("YOU: ") == "exit":
            await self.exit_commander(return_result="QUIT")
        else:
            await task_node.put_job(job=Chat(), parent=task_node.commander)

sys.stdout.write(f"RESULT {CommanderAsync().run(Chat())}\\n")
"""


def piped(python: Command, script: str, text: str) -> Ended:
    """Run a script with this text on its standard input."""
    (python.folder / "script.py").write_text(script)
    (python.folder / "typed").write_text(text)
    with (python.folder / "typed").open("rb") as file:
        lines = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        ended = python("script.py", stdin=lines.stdout)
        lines.communicate()
    return ended


@pytest.mark.parametrize("how", [SYNC, ASYNC, IN_LOOP])
@pytest.mark.parametrize("typed", ["I am Bob\nq\n", "I am Bob\n", "I am Bob"], ids=["q", "end", "no line break"])
def test_a_pipe_answers_until_it_ends(python: Command, how: str, typed: str):
    ended = piped(python, SCRIPT.format(setup="", run=how.format(listeners="")), typed)
    assert ended == (0, "What is your name?\nyou: Hello you\nyou: RESULT q USER_QUIT\n", "")


def test_a_file_and_an_empty_pipe_are_input_too(python: Command):
    script = SCRIPT.format(setup="", run=SYNC.format(listeners=""))
    assert piped(python, script, "").out == "What is your name?\nyou: RESULT q USER_QUIT\n"
    (python.folder / "typed").write_text("I am Bob\n")
    with (python.folder / "typed").open("rb") as file:
        assert python("script.py", stdin=file).out.endswith("Hello you\nyou: RESULT q USER_QUIT\n")


@pytest.mark.parametrize("how", [SYNC, ASYNC])
def test_a_terminal_object_reads_a_pipe_and_writes_without_movements(python: Command, how: str):
    ended = piped(
        python, SCRIPT.format(setup=AT_A_TERMINAL, run=how.format(listeners=", listeners=[terminal]")), "Bob\nq\n"
    )
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == "Ada: What is your name?\nyou: Ada: Hello you\nyou: RESULT q USER_QUIT\n"


def test_jobs_of_agere_read_a_pipe_with_input(python: Command):
    assert piped(python, IN_JOBS, "hi\nmore\nexit\n") == (0, "YOU: " * 3 + "RESULT QUIT\n", "")


def test_a_callback_of_agere_at_the_end_of_input_fails_and_the_run_ends(python: Command):
    ended = piped(python, IN_JOBS.replace("run(Chat())", "run(Chat(), auto_exit=True)"), "hi\n")
    assert (ended.status, ended.out) == (0, "YOU: " * 2 + "RESULT None\n")


@pytest.mark.parametrize(
    "script", [SCRIPT.format(setup="", run=SYNC.format(listeners="")), IN_JOBS], ids=["task", "jobs"]
)
def test_ctrl_c_ends_a_run_that_waits_for_a_line_of_a_pipe(python: Command, script: str):
    (python.folder / "script.py").write_text(script)
    process = python.start("-u", "script.py", stdin=subprocess.PIPE)
    assert process.stdout is not None
    seen = ""
    while not re.search(r"you: $", seen, re.IGNORECASE):
        seen += process.stdout.read(1)
    press_ctrl_c(process)
    ended = python.end(process)
    assert ended.status in (-signal.SIGINT, 130)
    assert ended.err.splitlines()[-1].startswith("KeyboardInterrupt")


def test_ctrl_c_ends_an_awaited_run_with_the_line_that_was_open(python: Command):
    (python.folder / "script.py").write_text(SCRIPT.format(setup="", run=ASYNC.format(listeners="")))
    process = python.start("-u", "script.py", stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "What is your name?\n"
    press_ctrl_c(process)
    _, err = process.communicate("whatever\n", timeout=GUARD)
    assert process.returncode in (-signal.SIGINT, 130)
    assert err.splitlines()[-1].startswith("KeyboardInterrupt")


@pytest.mark.parametrize("how", [SYNC, ASYNC])
@pytest.mark.parametrize("setup", ["", "sys.stdin = None", "sys.stdin.close()", AT_A_TERMINAL])
def test_where_nobody_can_answer_the_error_says_what_to_do(python: Command, setup: str, how: str):
    (python.folder / "script.py").write_text(SCRIPT.format(setup=setup, run=how.format(listeners="")))
    ended: Any = python("script.py")
    assert ended.status == 1
    assert "NotInteractiveError: the user is to answer and there is no terminal" in ended.err


def test_without_a_terminal_nobody_is_asked(python: Command, tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT.format(setup="", run=SYNC.format(listeners="")))
    ended: Any = python("script.py")
    assert ended.status == 1
    assert "NotInteractiveError: the user is to answer and there is no terminal" in ended.err
    assert os.linesep in ended.err
