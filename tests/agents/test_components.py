"""The parts of an agent: given as objects or as configs, replaced by a user's own, parsers and aggregators."""

# Hooks have no public table: these tests compare the objects.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import copy
from collections.abc import Hashable
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commander._helpers import Entry, every_entry
from trivium import Agent, AgentConfig, Hook, Message
from trivium.agents.aggregator import DefaultAggregator, InternLMToolAggregator
from trivium.exceptions import ConfigurationError, UnknownRoleError, UnknownToolError
from trivium.llms import Request
from trivium.memory import Memory
from trivium.prompts import InterpreterParser, MixedToolParser, PluginParser, StrParser, ToolParser, ToolStatusCode
from trivium.testing import ScriptedModel, call_tool

CODE = ToolParser("code", "Write code.", begin="<<", end=">>")


class Prefix(Hook):
    def __init__(self, text: str) -> None:
        self.text = text

    def before_agent(self, agent: Any, messages: list[Message], session_id: Hashable) -> None:
        messages[0].content = self.text + messages[0].content


def chats(request: Request) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in request.messages]


def parsed(tool_type: str | None, thought: str, action: Any, status: int = 1) -> dict[str, Any]:
    return {"tool_type": tool_type, "thought": thought, "action": action, "status": status}


# ---- configs
@every_entry
def test_every_part_may_be_a_config(entry: Entry):
    agent = Agent(
        {"type": ScriptedModel, "answers": ["a<<1>>", "b"]},
        "Be kind.",
        memory={"type": "trivium.memory.Memory", "recent_n": 2},
        output_format={"type": ToolParser, "tool_type": "code", "begin": "<<", "end": ">>"},
        aggregator={"type": "trivium.agents.aggregator.InternLMToolAggregator", "environment_role": "user"},
        hooks=[{"type": Prefix, "text": "!"}, Prefix("?")],
    )
    assert entry(agent, "hi").formatted == parsed("code", "a", "1")
    entry(agent, "ho")
    model = cast("ScriptedModel", agent.llm)
    assert chats(model.requests[0]) == [("system", "Be kind."), ("user", "?!hi")]
    assert chats(model.requests[1]) == [("system", "Be kind."), ("assistant", "a<<1>>"), ("user", "?!ho")]


def test_one_hook_may_be_a_config_and_each_agent_gets_its_own():
    config = {"type": Prefix, "text": "!"}
    one, other = (Agent(ScriptedModel(["ok"]), hooks=config) for _ in "ab")
    one("hi")
    assert chats(one.llm.requests[0]) == [("user", "!hi")]  # type: ignore[union-attr]  # pyright: ignore
    assert one._hooks is not None
    assert other._hooks is not None
    assert next(iter(one._hooks.values())) is not next(iter(other._hooks.values()))


def test_an_agent_config_may_hold_the_config_of_its_model():
    agent = Agent(AgentConfig(llm={"type": ScriptedModel, "answers": ["ok"]}))
    assert agent("hi").content == "ok"


def test_each_session_has_a_memory_of_its_own():
    agent = Agent(ScriptedModel(["ok"]), memory={"type": Memory, "recent_n": 1})
    agent("a", session_id=1)
    agent("b", session_id=2)
    assert agent.memory is not None
    assert agent.memory.get(1) is not agent.memory.get(2)
    assert [message.content for message in agent.memory.get_memory(2, recent_n=0)] == ["b", "ok"]


@pytest.mark.parametrize("memory", [None, False])
def test_an_agent_without_memory_answers_what_it_is_told(memory: Any):
    agent = Agent(ScriptedModel(["ok"]), memory=memory)
    assert agent("hi").content == "ok"
    assert (agent.memory, agent.state_dict()) == (None, {})


@pytest.mark.parametrize("part", ["llm", "memory", "output_format", "aggregator", "hooks"])
def test_a_config_without_type_is_told_where_the_agent_is_made(part: str):
    given: Any = {part: {"recent_n": 1}}
    with pytest.raises(ConfigurationError, match="'type'"):
        Agent(**given)


# ---- a forward of one's own
@every_entry
def test_a_forward_may_ask_its_model_itself(entry: Entry):
    class Chatty:
        def chat(self, messages: list[dict[str, Any]], **kwargs: Any) -> str:
            return f"{len(messages)} messages, {kwargs}"

    class Own(Agent):
        def forward(self, *message: Message, session_id: Hashable = 0, **kwargs: Any) -> Any:
            assert self.memory is not None
            messages = self.aggregator.aggregate(
                self.memory.get(session_id), self.name, self.output_format, self.template
            )
            answer = self.llm.chat(messages, **kwargs)  # type: ignore[union-attr]  # pyright: ignore
            return Message(sender=self.name, content=answer, formatted=self.output_format.parse_response(answer))

    own = Own({"type": Chatty}, "Be kind.", output_format=StrParser())
    answer = entry(own, "a", session_id="s", stop_words=["x"])
    assert (answer.content, answer.formatted) == ("2 messages, {'stop_words': ['x']}",) * 2
    assert entry(own, "b", session_id="s").content == "4 messages, {}"


class FewShot(DefaultAggregator):
    """Does not call the constructor of its base, and uses the documented spelling."""

    def __init__(self, few_shot: list[dict[str, Any]]) -> None:
        self.few_shot = few_shot

    def aggregate(
        self, messages: Any, name: str, parser: Any = None, system_instruction: Any = None
    ) -> list[dict[str, Any]]:
        found = self.aggregate_system_intruction(system_instruction) if system_instruction else []
        found.extend(self.few_shot)
        for message in messages.get_memory():
            self.append(found, message, name)
        return found


def test_an_aggregator_of_ones_own_shows_examples_that_stay_as_they_are():
    model = ScriptedModel(["ok"])
    shots = [{"role": "assistant", "content": "sunny"}, {"role": "user", "content": "and "}]
    before = copy.deepcopy(shots)
    agent = Agent(model, "Weather.", aggregator=FewShot(shots))
    agent("tomorrow?")
    agent()
    assert chats(model.requests[0]) == [("system", "Weather."), ("assistant", "sunny"), ("user", "and \n\ntomorrow?")]
    assert shots == before


def test_a_first_call_without_a_message_is_aggregated_too():
    assert Agent(ScriptedModel(["ok"]), "Begin.", aggregator=FewShot([]))().content == "ok"


# ---- tools in the text
def memory(*messages: Message) -> Memory:
    return Memory.of(messages)


def said(content: Any, formatted: Any = None, sender: str = "me") -> Message:
    return Message(content=content, sender=sender, formatted=formatted)


def test_a_conversation_with_tools_in_the_text():
    found = InternLMToolAggregator(environment_begin="[", environment_end="]").aggregate(
        memory(
            said("2?", sender="user"),
            said("whatever", parsed("code", "Hm. ", "1 + 1")),
            said("2", sender="ActionExecutor"),
            said("broken", parsed("code", "x", "y", ToolStatusCode.PARSING_ERROR)),
            said("2.", parsed(None, "It is 2.", None, 0)),
        ),
        "me",
        CODE,
        "Be brief.",
    )
    assert found == [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Write code.", "name": "code"},
        {"role": "user", "content": "2?"},
        {"role": "assistant", "content": "Hm. <<1 + 1>>"},
        {"role": "environment", "content": "[2]", "name": "code"},
        {"role": "assistant", "content": "It is 2."},
    ]


def test_roles_and_users_may_be_named():
    found = InternLMToolAggregator("system", user_names=["Ada", "user"]).aggregate(
        memory(said("a", sender="Ada"), said("b", sender="user"), said("c", sender="x"), said("d")), "me"
    )
    assert [(message["role"], message["content"]) for message in found] == [
        ("user", "a\n\nb"), ("system", "c"), ("assistant", "d"),
    ]  # fmt: skip
    assert "name" not in found[1]


def test_the_instructions_of_several_parsers_and_of_none():
    several = MixedToolParser(parsers=[PluginParser(template="Plug."), InterpreterParser(template="Code.")])
    assert [entry["name"] for entry in InternLMToolAggregator().aggregate(None, "me", several)] == [
        "plugin", "interpreter",
    ]  # fmt: skip
    assert InternLMToolAggregator().aggregate(None, "me", ToolParser("code")) == []
    assert InternLMToolAggregator().aggregate(None, "me", object()) == []


def test_what_was_parsed_is_shown_as_it_was_said_where_nothing_can_write_it():
    assert InternLMToolAggregator().aggregate(memory(said("raw", parsed("code", "a", "b"))), "me") == [
        {"role": "assistant", "content": "raw"}
    ]


SHOT = [
    {"role": "user", "content": "1 + 1?"},
    {"role": "thought", "content": "Let me see. "},
    {"role": "tool", "content": "1 + 1", "name": "code"},
    {"role": "environment", "content": "2"},
    {"role": "language", "content": "It is 2."},
]
SHOWN = [
    {"role": "user", "content": "1 + 1?"},
    {"role": "assistant", "content": "Let me see. <<1 + 1>>"},
    {"role": "environment", "content": "[2]", "name": "code"},
    {"role": "assistant", "content": "It is 2."},
]


@pytest.mark.parametrize("few_shot", [SHOT, [SHOT]])
def test_examples_are_shown_as_the_parser_writes_them_and_stay_as_they_are(few_shot: Any):
    before = copy.deepcopy(few_shot)
    model = ScriptedModel(["ok"])
    shown = InternLMToolAggregator(environment_begin="[", environment_end="]", few_shot=few_shot)
    agent = Agent(model, output_format=CODE, aggregator=shown)
    agent("2 + 2?")
    agent("3 + 3?")
    for request in model.requests:
        assert list(request.messages)[1:5] == SHOWN
    assert few_shot == before
    assert InternLMToolAggregator(few_shot=[[*SHOT], [*SHOT]]).aggregate(None, "me", CODE)[5:] != []


def test_an_example_may_have_tools_without_a_parser_and_thoughts_without_tools():
    shots = [{"role": "thought", "content": "a"}, {"role": "thought", "content": "b"}, {"role": "tool", "content": "c"}]
    found = InternLMToolAggregator(few_shot=shots).aggregate(None, "me")
    assert [(entry["role"], entry["content"]) for entry in found] == [("assistant", "a"), ("assistant", "bc")]


def test_an_example_of_an_unknown_role_is_told():
    with pytest.raises(UnknownRoleError, match="'robot'") as error:
        InternLMToolAggregator(few_shot=[{"role": "robot", "content": ""}]).aggregate(None, "me")
    assert isinstance(error.value, KeyError)
    assert error.value.role == "robot"


def test_an_example_with_a_call_that_the_parser_does_not_write_is_told():
    shots = [{"role": "thought", "content": ""}, {"role": "tool", "content": "{}", "name": "plugin"}]
    for parser in (CODE, MixedToolParser(parsers=[CODE])):
        with pytest.raises(UnknownToolError, match="'plugin'") as error:
            InternLMToolAggregator(few_shot=shots).aggregate(None, "me", parser)
        assert isinstance(error.value, KeyError)


def test_native_calls_are_shown_as_such():
    def add(a: int, b: int) -> int:
        return a + b

    model = ScriptedModel([call_tool("add", a=1, b=2), "3", "bye"])
    agent = Agent(model, tools=[add], output_format=CODE, aggregator=InternLMToolAggregator())
    agent("1 + 2?")
    agent("thanks")
    roles = [message["role"] for message in model.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


def histories() -> st.SearchStrategy[list[Message]]:
    text = st.text(max_size=4)
    formatted = st.none() | st.builds(parsed, st.none() | st.just("code"), text, st.none() | text, st.integers(-1, 1))
    senders = st.sampled_from(["me", "user", "executor"])
    return st.lists(st.builds(said, text, formatted, senders), max_size=8)


@given(histories())
def test_every_history_can_be_aggregated_and_stays_as_it_is(history: list[Message]):
    before = copy.deepcopy(history)
    found = InternLMToolAggregator().aggregate(Memory.of(history), "me", CODE)
    assert all(isinstance(entry["content"], str) for entry in found)
    assert ("user", "user") not in pairwise([entry["role"] for entry in found])
    assert history == before
