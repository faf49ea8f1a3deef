"""The `trivium` command, the only package that writes to the terminal by itself. No other package imports it."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import Any

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the `trivium` command with the arguments of this process."""
    try:
        status = _run()
    except KeyboardInterrupt:  # loading takes a moment, and so does the end of what was interrupted
        status = _INTERRUPTED
    end_at_once_if_interrupted()  # as in `run`, also for what did not fail
    engine: Any = sys.modules.get("trivium.llms.local._engine")
    if engine is not None and engine.is_busy():
        _leave(status)
    sys.exit(status)


def end_at_once_if_interrupted() -> None:
    """Let a later Ctrl-C end the process without a traceback; in another thread than the main one it stays as it is."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run() -> int:
    """Run the command; return its exit status."""
    try:
        from trivium.cli._app import run
    except ImportError as error:
        if sys.argv[1:2] == ["doctor"]:  # it tells what is missing, so it needs nothing of it
            from trivium.cli._doctor import run_doctor

            return run_doctor("--json" in sys.argv)
        if error.name not in ("rich", "typer"):
            raise
        from trivium.exceptions import MissingExtraError

        sys.exit(f"error: {MissingExtraError(error.name, 'cli')}")
    return run(sys.argv[1:])


def _leave(status: int) -> None:
    """End the process now: the interpreter would wait for a thread that loads a model or reads a prompt."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - the only way to run them without joining threads
    os._exit(status)
