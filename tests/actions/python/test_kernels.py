"""Kernels by session: started at first use, apart from one another, ended with their owner; and where there is none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.actions import SandboxLimits
from trivium.actions.python._kernel import EVICTED, Execution, Kernels
from trivium.actions.python._sandbox import Sandbox
from trivium.actions.python._seccomp import filter_program
from trivium.actions.python._supervisor import Output
from trivium.exceptions import ConfigurationError, MissingExtraError, SandboxUnavailableError

from ._sandboxes import command, descendants, execute, sandboxes


@pytest.fixture
def kernels() -> Iterator[Kernels]:
    """Two kernels at most."""
    kernels = Kernels(most=2)
    yield kernels
    kernels.close()
    assert sandboxes() == []


# ---- sessions
def test_variables_and_files_are_kept_by_session(kernels: Kernels):
    assert execute(kernels, "x = 1; open('f', 'w').write('one')", session_id="ada").text == "3"
    assert execute(kernels, "x", session_id="bob").error is not None
    assert execute(kernels, "x, open('f').read()", session_id="ada").text == "(1, 'one')"
    assert kernels.running == ["bob", "ada"]
    kernels.close("ada")
    assert kernels.running == ["bob"]
    assert execute(kernels, "'x' in globals()", session_id="ada").items == (("text", "False\n"),)


def test_several_pieces_run_one_after_another_until_one_fails(kernels: Kernels):
    found = [each for each in kernels.execute(0, ["x = 1", "x + 1", "1 / 0", "x"], 20) if each]
    assert [each.text for each in found] == ["", "2", ""]
    assert "ZeroDivisionError" in (found[-1].error or "")


def test_the_session_that_was_idle_for_longest_makes_room_and_is_reported(kernels: Kernels):
    for session in ("ada", "bob", "ada", "cyd"):
        execute(kernels, "x = 1", session_id=session)
    assert kernels.running == ["ada", "cyd"]
    assert len(sandboxes()) == 2
    again = execute(kernels, "'x' in globals()", session_id="bob")
    assert again.items == (("text", EVICTED), ("text", "False\n"))
    assert kernels.running == ["cyd", "bob"]


def test_code_of_one_session_runs_in_turn_and_of_others_at_once(kernels: Kernels):
    execute(kernels, "count = 0")
    step = "seen = count; import time; time.sleep(0.01); count = seen + 1"
    with ThreadPoolExecutor(4) as pool:
        assert all(each.error is None for each in pool.map(execute, [kernels] * 8, [step] * 8))
    assert execute(kernels, "count").text == "8"


def test_more_sessions_than_kernels_wait_for_their_turn(kernels: Kernels):
    def run(session: int) -> Execution:
        return execute(kernels, f"{session} * 2", session_id=session)

    with ThreadPoolExecutor(3) as pool:
        texts = [each.text.removeprefix(EVICTED) for each in pool.map(run, range(3))]
    assert texts == ["0", "2", "4"]
    assert len(kernels.running) == 2


def test_who_leaves_ends_the_kernel(kernels: Kernels):
    source = kernels.execute(0, ["while True: pass"], 60)
    assert next(source) is None
    source.close()  # type: ignore[attr-defined] - it is a generator
    assert kernels.running == []
    assert sandboxes() == []


def test_closing_ends_what_runs_in_another_thread(kernels: Kernels):
    source = kernels.execute(0, ["while True: pass"], 60)
    while not sandboxes():
        next(source)
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(lambda: [each for each in source if each is not None])
        kernels.close()
        (outcome,) = rest.result()
    assert not outcome.kept
    assert "ended" in (outcome.error or "")


# ---- the end
def test_kernels_that_nobody_holds_end():
    kernels = Kernels()
    execute(kernels, "1")
    assert len(sandboxes()) == 1
    del kernels
    assert sandboxes() == []


OWNER = """
import sys
from trivium.actions.python._kernel import Kernels
kernels = Kernels()
print(*[each.text for each in kernels.execute(0, ["6 * 7"], 20) if each], flush=True)
{then}
"""


def start_owner(then: str) -> tuple[subprocess.Popen[str], list[int]]:
    program = [sys.executable, "-c", OWNER.format(then=then)]
    owner = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "42\n"
    return owner, descendants(owner.pid)


def wait_for_end(pids: list[int]) -> None:
    """Return when all of them have ended; the test's time limit is the limit."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        with os.fdopen(handle) as file:
            import select

            select.select([file], [], [])


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_sandbox_ends_with_its_owner(end: signal.Signals):
    owner, inside = start_owner("sys.stdin.read()")
    assert len(inside) >= 3
    owner.send_signal(end)
    owner.communicate()
    wait_for_end(inside)


def test_the_sandbox_ends_while_it_computes_with_its_owner():
    owner, inside = start_owner("print('on', flush=True)\nfor _ in kernels.execute(0, ['while True: pass'], 60): pass")
    owner.kill()
    owner.communicate()
    wait_for_end(inside)


def test_a_program_that_ends_leaves_nothing():
    owner, inside = start_owner("sys.stdin.read(); sys.exit()")
    owner.communicate("")
    assert owner.returncode == 0
    wait_for_end(inside)


def test_a_forked_child_that_ends_takes_no_kernel_with_it(kernels: Kernels):
    owner, _ = start_owner(
        "import os\nchild = os.fork()\nif not child: sys.exit()\nos.waitpid(child, 0)\n"
        "print(*[each.text for each in kernels.execute(0, ['_'], 20) if each])"
    )
    assert owner.communicate("")[0] == "42\n"


# ---- where there is no sandbox
def test_without_bubblewrap_nothing_runs_and_the_package_is_named(kernels: Kernels, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxUnavailableError, match="apt-get install bubblewrap") as caught:
        execute(kernels, "1")
    assert caught.value.package == "bubblewrap"
    assert kernels.running == []


@pytest.mark.parametrize("name", ["memory", "processes", "cpu_seconds", "file_bytes", "file_count", "output"])
def test_limits_that_leave_no_room_for_a_kernel_are_refused(name: str):
    for value in (-1, 0):
        with pytest.raises(ConfigurationError, match=f"`{name}` is {value}"):
            SandboxLimits(**{name: value})


@pytest.mark.parametrize("said", ["setting up uid map: Permission denied", "Unknown option --info-fd"])
def test_a_bubblewrap_that_may_not_do_it_is_quoted(
    said: str, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\necho 'bwrap: {said}' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxUnavailableError, match=f"bwrap: {said}"):
        execute(kernels, "1")
    assert kernels.running == []


def test_a_bubblewrap_that_only_runs_the_command_is_no_sandbox(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The supervisor is to be found only inside."""
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done; shift; exec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxUnavailableError, match="supervisor"):
        execute(kernels, "1")


@pytest.mark.parametrize(("platform", "machine"), [("darwin", "x86_64"), ("linux", "abacus")])
def test_other_machines_are_refused(platform: str, machine: str, kernels: Kernels, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("platform.machine", lambda: machine)
    with pytest.raises(SandboxUnavailableError, match="the sandbox"):
        execute(kernels, "1")


def test_without_jupyter_the_extra_is_named(kernels: Kernels, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # pyright: ignore
    with pytest.raises(MissingExtraError, match=r'pip install -e ".\[python\]"'):
        execute(kernels, "1")


@pytest.mark.slow
def test_an_ordinary_user_has_the_same_sandbox():
    """All attempts to get out, and a bomb, by a user without rights, in a view in which all may read Python."""
    python = Path(sys.prefix).resolve()
    folders = {python, Path(sys.base_prefix).resolve(), Path(__file__).parents[3]}
    above = {folder for each in folders for folder in each.parents}
    hidden = {Path("/tmp"), *(folder for folder in above if not folder.stat().st_mode & 1)}
    view = ["bwrap", "--dev-bind", "/", "/", "--cap-add", "ALL"]
    for folder in sorted(hidden):
        view += ["--perms", "1777", "--tmpfs", str(folder)]
    for folder in sorted(each for each in above | folders if hidden & set(each.parents)):
        rule = ["--ro-bind", str(folder)] if folder in folders else ["--perms", "0755", "--dir"]
        view += [*rule, str(folder)]
    as_user = [*view, "setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"] if os.geteuid() == 0 else []
    tests = [str(Path(__file__).with_name(name)) for name in ("test_sandbox_escapes.py", "test_sandbox_abuse.py")]
    outcome = subprocess.run(
        [*as_user, str(python / "bin" / "python"), "-m", "pytest", "-q", *tests, "-k", "attempt or processes"],
        env={"PATH": "/usr/bin:/bin", "HOME": "/", "PYTHONPATH": str(Path(__file__).parents[3] / "src")},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stdout[-3000:] + outcome.stderr


def test_what_runs_inside_holds_no_file_of_the_host():
    before = set(descendants())  # what other tests have left running is not inside
    sandbox = Sandbox(SandboxLimits())
    list(sandbox.wait_until_ready())
    inside = [pid for pid in descendants() if pid not in before and command(pid).startswith(sys.executable)]
    assert inside
    files = {os.readlink(f"/proc/{pid}/fd/{fd}") for pid in inside for fd in os.listdir(f"/proc/{pid}/fd")}
    assert {file for file in files if file.startswith("/")} == {
        "/dev/null",
        "/run/kernel.log",
        "/memfd:errors (deleted)",
    }
    sandbox.close()
    with pytest.raises(StopIteration):
        next(sandbox.request({"code": "1", "seconds": 1}, 1))


def test_each_processor_has_a_filter_that_is_no_other():
    filters = [filter_program(each) for each in ("x86_64", "aarch64")]
    assert None not in filters
    assert filters[0] != filters[1]


# ---- output
@given(st.lists(st.text(st.characters(exclude_characters="\x1b\r"), max_size=40)), st.integers(2, 60))
def test_too_much_output_loses_its_middle(texts: list[str], limit: int):
    output = Output(limit)
    for text in texts:
        output.text(text)
    whole = "".join(texts)
    shown = "".join(content for _, content in output.items())
    half = limit // 2
    if len(whole) <= 2 * half:
        assert shown == whole
    else:
        left_out = len(whole) - 2 * half
        assert shown == f"{whole[:half]}\n… {left_out:,} characters are left out here …\n{whole[-half:]}"


@given(st.text(alphabet="ab\n"), st.sampled_from(["\x1b[31m", "\x1b[0m", "\x1b]0;title\x07", "\x1b[1;32;4m", "\x1bM"]))
def test_colours_are_taken_out(text: str, code: str):
    output = Output(1000)
    output.text(f"{text}{code}{text}")
    assert "".join(content for _, content in output.items()) == text + text


def test_images_stay_in_their_place_among_texts():
    output = Output(8)
    for text in ("one", "two", "three", "four"):
        output.text(text)
        output.image("aW1n")
    kinds = [kind for kind, _ in output.items()]
    assert kinds.count("image") == 4
    assert output.items()[0] == ("text", "one")
    assert output.items()[-1] == ("image", "aW1n")
