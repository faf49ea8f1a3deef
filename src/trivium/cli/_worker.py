"""`trivium worker`: runs of a queue, taken by this process; and `trivium queues`, which lists queues and workers."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence

from rich.text import Text

from trivium.cli._objects_at import import_agents
from trivium.cli._runs import format_time
from trivium.cli._screen import one_line, stdout, write_line
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
        names, places = one_line(", ".join(worker.served)), one_line(", ".join(worker.queues))
        write_line(f"working for {names}, from {places} of {one_line(journal.place)}; Ctrl-C ends it")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    worker.run(ready)
    if worker.runs:
        write_line(f"what is at work cannot be stopped: left to others is {one_line(', '.join(worker.runs))}")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + came[0])  # Python would wait for its thread
    if signal.SIGINT in came:
        raise KeyboardInterrupt


def _queue(text: str) -> tuple[str, int | None]:
    name, colon, most = text.partition(":")
    if not name or (colon and not (most.isdecimal() and int(most))):
        raise ConfigurationError(f"--queue {one_line(text)} is none: write NAME, or NAME:3 for three runs at once")
    return name, int(most) if colon else None


def list_queues(journal: Journal, as_json: bool) -> None:
    """List the queues with their runs, and then the workers.

    Raises:
        ConfigurationError: the journal is no PostgreSQL database.
    """
    queues, workers = journal.queues(), journal.workers()
    if as_json:
        for each in queues:
            given = each._asdict()
            sys.stdout.write(json.dumps({"queue": given.pop("name"), **given}) + "\n")
        for each in workers:
            given = each._asdict()
            sys.stdout.write(json.dumps({"worker": given.pop("id"), **given}) + "\n")
        return
    screen = stdout()
    for each in queues:
        limit = "" if each.limit is None else f" of {each.limit}"
        counts = f"{each.scheduled} scheduled, {each.queued} queued, {each.running}{limit} running"
        takers = f"{each.workers or 'no'} {'worker' if each.workers == 1 else 'workers'}"
        screen.print(Text(f"{one_line(each.name)}: {counts}; {takers}"), soft_wrap=True)
    for each in workers:
        names = ", ".join(one_line(name) for name in each.queues if "@" not in name)
        place = f"process {each.pid} of {one_line(each.host)}, since {format_time(each.since)}"
        screen.print(Text(f"worker {one_line(each.id)}: {place}, takes from {names}"), soft_wrap=True)
