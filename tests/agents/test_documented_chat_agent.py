"""The chat agent as documented: its history, what it tells its model, its clones, its answers that leave no trace."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tasks._documented import content, document, scripted
from trivium import ChatAgent, ChatAgentConfig, ChatDocument, Entity, Task, ToolMessage
from trivium.schema import LLMMessage, Role
from trivium.testing import ScriptedModel


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)

    @classmethod
    def instructions(cls) -> str:
        return "Only whole numbers."


class Greet(ToolMessage):
    request: str = "greet"
    purpose: str = "To greet <who>."
    who: str = "you"


def said(agent: ChatAgent) -> list[tuple[str, str]]:
    """The history as roles and texts."""
    return [(entry.role.value, entry.content or "") for entry in agent.message_history]


def asked(agent: ChatAgent, at: int = -1) -> str:
    """What the model was asked, as text."""
    return str(agent.llm.requests[at])


def spoken(*answers: str) -> ChatAgent:
    """An agent that has had one exchange for each answer."""
    agent = scripted(*answers, system_message="Be kind.")
    for number in range(len(answers)):
        agent.llm_response(f"question {number + 1}")
    return agent


# ---- the config
FIELDS: dict[str, Any] = {
    "system_message": "You are a helpful assistant.", "user_message": None, "use_tools": True,
    "use_functions_api": False, "use_tools_api": True, "enable_orchestration_tool_handling": True,
    "handle_llm_no_tool": None,
}  # fmt: skip


@pytest.mark.shows(
    "ChatAgentConfig", "ChatAgentConfig.system_message='You are a helpful assistant.'",
    "ChatAgentConfig.user_message=None", "ChatAgentConfig.use_tools=True", "ChatAgentConfig.use_functions_api=False",
    "ChatAgentConfig.use_tools_api=True", "ChatAgentConfig.enable_orchestration_tool_handling=True",
    "ChatAgentConfig.handle_llm_no_tool=None", "both names 14", "ChatAgent(config=ChatAgentConfig())",
)  # fmt: skip
def test_a_chat_agents_config_has_the_newer_defaults():
    config = ChatAgentConfig()
    assert {name: getattr(config, name) for name in FIELDS} == FIELDS
    agent = ChatAgent()
    assert agent.system_message == config.system_message


@pytest.mark.shows("ChatAgentConfig.system_message", "ChatAgentConfig.user_message", "ChatAgent.system_message")
@pytest.mark.shows("ChatAgent", "ChatAgent.config", "ChatAgent.message_history=[]", "semantic 10")
@pytest.mark.parametrize("config", [None, ChatAgentConfig(name="Ada", llm=ScriptedModel(["another"]))])
def test_a_model_may_be_given_by_its_name_and_counts_over_the_configs(config: Any):
    agent = ChatAgent(config, llm=ScriptedModel(["mine"]))
    assert content(agent("hi")) == "mine"
    assert agent.name == ("Ada" if isinstance(config, ChatAgentConfig) else "ChatAgent")


@pytest.mark.shows("ChatAgent.user_message", "ChatAgent.task_messages", "ChatAgent.init_message_history")
def test_a_history_begins_with_what_the_agent_is_told():
    agent = scripted("hello", system_message="Be kind.", user_message="Begin.")
    assert list(agent.message_history) == []
    assert [each.content for each in agent.task_messages] == ["Be kind.", "Begin."]
    agent.init_message_history()
    assert said(agent) == [("system", "Be kind."), ("user", "Begin.")]
    assert content(agent.llm_response("hi")) == "hello"
    assert [role for role, _ in said(agent)] == ["system", "user", "user", "assistant"]
    assert agent.config.user_message == "Begin."
    plain = scripted("hello", system_message="Be kind.")
    assert [each.role for each in plain.task_messages] == [Role.SYSTEM]


@pytest.mark.shows("ChatAgent(task=None)", "ChatAgent.task_messages")
def test_the_messages_of_a_task_specification_come_before_the_configs():
    config = ChatAgentConfig(name="A", llm=ScriptedModel(["x"]), system_message="Be kind.", user_message="Begin.")
    told = [LLMMessage(role=Role.SYSTEM, content="Be brief."), LLMMessage(role=Role.USER, content="Go.")]
    agent = ChatAgent(config, task=told)
    assert (agent.system_message, agent.user_message) == ("Be brief.", "Go.")
    assert [each.content for each in agent.task_messages] == ["Be brief.", "Go."]
    one = ChatAgent(config, told[:1])
    assert (one.system_message, one.user_message) == ("Be brief.", "Begin.")
    without = ChatAgent(config)
    assert (without.system_message, without.user_message) == ("Be kind.", "Begin.")


@pytest.mark.shows("ChatAgent.set_system_message", "ChatAgent.set_user_message")
@pytest.mark.shows("ChatAgent.augment_system_message", "ChatAgent.augment_system_message(message)")
def test_what_the_agent_is_told_can_be_changed_and_counts_from_the_next_call():
    agent = spoken("one")
    agent.set_system_message("Be brief.")
    agent.augment_system_message("Be exact.")
    agent.llm_response("and?")
    assert "Be brief." in said(agent)[0][1]
    assert agent.system_message == "Be brief.\n\nBe exact."
    assert "Be exact." in asked(agent)
    assert "Be kind." not in asked(agent)
    agent.set_user_message("Begin.")
    assert agent.user_message == "Begin."


# ---- the history
@pytest.mark.shows("ChatAgent.llm_response", "ChatAgent.message_history", "ChatDocMetaData.msg_idx", "semantic 10")
@pytest.mark.shows("ChatAgent.llm_response_async", "ChatDocMetaData.agent_id", "weak point 5")
@pytest.mark.parametrize("is_async", [False, True])
def test_question_and_answer_are_remembered_and_the_answer_knows_its_place(is_async: bool):
    agent = scripted("one", "two", system_message="Be kind.")

    def response(text: str) -> Any:
        return asyncio.run(agent.llm_response_async(text)) if is_async else agent.llm_response(text)

    first, second = response("a"), response("b")
    assert said(agent)[1:] == [("user", "a"), ("assistant", "one"), ("user", "b"), ("assistant", "two")]
    assert (first.metadata.msg_idx, second.metadata.msg_idx) == (2, 4)
    assert first.metadata.agent_id == agent.id


@pytest.mark.shows("ChatAgent.llm_response(message)", "semantic 10")
def test_without_a_message_the_last_answer_is_made_anew():
    agent = scripted("one", "better", system_message="Be kind.")
    agent.llm_response("a")
    assert content(agent.llm_response(None)) == "better"
    assert said(agent)[1:] == [("user", "a"), ("assistant", "better")]
    assert content(scripted("hello").llm_response()) == "hello", "what it is told is a beginning"


@pytest.mark.shows("ChatAgent.llm_response(message)", "LLMMessage.chat_document_id", "semantic 10")
def test_a_message_that_is_last_already_is_not_added_twice():
    agent = scripted("one", "two", system_message="Be kind.")
    question = document("a")
    agent.llm_response(question)
    agent.clear_history(-1)
    agent.llm_response(question)
    assert [role for role, _ in said(agent)] == ["system", "user", "assistant"]
    assert agent.message_history[1].chat_document_id == question.id()


@pytest.mark.shows("ChatAgent.llm_response(message)", "Entity.SYSTEM", "Role.SYSTEM", "Role.USER", "Role.ASSISTANT")
@pytest.mark.parametrize(("sender", "role"), [(Entity.USER, "user"), (Entity.SYSTEM, "system"), (Entity.AGENT, "user")])
def test_the_role_of_a_message_is_its_senders(sender: Entity, role: str):
    agent = scripted("one")
    agent.llm_response(document("a", sender))
    assert said(agent)[1:] == [(role, "a"), ("assistant", "one")]


@pytest.mark.shows("ChatAgent.clear_history", "ChatAgent.clear_history(start=-2)", "ChatAgent.clear_history(end=-1)")
@pytest.mark.shows("both names 8")
@pytest.mark.parametrize(
    ("arguments", "left"),
    [((), [0, 1, 2]), ((0,), []), ((1,), [0]), ((-1,), [0, 1, 2, 3]), ((-3,), [0, 1]), ((1, 3), [0, 4]),
     ((-4, 2), [0, 3, 4]), ((9,), [0, 1, 2, 3, 4])],
)  # fmt: skip
def test_a_history_is_cleared_from_one_place_to_another(arguments: tuple[int, ...], left: list[int]):
    agent = spoken("one", "two")
    before = said(agent)
    assert len(before) == 5
    agent.clear_history(*arguments)
    assert said(agent) == [before[at] for at in left]


@pytest.mark.shows("ChatAgent.clear_history", "ChatDocument.delete_id", "weak point 4")
def test_what_is_cleared_is_not_found_any_more():
    agent = scripted("one")
    question = document("a")
    agent.llm_response(question)
    agent.clear_history(0)
    assert ChatDocument.from_id(question.id()) in (None, question), "at most its owner's"
    assert list(agent.message_history) == []


@pytest.mark.shows(
    "ChatAgent.update_history", "ChatAgent.update_history(message)", "ChatAgent.update_history(response)"
)
def test_an_exchange_can_be_put_into_the_history():
    agent = spoken("one")
    agent.update_history(message="my question", response="my answer")
    assert said(agent)[-2:] == [("user", "my question"), ("assistant", "my answer")]
    agent.update_history("x", "y")
    agent.llm_response("and?")
    assert "my answer" in asked(agent)


@pytest.mark.shows(
    "ChatAgent.last_message_with_role", "ChatAgent.last_message_with_role(role)",
    "ChatAgent.nth_message_idx_with_role", "ChatAgent.nth_message_idx_with_role(role)",
    "ChatAgent.nth_message_idx_with_role(n)",
)  # fmt: skip
def test_entries_are_found_by_their_role():
    agent = spoken("one", "two")
    last = agent.last_message_with_role(Role.ASSISTANT)
    assert last is not None
    assert last.content == "two"
    assert agent.last_message_with_role(Role.FUNCTION) is None
    places = [agent.nth_message_idx_with_role(Role.USER, number) for number in (1, 2, 3)]
    assert places == [1, 3, -1], "counted from one"
    assert agent.nth_message_idx_with_role(role=Role.SYSTEM, n=1) == 0


@pytest.mark.shows(
    "ChatAgent.update_last_message", "ChatAgent.update_last_message(message)",
    "ChatAgent.update_last_message(role=Role.USER)",
)  # fmt: skip
def test_the_last_entry_of_a_role_is_replaced():
    agent = spoken("one", "two")
    agent.update_last_message("just the question")
    agent.update_last_message("just the answer", role=Role.ASSISTANT)
    assert said(agent)[-2:] == [("user", "just the question"), ("assistant", "just the answer")]
    assert said(agent)[1] == ("user", "question 1")
    empty = scripted()
    empty.update_last_message("x")
    assert list(empty.message_history) == []


@pytest.mark.shows("ChatAgent.message_history_str", "ChatAgent.message_history_str(i=None)")
def test_a_history_is_shown_as_text_whole_or_in_part():
    agent = spoken("one", "two")
    whole = agent.message_history_str()
    for text in ("Be kind.", "question 1", "one", "two"):
        assert text in whole
    assert "question 1" in agent.message_history_str(1)
    assert "one" not in agent.message_history_str(1)
    last = agent.message_history_str(-2)
    assert "question 2" in last
    assert "two" in last
    assert "question 1" not in last


@pytest.mark.shows("ChatAgent.chat_num_tokens", "ChatAgent.chat_num_tokens(messages=None)")
def test_the_tokens_of_a_history_are_counted():
    agent = spoken("one", "two")
    messages = [LLMMessage(role=Role.USER, content="a few words more than that")]
    assert agent.chat_num_tokens(messages) > 0
    assert agent.chat_num_tokens([*messages, *messages]) == 2 * agent.chat_num_tokens(messages)
    assert agent.chat_num_tokens() == agent.chat_num_tokens(list(agent.message_history)) > 0


# ---- without a trace
@pytest.mark.shows("ChatAgent.llm_response_forget", "ChatAgent.llm_response_forget(message)")
@pytest.mark.shows(
    "ChatAgent.llm_response_forget_async", "ChatAgent.llm_response_forget_async(message)", "weak point 5"
)
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("rounds", [0, 2])
def test_an_answer_can_be_had_that_is_not_remembered(is_async: bool, rounds: int):
    agent = spoken(*["earlier"] * rounds) if rounds else scripted("once")
    before = said(agent)[1:]
    answer = asyncio.run(agent.llm_response_forget_async("a")) if is_async else agent.llm_response_forget(message="a")
    assert content(answer) == ("earlier" if rounds else "once")
    assert said(agent)[1:] == before
    assert asked(agent).count("question") == rounds, "it knew what was said before"


@pytest.mark.shows(
    "ChatAgent.llm_response_messages", "ChatAgent.llm_response_messages(messages)",
    "ChatAgent.llm_response_messages(output_len=None)", "ChatAgent.llm_response_messages_async",
    "ChatAgent.llm_response_messages_async(messages)", "ChatAgent.llm_response_messages_async(output_len=None)",
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("output_len", [None, 7])
def test_messages_are_answered_without_the_history(is_async: bool, output_len: int | None):
    agent = scripted("one")
    messages = [LLMMessage(role=Role.SYSTEM, content="Be brief."), LLMMessage(role=Role.USER, content="a")]
    options: dict[str, Any] = {} if output_len is None else {"output_len": output_len}
    if is_async:
        response = asyncio.run(agent.llm_response_messages_async(messages, **options))
    else:
        response = agent.llm_response_messages(messages, **options)
    assert (response.content, response.metadata.sender) == ("one", Entity.LLM)
    assert list(agent.message_history) == []
    assert "Be brief." in asked(agent)


# ---- clones
@pytest.mark.shows(
    "ChatAgent.clone", "ChatAgent.clone(i=0)", "weak point 7", "Agent.llm_tools_map", "Agent.llm_tools_usable"
)
def test_a_clone_has_the_same_tools_and_shares_nothing_that_changes():
    agent = spoken("one")
    agent.enable_message(Square)
    first, third = agent.clone(), agent.clone(3)
    assert [each.config.name for each in (agent, first, third, third.clone(1))] == ["A", "A-0", "A-3", "A-3-1"]
    assert (first.system_message, type(first), list(first.message_history)) == ("Be kind.", ChatAgent, [])
    assert "square" in first.llm_tools_usable
    assert content(first.agent_response(document('{"request": "square", "number": 3}', Entity.LLM))) == "9"
    first.enable_message(Greet)
    first.disable_message_use(Square)
    first.set_system_message("Be brief.")
    assert ("greet" in agent.llm_tools_map, "greet" in agent.llm_tools_usable) == (False, False)
    assert "square" in agent.llm_tools_usable
    assert agent.system_message == "Be kind."
    assert len({each.id for each in (agent, first, third)}) == 3


class Cart(ChatAgent):
    def __init__(self, config: ChatAgentConfig) -> None:
        super().__init__(config)
        self.items, self.counts, self.seen = ["tea"], {"tea": 1}, {"tea"}
        self.lock = threading.Lock()


@pytest.mark.shows("ChatAgent.clone(i)", "weak point 7")
def test_a_clone_has_lists_dicts_and_sets_of_its_own_and_shares_what_cannot_be_copied():
    agent = Cart(ChatAgentConfig(name="Cart"))
    for clone in (agent.clone(1), Task(agent).clone(2).agent):
        assert isinstance(clone, Cart)
        assert (clone.items, clone.counts, clone.seen) == (["tea"], {"tea": 1}, {"tea"})
        clone.items.append("coffee")
        clone.counts["coffee"] = 1
        clone.seen.add("coffee")
        assert clone.lock is agent.lock
    assert (agent.items, agent.counts, agent.seen) == (["tea"], {"tea": 1}, {"tea"})


# ---- what the model is told about tools
@pytest.mark.shows(
    "ChatAgent.json_format_rules", "ChatAgent.tool_format_rules", "ChatAgent.tool_instructions", "both names 1",
    "ChatAgent.system_tool_instructions", "ChatAgent.system_json_tool_instructions", "ToolMessage.instructions",
)  # fmt: skip
def test_the_model_is_told_about_the_tools_it_may_use_and_no_others():
    agent = scripted("one", system_message="Be kind.")
    agent.config = ChatAgentConfig(use_tools=True)
    assert "square" not in agent.tool_format_rules()
    agent.enable_message([Square, Greet])
    agent.disable_message_use(Greet)
    rules = agent.tool_format_rules()
    assert agent.json_format_rules() == rules
    assert "To square a <number>." in rules
    assert "greet" not in rules
    assert "Only whole numbers." in agent.tool_instructions()
    agent.llm_response("hi")
    assert "square" in said(agent)[0][1]
    assert "Only whole numbers." in said(agent)[0][1]
    assert "greet" not in said(agent)[0][1]
    assert "square" in agent.system_tool_instructions + agent.system_json_tool_instructions
    agent.disable_message_use(Square)
    agent.llm_response("hi")
    assert "square" not in said(agent)[0][1], "made anew for each call"


class Shout(Greet):
    request: str = "shout"

    @classmethod
    def langroid_tools_instructions(cls) -> str:
        return "A call of it stands alone."


@pytest.mark.shows("ToolMessage.langroid_tools_instructions")
@pytest.mark.parametrize("is_written", [True, False])
def test_a_classs_own_words_on_how_it_is_called_are_told_to_a_model_that_writes_calls_as_text(is_written: bool):
    config = ChatAgentConfig(use_tools=is_written, use_functions_api=not is_written)
    agent = ChatAgent(config, llm=ScriptedModel(["Hi."]))
    agent.enable_message([Greet, Shout])
    agent.llm_response("Hello?")
    assert asked(agent).count("A call of it stands alone.") == is_written
    assert Greet.langroid_tools_instructions() not in asked(agent)


@pytest.mark.shows("weak point 10", "Agent.llm_tools_usable", "ChatAgent.tool_format_rules")
def test_tools_are_told_in_the_order_in_which_they_were_enabled():
    names = [f"tool_{number}" for number in (7, 3, 9, 1, 5, 2, 8, 4, 6)]
    agent = scripted("x")
    for name in names:
        agent.enable_message(type(name, (Greet,), {"__annotations__": {"request": str}, "request": name}))
    rules = agent.tool_format_rules()
    assert sorted(names, key=rules.index) == names
    assert [name for name in agent.llm_tools_usable if name in names] == names
