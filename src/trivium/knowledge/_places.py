"""The places of an ingest: their names, and the sources below them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from trivium.knowledge.loading import Source
from trivium.knowledge.loading._find import as_git
from trivium.knowledge.loading._git import repository_name

Place: TypeAlias = "str | os.PathLike[str] | Source"


def place_name(place: Place) -> str:
    """Return the name of a place as text."""
    return place.name if isinstance(place, Source) else os.fsencode(place).decode("utf-8", "replace")


def below_any(places: Iterable[Place]) -> Callable[[str], bool]:
    """Return a test of absolute source names: True for the places themselves and for all below one."""
    paths, starts, ends = set[str](), set[str](), re.compile(rf"[:{re.escape(os.sep)}]")
    for place in places:
        repository, revision = ("", "") if isinstance(place, Source) else as_git(place_name(place))
        if repository:
            starts.add(absolute_name(f"{repository_name(repository, revision)}:"))
        else:
            path = absolute_name(place_name(place))
            paths.add(path)
            starts.add(path.rstrip(os.sep) + os.sep)
    return lambda name: name in paths or any(name[: end.end()] in starts for end in ends.finditer(name))


def absolute_name(name: str) -> str:
    """Return the absolute path of a file name; a URL stays as it is."""
    return name if "://" in name else os.path.abspath(name)
