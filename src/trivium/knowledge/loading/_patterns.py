"""Patterns of paths as in `.gitignore` files, matched in linear time for any pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

_TRAILING_BLANKS = re.compile(r"(?<!\\) +$")
_TOKEN = re.compile(r"(\*+)|(\[[!^]?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\])|\\(.)|(.)", re.S)
_IN_BRACKET = re.compile(r"\[:(\w+):\]|(\\?.)(?:-(\\?.))?", re.S)
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "space": r"\s", "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}  # fmt: skip


class Pattern(NamedTuple):
    """One line of a `.gitignore` file.

    Args:
        folder: parts of the path of the folder in which the pattern holds, from the root.
        parts: patterns of the parts of a path below that folder; None matches any number of parts.
        is_negated: a path that matches is included again.
        of_folders: it matches folders only.
    """

    folder: tuple[str, ...]
    parts: tuple[re.Pattern[str] | None, ...]
    is_negated: bool
    of_folders: bool

    def matches(self, path: Sequence[str], is_folder: bool) -> bool:
        """Match this path itself, given by its parts from the root."""
        below = path[len(self.folder) :]
        is_here = tuple(path[: len(self.folder)]) == self.folder and len(below) > 0
        return is_here and (is_folder or not self.of_folders) and _match(self.parts, below)


def parse_patterns(lines: Iterable[str], folder: Sequence[str] = ()) -> tuple[Pattern, ...]:
    """Parse the patterns in the lines of a file in a folder.

    >>> [pattern.matches(["src", "a.pyc"], False) for pattern in parse_patterns(["*.pyc", "/a.pyc", "src/*c", "# *"])]
    [True, False, True]
    """
    patterns: list[Pattern] = []
    for line in lines:
        text = _TRAILING_BLANKS.sub("", line.rstrip("\r\n"))
        if text.startswith("#"):
            continue
        is_negated, text = text.startswith("!"), text.removeprefix("!")
        of_folders, text = text.endswith("/"), text.removesuffix("/")
        if not text:
            continue
        is_anchored = "/" in text
        parts = [None if part == "**" else _part(part) for part in text.removeprefix("/").split("/")]
        if parts[-1] is None and len(parts) > 1:
            parts.append(re.compile("(?s:.+)"))  # the content of the folder, but not the folder itself
        patterns.append(Pattern(tuple(folder), tuple(parts if is_anchored else [None, *parts]), is_negated, of_folders))
    return tuple(patterns)


def excludes(patterns: Iterable[Pattern], path: Sequence[str], is_folder: bool) -> bool:
    """Tell that a path is excluded, if its folder is not: the last matching pattern decides."""
    matching = (pattern for pattern in patterns if pattern.matches(path, is_folder))
    return reduce(lambda _, pattern: not pattern.is_negated, matching, False)


def covers(patterns: Sequence[Pattern], path: Sequence[str], is_folder: bool = False) -> bool:
    """Tell that a path or a folder above it is excluded.

    >>> path = ["docs", "deep", "a.md"]
    >>> covers(parse_patterns(["docs"]), path), covers(parse_patterns(["docs/*.md"]), path)
    (True, False)
    """
    above = (path[:length] for length in range(1, len(path)))
    return any(excludes(patterns, part, True) for part in above) or excludes(patterns, path, is_folder)


def _part(glob: str) -> re.Pattern[str]:
    """Compile a part of a pattern; text between stars matches at its first place, so that nothing is tried twice."""
    pieces = [""]
    for stars, bracket, escaped, one in _TOKEN.findall(glob):
        if stars:
            pieces.append("")
        elif bracket:
            pieces[-1] += character_set(bracket[1:-1])
        elif escaped:
            pieces[-1] += re.escape(escaped)
        else:  # a bracket without end and a backslash at the end match nothing
            pieces[-1] += "." if one == "?" else "(?!)" if one in "[\\" else re.escape(one)
    first, *middle, last = pieces if len(pieces) > 1 else [*pieces, ""]
    between = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return re.compile(f"(?s:{first}{between}{'.*' if len(pieces) > 1 else ''}{last})")


def character_set(text: str) -> str:
    """Translate the inside of brackets to a regular expression."""
    is_negated = text[:1] in ("!", "^")
    found: list[str] = []
    for name, first, last in _IN_BRACKET.findall(text[is_negated:]):
        low, high = first.removeprefix("\\") or first, last.removeprefix("\\") or last
        if name:
            found.append(_CLASSES.get(name, ""))
        elif not last or low > high:  # git takes the first of a range for itself too, also where the range is empty
            found.append(re.escape(low))
        else:
            found.append(f"{re.escape(low)}-{re.escape(high)}")
    inside = "".join(found)
    return f"[{'^' if is_negated else ''}{inside}]" if inside else "." if is_negated else "(?!)"


def _match(parts: Sequence[re.Pattern[str] | None], path: Sequence[str]) -> bool:
    """Match the parts of a pattern to a path; of several `**` only the last needs backtracking."""
    at, place, star, resumed = 0, 0, -1, 0
    while place < len(path):
        part = parts[at] if at < len(parts) else None
        if at < len(parts) and part is None:
            star, resumed = at, place
            at += 1
        elif part is not None and part.fullmatch(path[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            resumed += 1
            at, place = star + 1, resumed
        else:
            return False
    return all(part is None for part in parts[at:])
