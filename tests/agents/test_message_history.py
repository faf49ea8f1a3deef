"""`agent.message_history` as the list of model messages that the documents work with: compared, copied, sorted, set."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from trivium import ChatAgent, ChatAgentConfig, ChatDocument, Message, Task, ToolMessage
from trivium.exceptions import ConfigurationError
from trivium.language_models.mock_lm import MockLMConfig
from trivium.memory import Memory
from trivium.schema import LLMMessage, Role
from trivium.testing import ScriptedModel, call_tool


class Square(ToolMessage):
    request: str = "square"
    purpose: str = "To square a <number>."
    number: int

    def handle(self) -> str:
        return str(self.number**2)


def calling(*more: str) -> ChatAgent:
    """An agent whose model has called a tool."""
    agent = ChatAgent(ScriptedModel([call_tool("square", number=3), "DONE nine", *more]))
    agent.enable_message(Square)
    Task(agent, interactive=False).run("What is three squared?")
    return agent


def talking() -> ChatAgent:
    """An agent that has had one exchange; its model cannot be copied."""
    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="ok")))
    agent.llm_response("one")
    return agent


def texts(entries: Any) -> list[Any]:
    return [each.content for each in entries]


# ---- a native call
def test_the_entry_of_a_call_is_that_of_the_answer():
    asked = ChatAgent(ScriptedModel([call_tool("square", number=3)]))
    asked.enable_message(Square)
    answer = asked.llm_response("What is three squared?")
    of_answer, entry = ChatDocument.to_LLMMessage(cast("Message", answer))[0], calling().message_history[2]
    assert (entry.role, entry.content, entry.name) == (of_answer.role, of_answer.content, of_answer.name)
    assert entry.tool_calls == of_answer.tool_calls
    assert str(entry) == str(of_answer)
    last = asked.last_message_with_role(Role.ASSISTANT)
    assert last is not None
    assert last.tool_calls == of_answer.tool_calls


def roles(messages: Any) -> list[tuple[str, int]]:
    return [(each["role"], len(each.get("tool_calls") or ())) for each in messages]


SENT = [("system", 0), ("user", 0), ("assistant", 1), ("tool", 0), ("assistant", 0)]


def test_a_history_is_sent_with_its_calls():
    agent = calling("again")
    agent.llm_response_messages(list(agent.message_history))
    assert roles(agent.llm.requests[-1].messages) == SENT


def read_again(history: Any) -> list[LLMMessage]:
    return [LLMMessage.model_validate_json(each.model_dump_json()) for each in history]


@pytest.mark.parametrize("copied", [list, copy.deepcopy, read_again])
def test_a_history_that_another_agent_is_given_has_its_calls(copied: Callable[[Any], list[LLMMessage]]):
    model = ScriptedModel(["fine"])
    other = ChatAgent(model, name="Other")
    other.message_history = copied(calling().message_history)
    other.llm_response("go on")
    assert roles(model.requests[-1].messages) == [*SENT, ("user", 0)]


# ---- as a list
def test_an_entry_is_found_as_in_a_list():
    agent = talking()
    agent.llm_response("one")
    history = agent.message_history
    assert history == agent.message_history
    assert history == list(history)
    assert all(entry in history for entry in history)
    assert [history.index(entry) for entry in history] == [0, 1, 2, 3, 4], "equal texts are told apart by their times"
    history.remove(history[3])
    assert texts(history)[1:] == ["one", "ok", "ok"]
    assert LLMMessage(role=Role.USER, content="one") not in history
    assert texts(reversed(history)) == texts(list(history)[::-1])


def test_what_was_put_into_a_history_is_found_there():
    agent = talking()
    given = [
        LLMMessage(role=role, content=None if role is Role.ASSISTANT else "x") for role in (Role.USER, Role.ASSISTANT)
    ]
    agent.message_history.extend(given)
    assert [agent.message_history.index(each) for each in given] == [3, 4]
    agent.message_history.remove(given[0])
    assert len(agent.message_history) == 4


COPIES: list[Callable[[Any], Any]] = [
    list,
    copy.copy,
    copy.deepcopy,
    lambda history: history.copy(),
    lambda history: history[:],
    lambda history: history + list[LLMMessage](),
    lambda history: list[LLMMessage]() + history,
    lambda history: pickle.loads(pickle.dumps(history)),
]


@pytest.mark.parametrize("copied", COPIES)
def test_a_conversation_goes_back_to_a_copy_of_its_history(copied: Callable[[Any], list[LLMMessage]]):
    agent = talking()
    saved = copied(agent.message_history)
    before = [message.id() for message in agent.memory.open().messages]
    assert type(saved) is list
    assert all(isinstance(each, LLMMessage) for each in saved)
    assert saved == agent.message_history
    agent.llm_response("two")
    assert len(saved) == 3
    agent.message_history = saved
    assert texts(agent.message_history)[1:] == ["one", "ok"]
    assert saved == agent.message_history
    assert agent.system_message == "You are a helpful assistant."
    if copied in COPIES[:2]:
        assert [message.id() for message in agent.memory.open().messages] == before


def test_a_deep_copy_keeps_what_was_said_and_all_that_the_model_gave():
    agent = talking()
    message = agent.memory.open().messages[1]
    message.reasoning = "so"  # type: ignore[misc] - as a model gives it
    saved = copy.deepcopy(agent.message_history)
    agent.message_history[2].content = "changed"
    agent.llm_response("two")
    assert texts(saved)[1:] == ["one", "ok"]
    agent.message_history = saved
    assert texts(agent.message_history)[1:] == ["one", "ok"]
    assert agent.memory.open().messages[1].reasoning == "so"


def test_a_copy_of_an_entry_is_changed_like_any_message_and_counts_where_it_is_put_back():
    agent = talking()
    history = agent.message_history
    for copied in (copy.copy(history[1]), copy.deepcopy(history[1]), history[1].model_copy()):
        copied.content, copied.role = "mine", Role.SYSTEM
        assert (history[1].content, history[1].role) == ("one", Role.USER)
    history[1] = history[1].model_copy(update={"role": Role.ASSISTANT, "content": "said"})
    assert (history[1].content, history[1].role) == ("said", Role.ASSISTANT)
    saved = copy.deepcopy(history)
    saved[0].content, saved[2].content = "Be brief.", "short"
    agent.message_history = saved
    assert (agent.system_message, texts(history)) == ("Be brief.", ["Be brief.", "said", "short"])


def test_a_deep_copy_has_nothing_of_the_memory():
    class Held(Memory):
        """It cannot be copied."""

        def __deepcopy__(self, memo: object) -> Memory:
            raise TypeError("it holds a connection")

    agent = ChatAgent(ChatAgentConfig(llm=MockLMConfig(default_response="ok")), memory=Held)
    agent.llm_response("one")
    assert texts(copy.deepcopy(agent.message_history))[1:] == ["one", "ok"]
    assert texts(copy.deepcopy(list(agent.message_history)))[1:] == ["one", "ok"]


def test_a_history_is_sorted_behind_the_system_message():
    agent = talking()
    agent.message_history.sort(key=lambda entry: str(entry.content))
    assert texts(agent.message_history)[1:] == ["ok", "one"]
    agent.message_history.sort(key=lambda entry: entry.timestamp, reverse=True)
    assert texts(agent.message_history)[1:] == ["ok", "one"]
    empty = ChatAgent(ScriptedModel([]))
    empty.message_history.sort(key=lambda entry: str(entry.content))
    assert list(empty.message_history) == []


# ---- the entries
def test_the_time_of_an_entry_is_that_of_its_message():
    began = datetime.now(UTC)
    agent = talking()
    ended = datetime.now(UTC)
    time.sleep(0.01)
    first, second = [each.timestamp for each in agent.message_history[1:]]
    assert began <= first <= second <= ended
    given = LLMMessage(role=Role.USER, content="x", timestamp=datetime(2024, 5, 17, tzinfo=UTC))
    agent.message_history.append(given)
    assert agent.message_history[-1].timestamp == given.timestamp
    assert copy.deepcopy(agent.message_history)[1].timestamp == first


def test_what_cannot_be_set_on_an_entry_is_an_error():
    history = talking().message_history
    for name, value in (
        ("role", Role.ASSISTANT),
        ("name", "Bob"),
        ("tool_calls", None),
        ("timestamp", datetime.now(UTC)),
    ):
        with pytest.raises(ConfigurationError, match=f"an entry's {name} cannot"):
            setattr(history[1], name, value)
    history[1].content = "two"
    assert texts(history)[1:] == ["two", "ok"]


def test_an_entry_that_was_forgotten_can_be_changed_and_said_again():
    agent = talking()
    saved = list(agent.message_history)
    agent.clear_history(0)
    saved[1].content = "two"
    agent.message_history = saved
    assert texts(agent.message_history)[1:] == ["two", "ok"]


def test_entries_look_like_the_messages_that_they_are():
    assert {repr(each).partition("(")[0] for each in talking().message_history} == {"LLMMessage"}
