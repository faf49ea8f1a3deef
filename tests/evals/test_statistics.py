"""The statistics against published values, brute force and simulations."""

from __future__ import annotations

from itertools import combinations, product
from math import sqrt
from random import Random
from statistics import fmean, stdev

import pytest

from trivium.evals import (
    Case,
    CaseResult,
    EvaluationReport,
    Score,
    bootstrap,
    cases_needed,
    cohens_kappa,
    compare,
    pass_at_k,
    pass_hat_k,
    sign_flip_test,
    wilson,
)
from trivium.journal import Journal


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


def test_the_sign_flip_test_is_mcnemars_mid_p_test_and_that_of_all_flips() -> None:
    assert sign_flip_test([1] * 7 + [-1]) == pytest.approx(0.0391, abs=5e-5)  # Fagerland and others, 2013
    assert (sign_flip_test([0, 0]), sign_flip_test([1, -1])) == (1.0, 1.0)
    differences = [0.5, 0.25, 0.75, 1, -0.25, 0.5, -0.5, 0.75]
    sums = [abs(sum(signed)) for signed in product(*((each, -each) for each in differences))]
    exact = fmean(each >= abs(sum(differences)) - 1e-9 for each in sums)
    assert sign_flip_test(differences) == pytest.approx(exact, abs=0.01)


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


def report(name: str, scores: list[float], journal: Journal) -> EvaluationReport:
    results = [CaseResult(Case(str(at), ""), 0, "", None, {"exact": Score(each)}) for at, each in enumerate(scores)]
    return EvaluationReport(name, "dataset", ("exact",), tuple(results), journal)


@pytest.mark.parametrize(("planted", "least", "most"), [(0.1, 0.78, 0.88), (0.0, 0.02, 0.06)])
def test_compare_finds_a_planted_difference_of_10_points_at_its_power_and_else_none(
    journal: Journal, planted: float, least: float, most: float
) -> None:
    random, found, flipped = Random(7), 0, 0.2
    cases = cases_needed(0.1, flipped=flipped, power=0.8)
    assert cases == 155
    for _ in range(250):
        drawn = [random.random() for _ in range(cases)]
        better, worse = (flipped + planted) / 2, (flipped - planted) / 2
        before = [float(each < 0.6 or each > 1 - worse) for each in drawn]
        after = [float(each < 0.6 + better) for each in drawn]
        found += compare(report("a", before, journal), report("b", after, journal)).is_significant
    assert least <= found / 250 <= most
