"""Sessions of many runs: stored once, restored as they were when a run began, deleted with the last run of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal._places import Place
from trivium import Agent, Message, Module
from trivium.exceptions import ConfigurationError, JournalDamagedError, ProviderConnectionError
from trivium.journal import Journal
from trivium.journal._codec import Codec
from trivium.journal._memories import chains_of
from trivium.journal._postgres import PostgresRunStore
from trivium.journal._sqlite import SQLiteRunStore
from trivium.journal._store import chain_of
from trivium.policies import Source
from trivium.schema import ActionReturn, ToolCall, Usage
from trivium.testing import ScriptedModel, call_tool


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


@pytest.mark.parametrize("session", ["ada", 'a "b" \\ \n ü', 7, ("ada", 7), "half \ud800", "nul \0", 0])
def test_the_runs_of_a_session_are_selected_by_the_store(place: Place, session: Any):
    journal, agent = place.journal(), Agent(Echo(), name="echo")
    for at, own in enumerate([session, "ada b", session, 8]):
        given: dict[str, Any] = {} if own == 0 else {"session_id": own}
        agent('"session": "ada"', run_id=str(at), journal=journal, **given)
    expected = [] if session == "half \ud800" else ["2", "0"]  # half a character is stored as "?"
    one_by_one: dict[str, Any] = {"attribute": "first_bodies", "side_effect": AssertionError}
    with patch.object(SQLiteRunStore, **one_by_one), patch.object(PostgresRunStore, **one_by_one):
        assert [each.id for each in journal.runs(session_id=session)] == expected
        assert journal.forget(session_id=session) == len(expected)
    assert [each.id for each in journal.runs()] == [each for each in "3210" if each not in expected]
    journal.close()


@pytest.mark.parametrize(
    ("session", "equal"), [(1, True), (True, 1.0), (1.0, 1), (("x", 1), ("x", 1.0)), (False, 0), (0, 0.0)]
)
def test_sessions_that_are_equal_are_one(session: Any, equal: Any, place: Place):
    journal, agent = place.journal(), Agent(Echo(), name="echo")
    for run_id, own in {"a": session, "b": equal, "c": 10, "d": "1"}.items():
        agent("hi", run_id=run_id, journal=journal, session_id=own)
    assert {each.id for each in journal.runs(session_id=session)} == {"a", "b"}
    assert journal.forget(session_id=equal) == 2
    journal.close()


def test_a_session_goes_on_in_another_process_also_with_an_agent_that_was_changed(place: Place):
    journal = place.journal()

    class Outer(Module):
        """Begins the runs of another module."""

        def forward(self, message: Message) -> str:
            turns(journal, Agent(Echo(), name="echo"), 0, 1)
            first = Agent(Echo(), name="echo")
            journal.view("ada-0").restore(first)
            turns(journal, first, 1, 3)
            return "done"

    Outer()("Go.")
    other = Agent(Echo(), "Be short.", name="another")
    with pytest.warns(UserWarning, match="'another' reads what 'echo' said as words of a user"):
        journal.view("ada-2").restore(other)
    said = [str(each.content) for each in other.memory.open("ada").messages]
    assert said == [
        line
        for at in range(3)
        for line in (f"Question {at:04}: what did I say?", f"You said: Question {at:04}: what did I say?")
    ]
    with pytest.warns(UserWarning, match="'another' reads what 'echo' said"):
        journal.view("ada-0").restore(other)
    assert len(other.memory.open("ada").messages) == 2
    turns(journal, Agent(Echo(), name="echo"), 2, 3)  # it is done: nothing is asked, and nothing is unclaimed
    assert journal.view("ada-2").tree().children[0].name == "model"
    journal.close()


def test_what_an_agent_remembers_that_is_a_tool_is_restored(place: Place):
    def made() -> tuple[Agent, Agent]:
        clerk = Agent(Echo(), name="clerk")
        return Agent(ScriptedModel([call_tool("clerk", message="Kettle?"), "Yes."]), tools=[clerk], name="a"), clerk

    with place.journal() as journal:
        made()[0]("Kettle?", session_id="ada", run_id="one", journal=journal)
        later, clerk = made()
        journal.view("one").restore(later)
        assert [each.content for each in clerk.memory.get_memory("ada")] == ["Kettle?", "You said: Kettle?"]
        later("Kettle?", session_id="ada", run_id="two", journal=journal)
        assert len(clerk.memory.get_memory("ada")) == 4


def test_a_run_whose_tool_has_a_memory_in_a_record_of_its_own_goes_on(place: Place):
    helper, other = Agent(Echo(), name="helper"), Agent(Echo(), name="helper")
    answers = [call_tool("helper", message="1"), "First.", call_tool("helper", message="2"), RuntimeError("dead")]
    outer = Agent(ScriptedModel(answers), tools=[helper], name="outer")
    with place.journal() as journal:
        with patch.object(Module, "named_modules", Module.named_parts):  # as it was recorded by earlier versions
            outer("Begin.", session_id="ada", run_id="one", journal=journal)
            with pytest.raises(RuntimeError, match="dead"):
                outer("Go on.", session_id="ada", run_id="two", journal=journal)
        later = Agent(ScriptedModel(["Second."]), tools=[other], name="outer")
        assert later("Go on.", session_id="ada", run_id="two", journal=journal).content == "Second."
    assert [each.content for each in other.memory.get_memory("ada")] == ["1", "You said: 1", "2", "You said: 2"]


@pytest.mark.parametrize("is_below", [False, True])
def test_a_run_that_is_resumed_takes_no_later_turn_away_in_this_process(place: Place, is_below: bool):
    journal, model = place.journal(), Echo()
    agent, asked = Agent(model, name="echo"), list[int]()

    def turn(number: int) -> None:
        text, run_id = f"Question {number}", f"turn-{number}"
        model.fails = number == 0 and not asked
        asked.append(number)
        if is_below:
            with journal.run(run_id):
                agent(text, session_id="ada")
        else:
            agent(text, session_id="ada", run_id=run_id, journal=journal)

    def said() -> str:
        return "".join(str(each.content)[-1] for each in agent.memory.open("ada").messages)

    with pytest.raises(ProviderConnectionError):
        turn(0)
    turn(1)
    turn(0)  # it began with nothing, so its requests are as they were
    assert said() == "011" + "00"
    turn(2)
    for number in (0, 1, 2, 1):  # all are done
        turn(number)
        assert said() == "011" + "00" + "22"
    if not is_below:
        journal.view("turn-0").restore(agent)
        assert said() == "00"
    journal.close()


def test_what_has_no_end_or_no_session_cannot_be_restored(place: Place):
    journal, model = place.journal(), Echo()
    Agent(model, name="echo")("hi", run_id="no-session", journal=journal)
    model.fails = True
    with pytest.raises(ProviderConnectionError):
        turns(journal, Agent(model, name="echo"), 0, 1)
    for run_id in ("no-session", "ada-0"):
        with pytest.raises(ConfigurationError, match="no session that could be restored"):
            journal.view(run_id).restore(Agent(model, name="echo"))
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


VALUES: dict[str, Any] = {
    "usage": Usage(1, 2),
    "tool_calls": (ToolCall("1", "add", "{}"),),
    "sources": frozenset({Source("tool", "web")}),
    "formatted": ActionReturn(type="add"),
    "extra_info": {"deep": [1]},
    "attachments": [{"a": 1}],
    "receiver": "Ada",
}
STEPS = st.sampled_from(
    ["add", "add", "add", "edit", "set", "nested", "erase", "reset", "load", "look", "other journal"]
)


@given(st.lists(st.tuples(STEPS, st.integers(0, 20), st.sampled_from([*VALUES])), max_size=40))
def test_the_chain_of_a_memory_is_that_of_its_messages_however_it_came_about(steps: list[tuple[str, int, str]]):
    agent, codec = Agent(Echo(), name="echo"), Codec()
    memory = agent.memory.open("ada")
    for step, at, name in steps:
        if step == "add" or not memory.messages:
            memory.add(Message(content=f"{at}", **({name: VALUES[name]} if at % 3 else {})))
            continue
        at %= len(memory.messages)
        match step:
            case "edit":
                memory.edit(at, f"edited {at}")
            case "set":
                setattr(memory.messages[at], name, VALUES[name])
            case "nested" if memory.messages[at].extra_info:
                memory.messages[at].extra_info["deep"].append(at)
            case "erase":
                memory.erase(at)
            case "reset" if at % 4 == 0:
                memory.reset()
            case "load":
                memory.load(memory.save())
            case "other journal":
                codec = Codec()
            case _:
                pass
        said = agent.state_dict("ada")["memory"]
        assert chains_of(agent, "ada", codec).get("memory", []) == chain_of(map(codec.dump, said))


def test_of_a_session_that_has_grown_only_what_is_new_is_written_down_again(place: Place):
    journal, agent = place.journal(), Agent(Echo(), name="echo")
    dumped: list[object] = []
    dump = journal._codec.dump  # pyright: ignore[reportPrivateUsage]
    journal._codec.dump = lambda value: dumped.append(value) or dump(value)  # type: ignore[method-assign]  # pyright: ignore
    turns(journal, agent, 0, 40)
    assert len(dumped) <= 2 * 40
    journal.close()
