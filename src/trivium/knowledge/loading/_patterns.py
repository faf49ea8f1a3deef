"""Patterns of paths, as `.gitignore` files have them, matched in linear time whatever they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

__all__ = ["Pattern", "covers", "excludes", "parsed"]

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
        folder: the parts of the path of the folder in which it counts, from the root on.
        parts: what the parts of a path below that match; None is any number of them.
        is_negated: what it matches is not excluded after all.
        of_folders: it matches folders only.
    """

    folder: tuple[str, ...]
    parts: tuple[re.Pattern[str] | None, ...]
    is_negated: bool
    of_folders: bool

    def matches(self, path: Sequence[str], is_folder: bool) -> bool:
        """Whether it matches this very path, given by its parts from the root on."""
        below = path[len(self.folder) :]
        is_here = tuple(path[: len(self.folder)]) == self.folder and len(below) > 0
        return is_here and (is_folder or not self.of_folders) and _match(self.parts, below)


def parsed(lines: Iterable[str], folder: Sequence[str] = ()) -> tuple[Pattern, ...]:
    """The patterns in the lines of a file that stands in a folder.

    >>> [pattern.matches(["src", "a.pyc"], False) for pattern in parsed(["*.pyc", "/a.pyc", "src/*c", "# *"])]
    [True, False, True]
    """
    found = (_pattern(line.rstrip("\r\n"), tuple(folder)) for line in lines)
    return tuple(pattern for pattern in found if pattern is not None)


def excludes(patterns: Iterable[Pattern], path: Sequence[str], is_folder: bool) -> bool:
    """Whether a path is excluded, in a folder that is not: the last pattern that matches decides."""
    matching = (pattern for pattern in patterns if pattern.matches(path, is_folder))
    return reduce(lambda _, pattern: not pattern.is_negated, matching, False)


def covers(patterns: Sequence[Pattern], path: Sequence[str], is_folder: bool = False) -> bool:
    """Whether a path is excluded itself, or a folder above it is.

    >>> covers(parsed(["docs"]), ["docs", "deep", "a.md"]), covers(parsed(["docs/*.md"]), ["docs", "deep", "a.md"])
    (True, False)
    """
    above = (path[:length] for length in range(1, len(path)))
    return any(excludes(patterns, part, True) for part in above) or excludes(patterns, path, is_folder)


def _pattern(line: str, folder: tuple[str, ...]) -> Pattern | None:
    text = _TRAILING_BLANKS.sub("", line)
    if not text or text.startswith("#"):
        return None
    is_negated = text.startswith("!")
    text = text.removeprefix("!")
    of_folders = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        return None
    is_anchored = "/" in text
    parts = [None if part == "**" else _part(part) for part in text.removeprefix("/").split("/")]
    if parts[-1] is None and len(parts) > 1:
        parts.append(re.compile("(?s:.+)"))  # all that is within, but not the folder itself
    return Pattern(folder, tuple(parts if is_anchored else [None, *parts]), is_negated, of_folders)


def _part(glob: str) -> re.Pattern[str]:
    """A part of a pattern; what stands between two stars is taken where it comes first, so nothing is tried twice."""
    pieces = [""]
    for stars, bracket, escaped, one in _TOKEN.findall(glob):
        if stars:
            pieces.append("")
        elif bracket:
            pieces[-1] += _bracket(bracket[1:-1])
        elif escaped:
            pieces[-1] += re.escape(escaped)
        else:  # a bracket that is never closed and a backslash at the end match nothing
            pieces[-1] += "." if one == "?" else "(?!)" if one in "[\\" else re.escape(one)
    first, *middle, last = pieces if len(pieces) > 1 else [*pieces, ""]
    between = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return re.compile(f"(?s:{first}{between}{'.*' if len(pieces) > 1 else ''}{last})")


def _bracket(text: str) -> str:
    """A set of letters as a regular expression."""
    is_negated = text[:1] in ("!", "^")
    found: list[str] = []
    for name, first, last in _IN_BRACKET.findall(text[is_negated:]):
        low, high = first.removeprefix("\\") or first, last.removeprefix("\\") or last
        if name:
            found.append(_CLASSES.get(name, ""))
        elif not last:
            found.append(re.escape(low))
        elif low <= high:
            found.append(f"{re.escape(low)}-{re.escape(high)}")
    inside = "".join(found)
    return f"[{'^' if is_negated else ''}{inside}]" if inside else "." if is_negated else "(?!)"


def _match(parts: Sequence[re.Pattern[str] | None], path: Sequence[str]) -> bool:
    """Whether the parts fit the path; of several `**` only the last needs another try."""
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
