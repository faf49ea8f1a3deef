"""The probability that a value is right, from the probabilities of the answer's tokens and from the document."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate
from math import exp, log, log2
from typing import NamedTuple

from trivium.extraction._fields import Field
from trivium.extraction._findings import Evidence
from trivium.extraction._normal_form import Span
from trivium.extraction._shapes import distinguishing_words
from trivium.extraction._source import SourceText
from trivium.llms import TokenLogprob

_ENTRY = re.compile(r'[\s,{]*("(?:[^"\\]|\\.)*")\s*:\s*')
_EMPTY = frozenset(["null", '""', '"",', '""}'])
_LEAST = 1e-6
_NEAR = 60
"""The distance in characters within which a word of the field counts as the label of a value."""


class Certainty(NamedTuple):
    """The model's own certainty of one value, from the probabilities of its tokens.

    Args:
        stated: the log odds of any value at all against null.
        least: the log probability of the least certain token of the value.
        position: the number of values before it in the answer.
    """

    stated: float
    least: float
    position: int = 0


class Calibration(NamedTuple):
    """A logistic model of the probability that a value is right; written by `benchmarks/extract/calibrate.py`.

    Args:
        weights: the weight of each sign, by its name.
        intercept: the log odds where all signs are zero.
        threshold: the confidence below which a value is not given, unless the user says otherwise.
        made: how it was made.
        sets: the sets of documents from which it was learned.
    """

    weights: Mapping[str, float]
    intercept: float
    threshold: float
    made: str
    sets: tuple[str, ...]


@cache
def calibration() -> Calibration:
    """Return the calibration that is part of this package."""
    text = files("trivium.extraction").joinpath("calibration.json").read_text(encoding="utf-8")
    return Calibration(**json.loads(text))


def certainties(tokens: Sequence[TokenLogprob], choices: Container[str] = ()) -> dict[str, Certainty]:
    """Return the certainty of each value of an answer, which is an object of JSON.

    Args:
        tokens: the tokens of the answer, in order.
        choices: the names of fields with a closed list of values. The grammar ends such a value where the model may
            want to go on, as with "MIT License" for "MIT": the end of one says nothing of its certainty.

    >>> tokens = [TokenLogprob('{"', -9.0), TokenLogprob('rent', 0.0), TokenLogprob('":', 0.0),
    ...     TokenLogprob(' 9', -0.5, ((" null", -1.0),)), TokenLogprob('0', -0.1), TokenLogprob('}', 0.0)]
    >>> certainties(tokens)["rent"].least
    -0.5
    """
    text = "".join(token.token for token in tokens)
    starts = [0, *accumulate(len(token.token) for token in tokens)]
    found: dict[str, Certainty] = {}
    for name, (start, end) in _values(text):
        last = end - (name in choices and text[end - 1] == '"')
        # The space before a value is of its first token, which decides between a value and null.
        inside = [token for token, at in zip(tokens, starts, strict=False) if start - 1 <= at < last]
        if inside:
            found[name] = Certainty(_log_odds(inside[0]), min(token.logprob for token in inside), len(found))
    return found


def _values(text: str) -> Iterator[tuple[str, Span]]:
    """Yield name and place of each value of an object, as far as it is complete."""
    decoder, at = json.JSONDecoder(strict=False), 0
    while entry := _ENTRY.match(text, at):
        try:
            _, at = decoder.raw_decode(text, entry.end())
        except (ValueError, RecursionError):  # the answer was cut off, or is no record
            return
        yield json.loads(entry[1], strict=False), (entry.end(), at)


def _log_odds(first: TokenLogprob) -> float:
    """Return the log odds of a value against null where the value begins; unlisted tokens are at most as likely."""
    none = sum(exp(logprob) for token, logprob in first.top if token.strip() in _EMPTY)
    none = max(none, _LEAST) if none or not first.top else min(0.5, exp(first.top[-1][1]))
    return log((1 - min(none, 1 - _LEAST)) / none)


def signs(field: Field, finding: Evidence, certainty: Certainty, source: SourceText) -> dict[str, float]:
    """Return the signs from which the confidence of a value is computed, by name.

    Tried, and worth nothing beside these: the mean of the tokens' probabilities, the number of other values of the kind
    in the document, and whether another field has the same evidence.

    Args:
        field: the field.
        finding: its value, with its evidence.
        certainty: the model's certainty.
        source: the document.
    """
    labels = [at for word in distinguishing_words(field) for at in source.ends_of(word)]
    return {
        "stated": certainty.stated,
        "first": float(certainty.position == 0),  # a small model hesitates before the first value
        "least": max(certainty.least, -8.0),
        "labelled": float(any(0 <= finding.start - at <= _NEAR for at in labels)),
        "places": log2(1 + len(source.find_all(finding.quote))),
        "words": log2(1 + len(finding.quote.split())),
        "is_text": float(field.kind == "text"),
        "is_choice": float(field.kind == "choice"),
    }


def confidence(signs: Mapping[str, float]) -> float:
    """Return the probability that a value is right, by its signs."""
    known = calibration()
    odds = known.intercept + sum(weight * signs.get(name, 0.0) for name, weight in known.weights.items())
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))
