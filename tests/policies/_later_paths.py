"""Each path on which what a run has read is obeyed by a later run, or by the same run when it is resumed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, Message, Module
from trivium.actions import tool
from trivium.journal import Journal, step
from trivium.llms import BaseLLM
from trivium.policies import Source
from trivium.testing import ScriptedModel, call_tool

from ._office import TO_EVE, Outbox
from ._paths import MAIL, Run, reader


class Crash(BaseException):
    """The end of a process."""


def resumed(outbox: Outbox, folder: Path, options: dict[str, Any], find: Callable[[], str]) -> None:
    """Let a program find a text, break it off before an agent obeys the text, and resume it."""
    is_first = True

    class Program(Module):
        def __init__(self) -> None:
            super().__init__()
            self.writer = outbox.agent(TO_EVE)

        def forward(self, message: Message) -> Message:
            found = find()
            if is_first:
                raise Crash
            return self.writer(f"Do this: {found}")

    with closing(Journal(folder / f"{bool(options)}.db")) as journal:
        with pytest.raises(Crash):
            Program()("Read.", run_id="1", journal=journal, **options)
        is_first = False
        Program()("Read.", run_id="1", journal=journal, **options)


def by_a_step_that_is_repeated(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    def find() -> str:
        return step("read", lambda: str(reader(outbox)("Read.").content), effect="read")

    resumed(outbox, folder, options, find)


def by_the_error_of_a_step_that_is_repeated(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    def fail() -> str:
        raise ValueError(reader(outbox)("Read.").content)

    def find() -> str:
        try:
            return step("read", fail, effect="read")
        except ValueError as error:
            return str(error)

    resumed(outbox, folder, options, find)


def by_a_tool_that_is_repeated(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    @tool(source="program", effect="read")
    def look() -> str:
        """Look."""
        return str(reader(outbox)("Read.").content)

    resumed(
        outbox, folder, options, lambda: str(Agent(ScriptedModel([call_tool("look"), "ok"]), tools=[look])("?").content)
    )


def by_a_model_that_is_repeated(outbox: Outbox, folder: Path, options: dict[str, Any]) -> None:
    class Delegating(BaseLLM):
        def chat(self, messages: Any, **kwargs: Any) -> str:
            return str(reader(outbox)("Read.").content)

    resumed(outbox, folder, options, lambda: str(Agent(Delegating("none"))("?").content))


LATER_PATHS: list[tuple[Run, Source]] = [
    (each, MAIL)
    for each in (
        by_a_step_that_is_repeated, by_the_error_of_a_step_that_is_repeated, by_a_tool_that_is_repeated,
        by_a_model_that_is_repeated,
    )
]  # fmt: skip
