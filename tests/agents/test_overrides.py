"""Every documented method that a subclass writes is called in a run, with the documented arguments.

An override may call `super()`.
Each row of the table names a method, how the run is set up so that it is reached, and the arguments that the documents
say it gets. A task runs the agent, so that the method is reached as it is in a program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from trivium import ChatAgent, ChatAgentConfig, Message, Task, ToolMessage
from trivium.schema import LLMMessage
from trivium.testing import ScriptedModel


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


CALL = '{"request": "square", "number": 3}'
WRONG = '{"request": "square", "number": "many"}'


class Row(NamedTuple):
    """How a documented method is reached.

    Args:
        name: the method.
        arguments: the names of its documented parameters, as an override writes them.
        answers: the script of the model.
        interactive: ask the user.
        below: the agent runs in a sub-task.
    """

    name: str
    arguments: str
    answers: tuple[str, ...] = (CALL, "DONE")
    interactive: bool = False
    below: bool = False


TABLE = [
    Row("llm_response", "message=None"),
    Row("agent_response", "msg=None"),
    Row("user_response", "msg=None", ("hello", "DONE"), True),
    Row("handle_message", "msg"),
    Row("handle_message_fallback", "msg", ("hello", "DONE")),
    Row("handle_tool_message", "tool"),
    Row("get_tool_messages", "msg"),
    Row("get_json_tool_messages", "input_str"),
    Row("get_formatted_tool_messages", "input_str"),
    Row("tool_validation_error", "ve", (WRONG, "DONE")),
    Row("has_tool_message_attempt", "msg", ("hello", "DONE"), True),
    Row("can_respond", "message=None", below=True),
    Row("llm_can_respond", "message=None"),
    Row("llm_response_messages", "messages, output_len=None"),
    Row("init_message_history", ""),
    Row("update_token_usage", "response, prompt, stream, chat=True, print_response_stats=True"),
    Row("create_agent_response", "content=None, **values"),
    Row("create_user_response", "content=None, **values", ("hello", "DONE"), True),
    Row("json_format_rules", ""),
    Row("tool_format_rules", ""),
    Row("tool_instructions", ""),
    Row("to_ChatDocument", "msg, orig_tool_name=None, chat_doc=None, author_entity='Agent'"),
    Row("entity_responders", ""),
    Row("init_state", ""),
]


def overriding(row: Row, form: str, called: list[tuple[Any, ...]]) -> type[ChatAgent[Any]]:
    """A subclass that writes the method with the documented parameters, notes the call, and calls `super()`."""
    names = [each.split("=")[0].strip() for each in row.arguments.split(",") if each.strip()]
    passed = ", ".join(each if each.startswith("**") else each.lstrip("*") for each in names)
    parameters = f"self, {row.arguments}" if row.arguments else "self"
    noted = ", ".join(each.lstrip("*") for each in names)
    name = row.name + form
    source = (
        f"{'async ' if form else ''}def {name}({parameters}):\n"
        f"    called.append(({noted}{',' if noted else ''}))\n"
        f"    return {'await ' if form else ''}ChatAgent.{name}(self{', ' + passed if passed else ''})\n"
    )
    written: dict[str, Any] = {"called": called, "ChatAgent": ChatAgent}
    exec(source, written)
    return type("Own", (ChatAgent,), {name: written[name]})


def run(kind: type[ChatAgent[Any]], row: Row, by: Callable[[Task[Any]], Any]) -> Any:
    config = ChatAgentConfig(name="Own", llm=ScriptedModel(list(row.answers)), use_tools=True, use_functions_api=False)
    agent = kind(config)
    agent.enable_message(Square)
    answers = iter(["and so on", "q"])
    agent.ask_user = lambda prompt: next(answers)
    task = Task(agent, interactive=row.interactive)
    if row.below:
        above = Task(ChatAgent(ScriptedModel(["go on", "DONE"]), name="above"), interactive=False)
        above.add_sub_task(task)
        return by(above)
    return by(task)


def sync(task: Task[Any]) -> Any:
    return task.run("go", turns=6)


def asynchronous(task: Task[Any]) -> Any:
    return asyncio.run(task.run_async("go", turns=6))


@pytest.mark.parametrize("by", [sync, asynchronous])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_an_override_is_called_with_the_documented_arguments_and_may_call_super(row: Row, by: Callable[..., Any]):
    called: list[tuple[Any, ...]] = []
    plain = run(ChatAgent, row, by)
    result = run(overriding(row, "", called), row, by)
    assert called, f"{row.name} was written and is not called"
    assert _told(result) == _told(plain), "an override that only calls super() changes nothing"


@pytest.mark.parametrize("by", [sync, asynchronous])
@pytest.mark.parametrize(
    "name",
    [
        "llm_response",
        "agent_response",
        "user_response",
        "handle_message",
        "handle_tool_message",
        "llm_response_messages",
    ],
)
def test_the_async_form_is_called_too(name: str, by: Callable[..., Any]):
    row = next(each for each in TABLE if each.name == name)
    called: list[tuple[Any, ...]] = []
    result = run(overriding(row, "_async", called), row, by)
    assert called, f"{name}_async was written and is not called"
    assert _told(result) == _told(run(ChatAgent, row, by))


def _told(result: Any) -> Any:
    return (result.content, result.status) if isinstance(result, Message) else result


def test_the_arguments_are_of_the_documented_kinds():
    called: list[tuple[Any, ...]] = []
    row = next(each for each in TABLE if each.name == "llm_response_messages")
    run(overriding(row, "", called), row, sync)
    assert all(isinstance(each, LLMMessage) for messages, _ in called for each in messages)
    called.clear()
    row = next(each for each in TABLE if each.name == "handle_tool_message")
    run(overriding(row, "", called), row, sync)
    assert [each for (each,) in called] == [Square(number=3)]
    called.clear()
    row = next(each for each in TABLE if each.name == "tool_validation_error")
    run(overriding(row, "", called), row, sync)
    (error,) = called[0]
    assert [each["loc"] for each in error.errors()] == [("number",)], "the error is pydantic's"
