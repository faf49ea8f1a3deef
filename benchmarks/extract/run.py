"""Extract fields from documents whose answers are known, and score them: run it with `make bench-extract`.

``python run.py [--model default] [--set labelled|prose|python|perl|all] [--limit N] [--every N] [--output DIR]``

A document that has its line in DIR is not read again, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trivium import RunRecord, Task
from trivium.extraction import Case, Field, extraction_task, parse_fields
from trivium.knowledge import read

HERE = Path(__file__).resolve().parent
SETS = {
    "labelled": ("debian", "labelled"),
    "prose": ("debian", "prose"),
    "python": ("unlabelled/python", "texts"),
    "perl": ("unlabelled/perl", "texts"),
}
Line = dict[str, Any]


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description="Measure extraction on documents whose answers are known.")
    parser.add_argument("--model", default="default", help="model of the store, or any that an agent takes")
    parser.add_argument("--set", choices=[*SETS, "all"], default="all")
    parser.add_argument("--limit", type=int, help="the first N documents of each set only")
    parser.add_argument("--every", type=int, default=1, help="each Nth document only")
    parser.add_argument(
        "--output", type=Path, default=HERE.parents[1] / "out" / "extract", help="folder of what was found"
    )
    options = parser.parse_args()
    summary = [
        run_set(name, options.model, options.output, slice(None, options.limit, options.every))
        for name in (SETS if options.set == "all" else [options.set])
    ]
    print("\n" + "\n".join(summary))
    return 0


def run_set(name: str, model: str, output: Path, chosen: slice) -> str:
    """Read the documents of one set, print its tables, and sum them up in a line."""
    folder, texts = (HERE / part for part in (SETS[name][0], "/".join(SETS[name])))
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    names = sorted(truth)[chosen]
    target = output / model.replace("/", "_").replace(":", "_")
    target.mkdir(parents=True, exist_ok=True)
    results, part = target / f"{name}.jsonl", target / f"{name}.truth.json"
    fields = parse_fields((folder / "fields.txt").read_text(encoding="utf-8"))
    extract(fields, model, [texts / each for each in names], results)
    part.write_text(json.dumps({each: truth[each] for each in names}), encoding="utf-8")
    command = [sys.executable, str(HERE / "score.py"), str(part), str(results), "--texts", str(texts)]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line for line in known(results).values() if Path(line["source"]).name in names]
    cost = {key: sum(line[key] for line in lines) for key in ("seconds", "tokens", "questions")}
    print(f"\n{name}, {model}\n{report}")
    return (
        f"{name}, {model}, {len(lines)} documents: {report.strip().splitlines()[-1]}; "
        f"{cost['seconds']:.0f} s, {cost['tokens']} tokens, {cost['questions']} questions"
    )


def extract(fields: tuple[Field, ...], model: str, files: list[Path], results: Path) -> None:
    """Write a line for each document that has none."""
    task = extraction_task(fields, model)
    done = known(results)
    with results.open("a", encoding="utf-8") as out:
        for number, file in enumerate(files, 1):
            if file.name in done:
                continue
            line = read_one(task, fields, file)
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()
            print(f"{number}/{len(files)} {file.name}: {line['seconds']} s, {line['tokens']} tokens", flush=True)


def read_one(task: Task, fields: tuple[Field, ...], file: Path) -> Line:
    """Run the task on one document."""
    case, record, started = Case(read(file), fields), RunRecord(), time.monotonic()
    message = task.run(case.question(), session_id=str(file), context=case, listeners=[record])
    found: Mapping[str, Any] = case.result() if message is None else message.content
    cost = {"seconds": round(time.monotonic() - started, 1), "tokens": record.roots[0].tokens}
    return {**found, "source": file.name, **cost, "questions": case.questions}


def known(results: Path) -> dict[str, Line]:
    """Give the lines that are there, by file name."""
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    lines: Iterator[Line] = (json.loads(line) for line in text.splitlines() if line.strip())
    return {Path(line["source"]).name: line for line in lines}


if __name__ == "__main__":
    sys.exit(main())
