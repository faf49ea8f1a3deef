"""The actions that run Python as tools: in executors and agents, by every entry point, in the session of the call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from commander._helpers import Entry, async_entry, every_entry, here, loop_entry, sync_entry
from trivium import ActionExecutor, Hook, Message, Module, Tool
from trivium.actions import (
    AsyncActionExecutor,
    AsyncIPythonInteractive,
    AsyncIPythonInterpreter,
    BaseAction,
    IPythonInteractive,
    IPythonInteractiveManager,
    IPythonInterpreter,
    PythonInterpreter,
    descriptions_of,
    tool_api,
)
from trivium.commander import invoke
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    MissingExtraError,
    RunKilledError,
    SandboxUnavailableError,
)
from trivium.hooks import InternLMActionProcessor
from trivium.schema import ActionReturn, ActionStatusCode

from ._sandboxes import call, kernel_process, sandboxes, state

PROGRAM = """
def find_numbers():
    positive_numbers = [63 / factor for factor in [1, 3, 7, 9, 21, 63]]
    negative_numbers = [-63 / factor for factor in [-1, -3, -7, -9, -21, -63]]
    return positive_numbers[0] * negative_numbers[0]

result = find_numbers()
print(result)
"""
LINE = (
    "content='3969.0' sender='ActionExecutor' formatted=None extra_info=None type=None receiver=None "
    "stream_state=<AgentStatusCode.END: 0>"
)


@pytest.fixture(scope="module")
def python() -> Iterator[IPythonInterpreter]:
    python = IPythonInterpreter()
    yield python
    python.close()


@pytest.fixture(scope="module")
def shell() -> Iterator[IPythonInteractive]:
    shell = IPythonInteractive()
    yield shell
    shell.close()


@pytest.fixture(scope="module", params=[IPythonInterpreter, AsyncIPythonInterpreter])
def either(request: pytest.FixtureRequest) -> IPythonInterpreter:
    return request.param()


class Host(Module):
    """Calls a tool by name, below a module's call."""

    def __init__(self, *actions: Any) -> None:
        super().__init__()
        self.executor = ActionExecutor([Tool.of(action).replace(name="run") for action in actions])

    async def forward(self, message: Message) -> Any:
        return (await invoke(self.executor.acall, message)).content


class CodeProcessor(Hook):
    """What the documents show: code that a parser found becomes a call, and the outcome becomes text."""

    def before_action(self, executor: Any, message: Message, session_id: Hashable) -> Message:
        message = message.copy(deep=True)  # pyright: ignore[reportDeprecated] - as the documents have it
        message.content = {"name": "IPythonInteractive", "parameters": {"command": message.formatted["action"]}}
        return message

    def after_action(self, executor: Any, message: Message, session_id: Hashable) -> Message:
        returned = message.content
        is_good = returned.state == ActionStatusCode.SUCCESS
        message.content = returned.format_result() if is_good else returned.errmsg
        return message


class Browser(BaseAction):
    """A browser."""

    @tool_api
    def search(self, query: list[str]) -> str:
        """Search."""
        return "+".join(query)


def parsed(action: Any) -> Message:
    formatted = {"tool_type": "code interpreter", "thought": "Hm.", "action": action, "status": 1}
    return Message(sender="Agent", content="Hm.", formatted=formatted)


def has_ended(python: IPythonInterpreter, session_id: Hashable) -> bool:
    """Whether a session has no kernel, once nobody is at work there: the worker may need a moment to leave."""
    with python.kernels.sessions[session_id].lock:
        return session_id not in python.kernels.running


# ---- in an executor
def test_the_tutorial_gets_its_result(shell: IPythonInteractive, capsys: pytest.CaptureFixture[str]):
    executor = ActionExecutor(actions=[shell], hooks=[CodeProcessor()])
    print(executor(parsed(PROGRAM)))
    assert capsys.readouterr().out == LINE + "\n"


def test_called_directly_it_gives_the_return(shell: IPythonInteractive):
    for outcome in (shell.run(PROGRAM), shell({"command": PROGRAM})):
        assert outcome.result == [{"type": "text", "content": "3969.0"}]
        assert outcome.state is ActionStatusCode.SUCCESS
        assert (outcome.type, outcome.args) == ("IPythonInteractive", {"command": PROGRAM})


def test_a_config_stands_for_the_action():
    executor = ActionExecutor(dict(type=IPythonInteractive, timeout=20, max_out_len=8192), hooks=CodeProcessor())
    assert str(executor(parsed(PROGRAM))) == LINE
    shell: Any = executor.actions["IPythonInteractive"]
    assert (shell.timeout, shell.kernels._limits.output) == (20, 8192)
    shell.close()


def test_text_that_a_parser_found_is_code_for_the_first_action(python: IPythonInterpreter):
    executor = ActionExecutor([python, Browser()], hooks=[InternLMActionProcessor()])
    assert executor(parsed("6 * 7")).content == "42"
    assert executor(parsed({"name": "Browser.search", "parameters": {"query": ["a", "b"]}})).content == "a+b"
    assert "ZeroDivisionError" in executor(parsed("1 / 0")).content
    assert [each["name"] for each in descriptions_of([python, Browser()])] == ["IPythonInterpreter", "Browser.search"]


@pytest.mark.parametrize(
    "parameters",
    [{}, {"command": 5}, {"command": None}, {"command": ["1"]}, {"command": "1", "timeout": "soon"},
     {"command": "1", "session_id": 7}, {"code": "1"}, "no json", "[]", '{"command": 1}'],
)  # fmt: skip
@pytest.mark.parametrize("entry", [sync_entry, async_entry])
def test_arguments_that_do_not_fit_are_reported_and_nothing_runs(entry: Entry, parameters: Any):
    python = IPythonInterpreter()
    outcome = entry(ActionExecutor(python), Message(content={"name": "IPythonInterpreter", "parameters": parameters}))
    assert outcome.content.state is ActionStatusCode.ARGS_ERROR
    assert outcome.content.errmsg
    assert python.kernels.running == []


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": -1}, {"max_kernels": 0},
                                      {"description": {"name": "x"}}])  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        IPythonInterpreter(**settings)


def test_a_description_of_ones_own_is_sent_to_the_model():
    parameters = [{"name": "command", "type": "STRING", "description": "code"}]
    said = {"name": "py", "description": "Compute.", "parameters": parameters, "required": ["command"]}
    python = IPythonInterpreter(description=said)
    assert (python.name, [tool.name for tool in python.tools()], python.description) == ("py", ["py"], said)


# ---- sync and async calls, sessions, stopping
@every_entry
def test_as_a_tool_it_runs_in_the_session_of_the_call(entry: Entry, either: IPythonInterpreter):
    host, mark = Host(either.run), entry.__name__
    entry(host, call(f"{mark} = 1"), session_id="ada")
    assert entry(host, call(f"'{mark}' in globals()"), session_id="bob").content.format_result() == "False"
    assert entry(host, call(mark), session_id="ada").content.format_result() == "1"


def test_a_session_that_was_closed_starts_afresh(python: IPythonInterpreter):
    executor = ActionExecutor(python)

    def run(code: str) -> str:
        return executor(call(code, "IPythonInterpreter"), session_id="ada").content.format_result()

    run("x = 1")
    python.close_session("ada")
    assert run("'x' in globals()") == "False"
    python.close_session("ada")


def test_sessions_awaited_at_once_are_apart():
    shell = AsyncIPythonInteractive()
    executor: Any = AsyncActionExecutor([shell], hooks=[InternLMActionProcessor()])
    codes = ("while True: pass", "x = bytearray(1 << 31)", "sum(range(10))")

    async def main() -> list[Any]:
        calls = [executor(parsed({"name": "AsyncIPythonInteractive", "parameters": {"command": code, "timeout": 1}}),
                          session_id=session) for session, code in enumerate(codes)]  # fmt: skip
        said = [each.content for each in await asyncio.gather(*calls)]
        await shell.close()
        return said

    endless, large, good = asyncio.run(main())
    assert endless.startswith("stopped after 1 seconds")
    assert "MemoryError" in large
    assert good == "45"
    assert shell.kernels.running == []


def test_sessions_in_threads_at_once_are_apart(python: IPythonInterpreter):
    executor = ActionExecutor(python)
    codes = ("while True: pass", "import os; os._exit(1)", "sum(range(10))")

    def run(session: int) -> ActionReturn:
        return executor(call(codes[session], "IPythonInterpreter", timeout=1), session_id=session).content

    with ThreadPoolExecutor(3) as pool:
        endless, ended, good = pool.map(run, range(3))
    assert (endless.errmsg or "").startswith("stopped after 1 seconds")
    assert (ended.errmsg or "").startswith("the Python process ended")
    assert good.format_result() == "45"


@pytest.mark.parametrize("kind", [IPythonInterpreter, IPythonInteractive, IPythonInteractiveManager])
def test_the_model_gets_the_arguments(kind: Any):
    spec = kind().tools()[0].spec
    assert spec.name == kind.__name__
    assert "network" in spec.description
    assert list(spec.parameters["properties"]) == ["command", "timeout"]
    assert spec.parameters["required"] == ["command"]
    assert "Python code" in spec.parameters["properties"]["command"]["description"]


def test_the_description_says_how_a_program_gives_its_answer():
    spec = PythonInterpreter().tools()[0].spec
    assert list(spec.parameters["properties"]) == ["command"]
    assert "solution()" in spec.description


@pytest.mark.parametrize(("entry", "kind"), [(loop_entry, IPythonInterpreter), (async_entry, AsyncIPythonInterpreter)])
def test_a_deadline_ends_the_kernel_that_computes(entry: Entry, kind: type[IPythonInterpreter]):
    python, before = kind(), set(sandboxes())
    host = Host(python.run)
    entry(host, call("1"))
    with pytest.raises(DeadlineExceededError):
        entry(host, call("while True: pass"), timeout=0.3)
    assert has_ended(python, 0)
    assert set(sandboxes()) == before


@pytest.mark.parametrize(("entry", "kind"), [(sync_entry, IPythonInterpreter), (async_entry, AsyncIPythonInterpreter)])
def test_a_kill_ends_the_kernel_that_computes(entry: Entry, kind: type[IPythonInterpreter]):
    python: Any = kind()
    before = set(sandboxes())
    entry(Host(python.run), call("1"))
    kernel = kernel_process(python.kernels)

    def kill_when_it_computes(root: Any) -> None:
        while state(kernel) == "T":
            gone.wait(0.01)
        root.kill("enough")

    async def watch() -> str:
        threading.Thread(target=kill_when_it_computes, args=(here().ancestor_chain[-1],)).start()
        outcome = await invoke(python.run, "while True: pass")
        return outcome.format_result()

    gone = threading.Event()
    with pytest.raises(RunKilledError):
        entry(Host(watch), Message(content={"name": "run", "parameters": {}}))
    assert has_ended(python, 0)
    assert set(sandboxes()) == before


# ---- what is not there
def test_without_a_sandbox_the_model_reads_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    python = IPythonInterpreter()
    outcome = ActionExecutor(python)(call("1", "IPythonInterpreter")).content
    assert outcome.state is ActionStatusCode.API_ERROR
    assert "apt-get install bubblewrap" in outcome.errmsg
    with pytest.raises(SandboxUnavailableError):
        python.run("1")


def test_without_jupyter_the_model_reads_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # pyright: ignore
    python = IPythonInterpreter()
    outcome = ActionExecutor(python)(call("1", "IPythonInterpreter")).content
    assert "[python]" in outcome.errmsg
    with pytest.raises(MissingExtraError):
        python.run("1")
