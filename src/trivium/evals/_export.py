"""Reports as files: a page to look at, and a log that Inspect reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from os import PathLike
from typing import Any, Final

from trivium.evals._dataset import Score, plain_text
from trivium.evals._report import CaseResult, Comparison, EvaluationReport, Metric, counted
from trivium.journal import RunNode
from trivium.observers.lowlevel import write_text
from trivium.schema.lowlevel import checked, read_json
from trivium.ui import Mark, Section, report_page

_METRIC_HEADS: Final = ("scorer", "mean", "95 %", "cases", "scores", "pass@k", "pass^k", "note")


@checked
def write_html(report: EvaluationReport, path: str | PathLike[str], comparison: Comparison | None = None) -> None:
    """Write a report as one page that loads nothing: the metrics, what was flipped, and each run with its scores.

    Args:
        report: the report.
        path: the file.
        comparison: its comparison with another report.

    Raises:
        OutputError: the file cannot be written.
    """
    usage, failed = report.usage, len(report.errors)
    told = f"{counted(len(report.results), 'run')} on {report.dataset}, {usage.total:,} tokens, ${usage.usd:.4f}"
    if failed:
        told += f"; {failed} with errors, which are not scored"
    metrics = [_metric_row(each, report.notes.get(each.name, "")) for each in report.metrics]
    sections = [Section("Scores", told, _METRIC_HEADS, metrics)]
    if comparison is not None:
        before, summary = comparison.first.experiment, str(comparison).splitlines()[0]
        columns = ("case", before, report.experiment)
        sections.append(Section(f"Compared with {before}", summary, columns, comparison.flips))
    heads = ("run", "input", "expected", "answer", *report.scorers, "dollars", "seconds")
    results = sorted(report.results, key=lambda each: not each.errors)
    sections.append(Section("Runs", "", heads, [_run_row(each, report.scorers) for each in results]))
    write_text(path, report_page(report.experiment, sections))


def _metric_row(metric: Metric, note: str) -> tuple[object, ...]:
    interval, chances = f"{metric.low:.3f} to {metric.high:.3f}", (_chances(metric.pass_at), _chances(metric.pass_hat))
    return (metric.name, f"{metric.mean:.3f}", interval, metric.cases, metric.trials, *chances, note)


def _chances(of: Mapping[int, float]) -> str:
    return ", ".join(f"{k}: {chance:.3f}" for k, chance in of.items())


def _run_row(result: CaseResult, scorers: Iterable[str]) -> list[object]:
    case = result.case
    answer = result.errors.get("run", "") if result.message is None else plain_text(result.message)
    scores = [_score_cell(result.scores.get(name), result.errors.get(name, "")) for name in scorers]
    spent = f"{result.usage.usd:.4f}", f"{result.seconds:.2f}"
    return [result.run_id, plain_text(case.input), plain_text(case.expected), answer, *scores, *spent]


def _score_cell(score: Score | None, error: str) -> object:
    if score is None:
        return error
    return Mark(f"{score.value:g} {score.reason}", {0.0: False, 1.0: True}.get(score.value))


def write_inspect_log(report: EvaluationReport, path: str | PathLike[str]) -> None:
    """Write a report as a log of Inspect (`inspect view`, `inspect_ai.log.read_eval_log`), with what was said.

    Args:
        report: the report.
        path: the file, which ends in .json.

    Raises:
        OutputError: the file cannot be written.
        UnknownRunError: there is no run of any result.
    """
    ids = {each.id for each in report.journal.runs()}
    results = [each for each in report.results if each.run_id in ids]  # of another one there is nothing to read
    samples = [_sample(report, each) for each in results]
    scores = [
        {"name": each.name, "scorer": each.name, "scored_samples": each.trials,
         "metrics": {"mean": {"name": "mean", "value": each.mean}}}
        for each in report.metrics
    ]  # fmt: skip
    completed = sum(each.message is not None for each in results)
    began = datetime.fromtimestamp(report.run((results or report.results)[0]).info.started, UTC).isoformat()
    log = {
        "version": 2, "status": "success",
        "eval": {
            "run_id": report.experiment, "created": began, "task": report.dataset,
            "model": samples[0]["output"]["model"], "config": {"epochs": 1 + max(each.repetition for each in results)},
            "dataset": {"name": report.dataset, "sample_ids": [*dict.fromkeys(each.case.id for each in results)]},
        },
        "results": {"total_samples": len(samples), "completed_samples": completed, "scores": scores},
        "samples": samples,
    }  # fmt: skip
    write_text(path, json.dumps(log, ensure_ascii=False, default=str))


def _sample(report: EvaluationReport, result: CaseResult) -> dict[str, Any]:
    run, case, usage = report.run(result), result.case, result.usage
    root, asked = run.info.root, plain_text(case.input)
    said = {"role": "assistant", "content": plain_text(result.message), "model": root}
    tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "total_tokens": usage.total}
    sample: dict[str, Any] = {
        "id": case.id, "epoch": result.repetition + 1, "uuid": result.run_id, "input": asked,
        "target": plain_text("" if case.expected is None else case.expected),
        "messages": [{"role": "user", "content": asked}, *_messages(run.tree().walk())],
        "output": {"model": root, "choices": [{"message": said, "stop_reason": "stop"}]},
        "scores": {name: {"value": each.value, "explanation": each.reason} for name, each in result.scores.items()},
        "metadata": {**case.metadata, "errors": dict(result.errors), "usd": usage.usd},
        "model_usage": {root: tokens}, "total_time": result.seconds,
    }  # fmt: skip
    if "run" in result.errors:
        sample["error"] = {"message": result.errors["run"], "traceback": "", "traceback_ansi": ""}
    return sample


def _messages(nodes: Iterable[RunNode]) -> Iterator[dict[str, Any]]:
    """Yield what models and tools answered in a run, as messages of Inspect."""
    for node in nodes:
        if node.reply is not None:
            text, calls = node.reply
            made = [{"id": each.id, "function": each.name, "arguments": _arguments(each.arguments)} for each in calls]
            yield {"role": "assistant", "content": text, "tool_calls": made}
        elif node.name.startswith("tool:"):
            content = node.error or plain_text(node.outcome)
            yield {"role": "tool", "function": node.name.removeprefix("tool:"), "content": content}


def _arguments(text: str) -> dict[str, Any]:
    try:
        return dict(read_json(text))
    except (ValueError, TypeError):  # as the model wrote them
        return {"json": text}
