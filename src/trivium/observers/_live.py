"""A live view of runs in a terminal."""

from __future__ import annotations

import sys
import time
from collections import deque
from logging import INFO
from threading import Lock
from typing import TYPE_CHECKING, Any

from trivium.commander import EndedEvent, Event, QueuedEvent, StartedEvent
from trivium.exceptions import MissingExtraError
from trivium.observers._forest import Forest
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.console import Console, RenderableType
    from rich.live import Live

_LIFE = (StartedEvent, EndedEvent, QueuedEvent)
_MOST_WAITING = 10_000


class LiveTree:
    """A tree of the nodes that run, drawn in the terminal: their time, their tokens, and what happened there last.

    After a node comes the end of its model's text, or the summary of its last event: a tool call, a retry, a fallback,
    a wait for a rate limit, a cache hit, an approval, or an event of your own. Nodes that have ended fold into counts,
    so a run of any size stays within the height of the terminal; the last picture stays. Without a terminal nothing is
    written. Enter it, and give it as a listener to any number of calls and commanders, from any thread. It is drawn
    beside the run, which never waits for it.

    Args:
        console: a `rich` console to draw on; stderr by default, so that stdout stays clean.
        summary: write the last picture, without colours, also without a terminal.
        refresh_per_second: how often it is drawn; default 8.

    Raises:
        MissingExtraError: `rich` is not installed; it comes with the extra "cli".

    Example:
        >>> from trivium import Agent
        >>> from trivium.testing import ScriptedModel
        >>> with LiveTree() as live:
        ...     Agent(ScriptedModel(["hello"]))("hi", listeners=[live]).content
        'hello'
    """

    @checked
    def __init__(self, *, console: Console | None = None, summary: bool = False, refresh_per_second: float = 8) -> None:
        try:
            from rich.console import Console
        except ImportError:
            raise MissingExtraError("rich", "cli") from None
        self.console = console or Console(stderr=True)
        self.refresh_per_second = refresh_per_second
        self._is_drawn = self.console.is_terminal and not self.console.is_dumb_terminal
        self._is_watched = self._is_drawn or summary
        self._live: Live | None = None
        # Listening is one append. The thread that draws brings the forest up to date, or a listener if too many wait.
        self._waiting: deque[tuple[float, Event]] = deque()
        self._forest = Forest()
        self._forest_lock = Lock()

    def __call__(self, event: Event) -> None:
        """Accept one event."""
        if not self._is_watched or event.piece == "":
            return
        if event.level < INFO and event.usage is None and not isinstance(event, _LIFE):
            return
        self._waiting.append((time.monotonic(), event))
        # Without waiting for the lock: this may run inside a finalizer, within the very block that holds it.
        if len(self._waiting) > _MOST_WAITING and self._forest_lock.acquire(blocking=False):
            try:
                self._catch_up()
            finally:
                self._forest_lock.release()

    def _catch_up(self) -> None:
        for _ in range(len(self._waiting)):  # not more than there was: a busy run would keep it here endlessly
            self._forest.accept(*self._waiting.popleft())

    def _draw(self) -> RenderableType:
        from trivium.observers._picture import Picture

        with self._forest_lock:
            self._catch_up()
            return Picture(self._forest, time.monotonic(), self.console).render()

    def __enter__(self) -> Self:
        if self._is_drawn and self._live is None:
            from rich.live import Live

            self._live = Live(
                console=self.console,
                get_renderable=self._draw,
                refresh_per_second=self.refresh_per_second,
                vertical_overflow="crop",
                redirect_stdout=_is_terminal(sys.stdout),
                redirect_stderr=_is_terminal(sys.stderr),
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()
        elif self._is_watched:
            self.console.print(self._draw())


def _is_terminal(stream: Any) -> bool:
    return hasattr(stream, "isatty") and stream.isatty()
