"""The commands on durable runs, and their options; `_runs` carries them out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

RUNS_EXAMPLES: Final = """\b
Examples:
  trivium runs --status failed
  trivium runs --open
  trivium show order-17
  trivium resume order-17 agents:buyer
  trivium fork order-17 order-17b --at buyer/tool:look --edit "It rains."
  trivium diff order-17 order-17b
  trivium approve order-17 3f2a --refuse "Too dear."
  trivium submit buyer "Buy tea." --id order-18 --wait
  git log -1 | trivium submit agents:reviewer - --queue night
  trivium cancel order-18
  trivium queues --journal postgresql://db.example.org/runs
  trivium schedules --delete daily-price
\b
The journal is runs.db in this folder, or --journal, or $TRIVIUM_JOURNAL: a
  file, or module:object for a Journal(…) of your own. Its key, if it has one,
  is $TRIVIUM_JOURNAL_KEY.
PATH is that of a node as `trivium show` has it: BUYER/model#1 is the second
  answer of BUYER's model.
Exit status: 0; 3 if two runs differ, or something of forgotten ones is left;
  1 if it fails or a run cannot be cancelled; 2 for a wrong option; 130 after
  Ctrl-C."""

EVAL_EXAMPLES: Final = """\b
Examples:
  trivium eval cases:refunds agents:support --experiment monday
  trivium eval cases:refunds agents:support --experiment tuesday --against monday
  trivium eval cases:refunds --experiment monday --report monday.html
\b
An evaluation that was broken off goes on by the same command. Without an
  agent the recorded answers are scored again.
Exit status: 0; 1 if a case has no score or it fails; 2 for a wrong option;
  3 if it is worse than --against or below --fail-under; 130 after Ctrl-C."""

WORKER_EXAMPLES: Final = """\b
Examples:
  trivium worker agents:buyer --journal postgresql://db.example.org/runs
  trivium worker agents:buyer clerk=agents:make_clerk --queue default --queue night:2
\b
Runs come from `journal.submit("buyer", "…", run_id="order-17")`. SIGTERM and
  Ctrl-C let those end that are at work; what is left goes on elsewhere.
Exit status: 0 after SIGTERM, 143 if a sync tool holds it up; 1 if it fails;
  2 for a wrong option or object; 130 after Ctrl-C."""

_Status = Literal["running", "done", "failed", "stopped", "paused", "killed", "queued", "scheduled", "cancelled"]
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
        _Status | None,
        typer.Option(
            metavar="STATUS",
            help="Only running, done, failed, stopped, paused, killed, queued, scheduled or cancelled before it began.",
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Look at them in a browser, until Ctrl-C.")] = False,
    report: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="With --open: show this page of `trivium extract` too.")
    ] = None,
    port: Annotated[int, typer.Option(metavar="PORT", help="The port for --open; 0: any free one.")] = 0,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The most that are listed; --json lists all.")] = 50,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """List the durable runs of a journal, the latest first; or look at them in a browser."""
    from trivium.cli import _runs as runs

    opened = runs.open_journal(journal)
    if open_:
        from trivium.cli._serve import browse_runs

        browse_runs(opened, port, report or ())
    else:
        runs.list_runs(opened, status, json, limit)


def _show(
    run: _Run,
    content: Annotated[
        bool, typer.Option("--content", help="Show what was asked, and what models and tools answered.")
    ] = False,
    paths: Annotated[bool, typer.Option("--paths", help="Show the whole path of each node, for --at.")] = False,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it as an HTML page that needs no network.")
    ] = None,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """Show a run: why it failed, and its tree with times, tokens and dollars."""
    from trivium.cli import _runs as runs

    if page is not None:
        runs.write_page(runs.open_journal(journal), run, page)
    runs.show_run(runs.open_journal(journal), run, json, content, paths)


def _resume(
    run: _Run,
    program: _Program,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on with an agent that was changed meanwhile.")
    ] = False,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """Resume a run where it was interrupted; modules of this folder are found.

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
    """Show the first difference between two runs."""
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
    """Start a new run from a node of another."""
    from trivium.cli import _runs as runs

    runs.fork_run(runs.open_journal(journal), run, new, at, edit, json)


def _forget(
    run: Annotated[list[str] | None, typer.Argument(metavar="RUN", help="The ids of runs.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Runs of this session.")] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Runs that ended longer ago, as 90m, 12h, 30d or 8w.")
    ] = None,
    status: Annotated[_Status | None, typer.Option(metavar="STATUS", help="Only those of this status.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --older-than or --status: do not ask.")] = False,
    journal: _Journal = _DEFAULT,
) -> int:
    """Delete runs and all that is kept of them: those named, or those of which all options are true.

    One that is at work is refused. Without --status, --older-than leaves out those that wait or are killed, too.
    Where another program is reading the journal, the text stands in its log until all have closed it: status 3.
    """
    from trivium.cli import _runs as runs

    if not run and session is None and older_than is None:
        raise typer.BadParameter("name the runs to forget, or --session, or --older-than")
    if run and (session, older_than, status) != (None, None, None):
        raise typer.BadParameter("name the runs to forget, or choose them by --session, --older-than and --status")
    opened = runs.open_journal(journal)
    if older_than is None and status is None:
        return runs.forget_runs(opened, run or [], session)
    return runs.forget_runs(opened, runs.find_runs(opened, session, older_than, status, yes), None)


def eval_command(
    dataset: Annotated[str, typer.Argument(metavar="MODULE:DATASET", help="A Dataset, or a function that makes one.")],
    agent: Annotated[
        str | None, typer.Argument(metavar="MODULE:AGENT", help="The agent, or a function that makes one.")
    ] = None,
    experiment: Annotated[
        str, typer.Option(metavar="NAME", help="The name of what is tried; a changed agent needs another.")
    ] = "first",
    against: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare with this earlier experiment.", show_default=False)
    ] = None,
    scorer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare, and --fail-under, by this scorer.", show_default=False)
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each case.")] = 1,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Runs at the same time.")] = 8,
    max_usd: Annotated[
        float | None, typer.Option(min=0.0, metavar="USD", help="Dollars that all runs may cost.", show_default=False)
    ] = None,
    fail_under: Annotated[
        float | None, typer.Option(metavar="MEAN", help="End with status 3 below this mean score.", show_default=False)
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page.", show_default=False)] = None,
    inspect: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a log (.json) for `inspect view`.", show_default=False)
    ] = None,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> int:
    """Run an agent on the cases of a dataset, score its answers, and compare; modules of this folder are found."""
    from trivium.cli import _eval

    options = _eval.EvalOptions(
        experiment=experiment,
        against=against,
        scorer=scorer,
        repeat=repeat,
        at_once=at_once,
        max_usd=max_usd,
        fail_under=fail_under,
        journal=journal,
        report=report,
        inspect=inspect,
        json=json,
    )
    return _eval.evaluate_agent(dataset, agent, options)


def worker_command(
    references: Annotated[
        list[str], typer.Argument(metavar="[NAME=]MODULE:OBJECT...", help="Agents, or functions that make one.")
    ],
    queue: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:N]", help="A queue, and the most of its runs at once in all workers; else default."
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of a queue at once in a worker.")] = 16,
    grace: Annotated[float, typer.Option(min=0, metavar="S", help="Seconds that runs have to end.")] = 5.0,
    attempts: Annotated[
        int, typer.Option(min=1, metavar="N", help="Times that a run may end its worker without getting further.")
    ] = 10,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on with runs whose agents were changed meanwhile.")
    ] = False,
    journal: _Journal = _DEFAULT,
) -> None:
    """Take runs from the queues of a journal in PostgreSQL; modules of this folder are found."""
    from trivium.cli import _runs, _worker

    opened = _runs.open_queues(journal)
    opened = opened.accepting_changes() if accept_changes else opened
    _worker.work(references, opened, queue or ["default"], at_once=concurrency, grace=grace, attempts=attempts)


def _submit(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="The name under which workers serve it, or its MODULE:OBJECT.")
    ],
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What it is asked; - is stdin.")],
    run: Annotated[
        str | None, typer.Option("--id", metavar="RUN", help="The id of the run, or of the schedule; else one is made.")
    ] = None,
    queue: Annotated[str, typer.Option(metavar="NAME", help="The queue.")] = "default",
    priority: Annotated[
        int, typer.Option(min=0, metavar="N", help="From 1 on, the smaller one runs first; 0: before all those.")
    ] = 0,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it may begin, as 2026-11-24T07:00.", show_default=False)
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(metavar="CRON", help="Make a schedule: '0 7 * * *' is 7:00 each day, in UTC.", show_default=False),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds that an attempt may take.", show_default=False)
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end, and write its result.")] = False,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """Put a run into a queue of a journal in PostgreSQL, from which a worker takes it, and write its id.

    Submitted again with the same id and text, a run is attached to; one that has failed or was cancelled goes on.
    """
    from trivium.cli import _queues as queues
    from trivium.cli import _runs

    options = queues.SubmitOptions(
        run_id=run, queue=queue, priority=priority, at=at, every=every, timeout=timeout, wait=wait, json=json
    )
    queues.submit_run(_runs.open_queues(journal), program, text, options)


def _cancel(
    run: Annotated[list[str], typer.Argument(metavar="RUN", help="The ids of runs.")],
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> int:
    """Cancel runs that were submitted to a queue, wherever a worker has them; each that cannot be is told.

    Submitted again, a run that was cancelled goes on where it was.
    """
    from trivium.cli import _queues as queues
    from trivium.cli import _runs

    return queues.cancel_runs(_runs.open_journal(journal), run, json)


def _list_queues(journal: _Journal = _DEFAULT, json: _AsJson = False) -> None:
    """List the queues of a journal in PostgreSQL with the runs in them, and the workers."""
    from trivium.cli import _queues as queues
    from trivium.cli import _runs

    queues.list_queues(_runs.open_queues(journal), json)


def _schedules(
    delete: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Delete this schedule; may be repeated.")
    ] = None,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """List the schedules of a journal in PostgreSQL, or delete some; runs that they have submitted stay."""
    from trivium.cli import _queues as queues
    from trivium.cli import _runs

    opened = _runs.open_queues(journal)
    if delete:
        queues.delete_schedules(opened, delete)
    else:
        queues.list_schedules(opened, json)


def _approve(
    run: _Run,
    digest: Annotated[
        str | None, typer.Argument(metavar="DIGEST", help="The call; without one, those that wait are shown.")
    ] = None,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who decides; else the user of this machine.")] = "",
    refuse: Annotated[
        str | None, typer.Option(metavar="REASON", help="Refuse it; the model reads why.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your private Ed25519 key, in hexadecimal.", show_default=False)
    ] = None,
    journal: _Journal = _DEFAULT,
    json: _AsJson = False,
) -> None:
    """Decide on a call of a paused run; it goes on when it is resumed, one of a queue by itself."""
    from trivium.cli import _runs as runs

    runs.decide_call(runs.open_journal(journal), run, digest, by, refuse, key, json)


COMMANDS: Final[dict[str, tuple[Callable[..., Any], str]]] = {
    "runs": (_runs, "List the durable runs of a journal."),
    "show": (_show, "Show a run, and why it failed."),
    "resume": (_resume, "Resume a run."),
    "replay": (_replay, "Replay a run without models and tools."),
    "diff": (_diff, "Show the first difference between two runs."),
    "fork": (_fork, "Start a new run from a node of another."),
    "approve": (_approve, "Approve or refuse a waiting call."),
    "forget": (_forget, "Delete runs."),
    "submit": (_submit, "Put a run into a queue."),
    "cancel": (_cancel, "Cancel runs of a queue."),
    "queues": (_list_queues, "List the queues and workers of a journal."),
    "schedules": (_schedules, "List or delete the schedules of a journal."),
}
