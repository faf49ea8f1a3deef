"""Sums that a document states: net, tax and total of an invoice, by which the amounts of a record are checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from trivium.extraction._fields import Field
from trivium.extraction._findings import NOT_STATED, Evidence, Finding, Refusal
from trivium.extraction._numbers import CENTS
from trivium.extraction._source import SourceText

_MOST = 400
"""Distinct amounts of a document beyond which its sums are not searched."""

_LEAST_RATE, _MOST_RATE = Decimal("0.01"), Decimal("0.3")
_TAX = re.compile(r"\btax(?:es)?\b|\bvat\b|\bmwst\b|\bust\b|steuer|\btva\b|\biva\b|\bgst\b", re.IGNORECASE)
_TOTAL = re.compile(r"\btotal\b|\bgross\b|gesamt|brutto|\bttc\b", re.IGNORECASE)
_OTHER = re.compile(
    r"\bnet\b|netto|without|excl|\bht\b|before tax|\bto pay\b|\bpayable\b|\bdue\b|zahlbetrag", re.IGNORECASE
)


class Sum(NamedTuple):
    """Three amounts of a document of which the last is the sum of the others."""

    net: Decimal
    tax: Decimal
    total: Decimal


def sums(source: SourceText) -> list[Sum]:
    """Return the sums of an amount and a tax of 1 to 30 % of it that a text states, the largest total first.

    >>> sums(SourceText("Net 100,00  VAT 19,00  Total 119,00"))
    [Sum(net=Decimal('100.00'), tax=Decimal('19.00'), total=Decimal('119.00'))]
    """
    amounts = _amounts(source)
    if len(amounts) > _MOST:
        return []
    found = [
        Sum(total - tax, tax, total)
        for total in amounts
        for tax in amounts
        if total - tax in amounts and _LEAST_RATE <= tax / (total - tax) <= _MOST_RATE
    ]
    return sorted(found, key=lambda each: (abs(each.total), abs(each.tax), each.total), reverse=True)


def _amounts(source: SourceText) -> set[Decimal]:
    """Return the amounts that have a currency or cents."""
    return {
        amount
        for amount, places in source.money.items()
        if amount and any(codes or CENTS.search(source.text, *span) for span, codes in places)
    }


def corrections(fields: Sequence[Field], findings: Mapping[str, Finding], source: SourceText) -> dict[str, str]:
    """Return other values for a total with tax and for its tax where those found are not of the largest sum.

    A model takes a row of one tax rate for all of them, the rate for the tax, or the net amount for the total. One that
    it leaves out is stated all the same: a total, if no amount of the document is larger, and a tax that is named so.
    Values that are of a sum stay, as the larger one may be of anything; unless it consists of theirs and others.

    Args:
        fields: the fields of the record; one of them asks for a total, and another one may ask for the tax.
        findings: what was found of them.
        source: the document.

    Returns:
        Amounts as texts, by field name; empty if all agrees, or nothing can be said.
    """
    total, tax = _only(fields, _TOTAL, _TAX), _only(fields, _TAX, None)
    if total is None or total.name not in findings:
        return {}
    code = currency_of(findings[total.name]) or currency_of(findings.get(tax.name) if tax else None)
    if not (stated := [each for each in sums(source) if _is_in(code, each, source)]):
        return {}
    given, taken = _amount(findings, total), _amount(findings, tax)
    # In parentheses a sum is stated with both signs; what was found tells which one is meant.
    opposite = [each for each in stated if each.total == -stated[0].total] if given is not None and given < 0 else []
    largest = (opposite or stated)[0]
    if given is None:
        if max(map(abs, _amounts(source))) > abs(largest.total):
            return {}
        given = Decimal(0)
    elif tax is None and given not in (largest.net, largest.tax):
        return {}
    if abs(given) > abs(largest.total) or (tax and taken == 0 and isinstance(findings[tax.name], Evidence)):
        return {}  # a document without tax has other sums, as of net amount and shipping
    own = [each for each in stated if each.total == given and each.tax == taken]
    own = own or [each for each in stated if each.total == given and not taken and _is_named(each.tax, _TAX, source)]
    if own and not any(_is_part(each, largest, stated, source) for each in own):
        largest = own[0]
    found = {} if given == largest.total else {total.name: str(largest.total)}
    if tax is not None and tax.name in findings:
        taxes = [each.tax for each in stated if each.total == largest.total]
        named = [each for each in taxes if taken is not None or _is_named(each, _TAX, source)]
        found |= {} if taken in taxes or not named else {tax.name: str(named[0])}
    return found


def currency_of(finding: Finding | None) -> str | None:
    """Return the currency of an amount of money that has one."""
    return finding.value["currency"] if isinstance(finding, Evidence) else None


def _is_in(code: str | None, stated: Sum, source: SourceText) -> bool:
    """Tell whether each amount of a sum stands somewhere in a currency, or without any."""
    places = [source.money[amount] for amount in stated]
    return code is None or all(any(not codes or code in codes for _, codes in each) for each in places)


def _is_part(part: Sum, whole: Sum, stated: Collection[Sum], source: SourceText, most: int = 2) -> bool:
    """Tell whether the rest of a sum is stated too, with a tax of its own, at the same rate or without, or in parts."""
    rest = Sum(*(one - other for one, other in zip(whole, part, strict=True)))
    if rest.net and rest.net in source.money:
        is_taxed = rest.tax in source.money and _LEAST_RATE <= rest.tax / rest.net <= _MOST_RATE
        if not rest.tax or is_taxed or abs(whole.tax - part.tax / part.net * whole.net) < Decimal("0.01"):
            return True
    smaller = [each for each in stated if abs(each.total) < abs(rest.total)] if most > 1 else []
    return any(_is_part(each, rest, stated, source, most - 1) for each in smaller)


def _is_named(amount: Decimal, names: re.Pattern[str], source: SourceText) -> bool:
    """Tell whether a name stands before an amount, in its line."""
    text = source.text
    starts = [start for (start, _), _ in source.money[amount]]
    return any(names.search(text, text.rfind("\n", 0, start) + 1, start) for start in starts)


def _only(fields: Sequence[Field], asks: re.Pattern[str], never: re.Pattern[str] | None) -> Field | None:
    """Return the only amount of money whose name asks for something; None if there is none, or several."""
    found: list[Field] = []
    for field in fields:
        name = field.name.replace("_", " ").replace("-", " ")
        other = _OTHER.search(f"{name} {field.description}") or (never is not None and never.search(name))
        if field.kind == "money" and asks.search(name) and not other:
            found.append(field)
    return found[0] if len(found) == 1 else None


def _amount(findings: Mapping[str, Finding], field: Field | None) -> Decimal | None:
    """Return the amount found; 0 for one that is not in the document, None for none."""
    finding = findings.get(field.name) if field else None
    if isinstance(finding, Evidence):
        return Decimal(str(finding.value["amount"]))
    return Decimal(0) if isinstance(finding, Refusal) and finding.reason != NOT_STATED else None
