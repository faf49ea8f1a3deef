"""The usage of an answer is that of the whole call: its rounds, its tools, the agents below."""

from __future__ import annotations

import asyncio

from trivium import Agent, ChatAgent, Task
from trivium.schema import Usage
from trivium.testing import ScriptedModel, call_tool


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_the_rounds_of_a_call_are_summed_and_each_message_keeps_its_own():
    model = ScriptedModel([[call_tool("add", a=1, b=2), Usage(10, 1)], ["three", Usage(20, 2)]])
    agent = Agent(model, tools=[add])
    assert agent("1 + 2?").usage == Usage(30, 3)
    memory = agent.memory.get(0)
    assert memory is not None
    assert [message.usage for message in memory.messages if message.usage] == [Usage(10, 1), Usage(20, 2)]
    assert agent.total_llm_token_usage == 33


def test_agents_below_count():
    helper = Agent(ScriptedModel([["4", Usage(5, 5)]]), name="helper", description="Calculates.")
    model = ScriptedModel([[call_tool("helper", message="2 + 2?"), Usage(1, 1)], ["It is 4.", Usage(2, 2)]])
    answer = Agent(model, tools=[helper])("2 + 2?")
    assert (answer.content, answer.usage) == ("It is 4.", Usage(8, 8))


def test_branches_at_once_count():
    helpers = [Agent(ScriptedModel([["x", Usage(1, 0)]]), name=f"helper{n}", description="Helps.") for n in range(8)]
    calls = [call_tool(each.name, at, message="?") for at, each in enumerate(helpers)]
    model = ScriptedModel([[*calls, Usage(100, 0)], ["done", Usage(1000, 0)]])
    answer = asyncio.run(Agent(model, tools=helpers, parallel=True).acall("go"))
    assert answer.usage == Usage(1108, 0)


def test_the_result_of_a_task_has_the_usage_of_its_run():
    chat = ChatAgent(ScriptedModel([["DONE 42", Usage(7, 3)]]))
    result = Task(chat, interactive=False).run("6 * 7?")
    assert result is not None
    assert result.usage == Usage(7, 3)
