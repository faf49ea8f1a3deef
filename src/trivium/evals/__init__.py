"""Evaluations: cases, scorers, reports with confidence intervals, and comparisons, on durable runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.evals._dataset import Case, Dataset, Score, Scorer
    from trivium.evals._evaluate import evaluate, evaluate_async, rescore, rescore_async
    from trivium.evals._export import write_html, write_inspect_log
    from trivium.evals._gepa import TextAdapter, improve_texts, load_texts, save_texts, texts_of
    from trivium.evals._judge import Agreement, Answered, Grade, Judge
    from trivium.evals._report import CaseResult, Comparison, EvaluationReport, Flip, Metric, compare
    from trivium.evals._statistics import (  # isort: skip
        bootstrap, cases_needed, cohens_kappa, paired_interval, paired_test, pass_at_k, pass_hat_k, wilson,
    )  # fmt: skip

__all__ = [
    "Agreement", "Answered", "Case", "CaseResult", "Comparison", "Dataset", "EvaluationReport", "Flip", "Grade",
    "Judge", "Metric", "Score", "Scorer", "TextAdapter", "bootstrap", "cases_needed", "cohens_kappa", "compare",
    "evaluate", "evaluate_async", "improve_texts", "load_texts", "paired_interval", "paired_test", "pass_at_k",
    "pass_hat_k", "rescore", "rescore_async", "save_texts", "texts_of", "wilson", "write_html", "write_inspect_log",
]  # fmt: skip

_NAMES = {
    "_dataset": "Case Dataset Score Scorer",
    "_evaluate": "evaluate evaluate_async rescore rescore_async",
    "_export": "write_html write_inspect_log",
    "_gepa": "TextAdapter improve_texts load_texts save_texts texts_of",
    "_judge": "Agreement Answered Grade Judge",
    "_report": "CaseResult Comparison EvaluationReport Flip Metric compare",
    "_statistics": "bootstrap cases_needed cohens_kappa paired_interval paired_test pass_at_k pass_hat_k wilson",
}
lazy_names(__name__, {name: home for home, names in _NAMES.items() for name in names.split()}, __all__)
