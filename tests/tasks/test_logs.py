"""The logs of a task: lines and rows that hold whatever was said, and a run that does not depend on them."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import ChatAgent, Entity, Event, Message, StatusCode, Task, TaskConfig
from trivium.exceptions import OutputError
from trivium.schema import ToolCall
from trivium.tasks._events import Response, ResponseEvent
from trivium.tasks._log_files import RunLog, file_name
from trivium.testing import ScriptedModel

from ._helpers import task

HEAD = " \tTask\tResponder\tsender_entity\tsender_name\trecipient\tblock\ttool_type\ttool\tcontent"


def logged(folder: Path, *answers: Any, name: str = "A", **config: Any) -> Task:
    return task(*(answers or ["DONE 42"]), name=name, config=TaskConfig(logs_dir=str(folder), **config))


def rows(folder: Path, name: str = "A") -> list[list[str]]:
    """The rows of a table below its head; each line is one, as it says."""
    head, *lines = (folder / f"{name}.tsv").read_bytes().decode().split("\n")[:-1]
    assert head == HEAD
    return [line.split("\t") for line in lines]


def lines(folder: Path, name: str = "A") -> list[str]:
    """The entries of a .log, without the time."""
    text = (folder / f"{name}.log").read_bytes().decode()
    entries = re.split(r"\n(?! {4})", text)[:-1]
    return [re.sub(r"\d\d:\d\d:\d\d ", "", entry, count=1) for entry in entries]


# ---- what is written
@pytest.mark.shows("TaskConfig.logs_dir", "Task.log_message()", "ChatDocument.tsv_str()")
def test_a_run_writes_who_was_asked_and_what_each_step_came_to(tmp_path: Path):
    logged(tmp_path, "__PASS__", "DONE 42").run("6 * 7?")
    found = rows(tmp_path)
    assert found[0] == [" ", "A", "User", "User", "", "", "", "", "", "6 * 7?"]
    assert [" ", "A", "User", "", "", "", "", "", "", "[CANNOT RESPOND]"] in found
    assert found[-1] == ["*", "A", "LLM", "LLM", "A", "", "", "", "", "DONE 42"]
    assert " A | User | [CANNOT RESPOND]" in "\n".join(lines(tmp_path))
    assert lines(tmp_path)[-2] == "* A | LLM | LLM(A) | DONE 42"
    assert lines(tmp_path)[-1].startswith("< A ends | DONE · ")


@pytest.mark.shows("TaskConfig.logs_dir=None", "weak point 17")
def test_nothing_is_written_or_printed_unless_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    of = task("DONE 42")
    of.init_loggers()
    of.run("hi")
    of.log_message(Entity.LLM, Message(content="x"))
    of.close_loggers()
    assert TaskConfig().logs_dir is None
    assert list(tmp_path.iterdir()) == []
    logged(tmp_path / "logs").run("hi")
    assert capsys.readouterr() == ("", "")


@pytest.mark.shows("TaskConfig.enable_loggers", "TaskConfig.enable_loggers=True")
@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        ({}, {".log", ".tsv", ".html"}),
        ({"enable_html_logging": False}, {".log", ".tsv"}),
        ({"enable_loggers": False}, set[str]()),
    ],
)
@pytest.mark.shows("TaskConfig.enable_html_logging", "TaskConfig.enable_html_logging=True")
def test_what_is_switched_off_is_not_there(tmp_path: Path, config: dict[str, Any], kinds: set[str]):
    task("DONE", config=TaskConfig(logs_dir=str(tmp_path), **config)).run("hi")
    assert {each.suffix for each in tmp_path.iterdir()} == kinds


@pytest.mark.shows("TaskConfig.logs_dir")
def test_sub_tasks_write_into_the_files_of_their_root(tmp_path: Path):
    root, sub = logged(tmp_path, "ask", "DONE 1"), logged(tmp_path / "other", "DONE 42", name="Sub")
    root.add_sub_task(sub)
    root.run("hi")
    assert {each.name for each in tmp_path.iterdir()} == {"A.log", "A.tsv", "A.html"}
    assert ["*", "Sub", "LLM", "LLM", "Sub", "", "", "", "", "DONE 42"] in rows(tmp_path)
    assert ["*", "A", "Sub", "User", "Sub", "", "", "", "", "42"] in rows(tmp_path)
    shown = lines(tmp_path)
    assert next(each for each in shown if "Sub ends" in each).startswith("<   Sub ends | DONE")
    sub.run("hi")
    assert (tmp_path / "other/Sub.log").is_file()  # alone it has its own


@pytest.mark.shows("TaskConfig.logs_dir")
def test_a_run_adds_to_what_is_there(tmp_path: Path):
    of = logged(tmp_path)
    for _ in range(2):
        of.run("hi")
    assert len([each for each in rows(tmp_path) if each[0] == "*"]) == 2
    assert (tmp_path / "A.html").read_text().count("<!doctype html>") == 1


@pytest.mark.shows("ChatDocument.log_fields()")
def test_tool_calls_are_named_with_how_they_were_called(tmp_path: Path):
    log = RunLog(tmp_path, "A")
    call = ToolCall("call_1", "rent", '{"flat": "3b"}')
    log.write(
        Response("A", "LLM", Message(content="", entity=Entity.LLM, sender="A", receiver="Bob", tool_calls=[call]))
    )
    log.close()
    assert rows(tmp_path) == [[" ", "A", "LLM", "LLM", "A", "Bob", "", "OAI_TOOL", "rent", ""]]
    assert lines(tmp_path) == ['  A | LLM | LLM(A) => Bob | OAI_TOOL rent | {"flat": "3b"}']


def test_of_a_long_text_the_table_has_both_ends_and_the_lines_have_all(tmp_path: Path):
    text = "a" * 80 + "b" * 80
    logged(tmp_path, f"DONE {text}", f"DONE {text[5:]}").run("hi")
    assert rows(tmp_path)[-1][-1] == f"DONE {'a' * 75}...{'b' * 80}"
    assert f"DONE {text}" in lines(tmp_path)[-2]


@pytest.mark.shows("weak point 13")
def test_the_lines_have_no_markup_and_enums_are_their_values(tmp_path: Path):
    logged(tmp_path, "[bold]x[/bold] DONE").run("hi")
    text = (tmp_path / "A.log").read_text()
    assert "| LLM | LLM(A) | [bold]x[/bold] DONE" in text  # as it was said
    assert not re.search(r"\[/?(white|red|green|blue)\]|Entity\.|\x1b", text)


@pytest.mark.shows("Task.set_color_log()", "Task.set_color_log(enable=True)")
def test_colours_are_those_of_a_terminal_where_they_are_wanted(tmp_path: Path):
    of = logged(tmp_path)
    of.set_color_log()
    of.run("\x1b[31mred")
    text = (tmp_path / "A.log").read_text()
    assert "\x1b[34m" in text
    assert "\x1b[31m" not in text  # what was said does not steer the terminal
    of.set_color_log(False)
    size = len(text)
    of.run("hi")
    assert "\x1b" not in (tmp_path / "A.log").read_text()[size:]


anything = st.text() | st.sampled_from(
    ["a\tb", "\n* 00:00:00 A | LLM | forged", "\r\n", "\u2028x", "\x85y", '"quoted"', "\ud800"]
)


@settings(max_examples=60)
@given(st.lists(st.tuples(anything, st.booleans()), max_size=5), anything)
def test_whatever_is_said_an_entry_stays_one(tmp_path_factory: pytest.TempPathFactory, said: list[Any], name: str):
    folder = tmp_path_factory.mktemp("log")
    log = RunLog(folder, "A")
    for text, mark in said:
        message = Message(content=text, entity=Entity.LLM, sender=name, receiver=text)
        log.write(Response(name, name, message, True, mark))
    log.close()
    found = rows(folder)
    assert [each[0] for each in found] == ["*" if mark else " " for _, mark in said]
    assert {len(each) for each in found} <= {10}
    assert [each[0] for each in lines(folder)] == [each[0] for each in found]
    raw = (folder / "A.tsv").read_text() + (folder / "A.log").read_text()
    assert all(each.isprintable() or each in "\t\n" for each in raw)


def test_an_object_that_cannot_be_shown_does_not_end_the_run(tmp_path: Path):
    class Shy:
        def __str__(self) -> str:
            raise RuntimeError("no")

        __repr__ = __str__

    log = RunLog(tmp_path, "A")
    log.write(Response("A", "Agent", Message(content=Shy(), entity=Entity.AGENT)))
    log.close()
    assert rows(tmp_path)[0][-1] == "[cannot be shown: RuntimeError]"


# ---- files
names = st.text(min_size=1) | st.sampled_from(
    ["..", ".", "/etc/passwd", "a/b", "a:b", "a b", "con", "NUL.txt", "x" * 300, "-", "\x00"]
)


@given(names, names)
def test_names_of_tasks_become_names_of_files_that_are_theirs_alone(one: str, other: str):
    assert re.fullmatch(r"[\w][\w.-]{0,110}", file_name(one))
    assert (file_name(one) == file_name(other)) == (one == other)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.shows("weak point 11", "Task.clone(i)")
def test_runs_of_clones_give_their_files_back(tmp_path: Path):
    of = logged(tmp_path)
    of.run("hi")
    before = open_files()
    for each in range(20):
        of.clone(each).run("hi")
    assert open_files() == before
    assert (tmp_path / "A-19.log").is_file()


@pytest.mark.shows("Task.init_loggers()", "Task.close_loggers()", "Task.log_message()")
def test_loggers_may_be_opened_before_a_run_and_are_closed_after(tmp_path: Path):
    of, before = logged(tmp_path), open_files()
    of.init_loggers()
    of.init_loggers()
    assert open_files() == before + 3
    of.log_message(Entity.USER, Message(content="before the run"), mark=True)
    of.run("hi")
    of.close_loggers()
    of.close_loggers()
    assert open_files() == before
    of.log_message(Entity.USER, Message(content="after the run"))
    assert open_files() == before
    said = [each[-1] for each in rows(tmp_path)]
    assert (said[0], said[-1]) == ("before the run", "after the run")
    assert rows(tmp_path)[0][0] == "*"


@pytest.mark.shows("Task.clone(i)", "Task.close_loggers()")
class Lines:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        self.lines.append(message)


@pytest.mark.shows("Task.logger", "Task.tsv_logger")
@pytest.mark.parametrize("in_files", [False, True])
def test_loggers_that_are_set_are_given_what_would_stand_in_the_files(tmp_path: Path, in_files: bool):
    of = logged(tmp_path, "__SEND__:B hi", "DONE", enable_loggers=in_files)
    of.add_sub_task(task("hello", name="B", single_round=True))
    assert (of.logger, of.tsv_logger) == (None, None)
    of.logger, of.tsv_logger = Lines(), logging.Logger("rows")
    found: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        found.append(record.getMessage())
        return True

    of.tsv_logger.addFilter(keep)
    of.run("ask B, 100 %d")
    of.log_message(Entity.LLM, Message(content="by hand"))
    assert found[0] == " \tA\tUser\tUser\t\t\t\t\t\task B, 100 %d"
    assert "*\tB\tLLM\tLLM\tB\t\t\t\t\thello" in found
    assert found[-1].endswith("by hand")
    assert of.logger.lines[0].startswith("> ")
    assert of.logger.lines[-1].endswith("by hand")
    assert {path.suffix for path in tmp_path.iterdir()} == ({".html"} if in_files else set())


def test_a_clone_does_not_close_what_the_original_has_opened(tmp_path: Path):
    of, before = task("DONE", config=TaskConfig(logs_dir=tmp_path)), open_files()
    of.init_loggers()
    of.clone(1).close_loggers()
    assert open_files() == before + 3
    of.close_loggers()
    assert open_files() == before


@pytest.mark.shows("Task.log_message(resp)", "Task.log_message(msg=None)", "Task.log_message(mark=False)")
def test_within_a_run_a_logged_message_is_an_event_for_all_who_listen(tmp_path: Path):
    class Talks(ChatAgent):
        def agent_response(self, *message: Any, **kwargs: Any) -> None:
            of.log_message(of)
            of.log_message(Entity.SYSTEM, Message(content="aside"), mark=True)

    of = Task(Talks(ScriptedModel(["DONE"]), name="A"), interactive=False, config=TaskConfig(logs_dir=str(tmp_path)))
    heard: list[Event] = []
    of.run("hi", listeners=[heard.append])
    told = [each.data for each in heard if isinstance(each, ResponseEvent)]
    assert Response("A", "A", None) in told
    assert [(each.responder, each.is_result) for each in told if each.message and each.message.content == "aside"] == [
        ("System", True)
    ]
    assert [each[:3] for each in rows(tmp_path) if each[-1] == "aside"] == [["*", "A", "System"]]


def test_runs_of_one_task_at_once_do_not_mix_within_an_entry(tmp_path: Path):
    texts = [f"{chr(97 + each) * 20_000} DONE" for each in range(8)]
    of = logged(tmp_path)
    of.agent.llm = ScriptedModel(lambda request: texts[int(str(request.messages[-1]["content"]))])

    def run(each: int) -> None:
        of.run(str(each), session_id=each)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    assert {len(each) for each in rows(tmp_path)} == {10}
    said = [each.split(" | ")[-1] for each in lines(tmp_path) if each.startswith("*")]
    assert sorted(said) == texts


def test_a_run_on_a_loop_writes_the_same(tmp_path: Path):
    logged(tmp_path / "sync").run("hi")
    asyncio.run(logged(tmp_path / "async").run_async("hi"))
    assert rows(tmp_path / "sync") == rows(tmp_path / "async")


# ---- when it cannot be written
def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        each.getMessage() for each in caplog.records if (each.name, each.levelno) == ("trivium.tasks", logging.WARNING)
    ]


@pytest.mark.shows("TaskConfig.logs_dir", "Task.init_loggers()")
def test_a_folder_that_cannot_be_written_is_said_once_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("")
    of = logged(tmp_path / "file", "ask", "DONE 42")
    of.add_sub_task(task("DONE 1", name="Sub"))
    result = of.run("hi")
    assert result is not None
    assert (result.content, result.status) == ("42", StatusCode.DONE)
    assert len(warnings_of(caplog)) == 1
    assert "choose another logs_dir" in warnings_of(caplog)[0]
    before = open_files()
    with pytest.raises(OutputError, match="choose another logs_dir"):
        of.init_loggers()
    assert open_files() == before


def test_a_full_disk_ends_the_log_and_not_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "A.tsv").symlink_to("/dev/full")
    result = logged(tmp_path).run("hi")
    assert result is not None
    assert result.content == "42"
    assert len(warnings_of(caplog)) == 1
    assert "A.tsv ends here: No space left on device" in warnings_of(caplog)[0]
    assert lines(tmp_path)[-2] == "* A | LLM | LLM(A) | DONE 42"


@pytest.mark.shows("Task.kill()")
def test_a_killed_run_says_so_at_its_end(tmp_path: Path):
    class Stopper(ChatAgent):
        def agent_response(self, *message: Any, **kwargs: Any) -> None:
            of.kill()

    of = Task(Stopper(ScriptedModel(["x"]), name="A"), interactive=False, config=TaskConfig(logs_dir=str(tmp_path)))
    of.run("hi")
    assert lines(tmp_path)[-1].startswith("< A ends | KILL (Task.kill())")


def test_an_error_of_a_run_stands_at_its_end(tmp_path: Path):
    of = logged(tmp_path, ValueError("no model"))
    with pytest.raises(ValueError, match="no model"):
        of.run("hi")
    assert lines(tmp_path)[-1].startswith("< A ends | ValueError: no model")
