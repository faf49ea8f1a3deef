"""Comparisons, judges, pages, and logs that Inspect reads."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, Message
from trivium.evals import (
    Answered,
    Case,
    CaseResult,
    Dataset,
    EvaluationReport,
    Judge,
    Score,
    compare,
    evaluate,
    rescore,
    write_html,
    write_inspect_log,
)
from trivium.exceptions import ArgumentTypeError, ConfigurationError, OutputError, UnknownRunError
from trivium.journal import Journal, RunView
from trivium.llms import Request
from trivium.schema import Usage
from trivium.testing import ScriptedModel

from ._agents import CASES, calculator, exact

SOME = CASES[:12]


def both(journal: Journal) -> tuple[EvaluationReport, EvaluationReport]:
    """Two evaluations: six cases become right, one becomes wrong."""
    wrong = [case.input for case in SOME]
    first = evaluate(calculator([], wrong[:6]), Dataset(SOME, [exact]), "before", journal)
    return first, evaluate(calculator([], wrong[6:7]), Dataset(SOME, [exact]), "after", journal)


def test_a_comparison_has_the_flipped_cases_with_the_difference_of_their_runs(journal: Journal) -> None:
    comparison = compare(*both(journal))
    assert comparison.difference == pytest.approx(5 / 12)
    low, high = comparison.interval
    assert low < 0 < 5 / 12 < high < 1
    assert [each.case_id for each in comparison.flips] == ["n006", "n000", "n001", "n002", "n003", "n004", "n005"]
    assert (comparison.p, comparison.is_significant) == (pytest.approx(0.0588, abs=5e-5), False)
    divergence = comparison.diff("n006")
    assert divergence is not None
    assert (divergence.path, divergence.first, divergence.second) == ("calculator#0/model#1", "36", "no idea")
    assert comparison.diff("n007") is None
    assert "no difference is shown from before to after on 12 cases" in str(comparison)


def test_only_cases_with_a_score_in_both_are_compared(journal: Journal) -> None:
    first, second = both(journal)
    part = EvaluationReport("part", "cases", ("exact",), second.results[1:], journal)
    assert (compare(first, part).unpaired, len(compare(first, part).pairs)) == (("n000",), 11)
    with pytest.raises(ConfigurationError, match="no equal case of before and none has a score of exact"):
        compare(first, EvaluationReport("none", "cases", ("exact",), (), journal))
    with pytest.raises(ConfigurationError, match="there is no scorer 'other'"):
        compare(first, second, "other")
    with pytest.raises(ArgumentTypeError, match="before and after have in common no case n999"):
        compare(first, second).diff("n999")


@pytest.mark.parametrize("changed", [{"input": "Square 99."}, {"expected": "99"}], ids=["input", "expected"])
def test_a_case_that_was_changed_is_not_compared(journal: Journal, changed: dict[str, str]) -> None:
    first = evaluate(calculator([]), Dataset(SOME, [exact]), "before", journal)
    cases = [replace(SOME[0], **changed), *(replace(each, metadata={"tag": "new"}) for each in SOME[1:])]
    second = evaluate(calculator([]), Dataset(cases, [exact]), "after", journal)
    comparison = compare(first, second)
    assert (comparison.unpaired, len(comparison.pairs)) == (("n000",), 11)
    assert "not compared, since only one has a score, or it changed: n000" in str(comparison)


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (1, 1.0, True),
        (float("nan"), float("nan"), True),
        (lambda: 1, lambda: 1, True),
        (object(), object(), True),
        (Fraction(1, 3), Fraction(1, 3), True),
        (Fraction(1, 3), Fraction(1, 2), False),
        (1, "1", False),
        ("fault at 0x10", "fault at 0x20", False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_case_that_was_made_anew_is_compared(journal: Journal, first: Any, second: Any, is_equal: bool) -> None:
    def report(name: str, expected: Any) -> EvaluationReport:
        made = (CaseResult(case, 0, "", None, {"exact": Score(1)}) for case in [*SOME, Case("new", "?", expected)])
        return EvaluationReport(name, "cases", ("exact",), tuple(made), journal)

    assert compare(report("before", first), report("after", second)).unpaired == (() if is_equal else ("new",))


class Grader:
    """A model that passes short answers, and notes what it is asked."""

    def __init__(self, most: int = 4) -> None:
        self.name, self.asked, self.most = "grader", list[str](), most

    def stream(self, request: Request) -> Any:
        text = str(request.messages[-1]["content"])
        self.asked.append(text)
        passed = len(json.loads(text)["answer"]) <= self.most
        return ScriptedModel([json.dumps({"reason": f"up to {self.most}", "passed": passed})]).stream(request)


def labelled(answers: dict[str, bool]) -> Dataset[Answered, bool]:
    cases = [Case(text, Answered(input="Say something.", answer=text), label) for text, label in answers.items()]
    return Dataset(cases, name="labels")


def test_a_judge_is_calibrated_and_asks_nothing_twice(journal: Journal) -> None:
    grader = Grader()
    judge = Judge(grader, "The answer is short.", name="short")
    wrong = [case.input for case in SOME[:3]]
    report = evaluate(calculator([], wrong), Dataset(SOME, [judge]), "first", journal)
    assert report.metric("short").mean == 0.75
    assert report.results[0].scores["short"] == Score(0.0, "up to 4")
    assert report.notes == {"short": "a judge that was not calibrated"}
    assert "short: 0.750" in str(report)
    assert "not calibrated" in str(report)
    assert json.loads(grader.asked[0]).keys() == {"input", "answer", "expected"}
    assert len(grader.asked) == 12

    agreement = judge.calibrate(labelled({"yes": True, "no": True, "certainly": False, "indeed": True}), journal)
    assert (agreement.cases, agreement.agreement, agreement.kappa, agreement.bias) == (4, 0.75, 0.5, -0.25)
    assert len(grader.asked) == 16
    again = rescore(Dataset(SOME, [judge]), "first", journal)
    judge.calibrate(labelled({"yes": True, "no": True, "certainly": False, "indeed": True}), journal)
    assert len(grader.asked) == 16
    assert again.notes["short"].startswith(
        "a judge that agrees with 75% of 4 labels (30% to 95%), kappa 0.50, bias -0.25"
    )

    other = Judge(grader, "The answer is very short.", name="short")
    one = rescore(Dataset(SOME[:1], [other]), "first", journal)
    assert len(grader.asked) == 17
    assert " 1 run, $" in str(one)
    assert ", 1 case)" in str(one)
    assert "on 1 case" in str(compare(one, one))
    with pytest.raises(ConfigurationError, match="all labels are the same"):
        judge.calibrate(labelled({"yes": True}), journal)


def test_what_judges_cost_counts_in_the_report_and_not_in_the_runs(journal: Journal) -> None:
    judge = Judge(ScriptedModel([['{"reason": "r", "passed": true}', Usage(10, 5, 0.25)]]), "It is short.")
    agent = Agent(ScriptedModel([["yes", Usage(2, 1, 0.5)]]))
    dataset = Dataset(SOME[:2], [judge])
    for report in (evaluate(agent, dataset, "first", journal), rescore(dataset, "first", journal)):
        assert [each.usage.usd for each in report.results] == [0.5, 0.5]
        assert (report.usage.total, report.usage.usd) == (36, 1.5)


def test_a_judge_without_a_verdict_is_an_error(journal: Journal) -> None:
    judge = Judge(ScriptedModel(["I would rather not say."]), "The answer is short.", name="short")
    (result,) = evaluate(calculator([]), Dataset(SOME[:1], [judge]), "first", journal).results
    assert result.errors["short"].startswith("AnswerFormatError")


def odd(case: Case[str, str], message: Message, run: RunView) -> float:
    if message.content == "1":
        raise ValueError("<b>one</b>")
    return int(str(message.content)) % 2 / 2


def test_a_page_holds_all_and_loads_nothing(journal: Journal, tmp_path: Path) -> None:
    first, second = both(journal)
    evil = Agent(ScriptedModel(["<script>alert(1)</script>"]), name="evil")
    write_html(evaluate(evil, Dataset(SOME[:2], [exact]), "evil", journal), tmp_path / "evil.html")
    assert "<script" not in (tmp_path / "evil.html").read_text()
    write_html(second, tmp_path / "report.html", compare(first, second))
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"\b(src|href)=|url\(|@import", page)
    for text in ("Compared with before", "after/n006/0", "no idea", "0.917", "0.646 to 0.985", "$0.0120"):
        assert text in page
    write_html(rescore(Dataset(SOME, [odd]), "after", journal), tmp_path / "odd.html")
    assert "&lt;b&gt;one&lt;/b&gt;" in (tmp_path / "odd.html").read_text()
    with pytest.raises(OutputError):
        write_html(first, tmp_path / "no folder" / "report.html")
    with pytest.raises(ArgumentTypeError, match="write_html takes text or PathLike as path, not NoneType"):
        write_html(first, None)  # type: ignore[arg-type]


def test_a_log_of_results_whose_runs_are_all_forgotten_says_so(journal: Journal, tmp_path: Path) -> None:
    report = evaluate(calculator([]), Dataset(SOME[:1], [exact]), "first", journal)
    journal.forget(report.results[0].run_id)
    with pytest.raises(UnknownRunError, match="first/"):
        write_inspect_log(report, tmp_path / "log.json")


READ = """
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
sample = log.samples[6]
print(json.dumps([
    log.status, log.eval.task, len(log.eval.dataset.sample_ids), log.results.scores[0].metrics["mean"].value,
    sample.id, sample.epoch, sample.input, sample.target, sample.scores["exact"].value, sample.output.completion,
    [(each.role, each.text) for each in sample.messages], sample.messages[1].tool_calls[0].arguments,
    sample.model_usage["calculator"].total_tokens,
]))
"""


def test_inspect_reads_the_log(journal: Journal, tmp_path: Path) -> None:
    _, report = both(journal)
    write_inspect_log(report, tmp_path / "log.json")
    python = Path(".peers/inspect-ai/bin/python").absolute()
    run = subprocess.run([python, "-c", READ, "log.json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    said = [["user", "Square 6."], ["assistant", ""], ["tool", "36"], ["assistant", "no idea"]]
    assert json.loads(run.stdout) == [
        "success", "dataset", 12, pytest.approx(11 / 12), "n006", 1, "Square 6.", "36", 0, "no idea", said,
        {"number": 6}, 12,
    ]  # fmt: skip
