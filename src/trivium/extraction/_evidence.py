"""Accept a proposed value only if it stands in the source, and say why where it does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias, cast

from trivium.extraction._dates import parse_dates
from trivium.extraction._fields import MAX_ITEMS, Field, Kind
from trivium.extraction._money import Money, parse_money
from trivium.extraction._numbers import NUMBER_WORDS, plain_number, readings
from trivium.extraction._shapes import misfit, name_before, trimmed
from trivium.extraction._source import SourceText, Span, display, normalise

__all__ = ["NOT_STATED", "Evidence", "Finding", "ListEvidence", "Refusal", "SourceText", "find_evidence"]

NOT_STATED = "the document does not state it"
"""The reason of a refusal where nothing was proposed: there is nothing to ask again about."""

_ABSENT = frozenset(
    phrase
    for line in (
        "n/a|na|n.a|none|null|nil|nan|unknown|undefined|unspecified|empty|missing|no value|no information",
        "not stated|not specified|not mentioned|not provided|not given|not available|not found|not known",
        "not applicable|not present|not defined|not disclosed|not in the text|not in the document",
    )
    for phrase in line.split("|")
)
_WRAPPING = " \t\r\n\"'`*<>()[]{}.,;:“”„‘’«»…"
_PAIRS = frozenset(['""', "''", "``", "<>", "“”", "„“", "‘’", "«»"])
_STOP_WORD_LINES = """
the a an and or of to in on at is are was were be been has have had it its this that these those for with by from
as not no yes any all may shall will can der die das und le la les et un une el los il
"""
_STOP_WORDS = frozenset(_STOP_WORD_LINES.split())
_WINDOW = 200
_YES = "true yes ja oui si sí sì sim tak ano igen da wahr vrai vero"
_NO = "false no nein non nee nej nei não nie ne nem nu falsch faux falso"
_ANSWERS = {word: value for value, words in ((True, _YES), (False, _NO)) for word in words.split()}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value that stands in the source: `text[start:end] == quote`, always.

    Args:
        value: the value in its normal form, ready for JSON.
        quote: the words of the source, as they stand.
        start: where the quote begins in the source.
        end: where it ends.
    """

    value: Any
    quote: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ListEvidence:
    """A list of which at least one item stands in the source; the others are dropped, and refused by name.

    Args:
        items: the items that stand in the source, each value once, in the order proposed.
        refusals: one for each item that was dropped, and one if the list was full, so that more may be missing.
    """

    items: tuple[Evidence, ...]
    refusals: tuple[Refusal, ...] = ()

    @property
    def value(self) -> list[Any]:
        """The values of the items."""
        return [item.value for item in self.items]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a proposed value is not accepted, in words for the model and the user.

    Args:
        reason: one short line.
    """

    reason: str


Finding: TypeAlias = Evidence | ListEvidence | Refusal
"""What becomes of a proposed value."""


def find_evidence(field: Field, proposed: object, source: SourceText) -> Finding:
    """Accept a value only if it stands in the source; what is accepted carries the verbatim quote.

    Args:
        field: what was asked for.
        proposed: what the model answered, as JSON gives it.
        source: the document.

    Returns:
        `Evidence`; for a list `ListEvidence`, if at least one item stands in the source; else a `Refusal`.

    >>> source = SourceText("Rent: EUR 1.450,00 a month from 1 March 2024.")
    >>> find_evidence(Field("starts", "date"), "2024-03-01", source)
    Evidence(value='2024-03-01', quote='1 March 2024', start=32, end=44)
    >>> find_evidence(Field("rent", "number"), 1540, source)
    Refusal(reason='"1540" does not stand in the text')
    """
    if _is_absent(field, proposed):
        return Refusal(NOT_STATED)
    return _FINDERS[field.kind](field, proposed, source)


def _is_absent(field: Field, proposed: object) -> bool:
    if proposed is None or proposed in ([], {}):
        return True
    if not isinstance(proposed, str):
        return False
    text = normalise(proposed).strip(_WRAPPING)
    if field.kind == "choice" and _choice(field, proposed):
        return False
    name = _spaced(normalise(field.name))
    return not any(map(str.isalnum, text)) or text in _ABSENT or _spaced(text) == name


def _spaced(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", text))


def _shown(proposed: object) -> str:
    """Name a value in a reason: on one line, and short."""
    line = " ".join(str(proposed).split())
    return f'"{line if len(line) <= 80 else line[:79] + "…"}"'


def _not_in_text(proposed: object) -> Refusal:
    return Refusal(f"{_shown(proposed)} does not stand in the text")


def _evidence(value: Any, span: Span, source: SourceText) -> Evidence:
    return Evidence(value, source.text[span[0] : span[1]], *span)


def _near(field: Field) -> list[str]:
    """Take the words of a field's name and description that can tell one place from another."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", field.name)
    words = re.findall(r"[^\W_]{3,}", f"{name} {field.description}".casefold())
    return [word for word in dict.fromkeys(words) if word not in _STOP_WORDS][:12]


def _find(proposed: str, field: Field, source: SourceText) -> Span | None:
    """Find a text as it is proposed, or without the quotes, brackets and stops around it."""
    proposed = proposed.strip()
    while len(proposed) > 2 and proposed[0] + proposed[-1] in _PAIRS:
        proposed = proposed[1:-1].strip()
    bare = proposed.strip(_WRAPPING)
    span = source.find(proposed, _near(field))
    return span if span or bare in ("", proposed) else source.find(bare, _near(field))


def _text(field: Field, proposed: object, source: SourceText) -> Finding:
    words = _only_item(proposed)
    if isinstance(words, bool) or not isinstance(words, str | int | float):
        return Refusal(f"{_shown(proposed)} is not text")
    span = _find(str(words), field, source)
    if span is None:
        return _not_in_text(proposed)
    span = name_before(field, source.text, trimmed(field, source.text, span))
    value = display(source.text[slice(*span)])
    wrong = misfit(field, value)
    return Refusal(f"{_shown(value)} {wrong}") if wrong else _evidence(value, span, source)


def _only_item(proposed: object) -> object:
    items = cast(list[object], proposed) if isinstance(proposed, list) else [proposed]
    return items[0] if len(items) == 1 else None


def _numbers(proposed: object) -> tuple[Decimal, ...]:
    if isinstance(proposed, bool) or not isinstance(proposed, str | int | float):
        return ()
    if isinstance(proposed, str):
        return readings(proposed)
    number = Decimal(repr(proposed)) if isinstance(proposed, float) else Decimal(proposed)
    return (number,) if number.is_finite() else ()


def _number(field: Field, proposed: object, source: SourceText) -> Finding:
    values = _numbers(proposed)
    if not values:
        return Refusal(f"{_shown(proposed)} is not one number")
    if field.kind == "integer":
        values = tuple(value for value in values if value == value.to_integral_value())
        if not values:
            return Refusal(f"{_shown(proposed)} is not a whole number")
    for value in values:
        if spans := source.numbers_equal(value):
            return _evidence(plain_number(value), source.nearest(spans, _near(field)), source)
    return _number_word(field, values[0], source) or _not_in_text(proposed)


def _number_word(field: Field, value: Decimal, source: SourceText) -> Evidence | None:
    words = [word for word, number in NUMBER_WORDS.items() if number == value]
    span = source.find(words[0], _near(field)) if words else None
    return _evidence(plain_number(value), span, source) if span else None


def _date(field: Field, proposed: object, source: SourceText) -> Finding:
    days = parse_dates(proposed, source.month_first) if isinstance(proposed, str) else ()
    if not days:
        return Refusal(f"{_shown(proposed)} is not a date with day, month and year")
    for day in days:
        if spans := source.dates.get(day):
            return _evidence(day.isoformat(), source.nearest(spans, _near(field)), source)
    return _not_in_text(proposed)


def _proposed_money(proposed: object) -> tuple[Money, ...]:
    if isinstance(proposed, Mapping):
        parts = cast(Mapping[str, object], proposed)
        currency = f"{parts.get('currency') or ''} "
        amounts = _numbers(parts.get("amount"))
        codes = next((money.currencies for money in parse_money(f"{currency}1")), ())
        return tuple(Money(amount, codes) for amount in amounts)
    if isinstance(proposed, str):
        return parse_money(proposed)
    return tuple(Money(amount) for amount in _numbers(proposed))


def _money(field: Field, proposed: object, source: SourceText) -> Finding:
    candidates = _proposed_money(proposed)
    if not candidates:
        return Refusal(f"{_shown(proposed)} is not one amount of money")
    other: str | None = None
    for candidate in candidates:
        found = source.money.get(candidate.amount, [])
        agreed = {span: codes for span, codes in found if _agree(candidate.currencies, codes, source)}
        if agreed:
            # A bare number is weaker evidence than the same amount with its currency.
            spans = [span for span, codes in agreed.items() if codes] or list(agreed)
            span = source.nearest(spans, _near(field))
            currency = _currency(candidate.currencies, agreed[span], source)
            return _evidence(Money(candidate.amount, currency).normal_form(), span, source)
        other = other or next((_shown_money(span, codes, source) for span, codes in found), None)
    return Refusal(f"{_shown(proposed)}: the text has {other}") if other else _not_in_text(proposed)


def _shown_money(span: Span, codes: Sequence[str], source: SourceText) -> str:
    return _shown(source.text[slice(*span)]) + ("" if codes else " without a currency")


def _agree(proposed: Sequence[str], stated: Sequence[str], source: SourceText) -> bool:
    """Compare currencies; a bare number backs one only in a document that writes none beside its amounts."""
    if not proposed:
        return True
    return any(code in stated for code in proposed if code) if stated else not source.writes_currencies


def _currency(proposed: Sequence[str], stated: Sequence[str], source: SourceText) -> tuple[str, ...]:
    """Settle a currency: as the source has it beside the amount; what the model adds must stand somewhere."""
    if len(stated) == 1 or (stated and not proposed):
        return tuple(stated)
    wanted = proposed[0] if len(proposed) == 1 else ""
    if wanted and source.mentions_currency(wanted):
        return (wanted,)
    return tuple(stated)


def _choice(field: Field, proposed: str) -> str | None:
    wanted = _spaced(normalise(proposed).strip(_WRAPPING))
    plain = {_spaced(normalise(choice).strip(_WRAPPING)): choice for choice in field.choices}
    return plain.get(wanted)


def _find_choice(field: Field, proposed: object, source: SourceText) -> Finding:
    choice = _choice(field, proposed) if isinstance(proposed, str) else None
    if choice is None:
        return Refusal(f"{_shown(proposed)} is not one of {', '.join(field.choices)}")
    near = _near(field)
    span = source.find(choice, near) or source.find(_spaced(choice), near) or _find_words(choice, near, source)
    return _evidence(choice, span, source) if span else _not_in_text(choice)


def _find_words(choice: str, near: Sequence[str], source: SourceText) -> Span | None:
    """Find all words of a choice close together, in any order: "full-time" in "full or part time"."""
    words = _spaced(choice).split()
    spans = [source.find(word, [*near, *words]) for word in words]
    found = [span for span in spans if span]
    if len(words) < 2 or len(found) < len(words):
        return None
    start, end = min(found)[0], max(end for _, end in found)
    return (start, end) if end - start <= _WINDOW else None


def _boolean(field: Field, proposed: object, source: SourceText) -> Finding:
    answer = cast(Mapping[str, object], proposed) if isinstance(proposed, Mapping) else {"value": proposed}
    value = answer.get("value")
    if _is_absent(field, value):
        return Refusal(NOT_STATED)
    if isinstance(value, str):
        value = _ANSWERS.get(normalise(value).strip(_WRAPPING), value)
    if not isinstance(value, bool):
        return Refusal(f"{_shown(value)} is neither true nor false")
    quote = answer.get("quote")
    if not isinstance(quote, str) or not re.search(r"[^\W_]", quote):
        return Refusal(f"no quote was given for {str(value).lower()}: quote the words of the text that say so")
    if not _is_telling(quote):
        return Refusal(f"the quote {_shown(quote)} says too little: quote it with the words around it")
    span = _find(quote, field, source)
    return _evidence(value, span, source) if span else Refusal(f"the quote {_shown(quote)} does not stand in the text")


def _is_telling(quote: str) -> bool:
    """Say whether a quote can bear out an answer: four letters or digits, and not stop words alone."""
    words = re.findall(r"[^\W_]+", normalise(quote))
    return sum(map(len, words)) >= 4 and any(word not in _STOP_WORDS for word in words)


def _list(field: Field, proposed: object, source: SourceText) -> Finding:
    assert field.item is not None, "Field() fills it"
    proposals = cast(list[object], proposed) if isinstance(proposed, list) else [proposed]
    item = Field(field.name, field.item.kind, field.item.description or field.description, field.item.choices)
    items: dict[str, Evidence] = {}
    refusals: list[Refusal] = []
    for each in proposals[:MAX_ITEMS]:
        found = find_evidence(item, each, source)
        if isinstance(found, Evidence):
            items.setdefault(normalise(str(found.value)), found)
        elif isinstance(found, Refusal) and found.reason != NOT_STATED:
            refusals.append(found)
    if len(proposals) >= MAX_ITEMS:
        refusals.append(Refusal(f"only the first {MAX_ITEMS} items were read"))
    if items:
        return ListEvidence(tuple(items.values()), tuple(refusals))
    return Refusal("; ".join(dict.fromkeys(refusal.reason for refusal in refusals)) or NOT_STATED)


_FINDERS: Mapping[Kind, Callable[[Field, object, SourceText], Finding]] = {
    "text": _text,
    "number": _number,
    "integer": _number,
    "date": _date,
    "money": _money,
    "boolean": _boolean,
    "choice": _find_choice,
    "list": _list,
}
