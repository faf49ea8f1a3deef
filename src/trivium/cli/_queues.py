"""`trivium submit`, `cancel`, `queues` and `schedules`: runs that workers take from the queues of a journal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from uuid import uuid4

from rich.text import Text

from trivium.cli._objects_at import import_agent
from trivium.cli._runs import format_time, write_json_line, write_result
from trivium.cli._screen import stdout, write_line
from trivium.events import safe_line
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    RunError,
    RunKilledError,
    TriviumError,
    UnknownRunError,
)
from trivium.journal import Journal, QueuedRun, Schedule

_PATIENCE = 2.0
"""Seconds after which a run that no worker takes is told."""


class SubmitOptions(NamedTuple):
    """The options of `trivium submit`; see there."""

    run_id: str | None
    queue: str
    priority: int
    at: str | None
    every: str | None
    timeout: float | None
    wait: bool
    json: bool


def submit_run(journal: Journal, program: str, messages: Sequence[str], options: SubmitOptions) -> None:
    """Put a run into a queue, or make a schedule, and write its id; or wait for the run and write its result.

    Raises:
        ConfigurationError: an option cannot be what it is for, or the journal is no PostgreSQL database.
        RunError: code of the program has failed, or the run was cancelled meanwhile.
    """
    name = import_agent(program).name if ":" in program else program
    said = [sys.stdin.read() if each == "-" else each for each in messages]
    run_id, queue, timeout = options.run_id or f"{name}-{uuid4().hex[:12]}", options.queue, options.timeout
    if options.every is not None:
        if options.wait or options.priority or options.at is not None:
            raise ConfigurationError("--every goes with none of --wait, --priority and --at: its runs have their times")
        _write_schedule(
            journal.submit(name, *said, run_id=run_id, queue=queue, every=options.every, timeout=timeout), options.json
        )
        return
    run = journal.submit(
        name, *said, run_id=run_id, queue=queue, priority=options.priority, at=_time(options.at), timeout=timeout
    )
    if options.wait:
        write_result(journal, run_id, _result(journal, run), options.json)
    elif options.json:
        write_json_line({"run": run_id, "status": run.status()})
    else:
        sys.stdout.write(f"{safe_line(run_id)}\n")
        write_line(f"it is {run.status()}: `trivium show {safe_line(run_id)}` follows it")


def _time(text: str | None) -> datetime | None:
    """Return the time of a text, which is in this machine's zone if it names none."""
    try:
        return None if text is None else datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise ConfigurationError(f"--at {safe_line(text or '')} is no time: write it as 2026-11-24T07:00") from None


def _result(journal: Journal, run: QueuedRun) -> object:
    """Return the answer of a run when it has ended, and tell meanwhile if no worker takes it."""
    try:
        with suppress(DeadlineExceededError):
            return run.result(timeout=_PATIENCE).content
        if why := next((each.why for each in journal.waiting() if each.id == run.id), ""):
            write_line(f"{safe_line(why)}: it waits until one is there, as `trivium worker NAME=MODULE:OBJECT`")
        return run.result().content
    except RunKilledError as error:  # no Ctrl-C of this process
        raise RunError(str(error)) from error
    except TriviumError:
        raise
    except Exception as error:
        raise RunError(f"the run {run.id!r} failed with {type(error).__name__}: {error}") from error


def cancel_runs(journal: Journal, run_ids: Sequence[str], as_json: bool) -> int:
    """Cancel runs that were submitted, and tell of each; return 1 if one cannot be cancelled, and else 0."""
    told = {each: _cancel(journal, each) for each in run_ids}
    for run_id, (status, why) in told.items():
        if as_json:
            write_json_line({"run": run_id, "status": status, "why": why})
        else:
            write_line(f"{safe_line(run_id)} {f'is {status}' if status else 'is unknown'}{f': {why}' if why else ''}")
    return int(any(why for _, why in told.values()))


def _cancel(journal: Journal, run_id: str) -> tuple[str | None, str]:
    """Cancel a run; return its status then, None for one that is unknown, and why it cannot be cancelled, or ""."""
    try:
        run = _submitted(journal, run_id)
        if run is not None:
            run.cancel()
            status = run.status()
            return status, "" if status == "cancelled" else "it has ended"
        status = journal.info(run_id).status
    except UnknownRunError:
        return None, "`trivium runs` lists those that there are"
    if status != "running":
        return status, "nothing is at work on it, and it is in no queue"
    return status, "it was not submitted to a queue: end the program that is at work on it, or cancel it at its server"


def _submitted(journal: Journal, run_id: str) -> QueuedRun | None:
    """Return a run that was submitted; None: no queue of the journal has it."""
    try:
        return journal.submitted(run_id) if "://" in journal.place else None
    except UnknownRunError:
        return None


def list_schedules(journal: Journal, as_json: bool) -> None:
    """List the schedules, by name.

    Raises:
        ConfigurationError: the journal is no PostgreSQL database.
    """
    for each in journal.schedules():
        _write_schedule(each, as_json)


def delete_schedules(journal: Journal, names: Sequence[str]) -> None:
    """Delete schedules, all of them or none; the runs that they have submitted stay.

    Raises:
        UnknownScheduleError: there is no such schedule.
    """
    for each in [journal.scheduled(name) for name in dict.fromkeys(names)]:
        each.cancel()
        write_line(f"the schedule {safe_line(each.name)} is deleted")


def _write_schedule(schedule: Schedule, as_json: bool) -> None:
    following, program, queue = schedule.next().astimezone(), schedule.program, schedule.queue
    if as_json:
        told = {"schedule": schedule.name, "root": program, "queue": queue, "every": schedule.every}
        write_json_line({**told, "next": following.timestamp()})
        return
    rest = f"{safe_line(program)} in {safe_line(queue)}, next at {following:%Y-%m-%d %H:%M:%S %Z}"
    stdout().print(Text(f"{safe_line(schedule.name)}: {safe_line(schedule.every)} (UTC), {rest}"), soft_wrap=True)


def list_queues(journal: Journal, as_json: bool) -> None:
    """List the queues with their runs, and then the workers.

    Raises:
        ConfigurationError: the journal is no PostgreSQL database.
    """
    queues, workers = journal.queues(), journal.workers()
    if as_json:
        for each in queues:
            given = each._asdict()
            write_json_line({"queue": given.pop("name"), **given})
        for each in workers:
            given = each._asdict()
            write_json_line({"worker": given.pop("id"), **given})
        return
    screen = stdout()
    for each in queues:
        limit = "" if each.limit is None else f" of {each.limit}"
        counts = f"{each.scheduled} scheduled, {each.queued} queued, {each.running}{limit} running"
        takers = f"{each.workers or 'no'} {'worker' if each.workers == 1 else 'workers'}"
        screen.print(Text(f"{safe_line(each.name)}: {counts}; {takers}"), soft_wrap=True)
    for each in workers:
        names = ", ".join(safe_line(name) for name in each.queues if "@" not in name)
        place = f"process {each.pid} of {safe_line(each.host)}, since {format_time(each.since)}"
        screen.print(Text(f"worker {safe_line(each.id)}: {place}, takes from {names}"), soft_wrap=True)
