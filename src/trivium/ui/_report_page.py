"""A page of tables that loads nothing: how reports are shown."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from trivium.events import safe_text

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8886; padding: .35rem .6rem; text-align: left; vertical-align: top; }
th, td { overflow-wrap: anywhere; }
thead th { white-space: nowrap; }
td { white-space: pre-wrap; }
.wide { overflow-x: auto; }
.wrong { font-weight: 600; }
.wrong::before { content: "✗ "; }
.right::before { content: "✓ "; }
"""


class Mark(NamedTuple):
    """A cell that is marked as right or wrong.

    Args:
        text: its text.
        is_right: whether it is right; None: neither.
    """

    text: str
    is_right: bool | None


class Section(NamedTuple):
    """A part of a page.

    Args:
        heading: its heading.
        text: a paragraph below it; "" for none.
        heads: the heads of the columns of its table.
        rows: the cells: values, which are shown as text, or marks.
    """

    heading: str
    text: str
    heads: Sequence[str]
    rows: Sequence[Sequence[object]]


def report_page(title: str, sections: Iterable[Section]) -> str:
    """Return a page of sections, in one file: it needs no network, and nothing of what it shows is run."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    body = "".join(map(_section, sections))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'\">"
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><main><h1>{_text(title)}</h1>{body}</main></body></html>\n"
    )


def _section(section: Section) -> str:
    heads = "".join(f'<th scope="col">{_text(each)}</th>' for each in section.heads)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in section.rows)
    text = f"<p>{_text(section.text)}</p>" if section.text else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<h2>{_text(section.heading)}</h2>{text}<div class="wide">{table}</div>'


def _cell(value: object) -> str:
    if not isinstance(value, Mark):
        return f"<td>{_text(value)}</td>"
    kind = {True: "right", False: "wrong", None: ""}[value.is_right]
    return f'<td class="{kind}">{_text(value.text)}</td>'


def _text(value: object) -> str:
    """Escape what a model wrote, and leave out what controls the display."""
    return html.escape(safe_text(str(value)))
