"""A run never goes on under less than the policies under which it began, however it is begun again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, ChatAgent, Message, Module, Task
from trivium.actions import ApprovalRequest
from trivium.agents import Sequential
from trivium.exceptions import AgentChangedError, ConfigurationError, DivergedError, JournalError
from trivium.journal import Journal
from trivium.llms import Request
from trivium.policies import Decision, Policy, Rule, SinkCall
from trivium.testing import ScriptedModel, call_tool

from ._later_paths import Crash
from ._office import READ, TO_EVE, Outbox


@dataclass(frozen=True, slots=True)
class Strict(Policy):
    """A policy of a class of its own."""

    def decide(self, call: SinkCall) -> Decision:
        return Decision("refuse", "never")


@dataclass(frozen=True, slots=True)
class Never(Rule):
    """A rule of a class of its own."""


class Clerk:
    """An agent that reads an attack and obeys it. Its first attempt breaks off in between."""

    def __init__(self, place: Path) -> None:
        self.journal, self.outbox, self.is_down = Journal(place), Outbox(), True

    def _say(self, request: Request) -> Any:
        turn = sum(each["role"] == "assistant" for each in request.messages)
        if turn == 1 and self.is_down:
            raise Crash
        return (READ, TO_EVE, "DONE")[turn]

    def agent(self, policy: Policy | None) -> Module:
        return Agent(ScriptedModel(self._say), tools=self.outbox.tools(), name="clerk", policy=policy)

    def task(self, policy: Policy | None) -> Module:
        agent = self.outbox.chat_agent(name="clerk")
        agent.llm, agent.policy = ScriptedModel(self._say), policy
        return Task(agent, interactive=False)

    def boss_of_task(self, policy: Policy | None) -> Module:
        model = ScriptedModel([call_tool("clerk", message="Read.")] * self.is_down + ["done", "DONE"])
        boss = ChatAgent(model, tools=[self.agent(None)], name="boss", policy=policy)
        return Task(boss, interactive=False)

    def boss(self, policy: Policy | None) -> Module:
        model = ScriptedModel([call_tool("clerk", message="Read.")] * self.is_down + ["done"])
        return Agent(model, tools=[self.agent(policy)], name="boss")

    def break_off(self, program: Module, **options: Any) -> None:
        with pytest.raises(Crash):
            program("Read.", run_id="1", journal=self.journal, **options)
        self.is_down = False


@pytest.fixture
def clerk(tmp_path: Path) -> Iterator[Clerk]:
    made = Clerk(tmp_path / "runs.db")
    yield made
    made.journal.close()


def again(clerk: Clerk, program: Module, **options: Any) -> None:
    program("Read.", run_id="1", journal=clerk.journal, **options)


def resumed(clerk: Clerk, program: Module, **options: Any) -> None:
    clerk.journal.view("1").resume(program, **options)


def resumed_with_changes(clerk: Clerk, program: Module, **options: Any) -> None:
    clerk.journal.view("1").resume(program, accept_changes=True, **options)


def replayed(clerk: Clerk, program: Module, **options: Any) -> None:
    clerk.journal.view("1").replay(program, **options)


def forked(clerk: Clerk, program: Module, **options: Any) -> None:
    clerk.journal.view("1").fork("2").resume(program, **options)


WAYS: list[Callable[..., None]] = [again, resumed, resumed_with_changes, forked]
PROGRAMS = [Clerk.agent, Clerk.task, Clerk.boss]


@pytest.mark.parametrize("go_on", WAYS)
@pytest.mark.parametrize("make", [*PROGRAMS, Clerk.boss_of_task])
@pytest.mark.parametrize("is_of_call", [True, False])
@pytest.mark.parametrize("given", [None, Policy(otherwise="run")])
def test_a_run_goes_on_under_the_policies_it_began_with(
    clerk: Clerk, make: Callable[..., Module], go_on: Callable[..., None], is_of_call: bool, given: Policy | None
) -> None:
    if is_of_call:
        clerk.break_off(make(clerk, None), policy=Policy())
        go_on(clerk, make(clerk, None), policy=given)
    else:
        clerk.break_off(make(clerk, Policy()))
        with suppress(DivergedError):  # without its own policy, the agent of a task has its tools at another place
            go_on(clerk, make(clerk, given))
    assert clerk.outbox.sent == []


@pytest.mark.parametrize("make", PROGRAMS)
def test_a_run_without_a_policy_goes_on_without_one(clerk: Clerk, make: Callable[..., Module]) -> None:
    clerk.break_off(make(clerk, None))
    resumed(clerk, make(clerk, None))
    assert clerk.outbox.sent == ["eve@evil.org"]


def test_a_policy_that_is_given_too_counts_beside_it_and_the_same_one_once(clerk: Clerk) -> None:
    began, given = Policy([Rule("ask", sink="sends")]), Policy([Rule("refuse", source="tool", name="read_mail")])
    clerk.break_off(clerk.agent(began))
    held = list[tuple[Policy, ...]]()

    def approve(request: ApprovalRequest) -> bool:
        held.append(request.node.scope.policies)
        return True

    resumed(clerk, clerk.agent(Policy([*began.rules])), policy=given, approve=approve)
    assert (clerk.outbox.sent, held) == ([], [])  # refused: nobody is asked
    clerk.journal.view("1").fork("2", at="clerk/model#1").resume(clerk.agent(began), approve=approve)
    assert (clerk.outbox.sent, held) == (["eve@evil.org"], [(began,)])


@pytest.mark.parametrize(("policy", "name"), [(Strict(), "Strict"), (Policy([Never("refuse")]), "Never")])
@pytest.mark.parametrize("make", PROGRAMS)
@pytest.mark.parametrize("go_on", WAYS)
def test_a_policy_of_a_class_of_its_own_has_to_be_given_again(
    clerk: Clerk, make: Callable[..., Module], go_on: Callable[..., None], policy: Policy, name: str
) -> None:
    clerk.break_off(make(clerk, policy))
    before = clerk.journal.info("1").status
    for given in (None, Policy()):
        with pytest.raises(AgentChangedError, match=rf"policy with the class \S*\b{name}, .* policy=…\)") as caught:
            resumed(clerk, make(clerk, given))
        assert (caught.value.agent, caught.value.changed) == ("clerk", ("policy",))
        assert clerk.journal.info("1").status == before
    go_on(clerk, make(clerk, policy))
    assert clerk.outbox.sent == []


class Office(Module):
    """An agent with a policy of its own, and after it another one, which breaks off and then sends."""

    def __init__(self, clerk: Clerk, policy: Policy | None, is_task: bool) -> None:
        super().__init__(name="office")
        chat = clerk.outbox.chat_agent(READ, "DONE", name="first")
        chat.policy = policy
        self.first = Task(chat, interactive=False) if is_task else Sequential(chat)
        self.second = clerk.agent(None)

    def forward(self, message: Message) -> Message:
        return self.second(self.first(message))


@pytest.mark.parametrize("given", [Policy(otherwise="refuse"), None, Policy(), Policy([Rule("refuse")])])
@pytest.mark.parametrize("is_task", [True, False])
def test_the_policy_of_an_agent_holds_for_no_other_agent_of_the_run(
    clerk: Clerk, given: Policy | None, is_task: bool
) -> None:
    clerk.break_off(Office(clerk, Policy(otherwise="refuse"), is_task))
    resumed_with_changes(clerk, Office(clerk, given, is_task))
    assert clerk.outbox.sent == ["eve@evil.org"]


@pytest.mark.parametrize("policy", [Strict(), Policy([Never("refuse")])])
@pytest.mark.parametrize("is_of_call", [True, False])
@pytest.mark.parametrize("go_on", [again, resumed, resumed_with_changes, replayed])
def test_a_run_that_is_done_is_read_without_its_policies(
    clerk: Clerk, go_on: Callable[..., None], is_of_call: bool, policy: Policy
) -> None:
    clerk.is_down = False
    answers = [READ, "DONE"]

    def program(own: Policy | None) -> Agent:
        return clerk.outbox.agent(*answers, name="clerk", policy=own)

    again(clerk, program(None if is_of_call else policy), policy=policy if is_of_call else None)
    go_on(clerk, program(None))
    answers.clear()
    asked = ScriptedModel([TO_EVE, "done"])
    with suppress(JournalError):  # a program that was changed sends nothing either
        go_on(clerk, Agent(asked, tools=clerk.outbox.tools(), name="clerk"))
    assert clerk.outbox.sent == []


class Deny(Strict):
    """Another class."""


class Both(Module):
    """An agent with a policy below one with another."""

    def __init__(self, clerk: Clerk, policy: Policy | None) -> None:
        super().__init__(name="both", policy=Strict())
        self.agent = clerk.agent(policy)

    def forward(self, message: Message) -> Message:
        return self.agent(message)


@pytest.mark.parametrize("given", [None, Deny(), Policy()])
@pytest.mark.parametrize("make", [Clerk.agent, Both])
def test_each_policy_of_a_class_of_its_own_has_to_be_given_again(
    clerk: Clerk, make: Callable[..., Module], given: Policy | None
) -> None:
    clerk.break_off(make(clerk, Strict()), policy=Strict())
    with pytest.raises(AgentChangedError, match=r"the class policies\.test_resumed_policies\.Strict, "):
        resumed(clerk, make(clerk, given), policy=Strict())
    resumed(clerk, make(clerk, Strict()), policy=Strict())
    assert clerk.outbox.sent == []


def test_a_policy_is_recorded_once_and_with_the_first_call_that_it_holds_for(clerk: Clerk, tmp_path: Path) -> None:
    leaf = Agent(ScriptedModel(lambda _: "x"), name="leaf", policy=Policy([Rule("ask", name="of the leaf")]))
    bare = Agent(ScriptedModel(lambda _: "x"), name="bare")
    program = Sequential(*[bare, leaf] * 3, name="program")
    for _ in range(2):
        again(clerk, program, policy=Policy([Rule("ask", name="of the call \ud800")]))
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
        count = "SELECT COUNT(*) FROM {} WHERE body LIKE ?"
        found = [
            database.execute(count.format(table), (f"%{text}%",)).fetchone()[0]
            for table, text in [("entry", '"policies"'), ("part", "of the leaf"), ("part", "of the call")]
        ]
    assert found == [4, 1, 1]


@pytest.mark.parametrize("policy", [Policy(), Policy([Rule("run", source="server", name="ä*")], otherwise="refuse")])
def test_a_policy_comes_back_from_its_json(policy: Policy) -> None:
    assert Policy.from_json(policy.as_json()) == policy


@pytest.mark.parametrize("policy", [Strict(), Policy([Never("refuse")])])
def test_a_policy_of_a_class_of_its_own_has_no_json(policy: Policy) -> None:
    with pytest.raises(ConfigurationError, match=r"the class (Strict|Never) .* write it as Policy\("):
        policy.as_json()
