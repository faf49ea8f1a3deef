"""`trivium extract`: fields from documents, with evidence."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.text import Text

from trivium.cli._model import choose_model
from trivium.cli._records import RecordFile, as_json_line, csv_header, csv_line, csv_row
from trivium.cli._screen import bar, record_table, run_tree, say, stdout
from trivium.commander import Event, run_core
from trivium.exceptions import ConfigurationError
from trivium.extraction import Case, Field, Outcome, extract_files, extraction_task, load_fields, parse_fields
from trivium.knowledge import read
from trivium.llms import LocalModel
from trivium.observers import RunRecord

__all__ = ["Options", "extract"]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command, as given."""

    fields: str | None = None
    schema: str | None = None
    model: str | None = None
    base_url: str | None = None
    output: Path | None = None
    format: Literal["jsonl", "csv", "table"] | None = None
    restart: bool = False
    json: bool = False
    tree: bool = False
    at_once: int | None = None
    tries: int = 2
    max_megabytes: int = 32


@dataclass
class _Tally:
    """What the run has brought so far, for the table and the summary."""

    began: float = field(default_factory=time.monotonic)
    counts: Counter[str] = field(default_factory=Counter[str])
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def hear(self, event: Event) -> None:
        if event.kind == "usage":
            self.counts["tokens"] += event.data.total

    def add(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        self.counts["files"] += 1
        self.counts["fields"] += len(record["fields"])
        self.counts["backed"] += sum(entry["value"] is not None for entry in record["fields"].values())
        self.counts["refused"] += len(record["refused"])

    def summary(self) -> dict[str, Any]:
        names = ("files", "fields", "backed", "refused", "failed", "skipped", "tokens")
        return {**{name: self.counts[name] for name in names}, "seconds": round(time.monotonic() - self.began, 1)}


def extract(files: Sequence[Path], options: Options) -> int:
    """Run the main job; see `trivium extract --help`.

    Returns:
        The exit status: 1 if a file failed.
    """
    fields = _fields(options)
    tally, record = _Tally(), RunRecord()
    documents = list(_documents(files))
    target = _target(options, [each.name for each in fields])
    unfinished = [path for path in documents if target is None or str(path) not in target.finished]
    tally.counts["skipped"] = len(documents) - len(unfinished)
    try:
        if unfinished:
            _work(unfinished, fields, options, target, tally, record)
    finally:
        _show(tally, [each.name for each in fields], options, record)
    return 1 if tally.counts["failed"] else 0


def _fields(options: Options) -> tuple[Field, ...]:
    if (options.fields is None) == (options.schema is None):
        raise ConfigurationError("give the fields with either --fields 'tenant, rent: money, …' or --schema FILE")
    return parse_fields(options.fields) if options.fields is not None else load_fields(options.schema or "")


def _documents(files: Iterable[Path]) -> Iterator[Path]:
    """The files, those of folders in order, each once; hidden ones are left out."""
    seen: set[Path] = set()
    for path in files:
        inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for each in inside:
            hidden = each != path and any(part.startswith(".") for part in each.relative_to(path).parts)
            if not hidden and each not in seen:
                seen.add(each)
                yield each


def _target(options: Options, names: list[str]) -> RecordFile | None:
    if options.output is None:
        return None
    as_csv = (options.format or options.output.suffix.removeprefix(".")) == "csv"
    return RecordFile(options.output, names, as_csv=as_csv, restart=options.restart)


def _work(
    paths: list[Path],
    fields: Sequence[Field],
    options: Options,
    target: RecordFile | None,
    tally: _Tally,
    record: RunRecord,
) -> None:
    model = choose_model(options.model, options.base_url)
    at_once = options.at_once or (1 if isinstance(model, LocalModel) else 8)
    with bar(quiet=options.json) as progress:
        line = progress.add_task("", total=len(paths))

        def outcome(outcome: Outcome) -> None:
            if outcome.record is None:
                tally.counts["failed"] += 1
                say(f"error: {' '.join(str(outcome.error).split())}")
            else:
                tally.add(outcome.record)
                if target is not None:
                    target.append(outcome.record)
                if options.json:
                    sys.stdout.write(as_json_line(outcome.record))
            progress.advance(line)

        run_core(
            extract_files,
            extraction_task(fields, model),
            paths,
            lambda path: Case(read(path, max_bytes=options.max_megabytes << 20), fields, tries=options.tries),
            on_start=lambda path: progress.update(line, description=f"reading {path.name}"),
            on_outcome=outcome,
            at_once=at_once,
            listeners=[tally.hear, record] if options.tree else [tally.hear],
        )


def _show(tally: _Tally, names: list[str], options: Options, record: RunRecord) -> None:
    summary = tally.summary()
    if options.json:
        sys.stdout.write(json.dumps({"summary": summary}) + "\n")
        return
    if tally.records:
        _show_records(tally.records, names, options)
    if options.tree:
        for root in record.roots:
            stdout().print(run_tree(root, str(root.session_id)))
    say(_as_line(summary, options.output))


def _show_records(records: list[dict[str, Any]], names: list[str], options: Options) -> None:
    piped = not sys.stdout.isatty() and options.output is None
    shape = options.format if options.output is None else "table"
    shape = shape or ("jsonl" if piped else "table")
    if shape == "jsonl":
        sys.stdout.writelines(as_json_line(each) for each in records)
    elif shape == "csv":
        sys.stdout.writelines([csv_line(csv_header(names)), *(csv_line(csv_row(each)) for each in records)])
    else:
        stdout().print(record_table(records, names))
        for each in records:
            for name, reason in each["refused"].items():
                stdout().print(Text(f"{each['source']}: {name} is empty: {reason}", style="dim"))


def _as_line(summary: dict[str, Any], output: Path | None) -> str:
    text = "{files} files, {fields} fields: {backed} backed, {refused} refused; {seconds} s, {tokens:,} tokens"
    parts = [text.format(**summary)]
    if summary["failed"]:
        parts.append(f"{summary['failed']} files failed, see above")
    if summary["skipped"]:
        parts.append(f"{summary['skipped']} were finished before")
    if output is not None:
        parts.append(f"records in {output}")
    return "; ".join(parts)
