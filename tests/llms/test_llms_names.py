"""Names and roles that the interfaces of providers do not take: what is sent instead, and what comes back."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent
from trivium.llms import Delta, OpenAIModel, Request, ToolCallPart
from trivium.llms.local._constraints import Constraint, chat_messages
from trivium.llms.wire._tool_names import legal, legal_names
from trivium.schema import ToolSpec

from ._provider_answers import gpt_call, gpt_text
from ._servers import ChatServer, Script, http_answer

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ASK = [{"role": "user", "content": "hi"}]
NAMES = st.one_of(
    st.text(max_size=80),
    st.text("a._", max_size=3),
    st.integers(60, 70).map(lambda size: "x" * size),
)


@given(st.lists(NAMES, max_size=12))
def test_each_name_gets_a_legal_one_of_its_own(names: list[str]) -> None:
    sent = legal_names(iter(names))
    given_out = [sent.get(name, name) for name in set(names)]
    assert all(LEGAL.fullmatch(name) for name in given_out)
    assert len(set(given_out)) == len(given_out)
    assert all(name not in sent for name in names if LEGAL.fullmatch(name))


@given(NAMES)
def test_a_legal_name_stays_and_any_other_becomes_one(name: str) -> None:
    assert LEGAL.fullmatch(legal(name))
    assert legal(legal(name)) == legal(name)


def test_names_that_would_become_one_are_kept_apart() -> None:
    sent = legal_names(["Kit.api", "Kit_api", "Kit api", "x" * 70, "x" * 71, ""])
    assert sent["Kit.api"] != "Kit_api"
    assert len(set(sent.values()) | {"Kit_api"}) == 6


TOOLS = [ToolSpec("Kit.api", "One.", {"type": "object"}), ToolSpec("Kit_api", "Two.", {"type": "object"})]


def whole_call(name: str) -> Script:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return http_answer(json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode())


def streamed_call(name: str) -> Script:
    return gpt_call(name, "{}")


@pytest.mark.parametrize("make", [streamed_call, whole_call])
@pytest.mark.parametrize("tool", ["Kit.api", "Kit_api"])
def test_an_answer_has_the_tools_own_name(chat: ChatServer, tool: str, make: Any) -> None:
    sent = legal_names(["Kit.api", "Kit_api"]).get(tool, tool)

    async def collect() -> list[Delta]:
        request = Request(ASK, TOOLS, "Kit.api")
        return [delta async for delta in OpenAIModel("m", base_url=chat.url).stream(request)]

    chat.scripts = [make(sent)]
    (first, *_) = asyncio.run(collect())
    assert isinstance(first, ToolCallPart)
    assert first.name == tool
    body = chat.received[0].body
    names = [each["function"]["name"] for each in body["tools"]]
    assert len(set(names)) == 2
    assert all(map(LEGAL.fullmatch, names))
    assert body["tool_choice"]["function"]["name"] == names[0]


def test_calls_of_the_past_are_called_as_the_tools_are_now(chat: ChatServer) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "Kit.api", "arguments": "{}"}}
    gone = {"id": "c2", "type": "function", "function": {"name": "Gone.api", "arguments": "{}"}}
    messages = [*ASK, {"role": "assistant", "content": "", "tool_calls": [call, gone]}]

    async def ask() -> None:
        async for _ in OpenAIModel("m", base_url=chat.url).stream(Request(messages, TOOLS[:1])):
            pass

    chat.scripts = [gpt_text("a")]
    asyncio.run(ask())
    body = chat.received[0].body
    (tool,) = body["tools"]
    sent = [each["function"]["name"] for each in body["messages"][1]["tool_calls"]]
    assert sent == [tool["function"]["name"], "Gone_api"]
    assert call["function"] == {"name": "Kit.api", "arguments": "{}"}


def test_an_agent_calls_a_tool_whose_name_the_interface_does_not_take(chat: ChatServer) -> None:
    from trivium.actions import BaseAction, tool_api

    class Kit(BaseAction):
        @tool_api
        def twice(self, number: int) -> str:
            """Double it.

            Args:
                number: which.
            """
            return str(2 * number)

    chat.scripts = [gpt_call("Kit_twice", '{"number": 2}'), gpt_text("4")]
    assert Agent(OpenAIModel("m", base_url=chat.url), tools=[Kit()])("2 * 2?").content == "4"
    *_, called, result = chat.received[1].body["messages"]
    assert called["tool_calls"][0]["function"]["name"] == "Kit_twice"
    assert result["content"] == "4"


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        ({"role": "environment", "content": "4"}, {"role": "user", "content": "4", "name": "environment"}),
        ({"role": "environment", "content": "4", "name": "plugin"}, {"role": "user", "content": "4", "name": "plugin"}),
        ({"role": "user", "content": "4", "name": "Ada L."}, {"role": "user", "content": "4", "name": "Ada_L_"}),
        ({"role": "user", "content": "4", "name": None}, {"role": "user", "content": "4"}),
        ({"content": "4"}, {"role": "user", "content": "4"}),
        ({"role": "developer", "content": "4"}, {"role": "developer", "content": "4"}),
        ({"role": "tool", "tool_call_id": "c", "content": "4"}, {"role": "tool", "tool_call_id": "c", "content": "4"}),
    ],
)
def test_roles_and_names_of_messages_are_made_to_fit(
    chat: ChatServer, message: dict[str, Any], sent: dict[str, Any]
) -> None:
    chat.scripts = [gpt_text("a")]
    before = dict(message)
    assert OpenAIModel("m", base_url=chat.url).chat([message]) == "a"
    assert chat.received[0].body["messages"] == [sent]
    assert message == before


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o", "max_tokens"),
        ("qwen3", "max_tokens"),
        ("o3-mini", "max_completion_tokens"),
        ("gpt-5-mini", "max_completion_tokens"),
        ("openai/gpt-5", "max_completion_tokens"),
    ],
)
def test_the_longest_answer_has_the_name_that_the_family_takes(chat: ChatServer, model: str, name: str) -> None:
    chat.scripts = [gpt_text("a")]
    OpenAIModel(model, base_url=chat.url).chat(ASK, max_new_tokens=7)
    assert {key: value for key, value in chat.received[0].body.items() if "tokens" in key} == {name: 7}


def test_the_embedded_model_reads_any_role_and_name() -> None:
    messages = [{"role": "environment", "content": "4", "name": "Kit.api"}, {"role": "critic", "content": "no"}]
    assert chat_messages(messages, Constraint()) == [
        {"role": "user", "content": "4"},
        {"role": "user", "content": "no"},
    ]
