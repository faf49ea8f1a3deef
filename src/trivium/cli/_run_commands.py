"""The commands on durable runs, and their options; `_runs` carries them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

__all__ = ["COMMANDS", "RUNS_EXAMPLES"]

RUNS_EXAMPLES: Final = """\b
Examples:
  trivium runs --status failed
  trivium show order-17
  trivium resume order-17 agents:buyer
  trivium fork order-17 order-17b --at buyer/tool:look --edit "It rains."
  trivium diff order-17 order-17b
\b
The journal is runs.db in this folder, or --journal, or $TRIVIUM_JOURNAL: a
  file, or module:object for a Journal(…) of your own.
PATH is that of a node as `trivium show` has it: BUYER/model#1 is the second
  answer of BUYER's model.
Exit status: 0; 3 if two runs differ; 1 if it fails; 2 for a wrong option;
  130 after Ctrl-C."""

_Journal = Annotated[
    str, typer.Option("--journal", metavar="FILE", envvar="TRIVIUM_JOURNAL", help="The journal of the runs.")
]
_Run = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")]
_Program = Annotated[
    str, typer.Argument(metavar="MODULE:OBJECT", help="The agent that it began with, or a function that makes one.")
]
_AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
_DEFAULT: Final = "runs.db"


def _runs(
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help="running, done, failed, stopped, paused or killed.")
    ] = None,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """List the durable runs of a journal, the latest first."""
    from trivium.cli import _runs as runs

    runs.list_runs(runs.open_journal(journal), status, json)


def _show(
    run: _Run,
    content: Annotated[bool, typer.Option("--content", help="Show what models and tools answered.")] = False,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """Show a run: why it failed, and its tree with times, tokens and dollars."""
    from trivium.cli import _runs as runs

    runs.show_run(runs.open_journal(journal), run, json, content)


def _resume(
    run: _Run,
    program: _Program,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on with an agent that was changed meanwhile.")
    ] = False,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """Go on with a run where it was broken off; modules of this folder are found.

    What is recorded is not asked or done again. Of a run that is done it writes the result.
    """
    from trivium.cli import _runs as runs

    opened = runs.open_journal(journal)
    runs.repeat_run(
        opened.accepting_changes() if accept_changes else opened, run, program, is_replay=False, as_json=json
    )


def _replay(run: _Run, program: _Program, journal: _Journal = _DEFAULT, json: _AsJson = False) -> None:
    """Run a program again by the records alone: no model and no tool is called.

    A run that failed fails with the same error, so that a debugger can stop there.
    """
    from trivium.cli import _runs as runs

    runs.repeat_run(runs.open_journal(journal), run, program, is_replay=True, as_json=json)


def _diff(
    run: _Run,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The id of the other run.")],
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> int:
    """Show the first difference of two runs."""
    from trivium.cli import _runs as runs

    return runs.diff_runs(runs.open_journal(journal), run, other, json)


def _fork(
    run: _Run,
    new: Annotated[
        str | None, typer.Argument(metavar="NEW", help="The id of the new run; else a number is added.")
    ] = None,
    at: Annotated[str | None, typer.Option(metavar="PATH", help="The node that runs again; else the end.")] = None,
    edit: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it was answered instead: it does not run again.")
    ] = None,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """Make a new run of one, which goes its own way from a node on."""
    from trivium.cli import _runs as runs

    runs.fork_run(runs.open_journal(journal), run, new, at, edit, json)


def _forget(
    run: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="The ids of runs.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="All runs of this session.")] = None,
    journal: _Journal = _DEFAULT,
) -> None:
    """Delete runs and all their records."""
    from trivium.cli import _runs as runs

    runs.forget_runs(runs.open_journal(journal), run or [], session)


COMMANDS: Final[dict[str, tuple[Callable[..., Any], str]]] = {
    "runs": (_runs, "List the durable runs of a journal."),
    "show": (_show, "Show a run, and why it failed."),
    "resume": (_resume, "Go on with a run."),
    "replay": (_replay, "Run it again without models and tools."),
    "diff": (_diff, "Show the first difference of two runs."),
    "fork": (_fork, "Make a new run of one, from a node on."),
    "forget": (_forget, "Delete runs."),
}
