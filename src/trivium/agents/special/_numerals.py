"""Numbers and dates in one form, however written: 1,200.50 and 1.200,5; May 3rd and 2026-05-03; $5 and 5 USD."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final, NamedTuple

from trivium.parsing.lowlevel import CURRENCY_CODES, stems

_MONTHS: Final = "janfebmaraprmayjunjulaugsepoctnovdec"
_MONTH: Final = (
    r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_ORDINAL: Final = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
_ISO_DATE: Final = re.compile(r"(?<![\d-])(\d{4})-(0?[1-9]|1[0-2])-(0?[1-9]|[12]\d|3[01])(?![\d-])")
_DOT_DATE: Final = re.compile(r"(?<![\d.])(0?[1-9]|[12]\d|3[01])\.(0?[1-9]|1[0-2])\.(\d{4})(?!\d)")
_DAY_MONTH: Final = re.compile(rf"\b(0?[1-9]|[12]\d|3[01])\.?\s+(?:of\s+)?{_MONTH}")
_MONTH_DAY: Final = re.compile(rf"\b{_MONTH},?\s+(?:the\s+)?0?(\d{{1,4}})\b")

_SMALL: Final = "two three four five six seven eight nine ten eleven twelve"
_SAME: Final[Mapping[str, str]] = {
    spelling: word
    for word, spellings in {
        "pct": "% percent percentage prozent",
        "eur": "€ euro euros",
        "usd": "$ dollar dollars buck bucks",
        "gbp": "£ pound pounds",
        "jpy": "¥ yen",
        "chf": "fr sfr franc francs franken",
        "tsd": "thousand thousands tausend",
        "mio": "million millions millionen mln",
        "mrd": "billion billions bn milliarde milliarden",
        **{str(number): word for number, word in enumerate(_SMALL.split(), 2)},
    }.items()
    for spelling in spellings.split()
}
_SIGN: Final = re.compile(r"[$%€£¥](?![^\W\d]|[({])")  # but not $HOME and %s
_PERCENT: Final = re.compile(r"\b(?:per|pour) cent\b|\bv\. ?H\.")
_UNITS: Final = frozenset({"pct", "eur", "usd", "gbp", "jpy", "chf"})
_POWERS: Final[Mapping[str, int]] = {"tsd": 3, "mio": 6, "mrd": 9}
_SHORT: Final[Mapping[str, str]] = {"k": "tsd", "m": "mio", "b": "mrd"}
_DIGIT: Final = re.compile(r"\d")
_RUN: Final = re.compile(
    r"(?<!\d)[1-9]\d{0,2}(?: \d{3})+(?!\d)(?:[.,]\d+)?"  # 1 200,50
    r"|(?<![\w.])\.\d+|\d+(?:[.,'’:/]\d+)*"
)
_THIN_SPACE: Final = re.compile(r"(?<=\d)[\u00a0\u2007\u2009\u202f](?=\d{3}(?!\d))")
_PHONE: Final = re.compile(r"\+\d{1,3}(?!(?: \d{3})+(?![ -]?\d))(?:[ .()/-]{1,2}\d{1,5}){2,}")  # but not +1 200 300
_LABEL: Final = re.compile(  # of a number that another one follows: page 5 120 EUR
    r"\b(?:pages?|pp?|pos|position|items?|nos?|nr|number|section|line|row|room|table|figure|seite|zeile|zimmer)\.? \Z",
    re.IGNORECASE,
)
_DECREASE: Final = re.compile(  # of what is told without its minus: a loss of 5 EUR
    r"\b(?:discount|rebate|loss|lost|fell|fall|drop|declin|decreas|reduc|deduct|less\b|rabatt|skonto|verlust"
    r"|abzug|abschlag|fiel|sank|sink|gesunken|rückgang|remise|perte|baisse)",
    re.IGNORECASE,
)
_LEVEL: Final = re.compile(r"\b(?:to|from|auf|von|at|bei) \Z")  # it fell to 5
_TWO: Final = re.compile(r"[1-9]\d{0,2}(?: [1-9]\d\d)+")  # numbers or one
_GROUPED: Final = re.compile(r"([1-9]\d{0,2}(?:([.,'’ ])\d{3})(?:\2\d{3})*)(?:(?!\2)[.,](\d+))?")
_DECIMAL: Final = re.compile(r"(\d*)[.,](\d+)")
_CENTS: Final = re.compile(r"[.,]\d\d")
_BEFORE: Final = re.compile(
    r"(?P<minus>(?<![\w)\]%./*-])[-−–]|\b(?:minus|negative)\s)?"
    r"(?:(?<![^\W_])(?P<unit>[^\W\d_]{3,6}|[Ff]r)(?:(?<=[Ff]r)\.)?\s{0,2}(?P<inner>(?<=\s)[-−])?)?\Z"
)
_WINDOW: Final = 16  # characters before a number that may belong to it
_LABELLED: Final = re.compile(r"([^\W\d_]+|\d[\d.]*)(?:\W+(?:nos?|nr|num(?:ber|mer))\b)?[^\w|\n]*\Z", re.IGNORECASE)
_LONGEST_LABEL: Final = 40
_RANGE: Final = re.compile(r"\d\s?–\s?\Z")
_OR_MORE: Final = re.compile(
    r" (?:or|and|oder|und) (?:more|later|above|over|older|newer|up|less|below|earlier|mehr|höher|neuer|älter|später)\b"
)
_MONTH_BEHIND: Final = re.compile(r" (000\d\d)\b")
_BEHIND: Final = re.compile(
    r"(?:[.,][-–—]{1,2}(?!\w))?(?P<minus>[-−](?![\w-]))?(?:(?P<short>[kKmMbB])\b)?(?:\s?(?P<half>[aApP])\.?[mM]\b)?"
    r"(?:\s{0,2}(?P<word>[^\W\d_]{2,10})\b\.?)?(?:\s{0,2}(?P<next>[^\W\d_]{2,10})\b)?"
)


class Numeral(NamedTuple):
    """A number of a text, with what it may mean.

    Attributes:
        meanings: what it may mean, each as words that a text which says the same has: the digits in one form, the
            currency or percent, and the million behind it.
        words: the words that a text has by it.
        label: the word or number before it, without "number", as in "flat no. 12"; of the day of a month, the month;
            "to" for the dash of a range, and "least" for "or more" behind it; "" at the beginning of a text or of a
            cell of a table.
    """

    meanings: tuple[frozenset[str], ...]
    words: frozenset[str]
    label: str

    def is_in(self, words: frozenset[str]) -> bool:
        """Test whether a text with some words says the same."""
        return any(meaning <= words for meaning in self.meanings)


def numerals(text: str) -> tuple[str, tuple[Numeral, ...]]:
    """Find the numbers of a text; return the text without them, and them. A month is a number like 00005.

    >>> rest, found = numerals("-1.200,50 € since May 3rd")
    >>> rest, [sorted(each.words) for each in found]
    ('-  eur  since    ', [['-1200.5', '-1200.5.'], ['00005'], ['3']])
    """
    text = unicodedata.normalize("NFKC", _THIN_SPACE.sub("'", text)).replace("US$", "$")
    text = _PERCENT.sub("percent", text)
    if not _DIGIT.search(text):
        return _SIGN.sub(_sign, text), ()
    text = _PHONE.sub(lambda found: "+" + re.sub(r"\D+", "-", found[0][1:]), text)
    text = _SIGN.sub(_sign, _with_numeric_dates(text))
    rest, found, end, decreases = "", list[Numeral](), 0, bool(_DECREASE.search(text))
    for run in _RUN.finditer(text):
        found.append(_numeral(text, run, end, decreases))
        rest += text[end : run.start()] + " "
        end = run.end()
    return rest + text[end:], tuple(found)


def plain_word(stem: str) -> str:
    """Return one word for all that mean the same number, currency or million."""
    return _SAME.get(stem, stem)


def _sign(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - 1) : found.start()]
    return f"{' ' if before.isalnum() else ''}{_SAME[found[0]]} "


def _with_numeric_dates(text: str) -> str:
    text = _ORDINAL.sub(r"\1", text)
    text = _ISO_DATE.sub(lambda found: f"{found[1]} {_month(found[2])} {int(found[3])}", text)
    text = _DOT_DATE.sub(lambda found: f"{int(found[1])} {_month(found[2])} {found[3]}", text)
    text = _DAY_MONTH.sub(lambda found: f"{int(found[1])} {_month(found[2])}", text)
    return _MONTH_DAY.sub(lambda found: f"{_month(found[1])} {found[2]}", text)


def _month(written: str) -> str:
    number = int(written) if written.isdigit() else 1 + _MONTHS.index(written[:3].lower()) // 3
    return f"{number:05}"


def _numeral(text: str, run: re.Match[str], start: int, decreases: bool) -> Numeral:
    """Return a number with what stands beside it; what is before `start` belongs to the number before it.

    Args:
        text: the text.
        run: the number in it.
        start: the end of the number before it.
        decreases: the text tells of a decrease.
    """
    before = _BEFORE.search(text, max(start, run.start() - _WINDOW), run.start())
    behind = _BEHIND.match(text, run.end())
    assert before is not None  # both may match nothing
    assert behind is not None
    scale = plain_word((behind["word"] or "").lower())
    if scale not in _POWERS:
        scale = ""
    unit = [each for each in map(_unit, (before["unit"], behind["next" if scale else "word"])) if each][:1]
    if unit and behind["short"]:
        scale = _SHORT[behind["short"].lower()]
    values, parts = _readings(run[0])
    if behind["half"] and (clock := re.fullmatch(r"(\d+):(\d+)", values[0])):
        values.append(f"{int(clock[1]) % 12 + 12 * (behind['half'] in 'pP')}:{clock[2]}")
    is_one = not parts or " " in run[0]
    signs = _signs(before, behind) if is_one else [""]
    full = [sign + (_scaled(each, _POWERS[scale]) if scale else each) for each in values for sign in signs]
    meanings = [frozenset({each, *unit}) for each in full]
    if scale:  # in a table, the million of a number stands in the header
        meanings += [frozenset({sign + each, scale, *unit}) for each in values for sign in signs]
    if decreases and signs == [""] and is_one and not _LEVEL.search(text, start, run.start()):
        meanings += [
            frozenset({f"-{word}" if word in {*full, *values} else word for word in each}) for each in meanings
        ]
    meanings += _as_list(run[0])
    if is_one and unit:
        parts = _as_row(text, run)
    marked = [f"{each}." for each in full if "." in each]  # a number with a mark counts as two words
    words = frozenset({*full, *parts, *marked, *filter(None, [scale])})
    return Numeral(tuple(meanings), words, _label(text, run))


def _label(text: str, run: re.Match[str]) -> str:
    if month := _MONTH_BEHIND.match(text, run.end()):
        return month[1]
    if _OR_MORE.match(text, run.end()):
        return "least"
    if _RANGE.search(text, max(0, run.start() - _WINDOW), run.start()):
        return "to"
    found = _LABELLED.search(text, max(0, run.start() - _LONGEST_LABEL), run.start())
    return (stems(found[1]) or [found[1]])[-1] if found else ""


def _as_list(written: str) -> list[frozenset[str]]:
    """Return the numbers of a list such as 10,11,12 or 10/11 as one meaning."""
    numbers = re.findall(r"\d+", written)
    is_list = "," in written and not _readings(written)[0][0].replace(".", "").isdigit()
    is_pair = "/" in written and len(numbers) == 2 and int(numbers[1]) == int(numbers[0]) + 1
    return [frozenset(numbers)] if is_list or is_pair else []


def _as_row(text: str, run: re.Match[str]) -> list[str]:
    """Return the numbers of what may be no single one: "12 350 EUR" behind "page", or in a row without full stop."""
    before = text[max(0, run.start() - _WINDOW) : run.start()]
    is_row = not text.rstrip().endswith((".", "!", "?")) and not before.rstrip().endswith((":", "="))
    if " " not in run[0] or not (is_row or _LABEL.search(before)):
        return []
    return [value for part in run[0].split() for value in _readings(part)[0]]


def _unit(word: str | None) -> str:
    """Return the one word for a currency or percent; "" for any other word: "top" is none, and "TOP" is."""
    plain = plain_word(word.lower()) if word else ""
    return plain if plain in _UNITS or word in CURRENCY_CODES else ""


def _readings(written: str) -> tuple[list[str], list[str]]:
    """Return what digits with marks may mean, and the numbers in them if they may be no single one, as in 1.2.3."""
    parts = re.findall(r"\d+", written)
    if parts == [written]:
        plain = "" if re.fullmatch(r"000\d\d", written) else written.lstrip("0")  # but a month stays as it is
        return [written, plain] if plain not in ("", written) else [written], []
    values = list[str]()
    if grouped := _GROUPED.fullmatch(written):
        values.append(_decimal(re.sub(r"\D", "", grouped[1]), grouped[3] or ""))
    has_both = grouped is not None and grouped[2] == "." and written.count(".") == 1 and not written.endswith("000")
    if (grouped is None or (has_both and grouped[3] is None)) and (found := _DECIMAL.fullmatch(written)):
        values.append(_decimal(found[1], found[2]))
    if values:
        return values, parts if _TWO.fullmatch(written) else []
    plain = re.sub(r"(?<!\d)0+(?=\d)", "", written)
    plain = re.sub(r"^(\d+:\d+):0+\Z", r"\1", plain)
    return [plain], [*parts, re.sub(r"\D\d+\Z", "", plain)]


def _decimal(whole: str, fraction: str) -> str:
    return f"{whole.lstrip('0') or '0'}.{fraction.rstrip('0')}".rstrip(".")


def _scaled(value: str, power: int) -> str:
    whole, _, fraction = value.partition(".")
    fraction = fraction.ljust(power, "0")
    return _decimal(whole + fraction[:power], fraction[power:])


def _signs(before: re.Match[str], behind: re.Match[str]) -> list[str]:
    """Return the sign of a number: a minus stands before it, or behind cents. There are two where it may be a dash."""
    mark = before["inner"] or before["minus"]
    if mark is None:
        has_cents = _CENTS.fullmatch(behind.string, max(0, behind.start() - 3), behind.start())
        return ["-"] if behind["minus"] and has_cents else [""]
    is_behind_number = before.string[max(0, before.start() - 2) : before.start()][:1].isdigit()
    return ["-", ""] if mark == "–" or is_behind_number else ["-"]
