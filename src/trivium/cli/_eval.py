"""`trivium eval`: an agent on the cases of a dataset, scored, reported and compared."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from rich import box
from rich.table import Table
from rich.text import Text

from trivium.cli._objects_at import failed, import_agent, import_object
from trivium.cli._runs import DIFFERENT, open_journal
from trivium.cli._screen import bar, stdout, write_line
from trivium.commander import Limits
from trivium.evals import (
    CaseResult,
    Comparison,
    Dataset,
    EvaluationReport,
    compare,
    evaluate,
    rescore,
    write_html,
    write_inspect_log,
)
from trivium.events import safe_line, safe_text
from trivium.exceptions import AgentChangedError, ConfigurationError, LimitExceededError
from trivium.journal import Journal
from trivium.module import Module

_MOST_ROWS = 20
FAILED = 1


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """The options of the command; the parser describes them."""

    experiment: str
    against: str | None
    scorer: str | None
    repeat: int
    at_once: int
    max_usd: float | None
    fail_under: float | None
    journal: str
    report: Path | None
    inspect: Path | None
    json: bool


def evaluate_agent(dataset_reference: str, agent: str | None, options: EvalOptions) -> int:
    """Evaluate an agent, or score its recorded answers again, and report it; return the exit status.

    Raises:
        ConfigurationError: there is no such dataset or agent; or the agent was changed since the experiment began.
        LimitExceededError: the evaluation reached its limit; what is done is reported.
    """
    dataset = _dataset_at(dataset_reference)
    _check_scorers(dataset, options)
    is_file = "://" not in options.journal and ":" not in options.journal
    journal = Journal(options.journal) if is_file and agent is not None else open_journal(options.journal)
    earlier = None if options.against is None else rescore(dataset, options.against, journal)
    reached = None
    if agent is None:
        report = rescore(dataset, options.experiment, journal)
    else:
        report, reached = _run(dataset, agent, journal, options)
    comparison = None if earlier is None or reached else compare(earlier, report, options.scorer)
    if options.report is not None:
        write_html(report, options.report, comparison)
    if options.inspect is not None:
        write_inspect_log(report, options.inspect)
    _show_json(report, comparison) if options.json else _show(report, comparison)
    if reached is not None:
        raise reached
    return _status(report, comparison, options)


def _check_scorers(dataset: Dataset, options: EvalOptions) -> None:
    """Refuse, before a model is asked, an evaluation that could not be judged as wanted.

    Raises:
        ConfigurationError: there is no such scorer, or none, or it is not said which.
    """
    names = dataset.scorer_names
    known = f"the dataset {dataset.name} has {', '.join(names) or 'none'}"
    if options.scorer is not None and options.scorer not in names:
        raise ConfigurationError(f"there is no scorer {options.scorer!r}: {known}")
    if options.fail_under is not None and not math.isfinite(options.fail_under):
        raise ConfigurationError(f"--fail-under {options.fail_under} is no mean score: give a number, as 0.9")
    if options.fail_under is not None and not names:
        raise ConfigurationError(f"--fail-under needs scorers: {known}")
    if options.against is not None and options.scorer is None and len(names) != 1:
        raise ConfigurationError(f"name by --scorer which scorer compares: {known}")


def _dataset_at(reference: str) -> Dataset:
    found: object = import_object(reference, "dataset", "cases:dataset", (Dataset,))
    try:
        made: object = found() if callable(found) and not isinstance(found, Module) else found
    except Exception as error:
        raise failed(f"{reference}()", error) from error
    if not isinstance(made, Dataset):
        raise ConfigurationError(
            f"{reference} is of the class {type(made).__name__}; name a Dataset, or a function that makes one"
        )
    return cast("Dataset", made)


def _run(
    dataset: Dataset, agent: str, journal: Journal, options: EvalOptions
) -> tuple[EvaluationReport, LimitExceededError | None]:
    """Return the report of an evaluation, and its limit if that was reached before all runs were done."""
    module, results = import_agent(agent), list[CaseResult]()
    total = len(dataset) * options.repeat
    with bar(quiet=options.json and sys.stdout.isatty()) as progress:
        line = progress.add_task("", total=total)

        def receive(result: CaseResult) -> None:
            results.append(result)
            progress.update(line, advance=1, description=safe_line(result.case.id))

        try:
            report = evaluate(
                module,
                dataset,
                options.experiment,
                journal,
                repeat=options.repeat,
                at_once=options.at_once,
                limits=None if options.max_usd is None else Limits(usd=options.max_usd),
                on_result=receive,
            )
            return report, None
        except AgentChangedError as error:
            raise ConfigurationError(f"{error}: name it by --experiment, and the earlier one by --against") from error
        except LimitExceededError as error:
            reached = LimitExceededError(error.limit, error.maximum, setting="--max-usd", of="the evaluation")
            results += _broken_off(dataset, journal, options, {each.run_id for each in results})
            return EvaluationReport.of(dataset, options.experiment, journal, results), reached
        except KeyboardInterrupt:
            progress.stop()
            write_line(f"{len(results)} of {total} runs are done; the same command goes on, and asks no model twice")
            raise


def _broken_off(dataset: Dataset, journal: Journal, options: EvalOptions, scored: set[str]) -> list[CaseResult]:
    """Return the runs that were begun and not scored before the limit was reached, with what they have cost."""
    begun, errors = {each.id for each in journal.runs()} - scored, {"run": "it was not scored before the limit"}
    made = (
        (case, each, f"{options.experiment}/{case.id}/{each}") for case in dataset for each in range(options.repeat)
    )
    return [CaseResult(*each, None, {}, errors, journal.view(each[-1]).usage) for each in made if each[-1] in begun]


def _status(report: EvaluationReport, comparison: Comparison | None, options: EvalOptions) -> int:
    if report.errors:
        return FAILED
    limit = float("-inf") if options.fail_under is None else options.fail_under
    below = [each for each in report.metrics if options.scorer in (None, each.name) and each.mean < limit]
    for each in below:
        write_line(f"{each.name}: {each.mean:.3f} is below --fail-under {limit:g}")
    is_worse = comparison is not None and comparison.is_significant and comparison.difference < 0
    return DIFFERENT if is_worse or below else 0


def _show(report: EvaluationReport, comparison: Comparison | None) -> None:
    screen = stdout()
    new = partial(Table, box=box.HORIZONTALS, border_style="dim")
    table = new("scorer", "mean", "95 %", "cases", "pass@k", "pass^k", "note")
    for each in report.metrics:
        most = max(each.pass_at, default=1)
        rates = [f"{rate[most]:.3f} (k={most})" if most > 1 else "" for rate in (each.pass_at, each.pass_hat)]
        cells = (f"{each.mean:.3f}", f"{each.low:.3f} to {each.high:.3f}", str(each.cases), *rates)
        table.add_row(_text(each.name), *cells, _text(report.notes.get(each.name, "")))
    if report.metrics:
        screen.print(table)
    if comparison is not None:
        first, *_ = str(comparison).splitlines()
        screen.print(_text(first))
        flips = new("case", "before", "now")
        for each in comparison.flips[:_MOST_ROWS]:
            flips.add_row(_text(each.case_id), f"{each.first:g}", f"{each.second:g}")
        screen.print(flips)
        if comparison.unpaired:
            screen.print(_text(str(comparison).splitlines()[-1]))
    errors = [(each.run_id, name, text) for each in report.errors for name, text in each.errors.items()]
    for run_id, name, text in errors[:_MOST_ROWS]:
        screen.print(Text.assemble((safe_line(run_id), "bold"), f" {safe_line(name)}: ", (safe_line(text), "red")))
    usage = report.usage
    runs = f"{len(report.results)} run{'s' * (len(report.results) != 1)} of {safe_line(report.experiment)}"
    said = f"{runs}, {usage.total:,} tokens, ${usage.usd:.4f}"
    failed_ones = f"{len(errors)} error{'s' * (len(errors) != 1)}, not scored; failed runs are tried again next time"
    write_line(f"{said}; {failed_ones}" if errors else said)


def _show_json(report: EvaluationReport, comparison: Comparison | None) -> None:
    told: dict[str, Any] = {
        "experiment": report.experiment,
        "metrics": [each._asdict() for each in report.metrics],
        "runs": [
            {"run": each.run_id, "case": each.case.id, "usd": each.usage.usd, "seconds": each.seconds,
             "scores": {name: score.value for name, score in each.scores.items()},
             "errors": dict(each.errors)}
            for each in report.results
        ],
        "notes": dict(report.notes),
    }  # fmt: skip
    if comparison is not None:
        low, high = comparison.interval
        told["comparison"] = {
            "against": comparison.first.experiment, "scorer": comparison.scorer, "difference": comparison.difference,
            "low": low, "high": high, "p": comparison.p, "unpaired": [*comparison.unpaired],
            "flips": [each._asdict() for each in comparison.flips],
        }  # fmt: skip
    sys.stdout.write(json.dumps(told) + "\n")


def _text(text: str) -> Text:
    return Text(safe_text(text))
