"""`trivium worker`: runs of a queue, taken by this process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from trivium.cli._objects_at import import_agents
from trivium.cli._screen import write_line
from trivium.events import safe_line
from trivium.exceptions import ConfigurationError
from trivium.journal import Journal
from trivium.workers import Worker


def work(
    references: Sequence[str], journal: Journal, queues: Sequence[str], *, at_once: int, grace: float, attempts: int
) -> None:
    """Take runs for the agents at `[name=]module:object` until SIGTERM or Ctrl-C; runs at work have time to end.

    Raises:
        ConfigurationError: there is no such agent, or the journal is no PostgreSQL database.
        KeyboardInterrupt: Ctrl-C ended it.
    """
    served, named = import_agents(references), dict(map(_queue, queues))
    worker = Worker(served, journal, queues=named, at_once=at_once, grace=grace, attempts=attempts)
    came: list[int] = []

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the second Ctrl-C does not wait
        came.append(number)
        if runs := len(worker.runs):
            write_line(f"{runs} {'run has' if runs == 1 else 'runs have'} {grace:g} s to end; then others go on")
        worker.stop()

    def ready() -> None:
        names, places = safe_line(", ".join(worker.served)), safe_line(", ".join(worker.queues))
        write_line(f"working for {names}, from {places} of {safe_line(journal.place)}; Ctrl-C ends it")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    worker.run(ready)
    if worker.runs:
        write_line(f"what is at work cannot be stopped: left to others is {safe_line(', '.join(worker.runs))}")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + came[0])  # Python would wait for its thread
    if signal.SIGINT in came:
        raise KeyboardInterrupt


def _queue(text: str) -> tuple[str, int | None]:
    name, colon, most = text.partition(":")
    if not name or (colon and not (most.isdecimal() and int(most))):
        raise ConfigurationError(f"--queue {safe_line(text)} is none: write NAME, or NAME:3 for three runs at once")
    return name, int(most) if colon else None
