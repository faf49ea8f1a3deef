"""What a review of typed answers found: values belong to their run, and nothing fails in silence."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from trivium import Agent, ChatAgent, ChatAgentConfig, Message, Module, StatusCode, Task, ToolMessage
from trivium.agents._answer_format import AnswerFormat, values_in
from trivium.commander import Limits
from trivium.events import Event
from trivium.exceptions import (
    ConfigurationError,
    LimitExceededError,
    ToolDefinitionError,
    ToolFailedError,
)
from trivium.testing import ScriptedModel, call_tool


class City(BaseModel):
    name: str


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_a_value_is_stated_in_the_session_of_its_run():
    model = ScriptedModel(["DONE Ada's PIN is 1234", '{"name": "Ada"}', "DONE Bob here", '{"name": "Bob"}'])
    task = Task[City](ChatAgent(model), interactive=False)
    assert task.run("I am Ada", session_id="ada") == City(name="Ada")
    assert task.run("I am Bob", session_id="bob") == City(name="Bob")
    assert "Ada" not in str(model.requests[3].messages)


def test_to_state_a_value_is_within_the_limits_and_events_of_the_run():
    answers, names = ["DONE Rome", '{"name": "Rome"}'], list[str]()
    with pytest.raises(LimitExceededError):
        Task[City](ChatAgent(ScriptedModel(answers)), interactive=False).run("where?", limits=Limits(turns=1))

    def hear(event: Event[object]) -> None:
        names.append(event.name)

    Task[City](ChatAgent(ScriptedModel(answers), name="Guide"), interactive=False).run("where?", listeners=[hear])
    assert names.count("Guide") > 2
    assert Task[City](ChatAgent(ScriptedModel(answers)), interactive=False)("where?").output == City(name="Rome")


def test_overrides_work_beside_native_calls():
    class Mine(ChatAgent):
        def update_token_usage(self, *args: Any, **kwargs: Any) -> None:
            called.append("usage")
            super().update_token_usage(*args, **kwargs)

        def llm_response_messages(self, *args: Any, **kwargs: Any) -> Any:
            called.append("messages")
            return super().llm_response_messages(*args, **kwargs)

    called: list[str] = []
    agent = Mine(ScriptedModel([call_tool("add", a=1, b=2), "3"]), tools=[add])
    assert agent("1 + 2?").content == "3"
    assert called == ["messages", "usage"] * 2


def test_a_failing_sub_agent_is_logged_and_may_end_the_run(caplog: pytest.LogCaptureFixture):
    def boss(**options: Any) -> Agent:
        sub = Agent[int](ScriptedModel(["no number"]), name="sub")
        return Agent(ScriptedModel([call_tool("sub", message="q"), "ok"]), tools=[sub], **options)

    with caplog.at_level(logging.WARNING, "trivium.tools"):
        assert boss()("x").content == "ok"
    assert "the tool sub raised AnswerFormatError" in caplog.text
    with pytest.raises(ToolFailedError, match="the tool sub raised AnswerFormatError"):
        boss(on_tool_error="raise")("x")


def test_a_task_as_a_tool_gives_its_reason():
    sub = Task(ChatAgent(ScriptedModel(["hm"]), name="sub"), interactive=False)
    model = ScriptedModel([call_tool("sub", message="q"), "ok"])
    Agent(model, tools=[sub])("x")
    assert "nobody answered in 5 steps" in model.requests[-1].messages[-1]["content"]


def test_two_tools_of_one_name_are_an_error():
    with pytest.raises(ToolDefinitionError, match="two tools have the name Agent"):
        Agent(ScriptedModel(["x"]), tools=[Agent(ScriptedModel(["x"])), Agent(ScriptedModel(["y"]))])


def test_a_type_may_be_set_as_an_attribute():
    agent = Agent(ScriptedModel(['{"name": "Rome"}']))
    agent.output_format = City
    assert '"name"' in str(agent.instruction()), "it holds at once"
    assert agent("where?").output == City(name="Rome")
    agent.llm = ScriptedModel(['{"value": ["Rome"]}', "Rome"])
    agent.output_format = list[str]
    assert agent("which?").output == ["Rome"]
    agent.output_format = None
    assert (agent("where?").output, agent.output_format) == ("Rome", None)

    class Guide(Agent):
        output_format = City
        template = "Be kind."

    model = ScriptedModel(['```json\n{"name": "Rome"}\n```'])
    assert Guide(model)("where?").output == City(name="Rome")
    assert "Be kind." in model.requests[0].messages[0]["content"]


def test_the_system_message_of_a_config_is_sent_by_both_agents():
    for kind in (Agent, ChatAgent):
        model = ScriptedModel(["x"])
        kind(ChatAgentConfig(llm=model, system_message="Be brief."))("hi")
        assert model.requests[0].messages[0] == {"role": "system", "content": "Be brief."}


def test_a_negative_number_of_repairs_is_refused():
    with pytest.raises(ConfigurationError, match="repairs is a whole number"):
        Agent[int](ScriptedModel(["a"]), repairs=-1)


def test_a_stalled_run_says_how_a_task_ends():
    task = Task(ChatAgent(ScriptedModel(["hi"])), interactive=False)
    assert task.run("x") is None
    assert "by DONE, a done tool, single_round=True, or its config's handle_llm_no_tool='done'" in task.why
    ending = Task(ChatAgent(ChatAgentConfig(llm=ScriptedModel(["hi"]), handle_llm_no_tool="done")), interactive=False)
    answer = ending("x")
    assert (answer.content, answer.status) == ("hi", StatusCode.DONE)


def test_a_negative_limit_is_an_error():
    with pytest.raises(ConfigurationError, match=r"Limits\(turns=-3\) allows nothing"):
        Limits(turns=-3)


def test_tools_may_be_given_as_an_iterator():
    model = ScriptedModel(["x"])
    Agent(model, tools=(each for each in (add, ChatAgent(ScriptedModel(["x"]), name="Sub"))))("hi")
    assert [each.name for each in model.requests[0].tools] == ["add", "Sub"]


def test_an_override_of_the_calls_in_a_message_does_not_end_the_run():
    class Square(ToolMessage):
        request: str = "square"
        purpose: str = "To square a <number>."
        number: int

        def handle(self) -> str:
            return str(self.number**2)

    class Mine(ChatAgent):
        def get_tool_messages(self, msg: Any, all_tools: bool = False) -> list[ToolMessage]:
            return super().get_tool_messages(msg, all_tools)

    model = ScriptedModel([call_tool("square", number="three"), call_tool("square", number=3), "DONE 9"])
    agent = Mine(model)
    agent.enable_message(Square)
    assert Task(agent, interactive=False)("3 * 3?").content == "9"


def test_an_override_of_the_models_responder_is_called_where_nothing_is_remembered():
    class Mine(ChatAgent):
        def llm_response(self, message: Any = None) -> Any:
            called.append(message)
            return super().llm_response(message)

    called: list[Any] = []
    answer = Mine(ScriptedModel(["ok"])).llm_response_forget("hi")
    assert answer is not None
    assert answer.content == "ok"
    assert called == ["hi"]


class Stop(BaseModel):
    place: str
    nights: int


class Trip(BaseModel):
    title: str
    kind: Literal["city", "sea"] = "city"
    stops: list[Stop] = []


def test_a_partial_value_is_a_whole_value_of_the_type_without_what_is_still_being_written():
    form = AnswerFormat(Trip)
    stops = '[{"place": "Oslo", "nights": 2}, {"place": "Bergen", "nights": 13}]'
    text = f'{{"title": "North", "kind": "sea", "stops": {stops}}}'
    values = [form.partial_value(text[:end]) for end in range(len(text) + 1)]
    whole = Trip.model_validate_json(text)
    stated = [value for value in values if value is not None]
    assert values[: len('{"title": ')] == [None] * len('{"title": ')
    assert stated == [value for value in values[-len(stated) :]]  # once there is one, there is one
    assert stated[-1] == whole
    assert [len(value.stops) for value in stated] == sorted(len(value.stops) for value in stated)
    assert {value.kind for value in stated} == {"city", "sea"}
    assert all(stop.place == whole.stops[at].place for value in stated for at, stop in enumerate(value.stops))
    assert {len(value.stops) for value in stated} == {0, 1, 2}


def test_a_partial_value_of_a_bare_list():
    form = AnswerFormat(list[int])
    assert form.partial_value("[1, 22, 3") == [1, 22], "the number may go on"
    assert form.partial_value("[1, 22, 3]") == [1, 22, 3]


def test_a_partial_text_is_given_as_far_as_it_has_come():
    said = AnswerFormat(dict[str, str]).partial_value('{"text": "Sorry, we are')
    assert said == {"text": "Sorry, we are"}


def test_a_task_without_a_type_hands_on_the_output_of_its_agent():
    class Five(Agent):
        def forward(self, *message: Message, **kwargs: object) -> Message:
            return Message(content="DONE five").replace(output=5)

    assert Task(Five(), interactive=False)("go").output == 5


def test_the_output_of_another_type_is_no_value():
    said = Message(content="Rome").replace(output=City(name="Rome"))
    assert next(values_in(said, City)) == City(name="Rome")
    assert list(values_in(said, int)) == []


NOBODY = '{"value": null}'


class Relayed(Agent[City | None]):
    async def forward(self, *message: Message, **kwargs: Any) -> Message:
        return await super().forward(*message, **kwargs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Relayed(ScriptedModel([NOBODY])),
        lambda: Task(ChatAgent[City | None](ScriptedModel([NOBODY])), interactive=False),
        lambda: Task[City | None](ChatAgent(ScriptedModel(["none", NOBODY])), interactive=False, single_round=True),
    ],
    ids=["an override", "a task of a typed agent", "a typed task"],
)
def test_none_is_a_value_where_the_type_has_it(make: Callable[[], Module]):
    assert make()("Which city?").output is None


class Wish(BaseModel):
    request: str


@pytest.mark.parametrize(
    "run",
    [
        lambda: ChatAgent[Wish](ScriptedModel(['{"request": "tea"}']))("q"),
        lambda: Task[Wish](ChatAgent(ScriptedModel(["DONE x", '{"request": "tea"}'])), interactive=False).run("q"),
        lambda: Message(content_any=Wish(request="tea")),
    ],
    ids=["a typed agent", "a typed task", "a message"],
)
def test_a_value_with_a_field_request_is_no_tool_message(run: Callable[[], Any]):
    result = run()
    value = result.content_any if isinstance(result, Message) else result
    assert value == Wish(request="tea")
