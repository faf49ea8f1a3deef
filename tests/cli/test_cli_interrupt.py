"""The first Ctrl-C ends the process, also where the embedded engine cannot be interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ._command import GUARD

ENGINE = """
import signal, sys, time
from types import SimpleNamespace
from trivium.llms.local import _engine

class Server:
    def __init__(self, params):
        if "loads" in sys.argv[0]:
            self.wait()
    def wait(self):
        if "unnoticed" in sys.argv[0]:  # the signal comes to this thread, and does not wake the other
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        print("now", flush=True)
        time.sleep(600)
    def handle_metrics(self):
        pass
    def handle_chat_completions(self, body, receive):
        self.wait()

def parameters():
    return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())

_engine.load_library = lambda: SimpleNamespace(CommonParams=parameters, Server=Server)
if "unnoticed" in sys.argv[0]:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
from trivium.cli import main
main()
"""


@pytest.mark.parametrize("state", ["loads", "reads", "reads unnoticed"])
def test_ctrl_c_does_not_wait_for_the_engine(tmp_path: Path, state: str) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF".ljust(24, b"\0"))  # a file without anything
    (tmp_path / "a.txt").write_text("The rent is 950 EUR.")
    (tmp_path / f"{state}.py").write_text(ENGINE)
    arguments = ["ask", "a.txt", "What is the rent?", "--embedding", "none", "--no-store", "--model", "a.gguf"]
    process = subprocess.Popen(
        [sys.executable, f"{state}.py", *arguments],
        cwd=tmp_path,
        env={**os.environ, "TRIVIUM_CACHE": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "now\n"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=GUARD)
        finally:
            process.kill()
    assert process.returncode in (130, -signal.SIGINT)  # which a shell calls 130
    assert "Traceback" not in err


def test_a_second_ctrl_c_ends_it_at_once_and_shows_no_traceback(tmp_path: Path) -> None:
    """An MCP server that never answers is being ended when it comes."""
    os.mkfifo(tmp_path / "begun")
    server = [sys.executable, "-c", "import time; open('begun', 'w').close(); time.sleep(60)"]
    program = [sys.executable, "-c", "from trivium.cli import main; main()", "mcp", "tools", *server]
    process = subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stderr is not None
        try:
            (tmp_path / "begun").read_bytes()
            process.send_signal(signal.SIGINT)
            assert process.stderr.readline() == "interrupted\n"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=GUARD)
        finally:
            process.kill()
    assert (process.returncode, err) == (-signal.SIGINT, "")


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--version"], ""), (["mcp", "serve", "broken_off:tool"], "interrupted\n")]
)
def test_the_command_runs_in_any_thread(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "broken_off.py").write_text("raise KeyboardInterrupt")
    run = "thread = threading.Thread(target=main); thread.start(); thread.join()"
    program = [sys.executable, "-c", f"import threading; from trivium.cli import main; {run}", *arguments]
    assert subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=GUARD).stderr == said
