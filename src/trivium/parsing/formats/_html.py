"""The visible text of an HTML page, as lines."""

from __future__ import annotations

import re
from typing import NamedTuple

from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._inline import (
    LOWERED,
    RAISED,
    STRUCK,
    Around,
    with_inline_signs,
    without_inline_marks,
)
from trivium.parsing.formats._lines import (
    LinePairs,
    split_heading_marks,
    split_line_marks,
    with_heading_mark,
    without_heading_marks,
)
from trivium.parsing.formats._markup import Tag, tokenize_html

_CHARSET = re.compile(
    rb"<meta\b[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,200}encoding=[\"']([\w.:-]+)", re.I
)
_SPACES = re.compile(r"[ \t\n\f\xa0]+")
_INVISIBLE = re.compile("[\xad\u200b\u2060\ufeff]")
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)

_UNSEEN = frozenset(["script", "style", "template", "noscript", "svg", "iframe", "noembed", "noframes"])
# fmt: off
_LINE = frozenset([
    "address", "article", "aside", "body", "br", "dd", "details", "dialog", "div", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "header", "legend", "li", "main", "nav", "option",
    "optgroup", "search", "section", "select", "summary", "textarea",
])
_PARAGRAPH = frozenset([
    "blockquote", "caption", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "ol", "p", "pre", "table",
    "ul",
])
_VOID = frozenset([
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
])
_END_OPTIONAL = frozenset([
    "dd", "dt", "li", "option", "p", "tbody", "td", "tfoot", "th", "thead", "tr",
])
_CONTAINERS = frozenset([
    "body", "div", "dl", "html", "ol", "section", "select", "table", "tbody", "tfoot", "thead", "tr",
    "ul",
])
# fmt: on
_HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
_INLINE = {"del": STRUCK, "s": STRUCK, "strike": STRUCK, "sup": RAISED, "sub": LOWERED}
_CELLS = frozenset(["td", "th"])
_BLOCKS = frozenset(["ul", "ol", "dl", "menu", "nav"])
_DATED = frozenset(["meta", "time"])
_CHOICES = {"checkbox": "☐☒", "radio": "○◉"}
_ENTRIES = frozenset(
    ["date", "datetime-local", "email", "month", "number", "search", "tel", "text", "time", "url", "week"]
)
_DATES = frozenset([
    "article:published_time", "citation_publication_date", "date", "datepublished", "dc.date", "dc.date.issued",
    "dcterms.created", "dcterms.date", "dcterms.issued", "og:published_time", "pubdate", "publish-date",
    "publish_date", "published_time",
])  # fmt: skip
_MOST_REPEATED = 1 << 20  # characters of cells that take several rows
_DEEPEST_TABLE = 40  # each level copies its text once more


def parse_html(original: Original) -> Parsed:
    """Return the visible text, the title and the date of a page, decoded by the encoding that it declares."""
    return parse_page(decode(original.data, original.charset or declared_charset(original.data)))


def declared_charset(data: bytes) -> str | None:
    """Return the encoding that HTML or XML declares at its beginning; None if it declares none."""
    declared = _CHARSET.search(data[:4096])
    return (declared[1] or declared[2]).decode("ascii", "replace") if declared else None


def parse_page(markup: str) -> Parsed:
    """Return the text that a reader of the page sees before any script runs.

    Each block is a line, and a blank line separates paragraphs. A table row is one line with ` | ` between the cells;
    the cells of a table that holds tables or paragraphs, and so only lays out the page, are blocks.

    >>> parse_page("<h1>Fees</h1><table><tr><td>Entry<td>5&nbsp;EUR</table>").text
    'Fees\\n\\nEntry | 5 EUR\\n'
    """
    page = _page(tidy(markup), ())
    text, lines, headings = split_heading_marks(*split_line_marks(page.text()))
    return Parsed(text, page.title or None, lines=lines, published=page.published, headings=headings)


def marked_text(markup: str, lines: LinePairs) -> str:
    """Return the visible text of a page within a file, with marks of its lines; `lines` are those of the markup."""
    return without_heading_marks(_page(markup, lines).text())


def _page(markup: str, lines: LinePairs) -> _Page:
    page = _Page()
    for token in tokenize_html(markup, lines):
        page.accept(token)
    return page


class _Lines:
    """Text that is being written: whitespace collapses, and line breaks are written when text follows."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._space = False
        self._around = {kind: Around(kind) for kind in (STRUCK, RAISED, LOWERED)}
        self._in_blocks = False
        self.paragraphs = self.blocks = False
        """Whether paragraphs are written, and any text in several blocks, not only in lines of one."""
        self.links = 0

    def write(self, text: str, *, preformatted: bool) -> None:
        text = without_inline_marks(_INVISIBLE.sub("", text))
        if not preformatted:
            text = _SPACES.sub(" ", text)
            self._space = self._space or text.startswith(" ")
        if not (text if preformatted else text.strip(" ")):
            return
        if preformatted and self._breaks:
            text = text.removeprefix("\n")
        if self._parts:
            self._parts.append("\n" * self._breaks or " " * self._space)
            self.paragraphs = self.paragraphs or self._breaks > 1
            self.blocks = self.blocks or self._in_blocks
        self._in_blocks = False
        self._parts += (each.before() for each in self._around.values())
        self._parts.append(text.replace("\xa0", " ") if preformatted else text.strip(" "))
        self._breaks = 0
        self._space = not preformatted and text.endswith(" ")

    def end_line(self, breaks: int, *, is_block: bool = True) -> None:
        self._breaks = max(self._breaks, breaks)
        self._space = False
        self._in_blocks = self._in_blocks or is_block
        if is_block:  # a tag of raised or lowered text that is not closed ends there, too
            self._parts += filter(None, (self._around[kind].close() for kind in (RAISED, LOWERED)))

    def mark(self, kind: str, *, is_end: bool) -> None:
        """Begin or end struck, raised or lowered text."""
        if behind := self._around[kind].behind(is_end=is_end):
            self._parts.append(behind)

    def text(self) -> str:
        return with_inline_signs("".join(self._parts)).strip("\n")


class _Cell(NamedTuple):
    """The text of a cell, the rows that it takes from this one on, and its columns."""

    text: str
    rows: int
    columns: int
    is_block: bool


class _Table:
    """A table being read: the cells of its open row; `is_layout` if the table only lays out the page."""

    def __init__(self) -> None:
        self.cells: list[_Cell] = []
        self.spans: dict[int, _Cell] = {}
        """The cells of the rows above that reach into this one, by their columns."""
        self.rows = self.columns = 1
        self.in_cell = False
        self.is_layout = False


class _Hidden:
    """An invisible element, until it ends."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._same = 1
        self._containers = 0

    def ends_at(self, token: Tag | str) -> bool:
        if isinstance(token, str) or token.is_whole_svg:
            return False
        if token.name == self._name:
            self._same += -1 if token.is_end else 1
            return self._same == 0 or (self._name in _END_OPTIONAL and not token.is_end)
        if self._name in _END_OPTIONAL and token.name in _CONTAINERS:
            self._containers += -1 if token.is_end else 1
        return self._containers < 0


class _Page:
    def __init__(self) -> None:
        self._lines = [_Lines()]
        self._tables: list[_Table] = []
        self.title = ""
        self._date: str | None = None
        self._time: str | None = None
        self._raw: str | None = None
        self._preformatted = 0
        self._heading = 0  # its level, until its first text
        self._hidden: _Hidden | None = None
        self._forms = 0
        self._repeated = 0  # characters of cells that were repeated, in proportion to the page

    def accept(self, token: Tag | str) -> None:
        if self._hidden is not None:
            if not self._hidden.ends_at(token):
                return
            self._hidden = None  # the tag that ended it may start the next element
        if isinstance(token, str):
            self._text(token)
        elif not token.is_end and is_invisible(token):
            self._hidden = _Hidden(token.name)
        else:
            self._tag(token)

    @property
    def published(self) -> str | None:
        """The date in the metadata of the page, else that of its first `time` element."""
        return self._date or self._time

    def text(self) -> str:
        """Return the visible text, with marks of its lines and headings."""
        while self._tables:
            self._end_table()
        return "\n".join(line.rstrip() for line in self._lines[0].text().split("\n")) + "\n"

    def _text(self, text: str) -> None:
        if self._raw == "title":
            self.title = self.title or " ".join(split_line_marks(text)[0].split())
        else:
            if self._heading and (marked := with_heading_mark(text, self._heading)) != text:
                text, self._heading = marked, 0
            self._lines[-1].write(text, preformatted=self._preformatted > 0)

    def _tag(self, tag: Tag) -> None:
        name = tag.name
        if name in _DATED and not tag.is_end:
            self.read_date(tag)
        self._raw = name if name == "title" and not tag.is_end else None
        if name in _INLINE:
            self._lines[-1].mark(_INLINE[name], is_end=tag.is_end)
        if not tag.is_end and (name == "a" or name in _BLOCKS):
            self._lines[-1].links += 1 if name == "a" else 2
        if name in _HEADINGS:
            self._heading = 0 if tag.is_end else int(name[1])
        if name in {"pre", "textarea"}:
            self._preformatted = max(0, self._preformatted + (-1 if tag.is_end else 1))
        if name in _LINE or name in _PARAGRAPH:
            self._lines[-1].end_line(2 if name in _PARAGRAPH else 1, is_block=name != "br")
        if name == "form":
            self._forms = max(0, self._forms + (-1 if tag.is_end else 1))
        elif self._forms and name in {"input", "option"} and not tag.is_end:  # others steer the page, as its menu
            self._lines[-1].write(_entry(tag), preformatted=False)
        if name == "table":
            self._table(tag)
        elif self._tables and name in _CELLS:
            self._end_cell()
            if not tag.is_end:
                table = self._tables[-1]
                table.in_cell, table.rows, table.columns = True, _span(tag, "rowspan"), _span(tag, "colspan")
                self._lines.append(_Lines())
        elif self._tables and name in {"tr", "tbody", "thead", "tfoot", "caption"}:
            self._end_row()
            if name != "tr":
                self._tables[-1].spans.clear()
        elif name in _CELLS or name == "tr":
            self._lines[-1].end_line(1)

    def read_date(self, tag: Tag) -> None:
        """Keep the first date of a `meta` or `time` element."""
        attributes = tag.attributes()
        if tag.name == "time":
            self._time = self._time or iso_date(attributes.get("datetime"))
        elif any(attributes.get(key, "").lower() in _DATES for key in ("property", "name", "itemprop")):
            self._date = self._date or iso_date(attributes.get("content"))

    def _table(self, tag: Tag) -> None:
        if tag.is_end:
            if self._tables:
                self._end_table()
        elif len(self._tables) < _DEEPEST_TABLE:
            if self._tables:
                self._tables[-1].is_layout = True
            self._tables.append(_Table())

    def _end_cell(self) -> None:
        table = self._tables[-1]
        if table.in_cell:
            cell = self._lines.pop()
            table.in_cell = False
            table.is_layout = table.is_layout or cell.paragraphs
            is_block = cell.blocks or cell.links > 1
            table.cells.append(_Cell(cell.text(), table.rows, table.columns, is_block))

    def _end_row(self) -> None:
        self._end_cell()
        table = self._tables[-1]
        cells, table.cells = self._with_spans(table), []
        filled = [cell for cell in cells if cell.strip()]
        if table.is_layout or len(filled) == 1:
            rows = filled
        else:
            rows = [without_heading_marks(" | ".join(" ".join(cell.split()) for cell in cells))] if filled else []
        table.is_layout = False
        for row in rows:
            self._lines[-1].end_line(1)
            self._lines[-1].write(row, preformatted=True)
        self._lines[-1].end_line(1)

    def _with_spans(self, table: _Table) -> list[str]:
        """Return the cells of a row, each in its column: those that reach into it from above are repeated."""
        if table.is_layout or not table.cells:
            table.spans = {} if table.cells else table.spans
            return [cell.text for cell in table.cells]
        row, column, above, table.spans = list[str](), 0, table.spans, dict[int, _Cell]()
        own, is_filled = iter(table.cells), any(cell.text.strip() for cell in table.cells)
        while (cell := above.get(column) or next(own, None)) is not None:
            self._repeated += len(cell.text) + 3 if column in above else 0
            if column not in above or is_filled:
                row.append(cell.text)
            if cell.rows > 1 and self._repeated < _MOST_REPEATED:
                # A block is not repeated, as the links beside a page; its column stays.
                table.spans[column] = cell._replace(rows=cell.rows - 1, text="" if cell.is_block else cell.text)
            column += cell.columns
        return row

    def _end_table(self) -> None:
        self._end_row()
        self._tables.pop()
        self._lines[-1].end_line(2)


def _entry(tag: Tag) -> str:
    """Return what a field of a form is filled with, or the mark of a choice."""
    attributes = tag.attributes()
    kind = attributes.get("type", "text").lower()
    if tag.name == "option":
        return "◉ " if "selected" in attributes else ""
    if "hidden" in attributes or _HIDING_STYLE.search(attributes.get("style", "")):
        return ""
    if kind in _CHOICES:
        return f" {_CHOICES[kind]['checked' in attributes]} "
    return f" {attributes.get('value', '')} " if kind in _ENTRIES else ""


def _span(tag: Tag, name: str) -> int:
    found = tag.attributes().get(name, "") if name in tag.rest.lower() else ""
    return max(1, int(found)) if found.isascii() and found.isdigit() and len(found) < 6 else 1


def is_invisible(tag: Tag) -> bool:
    """Tell an element that is not displayed by its start tag: scripts, hidden elements and the like."""
    if tag.name in _VOID or tag.is_whole_svg:
        return False
    if tag.name in _UNSEEN:
        return True
    if "hidden" not in tag.rest.lower() and "none" not in tag.rest.lower():
        return False
    attributes = tag.attributes()
    return attributes.get("hidden", "until-found") != "until-found" or bool(
        _HIDING_STYLE.search(attributes.get("style", ""))
    )
