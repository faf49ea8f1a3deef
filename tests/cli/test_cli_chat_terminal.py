"""`trivium chat` on a real terminal: what is typed, what is seen, and what Ctrl-C does."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest
from rich.console import Console

from trivium import Agent
from trivium.language_models import MockLM
from trivium.llms import Delta, Request
from trivium.schema import Usage
from trivium.terminal import Terminal
from trivium.terminal.lowlevel import Conversation, run_command
from trivium.testing import ScriptedModel

from ._chat_server import HOLD, ChatAnswers
from ._command import Command, Ended

PROMPT = "you: "
ENTER, ALT_ENTER, CTRL_C, CTRL_D, UP, DELETE = b"\r", b"\x1b\r", b"\x03", b"\x04", b"\x1b[A", b"\x7f"
PASTE = b"\x1b[200~%s\x1b[201~"
TOOLS = """
from trivium import tool

def add(a: int, b: int) -> int:
    return a + b

def fail() -> str:
    raise OSError("no")

@tool(needs_approval=True)
def pay() -> str:
    return "paid"
"""
ADD = {"tool": "add", "arguments": {"a": 1, "b": 2}}
# Nobody answers where the cursor is: the prompt is told not to ask.
QUIET = {"PROMPT_TOOLKIT_NO_CPR": "1"}
_CUT = re.compile(r"\x1b[^@-~]*$|\x1b\[[^@-~]*$")
_MOVES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[=>78]|\x07")


class Typist:
    """Types each entry of a script once what it waits for is seen, behind what was seen before."""

    def __init__(self, *script: tuple[str, bytes]) -> None:
        self._script = list(script)
        self._from = 0

    def __call__(self, text: str, terminal: int) -> None:
        seen = plain(text)
        while self._script and (at := seen.find(self._script[0][0], self._from)) >= 0:
            wanted, keys = self._script.pop(0)
            self._from = at + len(wanted)
            os.write(terminal, keys)

    @property
    def is_done(self) -> bool:
        return not self._script


def plain(text: str) -> str:
    """What was written, without movements; one that has not come to its end is left out too."""
    return _CUT.sub("", _MOVES.sub("", text)).replace("\r", "")


def talk(
    trivium: Command,
    arguments: Sequence[str],
    *script: tuple[str, bytes],
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run the command on a terminal, and type what the script says."""
    typist = Typist(*script)
    ended = trivium.on_terminal("chat", *arguments, environment={**QUIET, **(environment or {})}, seen=typist)
    assert typist.is_done, plain(ended.out)
    return ended


def scripted(trivium: Command, *answers: Any) -> list[str]:
    (trivium.folder / "chat.json").write_text(json.dumps(answers))
    (trivium.folder / "tools.py").write_text(TOOLS)
    return ["--model", "scripted:chat.json"]


def test_what_is_typed_is_answered_and_quit_ends_it(trivium: Command):
    ended = talk(
        trivium, scripted(trivium, "Hello Ada", "Again"), (PROMPT, b"hi\r"), (PROMPT, b"more\r"), (PROMPT, b"/quit\r")
    )
    assert ended.status == 0
    assert plain(ended.out).count("assistant: Hello Ada") == 1
    assert "assistant: Again" in plain(ended.out)


@pytest.mark.parametrize("word", [b"q\r", b"x\r", b"exit\r", b"bye\r", b"/exit\r", b"/QUIT now\r", CTRL_D])
def test_the_ways_to_leave(trivium: Command, word: bytes):
    ended = talk(trivium, scripted(trivium, "Hello"), (PROMPT, b"hi\r"), ("Hello", b""), (PROMPT, word))
    assert (ended.status, "Traceback" in ended.out) == (0, False)


def test_control_c_leaves_only_if_it_is_pressed_twice(trivium: Command):
    ended = talk(
        trivium,
        scripted(trivium, "Hello"),
        (PROMPT, CTRL_C),
        ("Ctrl-C again leaves", b""),
        (PROMPT, b"hi\r"),
        ("assistant: Hello", b""),
        (PROMPT, CTRL_C),
        ("Ctrl-C again leaves", b""),
        (PROMPT, CTRL_C),
    )
    assert (ended.status, "Traceback" in ended.out) == (0, False)


def test_there_is_a_sign_of_life_before_the_first_word(trivium: Command):
    with ChatAnswers(lambda body: [HOLD, "never"]) as server:
        typist = Typist((PROMPT, b"hi\r"), ("…", CTRL_C), ("interrupted", b""), (PROMPT, CTRL_D))
        ended = trivium.on_terminal("chat", *server.options, environment=QUIET, seen=typist)
    assert (ended.status, typist.is_done) == (0, True)


def test_model_cost_and_documents_are_told(trivium: Command):
    (trivium.folder / "lease.txt").write_text("The rent is 950 EUR.")
    (trivium.folder / "more.txt").write_text("Pets are allowed.")
    (trivium.folder / "other.json").write_text(json.dumps(["Other"]))
    ended = talk(
        trivium,
        [*scripted(trivium, "It is 950 EUR [1]."), "--docs", "lease.txt", "--embedding", "none"],
        (PROMPT, b"/cost\r"),
        ("nothing so far", b""),
        (PROMPT, b"/docs\r"),
        ("lease.txt: 1 passages", b""),
        (PROMPT, b"/docs more.txt\r"),
        ("more.txt: 1 passages", b""),
        (PROMPT, b"/docs none.txt\r"),
        ("there is no such file", b""),
        (PROMPT, b"/model\r"),
        ("the model is chat", b""),
        (PROMPT, b"/model scripted:other.json\r"),
        ("the model is other", b""),
        (PROMPT, b"/help\r"),
        ("/docs PLACE reads another one", b""),
        (PROMPT, CTRL_D),
    )
    assert ended.status == 0
    plainly = talk(
        trivium, scripted(trivium, "Hi"), (PROMPT, b"/docs\r"), ("there are no documents", b""), (PROMPT, CTRL_D)
    )
    assert plainly.status == 0


class Counted(MockLM):
    """A model that tells what its answers use."""

    def stream(self, request: Request) -> Generator[Delta]:
        yield "fine"
        yield Usage(3, 4)


def test_the_cost_of_all_answers_is_added_up():
    conversation, out = Conversation(Agent(Counted())), io.StringIO()
    terminal = Terminal(Console(file=out))
    for _ in range(2):
        conversation.ask("hi", (conversation.count,), str)
    run_command("/cost", conversation, terminal)
    assert "14 tokens" in out.getvalue()


def test_a_session_that_goes_on_begins_with_its_summary(trivium: Command):
    options = [*scripted(trivium, "Hello Ada"), "--session", "s.db"]
    talk(trivium, options, (PROMPT, b"I am Ada\r"), ("Hello Ada", b""), (PROMPT, CTRL_D))
    ended = talk(trivium, options, ("The conversation of 2 messages goes on", b""), (PROMPT, CTRL_D))
    assert "user: I am Ada\nassistant: Hello Ada\n" in plain(ended.out)


def test_an_answer_is_seen_as_it_comes_and_control_c_stops_it(trivium: Command):
    answers = iter([["One ", "two ", HOLD, "never"], ["go", "ing on"]])
    with ChatAnswers(lambda body: next(answers)) as server:
        ended = talk(
            trivium,
            [*server.options, "--session", "s.db"],
            (PROMPT, b"count\r"),
            ("assistant: One two ", CTRL_C),  # seen while the server holds the rest back
            ("interrupted", b""),
            (PROMPT, b"go on\r"),
            ("going on", b""),
            (PROMPT, CTRL_D),
        )
        assert server.left.wait(10)  # the connection was closed, not left to its fate
    assert ended.status == 0
    assert "never" not in ended.out
    assert server.texts()[1] == [("user", "count"), ("assistant", "One two "), ("user", "go on")]
    saved = Conversation(Agent(ScriptedModel([])), file=trivium.folder / "s.db").messages()
    assert [each.content for each in saved] == ["count", "One two ", "go on", "going on"]


def test_a_question_that_is_stopped_before_its_answer_is_forgotten(trivium: Command):
    answers = iter([[HOLD], ["fi", "ne"]])
    typist = Typist((PROMPT, b"first\r"), ("interrupted", b""), (PROMPT, b"second\r"), ("fine", b""), (PROMPT, CTRL_D))
    with ChatAnswers(lambda body: next(answers)) as server:

        def seen(text: str, terminal: int) -> None:
            server.held = lambda: os.write(terminal, CTRL_C)
            typist(text, terminal)

        ended = trivium.on_terminal("chat", *server.options, environment=QUIET, seen=seen)
    assert (ended.status, typist.is_done) == (0, True)
    assert server.texts()[1] == [("user", "second")]


def test_a_model_that_fails_is_an_error_line_and_the_conversation_goes_on(trivium: Command):
    def reply(body: dict[str, Any]) -> list[str]:
        return [] if "break" in str(body["messages"][-1]) else ["fi", "ne"]

    with ChatAnswers(reply) as server:
        ended = talk(
            trivium,
            server.options,
            (PROMPT, b"break\r"),
            ("error: ", b""),
            (PROMPT, b"again\r"),
            ("fine", b""),
            (PROMPT, CTRL_D),
        )
    assert ended.status == 0
    assert "Traceback" not in ended.out
    assert server.texts()[-1] == [("user", "again")]


# ---- typing
def test_several_lines_by_alt_enter_and_by_paste(trivium: Command):
    with ChatAnswers(lambda body: ["o", "k"]) as server:
        talk(
            trivium,
            server.options,
            (PROMPT, b"one" + ALT_ENTER + b"two" + ENTER),
            ("ok", b""),
            (PROMPT, PASTE % b"three\r\nfour\nfive" + ENTER),
            ("ok", b""),
            (PROMPT, CTRL_D),
        )
    asked = [texts[-1][1] for texts in server.texts()]
    assert asked == ["one\ntwo", "three\nfour\nfive"]


def test_keys_edit_the_line_and_control_c_clears_it(trivium: Command):
    with ChatAnswers(lambda body: ["o", "k"]) as server:
        talk(
            trivium,
            server.options,
            (PROMPT, b"wrong" + CTRL_C + b"rightt" + DELETE + b"\x01" + b"all \x05" + b"!" + ENTER),
            ("ok", b""),
            (PROMPT, UP + ENTER),  # what was typed before
            ("ok", b""),
            (PROMPT, CTRL_D),
        )
    assert [texts[-1][1] for texts in server.texts()] == ["all right!", "all right!"]


def test_text_of_any_script_goes_there_and_comes_back(trivium: Command):
    text = "naïve 表示 👩\u200d🔬 ж"
    with ChatAnswers(lambda body: [*text]) as server:
        ended = talk(
            trivium, server.options, (PROMPT, text.encode() + ENTER), ("assistant: ", b""), ("ж", b""), (PROMPT, CTRL_D)
        )
    assert server.texts()[0][-1][1] == text
    assert f"assistant: {text}" in plain(ended.out)


def test_what_a_model_writes_steers_no_terminal(trivium: Command):
    with ChatAnswers(lambda body: ["a\x1b[2", "Jb\x1b]0;evil\x07c\x9bd\u202eh"]) as server:
        ended = talk(trivium, server.options, (PROMPT, b"hi\r"), ("assistant: ", b""), (PROMPT, CTRL_D))
    assert "a [2Jb ]0;evil c d h" in plain(ended.out)
    assert not any(mark in ended.out for mark in ("\x1b[2J", "\x1b]0", "\x9b", "\u202e"))


def test_a_command_is_completed(trivium: Command):
    offered, chosen = ("show this list", b"\t"), ("/help", ENTER)
    script = ((PROMPT, b"/hel"), offered, chosen, ("/save FILE", b""), (PROMPT, CTRL_D))
    ended = talk(trivium, scripted(trivium, "x"), *script)
    assert ended.status == 0


def test_the_history_of_what_was_typed_is_kept_only_where_it_is_allowed(trivium: Command):
    history = trivium.folder / "state" / "history"
    for environment in ({}, {"TRIVIUM_HISTORY": str(history)}):
        assert not history.exists()
        typed = ((PROMPT, b"secret plan\r"), ("assistant: ok", b""), (PROMPT, CTRL_D))
        talk(trivium, scripted(trivium, "ok"), *typed, environment=environment)
    assert "+secret plan" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0
    with ChatAnswers(lambda body: ["o", "k"]) as server:
        talk(trivium, [*server.options, "--history", str(history)], (PROMPT, UP + ENTER), ("ok", b""), (PROMPT, CTRL_D))
    assert server.texts()[0][-1][1] == "secret plan"


@pytest.mark.parametrize(
    ("keys", "seen"), [(b"y\r", "It is paid."), (CTRL_D, "It is paid."), (b"later\x03" + CTRL_C, "interrupted")]
)
def test_at_an_approval_control_c_stops_the_turn_and_no_answer_becomes_an_earlier_input(
    trivium: Command, keys: bytes, seen: str
):
    ended = talk(
        trivium,
        [*scripted(trivium, {"tool": "pay", "arguments": {}}, "It is paid."), "--tool", "tools:pay", "--history", "h"],
        (PROMPT, b"pay it\r"),
        ("or why not: ", keys),
        (seen, b""),
        (PROMPT, UP),
        ("pay it", CTRL_C + CTRL_D),
    )
    assert (ended.status, "again leaves" in plain(ended.out)) == (0, False)
    assert [line for line in (trivium.folder / "h").read_text().splitlines() if line[:1] == "+"] == ["+pay it"]


# ---- what is shown
def test_tool_calls_are_one_line_and_can_be_unfolded(trivium: Command):
    call = {"tool": "add", "arguments": {"a": 1, "b": 2}}
    ended = talk(
        trivium,
        [
            *scripted(trivium, call, "three", {"tool": "fail", "arguments": {}}, "sorry"),
            "--tool",
            "tools:add",
            "--tool",
            "tools:fail",
        ],
        (PROMPT, b"1 + 2?\r"),
        ("three", b""),
        (PROMPT, b"/tools\r"),
        ("    → 3", b""),
        (PROMPT, b"/tools on\r"),
        (PROMPT, b"fail\r"),
        ("sorry", b""),
        (PROMPT, CTRL_D),
    )
    text = plain(ended.out)
    assert "  ⚙ add(a=1, b=2) → 3\n" in text
    assert "  ⚙ fail()\n    → no\n" in text


def test_the_commands(trivium: Command):
    ended = talk(
        trivium,
        [*scripted(trivium, "Hello Ada", "Hello again"), "--system", "Be kind."],
        (PROMPT, b"I am Ada\r"),
        (PROMPT, b"/history\r"),
        ("user: I am Ada\nassistant: Hello Ada\n", b""),
        (PROMPT, b"/save\r"),
        ("name a file", b""),
        (PROMPT, b"/save talk.db\r"),
        ("saved in talk.db", b""),
        (PROMPT, b"/save no/such/folder.json\r"),
        ("cannot be written", b""),
        (PROMPT, b"/reset\r"),
        ("forgotten", b""),
        (PROMPT, b"/history\r"),
        (PROMPT, b"/help\r"),
        ("/quit", b""),
        (PROMPT, b"/nothing\r"),
        ("there is no command /nothing", b""),
        (PROMPT, b"/etc/hosts is a file\r"),  # no command: a question
        ("Hello again", b""),
        (PROMPT, CTRL_D),
    )
    assert ended.status == 0
    saved = trivium.folder / "talk.db"
    said = Conversation(Agent(ScriptedModel([])), file=saved).messages()
    assert [each.content for each in said] == ["I am Ada", "Hello Ada"]
    assert saved.stat().st_mode & 0o077 == 0


KILLED = """
import os
from pathlib import Path
from trivium import Agent
from trivium.terminal.lowlevel import Conversation
from trivium.testing import ScriptedModel, call_tool

def die() -> str:
    os.kill(os.getpid(), 9)

agent = Agent(ScriptedModel([[call_tool("die")]]), tools=[die], name="earlier")
Conversation(agent, file=Path("talk.db")).ask("one", (), str)
"""


def test_a_question_is_asked_also_behind_a_turn_that_cannot_go_on(trivium: Command):
    killed: list[int] = []

    def seen(text: str, terminal: int) -> None:
        if not killed and PROMPT in plain(text):
            killed.append(subprocess.run([sys.executable, "-c", KILLED], cwd=trivium.folder, check=False).returncode)
        typist(text, terminal)

    typist = Typist(
        (PROMPT, b"hi\r"), ("'chat-1' was broken off and", b""), ("assistant: Hello", b""), (PROMPT, CTRL_D)
    )
    arguments = [*scripted(trivium, "Hello"), "--session", "talk.db"]
    ended = trivium.on_terminal("chat", *arguments, environment=QUIET, seen=seen)
    assert (ended.status, typist.is_done, killed) == (0, True, [-signal.SIGKILL])
    assert plain(ended.out).count("error: ") == 1


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(trivium: Command, environment: dict[str, str]):
    arguments = scripted(trivium, {"tool": "add", "arguments": {"a": 1, "b": 2}}, "three")
    ended = talk(
        trivium,
        [*arguments, "--tool", "tools:add"],
        (PROMPT, b"hi\r"),
        ("three", b""),
        (PROMPT, b"q\r"),
        environment=environment,
    )
    assert ended.status == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", ended.out)
    if environment.get("TERM") == "dumb":
        assert "\x1b" not in ended.out
    assert ("Alt-Enter" in ended.out) == (environment.get("TERM") != "dumb")  # it reads a plain line


def test_roles_have_colours(trivium: Command):
    ended = talk(trivium, scripted(trivium, "Hello"), (PROMPT, b"hi\r"), ("Hello", b""), (PROMPT, CTRL_D))
    assert "\x1b[1;32massistant: " in ended.out  # the model green
    assert re.search(r"\x1b\[[0-9;]*34[0-9;]*m(\x1b\[[0-9;]*m)*you: ", ended.out)  # the user blue


def test_a_terminal_that_knows_only_ascii_gets_plain_marks(trivium: Command):
    arguments = [*scripted(trivium, ADD, "three é"), "--tool", "tools:add"]
    environment = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    ended = talk(trivium, arguments, (PROMPT, b"hi\r"), ("three", b""), (PROMPT, CTRL_D), environment=environment)
    assert "  * add(a=1, b=2) -> 3" in plain(ended.out)
    assert "three ?" in plain(ended.out)


@pytest.mark.parametrize("columns", [24, 60])
def test_a_tool_line_is_no_wider_than_the_terminal_and_a_resize_is_heeded(trivium: Command, columns: int):
    call = {"tool": "add", "arguments": {"a": int("9" * 40), "b": int("8" * 40)}}
    arguments = [*scripted(trivium, call, "a lot"), "--tool", "tools:add"]
    resized: list[int] = []

    def seen(text: str, terminal: int) -> None:
        if not resized and PROMPT in plain(text):
            resized.append(columns)
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        typist(text, terminal)

    typist = Typist((PROMPT, b"hi\r"), ("a lot", b""), (PROMPT, CTRL_D))
    ended = trivium.on_terminal("chat", *arguments, environment=QUIET, seen=seen)
    (line,) = [line for line in plain(ended.out).splitlines() if "⚙" in line]
    assert len(line) <= columns
    assert "…" in line
    assert " → " in line
