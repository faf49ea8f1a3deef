"""The live view on a terminal of its own: while the run goes on, at its end, and after Ctrl-C."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from cli._command import Command, Ended

PROGRAM = """
import sys
from trivium import Agent
from trivium.observers import LiveTree
from trivium.testing import ScriptedModel, call_tool

def wait_for_enter() -> str:
    return sys.stdin.readline()

def answer(request):
    if len(request.messages) < 3:
        return call_tool("wait_for_enter")
    return words()

def words():
    yield "the rent is "
    sys.stdin.readline()
    yield "900"

try:
    with LiveTree() as live:
        print("printed meanwhile")
        result = Agent(ScriptedModel(answer), tools=[wait_for_enter], name="Clerk")("x", listeners=[live])
except KeyboardInterrupt:
    sys.exit("stopped by hand")
print(result.content)
"""
ERASED = "\x1b[2K"


class Program(Command):
    """A Python program in place of `trivium`."""

    def __init__(self, folder: Path, text: str) -> None:
        super().__init__(folder)
        (folder / "program.py").write_text(text)
        self._process = [sys.executable, "-u", str(folder / "program.py")]


def run(folder: Path, replies: Mapping[str, bytes], environment: Mapping[str, str] | None = None) -> Ended:
    """Run the program; as soon as a text is on the screen, type its reply."""
    left = dict(replies)

    def seen(text: str, terminal: int) -> None:
        for shown in [each for each in left if each in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)]:
            os.write(terminal, left.pop(shown))

    ended = Program(folder, PROGRAM).on_terminal(environment=environment, seen=seen)
    assert not left, f"never shown: {list(left)}"
    return ended


def test_names_while_they_run_and_a_clean_picture_at_the_end(tmp_path: Path):
    ended = run(tmp_path, {"tool:wait_for_enter": b"\n", "● Clerk": b"", "● model": b"", "the rent is": b"\n"})
    assert ended.status == 0
    final = ended.out.rpartition(ERASED)[2]
    assert "●" not in final
    assert final.count("\x1b[?25h") == 1  # the cursor is back
    assert ended.out.rindex("\x1b[?25h") > ended.out.rindex("\x1b[?25l")
    lines = [re.sub(r"\d+\.\d s", "… s", line) for line in ended.text.splitlines()]
    assert lines[-6:] == [
        "✓ Clerk  … s  3 done",
        "├── ✓ model  … s",
        "├── ✓ tool:wait_for_enter  … s",
        "└── ✓ model  … s",
        "4 done",
        "the rent is 900",
    ]
    assert "printed meanwhile" in lines


def test_control_c_gives_the_terminal_back(tmp_path: Path):
    ended = run(tmp_path, {"tool:wait_for_enter": b"\n", "the rent is": b"\x03"})
    assert ended.status == 1
    assert ended.text.splitlines()[-1] == "stopped by hand"
    assert ended.out.rindex("\x1b[?25h") > ended.out.rindex("\x1b[?25l")
    assert "KeyboardInterrupt" in ended.text  # as what ended the nodes
    assert "Traceback" not in ended.text


def test_no_colours_where_they_are_not_wanted(tmp_path: Path):
    ended = run(tmp_path, {"tool:wait_for_enter": b"\n", "the rent is": b"\n"}, {"NO_COLOR": "1"})
    assert ended.status == 0
    assert "✓ Clerk" in ended.text
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", ended.out)


@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}])
def test_a_pipe_and_a_dumb_terminal_get_the_result_alone(tmp_path: Path, environment: dict[str, str]):
    program = Program(tmp_path, PROGRAM.replace("sys.stdin.readline()", "''"))
    ended = program.on_terminal(environment=environment) if environment else program()
    assert (ended.status, ended.text, ended.err) == (0, "printed meanwhile\nthe rent is 900\n", "")
