"""What a round of a long run sends, and what it costs: as an early one does, though each sends all that was before."""

from __future__ import annotations

import asyncio
import copy
import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Agent
from trivium.exceptions import LimitExceededError
from trivium.http import HTTPRequest, HTTPResponse
from trivium.llms import ClaudeModel, Delta, GoogleModel, ModelProtocol, OpenAIModel, Request, ToolCallPart

CALL = {"name": "look", "arguments": "{}"}
ANSWERS: dict[str, object] = {
    "/chat/completions": {
        "choices": [{"message": {"tool_calls": [{"id": "1", "function": CALL}]}, "finish_reason": "tool_calls"}]
    },
    "/responses": {"status": "completed", "output": [{"type": "function_call", "call_id": "1", **CALL}]},
    "/messages": {
        "type": "message",
        "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}],
        "stop_reason": "tool_use",
    },
    ":streamGenerateContent": {
        "candidates": [{"content": {"parts": [{"functionCall": {"name": "look", "args": {}}}]}, "finishReason": "STOP"}]
    },
}


def look() -> str:
    """Look at it."""
    return "it is there"


class CallsEachTime:
    """Answers each request with a call whose id is the same, and keeps the bodies and the Python calls so far."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.counts: list[int] = []
        self.calls = 0

    async def send(self, request: HTTPRequest) -> HTTPResponse:
        self.bodies.append(request.content)
        self.counts.append(self.calls)
        answer = next(answer for path, answer in ANSWERS.items() if path in request.url)
        return HTTPResponse(200, {"content-type": "application/json"}, self.pieces(answer))

    async def pieces(self, answer: object) -> AsyncGenerator[bytes]:
        yield json.dumps(answer).encode()

    def count(self, frame: object, event: str, _: object) -> None:
        self.calls += event == "call"


MAKERS: list[Callable[..., ModelProtocol]] = [
    OpenAIModel,
    lambda *args, **given: OpenAIModel(*args, interface="responses", **given),
    ClaudeModel,
    GoogleModel,
]


class Keeps:
    """Passes on to a model, and keeps a copy of the last request."""

    name = "keeps"

    def __init__(self, model: ModelProtocol) -> None:
        self.model, self.last = model, Request([])

    def stream(self, request: Request) -> AsyncGenerator[Delta]:
        self.last = request._replace(messages=copy.deepcopy([*request.messages]))
        return cast("AsyncGenerator[Delta]", self.model.stream(request))


@pytest.mark.parametrize("make", MAKERS, ids=["chat", "responses", "claude", "gemini"])
def test_a_late_round_sends_all_before_it_and_takes_as_many_calls_as_an_early_one(
    make: Callable[..., ModelProtocol],
) -> None:
    client = CallsEachTime()
    model = make("m", base_url="http://a/v1", api_key="k", client=client)
    sys.setprofile(client.count)
    try:
        with pytest.raises(LimitExceededError):
            asyncio.run(Agent(model, tools=[look], max_rounds=160).acall("go"))  # in this thread
    finally:
        sys.setprofile(None)
    rounds = [later - before for before, later in zip(client.counts, client.counts[1:], strict=False)]
    assert sum(rounds[-32:]) < 1.1 * sum(rounds[32:64])
    keeps = Keeps(model)
    with pytest.raises(LimitExceededError):
        Agent(keeps, tools=[look], max_rounds=60)("go")
    body = json.loads(client.bodies[-1])
    assert json.dumps(body).count("it is there") == 59

    async def send_again() -> None:
        async for _ in cast("AsyncGenerator[Delta]", model.stream(keeps.last)):
            pass

    asyncio.run(send_again())
    assert json.loads(client.bodies[-1]) == body


class SameId:
    """Calls a tool some times in each turn, always with one of few ids."""

    name = "same-id"

    def __init__(self, turns: list[int], ids: list[str]) -> None:
        self.left = [each for turn in turns for each in (*["call"] * turn, "say")]
        self.ids = ids
        self.seen: list[Counter[str]] = []

    def stream(self, request: Request) -> Generator[Delta]:
        called = (call["id"] for each in request.messages for call in each.get("tool_calls", ()))
        self.seen.append(Counter(called))
        if self.left.pop(0) == "say":
            yield "so"
            return
        for index, call_id in enumerate(self.ids):
            yield ToolCallPart(index, call_id, "look", "{}")


@given(st.lists(st.integers(0, 14), min_size=1, max_size=8), st.lists(st.sampled_from("ab"), min_size=1, max_size=3))
def test_no_two_calls_of_a_history_have_one_id(turns: list[int], ids: list[str]) -> None:
    model = SameId(turns, ids)
    agent = Agent(model, tools=[look])
    for number in range(len(turns)):
        agent(f"question {number}")
    assert sum(model.seen[-1].values()) == sum(turns) * len(ids)
    assert set(model.seen[-1].values()) <= {1}


def test_an_answer_that_was_forgotten_takes_no_id_from_the_next() -> None:
    model = SameId([12, 3, 3], ["a"])
    agent = Agent(model, tools=[look])
    agent("question")
    memory = agent.memory.get()
    assert memory is not None
    known = len(memory)
    agent("another")
    memory.delete(range(known, len(memory)))
    agent("one more")
    assert sum(model.seen[-1].values()) == 15
    assert set(model.seen[-1].values()) == {1}


class Window(SameId):
    """The same, which sends no more than the end of the history, and cuts it in place."""

    def stream(self, request: Request) -> Generator[Delta]:
        messages = cast("list[object]", request.messages)
        while len(messages) > 40:
            del messages[1:3]
        return super().stream(request)


def test_calls_have_ids_of_their_own_where_the_history_is_cut_in_place():
    model = Window([60], ["a"])
    Agent(model, tools=[look], max_rounds=99)("go")
    assert {number for each in model.seen for number in each.values()} == {1}
