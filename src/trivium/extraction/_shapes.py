"""Names, e-mail addresses and URLs: recognise the shape that a field asks for, and the shape of a value."""

from __future__ import annotations

import re

from trivium.extraction._fields import Field

__all__ = ["asks_currency", "misfit", "name_before", "trim"]

_EMAIL = r"(?:mailto:)?[^\s<>()\[\],;:@]+@[^\s<>()\[\],;@]+"
_MAILBOX = re.compile(rf"""["']?(?P<name>[^<>"@]*[^\W\d_][^<>"@]*?)["']?[\s,]*[<(\[]{_EMAIL}[>)\]]?""")
_IS_EMAIL = re.compile(rf"<?{_EMAIL}>?")
_IS_URL = re.compile(r"<?(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)
_NOT_ASKED = re.compile(r"\b(?:without|excluding|except|not|no)\b[^.;:]*", re.IGNORECASE)
_ASKS_EMAIL = re.compile(r"\be-?mails?\b|\bmail\b|\bmailbox\b|\bcontact", re.IGNORECASE)
_ASKS_URL = re.compile(r"\bur[li]s?\b|\blinks?\b|\bweb\b|\bweb ?(?:site|page)s?\b|\bhome ?page\b", re.IGNORECASE)
_ASKS_CURRENCY = re.compile(r"\bcurrenc|\bwährung|\bdevise\b|\bvaluta\b|\b(?:moneda|moeda)\b", re.IGNORECASE)
_ASKS_NAME = re.compile(r"\bnames?\b|\btitle\b|\bwho\b", re.IGNORECASE)


def trim(field: Field, text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Trim a span to the answer of the field: without the address of a mailbox, without a label.

    Args:
        field: the field.
        text: the text of the document.
        span: start and end of the words that were found there.

    Returns:
        Start and end of the answer.

    >>> trim(Field("tenant"), "by Ann Lee <ann@example.org>", (3, 28))
    (3, 10)
    >>> trim(Field("order"), "Order 4711", (0, 10))
    (6, 10)
    """
    label = re.compile(rf"{re.escape(field.name)}(?:\s*:\s*(?=\S)|[\s.#]+(?=\d))", re.IGNORECASE).match(text, *span)
    start = label.end() if label else span[0]
    mailbox = _MAILBOX.fullmatch(text, start, span[1])
    if mailbox is None or _asks(_ASKS_EMAIL, field):
        return start, span[1]
    return mailbox.span("name")


def name_before(field: Field, text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return the name of a mailbox if the field asks for a name and its address was found; else the span unchanged.

    >>> name_before(Field("tenant", description="full name"), "Ann Lee <a@b.org>", (9, 16))
    (0, 7)
    """
    if not _IS_EMAIL.fullmatch(text[slice(*span)]) or not _asks(_ASKS_NAME, field) or _asks(_ASKS_EMAIL, field):
        return span
    owner = re.search(r"(?P<name>[^\W\d_][^\n<>@:;,\d]{1,60}?)[\"']?,?[ \t]*<$", text[max(0, span[0] - 80) : span[0]])
    if owner is None:
        return span
    start = max(0, span[0] - 80)
    return start + owner.start("name"), start + owner.end("name")


def misfit(field: Field, value: str) -> str | None:
    """Describe the fault in the shape of a text, such as an address for a name, or words for a URL; None: no fault.

    >>> misfit(Field("tenant", description="full name"), "ann@example.org")
    'is an e-mail address, not a name'
    """
    if _asks(_ASKS_URL, field) and (" " in value or not re.search(r"\w[./:]\w", value)):
        return "is not a URL"
    if not _asks(_ASKS_NAME, field):
        return None
    if _IS_EMAIL.fullmatch(value) and not _asks(_ASKS_EMAIL, field):
        return "is an e-mail address, not a name"
    if _IS_URL.fullmatch(value) and not _asks(_ASKS_URL, field):
        return "is a URL, not a name"
    return None


def asks_currency(field: Field) -> bool:
    """Test whether a field asks for a currency, so that a sign in the text supports its code.

    >>> asks_currency(Field("currency")), asks_currency(Field("rent"))
    (True, False)
    """
    return _asks(_ASKS_CURRENCY, field)


def _asks(pattern: re.Pattern[str], field: Field) -> bool:
    words = field.name.replace("_", " ").replace("-", " ") + " " + _NOT_ASKED.sub("", field.description)
    return pattern.search(words) is not None
