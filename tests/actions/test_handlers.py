"""Who handles a tool message: the order in which handlers are looked for, and what each of them gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional, TypeAlias

import pytest

from commander._helpers import Entry, async_entry, every_entry, sync_entry
from trivium import ChatAgent, ChatDocument, Message, Module, ToolMessage
from trivium.actions import find_handler
from trivium.commander import driver_neutral
from trivium.commander import sync_method as make_sync_method
from trivium.exceptions import ToolDefinitionError
from trivium.testing import ScriptedModel

Site: TypeAlias = "Special"


class Tool(ToolMessage):
    request: str = "tool"
    purpose: str = "none"


class Special(ChatAgent):
    """An agent with a class of its own."""


class Asking(Module):
    """Handles a tool at an agent, sync or async."""

    def __init__(self, agent: Any, tool: ToolMessage) -> None:
        super().__init__()
        self.agent, self.tool = agent, tool

    @driver_neutral
    async def forward(self, message: Message) -> Message:
        handler = find_handler(self.agent, self.tool)
        return Message(content=None if handler is None else await handler(message))


def handled(entry: Entry, tool: ToolMessage, agent: Any = None) -> Any:
    agent = agent or Special(ScriptedModel(["x"]), name="Ada")
    return entry(Asking(agent, tool), "chat").content


# ---- what a handler gets
def nothing(self: Any) -> Any:
    return []


def by_name(self: Any, agent, chat_doc) -> Any:  # type: ignore[no-untyped-def] # pyright: ignore
    return [agent.name, chat_doc.content]  # pyright: ignore


def other_order(self: Any, chat_doc, agent) -> Any:  # type: ignore[no-untyped-def] # pyright: ignore
    return [agent.name, chat_doc.content]  # pyright: ignore


def by_annotation(self: Any, first: ChatDocument, second: Special) -> Any:
    return [second.name, first.content]


def optional(self: Any, who: ChatAgent, what: Optional[ChatDocument] = None) -> Any:  # noqa: UP045 - as the documents have it
    return [who.name, what and what.content]


def the_message(self: Any, anything) -> Any:  # type: ignore[no-untyped-def] # pyright: ignore
    return [anything.content]  # pyright: ignore


def the_agent(self: Any, agent: Any) -> Any:
    return [agent.name]


def its_own_affair(self: Any, agent: Any, times: int = 2) -> Any:
    return [agent.name] * times


def many(self: Any, *rest: Any, key: int = 0) -> Any:
    return [*rest, key]


HANDLES: list[tuple[Any, list[Any]]] = [
    (nothing, []),
    (by_name, ["Ada", "chat"]),
    (other_order, ["Ada", "chat"]),
    (by_annotation, ["Ada", "chat"]),
    (optional, ["Ada", "chat"]),
    (the_message, ["chat"]),
    (the_agent, ["Ada"]),
    (its_own_affair, ["Ada", "Ada"]),
    (many, [0]),
]


@pytest.mark.shows("semantic 9")
@every_entry
@pytest.mark.parametrize(("handle", "result"), HANDLES)
def test_a_handle_gets_what_it_asks_for(entry: Entry, handle: Callable[..., Any], result: list[Any]):
    kind = type("Made", (Tool,), {"handle": handle, "__module__": __name__, "__qualname__": "Made"})
    assert handled(entry, kind()) == result


def test_parameters_that_say_nothing_are_an_error():
    class Unclear(Tool):
        def handle(self, one: int, two: int) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"Unclear.handle has parameters .* annotate them, or call them"):
        find_handler(ChatAgent(ScriptedModel(["x"])), Unclear())  # type: ignore[call-arg]


@every_entry
def test_a_response_gets_the_agent_then_the_message(entry: Entry):
    class One(Tool):
        def response(self, who: Any) -> Any:
            return [who.name]

    class Two(Tool):
        def response(self, x: Any, y: Any = None) -> Any:
            return [x.name, y.content]

    assert handled(entry, One()) == ["Ada"]  # type: ignore[call-arg]
    assert handled(entry, Two()) == ["Ada", "chat"]  # type: ignore[call-arg]


# ---- who comes first
class Full(Tool):
    """A tool with every form of handler."""

    def handle(self) -> str:
        return "handle"

    async def handle_async(self) -> str:
        return "handle_async"

    def response(self, agent: Any) -> str:
        return "response"


class Named(Full):
    _handler = "own_name"


class Handling(Special):
    def tool(self, message: Tool) -> str:
        return f"method {message.request}"

    def own_name(self, message: Tool, chat_doc: Message) -> str:
        return f"own_name {chat_doc.content}"


class HandlingAsync(Special):
    async def tool_async(self, message: Tool, who: Special, what: Message) -> str:
        return f"async {who.name} {what.content}"


@pytest.mark.shows("ToolMessage._handler")
@every_entry
def test_the_agents_method_comes_first(entry: Entry):
    by = Handling(ScriptedModel(["x"]))
    assert handled(entry, Full(), by) == "method tool"  # type: ignore[call-arg]
    assert handled(entry, Named(), by) == "own_name chat"  # type: ignore[call-arg]
    assert handled(entry, Full(), HandlingAsync(ScriptedModel(["x"]), name="Eve")) == "async Eve chat"  # type: ignore[call-arg]


def test_the_form_that_suits_the_call_is_taken():
    assert handled(sync_entry, Full()) == "handle"  # type: ignore[call-arg]
    assert handled(async_entry, Full()) == "handle_async"  # type: ignore[call-arg]


@every_entry
def test_either_form_is_enough(entry: Entry):
    class OnlyAsync(Tool):
        async def handle_async(self, agent: Any) -> str:
            return agent.name

    class OnlyResponse(Tool):
        async def response_async(self, agent: Any, chat_doc: Message) -> str:
            return f"{agent.name} {chat_doc.content}"

    class Both(Tool):
        @driver_neutral
        async def handle_async(self, agent: Any) -> str:
            return f"once {agent.name}"

        handle = make_sync_method(handle_async)

    assert handled(entry, OnlyAsync()) == "Ada"  # type: ignore[call-arg]
    assert handled(entry, OnlyResponse()) == "Ada chat"  # type: ignore[call-arg]
    assert handled(entry, Both()) == "once Ada"  # type: ignore[call-arg]


def test_a_tool_with_no_handler_has_none():
    assert find_handler(ChatAgent(ScriptedModel(["x"])), Tool()) is None  # type: ignore[call-arg]
    sneaky = Tool.model_validate({"handle": "launch", "response": "launch"})
    assert find_handler(ChatAgent(ScriptedModel(["x"])), sneaky) is None, "fields are no handlers"


@pytest.mark.parametrize("name", ["reset", "acall", "memory", "executor"])
def test_what_every_module_has_handles_nothing(name: str):
    class Other(Tool):
        request: str = name

    assert find_handler(ChatAgent(ScriptedModel(["x"])), Other()) is None  # type: ignore[call-arg]
