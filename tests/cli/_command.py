"""The command in a process of its own: on pipes, and on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

import pytest

from ._zygote import Forked

__all__ = ["FIELDS", "GUARD", "Command", "Ended", "Process", "needs_program", "script_of"]

Process = subprocess.Popen[str] | Forked
"""One that was started, or one that was forked."""

GUARD = 60
"""Seconds after which a process hangs."""
FIELDS = "tenant, rent: money, starts: date"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_OURS = ("TRIVIUM_", "OPENAI_")
_TRIVIUM = str(Path(sys.executable).with_name("trivium"))
_PYTHONS_OWN = {"PYTHONPATH", "PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL", "TZ"}
"""What Python heeds only as it starts."""
_SETTINGS = ("PYTHONUNBUFFERED", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "TTY_COMPATIBLE")


def needs_program(program: str, package: str) -> str:
    """Return where a program is; a test without it fails, and names the package."""
    if found := which(program):
        return found
    if program in os.environ.get("TRIVIUM_TEST_WITHOUT", "").split(","):
        pytest.skip(f"TRIVIUM_TEST_WITHOUT names {program}")
    pytest.fail(f"{program} is missing: apt-get install {package}, or set TRIVIUM_TEST_WITHOUT={program}")


class Ended(NamedTuple):
    """What a process left: on a terminal, `out` holds both streams and `err` nothing."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """What was shown, without colours and movements; what a line was written over with is a line too."""
        return _ESCAPES.sub("", self.out).replace("\r\n", "\n").replace("\r", "\n")

    @property
    def records(self) -> list[dict[str, Any]]:
        """The JSON lines of stdout."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> str:
        """The one line that stderr holds."""
        (line,) = self.err.splitlines()
        return line.removeprefix("error: ")


class Command:
    """Runs `trivium` in a folder, with an environment that nothing of the tester's own settings reaches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: list[str] = [_TRIVIUM]
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_OURS) and key not in _SETTINGS}
        self.environment = {**kept, "PYTHONWARNINGS": "error", "TRIVIUM_CACHE": str(folder / "no store")}

    def start(self, *arguments: str, **settings: Any) -> Process:
        """A process on pipes: started anew where what it is given says more than which input it reads."""
        program = [*self._process, *arguments]
        if settings.keys() - {"stdin"} or _PYTHONS_OWN & self.environment.keys():
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            wanted: dict[str, Any] = {**pipes, **settings}
            return subprocess.Popen(
                program, cwd=self.folder, env=self.environment, text=True, encoding="utf-8", **wanted
            )
        stdin = settings.get("stdin", subprocess.DEVNULL)
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        is_typed = stdin == subprocess.PIPE
        read, typed = os.pipe() if is_typed else (os.open(os.devnull, os.O_RDONLY), -1)
        streams = (read if isinstance(stdin, int) else stdin.fileno(), to_out, to_err)
        process = Forked(program, self.folder, self.environment, streams)
        for each in (read, to_out, to_err):
            os.close(each)
        process.stdout, process.stderr = os.fdopen(out, encoding="utf-8"), os.fdopen(err, encoding="utf-8")
        if is_typed:
            process.stdin = os.fdopen(typed, "w", encoding="utf-8")
        return process

    def __call__(self, *arguments: str, **settings: Any) -> Ended:
        return self.end(self.start(*arguments, **settings))

    def end(self, process: Process) -> Ended:
        """Wait for the end of a process."""
        try:
            out, err = process.communicate(timeout=GUARD)
        finally:
            process.kill()
            process.wait()
        if process.returncode != 130:  # Ctrl-C may come between a file's opening and its `with`
            assert "Exception ignored" not in (err or ""), err
        assert process.returncode is not None
        return Ended(process.returncode, out or "", err or "")

    def extract(self, *arguments: str, model: str = "scripted:answers.json", **settings: Any) -> Ended:
        """`trivium extract` for the usual fields."""
        return self("extract", *arguments, "--fields", FIELDS, "--model", model, **settings)

    def on_terminal(
        self,
        *arguments: str,
        columns: int = 80,
        environment: Mapping[str, str] | None = None,
        seen: Callable[[str, int], object] = lambda text, terminal: None,
    ) -> Ended:
        """Run on a terminal of its own; `seen` is told the text so far, and may type on the terminal."""
        terminal, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        settings = {**self.environment, "TERM": "xterm-256color", **(environment or {})}
        program = [*self._process, *arguments]
        process = (
            subprocess.Popen(
                program, cwd=self.folder, env=settings, stdin=inside, stdout=inside, stderr=inside, text=True,
                start_new_session=True, preexec_fn=_take_terminal,
            )
            if _PYTHONS_OWN & settings.keys()
            else Forked(program, self.folder, settings, (inside, inside, inside), on_terminal=True)
        )  # fmt: skip
        os.close(inside)
        guard = threading.Timer(GUARD, process.kill)
        guard.start()
        try:
            out = _all_of(terminal, seen)
            return Ended(process.wait(GUARD), out, "")
        finally:
            guard.cancel()
            process.kill()
            process.wait()
            os.close(terminal)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C typed there is a signal to the process


def _all_of(terminal: int, seen: Callable[[str, int], object]) -> str:
    data = b""
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # how Linux says that nobody has it open any more
            piece = b""
        if not piece:
            return data.decode("utf-8", "replace")
        data += piece
        seen(data.decode("utf-8", "replace"), terminal)


def script_of(*answers: Mapping[str, Any] | str) -> str:
    """A script for `--model scripted:FILE`: each answer a record, or a text."""
    return json.dumps([each if isinstance(each, str) else {"tool": "record", "arguments": each} for each in answers])
