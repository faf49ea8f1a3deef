"""Kill between processes, over a real Redis server."""

# Arbitrary data are given to the reader of the channel.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium import Message, StatusCode, Task, TaskConfig
from trivium.exceptions import ConfigurationError, KillChannelError, MissingExtraError
from trivium.tasks import _kill_channel

from ._helpers import task
from ._redis import Relay, redis_server
from ._waiting import GUARD, SilentServer

CHANNEL = "trivium:0:kill"


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with redis_server(tmp_path_factory.mktemp("redis")) as path:
        yield path


@pytest.fixture
def relay(redis: Path) -> Generator[Relay]:
    with Relay(redis) as relay:
        yield relay


@pytest.fixture
def server() -> Generator[SilentServer]:
    with SilentServer() as server:
        yield server


def start(pool: ThreadPoolExecutor, of: Task, session_id: Any = "") -> Future[Message | None]:
    return pool.submit(lambda: of.run("hi", session_id=session_id))


def status_of(running: Future[Message | None]) -> StatusCode | None:
    result = running.result(GUARD)
    assert result is not None
    return result.status


def kill_from_elsewhere(relay: Relay, session: str) -> None:
    """Publish what another process would."""
    assert relay.command("PUBLISH", CHANNEL, json.dumps({"session": session, "process": "another"})) > 0


def program(text: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", dedent(text), *args], stdout=subprocess.PIPE, text=True)


RUNS = """
    import asyncio, sys
    from trivium import ChatAgent, Task, TaskConfig
    from trivium.llms import OpenAIModel
    url, channel, form = sys.argv[1:]
    agent = ChatAgent(OpenAIModel("silent", base_url=url))
    task = Task(agent, interactive=False, config=TaskConfig(kill_channel=channel))
    run = task.run if form == "sync" else lambda *a, **k: asyncio.run(task.run_async(*a, **k))
    print(run("hi", session_id="s").status)
"""
KILLS = """
    import sys
    from trivium import Task
    Task.kill_session(sys.argv[1], channel=sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.shows("Task.kill_session(session_id)", "TaskConfig.kill_channel", "weak point 12")
@pytest.mark.parametrize("form", ["sync", "async"])
def test_one_process_kills_a_session_of_another_whose_model_call_is_closed(
    relay: Relay, server: SilentServer, form: str
):
    with program(RUNS, server.url, relay.url, form) as runs:
        server.wait_asked()
        with program(KILLS, "another session", relay.url) as kills:
            assert kills.wait(GUARD) == 0
        assert runs.poll() is None
        assert server.closed.empty()
        with program(KILLS, "s", relay.url) as kills:
            assert kills.wait(GUARD) == 0
        server.wait_closed()
        assert runs.stdout is not None
        assert runs.stdout.read().strip() == "StatusCode.KILL"
    assert runs.returncode == 0


@pytest.mark.shows("TaskConfig.kill_channel")
def test_of_many_runs_in_a_process_those_of_the_session_are_killed_over_one_connection(
    relay: Relay, server: SilentServer
):
    config = TaskConfig(kill_channel=relay.url)
    with ThreadPoolExecutor(3) as pool:
        runs = {each: start(pool, server.task(config=config), each) for each in ("", "s", 7)}
        for _ in runs:
            server.wait_asked()
        assert relay.connections == 1
        for session, spelt in (("s", "s"), ("", ""), (7, "7")):
            kill_from_elsewhere(relay, spelt)
            assert status_of(runs.pop(session)) is StatusCode.KILL
            assert not any(each.done() for each in runs.values())
    relay.wait_closed()  # with the last run


@pytest.mark.shows("TaskConfig.kill_channel")
def test_a_kill_over_the_channel_reaches_sub_tasks(relay: Relay, server: SilentServer):
    root = task("ask the other", config=TaskConfig(kill_channel=relay.url))
    root.add_sub_task(server.task("Sub"))
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, root, "s")
        server.wait_asked()
        kill_from_elsewhere(relay, "s")
        assert status_of(running) is StatusCode.KILL
    server.wait_closed()


@pytest.mark.shows("TaskConfig.kill_channel")
def test_a_run_on_a_loop_is_reached_too(relay: Relay, server: SilentServer):
    async def main() -> Message | None:
        of = server.task(config=TaskConfig(kill_channel=relay.url))
        running = asyncio.create_task(of.run_async("hi", session_id="s"))
        await asyncio.to_thread(server.wait_asked)
        kill_from_elsewhere(relay, "s")
        return await running

    result = asyncio.run(main())
    assert result is not None
    assert result.status is StatusCode.KILL


@pytest.mark.shows("TaskConfig.kill_channel")
def test_a_sync_run_within_a_running_loop_can_have_a_channel(relay: Relay):
    async def main() -> Message | None:
        return task("DONE 42", config=TaskConfig(kill_channel=relay.url)).run("hi")

    result = asyncio.run(main())
    assert result is not None
    assert result.content == "42"
    assert relay.connections == 1


@pytest.mark.shows("Task.kill_session(session_id)")
def test_ones_own_word_does_not_come_back_to_kill_a_later_run(relay: Relay, server: SilentServer):
    config = TaskConfig(kill_channel=relay.url)
    with ThreadPoolExecutor(2) as pool:
        first = start(pool, server.task(config=config), "t")
        server.wait_asked()
        second = start(pool, server.task(config=config), "s")
        server.wait_asked()
        _kill_channel.publish(relay.url, "s")  # as kill_session does, after it has stopped what ran then
        kill_from_elsewhere(relay, "t")
        assert status_of(first) is StatusCode.KILL  # so what was published before has been read
        assert not second.done()
        Task.kill_session("s", channel=relay.url)
        assert status_of(second) is StatusCode.KILL


@pytest.mark.shows("TaskConfig.kill_channel")
def test_a_lost_connection_is_said_once_and_made_again(
    relay: Relay, server: SilentServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_kill_channel, "FIRST_DELAY", 0.01)
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, server.task(config=TaskConfig(kill_channel=relay.url)), "s")
        server.wait_asked()
        relay.wait_subscribed()
        relay.accepts = False
        relay.cut()
        for _ in range(3):
            relay.refused.get(timeout=GUARD)
        relay.accepts = True
        relay.wait_subscribed()
        kill_from_elsewhere(relay, "s")
        assert status_of(running) is StatusCode.KILL
    said = [each.getMessage() for each in caplog.records if each.name == "trivium.tasks"]
    assert len(said) == 1
    assert "no connection to the kill channel" in said[0]


@pytest.mark.shows("TaskConfig.kill_channel")
def test_a_server_that_is_not_there_stops_no_run(caplog: pytest.LogCaptureFixture):
    config = TaskConfig(kill_channel="redis://ada:secret@127.0.0.1:1/0")
    result = task("DONE through", config=config).run("hi")
    assert result is not None
    assert result.content == "through"
    assert [each.levelno for each in caplog.records if each.name == "trivium.tasks"] == [logging.WARNING]
    assert "secret" not in caplog.text + repr(config)
    assert "redis://127.0.0.1:1/0" in caplog.text


@pytest.mark.shows("Task.kill_session(session_id)")
def test_a_server_that_cannot_be_told_is_an_error_after_this_process_was_stopped(server: SilentServer):
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, server.task(), "s")
        server.wait_asked()
        with pytest.raises(KillChannelError, match=r"redis://127\.0\.0\.1:1/0") as caught:
            Task.kill_session("s", channel="redis://ada:secret@127.0.0.1:1/0")
        assert status_of(running) is StatusCode.KILL
    assert "secret" not in str(caught.value) + caught.value.url


@pytest.mark.shows("TaskConfig.kill_channel")
@pytest.mark.parametrize("url", ["localhost", "http://localhost:6379", "redis://localhost:port/0", ""])
def test_a_channel_that_is_no_redis_url_is_a_typed_error(url: str):
    with pytest.raises(ConfigurationError, match="Redis URL"):
        task("DONE", config=TaskConfig(kill_channel=url)).run("hi")
    with pytest.raises(ConfigurationError, match="Redis URL"):
        Task.kill_session("s", channel=url)


@pytest.mark.shows("TaskConfig.kill_channel")
def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtraError, match="the extra 'redis'"):
        task("DONE", config=TaskConfig(kill_channel="redis://localhost/0")).run("hi")


@pytest.mark.shows("TaskConfig.kill_channel=None")
def test_without_a_channel_the_package_is_not_imported():
    text = """
        import sys
        from trivium import ChatAgent, Task
        from trivium.testing import ScriptedModel
        Task(ChatAgent(ScriptedModel(["DONE 1"])), interactive=False).run("hi")
        Task.kill_session("s")
        print("redis" in sys.modules)
    """
    with program(text) as runs:
        assert runs.communicate(timeout=GUARD)[0].strip() == "False"


@given(st.binary() | st.none() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_what_is_no_word_of_ours_says_nothing(data: bytes | str | None):
    assert _kill_channel.parse_kill(data) == (None, "")


@given(st.text(), st.text())
def test_what_is_one_is_read(session: str, process: str):
    data = json.dumps({"session": session, "process": process}).encode()
    assert _kill_channel.parse_kill(data) == (session, process)
