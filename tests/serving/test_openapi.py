"""The OpenAPI description of the server's own routes, tried by schemathesis; and its numbers."""

from __future__ import annotations

from typing import Any, cast

import schemathesis
from hypothesis import HealthCheck, given, settings

from serving._served import GUARD, ask, make_shop, people, serving
from trivium.serving import AgentServer

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


def test_whatever_is_asked_is_answered_as_described():
    with AgentServer(make_shop(), token="right-token", port=0, max_runs=1000) as server, ask(server.url) as client:
        schema: Any = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
        headers = {"Authorization": "Bearer right-token"}
        tried = 0
        for each in schema.get_all_operations():

            @settings(max_examples=15, deadline=None, database=None, suppress_health_check=SLOW)
            @given(each.ok().as_strategy())
            def answers(case: Any) -> None:
                body: object = case.body
                if isinstance(body, dict):
                    cast("dict[str, Any]", body).pop("stream", None)  # a stream is no JSON
                case.call_and_validate(base_url=server.url, headers=headers, timeout=GUARD)

            answers()
            tried += 1
    assert tried == 7


def test_the_numbers_of_a_server():
    tokens = {"ada": "token-a", "bob": "token-b"}
    with serving(token=tokens) as client, people(client, *tokens.values()) as (ada, bob):
        ada.get(f"/runs/{ada.post('/runs', json={'message': 'hi'}).json()['id']}/events")
        assert 'trivium_tokens_total{model="shop",kind="input"} 10' in ada.get("/metrics").text
        assert "tokens_total{" not in bob.get("/metrics").text
    with serving() as client:
        run = client.post("/runs", json={"message": "hi"}).json()["id"]
        client.get(f"/runs/{run}/events")
        told = client.get("/metrics").text
        assert 'trivium_runs_total{model="shop",state="done"} 1' in told
        assert 'trivium_tokens_total{model="shop",kind="input"} 10' in told
        client.headers.clear()
        assert client.get("/metrics").status_code == 401
