"""Names, e-mail addresses and URLs: recognise the shape that a field asks for, and the shape of a value."""

from __future__ import annotations

import re

from trivium.extraction._fields import Field
from trivium.extraction._places import COUNTRIES, LANGUAGES

_EMAIL = r"(?:mailto:)?[^\s<>()\[\],;:@]+@[^\s<>()\[\],;@]+"
_MAILBOX = re.compile(rf"""["']?(?P<name>[^<>"@]*[^\W\d_][^<>"@]*?)["']?[\s,]*[<(\[]{_EMAIL}[>)\]]?""")
_IS_EMAIL = re.compile(rf"<?{_EMAIL}>?")
_IS_URL = re.compile(r"<?(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)
_NOT_ASKED = re.compile(r"\b(?:without|excluding|except|not|no)\b[^.;:]*", re.IGNORECASE)
_ASKS_EMAIL = re.compile(r"\be-?mails?\b|\bmail\b|\bmailbox\b|\bcontact", re.IGNORECASE)
_ASKS_URL = re.compile(r"\bur[li]s?\b|\blinks?\b|\bweb\b|\bweb ?(?:site|page)s?\b|\bhome ?page\b", re.IGNORECASE)
_ASKS_CURRENCY = re.compile(r"\bcurrenc|\bwährung|\bdevise\b|\bvaluta\b|\b(?:moneda|moeda)\b", re.IGNORECASE)
_ASKS_COUNTRY = re.compile(r"\bcountr(?:y|ies)\b|\bnation\b|\bland\b|\bpays\b|\bpaís\b|\bpaese\b", re.IGNORECASE)
_ASKS_LANGUAGE = re.compile(r"\blanguage|\bsprache|\blangue\b|\bidioma\b|\blingua\b|\btaal\b", re.IGNORECASE)
_ASKS_IBAN = re.compile(r"\biban\b", re.IGNORECASE)
_IS_IBAN = re.compile(r"(?:iban\W*)?[a-z]{2}\d{2}(?:\W?[a-z0-9]){11,30}", re.IGNORECASE)
_ASKS_NUMBER = re.compile(r"(?:\b|_)(?:numbers?|no|nr|numéro|numero)\Z|nummer\Z", re.IGNORECASE)
_WORDS_BEFORE = re.compile(r"(?:(?:[^\W\d_]*[^\W\dA-Z_]{3,}|[Nn][ro]|n°|#)[.:#]*[ \t]+)+(?=\S*\d)")
"""Words, not codes in capitals, before a word with digits: "Invoice 4711"."""

_ASKS_NAME = re.compile(r"\bnames?\b|\btitle\b|\bwho\b", re.IGNORECASE)

_STOP_WORD_LINES = """
the a an and or of to in on at is are was were be been has have had it its this that these those for with by from
as not no yes any all may shall will can der die das und le la les et un une el los il
"""
STOP_WORDS = frozenset(_STOP_WORD_LINES.split())


def distinguishing_words(field: Field) -> list[str]:
    """Return the words of a field's name and description that can distinguish occurrences of its value.

    >>> distinguishing_words(Field("dueDate", description="the last day to pay"))
    ['due', 'date', 'last', 'day', 'pay']
    """
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", field.name)
    words = re.findall(r"[^\W_]{3,}", f"{name} {field.description}".casefold())
    return [word for word in dict.fromkeys(words) if word not in STOP_WORDS][:12]


def trim(field: Field, text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Trim a span to the answer of the field: without the address of a mailbox, a label, or words before a number.

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
    if _ASKS_NUMBER.search(field.name) and (words := _WORDS_BEFORE.match(text, start, span[1])):
        start = words.end()
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
    if _asks(_ASKS_IBAN, field) and not _IS_IBAN.fullmatch(value):
        return "is not an IBAN"
    if _ASKS_NUMBER.search(field.name) and not any(map(str.isdigit, value)):
        return "has no digit"
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


def names_asked(field: Field, value: str) -> tuple[str, ...]:
    """Return the code and all names of a country or language, if the field asks for one and the value is one of them.

    >>> names_asked(Field("country"), "Deutschland")[:2]
    ('DE', 'Germany')
    """
    wanted = " ".join(value.split()).casefold()
    for asks, table in ((_ASKS_COUNTRY, COUNTRIES), (_ASKS_LANGUAGE, LANGUAGES)):
        for code, names in table.items() if _asks(asks, field) else ():
            if wanted == code.casefold() or wanted in map(str.casefold, names):
                return (code, *names)
    return ()


def _asks(pattern: re.Pattern[str], field: Field) -> bool:
    words = field.name.replace("_", " ").replace("-", " ") + " " + _NOT_ASKED.sub("", field.description)
    return pattern.search(words) is not None
