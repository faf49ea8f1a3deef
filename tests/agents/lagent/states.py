"""States: what agents dump, load and reset, with the agents within them; how they are printed."""

# Users' programs have few types.
# pyright: basic

from __future__ import annotations

import json
from typing import Any

from ._script import Run, script


def nested(on: Run) -> Any:
    """An agent with two agents, one of which has one too."""

    class Inner(on.Agent):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.deep = on.fixed("deep", name="deep")

    class Outer(on.Agent):
        def __init__(self) -> None:
            super().__init__(name="outer")
            self.first = on.fixed("first", name="first")
            self.second = Inner(name="second")

    return Outer()


@script
def a_state_is_told_by_paths(on: Run) -> Any:
    agent = nested(on)
    on.ask(agent.first, "a")
    on.ask(agent.second.deep, "b")
    with on.warned():
        on.say(agent.state_dict())


@script
def a_state_of_a_session(on: Run) -> Any:
    agent = nested(on)
    on.ask(agent.first, "a", session_id="ada")
    on.ask(agent.first, "b")
    on.say({key: len(value) for key, value in agent.state_dict("ada").items()})
    on.say({key: len(value) for key, value in agent.state_dict(session_id=5).items()})


@script
def a_state_of_a_fresh_agent_warns(on: Run) -> Any:
    agent = nested(on)
    with on.warned():
        on.say(agent.state_dict())


@script
def a_state_is_loaded(on: Run) -> Any:
    agent, other = nested(on), nested(on)
    on.ask(agent.first, "a")
    on.ask(agent.second.deep, "b")
    state = json.loads(json.dumps(agent.state_dict()))
    other.load_state_dict(state)
    on.say(other.state_dict() == agent.state_dict())
    on.remembered(other.first)
    other.load_state_dict(state, session_id="ada")
    on.remembered(other.second.deep, "ada")


@script
def a_loaded_state_replaces_what_was_there(on: Run) -> Any:
    agent = on.fixed()
    on.ask(agent, "old")
    agent.load_state_dict({"memory": [{"content": "new"}]})
    on.remembered(agent)
    agent.load_state_dict({"memory": []})
    on.say(agent.memory.get().save())


@script
def a_state_with_missing_keys(on: Run) -> Any:
    agent = nested(on)
    on.ask(agent.first, "a")
    on.tried(lambda: agent.load_state_dict({"memory": [{"content": "x"}]}), KeyError)
    on.remembered(agent.first)
    on.say(agent.memory.get())


@script
def a_state_with_other_keys(on: Run) -> Any:
    agent = on.fixed()
    on.ask(agent, "a")
    with on.warned():
        agent.load_state_dict({"memory": [{"content": "x"}], "other.memory": [{"content": "y"}]})
    on.remembered(agent)


@script
def a_state_with_bad_messages(on: Run) -> Any:
    agent = on.fixed()
    on.ask(agent, "a")
    on.tried(lambda: agent.load_state_dict({"memory": [{"sender": "x"}]}), ValueError)
    on.tried(lambda: agent.load_state_dict({"memory": "text"}), TypeError)


@script
def a_dump_can_be_written_as_json(on: Run) -> Any:
    agent = on.fixed({"a": ["ü"]}, name="ada")  # pyright: ignore[reportArgumentType]
    on.ask(agent, "hi")
    on.say(json.dumps(agent.state_dict(), ensure_ascii=False))


@script
def one_agent_is_reset(on: Run) -> Any:
    agent = nested(on)
    for each in (agent.first, agent.second.deep):
        on.ask(each, "a")
        on.ask(each, "b", session_id=1)
    agent.first.reset()
    on.say(agent.first.memory.get(), len(agent.first.memory.get(1).save()))
    agent.reset()
    on.say(len(agent.second.deep.memory.get().save()))


@script
def all_are_reset(on: Run) -> Any:
    agent = nested(on)
    for each in (agent.first, agent.second.deep):
        on.ask(each, "a")
        on.ask(each, "b", session_id=1)
    agent.reset(recursive=True)
    on.say(agent.first.memory.get(), agent.second.deep.memory.get(), len(agent.first.memory.get(1).save()))
    agent.reset(1, recursive=True)
    on.say(agent.first.memory.get(1))


@script
def one_is_reset_by_its_path(on: Run) -> Any:
    agent = nested(on)
    for each in (agent.first, agent.second.deep):
        on.ask(each, "a")
    agent.reset(keypath="second.deep")
    on.say(agent.second.deep.memory.get(), len(agent.first.memory.get().save()))
    agent.reset(keypath="second")
    on.tried(lambda: agent.reset(keypath="third"), KeyError)
    on.tried(lambda: agent.reset(keypath="second.no"), KeyError)
    on.tried(lambda: agent.reset(keypath="first", recursive=True), AssertionError)


@script
def how_agents_are_printed(on: Run) -> Any:
    on.say(repr(nested(on)).replace("Async", ""))
    on.say(repr(on.fixed(name="ada")))
    on.say(str(on.Agent(name="it's")).replace("Async", ""))


@script
def agents_in_plain_attributes(on: Run) -> Any:
    agent = on.fixed(name="outer")
    agent.parts = [on.fixed(name="a")]
    agent.table = {"b": on.fixed(name="b")}
    agent.part = on.fixed(name="c")
    on.say(list(agent.state_dict()))
    on.say(repr(agent).replace("Async", ""))


@script
def one_agent_in_two_places(on: Run) -> Any:
    agent, inner = on.fixed(name="outer"), on.fixed(name="inner")
    agent.a = agent.b = inner
    on.ask(inner, "x")
    on.say({key: len(value) for key, value in agent.state_dict().items()})


@script
def an_agent_is_replaced(on: Run) -> Any:
    agent = on.fixed(name="outer")
    agent.part = on.fixed(name="old")
    agent.part = on.fixed(name="new")
    on.say(repr(agent).replace("Async", ""))


@script
def an_agent_is_taken_away(on: Run) -> Any:
    agent = on.fixed(name="outer")
    agent.part = on.fixed(name="part")
    agent.part = None
    on.say(repr(agent).replace("Async", ""), list(agent.state_dict()))


@script
def an_agent_without_memory_has_no_state(on: Run) -> Any:
    agent = on.fixed(memory=None)
    agent.part = on.fixed(name="part")
    on.say(agent.state_dict())
    agent.load_state_dict({"part.memory": [{"content": "x"}]})
    on.remembered(agent.part)


@script
def a_state_of_a_message_with_all_fields(on: Run) -> Any:
    given = on.message("x", formatted={"n": [1]}, extra_info="e", type="t", receiver="r", stream_state=5)
    agent = on.fixed(given, name="ada")  # pyright: ignore[reportArgumentType]
    on.ask(agent, given)
    state = agent.state_dict()
    on.say(state)
    agent.load_state_dict(json.loads(json.dumps(state)), session_id=2)
    on.say(agent.state_dict(2) == state)
    on.remembered(agent, 2)
