"""Decisions on calls: they decide and nothing else, are told whoever has made them, and drop nothing that is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2
import openai
import pytest

from serving._protocols import A2A, AGUI, Chat, Protocol, Responses
from serving._served import GUARD, approve_all, events_of, follow, make_shop, outcome, said, serving, start
from trivium.journal import Journal

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


Decide = Callable[..., httpx2.Response]
WAYS: list[tuple[type[Protocol], Decide, int]] = [
    (Responses, by_runs, 422), (Responses, by_responses, 400), (Chat, by_chat, 400), (AGUI, by_agui, 422),
    (A2A, by_a2a, 200),
]  # fmt: skip
BY_NAME = [pytest.param(*each, id=each[1].__name__) for each in WAYS]


@pytest.mark.parametrize(("kind", "decide", "status"), BY_NAME)
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
