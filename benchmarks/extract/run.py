"""Extract fields from documents whose answers are known, and score them: run it with `make bench-extract`.

``python run.py [--model default] [--set labelled|prose|python|perl|open|reserved|all] [--limit N] [--every N]
[--output DIR] [--corpus CLONE] [--scans] [--plain] [--minutes N] [--again] [--keep [PAGE]]``

"open" and "reserved" are the two parts of the invoices of the ZUGFeRD corpus, CLONE of github.com/ZUGFeRD/corpus; "all"
has them where CLONE is given, and with ``--scans`` an invoice is also read from images of its pages (with the Debian
packages tesseract-ocr-deu and tesseract-ocr-fra: the invoices are German and French). With ``--plain``
one plain call of the same model is measured too, on the old text of a PDF and on the new one (`plain.py`). Each
document is read in all of these ways before the next, so that a run that ``--minutes`` ends compares the same ones.
A document that has its line in DIR is not read again: a run that was stopped goes on where it was. The lines also have
the model's answers with their tokens, from which `calibrate.py` learns the confidence; with ``--again`` the answers
that are there are judged anew by the code of today, without the model, and once more with all values given, however
doubtful.
The figures of all that lies in DIR are written to `FIGURES.md` there, and with `--keep` to the one beside this file, or
to another page of that name.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from plain import PlainCall, new_text, old_text
from scans import write_scan

from trivium import Document, RunRecord, Task
from trivium.exceptions import InfiniteLoopError
from trivium.extraction import Case, Field, extraction_task, parse_fields
from trivium.knowledge import read
from trivium.llms import TokenLogprob

HERE = Path(__file__).resolve().parent


class Set(NamedTuple):
    """Documents and what is true of them."""

    truth: Path
    fields: Path
    texts: Path


SETS = {
    name: Set(HERE / folder / "truth.json", HERE / folder / "fields.txt", HERE / folder / texts)
    for name, folder, texts in (
        ("labelled", "debian", "labelled"),
        ("prose", "debian", "prose"),
        ("python", "unlabelled/python", "texts"),
        ("perl", "unlabelled/perl", "texts"),
    )
}
INVOICES = ("open", "reserved")
Line = dict[str, Any]
Reader = Callable[[Path], Line]


class Way(NamedTuple):
    """One way in which the documents of a set are read: with its reader, from a folder, into a file of lines."""

    read: Reader
    texts: Path
    results: Path


class RecordingCase(Case):
    """A case that also keeps the model's answers, each with the probabilities of its tokens."""

    def __init__(self, document: Document, fields: Sequence[Field]) -> None:
        super().__init__(document, fields)
        self.answers: list[Line] = []

    def check(self, proposed: Mapping[str, Any], tokens: Sequence[TokenLogprob] = ()) -> list[str]:
        """Keep the answer, and check it."""
        rounded = [(each.token, round(each.logprob, 3), [(t, round(p, 3)) for t, p in each.top]) for each in tokens]
        self.answers.append({"proposed": dict(proposed), "tokens": rounded})
        return super().check(proposed, tokens)


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description="Measure extraction on documents whose answers are known.")
    parser.add_argument("--model", default="default", help="model of the store, or any that an agent takes")
    parser.add_argument("--set", choices=[*SETS, *INVOICES, "all"], default="all")
    parser.add_argument("--corpus", type=Path, help="a clone of github.com/ZUGFeRD/corpus")
    parser.add_argument("--scans", action="store_true", help="invoices as images of their pages, too")
    parser.add_argument("--plain", action="store_true", help="one plain call of the model, too")
    parser.add_argument("--minutes", type=float, default=inf, help="begin no document after N minutes")
    parser.add_argument("--limit", type=int, help="the first N documents of each set only")
    parser.add_argument("--every", type=int, default=1, help="each Nth document only")
    parser.add_argument(
        "--output", type=Path, default=HERE.parents[1] / "out" / "extract", help="folder of what was found"
    )
    parser.add_argument("--again", action="store_true", help="judge the answers in the folder again, ask no model")
    parser.add_argument(
        "--keep",
        nargs="?",
        const="FIGURES.md",
        metavar="PAGE",
        help="write the figures beside this file, too (FIGURES.md)",
    )
    options = parser.parse_args()
    sets = dict(SETS)
    for part in INVOICES if options.corpus else ():
        sets[part] = write_invoices(options.corpus, part, options.output / part)
    end = time.monotonic() + 60 * options.minutes
    summary = [
        line
        for name in (sets if options.set == "all" else [options.set])
        for line in run_set(name, sets[name], options, end)
    ]
    print("\n" + "\n".join(summary))
    chosen = ("set", "scans", "plain", "minutes", "limit", "every")
    given = {each: getattr(options, each) for each in chosen if getattr(options, each) != parser.get_default(each)}
    asked = "".join(f" --{name}{'' if value is True else f' {value}'}" for name, value in given.items())
    figures = "\n".join(figures_of(options.output, asked)) + "\n"
    for page in (options.output / "FIGURES.md", *([HERE / options.keep] if options.keep else ())):
        page.write_text(figures, encoding="utf-8")
    return 0


def figures_of(output: Path, asked: str = "") -> Iterator[str]:
    """Yield the lines of the page that tells what the results in a folder are worth, measured with these options."""
    yield f"""# Figures of extraction

Written by `benchmarks/extract/run.py{asked}`, {time.strftime("%Y-%m-%d")}, {os.cpu_count()} cores; not by hand.
*Exact* is the share of the fields that the truth holds; *invented* are values given where it has none. Line items are
counted by value (`score.py`). *Beside* is what extraction gets right of the same documents, for a row of scans or of a
plain call. The seconds are those of a document, on a machine that also did other work.

| model | set | documents | fields | exact | beside | wrong | missing | invented | not in text | items, F1 | seconds |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""
    for results in sorted(output.glob("*/*.jsonl")):
        truth, lines = results.with_name(f"{results.stem}.truth.json"), known(results)
        texts = SETS[results.stem].texts if results.stem in SETS else output / results.stem
        scored = json.loads(score(truth, results, texts, "--json"))
        total, rows = scored["total"], scored["rows"]
        extracted = output / results.parent.name.partition(",")[0] / f"{results.stem.removesuffix('-scans')}.jsonl"
        other = extracted != results and extracted.exists()
        beside = share_of(json.loads(score(truth, extracted, texts, "--json"))["total"]) if other else ""
        f1 = (
            f"{200 * rows['right'] / (rows['wanted'] + rows['given']):.1f} % of {rows['items']}"
            if rows["items"]
            else ""
        )
        seconds = sum(line["seconds"] for line in lines.values()) / max(1, len(lines))
        of_absent = f"{total['invented']} of {total['absent']}"
        counts = (
            f"**{share_of(total)}**",
            beside,
            total["wrong"],
            total["missing"],
            of_absent,
            total["not_in_text"],
            f1,
        )
        row = (results.parent.name, results.stem, len(lines), total["present"], *counts, f"{seconds:.0f}")
        yield f"| {' | '.join(map(str, row))} |"


def share_of(counts: Mapping[str, int]) -> str:
    """Return the share of the fields that are exact."""
    return f"{100 * counts['exact'] / max(1, counts['present']):.1f} %"


def score(truth: Path, results: Path, texts: Path, *options: str) -> str:
    """Return what the scorer prints."""
    command = [sys.executable, str(HERE / "score.py"), str(truth), str(results), "--texts", str(texts), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write_invoices(corpus: Path, part: str, folder: Path) -> Set:
    """Write the invoices of a part and their truth into a folder, if they are not there."""
    if not (folder / "truth.json").exists():
        subprocess.run(
            [sys.executable, str(HERE / "zugferd" / "corpus.py"), str(corpus), part, str(folder)], check=True
        )
    return Set(folder / "truth.json", HERE / "zugferd" / "fields.txt", folder)


def run_set(name: str, texts_and_truth: Set, options: argparse.Namespace, end: float) -> list[str]:
    """Read the documents of one set in each way, print the tables, and sum each up in a line."""
    truth_file, fields_file, _ = texts_and_truth
    truth = json.loads(truth_file.read_text(encoding="utf-8"))
    names = sorted(truth)[slice(None, options.limit, options.every)]
    fields = parse_fields(fields_file.read_text(encoding="utf-8"))
    ways = ways_of(name, texts_and_truth, fields, options)
    if options.again:
        for way in ways:
            judge_again(way, fields)
            if not isinstance(way.read, PlainCall):
                write_all_given(way, fields, truth)
    for number, file in enumerate([] if options.again else names, 1):
        for way in ways if time.monotonic() < end else ():
            extend(way, file, f"{number}/{len(names)}")
    return [report(way, truth, options.model) for way in ways]


def ways_of(name: str, own: Set, fields: tuple[Field, ...], options: argparse.Namespace) -> list[Way]:
    """Return the ways in which a set is read: as trivium does, from scans, and by a plain call."""
    model, output = options.model, options.output
    task = extraction_task(fields, model)
    short = Path(model).stem.replace(":", "_")

    def extraction(file: Path) -> Line:
        return read_one(task, fields, file)

    def scanned(file: Path) -> Line:
        return extraction(write_scan(own.texts / file.name, file))

    found = [Way(extraction, own.texts, output / short / f"{name}.jsonl")]
    if name in INVOICES and options.scans:
        scans = own.texts.with_name(f"{name}-scans")
        found.append(Way(scanned, scans, output / short / f"{name}-scans.jsonl"))
    if name in INVOICES and options.plain:
        for text, reader in (("old", old_text), ("new", new_text)):
            target = output / f"{short}, plain call on the {text} text"
            found.append(Way(PlainCall(fields, model, reader), own.texts, target / f"{name}.jsonl"))
    for way in found:
        way.results.parent.mkdir(parents=True, exist_ok=True)
    return found


def extend(way: Way, name: str, count: str) -> None:
    """Write the line of a document, if it has none."""
    if name in known(way.results):
        return
    line = way.read(way.texts / name)
    with way.results.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
    where = f"{way.results.parent.name}, {way.results.stem}"
    print(f"{count} {name}, {where}: {line['seconds']} s, {line['tokens']} tokens", flush=True)


def judge_again(way: Way, fields: tuple[Field, ...], least: float | None = None) -> None:
    """Write the lines of a way anew, from the answers that they have, maybe at another least confidence."""
    lines = known(way.results)
    for name, line in lines.items():
        if isinstance(way.read, PlainCall):
            lines[name] = way.read.judge(line)
            continue
        case = case_of(line, read(way.texts / name), fields, least)
        lines[name] = {**line, **case.result(), "source": name}
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines.values())
    way.results.write_text(text, encoding="utf-8")


def write_all_given(way: Way, fields: tuple[Field, ...], truth: Mapping[str, Any]) -> None:
    """Write beside the lines of a way those with every value, however doubtful: what the threshold costs, and saves."""
    results = way.results.parent.with_name(f"{way.results.parent.name}, all values given") / way.results.name
    results.parent.mkdir(exist_ok=True)
    results.write_text(way.results.read_text(encoding="utf-8"), encoding="utf-8")
    own = way._replace(results=results)
    judge_again(own, fields, 0.0)
    report(own, truth, results.parent.name)


def case_of(line: Line, document: Document, fields: Sequence[Field], least: float | None = None) -> Case:
    """Return a case with the answers of a line, as they came; with another least confidence than the default one."""
    case = Case(document, fields, min_confidence=least)
    for answer in line["answers"]:
        tokens = [TokenLogprob(token, p, tuple(map(tuple, top))) for token, p, top in answer["tokens"]]
        case.check(answer["proposed"], tokens)
    return case


def report(way: Way, truth: Mapping[str, Any], model: str) -> str:
    """Print the tables of the documents that were read, and return their sum."""
    lines = list(known(way.results).values())
    part, name = way.results.with_suffix(".truth.json"), f"{way.results.parent.name}, {way.results.stem}"
    part.write_text(json.dumps({line["source"]: truth[line["source"]] for line in lines}), encoding="utf-8")
    told = score(part, way.results, way.texts)
    cost = {key: sum(line[key] for line in lines) for key in ("seconds", "tokens", "questions")}
    shown = (
        told
        if not way.results.stem.startswith("reserved")
        else "\n".join(
            line
            for line in told.splitlines()
            if not line.startswith("  ")  # nobody is to see what was missed
        )
    )
    print(f"\n{name}, {model}\n{shown}")
    return (
        f"{name}, {len(lines)} documents: {told.strip().splitlines()[-1]}; "
        f"{cost['seconds']:.0f} s, {cost['tokens']} tokens, {cost['questions']} questions"
    )


def read_one(task: Task, fields: tuple[Field, ...], file: Path) -> Line:
    """Run the task on one document."""
    case, record, started = RecordingCase(read(file), fields), RunRecord(), time.monotonic()
    with suppress(InfiniteLoopError):  # the model repeats the same wrong answer: its right values stay
        task.run(case.question(), session_id=str(file), context=case, listeners=[record])
    cost = {"seconds": round(time.monotonic() - started, 1), "tokens": record.roots[0].tokens}
    return {**case.result(), "source": file.name, **cost, "questions": case.questions, "answers": case.answers}


def known(results: Path) -> dict[str, Line]:
    """Give the lines that are there, by file name."""
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    lines: Iterator[Line] = (json.loads(line) for line in text.splitlines() if line.strip())
    return {Path(line["source"]).name: line for line in lines}


if __name__ == "__main__":
    sys.exit(main())
