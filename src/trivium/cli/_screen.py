"""The output of all commands: lines and progress bars on stderr, results on stdout."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from trivium.events import safe_line, safe_text

_ENDLESS = 10_000
_OPTIONS = {
    "max_bytes": "--max-megabytes",
    "ReadLimits(memory=…)": "--max-megabytes",
    "ReadLimits(seconds=…)": "--max-seconds",
    "ReadLimits(scanned_pages=…)": "--max-scans",
    "IngestLimits(seconds=…)": "--max-seconds",
    "base_url": "--base-url",
    ", or give api_key=": "",
    "edit= replaces": "--edit replaces",
    "name it by at=": "name it by --at",
    ", or find_sources(FOLDER, include=[PATTERN])": " without quotes, or their folder",
    "journal.approve(…), journal.refuse(…) or `trivium approve": "`trivium approve",
    ", then call again with the same run id": ", then resume it, or submit it again",
    "; '' is the default of this machine": "; 'none' searches by words alone",
}


def prepare() -> None:
    """Prepare stdin, stdout and stderr.

    Any character can be written, and pipes are UTF-8. A closed stream discards all, and as the input it has ended.
    """
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(os.open(os.devnull, os.O_RDWR), mode, closefd=False) if each is None else each
        for each, mode in ((sys.stdin, "r"), (sys.stdout, "w"), (sys.stderr, "w"))
    )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
            if not stream.isatty():
                stream.reconfigure(encoding="utf-8")


class _LogLines(logging.Handler):
    """Writes what is logged to stderr, without characters that control the terminal.

    Args:
        has_tracebacks: whether the traceback of an error is written too.
    """

    def __init__(self, *, has_tracebacks: bool) -> None:
        super().__init__(logging.WARNING)
        self.formatter = logging.Formatter() if has_tracebacks else _WithoutTraceback()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; one that cannot be told is reported, as by other handlers, and no error of who logs it."""
        try:
            write_line(safe_text(self.format(record)))
        except Exception:
            self.handleError(record)


class _WithoutTraceback(logging.Formatter):
    def formatException(self, ei: object) -> str:
        """Return nothing: the message says what has happened."""
        return ""


def show_log(*, has_tracebacks: bool) -> None:
    """Write to stderr what is logged, unless the user's program has configured that itself."""
    logging.lastResort = _LogLines(has_tracebacks=has_tracebacks)


def silence() -> None:
    """Discard the rest of stdout's buffer: its reader has gone, or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_json(value: object) -> None:
    """Write a value to stdout as one line of JSON; at a terminal, escapes stand for what would control it."""
    text = json.dumps(value, ensure_ascii=False)
    if sys.stdout.isatty():
        text = "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
    sys.stdout.write(f"{text}\n")


def as_error(error: object) -> str:
    """Return the text of an error on one line, with options of the command line in place of arguments."""
    text = safe_line(error)
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text


def in_words(count: int, names: str) -> str:
    """Return a number of things: `in_words(1, "files")` is "1 file"."""
    return f"{count:,} {names if count != 1 else names.removesuffix('s')}"


def write_line(line: str) -> None:
    """Write one line for the user, on stderr."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def stdout(*, is_wrapped: bool = True) -> Console:
    """Return the console for results; it wraps at the terminal's width.

    Args:
        is_wrapped: whether it also wraps if no terminal reads it; else each line is as long as it is.
    """
    return Console(highlight=False, width=None if is_wrapped or sys.stdout.isatty() else _ENDLESS)


def stderr() -> Console:
    """Return the console for all but results; if no terminal reads it, long lines are not wrapped."""
    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def bar(*columns: Any, quiet: bool = False) -> Progress:
    """Return a progress bar on stderr, with the time that has passed, and by default the time that is left.

    It is hidden if stderr is not a terminal, or cannot rewrite a line.
    """
    console = Console(stderr=True)
    name, left = TextColumn("{task.description}", markup=False), TimeRemainingColumn(compact=True)
    shown = columns or (
        TextColumn("{task.completed}/{task.total}"),
        name,
        TextColumn("left"),
        left,
        TextColumn("passed"),
    )
    return Progress(
        BarColumn(bar_width=24, complete_style="cyan", finished_style="cyan"),
        *shown,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        disable=quiet or not sys.stderr.isatty() or console.is_dumb_terminal,
    )
