"""The statistics of evaluations: rates, intervals, paired tests and agreement; plain Python, reproducible by seeds."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from math import ceil, comb, inf, sqrt
from random import Random
from statistics import NormalDist, fmean, pstdev

from trivium.exceptions import ConfigurationError

_DRAWS, _STEPS, _PASSED_OR_NOT = 2_000, 10**12, {-1.0, 0.0, 1.0}


def _check(trials: int, passed: float, k: int = 1, level: float = 0.95) -> None:
    if not (0 <= passed <= trials and 1 <= k <= trials and 0 < level < 1):
        raise ConfigurationError(f"give passed, k <= trials and level < 1: not {passed=}, {trials=}, {k=}, {level=}")


def pass_at_k(trials: int, passed: int, k: int) -> float:
    """Return the chance that at least one of `k` trials passes, without bias, from `trials` of which some passed.

    Raises:
        ConfigurationError: there are no such trials.

    Example:
        >>> pass_at_k(5, 2, 1), round(pass_at_k(5, 2, 3), 3)
        (0.4, 0.9)
    """
    _check(trials, passed, k)
    return 1 - comb(trials - passed, k) / comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float:
    """Return the chance that all of `k` trials pass (pass^k), without bias.

    Raises:
        ConfigurationError: there are no such trials.

    Example:
        >>> round(pass_hat_k(5, 4, 2), 3)
        0.6
    """
    _check(trials, passed, k)
    return comb(passed, k) / comb(trials, k)


def wilson(passed: float, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a rate.

    Raises:
        ConfigurationError: there are no such trials, or the level is no share.

    Example:
        >>> [round(each, 4) for each in wilson(81, 263)]
        [0.2553, 0.3662]
    """
    _check(trials, passed, level=level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate = passed / trials
    centre, width = rate + z * z / (2 * trials), z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    low, high = ((centre + sign * width) / (1 + z * z / trials) for sign in (-1, 1))
    return max(0.0, low), min(1.0, high)


def bootstrap(clusters: Sequence[Sequence[float]], level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Return the bootstrap interval of the mean of the clusters' means: whole clusters are drawn.

    Repetitions of one case are alike, so they count as one cluster: drawn singly, they would seem to say more.
    """
    means, random = [fmean(each) for each in clusters], Random(seed)  # noqa: S311 - no secret
    drawn = sorted(fmean(random.choices(means, k=len(means))) for _ in range(_DRAWS))
    outside = int(_DRAWS * (1 - level) / 2)
    return drawn[outside], drawn[-1 - outside]


def paired_test(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of a mean difference of pairs: a score test.

    With one trial that passes or fails it is McNemar's test, and with repetitions or other scores its like. Of fewer
    than ten pairs, it finds a difference where there is none in up to 12 of 100 comparisons; else in about 5.

    Args:
        differences: of each pair the second less the first; at least one.

    Example:
        >>> round(paired_test([1] * 7 + [-1] + [0] * 13), 4)
        0.0339
    """
    return 2 * NormalDist().cdf(-abs(_score(differences, 0.0)))


def paired_interval(differences: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Return the interval of a mean difference of pairs: all differences that `paired_test` would not reject.

    So 0 lies within it if, and only if, the test finds no difference at this level. With one trial that passes or
    fails it is Tango's score interval (1998), which holds its level also where few pairs differ.

    Args:
        differences: of each pair the second less the first; at least one.
        level: the share of such intervals that hold the true difference.

    Returns:
        Its ends; infinite for fewer than four pairs of other scores.

    Example:
        >>> [round(each, 3) for each in paired_interval([1] * 7 + [-1] + [0] * 13)]
        [0.026, 0.517]
    """
    z, mean = NormalDist().inv_cdf((1 + level) / 2), fmean(differences)
    if not {*differences} <= _PASSED_OR_NOT:
        spare = len(differences) - z * z
        half = z * pstdev(differences) / sqrt(spare) if spare > 0 else inf
        return mean - half, mean + half

    def edge(farthest: float) -> float:
        step = (farthest - mean) / _STEPS
        return mean + step * bisect_left(range(_STEPS), z, key=lambda at: abs(_score(differences, mean + step * at)))

    return edge(-1.0), edge(1.0)


def _score(differences: Sequence[float], supposed: float) -> float:
    """Return by how many standard errors the mean differs from a supposed one, by which the error is computed."""
    distance = fmean(differences) - supposed
    variance = fmean((each - supposed) ** 2 for each in differences)
    if {*differences} <= _PASSED_OR_NOT:
        # By the most likely share of pairs that became worse, if the difference were the supposed one.
        better, worse = (fmean(each == sign for each in differences) for sign in (1, -1))
        middle = better + worse - (2 - better + worse) * supposed
        share = (middle + sqrt(max(0.0, middle**2 + 8 * worse * supposed * (1 - supposed)))) / 4
        variance = 2 * share + supposed * (1 - supposed)
    return distance * sqrt(len(differences) / variance) if abs(distance) > 1e-12 else 0.0


def cases_needed(difference: float, flipped: float, power: float = 0.8, level: float = 0.95) -> int:
    """Return the number of cases with which `compare` finds a difference so often.

    Args:
        difference: the difference of the two pass rates, as 0.1.
        flipped: the share of cases of which one agent passes and the other fails; at least the difference.
        power: the share of evaluations in which it is to be found.
        level: one less the share in which one may be found where there is none.

    Raises:
        ConfigurationError: there are no such agents, or no number of cases is enough.

    Example:
        >>> cases_needed(0.1, flipped=0.2)
        155
    """
    if not (0 < abs(difference) <= flipped <= 1 and 0 < power < 1 and 0 < level < 1):
        reason = f"no cases show a difference of {difference} with {flipped} flipped, power {power}, level {level}"
        raise ConfigurationError(f"{reason}: give shares, of which flipped is the difference or more, and not 0")
    z, z_power = NormalDist().inv_cdf((1 + level) / 2), NormalDist().inv_cdf(power)
    return ceil(((z * sqrt(flipped) + z_power * sqrt(flipped - difference**2)) / difference) ** 2)


def cohens_kappa(pairs: Sequence[tuple[object, object]]) -> float:
    """Return Cohen's kappa: the agreement of two raters beyond chance; 1 is full agreement, 0 that of chance.

    Example:
        >>> pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
        >>> round(cohens_kappa(pairs), 2)
        0.4
    """
    first, second = (Counter(each) for each in zip(*pairs, strict=True))
    observed = fmean(one == other for one, other in pairs)
    chance = sum(first[each] * second[each] for each in first) / len(pairs) ** 2
    return 1.0 if chance == 1 else (observed - chance) / (1 - chance)
