"""Bad input to tasks: the model is told, or the program is, by an error of ours; nothing hangs, no message is lost."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import threading
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from tasks._documented import Saying, content, history, scripted
from tasks._helpers import Note
from trivium import ChatAgent, Entity, StatusCode, Task, TaskConfig, ToolMessage
from trivium.commander import Limits
from trivium.exceptions import ArgumentTypeError, ConfigurationError, RecursionTooDeepError, TriviumError
from trivium.llms import ToolCallPart
from trivium.tasks import run_batch_tasks
from trivium.testing import ScriptedModel, call_tool


async def told(event: object) -> None:
    """Listen, but as a coroutine, which nobody would await."""


class Move(ToolMessage):
    request: str = "move"
    purpose: str = "To move by <number>."
    number: int

    def handle(self) -> str:
        return f"moved by {self.number}"


def mover(*answers: Any) -> Task:
    agent = scripted(*answers)
    agent.enable_message(Move)
    return Task(agent, interactive=False)


# ---- tool calls that are malformed
GOOD = '{"request": "move", "number": 3}'
AS_TEXT = [  # calls that stand in the text, where the agent looks for them everywhere
    '{"request": "move", "number": 3.0}',  # to JSON schema an integer
    '```json\n{"request": "move", "number": 3}\n```',
    'I move. {"request": "move",\n "number": 3} There.',
]
TOLD = [  # a call that does not fit its tool: the model reads what was wrong
    '{"request": "move"}',
    "{'request': 'move', 'number': 3}",
    '{"request": "move", "number": 3,}',
    '{request: "move", number: 3}',
    '{"request": "move", "number": 3, "number": 4}',
    '{"request": "move", "number": NaN}',
    '{"request": "move", "number": "three"}',
    '{"request": "move", "number": "3"}',  # which has another type: written as text, a call matches the schema exactly
    '{"request": "move", "number": true}',
    '{"request": "move", "number": null}',
    '{"request": "move", "number": [3]}',
    '{"request": "move", "number": 3.5}',
    '{"request": "move", "number": {"number": 3}}',
    call_tool("move", number="three"),
    call_tool("move", number=True),
    call_tool("move"),
    ToolCallPart(0, "call_1", "move", '{"number": '),
    ToolCallPart(0, "call_1", "move", "[3]"),
    ToolCallPart(0, "call_1", "move", "null"),
    ToolCallPart(0, "call_1", "move", "\x00"),
    ToolCallPart(0, "call_1", "move", '{"recipient": "", "number": ' + "[" * 5000 + "]" * 5000 + "}"),
]
STAYS_TEXT = [  # nothing that could be a call
    '{"number": 3}',
    '{"properties": {"request": "move", "number": 3}}',
    '{"request": "move", "number": 3',
    '"request": "move", "number": 3}',
    '{"request": "mo" "ve"',
    '{"request": 7, "number": 3}',
    '{"request": "", "number": 3}',
    '{"request": "march", "number": 3}',
    "{" * 50 + '"request": "move"',
    "<move><number>3</number></move>",
]


@pytest.mark.shows("semantic 9", "Task.run")
@pytest.mark.parametrize("call", [GOOD, *AS_TEXT])
def test_a_call_with_one_meaning_runs_in_a_task(call: str):
    task = mover(call, "DONE there")
    assert content(task.run("go")) == "there"
    assert "moved by 3" in history(task)


@pytest.mark.shows("semantic 9", "ToolMessage")
@pytest.mark.parametrize("call", TOLD)
def test_the_model_is_told_of_a_call_that_does_not_fit_and_the_run_goes_on(call: Any):
    task = mover(call, GOOD, "DONE there")
    assert content(task.run("go")) == "there"
    said = history(task)
    assert any(text.startswith("error:") and "move" in text for text in said)
    assert "moved by 3" in said


@pytest.mark.shows("semantic 9")
@pytest.mark.parametrize("call", STAYS_TEXT)
def test_what_is_no_call_stays_text_and_a_user_may_answer_it(call: str):
    task = mover(call, GOOD, "DONE there")
    task.interactive, task.default_human_response, task.only_user_quits_root = True, "call the tool", False
    assert content(task.run("go")) == "there"
    assert history(task)[1:3] == [call, "call the tool"]


# ---- nobody of that name
@pytest.mark.shows("semantic 5", "Task.run_async")
@pytest.mark.parametrize("name", ["Nobody", "a" * 1000, "1", "bob-7"])
def test_the_model_is_told_of_an_unknown_recipient(name: str):
    task = Task(scripted(f"__SEND__:{name} hello", "DONE told"), interactive=False)
    assert content(asyncio.run(task.run_async("go"))) == "told"
    assert f"Invalid recipient: {name}." in history(task)[2]


def test_the_model_is_told_of_tools_that_are_not_there():
    class Unhandled(ToolMessage):
        request: str = "unhandled"
        purpose: str = "To do what nobody does."

    agent = scripted(call_tool("unhandled"), call_tool("absent"), "DONE told")
    agent.enable_message(Unhandled)
    task = Task(agent, interactive=False)
    assert content(task.run("go")) == "told"
    assert "nothing handles unhandled: write `def unhandled" in history(task)[2]
    assert "there is no tool 'absent'; there are unhandled" in history(task)[4]


@pytest.mark.parametrize(
    "text", [f'{GOOD}\n{{"request": "march"}}', f'{{"request": "march"}} {GOOD} {{"request": "march"}}']
)
@pytest.mark.parametrize("allows_several", [True, False])
def test_the_model_is_told_of_a_tool_that_is_not_there_beside_the_result_of_one_that_is(
    text: str, allows_several: bool
):
    task = mover(text, "DONE told")
    task.agent.allow_multiple_tools = allows_several  # of the calls that it has, there is one
    assert content(task.run("go")) == "told"
    told = "Result from move: moved by 3\n\nResult from march: error: there is no tool 'march'; there are move"
    assert history(task)[2] == told


# ---- responses of strange types
def endless() -> Any:
    return (number for number in itertools.count())


def cyclic() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


STRANGE: dict[str, Callable[[], Any]] = {
    "bytes": lambda: b"\xff", "object": object, "nan": lambda: math.nan, "huge": lambda: "x" * 2_000_000,
    "endless generator": endless, "class": lambda: dict, "tool class": lambda: Note, "error": lambda: ValueError("x"),
    "set": lambda: {1}, "lock": threading.Lock, "cyclic": cyclic, "surrogate": lambda: "\ud800", "nul": lambda: "\0",
    "function": lambda: len, "agent": lambda: scripted("x"), "zero": lambda: 0, "empty dict": dict,
    "tuple with a lock": lambda: (threading.Lock(),), "dict with a generator": lambda: {"a": endless()},
}  # fmt: skip


@pytest.mark.shows("Agent.to_ChatDocument", "Task.response")
@pytest.mark.parametrize("who", ["agent", "llm", "user"])
@pytest.mark.parametrize("kind", STRANGE)
def test_a_response_of_any_type_becomes_a_message_with_the_value(who: str, kind: str):
    value = STRANGE[kind]()
    says: dict[str, Any] = {"llm": ["what?"], who: [value]}
    task = Task(Saying(**says), interactive=who == "user")
    result = task.run("go", turns=2 if who == "user" else 1)  # the user has spoken when the run begins
    assert result is not None
    assert result.content
    assert isinstance(result.content, str)
    if isinstance(value, str):
        assert result.content == value
    else:
        assert type(result.content_any) is type(value)


@pytest.mark.parametrize("kind", STRANGE)
def test_a_handler_may_return_any_type(kind: str):
    value = STRANGE[kind]()

    class Give(ToolMessage):
        request: str = "give"
        purpose: str = "To give."

        def handle(self) -> Any:
            return value

    agent = scripted(call_tool("give"), "DONE got it")
    agent.enable_message(Give)
    assert content(Task(agent, interactive=False).run("go")) == "got it"


@pytest.mark.parametrize("kind", STRANGE)
def test_a_run_may_begin_with_any_type(kind: str):
    assert content(Task(scripted("DONE ok"), interactive=False).run(STRANGE[kind]())) == "ok"


def test_what_cannot_be_copied_travels_as_itself():
    lock = threading.Lock()
    result = Task(Saying(agent=[lock]), interactive=False).run("go", turns=1)
    assert result is not None
    assert result.content_any is lock


def test_making_text_of_a_generator_does_not_use_it_up():
    result = Task(Saying(agent=[(number for number in range(3))]), interactive=False).run("go", turns=1)
    assert result is not None
    assert list(result.content_any) == [0, 1, 2]


# ---- a sub-task that raises
ERRORS = [
    ValueError("v"), KeyError("k"), AssertionError(), StopAsyncIteration("s"), MemoryError("m"), TimeoutError("t"),
    OSError(2, "no file"), ExceptionGroup("g", [ValueError("1")]), UnicodeDecodeError("utf-8", b"x", 0, 1, "r"),
    ConfigurationError("c"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), BaseException("b"),
]  # fmt: skip


def above(sub_task: Task) -> Task:
    task = Task(scripted("__SEND__:sub do it", "DONE ok"), interactive=False)
    task.add_sub_task(sub_task)
    return task


def raising(error: BaseException) -> Callable[..., Any]:
    def raises(*args: Any, **kwargs: Any) -> Any:
        raise error

    return raises


def sub_task_that_raises(error: BaseException, where: str) -> Task:
    answers: list[Any] = [error] if where == "model" and isinstance(error, Exception) else ["never"]
    agent = ChatAgent(ScriptedModel(answers), name="sub")
    if where in ("llm_response", "agent_response"):
        setattr(agent, where, raising(error))
    task = Task(agent, interactive=False)
    if where in ("run", "step", "result", "done"):
        setattr(task, where, raising(error))
    return task


@pytest.mark.shows("Task.add_sub_task", "Task.pending_message", "semantic 6")
@pytest.mark.parametrize("where", ["run", "step", "result", "llm_response", "agent_response"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_the_error_of_a_sub_task_comes_out_and_the_message_is_still_there(error: BaseException, where: str):
    task = above(sub_task_that_raises(error, where))
    with pytest.raises(type(error)) as raised:
        task.run("go")
    assert raised.value is error
    pending = task.pending_message
    assert pending is not None
    assert (pending.content, pending.receiver) == ("do it", "sub")
    assert history(task) == ["go", "__SEND__:sub do it"]


def test_a_task_runs_again_after_an_error():
    sub_task = sub_task_that_raises(ValueError("v"), "llm_response")
    task = above(sub_task)
    with pytest.raises(ValueError, match="v"):
        task.run("go")
    del sub_task.agent.llm_response
    assert content(task.run("go")) == "ok"
    assert history(task) == ["go", "DONE ok"]


def test_recursion_without_end_in_a_sub_task_is_a_typed_error():
    task = above(sub_task_that_raises(RecursionError("deep"), "llm_response"))
    with pytest.raises(RecursionTooDeepError):
        task.run("go")


@pytest.mark.parametrize(
    "error", [each for each in ERRORS if isinstance(each, Exception)], ids=lambda each: type(each).__name__
)
def test_the_model_is_told_of_an_error_in_a_handler(error: Exception):
    class Break(ToolMessage):
        request: str = "break"
        purpose: str = "To break."

        def handle(self) -> str:
            raise error

    agent = ChatAgent(ScriptedModel([call_tool("break"), "DONE and told"]), name="sub")
    agent.enable_message(Break)
    sub_task = Task(agent, interactive=False)
    task = above(sub_task)
    assert content(task.run("go")) == "ok"
    told = history(sub_task)[2]
    own, kind = str(error), type(error).__name__
    assert told == f"error: {f'{kind}: {own}' if kind == 'KeyError' else own or kind}"


# ---- arguments of the wrong kind
WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "3": lambda: 3, "-1": lambda: -1, "1.5": lambda: 1.5, "nan": lambda: math.nan,
    "inf": lambda: math.inf, "True": lambda: True, "[]": list, "[3]": lambda: [3], "[None]": lambda: [None],
    "{1: 2}": lambda: {1: 2}, "bytes": lambda: b"x", "object": object, "generator": lambda: iter([]),
    "function": lambda: len, "class": lambda: dict, "''": str, "surrogate": lambda: "\ud800", "nul": lambda: "\0",
    "text": lambda: "text", "huge": lambda: 10**30,
}  # fmt: skip
TASK_PARAMETERS = [name for name in signature(Task.__init__).parameters if name not in ("self", "kwargs", "agent")]
RUN_PARAMETERS = [name for name in signature(Task.run_async).parameters if name not in ("self", "kwargs")]


def settle(run: Callable[[Any], Any]) -> None:
    """With each wrong value it comes to an end, or to an error of ours or pydantic's that says enough."""
    for name, value in WRONG.items():
        said = "it came to an end, whatever that was"
        try:
            run(value())
        except (TriviumError, ValidationError) as error:
            said = str(error)
        except BaseException as error:
            error.add_note(f"with {name}")
            raise
        assert len(said) > 20, name


@pytest.mark.parametrize("parameter", TASK_PARAMETERS)
def test_a_wrong_argument_of_a_task_is_told_or_does_no_harm(parameter: str):
    def run(wrong: Any) -> None:
        given: dict[str, Any] = {"interactive": False, parameter: wrong}
        agent = scripted("DONE x")
        agent.ask_user = lambda prompt: "q"
        task: Any = Task(agent, **given)
        task.run("go", turns=3)

    settle(run)


@pytest.mark.parametrize("parameter", TaskConfig.model_fields)
def test_a_wrong_value_of_a_config_is_told_or_does_no_harm(
    parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)

    def run(wrong: Any) -> None:
        config = TaskConfig(**{parameter: wrong})
        Task(scripted("hi"), interactive=False, config=config).run("go", turns=2)

    settle(run)


@pytest.mark.parametrize("parameter", [*RUN_PARAMETERS, "timeout", "limits", "listeners", "context"])
def test_a_wrong_argument_of_run_is_told_or_does_no_harm(parameter: str):
    def run(wrong: Any) -> None:
        task: Any = Task(scripted("hi"), interactive=False)
        task.run(**{"msg": "go", "turns": 2, parameter: wrong})

    settle(run)


@pytest.mark.parametrize(
    ("options", "name"),
    [({"timeout": "5"}, "timeout"), ({"limits": 5}, "limits"), ({"listeners": print}, "listeners"),
     ({"listeners": [5]}, "listeners"), ({"listeners": [told]}, "listeners"),
     ({"turns": "3"}, "turns"), ({"caller": 3}, "caller")],
)  # fmt: skip
def test_an_option_of_a_call_of_the_wrong_kind_is_told_by_name(options: dict[str, Any], name: str):
    task = Task(scripted("DONE"), interactive=False)
    for run in (task.run, task):
        with pytest.raises(ArgumentTypeError, match=f"as {name}"):
            run("go", **options)


@pytest.mark.shows("TaskConfig.inf_loop_cycle_len", "TaskConfig.inf_loop_wait_factor")
@pytest.mark.parametrize("name", ["inf_loop_cycle_len", "inf_loop_wait_factor"])
@pytest.mark.parametrize("wrong", [-1, 10**30])
def test_a_loop_that_cannot_be_is_refused_when_the_config_is_made(name: str, wrong: int):
    options: dict[str, Any] = {name: wrong}
    with pytest.raises(ValidationError, match=name):
        TaskConfig(**options)


@pytest.mark.shows("TaskConfig.logs_dir")
@pytest.mark.parametrize("folder", ["a\0b", "\ud800"])
def test_a_log_folder_that_cannot_be_is_a_warning_and_the_run_goes_on(folder: str, caplog: pytest.LogCaptureFixture):
    task = Task(scripted("DONE ok"), interactive=False, config=TaskConfig(logs_dir=folder))
    with caplog.at_level(logging.WARNING):
        assert content(task.run("go")) == "ok"
    assert "choose another logs_dir" in caplog.text


@pytest.mark.shows("Task.run(max_tokens)", "Task.run(max_cost)")
def test_a_limit_below_zero_is_none_as_with_turns():
    result = Task(scripted("DONE ok"), interactive=False).run("go", turns=-1, max_tokens=-1, max_cost=-1)
    assert (content(result), result and result.status) == ("ok", StatusCode.DONE)


def test_a_limit_of_the_call_counts_where_run_has_none():
    result = Task(scripted("DONE ok"), interactive=False).run("go", max_tokens=-1, limits=Limits(tokens=1))
    assert result is not None
    assert result.status is StatusCode.MAX_TOKENS


@pytest.mark.shows("TaskConfig")
@pytest.mark.parametrize("name", ["inf_loop_cycle_length", "logs_folder", "", "\0", "model_config"])
def test_a_config_with_unknown_fields_is_refused(name: str):
    with pytest.raises(ArgumentTypeError, match="TaskConfig takes no") as caught:
        TaskConfig(**cast("dict[str, Any]", {name: 1}))
    assert caught.value.argument == name


@pytest.mark.shows("Task")
def test_an_unknown_keyword_of_a_task_is_told_with_the_nearest_name():
    with pytest.raises(ConfigurationError, match="did you mean interactive"):
        Task(scripted("x"), interactiv=False)


def test_nothing_that_a_model_said_is_lost_where_the_run_ends_early():
    said = json.dumps({"kept": "x" * 100})
    task = Task(scripted(said), interactive=False)
    assert task.run("go") is None
    assert task.pending_message is not None
    assert task.pending_message.content == said
    assert task.pending_message.entity is Entity.LLM


@pytest.mark.shows("Task.add_sub_task")
@pytest.mark.parametrize(
    ("given", "said"), [((Task(scripted("x")), 3), "config is a TaskConfig"), (scripted("x"), "write Task")]
)
def test_what_is_no_sub_task_is_told(given: Any, said: str):
    task = Task(scripted("x"))
    with pytest.raises(ConfigurationError, match=said):
        task.add_sub_task(given)
    assert task.sub_tasks == []


def test_a_task_is_never_below_itself():
    above, below = Task(scripted("x"), name="Above"), Task(scripted("x"), name="Below")
    above.add_sub_task(below)
    for task in (above, below):
        with pytest.raises(ConfigurationError, match=f"Below would be below itself as a sub-task of {task.name}"):
            below.add_sub_task([task])
    assert below.sub_tasks == []
    below.sub_tasks.append(above)  # behind the back of `add_sub_task`
    with pytest.raises(ConfigurationError, match="would be below itself"):
        above.run("hello")
    alone = Task(scripted("x"), name="Alone")
    alone.non_human_responders = [alone]
    with pytest.raises(ConfigurationError, match="Alone would be below itself as a sub-task of Alone"):
        alone.run("hello")


def test_two_sub_tasks_of_one_name_are_told():
    task, same = Task(scripted("x"), name="Above"), [Task(scripted("x"), name="Same") for _ in range(3)]
    with pytest.warns(UserWarning, match="two sub-tasks of Above are called Same: what is for Same reaches the first"):
        task.add_sub_task(same[:2])
    with pytest.warns(UserWarning, match="give each a name"):
        task.add_sub_task(same[2])
    assert task.sub_tasks == same


@pytest.mark.shows("Task.clone", "weak point 7")
def test_a_clone_has_a_config_of_its_own():
    task = Task(scripted("x"), config=TaskConfig(addressing_prefix="@"))
    clone = task.clone(1)
    clone.config.addressing_prefix = "#"
    assert (task.config.addressing_prefix, task.config_sub_task.addressing_prefix) == ("@", "@")


BATCHSIZE: Any = {"batchsize": 2}
OBJECT: Any = Move(number=3)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: mover("x").run("go", max_turns=4), r"^Task\.run takes no max_turns: did you mean turns\?"),
        (
            lambda: run_batch_tasks(mover("x"), ["1"], **BATCHSIZE),
            "a batch takes no batchsize: did you mean batch_size",
        ),
        (
            lambda: scripted().enable_message(OBJECT),
            r"^Move\(.*\) is no ToolMessage class: give the class itself",
        ),
    ],
    ids=["run", "a batch", "a tool message"],
)
def test_what_is_nearly_right_is_told_what_is_right(run: Callable[[], Any], text: str):
    with pytest.raises(ArgumentTypeError, match=text):
        run()
