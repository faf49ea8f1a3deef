"""DOCX, opened by python-docx; the text is collected here, because its `text` skips insertions and form fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from io import BytesIO
from itertools import chain
from typing import Any, Protocol, cast

from trivium.exceptions import MissingExtraError
from trivium.parsing.formats._decoding import tidy
from trivium.parsing.formats._docx_numbers import write_numbers
from trivium.parsing.formats._formats import Original, Parsed
from trivium.parsing.formats._inline import LOWERED, RAISED, STRUCK, marked_run, runs_with_signs, without_inline_marks
from trivium.parsing.formats._lines import split_heading_marks, with_heading_mark, without_heading_marks
from trivium.parsing.formats._packages import read_properties, reading_package

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
# Deleted text, the old place of moved text, settings, and the second rendering of a drawing.
_UNSEEN = frozenset(["del", "moveFrom", "pPr", "rPr", "tblPr", "tcPr", "sectPr", "Fallback"])
_FALSE = ("0", "false", "off")
_KINDS = {"superscript": RAISED, "subscript": LOWERED}
_BOX = "☐☒"
# Signs that forms use; what else a font of pictures holds is decoration.
_PICTURES = {
    "Wingdings": {0x6F: "☐", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☒"},
    "Wingdings 2": {0x2A: "☐", 0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☒", 0x53: "☒", 0x54: "☒", 0xA3: "☐"},
}
_PRIVATE = 0xF000  # symbols of fonts stand at this offset
_OPERATORS = {"sup": "^", "sub": "_", "num": " ", "den": "/"}  # of an equation
_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


class _Element(Protocol):
    """The part of lxml's interface that is used here; lxml has no types."""

    @property
    def tag(self) -> object: ...
    @property
    def text(self) -> str | None: ...
    def get(self, key: str) -> str | None: ...
    def iter(self, tag: str) -> Iterable[_Element]: ...
    def __iter__(self) -> Iterator[_Element]: ...


def parse_docx(original: Original) -> Parsed:
    """Return paragraphs and table rows as lines in reading order: headers, body, notes and footers.

    Raises:
        UnreadableDocumentError: it is damaged or encrypted.
        DocumentTooLargeError: it unpacks to more than the limit.
        MissingExtraError: python-docx is not installed.
    """
    try:
        import docx
    except ImportError:
        raise MissingExtraError("python-docx", "documents") from None
    with reading_package(original, "DOCX"):
        document: Any = docx.Document(BytesIO(original.data))
        body, part = cast("_Element", document.element.body), document.part
        hidden = _hidden_styles(document.styles.element)
        _drop_hidden(body, hidden)
        for numbering in _related(part, "/numbering"):
            write_numbers(body, document.styles.element, numbering)
        kinds = ["default", *(["even"] if document.settings.odd_and_even_pages_header_footer else [])]
        sections = list(body.iter(f"{_WORD}sectPr"))  # a section's settings stand at its end
        headers, footers = (
            (
                _block_lines_of(part, ids, hidden)
                for ids in dict.fromkeys(_repeated(each, what, kinds) for each in sections)
            )
            for what in ("header", "footer")
        )
        lines: list[str] = []
        length = 0
        for line in chain(_once(headers), _block_lines(body), _notes(part, hidden), _once(footers)):
            lines.append(line)
            length += len(line)
            if length > original.limit:
                raise original.too_large("more text")
        title, published = read_properties(original)
        titles = (_title(each) for each in body.iter(f"{_WORD}p"))
    text, _, headings = split_heading_marks(_text(lines))
    return Parsed(text, title or next(filter(None, titles), None), published=published, headings=headings)


def _text(lines: Iterable[str]) -> str:
    """Join lines, with at most one blank line between two."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip())
    return "\n".join(kept).rstrip("\n") + "\n"


def _once(groups: Iterable[list[str]]) -> Iterator[str]:
    """Return the lines of each distinct header or footer once; sections may share it."""
    seen: set[tuple[str, ...]] = set()
    for lines in groups:
        if any(lines) and tuple(lines) not in seen:
            seen.add(tuple(lines))
            yield from ("", *lines, "")


def _repeated(section: _Element, what: str, kinds: list[str]) -> tuple[str, ...]:
    """Return the ids of the headers or footers that a section shows."""
    has_first = any(True for _ in section.iter(f"{_WORD}titlePg"))
    shown = [*(["first"] if has_first else []), *kinds]
    references = section.iter(f"{_WORD}{what}Reference")
    return tuple(each.get(_RELATION_ID) or "" for each in references if each.get(f"{_WORD}type") in shown)


def _block_lines_of(part: Any, ids: Iterable[str], hidden: Collection[str]) -> list[str]:
    elements = [part.related_parts[each].element for each in ids]
    for element in elements:
        _drop_hidden(element, hidden)
    return [line for element in elements for line in _block_lines(element)]


def _notes(part: Any, hidden: Collection[str]) -> Iterator[str]:
    for element in _related(part, "/footnotes", "/endnotes"):
        _drop_hidden(element, hidden)
        notes = list(_block_lines(element))
        yield from ("", *(line for line in notes if line.strip()), "")


def _related(part: Any, *kinds: str) -> Iterator[Any]:
    """Return the elements of the parts that belong to a part, by the ends of their kinds."""
    from docx.oxml import parse_xml

    for relation in part.rels.values():
        if str(relation.reltype).endswith(kinds):
            yield parse_xml(relation.target_part.blob)


def _is_hidden(owner: Any) -> bool | None:
    """Tell whether a run or a style hides its text; None if it says nothing of it."""
    vanish = owner.find(f"{_WORD}rPr/{_WORD}vanish")
    return None if vanish is None else vanish.get(f"{_WORD}val") not in _FALSE


def _hidden_styles(styles: Any) -> frozenset[str]:
    """Return the ids of the styles that hide their text, by themselves or by the style that they are based on.

    The id "" stands for the style of paragraphs that name none.
    """
    known = {each.get(f"{_WORD}styleId"): each for each in styles.iter(f"{_WORD}style")}
    hidden = {name for name, style in known.items() if _is_hidden(style)}
    while based := {
        name
        for name, style in known.items()
        if name not in hidden and _is_hidden(style) is None and _value(style, "basedOn") in hidden
    }:
        hidden |= based
    return frozenset(hidden | {"" for name in hidden if _is_default(known[name])})


def _is_default(style: Any) -> bool:
    kind, default = style.get(f"{_WORD}type"), style.get(f"{_WORD}default")
    return kind == "paragraph" and default is not None and default not in _FALSE


def _value(owner: Any, path: str) -> str:
    found = None if owner is None else owner.find("/".join(_WORD + each for each in path.split("/")))
    return "" if found is None else str(found.get(f"{_WORD}val"))


def _drop_hidden(root: Any, hidden: Collection[str]) -> None:
    """Remove the runs that Word does not display, and what it displays in a field that nobody has filled in."""
    for field in list(root.iter(f"{_WORD}sdt")):
        prompt = field.find(f"{_WORD}sdtPr/{_WORD}showingPlcHdr")
        if prompt is not None and prompt.get(f"{_WORD}val") not in _FALSE:
            for run in list(field.iter(f"{_WORD}r")):
                run.getparent().remove(run)
    for run in list(root.iter(f"{_WORD}r")):
        own = _is_hidden(run)
        if own is None and hidden:
            paragraph = next(run.iterancestors(f"{_WORD}p"), None)
            word = _value(run, "rPr/rStyle")
            # Word lets a style of the word turn round what that of the paragraph says (ISO/IEC 29500-1, 17.7.3).
            own = (word != "" and word in hidden) != (_value(paragraph, "pPr/pStyle") in hidden)
        if own:
            run.getparent().remove(run)


def _name(element: _Element) -> str:
    """Return the tag without its namespace; comments and processing instructions have none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else "del"


def _block_lines(container: _Element) -> Iterator[str]:
    for element in container:
        name = _name(element)
        if name == "p":
            yield from paragraph_lines(element)
        elif name == "tbl":
            yield from ("", *_rows(element), "")
        elif name not in _UNSEEN:  # content controls, tracked insertions, notes
            yield from _block_lines(element)


def paragraph_lines(paragraph: _Element) -> Iterator[str]:
    """Return the lines of a paragraph, with the mark of a heading if it is one, then those of its text boxes."""
    boxes: list[_Element] = []
    text, style = _written(paragraph, boxes), _style(paragraph)
    level = int(style.startswith("Title"))
    if style.startswith("Heading"):
        level = 1 + int(style[7:8]) if style[7:8].isdecimal() else 2
    if level:
        yield ""
        text = with_heading_mark(text, level)
    if text.strip() or not boxes:
        yield from text.split("\n")
    for box in boxes:
        yield from _block_lines(box)


def _title(paragraph: _Element) -> str:
    """Return the text of a title; "" for any other paragraph."""
    return " ".join(_written(paragraph, []).split()) if _style(paragraph) == "Title" else ""


def _style(paragraph: _Element) -> str:
    styles = (style.get(f"{_WORD}val") or "" for style in paragraph.iter(f"{_WORD}pStyle"))
    return next(styles, "")


def _written(paragraph: _Element, boxes: list[_Element]) -> str:
    """Return the text of a paragraph, and collect its text boxes."""
    return runs_with_signs("".join(_characters(paragraph, boxes)))


def _kinds(run: _Element) -> Iterator[str]:
    """Return the kinds of marks that the own format of a run asks for."""
    for properties in run:
        for each in properties if _name(properties) == "rPr" else ():
            name, value = _name(each), each.get(f"{_WORD}val") or ""
            if name in ("strike", "dstrike") and value not in _FALSE:
                yield STRUCK
            elif name == "vertAlign" and value in _KINDS:
                yield _KINDS[value]


def _characters(element: _Element, boxes: list[_Element]) -> Iterator[str]:
    for child in element:
        name = _name(child)
        if name == "t":
            yield without_inline_marks(tidy(child.text or ""))
        elif name == "r" and (kinds := set(_kinds(child))):
            yield marked_run("".join(_characters(child, boxes)), kinds)
        elif name in _CHARACTERS:
            yield _CHARACTERS[name]
        elif name in _FIELDS:
            yield without_inline_marks(_FIELDS[name](child))
        elif name == "txbxContent":
            boxes.append(child)
        elif name not in _UNSEEN:
            if name in _OPERATORS and any(map(str.strip, cast("Any", child).itertext())):  # a sum may have no limits
                yield _OPERATORS[name]
            yield from _characters(child, boxes)


def _check_box(box: Any) -> str:
    """Return the mark of a check box, an older field of forms."""
    setting = next((found for name in ("checked", "default") if (found := box.find(_WORD + name)) is not None), None)
    return _BOX[setting is not None and setting.get(f"{_WORD}val") not in _FALSE]


def _choice(field: Any) -> str:
    """Return the selected entry of a list, an older field of forms."""
    entries = [each.get(f"{_WORD}val") or "" for each in field.iter(f"{_WORD}listEntry")]
    chosen = int(_value(field, "result") or 0)
    return entries[chosen] if chosen < len(entries) else ""


def _symbol(symbol: _Element) -> str:
    """Return a character of a font."""
    code = int(symbol.get(f"{_WORD}char") or "0", 16)
    pictures = _PICTURES.get(symbol.get(f"{_WORD}font") or "")
    if pictures is not None:
        return pictures.get(code % _PRIVATE, "")
    return tidy(chr(code)) if 0x20 <= code < 0xE000 else ""


_FIELDS = {"checkBox": _check_box, "ddList": _choice, "sym": _symbol}


def _rows(table: _Element) -> Iterator[str]:
    """Return the rows; a cell that reaches over several of them stands in each that has other cells."""
    above: dict[int, str] = {}
    for row in _find(table, "tr"):
        column, cells, below = 0, list[str](), dict[int, str]()
        parts = list(_find(row, "tc"))
        if any(True for cell in parts for _ in cell.iter(f"{_WORD}tbl")):  # whose cells are not those of this row
            for cell in parts:
                yield from ("", *_block_lines(cell))
            yield ""
            continue
        found = [(cell, " ".join(" ".join(_block_lines(cell)).split())) for cell in parts]
        is_filled = any(text for _, text in found)
        for cell, text in found:
            merge = cast("Any", cell).find(f"{_WORD}tcPr/{_WORD}vMerge")
            goes_on = merge is not None and merge.get(f"{_WORD}val") != "restart"
            shown = above.get(column, "") if goes_on and not text else text
            if merge is not None:
                below[column] = shown
            cells.append(shown if is_filled else text)
            column += int(_value(cell, "tcPr/gridSpan") or 1)
        above = below
        yield without_heading_marks(" | ".join(cells))


def _find(container: _Element, wanted: str) -> Iterator[_Element]:
    """Return the nearest elements of a name, including those inside content controls and insertions."""
    for element in container:
        name = _name(element)
        if name == wanted:
            yield element
        elif name not in _UNSEEN:
            yield from _find(element, wanted)
