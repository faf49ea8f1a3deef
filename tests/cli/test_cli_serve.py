"""`trivium serve` as a process: what it says, what it serves, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from _signals import press_ctrl_c
from trivium.distributed import HTTPAgentClient
from trivium.exceptions import RemoteAgentError
from trivium.journal import Journal
from trivium.mcp import MCPServer

from ._command import GUARD, Command, Process

AGENTS = """
from trivium import Agent
from trivium.actions import Tool, tool
from trivium.testing import ScriptedModel

writer = Agent(ScriptedModel(lambda request: "hello"), name="writer")
number = 3

def make():
    return writer

def fail():
    raise OSError("no such disk")

@tool
def find(item):
    "Find."

kept = Tool.of(find)

class Kit:
    writer = writer
"""


@pytest.fixture
def agents(trivium: Command, tmp_path: Path) -> Command:
    (tmp_path / "agents.py").write_text(AGENTS)
    (tmp_path / "lame.py").write_text("import nothing\n")
    (tmp_path / "deep.py").write_text("import deeper\nagent = deeper.load()\n")
    (tmp_path / "deeper.py").write_text("import collections\ndef load():\n    return collections.ChainMap()['key']\n")
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "more.py").touch()
    trivium.environment.pop("TRIVIUM_SERVE_TOKEN", None)
    return trivium


def line_of(process: Process) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def port_of(line: str) -> int:
    found = re.fullmatch(r"serving writer at http://127\.0\.0\.1:(\d+); Ctrl-C ends it\n", line)
    assert found is not None, line
    return int(found[1])


@pytest.mark.parametrize("name", ["agents:writer", "agents:make", "agents:Kit.writer"])
def test_an_agent_of_this_folder_is_served_with_a_token_that_is_made(agents: Command, name: str):
    process = agents.start("serve", name, "--port", "0")
    port = port_of(line_of(process))
    token = line_of(process).removeprefix("token: ").partition(" ")[0]
    assert len(token) >= 32
    assert line_of(process) == f"open http://127.0.0.1:{port}/#token={token} to look at runs, talk and approve\n"
    assert HTTPAgentClient(port=port, token=token)("hi").content == "hello"
    press_ctrl_c(process)
    ended = agents.end(process)
    assert (ended.status, ended.out, ended.err) == (130, "", "interrupted\n")


@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_token_that_was_given_is_not_shown(agents: Command, way: str):
    options = ["--token", "my-token"] if way == "option" else []
    if way == "variable":
        agents.environment["TRIVIUM_SERVE_TOKEN"] = "my-token"
    process = agents.start("serve", "agents:writer", "--port", "0", *options)
    port = port_of(line_of(process))
    assert line_of(process) == f"open http://127.0.0.1:{port}/ to look at runs, talk and approve\n"
    assert HTTPAgentClient(port=port, token="my-token")("hi").content == "hello"
    with MCPServer(f"http://127.0.0.1:{port}/mcp", headers={"Authorization": "Bearer my-token"}) as client:
        assert client({"message": "hi"}, "writer").format_result() == "hello"
    process.terminate()
    ended = agents.end(process)
    assert (ended.status, ended.err) == (0, "")


def test_without_a_token_there_is_a_warning(agents: Command):
    process = agents.start("serve", "agents:writer", "--port", "0", "--token", "")
    assert HTTPAgentClient(port=port_of(line_of(process)))("hi").content == "hello"
    assert line_of(process).startswith("warning: no token")
    press_ctrl_c(process)
    assert agents.end(process).status == 130


def test_options_reach_the_server(agents: Command):
    options = ("--token", "t", "--allow", "temperature", "--max-megabytes", "2")
    process = agents.start("serve", "agents:writer", "--port", "0", *options)
    client = HTTPAgentClient(port=port_of(line_of(process)), token="t")
    assert client("x" * (3 << 19), temperature=0.5).content == "hello"
    press_ctrl_c(process)
    assert agents.end(process).status == 130


def test_the_public_address_is_shown_and_counts(agents: Command):
    process = agents.start(
        "serve", "agents:writer", "--port", "0", "--token", "t", "--public-url", "https://a.example/"
    )
    line = line_of(process)
    found = re.fullmatch(r"serving writer at https://a\.example \(it listens at (.+)\); Ctrl-C ends it\n", line)
    assert found is not None, line
    assert line_of(process) == "open https://a.example/ to look at runs, talk and approve\n"
    assert httpx2.get(f"{found[1]}/health_check", headers={"host": "a.example"}).status_code == 200
    press_ctrl_c(process)
    assert agents.end(process).status == 130


def test_a_journal_that_begins_is_told_and_one_that_is_there_is_not(agents: Command):
    for is_new in (True, False):
        process = agents.start("serve", "agents:writer", "--port", "0", "--token", "t", "--journal", "new/runs.db")
        line_of(process)
        told = line_of(process)
        assert told.startswith("the journal new/runs.db is new: it has no runs yet" if is_new else "open http"), told
        press_ctrl_c(process)
        assert agents.end(process).status == 130


def test_each_user_of_a_file_has_a_token_and_limits(agents: Command, tmp_path: Path):
    (tmp_path / "users").write_text("ada = token-a\n# a second one\n\nbob=token=b\n", encoding="utf-8-sig")
    limits = ("--user-runs", "3", "--user-tokens", "1", "--user-usd", "0.5", "--grace", "0")
    process = agents.start("serve", "agents:writer", "--port", "0", "--users", "users", *limits)
    port = port_of(line_of(process))
    assert line_of(process).startswith("warning: users approve the calls of their own runs: --approver NAME")
    assert line_of(process) == f"open http://127.0.0.1:{port}/ to look at runs, talk and approve\n"
    for token in ("token-a", "token=b"):
        assert HTTPAgentClient(port=port, token=token)("hi").content == "hello"
    with pytest.raises(RemoteAgentError, match="nothing is left of your 1 tokens a day"):
        HTTPAgentClient(port=port, token="token-a")("hi")
    with pytest.raises(RemoteAgentError, match="token="):
        HTTPAgentClient(port=port, token="x")("hi")
    press_ctrl_c(process)
    assert agents.end(process).status == 130


@pytest.mark.parametrize(
    ("users", "error"),
    [
        (None, "users cannot be read: No such file or directory"),
        ("ada", "line 1 of users has no '=': it is NAME=TOKEN"),
        ("ada=x\nada=y", "line 2 of users names ada again: each user has one line"),
        ("ada=x\nbob=x", "ada and bob have the same token: give each user a token of their own"),
        ("ada=", "each user has a name without ':' and a token that is not empty"),
        ("# nobody yet", "users names no user: it has a line NAME=TOKEN for each"),
    ],
)
def test_a_file_of_users_that_cannot_be_used_is_reported(
    agents: Command, tmp_path: Path, users: str | None, error: str
):
    if users is not None:
        (tmp_path / "users").write_text(users)
    ended = agents("serve", "agents:writer", "--users", "users")
    assert (ended.status, ended.error) == (2, error)
    ended = agents("serve", "agents:writer", "--users", "users", "--token", "x")
    assert ended.error == "give --token, one for all, or --users, one for each"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["agents"], "'agents' names no agent; write it as module:object, as agents:writer"),
        (["agents.py:writer:x"], "'agents.py:writer:x' names no agent; write it as module:object, as agents:writer"),
        (["nope:writer"], "there is no module 'nope' in this folder, and none is installed"),
        (["nope.deep:writer"], "there is no module 'nope' in this folder, and none is installed"),
        (["agents:reader"], "agents has no 'reader'; there are writer"),
        (["agents:number"], "agents:number is of the class int; name an agent, or a function that makes one"),
        (["agents:fail"], "agents:fail() failed: OSError: no such disk (agents.py, line 13, in fail)"),
        (
            ["lame:x"],
            "importing lame failed: ModuleNotFoundError: No module named 'nothing' (lame.py, line 1)",
        ),
        (["deep:agent"], "importing deep failed: KeyError: 'key' (deeper.py, line 3, in load)"),
        (
            ["agents:find"],
            "agents:find needs arguments, as a tool does: name an agent that has it, or a function that makes an agent",
        ),
        (["agents:kept"], "agents:kept is a tool: name an agent that has it, or a function that makes an agent"),
        (["agents.py:writer"], "'agents.py:writer' names a file: write agents:writer, the module there"),
        (["kit/more.py:x"], "'kit/more.py:x' names a file: write kit.more:x, the module there"),
        (
            ["agents:writer", "--host", "0.0.0.0", "--token", ""],
            "0.0.0.0 can be reached from other machines: give a token",
        ),
        (
            ["agents:writer", "--token", "t", "--approver", "ada"],
            "the approver 'ada' is no user: give each user a token, by their name",
        ),
        (["agents:writer", "--allow", "limits"], "no client may set limits: leave it out of keywords"),
    ],
)
def test_what_cannot_be_served_is_one_line_and_status_2(agents: Command, arguments: list[str], error: str):
    ended = agents("serve", *arguments)
    assert (ended.status, ended.out, ended.error) == (2, "", error)


@pytest.mark.parametrize("why", ["", "no Python 4"])
def test_a_module_that_ends_the_program_is_told(agents: Command, tmp_path: Path, why: str):
    (tmp_path / "exits.py").write_text(f"raise SystemExit({why!r})")
    ended = agents("serve", "exits:x")
    assert (ended.status, ended.error) == (
        2, f"importing exits ends the program ({why or 'SystemExit'}): let it do so only where it is run, below `if "
        '__name__ == "__main__":`'
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["agents:nope"], "agents has no 'nope'; there are writer, make, "),
        (["agents:number.x"], "agents has no 'number.x'"),
        (["agents:number"], "int is no tool: give a function"),
        (["agents:number", "--http", "--port", "0"], "int is no tool: give a function"),
        (["agents:kept", "--port", "8091", "--token", "t"], "--port, --token: add --http"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_served_as_a_tool_is_told(agents: Command, words: list[str], error: str):
    ended = agents("mcp", "serve", *words)
    assert (ended.status, ended.out, ended.error[: len(error)]) == (2, "", error)


def test_ctrl_c_ends_a_server_of_tools_too(agents: Command):
    process = agents.start("mcp", "serve", "agents:kept", "--http", "--port", "0", "--token", "t")
    assert line_of(process).startswith("serving agents:kept at http://127.0.0.1:")
    press_ctrl_c(process)
    ended = agents.end(process)
    assert (ended.status, ended.out, ended.err) == (130, "", "interrupted\n")


def test_a_port_that_is_taken_is_reported(agents: Command):
    first = agents.start("serve", "agents:writer", "--port", "0", "--token", "t")
    port = port_of(line_of(first))
    ended = agents("serve", "agents:writer", "--port", str(port))
    assert ended.status == 2
    assert ended.error.startswith(f"cannot listen at 127.0.0.1:{port} (")
    os.kill(first.pid, signal.SIGINT)
    assert first.wait(GUARD) == 130
    agents.end(first)


def test_connections_are_limited_and_say_by_what(agents: Command):
    process = agents.start("serve", "agents:writer", "--port", "0", "--per-address", "1", "--token", "my-token")
    port = port_of(line_of(process))
    with closing(socket.create_connection(("127.0.0.1", port), GUARD)) as first:
        assert HTTPAgentClient(port=port, token="my-token")("hi").content == "hello"
        assert b"1 connections, as many as may be (per_address)" in first.recv(10_000)
    process.terminate()
    assert agents.end(process).status == 0


def test_the_runs_of_a_journal_are_opened_in_a_browser_until_a_signal_comes(agents: Command, tmp_path: Path):
    with Journal(tmp_path / "runs.db").run("order-17"):
        pass
    agents.environment["BROWSER"] = "true"  # none is opened here
    process = agents.start("runs", "--open")
    found = re.fullmatch(r"open (http://127\.0\.0\.1:\d+)/#token=([\w-]{32,})\n", line_of(process))
    assert found is not None
    with httpx2.Client(base_url=found[1], trust_env=False, verify=False, timeout=GUARD) as client:
        assert "importmap" in client.get("/").text
        assert client.get("/ui/runs").status_code == 401
        shown = client.get("/ui/runs", headers={"authorization": f"Bearer {found[2]}"}).json()
    assert [each["id"] for each in shown["runs"]] == ["order-17"]
    press_ctrl_c(process)
    assert agents.end(process).status == 130
    assert "there is no report" in agents("runs", "--open", "--report", "none.html").error
