"""The truth of an invoice: what the XML in its PDF says. No model and no reader under test sees it."""

from __future__ import annotations

import re
from io import BytesIO
from typing import NamedTuple
from xml.etree import ElementTree

__all__ = ["Truth", "money_forms", "truth_of"]


class Truth(NamedTuple):
    """The values of an invoice as the XML has them; "" or () for what it leaves out."""

    number: str
    seller: str
    buyer: str
    total: str
    items: tuple[str, ...]


def truth_of(data: bytes) -> Truth | None:
    """Read the XML in a PDF; None if it has none that can be read, or none without number and seller."""
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
            return found
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
        if "/".join(here).endswith(f"/{path}") and element.text and element.text.strip():
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
