"""Other values that a document has for a field: of its kind, and near its words."""

from __future__ import annotations

from typing import Any

from trivium.extraction._fields import Field
from trivium.extraction._findings import Evidence
from trivium.extraction._money import Money
from trivium.extraction._normal_form import Span
from trivium.extraction._numbers import plain_number
from trivium.extraction._shapes import distinguishing_words
from trivium.extraction._source import SourceText


def alternatives(field: Field, source: SourceText, most: int = 3) -> list[Evidence]:
    """Return dates, amounts or numbers that a field of this kind may mean, the nearest to its words first.

    Args:
        field: the field; only dates, money and numbers can be recognised without a model.
        source: the document.
        most: the number of values.

    >>> source = SourceText("Net EUR 80, total EUR 96 by 1 May 2024.")
    >>> [each.quote for each in alternatives(Field("total", "money"), source)]
    ['EUR 96', 'EUR 80']
    """
    places = _places(field, source)
    found: list[Evidence] = []
    while places and len(found) < most:
        span = source.nearest(sorted(places), distinguishing_words(field))
        value = places[span]
        found.append(Evidence(value, source.text[slice(*span)], *span))
        for other in [other for other, each in places.items() if each == value]:
            del places[other]
    return found


def _places(field: Field, source: SourceText) -> dict[Span, Any]:
    """Return the value at each place; of several readings the first, so it is set last."""
    if field.kind == "date":
        return {span: day.isoformat() for day, spans in reversed(source.dates.items()) for span in spans}
    if field.kind in ("number", "integer"):
        whole = field.kind == "integer"
        values = [value for value in reversed(source.numbers) if not whole or value == value.to_integral_value()]
        return {span: plain_number(value) for value in values for span in source.numbers_equal(value)}
    if field.kind == "money":
        amounts = reversed(source.money.items())
        return {
            span: Money(amount, codes or source.implied_currencies(span)).normal_form()
            for amount, found in amounts
            for span, codes in found
            if codes or not source.writes_currencies or source.implied_currencies(span)
        }
    return dict[Span, Any]()
