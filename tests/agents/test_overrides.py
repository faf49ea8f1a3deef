"""Every documented method that a subclass writes is called, however it is reached, with the documented arguments.

Each row of the table names a method, the classes that have it, and a scene: what a program does that reaches the
method without naming it. An override notes its arguments and calls `super()`, which must change nothing. Rows of
methods that are called by their names alone say so; for them the two forms, sync and async, are what may go wrong.
tests/reference says which methods the documents name, and fails where one has no row.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import pytest

from trivium import (
    ActionExecutor,
    Agent,
    ChatAgent,
    ChatAgentConfig,
    Entity,
    Message,
    Task,
    ToolMessage,
    run_batch_tasks,
)
from trivium.agents import Sequential
from trivium.agents.aggregator import DefaultAggregator
from trivium.commander import PASS_WORD, CommanderAsync, Job, tasker
from trivium.hooks import Hook
from trivium.prompts import StrParser
from trivium.schema import LLMMessage, Role, Usage
from trivium.testing import ScriptedModel, call_tool

Kind: TypeAlias = Any
"""The class that is under test: the documented one, or a subclass that overrides a method of it."""


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


class TextModel(ScriptedModel):
    """A model that writes its calls into its text."""

    takes_tools = False


CALL = '{"request": "square", "number": 3}'
WRONG = '{"request": "square", "number": "many"}'


class By:
    """The way in which a program calls: sync or async.

    Args:
        is_async: call the async form of a method, on a loop.
    """

    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async

    def __call__(self, of: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        other = getattr(of, "acall" if name == "__call__" else f"{name}_async", None)
        if not self.is_async or other is None:
            return getattr(of, name)(*args, **kwargs)

        async def main() -> Any:
            return await other(*args, **kwargs)

        return asyncio.run(main())


def is_below(kind: Kind, base: type) -> bool:
    return issubclass(kind, base)


SYNC, ASYNC = By(False), By(True)


def made(kind: Kind, *answers: Any, **kwargs: Any) -> Any:
    """An agent of this class, whose model writes its calls as text, and which knows a tool."""
    model = TextModel(list(answers or ("hello",)))
    config = ChatAgentConfig(name="Own", llm=model, use_tools=True, use_functions_api=False)
    agent = kind(config, **kwargs) if is_below(kind, ChatAgent) else kind(model, name="Own", **kwargs)
    agent.enable_message(Square)
    said = iter(["and so on", "q"])

    def answer(prompt: str) -> str:
        return next(said)

    agent.ask_user = answer
    return agent


# ---- scenes: (class, way of calling) → a result that can be compared
def agent_in_task(*answers: str, interactive: bool = False, below: bool = False) -> Callable[[Kind, By], Any]:
    """A task runs the agent."""

    def scene(kind: Kind, by: By) -> Any:
        task = Task(made(kind, *(answers or (CALL, "DONE"))), interactive=interactive)
        return by(above(task) if below else task, "run", "go", turns=6)

    return scene


def above(task: Task[Any]) -> Task[Any]:
    """A task whose model passes on to another."""
    found = Task(ChatAgent(ScriptedModel(["go on", "DONE"]), name="above"), interactive=False)
    found.add_sub_task(task)
    return found


def task_runs(kind: Kind, by: By) -> Any:
    """A task of this class runs: its agent handles a tool, and is done."""
    return by(kind(made(ChatAgent, CALL, "DONE 9"), interactive=False), "run", "go", turns=6)


def task_runs_below(kind: Kind, by: By) -> Any:
    """A task of this class is a sub-task."""
    return by(above(kind(made(ChatAgent, CALL, "DONE 9"), name="below", interactive=False)), "run", "go", turns=6)


def task_in_batch(kind: Kind, by: By) -> Any:
    """A batch runs the task: one that has a `clone` of its own is cloned for each item."""
    found = run_batch_tasks(kind(made(ChatAgent, "DONE 9"), interactive=False), ["a", "b"])
    return [each and each.content for each in found]


def logging_task(kind: Kind, by: By) -> Any:
    return by(kind(made(ChatAgent, "DONE 9"), interactive=False), "run", "go", listeners=[list[Any]().append])


def agent_of_task(kind: Kind, by: By) -> Any:
    """A task is made of the agent, and given what the agent is told."""
    agent = made(kind)
    Task(agent, system_message="Be brief.", user_message="Begin.")
    return agent.system_message, agent.user_message, len(agent.message_history)


def cloned_below(kind: Kind, by: By) -> Any:
    return Task(made(kind), name="Own").clone(1).agent.name


def typed(kind: Kind, by: By) -> Any:
    return by(made(kind, '{"value": 3}', output_format=int), "__call__", "go").output


def result_of_type(kind: Kind, by: By) -> Any:
    return by(Task(made(kind, CALL), interactive=False, single_round=True), "run", "go", return_type=Square)


def in_sequence(kind: Kind, by: By) -> Any:
    """The agent is one of several, so that it is called by them."""
    return by(Sequential(made(kind), Agent(ScriptedModel(["end"]))), "__call__", "go").content


def aggregates(kind: Kind, by: By) -> Any:
    agent = made(Agent, template="Be kind.", aggregator=kind())
    by(agent, "__call__", "go")
    return agent.llm.requests[0].messages


def parses(kind: Kind, by: By) -> Any:
    agent = made(Agent, output_format=kind("Say it."))
    return by(agent, "__call__", "go").formatted


def describes(kind: Kind, by: By) -> Any:
    from trivium.agents.aggregator import InternLMToolAggregator

    agent = made(Agent, output_format=kind("Say it."), aggregator=InternLMToolAggregator())
    by(agent, "__call__", "go")
    return agent.llm.requests[0].messages


def hooked(kind: Kind, by: By) -> Any:
    def double(x: int) -> int:
        return 2 * x

    agent = Agent(ScriptedModel(["hello"]), hooks=kind())
    executor = ActionExecutor([double], hooks=kind())
    call = {"name": "double", "parameters": {"x": 2}}
    return by(agent, "__call__", "go").content, str(by(executor, "__call__", Message(content=call)).content)


class Plain(Job):
    """A job with nothing to do."""

    is_done = False

    @tasker(PASS_WORD)
    async def task(self) -> None:
        self.is_done = True


def job_runs(kind: Kind, by: By) -> Any:
    job = kind()
    CommanderAsync().run_auto(job)
    return job.is_done


def by_name(*args: Any, **kwargs: Any) -> Callable[[Kind, By], Any]:
    """A program calls the method by its name."""

    def scene(kind: Kind, by: By, name: str = "") -> Any:
        is_task = is_below(kind, Task)
        of = kind(made(ChatAgent, "DONE 9"), name="Own", interactive=False) if is_task else made(kind)
        if is_task:
            of.init("go")
        return by(of, name, *args, **kwargs)

    return scene


AGENTS, TASK = (Agent, ChatAgent), (Task,)
OTHER = Agent(ScriptedModel(["DO-NOT-KNOW"]), name="other")


class Row(NamedTuple):
    """How a documented method is reached.

    Args:
        name: the method.
        arguments: its documented parameters, as an override writes them.
        scene: the program that reaches it.
        kinds: the classes that have it.
    """

    name: str
    arguments: str = ""
    scene: Callable[..., Any] = agent_in_task()
    kinds: tuple[type, ...] = AGENTS


_REPLY = "content=None, **values"
_USER = agent_in_task("hello", "DONE", interactive=True)
_HELLO = agent_in_task("hello", "DONE")
TABLE = [
    # The agents: what a run reaches.
    Row("forward", "*message, session_id=0, **kwargs"),
    Row("__call__", "*message, **kwargs", in_sequence),
    Row("llm_response", "message=None"),
    Row("agent_response", "msg=None"),
    Row("user_response", "msg=None", _USER),
    Row("handle_message", "msg"),
    Row("handle_message_fallback", "msg", _HELLO),
    Row("handle_tool_message", "tool"),
    Row("get_tool_messages", "msg, all_tools=False"),
    Row("try_get_tool_messages", "msg, all_tools=False", result_of_type),
    Row("get_json_tool_messages", "input_str"),
    Row("get_formatted_tool_messages", "input_str"),
    Row("tool_validation_error", "ve", agent_in_task(WRONG, "DONE")),
    Row("has_tool_message_attempt", "msg", _USER),
    Row("has_tool_message_attempt", "msg", agent_in_task(interactive=False)),
    Row("can_respond", "message=None", agent_in_task(below=True)),
    Row("llm_can_respond", "message=None"),
    Row("update_token_usage", "response, prompt, stream, chat=True, print_response_stats=True"),
    Row("create_agent_response", _REPLY),
    Row("create_user_response", _REPLY, _USER),
    Row("response_template", "e, content=None, **values", agent_in_task(f"{CALL} {CALL}", "DONE")),
    Row("to_ChatDocument", "msg, orig_tool_name=None, chat_doc=None, author_entity='Agent'"),
    Row("entity_responders"),
    Row("init_state"),
    Row("set_output_format", "output_type, **kwargs", typed),
    Row("llm_response_messages", "messages, output_len=None", kinds=(ChatAgent,)),
    Row("init_message_history", kinds=(ChatAgent,)),
    Row("chat_num_tokens", "messages=None", kinds=(ChatAgent,)),
    Row("json_format_rules", kinds=(ChatAgent,)),
    Row("tool_format_rules", kinds=(ChatAgent,)),
    Row("tool_instructions", kinds=(ChatAgent,)),
    Row("clear_history", "start=-2, end=-1", agent_of_task, (ChatAgent,)),
    Row("set_system_message", "msg", agent_of_task, (ChatAgent,)),
    Row("set_user_message", "msg", agent_of_task, (ChatAgent,)),
    Row("clone", "i=0", cloned_below, (ChatAgent,)),
    # The agents: what programs call by its name.
    Row("llm_response_forget", "message", by_name("go"), (ChatAgent,)),
    Row("ask_agent", "agent, request, no_answer='DO-NOT-KNOW', user_confirm=True", by_name(OTHER, "why?", "", False)),
    # The tasks.
    Row("run", "msg=None, turns=-1, caller=None, **kwargs", task_runs_below, TASK),
    Row("forward", "*message, **kwargs", task_runs, TASK),
    Row("forward", "*message, session_id=0, **kwargs", task_runs_below, TASK),
    Row("init", "msg=None", task_runs, TASK),
    Row("step", "turns=-1", task_runs, TASK),
    Row("response", "e, turns=-1", task_runs, TASK),
    Row("valid", "result, r", task_runs, TASK),
    Row("done", "result=None, r=None", task_runs, TASK),
    Row("result", "status=None", task_runs, TASK),
    Row("reset_all_sub_tasks", "", task_runs, TASK),
    Row("log_message", "resp, msg=None, mark=False, **kwargs", logging_task, TASK),
    Row("clone", "i", task_in_batch, TASK),
    # What an agent is made of.
    Row("aggregate", "messages, name, parser=None, system_instruction=None", aggregates, (DefaultAggregator,)),
    Row("aggregate_system_intruction", "system_instruction", aggregates, (DefaultAggregator,)),
    Row("parse_response", "data", parses, (StrParser,)),
    Row("format_instruction", "", describes, (StrParser,)),
    Row("before_agent", "agent, messages, session_id", hooked, (Hook,)),
    Row("after_agent", "agent, message, session_id", hooked, (Hook,)),
    Row("before_action", "executor, message, session_id", hooked, (Hook,)),
    Row("after_action", "executor, message, session_id", hooked, (Hook,)),
    Row("task", "", job_runs, (Plain,)),
]
BY_PROGRAMS = {
    Agent: """enable_message_handling disable_message_handling sample_multi_round_dialog create_llm_response from_id
        from_ChatDocument clear_dialog""",
    ChatAgent: """update_history augment_system_message last_message_with_role nth_message_idx_with_role
        update_last_message enable_message disable_message_handling disable_message_use disable_message_use_except
        message_history_str from_id clear_dialog""",
    Task: "kill kill_session add_sub_task set_color_log close_loggers init_loggers",
}
"""Documented methods that no run needs: programs call them by their one name."""


def parameters() -> list[Any]:
    """Each row with each of its classes, and with each form of the method that a subclass may write."""
    found: list[Any] = []
    for row in TABLE:
        for kind in row.kinds:
            names = {row.name: "acall" if row.name == "__call__" else f"{row.name}_async"}
            forms = [row.name, *(each for each in names.values() if hasattr(kind, each))]
            found += [pytest.param(row, kind, name, id=f"{kind.__name__}.{name}") for name in forms]
    return found


def overriding(kind: type, row: Row, name: str, called: list[tuple[Any, ...]]) -> Any:
    """A subclass that writes the method with the documented parameters, notes the call, and calls `super()`."""
    parts = [each.split("=")[0].strip() for each in row.arguments.split(",") if each.strip()]
    passed = ", ".join(each.split("=")[0].strip() for each in parts)
    parameters = f"self, {row.arguments}" if row.arguments else "self"
    if "*message, session_id" in row.arguments:
        passed = passed.replace("session_id", "session_id=session_id")
    noted = "".join(f"{each.lstrip('*')}, " for each in parts)
    is_async = name == "acall" or name.endswith("_async") or inspect.iscoroutinefunction(getattr(kind, name))
    is_async = is_async and row.name != "entity_responders"  # it returns the async methods, and is not awaited
    source = (
        f"{'async ' if is_async else ''}def {name}({parameters}):\n"
        f"    called.append(({noted}))\n"
        f"    return {'await ' if is_async else ''}Base.{name}(self{', ' + passed if passed else ''})\n"
    )
    written: dict[str, Any] = {"called": called, "Base": kind}
    exec(source, written)
    if kind is Plain:
        written[name] = tasker(PASS_WORD)(written[name])
    return type(kind.__name__, (kind,), {name: written[name]})


def played(row: Row, kind: Kind, by: By) -> Any:
    """The result of a row's scene."""
    scene = partial(row.scene, name=row.name) if "name" in inspect.signature(row.scene).parameters else row.scene
    return shown(scene(kind, by))


def shown(result: Any) -> Any:
    return (result.content, result.status) if isinstance(result, Message) else result


@pytest.mark.parametrize("by", [SYNC, ASYNC], ids=["sync", "async"])
@pytest.mark.parametrize(("row", "kind", "name"), parameters())
def test_an_override_is_called_with_the_documented_arguments_and_may_call_super(
    row: Row, kind: type, name: str, by: By
):
    called: list[tuple[Any, ...]] = []
    plain = played(row, kind, by)
    result = played(row, overriding(kind, row, name, called), by)
    assert called, f"{name} was written and is not called"
    assert result == plain, "an override that only calls super() changes nothing"


DIRECT: dict[str, tuple[Any, ...]] = {
    "__call__": ("go",),
    "llm_response": ("go",),
    "agent_response": (CALL,),
    "user_response": ("go",),
    "handle_message": (CALL,),
    "handle_tool_message": (Square(number=3),),
    "llm_response_messages": ([LLMMessage(role=Role.USER, content="go")],),
    "llm_response_forget": ("go",),
    "ask_agent": (OTHER, "why?", "", False),
    "run": ("go",),
    "step": (),
    "response": (Entity.LLM,),
}
"""The arguments of the documented methods that have two forms, where a program calls them by their names."""


def both_forms() -> list[Any]:
    """Each method with two forms, and each form of it that a subclass may write."""
    found = [each for each in parameters() if each.values[0].name in DIRECT]
    assert {each.values[0].name for each in found} == {*DIRECT}
    return found


@pytest.mark.parametrize("by", [SYNC, ASYNC], ids=["sync", "async"])
@pytest.mark.parametrize(("row", "kind", "name"), both_forms())
def test_either_form_reaches_an_override_of_either_form(row: Row, kind: type, name: str, by: By):
    called: list[tuple[Any, ...]] = []
    direct = row._replace(scene=by_name(*DIRECT[row.name]))
    assert played(direct, overriding(kind, row, name, called), by) == played(direct, kind, by)
    assert len(called) == 1


@pytest.mark.parametrize("by", [SYNC, ASYNC], ids=["sync", "async"])
@pytest.mark.parametrize("upper", ["llm_response", "llm_response_async"])
@pytest.mark.parametrize("lower", ["llm_response", "llm_response_async"])
def test_the_form_that_is_written_lowest_counts_and_super_leads_to_the_other(upper: str, lower: str, by: By):
    row = next(each for each in TABLE if each.name == "llm_response")
    above: list[tuple[Any, ...]] = []
    below: list[tuple[Any, ...]] = []
    kind = overriding(overriding(ChatAgent, row, upper, above), row, lower, below)
    assert by(made(kind), "llm_response", "go").content == "hello"
    assert (len(below), len(above)) == (1, 1)


@pytest.mark.parametrize("by", [SYNC, ASYNC], ids=["sync", "async"])
def test_a_class_that_is_mixed_in_and_a_function_on_the_object_count_too(by: By):
    class Loud:
        def llm_response(self, message: Any = None) -> Message:
            return Message(content="LOUD")

    class Own(Loud, ChatAgent):
        """An agent that answers as another class says."""

    assert by(made(Own), "llm_response", "go").content == "LOUD"
    agent = made(ChatAgent)

    async def say(message: Any = None) -> Message:
        return Message(content="aside")

    agent.llm_response_async = say
    assert by(agent, "llm_response", "go").content == "aside"
    assert by(Task(agent, interactive=False, single_round=True), "run", "go").content == "aside"


@pytest.mark.parametrize("kind", AGENTS)
def test_an_override_that_calls_super_counts_tokens_once(kind: Kind):
    row = next(each for each in TABLE if each.name == "update_token_usage")

    def used(kind: Kind) -> int:
        agent = made(kind)
        agent.llm = ScriptedModel([["hello", Usage(3, 4)]])
        agent("go", session_id=0)
        return agent.total_llm_token_usage

    called: list[tuple[Any, ...]] = []
    assert used(overriding(kind, row, row.name, called)) == used(kind) > 0
    ((response, prompt, *_),) = called
    assert response.usage.total_tokens == 7
    assert [each.content for each in prompt][-1:] == ["go"]


def test_the_arguments_are_of_the_documented_kinds():
    called: list[tuple[Any, ...]] = []
    rows = {row.name: row for row in TABLE}

    def arguments(name: str) -> list[tuple[Any, ...]]:
        called.clear()
        played(rows[name], overriding(ChatAgent, rows[name], name, called), SYNC)
        return called

    assert all(isinstance(each, LLMMessage) for messages, _ in arguments("llm_response_messages") for each in messages)
    assert [each for (each,) in arguments("handle_tool_message")] == [Square(number=3)]
    ((error,),) = arguments("tool_validation_error")
    assert [each["loc"] for each in error.errors()] == [("number",)], "the error is pydantic's"


@pytest.mark.parametrize("by", [SYNC, ASYNC], ids=["sync", "async"])
@pytest.mark.parametrize("name", ["handle_tool_message", "handle_tool_message_async"])
@pytest.mark.parametrize("is_within_call", [True, False])
def test_a_handler_below_an_override_gets_the_message_with_the_call(name: str, by: By, is_within_call: bool):
    seen: list[Any] = []

    class Look(ToolMessage):
        request: str = "look"
        purpose: str = "To look around."

        def handle(self, chat_doc: Message) -> str:
            seen.append(chat_doc.content)
            return "a wall"

    row = next(each for each in TABLE if each.name == "handle_tool_message")
    called: list[tuple[Any, ...]] = []
    kind = overriding(ChatAgent, row, name, called)
    model = ScriptedModel([["I look", call_tool("look")], "DONE"])
    config = ChatAgentConfig(llm=model)
    agent = kind(config, tools=[Look]) if is_within_call else kind(config)
    if not is_within_call:
        agent.enable_message(Look)
    by(Task(agent, interactive=False), "run", "go", turns=6)
    assert ([type(tool) for (tool,) in called], seen) == ([Look], ["I look"])
