"""The `trivium` command, the only package that writes to the terminal by itself. No other package imports it."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the `trivium` command with the arguments of this process."""
    try:
        from trivium.cli._app import run
    except KeyboardInterrupt:  # loading takes a moment
        sys.exit(_INTERRUPTED)
    except ImportError as error:
        if sys.argv[1:2] == ["doctor"]:  # it tells what is missing, so it needs nothing of it
            from trivium.cli._doctor import run_doctor

            sys.exit(run_doctor("--json" in sys.argv))
        if error.name not in ("rich", "typer"):
            raise
        from trivium.exceptions import MissingExtraError

        sys.exit(f"error: {MissingExtraError(error.name, 'cli')}")
    status = run(sys.argv[1:])
    engine: Any = sys.modules.get("trivium.llms.local._engine")
    if engine is not None and engine.is_busy():
        _leave(status)
    sys.exit(status)


def _leave(status: int) -> None:
    """End the process now: the interpreter would wait for a thread that loads a model or reads a prompt."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - the only way to run them without joining threads
    os._exit(status)
