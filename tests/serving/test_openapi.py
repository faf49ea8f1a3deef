"""The OpenAPI description of the server's own routes, tried by schemathesis; and its numbers."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path

import pytest

from serving._served import ask, make_shop, people, serving
from trivium.serving import AgentServer


def test_whatever_is_asked_is_answered_as_described():
    with AgentServer(make_shop(), token="right-token", port=0, max_runs=10_000, keywords=["temperature"]) as server:
        command = [
            Path(sys.executable).with_name("schemathesis"), "run", f"{server.url}/openapi.json", "--no-color",
            "--header", "Authorization: Bearer right-token", "--max-examples", "5", "--generation-deterministic",
        ]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True, timeout=240)
        assert ran.returncode == 0, ran.stdout
        with ask(server.url) as client:
            tried = sum(len(each) for each in client.get("/openapi.json").json()["paths"].values())
    assert f"Tested: {tried}\n" in ran.stdout
    assert tried == 13


@pytest.mark.parametrize("content", [b"abc", b"abcd", b"abcde", b"a", b"", b"~"])
def test_the_description_allows_the_files_that_the_server_takes(content: bytes):
    text = "~" if content == b"~" else base64.b64encode(content).decode()
    with serving() as client:
        form, _ = client.get("/openapi.json").json()["components"]["schemas"]["File"]["anyOf"]
        files = [{"content": text, "detail": "low"}]
        taken = client.post("/runs", json={"message": {"content": "hi", "files": files}}).status_code == 202
        assert taken == bool(re.search(form["properties"]["content"]["pattern"], text))
        assert "detail" in form["properties"]


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
