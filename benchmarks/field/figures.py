"""What was measured: rounds of one workload and subject, the check of the evidence, and the spread."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Cell", "Spread", "differs", "spread"]


class Spread(NamedTuple):
    """The least, the median and the worst of several rounds."""

    least: float
    median: float
    worst: float


def spread(rounds: list[float]) -> Spread:
    """The spread of some rounds."""
    return Spread(min(rounds), statistics.median(rounds), max(rounds))


def _differences(wanted: Any, found: Any, path: str) -> Iterator[str]:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key in wanted:
            yield from _differences(wanted[key], found.get(key), f"{path} {key}".strip())
    elif wanted != found:
        yield f"{path}: {found!r} instead of {wanted!r}"


def differs(floor: Mapping[str, Any] | None, found: Mapping[str, Any] | None) -> str | None:
    """Why a figure is refused: where the evidence differs from what the hand-written loop gave; None if nowhere."""
    if floor is None or found is None:
        return "there is no evidence"
    return next(_differences(floor, found, ""), None)


class Cell:
    """All rounds of a workload by a subject.

    Attributes:
        values: each figure by its name, all rounds.
        why: the reason why there is none.
    """

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}
        self.evidence: Any = None
        self.why: str | None = None
        self.kind = "measured"

    def stop(self, kind: str, why: str) -> None:
        """There is no figure: `cannot`, `failed`, `refused` or `hung`."""
        self.kind, self.why, self.values = kind, why, {}

    def add(self, answer: Mapping[str, Any], floor: Mapping[str, Any] | None, is_floor: bool) -> None:
        """Take a child's answer of one round."""
        for kind in ("cannot", "failed"):
            if kind in answer:
                return self.stop(kind, str(answer[kind]))
        why = None if is_floor else differs(floor, answer.get("evidence"))
        if why is not None:
            return self.stop("refused", f"it did not do the same work: {why}")
        self.evidence = answer.get("evidence")
        for name, value in _numbers(answer):
            self.values.setdefault(name, []).append(value)
        return None

    def spread(self, name: str = "") -> Spread | None:
        """The spread of a figure; None where there is none."""
        rounds = self.values.get(name)
        return spread(rounds) if rounds else None

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "why": self.why, "values": self.values, "evidence": self.evidence}

    @classmethod
    def of_json(cls, told: Mapping[str, Any]) -> Cell:
        cell = cls()
        cell.kind, cell.why, cell.values, cell.evidence = told["kind"], told["why"], told["values"], told["evidence"]
        return cell


def _numbers(answer: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Figures of an answer by name: "" is the one that a workload has."""
    for key in ("seconds", "bytes", "figures"):
        given = answer.get(key)
        if isinstance(given, Mapping):
            yield from given.items()
        elif given is not None:
            yield "", given
