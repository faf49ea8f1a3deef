"""Markdown, with or without front matter."""

from __future__ import annotations

import re

from trivium.parsing.formats._dates import iso_date
from trivium.parsing.formats._decoding import decode, tidy
from trivium.parsing.formats._formats import Original, Parsed

_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?\n)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\']|\'\')*)\'')
_COMMENT = re.compile(r"(?:^|\s)#")
_NO_TEXT = tuple("|>&*![{")  # in YAML, these begin a value that is not a text on this line


def parse_markdown(original: Original) -> Parsed:
    """Return the unchanged text, and `title` and `date` of its front matter, in YAML or TOML."""
    text = tidy(decode(original.data, original.charset))
    front = _FRONT.match(text)
    lines = front[2] if front else ""
    return Parsed(text, _value(lines, "title"), published=iso_date(_value(lines, "date")))


def _value(lines: str, name: str) -> str | None:
    """Return the value of a name in front matter; None if it is missing, empty or not a text.

    >>> _value("title: Garden guide  # a draft\\n", "title"), _value('title = "The \\\\"best\\\\" guide"\\n', "title")
    ('Garden guide', 'The "best" guide')
    """
    found = re.search(rf"^{name}[ \t]*[:=](.*)$", lines, re.MULTILINE | re.IGNORECASE)
    value = found[1].strip() if found else ""
    quoted = _QUOTED.match(value)
    if quoted is not None:
        value = quoted[2].replace("''", "'") if quoted[1] is None else re.sub(r"\\(.)", r"\1", quoted[1])
    elif value.startswith(_NO_TEXT):
        return None
    else:
        value = _COMMENT.split(value, maxsplit=1)[0]
    return value.strip() or None
