"""The bar of a batch: what it says while it runs, at its end, and where nobody watches."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import pytest
from rich.console import Console

from trivium import ChatAgent, Task
from trivium.exceptions import MissingExtraError
from trivium.observers import ProgressBar
from trivium.tasks._batch import run_batch_function, run_batch_task_gen
from trivium.testing import ScriptedModel


def console(is_terminal: bool = True) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=is_terminal, width=80, _environ={"TERM": "xterm"}), file


def plain(file: io.StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", file.getvalue())


def test_it_says_how_many_are_done_of_how_many():
    screen, file = console()
    with ProgressBar("Running A", screen) as bar:
        bar(1, 4)
        bar(3, 4)
    assert "Running A" in plain(file)
    assert "3/4" in plain(file)


def test_it_says_so_where_the_batch_was_stopped_and_where_nobody_knows_how_many_there_are():
    screen, file = console()
    bar = ProgressBar("[A]", screen)
    with bar:
        bar(3, None)
        bar.__exit__(KeyboardInterrupt, None, None)
    assert "[A]: stopped" in plain(file)
    assert "3/?" in plain(file)


def test_nothing_is_written_where_nobody_watches():
    screen, file = console(is_terminal=False)
    with ProgressBar("A", screen) as bar:
        bar(1, 2)
    assert file.getvalue() == ""


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(MissingExtraError, match="cli"):
        run_batch_function(str.upper, "ab", progress=True)


@pytest.mark.shows("run_batch_task_gen(message)")
def test_a_batch_shows_it_under_its_own_words(monkeypatch: pytest.MonkeyPatch):
    shown: list[Any] = []

    class Kept(ProgressBar):
        def __init__(self, title: str) -> None:
            super().__init__(title, console(is_terminal=False)[0])
            shown.append(title)

        def __call__(self, done: int, total: int | None) -> None:
            super().__call__(done, total)
            shown.append((done, total))

    monkeypatch.setattr("trivium.tasks._pool.ProgressBar", Kept)
    run_batch_function(str.upper, "ab", progress=True)
    task = Task(ChatAgent(ScriptedModel(["DONE"])), interactive=False)
    run_batch_task_gen(lambda i: task, "a", message="Reading letters", progress=True)
    assert shown == ["Running upper", (1, 2), (2, 2), "Reading letters", (1, 1)]
