"""An agent in a child process: made there, asked from here, gone with its parent."""

# pyright: reportPrivateUsage=false
# The process and its token are looked at.
from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from trivium.distributed import AsyncHTTPAgentServer, HTTPAgentServer
from trivium.exceptions import ConfigurationError, RemoteAgentError, RemoteConnectionError, RemoteStartError

from . import _agents
from ._helpers import GUARD, events_of

PLACE = {"type": "distributed._agents.Place"}


@pytest.fixture(scope="module")
def place() -> Generator[HTTPAgentServer]:
    with HTTPAgentServer("0,1", {"type": _agents.Place, "helper": os.path.join}, port=0) as server:
        yield server


def is_there(process: int) -> bool:
    """Whether that process still runs; one that has ended and that nobody waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(what: Any) -> None:
    end = time.monotonic() + GUARD
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_agent_runs_in_a_process_of_its_own_with_its_cards(place: HTTPAgentServer):
    word, process, cards, helper, *_ = place("where?").content.split()
    assert (word, int(process), cards) == ("here", place.process.pid, "0,1")
    assert helper == "posixpath.join"  # a function travels as its path
    assert place.is_alive
    assert place.state_dict()["memory"][0]["content"] == "where?"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_the_token_is_no_argument_and_no_variable_of_the_process(place: HTTPAgentServer):
    token = place._token.encode()
    assert len(token) >= 32
    for kind in ("cmdline", "environ"):
        assert token not in Path(f"/proc/{place.process.pid}/{kind}").read_bytes()
    assert place._token not in repr(place)
    with pytest.raises(RemoteAgentError) as refused:
        type(place).__mro__[1](place.host, place.port)("hi")
    assert refused.value.status == 401


def test_an_error_of_the_agent_is_in_the_log_and_not_in_the_answer(place: HTTPAgentServer):
    with pytest.raises(RemoteAgentError) as failed:
        place("fail")
    assert (failed.value.status, failed.value.kind) == (500, "InternalError")
    assert "as you wished" not in str(failed.value)
    assert "ValueError: as you wished" in place.log


def test_a_function_makes_the_agent_and_it_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def main() -> str:
        config = {"type": "place_maker.make_place", "python_path": str(tmp_path)}
        async with AsyncHTTPAgentServer(None, config, port=0) as server:
            asked: Any = server("where?")
            return (await asked).content

    (tmp_path / "place_maker.py").write_text("from distributed._agents import make_place\n")
    monkeypatch.chdir("/")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    word, _, cards, *_ = asyncio.run(main()).split()
    assert (word, cards) == ("made", "3")


@pytest.mark.parametrize("way", ["shutdown", "with", "forgotten"])
def test_the_process_ends_with_its_handle(way: str):
    server = HTTPAgentServer("", PLACE, port=0)
    process = server.process
    folder = server._folder
    assert folder.exists()
    if way == "shutdown":
        server.shutdown()
        server.shutdown()
    elif way == "with":
        with server:
            pass
    else:
        del server
        gc.collect()  # what still holds it is the loop that asked it last, for a moment
    until(lambda: process.poll() is not None and not folder.exists())


def test_a_run_in_the_process_is_killed_by_a_shutdown(tmp_path: Path):
    with HTTPAgentServer("", PLACE, port=0, grace=0.0) as server:
        worker = subprocess.Popen(
            [sys.executable, "-c", ASK, server.url, server._token, str(tmp_path / "mark")], stdout=subprocess.PIPE
        )
        until((tmp_path / "mark.began").exists)
    with worker:
        out, _ = worker.communicate(timeout=GUARD)
    assert (tmp_path / "mark.ended").exists()
    assert events_of(out.decode())[0]["error"]["type"] == "RunKilledError"


ASK = """
import httpx2, sys
url, token, mark = sys.argv[1:]
body = {"message": f"wait {mark}", "stream": True}
print(httpx2.post(url + "/chat_completion", json=body, headers={"authorization": f"Bearer {token}"}, timeout=30).text)
"""

PARENT = """
import sys
sys.path[:] = sys.argv[1:]
from trivium.distributed import HTTPAgentServer
server = HTTPAgentServer("", {"type": "distributed._agents.Place"}, port=0)
print(server.process.pid, server._folder, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None])
def test_no_process_outlives_its_parent(how: signal.Signals | None):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *sys.path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with parent:
        assert parent.stdout is not None
        word, folder = parent.stdout.readline().split()
        child = int(word)
        assert is_there(child)
        if how is not None:
            parent.send_signal(how)
        parent.communicate()
    until(lambda: not is_there(child))
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("made_by", "said"),
    [
        ("broken", "OSError: no such disk"),
        ("no_module", "makes a int, which is no module"),
        ("loud", "the last word"),
        ("nothing_of_that_name", "has no 'nothing_of_that_name'"),
    ],
)
def test_an_agent_that_cannot_be_made_is_reported_with_its_last_lines(made_by: str, said: str):
    with pytest.raises(RemoteStartError, match="ended with status") as failed:
        HTTPAgentServer("", {"type": f"distributed._agents.{made_by}"}, port=0)
    assert said in str(failed.value)
    assert said in failed.value.log
    assert len(failed.value.log.splitlines()) <= 20


def test_a_port_that_is_taken_is_reported_by_the_child():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RemoteStartError, match=f"cannot listen at 127.0.0.1:{port}"):
            HTTPAgentServer("", PLACE, port=port)


def test_an_agent_that_takes_too_long_is_ended():
    with pytest.raises(RemoteStartError, match=r"not ready within 0\.01 seconds"):
        HTTPAgentServer("", PLACE, port=0, start_seconds=0.01)


def test_a_process_that_died_is_reported():
    with HTTPAgentServer("", PLACE, port=0) as server:
        server.process.kill()
        server.process.wait()
        assert not server.is_alive
        with pytest.raises(RemoteConnectionError):
            server("hi")


@pytest.mark.parametrize(
    "config",
    [{}, {"type": "a.b", "value": object()}, {"type": lambda: 0}, {"type": "a.b", "n": float("nan")}],
)
def test_a_config_that_cannot_travel_is_reported(config: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        HTTPAgentServer("", config)
