"""Durable runs: killed at every place, resumed, refused where the input is another, and told where the file is bad."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from journal._programs import PROGRAMS, Stateless, agent, buy, chat, crash_and_resume, look
from trivium import Agent, ChatAgent, Message, Module, Task, this_call
from trivium.actions import ApprovalRequest, Denied, tool
from trivium.commander import Limits, driver_neutral, gather, run_sync, wait
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    DivergedError,
    JournalDamagedError,
    JournalError,
    JournalVersionError,
    LimitExceededError,
    NestedRunError,
    NoSuchRequestError,
    ProviderConnectionError,
    RunAliveError,
    RunInputError,
    RunPausedError,
    RunTakenOverError,
    UnknownRunError,
)
from trivium.journal import Journal, UnclaimedEvent, ask_later, step, step_async
from trivium.testing import ScriptedModel, call_tool


class Broken:
    """A model that breaks off at its answer of a number, as often as it is told."""

    def __init__(self, model: Any, at: int, times: int = 1) -> None:
        self.name, self.model, self.at, self.left, self.asked = model.name, model, at, times, 0

    def stream(self, request: Any) -> Iterator[Any]:
        self.asked += 1
        if self.left and self.asked >= self.at:
            self.left -= 1
            raise ProviderConnectionError("the line is dead")
        yield from self.model.stream(request)


@pytest.mark.parametrize("names", [[*PROGRAMS][at::4] for at in range(4)], ids=", ".join)
def test_a_program_that_is_killed_at_each_place_ends_as_if_it_had_not_been(names: list[str]):
    assert crash_and_resume(names).keys() == {*names}


def test_a_finished_run_is_repeated_without_a_model_and_without_a_tool(journal: Journal):
    first = agent()("Go.", run_id="a", journal=journal)
    silent = Agent(ScriptedModel([]), tools=[_never("look", "place"), _never("pay", "amount")], name="buyer")
    kinds: list[str] = []
    again = silent("Go.", run_id="a", journal=journal, listeners=[lambda event: kinds.append(event.kind)])
    assert (again.content, again.usage) == (first.content, first.usage)
    assert {"delta", "tool_call", "tool_result"} <= set(kinds)


def _never(name: str, argument: str) -> Any:
    def fail(**_: Any) -> str:
        raise AssertionError("a recorded tool ran")

    fail.__name__, fail.__doc__ = name, name
    kind = {"place": str, "amount": int}[argument]
    fail.__annotations__ = {argument: kind, "return": str}
    return tool(_with_parameter(fail, argument, kind))


def _with_parameter(function: Any, name: str, kind: type) -> Any:
    from inspect import Parameter, Signature

    function.__signature__ = Signature([Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind)])
    return function


def test_the_error_that_ended_a_run_is_tried_again_and_what_was_answered_is_not_asked_again(journal: Journal):
    model = Broken(Stateless(call_tool("look", place="Oslo"), "done"), at=2)
    ours = Agent(model, tools=[look])
    with pytest.raises(ProviderConnectionError):
        ours("Go.", run_id="a", journal=journal)
    assert (journal.info("a").status, journal.info("a").why) == ("failed", "ProviderConnectionError: the line is dead")
    assert ours("Go.", run_id="a", journal=journal).content == "done"
    assert model.asked == 3
    assert journal.info("a").status == "done"


def test_an_error_of_a_tool_that_the_model_was_told_is_repeated_as_it_was(journal: Journal):
    ran: list[int] = []

    @tool(effect="read")
    def fail() -> str:
        """Fail."""
        ran.append(1)
        raise KeyError(f"no such thing, try {len(ran)}")

    model = Broken(Stateless(call_tool("fail"), "done"), at=2)
    ours = Agent(model, tools=[fail])
    with pytest.raises(ProviderConnectionError):
        ours("Go.", run_id="a", journal=journal)
    ours("Go.", run_id="a", journal=journal)
    assert ran == [1]


def test_an_act_is_not_repeated_and_the_model_is_told(
    journal: Journal, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "runs.db"
    child = os.fork()
    if child == 0:

        @tool(effect="once")
        def pay() -> str:
            """Pay."""
            this_call().new_id()
            (tmp_path / "paid").touch()
            os._exit(9)

        Agent(Stateless(call_tool("pay"), "done"), tools=[pay])("Go.", run_id="a", journal=Journal(path))
    os.waitpid(child, 0)
    assert (tmp_path / "paid").exists()
    ran, heard = list[int](), list[str]()

    @tool(effect="once")
    def pay() -> str:
        """Pay."""
        ran.append(1)
        return "paid"

    model = Stateless(call_tool("pay"), "I must ask.")
    model.stream = _hearing(model.stream, heard)  # type: ignore[method-assign]
    assert Agent(model, tools=[pay])("Go.", run_id="a", journal=journal).content == "I must ask."
    assert not ran
    assert "it is not known whether pay happened" in heard[-1]
    assert not caplog.records  # nothing below it is missed


def _hearing(stream: Callable[[Any], Any], heard: list[str]) -> Callable[[Any], Any]:
    def hear(request: Any) -> Any:
        heard.append(str(request.messages))
        return stream(request)

    return hear


@pytest.mark.parametrize("given", [(len, "x"), ("x", 3), ("x", None)])
def test_a_step_that_is_no_name_and_function_is_refused_with_the_form_of_one(given: tuple[Any, Any]):
    with pytest.raises(ArgumentTypeError, match=r'a step takes .*: step\("read", load, path\), not step\('):
        step(*given)


def test_another_input_another_root_and_a_run_within_a_run_are_refused(journal: Journal):
    agent()("Go.", run_id="a", journal=journal)
    with pytest.raises(RunInputError, match="another input"):
        agent()("Stop.", run_id="a", journal=journal)
    with pytest.raises(RunInputError, match="buyer"):
        Agent(Stateless("hi"), name="other")("Go.", run_id="a", journal=journal)
    with journal.run("b"), pytest.raises(NestedRunError, match="'b'"):
        agent()("Go.", run_id="c", journal=journal)
    with pytest.raises(UnknownRunError, match="nothing"):
        journal.info("nothing")
    halves: list[dict[str, Any]] = [{"run_id": "a"}, {"journal": journal}]
    for given in halves:
        with pytest.raises(ArgumentTypeError, match="both"):
            agent()("Go.", **given)
    with pytest.raises(ConfigurationError, match="run id"):
        agent()("Go.", run_id=" ", journal=journal)


def test_a_program_that_asks_something_else_than_before_diverges(journal: Journal):
    answers = [2.0]

    def program() -> str:
        with journal.run("a"):
            return step("pay", "paid {}".format, answers[-1], effect="read")

    assert program() == "paid 2.0"
    answers.append(3.0)
    with pytest.raises(DivergedError, match=r"(?s)run#0/pay#0 does not ask.*now") as caught:
        program()
    assert caught.value.run_id == "a"


def test_branches_of_which_one_alone_was_recorded_start_in_any_order(journal: Journal):
    asked, is_recorded = list[int](), asyncio.Event()

    def ask(item: int) -> int:
        asked.append(item)
        return item

    async def branch(at: int, is_waiting: bool) -> int:
        if is_waiting:
            await asyncio.Event().wait()
        price = await step_async("price", ask, at, effect="read")
        is_recorded.set()
        return price

    async def attempt(*order: int, waiting: tuple[int, ...] = ()) -> list[int]:
        async with journal.run("a"):
            return await asyncio.gather(*(branch(at, at in waiting) for at in order))

    async def break_off_and_resume() -> list[int]:
        broken_off = asyncio.ensure_future(attempt(0, 1, 2, waiting=(1, 2)))
        await is_recorded.wait()
        broken_off.cancel()
        await asyncio.gather(broken_off, return_exceptions=True)
        return await attempt(2, 1, 0)

    assert asyncio.run(break_off_and_resume()) == [2, 1, 0]
    assert sorted(asked) == [0, 1, 2]


def test_the_same_where_a_sync_program_gathers(journal: Journal):
    is_broken_off = [True]

    @driver_neutral
    async def branch(at: int) -> int:
        if at and is_broken_off:
            await wait(60)
        price = await step_async("price", int, at, effect="read")
        assert not is_broken_off
        return price

    def attempt(*order: int) -> list[int]:
        with journal.run("a"):
            return run_sync(gather, *(partial(branch, at) for at in order))

    with pytest.raises(AssertionError):
        attempt(0, 1, 2)
    is_broken_off.clear()
    assert attempt(2, 1, 0) == [2, 1, 0]


@pytest.mark.parametrize(
    ("second", "unclaimed"),
    [
        (("price", "pay", "mail"), ()),
        (("price", "pay"), ("run#0/mail#0",)),
        (("price",), ("run#0/pay#0", "run#0/mail#0")),
        (("price", "office", "pay", "mail"), ()),
        (("price", "pay", "mail", "office"), ()),
    ],
)
def test_what_a_later_attempt_does_not_ask_again_is_reported(
    journal: Journal, caplog: pytest.LogCaptureFixture, second: tuple[str, ...], unclaimed: tuple[str, ...]
):
    def program(names: tuple[str, ...]) -> list[UnclaimedEvent]:
        heard: list[Any] = []
        with journal.run("a") as node:
            node.scope = node.scope.replace(listeners=(heard.append,))
            for name in names:
                step(name, lambda: step("inner", lambda: 1, effect="read"), effect="read")
        return [each for each in heard if isinstance(each, UnclaimedEvent)]

    assert program(("price", "pay", "mail")) == []
    journal.give_up(journal.info("a"), "its machine is gone")
    assert [each.data for each in program(second)] == [unclaimed] * bool(unclaimed)
    assert [record.args for record in caplog.records] == [("a", ", ".join(unclaimed))] * bool(unclaimed)
    assert journal.info("a").status == "done"


def test_an_agent_that_is_not_called_again_is_reported_once_and_not_its_answers(journal: Journal):
    heard: list[Any] = []
    for names in (("look", "buy"), ("look",)):
        with journal.run("a") as node:
            node.scope = node.scope.replace(listeners=(heard.append,))
            for name in names:
                Agent(Stateless(call_tool("look", place="Oslo"), "done"), tools=[look], name=name)("Go.")
    assert [each.data for each in heard if isinstance(each, UnclaimedEvent)] == [("run#0/buy#0",)]


def test_a_run_that_lives_is_not_begun_twice_and_one_that_was_taken_over_writes_nothing(tmp_path: Path):
    path = tmp_path / "runs.db"
    with Journal(path).run("a"):
        with pytest.raises(RunAliveError) as caught, _outside(), Journal(path).run("a"):
            pass
        assert caught.value.owner == os.getpid()

    def take_over(change: str) -> None:
        with sqlite3.connect(path) as database:
            database.execute(f"UPDATE run SET {change} WHERE id IN ('b', 'c')")
        database.close()

    for run_id, change in (("b", "epoch = 7"), ("c", "owner = '0::'")):
        with pytest.raises(RunTakenOverError), Journal(path).run(run_id):
            step("late", take_over, change)


class _outside:
    """Code beside the run tree."""

    def __enter__(self) -> None:
        from trivium.commander import current

        self.token = current.set(None)

    def __exit__(self, *_: object) -> None:
        from trivium.commander import current

        current.reset(self.token)


@pytest.mark.parametrize("column", ["body", "digest", "name", "at", "link", "kind", "node"])
def test_a_record_that_was_changed_is_detected(journal: Journal, tmp_path: Path, column: str):
    agent()("Go.", run_id="a", journal=journal)
    with sqlite3.connect(tmp_path / "runs.db") as database:
        database.execute(f"UPDATE entry SET {column} = 7 WHERE seq = 3")
    database.close()
    with pytest.raises(JournalDamagedError, match="record 3"):
        agent()("Go.", run_id="a", journal=journal)


def test_files_that_are_no_journal_newer_or_not_writable_are_told(tmp_path: Path):
    (tmp_path / "text.db").write_text("this is no database, " * 100)
    with pytest.raises(JournalDamagedError, match="no journal"):
        Journal(tmp_path / "text.db").runs()
    with sqlite3.connect(tmp_path / "newer.db") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(JournalVersionError, match="99"):
        Journal(tmp_path / "newer.db").runs()
    with pytest.raises(JournalError):
        Journal("/proc/nothing/runs.db").runs()


def test_what_is_remembered_is_as_it_was_when_the_run_began(journal: Journal):
    answers = Stateless("one", call_tool("look", place="Oslo"), "two")
    ours = Agent(Broken(answers, at=3), tools=[look])
    ours("First.")
    with pytest.raises(ProviderConnectionError):
        ours("Second.", run_id="a", journal=journal)
    new = Agent(answers, tools=[look])  # as in another process
    assert new("Second.", run_id="a", journal=journal).content == "two"
    said = [each.content for each in new.memory.open(0).messages]
    assert (said[:2], len(said)) == (["First.", "one"], 6)


def test_limits_count_what_an_earlier_attempt_has_spent(journal: Journal):
    model = Broken(Stateless(*[call_tool("look", place="Oslo")] * 4, "done"), at=3)
    ours = Agent(model, tools=[look])
    with pytest.raises(ProviderConnectionError):
        ours("Go.", run_id="a", journal=journal)
    with pytest.raises(LimitExceededError):
        ours("Go.", run_id="a", journal=journal, limits=Limits(turns=3))


def test_a_chat_agent_and_a_task_go_on_in_their_session(journal: Journal):
    above = chat("above", call_tool("square", number=4), "DONE sixteen")
    for _ in range(2):
        result = Task(above, interactive=False).run("Go.", run_id="a", journal=journal, session_id="ada")
        assert result is not None
        assert result.content == "sixteen"
    assert [each.kind for each in journal.entries("a") if each.name == "tool:square"] == ["outcome"]


def test_times_random_numbers_and_ids_are_the_same_in_each_attempt(journal: Journal):
    class Clock(Module):
        def forward(self, message: Message) -> str:
            call = this_call()
            return f"{call.now()} {call.random()} {call.new_id()} {call.now()}"

    first, second = (Clock()("?", run_id="a", journal=journal).content for _ in range(2))
    assert first == second
    assert Clock()("?").content != first


@dataclass
class Point:
    x: int
    y: int


class Order(BaseModel):
    amount: int


def test_classes_that_a_journal_knows_come_back_as_themselves_and_others_as_their_data(tmp_path: Path):
    knows, knows_not = Journal(tmp_path / "1.db", types=(Point, Order)), Journal(tmp_path / "2.db")
    for journal, wanted in ((knows, [Point(1, 2), Order(amount=3)]), (knows_not, [{"x": 1, "y": 2}, {"amount": 3}])):
        for _ in range(2):
            with journal.run("a"):
                assert step("make", lambda: [Point(1, 2), Order(amount=3)]) == wanted
    with pytest.raises(ConfigurationError, match="dataclasses"):
        Journal(tmp_path / "3.db", types=(int,))


def test_a_person_is_not_asked_again_what_was_answered(journal: Journal):
    asked: list[str] = []

    def approve(request: ApprovalRequest) -> bool | Denied:
        asked.append(request.name)
        return Denied("too dear") if len(asked) == 2 else True

    calls = (call_tool("buy", amount=3), call_tool("buy", amount=900))
    model = Broken(Stateless(*calls, "done"), at=3)
    ours = Agent(model, tools=[buy])
    with pytest.raises(ProviderConnectionError):
        ours("Buy.", run_id="a", journal=journal, approve=approve)
    assert ours("Buy.", run_id="a", journal=journal, approve=approve).content == "done"
    assert asked == ["buy", "buy"]


def test_what_a_user_typed_is_not_asked_again(journal: Journal):
    typed = iter(["Oslo", "q"])
    model = Broken(Stateless("Where?", "Oslo is sunny.", "Bye."), at=2)
    for _ in range(2):
        ours = ChatAgent(llm=model)
        ours.ask_user = lambda prompt: next(typed)
        task = Task(ours, interactive=True)
        if not model.asked:
            with pytest.raises(ProviderConnectionError):
                task.run("Weather?", run_id="a", journal=journal)
        else:
            assert task.run("Weather?", run_id="a", journal=journal) is not None
    assert [each.body for each in journal.entries("a") if each.name == "input"] == ['"Oslo"', '"q"']


def _paused(journal: Journal, amount: int = 900) -> Agent:
    """An agent whose run "a" waits for a decision."""
    ours = Agent(Stateless(call_tool("buy", amount=amount), "done"), tools=[buy], approve=ask_later)
    with pytest.raises(RunPausedError, match=r"waits for a decision on buy\(amount=900\)") as caught:
        ours("Buy.", run_id="a", journal=journal)
    assert (caught.value.run_id, caught.value.tool) == ("a", "buy")
    return ours


def test_a_run_waits_for_a_decision_that_comes_after_its_process_has_ended(journal: Journal):
    ours = _paused(journal)
    assert journal.info("a").status == "paused"
    (waiting,) = journal.pending()
    assert (waiting.name, waiting.arguments) == ("buy", {"amount": 900})
    with pytest.raises(RunPausedError):  # nobody has decided yet
        ours("Buy.", run_id="a", journal=journal)
    journal.approve("a", waiting.digest, by="ada")
    assert journal.pending() == []
    new = Agent(Stateless(call_tool("buy", amount=900), "done"), tools=[buy], approve=ask_later)
    answer = new("Buy.", run_id="a", journal=journal)
    assert answer.content == "done"
    assert [each.body for each in journal.entries("a") if each.name == "tool:buy"][-1] == '"bought 900"'


def test_a_refusal_is_read_by_the_model_and_a_decision_counts_once_in_time_for_one_call(journal: Journal):
    ours = _paused(journal)
    (waiting,) = journal.pending("a")
    for digest, run in (("0" * 32, "a"), (waiting.digest, "b")):
        with pytest.raises((NoSuchRequestError, UnknownRunError)):
            journal.approve(run, digest, by="eve")
    journal.approve("a", waiting.digest, by="ada", seconds=-1)  # too late already
    assert len(journal.pending()) == 1
    journal.refuse("a", waiting.digest, "too dear", by="ada")
    with pytest.raises(NoSuchRequestError):
        journal.approve("a", waiting.digest, by="eve")
    heard: list[str] = []
    ours.llm.stream = _hearing(ours.llm.stream, heard)
    assert ours("Buy.", run_id="a", journal=journal).content == "done"
    assert "too dear" in heard[-1]
    assert not any(each.name == "tool:buy" and each.kind != "node" for each in journal.entries("a"))


def test_a_pause_needs_a_journal_and_holds_in_tasks_and_below_other_agents(journal: Journal):
    heard: list[str] = []
    model = Stateless(call_tool("buy", amount=1), "done")
    model.stream = _hearing(model.stream, heard)  # type: ignore[method-assign]
    Agent(model, tools=[buy], approve=ask_later)("x")
    assert "waits in a journal" in heard[-1]
    below = Agent(Stateless(call_tool("buy", amount=5), "bought"), tools=[buy], name="buyer")
    boss = Agent(Stateless(call_tool("buyer", message="Buy."), "all done"), tools=[below], approve=ask_later)
    for _ in range(2):
        with pytest.raises(RunPausedError):
            boss("Go.", run_id="b", journal=journal)
    journal.approve("b", journal.pending("b")[0].digest, by="ada")
    assert boss("Go.", run_id="b", journal=journal).content == "all done"
