"""The sentences of the list of facts on Lagent, each by itself: messages, agents, memories, hooks, containers."""

from __future__ import annotations

import asyncio
import inspect
import json
import warnings
from collections import UserDict, UserList
from enum import IntEnum
from functools import partial
from typing import Any, cast

import pytest

from trivium.actions import ActionExecutor, BaseAction
from trivium.agents import (
    Agent,
    AgentDict,
    AgentList,
    AsyncAgent,
    AsyncSequential,
    AsyncStreamingAgent,
    AsyncStreamingSequential,
    Sequential,
    StreamingAgent,
    StreamingSequential,
)
from trivium.agents.aggregator import DefaultAggregator
from trivium.exceptions import ConfigurationError
from trivium.hooks import Hook, RemovableHandle
from trivium.llms import AsyncBaseLLM, BaseLLM
from trivium.memory import Memory, MemoryManager
from trivium.schema import (
    ActionReturn,
    ActionStatusCode,
    ActionValidCode,
    AgentMessage,
    AgentStatusCode,
    FunctionCall,
    ModelStatusCode,
)
from trivium.testing import ScriptedModel
from trivium.utils import create_object

from ._sentences import says

A2 = partial(says, "lagent A2")
Kind = type[IntEnum]


class Echo(BaseLLM):
    """A user's model: what it was told, and its answers."""

    def __init__(self, *answers: str, **options: Any) -> None:
        super().__init__("echo", **options)
        self.answers, self.seen = list(answers), list[Any]()

    def generate(self, inputs: Any, **gen_params: Any) -> str:
        self.seen.append((inputs, gen_params))
        return self.answers.pop(0) if self.answers else "ok"


class Says(Agent):
    """An agent whose `forward` gives its text, and notes what it is given."""

    def __init__(self, text: Any = "fine", **options: Any) -> None:
        self.text, self.given = text, list[Any]()
        super().__init__(**options)

    def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
        self.given.append((message, session_id, kwargs))
        if isinstance(self.text, Exception):
            raise self.text
        return self.text


def texts(agent: Any, session_id: Any = 0) -> list[Any]:
    return [each.content for each in agent.memory.get_memory(session_id)]


# ---- messages
@A2("1.1 1.3 1.4")
def test_a_message_has_seven_fields_and_its_state_stays_an_agents():
    message = AgentMessage(content="x")
    assert (message.sender, message.formatted, message.extra_info, message.type, message.receiver) == (
        "user",
        *[None] * 4,
    )
    assert list(AgentMessage.model_fields) == [
        "content", "sender", "formatted", "extra_info", "type", "receiver", "stream_state",
    ]  # fmt: skip
    read = AgentMessage.model_validate_json(message.model_dump_json())
    assert read.stream_state is message.stream_state is AgentStatusCode.END
    assert repr(read) == repr(message)
    assert AgentMessage(content="x", stream_state=ModelStatusCode.STREAM_ING).stream_state is ModelStatusCode.STREAM_ING


@A2("1.2", differs="`AgentMessage()` has the content None")
def test_a_message_may_be_made_without_a_content():
    assert AgentMessage().content is None


@A2("2.1 2.2 2.3 2.4 2.5")
@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        (ActionStatusCode, "ING 1 SUCCESS 0 HTTP_ERROR -1000 ARGS_ERROR -1001 API_ERROR -1002"),
        (ActionValidCode, "FINISH 1 OPEN 0 CLOSED -1 INVALID -2 ABSENT -3"),
        (ModelStatusCode, "END 0 STREAM_ING 1 SERVER_ERR -1 SESSION_CLOSED -2 SESSION_OUT_OF_LIMIT -3 "
         "SESSION_INVALID_ARG -4 SESSION_READY 2"),
        (AgentStatusCode, "END 0 STREAM_ING 1 SERVER_ERR -1 SESSION_CLOSED -2 SESSION_OUT_OF_LIMIT -3 "
         "SESSION_INVALID_ARG -4 SESSION_READY 2 PLUGIN_START 3 PLUGIN_END 4 PLUGIN_RETURN 5 CODING 6 CODE_END 7 "
         "CODE_RETURN 8"),
    ],
)  # fmt: skip
def test_the_states_have_their_numbers(kind: Kind, numbers: str):
    words = numbers.split()
    assert {each.name: int(each) for each in kind} == dict(zip(words[::2], map(int, words[1::2]), strict=True))
    assert json.dumps(list(kind)) == str([int(each) for each in kind])


@A2("3.1 3.2 3.3")
def test_a_return_and_its_text():
    found = ActionReturn()
    assert (found.args, found.url, found.type, found.result, found.errmsg, found.thought) == (None,) * 6
    assert found.valid is ActionValidCode.OPEN
    assert found.format_result() == ""
    found.result = [{"type": "text", "content": "see"}, {"type": "image", "content": "a.png"}]
    assert found.format_result() == "see\n[image](a.png)"


class Add(BaseAction):
    def run(self, a: int, b: int = 1) -> int:
        """Add numbers.

        Args:
            a (int): one
            b (int): the other
        """
        return a + b


@A2("4.1")
@pytest.mark.parametrize("call", [FunctionCall("Add", {"a": 1}), {"name": "Add", "parameters": {"a": 1}}])
def test_a_call_is_a_content(call: Any):
    assert ActionExecutor([Add()])(AgentMessage(content=call)).content.format_result() == "2"


# ---- agents and their parts
@A2("5.1")
def test_the_arguments_of_an_agent_by_place():
    agent = Agent(Echo(), "be kind", {"type": Memory}, None, {"type": DefaultAggregator}, "ada", "helps", [Hook()])
    assert (agent.name, agent.description, agent.template) == ("ada", "helps", "be kind")
    assert list(inspect.signature(Agent.__init__).parameters)[1:9] == [
        "llm", "template", "memory", "output_format", "aggregator", "name", "description", "hooks",
    ]  # fmt: skip
    assert isinstance(Agent(Echo()).aggregator, DefaultAggregator)
    assert Agent(Echo(), memory=None).memory in (None, False)


@A2("6.1 6.2 6.3 6.4 6.5")
def test_what_is_made_of_a_config():
    assert create_object({"type": Memory, "recent_n": 3}).recent_n == 3
    assert create_object({"type": "trivium.memory.Memory", "recent_n": 2}).recent_n == 2
    assert create_object(3) == 3
    assert create_object(None) is None
    with pytest.raises(ConfigurationError):
        create_object({"recent_n": 3})
    made = create_object({"type": max, "key": abs})
    assert isinstance(made, partial)
    assert made([1, -3]) == -3
    agent = Agent({"type": Echo}, memory={"type": Memory, "recent_n": 1}, aggregator={"type": DefaultAggregator})  # type: ignore[arg-type] # pyright: ignore
    assert agent("hi").content == "ok"


@A2("7.1 7.2 7.3 7.4 7.5")
def test_memories_by_session():
    manager = MemoryManager({"type": Memory})
    assert (dict(manager.memory_map), manager.get("s")) == ({}, None)
    assert dict(manager.memory_map) == {}
    for session in (0, "s", ("a", 1)):
        manager.add("x", session_id=session)
        assert [each.content for each in manager.get_memory(session)] == ["x"]
    assert isinstance(manager.get(0), Memory)
    with pytest.raises(KeyError):
        manager.get_memory("unknown")
    manager.reset("s")
    manager.reset("s")
    assert "s" not in manager.memory_map


@A2("8.1 8.2 8.3 8.4 8.5")
def test_one_memory():
    memory = Memory(recent_n=2)
    for each in ("a", [AgentMessage(content="b"), AgentMessage(content="c")], None):
        memory.add(each)
    with pytest.warns(UserWarning, match="not int, which is left out"):
        memory.add(5)  # type: ignore[arg-type] # pyright: ignore
    assert [each.content for each in memory.get_memory()] == ["b", "c"]
    assert [each.content for each in memory.get_memory(recent_n=1)] == ["c"]
    assert [(each.content) for each in memory.get_memory(filter_func=lambda at, message: at == 0)] == ["b"]
    saved = memory.save()
    assert [each["content"] for each in saved] == ["a", "b", "c"]
    memory.delete([0, 1])
    memory.load({"content": "d"}, overwrite=False)
    assert [each["content"] for each in memory.save()] == ["c", "d"]
    memory.delete(0)
    memory.load(saved)
    assert memory.save() == saved
    for wrong in (3, "text"):
        with pytest.raises(TypeError):
            memory.load(wrong)  # type: ignore[arg-type] # pyright: ignore


@A2("9.1 9.2")
def test_templates():
    as_dict = {"role": "system", "content": "be kind"}
    for template in ("be kind", as_dict, [as_dict]):
        model = ScriptedModel(["ok"])
        Agent(model, cast("Any", template))("hi")
        assert model.requests[0].messages[0] == as_dict
    for wrong, error in (([3], TypeError), ([{"role": "system"}], KeyError)):
        with pytest.raises(error):
            Agent(ScriptedModel(["ok"]), cast("Any", wrong))("hi")


@A2("10.1 11.1")
def test_several_messages_and_what_a_forward_gives():
    agent = Says()
    first, second = AgentMessage(content="a"), AgentMessage(content="b")
    answer = agent(first, second)
    assert (answer.content, answer.sender) == ("fine", "Says")
    assert [each.content for each in agent.given[0][0]] == ["a", "b"]
    assert texts(agent) == ["a", "b", "fine"]
    assert Says(AgentMessage(content="own", sender="me"))("x").sender == "me"


class Notes(Hook):
    def __init__(self, log: list[Any], name: str = "", replaced: Any = None) -> None:
        self.log, self.name, self.replaced = log, name, replaced

    def before_agent(self, agent: Any, messages: Any, session_id: Any) -> Any:
        self.log.append(("before", self.name, type(messages).__name__, session_id))
        messages[0].content += "+"
        return self.replaced

    def after_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
        self.log.append(("after", self.name, message.content, session_id))
        message.content += "!"

    def before_action(self, executor: Any, message: Any, session_id: Any) -> Any:
        self.log.append(("before action", type(executor).__name__, session_id))

    def after_action(self, executor: Any, message: Any, session_id: Any) -> Any:
        self.log.append(("after action", type(message.content).__name__, session_id))


@A2("12.1 12.2 12.4 12.6")
def test_hooks_in_their_order():
    log: list[Any] = []
    agent, given = Says(hooks=[Notes(log, "a"), Notes(log, "b")]), AgentMessage(content="x")
    assert agent(given, session_id=7).content == "fine!!"
    assert log == [
        ("before", "a", "list", 7), ("before", "b", "list", 7), ("after", "a", "fine", 7), ("after", "b", "fine!", 7),
    ]  # fmt: skip
    assert (given.content, texts(agent, 7)) == ("x", ["x++", "fine"])
    log.clear()
    ActionExecutor([Add()], hooks=[Notes(log)])(AgentMessage(content=FunctionCall("Add", {"a": 1})), session_id=7)
    assert log == [("before action", "ActionExecutor", 7), ("after action", "ActionReturn", 7)]


@A2("12.3 12.5")
@pytest.mark.parametrize("kind", [list, tuple])
def test_what_a_hook_returns_replaces(kind: Any):
    agent = Says(hooks=[Notes([], replaced=kind([AgentMessage(content="other")]))])
    agent("x")
    assert texts(agent) == ["other", "fine"]


@A2("12.7 12.8")
def test_what_is_remembered_of_a_failure():
    class Refuses(Hook):
        def before_agent(self, agent: Any, messages: Any, session_id: Any) -> Any:
            raise LookupError

    agent = Says(hooks=[Refuses()])
    with pytest.raises(LookupError):
        agent("x")
    assert agent.memory.get(0) is None
    failing = Says(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        failing("x")
    assert texts(failing) == ["x"]


@A2("12.9")
def test_a_hook_is_taken_away():
    agent = Says()
    handle = agent.register_hook(Notes([]))
    assert isinstance(handle, RemovableHandle)
    assert isinstance(handle.id, int)
    assert agent("x").content == "fine!"
    handle.remove()
    assert agent("x").content == "fine"


@A2("12.10 12.11", differs="| async hooks |")
def test_async_hooks_are_awaited_everywhere():
    class Later(Hook):
        async def after_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
            await asyncio.sleep(0)
            message.content += "!"

    agent = AsyncAgent(ScriptedModel(["hi"]), hooks=[Later()])
    assert asyncio.run(cast("Any", agent("x"))).content == "hi!"


class Outer(Agent):
    def __init__(self) -> None:
        super().__init__()
        self.first = Agent(Echo(), name="first")
        self.team = AgentList([Agent(Echo(), name="x")])
        self.d = AgentDict({"key": Agent(Echo(), name="y")})
        self.executor = ActionExecutor([Add()])

    def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
        return self.first(*message, session_id=session_id)


@A2("13.1 13.2 13.4 14.2 14.3")
def test_the_state_of_a_tree():
    outer = Outer()
    outer("hi", session_id="s")
    state = outer.state_dict("s")
    assert list(state) == ["memory", "first.memory", "team.0.memory", "d.key.memory"]
    assert list(Sequential(Agent(Echo()), memory=None).state_dict()) == ["0.memory"]
    other = Outer()
    other.load_state_dict(json.loads(json.dumps(state)), session_id=9)
    assert other.state_dict(9) == state
    assert texts(other.first, 9) == ["hi", "ok"]


@A2("13.3", differs="is empty lists, without a warning")
def test_the_state_of_an_unknown_session():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Agent(Echo()).state_dict("unknown") == {"memory": []}


@A2("14.1")
def test_a_state_of_another_shape():
    agent = Says()
    agent("x")
    with pytest.raises(KeyError):
        agent.load_state_dict({})
    assert texts(agent) == ["x", "fine"]
    with pytest.warns(UserWarning, match="more than this module"):
        agent.load_state_dict({"memory": [], "other": []})


@A2("15.1 15.2")
def test_resets():
    outer = Outer()
    outer("hi")
    with pytest.raises(AssertionError):
        outer.reset(keypath="first", recursive=True)
    for wrong in ("zz", "team.9"):
        with pytest.raises(KeyError):
            outer.reset(keypath=wrong)
    outer.reset(keypath="first")
    assert (outer.first.memory.get(0), len(texts(outer))) == (None, 2)
    outer.reset(recursive=True)
    assert outer.memory.get(0) is None


@A2("16.1 16.2")
def test_a_tree_is_shown():
    lines = repr(Outer()).splitlines()
    assert lines[:3] == ["Outer(name='Outer')(", "  (first): Agent(name='first')", "  (team): AgentList("]


# ---- async, streams, containers
@A2("17.1 17.2")
def test_an_async_agent_tells_its_model_the_session():
    class Chats(AsyncBaseLLM):
        async def chat(self, inputs: Any, session_ids: Any = None, **gen_params: Any) -> Any:
            return f"session {session_ids}"

    assert asyncio.run(cast("Any", AsyncAgent(Chats("m"))("x", session_id=4))).content == "session 4"


class Grows(BaseLLM):
    def stream_chat(self, inputs: Any, session_id: Any = 0, **gen_params: Any) -> Any:
        for text in ("a", "ab"):
            yield ModelStatusCode.STREAM_ING, text, None
        yield ModelStatusCode.END, f"abc{session_id}{gen_params}", None


class Exclaims(Hook):
    def after_agent(self, agent: Any, message: Any, session_id: Any) -> Any:
        message.content += "!"


async def listed(stream: Any) -> list[Any]:
    return [each async for each in stream]


@A2("18.1 18.2 18.3 18.6")
@pytest.mark.parametrize("kind", [StreamingAgent, AsyncStreamingAgent])
def test_streams_grow_and_end_twice(kind: Any):
    agent = kind(Grows("g"), hooks=[Exclaims()])
    stream = agent("x", session_id=3, top_k=1)
    found = list(stream) if kind is StreamingAgent else asyncio.run(listed(stream))
    last = "abc3{'top_k': 1}"
    assert [each.content for each in found if each.stream_state == ModelStatusCode.STREAM_ING] == ["a", "ab", last]
    assert [each.content for each in found if each.stream_state is AgentStatusCode.END] == [last, f"{last}!"]
    assert texts(agent, 3) == ["x", last]


@A2("18.4 18.5")
def test_a_forward_of_states_and_texts_and_parts_that_are_parsed():
    class Own(StreamingAgent):
        def forward(self, *message: Any, session_id: Any = 0, **kwargs: Any) -> Any:
            yield ModelStatusCode.STREAM_ING, "a"
            yield ModelStatusCode.END, "ab", "more"

    assert [each.content for each in cast("Any", Own())("x")][-1] == "ab"

    class Upper:
        def format_instruction(self) -> str:
            return ""

        def parse_response(self, text: str) -> str:
            return text.upper()

    found = list(cast("Any", StreamingAgent(Grows("g"), output_format=cast("Any", Upper())))("x"))
    assert [each.formatted for each in found][:2] == ["A", "AB"]


def says_kinds(*names: str) -> list[Any]:
    return [Says(name, name=name) for name in names]


@A2("19.1 19.4 19.5")
def test_sequences():
    a, b = says_kinds("a", "b")
    made: list[Any] = [
        Sequential(a, b),
        Sequential([a, b]),
        Sequential({"x": a, "y": b}),
        Sequential([("x", a), ("y", b)]),
    ]
    for each in made:
        assert (each("hi").content, len(each), each[0].name, each[-1].name) == ("b", 2, "a", "b")
    assert (made[2]["y"], made[3]["x"]) == (b, a)
    with pytest.raises(ValueError, match="at least one"):
        Sequential()


@A2("19.2 19.3 19.6")
def test_an_exit_of_a_sequence_cycles_and_keywords_go_to_all():
    a, b = says_kinds("a", "b")
    cast("Any", Sequential(a, b))("hi", exit_at=2, foo=1)
    assert (len(a.given), len(b.given)) == (2, 1)
    assert all(kwargs == {"foo": 1} for _, _, kwargs in (*a.given, *b.given))
    assert asyncio.run(cast("Any", AsyncSequential(a, b)("hi"))).content == "b"
    for kind in (StreamingSequential, AsyncStreamingSequential):
        inner = StreamingAgent if kind is StreamingSequential else AsyncStreamingAgent
        stream = cast("Any", kind(inner(Grows("g"), name="a"), inner(Grows("g"), name="b")))("hi")
        found = list(stream) if kind is StreamingSequential else asyncio.run(listed(stream))
        assert {each.sender for each in found} == {"a", "b"}


@A2("20.1 20.2 20.3")
def test_lists_and_dicts_of_agents():
    a, b, c = says_kinds("a", "b", "c")
    many, named = AgentList([a]), AgentDict({"a": a})
    assert isinstance(many, UserList)
    assert isinstance(named, UserDict)
    assert isinstance(many, Agent)
    many.append(b)
    named["b"] = b
    for change in (lambda: many.append(3), lambda: many.extend([3]), lambda: named.update(x=3)):  # type: ignore[arg-type, list-item]
        with pytest.raises(TypeError):
            cast("Any", change)()
    for key in (3, "x.y"):
        with pytest.raises(KeyError):
            named[cast("Any", key)] = c
    assert ([*many], [*named]) == ([a, b], ["a", "b"])
    del many[0]
    assert list(many.state_dict()) == ["0.memory"]
