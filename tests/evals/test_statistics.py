"""The statistics against published values, brute force and simulations."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product, starmap
from math import inf, sqrt
from random import Random
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.evals import (
    Case,
    CaseResult,
    EvaluationReport,
    Score,
    bootstrap,
    cases_needed,
    cohens_kappa,
    compare,
    paired_interval,
    paired_test,
    pass_at_k,
    pass_hat_k,
    wilson,
)
from trivium.exceptions import ConfigurationError
from trivium.journal import Journal


@pytest.mark.parametrize("numbers", [(0, 0, 1), (5, 6, 1), (5, -1, 1), (5, 2, 6), (5, 2, 0)])
def test_trials_that_cannot_be_are_refused(numbers: tuple[int, int, int]) -> None:
    trials, passed, k = numbers
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(ConfigurationError, match=f"passed={passed}, trials={trials}, k={k}"):
            function(trials, passed, k)
    for level in (1.0, 0.0, 95.0):
        with pytest.raises(ConfigurationError, match=f"level={level}"):
            wilson(1, 2, level)
    if k == 1:
        with pytest.raises(ConfigurationError, match=f"passed={passed}, trials={trials}"):
            wilson(passed, trials)


@pytest.mark.parametrize(
    ("passed", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_is_that_of_newcombe_1998(passed: int, trials: int, low: float, high: float) -> None:
    assert wilson(passed, trials) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_pass_at_k_and_pass_hat_k_are_means_over_all_choices_of_k_trials() -> None:
    for passed, k in product(range(6), range(1, 6)):
        chosen = [*combinations([True] * passed + [False] * (5 - passed), k)]
        assert pass_at_k(5, passed, k) == pytest.approx(fmean(any(each) for each in chosen))
        assert pass_hat_k(5, passed, k) == pytest.approx(fmean(all(each) for each in chosen))


def test_the_test_and_the_interval_of_pairs_are_mcnemars_and_tangos() -> None:
    # Two examples of Fagerland, Lydersen and Laake (2014): 21 pairs and 161.
    for better, worse, pairs, p, low, high in ((7, 1, 21, 0.034, 0.026, 0.517), (16, 6, 161, 0.033, 0.005, 0.124)):
        differences = [1.0] * better + [-1.0] * worse + [0.0] * (pairs - better - worse)
        assert paired_test(differences) == pytest.approx(p, abs=5e-4)
        assert paired_interval(differences) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))
        assert paired_interval([-each for each in differences])[1] == pytest.approx(-low, abs=5e-4)
    # Where nothing differs, the interval is as wide as that of a rate of 0, on both sides.
    assert paired_interval([0.0] * 20) == (pytest.approx(-0.1611, abs=5e-5), pytest.approx(0.1611, abs=5e-5))
    assert (paired_test([0, 0]), paired_test([1, -1])) == (1.0, 1.0)
    assert paired_interval([0.5, 0.2, 0.1]) == (-inf, inf)


PASSED_OR_NOT = st.sampled_from([-1.0, 0.0, 1.0])
SCORES = st.floats(-1, 1).map(lambda each: round(each, 3))


@given(st.one_of(st.lists(PASSED_OR_NOT, min_size=1, max_size=60), st.lists(SCORES, min_size=1, max_size=60)))
def test_the_interval_of_pairs_holds_0_if_and_only_if_the_test_finds_nothing(differences: list[float]) -> None:
    (low, high), p = paired_interval(differences), paired_test(differences)
    mean = fmean(differences)
    assert low - 1e-9 <= mean <= high + 1e-9
    if abs(p - 0.05) > 1e-6 and abs(mean) > 1e-9:
        assert (low <= 0 <= high) == (p >= 0.05)
    assert paired_interval([*reversed(differences)]) == (pytest.approx(low), pytest.approx(high))


def test_the_bootstrap_draws_cases_and_not_repetitions() -> None:
    random = Random(3)
    rates = [random.random() for _ in range(60)]
    clusters = [[float(random.random() < rate) for _ in range(4)] for rate in rates]
    means = [fmean(each) for each in clusters]
    low, high = bootstrap(clusters)
    half = 1.96 * stdev(means) / sqrt(len(means))
    assert (low, high) == (pytest.approx(fmean(means) - half, abs=0.02), pytest.approx(fmean(means) + half, abs=0.02))
    assert bootstrap([each * 10 for each in clusters]) == bootstrap(clusters)


def test_kappa_is_that_of_the_literature_and_0_for_chance() -> None:
    assert cohens_kappa([(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15) == pytest.approx(0.4)
    assert cohens_kappa([(1, 1)] * 45 + [(1, 0)] * 15 + [(0, 1)] * 25 + [(0, 0)] * 15) == pytest.approx(
        0.1304, abs=1e-4
    )
    assert cohens_kappa([(1, 1)] * 81 + [(1, 0)] * 9 + [(0, 1)] * 9 + [(0, 0)]) == pytest.approx(0)


@cache
def scored(at: int, score: float) -> CaseResult:
    return CaseResult(Case(str(at), ""), 0, "", None, {"exact": Score(score)})


def report(name: str, scores: list[float], journal: Journal) -> EvaluationReport:
    return EvaluationReport(name, "dataset", ("exact",), tuple(starmap(scored, enumerate(scores))), journal)


def drawn(cases: int, planted: float, flipped: float, random: Random) -> tuple[list[float], list[float]]:
    """The scores of two agents: a share of the cases flips, and the second passes more of them by `planted`."""
    draws = [random.random() for _ in range(cases)]
    better, worse = (flipped + planted) / 2, (flipped - planted) / 2
    before = [float(each < 0.6 or each > 1 - worse) for each in draws]
    return before, [float(each < 0.6 + better) for each in draws]


@pytest.mark.parametrize(("planted", "least", "most"), [(0.1, 0.78, 0.88), (0.0, 0.02, 0.07)])
def test_compare_finds_a_planted_difference_of_10_points_at_its_power_and_else_none(
    journal: Journal, planted: float, least: float, most: float
) -> None:
    random, found, held = Random(7), 0, 0
    cases = cases_needed(0.1, flipped=0.2, power=0.8)
    assert cases == 155
    for _ in range(250):
        before, after = drawn(cases, planted, 0.2, random)
        comparison = compare(report("a", before, journal), report("b", after, journal))
        low, high = comparison.interval
        assert comparison.is_significant == (not low <= 0 <= high)
        found += comparison.is_significant
        held += low <= planted <= high
    assert least <= found / 250 <= most
    assert 0.92 <= held / 250 <= 0.98


def test_repetitions_that_are_alike_do_not_seem_to_show_a_difference() -> None:
    """Each agent passes some cases always and others never: five runs of each case say no more than one."""
    random, found, naive = Random(11), 0, 0
    for _ in range(400):
        hard = [(random.random() < 0.5, random.random() < 0.5) for _ in range(40)]
        runs = [[(random.random() < 0.1 + 0.8 * side) for side in pair] for pair in hard for _ in range(5)]
        singly = [float(after) - float(before) for before, after in runs]
        naive += paired_test(singly) < 0.05
        found += paired_test([fmean(singly[at : at + 5]) for at in range(0, 200, 5)]) < 0.05
    assert found / 400 <= 0.08
    assert naive / 400 > 0.2


@pytest.mark.parametrize(
    ("difference", "options", "said"),
    [
        (
            0.5,
            {"flipped": 0.2},
            "a difference of 0.5 with 0.2 flipped, power 0.8, level 0.95: give shares",
        ),
        (0.0, {"flipped": 0.2}, "a difference of 0.0 with"),
        (0.1, {"flipped": 1.2}, "with 1.2 flipped"),
        (0.1, {"flipped": 0.2, "power": 1.0}, "power 1.0"),
        (0.1, {"flipped": 0.2, "level": 95}, "level 95: give shares"),
    ],
)
def test_a_number_of_cases_for_what_cannot_be_found_is_refused(
    difference: float, options: dict[str, float], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        cases_needed(difference, **options)
