"""The texts that retrieval is measured on: pages of three Debian packages, as Markdown, and where their anchors stand.

The pages are Sphinx's HTML (python3.11-doc, debian-policy, developers-reference). Each becomes one Markdown file, the
same for all that is measured. Navigation, lists of contents and the index pages are left out. The headings of Python's
FAQ that are questions are left out too: they are questions of the benchmark, so that the texts do not hold them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

__all__ = ["GROUPS", "Block", "Page", "Span", "pages", "read_page", "write_corpus"]

GROUPS = {
    "python": Path("/usr/share/doc/python3.11/html"),
    "policy": Path("/usr/share/doc/debian-policy/policy.html"),
    "devref": Path("/usr/share/developers-reference"),
}
PATTERNS = {
    "python": ("tutorial/*.html", "reference/*.html", "faq/*.html", "library/*.html", "howto/*.html"),
    "policy": ("ch-*.html", "ap-*.html"),
    "devref": ("[a-ik-z]*.html",),
}
SHARE = 0.02
ALWAYS = {"stdtypes.html"}  # the one page of the library to which most of the index's descriptive entries point
LEFT_OUT = {"index.html", "search.html", "genindex.html", "developers-reference.html", "grammar.html"}
_PASSAGE = 400  # characters: a gold passage is whole paragraphs from its anchor on, until it has these
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {"p", "li", "dt", "dd", "tr", "pre", "div", "section", "table", "blockquote", "ul", "ol", "dl", "aside"}
_DROPPED = {"script", "style", "nav", "noscript"}
_DROPPED_CLASSES = {"headerlink", "contents", "toctree-wrapper", "sphinxsidebar", "related", "linenos"}
_EMPTY = {"br", "hr", "img", "meta", "link", "input", "col", "wbr"}
_BODY_CLASSES = {"body", "document"}


class Span(NamedTuple):
    """A range of characters of a page's text."""

    start: int
    end: int

    def shared(self, start: int, end: int) -> int:
        """How many characters it has in common with another range."""
        return max(0, min(self.end, end) - max(self.start, start))


class Block(NamedTuple):
    """A paragraph, heading, row or listing of a page, where it stands in the text."""

    heading: int
    start: int
    end: int


class Page(NamedTuple):
    """A page as Markdown: its text, its blocks in order, and the offset of each anchor."""

    name: str
    text: str
    blocks: list[Block]
    anchors: dict[str, int]

    def passage(self, anchor: str) -> Span | None:
        """What an anchor points to: at a heading all that stands below it, up to the next one, and within a text the
        paragraphs behind it, until they have some 400 characters.
        """
        at = self.anchors.get(anchor)
        if at is None:
            return None
        whole = any(block.heading and block.start == at for block in self.blocks)
        start = end = -1
        for block in self.blocks:
            if block.end <= at:
                continue
            if block.heading:
                if start >= 0:
                    break
                continue
            start, end = (block.start if start < 0 else start), block.end
            if not whole and end - start >= _PASSAGE:
                break
        return Span(start, end) if start >= 0 else None

    def check(self, span: Span) -> str:
        """What tells another version of a passage: a hash of how it begins."""
        words = " ".join(self.text[span.start : span.end].split()[:10])
        return sha256(words.encode()).hexdigest()[:12]


class _Reader(HTMLParser):
    def __init__(self, without_questions: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.blocks, self.anchors = "", list[Block](), dict[str, int]()
        self._without_questions = without_questions
        self._open: list[tuple[str, bool]] = []  # tag, whether it is dropped
        self._body = self._pre = 0
        self._line, self._lead, self._heading = list[str](), "", 0
        self._waiting: list[str] = []  # anchors for the next text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        classes = set(values.get("class", "").split())
        if not self._body:
            if values.get("role") == "main" or (tag == "div" and "body" in classes):
                self._body = len(self._open) + 1
            if tag not in _EMPTY:
                self._open.append((tag, False))
            return
        dropped = bool(self._open and self._open[-1][1]) or tag in _DROPPED or bool(classes & _DROPPED_CLASSES)
        if tag not in _EMPTY:
            self._open.append((tag, dropped))
        if dropped:
            return
        if tag in _BLOCKS or tag in _HEADINGS:
            self._flush()
            self._heading = _HEADINGS.get(tag, 0)
            self._lead = {"li": "- "}.get(tag, self._lead if tag == "p" else "")
            self._pre += tag == "pre"
        elif tag in {"td", "th"} and self._line:
            self._line.append(" | ")
        elif tag == "br":
            self._line.append("\n" if self._pre else " ")
        if "id" in values:
            self._waiting.append(values["id"])

    def handle_endtag(self, tag: str) -> None:
        if all(name != tag for name, _ in self._open):  # stray: there are some
            return
        while self._open:
            name, dropped = self._open.pop()
            if self._body and not dropped and (name in _BLOCKS or name in _HEADINGS):
                self._flush()
                self._pre -= name == "pre"
            if len(self._open) < self._body:
                self._body = 0
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        if self._body and not self._open[-1][1]:
            self._line.append(data)

    def _flush(self) -> None:
        raw, self._line = "".join(self._line), []
        heading, self._heading, lead, self._lead = self._heading, 0, self._lead, ""
        text = raw.strip("\n") if self._pre else " ".join(raw.split()).strip("¶ ")
        if not text.strip():
            self._heading, self._lead = heading, lead
            return
        if heading > 1 and self._without_questions and text.endswith("?"):
            self.anchors.update(dict.fromkeys(self._waiting, len(self.text)))
            self._waiting.clear()
            self.blocks.append(Block(heading, len(self.text), len(self.text)))  # the answer above ends here
            return
        if self._pre:
            text = f"```\n{text}\n```"
        elif heading:
            text = f"{'#' * heading} {text}"
        else:
            text = lead + text
        start = len(self.text)
        self.anchors.update(dict.fromkeys(self._waiting, start))
        self._waiting.clear()
        self.text += text + "\n\n"
        self.blocks.append(Block(heading, start, start + len(text)))


def read_page(name: str) -> Page:
    """A page by its name, as "python/faq/design.html"."""
    group, _, path = name.partition("/")
    reader = _Reader(without_questions=name.startswith("python/faq/"))
    reader.feed((GROUPS[group] / path).read_text(encoding="utf-8"))
    reader.close()
    text = reader.text
    return Page(name, text, reader.blocks, reader.anchors)


def pages(share: float = SHARE) -> Iterator[str]:
    """The names of the pages that are used, in order.

    Args:
        share: of Python's library reference and how-tos, by a hash of the page's name, beside its page on built-in
            types; the rest is used whole.
    """
    for group, folder in GROUPS.items():
        for pattern in PATTERNS[group]:
            for path in sorted(folder.glob(pattern)):
                name = f"{group}/{path.relative_to(folder)}"
                chance = int(sha256(name.encode()).hexdigest()[:8], 16) / 2**32
                is_used = chance < share or path.name in ALWAYS or not re.search("/(library|howto)/", name)
                if is_used and path.name not in LEFT_OUT:
                    yield name


def write_corpus(folder: Path, share: float = SHARE) -> dict[str, Page]:
    """Write all pages as Markdown files below a folder; what was written, by file name relative to it."""
    written: dict[str, Page] = {}
    for name in pages(share):
        page = read_page(name)
        file = re.sub(r"\.html$", ".md", name)
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page.text, encoding="utf-8")
        written[file] = page
    return written
