"""The routes of the web UI: who may see what, and what is done to runs of the server and of its journal."""

from __future__ import annotations

import re
import sqlite3
import threading
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from serving._served import ask, events_of, follow, make_shop, people, serving
from trivium import Agent
from trivium.actions import tool
from trivium.exceptions import RunPausedError
from trivium.journal import Journal, ask_later
from trivium.serving import AgentServer, _spending
from trivium.testing import ScriptedModel, call_tool


def say(client: Any, text: str) -> str:
    """Run the default agent to its end or up to an approval, and return the id of the run."""
    made = client.post("/runs", json={"message": text}).json()["id"]
    follow(client, made, until='"paused"')
    return made


def test_the_page_and_its_files_need_no_token_and_load_nothing_else():
    with serving() as client, people(client, "") as [stranger]:
        page = stranger.get("/")
        policy = page.headers["content-security-policy"]
        assert page.status_code == 200
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cache-control"] == "no-cache"
        style = re.search(r'href="\./(ui/files/\w+)/app\.css"', page.text)
        assert style is not None
        kinds = {"app.css": "text/css", "app.js": "text/javascript", "vendor/preact.js": "text/javascript"}
        for name, kind in kinds.items():
            file = stranger.get(f"/{style[1]}/{name}")
            assert file.headers["content-type"] == f"{kind}; charset=utf-8"
            assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert file.headers["x-content-type-options"] == "nosniff"
        for name in ("none.js", "%2e%2e/_files.py", "vendor/LICENSES.txt"):
            assert stranger.get(f"/{style[1]}/{name}").status_code == 404
        assert stranger.get("/ui/files/older/app.js").status_code == 404
        for path in ("about", "runs", "run?id=a", "outline?id=a", "node?id=a", "export?id=a", "approvals", "compare"):
            assert stranger.get(f"/ui/{path}").status_code == 401
        for path in ("decide", "fork", "forget"):
            assert stranger.post(f"/ui/{path}", json={}).status_code == 401


def test_an_owner_sees_no_runs_of_others_and_looks_into_their_own_only_as_an_inspector():
    options = {"token": {"ada": "a-token", "bob": "b-token"}, "inspectors": ["bob"]}
    with serving(**options) as client, people(client, "a-token", "b-token") as [ada, bob]:
        hers, his = say(ada, "hello"), say(bob, "hello")
        about = ada.get("/ui/about").json()
        assert (about["served"], about["owner"]) == ([{"name": "shop", "root": "shop"}], "ada")
        assert about["inspects"] is False
        assert [each["id"] for each in ada.get("/ui/runs").json()["runs"]] == [hers]
        assert ada.get("/ui/runs", params={"search": his}).json()["runs"] == []
        assert ada.get("/ui/run", params={"id": hers}).json()["message"]["content"] == "You said 1."
        inside = ["outline?id={}", "node?id={}&key=a", "export?id={}", "compare?first={}&second={}"]
        for path in inside:
            assert ada.get("/ui/" + path.format(hers, hers)).status_code == 403
        for path in ["run?id={}", *inside]:
            assert bob.get("/ui/" + path.format(hers, hers)).status_code == 404
        assert ada.post("/ui/fork", json={"id": hers}).status_code == 403
        assert bob.post("/ui/fork", json={"id": hers}).status_code == 404
        assert bob.post("/ui/decide", json={"id": hers, "digest": "a", "approved": True}).status_code == 404
        assert bob.post("/ui/forget", json={"id": hers}).status_code == 404
        assert bob.get("/ui/outline", params={"id": his}).json()["names"] == ["shop", "model"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("decide", {"id": "a", "digest": "b"}), ("decide", {"digest": "b", "approved": True}),
        ("fork", {"id": "a", "edit": 1}), ("fork", {"id": 1}), ("fork", {"id": "a", "edit": "b"}),
        ("fork", {"at": "b"}), ("forget", {}),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_meant_is_refused(path: str, body: object):
    with serving() as client:
        assert client.post(f"/ui/{path}", json=body).status_code == 422
        for query in ("run", "run?id=", f"run?id={'a' * 1001}", "runs?limit=x", "compare?first=a"):
            assert client.get(f"/ui/{query}").status_code == 422


def test_runs_are_found_by_their_words_state_and_session():
    with serving() as client:
        say(client, "hello")
        paused = say(client, "buy a chair")
        session = client.get("/ui/run", params={"id": paused}).json()["session"]

        def found(**query: Any) -> list[str]:
            return [each["text"] for each in client.get("/ui/runs", params=query).json()["runs"]]

        assert found() == ["buy a chair", "hello"]
        assert found(search="CHAIR") == found(state="paused") == found(session=session) == ["buy a chair"]
        assert found(search="table") == []
        assert client.get("/ui/runs", params={"limit": 1}).json()["more"] is True
        assert found(limit=1, after=1) == ["hello"]
        [waiting] = client.get("/ui/approvals").json()["runs"]
        assert [each["arguments"] for each in waiting["approvals"]] == [{"amount": 3}]


def test_a_fork_goes_on_with_a_program_or_waits():
    with serving({"one": make_shop(), "two": make_shop()}) as client:
        made = say(client, "hello")
        [root, model] = client.get("/ui/outline", params={"id": made}).json()["keys"]
        assert root == "shop"
        fork = client.post("/ui/fork", json={"id": made, "at": model, "program": "two"})
        assert fork.status_code == 201
        follow(client, fork.json()["id"])
        shown = client.get("/ui/run", params={"id": fork.json()["id"]}).json()
        assert (shown["program"], shown["state"], shown["fork"]) == ("two", "done", {"run": made, "node": model})
        edited = client.post("/ui/fork", json={"id": made, "at": model, "edit": "no", "program": "one"}).json()["id"]
        *_, last = events_of(client, edited)
        assert last["message"]["content"] == "no"
        compared = client.get("/ui/compare", params={"first": made, "second": edited}).json()
        assert compared["divergence"]["what"] == "answered"
        waits = client.post("/ui/fork", json={"id": made, "at": model}).json()
        assert waits["is_running"] is False
        assert client.get("/ui/run", params={"id": waits["id"]}).json()["state"] == "stopped"
        assert client.post("/ui/fork", json={"id": made, "program": "three"}).status_code == 422
        assert client.post("/ui/fork", json={"id": made, "at": "none"}).status_code == 404
        assert client.post("/ui/fork", json={"id": made, "at": root, "edit": "no"}).status_code == 404
        assert client.get("/ui/node", params={"id": made, "key": "none"}).status_code == 404


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def test_a_run_that_a_program_wrote_is_shown_and_decided_on(tmp_path: Path):
    journal, call = Journal(tmp_path / "runs.db"), call_tool("pay", amount=3)

    def agent() -> Agent:
        model = ScriptedModel(lambda request: "done" if request.messages[-1]["role"] == "tool" else call)
        return Agent(model, name="payer", tools=[tool(effect="once", needs_approval=True)(pay)], approve=ask_later)

    for name in ("one", "two", "three"):
        with pytest.raises(RunPausedError):
            agent()("pay", run_id=name, journal=journal)
    with serving(journal=tmp_path / "runs.db") as client:
        shown = client.get("/ui/run", params={"id": "one"}).json()
        assert (shown["state"], shown["root"], shown["program"], shown["programs"]) == ("paused", "payer", "", [])
        for name, approved in (("one", True), ("two", False)):
            digest = client.get("/ui/run", params={"id": name}).json()["approvals"][0]["digest"]
            body = {"id": name, "digest": digest, "approved": approved, "reason": "too dear"}
            assert client.post("/ui/decide", json=body).json()["approvals"] == []
            assert client.post("/ui/decide", json=body).status_code == 409
        for status in (200, 404):  # nobody here could cancel it
            assert client.post("/ui/forget", json={"id": "three"}).status_code == status
    assert agent()("pay", run_id="one", journal=journal).content == "done"
    agent()("pay", run_id="two", journal=journal)
    assert "too dear" in str([each.outcome or each.error for each in journal.view("two").tree().walk()])
    with serving(journal=tmp_path / "runs.db", token={"ada": "a-token"}) as client, people(client, "a-token") as [ada]:
        assert ada.get("/ui/run", params={"id": "one"}).status_code == 404


def test_the_list_has_what_runs_of_other_programs_have_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = tmp_path / "runs.db"
    shop, journal = make_shop(), Journal(place)
    for name in ("one", "changed"):
        shop("hello", run_id=name, journal=journal)
    with pytest.raises(RunPausedError):
        shop("buy", run_id="waits", journal=journal, approve=ask_later)
    with journal.run("no model"), closing(sqlite3.connect(place)) as file, file:
        file.execute("UPDATE entry SET body = '{' WHERE run = 'changed' AND name = 'model'")
    with serving(journal=place) as client:

        def spent() -> dict[str, tuple[int | None, float | None]]:
            return {each["id"]: (each["tokens"], each["usd"]) for each in client.get("/ui/runs").json()["runs"]}

        with monkeypatch.context() as patch:
            patch.setattr(_spending, "READ_SECONDS", 0)  # there was no time
            assert set(spent().values()) == {(None, None)}
        assert spent() == {"one": (15, 0.0), "waits": (30, 0.0), "no model": (None, 0.0), "changed": (None, None)}
        [waiting] = journal.pending("waits")
        journal.approve("waits", waiting.digest, by="ada")
        shop("buy", run_id="waits", journal=journal, approve=ask_later)
        assert spent()["waits"] == (45, 0.0)


def test_runs_that_have_ended_are_deleted_and_others_are_not(tmp_path: Path):
    with serving(journal=tmp_path / "runs.db") as client:
        journal = Journal(tmp_path / "runs.db")
        with journal.run("under way"):
            assert client.post("/ui/forget", json={"id": "under way"}).status_code == 409
        made, waits = say(client, "hello"), say(client, "buy")
        assert client.post("/ui/forget", json={"id": waits}).status_code == 409
        for each in (made, "under way"):
            assert client.post("/ui/forget", json={"id": each}).json() == {"id": each, "deleted": True}
        assert [each["id"] for each in client.get("/ui/runs").json()["runs"]] == [waits]
        assert [each.id for each in journal.runs()] == [waits]


def test_a_decision_lets_a_served_run_go_on():
    with serving() as client:
        made = say(client, "buy")
        [call] = client.get("/ui/run", params={"id": made}).json()["approvals"]
        body = {"id": made, "digest": call["digest"], "approved": True}
        assert client.post("/ui/decide", json={**body, "digest": "another"}).status_code == 409
        assert client.post("/ui/decide", json=body).status_code == 200
        *_, last = events_of(client, made)
        assert last["kind"] == "done"


def test_a_server_that_ends_ends_the_streams_of_runs_that_go_on_later(caplog: pytest.LogCaptureFixture):
    began, read = threading.Event(), list[str]()
    with ExitStack() as after:
        with AgentServer(make_shop(waits=True), token="right-token", port=0, grace=0.0) as server:
            client = after.enter_context(ask(server.url))
            made = client.post("/runs", json={"message": "wait"}).json()["id"]

            def follow_it() -> None:
                with client.stream("GET", f"/runs/{made}/events") as response:
                    for line in response.iter_lines():
                        read.append(line)
                        if "You " in line:
                            began.set()

            reader = threading.Thread(target=follow_it)
            reader.start()
            assert began.wait(30)
        reader.join()
    assert '"done"' not in read[-2]
    assert [each.message for each in caplog.records if each.name == "uvicorn.error"] == []
