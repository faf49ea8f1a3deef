"""A run that goes on with an agent that was changed meanwhile: it is told what changed, and may accept it or fork."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from journal._programs import Stateless, look, pay
from trivium import Agent, Message
from trivium.actions import tool
from trivium.exceptions import AgentChangedError, ProviderConnectionError, RunPausedError
from trivium.journal import Journal, ask_later
from trivium.testing import ScriptedModel, call_tool


class Flaky(Stateless):
    """A model whose answers may be errors, which it raises as long as `is_down`."""

    is_down = True

    def stream(self, request: Any) -> Iterator[Any]:
        asked = sum(each["role"] == "assistant" for each in request.messages)
        if self.is_down and isinstance(self.answers[asked], Exception):
            raise self.answers[asked]
        answer = "done" if isinstance(self.answers[asked], Exception) else self.answers[asked]
        yield from ScriptedModel([answer]).stream(request)


class Verdict(BaseModel):
    fits: bool


@tool(effect="read", name="look")
def look_again(place: str, hour: int = 12) -> str:
    """Look at a place."""
    return f"{place} at {hour}"


ANSWERS = (call_tool("look", place="Oslo"), ProviderConnectionError("dead"))
CHANGES: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "instruction": ({"system_message": "You buy houses."}, ("instruction",), r'\+  "You buy houses\."'),
    "tool": ({"tools": [look_again, pay]}, ("tool look",), r'\+ +"hour"'),
    "new tool": ({"tools": [look]}, ("tool pay",), r'-  "pay": '),
    "output": ({"output_format": Verdict}, ("instruction", "output"), r'\+ +"fits"'),
}


def buyer(model: Any, **changes: Any) -> Agent:
    given: dict[str, Any] = {"tools": [look, pay], "system_message": "You buy flats.\nBe brief.", **changes}
    return Agent(model, name="buyer", **given)


def broken_off(journal: Journal) -> None:
    with pytest.raises(ProviderConnectionError):
        buyer(Flaky(*ANSWERS))("Go.", run_id="a", journal=journal)


def test_a_run_that_refuses_a_changed_agent_stays_as_it_was(journal: Journal):
    broken_off(journal)
    before = journal.view("a")
    with pytest.raises(AgentChangedError):
        journal.view("a").resume(buyer(Flaky(*ANSWERS), system_message="You buy houses."))
    after = journal.view("a")
    assert (after.info.status, after.why) == ("failed", before.why)
    assert after.why == "buyer#0/model#1: ProviderConnectionError: dead"
    assert after.events() == before.events()


def test_a_paused_run_that_refuses_a_changed_agent_still_waits_for_its_decision(journal: Journal):
    def paused(answer: str = "done", **changes: Any) -> Agent:
        changes = {"tools": [tool(needs_approval=True)(send)], **changes}
        return buyer(Stateless(call_tool("send", text="Hi."), answer), **changes)

    def send(text: str) -> str:
        """Send a text."""
        return f"sent {text}"

    with pytest.raises(RunPausedError):
        paused()("Go.", run_id="b", journal=journal, approve=ask_later)
    why = journal.info("b").why
    with pytest.raises(AgentChangedError):
        journal.view("b").resume(paused(system_message="You buy houses."))
    assert (journal.info("b").status, journal.info("b").why) == ("paused", why)
    with pytest.raises(RunPausedError):
        journal.view("b").resume(paused())
    journal.approve("b", journal.pending("b")[0].digest, by="Ada")
    assert journal.view("b").resume(paused()).content == "done"


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_agent_is_told_before_anything_is_asked(journal: Journal, name: str):
    broken_off(journal)
    changes, changed, diff = CHANGES[name]
    model = Flaky(*ANSWERS)
    with pytest.raises(AgentChangedError, match=rf"(?s)buyer.*fork.*accepting_changes.*{diff}") as caught:
        buyer(model, **changes)("Go.", run_id="a", journal=journal)
    assert (caught.value.agent, caught.value.changed, caught.value.run_id) == ("buyer", changed, "a")
    model.is_down = False
    assert buyer(model)("Go.", run_id="a", journal=journal).content == "done"  # as it was


def test_another_model_is_a_change_and_one_that_is_accepted_stays_accepted_when_it_has_answered(journal: Journal):
    broken_off(journal)
    other = Flaky(ANSWERS[0], call_tool("look", place="Rome"), ANSWERS[1])
    other.name = "other"
    with pytest.raises(AgentChangedError, match="other"):
        buyer(other)("Go.", run_id="a", journal=journal)
    with pytest.raises(ProviderConnectionError):
        buyer(other)("Go.", run_id="a", journal=journal.accepting_changes())
    with pytest.raises(ProviderConnectionError):
        buyer(other)("Go.", run_id="a", journal=journal)
    other.is_down = False
    view = journal.view("a")
    assert view.resume(buyer(other, system_message="New."), accept_changes=True).content == "done"


GO_ON: dict[str, Callable[[Journal, Agent], Message]] = {
    "a finished run": lambda journal, new: new("Go.", run_id="a", journal=journal),
    "a replay": lambda journal, new: journal.view("a").replay(new),
    "a fork": lambda journal, new: journal.view("a").fork("b").resume(new),
    "a fork from a node": lambda journal, new: journal.view("a").fork("b", at="buyer/model#1").resume(new),
}


@pytest.mark.parametrize("way", GO_ON)
def test_nothing_is_refused_where_nothing_new_is_asked_or_a_run_goes_its_own_way(journal: Journal, way: str):
    model = Flaky(*ANSWERS)
    model.is_down = False
    assert buyer(model)("Go.", run_id="a", journal=journal).content == "done"
    assert GO_ON[way](journal, buyer(model, system_message="New.")).content == "done"


def test_what_was_never_answered_may_be_mended_at_once(journal: Journal):
    with pytest.raises(ProviderConnectionError):
        buyer(Flaky(ProviderConnectionError("no such model")))("Go.", run_id="a", journal=journal)
    mended = buyer(Stateless("done"), system_message="Mended.")
    assert mended("Go.", run_id="a", journal=journal).content == "done"


def test_agents_of_one_name_and_of_others_below_are_told_apart(journal: Journal):
    def team(last: str, model: Any) -> list[str]:
        wordings = ("You are the first.", "You are the second.", last)
        members = [Agent(Stateless(f"from {each}"), name="member", system_message=each) for each in wordings]
        with journal.run("team"):
            said = [each(f"question {at}").content for at, each in enumerate(members)]
            return [*said, Agent(model, name="chair")("All?").content]

    model = Flaky(ProviderConnectionError("dead"))
    with pytest.raises(ProviderConnectionError):
        team("You are the third.", model)
    with pytest.raises(AgentChangedError, match="member"):
        team("You are new.", model)
    model.is_down = False
    assert team("You are the third.", model)[-1] == "done"
