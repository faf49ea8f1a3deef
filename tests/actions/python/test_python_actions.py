"""The actions that run Python: what comes back of code, images as files, a limit in time."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trivium import ActionExecutor
from trivium.actions import (
    AsyncIPythonInteractiveManager,
    AsyncPythonInterpreter,
    IPythonInteractive,
    IPythonInteractiveManager,
    IPythonInterpreter,
    PythonInterpreter,
    SandboxLimits,
)
from trivium.actions.python._interpreters import strip_fence
from trivium.exceptions import ConfigurationError
from trivium.schema import ActionReturn, ActionStatusCode

from ._sandboxes import call

CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title('{}')\nplt.show()\nprint('drawn')"
DOT = "from IPython.display import Image, display; display(Image(b'\\x89PNG\\r\\n\\x1a\\n' + b'{}', format='png'))"


@pytest.fixture(scope="module")
def python() -> Iterator[IPythonInterpreter]:
    python = IPythonInterpreter()
    yield python
    python.close()


def with_kernels_of(
    action: IPythonInterpreter | PythonInterpreter | IPythonInteractive, owner: IPythonInterpreter
) -> Any:
    """An action that runs code in the kernels of another: a kernel takes a second to start."""
    action.kernels = owner.kernels
    return action


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
        ("breakpoint()\n1", ["1"]),
        ("import importlib.util as u, sys\n'debugpy' in sys.modules, not u.find_spec('debugpy')", ["(False, False)"]),
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
    executor = ActionExecutor(python)
    for each in (code, "40 + 2"):
        outcome = executor(call(each, "IPythonInterpreter"), session_id="odd").content
    assert (outcome.errmsg, outcome.format_result()) == (None, "42")


def test_a_model_cannot_take_more_time_than_there_is(python: IPythonInterpreter):
    """Nor less: an interrupt that comes before the code has begun is not lost, and is no success."""
    python = with_kernels_of(IPythonInterpreter(timeout=0.5), python)
    python.run("mark = 'kept'")
    for timeout in (1e9, float("inf"), *(0, float("nan"), -1) * 4):
        outcome = python.run("while True: pass", timeout=timeout)
        assert outcome.state is ActionStatusCode.API_ERROR
        assert (outcome.errmsg or "").startswith("stopped after 0")
        assert "the variables are kept" in (outcome.errmsg or "")
    assert python.run("mark").format_result() == "'kept'"


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="user_data_dir"):
        IPythonInterpreter(user_data_dir=tmp_path / "none")


def test_a_call_ends_at_its_time_and_keeps_the_variables(python: IPythonInterpreter):
    python.run("x = 5")
    outcome = python.run("while True: pass", timeout=0.5)
    assert (outcome.errmsg or "").startswith("stopped after 0.5 seconds; the variables are kept")
    assert python.run("x").format_result() == "5"


def test_a_chart_comes_back_as_a_file(tmp_path: Path, python: IPythonInterpreter):
    python = with_kernels_of(IPythonInterpreter(timeout=60, work_dir=tmp_path / "images"), python)
    outcome = python.run(CHART.format("Growth"))
    assert [each["type"] for each in outcome.result or ()] == ["image", "text"]
    chinese = python.run(CHART.format("国内生产总值"))
    assert chinese.errmsg is None
    images = [Path(each["content"]) for each in (*outcome.result, *chinese.result) if each["type"] == "image"]  # type: ignore[misc] # pyright: ignore[reportGeneralTypeIssues, reportOptionalIterable] # fmt: skip
    assert len(set(images)) == 2
    del python
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
        assert python.run(fake % content).format_result() == "[an image is left out: it is not a PNG]"


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
    assert strip_fence(text) == code


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
def test_a_program_gives_its_answer(settings: dict[str, Any], code: str, answer: str, python: IPythonInterpreter):
    program = with_kernels_of(PythonInterpreter(**settings), python)
    assert program.run(code).format_result() == answer
    outcome = program.run("pass")
    assert (outcome.errmsg is None) is ("answer_from_stdout" in settings)


def test_programs_at_once_do_not_mix(python: IPythonInterpreter):
    program = with_kernels_of(AsyncPythonInterpreter(), python)
    codes = [f"def solution(): return {each}" for each in range(8)]

    async def main() -> list[ActionReturn]:
        return await asyncio.gather(*map(program.run, codes))

    assert [each.format_result() for each in asyncio.run(main())] == list("01234567")


def test_many_pieces_run_each_in_the_kernel_of_its_session():
    manager, twin = IPythonInteractiveManager(max_workers=2), AsyncIPythonInteractiveManager()
    both = manager(["x = 1; x", "x = 2; x"])
    assert isinstance(both, list)
    assert [each.format_result() for each in both] == ["1", "2"]
    one = manager("x", 1)
    assert isinstance(one, ActionReturn)
    assert one.format_result() == "2"
    as_tool = ActionExecutor(manager)(call("x", "IPythonInteractiveManager"), session_id=1)
    assert as_tool.content.format_result() == "2"
    with pytest.raises(ConfigurationError, match="2 pieces, 1 sessions"):
        manager(["1", "2"], [0])
    twin.kernels = manager.kernels

    async def awaited() -> list[str]:
        many = await twin(["x", "x + 2"], [1, 1])
        assert isinstance(many, list)
        return [each.format_result() for each in many]

    assert asyncio.run(awaited()) == ["2", "4"]
    manager.close()


def test_limits_are_those_that_were_given():
    shell = IPythonInteractive(max_out_len=100, limits=SandboxLimits(memory=200 << 20))
    assert "MemoryError" in (shell.run("x = bytearray(250 << 20)").errmsg or "")
    text = shell.run("print('a' * 1000 + 'b')").format_result()
    assert text.startswith("a" * 50)
    assert text.endswith("b")
    assert "902 characters are left out" in text
    shell.close()
