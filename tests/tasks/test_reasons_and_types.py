"""A run without success says why; a typed run gives a value of its type, or raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from pydantic import BaseModel

from trivium import ChatAgent, DoneTool, Entity, Message, Module, StatusCode, Task, ToolMessage, run_batch_tasks
from trivium.exceptions import AnswerFormatError
from trivium.testing import ScriptedModel, call_tool

from ._helpers import agent, task


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int


def calling(name: str, *, handle: bool = True) -> Task:
    caller = agent(*[f'{{"request": "{name}", "number": 3}}'] * 60)
    caller.enable_message(Square, handle=handle)
    caller.config.use_tools = True
    return Task(caller, interactive=False)


# ---- why
def test_a_stalled_run_names_what_each_responder_did():
    run = task("hello")
    result = run("go")
    assert result.status is StatusCode.STALLED
    for part in (
        "nobody answered in 5 steps",
        "the user is not asked (interactive=False)",
        "the model gave the message",
    ):
        assert part in result.why
    assert run.run("go") is None
    assert run.why == result.why


def test_a_stalled_run_recommends_what_would_end_it():
    run, once = task("hello"), task("hello", single_round=True)
    assert run.run("go") is None
    assert "single_round=True" in run.why
    assert once.run("go", turns=8) is None
    assert "single_round=True ends a run only without run(turns=…)" in once.why
    assert once("go").content == "hello"


def test_a_call_of_an_unknown_tool_is_the_reason():
    run = calling("cube")
    with pytest.raises(AnswerFormatError, match="there is no tool 'cube'; there are square"):
        run.run("go")
    assert len(run.agent.llm.requests) == 3


def test_a_tool_message_without_a_handler_is_named_by_the_error():
    run = calling("square")
    with pytest.raises(AnswerFormatError, match=r"nothing handles square: write `def square\(self, message\)`"):
        run.run("go")
    assert len(run.agent.llm.requests) == 3


def test_a_tool_message_that_nobody_handles_is_named_by_the_reason():
    run = calling("square", handle=False)
    assert run.run("go") is None
    assert "A handles no square: enable it with handle=True, or add a sub-task that has it" in run.why
    assert len(run.agent.llm.requests) == 1


def test_a_model_that_was_not_asked_is_not_said_to_have_no_response():
    run = task("hello")
    why = run("").why
    assert run.agent.llm.requests == []
    assert "the message is empty" in why
    assert "no response" not in why


def test_a_sub_task_that_stalled_gives_its_own_reason():
    run = task("a question")
    run.add_sub_task(task("hm", name="Sub"))
    why = run("go").why
    assert "the sub-task Sub had no response (nobody answered" in why


def test_a_sub_task_without_a_result_is_not_asked_again():
    run, below = task("a question"), task("hm", name="Sub")
    run.add_sub_task(below)
    assert run.run("go") is None
    assert [len(each.agent.llm.requests) for each in (run, below)] == [1, 1]


def test_limits_turns_kills_and_foreign_messages_are_reasons_too():
    assert (
        "not done after 3 turns"
        in task("a", "b", default_human_response="on", only_user_quits_root=False)("go", turns=3).why
    )
    assert task("x")(Message(content="hi", receiver="Bob")).why == "the message is for Bob, and this task is A"

    class Killing(ChatAgent):
        def agent_response(self, msg: Any = None) -> Any:
            killed.kill()

    killed = Task(agent(kind=Killing), interactive=False)
    assert "Task.kill()" in killed("go").why


@pytest.mark.parametrize("options", [{}, {"single_round": True}])
def test_a_success_has_no_reason(options: dict[str, Any]):
    run = task("DONE 42", **options)
    result = run("go")
    assert (result.content, result.why, run.why) == ("42", "", "")


def test_a_run_that_is_stopped_before_it_begins_says_so_on_the_task_too():
    run = task("x", "x")
    result = run("go", timeout=1e-9)
    assert result.status is StatusCode.TIMEOUT
    assert run.why == result.why != ""


def test_of_runs_at_once_each_answer_has_its_own_reason():
    said = ScriptedModel(lambda request: "DONE ok" if "good" in str(request.messages) else "hm")
    run = Task(ChatAgent(said), interactive=False)

    async def both() -> list[str]:
        calls = [run.acall(each, session_id=each) for each in ("bad", "good", "bad again")]
        return [answer.why[:16] for answer in await asyncio.gather(*calls)]

    assert asyncio.run(both()) == ["nobody answered ", "", "nobody answered "]


def test_a_model_that_does_not_know_is_the_reason():
    assert "the model does not know the answer" in task("DO-NOT-KNOW")("go").why


def test_the_reason_for_a_none_of_a_batch_is_logged(caplog: pytest.LogCaptureFixture):
    assert run_batch_tasks(task("hm"), ["a"]) == [None]
    assert "A has no result: nobody answered in 5 steps" in caplog.text


# ---- types
def typed(*answers: Any, kind: Any = int) -> Any:
    return Task[kind](agent(*answers), interactive=False)


def test_a_typed_task_gives_values():
    assert typed("DONE 42").run("6 * 7?") == 42
    assert asyncio.run(typed("DONE 42").run_async("6 * 7?")) == 42
    assert isinstance(typed("DONE 42"), Task)


def test_a_subclass_may_fix_the_type():
    class Counting(Task[int]): ...

    assert Counting(agent("DONE 42"), interactive=False).run("6 * 7?") == 42


def test_the_model_is_asked_to_state_a_value_that_does_not_fit():
    assert typed("DONE forty-two", '{"value": 42}').run("6 * 7?") == 42


def test_a_value_that_never_fits_is_an_error_with_the_last_text():
    with pytest.raises(AnswerFormatError) as caught:
        typed("DONE forty-two", "no", "never", "not at all").run("6 * 7?")
    assert caught.value.raw == "not at all"


@pytest.mark.parametrize(
    ("options", "turns", "why"),
    [
        ({"default_human_response": "quit"}, -1, "'quit' states none"),
        ({"default_human_response": "go on"}, 2, "not done after 2 turns"),
        ({"interactive": False}, 2, "not done after 2 turns"),
    ],
    ids=["the user quits", "the default response", "the agent's guidance"],
)
def test_what_is_no_answer_is_not_restated_as_a_value(options: dict[str, Any], turns: int, why: str):
    asked = agent("hm", '{"value": 99}')
    asked.config.handle_llm_no_tool = "You must call the tool."
    with pytest.raises(AnswerFormatError, match=why):
        Task(asked, **options)[int].run("What is the square of 12?", turns=turns)
    assert asked.llm.requests[1:] == []


@pytest.mark.parametrize(("said", "turns"), [("DONE forty-two", -1), ("forty-two", 2)])
def test_what_a_user_answers_in_words_is_restated(said: str, turns: int):
    asked = agent("how many?", '{"value": 42}')
    asked.ask_user = lambda _: said
    assert Task(asked)[int].run("go", turns=turns) == 42


@pytest.mark.parametrize(("result", "value"), [("it is 21 degrees", 21), ("error: no such city", None)])
def test_what_a_tool_answers_in_words_is_restated_but_not_its_error(result: str, value: int | None):
    class Weather(ToolMessage):
        request: str = "weather"
        purpose: str = "To look at the sky."

        def handle(self) -> str:
            return result

    asked = agent(call_tool("weather"), '{"value": 21}')
    asked.enable_message(Weather)
    with nullcontext() if value else pytest.raises(AnswerFormatError, match="not done after 2 turns"):
        assert Task(asked, interactive=False)[int].run("go", turns=2) == value
    assert len(asked.llm.requests) == (2 if value else 1)


def test_what_a_model_says_in_its_last_turn_is_restated():
    assert typed("forty-two", '{"value": 42}').run("6 * 7?", turns=1) == 42


def test_a_typed_run_without_a_result_raises_with_the_reason():
    with pytest.raises(AnswerFormatError, match=r"no result of the type.*nobody answered in 5 steps") as caught:
        typed("hello").run("go")
    assert caught.value.raw == "hello"


# ---- overrides
@pytest.mark.parametrize("turns", [-1, 1])
def test_a_result_method_that_gives_none_gives_none_and_its_text_is_the_tasks(turns: int):
    class Choosing(Task):
        def result(self, status: StatusCode | None = None) -> Any:
            found = super().result(status)
            return found and (None if "bad" in found.content else found.content.upper())

    made = [Choosing(agent(f"DONE {text}"), name="Chooser", interactive=False) for text in ("bad", "good")]
    assert made[0].run("go", turns=turns) is None
    assert made[0].why == "Choosing.result gave None"
    result = made[1].run("go", turns=turns)
    assert result is not None
    assert (result.content, result.sender, result.status) == ("GOOD", "Chooser", StatusCode.DONE)


def test_a_log_message_in_the_documented_form_is_called_for_all_responders():
    seen: list[tuple[str, str | None, bool]] = []

    class Logging(Task):
        def log_message(self, resp: Any, msg: Message | None = None, mark: bool = False) -> None:  # type: ignore[override]  # pyright: ignore
            seen.append((str(resp), None if msg is None else msg.content, mark))
            super().log_message(resp, msg, mark)

    Logging(agent("DONE 42"), interactive=False).run("go")
    assert seen == [("User", None, False), ("Agent", None, False), ("LLM", "DONE 42", True)]


def test_a_task_knows_the_run_of_its_own_below_another():
    inner = task("DONE 1", name="inner")
    depths: list[Any] = []

    class Looking(ChatAgent):
        def agent_response(self, msg: Any = None) -> Any:
            depths.append((outer.caller, outer.pending_sender, inner.pending_message))

    outer = Task(ChatAgent(ScriptedModel(["ask", "DONE 2"]), name="outer"), interactive=False)
    inner.agent = agent("DONE 1", name="inner", kind=Looking)
    outer.add_sub_task(inner)
    outer.run("go")
    caller, sender, pending = depths[0]
    assert (caller, sender) == (None, Entity.LLM)
    assert pending is not None
    assert pending.content == "ask"


# ---- the call of a typed task: its output is of the type, or raises
class City(BaseModel):
    name: str


def done_with(text: str) -> ChatAgent:
    ended = agent(call_tool("done_tool", content=text))
    ended.enable_message(DoneTool)
    return ended


def streamed(run: Task[Any]) -> Message:
    with run.stream("go") as events:
        list(events)
    return events.result


async def opened(run: Task[Any]) -> Message:
    async with run.open("go") as events:
        _ = [event async for event in events]
    return events.result


class Holder(Module):
    def __init__(self, run: Task[Any]) -> None:
        super().__init__()
        self.run = run

    def forward(self, message: Message) -> Message:
        return self.run(message)


def killing(event: Any) -> None:
    if event.kind == "delta":
        event.node.ancestor_chain[-1].kill("enough")


class Guide(Task[City]):
    """A task of a type by its base."""


CALLS: dict[str, Callable[[Task[Any]], Message]] = {
    "call": lambda run: run("go"),
    "acall": lambda run: asyncio.run(run.acall("go")),
    "stream": streamed,
    "open": lambda run: asyncio.run(opened(run)),
    "module": lambda run: Holder(run)("go"),
    "subclass": lambda run: Guide(run.agent, interactive=False)("go"),
    "return_type": lambda run: Task(run.agent, interactive=False)("go", return_type=City),
    "typed agent": lambda run: Task(run.agent[City], interactive=False)("go"),
}
NO_VALUE: dict[str, tuple[Callable[[], ChatAgent], dict[str, Any], str]] = {
    "stalled": (lambda: agent("hm"), {}, "nobody answered in 5 steps"),
    "done without it": (lambda: done_with("no city"), {}, "'no city' states none"),
    "out of time": (lambda: agent("DONE hm"), {"timeout": 1e-9}, "timeout"),
    "killed": (lambda: agent("DONE hm"), {"listeners": [killing]}, "enough"),
}


@pytest.mark.parametrize("way", CALLS)
def test_a_call_of_a_typed_task_gives_a_value_or_an_error(way: str):
    good = typed('DONE {"name": "Rome"}' if way != "typed agent" else '{"name": "Rome"}', kind=City)
    assert CALLS[way](good).output == City(name="Rome")
    with pytest.raises(AnswerFormatError, match=r"City"):
        _ = CALLS[way](typed("hm", kind=City)).output


@pytest.mark.parametrize("case", NO_VALUE)
def test_a_typed_run_without_a_value_says_why_wherever_it_is_read(case: str):
    make, options, why = NO_VALUE[case]
    for kind in (City, str) if case != "done without it" else (City,):
        answer = Task[kind](make(), interactive=False)("go", **options)
        with pytest.raises(AnswerFormatError, match=rf"A has no result of the type {kind.__name__}: .*{why}"):
            _ = answer.output
        with pytest.raises(AnswerFormatError, match=why):
            Task[kind](make(), interactive=False).run("go", **options)


def test_a_task_of_a_typed_agent_ends_with_a_value_of_its_type():
    result = Task(ChatAgent[City](ScriptedModel(['{"name": "Rome"}'])), interactive=False)("go")
    assert (result.output, result.status, result.why) == (City(name="Rome"), StatusCode.DONE, "")
    above = task("a question", "DONE", name="Above")
    above.add_sub_task(Task(ChatAgent[City](ScriptedModel(['{"name": "Rome"}']), name="Sub"), interactive=False))
    assert above("go").status is not StatusCode.STALLED
