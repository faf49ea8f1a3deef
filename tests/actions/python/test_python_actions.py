"""The actions that run Python: the same outcome in every door, sessions apart, images as files, a limit in time."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from commander._helpers import Door, async_door, every_door, here, loop_door, sync_door
from trivium import ActionExecutor, Hook, Message, Module, Tool
from trivium.actions import (
    AsyncActionExecutor,
    AsyncIPythonInteractive,
    AsyncIPythonInteractiveManager,
    AsyncIPythonInterpreter,
    AsyncPythonInterpreter,
    BaseAction,
    IPythonInteractive,
    IPythonInteractiveManager,
    IPythonInterpreter,
    PythonInterpreter,
    SandboxLimits,
    descriptions_of,
    tool_api,
)
from trivium.actions.python._interpreters import _unfenced
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

from ._sandboxes import kernel_process, sandboxes, state

PROGRAM = """
def find_numbers():
    positive_numbers = [63 / factor for factor in [1, 3, 7, 9, 21, 63]]
    negative_numbers = [-63 / factor for factor in [-1, -3, -7, -9, -21, -63]]
    return positive_numbers[0] * negative_numbers[0]

result = find_numbers()
print(result)
"""
CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title('{}')\nplt.show()\nprint('drawn')"
DOT = "from IPython.display import Image, display; display(Image(b'\\x89PNG\\r\\n\\x1a\\n' + b'{}', format='png'))"


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
        self.executor = ActionExecutor([Tool.of(action).but(name="run") for action in actions])

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


def call(code: Any, name: str = "run", **more: Any) -> Message:
    return Message(content={"name": name, "parameters": {"command": code, **more}})


def parsed(action: Any) -> Message:
    formatted = {"tool_type": "code interpreter", "thought": "Hm.", "action": action, "status": 1}
    return Message(sender="Agent", content="Hm.", formatted=formatted)


def has_ended(python: IPythonInterpreter, session_id: Hashable) -> bool:
    """Whether a session has no kernel, once nobody is at work there: the worker may need a moment to leave."""
    with python.kernels._sessions[session_id].lock:
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
@pytest.mark.parametrize("door", [sync_door, async_door])
def test_arguments_that_do_not_fit_are_told_and_nothing_runs(door: Door, parameters: Any):
    python = IPythonInterpreter()
    outcome = door(ActionExecutor(python), Message(content={"name": "IPythonInterpreter", "parameters": parameters}))
    assert outcome.content.state is ActionStatusCode.ARGS_ERROR
    assert outcome.content.errmsg
    assert python.kernels.running == []


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": -1}, {"max_kernels": 0},
                                      {"description": {"name": "x"}}])  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        IPythonInterpreter(**settings)


def test_a_description_of_ones_own_is_told_to_the_model():
    parameters = [{"name": "command", "type": "STRING", "description": "code"}]
    said = {"name": "py", "description": "Compute.", "parameters": parameters, "required": ["command"]}
    python = IPythonInterpreter(description=said)
    assert (python.name, [tool.name for tool in python.tools()], python.description) == ("py", ["py"], said)


# ---- outcomes
@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("1 + 1", ["2"]),
        ("print(1); print(2)", ["1\n2"]),
        ("print('Error: none'); 3", ["Error: none\n3"]),
        ("'text'", ["'text'"]),
        ("x = 1", []),
        ("", []),
        ("None", []),
        ("import sys; print('é€𝄞', file=sys.stderr)", ["é€𝄞"]),
        ("```python\n1 + 1\n```", ["2"]),
        ("!echo shell", ["shell"]),
        ("await __import__('asyncio').sleep(0, 'async')", ["'async'"]),
        ("# " + "x" * 300_000 + "\n5", ["5"]),
        ("'\ud800'", ["'?'"]),
    ],
)
def test_what_is_printed_and_the_last_value_come_back(code: str, result: list[str], python: IPythonInterpreter):
    outcome = python.run(code)
    assert outcome.errmsg is None
    assert outcome.result == [{"type": "text", "content": each} for each in result]


def test_an_error_comes_back_as_its_traceback_without_colours(python: IPythonInterpreter):
    outcome = python.run("print('before')\n1 / 0")
    assert outcome.state is ActionStatusCode.API_ERROR
    assert outcome.result == [{"type": "text", "content": "before"}]
    assert (outcome.errmsg or "").endswith("ZeroDivisionError: division by zero")
    assert "\x1b" not in (outcome.errmsg or "")
    assert python.run("1").errmsg is None


@pytest.mark.parametrize(
    "code", ["a\0b", "print('\\ud800')", "(", "  x\n y", "%no_such_magic", "del __builtins__.print; 1/0"]
)
def test_odd_code_fails_and_the_next_works(code: str, python: IPythonInterpreter):
    python.run(code)
    outcome = python.run("40 + 2")
    assert (outcome.errmsg, outcome.format_result()) == (None, "42")


def test_a_model_cannot_take_more_time_than_there_is():
    """Nor less: an interrupt that comes before the code has begun is not lost, and is no success."""
    python = IPythonInterpreter(timeout=0.5)
    python.run("mark = 'kept'")
    for timeout in (1e9, float("inf"), *(0, float("nan"), -1) * 4):
        outcome = python.run("while True: pass", timeout=timeout)
        assert outcome.state is ActionStatusCode.API_ERROR
        assert (outcome.errmsg or "").startswith("stopped after 0")
        assert "the variables are kept" in (outcome.errmsg or "")
    assert python.run("mark").format_result() == "'kept'"
    python.close()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="user_data_dir"):
        IPythonInterpreter(user_data_dir=tmp_path / "none")


def test_a_call_ends_at_its_time_and_keeps_the_variables(python: IPythonInterpreter):
    python.run("x = 5")
    outcome = python.run("while True: pass", timeout=0.5)
    assert (outcome.errmsg or "").startswith("stopped after 0.5 seconds; the variables are kept")
    assert python.run("x").format_result() == "5"


def test_a_chart_comes_back_as_a_file(tmp_path: Path):
    python = IPythonInterpreter(timeout=60, work_dir=tmp_path / "images")
    outcome = python.run(CHART.format("Growth"))
    assert [each["type"] for each in outcome.result or ()] == ["image", "text"]
    chinese = python.run(CHART.format("国内生产总值"))
    assert chinese.errmsg is None
    images = [Path(each["content"]) for each in (*outcome.result, *chinese.result) if each["type"] == "image"]  # type: ignore[misc] # pyright: ignore[reportGeneralTypeIssues, reportOptionalIterable] # fmt: skip
    assert len(set(images)) == 2
    python.close()
    for image in images:
        assert image.parent == tmp_path / "images"
        assert image.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert f"[image]({image})" in outcome.format_result() + chinese.format_result()


def test_images_without_a_folder_of_the_user_go_with_the_interpreter():
    python = IPythonInterpreter()
    first, second = (Path(python.run(DOT.format(each)).format_result()[8:-1]) for each in "ab")
    assert first != second
    assert first.exists()
    python.close()
    assert not first.parent.exists()
    third = Path(python.run(DOT.format("a")).format_result()[8:-1])
    assert third.name == first.name
    del python
    gc.collect()
    assert not third.parent.exists()


def test_what_is_no_image_is_left_out(python: IPythonInterpreter):
    fake = "display({'image/png': '%s'}, raw=True)"
    for content in ("no base64!", "aGVsbG8="):
        assert python.run(fake % content).format_result() == "[an image is left out: it is no PNG]"


def test_the_users_files_can_be_read_by_name_and_not_changed(tmp_path: Path):
    (tmp_path / "data.csv").write_text("a,b\n")
    tmp_path.chmod(0o755)
    python = IPythonInterpreter(user_data_dir=tmp_path)
    assert python.run("print(open('data.csv').read())").format_result() == "a,b"
    assert "Read-only file system" in (python.run("open('data.csv', 'w')").errmsg or "")
    assert (tmp_path / "data.csv").read_text() == "a,b\n"
    python.close()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x = 1", "x = 1"),
        ("```python\nx = 1\n```", "x = 1\n"),
        ("Here:\n```py\nx = 1\n``` and so on", "x = 1\n"),
        ("```\nx\n", "x\n"),
        ("```Python\r\nx\r\n```", "x\r\n"),
    ],
)
def test_a_fence_is_taken_off(text: str, code: str):
    assert _unfenced(text) == code


# ---- the program with one answer
@pytest.mark.parametrize(
    ("settings", "code", "answer"),
    [
        ({}, "print('noise')\ndef solution():\n    return 'text'", "text"),
        ({"answer_symbol": "n"}, "n = 6 * 7", "42"),
        ({"answer_expr": "n + 1"}, "n = 1", "2"),
        ({"answer_from_stdout": True}, "print(1)\nprint(2)", "1\n2"),
    ],
)
def test_a_program_gives_its_answer(settings: dict[str, Any], code: str, answer: str):
    python = PythonInterpreter(**settings)
    assert python.run(code).format_result() == answer
    outcome = python.run("pass")
    assert (outcome.errmsg is None) is ("answer_from_stdout" in settings)
    python.close()


def test_programs_at_once_do_not_mix():
    python = AsyncPythonInterpreter()
    codes = [f"def solution(): return {each}" for each in range(8)]

    async def main() -> list[ActionReturn]:
        return await asyncio.gather(*map(python.run, codes))

    assert [each.format_result() for each in asyncio.run(main())] == list("01234567")


@pytest.mark.parametrize("kind", [IPythonInteractiveManager, AsyncIPythonInteractiveManager])
def test_many_pieces_run_each_in_the_kernel_of_its_session(kind: type[IPythonInteractiveManager]):
    manager: Any = kind(max_workers=2)

    def out(result: Any) -> Any:
        async def main() -> Any:
            return await result

        return asyncio.run(main()) if asyncio.iscoroutine(result) else result

    both: list[ActionReturn] = out(manager(["x = 1; x", "x = 2; x"]))
    assert [each.format_result() for each in both] == ["1", "2"]
    one: ActionReturn = out(manager("x", 1))
    assert one.format_result() == "2"
    as_tool = ActionExecutor(manager)(call("x", name=kind.__name__), session_id=1)
    assert as_tool.content.format_result() == "2"
    with pytest.raises(ConfigurationError, match="2 pieces, 1 sessions"):
        out(manager(["1", "2"], [0]))
    out(manager.close())


# ---- doors, sessions, stopping
@every_door
def test_as_a_tool_it_runs_in_the_session_of_the_call(door: Door, either: IPythonInterpreter):
    host, mark = Host(either.run), door.__name__
    door(host, call(f"{mark} = 1"), session_id="ada")
    assert door(host, call(f"'{mark}' in globals()"), session_id="bob").content.format_result() == "False"
    assert door(host, call(mark), session_id="ada").content.format_result() == "1"


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
def test_the_model_is_told_what_it_can_give(kind: Any):
    spec = kind().tools()[0].spec
    assert spec.name == kind.__name__
    assert "network" in spec.description
    assert list(spec.parameters["properties"]) == ["command", "timeout"]
    assert spec.parameters["required"] == ["command"]
    assert "Python code" in spec.parameters["properties"]["command"]["description"]


def test_the_model_is_told_how_a_program_gives_its_answer():
    spec = PythonInterpreter().tools()[0].spec
    assert list(spec.parameters["properties"]) == ["command"]
    assert "solution()" in spec.description


DOORS = [
    (sync_door, IPythonInterpreter),
    (async_door, IPythonInterpreter),
    (loop_door, IPythonInterpreter),
    (async_door, AsyncIPythonInterpreter),
]


@pytest.mark.parametrize(("door", "kind"), DOORS)
def test_a_deadline_ends_the_kernel_that_computes(door: Door, kind: type[IPythonInterpreter]):
    python, before = kind(), set(sandboxes())
    host = Host(python.run)
    door(host, call("1"))
    with pytest.raises(DeadlineExceededError):
        door(host, call("while True: pass"), timeout=0.3)
    assert has_ended(python, 0)
    assert set(sandboxes()) == before


@pytest.mark.parametrize(("door", "kind"), DOORS)
def test_a_kill_ends_the_kernel_that_computes(door: Door, kind: type[IPythonInterpreter]):
    python: Any = kind()
    before = set(sandboxes())
    door(Host(python.run), call("1"))
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
        door(Host(watch), Message(content={"name": "run", "parameters": {}}))
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


def test_limits_are_those_that_were_given():
    shell = IPythonInteractive(max_out_len=100, limits=SandboxLimits(memory=200 << 20))
    assert "MemoryError" in (shell.run("x = bytearray(250 << 20)").errmsg or "")
    text = shell.run("print('a' * 1000 + 'b')").format_result()
    assert text.startswith("a" * 50)
    assert text.endswith("b")
    assert "902 characters are left out" in text
    shell.close()
