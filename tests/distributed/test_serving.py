"""A served agent: its routes, its streams, its sessions, and the end of its runs."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from trivium import Agent, Limits, Message, Module, Task
from trivium.agents import Sequential
from trivium.commander import wait
from trivium.distributed import AgentServer
from trivium.exceptions import ConfigurationError, ProviderStatusError
from trivium.llms import Reasoning, Request
from trivium.testing import ScriptedModel, call_tool

from ._helpers import GUARD, TOKEN, AsyncEcho, AsyncSleeper, Echo, Sleeper, served

both = pytest.mark.parametrize("kind", [Echo, AsyncEcho])
both_sleepers = pytest.mark.parametrize("kind", [Sleeper, AsyncSleeper])


# ---- what is answered
@both
def test_an_agent_answers_over_http_and_remembers_by_session(kind: Callable[[], Echo]):
    with served(kind()) as ask:
        answer = ask.chat("hi")
        assert answer.status_code == 200
        message = Message.model_validate(answer.json())
        assert json.loads(message.content) == [1, "user", "hi", {}]
        assert message.sender == kind().name
        assert json.loads(ask.chat("again").json()["content"])[0] == 3
        assert json.loads(ask.chat("hi", session_id="ada").json()["content"])[0] == 1
        assert [each["content"] for each in ask.http.get("/memory/0").json()["memory"]][::2] == ["hi", "again"]


def test_anything_that_is_a_module_is_served():
    def agent() -> Agent:
        return Agent(ScriptedModel(["DONE it rains"]), name="writer")

    for module in (agent(), Sequential(agent(), Echo()), Task(agent(), interactive=False)):
        with served(module) as ask:
            assert "it rains" in ask.chat("weather?").json()["content"]
            assert ask.http.get("/memory/0").status_code == 200


def test_several_messages_are_one_call():
    class Join(Module):
        def forward(self, *messages: Message) -> str:
            return " ".join(f"{each.sender}:{each.content}" for each in messages)

    with served(Join()) as ask:
        assert ask.chat(["a", {"content": "b", "sender": "ada"}]).json()["content"] == "user:a ada:b"


def test_health_needs_no_token():
    with served(Echo()) as ask:
        del ask.http.headers["authorization"]
        assert ask.http.get("/health_check").json()["status"] == "success"


# ---- streams
def test_a_stream_tells_deltas_tools_and_the_message_in_order():
    def add(a: int, b: int) -> int:
        return a + b

    answers = [[Reasoning("hm"), call_tool("add", a=1, b=2)], ["thr", "ee"]]
    with served(Agent(ScriptedModel(answers), tools=[add])) as ask:
        *events, last = ask.events("1 + 2?")
    assert [event["type"] for event in events] == ["reasoning", "tool_call", "tool_result", "delta", "delta"]
    assert [events[0]["text"], events[1]["name"], events[2]["result"]] == ["hm", "add", 3]
    assert [json.loads(events[1]["arguments"]), events[3]["text"], events[4]["text"]] == [{"a": 1, "b": 2}, "thr", "ee"]
    assert last["type"] == "message"
    assert last["message"]["content"] == "three"
    assert events[3]["path"].startswith("Agent#0/model#")


def test_a_delta_is_sent_before_the_answer_is_whole():
    go_on = threading.Event()

    def answer(request: Request) -> Any:
        yield "first"
        assert go_on.wait(GUARD)
        yield "last"

    with served(Agent(ScriptedModel(answer))) as ask:
        body = {"message": "go", "stream": True}
        with ask.http.stream("POST", "/chat_completion", json=body) as response:
            lines = response.iter_lines()
            assert "first" in next(lines)
            go_on.set()
            assert any("firstlast" in line for line in lines)


def test_a_stream_is_also_asked_for_by_its_media_type():
    with served(Agent(ScriptedModel(["a"]))) as ask:
        answer = ask.http.post("/chat_completion", json={"message": "hi"}, headers={"accept": "text/event-stream"})
        assert answer.headers["content-type"].startswith("text/event-stream")


def test_an_error_in_a_stream_is_an_event(caplog: pytest.LogCaptureFixture):
    def answer(request: Request) -> Any:
        yield "half"
        raise ProviderStatusError("http://secret.example said no", "secret", 500)

    with served(Agent(ScriptedModel(answer))) as ask:
        delta, error = ask.events("hi")
    assert delta["text"] == "half"
    assert [error["type"], error["status"], error["error"]["type"]] == ["error", 502, "ModelError"]
    assert "secret" not in json.dumps(error)
    assert "secret" in caplog.text


def test_a_silent_stream_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trivium.serving._uvicorn.PING_SECONDS", 0.01)
    sleeper = AsyncSleeper()
    with (
        served(sleeper) as ask,
        ask.http.stream("POST", "/chat_completion", json={"message": "go", "stream": True}) as response,
    ):
        lines = response.iter_lines()
        assert [next(lines) for _ in range(3)] == [": ping", "", ": ping"]


# ---- sessions
def test_fifty_sessions_at_once_do_not_mix():
    everybody = threading.Barrier(50)

    class Secret(Echo):
        def forward(self, message: Message, session_id: Any, **kwargs: Any) -> str:
            everybody.wait(GUARD)  # all fifty are in here at once
            return f"{session_id} {super().forward(message, session_id, **kwargs)}"

    with served(Secret()) as ask, ThreadPoolExecutor(50) as pool:

        def one(session: int) -> list[str]:
            said: list[str] = []
            for turn in range(3):
                said.append(ask.chat(f"secret {session}.{turn}", session_id=session).json()["content"])
            return said

        for session, said in enumerate(pool.map(one, range(50))):
            received = [f'[{2 * turn + 1}, "user", "secret {session}.{turn}", {{}}]' for turn in range(3)]
            assert said == [f"{session} {each}" for each in received]
            memory = ask.http.get(f"/memory/{session}").json()["memory"]
            assert {each["content"].split("secret ")[1].split(".")[0] for each in memory} == {str(session)}


def test_a_session_is_forgotten_everywhere():
    agent = Sequential(Echo("one"), Echo("two"))
    with served(agent) as ask:
        ask.chat("hi", session_id="a/b?")
        assert set(ask.http.get("/memory/a%2Fb%3F").json()) == {"memory", "0.memory", "1.memory"}
        assert ask.http.delete("/memory/a%2Fb%3F").status_code == 200
        for method in ("GET", "DELETE"):
            gone = ask.http.request(method, "/memory/a%2Fb%3F")
            assert (gone.status_code, gone.json()["error"]["type"]) == (404, "UnknownSession")


def test_a_session_is_forgotten_in_an_agent_that_is_a_tool():
    echo = Echo("echo")
    agent = Agent(ScriptedModel([call_tool("echo", message="My PIN is 1234."), "done"]), tools=[echo])
    with served(agent) as ask:
        ask.chat("My PIN is 1234.", session_id="ada")
        assert set(ask.http.get("/memory/ada").json()) == {"memory", "executor.echo.memory"}
        assert ask.http.delete("/memory/ada").status_code == 200
    assert echo.memory is not None
    assert not echo.memory.memory_map


def test_a_number_in_the_path_is_the_number_in_the_body():
    agent = Echo()
    with served(agent) as ask:
        for session in (7, "7"):
            ask.chat("hi", session_id=session)
        ask.chat("hi", session_id="07")
        assert len(ask.http.get("/memory/7").json()["memory"]) == 4
        assert len(ask.http.get("/memory/07").json()["memory"]) == 2
    assert agent.memory is not None
    assert list(agent.memory.memory_map) == [7, "07"]


def test_users_do_not_see_each_others_sessions():
    with served(Echo(), token={"ada": "a-token", "bob": "b-token"}) as ask:
        ask.http.headers["authorization"] = "Bearer a-token"
        ask.chat("ada's secret", session_id=1)
        ask.http.headers["authorization"] = "Bearer b-token"
        assert json.loads(ask.chat("hi", session_id=1).json()["content"])[0] == 1
        assert "ada's" not in ask.http.get("/memory/1").text
        for guess in ("ada:1", "bob:1", "ada%3A1"):
            assert ask.http.get(f"/memory/{guess}").status_code == 404
        ask.http.delete("/memory/1")
        ask.http.headers["authorization"] = "Bearer a-token"
        assert ask.http.get("/memory/1").status_code == 200


# ---- refusals
def test_only_allowed_keywords_reach_the_agent():
    with served(Echo(), keywords=["temperature"]) as ask:
        assert json.loads(ask.chat("hi", temperature=0.5).json()["content"])[3] == {"temperature": 0.5}
        for name in ("hooks", "limits", "listeners", "context", "timeout", "tools"):
            refused = ask.chat("hi", **{name: 1})
            assert (refused.status_code, refused.json()["error"]["type"]) == (422, "InvalidRequest")
            assert name in refused.json()["error"]["message"]


@pytest.mark.parametrize("name", ["timeout", "session_id", "limits", "listeners", "context", "stream", "message"])
def test_no_server_can_let_clients_steer_the_run(name: str):
    with pytest.raises(ConfigurationError, match=name):
        AgentServer(Echo(), keywords=[name])


def test_who_comes_when_all_is_taken_is_reported_to_wait():
    sleeper = AsyncSleeper()
    with ThreadPoolExecutor(1) as pool:
        with served(sleeper, max_runs=1, grace=0.0) as ask:
            first = pool.submit(ask.chat, "stay")
            assert sleeper.began.acquire(timeout=GUARD)
            refused = ask.chat("me too")
            assert (refused.status_code, refused.json()["error"]["type"]) == (429, "Overloaded")
            assert refused.headers["retry-after"] == "5"  # nobody knows when a place is free: a while
        assert first.result(GUARD).status_code == 503


@both_sleepers
def test_a_run_that_takes_too_long_is_a_504(kind: Callable[[], Sleeper]):
    with served(kind(), timeout=0.05) as ask:
        refused = ask.chat("hi")
        assert (refused.status_code, refused.json()["error"]["type"]) == (504, "DeadlineExceededError")
        (error,) = ask.events("hi")
        assert error["status"] == 504


def test_a_limit_of_the_server_is_reported():
    def again() -> str:
        return "again"

    with served(Agent(ScriptedModel([call_tool("again")]), tools=[again]), limits=Limits(turns=2)) as ask:
        refused = ask.chat("hi")
        assert (refused.status_code, refused.json()["error"]["type"]) == (422, "LimitExceededError")


def test_an_error_of_the_agent_shows_nothing_of_its_inside(caplog: pytest.LogCaptureFixture):
    class Broken(Module):
        def forward(self, message: Message) -> str:
            raise OSError("/home/ada/secret.key")

    with served(Broken()) as ask:
        refused = ask.chat("hi")
    assert (refused.status_code, refused.json()["error"]["type"]) == (500, "InternalError")
    assert "secret" not in refused.text
    assert "secret.key" in caplog.text


# ---- the end of a run
@both_sleepers
@pytest.mark.parametrize("streamed", [False, True])
def test_a_client_that_leaves_ends_its_run(kind: Callable[[], Sleeper], streamed: bool):
    sleeper = kind()
    with served(sleeper) as ask:
        body = json.dumps({"message": "hi", "stream": streamed})
        host, port = ask.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            head = f"POST /chat_completion HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n"
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            assert sleeper.began.acquire(timeout=GUARD)
        assert sleeper.ended.acquire(timeout=GUARD)
        assert ask.http.get("/health_check").status_code == 200


@both_sleepers
def test_a_server_that_stops_kills_what_runs_when_the_grace_is_over(kind: Callable[[], Sleeper]):
    sleeper = kind()
    with ThreadPoolExecutor(2) as pool:
        with served(sleeper, grace=0.0) as ask:
            asked = pool.submit(ask.chat, "hi")
            streamed = pool.submit(ask.events, "hi")
            for _ in range(2):
                assert sleeper.began.acquire(timeout=GUARD)
        assert asked.result(GUARD).status_code == 503
        assert streamed.result(GUARD)[0]["error"]["type"] == "RunKilledError"
    assert sleeper.ended.acquire(timeout=GUARD)


def test_a_server_that_stops_lets_runs_end():
    began, go_on = threading.Event(), threading.Event()

    class Slow(Module):
        def forward(self, message: Message) -> str:
            began.set()
            assert go_on.wait(GUARD)
            return "done"

    server = AgentServer(Slow(), port=0, token=TOKEN, grace=GUARD)
    with ThreadPoolExecutor(1) as pool, server:
        asked = pool.submit(
            httpx2.post, f"{server.url}/chat_completion", json={"message": "hi"},
            headers={"authorization": f"Bearer {TOKEN}"}, trust_env=False, verify=False, timeout=GUARD,
        )  # fmt: skip
        assert began.wait(GUARD)
        server.stop()
        go_on.set()
        assert asked.result(GUARD).json()["content"] == "done"


def test_the_loop_is_free_while_sync_code_works():
    began, go_on = threading.Event(), threading.Event()

    class Blocking(Module):
        def forward(self, message: Message) -> str:
            began.set()
            assert go_on.wait(GUARD)
            return "done"

    with served(Blocking()) as ask, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask.chat, "hi")
        assert began.wait(GUARD)
        assert httpx2.get(f"{ask.url}/health_check", trust_env=False, verify=False, timeout=GUARD).status_code == 200
        go_on.set()
        assert asked.result(GUARD).json()["content"] == "done"


def test_a_server_runs_on_a_loop_of_yours():
    async def main() -> list[int]:
        async with AgentServer(AsyncEcho(), port=0, token=TOKEN) as server, httpx2.AsyncClient() as http:
            return [(await http.get(f"{server.url}{path}")).status_code for path in ("/health_check", "/memory/0")]

    assert asyncio.run(main()) == [200, 401]


def test_a_server_stops_at_once_where_it_was_stopped_before():
    server = AgentServer(Echo(), port=0)
    server.stop()
    server.serve()


def test_a_port_that_is_taken_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen at 127.0.0.1:{port}"):
            AgentServer(Echo(), port=port).start()


def test_wait_is_what_the_sleepers_use():
    """They end only by a kill: without one they would sleep on."""
    with pytest.raises(TimeoutError):
        AsyncSleeper()("hi", timeout=0.01)
    assert asyncio.run(wait(0)) is None
