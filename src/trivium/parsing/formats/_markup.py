"""HTML as a stream of tags and texts, in linear time even if it is malformed.

The parsers of the standard library, which Beautiful Soup uses, take quadratic time on comments without an end.
"""

from __future__ import annotations

import html
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from trivium.parsing.formats._lines import line_starts, with_line_mark

_OPENING = re.compile(r"<(?=[a-zA-Z!?/])")  # any other `<` is text
_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"([^\s=\"'/>]+)(?:\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_REST_OF_TAG = re.compile(r"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+>")  # quotes count after `=` only
_OPEN_ENTITY = re.compile(r"&[^\s;<&]{0,32}\Z")
# The content of these elements is text up to their own end tag, even if it looks like tags.
_RAW = frozenset(["script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp"])


class Tag(NamedTuple):
    """A start tag or an end tag, with its attributes as text."""

    name: str
    is_end: bool
    rest: str

    @property
    def is_whole_svg(self) -> bool:
        """True for an svg element that closes itself; a slash does not close an element of HTML proper."""
        return self.name == "svg" and self.rest.endswith("/")

    def attributes(self) -> dict[str, str]:
        """Return the names in lower case and their values; of equal names the first counts."""
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(self.rest):
            found.setdefault(name.lower(), _unescaped(double or single or bare))
        return found


def tokenize_html(markup: str, lines: Iterable[tuple[int, int]] | None = None) -> Iterator[Tag | str]:
    """Return the tags, and the texts between them with entities decoded; comments and declarations are left out.

    Args:
        markup: a page or a fragment. An element or comment without an end goes on to the end, as in browsers.
        lines: pairs of an offset and its line, as for `line_starts`; the texts get marks of their lines.

    >>> [token if isinstance(token, str) else token.name for token in tokenize_html("a &lt; b<br>c<!-- d -->")]
    ['a < b', 'br', 'c']
    """
    decoded = _decoder(markup, lines)
    position = 0
    quotes_close = True
    while position < len(markup):
        found = _OPENING.search(markup, position)
        opening = found.start() if found else len(markup)
        if opening != position:
            yield decoded(position, opening)
        if found is None:
            return
        name = _NAME.match(markup, opening)
        if name is None:
            is_comment = markup.startswith("<!--", opening)  # `<!-->` is a whole one
            position = _past(markup, "-->", opening + 2) if is_comment else _past(markup, ">", opening + 1)
            continue
        rest = _REST_OF_TAG.match(markup, name.end()) if quotes_close else None
        quotes_close = rest is not None  # once quotes hid all `>`, none is trusted: to search again is quadratic
        end = rest.end() if rest is not None else _past(markup, ">", name.end())
        inside = markup[name.end() : end].removesuffix(">").strip()
        tag = Tag(name[1].lower(), markup[opening + 1] == "/", inside)
        yield tag
        position = end
        if tag.name in _RAW and not tag.is_end:
            found = re.compile(rf"</{tag.name}(?=[\s/>])", re.IGNORECASE).search(markup, position)
            closing = found.start() if found else len(markup)
            yield decoded(position, closing) if tag.name in {"title", "textarea"} else markup[position:closing]
            position = closing


def _decoder(markup: str, lines: Iterable[tuple[int, int]] | None) -> Callable[[int, int], str]:
    """Return a function of two offsets to the text between them, with entities decoded and marks of lines."""
    if lines is None:
        return lambda start, end: _unescaped(markup[start:end])
    table = list(line_starts(markup, lines))

    def decoded(start: int, end: int) -> str:
        first, behind = bisect_right(table, (start, sys.maxsize)) - 1, bisect_right(table, (end - 1, sys.maxsize))
        parts: list[str] = []
        for number in range(first, behind):
            until = _cut(markup, start, table[number + 1][0]) if number + 1 < behind else end
            written = _unescaped(markup[start:until]).splitlines(keepends=True)  # an entity may be a line end
            parts += (with_line_mark(each, table[number][1]) for each in written)
            start = until
        return "".join(parts)

    return decoded


def _cut(markup: str, start: int, end: int) -> int:
    """Return `end`, or the start of an entity that goes on behind it, as in mail that wraps lines."""
    is_open = _OPEN_ENTITY.search(markup, max(start, end - 33), end)
    return is_open.start() if is_open else end


def _past(markup: str, mark: str, start: int) -> int:
    """Return the offset behind the next mark; the end of the markup if there is none."""
    found = markup.find(mark, start)
    return found + len(mark) if found >= 0 else len(markup)


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:  # the interpreter refuses numbers of thousands of digits; no code point has eight
        return html.unescape(re.sub(r"&#(?=\d{8})", "&amp;#", text))
