"""The options of tools: how they are given to functions, actions and tool messages, and what retries do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from trivium import Agent, ChatAgent, Limits, Tool, ToolMessage
from trivium.actions import (
    ActionExecutor,
    AsyncActionMixin,
    BaseAction,
    ToolRetryEvent,
    dual,
    tool,
    tool_api,
)
from trivium.commander import Event, run_sync
from trivium.exceptions import RetryableToolError, ToolDefinitionError
from trivium.schema import ActionReturn, ActionStatusCode, Message, Origin, ToolCall, ToolSpec
from trivium.testing import ScriptedModel, call_tool
from trivium.utils.tool import ToolMetadata

Run = Callable[[ActionExecutor, str], Message]


def in_sync(executor: ActionExecutor, name: str) -> Message:
    return run_sync(executor.answer, ToolCall("id-1", name, "{}"))


def in_async(executor: ActionExecutor, name: str) -> Message:
    return asyncio.run(executor.answer(ToolCall("id-1", name, "{}")))


both = pytest.mark.parametrize("answer", [in_sync, in_async])


class Failing:
    """Fails so often, then answers."""

    def __init__(self, times: int, error: Exception) -> None:
        self.left, self.error, self.calls = times, error, 0

    def work(self) -> str:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return "done"

    async def work_async(self) -> str:
        return self.work()


def soon(after: float = 0.0) -> RetryableToolError:
    return RetryableToolError("busy", after=after)


# ---- how options are given
def test_a_function_an_api_and_a_tool_message_take_the_same_options():
    @tool(timeout=3, retries=2, needs_approval=True, effect="idempotent", max_result=9, sequential=True)
    def send(text: str) -> str:
        return text

    class Post(BaseAction):
        @tool_api(timeout=3, retries=2, needs_approval=True, effect="idempotent", max_result=9, sequential=True)
        def send(self, text: str) -> str:
            return text

    class Send(ToolMessage):
        request: str = "send"
        purpose: str = "To send a <text>."
        text: str
        _timeout = 3
        _retries = 2
        _needs_approval = True
        _effect = "idempotent"

    def options(each: Tool) -> list[Any]:
        return [each.timeout, each.retries, each.needs_approval, each.effect]

    def read(arguments: Any) -> dict[str, Any]:
        return {}

    made = Send.as_tool(str, read)
    assert options(made) == [3, 2, True, "idempotent"]
    for each in (Tool.of(send), *Post().tools(), ToolMetadata.of(send), *ActionExecutor([send]).tools.values()):
        assert [*options(each), each.max_result, each.sequential] == [3, 2, True, "idempotent", 9, True]
    assert send("x") == "x"


def test_options_hold_for_a_bound_method_and_for_an_action_in_both_forms():
    class Desk:
        @tool(effect="read")
        def look(self, at: int) -> int:
            "Look."
            return at

    class Find(BaseAction):
        @tool(effect="read", description="Find it.")
        async def run(self, what: str) -> str:
            return what

    class Both(BaseAction):
        @dual
        @tool_api(effect="read")
        async def run(self, what: str) -> str:
            return what

    class AsyncBoth(AsyncActionMixin, Both):
        pass

    bound = Tool.of(Desk().look)
    assert (bound.effect, bound.call(at=3), Find().tool().spec.description) == ("read", 3, "Find it.")
    assert [each.tool().effect for each in (Find(), Both(), AsyncBoth())] == ["read"] * 3


def test_options_that_contradict_each_other_or_are_none_are_refused_where_they_are_written():
    def pay(amount: int) -> None: ...

    wrong: list[dict[str, Any]] = [{"retries": 1, "effect": "once"}, {"effect": "twice"}, {"tries": 3}]
    for options in wrong:
        with pytest.raises(ToolDefinitionError):
            tool(**options)(pay)
    with pytest.raises(ToolDefinitionError):
        Tool.of(lambda: 1).replace(retries=1).replace(effect="once")
    with pytest.raises(ToolDefinitionError):
        tool_api(tries=3)(pay)


def test_refused_options_leave_no_trace_and_later_ones_replace_the_earlier():
    def pay(amount: int) -> int:
        return amount

    with pytest.raises(ToolDefinitionError):
        tool(timeout=-1)(pay)
    assert Tool.of(pay).timeout is None
    assert Tool.of(tool(timeout=5, effect="read")(pay)).timeout == 5
    again = Tool.of(tool(retries=2)(pay))
    assert (again.timeout, again.effect, again.retries) == (None, None, 2)
    assert Tool.of(tool(pay)).retries == 2, "without options it stays as it is"


# ---- retries
@both
@pytest.mark.parametrize("form", ["work", "work_async"])
@pytest.mark.parametrize("error", [soon(), ConnectionResetError("reset")])
def test_what_may_go_away_is_tried_again_and_reported(
    answer: Run, form: str, error: Exception, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("trivium.actions._run._FIRST_WAIT", 0.0)
    failing, heard = Failing(2, error), list[Event[Any]]()
    agent = Agent(
        ScriptedModel([call_tool("work"), "ok"]),
        tools=[Tool.of(getattr(failing, form)).replace(name="work", retries=2)],
    )
    assert answer(agent.executor, "work").content == "done"
    failing.left = 1
    agent("x", listeners=[heard.append])
    assert failing.calls == 5
    assert [event.data for event in heard if isinstance(event, ToolRetryEvent)] == [error]


@both
def test_after_the_last_retry_the_model_reads_the_error(answer: Run):
    failing = Failing(9, soon())
    out = answer(ActionExecutor(Tool.of(failing.work).replace(retries=2)), "work")
    assert (out.content, failing.calls) == ("error: busy", 3)


@both
def test_other_errors_and_tools_without_retries_are_called_once(answer: Run):
    for error, options in [(ValueError("no"), {"retries": 5}), (soon(), {}), (soon(), {"effect": "once"})]:
        failing = Failing(1, error)
        out = answer(ActionExecutor(Tool.of(failing.work).replace(**options)), "work")
        assert out.content == f"error: {error}"
        assert failing.calls == 1


def test_a_user_says_which_errors_another_try_may_mend():
    failing = Failing(1, KeyError("gone"))
    executor = ActionExecutor(Tool.of(failing.work).replace(retries=1, retry_on=(KeyError,)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trivium.actions._run._FIRST_WAIT", 0.0)
        assert in_sync(executor, "work").content == "done"


def test_a_try_gets_the_arguments_that_were_validated_whatever_the_last_did_to_them():
    seen: list[list[int]] = []

    def drain(numbers: list[int]) -> str:
        seen.append(list(numbers))
        numbers.clear()
        if len(seen) < 3:
            raise soon()
        return "done"

    executor = ActionExecutor(Tool.of(drain).replace(retries=2))
    assert run_sync(executor.answer, ToolCall("1", "drain", '{"numbers": [1, 2]}')).content == "done"
    assert seen == [[1, 2]] * 3


def test_a_call_with_retries_is_one_call_to_the_limits():
    failing = Failing(2, soon())
    model = ScriptedModel([call_tool("work"), "ok"])
    assert (
        Agent(model, tools=[Tool.of(failing.work).replace(retries=2)])("x", limits=Limits(tool_calls=1)).content == "ok"
    )


def test_a_tool_message_is_handled_again_where_it_has_retries():
    failing = Failing(1, soon())

    class Work(ToolMessage):
        request: str = "work"
        purpose: str = "To work."
        _retries = 1

        def handle(self) -> str:
            return failing.work()

    agent = ChatAgent(ScriptedModel(["x"]))
    agent.enable_message(Work)
    asked = Message(content="", tool_calls=(ToolCall("1", "work", "{}"),), origin=Origin.MODEL)
    answered = agent.agent_response(asked)
    assert answered is not None
    assert (answered.content, failing.calls) == ("done", 2)


# ---- outcomes
@both
@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_exits_the_program_is_a_tool_that_failed(answer: Run, is_async: bool):
    def leave() -> None:
        raise SystemExit(3)

    async def leave_async() -> None:
        leave()

    executor = ActionExecutor(Tool.of(leave_async if is_async else leave).replace(name="leave"))
    out = answer(executor, "leave")
    assert out.content == "error: the tool leave tried to end the program (exit status 3)"
    assert out.formatted.state is ActionStatusCode.API_ERROR


def test_a_tool_that_exits_the_program_in_a_lent_thread_is_a_tool_that_failed():
    def leave() -> None:
        raise SystemExit(3)

    class Runs(Agent):
        async def forward(self, *message: Message, **kwargs: Any) -> str:
            return str((await self.executor.answer(ToolCall("1", "leave", "{}"))).content)

    assert "exit status 3" in str(Runs(tools=[leave])("x").content)


@both
def test_ctrl_c_in_a_tool_ends_the_run(answer: Run):
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer(ActionExecutor(stop), "stop")


NAMES = ("quick", "function", "on_left", "core", "values", "node", "tool", "args", "kwargs")


@both
@pytest.mark.parametrize("options", [{}, {"timeout": 5}, {"retries": 1}, {"needs_approval": True}], ids=str)
def test_no_name_of_an_argument_means_something_on_the_way_to_the_tool(answer: Run, options: dict[str, Any]):
    def given(**received: Any) -> str:
        return ",".join(received)

    if "needs_approval" in options:

        def needs(**received: Any) -> bool:
            return tuple(received) != NAMES

        options = {"needs_approval": needs}
    tool = Tool(ToolSpec("given", "", {"type": "object"}), given, lambda _: dict.fromkeys(NAMES, 1), **options)
    assert answer(ActionExecutor([tool]), "given").formatted.format_result() == ",".join(NAMES)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0}, {"timeout": -1}, {"timeout": float("nan")}, {"timeout": float("inf")}, {"timeout": "5"},
        {"retries": -1}, {"retries": 1.5}, {"retries": "2"}, {"retry_on": ValueError}, {"retry_on": [ValueError]},
        {"retry_on": (int,)}, {"retry_on": (BaseException,)}, {"needs_approval": "yes"}, {"effect": "write"},
        {"max_result": 0}, {"max_result": "x"}, {"name": 5}, {"description": 5}, {"nope": 1},
    ],
    ids=str,
)  # fmt: skip
def test_an_option_that_no_tool_can_have_is_refused_where_it_is_written(options: dict[str, Any]):
    def work() -> None: ...

    with pytest.raises(ToolDefinitionError, match=next(iter(options))):
        tool(**options)(work)
    with pytest.raises(ToolDefinitionError):
        Tool.of(lambda: None).replace(**options)


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def nested() -> list[Any]:
    top = below = list[Any]()
    for _ in range(100_000):
        below.append(below := list[Any]())
    return top


@pytest.mark.parametrize(
    "made",
    [Mute, nested, lambda: 10**5000, lambda: ActionReturn(result=cast("Any", 5))],
    ids=["mute", "deep", "long", "odd"],
)  # fmt: skip
@both
def test_a_result_that_cannot_be_told_is_an_error_that_the_model_reads(made: Callable[[], Any], answer: Run):
    def work() -> Any:
        return made()

    returned = answer(ActionExecutor([work]), "work").formatted
    assert returned.state is ActionStatusCode.API_ERROR
    assert "work ran, but its result" in returned.errmsg


@both
def test_an_error_that_cannot_say_itself_is_reported_by_its_kind(answer: Run):
    def work() -> None:
        raise Mute

    assert answer(ActionExecutor([work]), "work").formatted.errmsg == "Mute"


def test_who_tells_whether_approval_is_wanted_finds_the_defaults():
    def is_much(amount: int, to: str) -> bool:
        return amount > 100 or to != "Ada"

    @tool(needs_approval=is_much)
    def pay(amount: int, to: str = "Ada") -> str:
        return f"paid {to}"

    def said(**given: Any) -> Any:
        agent = Agent(ScriptedModel([call_tool("pay", **given), "ok"]), tools=[pay])
        agent("Pay.")
        return agent.memory.get_memory()[-2].content

    assert said(amount=5) == "paid Ada"
    assert "not approved" in said(amount=5, to="Bob")
    assert "not approved" in said(amount=500)
