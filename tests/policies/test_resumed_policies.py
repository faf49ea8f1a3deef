"""A run never goes on under less than the policies under which it began, however it is begun again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, Module, Task
from trivium.actions import ApprovalRequest
from trivium.exceptions import AgentChangedError, DivergedError
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


def forked(clerk: Clerk, program: Module, **options: Any) -> None:
    clerk.journal.view("1").fork("2").resume(program, **options)


WAYS: list[Callable[..., None]] = [again, resumed, resumed_with_changes, forked]
PROGRAMS = [Clerk.agent, Clerk.task, Clerk.boss]


@pytest.mark.parametrize("go_on", WAYS)
@pytest.mark.parametrize("make", PROGRAMS)
@pytest.mark.parametrize("is_of_call", [True, False])
def test_a_run_goes_on_under_the_policies_it_began_with(
    clerk: Clerk, make: Callable[..., Module], go_on: Callable[..., None], is_of_call: bool
) -> None:
    if is_of_call:
        clerk.break_off(make(clerk, None), policy=Policy())
    else:
        clerk.break_off(make(clerk, Policy()))
    with suppress(DivergedError):  # without its own policy, the agent of a task has its tools at another place
        go_on(clerk, make(clerk, None))
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
        with pytest.raises(AgentChangedError, match=rf"policy of the class {name}.* policy={name}\(…\)") as caught:
            resumed(clerk, make(clerk, given))
        assert (caught.value.agent, caught.value.changed) == ("clerk", ("policy",))
        assert clerk.journal.info("1").status == before
    go_on(clerk, make(clerk, policy))
    assert clerk.outbox.sent == []


@pytest.mark.parametrize("policy", [Policy(), Policy([Rule("run", source="server", name="ä*")], otherwise="refuse")])
def test_a_policy_comes_back_from_its_json(policy: Policy) -> None:
    written = policy.as_json()
    assert isinstance(written, dict)
    assert Policy.from_json(written) == policy
