"""Reports as files: a page to look at, and a log that Inspect reads."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from os import PathLike
from typing import Any

from trivium.evals._dataset import plain_text, write_text
from trivium.evals._report import CaseResult, Comparison, EvaluationReport
from trivium.journal import RunNode
from trivium.schema.lowlevel import read_json

_STYLE = """:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid #8886;padding:.35rem .6rem;text-align:left;
vertical-align:top;overflow-wrap:anywhere}thead th{white-space:nowrap}.wide{overflow-x:auto}.wrong{font-weight:600}
.wrong::before{content:"✗ "}.right::before{content:"✓ "}pre{white-space:pre-wrap;margin:0;font:inherit}"""


def write_html(report: EvaluationReport, path: str | PathLike[str], comparison: Comparison | None = None) -> None:
    """Write a report as one page that loads nothing: the metrics, what was flipped, and each run with its scores.

    Args:
        report: the report.
        path: the file.
        comparison: its comparison with another report.

    Raises:
        OutputError: the file cannot be written.
    """
    metrics = [
        (each.name, f"{each.mean:.3f}", f"{each.low:.3f} to {each.high:.3f}", each.cases, each.trials,
         *(", ".join(f"{k}: {of[k]:.3f}" for k in of) for of in (each.pass_at, each.pass_hat)),
         report.notes.get(each.name, ""))
        for each in report.metrics
    ]  # fmt: skip
    heads = ("scorer", "mean", "95 %", "cases", "scores", "pass@k", "pass^k", "note")
    usage, errors = report.usage, f"; {len(report.errors)} with errors, which are not scored" if report.errors else ""
    told = f"{len(report.results)} runs on {report.dataset}, {usage.total:,} tokens, ${usage.usd:.4f}{errors}"
    parts = [f"<h1>{_text(report.experiment)}</h1><p>{_text(told)}</p>", _table(heads, metrics)]
    if comparison is not None:
        parts.append(f"<h2>Compared with {_text(comparison.first.experiment)}</h2>")
        parts.append(f"<p>{_text(str(comparison).splitlines()[0])}</p>")
        parts.append(_table(("case", comparison.first.experiment, report.experiment), comparison.flips))
    rows = "".join(_row(report, each) for each in sorted(report.results, key=lambda each: not each.errors))
    heads = ("run", "input", "expected", "answer", *report.scorers, "dollars", "seconds")
    body = f'{"".join(parts)}<h2>Runs</h2><div class="wide"><table>{_head(heads)}<tbody>{rows}</tbody></table></div>'
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    write_text(
        path,
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(report.experiment)}</title>'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'\">"
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main>{body}</main>'
        "</body></html>\n",
    )


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
        if node.name == "model" and node.outcome is not None:
            reply: dict[str, Any] = node.outcome["v"]
            calls = [each["v"] for each in reply["tool_calls"]["v"]] if reply.get("tool_calls") else []
            made = [{"id": c["id"], "function": c["name"], "arguments": _arguments(c["arguments"])} for c in calls]
            yield {"role": "assistant", "content": reply["text"], "tool_calls": made}
        elif node.name.startswith("tool:"):
            content = node.error or plain_text(node.outcome)
            yield {"role": "tool", "function": node.name.removeprefix("tool:"), "content": content}


def _arguments(text: str) -> dict[str, Any]:
    try:
        return dict(read_json(text))
    except (ValueError, TypeError):  # as the model wrote them
        return {"json": text}


def _row(report: EvaluationReport, result: CaseResult) -> str:
    said = result.errors.get("run", "") if result.message is None else plain_text(result.message)
    cells = (result.run_id, plain_text(result.case.input), plain_text(result.case.expected), said)
    rows = "".join(f"<td><pre>{_text(each)}</pre></td>" for each in cells)
    for name in report.scorers:
        score, error = result.scores.get(name), result.errors.get(name, "")
        kind = "" if score is None else {0.0: "wrong", 1.0: "right"}.get(score.value, "")
        said = error if score is None else f"{score.value:g} {score.reason}"
        rows += f'<td class="{kind}">{_text(said)}</td>'
    return f"<tr>{rows}<td>{result.usage.usd:.4f}</td><td>{result.seconds:.2f}</td></tr>"


def _table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table>{_head(heads)}<tbody>{body}</tbody></table></div>'


def _head(heads: Iterable[str]) -> str:
    cells = "".join(f'<th scope="col">{_text(each)}</th>' for each in heads)
    return f"<thead><tr>{cells}</tr></thead>"


def _text(value: object) -> str:
    """Escape what a model wrote, and leave out what controls the display."""
    return html.escape("".join(each if each.isprintable() or each == "\n" else " " for each in str(value)))
