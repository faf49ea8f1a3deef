"""A conversation that begins in the middle, as a memory or a context that sends the latest messages alone has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trivium.llms import Request
from trivium.llms._protocol import LongHistory
from trivium.llms.wire._claude_request import claude_body, claude_names
from trivium.llms.wire._gemini_request import gemini_body, gemini_names
from trivium.llms.wire._written import GOES_ON

CALL = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "be kind"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "2"},
    {"role": "assistant", "content": "It is 2."},
    {"role": "user", "content": "and?"},
]


def sent_to_claude(request: Request) -> list[dict[str, Any]]:
    model = "claude-opus-4-8"
    return claude_body(model, request, {}, claude_names(model, request))["messages"]


def sent_to_gemini(request: Request) -> list[dict[str, Any]]:
    model = "gemini-3-pro"
    return gemini_body(model, request, {}, gemini_names(model, request))["contents"]


FORMATS = pytest.mark.parametrize(
    ("sent", "key", "told"),
    [
        (sent_to_claude, "content", [{"type": "text", "text": GOES_ON}]),
        (sent_to_gemini, "parts", [{"text": GOES_ON}]),
    ],
)


@FORMATS
@pytest.mark.parametrize(("begin", "is_told"), [(1, True), (3, True), (4, False)])
def test_words_of_the_user_stand_before_an_answer_or_a_call(sent: Any, key: str, told: Any, begin: int, is_told: bool):
    said = sent(Request([MESSAGES[0], *MESSAGES[begin:]]))
    assert said[0]["role"] == "user"
    assert (said[0][key] == told) is is_told
    assert len(said) == len(MESSAGES) - begin + is_told


@FORMATS
@pytest.mark.parametrize(
    ("before", "is_told"),
    [
        ([{"role": "assistant", "content": ""}], False),
        ([{"role": "user", "content": ""}, {"role": "assistant", "content": "A"}], True),
        ([{"role": "user", "content": list[str]()}, {"role": "assistant", "content": "A"}], True),
        ([{"role": "assistant", "content": "Hello, I am Bot."}], True),
    ],
)
def test_what_counts_is_the_first_message_that_is_written(
    sent: Any, key: str, told: Any, before: list[Any], is_told: bool
):
    said = sent(Request([*before, MESSAGES[-1]]))
    assert (said[0][key] == told) is is_told
    assert [each["role"] == "user" for each in said] == ([True, False, True] if is_told else [True])


@FORMATS
@pytest.mark.parametrize("begin", [0, 1])
def test_of_a_long_history_too(sent: Any, key: str, told: Any, begin: int):
    turns = [{"role": role, "content": f"{role} {at}"} for at in range(40) for role in ("user", "assistant")][begin:]
    said = sent(Request(LongHistory.begin(turns)))
    assert said.written
    whole = sent(Request(turns))
    assert json.loads(said.body({said.name: said})) == {said.name: whole}
    assert (whole[0][key] == told) is bool(begin)
