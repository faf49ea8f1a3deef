"""The actions that run Python: the same outcome in every door, sessions apart, images as files, a limit in time."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commander._helpers import Door, every_door, here
from trivium import ActionExecutor, Message, Module, Tool
from trivium.actions import (
    AsyncIPythonInteractive,
    AsyncIPythonInteractiveManager,
    AsyncIPythonInterpreter,
    AsyncPythonInterpreter,
    IPythonInteractive,
    IPythonInteractiveManager,
    IPythonInterpreter,
    PythonInterpreter,
    SandboxLimits,
)
from trivium.actions.python._interpreters import _unfenced
from trivium.commander import invoke
from trivium.exceptions import ConfigurationError, DeadlineExceededError, RunKilledError, SandboxUnavailableError
from trivium.schema import ActionReturn, ActionStatusCode

from ._sandboxes import sandboxes

PROGRAM = """
def find_numbers():
    positive_numbers = [63 / factor for factor in [1, 3, 7, 9, 21, 63]]
    negative_numbers = [-63 / factor for factor in [-1, -3, -7, -9, -21, -63]]
    return positive_numbers[0] * negative_numbers[0]

result = find_numbers()
print(result)
"""
CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()\nprint('drawn')"
DOT = "from IPython.display import Image, display; display(Image(b'\\x89PNG\\r\\n\\x1a\\n' + b'{}', format='png'))"


@pytest.fixture(scope="module")
def python() -> Iterator[IPythonInterpreter]:
    python = IPythonInterpreter()
    yield python
    python.close()
    assert sandboxes() == []


class Host(Module):
    """Calls a tool by name, below a module's call."""

    def __init__(self, *actions: Any) -> None:
        super().__init__()
        self.executor = ActionExecutor([Tool.of(action).but(name="run") for action in actions])

    async def forward(self, message: Message) -> Any:
        return (await invoke(self.executor.acall, message)).content


def call(code: str, **more: Any) -> Message:
    return Message(content={"name": "run", "parameters": {"command": code, **more}})


def has_ended(python: IPythonInterpreter, session_id: int) -> bool:
    """Whether a session has no kernel, once nobody is at work there: the worker may need a moment to leave."""
    with python.kernels._sessions[session_id].lock:
        return session_id not in python.kernels.running


# ---- outcomes
def test_the_tutorial_gets_its_result():
    shell = IPythonInteractive()
    outcome = shell.run(PROGRAM)
    assert outcome.result == [{"type": "text", "content": "3969.0"}]
    assert outcome.format_result() == "3969.0"
    assert outcome.state is ActionStatusCode.SUCCESS
    assert (outcome.type, outcome.args) == ("IPythonInteractive", {"command": PROGRAM})
    shell.close()


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


@pytest.mark.parametrize("timeout", [1e9, float("inf"), float("nan"), -1, 0])
def test_a_model_cannot_take_more_time_than_there_is(timeout: float):
    python = IPythonInterpreter(timeout=0.5)
    outcome = python.run("while True: pass", timeout=timeout)
    assert (outcome.errmsg or "").startswith("stopped after 0")
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
    outcome = python.run(CHART)
    assert [each["type"] for each in outcome.result or ()] == ["image", "text"]
    image = Path((outcome.result or [])[0]["content"])
    assert image.parent == tmp_path / "images"
    assert image.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    python.close()
    assert image.exists()


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
    python: Any = AsyncPythonInterpreter()
    codes = [f"def solution(): return {each}" for each in range(8)]

    async def main() -> list[ActionReturn]:
        return await asyncio.gather(*map(python.run, codes))

    assert [each.format_result() for each in asyncio.run(main())] == list("01234567")
    python.close()


def test_many_pieces_run_each_in_the_kernel_of_its_number():
    manager = IPythonInteractiveManager(max_workers=2)
    both = manager(["x = 1; x", "x = 2; x"])
    assert isinstance(both, list)
    assert [each.format_result() for each in both] == ["1", "2"]
    one = manager("x", 1)
    assert isinstance(one, ActionReturn)
    assert one.format_result() == "2"
    with pytest.raises(ValueError, match="2 pieces, 1 sessions"):
        manager(["1", "2"], [0])
    manager.close()


# ---- doors, sessions, stopping
def test_async_classes_are_the_same_with_the_other_door():
    async def main(action: Any) -> Any:
        return (await action.run("print(7)")).format_result()

    actions: tuple[Any, ...] = (
        AsyncIPythonInterpreter(),
        AsyncIPythonInteractive(),
        AsyncIPythonInteractiveManager(),
        AsyncPythonInterpreter(answer_from_stdout=True),
    )
    for action in actions:
        assert asyncio.run(main(action)) == "7"
        action.close()


@every_door
@pytest.mark.parametrize("kind", [IPythonInterpreter, AsyncIPythonInterpreter])
def test_as_a_tool_it_runs_in_the_session_of_the_call(door: Door, kind: type[IPythonInterpreter]):
    python = kind()
    host = Host(python.run)
    door(host, call("x = 1"), session_id="ada")
    assert door(host, call("'x' in globals()"), session_id="bob").content.format_result() == "False"
    assert door(host, call("x"), session_id="ada").content.format_result() == "1"
    python.close_session("ada")
    assert door(host, call("'x' in globals()"), session_id="ada").content.format_result() == "False"
    python.close()


def test_the_model_is_told_what_it_can_give():
    spec = Tool.of(IPythonInterpreter().run).spec
    assert list(spec.parameters["properties"]) == ["command", "timeout"]
    assert spec.parameters["required"] == ["command"]
    assert "Python code" in spec.parameters["properties"]["command"]["description"]


@every_door
@pytest.mark.parametrize("kind", [IPythonInterpreter, AsyncIPythonInterpreter])
def test_a_deadline_ends_the_kernel_that_computes(door: Door, kind: type[IPythonInterpreter]):
    python = kind()
    host = Host(python.run)
    door(host, call("1"))
    with pytest.raises(DeadlineExceededError):
        door(host, call("while True: pass"), timeout=0.3)
    assert has_ended(python, 0)
    assert door(host, call("2")).content.format_result() == "2"
    python.close()


@every_door
def test_a_kill_ends_the_kernel_that_computes(door: Door):
    python = IPythonInterpreter()

    def watch() -> str:
        here().ancestor_chain[-1].kill("enough")
        return python.run("while True: pass").format_result()

    with pytest.raises(RunKilledError):
        door(Host(watch), Message(content={"name": "run", "parameters": {}}))
    assert python.kernels.running == []


def test_without_a_sandbox_the_model_reads_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    python = IPythonInterpreter()
    outcome = ActionExecutor(python.run)(call("1")).content
    assert outcome.state is ActionStatusCode.API_ERROR
    assert "apt-get install bubblewrap" in outcome.errmsg
    with pytest.raises(SandboxUnavailableError):
        python.run("1")


def test_limits_are_those_that_were_given():
    shell = IPythonInteractive(max_out_len=100, limits=SandboxLimits(memory=200 << 20))
    assert "MemoryError" in (shell.run("x = bytearray(250 << 20)").errmsg or "")
    text = shell.run("print('a' * 1000 + 'b')").format_result()
    assert text.startswith("a" * 50)
    assert text.endswith("b")
    assert "902 characters are left out" in text
    shell.close()
