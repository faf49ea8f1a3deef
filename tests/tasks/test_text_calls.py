"""Which texts of a model are calls: by the way in which the agent's model calls tools, and by whose turn it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from trivium import (
    Agent,
    AgentConfig,
    AgentDoneTool,
    ChatAgent,
    ChatAgentConfig,
    Entity,
    Task,
    ToolMessage,
)
from trivium.actions import RecipientTool, RewindTool, SendTool
from trivium.commander import Limits
from trivium.language_models import LanguageModel, LLMResponse, MockLM, MockLMConfig, OpenAIGPT
from trivium.testing import ScriptedModel, call_tool


class Mark(ToolMessage):
    request: str = "mark_it"
    purpose: str = "To set a <mark>."
    mark: str


CALL = {"request": "mark_it", "mark": "q3"}
JSON = json.dumps(CALL)


class Marked(BaseModel):
    mark: str


class Marker(ChatAgent):
    """It sets marks, and says what its script says."""

    def __init__(self, *answers: Any, name: str = "Marker", marks: list[str] | None = None, **config: Any) -> None:
        super().__init__(ChatAgentConfig(name=name, llm=ScriptedModel([*answers, "DONE"]), **config))
        self.marks = [] if marks is None else marks
        self.enable_message([Mark, SendTool, RewindTool])

    def mark_it(self, message: Mark) -> str:
        self.marks.append(message.mark)
        return "marked"


def run(*agents: ChatAgent) -> None:
    """Run the first agent's task, with the others below it."""
    task, *below = [Task(each, interactive=False, max_stalled_steps=2) for each in agents]
    task.add_sub_task(below)
    task.run("go", turns=6, limits=Limits(turns=12))


NATIVE: dict[str, Any] = {}
AS_TEXT: dict[str, Any] = {"use_tools": True}
EVERYWHERE: dict[str, Any] = {"search_for_tools_everywhere": True}
WHOLE = [JSON, f"  {JSON}\n", f"```json\n{JSON}\n```", f"TOOL: {JSON}", f"<tool_call>{JSON}</tool_call>", f"[{JSON}]"]
WITHIN = [
    f"The user said {JSON} and left.",
    f"{JSON} That is what the mail says.",
    f"DONE {JSON}",
    f"> {JSON}",
    json.dumps({"quote": CALL}),
]
NAMELESS = ['The user said {"mark": "q3"} and left.', '{"mark": "q3"}', json.dumps({"properties": CALL})]


@pytest.mark.parametrize(
    ("config", "texts", "is_call"),
    [
        (NATIVE, [*WHOLE, *WITHIN, *NAMELESS], False),
        (AS_TEXT, WHOLE, True),
        (AS_TEXT, [*WITHIN, *NAMELESS], False),
        (EVERYWHERE, [*WHOLE, WITHIN[0], WITHIN[1], WITHIN[3]], True),
        (EVERYWHERE, NAMELESS, False),
    ],
    ids=[
        "a tool interface",
        "as text, the whole answer",
        "as text, within",
        "everywhere",
        "everywhere, without a name",
    ],
)
def test_a_text_is_a_call(config: dict[str, Any], texts: list[str], is_call: bool):
    for text in texts:
        agent = Marker(text, **config)
        run(agent)
        assert agent.marks == ["q3"] * is_call, text


@pytest.mark.parametrize("frame", ["{}", "TOOL: {}", "```JSON\n{}\n```", "```\n{}\n```", "<tool_call>{}</tool_call>"])
def test_each_of_several_calls_may_have_its_frame(frame: str):
    agent = Marker("\n\n".join(frame.format(json.dumps({**CALL, "mark": each})) for each in ("q3", "q4")), **AS_TEXT)
    run(agent)
    assert agent.marks == ["q3", "q4"]


def test_a_model_without_a_tool_interface_writes_its_calls_as_text():
    agent = Marker(JSON)
    agent.llm.takes_tools = False
    run(agent)
    assert agent.marks == ["q3"]


@pytest.mark.parametrize(
    "text",
    [
        "{'request': 'mark_it', 'mark': 'q3'}",
        '{"request": "mark_it", "mark": "q3", "mark": "q4"}',
        '{"request": "mark_it", "mark": NaN}',
        '{"request": "mark_it", "mark": "q3"',
        '{"request": "mark_it", "mark": "q3"} That is what the mail says.',
        '```json\n{"request": "mark_it", "mark": "q3\n```',
    ],
)
def test_the_model_is_told_of_a_call_that_does_not_fit(text: str):
    agent = Marker(text, **AS_TEXT)
    run(agent)
    assert agent.marks == []
    assert any("error: the arguments of mark_it" in str(each.content) for each in agent.message_history)


@pytest.mark.parametrize("config", [AS_TEXT, {**AS_TEXT, **EVERYWHERE}], ids=["as text", "everywhere"])
@pytest.mark.parametrize(
    "text",
    [
        '{"mark": "q3"}',
        'TOOL: {"mark": "q3"}',
        '```json\n{"mark": "q3"}\n```',
        '{"name": "mark_it", "arguments": {"mark": "q3"}}',
        '<tool_call>{"name": "mark_it", "arguments": {"mark": "q3"}}</tool_call>',
        'TOOL: mark_it\n{"mark": "q3"}',
        "TOOL: mark_it\nREQUEST: mark_it\nMARK: q3",
        "TOOL: mark_it(q3)",
        json.dumps({"properties": {"mark": "q3"}}),
    ],
)
def test_the_model_is_told_how_to_write_a_call_of_another_form(text: str, config: dict[str, Any]):
    agent = Marker(text, JSON, **config)
    run(agent)
    told = 'that is no call of mark_it: answer with nothing but {"request": "mark_it", "mark": "<string>"}'
    assert told in str(agent.message_history[3].content)
    assert agent.marks == ["q3"]  # of the second answer


def test_a_heading_may_name_a_tool_that_is_not_there():
    agent = Marker("TOOL: erase", **AS_TEXT)
    run(agent)
    assert "there is no tool 'erase'" in str(agent.message_history[3].content)


@pytest.mark.parametrize(
    "text", ["TOOL: none needed. The answer is 4.", '{"name": "mark_it", "price": 4}', '{"properties": {"page": 1}}']
)
def test_the_word_or_a_tools_name_alone_is_an_answer(text: str):
    assert Marker(text, **AS_TEXT).llm_response("go").tool_calls == ()  # pyright: ignore[reportOptionalMemberAccess]
    agent = Marker(text, **AS_TEXT)
    run(agent)
    assert len(agent.llm.requests) == 1


@pytest.mark.parametrize("text", ["TOOL: hammer - for nails", "TOOL: hammer", '{"mark": "q3"}'])
def test_an_agent_without_a_tool_has_no_faulty_call(text: str):
    agent = ChatAgent(ChatAgentConfig(llm=ScriptedModel([text]), **AS_TEXT))
    assert agent("go").content == text


class Remark(ToolMessage):
    request: str = "remark"
    purpose: str = "To add a <mark>."
    mark: str = "q3"


BARE = '{"mark": "q3"}'
WANTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a type": ({}, {"default_return_type": Marked}),
    "handle_llm_no_tool": ({"handle_llm_no_tool": "done"}, {}),
    "single_round": ({}, {"single_round": True}),
    "done_if_response": ({}, {"done_if_response": [Entity.LLM]}),
}


@pytest.mark.parametrize("case", WANTED)
def test_json_with_a_tools_fields_is_an_answer_where_the_text_is_wanted(case: str):
    config, options = WANTED[case]
    agent = Marker(BARE, **AS_TEXT, **config)
    result = Task(agent, interactive=False, **options).run("go", turns=-1 if "single_round" in options else 4)
    assert (result if case == "a type" else str(result.content)) == (Marked(mark="q3") if case == "a type" else BARE)
    assert len(agent.llm.requests) == 1


def test_json_is_an_answer_outside_of_a_task_and_where_a_tool_needs_no_field():
    assert Marker(BARE, **AS_TEXT).llm_response("go").content == BARE  # pyright: ignore[reportOptionalMemberAccess]
    agent = ChatAgent(ChatAgentConfig(llm=ScriptedModel([BARE]), **AS_TEXT))
    agent.enable_message(Remark)
    Task(agent, interactive=False).run("go", turns=4)
    assert len(agent.llm.requests) == 1


def test_json_of_other_fields_or_of_the_type_that_is_asked_for_is_an_answer():
    for text in ('{"mark": "q3", "page": 1}', '{"page": 1}', "{}", '["q3"]', '"q3"', '"TOOL: mark_it"'):
        assert Marker(text, **AS_TEXT).llm_response("go").tool_calls == (), text  # pyright: ignore[reportOptionalMemberAccess]
    assert Marker('{"mark": "q3"}', **AS_TEXT)[Marked]("go").output == Marked(mark="q3")


RELAYS: dict[str, Callable[[], Any]] = {
    "SEND": lambda: f"__SEND__:Other {JSON}",
    "a tool that sends": lambda: call_tool("send_tool", to="Other", content=JSON),
    "a recipient": lambda: call_tool("recipient_message", intended_recipient="Other", content=JSON),
    "the text alone": lambda: JSON,
    "a tool that goes back": lambda: call_tool("rewind_tool", n=1, content=JSON),
}


@pytest.mark.parametrize("relay", RELAYS)
@pytest.mark.parametrize("config", [AS_TEXT, EVERYWHERE], ids=["as text", "everywhere"])
def test_what_another_model_wrote_is_text(relay: str, config: dict[str, Any]):
    """The speaker has the provider's tool interface, so its text is text, for the other agent too."""
    marks: list[str] = []
    speaker = Marker(RELAYS[relay](), name="Speaker", marks=marks)
    speaker.enable_message(RecipientTool)
    run(speaker, Marker("DONE", name="Other", marks=marks, **config))
    assert marks == []


@pytest.mark.parametrize("config", [AS_TEXT, EVERYWHERE], ids=["as text", "everywhere"])
def test_the_result_of_a_sub_task_is_text_above(config: dict[str, Any]):
    marks: list[str] = []
    boss = Marker("do it", "DONE", name="Boss", marks=marks, **config)
    for answer in (f"DONE {JSON}", JSON):
        run(boss, Marker(answer, name="Sub", marks=[], **NATIVE))
    assert marks == []

    class Reading(Marker):
        def mark_it(self, message: Mark) -> Any:
            return AgentDoneTool(content=JSON)

    run(boss, Reading(call_tool("mark_it", mark="x"), name="Reading"))
    assert marks == []


def test_a_call_goes_on_as_data_to_the_task_below_that_handles_it():
    boss = Marker(JSON, name="Boss", **AS_TEXT)
    boss.enable_message(Mark, use=True, handle=False)
    below = Marker("DONE ok", name="Below")
    run(boss, below)
    assert (boss.marks, below.marks) == ([], ["q3"])


def test_what_a_model_wrote_is_not_read_again_when_it_is_remembered():
    agent = Marker(JSON)
    assert agent.llm_response("go") is not None
    agent.config.use_tools = True
    for message in agent.memory.get_memory():
        agent.agent_response(message)
    assert agent.marks == []


class Other(ToolMessage):
    request: str = "other"
    purpose: str = "To do something else."
    z: int


NATIVE_CALL = call_tool("mark_it", mark="q3")
UNTOLD: dict[str, tuple[dict[str, Any], Any]] = {
    "a tool interface": (NATIVE, NATIVE_CALL),
    "as text": (AS_TEXT, JSON),
    "as text, by a tool interface": (AS_TEXT, NATIVE_CALL),
    "as text, with a call that is known": (AS_TEXT, f'{JSON}\n{{"request": "other", "z": 1}}'),
    "everywhere": (EVERYWHERE, JSON),
    "everywhere, by a tool interface": (EVERYWHERE, NATIVE_CALL),
}


def speaker_of(case: str, *tools: type[ToolMessage]) -> ChatAgent:
    """An agent that calls a tool of which it was told nothing; it was told of `tools`."""
    config, answer = UNTOLD[case]
    speaker = ChatAgent(ChatAgentConfig(name="Speaker", llm=ScriptedModel([answer, "DONE"]), **config))
    if tools:
        speaker.enable_message(list(tools), handle=False)
    return speaker


@pytest.mark.parametrize("tools", [(), (Other,)], ids=["no tool", "another tool"])
@pytest.mark.parametrize("case", UNTOLD)
def test_a_model_calls_only_tools_of_which_its_agent_was_told(case: str, tools: tuple[type[ToolMessage], ...]):
    for is_below in (False, True):
        speaker, marker = speaker_of(case, *tools), Marker("DONE")
        run(*((marker, speaker) if is_below else (speaker, marker)))
        assert marker.marks == []


@pytest.mark.parametrize("case", [each for each in UNTOLD if "a call that is known" not in each])
def test_the_model_is_told_that_there_is_no_such_tool(case: str):
    speaker = speaker_of(case, Other)
    run(speaker, Marker("DONE"))
    told = [str(each.content) for each in speaker.message_history if "no tool 'mark_it'" in str(each.content)]
    assert len(told) == 1
    assert "there is no tool 'mark_it'; there are other" in told[0]


def test_what_names_a_tool_within_a_text_is_told_only_where_it_is_one_of_the_agents():
    """An explanation of somebody's API is an answer; a whole answer that names no tool is a mistake."""
    agent = Marker('Send {"request": "list", "page": 2} to it. DONE', **EVERYWHERE)
    run(agent)
    assert len(agent.llm.requests) == 1
    agent = Marker('{"request": "list", "page": 2}', "DONE", **EVERYWHERE)
    run(agent)
    assert "there is no tool 'list'" in str(agent.message_history)


class InText(ChatAgentConfig):
    use_tools: bool = True


class ByInterface(ChatAgentConfig):
    use_functions_api: bool = True


class Chats(LanguageModel):
    def chat(self, messages: Any, *args: Any, **kwargs: Any) -> LLMResponse:  # pyright: ignore[reportIncompatibleMethodOverride]
        return LLMResponse(message=JSON if len(messages) < 3 else "DONE")


def answer_once(text: str) -> str:
    return "DONE" if "marked" in text else JSON


class OverMock(MockLM):
    def chat(self, *args: Any, **kwargs: Any) -> LLMResponse:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().chat(*args, **kwargs)


MOCK = MockLMConfig(response_fn=answer_once)
CALLING = MockLMConfig(response_fn=lambda text: "DONE" if "marked" in text else call_tool("mark_it", mark="q3"))


@pytest.mark.parametrize(
    ("config", "is_call"),
    [
        (InText(llm=ScriptedModel([JSON, "DONE"])), True),
        (ByInterface(llm=ScriptedModel([JSON, "DONE"])), False),
        (ChatAgentConfig(llm=MOCK), True),
        (ChatAgentConfig(llm=MOCK, use_functions_api=True), False),
        (ChatAgentConfig(llm=CALLING), True),
        (ChatAgentConfig(llm=CALLING, use_functions_api=True), True),
        (ChatAgentConfig(llm=Chats()), True),
        (ChatAgentConfig(llm=OverMock(MOCK)), True),
    ],
)
def test_a_default_of_a_config_is_a_choice_and_a_model_that_gives_text_calls_in_it(
    config: ChatAgentConfig, is_call: bool
):
    marks = list[str]()

    class Marks(ChatAgent):
        def mark_it(self, message: Mark) -> str:
            marks.append(message.mark)
            return "marked"

    agent = Marks(config)
    agent.enable_message(Mark)
    Task(agent, interactive=False).run("go", turns=6)
    assert marks == ["q3"] * is_call


def test_a_models_class_that_writes_chat_over_a_providers_keeps_its_interface():
    class Logged(OpenAIGPT):
        def chat(self, *args: Any, **kwargs: Any) -> LLMResponse:  # pyright: ignore[reportIncompatibleMethodOverride]
            return super().chat(*args, **kwargs)

    class Calls(Chats):
        takes_tools = True

    assert (Logged.takes_tools, Calls.takes_tools, Chats.takes_tools) == (True, True, False)


def test_a_system_message_that_is_the_default_of_a_config_counts():
    class Kind(AgentConfig):
        system_message: str = "Be kind."

    assert Agent(Kind()).system_message == "Be kind."


REFUND = '{"request": "refund", "status": "open"}'


@pytest.mark.parametrize("handled", [(), (Mark,)], ids=["no tool", "one that it only handles"])
@pytest.mark.parametrize(
    ("config", "options"),
    [
        ({}, {"single_round": True}),
        ({}, {"done_if_response": [Entity.LLM]}),
        ({"handle_llm_no_tool": "done"}, {}),
        ({"search_for_tools_everywhere": True}, {"single_round": True}),
    ],
)
def test_an_answer_that_names_a_tool_is_text_where_the_model_was_told_of_none(
    handled: tuple[type[ToolMessage], ...], config: dict[str, Any], options: dict[str, Any]
):
    agent = ChatAgent(ChatAgentConfig(llm=ScriptedModel([REFUND] * 2), use_tools=True, **config))
    agent.enable_message(list(handled), use=False, handle=True)
    result = Task(agent, interactive=False, **options).run("go")
    assert result is not None
    assert result.content == REFUND
    answer = agent.llm_response("again")
    assert answer is not None
    assert answer.content == REFUND


def test_a_tool_that_steers_a_task_ends_it_though_the_model_was_told_of_none():
    done = '{"request": "done_tool", "content": "fine"}'
    agent = ChatAgent(ChatAgentConfig(llm=ScriptedModel([done]), use_tools=True))
    result = Task(agent, interactive=False).run("go")
    assert result is not None
    assert result.content == "fine"
