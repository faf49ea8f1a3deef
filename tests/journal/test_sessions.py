"""Sessions of many runs: stored once, restored as they were when a run began, deleted with the last run of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from journal._places import Place
from trivium import Agent
from trivium.exceptions import JournalDamagedError, ProviderConnectionError
from trivium.journal import Journal
from trivium.testing import ScriptedModel


class Echo:
    """A model that repeats, unless it is told to fail."""

    name = "echo"
    fails = False

    def stream(self, request: Any) -> Iterator[Any]:
        if self.fails:
            raise ProviderConnectionError("dead")
        yield from ScriptedModel([f"You said: {request.messages[-1]['content']}"]).stream(request)


def bytes_of(place: Place) -> int:
    rows = [*place.execute("SELECT body FROM entry"), *place.execute("SELECT digest, before, body FROM part")]
    return sum(len("".join(row)) for row in rows)


def turns(journal: Journal, agent: Agent, first: int, last: int, session: str = "ada") -> None:
    for at in range(first, last):
        agent(f"Question {at:04}: what did I say?", run_id=f"{session}-{at}", journal=journal, session_id=session)


def test_a_session_grows_with_what_was_said_and_not_with_its_square(place: Place):
    journal, agent = place.journal(), Agent(Echo(), name="echo")
    sizes = [0]
    for first, last in ((0, 10), (10, 30), (30, 90)):
        turns(journal, agent, first, last)
        sizes.append(bytes_of(place))
    by_turn = [(after - before) / count for before, after, count in zip(sizes, sizes[1:], (10, 20, 60), strict=False)]
    assert max(by_turn) <= 1.1 * min(by_turn), by_turn
    journal.close()


def test_a_run_goes_on_with_the_session_as_it_was_and_other_runs_keep_what_they_share(place: Place):
    journal, model = place.journal(), Echo()
    agent = Agent(model, name="echo")
    turns(journal, agent, 0, 3)
    model.fails = True
    with pytest.raises(ProviderConnectionError):
        turns(journal, agent, 3, 4)
    model.fails = False
    fork = journal.view("ada-3").fork("forked")
    for forgotten in range(3):  # its messages are still those that the later run began with
        journal.forget(f"ada-{forgotten}")
    new = Agent(model, name="echo")  # as in another process
    turns(journal, new, 3, 4)
    said = [str(each.content) for each in new.memory.open("ada").messages]
    assert said[::2] == [f"Question {at:04}: what did I say?" for at in range(4)]
    assert [each.startswith("You said: Question") for each in said[1::2]] == [True] * 4
    journal.forget("ada-3")
    assert fork.resume(Agent(model, name="echo")).content == "You said: Question 0003: what did I say?"
    assert "Question 0000" in str(place.execute("SELECT body FROM part"))
    journal.forget(session_id="ada")
    assert [*place.execute("SELECT digest FROM part"), *place.execute("SELECT run FROM head")] == []
    journal.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE part SET body = replace(body, 'Question 0001', 'Question 0009')",
        "DELETE FROM part WHERE body LIKE '%Question 0000%'",
        "DELETE FROM part",
    ],
)
def test_a_session_that_was_changed_is_noticed(place: Place, change: str):
    journal, model = place.journal(), Echo()
    agent = Agent(model, name="echo")
    turns(journal, agent, 0, 3)
    place.execute(change)
    with pytest.raises(JournalDamagedError):
        turns(journal, Agent(model, name="echo"), 2, 3)
    journal.close()
