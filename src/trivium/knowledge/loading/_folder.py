"""The files of a folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from trivium.knowledge.loading._choice import FileChoice, oddity
from trivium.knowledge.loading._patterns import Pattern, covers, excludes, parse_patterns
from trivium.knowledge.loading._source import Skipped
from trivium.parsing.lowlevel import opening_error

IGNORED = "a .gitignore file excludes it"
_RULES = ".gitignore"
_LONGEST_RULES = 1 << 20  # bytes


def files_in(folder: Path, choice: FileChoice, on_skip: Callable[[Skipped], object]) -> Iterator[Path]:
    """Iterate over the files of a folder, then over those of its folders, sorted by name.

    Args:
        folder: the folder.
        choice: the choice of files.
        on_skip: called for each chosen file or folder that is left out: hidden, binary by its name, an image without
            OCR, excluded by a `.gitignore` file, not a regular file, not accessible, or a link out of the folder.

    Raises:
        DocumentNotFoundError: there is no such folder.
        UnreadableDocumentError: it may not be read.
    """
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise opening_error(error, str(folder)) from None
    walk = _Walk(folder, choice, on_skip)
    waiting = [((), walk.rules_above())]
    while waiting:
        yield from walk.look(*waiting.pop(), waiting)


class _Walk:
    """A walk through a folder, in which paths are tuples of their parts."""

    def __init__(self, folder: Path, choice: FileChoice, on_skip: Callable[[Skipped], object]) -> None:
        self._folder, self._choice, self._on_skip = folder, choice, on_skip
        self._root = os.path.realpath(folder)
        self._above: tuple[str, ...] = ()

    def rules_above(self) -> tuple[Pattern, ...]:
        """Return the rules of the folders above, up to the root of the git repository."""
        root = Path(self._root)
        tops = [top for top in root.parents if (top / ".git").exists()] if not (root / ".git").exists() else []
        if not tops:
            return ()
        self._above = root.relative_to(tops[0]).parts
        found: tuple[Pattern, ...] = ()
        for length in range(len(self._above)):
            found += _rules_in(tops[0].joinpath(*self._above[:length]), self._above[:length])
        return found

    def look(
        self,
        parts: tuple[str, ...],
        rules: tuple[Pattern, ...],
        waiting: list[tuple[tuple[str, ...], tuple[Pattern, ...]]],
    ) -> Iterator[Path]:
        """Iterate over the files of one folder; its folders are put in front of those that are waiting."""
        place = self._folder.joinpath(*parts)
        try:
            with os.scandir(place) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            self._skip(place, error)
            return
        rules += _rules_in(place, (*self._above, *parts))
        folders: list[tuple[str, ...]] = []
        for entry in entries:
            path = (*parts, entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if covers(self._choice.exclude, path, is_folder) or not (is_folder or self._choice.wants(path)):
                continue
            if problem := self.reason_to_skip(entry, path, rules):
                self._skip(place / entry.name, problem)
            elif is_folder:
                folders.append(path)
            else:
                yield place / entry.name
        waiting += [(path, rules) for path in reversed(folders)]

    def reason_to_skip(
        self, entry: os.DirEntry[str], path: tuple[str, ...], rules: tuple[Pattern, ...]
    ) -> str | OSError:
        """Return the reason to leave out a file or folder that is chosen; "" if there is none."""
        is_folder = entry.is_dir(follow_symlinks=False)
        if problem := oddity(entry.name, is_folder, reads_images=True):
            return problem
        if excludes(rules, (*self._above, *path), is_folder):
            return IGNORED
        if entry.is_symlink():
            target = os.path.realpath(entry.path)
            if os.path.commonpath([target, self._root]) != self._root:
                return "it is a link that leaves the folder"
            if os.path.isdir(target):
                return "it is a link to a folder"
        try:
            return "" if is_folder or entry.is_file() else "it is not a regular file"
        except OSError as error:
            return error if error.errno != errno.ELOOP else os.strerror(errno.ELOOP)  # a link to itself is no file

    def _skip(self, path: Path, reason: str | OSError) -> None:
        name = os.fsencode(path).decode("utf-8", "replace")
        if isinstance(reason, OSError):
            error = opening_error(reason, str(path))
            self._on_skip(Skipped(name, reason.strerror or type(reason).__name__, error))
        else:
            self._on_skip(Skipped(name, reason))


def _rules_in(place: Path, parts: tuple[str, ...]) -> tuple[Pattern, ...]:
    path = place / _RULES
    try:
        if path.is_symlink() or not path.is_file():
            return ()
        with path.open("rb") as file:
            text = file.read(_LONGEST_RULES).decode("utf-8", "surrogateescape")
    except OSError:
        return ()
    return parse_patterns(text.removeprefix("\ufeff").split("\n"), parts)
