"""Who listens to an agent with a typed answer gets the value as it grows."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from trivium import Agent
from trivium.agents import StreamingAgent
from trivium.events import RunEvent
from trivium.schema import AgentStatusCode
from trivium.testing import ScriptedModel, call_tool


class Reply(BaseModel):
    text: str
    refunded: float = 0


PIECES = ['{"te', 'xt": "It is', ' on its way"', ', "refunded": 40', "}"]


def agent() -> Agent[Reply]:
    return Agent[Reply](ScriptedModel([PIECES]))


def test_a_listener_gets_each_new_value_and_the_answer_is_whole():
    seen: list[object] = []

    def listen(event: RunEvent) -> None:
        if event.kind == "partial":
            seen.append(event.data.output)

    answer = agent()("?", listeners=[listen])
    assert seen[0] == Reply(text="It is")
    assert seen[-1] == answer.output == Reply(text="It is on its way", refunded=40)
    assert len(seen) == len({str(each) for each in seen}), "only what is new"


def test_a_stream_gives_them_too():
    async def run() -> list[object]:
        async with agent().open("?") as events:
            return [event.data.output async for event in events if event.kind == "partial"]

    with agent().stream("?") as events:
        found: list[object] = [event.data.output for event in events if event.kind == "partial"]
    assert found == asyncio.run(run())
    assert found[-1] == Reply(text="It is on its way", refunded=40)


def test_a_list_grows_item_by_item():
    seen: list[object] = []
    numbers = Agent[list[int]](ScriptedModel([['{"value": [1', ", 2", ", 3]}"]]))

    def listen(event: RunEvent) -> None:
        if event.kind == "partial":
            seen.append(event.data.output)

    answer = numbers("?", listeners=[listen])
    assert (seen[-1], answer.output) == ([1, 2, 3], [1, 2, 3])
    assert all(seen[at] != seen[at + 1] for at in range(len(seen) - 1))


def test_a_streaming_agent_yields_values_of_its_type_alone():
    def find() -> str:
        """Find the parcel."""
        return "P9"

    pieces = ["let me ", call_tool("find")]
    agent = StreamingAgent[Reply](ScriptedModel([pieces, "It came.", '{"text": "It came."}']), tools=[find])
    assert {type(answer.output) for answer in agent("?")} == {Reply}


def test_a_refused_answer_is_never_given_as_a_complete_one():
    agent = StreamingAgent[Reply](ScriptedModel([['{"text": "W", ', '"text": "X"}'], ['{"text": "Right"', "}"]]))
    said = list(agent("?"))
    ends = [each.output for each in said if each.stream_state is AgentStatusCode.END]
    assert set(map(str, ends)) == {str(Reply(text="Right"))}
    assert Reply(text="X") not in [each.output for each in said], "which of the two counts is anybody's guess"
