"""The output of a typed agent is of its type, or reading it raises an error with the answer and the reason."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field

from _letters import Question, Refund
from trivium import Agent, AsyncAgent, ChatAgent, ChatAgentConfig, Message, Task, ToolMessage
from trivium.actions._strict import strict_schema
from trivium.agents import ReAct, Sequential, StreamingAgent
from trivium.exceptions import AnswerFormatError, MalformedAnswerError, ToolDefinitionError
from trivium.hooks import Hook
from trivium.llms import Finish
from trivium.llms.wire._closed_schema import OPENAI_FORMATS, closed_schema
from trivium.testing import ScriptedModel, call_tool


class City(BaseModel):
    name: str


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


CALL = call_tool("square", number=3)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


Letter = Annotated[Refund | Question, Field(discriminator="kind")]


CLOSED = partial(closed_schema, formats=OPENAI_FORMATS)


@pytest.mark.parametrize("wire", [dict, CLOSED, strict_schema], ids=["plain", "closed", "strict"])
@pytest.mark.parametrize(
    "kind",
    [list[City], City | None, Refund | Question, Letter, dict[str, City], list[Letter], Tree, list[Tree]],
    ids=str,
)
def test_a_schema_holds_what_it_refers_to(kind: Any, wire: Callable[[Any], Any]):
    model = ScriptedModel(["{}"])
    with suppress(AnswerFormatError):
        Agent[kind](model, repairs=0)("x")
    try:
        schema: Any = wire(model.requests[0].output_schema)
    except ToolDefinitionError:
        schema = None
    assert schema or kind in (Tree, list[Tree], dict[str, City]), "no decoder can hold answers to those"
    if schema:
        names = re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(schema))
        assert {*names} <= schema.get("$defs", {}).keys()
        assert schema["type"] == "object"


def left(kind: Any = City, agent: Callable[..., Any] = ChatAgent, **options: Any) -> Any:
    """Return an agent whose model calls a tool that is left to a task."""
    made: Any = cast("Any", agent)[kind](ScriptedModel([CALL, '{"name": "Rome"}']), **options)
    made.enable_message(Square)
    return made


def streamed(agent: Any) -> Message:
    with agent.stream("x") as events:
        list(events)
    return events.result


WAYS: dict[str, Callable[[], Message]] = {
    "call": lambda: left()("x"),
    "agent": lambda: left(agent=Agent)("x"),
    "acall": lambda: asyncio.run(left().acall("x")),
    "async agent": lambda: asyncio.run(left(agent=AsyncAgent)("x")),
    "stream": lambda: streamed(left()),
    "streaming agent": lambda: list(left(agent=StreamingAgent)("x"))[-1],
    "session": lambda: left()("x", session_id="ada"),
    "responder": lambda: left().llm_response("x"),
    "type given later": lambda: left(kind=int)[City]("x"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_is_left_to_a_task_is_no_value(way: str):
    answer = WAYS[way]()
    assert [each.name for each in answer.tool_calls] == ["square"]
    with pytest.raises(AnswerFormatError, match=r"City.*it calls square, which is left to a task"):
        _ = answer.output


def test_what_a_call_states_is_no_value_of_the_answer():
    with pytest.raises(AnswerFormatError, match=r"int.*it calls square, which is left to a task"):
        _ = left(kind=int)("x").output


def test_a_call_that_is_written_as_text_is_left_too():
    text = '{"request": "square", "number": 3}'
    agent = ChatAgent[City](ChatAgentConfig(llm=ScriptedModel([text]), use_tools=True))
    agent.enable_message(Square)
    with pytest.raises(AnswerFormatError, match="it calls square") as raised:
        _ = agent("x").output
    assert raised.value.raw == text


def test_a_call_of_the_type_is_the_value():
    agent = ChatAgent[Square](ScriptedModel([CALL]))
    assert agent("x").output.number == 3


def test_in_a_task_the_call_runs_and_the_value_comes():
    task = Task[City](left(), interactive=False, single_round=False)
    assert task.run("x", turns=3) == City(name="Rome")


def test_a_sub_agent_without_a_value_is_an_error_that_the_model_reads():
    model = ScriptedModel([call_tool("Sub", message="x"), "sorry"])
    assert Agent(model, tools=[left(name="Sub")])("x").content == "sorry"
    assert "left to a task" in model.requests[-1].messages[-1]["content"]


class Says(Agent[City]):
    """Has a forward of its own."""

    def __init__(self, said: Any) -> None:
        super().__init__()
        self.said = said

    def forward(self, *message: Message, **_: Any) -> Any:  # type: ignore[override]
        return self.said


@pytest.mark.parametrize("said", ["Rome", Message(content="x").replace(output=3), 3, None, {"people": 3}])
def test_what_a_forward_of_ones_own_says_has_the_type_or_is_an_error(said: Any):
    with pytest.raises(AnswerFormatError, match=r"Says has no value of the type .*City.*it states none"):
        _ = Says(said)("x").output


@pytest.mark.parametrize("said", ['{"name": "Rome"}', City(name="Rome"), Message().replace(output=City(name="Rome"))])
def test_what_has_the_type_is_the_value(said: Any):
    assert Says(said)("x").output == City(name="Rome")


def test_a_hook_that_answers_with_another_message_does_not_hide_it():
    class Replace(Hook):
        def after_agent(self, agent: Any, message: Message, session_id: Any = 0) -> Message:
            return Message(content="something else")

    agent = Agent[City](ScriptedModel(['{"name": "Rome"}']), hooks=Replace())
    with pytest.raises(AnswerFormatError):
        _ = agent("x").output


def test_containers_check_what_their_last_agent_says():
    def both(last: str) -> Any:
        return cast("Any", Sequential)[int](Agent(ScriptedModel(["x"])), Agent(ScriptedModel([last])))

    assert both("42")("x").output == 42
    with pytest.raises(AnswerFormatError):
        _ = both("many")("x").output
    react = cast("Any", ReAct)[int](ScriptedModel(['{"thought_process": "", "conclusion": "many"}']), [add])
    with pytest.raises(AnswerFormatError):
        _ = react("x").output


def test_an_answer_without_a_value_can_be_copied_and_remembered():
    agent = left()
    answer = agent("x")
    copied = answer.copy(deep=True)
    with pytest.raises(AnswerFormatError, match="left to a task"):
        _ = copied.output
    assert agent("go on").output == City(name="Rome")


def test_the_model_and_the_error_are_told_the_schema_of_the_answer():
    model = ScriptedModel(["angry"])
    schema = '{"type": "object", "properties": {"value": {"enum": ["glad", "angry"]'
    with pytest.raises(AnswerFormatError, match=re.escape(schema)):
        Agent[Literal["glad", "angry"]](model)("My kettle came broken!")
    assert schema in str(model.requests[-1].messages[-1]["content"])


@pytest.mark.parametrize("kind", [City, dict[str, str], list[City]])
def test_an_answer_with_a_key_twice_is_repaired(kind: Any):
    double = '{"name": "Rome", "name": "Paris"}'
    value = '{"value": [%s]}' if kind == list[City] else "%s"
    model = ScriptedModel([value % double, value % '{"name": "Rome"}'])
    output = Agent[kind](model)("Which city?").output
    assert output in (City(name="Rome"), {"name": "Rome"}, [City(name="Rome")])
    assert "a key stands twice in one object: name, name" in model.requests[-1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("kind", "wrong", "told"),
    [
        (int, "true", "true stands where a number is asked for"),
        (list[float | None], "[1.5, false]", "false stands where a number is asked for"),
        (float, "NaN", "NaN is no number in JSON"),
        (float, "-Infinity", "-Infinity is no number in JSON"),
        (float, "1e999", "1e999 is no number in JSON"),
    ],
)
def test_a_boolean_or_what_json_does_not_know_is_no_number(kind: Any, wrong: str, told: str):
    right = "[2]" if kind is not int and kind is not float else "2"
    model = ScriptedModel([f'{{"value": {wrong}}}', f'{{"value": {right}}}'])
    seen: list[str] = []
    assert Agent[kind](model)("How many?", listeners=[lambda event: seen.append(event.kind)]).output in (2, [2])
    assert told in model.requests[-1].messages[-1]["content"]
    assert seen.count("retried") == 1
    assert seen.index("ended") < seen.index("retried") < len(seen) - 1 - seen[::-1].index("started")


@pytest.mark.parametrize(("kind", "text"), [(bool, "1"), (bool, "true"), (int | bool, "true"), (int, '"1"')])
def test_what_pydantic_reads_as_one_is_one_elsewhere(kind: Any, text: str):
    assert Agent[kind](ScriptedModel([f'{{"value": {text}}}']))("Is it?").output == 1


@pytest.mark.parametrize("number", ["12345678901234567.89", "1.10", "0.10000000000000000001", "5", "-1.5E+3"])
def test_a_decimal_is_exact_as_the_model_writes_it(number: str):
    assert str(Agent[Decimal](ScriptedModel([f'{{"value": {number}}}']))("What is it?").output) == number
    prices = Agent[dict[str, Decimal]](ScriptedModel([f'{{"price": {number}}}']))("What does it cost?").output
    assert {name: str(each) for name, each in prices.items()} == {"price": number}
    found = Agent[float | int](ScriptedModel([f'{{"value": {number}}}']))("What does it cost?").output
    assert type(found) in (float, int)
    assert found == float(number)


def test_any_iterable_is_a_checked_list():
    for kind, value in (
        (Iterable[int], "[1]"),
        (Iterable[Iterable[int]], "[[1]]"),
        (dict[str, Iterable[int]], '{"k": [1]}'),
    ):
        agent = Agent(ScriptedModel([value, value.replace("1", '"a"')]), output_format=kind, repairs=0)
        assert agent("x").output == json.loads(value)
        with pytest.raises(AnswerFormatError, match=r"and did not: the answer does not fit: .*a valid integer"):
            agent("x")


def test_numbers_of_no_type_are_those_of_json_and_can_be_saved():
    found = Agent[dict[str, Any]](ScriptedModel(['{"price": 1.10, "sum": 2.5}']))("What does it cost?").output
    assert json.dumps(found) == '{"price": 1.1, "sum": 2.5}'
    assert pickle.loads(pickle.dumps(found)) == copy.deepcopy(found) == found


@pytest.mark.parametrize(
    "text",
    [
        'Sure!\n```json\n{"name": "Rome"}\n```\nHope it helps.',
        'It is {"name": "Rome"}.',
        '<think>{"name": "Paris"}? No.</think>{"name": "Rome"}',
        'Perhaps {"name": "Paris"}.\n</think>\n\n```json\n{"name": "Rome"}\n```',
        '\ufeff{"name": "Rome"}',
        '```\n{"name": "Rome"}\n```',
    ],
)
def test_an_answer_is_found_among_words_and_behind_thoughts(text: str):
    model = ScriptedModel([text])
    assert Agent[City](model)("Which city?").output == City(name="Rome")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Rome"}\n{"name": "Paris"}',
        'Either {"name": "Rome"} or {"name": "Paris"}.',
        'These: [{"name": "Rome"}]',
        '"city": {"name": "Rome"}}',
        'Either {"name": "Rome"} or [Paris].',
        'It is {"name": "Rome", "name": "Paris"}.',
        '<think>{"name": "Rome"}',
        '<think>{"name": "Rome"}</think>Rome',
    ],
)
def test_what_may_be_one_of_several_or_a_part_is_no_answer(text: str):
    model = ScriptedModel([text, '{"name": "Oslo"}'])
    assert Agent[City](model)("Which city?").output == City(name="Oslo")
    assert "the answer is not the JSON that was asked for" in str(model.requests[-1].messages[-1]["content"])


def test_what_is_read_again_has_a_dict_in_the_place_of_the_value():
    answer = Agent[City](ScriptedModel(['{"name": "Rome"}']))("Which city?")
    read = Message.model_validate(answer.model_dump())
    assert read.output == {"name": "Rome"}
    assert City.model_validate(read.output) == answer.output


def test_an_answer_that_was_cut_off_says_so():
    cut = ['{"name": "Ro', Finish("length")]
    with pytest.raises(AnswerFormatError, match="was cut off by max_tokens or the window: allow more") as told:
        Agent[City](ScriptedModel([cut, cut, cut]))("Which city?")
    assert "stronger model" not in str(told.value)


def test_a_model_that_refuses_is_not_asked_again_for_a_value():
    model = ScriptedModel([["I cannot help with that.", Finish("content_filter")]])
    with pytest.raises(AnswerFormatError, match=r"was refused by the model.*another model. It begins with 'I") as told:
        Agent[City](model)("Which city?")
    assert (told.value.raw, len(model.requests)) == ("I cannot help with that.", 1)


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("length", "the answer was cut off by max_tokens or the window: "),
        ("content_filter", "the answer was refused by the model or stopped by a filter: "),
        ("stop", ""),
    ],
)
def test_a_text_that_did_not_come_to_its_end_says_why(reason: str, why: str):
    said = Agent(ScriptedModel([["half an ans", Finish(reason)]]))("hi").why
    assert said.startswith(why)
    assert bool(said) == bool(why)
    with pytest.raises(MalformedAnswerError) as empty:
        Agent(ScriptedModel([["", Finish(reason)]]))("hi")
    assert str(empty.value).endswith(f"(it stopped with '{reason}'); {said or 'ask again or raise max_tokens'}")
