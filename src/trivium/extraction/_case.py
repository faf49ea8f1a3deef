"""One document and the values found in it so far: the state of one extraction, given to the run as its context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from trivium.exceptions import ArgumentTypeError, ConfigurationError
from trivium.extraction._alternatives import alternatives
from trivium.extraction._confidence import Certainty, calibration, certainties, confidence, signs
from trivium.extraction._evidence import find_evidence
from trivium.extraction._fields import Field, as_fields
from trivium.extraction._findings import (
    NOT_STATED,
    Evidence,
    Finding,
    GroupEvidence,
    ListEvidence,
    Refusal,
    evidence_in,
)
from trivium.extraction._products import checked_rows
from trivium.extraction._shapes import asks_currency
from trivium.extraction._source import SourceText
from trivium.extraction._sums import corrections, currency_of
from trivium.llms import TokenLogprob
from trivium.parsing import Locator, PagedDocument, PassageIndex, split
from trivium.parsing.lowlevel import CURRENCY_CODES, attachment_at
from trivium.schema import Document
from trivium.schema.lowlevel import check_arguments, checked, positive

_PASSAGE = 500
_BUDGET, _ROWS_BUDGET = 3600, 10_800


DOUBTFUL = 0.8
"""The confidence below which a value is worth a look."""

_TASK = (
    "Fill in this record from the document. Copy each value as it stands there; "
    "null is for what the document does not state."
)
_NEXT = "Now fill in this one, with every item of the document:"
_RECORD = "Answer by a call of `record`, with null for what the document does not state."
_CORRECT = "These values are not right. Correct them, or use null where the document states none:"


class Case:
    """A document, the fields to look for in it, and the values that it supports.

    Args:
        document: the document.
        fields: the fields.
        budget: characters of the document that one question may hold; of a longer document, the passages
            that matter to the fields are read. Default 3,600; 10,800 with lists of groups, as items stand anywhere.
        tries: the number of requests to the model for the plain fields, and for each list of groups: those are asked
            for by themselves. The first is included; later ones ask for the refused values alone.
        min_confidence: the confidence below which a value is not given, from 0 to 1; default: as it was calibrated.
            A model that tells no probabilities of its tokens gives no confidence, and all its values are given.

    Raises:
        ArgumentTypeError: the document is none, or another argument is of the wrong class.
        ConfigurationError: a number is out of its range.
        FieldsError: these are no fields, or two of them have one name.

    Example:
        >>> from trivium.extraction import parse_fields
        >>> case = Case(Document(content="The rent is EUR 900."), parse_fields("rent: money, tenant"))
        >>> case.check({"rent": "900 EUR", "tenant": "Bob"})
        ['tenant: "Bob" is not in the text']
        >>> case.result()["fields"]["rent"]["quote"]
        'EUR 900'
    """

    def __init__(
        self,
        document: Document,
        fields: Sequence[Field],
        *,
        budget: int | None = None,
        tries: int = 2,
        min_confidence: float | None = None,
    ) -> None:
        if not isinstance(document, Document):  # type: ignore[unnecessary] - users pass anything
            raise ArgumentTypeError(
                f"a case takes a Document, as Document(content=text) or read(path), not {document!r:.60}", "document"
            )
        numbers = {"budget": budget, "tries": tries, "min_confidence": min_confidence}
        check_arguments(Case.__init__, self, numbers.items())
        positive(tries=tries, budget=1 if budget is None else budget)
        if min_confidence is not None and not 0 <= min_confidence <= 1:
            raise ConfigurationError(f"min_confidence is a number from 0 to 1, not {min_confidence!r}")
        self.document, self.fields = document, as_fields(fields)
        rows = [field for field in self.fields if field.is_rows]
        self.budget = budget or (_ROWS_BUDGET if rows else _BUDGET)
        plain = tuple(field for field in self.fields if field not in rows)
        self._groups = [group for group in (plain, *((field,) for field in rows)) if group]
        self.asked = self._groups.pop(0)
        self.questions, self._tries, self._tries_left = 0, tries, tries
        self._proposed: dict[str, Any] = {}
        self._source = SourceText(document.content)
        self._locator = Locator(document)
        self._findings: dict[str, Finding] = {}
        self._certain: dict[str, Certainty] = {}
        self._least = calibration().threshold if min_confidence is None else min_confidence

    def question(self) -> str:
        """Write the question to the model: the document (of a long one an excerpt), the task, and the first fields."""
        return f'Document:\n"""\n{self.excerpt()}\n"""\n\n{_TASK}\n' + "\n".join(map(_as_line, self.asked))

    def next_question(self) -> str | None:
        """Write the next question, for values that were refused, or for the next fields; None if all was asked."""
        again = {
            field: finding.reason
            for field in self.asked
            if isinstance(finding := self._findings.get(field.name), Refusal) and finding.reason != NOT_STATED
        }
        if again and self._tries_left > 0:
            self.asked = tuple(again)
            return "\n".join([_CORRECT, *(f"{field.name}: {reason}" for field, reason in again.items())])
        if not self._groups:
            return None
        self.asked, self._tries_left = self._groups.pop(0), self._tries
        return "\n".join([_NEXT, *map(_as_line, self.asked)])

    def question_after_talk(self) -> str | None:
        """Write the question to a model that answered without a record; None if it has no more tries."""
        self._tries_left -= 1
        return _RECORD if self._tries_left > 0 else None

    def excerpt(self) -> str:
        """Return the document, or of a long one its beginning, its end, and the passages that matter to the fields."""
        return self._excerpt

    @cached_property
    def _excerpt(self) -> str:
        text = self.document.content
        if len(text) <= self.budget:
            return text
        passages = split(text, size=_PASSAGE)
        asked = [part for field in self.fields for part in (field, *field.columns)]
        queries = [f"{field.name} {field.description}" for field in asked]
        # The beginning of a document has its subject, and its end often the people responsible.
        rest = max(0, self.budget - len(passages[-1].text))
        chosen = PassageIndex(passages).select(queries, budget=rest, always_first=2)
        return "\n[…]\n".join(passage.text.strip("\n") for passage in sorted({*chosen, passages[-1]}))

    @checked
    def check(self, proposed: Mapping[str, Any], tokens: Sequence[TokenLogprob] = ()) -> list[str]:
        """Look up each proposed value in the document, and keep those that it supports.

        Args:
            proposed: values by field name, as the model gave them.
            tokens: the tokens of the model's answer, with their probabilities, if they are known.

        Returns:
            A line for each value that the document does not support.

        Raises:
            ArgumentTypeError: they are no values by field name.
        """
        # A model that says the same again is not asked a third time.
        self._tries_left = 0 if proposed == self._proposed else self._tries_left - 1
        self._proposed = dict(proposed)
        self.questions += 1
        certain = certainties(tokens, {each.name for each in self.fields if each.kind == "choice"})
        for field in self.fields:
            known = self._findings.get(field.name)
            if (field in self.asked or field.name in proposed) and (known is None or isinstance(known, Refusal)):
                self._findings[field.name] = find_evidence(field, proposed.get(field.name), self._source)
                if field.name in certain:
                    self._certain[field.name] = certain[field.name]
        self._correct()
        return [
            f"{name}: {finding.reason}"
            for name, finding in self._findings.items()
            if isinstance(finding, Refusal) and finding.reason != NOT_STATED
        ]

    def _correct(self) -> None:
        """Replace a total and a tax by those of the largest sum of the document, of which the model told nothing.

        An amount that has no currency in the document, also one of a line item, is in the one that the record itself
        has. Line items have the quantity and the price of the product that their row states.
        """
        for field in self.fields:
            if isinstance(rows := self._findings.get(field.name), ListEvidence) and field.is_rows:
                self._findings[field.name] = checked_rows(field, rows, self._source)
        for name, amount in corrections(self.fields, self._findings, self._source).items():
            field = next(field for field in self.fields if field.name == name)
            code = currency_of(self._findings[name]) or ""
            found = find_evidence(field, f"{amount} {code}", self._source)
            if isinstance(found, Refusal):  # it has no currency in the document, but the amount that it replaces has
                found = find_evidence(field, amount, self._source).in_currency(code)
            if isinstance(found, Evidence) and code in ("", currency_of(found)):
                self._findings[name] = found
                self._certain.pop(name, None)
        asked = [field.name for field in self.fields if field.kind == "text" and asks_currency(field)]
        texts = [each.value for text in asked if isinstance(each := self._findings.get(text), Evidence)]
        codes = [code for code in texts if code in CURRENCY_CODES]
        if codes:
            self._findings = {name: finding.in_currency(codes[0]) for name, finding in self._findings.items()}

    def result(self) -> dict[str, Any]:
        """Return the record: the value of each field with page, line and quote, or the reason for which it has none.

        A group has `parts`, the entry of each of its values; a list of groups has `parts` for each of its items.
        Evidence on pages (PDF, images) also has its `boxes`: page, left, top, right and bottom, in points from its
        upper left corner; and `ocr_confidence`, from 0 to 1, if it was read by OCR. If the model tells how likely its
        tokens were, a value has its `confidence`, the probability that it is right, and a doubtful one has
        `alternatives`, other values of the document, each with its place. So has a date, or a list of dates, whose
        day and month may be the other way round. A value below the least confidence is refused, and is the first of the
        alternatives. `refused` also tells of a list of a document that was not read as a whole.
        """
        read, whole = len(self._excerpt), len(self.document.content)
        unread = [f"more may be missing: of {whole:,} characters {read:,} were read"] if read < whole else []
        fields: dict[str, Any] = {}
        refused: dict[str, str] = {}
        for field in self.fields:
            finding, given = (
                self._findings.get(field.name, Refusal("it was not asked for")),
                self.confidence(field.name),
            )
            if given is not None and given < self._least:
                fields[field.name] = {**self._entry(Refusal("")), **self._doubt(field, finding, given)}
                refused[field.name] = f"it is doubtful: the confidence of {_short(finding)} is {given:.2f}"
                continue
            fields[field.name] = {**self._entry(finding), **self._doubt(field, finding, given)}
            if isinstance(finding, Refusal):
                refused[field.name] = finding.reason
            elif not isinstance(finding, Evidence):
                reasons = [each.reason for each in finding.refusals] + unread * isinstance(finding, ListEvidence)
                refused |= {field.name: "; ".join(reasons)} if reasons else {}
        return {"source": self.document.metadata.source, "fields": fields, "refused": refused}

    def confidence(self, name: str) -> float | None:
        """Return the probability that a value is right; None if it is not known, as of a list or a group."""
        found = self.signs(name)
        return round(confidence(found), 3) if found else None

    def signs(self, name: str) -> dict[str, float]:
        """Return the signs of the confidence of a value; none if the model told no probabilities.

        Lists and groups have none: the calibration is of single values, each with the tokens of its own.
        """
        certain, finding = self._certain.get(name), self._findings.get(name)
        if certain is None or not isinstance(finding, Evidence):
            return {}
        return signs(next(field for field in self.fields if field.name == name), finding, certain, self._source)

    def _doubt(self, field: Field, finding: Finding, given: float | None) -> dict[str, Any]:
        """Return the confidence of a value; of a doubtful one also the alternatives."""
        if given is None:
            return {}
        if given >= DOUBTFUL:
            return {"confidence": given}
        own = [finding] if isinstance(finding, Evidence) else []
        known = [value for each in own for value in (each.value, *each.others)]
        others = [each for each in alternatives(field, self._source, 4) if each.value not in known]
        left_out = [self._entry(replace(each, others=())) for each in own if given < self._least]
        shown = [*left_out, *self._readings(finding), *map(self._entry, others[:3])]
        return {"confidence": given, "alternatives": shown}

    def _readings(self, finding: Finding) -> list[dict[str, Any]]:
        """Return an entry for each other value that the quote of a value, or of one in a list, may mean."""
        single = finding.items if isinstance(finding, ListEvidence) else [finding]
        found = [each for each in single if isinstance(each, Evidence)]
        return [self._entry(replace(each, value=other, others=())) for each in found for other in each.others]

    def spans(self) -> dict[str, list[tuple[int, int]]]:
        """Return where the evidence of each field stands in the text: its start and its end."""
        found: dict[str, list[tuple[int, int]]] = {}
        for name, finding in self._findings.items():
            found[name] = [(each.start, each.end) for each in evidence_in(finding)]
        return found

    def _entry(self, finding: Finding) -> dict[str, Any]:
        if isinstance(finding, Refusal):
            return {"value": None, "page": None, "line": None, "quote": None}
        found = evidence_in(finding)
        place = self._locator.place(found[0].start)
        quote = _quote_of(finding)
        attached = {"attachment": place.attachment} if place.attachment else {}
        entry = {"value": finding.value, **attached, "page": place.page, "line": place.line, "quote": quote}
        others = {"alternatives": readings} if (readings := self._readings(finding)) else {}
        return {**entry, **self._on_page(*found), **self._parts(finding), **others}

    def _parts(self, finding: Finding) -> dict[str, Any]:
        """Return the entries of the values in a group, or in the groups of a list."""
        if isinstance(finding, GroupEvidence):
            return {"parts": {name: self._entry(part) for name, part in finding.parts.items()}}
        groups = finding.items if isinstance(finding, ListEvidence) else ()
        parts = [self._parts(group)["parts"] for group in groups if isinstance(group, GroupEvidence)]
        return {"parts": parts} if parts else {}

    def _on_page(self, *found: Evidence) -> dict[str, Any]:
        """Return the boxes of some evidence, and the confidence of OCR, for a document that has a layout."""
        file = attachment_at(self.document, found[0].start)
        document, shift = (self.document, 0) if file is None else (file.document, file.start)
        if not isinstance(document, PagedDocument):
            return {}
        inside = [each for each in found if attachment_at(self.document, each.start) is file]
        spans = [(each.start - shift, each.end - shift) for each in inside]
        boxes = [box for span in spans for box in document.layout.boxes(*span)]
        read = [each for span in spans if (each := document.layout.confidence(*span)) is not None]
        return {"boxes": [list(box) for box in boxes], **({"ocr_confidence": min(read)} if read else {})}


def _quote_of(finding: Evidence | GroupEvidence | ListEvidence | Refusal) -> Any:
    if isinstance(finding, ListEvidence):
        return [_quote_of(item) for item in finding.items]
    if isinstance(finding, GroupEvidence):
        return {name: _quote_of(part) for name, part in finding.parts.items()}
    return finding.quote if isinstance(finding, Evidence) else None


def _as_line(field: Field) -> str:
    # A small model may take the word "text" for the requested value.
    about = field.description or ("" if field.kind == "text" or field.columns else field.kind)
    if field.columns:
        each = "each with " if field.kind == "list" else ""
        about = f"{about}; {each}".lstrip("; ") + ", ".join(map(_as_part, field.columns))
    return f"- {field.name}: {about}" if about else f"- {field.name}"


def _as_part(part: Field) -> str:
    about = ": ".join(filter(None, [part.kind if part.kind != "text" else "", part.description]))
    return f"{part.name} ({about})" if about else part.name


def _short(finding: Finding) -> str:
    line = " ".join(str(_quote_of(finding)).split())
    return f'"{line if len(line) <= 80 else line[:79] + "…"}"'
