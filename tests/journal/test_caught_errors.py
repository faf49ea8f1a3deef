"""Errors and stops that the program has caught: they stay as they are recorded, whatever ends a later attempt."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from journal._worlds import World
from trivium import Agent, Module
from trivium.exceptions import DeadlineExceededError, JournalError, LimitExceededError, ToolError
from trivium.journal import Journal, step, step_async
from trivium.testing import ScriptedModel

ENDINGS = [ValueError("a bug"), KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError(), "mail", "translated"]


@pytest.mark.parametrize("ending", ENDINGS, ids=repr)
def test_a_caught_error_stays_though_another_one_ends_a_later_attempt_in_the_handler(tmp_path: Path, ending: Any):
    ends = [False]

    def mail() -> str:
        if ends[0] and ending == "mail":
            raise OSError("the mail is down")
        return "by bank"

    def fall_back(world: World) -> str:
        step("pay", world.pay)
        world.die()
        if ends[0] and isinstance(ending, BaseException):
            raise ending
        try:
            return step("mail", mail, effect="read")
        except OSError:
            if ending == "translated":
                raise ValueError("no mail") from None
            raise

    def program(world: World) -> str:
        with world.journal.run("a"):
            try:
                return step("ask", world.ask)
            except ConnectionError:
                return fall_back(world)

    world = World(tmp_path)
    assert world.attempt(program, is_killed=True) == "killed"
    ends[0] = True
    if ending != "translated":
        (tmp_path / "deadly").unlink()
        with pytest.raises(OSError if ending == "mail" else cast("type[BaseException]", type(ending))):
            program(world)
    ends[0] = False
    assert [world.attempt(program) for _ in range(2)] == ["by bank"] * 2
    assert world.said == "aP"


@pytest.mark.parametrize("ending", [KeyboardInterrupt(), LimitExceededError("answers", 1)], ids=repr)
def test_what_only_interrupts_the_handler_tries_the_caught_error_not_again(tmp_path: Path, ending: BaseException):
    world, attempts = World(tmp_path), [0]

    def program() -> str:
        attempts[0] += 1
        with world.journal.run("a"):
            try:
                return step("ask", world.ask)
            except ConnectionError:
                if attempts[0] < 3:
                    raise ending from None
                return "no answer"

    for _ in range(2):
        with pytest.raises(type(ending)):
            program()
    assert [program(), program()] == ["no answer"] * 2
    assert world.said == "a"


def test_a_refused_attempt_in_the_handler_leaves_the_run_as_it_was(tmp_path: Path):
    def program(world: World, instruction: str = "You help.") -> str:
        agent = Agent(ScriptedModel(["one", "two"]), name="helper", system_message=instruction)
        with world.journal.run("a"):
            try:
                return step("ask", world.ask)
            except ConnectionError:
                said = agent("What now?").content
                world.die()
                return said + agent("And now?").content

    world = World(tmp_path)
    assert world.attempt(program, is_killed=True) == "killed"
    assert world.attempt(partial(program, instruction="You help in another way.")) == "AgentChangedError"
    assert [world.attempt(program) for _ in range(2)] == ["oneone"] * 2
    assert world.said == "a"


def test_a_caught_stop_stays_though_another_error_ends_a_later_attempt_in_the_handler(tmp_path: Path):
    class Slow(Module):
        async def forward(self, message: Any) -> str:
            async def act() -> str:
                await asyncio.sleep(20)
                return "late"

            return await step_async("act", act)

    def program(world: World, ends: bool = False) -> str:
        async def main() -> str:
            async with world.journal.run("a"):
                try:
                    return (await Slow("slow").acall("Go.", timeout=0.2)).content
                except DeadlineExceededError:
                    await step_async("pay", world.pay_async)
                    world.die()
                    if ends:
                        raise ValueError("a bug") from None
                    return "fallback"

        return asyncio.run(main())

    world = World(tmp_path)
    assert world.attempt(program, is_killed=True) == "killed"
    assert world.attempt(partial(program, ends=True)) == "ValueError"
    assert [world.attempt(program) for _ in range(2)] == ["fallback"] * 2
    assert world.said == "P"


def test_an_error_of_a_tool_with_a_text_like_that_of_an_unknown_act_is_tried_again(tmp_path: Path):
    world = World(tmp_path)

    def look() -> str:
        world.pay()
        if world.said == "P":
            raise ToolError("it is not known whether the parcel has arrived: ask later")
        return "arrived"

    def program() -> str:
        with world.journal.run("a"):
            return step("look", look, effect="read")

    with pytest.raises(ToolError, match="ask later"):
        program()
    assert [program(), program()] == ["arrived"] * 2


@pytest.mark.parametrize("effect", ["once", "read"])
def test_an_error_of_another_journal_is_an_outcome_as_any_other(tmp_path: Path, effect: Any):
    def report(world: World) -> str:
        world.pay()
        Journal("/proc/none/other.db").runs()
        return "fine"

    def program(world: World) -> str:
        with world.journal.run("a"):
            try:
                return step("report", partial(report, world), effect=effect)
            except JournalError:
                world.die()
                return "none"

    world = World(tmp_path)
    assert world.attempt(program, is_killed=True) == "killed"
    assert [world.attempt(program) for _ in range(2)] == ["none"] * 2
    assert world.said == "P"
