"""The truth of an invoice: what the XML in its PDF says. No model and no reader under test sees it."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any, NamedTuple, cast
from xml.etree import ElementTree

__all__ = ["Truth", "fields_of", "money_forms", "truth_of"]


class Truth(NamedTuple):
    """The values of an invoice as the XML has them; "" or () for what it leaves out."""

    number: str
    seller: str
    buyer: str
    total: str
    items: tuple[str, ...]


def truth_of(data: bytes) -> Truth | None:
    """Read the XML in a PDF; None if it has none that can be read, or none without number and seller."""
    root = _invoice_of(data)
    return None if root is None else _truth(root)


def _invoice_of(data: bytes) -> ElementTree.Element | None:
    import pypdf

    try:
        files = pypdf.PdfReader(BytesIO(data)).attachments
    except Exception:  # some files of the corpus are broken on purpose
        return None
    for name, contents in files.items():
        if not name.lower().endswith(".xml"):
            continue
        try:
            root = ElementTree.fromstring(contents[0])
        except ElementTree.ParseError:
            continue
        if (found := _truth(root)).number and found.seller:
            return root
    return None


def _truth(root: ElementTree.Element) -> Truth:
    return Truth(
        _text(root, "ExchangedDocument/ID") or _text(root, "HeaderExchangedDocument/ID"),
        _text(root, "SellerTradeParty/Name"),
        _text(root, "BuyerTradeParty/Name"),
        _text(root, "GrandTotalAmount"),
        tuple(dict.fromkeys(_texts(root, "SpecifiedTradeProduct/Name"))),
    )


def _texts(root: ElementTree.Element, path: str) -> list[str]:
    """Return the texts of the elements whose path ends so; the namespaces differ by version."""
    found: list[str] = []

    def walk(element: ElementTree.Element, above: tuple[str, ...]) -> None:
        here = (*above, element.tag.rpartition("}")[2])
        if (
            "/".join(here).endswith(path if "Summation/" in path else f"/{path}")
            and element.text
            and element.text.strip()
        ):
            found.append(" ".join(element.text.split()))
        for child in element:
            walk(child, here)

    walk(root, ())
    return found


def _text(root: ElementTree.Element, path: str) -> str:
    return next(iter(_texts(root, path)), "")


def money_forms(amount: str) -> list[str]:
    """Return the ways in which invoices write an amount.

    >>> money_forms("1234.5")
    ['1234.50', '1234,50', '1.234,50', '1,234.50', '1 234,50', "1'234.50"]
    """
    plain = f"{float(amount):.2f}"
    grouped = f"{float(amount):,.2f}"
    forms = [plain, plain.replace(".", ",")]
    for group, point in ((".", ","), (",", "."), (" ", ","), ("'", ".")):
        forms.append(re.sub("[,.]", lambda found, a=group, b=point: a if found[0] == "," else b, grouped))
    return list(dict.fromkeys(forms))


_ABSENT = {
    "due_date": r"fällig|faellig|zahlbar|zahlung|\bdue\b|payment|pay by|\bbis\b|échéance|echeance|paiement|scadenza",
    "iban": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){10,}",
    "order_number": r"bestell|auftrag|order|commande|ordine|pedido|\bp\.?o\.?\b|referen[zc]|référence",
    "contract_number": r"vertrag|contra[ct]|police|\bpolicy|vers(?:icherungs)?[- ]?nr|vertr",
    "discount": r"rabatt|discount|skonto|remise|nachla|abschlag|abzug|abzüge|sconto|allowance|bonus|gutschr|deduct",
    "tracking_number": r"track|sendung|paket|colis|shipment|parcel|liefer|delivery|livraison|fracht|versand",
}
"""Words of which a document has one if it states a field; where none is, nor the field in the XML, it states none."""


def fields_of(data: bytes, text: str) -> dict[str, Any] | None:
    """Return the values of the fields of `fields.txt`; None: the document does not state it; left out: not known.

    A value of the XML that is not on the pages is left out: some XML is that of another invoice.
    """
    root = _invoice_of(data)
    if root is None:
        return None
    currency = _text(root, "InvoiceCurrencyCode")
    found: dict[str, Any] = {
        "number": _text(root, "ExchangedDocument/ID") or _text(root, "HeaderExchangedDocument/ID"),
        "date": _day(_text(root, "ExchangedDocument/IssueDateTime/DateTimeString"))
        or _day(_text(root, "HeaderExchangedDocument/IssueDateTime/DateTimeString")),
        "seller": _text(root, "SellerTradeParty/Name"),
        "buyer": _text(root, "BuyerTradeParty/Name"),
        "total": _money(_text(root, "GrandTotalAmount"), currency),
        "tax": _money(_text(root, "Summation/TaxTotalAmount"), currency),
        "currency": currency,
        "due_date": _day(_text(root, "SpecifiedTradePaymentTerms/DueDateDateTime/DateTimeString")),
        "iban": _text(root, "PayeePartyCreditorFinancialAccount/IBANID"),
        "order_number": _text(root, "BuyerOrderReferencedDocument/IssuerAssignedID")
        or _text(root, "BuyerOrderReferencedDocument/ID"),
        "contract_number": _text(root, "ContractReferencedDocument/IssuerAssignedID")
        or _text(root, "ContractReferencedDocument/ID"),
        "discount": _money(_text(root, "Summation/AllowanceTotalAmount"), currency),
    }
    stated: dict[str, Any] = {"items": rows} if (rows := _rows(root, currency, text)) else {}
    for name, value in found.items():
        if value and (seen := as_stated(value, text)) is not None:
            stated[name] = seen
    for name, words in _ABSENT.items():
        if not found.get(name) and not re.search(words, text, 0 if name == "iban" else re.IGNORECASE):
            stated[name] = None
    return stated


def _rows(root: ElementTree.Element, currency: str, text: str) -> list[dict[str, Any]]:
    """Return the values of each line item that stand in the text; an item of which none does is left out."""
    rows: list[dict[str, Any]] = []
    for line in root.iter():
        if not line.tag.endswith("}IncludedSupplyChainTradeLineItem"):
            continue
        quantity = _text(line, "BilledQuantity")
        row: dict[str, Any] = {
            "description": _text(line, "SpecifiedTradeProduct/Name"),
            "quantity": float(quantity) if quantity else None,
            "price": _money(_text(line, "NetPriceProductTradePrice/ChargeAmount"), currency),
        }
        seen = {name: as_stated(value, text) for name, value in row.items() if value}
        if stated := {name: value for name, value in seen.items() if value is not None}:
            rows.append(stated)
    return rows


_SIGNS = {"EUR": "€|euro", "USD": r"\$", "GBP": "£", "CHF": r"s?fr\.", "DEM": r"\bDM\b"}
"""What else than its code names a currency."""


def as_stated(value: Any, text: str) -> Any:
    """Return a value of the XML as the pages have it; None if they do not, or have another one.

    An amount may stand there with fewer digits, or with a minus sign (discounts, credit notes); a date in any order.

    >>> as_stated({"amount": 3.3333, "currency": "EUR"}, "3 m  3,33"), as_stated("2017-11-16", "on 11/16/2017")
    ({'amount': 3.33, 'currency': 'EUR'}, '2017-11-16')
    """
    if isinstance(value, dict):
        return _amount_stated(cast("dict[str, Any]", value), text)
    if isinstance(value, float):
        digits = f"{value:g}".replace(".", "[.,]")
        return value if re.search(rf"(?<![\d.,]){digits}(?:[.,]0+)?(?![\d.,]*\d)", text) else None
    if day := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", str(value)):
        return value if re.search(_day_pattern(*day.groups()), text) else None
    if re.fullmatch("[A-Z]{3}", str(value)):
        return value if re.search(rf"\b{value}\b|{_SIGNS.get(value, value)}", text, re.IGNORECASE) else None
    return value if "".join(str(value).split()).casefold() in "".join(text.split()).casefold() else None


def _day_pattern(year: str, month: str, day: str) -> str:
    d, m, y, gap = f"0?{int(day)}", f"0?{int(month)}", f"(?:{year}|{year[2:]})", r"[./-]\s?"
    orders = [f"{d}{gap}{m}{gap}{y}", f"{m}/{d}/{y}", f"{year}{gap}{m}{gap}{d}"]
    words = [rf"{d}\.?\s+[^\W\d]+\.?\s+{year}", rf"[^\W\d]+\.?\s+{d},?\s+{year}"]
    return rf"(?<!\d)(?:{'|'.join([*orders, *words])})(?!\d)"


def _amount_stated(money: dict[str, Any], text: str) -> dict[str, Any] | None:
    exact = f"{abs(float(money['amount'])):.6f}".rstrip("0")
    sizes = dict.fromkeys([len(exact.partition(".")[2]), 2])
    for size in sizes if float(exact) else ():
        amount = round(float(money["amount"]), size)
        whole, _, rest = f"{abs(amount):,.{size}f}".partition(".")
        tail = rf"(?:[.,]{rest}0*)" + ("?" if not rest.strip("0") else "")
        grouped = whole.replace(",", "[.,' ]?")
        pattern = rf"(?<![\w.,])(?P<minus>[-−]\s?)?{grouped}{tail}(?![.,]?\d)"
        signs = {bool(found["minus"]) for found in re.finditer(pattern, text)}
        if signs:
            return {**money, "amount": amount if (amount < 0) in signs else -amount}
    return None


def _money(amount: str, currency: str) -> dict[str, Any] | None:
    return {"amount": float(amount), "currency": currency} if amount and float(amount) else None


def _day(digits: str) -> str:
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}" if re.fullmatch(r"\d{8}", digits) else ""
