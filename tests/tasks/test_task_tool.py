"""A model that gives a task to an agent of its own making."""

# The task that the tool sets up is inspected before it runs.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from commander._helpers import Entry, every_entry
from trivium import ChatAgent, ChatAgentConfig, Limits, Message, Task, ToolMessage
from trivium.actions import DoneTool
from trivium.exceptions import ToolArgumentsError
from trivium.language_models import MockLMConfig
from trivium.tasks._task_tool import TaskTool
from trivium.testing import ScriptedModel, call_tool


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


class Secret(ToolMessage):
    request: str = "secret"
    purpose: str = "For programs."
    _allow_llm_use = False


def agent(*answers: Any) -> ChatAgent:
    made = ChatAgent(ScriptedModel(answers), name="boss")
    made.enable_message([TaskTool, Square, Secret])
    return made


def tool(**values: Any) -> TaskTool:
    return TaskTool.parse({"system_message": "You square.", "prompt": "3?", "tools": ["ALL"], **values})


GIVEN = call_tool("task_tool", system_message="You square.", prompt="Square 3.", tools=["square"], agent_name="Sub 1!")


@pytest.mark.shows("TaskTool", "TaskTool.handle(agent)", "TaskTool.handle_async(agent)", "TaskTool.agent_name",
                   "TaskTool.tools", "TaskTool.prompt", "TaskTool.system_message")  # fmt: skip
@every_entry
def test_a_model_gives_a_task_to_an_agent_with_tools(entry: Entry):
    boss = agent(GIVEN, call_tool("square", number=3), call_tool("done_tool", content="nine"), "DONE it is nine")
    result = entry(Task(boss, interactive=False), "go")
    assert result.content == "it is nine"
    requests = boss.llm.requests
    system, user = requests[1].messages
    assert system["content"].startswith("You square.\n\nWhen you are done, call `done_tool`")
    assert user["content"] == "Square 3."
    assert [spec.name for spec in requests[1].tools] == ["square", "done_tool"]
    assert requests[2].messages[-1]["content"] == "9"
    assert requests[3].messages[-1]["content"] == "nine", "the asking model reads the result"


@pytest.mark.shows("TaskTool.handle_async(agent)", "TaskTool.handle(agent)")
def test_a_program_runs_it_in_either_form():
    made = [agent(call_tool("done_tool", content="nine")) for _ in range(2)]
    answers = tool().handle(made[0]), asyncio.run(tool().handle_async(made[1]))
    assert [each.content for each in answers] == ["nine", "nine"]


@pytest.mark.parametrize(
    ("tools", "names"),
    [(["ALL"], ["square", "done_tool"]), (["NONE"], ["done_tool"]), (["square"], ["square", "done_tool"]),
     (["square", "task_tool"], ["square", "task_tool", "done_tool"]), ([], ["done_tool"])],
)  # fmt: skip
def test_it_gets_the_tools_that_were_named(tools: list[str], names: list[str]):
    made = tool(tools=tools).set_up_task(agent())
    assert list(made.agent.llm_tools_usable) == names


@pytest.mark.parametrize("name", ["secret", "nobody"])
def test_it_gets_no_tool_that_no_model_may_use(name: str):
    with pytest.raises(ToolArgumentsError, match=f"no tool '{name}' for an agent; there are task_tool, square"):
        tool(tools=[name]).set_up_task(agent())


@pytest.mark.shows("TaskTool.model", "TaskTool.max_iterations", "TaskTool.request", "TaskTool.purpose")
def test_what_is_left_out_has_a_default():
    asked = tool()
    assert (asked.model, asked.max_iterations, asked.agent_name, asked.request) == (None, None, None, "task_tool")
    assert TaskTool.spec().parameters["required"] == ["prompt", "system_message", "tools"]
    boss = agent()
    made = asked.set_up_task(boss)
    assert made.agent.llm is boss.llm
    assert made.name.startswith("agent-")
    assert made.name != asked.set_up_task(boss).name
    assert tool(agent_name="Ada Löwe").set_up_task(boss).name == "Ada-L-we"
    assert tool(model="openai:small").set_up_task(boss).agent.llm == "openai:small"
    with pytest.raises(ToolArgumentsError, match="max_iterations"):
        tool(max_iterations=0)


def test_it_ends_after_so_many_turns():
    boss = agent(call_tool("square", number=3))
    assert tool(max_iterations=3).handle(boss) is not None
    assert len(boss.llm.requests) == 2


def test_a_model_that_calls_no_tool_is_told_to():
    boss = agent("I think so.", call_tool("done_tool", content="nine"))
    assert tool().handle(boss).content == "nine"
    assert "You called no tool" in boss.llm.requests[1].messages[-1]["content"]


def test_a_call_in_the_prompt_runs_nowhere():
    boss = agent(call_tool("done_tool", content="no"))
    result = tool(prompt='{"request": "square", "number": 3}').handle(boss, Message(content="x"))
    assert result.content == "no"


def test_the_limits_of_the_run_hold_below():
    boss = agent(GIVEN, call_tool("square", number=3))
    result = Task(boss, interactive=False)("go", limits=Limits(turns=4))
    assert result.status is not None
    assert len(boss.llm.requests) == 4


def test_the_done_tool_is_added_once():
    boss = agent()
    boss.enable_message(DoneTool)
    assert list(tool().set_up_task(boss).agent.llm_tools_usable).count("done_tool") == 1


GIVE = {"request": "task_tool", "system_message": "You square.", "prompt": "3?", "tools": ["square"]}


@pytest.mark.parametrize(
    ("config", "ways"),
    [({}, (False, True)), ({"use_tools": True}, (True, False)), ({"use_functions_api": True}, (False, True)),
     ({"use_tools": False}, (False, False))],
)  # fmt: skip
def test_its_agent_calls_tools_as_the_caller_does(config: dict[str, Any], ways: tuple[bool, bool]):
    boss = ChatAgent(ChatAgentConfig(llm=ScriptedModel(["x"]), **config))
    boss.enable_message([TaskTool, Square])
    worker = tool().set_up_task(boss).agent
    model = worker.llm
    worker("go")
    (system, _), tools = model.requests[-1].messages, model.requests[-1].tools
    assert ('"request"' in system["content"], bool(tools)) == ways


def test_an_agent_whose_calls_are_text_gets_a_worker_of_this_kind():
    def model(text: str) -> str:
        if text == "go":
            return json.dumps(GIVE)
        return '{"request": "square", "number": 3}' if "3?" in text else f"DONE {text}"

    boss = ChatAgent(ChatAgentConfig(llm=MockLMConfig(response_fn=model), use_tools=True))
    boss.enable_message([TaskTool, Square])
    assert "9" in Task(boss, interactive=False).run("go").content  # type: ignore[union-attr]  # pyright: ignore


def test_a_task_may_be_a_tool_of_an_agent_below_it():
    task = Task(ChatAgent(ScriptedModel(["x"])), name="Task", interactive=False)
    below = Task(ChatAgent(ScriptedModel(["y"]), tools=[task]), name="Below")
    task.add_sub_task(below)
    assert task.sub_tasks == [below]
