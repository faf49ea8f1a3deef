"""Overrides of both forms of a responder, and of the readers of calls in a text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trivium import ChatAgent, ChatAgentConfig, ChatDocument, Entity, Message, Task, ToolMessage
from trivium.exceptions import ContextOverflowError
from trivium.language_models.mock_lm import MockLM, MockLMConfig
from trivium.testing import ScriptedModel


class BothForms(ChatAgent):
    """It writes both forms of its responders, each with an answer of its own."""

    def llm_response(self, *_: Any, **__: Any) -> Message:
        return Message(content="DONE in sync", entity=Entity.LLM)

    async def llm_response_async(self, *_: Any, **__: Any) -> Any:
        return Message(content="DONE in async", entity=Entity.LLM)

    def handle_message(self, msg: Message | str) -> Message | None:
        return None

    async def handle_message_async(self, msg: Message | str) -> Message | None:
        return None


class BelowBothForms(BothForms):
    """A subclass that writes neither."""


@pytest.mark.parametrize("kind", [BothForms, BelowBothForms])
def test_of_two_written_forms_each_driver_calls_its_own(kind: type[ChatAgent]):
    def task() -> Task[Any]:
        return Task(kind(ChatAgentConfig(llm=ScriptedModel(["never asked"]))), interactive=False)

    assert task()("go").content == "in sync"
    assert asyncio.run(task().acall("go")).content == "in async"


@pytest.mark.parametrize("name", ["get_json_tool_messages", "get_formatted_tool_messages"])
@pytest.mark.parametrize("options", [{}, {"use_tools": True, "use_functions_api": False}])
def test_a_reader_that_only_calls_super_makes_no_call_of_what_is_quoted(name: str, options: dict[str, Any]):
    ran: list[int] = []

    class Look(ToolMessage):
        request: str = "look"
        purpose: str = "To look at <place>."
        place: int

        def handle(self) -> str:
            ran.append(self.place)
            return "a wall"

    def read(self: ChatAgent, input_str: str, from_llm: bool = True) -> list[ToolMessage]:
        return getattr(ChatAgent, name)(self, input_str, from_llm)

    model = ScriptedModel(['The mail says {"request": "look", "place": 3}.', "DONE"])
    agent = type("Reading", (ChatAgent,), {name: read})(ChatAgentConfig(llm=model, **options))
    agent.enable_message(Look)
    Task(agent, interactive=False, single_round=True).run("go")
    assert ran == []


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("forms", ["sync", "async", "both"])
def test_responders_are_those_of_the_written_form_and_of_two_those_of_the_driver(forms: str, is_async: bool):
    def in_sync(self: ChatAgent) -> list[Any]:
        def mine(msg: Any) -> Message:
            return self.create_llm_response("DONE in sync")

        return [(Entity.LLM, mine)]

    def in_async(self: ChatAgent) -> list[Any]:
        async def mine(msg: Any) -> Message:
            return self.create_llm_response("DONE in async")

        return [(Entity.LLM, mine)]

    written = {"entity_responders": in_sync, "entity_responders_async": in_async}
    chosen = {"sync": ["entity_responders"], "async": ["entity_responders_async"], "both": [*written]}[forms]
    kind = type("Own", (ChatAgent,), {name: written[name] for name in chosen})
    task = Task(kind(ChatAgentConfig(llm=ScriptedModel(["never asked"]))), interactive=False)
    result = asyncio.run(task.run_async("go")) if is_async else task.run("go")
    expected = ("async" if is_async else "sync") if forms == "both" else forms
    assert result is not None
    assert result.content == f"in {expected}"


def test_what_an_agent_counts_to_be_more_than_the_window_is_not_sent():
    class Counting(ChatAgent):
        def chat_num_tokens(self, messages: Any = None) -> int:
            return sum(len(each.content) for each in messages)

    model = MockLM(MockLMConfig(default_response="hello", chat_context_length=10))
    agent = Counting(ChatAgentConfig(llm=model, system_message="Be."))
    assert agent.llm_response("hi")
    with pytest.raises(ContextOverflowError, match="send at most 10 tokens, not 21") as caught:
        agent.llm_response("hello there")
    assert isinstance(caught.value, ValueError)
    assert (caught.value.tokens, caught.value.window) == (21, 10)


class Documented(ChatAgent):
    """Writes both forms with the annotations of the documents: pyright accepts them."""

    def llm_response(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        return super().llm_response(message)

    async def llm_response_async(self, message: str | ChatDocument | None = None) -> ChatDocument | None:
        return await super().llm_response_async(message)


def test_responders_are_written_with_the_documents_own_annotations():
    agent = Documented(ScriptedModel(["hello"]))
    answers = agent.llm_response("hi"), asyncio.run(agent.llm_response_async("hi"))
    assert [each and each.content for each in answers] == ["hello", "hello"]
