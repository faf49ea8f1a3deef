"""A progress bar for batches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from trivium.exceptions import MissingExtraError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.console import Console


class ProgressBar:
    """A bar on stderr, drawn on terminals only. Enter it, and call it with the items done and the total.

    Args:
        title: the text before the bar.
        console: a `rich` console to draw on; stderr by default, so that stdout stays clean.

    Raises:
        MissingExtraError: `rich` is not installed; it comes with the extra "cli".
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        except ImportError:
            raise MissingExtraError("rich", "cli") from None
        console = console or Console(stderr=True)
        self._title = title
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
            disable=not console.is_terminal or console.is_dumb_terminal,
        )
        self._task = self._progress.add_task(title, total=None)

    def __call__(self, done: int, total: int | None) -> None:
        """Set how many items are done, and of how many; None: the total is not known."""
        self._progress.update(self._task, completed=done, total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._progress.update(self._task, description=f"{self._title}: stopped")
        self._progress.stop()
