"""A conversation in a file: a journal of its own, which several processes may use in turn."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trivium import Agent
from trivium.actions import ApprovalRequest, tool
from trivium.exceptions import JournalDamagedError, JournalError, OutputError, RunAliveError
from trivium.journal import Journal
from trivium.llms import ChatModel, Delta, Request
from trivium.schema import Message
from trivium.terminal.lowlevel import Conversation
from trivium.testing import ScriptedModel, call_tool


def begin(file: Path, *answers: str) -> Conversation:
    """Begin, or go on, as in another process."""
    return Conversation(Agent(ScriptedModel([*answers]), name="bot"), file=file)


def ask(conversation: Conversation, text: str) -> str:
    return str(conversation.ask(text, (), str).content)


def said(conversation: Conversation) -> list[str]:
    return [str(each.content) for each in conversation.messages()]


def test_two_that_are_open_at_once_take_turns_at_one_conversation(tmp_path: Path) -> None:
    first, second = begin(tmp_path / "talk.db", "A1", "A2"), begin(tmp_path / "talk.db", "B1")
    assert [ask(first, "one"), ask(second, "two"), ask(first, "three")] == ["A1", "B1", "A2"]
    assert said(first) == said(begin(tmp_path / "talk.db")) == ["one", "A1", "two", "B1", "three", "A2"]
    second.reset()
    assert ask(begin(tmp_path / "talk.db", *"abc"), "four") == "a"
    assert (ask(first, "five"), said(first)) == ("A2", ["four", "a", "five", "A2"])
    assert len(Journal(tmp_path / "talk.db").runs()) == 3


class Interrupted(ChatModel):
    """Has another one ask while it answers, and is stopped in its second answer."""

    def __init__(self, other: Conversation) -> None:
        self.name, self.gen_params, self.other, self.errors = "bot", {}, other, list[RunAliveError]()

    def stream(self, request: Request) -> Iterator[Delta]:
        yield "so "
        with pytest.raises(RunAliveError) as caught:
            ask(self.other, "me too")
        self.errors.append(caught.value)
        if len(self.errors) == 2:
            raise KeyboardInterrupt
        yield "far"


def test_a_turn_that_is_at_work_elsewhere_is_an_error_and_then_caught_up_with(tmp_path: Path) -> None:
    other = begin(tmp_path / "talk.db", "yes")
    model = Interrupted(other)
    conversation = Conversation(Agent(model, name="bot"), file=tmp_path / "talk.db")
    assert ask(conversation, "one") == "so far"
    with pytest.raises(KeyboardInterrupt):
        conversation.ask("two", (), lambda: "so ")
    assert [each.run_id for each in model.errors] == ["chat-1", "chat-2"]
    assert ask(other, "me too") == "yes"
    assert said(other) == ["one", "so far", "two", "so ", "me too", "yes"]
    found = {each.id: each.status for each in Journal(tmp_path / "talk.db").runs()}
    assert found == {"chat-1": "done", "chat-2": "stopped", "chat-3": "done", "chat-4": "done"}


def test_a_turn_that_is_broken_off_in_its_first_calls_says_what_was_begun(tmp_path: Path) -> None:
    def look() -> str:
        return "tea"

    def pay() -> str:
        raise KeyboardInterrupt

    script = [[call_tool("look"), call_tool("pay", 1)], "It may be paid."]
    agent = Agent(ScriptedModel(script), tools=[look, pay], name="bot")
    conversation = Conversation(agent, file=tmp_path / "talk.db")
    with pytest.raises(KeyboardInterrupt):
        conversation.ask("Pay.", (), lambda: "I pay.")
    kept = ["Pay.", "I pay.\n(broken off after calling look, pay: this may have had its effect)"]
    assert said(conversation) == said(begin(tmp_path / "talk.db")) == kept
    assert ask(conversation, "Is it paid?") == "It may be paid."


def test_a_call_whose_approval_is_broken_off_is_not_told_as_begun() -> None:
    @tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    def look() -> str:
        return "tea"

    def approve(request: ApprovalRequest) -> bool:
        raise KeyboardInterrupt

    told = "(broken off after calling look: this may have had its effect)"
    for script, kept in (([call_tool("pay")], []), ([call_tool("look"), call_tool("pay", 1)], ["Pay.", told])):
        conversation = Conversation(Agent(ScriptedModel([script]), tools=[look, pay], name="bot"))
        with pytest.raises(KeyboardInterrupt):
            conversation.ask("Pay.", (), str, approve)
        assert said(conversation) == kept


def test_a_conversation_is_saved_as_another_one_that_goes_on(tmp_path: Path) -> None:
    conversation = Conversation(Agent(ScriptedModel(["A1", "A2"]), name="bot"))
    ask(conversation, "one")
    conversation.save(tmp_path / "copy.db")
    ask(conversation, "two")
    again = begin(tmp_path / "copy.db", "B")
    assert (ask(again, "three"), said(again)) == ("B", ["one", "A1", "three", "B"])
    with pytest.raises(OutputError, match="has another conversation already: name a new file"):
        conversation.save(tmp_path / "copy.db")
    assert said(begin(tmp_path / "copy.db")) == ["one", "A1", "three", "B"]
    (tmp_path / "notes.txt").write_text("something else")
    with pytest.raises(JournalDamagedError):
        conversation.save(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "something else"


def test_a_conversation_that_has_gone_on_is_saved_in_the_same_file_again(tmp_path: Path) -> None:
    conversation = Conversation(Agent(ScriptedModel(["A1", "A2"]), name="bot"))
    for text in ("one", "two"):
        ask(conversation, text)
        conversation.save(tmp_path / "copy.db")
        assert said(begin(tmp_path / "copy.db")) == said(conversation)
    assert len(said(conversation)) == 4
    conversation.reset()
    with pytest.raises(OutputError, match="name a new file"):
        conversation.save(tmp_path / "copy.db")
    assert len(said(begin(tmp_path / "copy.db"))) == 4


KILLED = """
import os, sys
from pathlib import Path
from trivium import Agent
from trivium.terminal.lowlevel import Conversation
from trivium.testing import ScriptedModel, call_tool

def look() -> str:
    return "tea"

def die() -> str:
    os.kill(os.getpid(), 9)

script = ["A1", [call_tool("look")], [call_tool("die")]]
agent = Agent(ScriptedModel(script), tools=[look, die], name="earlier")
conversation = Conversation(agent, file=Path(sys.argv[1]))
conversation.ask("one", (), str)
conversation.ask("two", (), str)
"""


def test_a_turn_that_was_broken_off_under_another_name_is_closed_and_the_next_is_answered(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "talk.db")], check=False)
    assert killed.returncode == -signal.SIGKILL
    conversation = begin(tmp_path / "talk.db", "A3", "A4")
    assert conversation.catch_up()
    with pytest.raises(RunAliveError, match="'chat-2' of this conversation was broken off: go on with it first"):
        ask(conversation, "three")
    with pytest.raises(
        JournalError, match=r"'chat-2' was broken off and cannot go on \(.*began with.*\); ask again: two"
    ):
        conversation.go_on((), str)
    assert not conversation.catch_up()
    assert ask(conversation, "three") == "A3"
    told = "(broken off after calling look, die: this may have had its effect)"
    again = begin(tmp_path / "talk.db", "A4")
    assert (again.catch_up(), ask(again, "four")) == (False, "A4")
    assert said(again) == ["one", "A1", "two", told, "three", "A3", "four", "A4"]


@pytest.mark.filterwarnings("error")
def test_what_was_said_under_another_name_stays_an_answer(tmp_path: Path) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    model = ScriptedModel([call_tool("add", a=1, b=2), "A1"])
    ask(Conversation(Agent(model, tools=[add], name="m1"), file=tmp_path / "talk.db"), "one")
    senders = [each.sender for each in begin(tmp_path / "talk.db").messages()]
    assert senders == ["user", "bot", "add", "bot"]


def test_the_json_of_a_state_is_taken_up_once_and_comes_back_from_the_journal(tmp_path: Path) -> None:
    file, agent = tmp_path / "talk.json", Agent(ScriptedModel([]), name="bot")
    agent.memory.open(0).add([Message(content="one", sender="user"), Message(content="A1", sender="bot")])
    old = json.dumps(agent.state_dict(0))
    file.write_text(old)
    begin(file).close()
    assert file.with_name("talk.json.old").read_text() == old
    restored = Agent(ScriptedModel([]), name="bot")
    Journal(file).view("chat-1").restore(restored)
    assert restored.state_dict("chat") == agent.state_dict(0)

    file.write_text(old)  # as one who puts it back
    with pytest.raises(OutputError, match="move that away"):
        begin(file)
    assert file.read_text() == old
