"""`trivium runs`, `show`, `resume`, `replay`, `diff`, `fork`, `approve` and `forget`: the durable runs of a journal."""

from __future__ import annotations

import atexit
import json
import math
import os
import re
import sys
import time
from datetime import datetime
from getpass import getuser
from pathlib import Path
from typing import Any, Final

from rich.text import Text
from rich.tree import Tree

from trivium.actions.lowlevel import call_text
from trivium.cli._objects_at import import_agent, import_object
from trivium.cli._screen import as_error, stdout, write_line
from trivium.events import safe_line, safe_text
from trivium.exceptions import ConfigurationError, RunError, TriviumError, UnknownRunError
from trivium.journal import Journal, PendingApproval, RunInfo, RunNode, RunView, WaitingRun, ask_later
from trivium.journal.lowlevel import decided_in, is_there
from trivium.observers import format_seconds, format_usage
from trivium.schema import Usage
from trivium.ui import run_page

DIFFERENT = 3
"""The exit status of a comparison that found a difference."""
LEFT = 3
"""The exit status of a command that has deleted runs, of which something still stands in a file."""
_PATIENCE = 2.0
"""Seconds for which others that read the journal are waited for."""
_PAUSE = 0.1
_WIDEST = 40
"""The widest that one long id makes the column of all ids."""
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_GOING_ON = ("scheduled", "queued", "running", "paused", "killed")
"""The statuses of runs that are at work, or can go on."""
_LONGEST_VALUE: Final = 400
"""Characters of a value that is neither a text nor what a tool gave, as of a vector, or of what a retriever found."""
_COLOURS = {"done": "green", "running": "cyan", "paused": "yellow", "stopped": "yellow"}


def open_journal(place: str) -> Journal:
    """Open the journal of a file that exists, of a database, or the object at `module:object`, which knows its types.

    It is closed when the command ends.

    Raises:
        ConfigurationError: there is no such file or object.
    """
    if "://" in place or is_there(place, Path.is_file):
        made = Journal(place, key=os.environ.get("TRIVIUM_JOURNAL_KEY", ""))
        atexit.register(made.close)
        return made
    if ":" in place:
        found: object = import_object(place, "journal", "agents:journal", (Journal,))
        if isinstance(found, Journal):
            return found
        raise ConfigurationError(f"{safe_line(place)} is of the class {type(found).__name__}; name a Journal")
    raise ConfigurationError(f"there is no journal {safe_line(place)}: name another by --journal, or TRIVIUM_JOURNAL")


def open_queues(place: str) -> Journal:
    """Open the journal of a database, whose runs can be queued; see `open_journal`.

    Raises:
        ConfigurationError: it is a file, or there is no such object.
    """
    if ":" not in place or is_there(place, Path.is_file):
        raise ConfigurationError(
            f"runs are queued in PostgreSQL, and {safe_line(place)} names a file: give --journal postgresql://HOST/NAME"
        )
    return open_journal(place)


def list_runs(journal: Journal, status: str | None, as_json: bool, limit: int) -> None:
    """List the runs, the latest first; those that wait in a queue before those that have begun; as JSON all of them."""
    waiting = [each for each in journal.waiting() if status in (None, each.status)]
    runs = [each for each in journal.runs() if status in (None, each.status)]
    if as_json:
        for each in waiting:
            write_json_line(_waiting_json(each))
        for each in runs:
            write_json_line(_info_json(each))
        return
    screen, left = stdout(), len(waiting) + len(runs) - limit
    waiting, runs = waiting[:limit], runs[: max(0, limit - len(waiting))]
    wide = min(_WIDEST, max((len(safe_line(each.id)) for each in (*waiting, *runs)), default=0))
    for each in waiting:
        screen.print(_waiting_line(each, wide), soft_wrap=True)
    for each in runs:  # no table: an id that is cut short cannot be given to the other commands
        took = "" if each.ended is None else format_seconds(each.ended - each.started)
        status_text = (f"{each.status:<11}", _COLOURS.get(each.status, "red"))
        tries = f"{each.epoch} attempts" if each.epoch > 1 else ""
        rest = ", ".join(filter(None, (safe_line(each.root), took, tries)))
        line = Text.assemble(f"{safe_line(each.id):<{wide}}  ", status_text, f"{format_time(each.started)}  {rest}")
        screen.print(line, soft_wrap=True)
        if each.why:
            screen.print(Text(f"  {safe_line(each.why)}", style="red"), soft_wrap=True)
    if left > 0:
        write_line(f"and {left:,} more: `trivium runs --limit N` shows N of them, --json all")


def _waiting_json(run: WaitingRun) -> dict[str, object]:
    told = {"run": run.id, "root": run.program, "status": run.status, "started": None, "ended": None}
    return {**told, "attempts": 0, "why": run.why, "queue": run.queue, "at": run.at}


def _waiting_line(run: WaitingRun, wide: int) -> Text:
    begins = "" if run.at is None else f"begins at {format_time(run.at)}"
    rest = ", ".join(filter(None, (safe_line(run.program), f"in {safe_line(run.queue)}", begins, safe_line(run.why))))
    return Text.assemble(
        f"{safe_line(run.id):<{wide}}  ", (f"{run.status:<11}", "blue"), f"{format_time(run.since)}  {rest}"
    )


def format_time(at: float) -> str:
    """Return a time in this machine's zone."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")


def show_run(journal: Journal, run_id: str, as_json: bool, content: bool, paths: bool) -> None:
    """Show a run: its status, the reason of its failure, and its tree with times and costs; or that it waits."""
    try:
        run = journal.view(run_id)
    except UnknownRunError:
        waiting = next((each for each in journal.waiting() if each.id == run_id), None)
        if waiting is None:
            raise
        if as_json:
            write_json_line(_waiting_json(waiting))
        else:
            stdout().print(_waiting_line(waiting, 0), soft_wrap=True)
        return
    top = run.tree()
    if as_json:
        nodes = [_node_json(each, content) for each in top.walk()]
        told = {**_info_json(run.info), "why": run.why, **_usage_json(top.total), "nodes": nodes}
        if run.forked_from is not None:
            told["forked_from"] = run.forked_from._asdict()
        if run.result is not None:
            told["result"] = _plain_text(run.result.content)
        write_json_line(told)
        return
    screen = stdout(is_wrapped=False)
    screen.print(
        Text.assemble((safe_line(run.id), "bold"), "  ", (run.info.status, _COLOURS.get(run.info.status, "red")))
    )
    if run.why:
        screen.print(Text(as_error(run.why), style="red"))
    if run.forked_from is not None:
        screen.print(Text(f"forked from {safe_line(run.forked_from.run_id)}", style="dim"))
    for message in (run.input or ()) if content else ():
        screen.print(Text(f"> {safe_text(_plain_text(message.content))}", style="cyan"))
    screen.print(_tree(top, content, paths))


def write_page(journal: Journal, run_id: str, page: Path) -> None:
    """Write a run as a page of one file.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    text = run_page(journal.view(run_id).as_json())
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{safe_line(str(page))} cannot be written: {error.strerror}") from None
    write_line(f"wrote {safe_line(str(page))}")


def _tree(top: RunNode, content: bool, paths: bool) -> Tree:
    tree = Tree(_line(top, top.name, top.total, content), guide_style="dim")
    todo = [(top, tree)]
    while todo:
        node, branch = todo.pop()
        for child in node.children:
            path = child.path.replace("#0", "")
            label = path if paths else path.rpartition("/")[2]
            todo.append((child, branch.add(_line(child, label, child.usage, content))))
    return tree


def _line(node: RunNode, label: str, usage: Usage, content: bool) -> Text:
    facts = "".join(f"  {each}" for each in (format_seconds(node.seconds), *format_usage(usage)))
    text = Text.assemble((safe_line(label), "bold"), (facts, "dim"))
    if node.error:
        text.append(f"  {safe_line(node.error)}", style="red")
    elif node.status == "open":
        text.append("  not ended", style="yellow")
    if content and node.outcome is not None:
        text.append(f"\n{safe_text(_content(node))}", style="cyan")
    return text


def _plain_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _content(node: RunNode) -> str:
    """Return what a node was answered: the text and the calls of a model, and else the value or its beginning."""
    if node.reply is None:
        text = _plain_text(node.outcome)
        is_whole = isinstance(node.outcome, str) or node.name.startswith("tool:") or len(text) <= _LONGEST_VALUE
        return text if is_whole else f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters: --json has them)"
    text, calls = node.reply
    said = [f"{each.name} {each.arguments}" for each in calls]
    return "\n".join(each for each in (text, *said) if each)


def repeat_run(journal: Journal, run_id: str, reference: str, *, is_replay: bool, as_json: bool) -> None:
    """Resume a run with the program at `module:object`, or replay it, and write its result.

    Raises:
        ConfigurationError: there is no such program, or the run is that of other code.
        RunError: code of the program has failed.
    """
    run = journal.view(run_id)
    run.check_repeatable()
    program = import_agent(reference)
    try:
        result = run.replay(program) if is_replay else run.resume(program, approve=program.approve or ask_later)
    except TriviumError:
        raise
    except Exception as error:
        why = journal.view(run_id).why or f"{type(error).__name__}: {error}"
        raise RunError(f"{why}; --debug shows the code that failed") from error
    write_result(journal, run_id, result.content, as_json)


def write_result(journal: Journal, run_id: str, content: object, as_json: bool) -> None:
    """Write the result of a run; as JSON with what `trivium runs` tells of it, and its tokens and dollars.

    Where no terminal reads it, it is written as it is.
    """
    said = _plain_text(content)
    if as_json:
        write_json_line(
            {**_info_json(journal.info(run_id)), "content": said, **_usage_json(journal.view(run_id).usage)}
        )
    else:
        sys.stdout.write(f"{safe_text(said) if sys.stdout.isatty() else said}\n")


def diff_runs(journal: Journal, first: str, second: str, as_json: bool) -> int:
    """Write the first difference of two runs; return 0 if there is none, and else 3."""
    found = journal.view(first).diff(journal.view(second))
    if as_json:
        write_json_line(None if found is None else found._asdict())
    elif found is None:
        write_line("the two runs are alike")
    else:
        sys.stdout.write(f"{safe_text(str(found))}\n")
    return 0 if found is None else DIFFERENT


def fork_run(journal: Journal, run_id: str, new: str | None, at: str | None, edit: str | None, as_json: bool) -> None:
    """Start a new run from a node of another, and write its id."""
    change: dict[str, Any] = {} if edit is None else {"edit": edit}
    fork: RunView = journal.view(run_id).fork(new, at=at, **change)
    if as_json:
        write_json_line(_info_json(fork.info))
    else:
        sys.stdout.write(f"{safe_line(fork.id)}\n")
        command = f"`trivium resume {safe_line(fork.id)} MODULE:OBJECT` goes on with it"
        write_line(f"nothing of it has run; {command if fork.input else 'run your program again with this id'}")


def decide_call(
    journal: Journal, run_id: str, digest: str | None, by: str, reason: str | None, key: Path | None, as_json: bool
) -> None:
    """Show the calls of a run that wait for a decision; or approve one, or refuse it.

    Raises:
        ConfigurationError: it is decided on no call; or the beginning of a digest stands for none of them, or for
            several; or the key is none.
    """
    waiting = journal.pending(run_id)
    if digest is None:
        if by or key is not None or reason is not None:
            raise ConfigurationError(
                f"say on which call you decide: `trivium approve {safe_line(run_id)}` shows those that wait, and each "
                "begins with its DIGEST"
            )
        _show_waiting(waiting, as_json)
        return
    found = [each for each in waiting if each.digest.startswith(digest)]
    if digest and not found and (decision := decided_in(journal.entries(run_id), digest)):
        (is_approved, who, *_), at = decision
        did = "approved" if is_approved else "refused"
        raise ConfigurationError(f"{safe_line(digest)} was {did} by {safe_line(who)} at {format_time(at)}")
    if not digest or len(found) != 1:
        number = (digest and len(found)) or "none"
        raise ConfigurationError(
            f"{safe_line(digest) or 'an empty text'} stands for {number} of the calls that wait: "
            f"`trivium approve {safe_line(run_id)}` shows them"
        )
    who = by or getuser()
    secret = None if key is None else _read_key(key)
    if reason is None:
        journal.approve(run_id, found[0].digest, by=who, key=secret)
    else:
        journal.refuse(run_id, found[0].digest, reason, by=who, key=secret)
    write_line(f"{safe_line(who)} has {'approved' if reason is None else 'refused'} {safe_line(found[0].name)}")


def _show_waiting(waiting: list[PendingApproval], as_json: bool) -> None:
    for each in waiting:
        if as_json:
            write_json_line({"digest": each.digest, "name": each.name, "arguments": each.arguments, "why": each.why})
        else:
            sys.stdout.write(f"{each.digest}  {call_text(each.name, each.arguments)}\n")
            sys.stdout.write(f"  {safe_line(each.why)}\n" if each.why else "")
    if not waiting:
        write_line("no call of it waits for a decision")


def _read_key(file: Path) -> bytes:
    try:
        return bytes.fromhex(file.read_text("utf-8-sig"))
    except (OSError, ValueError):
        raise ConfigurationError(f"{safe_line(str(file))} holds no key: 64 hexadecimal digits") from None


def find_runs(journal: Journal, session: str | None, age: str | None, status: str | None, is_agreed: bool) -> list[str]:
    """Return the ids of runs of a session, an age and a status, if the user agrees that they are deleted.

    Without a status, those are left out that are at work or can go on.

    Raises:
        ConfigurationError: the age is none, or there is nobody to ask.
    """
    before = math.inf if age is None else time.time() - _seconds_of(age)
    waiting = journal.waiting() if session is None else ()  # none of these is of a session
    known = [(each.id, each.status, each.since) for each in waiting]
    known += [(each.id, each.status, each.ended or each.started) for each in journal.runs(session_id=session)]
    old = [(run_id, found) for run_id, found, at in known if at < before]
    ids = [run_id for run_id, found in old if found == status or (status is None and found not in _GOING_ON)]
    if not ids or is_agreed:
        return ids
    asked = f"this deletes {len(ids):,} {'run' if len(ids) == 1 else 'runs'}"
    asked += "" if session is None else f" of the session {safe_line(session)}"
    asked += "" if age is None else f" older than {age}"
    if not sys.stdin.isatty():
        raise ConfigurationError(f"{asked}: add --yes")
    sys.stderr.write(f"{asked}. Go on? [y/N] ")
    return ids if sys.stdin.readline().strip().lower() in ("y", "yes") else []


def _seconds_of(age: str) -> int:
    found = re.fullmatch(r"(\d{1,6})([mhdw])", age, re.ASCII)
    if found is None:
        raise ConfigurationError(
            f"{safe_line(age)} is no age: write a number of up to six digits with m, h, d or w, as 30d"
        )
    return int(found[1]) * _UNITS[found[2]]


def forget_runs(journal: Journal, run_ids: list[str], session: str | None) -> int:
    """Delete runs, or all runs of a session; return 0, or 3 if some text of them still stands in a file.

    Raises:
        UnknownRunError: there is no such run; none is deleted then.
        RunAliveError: one is at work, or waits for its turn at a server; those named before it are deleted.
    """
    known = {each.id for each in (*journal.waiting(), *journal.runs())}
    number = 0
    for each in sorted(dict.fromkeys(run_ids), key=known.__contains__):  # first those of which at most a server knows
        found = journal.forget(each)
        if not found and each not in known:
            journal.info(each)  # which says that there is none
        number += found
    if session is not None:
        number += journal.forget(session_id=session)
    write_line(f"{number} {'run is' if number == 1 else 'runs are'} deleted")
    until = time.monotonic() + _PATIENCE
    while (left := journal.sweep()) and time.monotonic() < until:
        time.sleep(_PAUSE)
    if left:
        write_line(
            f"what they have said still stands in {safe_line(left)}, as another program reads the journal: it goes "
            "when all that have it open have closed it"
        )
    return LEFT if left else 0


def _info_json(info: RunInfo) -> dict[str, Any]:
    return {
        "run": info.id, "root": info.root, "status": info.status, "started": info.started, "ended": info.ended,
        "attempts": info.epoch, "why": info.why,
    }  # fmt: skip


def _node_json(node: RunNode, content: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "path": node.path, "key": node.key, "name": node.name, "status": node.status, "started": node.started,
        "seconds": node.seconds, "error": node.error, **_usage_json(node.usage),
    }  # fmt: skip
    return {**told, "asked": node.asked, "outcome": node.outcome} if content else told


def _usage_json(usage: Usage) -> dict[str, Any]:
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "usd": usage.usd}


def write_json_line(value: object) -> None:
    """Write a value to stdout as one line of JSON in ASCII."""
    sys.stdout.write(json.dumps(value) + "\n")
