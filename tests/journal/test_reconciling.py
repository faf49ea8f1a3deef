"""Acts that were broken off, of which the program finds out what became of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trivium.exceptions import ToolError
from trivium.journal import NOT_DONE, Journal, step


def test_a_step_that_was_broken_off_is_reconciled(tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    child = os.fork()
    if child == 0:
        with Journal(tmp_path / "runs.db").run("a"):
            step("pay", lambda: os._exit(9))
    os.waitpid(child, 0)
    with journal.run("a"):
        assert step("pay", lambda: "never", reconcile=lambda: "receipt 7") == "receipt 7"


def test_a_step_that_has_not_happened_is_done_when_that_is_found_out(tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    paid, answers = list[str](), [LookupError("no such payment"), OSError("no answer"), NOT_DONE, NOT_DONE, "receipt 7"]

    def pay() -> str:
        paid.append("pay")
        if len(paid) < 3:
            raise KeyboardInterrupt  # as if the process had died
        return "receipt 3"

    def find() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def program() -> object:
        with journal.run("a"):
            return step("pay", pay, reconcile=find)

    with pytest.raises(KeyboardInterrupt):
        program()
    with pytest.raises(LookupError, match=r"^no such payment$"):  # as it is
        program()
    with pytest.raises(ToolError, match=r"reconcile= of pay has failed.*no answer.*NOT_DONE") as caught:
        program()
    assert isinstance(caught.value.__cause__, OSError)
    assert paid == ["pay"]
    with pytest.raises(KeyboardInterrupt):
        program()
    assert [program(), program()] == ["receipt 3"] * 2
    assert (paid, answers) == (["pay"] * 3, ["receipt 7"])
