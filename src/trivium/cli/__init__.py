"""The `trivium` command: where things are shown. Nothing below imports it."""

from __future__ import annotations

import sys

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the `trivium` command with the arguments of this process."""
    try:
        from trivium.cli._app import run
    except KeyboardInterrupt:  # loading takes a moment
        sys.exit(_INTERRUPTED)
    except ImportError as error:
        if error.name not in ("rich", "typer"):
            raise
        from trivium.exceptions import MissingExtraError

        sys.exit(f"error: {MissingExtraError(error.name, 'cli')}")
    sys.exit(run(sys.argv[1:]))
