"""Cassettes: what drifted is told, and what is secret is not kept."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from docs._server import ScriptedServer
from trivium.exceptions import (
    CassetteMismatchError,
)
from trivium.llms import OpenAIModel
from trivium.testing import RecordedRequest, cassette

from ._asking import KEY, ask, echoed, recorded
from ._echo import Asked, Given, Server


# ---- what drifted
def test_a_prompt_that_drifted_is_reported_with_a_diff_and_what_to_do(file: Path):
    url = recorded(file, "Answer briefly. What is 1 + 2?", "something else")
    with pytest.raises(CassetteMismatchError) as caught, cassette(file):
        ask(url, "Answer briefly. What is 1 + 3?")
    text = str(caught.value)
    assert f"POST {url}/chat/completions is not what was recorded" in text
    assert "delete the file, or give record='all'" in text
    assert '-      "content": "Answer briefly. What is 1 + 2?"\n' in caught.value.diff
    assert '+      "content": "Answer briefly. What is 1 + 3?"\n' in caught.value.diff
    assert "recorded, request 1 of 2" in caught.value.diff
    assert caught.value.path == str(file)


def test_a_diff_of_a_long_prompt_shows_only_the_sentence_that_drifted(file: Path):
    prompt = "".join(
        f"Sentence {n} of the instructions says what to do.\n" * (n % 2) or "And more. " * n for n in range(40)
    )
    url = recorded(file, prompt)
    with pytest.raises(CassetteMismatchError) as caught, cassette(file):
        ask(url, prompt.replace("Sentence 21 of", "Sentence 21 in"))
    changed = [line for line in caught.value.diff.splitlines()[2:] if line[0] in "+-"]
    assert len(changed) == 2
    assert all("Sentence 21" in line and len(line) < 80 for line in changed)


def test_a_mismatch_that_was_caught_is_raised_at_the_end(file: Path):
    url = recorded(file)

    def careless() -> str:
        try:
            return ask(url, "hi again")
        except Exception:
            return "never mind"

    with pytest.raises(CassetteMismatchError, match="not what was recorded"), cassette(file):
        assert careless() == "never mind"
    with pytest.raises(ValueError, match="never mind") as caught, cassette(file):
        int(careless())
    assert "not what was recorded" in caught.value.__notes__[0]


def test_asked_more_often_less_often_or_not_at_all(file: Path):
    url = recorded(file, "a", "b")
    with pytest.raises(CassetteMismatchError, match=r"more often than it is recorded \(1\)"), cassette(file):
        _ = ask(url, "a"), ask(url, "a")
    with pytest.raises(CassetteMismatchError, match="1 of 2 recorded requests were not made"), cassette(file):
        ask(url, "b")
    with cassette(file, allow_unused=True):
        ask(url, "b")
    with ScriptedServer(echoed), cassette(file.with_name("empty.json"), allow_unused=True):
        """Nothing is asked."""
    with (
        pytest.raises(CassetteMismatchError, match="nothing is"),
        cassette(file.with_name("empty.json"), record="none"),
    ):
        ask(url)


def test_what_must_match_can_be_said(file: Path):
    url = recorded(file, "It is 10:00. Hello")

    def last_word(request: RecordedRequest) -> Any:
        return request.method, request.body["messages"][-1]["content"].split()[-1]

    with cassette(file, match=last_word):
        assert ask(f"http://elsewhere.invalid{url[16:]}", "It is 11:00. Hello") == "you said It is 10:00. Hello"
    with pytest.raises(CassetteMismatchError), cassette(file, match=last_word):
        ask(url, "It is 10:00. Bye")


def test_the_order_of_keys_in_json_does_not_matter(file: Path):
    url = recorded(file)
    stored = json.loads(file.read_text())
    request = stored["records"][0]["asked"]
    request["json"] = dict(reversed(request["json"].items()))
    file.write_text(json.dumps(stored))
    with cassette(file):
        ask(url)


# ---- secrets
def test_no_secret_is_written_wherever_it_stands(file: Path):
    def answer(asked: Asked) -> Given:
        received = {"headers": dict(asked.headers), "path": asked.path, "body": asked.body.decode()}
        body = {"choices": [{"message": {"content": json.dumps(received)}}]}
        return Given(
            json.dumps(body).encode(), headers={"set-cookie": KEY, "x-echo": KEY, "content-type": "application/json"}
        )

    with Server(answer) as server, cassette(file, scrub=lambda text: text.replace("4111-1111", "CARD")):
        url = f"http://ada:pass-marked-99@{server.host}/v1?api_key=query-marked-77&version=2"
        said = OpenAIModel("m", base_url=url, api_key=KEY).chat(f"my key is {KEY} and my card 4111-1111")
    assert KEY in said
    assert "query-marked-77" in said
    text = file.read_text()
    assert not [mark for mark in (KEY, "marked", "ada", "4111", encoded("ada:pass-marked-99")) if mark in text]
    assert "version=2" in text
    with cassette(file, scrub=lambda text: text.replace("4111-1111", "CARD")):
        again = OpenAIModel("m", base_url=url, api_key=KEY).chat(f"my key is {KEY} and my card 4111-1111")
    assert "***" in again
    assert "CARD" in again


def test_a_diff_shows_no_secret(file: Path):
    url = recorded(file)
    with pytest.raises(CassetteMismatchError) as caught, cassette(file):
        ask(url, f"the key is {KEY}")
    assert KEY not in str(caught.value) + repr(caught.value) + caught.value.diff
    assert "the key is ***" in caught.value.diff


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
