"""A2A 1.0: the Python client of its SDK against a server of ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.helpers.proto_helpers import get_artifact_text, get_data_parts, new_data_message, new_text_message
from a2a.types import a2a_pb2 as a2a
from a2a.utils import errors

from distributed._helpers import AsyncSleeper
from serving._served import GUARD, make_shop, serving
from trivium import Agent, ChatAgent
from trivium.actions import tool
from trivium.llms import Request
from trivium.serving._a2a_events import A2AEvents
from trivium.serving._log import STOPS
from trivium.serving._runs import Runs
from trivium.serving._served_run import ServedRun
from trivium.tasks import Task
from trivium.testing import ScriptedModel, call_tool

HEADERS = {"A2A-Version": "1.0"}


@asynccontextmanager
async def client_of(url: Any, token: str = "right-token", streams: bool = True) -> AsyncGenerator[Client]:
    """A client that finds the agent by its card, which it reads without a token."""
    async with httpx.AsyncClient(trust_env=False, verify=False) as bare:
        card = await bare.get(f"{str(url).rstrip('/')}/.well-known/agent-card.json")
    assert card.status_code == 200
    async with httpx.AsyncClient(
        trust_env=False, verify=False, timeout=GUARD, headers={"authorization": f"Bearer {token}"}
    ) as http:
        config = ClientConfig(streaming=streams, httpx_client=http)
        async with await create_client(str(url), config) as client:
            yield client


def said(text: str, context: str | None = None) -> a2a.SendMessageRequest:
    return a2a.SendMessageRequest(message=new_text_message(text, context_id=context, role=a2a.ROLE_USER))


def decided(task: a2a.Task, approved: bool = True, **fields: Any) -> a2a.SendMessageRequest:
    """The answer to all that a task asks."""
    (asked,) = get_data_parts(task.status.message.parts)
    data = {"approvals": [{"digest": each["digest"], "approved": approved, **fields} for each in asked["approvals"]]}
    return a2a.SendMessageRequest(message=new_data_message(data, task_id=task.id, role=a2a.ROLE_USER))


async def sent(client: Client, request: a2a.SendMessageRequest) -> list[a2a.StreamResponse]:
    return [each async for each in client.send_message(request)]


async def task_of(client: Client, request: a2a.SendMessageRequest) -> a2a.Task:
    (response,) = await sent(client, request)
    return response.task


def texts(task: a2a.Task) -> list[str]:
    return [get_artifact_text(each) for each in task.artifacts]


def told(responses: list[a2a.StreamResponse]) -> list[str]:
    """What a stream says: states, and texts of artifacts."""
    found: list[str] = []
    for each in responses:
        match each.WhichOneof("payload"):
            case "task":
                found.append(a2a.TaskState.Name(each.task.status.state)[11:])
            case "status_update":
                found.append(a2a.TaskState.Name(each.status_update.status.state)[11:])
            case _:
                update = each.artifact_update
                found.append(("+" if update.append else "") + get_artifact_text(update.artifact))
    return found


def test_a_context_is_a_conversation_and_a_stream_tells_what_the_task_is():
    async def talk(url: Any) -> None:
        async with client_of(url) as streaming, client_of(url, streams=False) as client:
            stream = await sent(streaming, said("hi"))
            assert told(stream) == ["SUBMITTED", "WORKING", "You ", "+said ", "+1", "+.", "+", "COMPLETED"]
            assert [each.artifact_update.last_chunk for each in stream][-3:] == [False, True, False]
            first = await client.get_task(a2a.GetTaskRequest(id=stream[0].task.id))
            assert [first.status.state, texts(first)] == [a2a.TASK_STATE_COMPLETED, ["You said 1."]]
            assert [each.parts[0].text for each in first.history] == ["hi"]
            assert first.status.timestamp == stream[-1].status_update.status.timestamp
            second = await task_of(client, said("hi", first.context_id))
            assert [second.context_id, texts(second)] == [first.context_id, ["You said 2."]]
            await task_of(client, said("hi", "another"))
            listed = await client.list_tasks(a2a.ListTasksRequest(context_id=first.context_id, page_size=1))
            assert [[each.id for each in listed.tasks], listed.total_size] == [[second.id], 2]
            rest = a2a.ListTasksRequest(
                context_id=first.context_id, page_token=listed.next_page_token, include_artifacts=True
            )
            rest.status_timestamp_after.CopyFrom(first.status.timestamp)
            rest.status = a2a.TASK_STATE_COMPLETED
            listed = await client.list_tasks(rest)
            assert [list(listed.tasks), listed.next_page_token] == [[first], ""]
            assert (await client.list_tasks(a2a.ListTasksRequest())).total_size == 3

    with serving() as http:
        asyncio.run(talk(http.base_url))


def test_an_approval_is_required_input():
    async def buy(url: Any) -> None:
        async with client_of(url, streams=False) as client, client_of(url) as streaming:
            asked = await task_of(client, said("buy"))
            assert asked.status.state == a2a.TASK_STATE_INPUT_REQUIRED
            (data,) = get_data_parts(asked.status.message.parts)
            assert [(each["name"], each["arguments"]) for each in data["approvals"]] == [("pay", {"amount": 3})]
            listed = await client.list_tasks(a2a.ListTasksRequest(status=a2a.TASK_STATE_INPUT_REQUIRED))
            assert [each.id for each in listed.tasks] == [asked.id]
            for wrong in ("yes", "no"):
                request = said(wrong, asked.context_id)
                request.message.task_id = asked.id
                with pytest.raises(errors.InvalidParamsError, match="decide on each of them"):
                    await sent(client, request)
            stream = await sent(streaming, decided(asked))
            assert told(stream) == ["WORKING", "You ", "+said ", "+1", "+.", "+", "COMPLETED"]
            done = await client.get_task(a2a.GetTaskRequest(id=asked.id))
            assert [each.role for each in done.history] == [a2a.ROLE_USER, a2a.ROLE_AGENT, a2a.ROLE_USER]
            with pytest.raises(errors.UnsupportedOperationError, match="takes no message"):
                await sent(client, decided(asked))
            refused = await task_of(client, decided(await task_of(client, said("buy")), False, reason="too dear"))
            assert [refused.status.state, texts(refused)] == [a2a.TASK_STATE_COMPLETED, ["You said 1."]]

    with serving() as http:
        asyncio.run(buy(http.base_url))


def test_a_task_that_asks_again_at_once_is_told(monkeypatch: pytest.MonkeyPatch):
    decide = Runs.decide

    async def decide_late(self: Runs, run: ServedRun, *given: Any, **more: Any) -> None:
        before = len(run.log.events)
        await decide(self, run, *given, **more)
        async for _ in run.log.follow(before, STOPS):  # as if the run were faster
            pass

    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    def answer(request: Request) -> Any:
        paid = sum(each["role"] == "tool" for each in request.messages)
        return call_tool("pay", amount=paid) if paid < 2 else "All is paid."

    async def pay_twice(url: Any) -> None:
        async with client_of(url, streams=False) as client, client_of(url) as streaming:
            again = await task_of(client, decided(await task_of(client, said("go"))))
            assert again.status.state == a2a.TASK_STATE_INPUT_REQUIRED
            done = await task_of(client, decided(again))
            assert [done.status.state, texts(done)] == [a2a.TASK_STATE_COMPLETED, ["All is paid."]]
            stream = await sent(streaming, decided(await task_of(client, said("go"))))
            assert told(stream) == ["WORKING", "INPUT_REQUIRED"]

    monkeypatch.setattr(Runs, "decide", decide_late)
    with serving(Agent(ScriptedModel(answer), tools=[pay], name="twice")) as http:
        asyncio.run(pay_twice(http.base_url))


def test_a_task_is_taken_up_and_cancelled():
    sleeper = AsyncSleeper()

    async def leave(url: Any) -> None:
        async with client_of(url, streams=False) as client, client_of(url) as streaming:
            request = said("hi")
            request.configuration.return_immediately = True
            begun = await task_of(client, request)
            assert begun.status.state in (a2a.TASK_STATE_SUBMITTED, a2a.TASK_STATE_WORKING)
            stream = streaming.subscribe(a2a.SubscribeToTaskRequest(id=begun.id))
            first = (await anext(stream)).task
            assert [first.id, first.status.state] == [begun.id, begun.status.state]
            request.message.task_id = begun.id
            with pytest.raises(errors.UnsupportedOperationError, match="takes no message"):
                await sent(client, request)
            cancelled = await client.cancel_task(a2a.CancelTaskRequest(id=begun.id))
            assert cancelled.status.state == a2a.TASK_STATE_CANCELED
            assert told([each async for each in stream])[-1] == "CANCELED"
            with pytest.raises(errors.TaskNotCancelableError):
                await client.cancel_task(a2a.CancelTaskRequest(id=begun.id))
            with pytest.raises(errors.UnsupportedOperationError, match="terminal state"):
                await anext(streaming.subscribe(a2a.SubscribeToTaskRequest(id=begun.id)))

    with serving(sleeper) as http:
        asyncio.run(leave(http.base_url))


def test_a_subscription_begins_with_the_task_as_it_is_and_sends_the_rest():
    async def follow(url: Any) -> None:
        async with client_of(url, streams=False) as client, client_of(url) as streaming:
            asked = await task_of(client, said("buy"))
            stream = streaming.subscribe(a2a.SubscribeToTaskRequest(id=asked.id))
            assert (await anext(stream)).task == asked
            await task_of(client, decided(asked))
            assert told([each async for each in stream]) == ["WORKING", "You ", "+said ", "+1", "+.", "+", "COMPLETED"]

    with serving() as http:
        asyncio.run(follow(http.base_url))


def test_each_module_has_a_card_and_errors_say_nothing_of_the_inside():
    def fail(request: Request) -> str:
        raise ValueError("inside")

    async def ask(url: Any, path: str = "") -> list[a2a.StreamResponse]:
        async with client_of(f"{str(url).rstrip('/')}{path}") as client:
            return await sent(client, said("hi"))

    with serving({"shop": make_shop(), "failing": Agent(ScriptedModel(fail), description="Fail.")}) as http:
        assert http.get("/a2a/failing/.well-known/agent-card.json").json()["description"] == "Fail."
        stream = asyncio.run(ask(http.base_url, "/a2a/failing"))
        assert told(stream)[-1] == "FAILED"
        assert "inside" not in str(stream)
    with serving(Task(ChatAgent(ScriptedModel(["DONE 7"])), name="clerk", interactive=False)) as http:
        assert told(asyncio.run(ask(http.base_url)))[-2:] == ["7", "COMPLETED"]


def test_pieces_that_do_not_count_are_taken_back_and_replaced():
    place = {"key": "k", "path": "shop/model", "time": 0.0}
    run = [
        {"kind": "resumed", "time": 0.0},  # a server that was broken off before it had written that the run began
        {"kind": "delta", "text": "Goo", **place},
        {"kind": "void", **place},
        {"kind": "delta", "text": "Hel", **place},
        {"kind": "delta", "text": "lo", **place},
        {"kind": "answered", "text": "Hello", **place},
    ]
    events = A2AEvents("t", "c")
    found = [each["artifactUpdate"] for event in run for each in events.read(event) if "artifactUpdate" in each]
    pieces = [(each["artifact"]["parts"][0]["text"], each.get("append", False)) for each in found]
    assert pieces == [("Goo", False), ("", False), ("Hel", False), ("lo", True), ("", True)]
    assert {each["artifact"]["artifactId"] for each in found} == {"answer-1"}
    assert events.task()["artifacts"] == [{"artifactId": "answer-1", "parts": [{"text": "Hello"}]}]


def test_a_task_belongs_to_its_owner_and_its_module():
    async def look(url: Any) -> None:
        root = str(url).rstrip("/")
        async with client_of(url, "token-a", False) as ada, client_of(url, "token-b", False) as bob:
            task = await task_of(ada, said("buy", "shared"))
            async with client_of(f"{root}/a2a/other", "token-a", False) as other:
                for client in (bob, other):
                    for act in (
                        client.get_task(a2a.GetTaskRequest(id=task.id)),
                        client.cancel_task(a2a.CancelTaskRequest(id=task.id)),
                        sent(client, decided(task)),
                    ):
                        with pytest.raises(errors.TaskNotFoundError):
                            await act
                    assert (await client.list_tasks(a2a.ListTasksRequest(context_id="shared"))).total_size == 0

    with serving({"shop": make_shop(), "other": make_shop()}, token={"ada": "token-a", "bob": "token-b"}) as http:
        asyncio.run(look(http.base_url))


def test_names_with_a_slash_are_served():
    async def talk(url: str) -> None:
        async with client_of(url) as client:
            assert told(await sent(client, said("hi")))[-1] == "COMPLETED"

    with serving({"team/shop": make_shop()}) as http:
        asyncio.run(talk(f"{str(http.base_url).rstrip('/')}/a2a/team/shop"))
        message = {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
        assert '"You "' in http.post("/ai-sdk/team/shop", json={"id": "c", "messages": [message]}).text
        assert http.get("/ai-sdk/team/shop/c/stream").status_code == 204


USER: Any = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
WRONG: list[tuple[str, Any, int]] = [
    ("SendMessage", {}, -32602),
    ("SendMessage", {"message": {**USER, "parts": []}}, -32602),
    ("SendMessage", {"message": {**USER, "role": "ROLE_AGENT"}}, -32602),
    ("SendMessage", {"message": {**USER, "parts": [{}]}}, -32602),
    ("SendMessage", {"message": {**USER, "parts": [{"raw": "?"}]}}, -32602),
    ("SendMessage", {"message": {**USER, "contextId": "x" * 300}}, -32602),
    ("SendMessage", {"message": {**USER, "parts": [{"url": "https://h/x.zip"}]}}, -32005),
    ("SendMessage", {"message": {**USER, "taskId": "run_x"}}, -32001),
    ("SendMessage", {"message": USER, "configuration": {"historyLength": -1}}, -32602),
    ("SendMessage", {"message": USER, "configuration": {"taskPushNotificationConfig": {"url": "u"}}}, -32003),
    ("ListTasks", {"pageSize": 101}, -32602),
    ("ListTasks", {"pageToken": "x"}, -32602),
    ("ListTasks", {"statusTimestampAfter": "yesterday"}, -32602),
    ("GetTask", [], -32602),
    ("CreateTaskPushNotificationConfig", {}, -32003),
    ("GetExtendedAgentCard", {}, -32004),
    ("message/send", {}, -32601),
]


@pytest.mark.parametrize(("method", "params", "code"), WRONG)
def test_what_cannot_be_done_has_the_error_of_the_protocol(shop: httpx.Client, method: str, params: Any, code: int):
    call = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = shop.post("/a2a", json=call, headers=HEADERS)
    assert answer.status_code == 200
    told = answer.json()
    assert [told["jsonrpc"], told["id"], told["error"]["code"]] == ["2.0", 7, code]
    assert told["error"]["data"][0]["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"


def test_what_is_no_call_and_who_may_not_call(shop: httpx.Client):
    call = {"jsonrpc": "2.0", "id": 7, "method": "ListTasks"}
    for content, headers, code in (
        (b"{", HEADERS, -32700),
        (b"[]", HEADERS, -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ListTasks"}', HEADERS, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}', {}, -32009),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}', {"A2A-Version": "2.0"}, -32009),
    ):
        assert shop.post("/a2a", content=content, headers=headers).json()["error"]["code"] == code
    assert shop.post("/a2a?A2A-Version=1.0", json=call).json()["result"]["nextPageToken"] == ""
    assert shop.post("/a2a/nobody", json=call, headers=HEADERS).status_code == 404
    shop.headers.pop("authorization")
    assert shop.post("/a2a", json=call, headers=HEADERS).status_code == 401
    for method in ("POST", "DELETE"):
        assert shop.request(method, "/a2a/shop/.well-known/agent-card.json").status_code == 405
    assert shop.get("/memory/x/.well-known/agent-card.json").status_code == 401
    card = shop.get("/.well-known/agent-card.json", headers={"x-forwarded-proto": "https"}).json()
    assert card["supportedInterfaces"][0]["url"] == f"https://{shop.base_url.netloc.decode()}/a2a"


@pytest.fixture(scope="module")
def shop():
    with serving() as client:
        yield client
