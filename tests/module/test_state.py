"""State: what a tree of modules remembers of a session goes to JSON and back, and nothing else is touched."""

# The managers of memories are read without opening a session.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commander._helpers import add, calling
from trivium import Agent, AsyncAgent, ChatAgent, Entity, Message, Module, Task
from trivium.agents import AgentForInternLM, ReAct, Sequential
from trivium.exceptions import StateError
from trivium.llms import Request
from trivium.memory import MemoryManager
from trivium.schema import FileAttachment, Usage
from trivium.testing import ScriptedModel, call_tool


class Branch(Module):
    """A module with others below it, each as an attribute."""

    def __init__(self, below: dict[str, Module], remembers: bool) -> None:
        super().__init__(memory=MemoryManager() if remembers else None)
        for name, module in below.items():
            setattr(self, name, module)

    def forward(self, message: Message) -> str:
        return "branch"


Session = int | str | tuple[str, int]
SESSIONS: tuple[Session, ...] = (0, 1, "ada", ("a", 2))
sessions = st.sampled_from(SESSIONS)
texts = st.text(max_size=8)
shapes: st.SearchStrategy[Any] = st.recursive(
    st.booleans(),
    lambda inner: st.tuples(st.booleans(), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=6,
)
talk = st.lists(st.tuples(st.integers(0, 20), sessions, texts), max_size=12)


def build(shape: Any) -> Module:
    if isinstance(shape, bool):
        return Branch({}, shape)
    return Branch({name: build(inner) for name, inner in shape[1].items()}, shape[0])


@settings(max_examples=60, deadline=None)
@given(shapes, talk, sessions, sessions)
def test_a_session_goes_to_json_and_back(shape: Any, talk: Any, session: Session, target: Session):
    first, second = build(shape), build(shape)
    for at, which, text in talk:
        for tree in (first, second):
            modules = [module for _, module in tree.named_modules()]
            modules[at % len(modules)](text, session_id=which)
    saved = {which: first.state_dict(which) for which in SESSIONS}
    second.load_state_dict(json.loads(json.dumps(saved[session])), target)
    for which, state in saved.items():
        assert second.state_dict(which) == (saved[session] if which == target else state)
        assert first.state_dict(which) == state


def test_the_keys_are_the_paths():
    tree = Branch({"a": Branch({"x": Branch({}, True)}, False), "b": Agent(ScriptedModel(["ok"]))}, True)
    assert list(tree.state_dict()) == ["memory", "a.x.memory", "b.memory"]
    assert tree.state_dict("unknown") == {"memory": [], "a.x.memory": [], "b.memory": []}
    managers = [each.memory for _, each in tree.named_modules() if each.memory is not None]
    assert [each.memory_map for each in managers] == [{}, {}, {}], "looking opens no session"


def test_a_saved_message_has_the_seven_fields():
    agent = Agent(ScriptedModel(["ok"]))
    agent("hi")
    assert list(agent.state_dict()["memory"][0].values())[:2] == ["hi", "user"]
    assert list(agent.state_dict()["memory"][0]) == [
        "content", "sender", "formatted", "extra_info", "type", "receiver", "stream_state",
    ]  # fmt: skip


def test_the_model_sees_the_same_history_after_json():
    """Tool calls, their results, tokens and speakers included: the next request is the same."""

    def seen(agent: Agent) -> Any:
        found: list[Request] = []
        agent.llm = ScriptedModel(lambda request: found.append(request) or "ok")
        agent("and now?", session_id="s")
        return found[0].messages

    def make() -> Agent:
        return Agent(calling("add", times=2, width=2, a=1, b=2), "Be kind.", tools=[add])

    first, second = make(), make()
    first("1 + 2?", session_id="s")
    for entity in (Entity.LLM, Entity.SYSTEM, Entity.USER):
        first.memory.add(Message(content=entity.value, entity=entity), "s")  # type: ignore[union-attr]
    second.load_state_dict(json.loads(json.dumps(first.state_dict("s"))), "s")
    history = seen(second)
    assert history == seen(first)
    assert [message["role"] for message in history] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "tool", "tool", "assistant", "assistant",
        "system", "user",
    ]  # fmt: skip


def test_usage_is_saved():
    agent = Agent(ScriptedModel([["ok", Usage(3, 4)]]))
    agent("hi")
    other = Agent(ScriptedModel(["x"]))
    other.load_state_dict(json.loads(json.dumps(agent.state_dict())))
    assert other.memory is not None
    assert other.memory.get_memory()[-1].usage == Usage(3, 4)


@pytest.mark.parametrize("make", [Agent, AsyncAgent, ChatAgent])
def test_every_agent_has_the_same_state(make: Any):
    agent = make(ScriptedModel(["ok"]))
    Module.__call__(agent, "hi")
    assert [len(messages) for messages in agent.state_dict().values()] == [2]


def test_a_task_has_the_state_of_its_agents():
    inner = Task(ChatAgent(ScriptedModel(["DONE yes"]), name="inner"), interactive=False)
    outer = Task(ChatAgent(ScriptedModel(["ask", "DONE"]), name="outer"), interactive=False)
    outer.add_sub_task(inner)
    outer.run("go", session_id="s")
    state = outer.state_dict("s")
    assert {key: len(messages) for key, messages in state.items()} == {"agent.memory": 4, "inner.agent.memory": 2}


def _in_list(inner: Module) -> list[Module]:
    return [inner]


def _in_dict(inner: Module) -> dict[str, Module]:
    return {"a": inner}


@pytest.mark.parametrize("hold", [_in_list, _in_dict])
def test_an_agent_in_a_plain_list_or_dict_is_warned_of(hold: Any):
    tree = Branch({"b": Branch({}, True)}, True)
    vars(tree)["again"] = [*dict(tree.named_children()).values()]  # reached already
    tree.state_dict()
    vars(tree)["held"] = hold(Agent(ScriptedModel(["ok"]), name="left"))
    with pytest.warns(UserWarning, match="'left' is left out of the state: use an AgentList or AgentDict") as warned:
        tree.state_dict()
    assert [each.filename for each in warned] == [__file__]


def test_a_file_goes_to_json_and_back():
    first, second = Agent(ScriptedModel(["a cat"])), Agent(ScriptedModel([]))
    first(Message(content="See.", files=[FileAttachment.from_bytes(b"\x89PNG\xff", "cat.png")]))
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.memory.get_memory()[0].files == first.memory.get_memory()[0].files


# ---- agents and tasks as tools
def _manager(*, is_kept: bool = False) -> tuple[Agent, Agent]:
    """An agent with another as its tool, which is one of its attributes too if `is_kept`."""

    def passed_on(request: Request) -> Any:
        last = request.messages[-1]
        return call_tool("clerk", message=last["content"]) if last["role"] == "user" else "told"

    clerk = Agent(ScriptedModel(["noted"] * 9), name="clerk")
    manager = Agent(ScriptedModel(passed_on), name="manager", tools=[clerk])
    if is_kept:
        vars(manager)["clerk"] = clerk
    return manager, clerk


def test_a_session_is_forgotten_in_an_agent_that_is_a_tool():
    manager, clerk = _manager()
    for session in ("ada", "bob"):
        manager("My PIN is 1234.", session_id=session)
    manager.reset("ada", recursive=True)
    assert list(clerk.memory.memory_map) == list(manager.memory.memory_map) == ["bob"]
    manager.reset("bob", "executor.clerk")
    assert not clerk.memory.memory_map


@pytest.mark.parametrize(("is_kept", "key"), [(False, "executor.clerk.memory"), (True, "clerk.memory")])
def test_an_agent_that_is_a_tool_is_saved_once(is_kept: bool, key: str):
    (first, _), (second, clerk) = _manager(is_kept=is_kept), _manager(is_kept=is_kept)
    first("My PIN is 1234.")
    saved = first.state_dict()
    assert list(saved) == ["memory", key]
    second.load_state_dict(json.loads(json.dumps(saved)), "ada")
    assert [each.content for each in clerk.memory.get_memory("ada")] == ["My PIN is 1234.", "noted"]


def test_a_state_of_before_there_was_the_tool_is_loaded_and_the_tool_remembers_nothing():
    manager, clerk = _manager()
    manager("My PIN is 1234.")
    manager.load_state_dict({"memory": [{"content": "hi"}]})
    assert (len(manager.memory.get_memory()), clerk.memory.get_memory()) == (1, [])


def test_a_tool_that_the_state_has_at_another_place_remembers_that():
    manager, clerk = _manager()
    vars(manager)["team"] = Branch({"clerk": clerk}, False)
    manager.load_state_dict({"memory": [], "team.clerk.memory": [{"content": "hi"}]})
    assert [each.content for each in clerk.memory.get_memory()] == ["hi"]


def test_what_stands_on_an_executor_is_part_of_it_beside_its_tools():
    manager, _ = _manager()
    judge = Agent(ScriptedModel(["ok"]), name="judge")
    vars(manager.executor)["judge"] = judge
    judge("hi")
    names = ["", "executor", "executor.judge", "executor.judge.executor"]
    assert [name for name, _ in manager.named_parts()] == names
    assert [name for name, _ in manager.named_modules()][:4] == names
    assert len(manager.state_dict()["executor.judge.memory"]) == 2
    assert "(judge): Agent" in repr(manager.executor)
    manager.reset(recursive=True)
    assert judge.memory.get() is None


def test_a_tool_that_is_named_as_an_attribute_is_named_by_no_other_path():
    manager, clerk = _manager()
    tree = Branch({"manager": manager, "clerk": clerk}, False)
    assert [name for name, each in tree.named_modules() if each is clerk] == ["clerk"]


def test_a_class_with_an_older_walk_over_its_modules_has_a_state():
    class Older(Agent):
        def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
            return super().named_modules(prefix)

    agent = Older(ScriptedModel(["ok"]), name="older")
    agent("hi")
    other = Older(name="older")
    other.load_state_dict(agent.state_dict())
    assert len(other.memory.get_memory()) == 2


def test_agents_that_are_tools_of_each_other_are_named_once():
    agents = [Agent(ScriptedModel(["ok"]), name=f"a{number}") for number in range(12)]
    for each in agents:
        each.tools = [other for other in agents if other is not each]
    names = [name for name, _ in agents[0].named_modules()]
    assert len(names) == 2 * len(agents), "each with its executor"
    assert "executor.a11" in names


def test_a_task_that_starts_again_leaves_its_tools_what_they_remember():
    manager, clerk = _manager()
    task = Task(ChatAgent(manager.llm, name="manager"), interactive=False, single_round=True)
    task.agent.tools = [clerk]
    for _ in range(2):
        task.run("My PIN is 1234.")
    assert len(clerk.memory.get_memory()) == 4, "they may be those of a run that the task is part of"


# ---- what does not fit
def test_a_missing_entry_is_an_error_and_nothing_is_loaded():
    tree = Branch({"a": Branch({}, True)}, True)
    tree("before")
    before = tree.state_dict()
    with pytest.raises(StateError, match=r"lacks a\.memory") as error:
        tree.load_state_dict({"memory": []})
    assert isinstance(error.value, KeyError)
    assert tree.state_dict() == before


def test_an_entry_too_many_is_a_warning():
    tree = Branch({}, True)
    with pytest.warns(UserWarning, match=r"more than this module: b\.memory") as warned:
        tree.load_state_dict({"memory": [{"content": "hi"}], "b.memory": []})
    assert [each.filename for each in warned] == [__file__]
    assert tree.memory is not None
    assert tree.memory.get_memory()[0].content == "hi"


def test_an_agent_of_another_name_is_warned_of():
    agent = Agent(ScriptedModel(["Hello."]), name="ada")
    agent("hi")
    saved = agent.state_dict()
    Agent(name="ada").load_state_dict(saved)
    with pytest.warns(UserWarning, match="'bob' reads what 'ada' said as words of a user") as warned:
        Agent(name="bob").load_state_dict(saved)
    assert [each.filename for each in warned] == [__file__]


@pytest.mark.parametrize(
    "said",
    [
        [Message(content="hi"), Message(content="2", sender="add", tool_call_id="1")],
        [Message(content="hi", sender="colleague")],
        [Message(content="hi", sender="colleague"), Message(content="Are you there?", sender="colleague")],
        [Message(content="hi", sender="colleague"), Message(content="hello", sender="bob")],
        [Message(content="hi"), Message(content="hello", sender="colleague", entity=Entity.LLM)],
    ],
)
def test_what_others_say_to_an_agent_is_not_warned_of(said: list[Message]):
    agent = Agent(name="bob")
    agent.load_state_dict({"memory": [each.model_dump() for each in said]})
    assert len(agent.memory.get_memory()) == len(said)


class Quoting(Agent):
    """An agent that gives another's answer."""

    def forward(self, *message: Message, **kwargs: Any) -> Any:
        return Message(content="quoted", sender="author")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sequential(Agent(ScriptedModel(["1", "2"]), name="p"), Agent(ScriptedModel(["3", "4"]), name="q")),
        lambda: ReAct(ScriptedModel([*['{"thought_process": "", "conclusion": "4"}'] * 2]), [add]),
        lambda: AgentForInternLM(ScriptedModel(["1", "2"]), [add]),
        lambda: Quoting(memory=True),
    ],
    ids=["Sequential", "ReAct", "AgentForInternLM", "its own forward"],
)
def test_a_module_that_reads_none_of_its_memory_is_not_warned_of(make: Callable[[], Module]):
    module, other = make(), make()
    module("hi")
    module("hi")
    other.load_state_dict(module.state_dict())
    assert other.state_dict() == module.state_dict()


@pytest.mark.parametrize("bad", [{"memory": 5}, {"memory": [{"contnet": 1}]}, {"memory": [3]}])
def test_what_is_no_state_leaves_everything_as_it_was(bad: Any):
    tree = Branch({}, True)
    tree("before")
    before = tree.state_dict()
    with pytest.raises((TypeError, ValueError)):
        tree.load_state_dict(bad)
    assert tree.state_dict() == before


def test_a_bad_entry_keeps_the_others_from_being_loaded():
    tree = Branch({"a": Branch({}, True)}, True)
    tree("before")
    before = tree.state_dict()
    with pytest.raises((TypeError, ValueError)):
        tree.load_state_dict({"memory": [{"content": "new"}], "a.memory": [{"contnet": 1}]})
    assert tree.state_dict() == before
