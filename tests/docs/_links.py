"""The links of Markdown texts: where they lead, and which lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

__all__ = ["anchors_of", "broken_links", "links_in"]

_CODE = re.compile(r"^```.*?^```[ \t]*$|(`+)(?!`).+?(?<!`)\1(?!`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(
    r"(?<!\\)\]\(<?(?P<inline>[^()\s<>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s+(?P<below>\S+)", re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def links_in(text: str) -> list[tuple[int, str]]:
    """Line and target of each link and picture; code has none."""
    plain = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    return [(plain.count("\n", 0, link.start()) + 1, link["inline"] or link["below"]) for link in _LINK.finditer(plain)]


@cache  # most links of a page lead to itself
def anchors_of(text: str) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    found: dict[str, int] = {}
    for heading in _HEADING.findall(re.sub(r"^```.*?^```[ \t]*$", "", text, flags=re.MULTILINE | re.DOTALL)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {
        anchor if number == 0 else f"{anchor}-{number}"
        for anchor, count in found.items()
        for number in range(count + 1)
    }


def broken_links(path: Path) -> Iterator[str]:
    """The links of a file that lead to no file, or to no heading of one."""
    for line, target in links_in(path.read_text(encoding="utf-8")):
        if _ELSEWHERE.match(target):
            continue
        name, _, anchor = unquote(target).partition("#")
        there = path.parent / name if name else path
        if not there.exists():
            yield f"{path.name}:{line}: {target}: there is no such file"
        elif anchor and anchor not in anchors_of(there.read_text(encoding="utf-8")):
            yield f"{path.name}:{line}: {target}: there is no such heading"
