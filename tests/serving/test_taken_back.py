"""Text that does not count, because the server ended within it or it does not fit its type: no client keeps it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from ag_ui_validate.pytest_plugin import assert_valid_agui
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from serving._protocols import A2A, AGUI, AISDK, Protocol, Responses
from serving._served import GUARD, events_of, make_shop, serving
from trivium import Agent
from trivium.actions import tool
from trivium.testing import ScriptedModel, call_tool

HALF, WHOLE = "You ", "You said 1."


class City(BaseModel):
    name: str
    size: int


WRONG, RIGHT = '{"name": "Bath", "size": "many"}', '{"name": "Bath", "size": 3}'


def make_city(name: str = "city") -> Agent:
    """An agent whose model gives an answer that does not fit its type, and then one that does."""
    answers = iter([WRONG, RIGHT])
    return Agent[City](ScriptedModel(lambda request: next(answers)), name=name, description="Describes a city.")


def of_responses(lines: list[str]) -> list[str]:
    events = [json.loads(each) for each in lines if each != "[DONE]"]
    for each in events:
        TypeAdapter[Any](ResponseStreamEvent).validate_python(each)
    ends = [each["output_index"] for each in events if each["type"] == "response.output_item.done"]
    assert len({*ends}) == len(ends)
    output = events[-1]["response"]["output"]
    assert [each["status"] for each in output if not each["content"]] == ["incomplete"]
    return [part["text"] for each in output for part in each["content"]]


def of_agui(lines: list[str]) -> list[str]:
    """The answers of a thread, as its client puts them together."""
    events, messages = [json.loads(each) for each in lines], dict[str, str]()
    assert_valid_agui(events, max_warnings=0)
    for each in events:
        if each["type"] == "TEXT_MESSAGE_CONTENT":
            messages[each["messageId"]] = messages.get(each["messageId"], "") + each["delta"]
        elif each["type"] == "MESSAGES_SNAPSHOT":
            messages = {one["id"]: one["content"] for one in each["messages"] if one["role"] == "assistant"}
    return [*messages.values()]


def of_ai_sdk(lines: list[str]) -> list[str]:
    texts = [""]
    for each in (json.loads(line) for line in lines if line != "[DONE]"):
        match each["type"]:
            case "text-delta":
                texts[-1] += each["delta"]
            case "reset-step":
                texts[-1] = ""
            case "finish-step":
                texts.append("")
            case _:
                pass
    return [each for each in texts if each]


def of_a2a(lines: list[str]) -> list[str]:
    _, texts = A2A.known(None, lines)  # pyright: ignore[reportArgumentType] - it knows nothing
    return [each for each in texts.values() if each]


KEPT = [(Responses, of_responses), (AGUI, of_agui), (AISDK, of_ai_sdk), (A2A, of_a2a)]
BY_NAME = [pytest.param(*each, id=each[0].__name__) for each in KEPT]


@pytest.mark.parametrize(("kind", "kept"), BY_NAME[:2])  # the others' clients begin with the task, or message, as it is
def test_an_answer_within_which_the_server_ended_is_there_once(kind: type[Protocol], kept: Any, tmp_path: Path):
    seen, options = list[str](), {"journal": tmp_path / "runs.db", "grace": 0.0}
    shop = make_shop(waits=True)
    with kind.serving(shop, **options) as first, first.begin("wait") as lines:
        while not (seen and HALF in seen[-1]):
            seen.append(next(lines))
            first.note(seen[-1])
    with kind.serving(shop, **options) as later:
        vars(later).update({**vars(first), "client": later.client})
        run = later.client.get("/runs").json()["runs"][0]["id"]
        known = seen[:1] if kind is Responses else seen
        with later.take_up(known) as lines:
            assert kept([*known, *lines]) == [WHOLE]
        assert [each["kind"] for each in events_of(later.client, run)].count("void") == 1


@pytest.mark.parametrize(("kind", "kept"), BY_NAME)
def test_an_answer_that_does_not_fit_its_type_is_none(kind: type[Protocol], kept: Any):
    with kind.serving(make_city()) as protocol:
        with protocol.begin("Bath?") as lines:
            assert kept([*lines]) == [RIGHT]
        (run,) = protocol.client.get("/runs").json()["runs"]
        told = [each["kind"] for each in events_of(protocol.client, run["id"])]
        assert told == ["started", "delta", "answered", "void", "delta", "answered", "done"]
        if kind is Responses:
            output = protocol.client.get(f"/v1/responses/resp_{run['id'][4:]}").json()["output"]
            assert [part["text"] for each in output for part in each["content"]] == [RIGHT]


def test_what_was_taken_back_is_taken_back_once_where_the_run_goes_on_after_an_approval(tmp_path: Path):
    """An agent asks another one, whose first answer does not fit, and then buys, at another server."""

    @tool(needs_approval=True)
    def buy() -> str:
        """Buy."""
        return "bought"

    def answer(request: Any) -> Any:
        done = [each["content"] for each in request.messages if each["role"] == "tool"]
        return [call_tool("city", message="Bath?"), call_tool("buy"), "Done."][len(done)]

    journal = tmp_path / "runs.db"
    with serving(Agent(ScriptedModel(answer), name="desk", tools=[make_city(), buy]), journal=journal) as client:
        run = client.post("/runs", json={"message": "go"}).json()["id"]
        *_, paused = events_of(client, run, until='"paused"')
    with serving(Agent(ScriptedModel(answer), name="desk", tools=[make_city(), buy]), journal=journal) as client:
        decision = {"digest": paused["approvals"][0]["digest"], "approved": True}
        client.post(f"/runs/{run}/approvals", json=decision)
        events = [*events_of(client, run)]
        assert events[-1]["message"]["content"] == "Done."
        assert [each["kind"] for each in events].count("void") == 1


def test_a_stream_of_chat_completions_holds_a_typed_answer_back_until_it_is_accepted():
    with serving(make_city()) as http:
        client = openai.OpenAI(base_url=f"{http.base_url}/v1", api_key="right-token", max_retries=0, timeout=GUARD)
        stream = client.chat.completions.create(
            model="city", messages=[{"role": "user", "content": "Bath?"}], stream=True
        )
        with client, stream:
            assert [text for each in stream if (text := each.choices[0].delta.content)] == [RIGHT]


def test_the_openai_client_accepts_a_stream_in_which_text_was_taken_back():
    async def streamed(url: str) -> str:
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="right-token", max_retries=0)
        async with client, client.responses.stream(model="city", input="Bath?") as stream:
            return (await stream.get_final_response()).output_text

    with serving(make_city()) as http:
        assert asyncio.run(streamed(str(http.base_url).rstrip("/"))) == RIGHT
