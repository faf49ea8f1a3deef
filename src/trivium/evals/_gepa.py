"""Better instructions by GEPA, which reads why cases failed and has a model write other texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from logging import getLogger
from os import PathLike
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from trivium.agents import Agent
from trivium.evals._dataset import Case, Dataset, E, I
from trivium.evals._evaluate import evaluate
from trivium.evals._report import CaseResult
from trivium.exceptions import ConfigurationError, MissingExtraError, StateError
from trivium.journal import Journal
from trivium.journal.lowlevel import digest_of
from trivium.module import Module
from trivium.observers.lowlevel import write_text

if TYPE_CHECKING:
    from gepa.core.adapter import EvaluationBatch

_NAME = "system_message"


def texts_of(module: Module) -> dict[str, str]:
    """Return the instructions of an agent and of all below, by attribute path, as `state_dict` names memories."""
    return {name: each.system_message for name, each in _agents(module).items()}


def load_texts(module: Module, texts: Mapping[str, str] | str | PathLike[str]) -> None:
    """Set the instructions that `texts_of` gave, or that are in a file of `save_texts`.

    Raises:
        StateError: the file cannot be read, or the module has no such text; nothing is set.
    """
    try:
        given = texts if isinstance(texts, Mapping) else json.loads(Path(texts).read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise StateError(f"cannot read the texts in {texts}: {error}") from error
    agents = _agents(module)
    if missing := [name for name in given if name not in agents]:
        raise StateError(f"{module.name} has no {', '.join(missing)}: there are {', '.join(agents)}")
    for name, text in given.items():
        agents[name].system_message = text


def _agents(module: Module) -> dict[str, Agent[Any]]:
    """Return the agents that have an instruction, by the names of their texts."""
    agents = ((path, cast("Agent[Any]", each)) for path, each in module.named_modules() if isinstance(each, Agent))
    return {f"{path}.{_NAME}" if path else _NAME: each for path, each in agents}


def save_texts(texts: Mapping[str, str], path: str | PathLike[str]) -> None:
    """Write texts as a state file: a JSON object, which `load_texts` reads.

    Raises:
        OutputError: the file cannot be written.
    """
    write_text(path, json.dumps(texts, ensure_ascii=False, indent=1))


class TextAdapter:
    """A `GEPAAdapter`: candidates are the texts of a module, and each one is an experiment in the journal.

    Args:
        module: the agent, task or other module; the texts of a candidate are set on it.
        dataset: has the scorers; their mean is the score of a case, and 0 if the run failed.
        experiment: the beginning of the experiments' names; a digest of the candidate follows.
        journal: where the runs are recorded, so that no candidate is tried on a case twice.
        at_once: as for `evaluate`.
    """

    propose_new_texts: None = None

    def __init__(
        self, module: Module, dataset: Dataset[I, E], experiment: str, journal: Journal, at_once: int = 8
    ) -> None:
        self.module, self.dataset, self.experiment = module, dataset, experiment
        self.journal, self.at_once = journal, at_once

    def evaluate(
        self, batch: list[Case], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[CaseResult, str]:
        """Run the module with a candidate's texts on some cases."""
        from gepa.core.adapter import EvaluationBatch

        load_texts(self.module, candidate)
        named = f"{self.experiment}-{digest_of(candidate)[:12]}"
        part = Dataset({each.id: each for each in batch}.values(), self.dataset.scorers, name=self.dataset.name)
        report = evaluate(self.module, part, named, self.journal, at_once=self.at_once)
        found = {each.case.id: each for each in report.results}
        results = [found[each.id] for each in batch]
        answers = ["" if each.message is None else str(each.message.content) for each in results]
        scores = [fmean([score.value for score in each.scores.values()] or [0.0]) for each in results]
        return EvaluationBatch(answers, scores, results if capture_traces else None)

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: EvaluationBatch[CaseResult, str], components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return what a model reads to write better texts: inputs, answers, and what the scorers said."""
        rows = [
            {"Inputs": str(each.case.input), "Generated Outputs": output, "Feedback": _feedback(each)}
            for each, output in zip(eval_batch.trajectories or (), eval_batch.outputs, strict=True)
        ]
        return dict.fromkeys(components_to_update, rows)


def improve_texts(
    module: Module,
    dataset: Dataset[I, E],
    experiment: str,
    journal: Journal,
    reflection: Module,
    *,
    runs: int,
    validation: Dataset[I, E] | None = None,
    at_once: int = 8,
    **options: Any,
) -> dict[str, str]:
    """Have GEPA improve the instructions of an agent and of all below; the agent has the best ones then.

    All runs are recorded, those of the reflection too: one that was broken off goes on when it is made again.

    Args:
        module: the agent, task or other module.
        dataset: the cases to learn from, and the scorers.
        experiment: the beginning of the experiments' names.
        journal: where the runs are recorded.
        reflection: the agent that writes better texts; a large model is worth its price here.
        runs: the most runs of cases.
        validation: the cases to choose the best texts by; default: those of the dataset.
        at_once: as for `evaluate`.
        **options: further options of `gepa.optimize`, as `seed=`.

    Returns:
        The best texts, for `save_texts`.

    Raises:
        MissingExtraError: the extra `gepa` is missing.
        ConfigurationError: the dataset has no scorers, or the module has no texts.
    """
    try:
        optimize: Any = import_module("gepa").optimize
    except ImportError:
        raise MissingExtraError("gepa", "gepa") from None
    seed = texts_of(module)
    if not dataset.scorers or not seed:
        raise ConfigurationError("there is nothing to improve: give a dataset with scorers, and a module with agents")

    def reflect(prompt: Any) -> str:
        run_id = f"{experiment}/reflection/{digest_of(prompt)[:16]}"
        return str(reflection(str(prompt), session_id=run_id, run_id=run_id, journal=journal).content)

    found = optimize(
        seed_candidate=seed, trainset=[*dataset], valset=[*(validation or dataset)],
        adapter=TextAdapter(module, dataset, experiment, journal, at_once), max_metric_calls=runs,
        reflection_lm=reflect, logger=SimpleNamespace(log=getLogger("trivium.evals").debug), **options,
    )  # fmt: skip
    best: dict[str, str] = dict(found.best_candidate)
    load_texts(module, best)
    return best


def _feedback(result: CaseResult) -> str:
    lines = [f"{name}: {each.value:g} {each.reason}".strip() for name, each in result.scores.items()]
    lines += [f"{name} failed: {text}" for name, text in result.errors.items()]
    if result.case.expected is not None:
        lines.append(f"expected: {result.case.expected}")
    return "\n".join(lines)
