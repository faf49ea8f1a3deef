"""Who decides on calls where a server has several users, and how its tools know for whom they run."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from serving._served import approve_all, events_of, make_shop, outcome, people, said, serving, start
from trivium import Agent, this_call
from trivium.exceptions import ConfigurationError
from trivium.llms import Request, ToolCallPart
from trivium.serving import AgentServer
from trivium.testing import ScriptedModel, call_tool

USERS = {"ada": "a-token", "bob": "b-token", "clerk": "c-token"}

Decide = Callable[[httpx2.Client, str, str], httpx2.Response]


def by_runs(client: httpx2.Client, run: str, digest: str) -> httpx2.Response:
    return client.post(f"/runs/{run}/approvals", json={"digest": digest, "approved": True})


def by_ui(client: httpx2.Client, run: str, digest: str) -> httpx2.Response:
    return client.post("/ui/decide", json={"id": run, "digest": digest, "approved": True})


def look(request: Request) -> ToolCallPart | str:
    """Call the tool, and say what it has returned."""
    last = request.messages[-1]
    return call_tool("mine") if last["role"] == "user" else last["content"]


def asked(client: httpx2.Client) -> tuple[str, str]:
    """A run of the client that waits, and the digest of the call."""
    run = start(client, "buy a chair")
    *_, paused = events_of(client, run, '"paused"')
    return run, paused["approvals"][0]["digest"]


@pytest.mark.parametrize("decide", [by_runs, by_ui])
def test_where_there_are_approvers_they_alone_decide(decide: Decide):
    with serving(token=USERS, approvers=["clerk"]) as client, people(client, *USERS.values()) as [ada, bob, clerk]:
        run, digest = asked(ada)
        refused = decide(ada, run, digest)
        assert refused.status_code == 403
        assert "the approvers of this server" in refused.json()["error"]["message"]
        assert decide(bob, run, digest).status_code in (403, 404)
        assert ada.get(f"/runs/{run}").json()["state"] == "paused"
        assert by_runs(clerk, run, digest).status_code == 200
        *_, decided = events_of(ada, run, '"decided"')
        assert (decided["by"], outcome(ada, run)) == ("clerk", "You said 1.")


def test_who_is_no_approver_decides_by_no_other_protocol():
    with serving(token=USERS, approvers=["clerk"]) as client, people(client, "a-token") as [ada]:
        response = ada.post("/v1/responses", json={"model": "shop", "input": "buy a chair"}).json()
        request = {
            "type": "mcp_approval_response",
            "approval_request_id": response["output"][-1]["id"],
            "approve": True,
        }
        body = {"model": "shop", "previous_response_id": response["id"], "input": [request]}
        refused = ada.post("/v1/responses", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "NotAnApprover")


def test_approvers_see_what_waits_and_may_do_nothing_else_with_runs_of_others():
    with serving(token=USERS, approvers=["clerk"]) as client, people(client, *USERS.values()) as [ada, bob, clerk]:
        run, digest = asked(ada)
        assert [each["id"] for each in clerk.get("/ui/approvals").json()["runs"]] == [run]
        assert [each.get("/ui/approvals").json()["runs"] for each in (ada, bob)] == [[], []]
        assert [each.get("/ui/about").json()["deciders"] for each in (ada, clerk)] == [["clerk"], []]
        later, _ = asked(bob)
        (first, second) = clerk.get("/approvals").json()["approvals"]
        assert [(each["run"], each["user"]) for each in (first, second)] == [(run, "ada"), (later, "bob")]
        told = {"model": "shop", "session_id": run, "message": "buy a chair", "digest": digest, "name": "pay"}
        assert {**first, **told, "arguments": {"amount": 3}} == first
        assert first["asked"] <= second["asked"]
        assert [each.get("/approvals").json() for each in (ada, bob)] == [{"approvals": []}] * 2
        assert clerk.get(f"/runs/{run}").json()["approvals"][0]["digest"] == digest
        assert by_ui(clerk, run, digest).json()["id"] == run
        assert outcome(ada, run) == "You said 1."
        for path in (f"/runs/{run}/events", f"/ui/outline?id={run}"):
            assert clerk.get(path).status_code in (403, 404)
        assert clerk.post(f"/runs/{run}/cancel").status_code == 404
        assert clerk.delete(f"/runs/{run}").status_code == 404
        assert clerk.post("/ui/forget", json={"id": run}).status_code == 404
        assert clerk.get("/runs").json()["runs"] == []


@pytest.mark.parametrize("token", ["right-token", USERS])
def test_all_lists_tell_the_text_that_was_said_last(token: str | dict[str, str]):
    with serving(token=token) as client:
        client.headers["authorization"] = f"Bearer {token if isinstance(token, str) else token['ada']}"
        run = client.post("/runs", json={"message": ["look at this order", "buy a chair"]}).json()["id"]
        events_of(client, run, '"paused"')
        (call,) = client.get("/approvals").json()["approvals"]
        (shown,) = client.get("/ui/approvals").json()["runs"]
        (listed,) = client.get("/ui/runs").json()["runs"]
        told = [call["message"], *(each["text"] for each in (shown, listed, client.get(f"/ui/run?id={run}").json()))]
        assert told == ["buy a chair"] * 4
        assert shown["approvals"] == [{name: call[name] for name in shown["approvals"][0]}]


def test_without_approvers_each_user_decides_on_their_own():
    with serving(token=USERS) as client, people(client, *USERS.values()) as [ada, bob, _]:
        run, digest = asked(ada)
        assert by_runs(bob, run, digest).status_code == 404
        assert [each["run"] for each in ada.get("/approvals").json()["approvals"]] == [run]
        assert bob.get("/approvals").json() == {"approvals": []}
        approve_all(ada, run)
        assert outcome(ada, run) == "You said 1."


@pytest.mark.parametrize("token", ["right-token", USERS])
def test_an_approver_is_a_user(token: str | dict[str, str]):
    with pytest.raises(ConfigurationError, match="the approver 'carl' is no user"):
        AgentServer(make_shop(), token=token, approvers=["carl"])


@pytest.mark.parametrize(("token", "told"), [(USERS, ["'ada'", "'bob'", "'clerk'"]), ("right-token", ["None"])])
def test_tools_know_for_which_user_they_run(token: str | dict[str, str], told: list[str]):
    def mine() -> str:
        """Read what the user has."""
        return repr(this_call().context)

    agent = Agent(ScriptedModel(look), tools=[mine], name="own")

    tokens = USERS.values() if isinstance(token, dict) else [token]
    with serving(agent, token=token) as client, people(client, *tokens) as clients:
        assert [said(each, "mine", session_id="s") for each in clients] == told
