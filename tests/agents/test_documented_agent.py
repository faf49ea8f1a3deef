"""The agent as documented: its config and attributes, its three responders, what it costs, whom it asks."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from tasks._documented import content, document, scripted
from trivium import Agent, AgentConfig, ChatAgent, ChatAgentConfig, ChatDocument, Entity, Task, ToolMessage
from trivium.exceptions import ArgumentTypeError
from trivium.schema import LLMMessage, LLMResponse, LLMTokenUsage, OpenAIToolCall, Role, Usage
from trivium.testing import ScriptedModel
from trivium.utils.constants import NO_ANSWER


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

    def handle(self) -> str:
        return f"hello {self.who}"


SQUARE = '{"request": "square", "number": 3}'


def plain(*answers: str, **config: Any) -> Agent:
    """An agent that is no chat agent."""
    return Agent(AgentConfig(name="P", llm=ScriptedModel(answers or ["hello"]), **config))


def with_tools(*classes: type[ToolMessage]) -> ChatAgent:
    agent = scripted("hello")
    agent.enable_message(list(classes or (Square,)))
    return agent


# ---- the config
FIELDS: dict[str, Any] = {
    "name": "LLM-Agent", "debug": False, "vecdb": None, "show_stats": True, "add_to_registry": True,
    "hide_agent_response": False, "respond_tools_only": False, "allow_multiple_tools": True,
}  # fmt: skip


@pytest.mark.shows(
    "AgentConfig", "AgentConfig.name='LLM-Agent'", "AgentConfig.debug=False", "AgentConfig.vecdb=None",
    "AgentConfig.show_stats=True", "AgentConfig.add_to_registry=True", "AgentConfig.hide_agent_response=False",
    "AgentConfig.respond_tools_only=False", "AgentConfig.allow_multiple_tools=True", "AgentConfig.human_prompt",
    "Agent(config=AgentConfig())",
)  # fmt: skip
def test_an_agents_config_has_the_documented_defaults():
    config = AgentConfig()
    assert {name: getattr(config, name) for name in FIELDS} == FIELDS
    assert isinstance(config.human_prompt, str)
    assert config.human_prompt != ""


@pytest.mark.shows("AgentConfig", "weak point 2")
def test_a_config_takes_nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("NAME", "DEBUG", "LLM", "SYSTEM_MESSAGE", "USE_TOOLS", "TIMEOUT", "TYPE", "SHOW_STATS"):
        monkeypatch.setenv(name, "app wide")
    assert (AgentConfig().name, AgentConfig().debug, AgentConfig().show_stats) == ("LLM-Agent", False, True)
    assert ChatAgentConfig().system_message == "You are a helpful assistant."
    with pytest.raises(ArgumentTypeError, match="did you mean name"):
        AgentConfig(nme="x")  # type: ignore[call-arg]


@pytest.mark.shows("AgentConfig.llm", "Agent.llm", "Agent.llm_can_respond", "ChatAgent.llm_response")
def test_an_agent_without_a_model_never_answers_by_one():
    agent = ChatAgent(ChatAgentConfig(name="mute", llm=None))
    assert agent.llm is None
    assert agent.llm_can_respond("hi") is False
    assert agent.llm_response("hi") is None
    assert scripted("hello").llm_can_respond("hi") is True


@pytest.mark.shows("Agent", "Agent(config)", "Agent.config", "AgentConfig.name", "Agent.id", "Agent.vecdb")
@pytest.mark.shows("Agent.parser", "AgentConfig.parsing", "AgentConfig.prompts")
def test_an_agent_is_made_of_its_config():
    one, other = plain(), plain()
    assert one.config is not None
    assert (one.config.name, content(one.llm_response("hi"))) == ("P", "hello")
    assert one.id not in ("", other.id)
    assert one.vecdb is None
    unparsed = Agent(AgentConfig(llm=ScriptedModel(["x"]), parsing=None, prompts=None))
    assert content(unparsed.llm_response("hi")) == "x"


@pytest.mark.shows("Agent.from_id", "ChatAgent.from_id", "ChatAgent.from_id(id)", "AgentConfig.add_to_registry")
def test_an_agent_is_found_by_its_id_if_it_may_be():
    agent = scripted()
    assert ChatAgent.from_id(agent.id) is agent
    hidden = scripted(add_to_registry=False)
    assert ChatAgent.from_id(hidden.id) is not hidden


@pytest.mark.shows("Agent.indent", "Agent.lock", "Agent.interactive", "Agent.default_human_response", "Agent.dialog")
@pytest.mark.shows("Agent.oai_tool_calls", "Agent.tool_error", "Agent.init_state", "weak point 4")
def test_what_an_agent_knows_is_its_own():
    one, other = scripted(), scripted()
    assert (one.indent, one.default_human_response, one.dialog) == ("", None, [])
    one.indent, one.default_human_response = "  ", "yes"
    assert (one.indent, other.indent, other.default_human_response) == ("  ", "", None)
    assert (list(one.oai_tool_calls), one.tool_error) == ([], False)
    one.oai_tool_calls.append(OpenAIToolCall(id="1"))
    assert list(other.oai_tool_calls) == []
    one.init_state()
    assert list(one.oai_tool_calls) == []

    async def held() -> bool:
        async with one.lock:
            return True

    assert asyncio.run(held())
    quiet = scripted()
    assert quiet.interactive in (None, True)
    quiet.interactive = False
    assert quiet.user_response("hi") is None


# ---- the responders
@pytest.mark.shows("Agent.entity_responders", "Agent.entity_responders_async", "Agent.agent_response_async")
@pytest.mark.shows("Agent.user_response_async", "Agent.llm_response_async", "weak point 5")
def test_the_responders_come_in_their_order_and_in_either_form():
    agent = scripted("model", "model")
    agent.enable_message(Square)
    agent.default_human_response = "human"
    agent.interactive = True
    order = [Entity.AGENT, Entity.LLM, Entity.USER]
    assert [entity for entity, _ in agent.entity_responders()] == order
    assert [entity for entity, _ in agent.entity_responders_async()] == order
    plain_ones, awaited = dict(agent.entity_responders()), dict(agent.entity_responders_async())
    call = document(SQUARE, Entity.LLM)
    assert content(plain_ones[Entity.AGENT](call)) == content(asyncio.run(awaited[Entity.AGENT](call))) == "9"
    assert content(plain_ones[Entity.LLM]("hi")) == content(asyncio.run(awaited[Entity.LLM]("hi"))) == "model"
    assert content(plain_ones[Entity.USER]("hi")) == content(asyncio.run(awaited[Entity.USER]("hi"))) == "human"
    assert content(asyncio.run(agent.agent_response_async(call))) == "9"
    assert content(asyncio.run(agent.user_response_async("hi"))) == "human"


@pytest.mark.shows(
    "Agent.create_agent_response", "Agent.create_agent_response(content=None)", "Agent.create_user_response",
    "Agent.create_user_response(content=None)", "Agent.create_llm_response", "Agent.create_llm_response(content=None)",
    "Agent.response_template",
)  # fmt: skip
def test_responses_are_made_from_templates():
    agent = scripted(name="Ada")
    made = {
        Entity.AGENT: agent.create_agent_response,
        Entity.USER: agent.create_user_response,
        Entity.LLM: agent.create_llm_response,
    }
    for entity, create in made.items():
        response, other = create("text"), agent.response_template(entity, "text")
        for each in (response, other):
            assert isinstance(each, ChatDocument)
            assert (each.content, each.metadata.sender) == ("text", entity)
        assert create().content in ("", None)
    assert agent.create_agent_response("x").metadata.sender_name == "Ada"


@pytest.mark.shows("Agent.agent_response", "Agent.agent_response(msg=None)", "semantic 9")
def test_the_agent_itself_answers_tool_calls_and_nothing_else():
    agent = with_tools()
    assert agent.agent_response() is None
    assert agent.agent_response("hello") is None
    assert agent.agent_response(document("hello", Entity.LLM)) is None
    response = agent.agent_response(document(f"I try {SQUARE}.", Entity.LLM))
    assert response is not None
    assert (response.content, response.metadata.sender, response.metadata.sender_name) == ("9", Entity.AGENT, "A")


@pytest.mark.shows("Agent.llm_response", "Agent.llm_response(msg=None)", "Agent.llm_response_async(msg=None)")
@pytest.mark.shows("both names 7", "ChatAgent.llm_response(message=None)", "ChatAgent.llm_response_async(message=None)")
def test_a_model_answers_a_text_or_a_message_by_either_name():
    for make in (plain, scripted):
        for given in ("hi", document("hi")):
            response = make("hello").llm_response(given)
            assert response is not None
            assert (response.content, response.metadata.sender) == ("hello", Entity.LLM)
            assert content(asyncio.run(make("hello").llm_response_async(given))) == "hello"
    assert content(scripted("hello").llm_response(message="hi")) == "hello"
    assert content(scripted("hello").llm_response(msg="hi")) == "hello"  # type: ignore[call-arg] - the older name
    assert content(asyncio.run(scripted("hello").llm_response_async(message="hi"))) == "hello"
    assert plain().llm_response() is None, "nothing to complete"


@pytest.mark.shows("Agent.llm_can_respond", "Agent.llm_can_respond(message=None)", "Agent.can_respond")
def test_a_model_does_not_answer_a_call_that_the_agent_handles():
    agent, other = with_tools(), with_tools(Greet)
    call = document(SQUARE, Entity.LLM)
    assert [agent.llm_can_respond(each) for each in (None, "hi", call)] == [True, True, False]
    assert other.llm_can_respond(call) is True, "it is not its tool"
    assert agent.llm_response(call) is None
    assert agent.can_respond("hi") is True
    tools_only = scripted(respond_tools_only=True)
    tools_only.enable_message(Square)
    assert [tools_only.can_respond(each) for each in ("hi", call)] == [False, True]


@pytest.mark.shows("Agent.user_response", "Agent.user_response(msg=None)", "Agent.interactive")
@pytest.mark.parametrize(
    ("interactive", "addressed", "answer", "expected"),
    [(True, False, "yes", "yes"), (False, False, "yes", None), (False, True, "yes", "yes"), (True, False, "", None)],
)
def test_a_user_is_asked_if_interactive_or_addressed(
    interactive: bool, addressed: bool, answer: str, expected: str | None
):
    agent = scripted()
    agent.interactive, agent.default_human_response = interactive, answer
    given = document("what now?", Entity.LLM, recipient="User" if addressed else "")
    response = agent.user_response(given)
    assert (response and response.content) == expected
    if response is not None:
        assert response.metadata.sender is Entity.USER


@pytest.mark.shows("Agent.user_response", "Entity.SYSTEM")
def test_a_user_may_speak_as_the_system():
    agent = scripted()
    agent.interactive, agent.default_human_response = True, "SYSTEM be brief"
    response = agent.user_response("hi")
    assert response is not None
    assert (response.content, response.metadata.sender) == ("be brief", Entity.SYSTEM)


@pytest.mark.shows("Agent.to_ChatDocument", "Agent.from_ChatDocument")
@pytest.mark.parametrize(
    ("value", "text"), [("x", "x"), (7, "7"), ({"a": 1}, '"a"'), (Greet(who="Ada"), "Ada"), (document("doc"), "doc")]
)
def test_anything_becomes_a_message_and_comes_back(value: Any, text: str):
    agent = scripted()
    made = agent.to_ChatDocument(value, author_entity=Entity.AGENT)
    assert made is not None
    assert text in made.content or text in str(made.tool_messages)
    if not isinstance(value, ChatDocument):
        kind = cast("Any", type(value))
        assert agent.from_ChatDocument(made, kind) == value
    assert agent.to_ChatDocument(None) is None


@pytest.mark.shows("Agent.from_ChatDocument")
def test_a_message_that_is_no_such_value_gives_none():
    agent = scripted()
    assert agent.from_ChatDocument(document("no number"), int) is None
    assert agent.from_ChatDocument(document("42"), int) == 42


# ---- what it costs
@pytest.mark.shows(
    "Agent.update_token_usage", "Agent.update_token_usage(response)", "Agent.update_token_usage(prompt)",
    "Agent.update_token_usage(stream)", "Agent.update_token_usage(chat=True)",
    "Agent.update_token_usage(print_response_stats=True)", "Agent.total_llm_token_usage", "Agent.total_llm_token_cost",
    "Agent.token_stats_str", "weak point 17",
)  # fmt: skip
def test_tokens_are_counted_for_the_agent_alone_and_nothing_is_printed(capsys: pytest.CaptureFixture[str]):
    agent, other = scripted(), scripted()
    assert (agent.total_llm_token_usage, agent.total_llm_token_cost, agent.token_stats_str) == (0, 0.0, "")
    usage = LLMTokenUsage(prompt_tokens=10, completion_tokens=5, cost=0.25)
    prompt = [LLMMessage(role=Role.USER, content="hi")]
    agent.update_token_usage(LLMResponse(message="hello", usage=usage), prompt, stream=False)
    assert (agent.total_llm_token_usage, agent.total_llm_token_cost) == (15, 0.25)
    agent.update_token_usage(
        LLMResponse(message="hello", usage=usage), "hi", False, chat=False, print_response_stats=False
    )
    assert (agent.total_llm_token_usage, agent.total_llm_token_cost) == (30, 0.5)
    assert "0.5" in agent.token_stats_str
    before = agent.total_llm_token_usage
    agent.update_token_usage(LLMResponse(message="one two three"), prompt, stream=True)
    assert agent.total_llm_token_usage > before, "the tokens of a stream are counted here"
    agent.update_token_usage(LLMResponse(message="x", cached=True), prompt, stream=True)
    assert (other.total_llm_token_usage, other.token_stats_str) == (0, "")
    assert capsys.readouterr() == ("", "")


@pytest.mark.shows("Agent.total_llm_token_usage", "weak point 4")
def test_what_a_model_used_is_counted_by_each_call():
    agent = scripted(["hello there", Usage(3, 2)], ["again", Usage(7, 1)])
    agent.llm_response("hi")
    first = agent.total_llm_token_usage
    agent.llm_response("and now")
    assert (first, agent.total_llm_token_usage) == (5, 13)
    assert scripted().total_llm_token_usage == 0


# ---- other agents
@pytest.mark.shows(
    "Agent.ask_agent", "Agent.ask_agent(agent)", "Agent.ask_agent(request)", "Agent.ask_agent(no_answer=NO_ANSWER)",
    "Agent.ask_agent(user_confirm=True)", "weak point 13",
)  # fmt: skip
def test_an_agent_asks_another_and_is_told_nothing_where_that_does_not_know():
    agent = scripted()
    found = agent.ask_agent(scripted("42"), "6 * 7?", user_confirm=False)
    assert found is not None
    assert found == "ChatAgent says: 42"
    assert agent.ask_agent(scripted(NO_ANSWER), "?", user_confirm=False) is None
    assert agent.ask_agent(scripted("unknown"), "?", no_answer="unknown", user_confirm=False) is None
    for typed, is_asked in (("n", False), ("y", True)):
        asked: list[str] = []

        def answer(prompt: str = "", typed: str = typed, asked: list[str] = asked) -> str:
            asked.append(prompt)
            return typed

        agent.callbacks.get_user_response = answer
        assert (agent.ask_agent(scripted("42"), "6 * 7?") is not None) is is_asked
        assert "6 * 7?" in asked[0]


@pytest.mark.shows("AgentConfig.hide_agent_response", "AgentConfig.show_stats", "weak point 17")
def test_a_run_prints_nothing_unless_it_is_asked(capsys: pytest.CaptureFixture[str]):
    agent = scripted(SQUARE, "DONE 9")
    agent.enable_message(Square)
    assert content(Task(agent, interactive=False).run("3 * 3?")) == "9"
    assert capsys.readouterr() == ("", "")
