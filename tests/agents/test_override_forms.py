"""Overrides of both forms of a responder, and of the readers of calls in a text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trivium import ChatAgent, ChatAgentConfig, Entity, Message, Task, ToolMessage
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
