"""`trivium chat` on pipes: one line a turn, documents, tools, sessions, JSON lines, and wrong input."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from _signals import press_ctrl_c
from trivium.agents import Agent
from trivium.terminal.lowlevel import Conversation
from trivium.testing import ScriptedModel

from ._chat_server import HOLD, ChatAnswers
from ._command import Command, Ended

TOOLS = """
from trivium.actions import BaseAction, tool

def add(a: int, b: int) -> int:
    return a + b

def parse() -> str:
    raise ValueError("no page \\x1b]0;owned\\x07")

class Clock(BaseAction):
    def run(self) -> str:
        '''The time.'''
        return "noon"

class Broken(BaseAction):
    def __init__(self):
        raise RuntimeError("no hands")

    def run(self) -> str:
        '''Nothing.'''
        return ""

class Other:
    pass

NUMBER = 3
"""


def chat(trivium: Command, text: str | bytes, *arguments: str, answers: Sequence[Any] = ("ok",)) -> Ended:
    """`trivium chat` with this standard input and scripted answers."""
    (trivium.folder / "chat.json").write_text(json.dumps(answers))
    (trivium.folder / "tools.py").write_text(TOOLS)
    model = () if "--model" in arguments else ("--model", "scripted:chat.json")
    (trivium.folder / "typed").write_bytes(text if isinstance(text, bytes) else text.encode())
    with (trivium.folder / "typed").open("rb") as stdin:
        return trivium("chat", *model, *arguments, stdin=stdin)


def test_each_line_is_a_turn_and_the_end_of_the_input_ends_it(trivium: Command):
    ended = chat(trivium, "hi\n\nmore\n", answers=["Hello", "Two\nlines"])
    assert ended == (0, "Hello\nTwo\nlines\n", "")


@pytest.mark.parametrize(
    ("word", "turns"), [("/quit", 1), ("/EXIT now", 1), ("q", 3), ("x", 3), ("exit", 3), ("BYE", 3), ("/help", 3)]
)
def test_two_commands_end_it_and_other_words_are_input(trivium: Command, word: str, turns: int):
    assert chat(trivium, f"hi\n{word}\nmore\n", answers=["ok"] * turns) == (0, "ok\n" * turns, "")


def test_the_last_line_needs_no_line_break_and_any_bytes_are_text(trivium: Command):
    with ChatAnswers(lambda body: ["o", "k"]) as server:
        ended = chat(trivium, "表 naïve\n".encode() + b"bad \xff byte", *server.options)
    assert (ended.status, ended.out) == (0, "ok\nok\n")
    assert [texts[-1][1] for texts in server.texts()] == ["表 naïve", "bad \ufffd byte"]


def test_the_mark_of_a_files_encoding_is_no_input(trivium: Command):
    with ChatAnswers(lambda body: ["o", "k"]) as server:
        chat(trivium, b"\xef\xbb\xbfhello\r\n", *server.options)
    assert server.texts() == [[("user", "hello")]]


def test_a_closed_input_has_ended(trivium: Command):
    (trivium.folder / "chat.json").write_text('["ok"]')
    assert trivium("chat", "--model", "scripted:chat.json", preexec_fn=lambda: os.close(0)) == (0, "", "")


def test_what_was_said_and_the_instruction_are_known_in_the_next_turn(trivium: Command):
    answers = iter([["Hel", "lo"], ["o", "k"]])
    with ChatAnswers(lambda body: next(answers)) as server:
        chat(trivium, "hi\nmore\n", *server.options, "--system", "Be kind.")
    assert server.texts()[1] == [
        ("system", "Be kind."), ("user", "hi"), ("assistant", "Hello"), ("user", "more"),
    ]  # fmt: skip


# ---- tools
def test_tools_of_ones_own(trivium: Command):
    script: list[Any] = [
        {"tool": "add", "arguments": {"a": 1, "b": 2}}, {"tool": "Clock", "arguments": {}}, "three at noon",
    ]  # fmt: skip
    ended = chat(trivium, "hi\n", "--tool", "tools:add", "--tool", "tools:Clock", "--json", answers=script)
    results = [each["result"] for each in ended.records if each["event"] == "tool_result"]
    assert results == ["3", "noon"]


@pytest.mark.parametrize("name", ["arxiv", "python", "web"])
def test_tools_that_come_with_trivium(trivium: Command, name: str):
    assert chat(trivium, "hi\n", "--tool", name) == (0, "ok\n", "")


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("nothing", "there is no tool 'nothing': give arxiv, python, web, or your own tool as module:function"),
        ("tools:nothing", "tools has no 'nothing'; there are add, parse"),
        ("tools:NUMBER", "tools:NUMBER is of the class int; give a function, a Tool or an action"),
        ("tools:Other", "tools:Other is a class; give a function, a Tool or an action"),
        ("tools:Broken", "tools:Broken() failed: RuntimeError: no hands (tools.py, line 17, in __init__)"),
        ("nowhere:add", "there is no module 'nowhere' in this folder, and none is installed"),
        ("tools:", "'tools:' names no tool; write it as module:object, as tools:add"),
        ("../tools:add", "'../tools:add' names no tool; write it as module:object, as tools:add"),
    ],
)
def test_a_tool_that_is_none_is_one_line(trivium: Command, tool: str, said: str):
    ended = chat(trivium, "hi\n", "--tool", tool)
    assert (ended.status, ended.out, ended.error) == (2, "", said)


@pytest.mark.parametrize("is_debug", [False, True])
def test_an_error_of_a_tool_is_one_line_that_moves_no_cursor(trivium: Command, is_debug: bool):
    script: list[Any] = [{"tool": "parse", "arguments": {}}, "I see"]
    ended = chat(trivium, "hi\n", "--tool", "tools:parse", *(["--debug"] if is_debug else []), answers=script)
    assert (ended.status, ended.out) == (0, "I see\n")
    first, _, rest = ended.err.partition("\n")
    assert first == "the tool parse raised ValueError: no page  ]0;owned "
    assert ("Traceback" in rest and "\x1b" not in rest) if is_debug else rest == ""


# ---- documents
def lease(pages: int) -> str:
    middle = [
        f"Clause {number}. The parties agree on matter number {number} of no weight.\n\n" for number in range(pages)
    ]
    return "".join(["Lease of Ada Lovelace.\n\n", *middle, "The deposit amounts to EUR 1,800.\n\n", *middle])


def test_of_long_documents_the_passages_of_the_question_go_in(trivium: Command):
    (trivium.folder / "lease.txt").write_text(lease(200))
    (trivium.folder / "other.md").write_text("Ned's garage is blue.")
    arguments = ["--document", "lease.txt", "--docs", "other.md", "--budget", "1500", "--embedding", "none"]
    with ChatAnswers(lambda body: ["EUR 1,8", "00."]) as server:
        ended = chat(trivium, "How much is the deposit?\n", *server.options, *arguments)
    assert ended.err == ""
    question = server.texts()[0][-1][1]
    assert "EUR 1,800" in question
    assert len(question) < 3500
    assert ended.out.startswith("EUR 1,800 [1].\n")


@pytest.mark.parametrize(
    ("document", "status", "said"),
    [
        ("nothing.txt", 1, "nothing.txt"),
        ("empty", 1, "nothing there can be read"),
        ("-", 2, "give documents as files"),
    ],
)
def test_a_document_that_cannot_be_read_is_one_line(trivium: Command, document: str, status: int, said: str):
    (trivium.folder / "empty").mkdir()
    ended = chat(trivium, "hi\n", "--document", document, "--embedding", "none")
    assert (ended.status, ended.out) == (status, "")
    assert said in ended.error


# ---- sessions
def test_a_session_goes_on_where_it_ended(trivium: Command):
    answers = iter([["Hel", "lo"], ["o", "k"]])
    with ChatAnswers(lambda body: next(answers)) as server:
        chat(trivium, "hi\n", *server.options, "--session", "s.db")
        chat(trivium, "more\n", *server.options, "--session", "s.db")
    assert server.texts()[1] == [("user", "hi"), ("assistant", "Hello"), ("user", "more")]
    assert [each.name for each in trivium.folder.glob("s.db*")] == ["s.db"]
    assert (trivium.folder / "s.db").stat().st_mode & 0o077 == 0
    assert trivium("runs", "--journal", "s.db").out.count("done") == 2


def test_a_session_goes_on_with_another_model(trivium: Command):
    """What another model has answered stays an answer, also where the agent had the name of that model."""
    earlier = Conversation(Agent(ScriptedModel(["Hello Ada"]), name="m1"), file=trivium.folder / "talk.db")
    earlier.ask("I am Ada", (), str)
    earlier.close()
    with ChatAnswers(lambda body: ["fi", "ne"]) as server:
        assert chat(trivium, "who am I?\n", *server.options, "--session", "talk.db") == (0, "fine\n", "")
    assert ("assistant", "Hello Ada") in server.texts()[0]


def test_the_json_of_a_session_is_taken_up(trivium: Command):
    old = json.dumps({"memory": [{"sender": "user", "content": "hi"}, {"sender": "tiny", "content": "Hello"}]})
    (trivium.folder / "s.json").write_text(old)
    with ChatAnswers(lambda body: ["o", "k"]) as server:
        for _ in range(2):
            ended = chat(trivium, "more\n", *server.options, "--session", "s.json", "--json")
            assert [each["event"] for each in ended.records] == ["delta", "delta", "answer"]
    said = [("user", "hi"), ("assistant", "Hello"), ("user", "more")]
    assert server.texts() == [said, [*said, ("assistant", "ok"), ("user", "more")]]
    assert (trivium.folder / "s.json.old").read_text() == old


def test_with_a_journal_a_turn_that_was_killed_goes_on_and_later_ones_have_all_that_was_said(trivium: Command):
    def reply(body: dict[str, Any]) -> list[str]:
        said = [each["content"] for each in body["messages"] if each["role"] == "user"]
        return [HOLD, "again"] if said[-1] == "second" and len(server.asked) == 2 else [f"heard {len(said)}"]

    journal = ("--journal", "runs.db", "--session", "ada")
    (trivium.folder / "typed").write_text("first\nsecond\n")
    with ChatAnswers(reply) as server, (trivium.folder / "typed").open() as stdin:
        process = trivium.start("chat", *server.options, *journal, stdin=stdin)
        server.held = process.kill
        assert trivium.end(process).out == "heard 1\n"
        ended = chat(trivium, "third\n", *server.options, *journal)
        assert (ended.status, ended.out) == (0, "heard 2\nheard 3\n")
        assert chat(trivium, "fourth\n", *server.options, *journal).out == "heard 4\n"
        said = [("user", "first"), ("assistant", "heard 1"), ("user", "second"), ("assistant", "heard 2")]
        assert server.texts()[-1] == [*said, ("user", "third"), ("assistant", "heard 3"), ("user", "fourth")]
        assert chat(trivium, "hi\n", *server.options, "--journal", "runs.db").out == "heard 1\n"
    assert trivium("runs").out.count("done") == 5


def test_a_chat_that_is_open_goes_on_with_the_turn_of_another_one_that_was_killed(trivium: Command):
    def reply(body: dict[str, Any]) -> list[str]:
        said = [each["content"] for each in body["messages"] if each["role"] == "user"]
        return [HOLD, "again"] if said[-1] == "second" and len(server.asked) == 2 else [f"heard {len(said)}"]

    session = ("--session", "talk.db")
    (trivium.folder / "typed").write_text("second\n")
    with ChatAnswers(reply) as server, (trivium.folder / "typed").open() as typed:
        first = trivium.start("chat", *server.options, *session, stdin=subprocess.PIPE)
        assert first.stdin is not None
        assert first.stdout is not None
        first.stdin.write("first\n")
        first.stdin.flush()
        assert first.stdout.readline() == "heard 1\n"
        second = trivium.start("chat", *server.options, *session, stdin=typed)
        server.held = second.kill
        trivium.end(second)
        first.stdin.write("third\n")
        assert trivium.end(first).out == "heard 2\nheard 3\n"
    assert trivium("runs", "--journal", "talk.db").out.count("done") == 3


@pytest.mark.parametrize(
    "content", ["[]", "{", "{}", '{"memory": 3}', '{"memory": [3]}', '{"memory": [{"content": 1, "nothing": 2}]}', "3"]
)
def test_a_session_file_that_is_none_is_one_line_and_stays_as_it_was(trivium: Command, content: str):
    (trivium.folder / "s.json").write_text(content)
    ended = chat(trivium, "hi\n", "--session", "s.json")
    assert (ended.status, ended.error) == (2, "s.json holds no conversation of this agent: name a new file")
    assert (trivium.folder / "s.json").read_text() == content


def test_a_session_that_cannot_be_written_is_reported_before_anything_is_asked(trivium: Command):
    with ChatAnswers(lambda body: ["o", "k"]) as server:
        ended = chat(trivium, "hi\nmore\n", *server.options, "--session", "no/such/folder.json")
        assert server.asked == []
    assert (ended.status, ended.out) == (1, "")
    assert ended.error == "no/such/folder.json cannot be written: No such file or directory; name another file"


# ---- JSON lines
def test_json_lines_tell_what_happens(trivium: Command):
    script = [{"tool": "add", "arguments": {"a": 1, "b": 2}}, {"tool": "add", "arguments": {"a": "x"}}, "it is 3\x1b表"]
    ended = chat(trivium, "1 + 2?\n", "--tool", "tools:add", "--json", answers=script)
    assert (ended.status, ended.err) == (0, "")
    first, second, third, fourth, *rest = ended.records
    assert first == {"event": "tool_call", "name": "add", "arguments": '{"a": 1, "b": 2}'}
    assert second == {"event": "tool_result", "name": "add", "result": "3"}
    assert (third["event"], fourth["event"], fourth["name"]) == ("tool_call", "tool_error", "add")
    assert rest == [{"event": "delta", "text": "it is 3\x1b表"}, {"event": "answer", "content": "it is 3\x1b表"}]
    assert ended.out.isascii()


def test_an_error_is_a_line_and_the_next_turn_comes(trivium: Command):
    replies = iter([[], ["o", "k"]])
    with ChatAnswers(lambda body: next(replies)) as server:
        ended = chat(trivium, "first\nsecond\n", *server.options, "--json")
        assert server.texts()[1] == [("user", "second")]
    assert ended.status == 1
    assert [each["event"] for each in ended.records] == ["error", "delta", "delta", "answer"]
    assert ended.records[0]["kind"] == "MalformedAnswerError"


def test_without_json_an_error_is_a_line_on_stderr(trivium: Command):
    with ChatAnswers(lambda body: []) as server:
        ended = chat(trivium, "first\n", *server.options)
    assert (ended.status, ended.out) == (1, "")
    assert ended.error.startswith("the server sent no answer")


# ---- how it begins and ends
def test_no_model_is_one_line(trivium: Command):
    ended = trivium("chat")
    assert (ended.status, ended.out) == (1, "")
    assert "trivium models fetch" in ended.error


@pytest.mark.parametrize("arguments", [["--budget", "3"], ["letters"], ["--nothing"]])
def test_a_wrong_option_is_one_line(trivium: Command, arguments: list[str]):
    ended = trivium("chat", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert "trivium chat --help" in ended.error


def test_control_c_on_a_pipe_ends_it_and_keeps_the_session_whole(trivium: Command):
    replies = iter([["o", "k"], [HOLD]])
    (trivium.folder / "typed").write_text("first\nsecond\n")
    with ChatAnswers(lambda body: next(replies)) as server, (trivium.folder / "typed").open() as stdin:
        process = trivium.start("chat", *server.options, "--session", "s.db", stdin=stdin)
        server.held = lambda: press_ctrl_c(process)
        ended = trivium.end(process)
    assert (ended.status, ended.out, ended.err) == (130, "ok\n", "interrupted\n")
    conversation = Conversation(Agent(ScriptedModel([])), file=trivium.folder / "s.db")
    assert [each.content for each in conversation.messages()] == ["first", "ok"]


def test_help_fits_into_80_columns(trivium: Command):
    ended = trivium.on_terminal("chat", "--help")
    assert ended.status == 0
    assert "trivium chat --document lease.pdf" in ended.text
    assert max(map(len, ended.text.splitlines())) <= 80
