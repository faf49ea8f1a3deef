"""Measures how well the embedded models call functions, by the Berkeley Function Calling Leaderboard's own checker.

    .venv/bin/python benchmarks/bfcl [--models small,default] [--ways one,several,free] [--cases N] [--journal FILE]

`make bench-bfcl` runs it. Each case is a durable run of `trivium.evals`: what was broken off goes on. It writes its
part of docs/embedded-figures.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from checked import Ask, asking, brief, cases_of, share, write_part

from trivium import Message, Module
from trivium.evals import Case, Dataset, EvaluationReport, Score, compare, evaluate
from trivium.journal import Journal, RunView
from trivium.llms import LocalModel, Request
from trivium.llms.lowlevel import call_model
from trivium.schema import ToolSpec
from trivium.schema.lowlevel import read_json

ROOT = Path(__file__).parents[2]
PEER = (str(ROOT / ".peers/bfcl/bin/python"), str(Path(__file__).with_name("checker.py")))
SETS = ("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "irrelevance")
WAYS = ("one", "several", "free")
SHOWN = {"one": "constrained, one", "several": "constrained, several", "free": "free"}
# Decided before the run: whoever compares everything finds some difference by chance.
COMPARED = (("simple_python", "free", "one"), ("simple_python", "one", "several"), ("parallel", "one", "several"))
KINDS = {"dict": "object", "float": "number", "tuple": "array"}
ASKED = (
    "You may call these functions:\n{functions}\n\nIf they can answer the user, write the calls and nothing else, as a "
    'JSON list: [{{"name": "…", "arguments": {{…}}}}]. Write one item for each call. If none of them fits, write [].'
)


class Caller(Module):
    """Asks a model for calls of the functions that a case has; nothing runs."""

    def __init__(self, model: LocalModel, way: str) -> None:
        super().__init__(f"{model.name}, {way}")
        self.model, self.way = model, way

    async def forward(self, message: Message) -> str:
        """Return the calls as JSON: one object for each, of its name and arguments."""
        given: Any = message.content
        tools = [ToolSpec(_name(each), each["description"], schema(each["parameters"])) for each in given["functions"]]
        if self.way != "free":
            several = {"parallel_tool_calls": self.way == "several"}
            reply = await call_model(self.model, Request(given["messages"], tools, parameters=several))
            return json.dumps([{each.name: read(each.arguments)} for each in reply.tool_calls])
        told = ASKED.format(functions="\n".join(json.dumps([t.name, t.description, t.parameters]) for t in tools))
        reply = await call_model(self.model, Request([{"role": "system", "content": told}, *given["messages"]]))
        text = reply.text.strip().removeprefix("```json").strip("`").strip()
        found = read(text)
        calls = found if isinstance(found, list) else [found]
        return json.dumps([{str(each["name"]): each.get("arguments", {})} for each in calls if is_call(each)])


def is_call(value: Any) -> bool:
    """Test whether a value that a model wrote is a call."""
    return isinstance(value, dict) and "name" in value


def read(text: str) -> Any:
    """Read JSON as models write it; what is none is no call."""
    try:
        return read_json(text)
    except ValueError:
        return []


def _name(function: dict[str, Any]) -> str:
    return function["name"].replace(".", "_")


def schema(given: Any) -> Any:
    """Return a schema with JSON's own names of types."""
    if isinstance(given, list):
        return [schema(each) for each in given]
    if not isinstance(given, dict):
        return given
    found = {name: schema(each) for name, each in given.items()}
    if isinstance(kind := found.get("type"), str):
        found["type"] = KINDS.get(kind, kind)
        if kind == "any":
            del found["type"]
    return found


def dataset_of(name: str, cases: int, ask: Ask) -> Dataset[Any, Any]:
    """Return a set of BFCL, or as many cases of it, with BFCL's checker as the scorer."""

    def correct(case: Case[Any, Any], message: Message, run: RunView) -> Score:
        calls = json.loads(str(message.content))
        if name == "irrelevance":
            return Score(not calls, "" if not calls else f"it calls {calls}")
        wrong = ask({"set": name, "calls": calls, "expected": case.expected})
        return Score(not wrong, "; ".join(map(str, wrong)))

    return Dataset([Case(**each) for each in cases_of(PEER, name, cases)], [correct], name=name)


def part_of_page(reports: dict[tuple[str, str, str], EvaluationReport], cases: int) -> str:
    """Return the part of the page: of each model, way and set the share of right answers."""
    rows = [f"| model | tool calls are | {' | '.join(SETS)} |", "|---|---|" + "---|" * len(SETS)]
    for model, way in dict.fromkeys(key[:2] for key in reports):
        cells = [reports[model, way, name].metric("correct") for name in SETS]
        rows.append(f"| {model} | {SHOWN[way]} | {' | '.join(map(share, cells))} |")
    rows.append("")
    for model in dict.fromkeys(key[0] for key in reports):
        for name, before, after in COMPARED:
            if (model, before, name) in reports and (model, after, name) in reports:
                told = compare(reports[model, before, name], reports[model, after, name])
                rows.append(f"- {model}, `{name}`, from *{SHOWN[before]}* to *{SHOWN[after]}*: {brief(told)}")
    which = f"{cases} cases of each set, drawn by a fixed seed" if cases else "All cases"
    return f"{which}, of BFCL v4 (`bfcl-eval` 2026.3.23), {date.today():%B %Y}.\n\n" + "\n".join(rows)


def main() -> None:
    """Run what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="small,default", metavar="NAME,…")
    parser.add_argument("--ways", default=",".join(WAYS), metavar="WAY,…")
    parser.add_argument("--cases", type=int, default=0, metavar="N", help="only N of each set, drawn by a fixed seed")
    parser.add_argument("--journal", type=Path, default=ROOT / "out/bfcl.db", metavar="FILE")
    options = parser.parse_args()
    options.journal.parent.mkdir(exist_ok=True)
    journal = Journal(options.journal)
    reports: dict[tuple[str, str, str], EvaluationReport] = {}
    with asking(PEER) as ask:
        datasets = [dataset_of(name, options.cases, ask) for name in SETS]
        for model in options.models.split(","):
            local = LocalModel(model, parameters={"temperature": 0.0})
            for way in options.ways.split(","):
                for dataset in datasets:
                    report = evaluate(Caller(local, way), dataset, f"{model} {way}", journal, at_once=1)
                    reports[local.name, way, dataset.name] = report
                    print(local.name, way, str(report), sep="\n", file=sys.stderr, flush=True)
    write_part(ROOT / "docs/embedded-figures.md", "Calling functions: BFCL", part_of_page(reports, options.cases))


if __name__ == "__main__":
    main()
