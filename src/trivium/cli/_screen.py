"""Where all commands write: lines and bars on stderr, results on stdout."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["as_error", "bar", "one_line", "prepare", "printable", "say", "silence", "stderr", "stdout"]

_OPTIONS = {
    "max_bytes": "--max-megabytes",
    "base_url": "--base-url",
    ", or give api_key=": "",
    "; '' is the default of this machine": "; 'none' searches by words alone",
}


def prepare() -> None:
    """Let no character be unwritable; what a program reads is UTF-8 everywhere. A closed stream takes all."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
            if not stream.isatty():
                reconfigure(encoding="utf-8")


def silence() -> None:
    """Nobody reads stdout any more, or it is full: what is left in its buffer goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable(text: str) -> str:
    """Text without what would steer the terminal; a document's text is not to be trusted."""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text)


def one_line(text: object) -> str:
    """Text on one line."""
    return printable(" ".join(str(text).split()))


def as_error(error: object) -> str:
    """What an error says, on one line, in the words of the command line."""
    text = one_line(error)
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text


def say(line: str) -> None:
    """Write one line for people, on stderr."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def stdout() -> Console:
    """The console that results go to; it wraps at the terminal's width."""
    return Console(highlight=False)


def stderr() -> Console:
    """The console for what is no result; a program that reads it gets long lines whole."""
    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def bar(*columns: Any, quiet: bool = False) -> Progress:
    """A progress bar on stderr; nothing where nobody watches, or where a line cannot be written anew."""
    console = Console(stderr=True)
    shown = columns or (TextColumn("{task.completed}/{task.total}"), TextColumn("{task.description}", markup=False))
    return Progress(
        BarColumn(bar_width=24, complete_style="cyan", finished_style="cyan"),
        *shown,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        disable=quiet or not sys.stderr.isatty() or console.is_dumb_terminal,
    )
