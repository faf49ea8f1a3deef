"""Score extracted fields against a truth; stand-alone, imports nothing of trivium.

``python score.py truth.json results.jsonl --texts FOLDER [--json]``

``truth.json`` is ``{filename: {field: value or null}}``; a field that a file's
truth leaves out is not scored there.  ``results.jsonl`` has a line per file::

    {"source": "path/file", "fields": {"name": {"value": ..., "quote": ...}},
     "refused": {"name": "reason"}}

How a field counts:

* present (truth not null): **exact**, **wrong**, or **missing** (no value given);
* absent (truth null): **empty** (rightly left so) or **invented**;
* on top of that, **not in text**: a value was given whose quote does not occur in
  the file (spacing aside), or a text value that does not occur in its own quote; the
  code of a currency may be quoted by a sign.

Two values are the same after Unicode NFC, collapse of spaces, case folding and
stripping of surrounding quotes and punctuation; one of two names may lack the legal
form at its end ("Muster" and "Muster GmbH").  URLs may differ by surrounding
``<>`` and a closing slash, IBANs by spaces; dates count by ISO value, numbers by value.

Line items, a list of objects, are counted apart, value by value: each item is compared
with the one given that has most values in common with it. A description is right if it has
all words of the other, and is at most twice as long; an amount is right in any currency.
Values that the truth's items leave out are not scored.

The text of a PDF, DOCX, HTML or e-mail file is not the file's bytes: evidence is
checked there only if FOLDER has the text beside it, as ``<filename>.txt``.

Files of the truth that have no line in the results count as missing everywhere.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, cast

Fields = Mapping[str, Any]

EDGE = " \t\n\"'`´‘’“”„«»‹›.,;:!?()[]{}<>*_|"
URL = re.compile(r"^[a-z][a-z0-9+.-]*://\S+$", re.IGNORECASE)
IBAN = re.compile(r"^[a-z]{2}\d{2}(?: ?[a-z0-9]){11,30}$")
CURRENCY = re.compile(r"^[A-Z]{3}$")
NOT_PLAIN = {".pdf", ".docx", ".html", ".htm", ".eml"}
LEGAL_FORM = re.compile(
    r",?\s+(?:gmbh(?:\s?&\s?co\.?\s?kg)?|ag|kg|ohg|se|e\.?\s?k|s\.?a\.?r\.?l|s\.?a\.?s|s\.?a|s\.?r\.?l|s\.?p\.?a"
    r"|b\.?v|n\.?v|ltd|limited|inc|llc|corp|plc)\.?$"
)
NUMBER = re.compile(r"^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$|^[+-]?\d+(?:\.\d+)?$")


# ------------------------------------------------------------ the same value?


def normal_text(text: str) -> str:
    """Return ``text`` in NFC, spaces collapsed, case folded."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def normal_value(value: Any) -> str:
    """Return the form in which a text value is compared."""
    text = re.sub(r"^the ", "", normal_text(str(value)))
    bare = text.strip("<> ")
    if IBAN.match(bare):
        return bare.replace(" ", "")
    if URL.match(bare):
        return bare.rstrip("/")
    return text.strip(EDGE) or text


def as_number(value: Any) -> float | None:
    """Return a number's value, also from its text, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    text = str(value).strip()
    return float(text.replace(",", "")) if NUMBER.match(text) else None


def as_date(value: Any) -> date | None:
    """Return the date of an ISO date or date-time text, or None."""
    found = re.match(r"^\s*(\d{4}-\d{2}-\d{2})(?:$|[T\s])", str(value))
    if not found:
        return None
    try:
        return date.fromisoformat(found.group(1))
    except ValueError:
        return None


def same(wanted: Any, got: Any) -> bool:
    """Say whether the value given is the value wanted."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return normal_value(wanted) == normal_value(got)
    if isinstance(wanted, int | float):
        number = as_number(got)
        return number is not None and abs(number - wanted) < 1e-9 * max(1.0, abs(wanted))
    if isinstance(wanted, list):
        return same_list(cast("list[Any]", wanted), got)
    if isinstance(wanted, dict) or isinstance(got, dict):
        return wanted == got
    day = as_date(wanted)
    if day is not None:
        return as_date(got) == day
    one, other = normal_value(wanted), normal_value(got)
    return one == other or LEGAL_FORM.sub("", one) == other or one == LEGAL_FORM.sub("", other)


def same_list(wanted: list[Any], got: Any) -> bool:
    """Say whether two lists have the same members, in whatever order."""
    if not isinstance(got, list):
        return False
    given = [normal_value(item) for item in cast("list[Any]", got)]
    return sorted(normal_value(item) for item in wanted) == sorted(given)


# ------------------------------------------------------------ line items


@dataclass
class Rows:
    """The values of line items: of the truth, given, and right; and the items of which all are right."""

    wanted: int = 0
    given: int = 0
    right: int = 0
    items: int = 0
    whole: int = 0

    @property
    def f1(self) -> float:
        """The harmonic mean of the shares of right values, in per cent."""
        return 200 * self.right / max(1, self.wanted + self.given)

    def add(self, wanted: list[Fields], given: list[Fields]) -> None:
        """Count the items of one file."""
        left = list(given)
        for item in sorted(wanted, key=lambda each: -max([common(each, other) for other in given], default=0)):
            best = max(left, key=lambda other: common(item, other), default=None)
            right = 0 if best is None else common(item, best)
            self.wanted, self.items = self.wanted + len(item), self.items + 1
            self.right, self.whole = self.right + right, self.whole + (right == len(item))
            if best is not None and right:
                self.given += sum(best.get(name) is not None for name in item)
                left.remove(best)
        names = {name for item in wanted for name in item}
        self.given += sum(other.get(name) is not None for other in left for name in names)

    def line(self) -> str:
        """Return the counts in one line."""
        return (
            f"line items: {self.wanted} values, {self.given} given, {self.right} right (F1 {self.f1:.1f} %);"
            f" {self.whole} of {self.items} items whole"
        )


def common(wanted: Fields, given: Fields) -> int:
    """Count the values of an item that another one has too."""
    return sum(same_part(value, given.get(name)) for name, value in wanted.items())


def same_part(wanted: Any, got: Any) -> bool:
    """Say whether the value of an item is the value wanted."""
    if got is None:
        return False
    if isinstance(wanted, dict):
        return same(amount_of(wanted), amount_of(got))
    if not isinstance(wanted, str):
        return same(wanted, got)
    one, other = (set(re.findall(r"\w+", normal_text(str(each)))) for each in (wanted, got))
    fewer, more = sorted((one, other), key=len)
    return bool(fewer) and fewer <= more and len(more) <= 2 * len(fewer)


def amount_of(value: Any) -> Any:
    """Return the amount of money, in whatever currency; another value is its own."""
    return cast("dict[str, Any]", value).get("amount") if isinstance(value, dict) else value


def is_rows(value: Any) -> bool:
    """Say whether a value of the truth is a list of line items."""
    return isinstance(value, list) and any(isinstance(each, dict) for each in cast("list[Any]", value))


# ------------------------------------------------------------ is it in the text?


def in_text(value: Any, quote: Any, text: str) -> bool:
    """Say whether the quote stands in the text, and a text value in its quote."""
    if not isinstance(quote, str) or not quote.strip():
        return False
    if " ".join(quote.split()) not in " ".join(text.split()):
        return False
    typed = not isinstance(value, str) or as_date(value) is not None  # their form may differ
    is_sign = CURRENCY.match(str(value)) is not None and not any(map(str.isalnum, quote))
    return typed or is_sign or normal_value(value) in normal_text(quote) or same(value, quote)


# ------------------------------------------------------------ the counts


@dataclass
class Counts:
    """How often each outcome occurred."""

    present: int = 0
    exact: int = 0
    wrong: int = 0
    missing: int = 0
    absent: int = 0
    empty: int = 0
    invented: int = 0
    not_in_text: int = 0

    def add(self, outcome: str, given_not_in_text: bool) -> None:
        """Count one field of one file."""
        kind = "absent" if outcome in {"empty", "invented"} else "present"
        for name in (kind, outcome):
            setattr(self, name, getattr(self, name) + 1)
        self.not_in_text += given_not_in_text

    def line(self) -> str:
        """Return the counts in one line."""
        rate = 100 * self.exact / self.present if self.present else 0.0
        return (
            f"present {self.present}, exact {self.exact} ({rate:.1f} %), wrong {self.wrong},"
            f" missing {self.missing}; absent {self.absent}, invented {self.invented};"
            f" not in text {self.not_in_text}"
        )


@dataclass(frozen=True)
class Miss:
    """A field that is not as it should be."""

    file: str
    field: str
    outcome: str
    wanted: Any
    got: Any
    note: str = ""


@dataclass
class Score:
    """The counts per field and in total, and the misses."""

    fields: dict[str, Counts] = field(default_factory=dict[str, Counts])
    total: Counts = field(default_factory=Counts)
    rows: Rows = field(default_factory=Rows)
    misses: list[Miss] = field(default_factory=list[Miss])
    unread: list[str] = field(default_factory=list[str])
    unchecked: list[str] = field(default_factory=list[str])


def part(result: Fields, key: str) -> dict[str, Any]:
    """Return a mapping within a result; an empty one if it is null or absent."""
    return cast("dict[str, Any]", result.get(key) or {})


def given(result: Fields, name: str) -> tuple[Any, Any]:
    """Return value and quote that a result gives for a field (None, None if neither)."""
    answer = part(result, "fields").get(name)
    if not isinstance(answer, dict):
        return answer, None
    found = cast("dict[str, Any]", answer)
    return found.get("value"), found.get("quote")


def outcome_of(wanted: Any, got: Any) -> str:
    """Name the outcome of one field."""
    if wanted is None:
        return "empty" if got is None else "invented"
    if got is None:
        return "missing"
    return "exact" if same(wanted, got) else "wrong"


def empty_as_none(value: Any) -> Any:
    """Return None for an empty or blank value: nothing was given."""
    blank = (isinstance(value, str) and not value.strip()) or value == []
    return None if blank else value


def text_of(path: Path) -> str | None:
    """Return a file's text (UTF-8, else Latin-1), or None if its bytes are no text."""
    if path.suffix.lower() in NOT_PLAIN:
        path = path.with_name(path.name + ".txt")
        if not path.exists():
            return None
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def score_file(score: Score, file: str, truth: Fields, result: Fields, text: str | None) -> None:
    """Add one file's fields to the score; without a text, evidence is not checked."""
    for name, wanted in truth.items():
        value, quote = given(result, name)
        if is_rows(wanted):
            score_rows(score, file, name, wanted, value)
            continue
        got = empty_as_none(value)
        outcome = outcome_of(wanted, got)
        stray = got is not None and text is not None and not in_text(got, quote, text)
        score.fields.setdefault(name, Counts()).add(outcome, stray)
        score.total.add(outcome, stray)
        if outcome in {"exact", "empty"} and not stray:
            continue
        note = str(part(result, "refused").get(name, ""))
        note = f"not in text: quote {quote!r}" if stray else note
        score.misses.append(Miss(file, name, outcome, wanted, got, note))


def score_rows(score: Score, file: str, name: str, wanted: list[Fields], value: Any) -> None:
    """Add the line items of one file to the score."""
    rows = Rows()
    rows.add(wanted, cast("list[Fields]", value if isinstance(value, list) else []))
    for count, number in asdict(rows).items():
        setattr(score.rows, count, getattr(score.rows, count) + number)
    if rows.right < max(rows.wanted, rows.given):
        score.misses.append(Miss(file, name, f"{rows.f1:.0f} %", wanted, value))


def score_all(truth: Mapping[str, Fields], results: Mapping[str, Fields], texts: Path) -> Score:
    """Score every file of the truth."""
    score = Score()
    for file, wanted in truth.items():
        if file not in results:
            score.unread.append(file)
        text = text_of(texts / file)
        if text is None:
            score.unchecked.append(file)
        score_file(score, file, wanted, results.get(file, {}), text)
    return score


# ------------------------------------------------------------ in and out


def read_results(path: Path) -> dict[str, Fields]:
    """Read the results by file name; of two lines for one file the last counts."""
    results: dict[str, Fields] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            result = json.loads(line)
            results[Path(str(result["source"])).name] = result
    return results


def table(score: Score) -> Iterator[str]:
    """Yield the lines of the table: a row per field and one in total."""
    names = list(Counts.__dataclass_fields__)
    width = max(len(name) for name in [*score.fields, "field", "total"])
    yield f"{'field':{width}}" + "".join(f"  {name.replace('_', ' '):>11}" for name in names)
    for name, counts in [*score.fields.items(), ("total", score.total)]:
        row = asdict(counts)
        yield f"{name:{width}}" + "".join(f"  {row[key]:>11}" for key in names)


def report(score: Score) -> Iterator[str]:
    """Yield the lines a person reads."""
    yield from table(score)
    if score.misses:
        yield "\nmisses:"
    for miss in score.misses:
        note = f" [{miss.note}]" if miss.note else ""
        yield f"  {miss.file}: {miss.field}: {miss.outcome}: wanted {miss.wanted!r}, got {miss.got!r}{note}"
    if score.unread:
        yield f"\nno result line for {len(score.unread)} files: {', '.join(score.unread)}"
    if score.unchecked:
        yield f"\nevidence not checked (no plain text): {', '.join(score.unchecked)}"
    if score.rows.items:
        yield f"\n{score.rows.line()}"
    yield f"\n{score.total.line()}"


def main(arguments: list[str] | None = None) -> int:
    """Score as the command line says and print the report."""
    parser = argparse.ArgumentParser(description="Score extracted fields against a truth.")
    parser.add_argument("truth", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="folder of the files")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    options = parser.parse_args(arguments)
    truth = json.loads(options.truth.read_text(encoding="utf-8"))
    score = score_all(truth, read_results(options.results), options.texts)
    if options.json:
        print(json.dumps(asdict(score), indent=1, ensure_ascii=False))
    else:
        print("\n".join(report(score)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
