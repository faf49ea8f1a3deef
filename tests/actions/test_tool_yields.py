"""Tools that yield: the model reads a list of the items, and endless ones end at a limit."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest

from commander._helpers import Entry, async_entry, every_entry, sync_entry
from trivium import Agent, ChatAgent, Task, ToolMessage
from trivium.actions import BaseAction, Tool
from trivium.testing import ScriptedModel, call_tool

both = pytest.mark.parametrize("entry", [sync_entry, async_entry])


def tools_of(source: Callable[[], Iterable[Any]]) -> dict[str, Any]:
    """The tools named `items` that yield the items of a source, one for each form."""

    def items() -> Iterator[Any]:
        yield from source()

    def returned() -> Any:
        return iter(source())

    class items_action(BaseAction):
        def run(self) -> Iterator[Any]:
            """Yield."""
            yield from source()

    class Message(ToolMessage):
        request: str = "items"
        purpose: str = "To yield."

        def handle(self) -> Iterator[Any]:
            yield from source()

    async def awaited() -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        for item in source():
            yield item

    class AsyncMessage(Message):
        async def handle_async(self) -> AsyncIterator[Any]:
            async for item in awaited():
                yield item

    return {
        "function": Tool.of(items),
        "iterator": Tool.of(returned).replace(name="items"),
        "async function": Tool.of(awaited).replace(name="items"),
        "with retries": Tool.of(items).replace(retries=1),
        "with a timeout": Tool.of(items).replace(timeout=60),
        "action": items_action(),
        "tool message": Message,
        "async tool message": AsyncMessage,
    }


FORMS = list(tools_of(tuple))


def told(tool: Any, entry: Entry) -> str:
    """The result that a model reads, in an agent's own call."""
    name = "items_action" if isinstance(tool, BaseAction) else "items"
    model = ScriptedModel([call_tool(name), "ok"])
    assert entry(Agent(model, tools=[tool]), "go").content == "ok"
    return str(model.requests[-1].messages[-1]["content"])


@pytest.mark.parametrize("form", FORMS)
@every_entry
def test_the_model_reads_a_list(form: str, entry: Entry):
    assert told(tools_of(lambda: ["a", 2, {"b": [3]}])[form], entry) == '["a", 2, {"b": [3]}]'


@both
@pytest.mark.parametrize("item", ["x" * 10_000, "", None], ids=["long", "empty", "nothing"])
@pytest.mark.parametrize("form", ["function", "async function", "tool message"])
def test_an_endless_one_ends_at_a_limit_that_the_error_names(form: str, item: Any, entry: Entry):
    result = told(tools_of(lambda: itertools.repeat(item))[form], entry)
    assert "it yields more than 1,000,000 characters, the limit of what is collected" in result


@both
def test_an_error_between_two_items_is_the_tools_error(entry: Entry):
    assert told(tools_of(lambda: (1 // number for number in (1, 0)))["function"], entry) == (
        "error: integer division or modulo by zero"
    )


@both
def test_one_that_hangs_is_abandoned_at_its_timeout(entry: Entry):
    def items() -> Iterator[int]:
        yield 1
        time.sleep(1)

    began = time.monotonic()
    assert "took longer than the 0.05 seconds" in told(Tool.of(items).replace(timeout=0.05), entry)
    assert time.monotonic() - began < 0.9


def test_in_a_task_the_list_is_the_value_too():
    agent = ChatAgent(ScriptedModel([call_tool("items"), "DONE"]))
    agent.enable_message(tools_of(lambda: [1, 2])["tool message"])
    Task(agent, interactive=False)("go")
    assert agent.message_history[3].content == "[1, 2]"
