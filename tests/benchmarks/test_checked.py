"""The public benchmarks: their checker is asked, its scores are ours, and the page has both ways."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from runpy import run_path
from typing import Any

from trivium import Agent
from trivium.evals import evaluate
from trivium.journal import Journal
from trivium.testing import ScriptedModel

from ._scripts import ROOT, scripts

CHECKER = """
import json, sys
if sys.argv[1:]:
    for number in range(3):
        print(json.dumps({"id": str(number), "input": f"Say {number}.", "expected": str(number)}))
for line in sys.stdin if not sys.argv[1:] else ():
    asked = json.loads(line)
    told = {"strict": asked["answer"] == asked["case"], "loose": asked["case"] in asked["answer"]}
    print(json.dumps(told), flush=True)
"""


def test_a_larger_sample_has_the_cases_of_a_smaller_one(tmp_path: Path) -> None:
    (tmp_path / "checker.py").write_text(CHECKER)
    command = [sys.executable, str(tmp_path / "checker.py")]
    with scripts(ROOT / "benchmarks") as found:
        one, two, every, plain = (found.checked.cases_of(command, "test", count) for count in (1, 2, 3, 0))
    assert one == every[:1]
    assert two == every[:2]
    assert every != plain == sorted(every, key=lambda case: case["id"])


def answer(request: Any) -> str:
    return f"It is {number}" if (number := request.messages[-1]["content"][4]) != "0" else number


def test_answers_are_scored_by_the_checker_and_the_page_compares_the_ways(tmp_path: Path) -> None:
    (tmp_path / "checker.py").write_text(CHECKER)
    command = [sys.executable, str(tmp_path / "checker.py")]
    with scripts(ROOT / "benchmarks") as found, closing(Journal(tmp_path / "runs.db")) as journal:
        ifbench = run_path(str(ROOT / "benchmarks/ifbench/__main__.py"))
        with found.checked.asking(command) as ask:
            dataset = ifbench["dataset_of"](found.checked.cases_of(command, "test"), ask)
            free = evaluate(Agent(ScriptedModel(answer)), dataset, "free", journal)
            held = ScriptedModel(lambda request: f'{{"answer": "{answer(request)[-1]}"}}')
            constrained = evaluate(Agent[ifbench["Reply"]](held), dataset, "constrained", journal)
        page = ifbench["part_of_page"]({("small", "constrained"): constrained, ("small", "free"): free}, 3)
    assert "| small | free | 33% (6% to 79%, 3) | 100% (44% to 100%, 3) | 0 |" in page
    assert "| small | constrained | 100%" in page
    assert "- small, loose, from *free* to *constrained*: +0.000" in page
