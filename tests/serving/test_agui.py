"""AG-UI 1.0: others' validator reads what we send, and a thread is interrupted, resumed and taken up."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest
from ag_ui_validate.pytest_plugin import assert_valid_agui

from serving._served import GUARD, Shop, follow, make_shop, people, serving
from trivium import Agent, ChatAgent
from trivium.actions import tool
from trivium.llms import Reasoning, Request
from trivium.tasks import Task
from trivium.testing import ScriptedModel, call_tool


def run(client: Any, said: str = "", run_id: str = "r1", path: str = "/ag-ui", **fields: Any) -> list[dict[str, Any]]:
    """The events of a run; they are valid."""
    messages = [{"id": f"u-{run_id}", "role": "user", "content": said}] if said else []
    body: dict[str, Any] = {
        "threadId": "t",
        "runId": run_id,
        "messages": messages,
        "tools": [],
        "context": [],
        **fields,
    }
    response = client.post(path, json=body)
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    events = [json.loads(line[6:]) for line in response.text.split("\n\n") if line]
    assert_valid_agui(events, max_warnings=0)
    return events


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [each["type"] for each in events]


def resolved(events: list[dict[str, Any]], approved: bool = True) -> list[dict[str, Any]]:
    """The answer to all interrupts of a run."""
    interrupts = events[-1]["outcome"]["interrupts"]
    return [{"interruptId": each["id"], "status": "resolved", "payload": {"approved": approved}} for each in interrupts]


def test_a_thread_is_a_conversation():
    with serving() as client:
        for number in (1, 2):
            events = run(client, "hi", f"r{number}")
            text = "".join(each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT")
            assert text == f"You said {number}."
            assert events[-1]["outcome"] == {"type": "success"}
            assert events[-1]["usage"][0]["totalTokens"] == 15


def test_an_interrupt_is_an_approval():
    with serving() as client:
        first = run(client, "buy")
        assert kinds(first) == [
            "RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "TOOL_CALL_START",
            "TOOL_CALL_ARGS", "TOOL_CALL_END", "MESSAGES_SNAPSHOT", "RUN_FINISHED",
        ]  # fmt: skip
        assert [each["role"] for each in first[-2]["messages"]] == ["user", "assistant", "tool", "assistant"]
        refused = run(client, "and?", "r2")
        assert [kinds(refused), refused[-1]["code"]] == [["RUN_STARTED", "RUN_ERROR"], "Interrupted"]
        unknown = run(client, "", "r2", resume=[{"interruptId": "x", "status": "resolved", "payload": {}}])
        assert unknown[-1]["code"] == "NoSuchApproval"
        second = run(client, "", "r3", resume=resolved(first))
        assert kinds(second)[:3] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "TOOL_CALL_RESULT"]
        assert [second[2]["content"], second[-1]["outcome"]] == ["paid 3", {"type": "success"}]
        assert run(client, "", "r3", resume=resolved(first)) == second  # asked for again: the same run
        assert run(client, "buy") == first


def test_an_id_of_a_run_is_that_of_one_input():
    """The request again is answered as before, also by a page that has the answer by now; another one is refused."""
    with serving({"one": make_shop(), "two": make_shop()}) as client:
        first = run(client, "hi")
        decided = resolved(asked := run(client, "buy", "r2"))
        assert run(client, "", "r3", resume=decided)[-1]["outcome"] == {"type": "success"}
        assert run(client, "hi") == run(client, "") == run(client, "hi", path="/ag-ui/one") == first
        others: list[tuple[str, str, str, dict[str, Any]]] = [
            ("", "r1", "bye", {}), ("", "r1", "", {"resume": decided}), ("/two", "r1", "hi", {}),
            ("", "r3", "", {"resume": resolved(asked, approved=False)}), ("", "r3", "bye", {}),
        ]  # fmt: skip
        for path, run_id, said, fields in others:
            messages = [{"id": "u", "role": "user", "content": said}] if said else []
            body = {"threadId": "t", "runId": run_id, "messages": messages, "tools": [], "context": [], **fields}
            refused = client.post(f"/ag-ui{path}", json=body)
            assert [refused.status_code, refused.json()["error"]["type"]] == [409, "OtherInput"], refused.text
        assert len(client.get("/runs").json()["runs"]) == 2


@pytest.mark.parametrize(("first", "again"), [(["x", "hi"], ["hi"]), (["hi"], ["x", "hi"])])
def test_a_request_again_may_send_more_or_less_of_what_was_said(first: list[str], again: list[str]):
    def answer(request: Request) -> str:
        if request.messages[-1]["content"] == "x":
            raise ValueError
        return "well"

    def sent(*said: str) -> dict[str, Any]:
        messages = [{"id": each, "role": "user", "content": each} for each in said]
        return {"threadId": "t", "runId": "r2", "messages": messages, "tools": [], "context": []}

    with serving(Agent(ScriptedModel(answer))) as client:
        assert run(client, "x")[-1]["type"] == "RUN_ERROR"
        begun = client.post("/ag-ui", json=sent(*first))
        assert '"well"' in begun.text
        assert client.post("/ag-ui", json=sent(*again)).text == begun.text
        for others in (["new", "hi"], ["x"], ["hi", "new"]):
            assert client.post("/ag-ui", json=sent(*others)).status_code == 409


def test_of_the_messages_of_a_thread_each_run_keeps_what_it_adds(tmp_path: Path):
    journal, messages = tmp_path / "runs.db", list[dict[str, Any]]()
    with serving(journal=journal) as client:
        for number in range(20):
            messages.append({"id": f"u{number}", "role": "user", "content": "hi " * 100})
            events = run(client, "", f"r{number}", messages=messages)
            answer = next(each["messageId"] for each in events if each["type"] == "TEXT_MESSAGE_START")
            messages.append({"id": answer, "role": "assistant", "content": f"You said {number + 1}."})
        before = len(messages)
        messages.append({"id": "u20", "role": "user", "content": "buy"})
        first = run(client, "", "r20", messages=messages)
        assert first[-2]["messages"][:before] == messages[:before]
        second = run(client, "", "r21", resume=resolved(first))
        assert second[1]["messages"][:before] == messages[:before]
        assert run(client, "", "r20", messages=messages) == first
        assert run(client, "", "r21", resume=resolved(first)) == second
        edited = [*messages[:2], {"id": "u22", "role": "user", "content": "buy"}]
        third = run(client, "", "r22", messages=edited)
        assert third[-2]["messages"][:3] == edited
        with closing(sqlite3.connect(journal)) as database:
            kept = [json.loads(body)["agui"] for (body,) in database.execute("SELECT body FROM trivium_served")]
        assert sum(len(each["messages"]) for each in kept) == len(messages) + 1
        oldest = client.get("/runs").json()["runs"][-1]["id"]
        assert client.delete(f"/runs/{oldest}").status_code == 200
        body = {"threadId": "t", "runId": "r21", "messages": [], "resume": resolved(first)}
        assert "MESSAGES_SNAPSHOT" not in client.post("/ag-ui", json=body).text  # it would lack some


def test_what_another_protocol_has_asked_in_a_thread_is_answered_here_too():
    with serving() as client:
        begun = client.post("/runs", json={"message": "buy", "session_id": "t"}).json()["id"]
        approvals = json.loads(follow(client, begun, until='"paused"')[-1][1])["approvals"]
        resume = [{"interruptId": each["digest"], "status": "resolved", "payload": {"approved": True}}
                  for each in approvals]  # fmt: skip
        assert run(client, "", "r2", resume=resume)[-1]["outcome"] == {"type": "success"}


def test_a_refusal_is_read_by_the_model_and_no_answer_is_one():
    with serving() as client:
        first = run(client, "buy")
        given = [{"interruptId": first[-1]["outcome"]["interrupts"][0]["id"], "status": "cancelled"}]
        second = run(client, "", "r2", resume=given)
        assert "nobody has answered" in second[2]["content"]


def test_thoughts_and_results_of_tasks():
    with serving(Agent(ScriptedModel([[Reasoning("hm"), "yes"]]))) as client:
        events = run(client, "hi")
        assert kinds(events)[1:6] == [
            "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END",
            "REASONING_END",
        ]  # fmt: skip
    with serving(Task(ChatAgent(ScriptedModel(["DONE 7"])), name="clerk", interactive=False)) as client:
        events = run(client, "hi", path="/ag-ui/clerk")
        assert [each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT"][-1] == "7"


def test_a_run_that_fails_says_so_and_nothing_of_its_inside():
    def fail(request: object) -> str:
        raise ValueError("inside")

    with serving(Agent(ScriptedModel(fail))) as client:
        events = run(client, "hi")
        assert [events[-1]["type"], events[-1]["code"]] == ["RUN_ERROR", "InternalError"]
        assert "inside" not in json.dumps(events)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"threadId": "t", "runId": "r", "messages": "hi"},
        {"threadId": "t", "runId": "r", "messages": []},
        {"threadId": "t", "runId": "r", "messages": [{"role": "assistant", "content": "x"}]},
        {"threadId": "t", "runId": "r", "messages": ["hi"]},
    ],
)
def test_what_is_no_input_is_refused_before_the_run(body: dict[str, Any]):
    with serving() as client:
        assert client.post("/ag-ui", json=body).status_code == 422
        assert client.post("/ag-ui/nobody", json={**body, "threadId": "t", "runId": "r"}).status_code in (404, 422)


def test_a_thread_belongs_to_its_owner():
    tokens = {"ada": "token-a", "bob": "token-b"}
    with serving(token=tokens) as client, people(client, *tokens.values()) as (ada, bob):
        first = run(ada, "buy")
        assert run(bob, "", "r2", resume=resolved(first))[-1]["code"] == "NoSuchApproval"
        assert kinds(run(bob, "hi"))[-1] == "RUN_FINISHED"


def test_the_model_of_these_tests_counts():
    assert Agent(Shop())("hi").content == "You said 1."


def as_shown(events: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The names of the tools that each message of a thread calls, as its client puts the events together."""
    found = dict[str, list[str]]()
    for each in events:
        if each["type"] == "TEXT_MESSAGE_START":
            found[each["messageId"]] = []
        elif each["type"] == "TOOL_CALL_START":
            found.setdefault(each.get("parentMessageId", each["toolCallId"]), []).append(each["toolCallName"])
    return found


def test_a_call_belongs_to_the_message_of_the_agent_that_made_it():
    """Two helpers work at once, each of which says something and then asks whether it may buy."""
    both = Barrier(2, timeout=GUARD)

    @tool(needs_approval=True)
    def buy(item: str) -> str:
        """Buy."""
        return f"{item} bought"

    def helper(name: str) -> Agent:
        def answer(request: Request) -> Any:
            if request.messages[-1]["role"] == "tool":
                return "Done."
            both.wait()
            return [f"I am {name}.", call_tool("buy", item=name)]

        return Agent(ScriptedModel(answer), name=name, tools=[buy], description="Buys.")

    def ask(request: Request) -> Any:
        if request.messages[-1]["role"] == "tool":
            return "All done."
        return ["Asking both.", call_tool("one", 0, message="go"), call_tool("two", 1, message="go")]

    desk = Agent(ScriptedModel(ask), name="desk", tools=[helper("one"), helper("two")], parallel=True)
    with serving(desk) as client:
        first = run(client, "hi")
        shown = first[-2]["messages"][1:]
        assert as_shown(first) == {
            each["id"]: [call["function"]["name"] for call in each.get("toolCalls", ())] for each in shown
        }
        by_text = {each["content"]: [call["function"]["arguments"] for call in each["toolCalls"]] for each in shown}
        assert by_text == {
            "Asking both.": ['{"message": "go"}', '{"message": "go"}'],
            "I am one.": ['{"item": "one"}'],
            "I am two.": ['{"item": "two"}'],
        }


def test_what_an_agent_says_as_another_one_asks_is_in_the_thread_once():
    begun = Event()

    @tool(needs_approval=True)
    def buy() -> str:
        """Buy."""
        return "bought"

    def ask(request: Request) -> Any:
        if request.messages[-1]["role"] == "tool":
            return "Bought."
        assert begun.wait(GUARD)
        return call_tool("buy")

    class Talker:
        name = "talker"

        async def stream(self, request: Request) -> AsyncIterator[Any]:
            yield "I am "
            begun.set()
            yield "here."

    both = [call_tool("buyer", 0, message="go"), call_tool("talker", 1, message="go")]
    desk = ScriptedModel(lambda request: "Done." if request.messages[-1]["role"] == "tool" else both)
    buyer = Agent(ScriptedModel(ask), name="buyer", tools=[buy], description="Buys.")
    talker = Agent(Talker(), name="talker", description="Talks.")
    with serving(Agent(desk, name="desk", tools=[buyer, talker], parallel=True)) as client:
        first = run(client, "hi")
        said = [each for each in first[-2]["messages"] if each["role"] == "assistant"]
        assert [each["content"] for each in said if "content" in each] == ["I am here."]
        second = run(client, "", "r2", resume=resolved(first))
        assert second[-1]["outcome"] == {"type": "success"}
        texts = "".join(each["delta"] for each in second if each["type"] == "TEXT_MESSAGE_CONTENT")
        assert texts == "Bought.Done."
