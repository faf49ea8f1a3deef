"""Reports of evaluations, and the comparison of two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Generic, NamedTuple, Self

from trivium.evals._dataset import Case, Dataset, E_co, I_co, Score, is_same, scorer_name
from trivium.evals._statistics import bootstrap, paired_interval, paired_test, pass_at_k, pass_hat_k, wilson
from trivium.exceptions import ConfigurationError
from trivium.journal import Divergence, Journal, RunView
from trivium.schema import Message, Usage
from trivium.schema.lowlevel import check_name


@dataclass(frozen=True, slots=True)
class CaseResult(Generic[I_co, E_co]):
    """One run of a case.

    Args:
        case: the case.
        repetition: its number among the runs of the case, from 0 on.
        run_id: the id of the run in the journal.
        message: the answer; None if the run failed.
        scores: the scores, by the names of the scorers.
        errors: of each scorer that failed the error, by its name; that of the run by "run".
        usage: tokens and dollars of the run, without those of its scores.
        seconds: the time until the last answer of a model or tool.
    """

    case: Case[I_co, E_co]
    repetition: int
    run_id: str
    message: Message | None
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


class Metric(NamedTuple):
    """The scores of one scorer in an evaluation.

    Args:
        name: the scorer's name.
        mean: the mean over the cases of their means.
        low: the lower end of its interval of 95 %: Wilson's where each case passed or failed once, and else
            bootstrapped over cases.
        high: the upper end.
        cases: the number of cases that have a score.
        trials: the number of scores.
        pass_at: of each k the chance that one of k runs passes; empty unless all scores are 0 or 1.
        pass_hat: of each k the chance that all of k runs pass.
    """

    name: str
    mean: float
    low: float
    high: float
    cases: int
    trials: int
    pass_at: Mapping[int, float]
    pass_hat: Mapping[int, float]


@dataclass(frozen=True)
class EvaluationReport(Generic[I_co, E_co]):
    """The results of an evaluation.

    Args:
        experiment: its name.
        dataset: the name of the dataset.
        scorers: the names of the scorers.
        results: the results, in the order of the cases.
        journal: where the runs are.
        notes: what is to be known of scorers, by their names: that a judge was not calibrated, say.
    """

    experiment: str
    dataset: str
    scorers: tuple[str, ...]
    results: tuple[CaseResult[I_co, E_co], ...]
    journal: Journal = field(repr=False)
    notes: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, dataset: Dataset, experiment: str, journal: Journal, results: Iterable[CaseResult[I_co, E_co]]) -> Self:
        """Make the report of results, with what the scorers of the dataset say of themselves in their `note`."""
        notes = {scorer_name(each): str(note) for each in dataset.scorers if (note := getattr(each, "note", None))}
        return cls(experiment, dataset.name, dataset.scorer_names, tuple(results), journal, notes)

    @cached_property
    def usage(self) -> Usage:
        """Tokens and dollars of all runs, and of the verdicts of judges on them."""
        verdicts = [score for each in self.results for score in each.scores.values()]
        return sum((each.usage for each in (*self.results, *verdicts)), Usage())

    @property
    def errors(self) -> list[CaseResult[I_co, E_co]]:
        """The results with errors: the run failed, or a scorer."""
        return [each for each in self.results if each.errors]

    def run(self, result: CaseResult[I_co, E_co]) -> RunView:
        """Return the recorded run of a result."""
        return self.journal.view(result.run_id)

    def values(self, scorer: str) -> dict[str, list[float]]:
        """Return the scores of a scorer by the ids of the cases; without cases that have none.

        Raises:
            ConfigurationError: there is no such scorer.
        """
        if scorer not in self.scorers:
            raise ConfigurationError(f"there is no scorer {scorer!r} in {self.experiment}: {', '.join(self.scorers)}")
        found: dict[str, list[float]] = {}
        for each in self.results:
            if scorer in each.scores:
                found.setdefault(each.case.id, []).append(each.scores[scorer].value)
        return found

    def metric(self, scorer: str) -> Metric:
        """Return the mean of a scorer's scores, with its interval.

        Raises:
            ConfigurationError: there is no such scorer, or no case has a score of it.
        """
        clusters = [*self.values(scorer).values()]
        if not clusters:
            raise ConfigurationError(f"no case of {self.experiment} has a score of {scorer}: see report.errors")
        means = [fmean(each) for each in clusters]
        values = {each for cluster in clusters for each in cluster}
        is_rate = values <= {0.0, 1.0}
        is_wilson = is_rate and (len(values) == 1 or all(len(each) == 1 for each in clusters))
        low, high = wilson(sum(means), len(means)) if is_wilson else bootstrap(clusters)
        return Metric(
            name=scorer,
            mean=fmean(means),
            low=low,
            high=high,
            cases=len(clusters),
            trials=sum(map(len, clusters)),
            pass_at=_chances(pass_at_k, clusters) if is_rate else {},
            pass_hat=_chances(pass_hat_k, clusters) if is_rate else {},
        )

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of all scorers that have scores."""
        return [self.metric(each) for each in self.scorers if self.values(each)]

    def __str__(self) -> str:
        lines = [f"{self.experiment} on {self.dataset}: {counted(len(self.results), 'run')}, ${self.usage.usd:.4f}"]
        for each in self.metrics:
            note = f"; {self.notes[each.name]}" if each.name in self.notes else ""
            interval = f"{each.low:.3f} to {each.high:.3f}, {counted(each.cases, 'case')}"
            lines.append(f"{each.name}: {each.mean:.3f} ({interval}){note}")
        lines += [f"{each.run_id}: {name}: {text}" for each in self.errors for name, text in each.errors.items()]
        return "\n".join(lines)


def counted(number: int, what: str) -> str:
    """Return a number of things as text: `1 run`, `2 runs`."""
    return f"{number} {what}{'s' * (number != 1)}"


def _chances(chance: Callable[[int, int, int], float], clusters: Sequence[Sequence[float]]) -> dict[int, float]:
    """Return a chance for each number of runs that all cases have, as the mean over the cases."""
    counts = [(len(each), int(sum(each))) for each in clusters]
    most = min(trials for trials, _ in counts)
    return {k: fmean(chance(trials, passed, k) for trials, passed in counts) for k in range(1, most + 1)}


class Flip(NamedTuple):
    """A case in which two evaluations differ: its id, and the mean score in each."""

    case_id: str
    first: float
    second: float


@dataclass(frozen=True)
class Comparison:
    """The difference of two evaluations on the cases that both have scored.

    Args:
        scorer: the name of the scorer.
        first: the evaluation that is compared with.
        second: the other one.
        pairs: of each case its mean scores in the two.
        unpaired: the ids of cases that only one of them has scored, or whose input or expected answer is another one
            in each; they do not count.
        p: the chance of such a difference or a greater one if there were none: McNemar's test, or its like for
            repetitions and other scores.
    """

    scorer: str
    first: EvaluationReport = field(repr=False)
    second: EvaluationReport = field(repr=False)
    pairs: Mapping[str, tuple[float, float]] = field(repr=False)
    unpaired: tuple[str, ...]
    p: float

    @property
    def difference(self) -> float:
        """The mean of the second less that of the first."""
        return fmean(second - first for first, second in self.pairs.values())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The interval of 95 % of the difference, by the test that gives `p`: it holds 0 unless that is below 0.05."""
        return paired_interval([second - first for first, second in self.pairs.values()])

    @property
    def is_significant(self) -> bool:
        """Whether p is below 0.05."""
        return self.p < 0.05

    @property
    def flips(self) -> list[Flip]:
        """The cases whose scores differ: those that became worse first."""
        found = [Flip(case_id, *pair) for case_id, pair in self.pairs.items() if pair[0] != pair[1]]
        return sorted(found, key=lambda each: each.second - each.first)

    def diff(self, case_id: str) -> Divergence | None:
        """Return the first difference of two runs of a case: the worst where it was worse, the best where better.

        Raises:
            ArgumentTypeError: the case was not compared.
        """
        check_name(case_id, self.pairs, f"{self.first.experiment} and {self.second.experiment} have in common no case")
        before, after = self.pairs[case_id]
        first = self._result(self.first, case_id, is_best=before > after)
        second = self._result(self.second, case_id, is_best=before <= after)
        return self.first.run(first).diff(self.second.run(second))

    def _result(self, report: EvaluationReport, case_id: str, is_best: bool) -> CaseResult:
        scored = [each for each in report.results if each.case.id == case_id and self.scorer in each.scores]
        return (max if is_best else min)(scored, key=lambda each: each.scores[self.scorer].value)

    def __str__(self) -> str:
        low, high = self.interval
        verdict = "a difference" if self.is_significant else "no difference is shown"
        lines = [
            f"{self.scorer}: {self.difference:+.3f} ({low:+.3f} to {high:+.3f}), p = {self.p:.3f}: {verdict} "
            f"from {self.first.experiment} to {self.second.experiment} on {counted(len(self.pairs), 'case')}"
        ]
        lines += [f"{each.case_id}: {each.first:g} -> {each.second:g}" for each in self.flips]
        if self.unpaired:
            lines.append(f"not compared, since only one has a score, or it changed: {', '.join(self.unpaired)}")
        return "\n".join(lines)


def compare(first: EvaluationReport, second: EvaluationReport, scorer: str | None = None) -> Comparison:
    """Compare two evaluations, case by case: those of one id, input and expected answer in both.

    Args:
        first: the evaluation to compare with, such as that of yesterday.
        second: the other one.
        scorer: the scorer; may be left out if there is only one.

    Raises:
        ConfigurationError: the scorer is not named, or no case has a score of it in both.
    """
    if scorer is None and len(first.scorers) != 1:
        raise ConfigurationError(f"name the scorer to compare by: {', '.join(first.scorers)}")
    name = first.scorers[0] if scorer is None else scorer
    one, other = first.values(name), second.values(name)
    was, now = ({each.case.id: (each.case.input, each.case.expected) for each in of.results} for of in (first, second))
    pairs = {key: (fmean(one[key]), fmean(other[key])) for key in one if key in other and is_same(was[key], now[key])}
    if not pairs:
        raise ConfigurationError(f"no equal case of {first.experiment} and {second.experiment} has a score of {name}")
    p = paired_test([after - before for before, after in pairs.values()])
    return Comparison(name, first, second, pairs, tuple(sorted({*one, *other} - pairs.keys())), p)
