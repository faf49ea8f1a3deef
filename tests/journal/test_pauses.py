"""Calls that run at once in a durable run, of which some wait for a decision: they end, and none breaks off another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from commander._helpers import Entry, every_entry
from journal._places import Place
from trivium import Agent, ChatAgent, Limits, Message, Task, ToolMessage
from trivium.actions import tool
from trivium.commander import wait
from trivium.events import Event
from trivium.exceptions import DeadlineExceededError, RunKilledError, RunPausedError
from trivium.hooks import Hook
from trivium.journal import Journal, ask_later
from trivium.llms import Request
from trivium.policies import Policy
from trivium.testing import ScriptedModel, call_tool

GUARD = 20.0


class Office:
    """A boss who asks several at once: each calls tools, one after the other, and says what came of them.

    Attributes:
        done: what the tools have done, in order.
        asked: the names of those whose models were asked, each time.
        begun: set when a slow tool has begun.
    """

    def __init__(self, seconds: float = 0.3) -> None:
        self.done, self.asked, self._seconds = list[str](), list[str](), seconds
        self.begun = threading.Event()

    def boss(self, parallel: bool = True, **calls: list[Any]) -> Agent:
        """The boss of some people, by their names, and the calls that each of them makes."""

        @tool(effect="once", needs_approval=True)
        def buy(item: str) -> str:
            """Buy."""
            self.done.append(f"bought {item}")
            return f"{item} is bought"

        @tool(effect="once", needs_approval=True)
        async def pay(to: str) -> str:
            """Pay."""
            return await self._slowly(f"paid {to}")

        @tool(effect="once")
        async def mail(to: str) -> str:
            """Mail."""
            return await self._slowly(f"mailed {to}")

        @tool(effect="once")
        def file(to: str) -> str:
            """File, in a thread."""
            time.sleep(self._seconds)
            self.done.append(f"filed {to}")
            return f"filed {to}"

        tools = [buy, pay, mail, file]
        people = [
            Agent(self._model(name, each), tools=tools, name=name, description="x", memory=False, parallel=True)
            for name, each in calls.items()
        ]
        orders = [call_tool(name, at, message="go") for at, name in enumerate(calls)]
        return Agent(self._model("boss", [orders]), tools=people, parallel=parallel, memory=False)

    async def _slowly(self, what: str) -> str:
        self.done.append(f"begun: {what}")
        self.begun.set()
        await wait(self._seconds)
        self.done.append(what)
        return what

    def _model(self, name: str, calls: list[Any]) -> ScriptedModel:
        def answer(request: Request) -> Any:
            self.asked.append(name)
            results = [each["content"] for each in request.messages if each["role"] == "tool"]
            made = sum(each["role"] == "assistant" for each in request.messages)
            return calls[made] if made < len(calls) else " and ".join(results)

        return ScriptedModel(answer)


def told(place: Place, ask: Callable[[Journal], Any]) -> Any:
    """What a run answers in an attempt of a process of its own, or the names of the calls that wait."""
    with closing(place.journal()) as journal:
        try:
            return ask(journal).content
        except RunPausedError as error:
            told = error
        waiting = sorted(each.name for each in journal.pending("a"))
        assert (journal.info("a").status, told.tool in waiting) == ("paused", True)
        return waiting


def approve(place: Place, *names: str) -> None:
    with closing(place.journal()) as journal:
        for each in journal.pending("a"):
            if not names or each.name in names:
                journal.approve("a", each.digest, by="ada")


@every_entry
def test_calls_at_once_end_before_the_run_pauses_and_ask_together(place: Place, entry: Entry):
    office = Office()
    buyer, payer = [call_tool("buy", item="x"), call_tool("buy", item="y")], [call_tool("pay", to="Bob")]
    boss = office.boss(
        buyer=buyer, mailer=[call_tool("mail", to="Eve")], payer=payer, clerk=[call_tool("file", to="A")]
    )

    def ask(journal: Journal) -> Any:
        return entry(boss, "go", run_id="a", journal=journal, approve=ask_later)

    assert told(place, ask) == ["buy", "pay"]
    assert sorted(office.done) == ["begun: mailed Eve", "filed A", "mailed Eve"]
    assert told(place, ask) == ["buy", "pay"]  # nobody has decided yet
    approve(place)
    assert told(place, ask) == ["buy"]
    assert sorted(office.done[3:]) == ["begun: paid Bob", "bought x", "paid Bob"]
    approve(place)
    assert told(place, ask) == "x is bought and y is bought and mailed Eve and paid Bob and filed A"
    assert office.done[6:] == ["bought y"]
    assert {name: office.asked.count(name) for name in set(office.asked)} == {
        "boss": 2, "buyer": 3, "mailer": 2, "payer": 2, "clerk": 2,
    }  # fmt: skip


def test_a_pause_within_several_levels_lets_all_of_them_end(place: Place):
    office = Office()
    both = [[call_tool("mail", 0, to="Eve"), call_tool("buy", 1, item="x"), call_tool("mail", 2, to="late")]]
    boss = office.boss(both=both, payer=[call_tool("pay", to="Bob")], mailer=[call_tool("mail", to="Zoe")])

    def ask(journal: Journal) -> Any:
        return boss("go", run_id="a", journal=journal, approve=ask_later)

    assert told(place, ask) == ["buy", "pay"]
    approve(place, "pay")
    assert told(place, ask) == ["buy"]
    assert sorted(each for each in office.done if "begun" not in each) == ["mailed Eve", "mailed Zoe", "paid Bob"]
    approve(place)
    assert told(place, ask) == "mailed Eve and x is bought and mailed late and paid Bob and mailed Zoe"
    assert len(office.done) == len({*office.done})


def test_calls_one_after_the_other_do_not_begin_after_one_that_waits(place: Place):
    office = Office()
    boss = office.boss(parallel=False, buyer=[call_tool("buy", item="x")], payer=[call_tool("pay", to="Bob")])

    def ask(journal: Journal) -> Any:
        return boss("go", run_id="a", journal=journal, approve=ask_later)

    assert told(place, ask) == ["buy"]
    assert office.asked == ["boss", "buyer"]


@pytest.mark.parametrize("how", ["deadline", "kill", "cancel"])
def test_what_ends_a_run_ends_it_at_once_though_a_call_waits(place: Place, how: str):
    office = Office(seconds=GUARD)
    boss = office.boss(buyer=[call_tool("buy", item="x")], mailer=[call_tool("mail", to="Eve")])

    async def attempt(journal: Journal) -> None:
        seconds = 3.0 if how == "deadline" else None
        call = boss.open("go", run_id="a", journal=journal, approve=ask_later, timeout=seconds)

        async def follow() -> None:
            async with call as events:
                async for _ in events:
                    pass

        task = asyncio.ensure_future(follow())
        assert await asyncio.to_thread(office.begun.wait, GUARD)
        await asyncio.sleep(0.3)  # in which the other one asks
        assert (office.done, task.done()) == (["begun: mailed Eve"], False)
        if how == "kill":
            call.node.kill("enough")
        elif how == "cancel":
            task.cancel()
        await task

    began = time.monotonic()
    errors = {"deadline": DeadlineExceededError, "kill": RunKilledError, "cancel": asyncio.CancelledError}
    with closing(place.journal()) as journal:
        with pytest.raises(errors[how]):
            asyncio.run(attempt(journal))
        assert journal.info("a").status == "stopped"
    assert time.monotonic() - began < GUARD / 2
    assert office.done == ["begun: mailed Eve"]


def said(calls: list[Any]) -> ScriptedModel:
    """A model that makes these calls in one answer, and then repeats what came of them."""

    def answer(request: Request) -> Any:
        results = [str(each["content"]) for each in request.messages if each["role"] == "tool"]
        return " and ".join(results) if results else calls

    return ScriptedModel(answer)


def payer(done: list[str], calls: list[Any]) -> Agent:
    """An agent that pays and looks things up, one call after the other."""

    @tool(effect="once", needs_approval=True)
    def pay(to: str) -> str:
        """Pay."""
        done.append(f"paid {to}")
        return f"{to} has it"

    @tool(source="web")
    def look(at: str) -> str:
        """Look something up."""
        done.append(f"looked at {at}")
        return at

    @tool(sends=True)
    def mail(to: str) -> str:
        """Mail."""
        done.append(f"mailed {to}")
        return f"{to} knows"

    return Agent(said(calls), tools=[pay, look, mail], name="payer", memory=False)


@every_entry
def test_all_calls_of_an_answer_are_asked_about_before_the_first_is_decided_on(place: Place, entry: Entry):
    names = ["pay", "look", "pay", "look", "pay"]
    calls = [call_tool(each, n, **{"to" if each == "pay" else "at": f"p{n}"}) for n, each in enumerate(names)]
    done = list[str]()

    def ask(journal: Journal) -> Any:
        return entry(payer(done, calls), "go", run_id="a", journal=journal, approve=ask_later)

    def waiting() -> list[str]:
        with closing(place.journal()) as journal:
            return [each.arguments["to"] for each in journal.pending("a")]

    def decide(to: str) -> None:
        with closing(place.journal()) as journal:
            digest = next(each.digest for each in journal.pending("a") if each.arguments == {"to": to})
            (journal.refuse if to == "p2" else journal.approve)("a", digest, by="ada")

    assert (told(place, ask), waiting(), done) == (["pay"] * 3, ["p0", "p2", "p4"], [])
    decide("p4")  # out of order: it waits for those before it
    assert (told(place, ask), waiting(), done) == (["pay"] * 2, ["p0", "p2"], [])
    decide("p0")
    assert (told(place, ask), waiting()) == (["pay"], ["p2"])
    assert done == ["paid p0", "looked at p1"]
    decide("p2")
    answer = told(place, ask)
    assert answer.startswith("p0 has it and p1 and error")
    assert answer.endswith("p3 and p4 has it")
    assert done == ["paid p0", "looked at p1", "looked at p3", "paid p4"]


def test_nodes_of_calls_that_do_not_ask_are_not_begun_while_one_waits(place: Place):
    done, events = list[str](), list[str]()
    calls = [call_tool("pay", 0, to="Bob"), call_tool("look", 1, at="x"), call_tool("pay", 2, to="Eve")]

    def note(event: Event[Any, Any]) -> None:
        events.append(f"{event.kind} {event.name}")

    def ask(journal: Journal) -> Any:
        return payer(done, calls)("go", run_id="a", journal=journal, approve=ask_later, listeners=[note])

    assert told(place, ask) == ["pay", "pay"]
    assert [each for each in events if each.startswith("tool_call")] == ["tool_call tool:pay", "tool_call tool:pay"]
    assert not any("look" in each for each in events)


class PayTool(ToolMessage):
    request: str = "pay"
    purpose: str = "Pay somebody."
    to: str
    _needs_approval = True
    _effect = "once"


def test_the_tool_messages_of_a_task_are_asked_about_together(place: Place):
    done = list[str]()

    class Payer(ChatAgent):
        def pay(self, message: PayTool) -> str:
            done.append(message.to)
            return f"{message.to} has it"

    def ask(journal: Journal) -> Any:
        agent = Payer(said([call_tool("pay", n, to=each) for n, each in enumerate("ABC")]))
        agent.enable_message(PayTool)
        task = Task(agent, interactive=False, single_round=False, done_if_no_response=[], done_if_response=[])
        return task.run("go", turns=4, run_id="a", journal=journal, approve=ask_later)

    assert (told(place, ask), done) == (["pay"] * 3, [])
    approve(place)
    told(place, ask)
    assert done == ["A", "B", "C"]


def test_a_policy_asks_again_what_it_did_not_ask_ahead(place: Place):
    done = list[str]()
    calls = [call_tool("pay", 0, to="Bob"), call_tool("look", 1, at="x"), call_tool("mail", 2, to="eve@evil.org")]

    def ask(journal: Journal) -> Any:
        return payer(done, calls)("go", run_id="a", journal=journal, approve=ask_later, policy=Policy())

    assert told(place, ask) == ["pay"]  # nothing was read yet
    approve(place)
    assert (told(place, ask), done) == (["mail"], ["paid Bob", "looked at x"])


def test_what_was_refused_ahead_stays_refused_though_it_would_not_be_asked_about_now(place: Place):
    paid, balance = list[str](), [100]

    @tool(effect="once", needs_approval=True)
    def top_up() -> str:
        """Top up."""
        balance[0] += 1000
        return "topped up"

    def is_much(to: str, amount: int) -> bool:
        return amount > balance[0]

    @tool(effect="once", needs_approval=is_much)
    def pay(to: str, amount: int) -> str:
        """Pay."""
        paid.append(to)
        return f"{to} has it"

    def ask(journal: Journal) -> Any:
        calls = [call_tool("top_up"), call_tool("pay", 1, to="Eve", amount=500)]
        agent = Agent(said(calls), tools=[top_up, pay], memory=False)
        return agent("go", run_id="a", journal=journal, approve=ask_later)

    assert told(place, ask) == ["pay", "top_up"]
    with closing(place.journal()) as journal:
        journal.refuse("a", next(each.digest for each in journal.pending("a") if each.name == "pay"), by="ada")
    approve(place)
    assert told(place, ask) == "topped up and error: not approved: it was refused; go on without it"
    assert paid == []


def test_an_approver_that_asks_an_agent_with_tools_can_do_so_ahead(place: Place):
    done, asked = list[str](), list[str]()
    calls = [call_tool("pay", n, to=each) for n, each in enumerate("ABC")]

    @tool
    def history(of: str) -> str:
        """What is known."""
        asked.append(of)
        return "good"

    async def judge(request: Any) -> bool:
        to = request.arguments["to"]
        if to == "A":
            return ask_later(request)
        answer = await Agent(said([call_tool("history", of=to)]), tools=[history], memory=False).acall("?")
        return answer.content == "good"

    def ask(journal: Journal) -> Any:
        return payer(done, calls)("go", run_id="a", journal=journal, approve=judge)

    assert (told(place, ask), asked) == (["pay"], ["B", "C"])
    approve(place)
    assert told(place, ask) == "A has it and B has it and C has it"


@pytest.mark.parametrize("parallel", [True, False])
def test_a_limit_of_calls_counts_each_call_that_is_asked_ahead_once(place: Place, parallel: bool):
    done, before = list[str](), list[str]()
    calls = [
        call_tool("pay", n, to=each) if each != "x" else call_tool("look", n, at=each) for n, each in enumerate("AxB")
    ]

    class Note(Hook):
        def before_action(self, executor: Any, message: Message, session_id: Any) -> None:
            before.append(message.content.name)

    def ask(journal: Journal) -> Any:
        tools = payer(done, calls).executor
        tools.register_hook(Note())
        agent = Agent(said(calls), tools=tools, name="payer", memory=False, parallel=parallel)
        return agent("go", run_id="a", journal=journal, approve=ask_later, limits=Limits(tool_calls=3))

    assert (told(place, ask), before) == (["pay", "pay"], ["pay", "pay"])
    approve(place)
    assert told(place, ask) == "A has it and x and B has it"
