"""Decisions on calls: they decide and nothing else, are told whoever has made them, and drop nothing that is said."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import openai
import pytest

from _mailer import mailer
from serving._protocols import A2A, AGUI, AISDK, Chat, Protocol, Responses, Runs
from serving._served import GUARD, approve_all, events_of, follow, make_shop, outcome, said, serving, start
from trivium import Agent, ChatAgent, DoneTool, ForwardTool, Task, tool
from trivium.journal import Journal
from trivium.llms import Request
from trivium.testing import ScriptedModel, call_tool

PAYING: Any = {"approved": True, "arguments": {"amount": 1}}
HELLO = "and send it to Bob"


class Waiting(NamedTuple):
    """A run that waits for a decision, and what its client knows of it."""

    id: str
    digest: str
    client: httpx2.Client
    protocol: Any

    @property
    def state(self) -> str:
        (shown,) = self.client.get("/runs").json()["runs"]
        return shown["state"]


@contextmanager
def waiting(kind: type[Protocol]) -> Generator[Waiting]:
    with kind.serving(make_shop()) as protocol:
        with protocol.begin("buy") as lines:
            for line in lines:
                if protocol.note(line):
                    break
        (shown,) = protocol.client.get("/runs").json()["runs"]
        (asked,) = protocol.client.get(f"/runs/{shown['id']}").json()["approvals"]
        yield Waiting(shown["id"], asked["digest"], protocol.client, protocol)


def make_mailer() -> Agent:
    """An agent that reads a page, and then mails it: its policy asks."""

    def answer(request: Request) -> Any:
        done = sum(each["role"] == "tool" for each in request.messages)
        return [call_tool("page"), call_tool("mail", to="Eve"), "end"][done]

    return mailer(ScriptedModel(answer))


def make_desk() -> Task[Any]:
    """A task whose lead forwards the question to a clerk, and then pays what the clerk says."""

    def answer(request: Request) -> Any:
        last = request.messages[-1]["content"]
        if last.startswith("paid"):
            return call_tool("done_tool", content=last)
        return call_tool("pay", amount=507) if "507" in last else call_tool("forward_tool", agent="clerk")

    @tool(effect="once", needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    lead, clerk = ChatAgent(ScriptedModel(answer), name="lead", tools=[pay]), ScriptedModel(["It is 507."])
    lead.enable_message([ForwardTool, DoneTool])
    desk = Task(lead, interactive=False)
    desk.add_sub_task(Task(ChatAgent(clerk, name="clerk"), interactive=False, single_round=True))
    return desk


def by_runs(run: Waiting, decision: Any, beside: str = "") -> httpx2.Response:
    return run.client.post(f"/runs/{run.id}/approvals", json={"digest": run.digest, **decision})


def by_responses(run: Waiting, decision: Any, beside: str = "") -> httpx2.Response:
    named = {("approve" if name == "approved" else name): value for name, value in decision.items()}
    given = [{"type": "mcp_approval_response", "approval_request_id": f"mcpr_{run.digest}", **named}]
    given += [{"role": "user", "content": beside}] if beside else []
    return run.client.post("/v1/responses", json={"previous_response_id": run.protocol.id, "input": given})


def by_chat(run: Waiting, decision: Any, beside: str = "") -> httpx2.Response:
    (call,) = run.protocol.asked
    messages = [
        {"role": "user", "content": "buy"},
        {"role": "assistant", "tool_calls": [{"id": call}]},
        {"role": "tool", "tool_call_id": call, "content": json.dumps(decision)},
        *([{"role": "user", "content": beside}] if beside else []),
    ]
    tools = [{"type": "function", "function": {"name": "approve"}}]
    return run.client.post("/v1/chat/completions", json={"model": "shop", "messages": messages, "tools": tools})


def by_agui(run: Waiting, decision: Any, beside: str = "") -> httpx2.Response:
    said_later = {"id": "later", "role": "user", "content": beside}
    messages = [{"id": "u", "role": "user", "content": "buy"}, *([said_later] if beside else [])]
    resume = [{"interruptId": run.digest, "status": "resolved", "payload": decision}]
    body: dict[str, Any] = {"threadId": run.protocol.thread, "runId": "r2", "tools": [], "context": []}
    return run.client.post("/ag-ui", json={**body, "messages": messages, "resume": resume})


def by_a2a(run: Waiting, decision: Any, beside: str = "") -> httpx2.Response:
    parts = [{"data": {"approvals": [{"digest": run.digest, **decision}]}}, *([{"text": beside}] if beside else [])]
    message = {"messageId": "m2", "role": "ROLE_USER", "taskId": run.protocol.task, "parts": parts}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    return run.client.post("/a2a", json=call, headers={"A2A-Version": "1.0"})


def by_ai_sdk(run: Waiting, decision: Any, given: Any = "chair") -> httpx2.Response:
    approval = {"id": run.digest, "isAutomatic": False, **decision}
    (call,) = [each for each in events_of(run.client, run.id, '"paused"') if each.get("name") == "pay"]
    part = {"type": "dynamic-tool", "toolCallId": call["key"], "approval": approval}
    part |= {"input": json.loads(call["arguments"]) if given == "chair" else given}
    message = {"role": "assistant", "parts": [part]}
    return run.client.post("/ai-sdk", json={"id": run.protocol.thread, "messages": [message]})


Decide = Callable[..., httpx2.Response]
WAYS: list[tuple[type[Protocol], Decide, int]] = [
    (Responses, by_runs, 422), (Responses, by_responses, 400), (Chat, by_chat, 400), (AGUI, by_agui, 422),
    (A2A, by_a2a, 200),
]  # fmt: skip
BY_NAME = [pytest.param(*each, id=each[1].__name__) for each in WAYS]
SDK = pytest.param(AISDK, by_ai_sdk, 422, id="by_ai_sdk")


def test_an_approved_call_is_made_by_a_task_that_forwarded_a_message_before():
    with serving(make_desk()) as client:
        approve_all(client, run := start(client, "pay the rent"))
        assert outcome(client, run) == "paid 507"


@pytest.mark.parametrize(("kind", "decide", "status"), [*BY_NAME, SDK])
def test_a_decision_changes_nothing_of_the_call(kind: type[Protocol], decide: Decide, status: int):
    with waiting(kind) as run:
        refused = decide(run, PAYING)
        assert [refused.status_code, "'arguments' is no key of a decision" in refused.text] == [status, True]
        assert run.state == "paused"
        assert decide(run, {"approved": True, "reason": "go"}).status_code == 200
        assert outcome(run.client, run.id) == "You said 1."


@pytest.mark.parametrize(("kind", "decide", "status"), BY_NAME[1:])
def test_what_is_said_beside_a_decision_is_not_dropped(kind: type[Protocol], decide: Decide, status: int):
    with waiting(kind) as run:
        refused = decide(run, {"approved": True}, HELLO)
        assert [refused.status_code, "send the decision alone" in refused.text] == [status, True]
        assert run.state == "paused"
        assert decide(run, {"approved": True}).status_code == 200


def test_a_decision_by_the_ai_sdk_has_no_other_input_than_its_call():
    with waiting(AISDK) as run:
        refused = by_ai_sdk(run, {"approved": True}, {"amount": 1})
        assert [refused.status_code, "another input than its call" in refused.text] == [422, True]
        assert run.state == "paused"
        assert by_ai_sdk(run, {"approved": True}, {"amount": 3.0}).status_code == 200


SAID_BY_AGUI: list[tuple[str, list[dict[str, Any]], int]] = [
    ("ids made anew", [{"id": "x", "role": "user", "content": "buy"}, {"id": "y", "role": "assistant"}], 200),
    ("no ids", [{"role": "user", "content": "buy"}], 200),
    ("nothing", [], 200),
    ("more, without ids", [{"role": "user", "content": "buy"}, {"role": "user", "content": HELLO}], 422),
    ("an answer last", [{"id": "n", "role": "user", "content": HELLO}, {"id": "a", "role": "assistant"}], 422),
]


@pytest.mark.parametrize(("messages", "status"), [pytest.param(*each[1:], id=each[0]) for each in SAID_BY_AGUI])
@pytest.mark.parametrize("begun", ["AG-UI", "another protocol", "a thread that lost a run"])
def test_by_agui_a_decision_comes_with_what_the_thread_has_and_no_more(
    begun: str, messages: list[dict[str, Any]], status: int
):
    body: dict[str, Any] = {"threadId": "t", "tools": [], "context": []}
    first = [{"id": "u", "role": "user", "content": "hi"}, {"id": "a", "role": "assistant", "content": "You said 1."}]
    bought = {"id": "v", "role": "user", "content": "buy"}
    before = first if begun == "a thread that lost a run" else []
    with serving() as client:
        if before:
            client.post("/ag-ui", json={**body, "runId": "r0", "messages": before[:1]})
        if begun == "another protocol":
            start(client, "buy", session_id="t")
        else:
            client.post("/ag-ui", json={**body, "runId": "r1", "messages": [*before, bought]})
        run, *earlier = [each["id"] for each in client.get("/runs").json()["runs"]]
        asked = json.loads(follow(client, run, until='"paused"')[-1][1])["approvals"][0]["digest"]
        assert [client.delete(f"/runs/{each}").status_code for each in earlier] == [200] * bool(before)
        resume = [{"interruptId": asked, "status": "resolved", "payload": {"approved": True}}]
        given = {**body, "runId": "r2", "messages": [*before, *messages] if messages else [], "resume": resume}
        assert client.post("/ag-ui", json=given).status_code == status
        assert client.post("/ag-ui", json={**given, "messages": []}).status_code == 200


def test_by_agui_what_is_said_again_beside_a_decision_is_new():
    with waiting(AGUI) as run:
        assert by_agui(run, {"approved": True}, "buy").status_code == 422
        assert run.state == "paused"


def test_by_agui_what_is_decided_on_has_an_id_that_is_a_text():
    with waiting(AGUI) as run:
        refused = by_agui(run._replace(digest=["x"]), {"approved": True})
        assert [refused.status_code, "interruptId is a text" in refused.text] == [422, True]


def test_by_responses_a_decision_comes_with_the_output_that_its_client_had():
    with waiting(Responses) as run:
        output = run.client.get(f"/v1/responses/{run.protocol.id}").json()["output"]
        approval = {
            "type": "mcp_approval_response", "approval_request_id": f"mcpr_{run.digest}", "approve": True, "id": "a",
            "status": "completed",
        }  # fmt: skip
        bought, more = {"role": "user", "content": "buy"}, {"role": "user", "content": HELLO}
        answer = {"type": "message", "role": "assistant", "content": "You said 1."}

        def sent(*items: Any) -> int:
            body = {"previous_response_id": run.protocol.id, "input": items}
            return run.client.post("/v1/responses", json=body).status_code

        refused = [(*output, more, approval), (bought, *output, approval, more), (bought, more, approval)]
        assert [sent(*each) for each in refused] == [400] * 3
        assert run.state == "paused"
        assert sent(bought, answer, bought, *output, approval) == 200


@pytest.mark.parametrize("before", [[], [{"role": "user", "content": "buy"}]])
def test_by_responses_a_decision_comes_with_what_its_run_has_heard(before: list[Any]):
    with waiting(Responses) as run:
        approval = {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{run.digest}", "approve": True}
        body = {"previous_response_id": run.protocol.id, "input": [*before, approval]}
        assert run.client.post("/v1/responses", json=body).status_code == 200


def test_by_chat_a_decision_comes_without_the_call_that_it_answers():
    with waiting(Chat) as run:
        (call,) = run.protocol.asked
        answer = {"role": "tool", "tool_call_id": call, "content": '{"approved": true}'}
        body: dict[str, Any] = {"model": "shop", "tools": [{"type": "function", "function": {"name": "approve"}}]}
        bought, more = {"role": "user", "content": "buy"}, {"role": "user", "content": HELLO}
        refused = run.client.post("/v1/chat/completions", json={**body, "messages": [bought, answer, more]})
        assert [refused.status_code, run.state] == [400, "paused"]
        done = run.client.post("/v1/chat/completions", json={**body, "messages": [bought, answer]})
        assert done.json()["choices"][0]["message"]["content"] == "You said 1."


def test_a_conversation_by_chat_goes_on_after_a_decision_whose_answer_was_lost():
    with waiting(Chat) as run:
        assert by_chat(run, {"approved": True}).status_code == 200
        assert by_chat(run, {"approved": True}, "hello").status_code == 200
        assert len(run.client.get("/runs").json()["runs"]) == 2


def test_a_response_names_the_one_before_as_its_client_did():
    with serving() as http:
        client = openai.OpenAI(base_url=f"{http.base_url}/v1", api_key="right-token", max_retries=0, timeout=GUARD)
        with client:
            chain = [client.responses.create(model="shop", input="buy")]
            given: Any = {
                "type": "mcp_approval_response",
                "approval_request_id": chain[0].output[-1].id,
                "approve": True,
            }
            for each in ([given], "more", "and more"):
                chain.append(client.responses.create(model="shop", previous_response_id=chain[-1].id, input=each))
            before = [client.responses.retrieve(each.id).previous_response_id for each in chain]
            assert before == [each.previous_response_id for each in chain] == [None, *(each.id for each in chain[:-1])]


def test_a_response_that_an_older_build_has_kept_names_the_one_before(tmp_path: Path):
    journal = tmp_path / "runs.db"
    with serving(journal=journal) as http:
        first = http.post("/v1/responses", json={"model": "shop", "input": "hi"}).json()["id"]
        body = {"model": "shop", "previous_response_id": first, "input": "buy"}
        second = http.post("/v1/responses", json=body).json()
        given = {
            "type": "mcp_approval_response", "approval_request_id": second["output"][-1]["id"], "approve": True,
        }  # fmt: skip
        body = {"previous_response_id": second["id"], "input": [given]}
        third = http.post("/v1/responses", json=body).json()["id"]
    with closing(sqlite3.connect(journal)) as database, database:
        key = "$.response.previous_response_id"
        database.execute("UPDATE trivium_served SET body = json_remove(body, ?)", (key,))
        database.execute(
            "UPDATE trivium_sent SET body = json_set(json_remove(body, ?), '$.body.before', ?) "
            "WHERE json_extract(body, '$.kind') = 'resumed'",
            (key.replace("$", "$.body"), second["id"]),
        )
    with serving(journal=journal) as http:
        found = [http.get(f"/v1/responses/{each}").json() for each in (first, second["id"], third)]
        assert [each["previous_response_id"] for each in found] == [None, first, second["id"]]


def test_a_decision_in_the_journal_is_told_in_the_events(journal: str):
    """As `trivium approve` makes it."""
    with serving(journal=journal) as client:
        run = start(client, "buy")
        asked = json.loads(follow(client, run, until='"paused"')[-1][1])["approvals"][0]["digest"]
        Journal(journal).refuse(run, asked, by="eve", reason="too dear")
        told = [*events_of(client, run)]
        (decided,) = [each for each in told if each["kind"] == "decided"]
        assert told[decided["seq"]]["kind"] == "resumed"
        assert decided | {"digest": asked, "approved": False, "by": "eve", "reason": "too dear"} == decided
        approve_all(client, again := start(client, "buy"))
        assert [each["by"] for each in events_of(client, again) if each["kind"] == "decided"] == ["user"]
        assert said(client, "hi") == "You said 1."


@pytest.mark.parametrize("kind", [Runs, Chat, AGUI, A2A])
def test_a_client_is_told_why_a_policy_asks(kind: type[Protocol]):
    with kind.serving(make_mailer()) as protocol, protocol.begin("go") as lines:
        told = ""
        for line in lines:
            told += line
            if protocol.note(line):
                break
        assert "mail sends data out" in told
        (shown,) = protocol.client.get("/runs").json()["runs"]
        (asked,) = protocol.client.get(f"/runs/{shown['id']}").json()["approvals"]
        assert asked["why"].startswith("mail sends data out, and to='Eve' stands in nothing that you wrote")
