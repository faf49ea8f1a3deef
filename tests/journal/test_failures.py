"""Errors that end runs: they are tried again, also where the process was killed before it could say that they had."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NoReturn

import pytest

from _disks import mounted
from journal._programs import Stateless
from journal._worlds import World
from trivium import Agent, Module, this_call
from trivium.actions import Tool, tool
from trivium.exceptions import JournalError, RunPausedError, ToolEndedError, ToolFailedError
from trivium.journal import Journal, ask_later, step, step_async
from trivium.journal._sqlite import SQLiteRunStore
from trivium.testing import ScriptedModel, call_tool


def run_step(world: World, effect: Any = "read") -> str:
    with world.journal.run("a"):
        step("pay", world.pay)
        try:
            return step("ask", world.ask, effect=effect)
        finally:
            world.die()


def run_once(world: World) -> str:
    return run_step(world, "once")


def run_transaction(world: World) -> str:
    return run_step(world, "transactional")


def run_nested(world: World) -> str:
    with world.journal.run("a"):
        try:
            return step("outer", lambda: step("pay", world.pay) and step("ask", world.ask, effect="read"))
        finally:
            world.die()


def run_translated(world: World) -> str:
    with world.journal.run("a"):
        try:
            step("pay", world.pay)
            return step("ask", world.ask)
        except ConnectionError:
            raise ValueError("no answer") from None
        finally:
            world.die()


def run_model(world: World) -> str:
    with world.journal.run("a"):
        try:
            step("pay", world.pay)
            return Agent(ScriptedModel(lambda request: world.ask()), name="asker")("Go.").content
        finally:
            world.die()


def ask_all(request: Any) -> Any:
    said = [each["content"] for each in request.messages if each["role"] == "tool"]
    return said[0] if said else [call_tool("ask", 0), call_tool("pay", 1)]


def ask_one(request: Any) -> Any:
    said = ask_all(request)
    return said if isinstance(said, str) else said[0]


def ask_inner(request: Any) -> Any:
    said = ask_all(request)
    return said if isinstance(said, str) else call_tool("inner", message="Go.")


def run_tools(world: World, *, parallel: bool = False) -> str:
    tools = [Tool.of(world.ask).replace(effect="read"), Tool.of(world.pay)]
    with world.journal.run("a"):
        try:
            if not parallel:
                step("pay", world.pay)
            options: dict[str, Any] = {"parallel": parallel, "on_tool_error": "raise"}
            model = ScriptedModel(ask_all if parallel else ask_one)
            return Agent(model, tools=tools, name="asker", **options)("Go.").content
        finally:
            world.die()


def run_parallel(world: World) -> str:
    return run_tools(world, parallel=True)


def run_agent_tool(world: World) -> str:
    inner = Agent(ScriptedModel(lambda request: world.ask()), name="inner")
    model = ScriptedModel(ask_inner)
    with world.journal.run("a"):
        try:
            step("pay", world.pay)
            return Agent(model, tools=[inner], name="asker", on_tool_error="raise")("Go.").content
        finally:
            world.die()


def run_stopped(world: World) -> str:
    tools = [Tool.of(world.stop_first).replace(name="ask", effect="read")]
    model = ScriptedModel(ask_one)
    with world.journal.run("a"):
        try:
            step("pay", world.pay)
            return Agent(model, tools=tools, name="asker")("Go.").content
        finally:
            world.die()


def run_gather(world: World) -> str:
    async def main() -> str:
        async with world.journal.run("a"):
            try:
                asked, pays = step_async("ask", world.ask_async, effect="read"), step_async("pay", world.pay)
                found = await asyncio.gather(asked, pays, return_exceptions=True)
                for each in found:
                    if isinstance(each, Exception):
                        raise each
                return str(found[0])
            finally:
                world.die()

    return asyncio.run(main())


def run_group(world: World) -> str:
    async def main() -> str:
        async with world.journal.run("a"):
            try:
                await step_async("pay", world.pay)
                async with asyncio.TaskGroup() as group:
                    asked = group.create_task(step_async("ask", world.ask_async, effect="read"))
                return await asked
            finally:
                world.die()

    return asyncio.run(main())


class Desk(Module):
    """Has a module of its own that asks."""

    def __init__(self, world: World) -> None:
        super().__init__("desk")
        self.world, self.clerk = world, Agent(ScriptedModel(lambda request: world.ask()), name="clerk")

    async def forward(self, message: Any) -> str:
        await step_async("pay", self.world.pay)
        try:
            return (await self.clerk.acall(message)).content
        finally:
            self.world.die()


def run_modules(world: World) -> str:
    return Desk(world)("Go.", run_id="a", journal=world.journal).content


PROGRAMS = [
    run_step, run_once, run_transaction, run_nested, run_translated, run_model, run_tools, run_parallel,
    run_agent_tool, run_stopped, run_gather, run_group, run_modules,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kills", [0, 1, 2])
def test_an_error_that_ends_a_run_is_tried_again_though_its_process_was_killed(
    tmp_path: Path, program: Callable[[World], str], kills: int
):
    world = World(tmp_path)
    for _ in range(kills):
        assert world.attempt(program, is_killed=True) == "killed"
    first = world.attempt(program)
    assert first.endswith(("Error", "Group"))
    assert world.said.count("a") == 1
    assert world.journal.info("a").status == "failed"
    assert world.attempt(program) == "answered"
    assert world.attempt(program) == "answered"
    assert (world.said.count("P"), world.journal.info("a").status) == (1, "done")


@pytest.mark.parametrize("fallback", ["pays", "fails"])
def test_an_error_that_the_program_catches_stays_what_it_was(tmp_path: Path, fallback: str):
    def fall_back(world: World) -> None:
        def act() -> str:
            paid = world.pay()
            if fallback == "fails":
                raise OSError("no money")
            return paid

        with suppress(OSError):
            step("pay", act)

    def program(world: World) -> str:
        with world.journal.run("a"):
            try:
                return step("ask", world.ask)
            except ConnectionError:
                fall_back(world)
                world.die()
            return f"{step('ask', world.ask, effect='read')} without it"

    world = World(tmp_path)
    assert world.attempt(program, is_killed=True) == "killed"
    assert [world.attempt(program) for _ in range(3)] == ["answered without it"] * 3
    assert world.said == "aPa"


def test_a_pause_in_place_of_an_error_tries_it_not_again(tmp_path: Path):
    world = World(tmp_path)

    @tool(effect="once", needs_approval=True)
    def pay() -> str:
        """Pay."""
        return world.pay()

    def program() -> str:
        with world.journal.run("a"):
            try:
                return step("ask", world.ask)
            except ConnectionError:
                return Agent(Stateless(call_tool("pay"), "done"), tools=[pay], approve=ask_later)("Pay.").content

    for _ in range(2):
        with pytest.raises(RunPausedError):
            program()
    (waiting,) = world.journal.pending()
    world.journal.approve("a", waiting.digest, by="ada")
    assert [program(), program()] == ["done"] * 2
    assert world.said == "aP"


def test_an_error_in_a_run_that_was_done_leaves_it_done(tmp_path: Path):
    """Whose program has changed, and catches it no more."""
    world = World(tmp_path)

    class Desk(Module):
        catches = True

        def forward(self, message: Any) -> str:
            try:
                return step("ask", world.ask)
            except ConnectionError:
                if not self.catches:
                    raise
                return "no answer"

    class Strict(Desk):
        catches = False

    options: dict[str, Any] = {"session_id": "s", "run_id": "a", "journal": world.journal}
    assert Desk("desk")("Go.", **options).content == "no answer"
    for _ in range(2):
        with pytest.raises(ConnectionError):
            Strict("desk")("Go.", **options)
    assert Desk("desk")("Go.", **options).content == "no answer"
    assert (world.said, world.journal.info("a").status) == ("a", "done")


@pytest.mark.parametrize("is_nested", [False, True])
def test_an_act_of_which_nothing_is_known_is_never_repeated(tmp_path: Path, is_nested: bool):
    def program(world: World) -> str:
        def pay() -> None:
            world.pay()
            world.die()

        with world.journal.run("a"):
            if is_nested:
                step("outer", lambda: step("pay", pay), effect="read")
            else:
                step("pay", pay)
            return "paid"

    world = World(tmp_path)
    assert world.attempt(program, is_killed=True) == "killed"
    assert [world.attempt(program) for _ in range(5)] == ["ToolError"] * 5
    assert world.said == "P"


@pytest.mark.parametrize("ends", ["exit", "cancel"])
@pytest.mark.parametrize(("effect", "paid"), [("once", "P"), (None, "P"), ("read", "PP")])
@pytest.mark.parametrize("mode", ["raise", "answer"])
def test_a_tool_that_was_broken_off_is_repeated_where_it_may_be(
    tmp_path: Path, ends: str, effect: Any, paid: str, mode: Literal["raise", "answer"]
):
    world = World(tmp_path)

    async def pay() -> str:
        """Pay."""
        if world.pay() and world.said == "P":
            if ends == "exit":
                sys.exit(1)
            gone = asyncio.get_running_loop().create_future()
            gone.cancel()
            await gone
        return "paid"

    def program() -> str:
        used = Tool.of(pay).replace(effect=effect)
        agent = Agent(Stateless(call_tool("pay"), "done"), tools=[used], on_tool_error=mode)
        return agent("Pay.", journal=world.journal, run_id="a").content

    if mode == "answer":
        assert [program(), program()] == ["done"] * 2
        assert world.said == "P"
        return
    with pytest.raises(ToolFailedError) as caught:
        program()
    assert isinstance(caught.value.__cause__, ToolEndedError)
    if effect == "read":
        assert [program(), program()] == ["done"] * 2
    else:
        for _ in range(3):
            with pytest.raises(ToolFailedError):
                program()
    assert world.said == paid


def test_the_error_of_an_effect_below_a_failed_one_is_tried_again_with_it(tmp_path: Path):
    """Though the one below is not reached before the one above is tried again."""
    world = World(tmp_path)
    assert world.attempt(run_nested, is_killed=True) == "killed"
    kinds = [(each.kind, each.name) for each in world.journal.entries("a") if each.name in ("outer", "ask")]
    assert kinds == [("intent", "outer"), ("error", "ask"), ("retry", "ask"), ("error", "outer")]


class Weird(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raise_weird(*_: object) -> NoReturn:
    raise Weird


@pytest.mark.parametrize("place", ["step", "block", "module", "model"])
def test_an_error_without_a_text_ends_its_run_by_its_class(tmp_path: Path, place: str):
    world = World(tmp_path)

    class Odd(Module):
        def forward(self, message: Any) -> str:
            raise Weird

    def program() -> None:
        if place == "module":
            Odd("odd")("Go.", run_id="a", journal=world.journal)
        elif place == "model":
            Agent(ScriptedModel(raise_weird))("Go.", run_id="a", journal=world.journal)
        else:
            with world.journal.run("a"):
                raise_weird() if place == "block" else step("fail", raise_weird)

    for _ in range(2):  # its lease was left
        with pytest.raises(Weird):
            program()
        assert world.journal.info("a").status == "failed"
        assert "Weird" in world.journal.info("a").why


def test_an_end_that_cannot_be_read_leaves_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = World(tmp_path)
    with world.journal.run("a"):
        step("one", lambda: 1)
        step("two", lambda: 2)
    world.journal.give_up(world.journal.info("a"), "its machine is gone")
    with monkeypatch.context() as patch:
        patch.setattr(SQLiteRunStore, "entries", raise_weird)
        with pytest.raises(Weird), world.journal.run("a"):
            step("one", lambda: 1)
    assert world.journal.info("a").status == "failed"
    with world.journal.run("a"):
        assert (step("one", lambda: 1), step("two", lambda: 2)) == (1, 2)


# ---- errors of the journal itself
class Failing(SQLiteRunStore):
    """A store that fails when it shall.

    Attributes:
        fails: how often it still fails, when an outcome of this name is written.
    """

    fails: tuple[str, int] = ("", 0)

    def _refuse(self, name: str) -> None:
        if self.fails[1] and self.fails[0] == name:
            self.fails = name, self.fails[1] - 1
            raise JournalError("the disk is full", "a", self.place)

    def append_all(self, group: Any) -> Any:
        for each in group:
            for entry in each.written.entries:
                if entry.kind in ("outcome", "error"):
                    self._refuse(entry.name)
        return super().append_all(group)

    def transact(self, run_id: str, epoch: int, act: Any) -> None:
        self._refuse("transaction")
        super().transact(run_id, epoch, act)


@pytest.mark.parametrize("name", ["look", "transaction"])
@pytest.mark.parametrize("form", ["step", "nested", "tool"])
def test_an_error_of_the_journal_is_no_outcome(tmp_path: Path, name: str, form: Literal["step", "nested", "tool"]):
    store, looked = Failing(tmp_path / "runs.db"), list[int]()
    journal = Journal(store)

    def look() -> str:
        """Look."""
        looked.append(1)
        return "seen"

    def act() -> str:
        effect: Any = "transactional" if name == "transaction" else "read"
        if form == "tool":
            used = Tool.of(look).replace(name="look", effect=effect)
            return Agent(Stateless(call_tool("look"), "seen"), tools=[used])("Look.").content
        return step("look", look, effect=effect)

    def program() -> str:
        with journal.run("a"):
            return step("outer", act) if form == "nested" else act()

    if form == "tool":
        name = {"look": "tool:look"}.get(name, name)
    store.fails = name, 1
    with pytest.raises(JournalError, match="the disk is full"):
        program()
    assert "error" not in [each.kind for each in journal.entries("a")]
    assert [program(), program()] == ["seen"] * 2
    assert journal.info("a").status == "done"


def book(amount: int) -> int:
    database = this_call().transaction
    database.execute("CREATE TABLE IF NOT EXISTS booked (amount INTEGER, note TEXT)")
    database.execute("INSERT INTO booked VALUES (?, ?)", (amount, "x" * 3000))
    return database.execute("SELECT count(*) FROM booked").fetchone()[0]


@pytest.mark.parametrize("free", range(120, 180, 6))
def test_acts_in_transactions_go_on_when_a_full_disk_has_room(tmp_path: Path, free: int):
    def program(journal: Journal) -> list[int]:
        with journal.run("a"):
            return [step("book", book, amount, effect="transactional") for amount in range(20)]

    with mounted(tmp_path / "disk", f"{free}k") as disk:
        journal = Journal(disk / "runs.db")
        for _ in range(2):
            with pytest.raises(JournalError, match="full"):
                program(journal)
        assert "error" not in [each.kind for each in journal.entries("a")]
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert program(journal) == [*range(1, 21)]
        journal.close()
