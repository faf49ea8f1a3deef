"""Accept a proposed value only if it is in the source; otherwise give the reason of the refusal."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple, cast

from trivium.extraction._currencies import currencies_of
from trivium.extraction._dates import parse_dates
from trivium.extraction._fields import Field, Kind
from trivium.extraction._findings import NOT_STATED, Evidence, Finding, GroupEvidence, ListEvidence, Refusal
from trivium.extraction._money import Money, proposed_money
from trivium.extraction._normal_form import Span, display, normalise
from trivium.extraction._numbers import DASHES, NUMBER_WORDS, begins_cell, plain_number, proposed_numbers
from trivium.extraction._shapes import (
    STOP_WORDS,
    asks_currency,
    distinguishing_words,
    misfit,
    name_before,
    names_asked,
    trim,
)
from trivium.extraction._source import SourceText
from trivium.parsing.lowlevel import CURRENCY_CODES

_ABSENT = frozenset(
    phrase
    for line in (
        "n/a|na|n.a|none|null|nil|nan|unknown|undefined|unspecified|empty|missing|no value|no information",
        "not stated|not specified|not mentioned|not provided|not given|not available|not found|not known",
        "not applicable|not present|not defined|not disclosed|not in the text|not in the document",
    )
    for phrase in line.split("|")
)

_APART = 500
"""The distance beyond which two values are not of one line item."""

_MANY = 200
"""Places of a value that are compared to find a line item."""

_HEADS = re.compile(r"[ \t]*:[ \t]*(?:\n|\Z)")
"""What stands behind a label whose value is on the lines below it."""

_DASH_BEFORE = re.compile(rf"[^\d{DASHES}]*[{DASHES}][^\d{DASHES}]*\d")
_WRAPPING = " \t\r\n\"'`*<>()[]{}.,;:“”„‘’«»…"
_PAIRS = frozenset(['""', "''", "``", "<>", "“”", "„“", "‘’", "«»"])
_YES = "true yes ja oui si sí sì sim tak ano igen da wahr vrai vero"
_NO = "false no nein non nee nej nei não nie ne nem nu falsch faux falso"
_ANSWERS = {word: value for value, words in ((True, _YES), (False, _NO)) for word in words.split()}


def find_evidence(field: Field, proposed: object, source: SourceText) -> Finding:
    """Accept a value only if it is in the source; evidence has the verbatim quote.

    Args:
        field: the field.
        proposed: the value that the model answered, as parsed JSON.
        source: the document.

    Returns:
        `Evidence`; for a group `GroupEvidence` and for a list `ListEvidence`, if at least one value is in the source;
        else a `Refusal`.

    >>> source = SourceText("Rent: EUR 1.450,00 a month from 1 March 2024.")
    >>> find_evidence(Field("starts", "date"), "2024-03-01", source)
    Evidence(value='2024-03-01', quote='1 March 2024', start=32, end=44, others=())
    >>> find_evidence(Field("rent", "number"), 1540, source)
    Refusal(reason='"1540" is not in the text')
    """
    return _Search(field, source).verify(proposed)


class _Anchor(NamedTuple):
    """Where a line item stands: its rarest value, and the place of that."""

    part: str
    span: Span


class _Search:
    """A field, and the document in which its value is searched.

    Args:
        field: the field.
        source: the document.
        anchor: a place near which the value stands; None: where the words of the field are.
        used: places of other values; the value has another one, if there is any.

    Attributes:
        places: all places of the value that was verified last.
    """

    def __init__(
        self, field: Field, source: SourceText, anchor: _Anchor | None = None, used: Sequence[Span] = ()
    ) -> None:
        self.field, self.source, self.anchor, self.used = field, source, anchor, used
        self.places: Sequence[Span] = ()

    def verify(self, proposed: object) -> Finding:
        """Verify a value by the kind of the field."""
        if _is_absent(self.field, proposed):
            return Refusal(NOT_STATED)
        found = _FINDERS[self.field.kind](self, proposed)
        if (
            self.anchor
            and isinstance(found, Evidence)
            and self.source.gap(self.anchor.span, (found.start, found.end)) > _APART
        ):
            return Refusal(f"{_quote(proposed)} is not near the other values of its item")
        return found

    def nearest(self, spans: Sequence[Span]) -> Span:
        """Choose the span that is nearest to the anchor, or else to the words of the field."""
        self.places = max(self.places, spans, key=len)
        free = self.free(spans)
        if self.anchor is None:
            return self.source.nearest(free, distinguishing_words(self.field))
        anchor = self.anchor.span
        return min(free, key=lambda span: self.source.gap(anchor, span))

    def free(self, spans: Sequence[Span]) -> Sequence[Span]:
        """Return the spans that are not used; all of them if there is none."""
        return [
            span for span in spans if not any(span[0] < end and start < span[1] for start, end in self.used)
        ] or spans

    def has_no_minus(self, span: Span, positive: Collection[Span]) -> bool:
        """Tell whether a mark beside an amount is none of a minus: it may be another one, and a word stands before.

        A dash that touches the amount, or its currency, is within the span.
        """
        text = self.source.text
        return span in positive and not begins_cell(text, *span) and not _DASH_BEFORE.match(text, *span)

    def find(self, proposed: str) -> Span | None:
        """Find a text as it is proposed, or without the quotes, brackets and stops around it, or spaces in a code."""
        proposed = proposed.strip()
        while len(proposed) > 2 and proposed[0] + proposed[-1] in _PAIRS:
            proposed = proposed[1:-1].strip()
        bare = proposed.strip(_WRAPPING)
        spans = self.source.find_all(proposed)
        if not spans and bare not in ("", proposed):
            spans = self.source.find_all(bare)
        spans = spans or self.source.find_grouped(bare)
        return self.nearest(spans) if spans else None

    def evidence(self, value: object, *spans: Span) -> Evidence:
        """Return the value with the quote of the nearest span."""
        span = self.nearest(spans)
        return Evidence(value, self.source.text[slice(*span)], *span)


def _is_absent(field: Field, proposed: object) -> bool:
    if proposed is None or proposed in ([], {}):
        return True
    if not isinstance(proposed, str):
        return False
    text = normalise(proposed).strip(_WRAPPING)
    if (field.kind == "choice" and _choice_of(field, proposed)) or (asks_currency(field) and currencies_of(proposed)):
        return False
    name = _with_spaces(normalise(field.name))
    return not any(map(str.isalnum, text)) or text in _ABSENT or _with_spaces(text) == name


def _with_spaces(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", text))


def _quote(proposed: object) -> str:
    """Name a value in a reason: on one line, and short."""
    line = " ".join(str(proposed).split())
    return f'"{line if len(line) <= 80 else line[:79] + "…"}"'


def _not_in_text(proposed: object) -> Refusal:
    return Refusal(f"{_quote(proposed)} is not in the text")


def _items_of(proposed: object) -> list[object]:
    return cast("list[object]", proposed) if isinstance(proposed, list) else [proposed]


def verify_text(search: _Search, proposed: object) -> Finding:
    """Verify a text; the value is the text as the document has it, on one line."""
    items = _items_of(proposed)
    words = items[0] if len(items) == 1 else None
    if isinstance(words, bool) or not isinstance(words, str | int | float):
        return Refusal(f"{_quote(proposed)} is not text")
    if (found := _by_meaning(search, str(words))) is not None:
        return found
    span = search.find(str(words))
    if span is None:
        return _not_in_text(proposed)
    field, text = search.field, search.source.text
    span = name_before(field, text, trim(field, text, span))
    value = display(text[slice(*span)], str(words))
    if all(_HEADS.match(text, end) for _, end in search.source.find_all(value)):
        return Refusal(f"{_quote(value)} is a label: the value stands behind it")
    wrong = misfit(field, value)
    return Refusal(f"{_quote(value)} {wrong}") if wrong else search.evidence(value, span)


def _by_meaning(search: _Search, words: str) -> Evidence | None:
    """Return evidence of a code by a sign or a name of the same, and of a name by one in another language."""
    field, source, code = search.field, search.source, words.strip().upper()
    if asks_currency(field) and code not in CURRENCY_CODES:  # a sign, such as "€"
        code = next(iter(source.meant(currencies_of(words))), "") or code
    names = names_asked(field, words)
    is_code = code in names[:1] or (code in CURRENCY_CODES and asks_currency(field))
    if not is_code and (not names or search.find(words)):
        return None
    spans = source.words_equal(code) if is_code else []  # in these letters: not the word "de" as the country DE
    spans = spans or [span for name in names[1:] for span in source.find_all(name)]
    spans = spans or ([] if names else source.currencies_equal(code))
    if not spans:
        return None
    found = search.evidence(code, *spans)
    return found if is_code else replace(found, value=display(found.quote))


def verify_number(search: _Search, proposed: object) -> Finding:
    """Verify a number, however it is written; one to twelve also as a word."""
    values = search.source.by_marks(proposed, proposed_numbers(proposed))
    if not values:
        return Refusal(f"{_quote(proposed)} is not one number")
    if search.field.kind == "integer":
        values = tuple(value for value in values if value == value.to_integral_value())
        if not values:
            return Refusal(f"{_quote(proposed)} is not a whole number")
    for value in values:
        spans = search.source.numbers_equal(value)
        has_other = value < 0 and -value in values
        if has_other and spans and search.has_no_minus(search.nearest(spans), search.source.numbers_equal(-value)):
            continue
        if spans:
            return search.evidence(plain_number(value), *spans)
    words = [word for word, number in NUMBER_WORDS.items() if number == values[0]]
    spans = search.source.find_all(words[0]) if words else ()
    return search.evidence(plain_number(values[0]), *spans) if spans else _not_in_text(proposed)


def verify_date(search: _Search, proposed: object) -> Finding:
    """Verify a day, however it is written; the value is in ISO 8601."""
    days = parse_dates(proposed, search.source.month_first) if isinstance(proposed, str) else ()
    days = sorted(days, key=lambda day: day.year > search.source.latest_year)  # "55" may be of two centuries
    if not days:
        return Refusal(f"{_quote(proposed)} is not a date with day, month and year")
    for day in days:
        if spans := search.source.dates.get(day):
            found = search.evidence(day.isoformat(), *spans)
            others = search.source.other_days(day, (found.start, found.end))
            return replace(found, others=tuple(other.isoformat() for other in others))
    return _not_in_text(proposed)


def verify_money(search: _Search, proposed: object) -> Finding:
    """Verify an amount of money in its currency.

    A bare number is evidence of an amount in a currency only in a document that writes none beside its amounts, or,
    with cents, in one that has no other currency.
    """
    source, other = search.source, ""
    candidates = proposed_money(proposed)
    if not candidates:
        return Refusal(f"{_quote(proposed)} is not one amount of money")
    codes, amounts = candidates[0].currencies, source.by_marks(proposed, tuple(each.amount for each in candidates))
    for amount in amounts:
        # A sign of many currencies, such as "$", is written by habit where the document has none of them.
        wanted = codes if len(codes) < 2 or source.currencies.intersection(codes) else ()
        found = dict(source.money.get(amount, ()))
        known = {code for code in wanted if code}
        agreed = {
            span: stated or source.implied_currencies(span)
            for span, stated in found.items()
            if not wanted
            or known.intersection(stated or source.implied_currencies(span))
            or not (stated or source.writes_currencies)
        }
        if agreed:
            # A bare number is weaker evidence than the same amount with its currency.
            free = agreed if search.anchor else search.free(list(agreed))
            span = search.nearest([span for span in free if found[span]] or list(free))
            others = source.money.get(-amount, ()) if amount < 0 and -amount in amounts else ()
            if search.has_no_minus(span, dict(others)):
                continue
            currencies = _settle_currency(wanted, agreed[span], source)
            return search.evidence(Money(amount, currencies).normal_form(), span)
        if found and not other:
            span, stated = next(iter(found.items()))
            other = _quote(source.text[slice(*span)]) + ("" if stated else " without a currency")
    return Refusal(f"{_quote(proposed)}: the text has {other}") if other else _not_in_text(proposed)


def _settle_currency(wanted: Sequence[str], stated: Sequence[str], source: SourceText) -> tuple[str, ...]:
    """Return the codes of an amount; the model may choose or add a code that is written anywhere."""
    wanted = [code for code in wanted if code in source.currencies]
    is_settled = len(stated) == 1 or (stated and not wanted)
    if not is_settled and len(wanted) == 1:
        return tuple(wanted)
    return tuple(stated)


def _choice_of(field: Field, proposed: str) -> str | None:
    wanted = _with_spaces(normalise(proposed).strip(_WRAPPING))
    plain = {_with_spaces(normalise(choice).strip(_WRAPPING)): choice for choice in field.choices}
    return plain.get(wanted)


def verify_choice(search: _Search, proposed: object) -> Finding:
    """Verify one of the field's choices, or all of its words close together."""
    choice = _choice_of(search.field, proposed) if isinstance(proposed, str) else None
    if choice is None:
        return Refusal(f"{_quote(proposed)} is not one of {', '.join(search.field.choices)}")
    source, near, words = search.source, distinguishing_words(search.field), _with_spaces(choice)
    if spans := source.find_all(choice) or source.find_all(words):
        return search.evidence(choice, *spans)
    span = source.find_words(words.split(), near)
    return search.evidence(choice, span) if span else _not_in_text(choice)


def verify_boolean(search: _Search, proposed: object) -> Finding:
    """Verify true or false by its quote: four letters or digits of the document at least, and not stop words alone."""
    answer = cast("Mapping[str, object]", proposed) if isinstance(proposed, Mapping) else {"value": proposed}
    value, quote = answer.get("value"), answer.get("quote")
    if _is_absent(search.field, value):
        return Refusal(NOT_STATED)
    if isinstance(value, str):
        value = _ANSWERS.get(normalise(value).strip(_WRAPPING), value)
    if not isinstance(value, bool):
        return Refusal(f"{_quote(value)} is neither true nor false")
    if not isinstance(quote, str) or not re.search(r"[^\W_]", quote):
        return Refusal(f"no quote was given for {str(value).lower()}: quote the words of the text that say so")
    words = re.findall(r"[^\W_]+", normalise(quote))
    if sum(map(len, words)) < 4 or STOP_WORDS.issuperset(words):
        return Refusal(f"the quote {_quote(quote)} says too little: quote it with the words around it")
    span = search.find(quote)
    return search.evidence(value, span) if span else Refusal(f"the quote {_quote(quote)} is not in the text")


def verify_group(search: _Search, proposed: object) -> Finding:
    """Verify each value of a group; one of which more values are refused than found is no evidence."""
    if not isinstance(proposed, Mapping):
        return Refusal(f"{_quote(proposed)} is not a group of {', '.join(part.name for part in search.field.parts)}")
    values = cast("Mapping[str, object]", proposed)
    parts: dict[str, Evidence | Refusal] = {part.name: Refusal(NOT_STATED) for part in search.field.parts}
    used: list[Span] = []
    for part in sorted(search.field.parts, key=lambda part: search.anchor is None or part.name != search.anchor.part):
        found = _Search(part, search.source, search.anchor, used if search.anchor else ()).verify(values.get(part.name))
        assert isinstance(found, Evidence | Refusal), "Field() refuses lists and groups in a group"
        parts[part.name] = found
        used += [(found.start, found.end)] if isinstance(found, Evidence) else []
    group = GroupEvidence(parts)
    if group.found and len(group.found) >= len(group.refusals):
        return group
    return Refusal("; ".join(refusal.reason for refusal in group.refusals) or NOT_STATED)


def verify_list(search: _Search, proposed: object) -> Finding:
    """Verify each item of a list; a list with at least one item in the document is accepted without the others."""
    field = search.field
    assert field.item is not None, "Field() fills it"
    proposals = _items_of(proposed)
    item = replace(field.item, name=field.name, description=field.item.description or field.description)
    find = _found_rows if item.kind == "group" else _found_items
    items, refusals = find(item, proposals[: field.max_items], search.source)
    if len(proposals) >= field.max_items:
        refusals.append(Refusal(f"only the first {field.max_items} items were read"))
    if items:
        return ListEvidence(tuple(items), tuple(refusals))
    return Refusal("; ".join(dict.fromkeys(refusal.reason for refusal in refusals)) or NOT_STATED)


def _found_items(
    item: Field, proposals: Sequence[object], source: SourceText
) -> tuple[list[Evidence | GroupEvidence], list[Refusal]]:
    """Find each value of a list once; equal amounts and numbers as often as they stand at different places."""
    items: list[Evidence | GroupEvidence] = []
    refusals: list[Refusal] = []
    taken: dict[str, list[Span]] = {}
    for each in proposals:
        found = find_evidence(item, each, source)
        if isinstance(found, Evidence):
            used = taken.setdefault(normalise(str(found.value)), [])
            if used:
                repeats = item.kind in ("money", "number", "integer")  # a model repeats names and days as well
                found = _Search(item, source, used=used).verify(each) if repeats else None
            if isinstance(found, Evidence) and (found.start, found.end) not in used:
                used.append((found.start, found.end))
                items.append(found)
        elif isinstance(found, Refusal) and found.reason != NOT_STATED:
            refusals.append(found)
    return items, refusals


def _found_rows(
    item: Field, proposals: Sequence[object], source: SourceText
) -> tuple[list[Evidence | GroupEvidence], list[Refusal]]:
    """Find the values of each line item near one another; equal items must stand at different places."""
    items: list[Evidence | GroupEvidence] = []
    refusals: list[Refusal] = []
    taken: dict[str, set[Span]] = {}
    for number, each in enumerate(proposals, 1):
        used = taken.setdefault(str(each), set())
        anchor = _anchor(item, each, source, used)
        if anchor and anchor.span in used:
            continue
        used.update([anchor.span] if anchor else [])
        found = _Search(item, source, anchor).verify(each)
        if isinstance(found, GroupEvidence):
            items.append(found)
            refusals += [Refusal(f"item {number}, {refusal.reason}") for refusal in found.refusals]
        elif isinstance(found, Refusal) and found.reason != NOT_STATED:
            refusals.append(Refusal(f"item {number}, {found.reason}"))
    return items, refusals


def _anchor(item: Field, proposed: object, source: SourceText, used: Set[Span]) -> _Anchor | None:
    """Return where a line item stands: its rarest value, near the others; a used place if there is no other."""
    values = cast("Mapping[str, object]", proposed if isinstance(proposed, Mapping) else {})
    found: list[tuple[str, Sequence[Span]]] = []
    for part in item.parts:
        search = _Search(part, source)
        if isinstance(search.verify(values.get(part.name)), Evidence):
            found.append((part.name, search.places[:_MANY]))
    if not found:
        return None
    (name, rarest), *others = sorted(found, key=lambda each: len(each[1]))

    def distance(span: Span) -> int:
        return sum(min(source.gap(span, other) for other in places) for _, places in others)

    return _Anchor(name, min([span for span in rarest if span not in used] or rarest, key=distance))


_FINDERS: Mapping[Kind, Callable[[_Search, object], Finding]] = {
    "text": verify_text,
    "number": verify_number,
    "integer": verify_number,
    "date": verify_date,
    "money": verify_money,
    "boolean": verify_boolean,
    "choice": verify_choice,
    "list": verify_list,
    "group": verify_group,
}
