"""OpenAI's own client, and others' compliance tests, against a server of ours."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import openai
import pytest

from distributed._helpers import AsyncSleeper
from policies._office import ATTACK, TO_EVE, Outbox
from serving._served import GUARD, Shop, ask, make_shop, serving
from trivium import Agent, ChatAgent
from trivium.llms import Request
from trivium.policies import Policy, Rule
from trivium.serving import AgentServer
from trivium.tasks import Task
from trivium.testing import ScriptedModel

USER: Any = {"role": "user", "content": "hi"}


def client_of(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="right-token", max_retries=0, timeout=GUARD)


def test_a_conversation_by_chat_completions():
    with serving() as http, client_of(str(http.base_url)) as client:
        assert [each.id for each in client.models.list()] == ["shop"]
        assert http.get("/v1/models/").json() == http.get("/v1/models").json()
        history: Any = [USER, {"role": "assistant", "content": "hello"}, USER]
        whole = client.chat.completions.create(model="shop", messages=history)
        assert whole.choices[0].message.content == "You said 2."
        assert whole.usage is not None
        assert [whole.usage.prompt_tokens, whole.usage.completion_tokens] == [10, 5]
        streamed = client.chat.completions.create(
            model="shop", messages=history, stream=True, stream_options={"include_usage": True}
        )
        *chunks, last = streamed
        assert "".join(each.choices[0].delta.content or "" for each in chunks) == "You said 2."
        assert last.usage == whole.usage


READ_ON: Any = [USER, {"role": "assistant", "content": ATTACK}, {"role": "user", "content": "Go on."}]


@pytest.mark.parametrize("is_task", [False, True])
def test_an_earlier_answer_that_a_client_sends_is_not_the_users_word(is_task: bool):
    """Its client keeps the conversation, and nobody knows what was read for the answer."""
    for policy, sent in ((None, "eve@evil.org"), (Policy(), ""), (Policy([Rule("refuse", source="web")]), "")):
        outbox = Outbox()
        agent = outbox.chat_agent(TO_EVE) if is_task else outbox.agent(TO_EVE)
        agent.policy = policy
        module = Task(agent, interactive=False) if is_task else agent
        with serving(module) as http, client_of(str(http.base_url)) as client:
            client.chat.completions.create(model=module.name, messages=READ_ON)
            client.responses.create(model=module.name, input=READ_ON, store=False)
        assert {*outbox.sent} == {*filter(None, [sent])}


def test_a_tool_that_needs_an_approval_is_refused_where_nobody_can_be_asked():
    with serving() as http, client_of(str(http.base_url)) as client:
        answer = client.chat.completions.create(model="shop", messages=[{"role": "user", "content": "buy"}])
        assert answer.choices[0].message.content == "You said 1."


APPROVE: Any = {"type": "function", "function": {"name": "approve", "parameters": {"type": "object", "properties": {}}}}


def test_a_client_that_declares_a_function_for_it_is_asked_for_approvals():
    def answer(call: str, approved: bool, **more: Any) -> Any:
        return {"role": "tool", "tool_call_id": call, "content": json.dumps({"approved": approved, **more})}

    def completed(messages: list[Any]) -> Any:
        return client.chat.completions.create(model="shop", tools=[APPROVE], messages=messages)

    def streamed(messages: list[Any]) -> Any:
        with client.chat.completions.stream(model="shop", tools=[APPROVE], messages=messages) as stream:
            return stream.get_final_completion()

    with serving() as http, client_of(str(http.base_url)) as client:
        said: list[Any] = [{"role": "user", "content": "buy"}]
        whole = completed(said)
        (asked,) = whole.choices
        assert [asked.finish_reason, whole.usage.total_tokens] == ["tool_calls", 30]
        (call,) = asked.message.tool_calls
        assert [call.function.name, json.loads(call.function.arguments)] == [
            "approve", {"name": "pay", "arguments": {"amount": 3}}
        ]  # fmt: skip
        said += [asked.message, answer(call.id, True)]
        done = completed(said)
        assert [done.choices[0].message.content, done.usage.total_tokens] == ["You said 1.", 15]
        assert completed(said).choices == done.choices  # where it was lost on its way
        with pytest.raises(openai.ConflictError):
            completed([*said[:-1], answer(call.id, False)])
        assert len(http.get("/runs").json()["runs"]) == 1
        said += [done.choices[0].message, USER]
        assert completed(said).choices[0].message.content == "You said 2."
        (asked,) = streamed(said[:1]).choices
        (call,) = asked.message.tool_calls
        refused = streamed([said[0], asked.message, answer(call.id, False, reason="too dear")])
        assert refused.choices[0].message.content == "You said 1."
        latest = http.get("/runs").json()["runs"][0]["id"]
        assert "too dear" in http.get(f"/runs/{latest}/events").text


@pytest.mark.parametrize(
    ("call", "content", "error"),
    [
        ("call_x_y", '{"approved": true}', openai.NotFoundError),
        ("call_1", '{"approved": true}', openai.BadRequestError),
        ("call_x_y", "yes", openai.BadRequestError),
        ("call_x_y", '{"approved": "yes"}', openai.BadRequestError),
        ("", '{"approved": true}', openai.ConflictError),
    ],
)
def test_answers_to_what_was_not_asked_decide_nothing(call: str, content: str, error: type[openai.APIStatusError]):
    with serving() as http, client_of(str(http.base_url)) as client:
        said: Any = [{"role": "user", "content": "buy"}]
        asked: Any = client.chat.completions.create(model="shop", messages=said, tools=[APPROVE])
        (one,) = asked.choices[0].message.tool_calls
        answered: Any = {"role": "tool", "tool_call_id": call or f"{one.id}0", "content": content}
        with pytest.raises(error):
            client.chat.completions.create(model="shop", messages=[answered], tools=[APPROVE])
        assert http.get("/runs").json()["runs"][0]["state"] == "paused"


def test_the_async_client_streams_a_response():
    async def streamed(url: str) -> tuple[list[str], str]:
        async with (
            openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="right-token", max_retries=0) as client,
            client.responses.stream(model="shop", input="hi") as stream,
        ):
            pieces = [event.delta async for event in stream if event.type == "response.output_text.delta"]
            return pieces, (await stream.get_final_response()).output_text

    with serving() as http:
        assert asyncio.run(streamed(str(http.base_url))) == (["You ", "said ", "1", "."], "You said 1.")


def test_the_arguments_of_a_call_come_after_it_in_a_stream():
    with serving() as http, client_of(str(http.base_url)) as client:
        begun, pieces, done = list[str](), list[str](), list[str]()
        for event in client.responses.create(model="shop", input="buy", stream=True):
            match event.type:
                case "response.output_item.added" if event.item.type == "mcp_call":
                    begun.append(event.item.arguments)
                case "response.mcp_call_arguments.delta":
                    pieces.append(event.delta)
                case "response.mcp_call_arguments.done":
                    done.append(event.arguments)
                case "response.output_item.done" if event.item.type == "mcp_call":
                    assert event.item.arguments == done[-1]
                case _:
                    pass
        assert [begun, pieces] == [["", ""], done] == [["", ""], ['{"item": "chair"}', '{"amount": 3}']]


OWN_TOOLS: Any = {"type": "mcp", "server_label": "trivium", "server_url": "http://x", "require_approval": "always"}


def test_a_client_may_name_the_server_of_the_tools_that_it_approves():
    with serving() as http, client_of(str(http.base_url)) as client:
        asked = client.responses.create(model="shop", input="buy", tools=[OWN_TOOLS]).output[-1]
        decided = client.responses.create(model="shop", input=[approval(str(asked.id))], tools=[OWN_TOOLS])
        assert decided.output_text == "You said 1."


def test_an_approval_is_given_in_the_next_response():
    with serving() as http, client_of(str(http.base_url)) as client:
        first = client.responses.create(model="shop", input="buy", metadata={"order": "17"})
        asked = first.output[-1]
        assert asked.type == "mcp_approval_request"
        assert [asked.name, json.loads(asked.arguments), first.metadata] == ["pay", {"amount": 3}, {"order": "17"}]
        with pytest.raises(openai.ConflictError, match="answer each"):
            client.responses.create(model="shop", previous_response_id=first.id, input=[approval("mcpr_x")])
        second = client.responses.create(model="shop", previous_response_id=first.id, input=[approval(asked.id)])
        assert [each.type for each in second.output] == ["mcp_call", "message"]
        assert second.output_text == "You said 1."
        assert [first.usage and first.usage.total_tokens, second.usage and second.usage.total_tokens] == [30, 15]
        assert client.responses.retrieve(second.id).output == second.output
        (given,) = client.responses.input_items.list(second.id)
        assert given.type == "mcp_approval_response"
        assert [given.approval_request_id, given.approve] == [asked.id, True]
        with pytest.raises(openai.ConflictError):
            client.responses.create(model="shop", previous_response_id=first.id, input=[approval(asked.id)])
        third = client.responses.create(model="shop", previous_response_id=second.id, input="more")
        assert third.output_text == "You said 2."


@pytest.mark.parametrize("names_the_other", [True, False])
def test_a_decision_is_for_the_response_that_has_asked(names_the_other: bool):
    with serving() as http, client_of(str(http.base_url)) as client:
        one, other = (client.responses.create(model="shop", input="buy") for _ in range(2))
        first, second = (approval(str(each.output[-1].id)) for each in (one, other))
        given: Any = {"input": [first | {"approve": False}, second]}
        if names_the_other:
            given = {"previous_response_id": other.id, "input": [first]}
        with pytest.raises(openai.BadRequestError, match="was asked by another response"):
            client.responses.create(model="shop", **given)
        assert {each["state"] for each in http.get("/runs").json()["runs"]} == {"paused"}


def approval(asked: str) -> Any:
    return {"type": "mcp_approval_response", "approval_request_id": asked, "approve": True}


def reference(item: Any) -> Any:
    return {"type": "item_reference", "id": item.id}


def test_a_client_that_refers_to_stored_items_goes_on_from_their_response():
    """As Vercel's AI SDK does by default: it sends the whole conversation, and names what the server has of it."""
    with serving() as http, client_of(str(http.base_url)) as client:
        buy: Any = {"role": "user", "content": "buy"}
        first = client.responses.create(model="shop", input=[buy])
        *calls, asked = first.output
        said: list[Any] = [buy, *map(reference, calls)]
        with pytest.raises(openai.ConflictError, match="decide on the calls"):
            client.responses.create(model="shop", input=[*said, USER])
        said += [reference(asked), approval(str(asked.id))]
        second = client.responses.create(model="shop", input=said)
        assert [[each.type for each in second.output], second.output_text] == [["mcp_call", "message"], "You said 1."]
        third = client.responses.create(model="shop", input=[*said, *map(reference, second.output), USER])
        assert third.output_text == "You said 2."
        run, *_ = http.get("/runs").json()["runs"]
        assert run["id"] == third.id.replace("resp_", "run_")


@pytest.mark.parametrize("made_up", ["nonsense", "msg_7_0", "{}_9"])
def test_a_reference_to_no_stored_item_is_refused(made_up: str):
    with serving() as http, client_of(str(http.base_url)) as client:
        first = client.responses.create(model="shop", input="hi")
        item: Any = {"type": "item_reference", "id": made_up.format(f"msg_{first.id[5:]}")}
        with pytest.raises(openai.NotFoundError, match="send previous_response_id") as caught:
            client.responses.create(model="shop", input=[USER, item, USER])
        with pytest.raises(openai.NotFoundError, match="send previous_response_id"):
            client.responses.create(model="shop", input=[approval(item["id"])])
    assert caught.value.code == "UnknownItem"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"output": "30 euros"}, "30 euros"),
        ({"error": {"content": "refused"}}, "{'content': 'refused'}"),
        ({}, "no result"),
    ],
)
def test_a_call_that_a_client_sends_back_is_told_to_the_model(result: dict[str, Any], told: str):
    model = ScriptedModel(lambda request: " | ".join(str(each["content"]) for each in request.messages))
    call: Any = {"type": "mcp_call", "id": "mcp_1", "server_label": "x", "name": "price", "arguments": "{}", **result}
    with serving(Agent(model, name="echo")) as http, client_of(str(http.base_url)) as client:
        answer = client.responses.create(model="echo", input=[USER, call, USER], store=False)
        assert answer.output_text == f"hi | (called price({{}}): {told}) | hi"
        for name in ("name", "arguments", "output"):
            wrong: Any = {**call, name: {"a": 1}}
            with pytest.raises(openai.BadRequestError, match=f"{name} is a text"):
                client.responses.create(model="echo", input=[wrong, USER], store=False)


def test_a_stream_that_is_dropped_at_any_event_is_taken_up_there():
    with serving() as http, client_of(str(http.base_url)) as client:
        first = client.responses.create(model="shop", input="buy", background=True)
        assert first.status == "in_progress"
        parts = [lines(http, first.id)]
        asked = client.responses.retrieve(first.id).output[-1]
        second = client.responses.create(
            model="shop", previous_response_id=first.id, input=[approval(asked.id or "")], background=True
        )
        parts.append(lines(http, second.id))
        for response, whole in zip((first, second), parts, strict=True):
            assert [json.loads(each)["sequence_number"] for each in whole[:-1]] == [*range(len(whole) - 1)]
            for at in range(len(whole) - 1):
                assert lines(http, response.id, at) == whole[at + 1 :]


def lines(http: Any, response_id: str, after: int | None = None) -> list[str]:
    query = {"stream": "true"} | ({} if after is None else {"starting_after": str(after)})
    body = http.get(f"/v1/responses/{response_id}", params=query).text
    return [line[6:] for line in body.splitlines() if line.startswith("data: ")]


def test_a_response_is_cancelled_deleted_and_says_what_was_asked():
    with serving(AsyncSleeper()) as http, client_of(str(http.base_url)) as client:
        started = client.responses.create(model="AsyncSleeper", input="go", background=True)
        assert client.responses.cancel(started.id).status == "cancelled"
        long = client.responses.create(model="AsyncSleeper", input="go", instructions="x" * 10_001, background=True)
        client.responses.cancel(long.id)
        assert [each.type for each in client.responses.input_items.list(started.id)] == ["message"]
        client.responses.delete(started.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(started.id)


def test_a_response_that_is_not_stored_is_gone_when_it_was_sent():
    with serving() as http, client_of(str(http.base_url)) as client:
        first = client.responses.create(model="shop", input="hi")
        given: Any = {"model": "shop", "input": "hi", "store": False, "previous_response_id": first.id}
        answers: list[Any] = [client.responses.create(**given)]
        with client.responses.stream(**given) as stream:
            answers.append(stream.get_final_response())
        for answer in answers:
            assert answer.output_text == "You said 2."  # and the next one is the second one again
            with pytest.raises(openai.NotFoundError):
                client.responses.retrieve(answer.id)
            with pytest.raises(openai.NotFoundError):
                client.responses.create(model="shop", input="hi", previous_response_id=answer.id)
        assert len(http.get("/runs").json()["runs"]) == 1
        refused = client.responses.create(model="shop", input="buy", store=False)  # nobody could come back to decide
        assert [each.type for each in refused.output] == ["mcp_call", "mcp_call", "message"]


def test_a_response_that_is_not_stored_ends_with_its_connection():
    sleeper = AsyncSleeper()
    with serving(sleeper) as http:
        body = {"model": "AsyncSleeper", "input": "go", "store": False, "stream": True}
        with http.stream("POST", "/v1/responses", json=body) as response:
            assert response.status_code == 200
            assert sleeper.began.acquire(timeout=GUARD)
        assert sleeper.ended.acquire(timeout=GUARD)
        while http.get("/runs").json()["runs"]:
            pass


def test_files_reach_the_model():
    seen: list[Request] = []

    def answer(request: Request) -> str:
        seen.append(request)
        return "seen"

    image = f"data:image/png;base64,{base64.b64encode(b'picture').decode()}"
    with serving(Agent(ScriptedModel(answer))) as http, client_of(str(http.base_url)) as client:
        said: Any = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": image}]
        asked: Any = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
        made = client.responses.create(model="Agent", input=[*asked, {"role": "user", "content": said}])
        orders: list[tuple[Any, list[str]]] = [
            ("asc", ["Hi", "Hello", "What is it?"]),
            ("desc", ["What is it?", "Hello", "Hi"]),
        ]
        for order, texts in orders:
            items: list[Any] = [*client.responses.input_items.list(made.id, limit=1, order=order)]
            assert [each.content[0].text for each in items] == texts
            assert [each.content[1].image_url for each in items if len(each.content) > 1] == [image]
        sound: Any = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}
        heard: Any = [{"role": "user", "content": [sound]}]
        client.chat.completions.create(model="Agent", messages=heard)
        del sound["input_audio"]["format"]
        with pytest.raises(openai.BadRequestError, match="no readable sound"):
            client.chat.completions.create(model="Agent", messages=heard)
    assert image in json.dumps(seen[0].messages)
    assert {"data": "AAAA", "format": "mp3"} in [each.get("input_audio") for each in seen[1].messages[-1]["content"]]


def test_of_a_task_the_result_is_the_answer():
    agent = ChatAgent(ScriptedModel(["DONE the answer"]))
    with serving(Task(agent, name="clerk", interactive=False)) as http, client_of(str(http.base_url)) as client:
        assert client.responses.create(model="clerk", input="go").output_text == "the answer"
        assert client.chat.completions.create(model="clerk", messages=[USER]).choices[0].message.content == "the answer"


@pytest.mark.parametrize(
    ("given", "error", "code"),
    [
        ({"model": "nobody", "input": "x"}, openai.NotFoundError, "UnknownModel"),
        ({"input": "x"}, openai.BadRequestError, "InvalidRequest"),
        ({"model": "shop", "input": []}, openai.BadRequestError, "InvalidRequest"),
        ({"model": "shop", "input": 7}, openai.BadRequestError, "InvalidRequest"),
        ({"model": "shop", "input": [{"role": "tool", "content": "x"}]}, openai.BadRequestError, "InvalidRequest"),
        ({"model": "shop", "input": "x", "tools": [{"type": "web_search"}]}, openai.BadRequestError, "InvalidRequest"),
        *(
            ({"model": "shop", "input": "x", "tools": [OWN_TOOLS | other]}, openai.BadRequestError, "InvalidRequest")
            for other in ({"allowed_tools": ["price"]}, {"type": "function"}, {"type": ["mcp"]})
        ),
        ({"model": "shop", "input": "x", "previous_response_id": "resp_1"}, openai.NotFoundError, "UnknownResponse"),
        ({"model": "shop", "input": "x", "metadata": 7}, openai.BadRequestError, "InvalidRequest"),
    ],
)
def test_what_cannot_be_done_is_an_error_of_openais(given: Any, error: type[openai.APIStatusError], code: str):
    with serving() as http, client_of(str(http.base_url)) as client, pytest.raises(error) as caught:
        client.responses.create(**given)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"response_format": {"type": "json_object"}}, "response_format is text"),
        ({"tools": [{"type": "function", "function": {"name": "look"}}]}, "the tools are those of the served agent"),
        ({"tools": ["approve"]}, "the tools are those of the served agent"),
        ({"n": 2}, "n is 1"),
        ({"model": ""}, "GET /v1/models"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "ends with a message of the user"),
    ],
)
def test_what_a_chat_completion_cannot_do_is_declined(given: Any, says: str):
    body: Any = {"model": "shop", "messages": [USER], **given}
    with serving() as http, client_of(str(http.base_url)) as client, pytest.raises(openai.BadRequestError, match=says):
        client.chat.completions.create(**body)


def test_errors_of_the_guard_and_of_runs_are_openais_too():
    def fail(request: Request) -> str:
        raise ValueError("inside")

    with serving(Agent(ScriptedModel(fail))) as http, client_of(str(http.base_url)) as client:
        with pytest.raises(openai.InternalServerError) as caught:
            client.chat.completions.create(model="Agent", messages=[USER])
        assert "inside" not in str(caught.value)
        failed = client.responses.create(model="Agent", input="x")
        assert [failed.status, failed.error and failed.error.to_dict().get("type")] == ["failed", "server_error"]
        with pytest.raises(openai.AuthenticationError):
            openai.OpenAI(base_url=f"{http.base_url}/v1", api_key="wrong", max_retries=0).models.list()


COMPLIANCE = {
    # The tools are those of the served agent: a client's own are declined. A conversation is not compacted, because
    # the server remembers it, which the tests only warn of. The third is for two models of OpenAI by their names.
    "open-responses": ({"Tool Calling"}, {"Compaction Endpoint"}, {"Reasoning Summary"}),
    "openai-chat": ({"Tool Calling"}, set[str](), {"Reasoning Summary"}),
}


@pytest.mark.parametrize("form", COMPLIANCE)
def test_others_compliance_tests_pass_but_for_what_is_declined(form: str):
    with AgentServer(make_shop(), token="right-token", port=0) as server, ask(server.url):
        command = [
            str(Path(sys.executable).with_name("llm-comply")), "-u", f"{server.url}/v1", "-k", "right-token",
            "-m", "shop", "--format", form, "--json",
        ]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    results = json.loads(ran.stdout)["results"]
    failed, skipped = ({each["name"] for each in results if each["status"] == how} for how in ("failed", "skipped"))
    assert (failed, {each["name"] for each in results if each.get("warnings")}, skipped) == COMPLIANCE[form], ran.stdout
    assert len(results) > 8


def test_the_model_of_these_tests_counts():
    assert Agent(Shop())("hi").content == "You said 1."
