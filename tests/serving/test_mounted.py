"""The application of a server within a program of one's own."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from serving._served import events_of, make_shop, make_waiting_shop, outcome, own_server, serving, start
from trivium import Agent
from trivium.exceptions import ArgumentTypeError
from trivium.serving import JobModule, agent_app


def mounted(journal: Path, *, has_lifespan: bool) -> Starlette:
    inner = agent_app(make_shop(), token="right-token", journal=journal)

    def lifespan(app: object) -> AbstractAsyncContextManager[Any]:
        return inner.router.lifespan_context(inner)

    return Starlette(routes=[Mount("/agent", inner)], lifespan=lifespan if has_lifespan else None)


def test_what_cannot_be_served_is_refused():
    with pytest.raises(
        ArgumentTypeError, match="takes an agent or another Module or a dict as agent, not the class Agent"
    ):
        agent_app(Agent, token="")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="agent_app takes text or a dict as token, not NoneType"):
        agent_app(make_shop(), token=None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="JobModule takes a function as make, not str"):
        JobModule("Shout")  # type: ignore[arg-type]


@pytest.mark.parametrize("has_lifespan", [False, True])
def test_runs_that_were_left_go_on_when_the_first_request_comes(tmp_path: Path, has_lifespan: bool):
    journal = tmp_path / "runs.db"
    with serving(make_waiting_shop(), journal=journal, grace=0.0) as client:
        run = start(client, "wait")
        assert next(iter(events_of(client, run, "You")))["kind"] == "started"
    with own_server(mounted(journal, has_lifespan=has_lifespan)) as client:
        client.base_url = f"{client.base_url}/agent"
        assert outcome(client, run) == "You said 1."
        assert client.get(f"/runs/{run}").json()["state"] == "done"


def test_a_run_is_where_its_answer_says(tmp_path: Path):
    with own_server(mounted(tmp_path / "runs.db", has_lifespan=True)) as client:
        answer = client.post("/agent/runs", json={"message": "hi"})
        assert answer.headers["location"] == f"/agent/runs/{answer.json()['id']}"
        assert client.get(answer.headers["location"]).status_code == 200


def test_what_needs_no_token_needs_none_below_a_path(tmp_path: Path):
    with own_server(mounted(tmp_path / "runs.db", has_lifespan=True)) as client:
        client.headers.clear()
        assert client.get("/agent/health_check").status_code == 200
        assert client.get("/agent/runs").status_code == 401
