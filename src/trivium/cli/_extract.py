"""`trivium extract`: extract fields from documents, with evidence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rich.progress import Progress

from trivium.cli._durable import ExtractionRuns, check_known, journal_beside, journal_files
from trivium.cli._model import choose_model, default_interrupt
from trivium.cli._places import check_places, reserved
from trivium.cli._records import CSV, JSONLines, Record, RecordFile
from trivium.cli._report import Report
from trivium.cli._screen import as_error, bar, one_line, printable, stderr, stdout, write_line
from trivium.cli._sources import STDIN, ReadOptions, find_documents, open_document, source_of
from trivium.cli._tables import TableFile
from trivium.cli._tally import Patience, Tally
from trivium.cli._views import records_view, run_tree
from trivium.commander import Limits, run_sync
from trivium.exceptions import ConfigurationError, DocumentError, RunKilledError, TriviumError
from trivium.extraction import Case, Field, Outcome, extract_files, extraction_task, load_fields, parse_fields
from trivium.llms import LocalModel, ModelProtocol
from trivium.observers import RunRecord
from trivium.parsing import PagedDocument
from trivium.schema import Document

FAILED, INTERRUPTED = 1, 130
_Shape = Literal["jsonl", "csv", "table"]
_SUFFIXES = {
    "": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".xlsx": "xlsx",
    ".parquet": "parquet",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """The options of the command, as given."""

    fields: str | None
    schema: str | None
    model: str | None
    base_url: str | None
    output: Path | None
    report: Path | None
    format: _Shape | None
    restart: bool
    journal: str | None
    json: bool
    tree: bool
    at_once: int | None
    tries: int
    excerpt: int | None
    min_confidence: float | None
    reading: ReadOptions

    def shape(self) -> _Shape:
        """Return the form of the records on stdout; a file beside it may have another form."""
        if self.json:
            return "jsonl"
        if self.output is not None:
            return "table"
        return self.format or ("table" if sys.stdout.isatty() else "jsonl")


def run_extraction(files: Sequence[Path], options: ExtractOptions) -> int:
    """Extract fields from files; see `trivium extract --help`.

    Returns:
        The exit status: 1 if a file failed, 130 if the run was interrupted.

    Raises:
        TriviumError: the run could not begin, or had to stop; the finished records were shown.
    """
    with ExitStack() as reservations:
        return _work(_Run(files, options, _fields_of(options), reservations), files)


def _work(run: _Run, files: Sequence[Path]) -> int:
    options = run.options
    runs = journal_files(run.runs.place) if run.runs is not None else []
    documents, errors = find_documents(files, [options.output, options.report, *runs], options.reading)
    for error in errors:
        run.fail(error, error.source)
    run.tally.counts["folders"] = len(errors)
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
    if run.runs is not None:
        run.runs.journal.close()
    if isinstance(stopped, TriviumError) and not isinstance(stopped, RunKilledError):
        raise stopped
    return INTERRUPTED if stopped else FAILED if run.tally.counts["failed"] else 0


def _fields_of(options: ExtractOptions) -> tuple[Field, ...]:
    if options.fields is not None and options.schema is not None:
        raise ConfigurationError("--fields and --schema have the same purpose: give one of them")
    if options.fields is not None:
        return parse_fields(options.fields)
    if options.schema is not None:
        return load_fields(options.schema)
    raise ConfigurationError("no fields are named: give --fields 'tenant, rent: money, starts: date', or --schema FILE")


def _shape_of(options: ExtractOptions, fields: Sequence[Field]) -> tuple[str, bool]:
    """Return the form of the output, "" for none, and whether it is a table, which is written at the end."""
    if options.json and options.output is None and options.format in ("csv", "table"):
        raise ConfigurationError(f"--json writes JSON lines: leave out --format {options.format}, or --json")
    if options.output is None:
        return "", False
    shape = options.format or _SUFFIXES.get(options.output.suffix.lower())
    if shape is None or shape == "table":
        raise ConfigurationError(
            f"{options.output} would hold no records: name it ….jsonl, ….csv, ….xlsx or ….parquet, or give --format "
            "jsonl or csv"
        )
    return shape, shape not in ("jsonl", "csv") or (shape == "csv" and any(field.columns for field in fields))


class _Run:
    """One run of the command: the model, the target of its records, and their counts."""

    def __init__(
        self, files: Sequence[Path], options: ExtractOptions, fields: Sequence[Field], reservations: ExitStack
    ) -> None:
        self.options, self.fields = options, fields
        self.names = [field.name for field in fields]
        self.model: ModelProtocol = choose_model(options.model, options.base_url)
        confidence = isinstance(self.model, LocalModel)  # the other models tell no probabilities of a tool call
        if options.min_confidence is not None and not confidence:
            raise ConfigurationError(
                f"--min-confidence needs the probabilities of tokens, which {self.model.name} does not tell: leave it "
                "out, or use the embedded model (--model default)"
            )
        self.target = self._target(files, confidence, reservations)
        self.runs = self._runs()
        self.report = Report(options.report, self.names) if options.report is not None else None
        self.cases: dict[str, Case] = {}
        self.tally, self.patience, self.record = Tally(), Patience(), RunRecord()
        self.form = CSV(fields, confidence=confidence) if options.shape() == "csv" else JSONLines(fields)
        if options.shape() == "csv":
            sys.stdout.write(self.form.header)

    def _target(
        self, files: Sequence[Path], confidence: bool, reservations: ExitStack
    ) -> RecordFile | TableFile | None:
        """Return what is written to the output, which no other run writes meanwhile."""
        options, path = self.options, self.options.output
        shape, is_table = _shape_of(options, self.fields)
        own = None if path is None or not is_table or options.journal else journal_beside(path)
        journal = {"--journal": options.journal, "the journal of --output": own}
        check_places(files, {"--output": path, "--report": options.report, **journal})
        if path is None:
            return None
        reservations.enter_context(reserved(path, is_kept=not is_table))
        if is_table:
            return TableFile(path, self.fields, shape=shape, confidence=confidence)
        return RecordFile(path, self.fields, as_csv=shape == "csv", restart=options.restart, confidence=confidence)

    def work(self, documents: Sequence[Path]) -> None:
        """Extract from each document that is not finished yet."""
        options, finished = self.options, self.target.finished if self.target else {}
        # Standard input is another document each time.
        unfinished = [path for path in documents if path == STDIN or source_of(path) not in finished]
        self.tally.counts["skipped"] = len(documents) - len(unfinished)
        default = self.model.parallel if isinstance(self.model, LocalModel) else 8
        questions = 1 + sum(field.is_rows for field in self.fields)
        # Records on a terminal would run into the bar.
        with bar(quiet=options.shape() != "table" and sys.stdout.isatty()) as progress:
            line = progress.add_task("", total=len(unfinished))
            if isinstance(self.model, LocalModel):
                self.model.while_loading = partial(without_bar, progress)

            def open_case(path: Path) -> Case:
                def show_page(page: int, count: int) -> None:
                    progress.update(line, description=f"{one_line(path.name)}, page {page} of {count}")

                document = self.read(path, show_page)
                self.warn_of_unread(document)
                case = Case(
                    document,
                    self.fields,
                    budget=options.excerpt,
                    tries=options.tries,
                    min_confidence=options.min_confidence,
                )
                if self.report is not None:
                    self.cases[source_of(path)] = case
                return case

            def receive(outcome: Outcome) -> None:
                progress.advance(line)
                self.receive(outcome)
                self.report_progress(outcome, int(progress.tasks[line].completed), len(unfinished))

            run_sync(
                extract_files,
                extraction_task(self.fields, self.model),
                unfinished,
                open_case,
                on_start=lambda path: progress.update(line, description=one_line(path.name)),
                on_outcome=receive,
                at_once=options.at_once or default,
                limits=Limits(turns=options.tries * questions + 1),  # whatever the model says, it ends
                **self.durable(),
                listeners=[self.tally.receive, self.record] if options.tree else [self.tally.receive],
            )

    def _runs(self) -> ExtractionRuns | None:
        """Return the runs of the documents: in the user's journal, or in that of a table, which is made of them."""
        place, target = self.options.journal, self.target
        if not isinstance(target, TableFile):
            return None if place is None else ExtractionRuns(place, f"extract {one_line(self.model.name)}")
        own = journal_beside(target.path)
        if place is None and not self.options.restart:
            check_known(target.path, own.name, own.exists())
        runs = ExtractionRuns(own) if place is None else ExtractionRuns(place, f"extract {target.path}")
        for record in () if self.options.restart else runs.records(runs.run_id(self.fields), target.path):
            target.append(record)
        if target.finished:
            target.check_unchanged()
        return runs

    def durable(self) -> dict[str, Any]:
        """Return the options of durable runs, if there is a journal: each document is one."""
        if self.runs is None:
            return {}
        if self.options.restart:
            self.runs.forget()
        return {"journal": self.runs.journal, "run_id": self.runs.run_id(self.fields)}

    def warn_of_unread(self, document: Document) -> None:
        """Report pages that are images, and were not read."""
        if isinstance(document, PagedDocument) and document.unread_pages:
            pages = ", ".join(map(str, document.unread_pages))
            source = one_line(document.metadata.source)
            write_line(f"{source}: these pages are images and were not read: {pages}; install tesseract-ocr")

    def receive(self, outcome: Outcome) -> None:
        """Write the record of a file at once; raise the error that ends the run."""
        case = self.cases.pop(source_of(outcome.path), None)
        if outcome.error is not None:
            if self.patience.is_exhausted(outcome.error):
                raise outcome.error
            self.fail(outcome.error, source_of(outcome.path))
        if outcome.record is None:
            return
        self.patience.reset()
        if self.target is not None:
            self.target.append(outcome.record)
        self.tally.add(outcome.record)
        if self.report is not None and case is not None:
            self.report.add(outcome.record, case.document, case.spans(), self.options.reading.limits)
        if self.options.shape() != "table":
            self._write(self.form.write(outcome.record))

    def add_finished(self, report: Report, documents: Sequence[Path]) -> None:
        """Add the records of an earlier run; their documents are read once more."""
        for path in documents:
            record = self.target.finished.get(source_of(path)) if self.target else None
            if record is not None and source_of(path) not in self.tally.records:
                try:
                    document = self.read(path)
                except TriviumError:
                    document = None
                report.add(record, document, {}, self.options.reading.limits)

    def read(self, path: Path, on_page: Callable[[int, int], object] | None = None) -> Document:
        """Read a document as the user's options say."""
        return open_document(path, self.options.reading, on_page)

    def report_progress(self, outcome: Outcome, done: int, total: int) -> None:
        """Report each finished document, and the time that is left, if no bar is visible and there is a file."""
        seen = self.target is None or self.options.json or sys.stderr.isatty()
        if outcome.record is not None and total > 1 and not seen:
            left = f", {self.tally.time_left(done, total)} left" if done < total else ""
            write_line(f"{done}/{total} {one_line(outcome.path.name)}{left}")

    def fail(self, error: TriviumError, source: str) -> None:
        """Report the error of one file."""
        named = isinstance(error, DocumentError) or source in str(error)
        text = as_error(error if named else f"{source}: {error}")
        self.tally.counts["failed"] += 1
        write_line(f"error: {text}")
        if self.options.json:
            self._write(self.form.write({"source": source, "error": text}))

    def _write(self, line: str) -> None:
        sys.stdout.write(printable(line) if sys.stdout.isatty() else line)
        sys.stdout.flush()  # the reader of a pipe gets each record at once

    def show(self, documents: Sequence[Path], stopped: BaseException | None) -> None:
        """Show the records, if they were not written before, and the summary."""
        if self.options.shape() == "table":
            known: dict[str, Record] = {**(self.target.finished if self.target else {}), **self.tally.records}
            records = [known[source] for path in documents if (source := source_of(path)) in known]
            if records:
                console = stdout()
                console.print(records_view(records, self.names, console))
        if self.target is not None:
            self.target.finish()
        if self.report is not None:
            self.add_finished(self.report, documents)
            self.report.write(self.tally.line())
        for root in self.record.roots:
            stderr().print(run_tree(root))
        if self.options.json:
            self._write(json.dumps({"summary": self.tally.summary()}) + "\n")
        if self.options.json and not stopped:
            return
        parts = [self.tally.line()]
        if stopped is not None:
            parts.insert(0, "interrupted" if isinstance(stopped, KeyboardInterrupt) else "stopped")
        if self.target is not None and self.target.finished:
            parts.append(f"records in {self.target.path}")
            if stopped is not None:
                parts.append("the same command continues there")
        write_line("; ".join(parts))


@contextmanager
def without_bar(progress: Progress) -> Generator[None]:
    """Hide the bar while a model is loaded: Ctrl-C then ends the process at once, and nobody would show the cursor."""
    progress.stop()
    with default_interrupt():
        yield
    progress.start()
