"""The note that something is being done."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from trivium.exceptions import MissingExtraError
from trivium.settings import quiet_mode, settings_in_force

_logger = logging.getLogger("trivium.observers")


@contextmanager
def status(msg: str, log_if_quiet: bool = True) -> Generator[None]:
    """Show on standard error, within the block, that something is being done; where the settings say quiet, log it.

    The block is quiet: what it calls shows nothing between.

    Args:
        msg: the text.
        log_if_quiet: log it, at the level INFO, where nothing is shown.

    Raises:
        MissingExtraError: it is to be shown, and the extra "cli" is not installed.

    Example:
        >>> with status("Reading the lease ..."):
        ...     print("done")
        done
    """
    with ExitStack() as stack:
        now = settings_in_force()
        if not now.quiet:
            _show(msg, stack)
        elif log_if_quiet:
            _logger.info(msg)
        stack.enter_context(quiet_mode(not now.debug))
        yield


def _show(msg: str, stack: ExitStack) -> None:
    try:
        from rich.console import Console
        from rich.errors import LiveError
    except ImportError:
        raise MissingExtraError("rich", "cli") from None
    try:
        stack.enter_context(Console(stderr=True).status(msg))
    except LiveError:  # something else is displayed already
        _logger.info(msg)
