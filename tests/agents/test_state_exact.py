"""State goes to JSON and back exactly: any tree of agents, any session, messages with every field and value."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium import Agent, AsyncAgent, Entity, Message, Module, StatusCode
from trivium.agents import AgentDict, AgentList, AsyncSequential, Sequential
from trivium.agents.aggregator import DefaultAggregator, InternLMToolAggregator
from trivium.memory import Memory
from trivium.prompts.parsers import ToolParser
from trivium.schema import (
    ActionReturn,
    ActionStatusCode,
    AgentStatusCode,
    FunctionCall,
    ModelStatusCode,
    Origin,
    ToolCall,
    ToolStatusCode,
    Usage,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*reads what")  # the senders of these messages are anybody
SESSIONS: tuple[Hashable, ...] = (0, 1, "ada", ("a", 2))
AGENT = "Ada"


class Composite(Agent):
    """An agent with others as attributes."""

    def __init__(self, below: dict[str, Module], remembers: bool) -> None:
        super().__init__(name=AGENT, memory=remembers)
        for name, module in below.items():
            setattr(self, name, module)


# ---- trees
names = st.text("abc", min_size=1, max_size=2)
shapes: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["agent", "async", "forgetful"]),
    lambda inner: (
        st.tuples(st.sampled_from(["attributes", "dict"]), st.dictionaries(names, inner, max_size=3))
        | st.tuples(st.sampled_from(["list"]), st.lists(inner, max_size=3))
        | st.tuples(st.sampled_from(["sequence", "async sequence"]), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=6,
)


def build(shape: Any) -> Module:
    if isinstance(shape, str):
        kind = AsyncAgent if shape == "async" else Agent
        return kind(name=AGENT, memory=shape != "forgetful")
    kind, below = shape
    if kind == "attributes":
        return Composite({name: build(each) for name, each in below.items()}, remembers=True)
    if kind == "dict":
        return AgentDict({name: build(each) for name, each in below.items()})
    made = [build(each) for each in below]
    if kind == "list":
        return AgentList(made)
    return (Sequential if kind == "sequence" else AsyncSequential)(*made)


# ---- messages
text = st.text(max_size=12)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
json_dicts = st.dictionaries(text, json_values, max_size=3)
calls = st.builds(ToolCall, names, names, text)
returns = st.builds(
    ActionReturn,
    args=st.none() | json_dicts,
    type=st.none() | names,
    result=st.none() | st.lists(st.fixed_dictionaries({"type": names, "content": json_values}), max_size=2),
    errmsg=st.none() | text,
    state=st.sampled_from(ActionStatusCode),
)
typed = returns | st.builds(FunctionCall, names, json_dicts | text)


def parsed(status: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    parts = {"tool_type": st.none() | names, "thought": text, "action": st.none() | text | json_dicts, "status": status}
    return st.none() | st.fixed_dictionaries(parts)


def messages(content: st.SearchStrategy[Any], state: st.SearchStrategy[Any], status: Any) -> Any:
    required = {"content": content, "sender": st.sampled_from([AGENT, "user", "tool", "Bob"])}
    optional = {
        "formatted": parsed(status),
        "extra_info": json_values,
        "type": st.none() | names,
        "receiver": st.none() | names,
        "stream_state": state,
        "tool_calls": st.lists(calls, min_size=1, max_size=2).map(tuple),
        "tool_call_id": names,
        "usage": st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
        "entity": st.sampled_from(Entity),
        "status": st.sampled_from(StatusCode),
        "attachments": st.lists(json_values, max_size=2).map(tuple),
        "origin": st.sampled_from(Origin),
    }
    return st.fixed_dictionaries(required, optional=optional).map(lambda values: Message(**cast("Any", values)))


plain = messages(json_values, st.sampled_from(AgentStatusCode), st.sampled_from([-1, 0, 1]))
"""Messages whose values JSON has itself."""
any_messages = messages(
    json_values | typed | st.lists(typed, max_size=2) | st.tuples(text, st.integers()),
    st.sampled_from([*AgentStatusCode, *ModelStatusCode]),
    st.sampled_from(ToolStatusCode),
)


def talk(said: st.SearchStrategy[Message]) -> st.SearchStrategy[list[tuple[int, Any, Message]]]:
    return st.lists(st.tuples(st.integers(0, 20), st.sampled_from(SESSIONS), said), max_size=10)


def memories(tree: Module) -> list[Any]:
    return [module.memory for _, module in tree.named_modules() if module.memory is not None]


def told(tree: Module, what: list[tuple[int, Any, Message]]) -> None:
    found = memories(tree)
    for at, session, message in what if found else ():
        found[at % len(found)].add(message, session)


def chats(tree: Module, session: Any) -> Any:
    """What each agent of the tree would show its model."""
    aggregators = [DefaultAggregator(), InternLMToolAggregator(environment_begin=">")]
    parser = ToolParser("code", "Write code.")
    found = [manager.get(session) for manager in memories(tree)]
    return [each.aggregate(memory, AGENT, parser, "Be kind.") for memory in found for each in aggregators]


def shown(tree: Module, session: Any) -> list[list[tuple[str, str]]]:
    """What each memory of the tree prints."""
    found = [manager.get(session) or Memory() for manager in memories(tree)]
    return [[(str(each), repr(each)) for each in memory.get_memory()] for memory in found]


def through_json(first: Module, second: Module, session: Any, target: Any) -> dict[str, Any]:
    saved = first.state_dict(session)
    second.load_state_dict(json.loads(json.dumps(saved)), target)
    return saved


@settings(max_examples=50, deadline=None)
@given(shapes, talk(plain), talk(plain), st.sampled_from(SESSIONS), st.sampled_from(SESSIONS))
def test_what_json_has_is_the_same_in_every_way(shape: Any, said: Any, before: Any, session: Any, target: Any):
    """The dump, what is shown, what a model sees; and what other sessions remember stays."""
    first, second = build(shape), build(shape)
    told(first, said)
    told(second, before)
    others = {each: second.state_dict(each) for each in SESSIONS if each != target}
    saved = through_json(first, second, session, target)
    assert second.state_dict(target) == saved
    assert chats(second, target) == chats(first, session)
    assert shown(second, target) == shown(first, session)
    assert others == {each: second.state_dict(each) for each in others}


@settings(max_examples=50, deadline=None)
@given(shapes, talk(any_messages), st.sampled_from(SESSIONS), st.sampled_from(SESSIONS))
def test_what_json_lacks_keeps_its_dump_and_what_a_model_sees(shape: Any, said: Any, session: Any, target: Any):
    """Returns, calls, tuples and members of enumerations: plain values after it, and the same JSON."""
    first, second, third = build(shape), build(shape), build(shape)
    told(first, said)
    saved = through_json(first, second, session, target)
    assert json.dumps(second.state_dict(target)) == json.dumps(saved)
    assert json.dumps(chats(second, target)) == json.dumps(chats(first, session))
    through_json(second, third, target, target)
    assert third.state_dict(target) == second.state_dict(target)
    assert shown(third, target) == shown(second, target)


@pytest.mark.filterwarnings("ignore:.*reads what")
@settings(max_examples=40, deadline=None)
@given(st.lists(any_messages, min_size=1, max_size=4))
def test_nothing_that_was_loaded_is_a_models_word(said: list[Message]):
    first, second = Agent(name=AGENT), Agent(name=AGENT)
    told(first, [(0, 0, message.replace(origin=Origin.MODEL)) for message in said])
    saved = json.loads(json.dumps(through_json(first, second, 0, 0)))
    for each in saved["memory"]:
        each["origin"] = "model"
    second.load_state_dict(saved)
    assert second.memory is not None
    assert {message.origin for message in second.memory.get_memory()} == {Origin.USER}
