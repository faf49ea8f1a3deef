"""A page to look at: each value beside its document, its evidence marked in the text or on the page."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from trivium.cli._records import Record, advice_for
from trivium.cli._report_page import SCRIPT, STYLE
from trivium.cli._tally import is_refusal
from trivium.cli._views import confidence_text, place_of, value_text
from trivium.events import safe_text
from trivium.exceptions import OutputError
from trivium.extraction import DOUBTFUL
from trivium.parsing import Box, Locator, PagedDocument, ReadLimits
from trivium.parsing.lowlevel import page_pictures
from trivium.schema import Document

Spans = Mapping[str, Sequence[tuple[int, int]]]
"""Of each field the places of its evidence in the text."""

_DOUBTFUL = 0.8
"""The confidence of OCR below which a value is doubtful."""

BEGINNING = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Extracted values</title>'
"""The text with which a report begins."""

_LONGEST = 100_000
_AROUND = 2_000
_HEADS = '<thead><tr><th scope="col">field</th><th scope="col">value</th><th scope="col">state</th></tr></thead>'
_STATES = ("refused", "doubtful", "backed", "not stated")


class _Value(NamedTuple):
    """A value of a document: its state, its text, and remarks about it."""

    field: str
    state: str
    text: str
    remark: str
    anchor: str
    confidence: float = 1.0


class Report:
    """One self-contained HTML page: the values, and the documents with their evidence; it loads nothing.

    Args:
        path: the file to write.
        names: the fields.

    Raises:
        OutputError: the file cannot be written.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path, self._names = path, names
        self._articles: list[tuple[tuple[int, int], str]] = []
        self._rows: list[str] = []
        self._write("")

    def add(self, record: Record, document: Document | None, spans: Spans, limits: ReadLimits) -> None:
        """Add the record of a document.

        Args:
            record: its record.
            document: its text; None if it could not be read again.
            spans: where the evidence stands in the text.
            limits: of drawing its pages.
        """
        number = len(self._rows)
        values = [_value(name, record, f"e{number}-{at}") for at, name in enumerate(self._names)]
        shown = _view(document, record, values, spans, limits)
        refused, doubtful = (sum(value.state == state for value in values) for state in _STATES[:2])
        in_order = sorted(values, key=lambda value: (_STATES.index(value.state), value.confidence))
        rows = "".join(_row(value, shown) for value in in_order)
        source = _text(record["source"])
        article = (
            f'<article id="d{number}" aria-label="{source}"><h2>{source}</h2><div class="sides"><table class="values">'
            f'{_HEADS}<tbody>{rows}</tbody></table><div class="document" tabindex="0" role="region" '
            f'aria-label="document {source}">{shown}</div></div></article>'
        )
        self._articles.append(((-refused, -doubtful), article))
        cells = "".join(f'<td class="{_class(value)}">{_text(value.text or value.state)}</td>' for value in values)
        self._rows.append(f'<tr><th scope="row"><a href="#d{number}">{source}</a></th>{cells}</tr>')

    def write(self, summary: str) -> None:
        """Write the page: first the documents with most values that were refused or are doubtful."""
        articles = "".join(article for _, article in sorted(self._articles, key=lambda each: each[0]))
        heads = "".join(f'<th scope="col">{_text(name)}</th>' for name in self._names)
        policy = f"default-src 'none'; img-src data:; style-src '{_digest(STYLE)}'; script-src '{_digest(SCRIPT)}'"
        self._write(
            f"{BEGINNING}"
            f"<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}; base-uri 'none'; form-action 'none'\">"
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body><header>'
            f"<h1>Extracted values</h1><p>{_text(summary)}</p><p>Keys: <kbd>j</kbd> next value, <kbd>k</kbd> the one "
            f"before, <kbd>Enter</kbd> shows its evidence, <kbd>t</kbd> the table.</p></header><main>"
            f'<section aria-label="all values"><div class="wide"><table id="all" tabindex="-1"><thead><tr>'
            f'<th scope="col">document</th>{heads}</tr></thead><tbody>{"".join(self._rows)}</tbody></table></div>'
            f"</section>{articles}</main><script>{SCRIPT}</script></body></html>\n"
        )

    def _write(self, text: str) -> None:
        try:
            self._path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write {self._path}: {advice_for(error, self._path, '--report')}") from None


def _text(text: object) -> str:
    """Escape what a document or a model wrote, and leave out what controls the display."""
    return html.escape(safe_text(str(text)))


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _class(value: _Value) -> str:
    return value.state.replace(" ", "-")


def _row(value: _Value, shown: str) -> str:
    remark = f'<span class="remark">{_text(value.remark)}</span>' if value.remark else ""
    return (
        f'<tr class="{_class(value)}"><th scope="row">{_text(value.field)}</th>'
        f"<td>{_link(value, shown)}{remark}</td><td>{value.state}</td></tr>"
    )


def _value(name: str, record: Record, anchor: str) -> _Value:
    entry, reason = record["fields"][name], record["refused"].get(name, "")
    if entry["value"] is None:
        refused = bool(reason) and is_refusal(reason)
        remark = "; ".join(filter(None, [reason, _others(entry)])) if refused else ""
        return _Value(name, "refused" if refused else "not stated", "", remark, anchor)
    read: float | None = entry.get("ocr_confidence")
    sure: float = entry.get("confidence", 1.0)
    remarks = [str(place_of(entry)), f"left out: {reason}" if reason else "", "" if read is None else f"OCR {read:.0%}"]
    remarks += [confidence_text(entry), _others(entry)]
    is_doubtful = bool(reason) or (read is not None and read < _DOUBTFUL) or sure < DOUBTFUL
    remark = "; ".join(filter(None, remarks))
    return _Value(name, "doubtful" if is_doubtful else "backed", value_text(entry["value"]), remark, anchor, sure)


def _others(entry: Mapping[str, Any]) -> str:
    """Write the alternatives of a doubtful value, each with its place."""
    others = [f"{value_text(each['value'])} ({place_of(each)})" for each in entry.get("alternatives", ())]
    return f"or {', '.join(others)}" if others else ""


def _link(value: _Value, shown: str) -> str:
    text = f"<bdi>{_text(value.text)}</bdi>" if value.text else "—"
    if f'id="{value.anchor}"' not in shown:
        return f'<span class="value" tabindex="0">{text}</span>'
    return f'<a class="value" href="#{value.anchor}">{text}</a>'


def _view(document: Document | None, record: Record, values: Sequence[_Value], spans: Spans, limits: ReadLimits) -> str:
    """Return a document as HTML: pictures of its pages with boxes, else its text with marks."""
    if document is None:
        return "<p>The document was read in an earlier run, and is not there any more.</p>"
    if isinstance(document, PagedDocument) and (pages := _pages(document, record, values, limits)):
        return pages
    marks: list[tuple[int, int, _Value]] = []
    for value in values:
        found = spans.get(value.field) or _found_again(document, record["fields"][value.field])
        marks += [(start, end, value) for start, end in found]
    return f"<pre>{_marked(document.content, marks)}</pre>"


def _found_again(document: Document, entry: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return where the quotes of a finished record stand, by page and line."""
    quotes = _quotes_in(entry["quote"])
    locator, found = Locator(document), list[tuple[int, int]]()
    for number, quote in enumerate(quotes):
        start = first = document.content.find(quote)
        while start >= 0 and not number and locator.place(start) != place_of(entry):
            start = document.content.find(quote, start + 1)
        if (start := first if start < 0 else start) >= 0:
            found.append((start, start + len(quote)))
    return found


def _quotes_in(given: object) -> list[str]:
    """Return all quotes of an entry, also of the items of a list and of the parts of a group."""
    if isinstance(given, Mapping):
        given = list(cast("Mapping[str, object]", given).values())
    if isinstance(given, list):
        return [quote for each in cast("list[object]", given) for quote in _quotes_in(each)]
    return [str(given)] if given else []


def _marked(text: str, marks: Sequence[tuple[int, int, _Value]]) -> str:
    """Return a text with its marks, one within the other where they overlap; of a long text what is around them."""
    parts: list[str] = []
    seen: set[str] = set()
    ends: list[int] = []
    at = 0

    def close(until: int) -> None:
        nonlocal at
        while ends and ends[-1] <= until:
            parts.append(_between(text, at, ends[-1]) + "</mark>")
            at = ends.pop()

    for start, end, value in sorted(marks, key=lambda mark: (mark[0], -mark[1])):
        close(start)
        anchor = "" if value.anchor in seen else f' id="{value.anchor}"'
        seen.add(value.anchor)
        parts.append(f'{_between(text, at, start)}<mark{anchor} title="{_text(value.field)}">')
        ends.append(min([end, *ends[-1:]]))
        at = start
    close(len(text))
    return "".join([*parts, _between(text, at, len(text))])


def _between(text: str, start: int, end: int) -> str:
    if len(text) <= _LONGEST or end - start <= 2 * _AROUND:
        return _text(text[start:end])
    head = text[start : start + _AROUND] if start else ""
    tail = text[end - _AROUND : end] if end < len(text) else ""
    return _text(head or text[:_AROUND]) + "\n[…]\n" + _text(tail)


def _pages(document: PagedDocument, record: Record, values: Sequence[_Value], limits: ReadLimits) -> str:
    """Return pictures of the pages with evidence, with a box for each; "" if they cannot be drawn."""
    boxes = [(value, Box(*box)) for value in values for box in record["fields"][value.field].get("boxes", ())]
    try:
        data = Path(document.metadata.source).read_bytes()
    except OSError:
        return ""
    wanted = sorted({box.page for _, box in boxes}) or [1]
    pictures = page_pictures(data, document.metadata.source, wanted, limits)
    if len(pictures) < len(wanted):
        return ""
    seen: set[str] = set()
    parts: list[str] = []
    for page in wanted:
        width, height = document.layout.sizes[page - 1]
        image = base64.b64encode(pictures[page]).decode()
        parts.append(
            f'<figure><figcaption>page {page}</figcaption><svg viewBox="0 0 {width:.2f} {height:.2f}" role="img" '
            f'aria-label="page {page}"><image href="data:image/jpeg;base64,{image}" width="{width:.2f}" '
            f'height="{height:.2f}"/>'
        )
        for value, box in boxes:
            if box.page == page:
                anchor = "" if value.anchor in seen else f' id="{value.anchor}"'
                seen.add(value.anchor)
                place = f'x="{box.left - 1:.2f}" y="{box.top - 1:.2f}"'
                size = f'width="{box.right - box.left + 2:.2f}" height="{box.bottom - box.top + 2:.2f}"'
                title = f"<title>{_text(value.field)}: {_text(value.text)}</title>"
                parts.append(f"<rect{anchor} {place} {size}>{title}</rect>")
        parts.append("</svg></figure>")
    return "".join(parts)
