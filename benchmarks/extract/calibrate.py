"""Learn the confidence of values from documents whose truth is known, and measure it on others.

``python calibrate.py learn DIR --sets open --models default`` writes ``src/trivium/extraction/calibration.json`` from
what ``run.py --output DIR`` found there. ``python calibrate.py measure DIR --sets reserved`` writes
``docs/confidence.md`` with its figures and charts, from documents that were not learned from; those that were are
there too, cross-validated. DIR has a folder for each model.

The model is a logistic regression of a few signs (`trivium.extraction._confidence`); its penalty is one standard
normal prior for each sign, scaled to unit variance. The threshold is the highest at which, cross-validated by
document, at most `LOST` of the right values are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from score import outcome_of

from trivium.extraction import parse_fields
from trivium.knowledge import read

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = ROOT / "src" / "trivium" / "extraction" / "calibration.json"
PAGE = ROOT / "docs" / "confidence.md"
LOST = 0.01
FOLDS = 8
PRIOR = 1.0


class Place(NamedTuple):
    """A field of a document: its outcome, and the signs of its value, if it has one."""

    model: str
    group: str
    document: str
    field: str
    outcome: str
    signs: dict[str, float]
    confidence: float = 1.0


def places_of(folder: Path, names: Iterable[str]) -> Iterator[Place]:
    """Yield each field whose truth is known, of all documents that were read with any model."""
    from run import SETS, Set, case_of

    for model in sorted(path for path in folder.iterdir() if path.is_dir()):
        for name in names:
            results = model / f"{name}.jsonl"
            if not results.exists():
                continue
            own = Set(folder / name / "truth.json", HERE / "zugferd" / "fields.txt", folder / name)
            files = SETS.get(name, own)
            truth = json.loads(files.truth.read_text(encoding="utf-8"))
            fields = parse_fields(files.fields.read_text(encoding="utf-8"))
            for line in map(json.loads, results.read_text(encoding="utf-8").splitlines()):
                case = case_of(line, read(files.texts / line["source"]), fields, 0)
                for field, wanted in truth[line["source"]].items():
                    if isinstance(wanted, list):
                        continue  # line items are counted apart
                    got = case.result()["fields"][field]["value"]
                    signs = case.signs(field) if got is not None else {}
                    yield Place(model.name, name, line["source"], field, outcome_of(wanted, got), signs)


def fit(places: Sequence[Place]) -> tuple[dict[str, float], float]:
    """Return weights and intercept of the logistic model of the values that were given."""
    names = list(places[0].signs)
    table = np.array([[place.signs[name] for name in names] for place in places])
    right = np.array([place.outcome == "exact" for place in places], float)
    mean, scale = table.mean(0), table.std(0) + 1e-9
    columns = np.hstack([np.ones((len(table), 1)), (table - mean) / scale])
    penalty = np.diag([1e-6, *[PRIOR] * len(names)])
    weights = np.zeros(columns.shape[1])
    for _ in range(50):  # Newton's method
        chance = 1 / (1 + np.exp(-columns @ weights))
        slope = columns.T @ (chance - right) + penalty @ weights
        curve = (columns * (chance * (1 - chance))[:, None]).T @ columns + penalty
        weights -= np.linalg.solve(curve, slope)
    plain = weights[1:] / scale
    return dict(zip(names, map(float, plain), strict=True)), float(weights[0] - plain @ mean)


def predicted(places: Sequence[Place], weights: dict[str, float], intercept: float) -> list[Place]:
    """Return the values with their confidence."""
    odds = [intercept + sum(weight * place.signs[name] for name, weight in weights.items()) for place in places]
    return [place._replace(confidence=float(1 / (1 + np.exp(-each)))) for place, each in zip(places, odds, strict=True)]


def cross_validated(places: Sequence[Place]) -> list[Place]:
    """Return the values with the confidence that is learned from other documents."""
    documents = sorted({place.document for place in places})
    found: list[Place] = []
    for fold in range(FOLDS):
        held = set(documents[fold::FOLDS])
        rest = [place for place in places if place.document not in held]
        found += predicted([place for place in places if place.document in held], *fit(rest))
    return found


def threshold_of(given: Sequence[Place]) -> float:
    """Return the highest threshold, in steps of a hundredth, at which at most `LOST` of the right values are lost."""
    right = sorted(place.confidence for place in given if place.outcome == "exact")
    return int(100 * right[int(LOST * len(right))]) / 100


def learn(folder: Path, sets: Sequence[str], models: Sequence[str]) -> None:
    """Write the calibration, learned from the answers of some models (default: all)."""
    places = [place for place in places_of(folder, sets) if not models or place.model in models]
    given = [place for place in places if place.signs]
    checked = cross_validated(given)
    weights, intercept = fit(given)
    threshold = threshold_of(checked)
    models = sorted({place.model for place in given})
    documents = len({place[:3] for place in given})
    made = (
        f"benchmarks/extract/calibrate.py learn: {len(given)} values of {documents} documents ({', '.join(sets)}) by "
        f"{', '.join(models)}"
    )
    rounded = {name: round(weight, 4) for name, weight in weights.items()}
    content: dict[str, Any] = {
        "weights": rounded,
        "intercept": round(intercept, 4),
        "threshold": threshold,
        "made": made,
    }
    content["sets"] = list(sets)
    TARGET.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(TARGET.read_text(encoding="utf-8"))
    for kind in sorted({place[:2] for place in places}):
        found = summary(of_kind(checked, kind), of_kind(places, kind), threshold)
        print(f"{', '.join(kind)}, cross-validated: {found}")


class Figures(NamedTuple):
    """What a threshold does."""

    present: int
    exact: int
    exact_before: int
    wrong: int
    absent: int
    invented: int
    invented_before: int

    def __str__(self) -> str:
        lost = self.exact_before - self.exact
        return (
            f"exact {self.exact} of {self.present} ({self.exact / max(1, self.present):.1%}), wrong {self.wrong}; "
            f"invented {self.invented} of {self.absent} ({self.invented / max(1, self.absent):.0%}), without threshold "
            f"{self.invented_before}; right values lost {lost} of {self.exact_before} "
            f"({lost / max(1, self.exact_before):.1%})"
        )


def of_kind(places: Iterable[Place], kind: tuple[str, ...]) -> list[Place]:
    """Return the places of a model and a group."""
    return [place for place in places if place[:2] == kind]


def summary(given: Sequence[Place], own: Sequence[Place], threshold: float) -> Figures:
    """Count what a threshold does to values."""
    absent = sum(place.outcome in ("empty", "invented") for place in own)
    # A value that a sum of the document told has no confidence, and is given.
    told = [place.outcome for place in own if not place.signs and place.outcome in ("exact", "wrong", "invented")]
    kept = told + [place.outcome for place in given if place.confidence >= threshold]
    before = told + [place.outcome for place in given]
    return Figures(
        len(own) - absent,
        kept.count("exact"),
        before.count("exact"),
        kept.count("wrong"),
        absent,
        kept.count("invented"),
        before.count("invented"),
    )


def measure(folder: Path, sets: Sequence[str], models: Sequence[str]) -> None:
    """Write the page of the docs with its figures, of some models (default: all)."""
    known = json.loads(TARGET.read_text(encoding="utf-8"))
    everything = [place for place in places_of(folder, [*sets, *known["sets"]]) if not models or place.model in models]
    learned = [place for place in everything if place.group in known["sets"]]
    others = [place for place in everything if place.group not in known["sets"]]
    given = predicted([place for place in others if place.signs], known["weights"], known["intercept"])
    checked = cross_validated([place for place in learned if place.signs])
    from charts import draw

    lines = list(page(given, others, checked, learned, known))
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw(PAGE)
    print("\n".join(lines))


def page(
    given: Sequence[Place],
    others: Sequence[Place],
    checked: Sequence[Place],
    learned: Sequence[Place],
    known: dict[str, Any],
) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# The confidence of a value, in figures\n"
    yield "This page shows how often extracted values with a given confidence are right. It is written by"
    yield "`python benchmarks/extract/calibrate.py measure`. The weights were learned by"
    yield f"`{known['made']}`."
    yield f"Measured on other documents, with the default threshold of {known['threshold']:.2f}:\n"
    yield from table(given, others, known["threshold"])
    yield "\nThe same on the documents that it was learned from, each with the confidence that is learned from the rest"
    yield f"(cross-validated, in {FOLDS} parts):\n"
    yield from table(checked, learned, known["threshold"])
    yield "\n*Fields* are those that the truth holds, *invented* are values given where it has none, *lost* are right"
    yield "values below the threshold. `labelled` and `prose` are copyright files of Debian, `perl` are manual pages,"
    yield "`python` READMEs, `open` and `reserved` invoices (`benchmarks/extract`). The confidence is the probability"
    yield "that a value is right, here on the other documents:\n"
    yield "![Reliability](confidence/reliability.svg)\n"
    yield "| the confidence says | are right | values |\n| --- | --- | --- |"
    yield from reliability(given)
    yield "\nBelow the line the confidence is too high, above it too low.\n"
    yield "If only the most certain values are given, how many are wrong? The bold row is the default threshold:\n"
    yield "![Risk and coverage](confidence/risk-coverage.svg)\n"
    yield "| given of all values | wrong of these | least confidence |\n| --- | --- | --- |"
    yield from risk_coverage(given, known["threshold"])
    yield ""
    yield "## Features and weights\n"
    yield "| feature | weight |\n| --- | --- |"
    for name, weight in known["weights"].items():
        yield f"| {name} | {weight:+.2f} |"


def table(given: Sequence[Place], places: Sequence[Place], threshold: float) -> Iterator[str]:
    """Yield the table of what the threshold does to each set."""
    columns = "model, set, documents, fields, exact (all given), exact, wrong, invented (all given), invented, lost"
    yield f"| {columns.replace(', ', ' | ')} |"
    yield f"|{' --- |' * len(columns.split(', '))}"
    for kind in sorted({place[:2] for place in places}):
        own = of_kind(places, kind)
        found = summary(of_kind(given, kind), own, threshold)
        documents = len({place.document for place in own})
        lost = found.exact_before - found.exact
        yield (
            f"| {' | '.join(kind)} | {documents} | {found.present} | {found.exact_before / found.present:.1%} | "
            f"{found.exact / found.present:.1%} | {found.wrong} | {found.invented_before} of {found.absent} | "
            f"**{found.invented} of {found.absent}** | {lost} of {found.exact_before} right values |"
        )


def reliability(given: Sequence[Place]) -> Iterator[str]:
    """Yield the rows of the share of right values by the confidence, in tenths."""
    for tenth in range(10):
        inside = [place for place in given if tenth == min(9, int(place.confidence * 10))]
        if inside:
            said = sum(place.confidence for place in inside) / len(inside)
            right = sum(place.outcome == "exact" for place in inside) / len(inside)
            yield f"| {100 * said:.1f} % | {100 * right:.1f} % | {len(inside)} |"


def risk_coverage(given: Sequence[Place], threshold: float) -> Iterator[str]:
    """Yield the rows of the share of wrong values among the most certain ones, in steps of a twentieth."""
    ranked = sorted(given, key=lambda place: -place.confidence)
    kept = sum(place.confidence >= threshold for place in ranked)
    for count in sorted({*(round(step * len(ranked) / 20) for step in range(1, 21)), kept} - {0}):
        wrong = sum(place.outcome != "exact" for place in ranked[:count]) / count
        mark = "**" if count == kept else ""
        least = ranked[count - 1].confidence
        yield f"| {mark}{100 * count / len(ranked):.1f} %{mark} | {100 * wrong:.1f} % | {least:.2f} |"


def main() -> None:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description="Learn and measure the confidence of values.")
    parser.add_argument("task", choices=["learn", "measure"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default="open", help="as of run.py, separated by commas")
    parser.add_argument("--models", default="", help="names of folders in DIR, separated by commas; else all")
    options = parser.parse_args()
    models = [each for each in str(options.models).split(",") if each]
    {"learn": learn, "measure": measure}[options.task](options.folder, options.sets.split(","), models)


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(ROOT / "scripts")]
    main()
