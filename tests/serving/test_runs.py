"""Runs of a server: they belong to its store, and are followed from any event on."""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

from _postgres import postgres_server
from distributed._helpers import AsyncSleeper
from journal._places import postgres_place
from serving._served import (
    GUARD,
    Shop,
    approve_all,
    ask,
    events_of,
    follow,
    make_shop,
    outcome,
    own_server,
    people,
    said,
    serving,
    start,
)
from trivium import Agent, ChatAgent
from trivium.commander import PASS_WORD, HandlerCoroutine, Job, Limits, handler, tasker
from trivium.exceptions import ConfigurationError, JournalError
from trivium.serving import AgentServer, JobModule, OwnerLimits
from trivium.tasks import Task
from trivium.testing import ScriptedModel, call_tool


def test_a_run_that_asks_goes_on_when_it_is_decided_and_every_event_is_told_once():
    with serving() as client:
        run = start(client, "buy")
        approve_all(client, run)
        events = [*events_of(client, run)]
        assert [each["kind"] for each in events] == [
            "started", "answered", "tool_call", "tool_result", "answered", "tool_call", "paused", "decided", "resumed",
            "tool_result", "delta", "delta", "delta", "delta", "answered", "done",
        ]  # fmt: skip
        assert [each["seq"] for each in events] == [*range(1, 17)]
        shown = client.get(f"/runs/{run}").json()
        assert [shown["state"], shown["message"]["content"]] == ["done", "You said 1."]
        assert shown["usage"] == {"tokens": 45, "usd": 0.0}
        assert [each["id"] for each in client.get("/runs").json()["runs"]] == [run]


def test_a_connection_that_is_dropped_at_any_event_is_taken_up_there():
    with serving() as client:
        run = start(client, "buy")
        approve_all(client, run)
        whole = follow(client, run)
        for at in range(len(whole)):
            assert follow(client, run, at) == whole[at:]
        assert client.get(f"/runs/{run}/events", params={"after": "15"}).text.count("data: ") == 1


def test_a_client_that_leaves_does_not_end_its_run():
    sleeper = AsyncSleeper()
    with serving(sleeper) as client:
        with client.stream("POST", "/runs", json={"message": "go", "stream": True}) as response:
            run = response.headers["location"].removeprefix("/runs/")
            assert sleeper.began.acquire(timeout=30)
        assert client.get(f"/runs/{run}").json()["state"] == "running"
        assert client.post(f"/runs/{run}/cancel").json()["state"] == "cancelled"
        assert sleeper.ended.acquire(timeout=30)
        assert [*events_of(client, run)][-1]["kind"] == "cancelled"
        assert client.post(f"/runs/{run}/cancel").json()["state"] == "cancelled"


def test_a_conversation_goes_on_by_its_name_or_from_any_run():
    with serving() as client:
        assert [said(client, "hi", session_id="a") for _ in range(3)] == ["You said 1.", "You said 2.", "You said 3."]
        assert said(client, "hi", session_id="b") == "You said 1."
        first = start(client, "hi")
        wait_until_done(client, first)
        second = start(client, "hi", previous_run_id=first)
        assert outcome(client, second) == "You said 2."
        branches = [start(client, "hi", previous_run_id=first) for _ in range(3)]
        assert [outcome(client, each) for each in branches] == ["You said 2."] * 3
        assert outcome(client, start(client, "hi", previous_run_id=second)) == "You said 3."


def test_owners_do_not_see_each_others_runs_and_may_not_decide_for_others():
    tokens = {"ada": "token-a", "bob": "token-b"}
    with serving(token=tokens) as client, people(client, *tokens.values()) as (ada, bob):
        run = start(ada, "buy", session_id="s")
        *_, paused = events_of(ada, run, '"paused"')
        decision = {"digest": paused["approvals"][0]["digest"], "approved": True}
        for way, path in (
            ("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/approvals"), ("DELETE", "")
        ):  # fmt: skip
            refused = bob.request(way, f"/runs/{run}{path}", json=decision if path == "/approvals" else None)
            assert [refused.status_code, refused.json()["error"]["type"]] == [404, "UnknownRun"]
        assert bob.post("/runs", json={"message": "x", "previous_run_id": run}).status_code == 404
        assert said(bob, "hi", session_id="s") == "You said 1."
        assert [each["id"] for each in ada.get("/runs").json()["runs"]] == [run]
        assert ada.post(f"/runs/{run}/approvals", json=decision).status_code == 200
        wait_until_done(ada, run)
        again = ada.post(f"/runs/{run}/approvals", json=decision)
        assert [again.status_code, again.json()["error"]["type"]] == [409, "NoSuchApproval"]


def test_what_is_refused_is_not_done_and_the_model_reads_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRIVIUM_TEST_MARKS", str(tmp_path / "marks"))
    with serving() as client:
        run = start(client, "buy")
        *_, paused = events_of(client, run, '"paused"')
        decision = {"digest": paused["approvals"][0]["digest"], "approved": False, "reason": "too dear"}
        client.post(f"/runs/{run}/approvals", json=decision)
        (told,) = [each for each in events_of(client, run) if each["kind"] == "tool_failed"]
        assert "too dear" in told["error"]
    assert (tmp_path / "marks").read_text() == "price\n"


def test_a_tool_that_raises_has_failed_and_its_error_stays_in_the_server():
    def look() -> str:
        raise ValueError("the password is 1234")

    with serving(Agent(ScriptedModel([call_tool("look"), "I cannot tell."]), tools=[look])) as client:
        kinds = {each["kind"]: each for each in events_of(client, start(client, "hi"))}
        assert kinds["tool_failed"]["key"] == kinds["tool_call"]["key"]
        assert kinds["tool_failed"]["error"] == "the tool failed; the server's log says why"
        assert "tool_result" not in kinds


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({}, 422, "InvalidRequest"),
        ({"message": []}, 422, "InvalidRequest"),
        ({"message": "x", "modle": "shop"}, 422, "InvalidRequest"),
        ({"message": "x", "model": 7}, 422, "InvalidRequest"),
        ({"message": "x", "model": "nobody"}, 404, "UnknownModel"),
        ({"message": "x", "previous_run_id": "run_x"}, 404, "UnknownRun"),
        ({"message": "x", "session_id": ""}, 422, "InvalidRequest"),
    ],
)
def test_what_cannot_be_started_is_refused(body: dict[str, Any], status: int, kind: str):
    with serving() as client:
        refused = client.post("/runs", json=body)
        assert [refused.status_code, refused.json()["error"]["type"]] == [status, kind]
        assert client.get("/runs").json() == {"runs": []}


def test_an_owner_has_so_many_runs_at_once_and_so_much_to_spend():
    sleeper = AsyncSleeper()
    with serving(sleeper, owner_limits=OwnerLimits(runs=1)) as client:
        run = start(client, "go")
        refused = client.post("/runs", json={"message": "go"})
        assert [refused.status_code, refused.json()["error"]["limit"]] == [429, "runs"]
        client.post(f"/runs/{run}/cancel")
        client.post(f"/runs/{start(client, 'go')}/cancel")
    with serving(Agent(Shop()), limits=Limits(turns=9), owner_limits=OwnerLimits(tokens_per_day=40)) as client:
        assert [said(client, "hi") for _ in range(2)] == ["You said 1."] * 2
        while (refused := client.post("/runs", json={"message": "hi"})).status_code == 202:
            follow(client, refused.json()["id"])
        assert [refused.status_code, refused.json()["error"]["limit"]] == [429, "tokens_per_day"]


def test_a_run_that_is_over_is_forgotten_whole():
    with serving() as client:
        run = start(client, "hi", session_id="s")
        wait_until_done(client, run)
        assert client.delete(f"/runs/{run}").json() == {"id": run, "deleted": True}
        assert client.get(f"/runs/{run}").status_code == 404
        paused = start(client, "buy")
        follow(client, paused, until='"paused"')
        assert client.delete(f"/runs/{paused}").status_code == 409
        assert client.post(f"/runs/{paused}/cancel").json()["state"] == "cancelled"
        assert client.delete(f"/runs/{paused}").status_code == 200


def test_several_are_served_by_their_names():
    with serving({"a": Agent(ScriptedModel(["from a"])), "b": Agent(ScriptedModel(["from b"]))}) as client:
        assert [said(client, "hi", model=each) for each in ("b", "a")] == ["from b", "from a"]


def test_lagents_route_calls_the_first_one_unless_the_body_names_another():
    models = {each: Agent(ScriptedModel([f"from {each}"]), name=each) for each in ("a", "b")}
    asked: list[tuple[dict[str, Any], int, str]] = [
        ({"model": "b"}, 200, "from b"), ({"model": None}, 200, "from a"), ({"model": "c"}, 404, "there are a, b"),
    ]  # fmt: skip
    with serving(models) as client:
        for body, status, says in asked:
            answer = client.post("/chat_completion", json={"message": "hi", **body})
            assert [answer.status_code, says in answer.text] == [status, True], answer.text


def test_an_approval_that_comes_too_late_is_refused():
    with serving(approval_seconds=0.001) as client:
        run = start(client, "buy")
        *_, paused = events_of(client, run, '"paused"')
        decision = {"digest": paused["approvals"][0]["digest"], "approved": True}
        refused = client.post(f"/runs/{run}/approvals", json=decision)
        assert [refused.status_code, refused.json()["error"]["type"]] == [409, "ApprovalExpired"]
        assert client.get(f"/runs/{run}").json()["state"] == "paused"


def test_what_cannot_be_written_as_utf_8_spoils_no_run():
    served = {
        "bad": Agent(ScriptedModel(lambda request: "a\ud800b")),
        "good": Agent(ScriptedModel(lambda request: "b")),
    }
    with serving(served) as client:
        runs = [start(client, "hi", model=name) for name in ("bad", "good") * 5]
        events = [[*events_of(client, run)] for run in runs]
        assert [each[-1]["kind"] for each in events] == ["done"] * 10
        assert [[event["seq"] for event in each] for each in events] == [[*range(1, len(each) + 1)] for each in events]
        assert [outcome(client, run) for run in runs[:2]] == ["a?b", "b"]


def test_a_client_that_knows_all_is_told_the_end():
    with serving() as client:
        run = start(client, "hi")
        whole = follow(client, run)
        assert follow(client, run, len(whole)) == follow(client, run, 999) == []


def test_a_conversation_goes_on_when_it_is_too_late_for_an_approval():
    with serving(approval_seconds=0.001) as client:
        run = start(client, "buy", session_id="s")
        follow(client, run, until='"paused"')
        assert said(client, "hi", session_id="s") == "You said 1."
        shown = client.get(f"/runs/{run}").json()
        assert [shown["state"], "approval_seconds" in shown["why"]] == ["cancelled", True]


def test_runs_are_kept_as_long_as_the_server_says(tmp_path: Path):
    journal = tmp_path / "runs.db"
    with serving(journal=journal) as client:
        wait_until_done(client, start(client, "hi"))
        follow(client, start(client, "buy"), until='"paused"')
    with serving(journal=journal) as client:
        assert sorted(each["state"] for each in client.get("/runs").json()["runs"]) == ["done", "paused"]
    with serving(journal=journal, approval_seconds=0.001, keep_days=1e-9) as client:
        deadline = time.monotonic() + GUARD
        while client.get("/runs").json()["runs"] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert client.get("/runs").json() == {"runs": []}
        told = client.get("/openapi.json").json()["info"]["description"]
        assert "for 1e-09 days after their end. One that waits for an approval is cancelled after 0.001 s." in told
    for name in ("approval_seconds", "keep_days"):
        given: dict[str, Any] = {name: 0}
        with pytest.raises(ConfigurationError):
            AgentServer(make_shop(), port=0, **given)


def test_a_server_without_a_journal_tells_if_it_has_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(JournalError, match="set TMPDIR to a folder that can be written, or give the server a journal"):
        AgentServer(make_shop(), port=0)


def test_what_deleted_runs_have_spent_counts():
    with serving(Agent(Shop()), owner_limits=OwnerLimits(tokens_per_day=15)) as client:
        run = start(client, "hi")
        wait_until_done(client, run)
        assert client.delete(f"/runs/{run}").status_code == 200
        assert client.post("/runs", json={"message": "hi"}).json()["error"]["limit"] == "tokens_per_day"


def test_a_run_that_waits_for_its_turn_is_cancelled_at_once():
    with serving(make_shop(waits=True), owner_limits=OwnerLimits(runs=2)) as client:
        first = start(client, "wait", session_id="s")
        follow(client, first, until='"You "')
        for _ in range(3):
            waiting = start(client, "hi", session_id="s")
            assert client.post(f"/runs/{waiting}/cancel").json()["state"] == "cancelled"
            assert [*events_of(client, waiting)][-1]["kind"] == "cancelled"
        client.post(f"/runs/{first}/cancel")
        assert said(client, "hi", session_id="s") == "You said 1."


def test_a_paused_run_goes_on_when_the_one_before_it_was_deleted():
    with serving() as client:
        first = start(client, "hi")
        wait_until_done(client, first)
        run = start(client, "buy", previous_run_id=first)
        follow(client, run, until='"paused"')
        client.delete(f"/runs/{first}")
        approve_all(client, run)
        assert outcome(client, run) == "You said 2."


def test_a_task_that_would_ask_at_the_servers_terminal_is_not_served():
    agent = ChatAgent(ScriptedModel(["DONE 7"]))
    boss = Task(agent, name="boss", interactive=False)
    boss.add_sub_task(Task(ChatAgent(ScriptedModel(["DONE 7"])), name="clerk"))
    with pytest.raises(ConfigurationError, match="the task clerk is interactive"):
        AgentServer(boss, port=0)
    agent.ask_user = lambda prompt: "yes"
    assert repr(AgentServer(Task(agent, name="clerk"), port=0)).startswith("AgentServer(clerk, ")


def test_decisions_at_once_count_once_and_none_after_the_end():
    with serving() as client, ThreadPoolExecutor(6) as pool:
        run = start(client, "buy")
        *_, paused = events_of(client, run, '"paused"')
        decision = {"digest": paused["approvals"][0]["digest"], "approved": True}
        asked = [pool.submit(client.post, f"/runs/{run}/approvals", json=decision) for _ in range(6)]
        statuses = [each.result().status_code for each in asked]
        assert sorted(statuses) == [200, *[409] * 5]
        assert outcome(client, run) == "You said 1."
        run = start(client, "buy")
        follow(client, run, until='"paused"')
        assert client.post(f"/runs/{run}/cancel").json()["state"] == "cancelled"
        assert client.post(f"/runs/{run}/approvals", json=decision).status_code == 409
        assert [*events_of(client, run)][-1]["kind"] == "cancelled"


def test_nobody_is_asked_by_a_call_that_ends_with_its_client():
    with serving() as client:
        answer = client.post("/chat_completion", json={"message": "buy"})
        assert [answer.status_code, answer.json()["content"]] == [200, "You said 1."]


def test_limits_hold_for_requests_at_once():
    sleeper = AsyncSleeper()
    with serving(sleeper, owner_limits=OwnerLimits(runs=2)) as client, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(client.post, "/runs", json={"message": "go"}) for _ in range(8)]
        statuses = [each.result().status_code for each in asked]
        assert sorted(statuses) == [202, 202, *[429] * 6]
        for each in client.get("/runs").json()["runs"]:
            client.post(f"/runs/{each['id']}/cancel")
    for name in ("runs", "tokens_per_day", "usd_per_day"):
        given: dict[str, Any] = {name: 0}
        with pytest.raises(ConfigurationError):
            OwnerLimits(**given)


def test_a_run_goes_on_with_the_module_of_the_one_before():
    with serving({"a": Agent(ScriptedModel(["from a"])), "b": Agent(ScriptedModel(["b", "b again"]))}) as client:
        first = start(client, "hi", model="b")
        wait_until_done(client, first)
        assert said(client, "more", previous_run_id=first) == "b again"


def test_a_conversation_that_waits_for_a_decision_takes_no_further_run():
    with serving() as client:
        run = start(client, "buy", session_id="s")
        follow(client, run, until='"paused"')
        refused = client.post("/runs", json={"message": "hi", "session_id": "s"})
        assert [refused.status_code, refused.json()["error"]["type"]] == [409, "Interrupted"]
        approve_all(client, run)
        wait_until_done(client, run)
        assert said(client, "hi", session_id="s") == "You said 2."


@pytest.mark.parametrize("path", ["/runs?limit=²", f"/runs?limit=00001{'9' * 30}", "/runs/{run}/events?after=²"])
def test_digits_of_other_scripts_are_no_numbers(path: str):
    with serving() as client:
        run = start(client, "hi")
        assert client.get(path.format(run=run)).status_code == 422


def test_a_server_that_ends_starts_no_run_that_waits_for_its_turn(tmp_path: Path):
    journal = tmp_path / "runs.db"
    with serving(make_shop(waits=True), journal=journal, grace=0.1) as client:
        runs = [start(client, "wait", session_id="s") for _ in range(3)]
        follow(client, runs[0], until='"You "')
    with serving(journal=journal) as client:
        assert [outcome(client, each) for each in runs] == ["You said 1.", "You said 2.", "You said 3."]


def test_followers_of_runs_that_a_server_leaves_to_the_next_are_told_its_end():
    began = Semaphore(0)

    def read(client: Any, run: str) -> list[str]:
        with client.stream("GET", f"/runs/{run}/events") as response:
            lines = response.iter_lines()
            first = next(lines)
            began.release()
            return [first, *lines]  # a response that was broken off is an error

    server = AgentServer(make_shop(waits=True), port=0, token="right-token", grace=0.1)
    server.start()
    with ask(server.url) as client, ThreadPoolExecutor(2) as pool:
        runs = [start(client, "wait", session_id="s") for _ in range(2)]
        follow(client, runs[0], until='"You "')
        asked = [pool.submit(read, client, each) for each in runs]
        assert [began.acquire(timeout=GUARD) for _ in runs] == [True, True]
        server.close()
        assert [each.result(GUARD)[0] for each in asked] == ["id: 1", "id: 1"]


class Shout(Job):
    """A job that starts a handler."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    @tasker(PASS_WORD)
    async def task(self) -> Any:
        return self.shout(self.text)

    @handler(PASS_WORD)
    async def shout(self, self_handler: HandlerCoroutine[Any], text: str) -> None:
        await self_handler.exit_commander(return_result=text.upper())


def test_a_job_is_served_as_agents_are():
    with serving(JobModule(Shout)) as client:
        assert said(client, "hi") == "HI"
        assert said(client, "again", model="Shout") == "AGAIN"


def test_runs_are_kept_in_postgresql_too():
    with postgres_server() as database:
        journal = postgres_place(database.get_uri(), "served").name
        with serving(journal=journal) as client:
            first = start(client, "hi", session_id="s")
            wait_until_done(client, first)
            paused = start(client, "buy")
            before = follow(client, paused, until='"paused"')
        with serving(journal=journal) as client:
            assert said(client, "hi", session_id="s") == "You said 2."
            approve_all(client, paused)
            assert follow(client, paused)[: len(before)] == before
            assert outcome(client, paused) == "You said 1."
            client.delete(f"/runs/{first}")
            assert len(client.get("/runs").json()["runs"]) == 2


def test_many_owners_and_sessions_do_not_mix():
    tokens = {f"user{at}": f"token-{at}" for at in range(10)}
    with serving(token=tokens, max_runs=1000) as client, people(client, *tokens.values()) as owners:

        def talk(at: int) -> list[Any]:
            owner = owners[at % 10]
            return [said(owner, "hi", session_id=f"s{at // 10}") for _ in range(3)]

        with ThreadPoolExecutor(8) as pool:
            heard = [*pool.map(talk, range(60))]
    assert heard == [["You said 1.", "You said 2.", "You said 3."]] * 60


def wait_until_done(client: Any, run: str) -> None:
    follow(client, run)
    assert client.get(f"/runs/{run}").json()["state"] == "done"


def test_a_shop_is_what_these_tests_serve():
    assert make_shop()("hi").content == "You said 1."


@pytest.mark.parametrize(("serve", "timer"), [(serving, "_uvicorn"), (own_server, "_streams")])
def test_a_stream_that_waits_shows_signs_of_life_and_goes_on(serve: Any, timer: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(f"trivium.serving.{timer}.PING_SECONDS", 0.01)
    with serve() as client, ask(str(client.base_url)) as other:
        run = start(client, "buy")
        seen = list[str]()
        with client.stream("GET", f"/runs/{run}/events") as response:
            for line in response.iter_lines():
                seen.append(line)
                if seen[-2:] == [": ping", ""] and seen.count(": ping") == 2:
                    approve_all(other, run)
        told = [line.removeprefix("data: ") for line in seen if line.startswith("data: ")]
        assert told == [data for _, data in follow(client, run)]


def test_all_runs_are_listed_page_by_page():
    with serving() as client:
        runs = [start(client, "hi") for _ in range(5)]
        seen, page = list[str](), ""
        while page is not None:
            found = client.get("/runs", params={"limit": "2", **({"page": page} if page else {})}).json()
            seen += [each["id"] for each in found["runs"]]
            if page:
                runs.append(start(client, "hi"))  # what comes meanwhile moves nothing
            page = found.get("next_page")
        assert seen == runs[4::-1]
        wrong = client.get("/runs", params={"page": "x"})
        assert [wrong.status_code, wrong.json()["error"]["type"]] == [422, "InvalidRequest"]
