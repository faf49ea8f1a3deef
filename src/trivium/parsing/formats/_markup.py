"""HTML as a stream of tags and texts, in linear time however broken it is.

The parsers of the standard library, which Beautiful Soup uses, take quadratic time on comments never closed.
"""

from __future__ import annotations

import html
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from trivium.parsing.formats._lines import line_starts, with_line_mark

__all__ = ["Tag", "tokenize_html"]

_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"([^\s=\"'/>]+)(?:\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_REST_OF_TAG = re.compile(r"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+>")  # quotes count after `=` only
_OPEN_ENTITY = re.compile(r"&[^\s;<&]{0,32}\Z")
# Their content is text up to their own end tag, whatever it looks like.
_RAW = frozenset(["script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp"])


class Tag(NamedTuple):
    """A start tag or an end tag; the attributes are still text."""

    name: str
    is_end: bool
    rest: str

    @property
    def is_whole_svg(self) -> bool:
        """Return whether it closes itself, as in SVG; elements of HTML proper are not closed by a slash."""
        return self.name == "svg" and self.rest.endswith("/")

    def attributes(self) -> dict[str, str]:
        """Names in lower case and their values; the first of a name counts."""
        found: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(self.rest):
            found.setdefault(name.lower(), _unescaped(double or single or bare))
        return found


def tokenize_html(markup: str, lines: Iterable[tuple[int, int]] | None = None) -> Iterator[Tag | str]:
    """Tags, and the texts between them with entities decoded; comments and declarations are left out.

    Args:
        markup: a page or a fragment. What is never closed goes on to the end, as in browsers.
        lines: pairs of an offset and the line there, as `line_starts` takes them; the texts are then marked.

    >>> [token if isinstance(token, str) else token.name for token in tokenize_html("a &lt; b<br>c<!-- d -->")]
    ['a < b', 'br', 'c']
    """
    decoded = _decoder(markup, lines)
    position = 0
    quotes_close = True
    while position < len(markup):
        opening = markup.find("<", position)
        if opening != position:
            yield decoded(position, opening if opening >= 0 else len(markup))
        if opening < 0:
            return
        name = _NAME.match(markup, opening)
        if name is None:
            position = _after_declaration(markup, opening)
            if position == opening + 1:
                yield decoded(opening, position)
            continue
        end, quotes_close = _end_of_tag(markup, name.end(), quotes_close)
        tag = Tag(name[1].lower(), markup[opening + 1] == "/", markup[name.end() : end].strip())
        yield tag
        position = end + 1
        if tag.name in _RAW and not tag.is_end:
            closing = _end_of_raw(markup, tag.name, position)
            yield decoded(position, closing) if tag.name in {"title", "textarea"} else markup[position:closing]
            position = closing


def _decoder(markup: str, lines: Iterable[tuple[int, int]] | None) -> Callable[[int, int], str]:
    """What gives the text between two offsets, with its entities decoded, and marked if there are lines."""
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
    """Where a piece ends that is to end there: before an entity that goes on behind, as in mail that wraps lines."""
    is_open = _OPEN_ENTITY.search(markup, max(start, end - 33), end)
    return is_open.start() if is_open else end


def _after_declaration(markup: str, opening: int) -> int:
    """Past a comment, a declaration or a processing instruction; past the `<` alone where there is none."""
    if markup.startswith("<!--", opening):
        return _past(markup, "-->", opening + 2)  # `<!-->` is a whole comment
    if markup.startswith(("<!", "<?", "</"), opening):
        return _past(markup, ">", opening + 1)
    return opening + 1


def _past(markup: str, mark: str, start: int) -> int:
    found = markup.find(mark, start)
    return found + len(mark) if found >= 0 else len(markup)


def _end_of_tag(markup: str, start: int, quotes_close: bool) -> tuple[int, bool]:
    """Where the tag's `>` is. Once quotes hid all of them, none is believed: to search again is quadratic."""
    if quotes_close:
        whole = _REST_OF_TAG.match(markup, start)
        if whole is not None:
            return whole.end() - 1, True
    found = markup.find(">", start)
    return (found if found >= 0 else len(markup)), False


def _end_of_raw(markup: str, name: str, start: int) -> int:
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(markup, start)
    return found.start() if found else len(markup)


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:  # the interpreter refuses numbers of thousands of digits; no character has eight
        return html.unescape(re.sub(r"&#(?=\d{8})", "&amp;#", text))
