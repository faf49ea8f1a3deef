"""What a reader of the Lagent documents tried first, and what must come of it."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from trivium.actions import ActionExecutor, BaseAction
from trivium.agents import Agent, ChatAgent, ReAct, StreamingAgent
from trivium.agents.aggregator import DefaultAggregator, InternLMToolAggregator
from trivium.exceptions import ConfigurationError, ToolDefinitionError
from trivium.hooks import Hook
from trivium.llms import BaseLLM
from trivium.memory import Memory, MemoryManager
from trivium.module import Module
from trivium.prompts.parsers import ToolParser
from trivium.schema import ActionReturn, Message, ModelStatusCode, Usage
from trivium.testing import ScriptedModel, call_tool


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def retried(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


class Decorated(Agent):
    @retried
    def forward(self, *message: Message, session_id: Any = 0) -> Any:
        return f"{session_id}"


class Open(Agent):
    def forward(self, *message: Message, **kwargs: Any) -> Any:
        return f"{kwargs['session_id']}"


@pytest.mark.parametrize("kind", [Decorated, Open])
def test_any_forward_that_can_take_the_session_gets_it(kind: type[Agent]) -> None:
    assert kind()("x", session_id=5).content == "5"


def test_a_forward_may_hand_all_it_was_given_to_the_model() -> None:
    class Asks(Agent):
        def forward(self, *message: Message, **kwargs: Any) -> Any:
            return self.llm.chat("hi", **kwargs)

    model = ScriptedModel(["hello"])
    assert Asks(model)("x", session_id=5, top_k=1).content == "hello"
    assert model.requests[0].parameters == {"top_k": 1}
    assert model.requests[0].messages == [{"role": "user", "content": "hi"}]


class Tells(BaseLLM):
    def stream_chat(self, inputs: Any, session_id: Any = None, **gen_params: Any) -> Iterator[Any]:  # pyright: ignore[reportIncompatibleMethodOverride] # fmt: skip
        yield ModelStatusCode.END, f"{session_id}", None


def test_a_model_that_streams_is_told_the_session() -> None:
    assert [*StreamingAgent(Tells("tells"))("x", session_id=9)][-1].content == "9"


class Bold(BaseAction):
    """Make text bold."""

    def run(self, text: str, level: int | None = None) -> str:
        """
        Args:
            text: what to make bold.
        """
        return text


class Silent(BaseAction):
    def run(self, a, b):  # type: ignore[no-untyped-def] # pyright: ignore
        """Add.

        Args:
            a (int): one.
            b (float, optional): the other.
        """
        return a + b  # pyright: ignore


def test_a_class_says_what_its_method_does_not() -> None:
    assert Bold().description["description"] == "Make text bold."
    assert Bold().tools()[0].spec.description == "Make text bold."
    assert [each["type"] for each in Bold().description["parameters"]] == ["STRING", "NUMBER"]
    assert [each["type"] for each in Silent().description["parameters"]] == ["NUMBER", "FLOAT"]


def test_an_action_is_given_and_not_its_class() -> None:
    with pytest.raises(ToolDefinitionError, match="the class Bold is no tool: give"):
        ActionExecutor([Bold])
    executor = ActionExecutor()
    executor["B"] = {"type": Bold}  # type: ignore[assignment] # pyright: ignore
    assert executor.keys() == ["B"]


def test_an_agent_takes_its_parts_in_the_documented_order() -> None:
    parser = ToolParser("x")
    agent = Agent(ScriptedModel(["a"]), "s", {"type": Memory, "recent_n": 1}, parser, DefaultAggregator(), "me")
    assert (agent.template, agent.output_format, agent.name) == ("s", parser, "me")
    assert agent("hi").content == "a"


def test_one_sessions_memory_is_no_memory_of_an_agent() -> None:
    with pytest.raises(ConfigurationError, match="one session"):
        Agent(memory=Memory())  # type: ignore[arg-type] # pyright: ignore


def test_an_agent_under_two_names_has_both_keys() -> None:
    outer, inner = Agent(), Agent(ScriptedModel(["a"]))
    outer.a = outer.b = inner  # type: ignore[attr-defined] # pyright: ignore
    inner("hi")
    state = outer.state_dict()
    assert list(state) == ["memory", "a.memory", "b.memory"]
    assert state["a.memory"] == state["b.memory"]
    outer.reset(keypath="b")
    assert outer.state_dict()["a.memory"] == []


@pytest.mark.parametrize("given", [5, {"content": "x"}, [1, None, {}], object()])
def test_memory_leaves_out_what_is_no_message(given: Any) -> None:
    memory = Memory()
    with pytest.warns(
        UserWarning, match=r"keeps messages and texts, not \w+, which is left out: give Message\(content="
    ):
        memory.add(given)
    with pytest.warns(UserWarning, match="not int, which is left out"):
        memory.add(iter(["text", Message(content="m"), 3]))  # type: ignore[list-item] # pyright: ignore
    assert [message.content for message in memory.get_memory()] == ["text", "m"]


def test_a_manager_takes_a_config_too() -> None:
    manager = MemoryManager({"type": Memory, "recent_n": 1})
    manager.add(["a", "b"])
    assert [message.content for message in manager.get_memory()] == ["b"]


def test_a_message_has_its_names_and_no_others() -> None:
    message = Message(content="x")
    with pytest.raises(TypeError, match="contnet"):
        message.contnet = "y"  # type: ignore[attr-defined] # pyright: ignore
    message.content, message.extra_info = "y", {"note": 3}
    assert Message.model_validate(message.model_dump()) == message


def test_what_a_message_cost_is_saved_and_not_shown() -> None:
    message = Message(content="x", usage=Usage(1, 2))
    assert "usage" not in f"{message} {message!r}"
    assert Message.model_validate_json(message.model_dump_json()).usage == Usage(1, 2)


class Sees(DefaultAggregator):
    def aggregate_system_intruction(self, system_instruction: Any) -> list[dict[str, Any]]:
        return [{"role": "system", "content": "mine"}]


def test_the_documented_spelling_is_what_subclasses_override() -> None:
    model = ScriptedModel(["a"])
    Agent(model, "theirs", aggregator=Sees())("hi")
    assert model.requests[0].messages[0]["content"] == "mine"


def test_results_are_named_after_the_tool_of_the_answer_before() -> None:
    parser = ToolParser("code", begin="<", end=">")
    said = [("me", "a <b>"), ("executor", "1"), ("me", "done"), ("charter", "a chart")]
    memory = Memory.of([Message(content=text, sender=name) for name, text in said])
    for message in memory.get_memory():
        if message.sender == "me":
            message.formatted = parser.parse_response(message.content)
    shown = InternLMToolAggregator(user_names=["user"]).aggregate(memory, "me", parser)
    assert [entry.get("name") for entry in shown] == [None, "code", None, None]
    shots = [[{"role": "env", "content": "42"}]]
    assert InternLMToolAggregator("env", few_shot=shots).aggregate(None, "me")[0]["content"] == "42"


def test_a_hook_may_put_a_text_in_the_place_of_all() -> None:
    class Replaces(Hook):
        def before_agent(self, agent: Any, messages: list[Message], session_id: Any) -> str:
            return "instead"

    model = ScriptedModel(["a"])
    Agent(model, hooks=Replaces())("hi")
    assert model.requests[0].messages == [{"role": "user", "content": "instead"}]


def test_react_tells_its_steps() -> None:
    def double(number: int) -> int:
        return 2 * number

    call = '{"thought_process": "hm", "action": {"name": "double", "parameters": {"number": 4}}}'
    agent = ReAct(ScriptedModel([call, '{"thought_process": "so", "conclusion": "8"}']), double)
    agent("go")
    assert [(step["role"], step["content"]) for step in agent.get_steps()][1:] == [
        ("tool", {"name": "double", "parameters": {"number": 4}}), ("environment", "8"), ("thought", "so")
    ]  # fmt: skip
    assert agent.get_steps("other") == []


def test_an_awaited_call_has_the_type_of_an_answer() -> None:
    from trivium.agents import AsyncAgent

    async def main() -> str:
        answer = await AsyncAgent(ScriptedModel(["a"]))("hi")
        return str(answer.content)

    assert asyncio.run(main()) == "a"


def test_an_executor_given_as_tools_keeps_its_class_and_its_hooks():
    class Counting(ActionExecutor):
        """Counts the calls that it runs."""

        count = 0

        async def run(self, name: str, parameters: Any, *, is_counted: bool = False) -> ActionReturn:
            self.count += 1
            return await super().run(name, parameters, is_counted=is_counted)

    class Seeing(Hook):
        """Notes the calls that are made."""

        def before_action(self, executor: Module, message: Message, session_id: Any) -> None:
            seen.append(message.content.name)

    seen: list[str] = []
    executor = Counting([add], hooks=Seeing(), on_tool_error="raise")
    agent = Agent(ScriptedModel([call_tool("add", a=1, b=2), "3"]), tools=executor)
    assert agent("1 + 2?").content == "3"
    assert agent.executor is executor
    assert (executor.count, seen, agent.on_tool_error) == (1, ["add"], "raise")
    other = Agent(ScriptedModel([call_tool("add", a=1, b=2), "3"]))
    other.tools = executor
    assert other("1 + 2?").content == "3"
    assert (executor.count, other.executor) == (2, executor)
    assert Agent(ScriptedModel([]), tools=Counting([add]), on_tool_error="raise").on_tool_error == "raise"


def test_agents_that_share_an_executor_change_nothing_of_each_other():
    executor = ActionExecutor([add])
    ann, bob = (Agent(ScriptedModel(["ok"]), tools=executor, read_more=True) for _ in range(2))
    guest = Agent(ScriptedModel(["ok"]), tools=executor)
    strict = Agent(ScriptedModel(["ok"]), tools=executor, on_tool_error="raise")
    assert ann.executor.actions["read_more"] is not bob.executor.actions["read_more"]
    assert guest.executor is executor
    assert [*executor.actions] == ["add"]
    assert [each.on_tool_error for each in (strict, guest, ann)] == ["raise", "answer", "answer"]


@pytest.mark.parametrize(
    "setting", ["max_rounds", "repairs", "parameters", "parallel", "tools", "on_tool_error", "aggregator"]
)
def test_a_setting_in_a_class_body_that_would_count_for_nothing_is_refused(setting: str):
    with pytest.raises(ConfigurationError, match=f"Mine has {setting} in its class body, .*__init__.{setting}=…"):
        type("Mine", (Agent,), {setting: 3})


def test_a_class_body_may_set_properties_of_its_own():
    class Unit(Module):
        @property
        def unit(self) -> str:
            return "m"

        @unit.setter
        def unit(self, given: str) -> None: ...

    class Sub(Unit, Agent):
        unit = "km"  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

        @property
        def memory(self) -> MemoryManager | None:  # pyright: ignore[reportIncompatibleVariableOverride]
            return super().memory

    assert Sub().unit == "km"
    assert Sub().memory is not None


@pytest.mark.parametrize("kind", [Agent, ChatAgent])
def test_settings_in_a_class_body_that_count(kind: type[Agent]):
    class Mine(kind):
        name, description, template, output_format = "mine", "what it is for", "Be kind.", int
        memory = None  # pyright: ignore[reportAssignmentType]

    class Remembers(kind):
        memory = MemoryManager({"type": Memory})

    class RemembersAlone(kind):
        memory = True  # pyright: ignore[reportAssignmentType]

    agent = Mine(ScriptedModel(['{"value": 3}']))
    assert (agent.name, agent.description, agent.template, agent.memory) == ("mine", "what it is for", "Be kind.", None)
    assert agent("?").output == 3
    assert Remembers().memory is Remembers().memory
    assert RemembersAlone().memory is not RemembersAlone().memory
    assert Mine(memory=True).memory is not None
    assert kind().memory is not None


@pytest.mark.parametrize(
    ("given", "read"),
    [("hé".encode(), "hé"), (bytearray(b"hi"), "hi"), (b"\xff\xfe", "2 bytes"), (3, "3"), ({"a": "é"}, '{"a": "é"}')],
)
def test_whatever_an_agent_is_called_with_is_read_by_its_model_as_text(given: Any, read: str):
    model = ScriptedModel(["ok"])
    Agent(model)(given)
    assert model.requests[0].messages[-1]["content"] == read
