"""The hook that logs what passes by."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from trivium import Agent
from trivium.actions import ActionExecutor
from trivium.exceptions import OutputError
from trivium.hooks import MessageLogger
from trivium.schema import Message
from trivium.testing import ScriptedModel

NAME = "trivium.test_message_logger"


@pytest.fixture(autouse=True)
def _handlers_go() -> Iterator[None]:
    yield
    logger = logging.getLogger(NAME)
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()


def add(a: int, b: int) -> int:
    return a + b


def test_it_logs_what_an_agent_and_an_executor_are_told_and_say(caplog: pytest.LogCaptureFixture) -> None:
    logger = MessageLogger(NAME)
    Agent(ScriptedModel(["hello\n12:00 INFO paid"]), name="ada", hooks=logger)("hi", session_id=7)
    executor = ActionExecutor(add, hooks=logger)
    executor(Message(content={"name": "add", "parameters": {"a": 1, "b": 2}}, sender="ada"))
    assert caplog.messages[:2] == [
        "session id: 7, message sender: user\n  hi",
        "session id: 7, message sender: ada\n  hello\n  12:00 INFO paid",
    ]
    assert [text.split("\n")[0] for text in caplog.messages[2:]] == [
        "session id: 0, message sender: ada", "session id: 0, message sender: ActionExecutor"
    ]  # fmt: skip


def test_colours_tell_senders_apart_and_stay_the_same(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(ScriptedModel(["hello"]), name="ada", hooks=MessageLogger(NAME, color=True))
    agent("hi")
    agent("hi")
    one, two, *again = caplog.messages
    assert again == [one, two]
    assert one.startswith("\x1b[3")
    assert one.endswith("\x1b[0m")
    assert one[:5] != two[:5]


def test_a_message_cannot_steer_the_terminal(caplog: pytest.LogCaptureFixture) -> None:
    Agent(ScriptedModel(["a\x1b[2Jb\rc\td\n"]), hooks=MessageLogger(NAME))("hi")
    assert caplog.messages[1].endswith("a\\x1b[2Jb\\rc\td\n  ")


def test_no_text_passes_for_another_entry(caplog: pytest.LogCaptureFixture) -> None:
    forged = "12:00 INFO paid\n12:00 INFO paid"
    agent = Agent(ScriptedModel([forged]), hooks=MessageLogger(NAME))
    agent(Message(content=forged, sender=f"ada\n{forged}"), session_id=f"7\n{forged}")
    lines = [line for text in caplog.messages for line in text.split("\n")]
    assert [line for line in lines if not line.startswith(("session id: 7\\n", "  "))] == []
    assert len(lines) == 6


def test_a_file_gets_the_lines_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the second adds no second handler
        Agent(ScriptedModel(["hellö"]), hooks=MessageLogger(NAME, add_file_handler=True))("hi")
    text = (tmp_path / f"{NAME}.log").read_text(encoding="utf-8")
    assert text.count("hellö") == 2
    assert "INFO" in text


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "chat.log"):
        with pytest.raises(OutputError, match=r"cannot write .*; name another file"):
            MessageLogger(NAME, add_file_handler=path)
