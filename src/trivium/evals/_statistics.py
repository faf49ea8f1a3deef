"""The statistics of evaluations: rates, intervals, paired tests and agreement; plain Python, reproducible by seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, comb, sqrt
from random import Random
from statistics import NormalDist, fmean

__all__ = ["bootstrap", "cases_needed", "cohens_kappa", "pass_at_k", "pass_hat_k", "sign_flip_test", "wilson"]

_DRAWS = 2_000
_FLIPS = 10_000


def pass_at_k(trials: int, passed: int, k: int) -> float:
    """Return the chance that at least one of `k` trials passes, without bias, from `trials` of which some passed.

    Example:
        >>> pass_at_k(5, 2, 1), round(pass_at_k(5, 2, 3), 3)
        (0.4, 0.9)
    """
    return 1 - comb(trials - passed, k) / comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float:
    """Return the chance that all of `k` trials pass (pass^k), without bias.

    Example:
        >>> round(pass_hat_k(5, 4, 2), 3)
        0.6
    """
    return comb(passed, k) / comb(trials, k)


def wilson(passed: float, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a rate.

    Example:
        >>> [round(each, 4) for each in wilson(81, 263)]
        [0.2553, 0.3662]
    """
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


def sign_flip_test(differences: Sequence[float], seed: int = 0) -> float:
    """Return the two-sided p-value of a mean difference of pairs, if the sides of each pair could be swapped.

    Where all that differ do so by the same amount, as with one trial that passes or fails, it is McNemar's mid-p test,
    which finds more than the exact one, and seldom one that is not there (Fagerland and others, 2013); else
    signs are drawn.

    Example:
        >>> round(sign_flip_test([1] * 8 + [-1] * 2 + [0] * 90), 4)
        0.0654
    """
    sizes = [abs(each) for each in differences if abs(each) > 1e-12]
    if not sizes:
        return 1.0
    if max(sizes) - min(sizes) < 1e-12:
        count, more = len(sizes), sum(each > 1e-12 for each in differences)
        fewer = min(more, count - more)
        return (2 * sum(comb(count, each) for each in range(fewer)) + comb(count, fewer)) / 2**count
    observed, random = abs(sum(differences)), Random(seed)  # noqa: S311 - no secret
    extreme = 0
    for _ in range(_FLIPS):
        drawn = sum(each if random.random() < 0.5 else -each for each in sizes)
        extreme += abs(drawn) > observed - 1e-12
    return (extreme + 1) / (_FLIPS + 1)


def cases_needed(difference: float, flipped: float, power: float = 0.8, level: float = 0.95) -> int:
    """Return the number of cases with which `compare` finds a difference so often.

    Args:
        difference: the difference of the two pass rates, as 0.1.
        flipped: the share of cases of which one agent passes and the other fails; at least the difference.
        power: the share of evaluations in which it is to be found.
        level: one less the share in which one may be found where there is none.

    Example:
        >>> cases_needed(0.1, flipped=0.2)
        155
    """
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
