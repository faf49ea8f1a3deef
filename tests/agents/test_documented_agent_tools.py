"""An agent's tools as documented: which its model may use, which it handles, how it finds calls and answers them."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from pydantic import ValidationError

from tasks._documented import content, document, scripted
from trivium import Agent, ChatAgent, ChatAgentConfig, ChatDocument, Entity, Task, ToolMessage
from trivium.testing import ScriptedModel


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)

    @classmethod
    def examples(cls) -> Any:
        return [cls(number=12)]


class Greet(ToolMessage):
    request: str = "greet"
    purpose: str = "To greet <who>."
    who: str = "you"
    loudly: bool = False

    def handle(self) -> str:
        return f"hello {self.who}"


SQUARE, GREET = '{"request": "square", "number": 3}', '{"request": "greet", "who": "Ada"}'


def with_tools(*classes: type[ToolMessage], **config: Any) -> ChatAgent:
    agent = scripted("hello", **config)
    agent.enable_message(list(classes or (Square,)))
    return agent


def call(text: str = SQUARE, sender: Entity = Entity.LLM) -> ChatDocument:
    return document(text, sender)


# ---- enabling
@pytest.mark.shows(
    "ChatAgent.enable_message", "ChatAgent.enable_message(message_class)", "ChatAgent.enable_message(use=True)",
    "ChatAgent.enable_message(handle=True)", "Agent.llm_tools_handled", "Agent.llm_tools_usable",
    "Agent.llm_tools_known", "Agent.llm_tools_map", "ChatAgent.llm_functions_map", "ChatAgent.llm_functions_usable",
    "ChatAgent.llm_functions_handled",
)  # fmt: skip
@pytest.mark.parametrize("use", [True, False])
@pytest.mark.parametrize("handle", [True, False])
def test_a_tool_is_enabled_for_use_for_handling_or_both(use: bool, handle: bool):
    agent = scripted("x")
    assert "square" not in agent.llm_tools_map
    if use and handle:
        agent.enable_message(Square)
    else:
        agent.enable_message(Square, use, handle)
    assert agent.llm_tools_map["square"] is Square
    assert "square" in agent.llm_tools_known
    assert ("square" in agent.llm_tools_usable) == ("square" in agent.llm_functions_usable) == use
    assert ("square" in agent.llm_tools_handled) == ("square" in agent.llm_functions_handled) == handle
    assert agent.llm_functions_map["square"].name == "square"
    assert (agent.agent_response(call()) is not None) is handle
    assert ("square" in agent.tool_format_rules()) is use


@pytest.mark.shows("ChatAgent.enable_message(message_class)")
def test_several_tools_or_all_that_are_known_are_enabled_at_once():
    agent = scripted("x")
    agent.enable_message([Square, Greet], use=False, handle=False)
    assert "greet" not in agent.llm_tools_handled
    agent.enable_message(None)
    assert {"square", "greet"} <= set(agent.llm_tools_usable)
    assert {"square", "greet"} <= set(agent.llm_tools_handled)


@pytest.mark.shows("ChatAgent.enable_message(force=False)", "ChatAgent.llm_function_force=None")
def test_a_tool_can_be_forced_until_another_is_enabled():
    agent = scripted("x")
    agent.enable_message(Square)
    assert agent.llm_function_force is None
    agent.enable_message(Square, force=True)
    assert agent.llm_function_force == {"name": "square"}
    for taken in (lambda: agent.disable_message_use(Square), lambda: agent.disable_message_use_except(Greet)):
        agent.enable_message([Greet, Square], force=True)
        taken()
        assert agent.llm_response("hi") is not None
        request = cast("ScriptedModel", agent.model).requests[-1]
        assert ([each.name for each in request.tools], request.tool_choice) == (["greet"], "auto")
    agent.enable_message(Square, force=True)
    agent.enable_message(Greet)
    assert agent.llm_function_force is None


@pytest.mark.shows("ChatAgent.enable_message(require_recipient=False)", "ToolMessage.require_recipient")
def test_a_tool_may_have_to_name_who_it_is_for():
    plain, addressed = scripted("x"), scripted("x")
    plain.enable_message(Greet)
    addressed.enable_message(Greet, require_recipient=True)
    assert "recipient" not in plain.llm_tools_map["greet"].model_fields
    assert addressed.llm_tools_map["greet"].model_fields["recipient"].is_required()
    assert "recipient" in addressed.tool_format_rules()


@pytest.mark.shows("ChatAgent.enable_message(include_defaults=True)")
def test_fields_with_defaults_can_be_left_out_of_what_the_model_is_told():
    agent = scripted("x")
    agent.enable_message(Greet)
    assert {"who", "loudly"} <= agent.llm_functions_map["greet"].parameters["properties"].keys()
    agent.enable_message(Greet, include_defaults=False)
    assert not {"who", "loudly"} & agent.llm_functions_map["greet"].parameters["properties"].keys()


@pytest.mark.shows("ChatAgent.enable_message(message_class)")
def test_tools_that_cannot_be_enabled_are_errors():
    class Nameless(ToolMessage):
        request: str = ""
        purpose: str = "none"

    with pytest.raises((ValueError, TypeError), match="request"):
        scripted().enable_message(Nameless)
    with pytest.raises(TypeError):
        scripted().enable_message(Square, Greet)  # type: ignore[arg-type]


@pytest.mark.shows(
    "Agent.enable_message_handling", "Agent.enable_message_handling(message_class=None)",
    "Agent.disable_message_handling", "Agent.disable_message_handling(message_class=None)",
    "ChatAgent.disable_message_handling", "ChatAgent.disable_message_handling(message_class=None)",
)  # fmt: skip
def test_handling_is_turned_on_and_off_for_one_tool_or_all():
    agent = with_tools(Square, Greet)

    def handled() -> set[str]:
        return {"square", "greet"} & set(agent.llm_tools_handled)

    agent.disable_message_handling(Square)
    assert (handled(), agent.agent_response(call())) == ({"greet"}, None)
    agent.disable_message_handling()
    assert handled() == set()
    agent.enable_message_handling(Square)
    assert (handled(), content(agent.agent_response(call()))) == ({"square"}, "9")
    agent.enable_message_handling()
    assert handled() == {"square", "greet"}
    assert {"square", "greet"} <= set(agent.llm_tools_usable), "use is another matter"


@pytest.mark.shows(
    "ChatAgent.disable_message_use", "ChatAgent.disable_message_use(message_class)",
    "ChatAgent.disable_message_use_except", "ChatAgent.disable_message_use_except(message_class)",
)  # fmt: skip
def test_use_is_turned_off_for_one_tool_for_all_or_for_all_but_one():
    def usable(agent: ChatAgent) -> set[str]:
        return {"square", "greet"} & set(agent.llm_tools_usable)

    one, every, others = with_tools(Square, Greet), with_tools(Square, Greet), with_tools(Square, Greet)
    one.disable_message_use(Square)
    every.disable_message_use(None)
    others.disable_message_use_except(Square)
    assert (usable(one), usable(every), usable(others)) == ({"greet"}, set(), {"square"})
    assert list(others.llm_tools_usable) == ["square"]
    assert content(every.agent_response(call())) == "9", "handling is another matter"


@pytest.mark.shows("Agent.llm_tools_map", "Agent.llm_tools_known", "Agent.llm_tools_usable", "Agent.llm_tools_handled")
def test_a_tool_that_is_taken_out_of_a_table_is_gone_and_an_unknown_one_is_an_error():
    def tools(agent: ChatAgent) -> list[list[str]]:
        return [list(agent.llm_tools_map), list(agent.llm_tools_usable), list(agent.llm_tools_handled)]

    popped, discarded, wrong = with_tools(Square, Greet), with_tools(Square, Greet), with_tools(Square, Greet)
    popped.llm_tools_map.pop("square")
    discarded.llm_tools_known.discard("square")
    own, forced = Agent(ScriptedModel([]), tools=[Square, Greet]), with_tools(Greet)
    own.llm_tools_map.pop("square")
    assert own.tools == [Greet]
    forced.enable_message(Square, force=True)
    forced.llm_tools_map.pop("square")
    for agent in (popped, discarded, forced):
        assert tools(agent) == [["greet"]] * 3
        assert content(agent.llm_response("hi")) == "hello"
        assert cast("ScriptedModel", agent.model).requests[-1].tool_choice == "auto"
    wrong.llm_tools_usable.add("squares")
    with pytest.raises(TypeError, match="a tool that its agent does not know: squares: did you mean square"):
        wrong.llm_response("hi")


@pytest.mark.shows("ChatAgentConfig.enable_orchestration_tool_handling", "DoneTool", "DoneTool.content", "semantic 9")
def test_the_tools_that_steer_a_task_are_handled_unless_turned_off():
    ends = call('{"request": "done_tool", "content": "42"}')
    agent = scripted("x")
    assert content(agent.agent_response(ends)) == "42"
    assert "done_tool" not in agent.tool_format_rules()
    off = scripted("x", enable_orchestration_tool_handling=False)
    assert off.agent_response(ends) is None
    result = Task(scripted(ends.content, "DONE not reached"), interactive=False).run("go")
    assert content(result) == "42"


# ---- finding calls
@pytest.mark.shows(
    "Agent.get_json_tool_messages", "Agent.get_json_tool_messages(input_str)", "Agent.get_formatted_tool_messages",
    "both names 1", "semantic 9",
)  # fmt: skip
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nothing", []),
        (f"I try {SQUARE}, then {GREET}.", [Square(number=3), Greet(who="Ada")]),
        ('```json\n{"request": "square", "number": 3}\n```', [Square(number=3)]),
        ('{"request": "unknown", "number": 3}', []),
        ('{"number": 3}', []),
        ('{"x": {"y": 1}}', []),
    ],
)
def test_calls_are_found_in_text(text: str, found: list[ToolMessage]):
    agent = with_tools(Square, Greet)

    def values(tools: Any) -> list[dict[str, Any]]:
        return [each.model_dump(exclude={"id", "properties"}) for each in tools]

    assert values(agent.get_formatted_tool_messages(text)) == values(found)
    assert values(agent.get_json_tool_messages(text)) == values(found)  # type: ignore[attr-defined] - the older name


@pytest.mark.shows("Agent.get_tool_messages", "Agent.try_get_tool_messages", "semantic 9")
def test_the_calls_of_a_message_are_those_that_its_sender_may_make():
    agent = with_tools(Square)
    assert [each.request for each in agent.get_tool_messages(call())] == ["square"]
    assert agent.get_tool_messages(None) == []
    assert agent.get_tool_messages(call("hello")) == []
    broken = call('{"request": "square", "number": "many"}')
    with pytest.raises(ValueError, match="number"):
        agent.get_tool_messages(broken)
    assert agent.try_get_tool_messages(broken) == []
    assert [each.request for each in agent.try_get_tool_messages(call())] == ["square"]
    hidden = scripted()
    hidden.enable_message(Square, use=False)
    assert hidden.agent_response(call(sender=Entity.USER)) is None, "a user may not call what the model may not"
    assert content(hidden.agent_response(call())) == "9"


@pytest.mark.shows("Agent.has_tool_message_attempt", "Agent.has_tool_message_attempt(msg)")
@pytest.mark.parametrize(
    ("given", "attempt"),
    [(None, False), (call("hello"), False), (call(), True), (call('{"request": "square", "number": "x"}'), True),
     (call('{"request": "unknown"}'), False)],
)  # fmt: skip
def test_an_attempt_at_a_call_is_seen_also_if_it_is_wrong(given: Any, attempt: bool):
    assert with_tools().has_tool_message_attempt(given) is attempt


@pytest.mark.shows("Agent.tool_validation_error", "Agent.tool_validation_error(ve)", "semantic 9", "Agent.tool_error")
def test_a_model_is_told_what_is_wrong_with_its_call():
    agent = with_tools()
    with pytest.raises(ValidationError) as caught:
        Square(number="many")  # type: ignore[arg-type]
    told = agent.tool_validation_error(caught.value, Square)
    for part in ("square", "number", "integer"):
        assert part in told
    assert "number" in agent.tool_validation_error(caught.value)
    response = agent.agent_response(call('{"request": "square", "number": "many"}'))
    assert "number" in content(response)
    by_user = agent.agent_response(call('{"request": "square", "number": "many"}', Entity.USER))
    assert by_user is None, "only a model is told"


# ---- handling
@pytest.mark.shows("Agent.handle_message", "Agent.handle_message(msg)", "both names 5", "both names 4", "semantic 9")
def test_calls_are_handled_one_alone_or_many_together():
    agent = with_tools(Square, Greet)
    one = agent.handle_message(call())
    assert isinstance(one, ChatDocument)
    assert one.content == "9"
    many = agent.handle_message(call(f"{SQUARE} and {GREET}"))
    assert isinstance(many, ChatDocument)
    assert many.content == "Result from square: 9\n\nResult from greet: hello Ada"
    assert agent.handle_message(call("hello")) is None
    assert agent.handle_message(call('{"request": "unknown"}')) is None


@pytest.mark.shows("AgentConfig.allow_multiple_tools", "semantic 9")
def test_several_calls_at_once_may_be_forbidden():
    agent = with_tools(Square, Greet, allow_multiple_tools=False)
    response = agent.handle_message(call(f"{SQUARE} and {GREET}"))
    assert "one tool" in str(response).lower()
    assert "hello" not in str(response)
    assert content(agent.handle_message(call())) == "9"


@pytest.mark.shows("Agent.handle_message_fallback", "Agent.handle_message_fallback(msg)")
def test_a_message_without_calls_goes_to_the_fallback():
    seen: list[Any] = []

    class Talking(ChatAgent):
        def handle_message_fallback(self, msg: Any) -> Any:
            seen.append(msg)
            return "say it with a tool"

    agent = Talking(ChatAgentConfig(name="A", llm=ScriptedModel(["x"])))
    agent.enable_message(Square)
    assert content(agent.agent_response(call("hello"))) == "say it with a tool"
    assert [each.content for each in seen] == ["hello"]
    assert content(agent.agent_response(call())) == "9"
    assert scripted().handle_message_fallback(call("hello")) is None


@pytest.mark.shows("ChatAgentConfig.handle_llm_no_tool", "semantic 9")
@pytest.mark.parametrize("form", ["text", "function"])
def test_a_model_that_calls_no_tool_can_be_answered(form: str):
    def answer(message: ChatDocument) -> str:
        return f"no tool in {message.content}"

    told = "use a tool" if form == "text" else answer
    agent = with_tools(handle_llm_no_tool=told)
    expected = "use a tool" if form == "text" else "no tool in hello"
    assert content(agent.agent_response(call("hello"))) == expected
    assert agent.agent_response(call("hello", Entity.USER)) is None
    assert content(agent.agent_response(call())) == "9"


@pytest.mark.shows("Agent.handle_tool_message", "Agent.handle_tool_message(tool)", "semantic 9", "weak point 5")
def test_a_tool_is_handled_by_the_agents_method_or_its_own_sync_or_async():
    class Methods(ChatAgent):
        def greet(self, tool: Greet) -> str:
            return f"the agent greets {tool.who}"

        async def wait(self, tool: Any) -> str:
            return "awaited"

    class Wait(ToolMessage):
        request: str = "wait"
        purpose: str = "To wait."

    agent = Methods(ChatAgentConfig(name="A", llm=ScriptedModel(["x"])))
    agent.enable_message([Square, Greet, Wait])

    def answer(tool: ToolMessage) -> Any:
        found = agent.handle_tool_message(tool)
        return found.content if isinstance(found, ChatDocument) else found

    assert answer(Greet(who="Ada")) == "the agent greets Ada"
    assert answer(Square(number=3)) == "9"
    assert content(asyncio.run(agent.agent_response_async(call('{"request": "wait"}')))) == "awaited"
    assert content(agent.agent_response(call('{"request": "wait"}'))) == "awaited"


@pytest.mark.shows("Agent.sample_multi_round_dialog", "ToolMessage.examples")
def test_a_dialog_is_made_of_the_examples_of_the_tools():
    dialog = with_tools(Square, Greet).sample_multi_round_dialog()
    assert "square" in dialog
    assert "12" in dialog
    assert scripted(enable_orchestration_tool_handling=False).sample_multi_round_dialog() == ""


@pytest.mark.shows("weak point 16", "Task.valid")
def test_an_empty_result_of_a_tool_is_an_answer():
    class Read(ToolMessage):
        request: str = "read"
        purpose: str = "To read a file."

        def handle(self) -> str:
            return ""

    agent = scripted('{"request": "read"}', "DONE it is empty")
    agent.enable_message(Read)
    result = Task(agent, interactive=False).run("read it")
    assert content(result) == "it is empty"


@pytest.mark.shows("semantic 9", "ChatDocument.content_any")
@pytest.mark.parametrize("value", [7, {"a": [1]}, [1, 2]])
def test_a_handler_may_return_any_value(value: Any):
    class Give(ToolMessage):
        request: str = "give"
        purpose: str = "To give a value."

        def handle(self) -> Any:
            return value

    agent = with_tools(Give)
    response = agent.agent_response(call('{"request": "give"}'))
    assert response is not None
    assert (json.loads(response.content), response.content_any) == (value, value)
