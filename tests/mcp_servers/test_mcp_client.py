"""A server of the official SDK, in a process of its own: what its tools, resources and prompts become."""

# A running server's settings are changed, so that no second one starts.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from _signals import press_ctrl_c
from trivium import Agent, AsyncAgent, Message
from trivium.actions import ActionExecutor, run_tool
from trivium.commander import gather, run_sync, step
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    MCPConnectionError,
    MCPError,
    MCPProtocolError,
    MCPTimeoutError,
    MissingExtraError,
    ToolArgumentsError,
)
from trivium.mcp import MCPPrompt, MCPResource, MCPServer, _stdio
from trivium.module import Module
from trivium.schema import ActionStatusCode
from trivium.testing import ScriptedModel, call_tool

from ._helpers import GUARD, SDK_SERVER, child_pids, is_alive, listening, soon


def text_of(server: MCPServer, name: str, /, **arguments: Any) -> str:
    returned = server(arguments, name)
    assert returned.errmsg is None, returned.errmsg
    return returned.format_result()


# ---- without the package
def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    for use in (lambda: MCPServer("http://127.0.0.1:1/mcp").tools(), MCPServer("/nowhere/server").open):
        with pytest.raises(MissingExtraError, match=r"mcp is not installed.*\[mcp\]"):
            use()


# ---- what it offers
def test_tools_have_the_servers_schema_as_it_is(workshop: MCPServer):
    tools = {tool.name: tool.spec for tool in workshop.tools()}
    assert tools["workshop.echo"].description == "Say it again."
    assert tools["workshop.add"].parameters["properties"]["a"] == {"title": "A", "type": "integer"}
    assert tools["workshop.add"].parameters["required"] == ["a", "b"]
    assert "workshop.read_resource" in tools
    assert "workshop.get_prompt" in tools


def test_results_are_texts_values_and_what_the_model_can_read_of_files(workshop: MCPServer):
    assert text_of(workshop, "echo", text="Größe 寸 😀\u2028") == "Größe 寸 😀\u2028"
    added = workshop({"a": 1, "b": 2}, "add")
    assert added.result is not None
    assert added.result[0]["structured"] == {"sum": 3}
    assert json.loads(added.format_result()) == {"sum": 3}
    assert text_of(workshop, "papers") == "two:\nthe memo\n[resource_link](memo://note)"
    picture = workshop({}, "picture").result
    assert picture is not None
    assert picture[0]["content"] == "image/png, 48 bytes"
    assert b64decode(picture[0]["data"]).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("fail", {"why": "no more tea"}, "no more tea"), ("add", {"b": 1}, "a"),  # the server judges arguments
        ("nothing", {}, "invalid API"), ("big", {"size": 9 << 20}, "sent more than"), ("echo", "[1]", "no object"),
    ],
)  # fmt: skip
def test_the_error_of_a_call_is_the_text_of_its_result(name: str, arguments: Any, said: str, workshop: MCPServer):
    failed = workshop(arguments, name)
    expected = ActionStatusCode.ARGS_ERROR if name == "echo" else ActionStatusCode.API_ERROR
    assert failed.state is expected
    assert said in str(failed.errmsg)
    assert failed.format_result() == failed.errmsg
    assert text_of(workshop, "echo", text="still here") == "still here"


def test_arguments_must_be_an_object(workshop: MCPServer):
    echo = next(tool for tool in workshop.tools() if tool.name == "workshop.echo")
    assert echo.validate('```json\n{"text": "x"}\n```') == {"text": "x"}
    assert echo.validate("") == {}
    for wrong in ("[1]", "{", "3", "null"):
        with pytest.raises(ToolArgumentsError):
            echo.validate(wrong)


def test_arguments_may_be_called_anything(workshop: MCPServer):
    odd = {"function": "a", "self_": "b", "name": "c", "arguments": "d"}
    assert text_of(workshop, "odd", **odd) == "a b c d"


def test_five_megabytes_come_whole(workshop: MCPServer):
    assert text_of(workshop, "big", size=2_500_000) == "é" * 2_500_000


def test_resources_and_prompts(workshop: MCPServer):
    assert MCPResource("memo://note", "note", "", "text/plain") in workshop.resources()
    assert [each.uri for each in workshop.resources() if each.is_template] == ["memo://by/{author}"]
    assert [str(each) for each in workshop.read_resource("memo://by/ada")] == ["by ada"]
    (content,) = workshop.read_resource("memo://bytes")
    assert (content.text, content.data) == (None, b"\x00\x01")
    assert workshop.prompts() == [MCPPrompt("greeting", "Greet somebody.", ("name", "tone"), ("name",))]
    (message,) = workshop.get_prompt("greeting", name="Ada", tone="loud")
    assert (message.sender, message.content) == ("user", "Greet Ada in a loud way.")
    with pytest.raises(MCPProtocolError):
        workshop.read_resource("memo://gone")
    with pytest.raises(MCPProtocolError) as wrong:
        workshop.get_prompt("gone")
    assert wrong.value.server == "workshop"


def test_resources_and_prompts_as_tools(workshop: MCPServer):
    assert "memo://note" in text_of(workshop, "list_resources")
    assert text_of(workshop, "read_resource", uri="memo://note") == "buy tea"
    assert "greeting" in text_of(workshop, "list_prompts")
    assert text_of(workshop, "get_prompt", name="greeting", arguments={"name": "Ada"}).startswith("user: Greet Ada")


# ---- who uses it
def test_an_agent_uses_its_tools(workshop: MCPServer):
    script = [call_tool("workshop.echo", text="tea"), call_tool("workshop.fail", why="cold"), "It said tea."]
    model = ScriptedModel(script)
    agent = Agent(model, tools=[workshop])
    assert agent("Say tea.").content == "It said tea."
    said = json.dumps([request.messages for request in model.requests])
    assert '"content": "tea"' in said
    assert "cold" in said
    assert asyncio.run(AsyncAgent(ScriptedModel(script), tools=[workshop])("Say tea.")).content == "It said tea."


def test_what_a_server_reports_of_its_progress_is_in_the_events_of_the_run(workshop: MCPServer):
    agent = Agent(ScriptedModel([call_tool("workshop.count_to", number=3), "Counted."]), tools=[workshop])
    with agent.stream("Count.") as call:
        told = [event.data for event in call if event.kind == "tool_progress"]
    assert sorted(told) == [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")]


def test_a_program_can_read_the_instructions_of_a_server(workshop: MCPServer):
    assert workshop.instructions() == "Knock first."


def test_a_tool_that_asks_the_user_of_the_client_fails(workshop: MCPServer):
    assert "Cannot send 'elicitation/create'" in str(workshop({}, "ask_user").errmsg)


def test_an_executor_calls_its_tools_by_name(workshop: MCPServer):
    executor = ActionExecutor([workshop])
    call = Message(content={"name": "workshop.echo", "parameters": {"text": "hi"}})
    assert executor(call).content.format_result() == "hi"
    assert {"name", "description", "parameters", "required"} <= executor.description()[0].keys()


def test_a_hundred_calls_at_once_share_one_connection(workshop: MCPServer):
    async def many() -> list[Any]:
        return await asyncio.gather(*[workshop.acall({"text": str(number)}, "echo") for number in range(100)])

    assert [each.format_result() for each in asyncio.run(many())] == [str(number) for number in range(100)]
    with ThreadPoolExecutor(20) as threads:
        pids = set(threads.map(text_of, [workshop] * 60, ["pid"] * 60))
    assert len(pids) == 1


def test_a_sync_call_on_a_running_loop_works_too(workshop: MCPServer):
    async def inside() -> str:
        return text_of(workshop, "echo", text="within")

    assert asyncio.run(inside()) == "within"


# ---- its life
def test_a_server_has_what_it_was_given_and_ends_when_nobody_holds_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    given = {"SAYS": "ready to work"}
    server = MCPServer([*SDK_SERVER, "stdio"], env=given, only=["pid", "environment", "shout"])
    with pytest.raises(ConfigurationError, match="has no tool shout"):
        server.tools()
    server._only = frozenset({"pid", "environment"})
    assert [tool.name for tool in server.tools()] == ["_sdk_server.environment", "_sdk_server.pid"]
    names = set(text_of(server, "environment").split())
    assert {"SAYS", "PATH"} <= names <= {"SAYS", "HOME", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
    pid = int(text_of(server, "pid"))
    assert server.log == "ready to work"
    del server
    soon(lambda: not is_alive(pid))


@pytest.mark.slow
def test_a_server_that_died_or_was_closed_is_started_again(tmp_path: Path):
    began = tmp_path / "began"
    with MCPServer([*SDK_SERVER, "stdio"]) as server, ThreadPoolExecutor() as threads:
        call = threads.submit(server, {"began": str(began), "stopped": str(tmp_path / "stopped")}, "slow")
        soon(lambda: began.exists() and began.read_text())
        os.kill(int(began.read_text()), signal.SIGKILL)
        assert "whether slow ran there is not known" in str(call.result().errmsg)
        # Made again, for the server says that this does no harm: once to die, and once to live.
        assert text_of(server, "die_once", marker=str(tmp_path / "died")) == "alive"
        pid = int(text_of(server, "pid"))
        assert pid != int(began.read_text())
        tool = next(each for each in server.tools() if each.name.endswith(".die"))
        with pytest.raises(MCPConnectionError, match="not known"):
            run_sync(run_tool, tool, {})
        second = int(text_of(server, "pid"))
    assert not is_alive(pid)
    assert not is_alive(second)


def test_a_request_has_its_time(tmp_path: Path, workshop: MCPServer, monkeypatch: pytest.MonkeyPatch):
    arguments = {"began": str(tmp_path / "began"), "stopped": str(tmp_path / "stopped")}
    monkeypatch.setattr(workshop._link, "timeout", 0.5)
    tool = next(each for each in workshop.tools() if each.name.endswith(".slow"))
    with pytest.raises(MCPTimeoutError, match="timeout="):
        run_sync(run_tool, tool, arguments)
    soon((tmp_path / "stopped").exists)


def test_windows_has_no_process_groups_no_sigkill_and_no_loop_that_reads_any_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_stdio, "_END_SECONDS", 0.1)
    monkeypatch.setattr(_stdio, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(_stdio, "signal", SimpleNamespace(SIGTERM=signal.SIGTERM))
    monkeypatch.delattr(os, "killpg")
    monkeypatch.delattr("asyncio.selector_events.BaseSelectorEventLoop.add_reader")
    sleeper = [sys.executable, "-c", "import os, time; os.write(2, b'tired'); time.sleep(60)"]
    before = child_pids()
    with pytest.raises(MCPConnectionError, match=r"(?s)start_seconds.*tired"):
        MCPServer(sleeper, start_seconds=1).open()
    assert child_pids() <= before
    with MCPServer([*SDK_SERVER, "stdio"], env={"SAYS": "ready to work"}) as server:
        assert text_of(server, "echo", text="x") == "x"
    assert server.log == "ready to work"


def test_a_server_ends_also_if_a_process_that_it_started_goes_on_with_its_stderr(tmp_path: Path):
    os.mkfifo(tmp_path / "end")
    command = ["sh", "-c", 'setsid cat "$END" </dev/null >/dev/null & exec "$@"', "sh", *SDK_SERVER, "stdio"]
    with MCPServer(command, env={"SAYS": "ready to work", "END": str(tmp_path / "end")}) as server:
        connection, pid = server._link._open, int(text_of(server, "pid"))
    (tmp_path / "end").write_bytes(b"")  # which ends the other one
    assert connection is not None
    assert (connection.why, server.log, is_alive(pid)) == ("", "ready to work", False)


@pytest.mark.slow
def test_the_end_of_the_program_ends_the_server():
    program = (
        "from trivium.mcp import MCPServer; import sys; "
        "server = MCPServer(sys.argv[1:]); print(server({}, 'pid').format_result())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *SDK_SERVER, "stdio"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not is_alive(int(done.stdout))


FORK = """
import os, sys, warnings
from trivium.mcp import MCPServer

warnings.simplefilter("ignore", DeprecationWarning)
with MCPServer(sys.argv[1] if len(sys.argv) == 2 else sys.argv[1:], timeout=20) as server:
    first = server({}, "pid").format_result()
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
    other = server({}, "pid")
    assert other.errmsg is None, other.errmsg
    print(other.format_result() == first)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_process", [True, False])
def test_a_forked_child_has_a_connection_of_its_own(is_process: bool):
    server = nullcontext((0, None)) if is_process else listening(SDK_SERVER)
    with server as (port, _):
        target = [*SDK_SERVER, "stdio"] if is_process else [f"http://127.0.0.1:{port}/mcp"]
        done = subprocess.run([sys.executable, "-c", FORK, *target], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{not is_process}\nTrue\n")


@pytest.mark.slow
def test_ctrl_c_ends_the_server_too(tmp_path: Path):
    program = (
        "from trivium.mcp import MCPServer; import sys\n"
        "with MCPServer(sys.argv[3:]) as server: server({'began': sys.argv[1], 'stopped': sys.argv[2]}, 'slow')"
    )
    began, stopped = tmp_path / "began", tmp_path / "stopped"
    command = [sys.executable, "-c", program, str(began), str(stopped), *SDK_SERVER, "stdio"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        soon(lambda: began.exists() and began.read_text())
        press_ctrl_c(process)
        assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    assert process.returncode == -signal.SIGINT
    assert stopped.read_text() == "cancelled"
    assert not is_alive(int(began.read_text()))


def test_a_kill_reaches_the_server(tmp_path: Path, workshop: MCPServer):
    class Caller(Module):
        def forward(self, *message: Message) -> Any:
            return workshop(arguments, "slow").format_result()

    arguments = {"began": str(tmp_path / "began"), "stopped": str(tmp_path / "stopped")}
    with pytest.raises(DeadlineExceededError):
        Caller()("go", timeout=0.5)
    soon((tmp_path / "stopped").exists)


def test_a_cancelled_task_reaches_the_server(tmp_path: Path, workshop: MCPServer):
    arguments = {"began": str(tmp_path / "began"), "stopped": str(tmp_path / "stopped")}

    async def main() -> None:
        task = asyncio.create_task(workshop.acall(arguments, "slow"))
        await asyncio.to_thread(soon, (tmp_path / "began").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(soon, (tmp_path / "stopped").exists)

    asyncio.run(main())


def test_a_call_of_several_ends_with_the_first_failure(tmp_path: Path, workshop: MCPServer):
    arguments = {"began": str(tmp_path / "began"), "stopped": str(tmp_path / "stopped")}

    async def fail() -> None:
        await asyncio.to_thread(soon, (tmp_path / "began").exists)
        raise OSError("no")

    async def slow() -> Any:
        return await workshop.acall(arguments, "slow")

    with pytest.raises(OSError, match="no"), step("both"):
        run_sync(gather, slow, fail)
    soon((tmp_path / "stopped").exists)


# ---- what goes wrong
def test_a_server_that_is_not_there_says_so():
    with pytest.raises(MCPConnectionError, match="No such file"):
        MCPServer("/nowhere/server").open()


def test_a_server_that_ends_at_once_is_quoted():
    command = [sys.executable, "-c", "import sys; sys.exit('x' * 100_000 + ' no licence')"]
    with pytest.raises(MCPConnectionError, match="no licence") as wrong:
        MCPServer(command).open()
    assert len(wrong.value.log) <= 8192


@pytest.mark.parametrize("work", ["import sys; sys.stdin.read()", "import time; time.sleep(600)"])
def test_a_server_that_never_answers_is_given_up_at_once(work: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_stdio, "_END_SECONDS", 2 * GUARD)
    before, began = child_pids(), monotonic()
    with pytest.raises(MCPConnectionError, match="start_seconds"):
        MCPServer([sys.executable, "-c", work], start_seconds=0.5).open()
    assert monotonic() - began < GUARD
    soon(lambda: child_pids() <= before)


@pytest.mark.parametrize(
    ("server", "options"),
    [
        ("", {}),
        ("'", {}),
        ("http://x/mcp", {"env": {"A": "1"}}),
        ("x", {"headers": {"A": "1"}}),
        ("x", {"name": "a.b"}),
        ("x", {"timeout": -1.0}),
    ],
)
def test_options_that_cannot_be(server: str, options: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        MCPServer(server, **options)


def test_secrets_are_not_shown():
    server = MCPServer("http://127.0.0.1:1/mcp", headers={"Authorization": "Bearer s3cret"}, start_seconds=5)
    with pytest.raises(MCPError) as wrong:
        server.open()
    assert "s3cret" not in repr(server) + repr(wrong.value) + str(wrong.value) + repr(vars(wrong.value))
