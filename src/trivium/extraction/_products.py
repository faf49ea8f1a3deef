"""Products that a document states, quantity x price = amount in one row, by which line items are checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple, cast

from trivium.extraction._fields import Field
from trivium.extraction._findings import Evidence, GroupEvidence, ListEvidence, Refusal
from trivium.extraction._money import Money, MoneySpan, money_spans
from trivium.extraction._normal_form import Span
from trivium.extraction._numbers import CENTS, plain_number
from trivium.extraction._source import SourceText

_QUANTITY = re.compile(r"quantit|\bqty\b|\bcount\b|\bunits\b|menge|anzahl|stück|cantidad|aantal", re.IGNORECASE)
_PRICE = re.compile(r"price|preis|\bprix\b|prezzo|precio|prijs|\brate\b", re.IGNORECASE)
_WHOLE = re.compile(r"total|\bsum\b|amount|gesamt|summe|betrag|montant|gross|brutto", re.IGNORECASE)
_WORDED = re.compile(r"descri|\bname\b|designation|désignation|bezeichnung|beschreibung", re.IGNORECASE)
_CODE = re.compile(r"(?=\S*\d)[A-Z\d][A-Z\d./_-]{2,}")
_CELL = re.compile(r"\S+(?: \S+)*")
_DECIMALS = re.compile(r"\d[.,]\d\d")
_MANY = 50
"""Places of a description that are searched for a row."""

_HALF_CENT = Decimal("0.005")
_LONGEST, _MOST, _BLANK = 1000, 30, 4
"""The most characters and numbers of a row, and the lines in which the next one is looked for."""


class Product(NamedTuple):
    """A quantity and a price in one line, whose product stands behind them."""

    quantity: Decimal
    price: Money
    quantity_at: Span
    price_at: Span


def products(source: SourceText, at: Span) -> list[Product]:
    """Return the products that a row states: quantity and price in a line, the amount behind them or in the next one.

    Args:
        source: the document.
        at: where the row has its description, of which no number counts.

    >>> source = SourceText("Paper A4   9,90   20 Stk   19 %   198,00")
    >>> [(found.quantity, found.price.amount) for found in products(source, (0, 8))]
    [(Decimal('20'), Decimal('9.90'))]
    """
    text = source.text
    start, end = _line(text, at[0])
    row = [number for number in _numbers(text, start, end) if number.end <= at[0] or number.start >= at[1]]
    if len(row) > _MOST:
        return []
    below = list(_numbers(text, *_following(text, end)))
    prices = [each for each in row if each.readings[0].currencies or _DECIMALS.search(text, each.start, each.end)]
    found: dict[tuple[Decimal, Decimal], Product] = {}
    for quantity in row:
        for price in prices:
            behind = [each for each in row if each.start >= max(quantity.end, price.end)] or below
            for one, cost in _pairs(quantity, price):
                if any(_is_product(text, one * cost.amount, cost, each) for each in behind):
                    product = Product(one, cost, (quantity.start, quantity.end), (price.start, price.end))
                    found.setdefault((one, cost.amount), product)
    return list(found.values())


def _line(text: str, at: int) -> Span:
    """Return start and end of the line of a place."""
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, end if end >= 0 else len(text)


def _following(text: str, end: int) -> Span:
    """Return the next line that is not blank, at most a few lines on; an empty span if there is none."""
    for _ in range(_BLANK):
        if end >= len(text):
            break
        start, end = _line(text, end + 1)
        if text[start:end].strip():
            return start, end
    return end, end


def _numbers(text: str, start: int, end: int) -> Iterator[MoneySpan]:
    """Yield the numbers of a line, without shares; none of a very long one, which is no row of a table."""
    for found in money_spans(text[start:end]) if end - start <= _LONGEST else ():
        if text[start + found.end - 1] not in "%‰":
            yield MoneySpan(start + found.start, start + found.end, found.readings)


def _pairs(quantity: MoneySpan, price: MoneySpan) -> Iterator[tuple[Decimal, Money]]:
    if quantity.start != price.start and not quantity.readings[0].currencies:
        for one in quantity.readings:
            for cost in price.readings:
                if one.amount and cost.amount:
                    yield one.amount, cost


def _is_product(text: str, product: Decimal, price: Money, amount: MoneySpan) -> bool:
    """Tell whether an amount is a product, to the cent, in the way of writing of its price."""
    same = any(
        abs(each.amount - product) <= _HALF_CENT and bool(each.currencies) == bool(price.currencies)
        for each in amount.readings
    )
    return same and (bool(price.currencies) or CENTS.search(text, amount.start, amount.end) is not None)


def checked_rows(field: Field, found: ListEvidence, source: SourceText) -> ListEvidence:
    """Return line items with the quantity and the price of the product that the row of each states.

    A model takes the number of an item for its quantity, the number of an article for its description, or the price
    before a discount, gives an item twice, a sum as one more, or another line as an item of price 0. An item whose row
    states no product, or several of which none is nearer to what was found, is left as it is; but where rows state
    products, an item of price 0 that is not written with cents is left out, and where they add up to an amount of the
    document, so is what is no part of that sum.

    Args:
        field: the list of line items; nothing is done unless it asks for one quantity and one price.
        found: its items.
        source: the document.
    """
    quantity, price = _only(field, ("number", "integer"), _QUANTITY), _only(field, ("money",), _PRICE)
    column = next((part for part in field.columns if part.kind == "text"), None)
    if quantity is None or price is None or column is None:
        return found
    text = column.name
    rows = _Rows(source, _Names(text, quantity, price))
    groups = [each for each in found.items if isinstance(each, GroupEvidence)]
    if _WORDED.search(_asked(column)):
        groups = [GroupEvidence({**each.parts, text: _in_words(each.parts[text], source)}) for each in groups]
    items = [item for each in groups if (item := rows.checked(each))]
    if rows.is_whole():
        kept, why = (
            [item for item in items if rows.holds(item)],
            f"is no part of the sum of the other items, {rows.sum}",
        )
    else:
        kept, why = [item for item in items if not rows.is_of_nothing(item)], "has no price, as other items have"
    left = [Refusal(f"{_quote(item, text)} {why}") for item in items if item not in kept]
    return replace(found, items=tuple(kept), refusals=(*found.refusals, *left))


class _Names(NamedTuple):
    """The parts of a line item that are compared with its row."""

    text: str
    quantity: str
    price: str


class _Rows:
    """The rows of a document whose products were taken for line items.

    Args:
        source: the document.
        names: the parts of an item.

    Attributes:
        sum: the sum of these products.
    """

    def __init__(self, source: SourceText, names: _Names) -> None:
        self._source, self._names = source, names
        self._taken: dict[Span, Product] = {}
        self.sum = Decimal(0)

    def checked(self, item: GroupEvidence) -> GroupEvidence | None:
        """Return an item with the values of its row; None if the row is that of an item before."""
        names, source = self._names, self._source
        described, old = item.parts[names.text], item.parts[names.price]
        if not isinstance(described, Evidence):
            return item
        wanted = _value(item.parts[names.quantity]), _value(old)
        places = sorted(source.find_all(described.quote)[:_MANY], key=lambda at: abs(at[0] - described.start))
        stated = [(at, product) for at in places if (product := _nearest(products(source, at), *wanted))]
        free = [(at, product) for at, product in stated if product.price_at not in self._taken]
        if not free:
            return None if stated and _value(old) else item
        at, product = free[0]
        self._taken[product.price_at] = product
        self.sum += round(product.quantity * product.price.amount, 2)
        codes = source.meant(product.price.currencies) or source.implied_currencies(product.price_at)
        if not codes and isinstance(old, Evidence) and old.value["currency"]:
            codes = (old.value["currency"],)
        values = {
            names.text: replace(described, start=at[0], end=at[1], quote=source.text[slice(*at)]),
            names.quantity: _evidence(plain_number(product.quantity), product.quantity_at, source),
            names.price: _evidence(Money(product.price.amount, codes).normal_form(), product.price_at, source),
        }
        return GroupEvidence({**item.parts, **values})

    def is_whole(self) -> bool:
        """Tell whether the document states the sum of the products of several rows."""
        stated = [span for span, _ in self._source.money.get(self.sum, ())]
        return len(self._taken) > 1 and any(CENTS.search(self._source.text, *span) for span in stated)

    def is_of_nothing(self, item: GroupEvidence) -> bool:
        """Tell whether an item has a price of 0 and is not free, where rows state products."""
        return bool(self._taken) and _value(item.parts[self._names.price]) == 0 and not self._is_free(item)

    def holds(self, item: GroupEvidence) -> bool:
        """Tell whether an item is one of the products, or free."""
        price = item.parts[self._names.price]
        is_product = isinstance(price, Evidence) and (price.start, price.end) in self._taken
        return is_product or self._is_free(item)

    def _is_free(self, item: GroupEvidence) -> bool:
        price = item.parts[self._names.price]
        return isinstance(price, Evidence) and not _value(price) and bool(_DECIMALS.search(price.quote))


def _in_words(described: Evidence | Refusal, source: SourceText) -> Evidence | Refusal:
    """Return the words in the row of the number of an article; anything else, and one without words, as it is."""
    if not isinstance(described, Evidence) or not _CODE.fullmatch(described.quote):
        return described
    start, end = _line(source.text, described.start)
    cells = [each for each in _CELL.finditer(source.text, start, end) if end - start <= _LONGEST]
    best = max(cells, key=_letters, default=None)
    if best is None or _letters(best) < 4 or best.start() <= described.start < best.end():
        return described
    return Evidence(best[0], best[0], *best.span())


def _letters(cell: re.Match[str]) -> int:
    return sum(map(str.isalpha, cell[0]))


def _quote(item: GroupEvidence, text: str) -> str:
    part = item.parts[text]
    return f'"{part.quote if isinstance(part, Evidence) else item.found[0].quote}"'


def _nearest(stated: Sequence[Product], quantity: Decimal | None, price: Decimal | None) -> Product | None:
    """Return the only product, or the only one that has most of the values that were found."""
    shared = [(each.quantity == quantity) + (each.price.amount == price) for each in stated]
    best = [each for each, count in zip(stated, shared, strict=True) if count == max(shared)]
    return best[0] if len(best) == 1 else None


def _value(part: Evidence | Refusal) -> Decimal | None:
    if isinstance(part, Refusal):
        return None
    value: Any = part.value  # pyright narrows an attribute to an unknown mapping
    found = cast("Mapping[str, Any]", value)["amount"] if isinstance(value, Mapping) else value
    return Decimal(str(found))


def _evidence(value: object, span: Span, source: SourceText) -> Evidence:
    return Evidence(value, source.text[slice(*span)], *span)


def _only(field: Field, kinds: tuple[str, ...], asks: re.Pattern[str]) -> str | None:
    """Return the only part of a kind, if its name asks for something."""
    parts = [part for part in field.columns if part.kind in kinds]
    if len(parts) != 1:
        return None
    words = _asked(parts[0])
    return parts[0].name if asks.search(words) and not _WHOLE.search(words) else None


def _asked(part: Field) -> str:
    return f"{part.name.replace('_', ' ')} {part.description}"
