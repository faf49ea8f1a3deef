"""Markdown, which may begin with what is known of it: front matter."""

from __future__ import annotations

import re

from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, Parsed

__all__ = ["parse_markdown"]

_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?\n)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\']|\'\')*)\'')
_COMMENT = re.compile(r"(?:^|\s)#")
_NO_TEXT = tuple("|>&*![{")  # signs with which YAML begins something else than a text on this line


def parse_markdown(original: Original) -> Parsed:
    """The text as it stands, and the `title` and `date` of its front matter, in YAML or TOML."""
    text = tidy(decode(original.data, original.charset))
    front = _FRONT.match(text)
    lines = front[2] if front else ""
    return Parsed(text, _value(lines, "title"), published=iso_date(_value(lines, "date")))


def _value(lines: str, name: str) -> str | None:
    """What a line of front matter says of this name.

    >>> _value("title: Garden guide  # a draft\\n", "title"), _value('title = "The \\\\"best\\\\" guide"\\n', "title")
    ('Garden guide', 'The "best" guide')
    """
    found = re.search(rf"^{name}[ \t]*[:=](.*)$", lines, re.MULTILINE | re.IGNORECASE)
    said = found[1].strip() if found else ""
    quoted = _QUOTED.match(said)
    if quoted is not None:
        said = quoted[2].replace("''", "'") if quoted[1] is None else re.sub(r"\\(.)", r"\1", quoted[1])
    elif said.startswith(_NO_TEXT):
        return None
    else:
        said = _COMMENT.split(said, maxsplit=1)[0]
    return said.strip() or None
