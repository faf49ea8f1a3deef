"""What a client that sends requests again by itself is told: when, or not at all; OpenAI's own does so by default."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from distributed._helpers import AsyncSleeper
from serving._served import GUARD, Shop, outcome, people, said, serving
from trivium import Agent
from trivium.serving import OwnerLimits
from trivium.testing import ScriptedModel


def fails(request: Any) -> Any:
    raise RuntimeError("the model is broken")


def ask(url: Any, model: str) -> openai.APIStatusError:
    """What OpenAI's client raises, as it is by default."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="right-token", timeout=GUARD)
    with client, pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": "go"}])
    return raised.value


BROKEN: list[tuple[Callable[[], Any], dict[str, Any], int]] = [
    (lambda: Agent(ScriptedModel(fails), name="it"), {}, 500),
    (lambda: Agent[int](ScriptedModel(lambda request: "no"), name="it"), {}, 502),
    (AsyncSleeper, {"timeout": 0.1}, 504),
]


@pytest.mark.parametrize(("make", "options", "status"), BROKEN)
def test_a_run_that_fails_is_not_begun_again(make: Callable[[], Any], options: dict[str, Any], status: int):
    with serving({"it": make()}, **options) as http:
        error = ask(http.base_url, "it")
        assert [error.status_code, error.response.headers.get("x-should-retry")] == [status, "false"]
        (run,) = http.get("/runs").json()["runs"]
        assert run["state"] == "failed"


def test_a_run_that_was_cancelled_is_not_begun_again():
    sleeper = AsyncSleeper()
    with serving({"it": sleeper}) as http, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, http.base_url, "it")
        assert sleeper.began.acquire(timeout=GUARD)
        (run,) = http.get("/runs").json()["runs"]
        http.post(f"/runs/{run['id']}/cancel")
        assert [asked.result(GUARD).status_code, len(http.get("/runs").json()["runs"])] == [503, 1]


def test_who_has_spent_all_is_told_until_when(tmp_path: Path):
    """Each run takes 15 tokens. The first one ended an hour before the second one, and a day less 100 s ago."""
    journal, limits = tmp_path / "runs.db", OwnerLimits(tokens_per_day=30)
    with serving(Agent(Shop(), name="shop"), journal=journal, owner_limits=limits) as client:
        for earlier in (86_300, 82_700):
            assert said(client, "hi") == "You said 1."
            with closing(sqlite3.connect(journal)) as database, database:
                database.execute(
                    "UPDATE trivium_served SET ended = ended - ? WHERE created > ?", (earlier, time.time() - 60)
                )
                database.execute("UPDATE trivium_served SET created = created - ?", (earlier,))
        refused = client.post("/runs", json={"message": "hi"})
        assert [refused.status_code, refused.json()["error"]["type"]] == [429, "SpentForToday"]
        assert 60 < int(refused.headers["retry-after"]) <= 100


@pytest.mark.parametrize(("options", "kind"), [
    ({"max_runs": 1}, "Overloaded"), ({"owner_limits": OwnerLimits(runs=1)}, "TooManyRuns"),
])  # fmt: skip
def test_who_comes_to_a_full_server_is_told_when_to_come_again(options: dict[str, Any], kind: str):
    """What cannot be done when there is a place either is told first."""
    sleeper = AsyncSleeper()
    with serving({"it": sleeper}, **options) as client:
        client.post("/runs", json={"message": "go"})
        assert sleeper.began.acquire(timeout=GUARD)
        refused = client.post("/runs", json={"message": "go"})
        assert [refused.status_code, refused.json()["error"]["type"]] == [429, kind]
        assert int(refused.headers["retry-after"]) > 0
        for body, status in (({"model": "x"}, 404), ({"previous_run_id": "x"}, 404), ({"message": 1}, 422)):
            assert client.post("/runs", json={"message": "go", **body}).status_code == status


def test_who_has_as_many_sessions_as_may_be_is_told_not_to_wait():
    with serving(Agent(Shop(), name="shop"), max_sessions=1) as client:
        assert said(client, "hi", session_id="one") == "You said 1."
        refused = client.post("/runs", json={"message": "hi", "session_id": "two"})
        assert [refused.status_code, refused.json()["error"]["type"]] == [429, "TooManySessions"]
        assert [refused.headers.get(name) for name in ("x-should-retry", "retry-after")] == ["false", None]
        refused = client.post("/runs", json={"message": "hi", "session_id": "mcp:two/"})  # those of MCP do not count
        assert [refused.status_code, "begin with mcp:" in refused.text] == [422, True]


def test_a_request_with_an_id_of_its_client_is_one_run_however_often_it_is_sent(tmp_path: Path):
    body = {"message": "hi", "session_id": "s", "request_id": "7"}
    users = {"ada": "a-token", "bob": "b-token"}
    options = {"token": users, "journal": tmp_path / "runs.db"}
    with serving(**options) as client, people(client, *users.values()) as [ada, bob]:

        def send(at: int) -> httpx2.Response:
            return ada.post("/runs", json=body)

        with ThreadPoolExecutor(4) as pool:
            answers = [*pool.map(send, range(4))]
        assert [each.status_code for each in answers] == [202] * 4
        run = answers[0].json()["id"]
        assert {each.json()["id"] for each in answers} == {run}
        assert outcome(ada, run) == "You said 1."
        for other in ({"message": "ho"}, {"session_id": "t"}, {"model": "shop"}):
            refused = ada.post("/runs", json={**body, **other})
            assert [refused.status_code, refused.json()["error"]["type"]] == [409, "OtherInput"]
        assert bob.post("/runs", json=body).json()["id"] != run
        assert said(ada, "hi", session_id="s", request_id="8") == "You said 2."
        assert ada.post("/runs", json={**body, "request_id": "x" * 257}).status_code == 422
    with serving(**options) as client, people(client, "a-token") as [ada]:
        assert ada.post("/runs", json=body).json()["state"] == "done"
        assert '"done"' in ada.post("/runs", json={**body, "stream": True}).text
        ada.delete(f"/runs/{run}")
        assert ada.post("/runs", json=body).status_code == 202  # nothing is known of it any more
