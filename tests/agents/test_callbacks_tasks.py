"""Callbacks of agents in tasks: tools, the user, sub-tasks."""

# Callbacks stand here as users write them: lambdas, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trivium import Agent, ChatAgent, Task, ToolMessage
from trivium.testing import ScriptedModel, call_tool

from ._recording import given_to, names, recorded


# ---- the agent and the user
class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> Any:
        return {"square": self.number**2} if self.number > 3 else str(self.number**2)


@pytest.mark.shows("callbacks.show_agent_response(content)", "callbacks.show_agent_response(language)")
@pytest.mark.parametrize(("number", "content", "language"), [(3, "9", "text"), (4, '{"square": 16}', "json")])
def test_what_an_agent_does_with_a_tool_message_is_shown(number: int, content: str, language: str):
    agent = ChatAgent(ScriptedModel([call_tool("square", number=number), "DONE"]))
    agent.enable_message(Square)
    seen = recorded(agent, only=["show_agent_response", "show_llm_response"], streams=False)
    Task(agent, interactive=False).run("3 * 3?")
    assert given_to(seen, "show_agent_response") == [{"content": content, "language": language, "is_tool": False}]
    assert names(seen) == ["show_llm_response", "show_agent_response", "show_llm_response"]


def test_a_tool_message_that_a_model_writes_as_text_is_a_tool():
    agent = ChatAgent(ScriptedModel([['{"request": "square",', ' "number": 2}'], "DONE"]))
    agent.config.use_tools = True
    agent.enable_message(Square)
    seen = recorded(agent, only=["finish_llm_stream"])
    Task(agent, interactive=False).run("2 * 2?")
    assert [each["is_tool"] for each in given_to(seen, "finish_llm_stream")] == [True, False]


@pytest.mark.shows("callbacks.get_user_response(prompt)", "callbacks.get_user_response_async(prompt)")
@pytest.mark.parametrize("is_async_run", [False, True])
def test_the_user_answers_through_the_port(is_async_run: bool):
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return "q"

    async def ask_later(prompt: str) -> str:
        await asyncio.sleep(0)
        return ask(prompt)

    for callbacks in ({"get_user_response": ask}, {"get_user_response_async": ask_later}):
        agent = ChatAgent(ScriptedModel(["What now?"]))
        for name, function in callbacks.items():
            setattr(agent.callbacks, name, function)
        task = Task(agent, interactive=True)
        result = asyncio.run(task.run_async("hi")) if is_async_run else task.run("hi")
        assert result is not None
        assert result.content == "q"
    assert prompts == ["", ""]  # the user has seen the conversation


def test_the_port_gets_a_prompt_where_something_new_is_asked():
    agent, other = ChatAgent(ScriptedModel(["."])), ChatAgent(ScriptedModel(["42"]), name="other")
    prompts: list[str] = []

    def ask(text: str) -> str:  # by another name
        prompts.append(text)
        return "y"

    agent.callbacks.get_user_response = ask
    assert agent.ask_agent(other, "6 * 7?") == "ChatAgent says: 42"
    assert "6 * 7?" in prompts[0]


# ---- tasks
@pytest.mark.shows(
    "callbacks.set_parent_agent", "callbacks.get_last_step", "callbacks.show_subtask_response(task)",
    "callbacks.show_subtask_response(content)", "callbacks.show_subtask_response(is_tool)",
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
def test_nested_tasks_know_their_parents_and_show_what_came(is_async: bool):
    seen: list[Any] = []
    tasks = {
        name: Task(ChatAgent(ScriptedModel(answers), name=name), name=name, interactive=False)
        for name, answers in (
            ("top", ["__SEND__:mid go", "DONE top"]),
            ("mid", ["__SEND__:low go", "DONE mid"]),
            ("low", ['DONE {"request": "x"}']),
        )
    }
    top, mid, low = tasks.values()
    top.add_sub_task(mid)
    mid.add_sub_task(low)
    for name, task in tasks.items():
        step = f"last step of {name}"
        task.agent.callbacks.get_last_step = lambda step=step: step
        task.callbacks.show_subtask_response = lambda task, content, is_tool, name=name: seen.append(
            (name, task.name, content, is_tool)
        )

        def parent(parent: Agent, name: str = name) -> None:
            seen.append((name, parent.callbacks.get_last_step()))

        task.agent.callbacks.set_parent_agent = parent
    low.callbacks.set_parent_agent = lambda parent: seen.append(("task low", parent.name))
    result = asyncio.run(top.run_async("hi")) if is_async else top.run("hi")
    assert result is not None
    assert seen == [
        ("mid", "last step of top"),
        ("low", "last step of mid"),
        ("task low", "mid"),
        ("mid", "low", '{"request": "x"}', True),
        ("top", "mid", "mid", False),
    ]


def test_a_sub_task_without_a_result_is_shown_as_none():
    below = Task(ChatAgent(ScriptedModel(["__PASS__"]), name="below"), name="below", interactive=False)
    task = Task(ChatAgent(ScriptedModel(["__SEND__:below go", "DONE"]), name="top"), interactive=False)
    task.add_sub_task(below)
    seen: list[str] = []
    task.callbacks.show_subtask_response = lambda content: seen.append(content)
    task.run("hi")
    assert seen[0] == "NONE"


def test_clones_have_callbacks_of_their_own():
    task = Task(ChatAgent(ScriptedModel(["DONE"])), interactive=False)
    seen: list[str] = []
    task.agent.callbacks.show_llm_response = lambda content: seen.append(content)
    task.callbacks.show_subtask_response = lambda content: None
    clone = task.clone(1)
    clone.run("hi")
    assert seen == []
    assert (vars(clone.callbacks), vars(clone.agent.callbacks)) == ({}, {})
