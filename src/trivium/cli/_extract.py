"""`trivium extract`: fields from documents, with evidence."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from trivium.cli._model import choose_model
from trivium.cli._records import RecordFile, as_json_line, csv_header, csv_line, csv_row
from trivium.cli._screen import as_error, bar, one_line, printable, say, stderr, stdout
from trivium.cli._sources import STDIN, find_documents, open_document, source_of
from trivium.cli._tally import Patience, Tally
from trivium.cli._views import records_view, run_tree
from trivium.commander import Limits, run_sync
from trivium.exceptions import ConfigurationError, DocumentError, RunKilledError, TriviumError
from trivium.extraction import Case, Field, Outcome, extract_files, extraction_task, load_fields, parse_fields
from trivium.llms import LocalModel, ModelProtocol
from trivium.observers import RunRecord

__all__ = ["Options", "extract"]

FAILED, INTERRUPTED = 1, 130
_Shape = Literal["jsonl", "csv", "table"]
_SUFFIXES = {"": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the command, as given."""

    fields: str | None
    schema: str | None
    model: str | None
    base_url: str | None
    output: Path | None
    format: _Shape | None
    restart: bool
    json: bool
    tree: bool
    at_once: int | None
    tries: int
    max_megabytes: int

    def shape(self) -> _Shape:
        """How stdout shows the records; a file beside it has a form of its own."""
        if self.json:
            return "jsonl"
        if self.output is not None:
            return "table"
        return self.format or ("table" if sys.stdout.isatty() else "jsonl")


def extract(files: Sequence[Path], options: Options) -> int:
    """Run the main job; see `trivium extract --help`.

    Returns:
        The exit status: 1 if a file failed, 130 if the run was interrupted.

    Raises:
        TriviumError: the run could not begin, or had to stop; what is finished was shown.
    """
    run = _Run(options, _fields(options))
    documents, errors = find_documents(files, options.output)
    for error in errors:
        run.fail(error, error.source)
    stopped: BaseException | None = None
    try:
        run.work(documents)
    except (KeyboardInterrupt, RunKilledError) as error:
        stopped = error
    except TriviumError as error:
        if not run.tally.counts["files"] + run.tally.counts["failed"]:
            raise
        stopped = error
    run.show(documents, stopped)
    if isinstance(stopped, TriviumError) and not isinstance(stopped, RunKilledError):
        raise stopped
    return INTERRUPTED if stopped else FAILED if run.tally.counts["failed"] else 0


def _fields(options: Options) -> tuple[Field, ...]:
    if options.fields is not None and options.schema is not None:
        raise ConfigurationError("--fields and --schema say the same thing: give one of them")
    if options.fields is not None:
        return parse_fields(options.fields)
    if options.schema is not None:
        return load_fields(options.schema)
    raise ConfigurationError("no fields are named: give --fields 'tenant, rent: money, starts: date', or --schema FILE")


def _target(options: Options, fields: Sequence[Field]) -> RecordFile | None:
    if options.json and options.output is None and options.format in ("csv", "table"):
        raise ConfigurationError(f"--json writes JSON lines: leave out --format {options.format}, or --json")
    if options.output is None:
        return None
    shape = options.format or _SUFFIXES.get(options.output.suffix.lower())
    if shape not in ("jsonl", "csv"):
        raise ConfigurationError(
            f"{options.output} would hold no records: name it ….jsonl or ….csv, or give --format jsonl or csv"
        )
    return RecordFile(options.output, fields, as_csv=shape == "csv", restart=options.restart)


class _Run:
    """One run of the command: the model, where its records go, and what came."""

    def __init__(self, options: Options, fields: Sequence[Field]) -> None:
        self.options, self.fields = options, fields
        self.names = [field.name for field in fields]
        self.model: ModelProtocol = choose_model(options.model, options.base_url)
        self.target = _target(options, fields)
        self.tally, self.patience, self.record = Tally(), Patience(), RunRecord()
        if options.shape() == "csv":
            sys.stdout.write(csv_line(csv_header(self.names)))

    def work(self, documents: Sequence[Path]) -> None:
        """Extract from each document that is not finished yet."""
        options, finished = self.options, self.target.finished if self.target else {}
        # Standard input is another document each time.
        unfinished = [path for path in documents if path == STDIN or source_of(path) not in finished]
        self.tally.counts["skipped"] = len(documents) - len(unfinished)
        default = 1 if isinstance(self.model, LocalModel) else 8
        # Records on a terminal would run into the bar.
        with bar(quiet=options.shape() != "table" and sys.stdout.isatty()) as progress:
            line = progress.add_task("", total=len(unfinished))

            def ended(outcome: Outcome) -> None:
                progress.advance(line)
                self.take(outcome)
                self.say_progress(outcome, int(progress.tasks[line].completed), len(unfinished))

            run_sync(
                extract_files,
                extraction_task(self.fields, self.model),
                unfinished,
                partial(_open_case, fields=self.fields, options=options),
                on_start=lambda path: progress.update(line, description=one_line(path.name)),
                on_outcome=ended,
                at_once=options.at_once or default,
                limits=Limits(turns=options.tries + 1),  # of a document: a model that only talks comes to an end
                listeners=[self.tally.hear, self.record] if options.tree else [self.tally.hear],
            )

    def take(self, outcome: Outcome) -> None:
        """Write the record of a file at once; raise the error that ends the run."""
        if outcome.error is not None:
            if self.patience.is_over(outcome.error):
                raise outcome.error
            self.fail(outcome.error, source_of(outcome.path))
        if outcome.record is None:
            return
        self.patience.worked()
        if self.target is not None:
            self.target.append(outcome.record)
        self.tally.add(outcome.record)
        shape = self.options.shape()
        if shape != "table":
            self._write(as_json_line(outcome.record) if shape == "jsonl" else csv_line(csv_row(outcome.record)))

    def say_progress(self, outcome: Outcome, done: int, total: int) -> None:
        """Where no bar is seen and the records go to a file, say which document is finished."""
        seen = self.target is None or self.options.json or sys.stderr.isatty()
        if outcome.record is not None and total > 1 and not seen:
            say(f"{done}/{total} {one_line(outcome.path.name)}")

    def fail(self, error: TriviumError, source: str) -> None:
        """Say what is wrong with one file, and go on."""
        named = isinstance(error, DocumentError) or source in str(error)
        text = as_error(error if named else f"{source}: {error}")
        self.tally.counts["failed"] += 1
        say(f"error: {text}")
        if self.options.json:
            self._write(as_json_line({"source": source, "error": text}))

    def _write(self, line: str) -> None:
        sys.stdout.write(printable(line) if sys.stdout.isatty() else line)
        sys.stdout.flush()  # whoever reads a pipe sees each record when it is there

    def show(self, documents: Sequence[Path], stopped: BaseException | None) -> None:
        """Show the records, if they were not written as they came, and the summary."""
        if self.options.shape() == "table":
            self._show_table(documents)
        for root in self.record.roots:
            stderr().print(run_tree(root))
        if self.options.json:
            self._write(json.dumps({"summary": self.tally.summary()}) + "\n")
        if not self.options.json or stopped:
            say(self._last_line(stopped))

    def _show_table(self, documents: Sequence[Path]) -> None:
        known: dict[str, Any] = {**(self.target.finished if self.target else {}), **self.tally.records}
        shown = [known[source] for path in documents if (source := source_of(path)) in known]
        if shown:
            console = stdout()
            console.print(records_view(shown, self.names, console))

    def _last_line(self, stopped: BaseException | None) -> str:
        parts = [self.tally.line()]
        if stopped is not None:
            parts.insert(0, "interrupted" if isinstance(stopped, KeyboardInterrupt) else "stopped")
        if self.target is not None and self.target.finished:
            parts.append(f"records in {self.target.path}")
            if stopped is not None:
                parts.append("the same command goes on there")
        return "; ".join(parts)


def _open_case(path: Path, *, fields: Sequence[Field], options: Options) -> Case:
    return Case(open_document(path, options.max_megabytes << 20), fields, tries=options.tries)
