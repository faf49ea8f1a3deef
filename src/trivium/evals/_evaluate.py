"""Evaluations: each case a recorded run, and its answer scored; with the journal alone, scored again."""

from __future__ import annotations

import math
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product, starmap
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeAlias

from trivium.commander import CallNode, Limits, Listener, current, driver_neutral, invoke, sync_function
from trivium.commander.lowlevel import change_scope, check_options, is_cancelled
from trivium.evals._dataset import Case, Dataset, E, I, Score, is_same, scorer_name
from trivium.evals._report import CaseResult, EvaluationReport
from trivium.events import exception_line, is_of_signal_handler
from trivium.exceptions import (
    AgentChangedError,
    ArgumentTypeError,
    ConfigurationError,
    LimitExceededError,
    MissingExtraError,
    NestedRunError,
    RunInputError,
    UnknownRunError,
)
from trivium.journal import Journal, RunView
from trivium.journal.lowlevel import Codec
from trivium.module import Module
from trivium.schema import Message
from trivium.schema.lowlevel import checked, positive
from trivium.tasks import run_batch_function_async

OnResult: TypeAlias = Callable[[CaseResult[I, E]], object]

_CODEC = Codec()
_LIBRARY = str(Path(__file__).parents[1])
_OF_ALL = (AgentChangedError, ConfigurationError, MissingExtraError, NestedRunError)
"""Errors that each case would have; and that are no answers of the agent."""


@driver_neutral
@checked
async def evaluate_async(
    module: Module,
    dataset: Dataset[I, E],
    experiment: str,
    journal: Journal,
    *,
    repeat: int = 1,
    at_once: int = 8,
    limits: Limits | None = None,
    case_limits: Limits | None = None,
    case_timeout: float | None = None,
    listeners: Sequence[Listener] = (),
    on_result: OnResult[I, E] = lambda result: None,
) -> EvaluationReport[I, E]:
    """Run an agent on each case of a dataset, and score its answers.

    Each case is a durable run "EXPERIMENT/CASE/REPETITION" in a session of its own. An evaluation that was broken off,
    by whatever, goes on where it was when it is made again: no answer of a model is asked for twice. A case that fails
    is an error of its result, and not scored; the next time it is tried again. So is one that had another input in this
    experiment, until it has an id of its own.

    Args:
        module: the agent, task or other module.
        dataset: the cases and their scorers.
        experiment: the name of what is tried; an agent that was changed is another experiment.
        journal: where the runs are recorded.
        repeat: the number of runs of each case, for pass@k and for narrower intervals.
        at_once: the most runs at the same time.
        limits: what the whole evaluation may spend, with what it has spent before it was broken off.
        case_limits: what each run may spend.
        case_timeout: the seconds that each run may take.
        listeners: called with the events of all runs.
        on_result: called with each result as it comes.

    Raises:
        AgentChangedError: the experiment was made with an agent of another name, instruction, model, or other tools.
        LimitExceededError: the evaluation reached its limit; what is done is recorded.

    Example:
        >>> import tempfile
        >>> from trivium import Agent
        >>> from trivium.evals import Case, Dataset
        >>> from trivium.testing import ScriptedModel
        >>> def exact(case, message, run):
        ...     return message.content == case.expected
        >>> dataset = Dataset([Case("sum", "2 + 2?", "4"), Case("product", "2 * 3?", "6")], [exact])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     journal = Journal(f"{folder}/runs.db")
        ...     report = evaluate(Agent(ScriptedModel(["4", "5"])), dataset, "first", journal, at_once=1)
        ...     journal.close()
        >>> report.metric("exact").mean, [(each.case.id, each.scores["exact"].value) for each in report.results]
        (0.5, [('sum', 1.0), ('product', 0.0)])
    """
    positive(repeat=repeat, at_once=at_once)
    if not experiment.strip():
        raise ConfigurationError(f"an experiment has a name, as 'baseline', not {experiment!r}")
    most = {} if limits is None else {name: each for name, each in asdict(limits).items() if each is not None}
    at_limit = {str(error): error for error in starmap(LimitExceededError, most.items())}
    options: dict[str, Any] = {"journal": journal.refusing_changes(), "limits": case_limits, "timeout": case_timeout}

    async def case(trial: tuple[Case[I, E], int]) -> CaseResult[I, E]:
        tried, repetition = trial
        run_id = f"{experiment}/{tried.id}/{repetition}"
        message, errors = await _answered(module, tried.input, at_limit, run_id=run_id, session_id=run_id, **options)
        result = await _scored(dataset, journal, CaseResult(tried, repetition, run_id, message, {}, errors))
        on_result(result)
        return result

    node = CallNode("evaluation", current.get())
    change_scope(node, timeout=None, limits=limits, listeners=check_options(None, limits, listeners))
    try:
        with node:
            trials = product(dataset, range(repeat))
            results = await run_batch_function_async(case, [*trials], sequential=False, batch_size=at_once)
    except AgentChangedError as error:
        changed = f"{', '.join(error.changed)} of {error.agent} changed"
        said = f"the experiment {experiment!r} is of another agent: {changed}. Give this one an experiment of its own"
        raise AgentChangedError(said, error.run_id, error.agent, error.changed) from error
    except BaseException as error:
        error.add_note(f"evaluate {experiment!r} again with the same journal to go on: no model is asked twice")
        raise
    return EvaluationReport.of(dataset, experiment, journal, results)


async def _answered(
    module: Module, given: object, at_limit: Mapping[str, LimitExceededError], **options: Any
) -> tuple[Message | None, dict[str, str]]:
    """Return the answer to a case, or the error of its run; raise errors that all cases would have."""
    try:
        message = await module.acall(given, **options)
    except (Exception, SystemExit, CancelledError) as error:
        is_at_limit = isinstance(error, LimitExceededError) and str(error) in at_limit
        is_of_input = isinstance(error, ArgumentTypeError) and error.argument == "message"
        if (isinstance(error, _OF_ALL) and not is_of_input) or is_at_limit or _ends_all(error):
            raise
        if isinstance(error, RunInputError):
            run: RunView = await invoke(options["journal"].view, error.run_id)
            if run.info.root != module.name:
                raise AgentChangedError(str(error), run.id, run.info.root, ("name",)) from error
        return None, {"run": _said(error)}
    finally:
        module.reset(options["session_id"], recursive=True)
    if (reached := at_limit.get(str(message.why))) is not None:  # a task returns what it has
        raise reached
    return message, {}


@driver_neutral
@checked
async def rescore_async(dataset: Dataset[I, E], experiment: str, journal: Journal) -> EvaluationReport[I, E]:
    """Score the recorded answers of an experiment, with no model and no agent: after a scorer was changed, say.

    A case of which there is no run, or whose run has not ended or had another input, is an error of its result.

    Args:
        dataset: the cases, and the scorers of today.
        experiment: as it was evaluated.
        journal: where its runs are; one that knows the classes of typed outputs, `Journal(…, types=(Order,))`.

    Raises:
        UnknownRunError: the journal has no run of these cases in this experiment.
    """
    recorded: dict[str, set[int]] = {}
    for name, _, number in (each.id.rpartition("/") for each in journal.runs()):
        if number.isdecimal():
            recorded.setdefault(name, set()).add(int(number))
    if recorded.keys().isdisjoint(f"{experiment}/{each.id}" for each in dataset):
        raise UnknownRunError(f"the journal has no runs of the experiment {experiment!r} with cases of {dataset.name}")
    made = [(case, each) for case in dataset for each in sorted(recorded.get(f"{experiment}/{case.id}", {0}))]
    found = (CaseResult(case, each, f"{experiment}/{case.id}/{each}", None) for case, each in made)
    return EvaluationReport.of(dataset, experiment, journal, [await _scored(dataset, journal, each) for each in found])


async def _scored(dataset: Dataset[I, E], journal: Journal, result: CaseResult[I, E]) -> CaseResult[I, E]:
    """Return the result of a run with its scores, and with what it has cost; without an answer or error, the run's."""
    try:
        run = await invoke(journal.view, result.run_id)
    except UnknownRunError:  # it was refused before it began, or is not there any more
        return replace(result, errors=result.errors or {"run": "there is no run of it"})
    # With an answer the journal has compared them, and not all inputs come back as they were.
    if result.message is None and run.input and not is_same(run.input[0], _CODEC.load(_CODEC.dump(result.case.input))):
        return replace(result, errors={"run": "its answer is one to another input: give the case an id of its own"})
    if result.message is None and not result.errors:
        said = run.why if run.info.status == "failed" else f"the run is {run.info.status}: evaluate again to go on"
        result = replace(result, message=run.result, errors={} if run.result is not None else {"run": said})
    scores, errors = dict[str, Score](), {**result.errors}
    for scorer in () if result.message is None else dataset.scorers:
        try:
            scores[scorer_name(scorer)] = _score_of(await invoke(scorer, result.case, result.message, run))
        except (Exception, SystemExit, CancelledError) as failure:
            if not isinstance(failure, Exception) and _ends_all(failure):
                raise
            errors[scorer_name(scorer)] = _said(failure)
    seconds = max([0.0, *(each.ended - run.info.started for each in run.tree().walk() if each.is_effect)])
    return replace(result, scores=scores, errors=errors, usage=run.usage, seconds=seconds)


def _ends_all(error: BaseException) -> bool:
    """Return whether an evaluation is stopped or ended from outside, by whatever its runs and scorers do."""
    return is_cancelled(current.get()) or is_of_signal_handler(error)


def _score_of(given: object) -> Score:
    """Return what a scorer returned as a score.

    Raises:
        ConfigurationError: it is none.
    """
    score = given if isinstance(given, Score) else Score(given) if isinstance(given, bool | int | float) else None
    if score is None or not isinstance(score.value, bool | int | float) or not math.isfinite(score.value):  # type: ignore[unnecessary]
        raise ConfigurationError(f"a scorer returns True, False, a number or a Score, not {given!r}")
    return replace(score, value=float(score.value))


def _said(error: BaseException) -> str:
    """Return an error on one line, with its place in the function of the program that was called: no inner one."""
    outside = [each for each in extract_tb(error.__traceback__) if not each.filename.startswith(_LIBRARY)]
    place = "".join(f" ({each.name}, line {each.lineno})" for each in outside[:1])
    return f"{' '.join(exception_line(error).split())}{place}"


evaluate = sync_function(evaluate_async)
rescore = sync_function(rescore_async)
