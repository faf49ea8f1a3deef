"""From what a user names to sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trivium.exceptions import ArgumentTypeError
from trivium.knowledge.loading._choice import Choice, oddity
from trivium.knowledge.loading._files import MAX_BYTES, FileSource
from trivium.knowledge.loading._folder import files_in
from trivium.knowledge.loading._git import GitSource, Repository
from trivium.knowledge.loading._patterns import parsed
from trivium.knowledge.loading._source import Skipped, Source
from trivium.knowledge.loading._web import WebSource

if TYPE_CHECKING:
    from trivium.actions.web import Fetcher

__all__ = ["find_sources"]

_WEB = ("http://", "https://")
_GIT = "git+"
_KINDS = {"120000": "it is a link", "160000": "it is a submodule"}


class _Order(NamedTuple):
    choice: Choice
    max_bytes: int
    fetcher: Fetcher | None
    on_skip: Callable[[Skipped], object]


def find_sources(
    *places: str | os.PathLike[str],
    include: Collection[str] = (),
    exclude: Collection[str] = (),
    max_bytes: int = MAX_BYTES,
    fetcher: Fetcher | None = None,
    on_skip: Callable[[Skipped], object] | None = None,
) -> Iterator[Source]:
    """The sources behind files, folders, git repositories and URLs, each found when it is asked for.

    A place is a file; a folder with all folders in it; a page or file of the web (`https://…`); or a git repository,
    as `git+` and a path or a URL, or as a URL that ends in `.git`, at `@REVISION` if that follows. No file is read.

    Args:
        places: paths and URLs.
        include: patterns as in `.gitignore` files, of which a file in a folder or repository must match one; none
            include all.
        exclude: patterns of files and folders to leave out.
        max_bytes: the most bytes taken of a file whose format is read whole (default 32 MiB); see `read_parts`.
        fetcher: what fetches URLs; see `WebSource`.
        on_skip: called with what is left out of a folder or repository though no pattern says so: what is hidden,
            binary by its suffix, or excluded by a `.gitignore` file, links, submodules, and what cannot be looked at.

    Raises:
        ConfigurationError: a git repository's URL or revision cannot be one.
        UnreadableDocumentError: a folder may not be read, or a git repository cannot be. That a file is not there, or a
            page cannot be got, its source tells when it is used.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for name in ("lease.md", "photo.png"):
        ...     _ = pathlib.Path(folder.name, name).write_text("# Lease")
        >>> left_out = list[Skipped]()
        >>> [pathlib.Path(source.name).name for source in find_sources(folder.name, on_skip=left_out.append)]
        ['lease.md']
        >>> left_out[0].reason
        'its suffix is that of a binary file'
        >>> folder.cleanup()
    """
    order = _Order(Choice(parsed(include), parsed(exclude)), max_bytes, fetcher, on_skip or _nothing)
    for place in places:
        if not isinstance(place, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance] - users pass anything
            raise ArgumentTypeError(f"{place!r} is no place: give a path or a URL as text", "places")
        yield from _at(os.fspath(place), order)


def _nothing(_: Skipped) -> None:
    return


def _at(place: str, order: _Order) -> Iterator[Source]:
    repository, revision = as_git(place)
    if repository:
        yield from _in_repository(Repository(repository, revision), order)
    elif place.lower().startswith(_WEB):
        yield WebSource(place, fetcher=order.fetcher, max_bytes=order.max_bytes)
    elif os.path.isdir(place):
        for path in files_in(Path(place), order.choice, order.on_skip):
            yield FileSource(path, max_bytes=order.max_bytes)
    else:
        yield FileSource(place, max_bytes=order.max_bytes)  # that it is missing is an error of this source alone


def as_git(place: str) -> tuple[str, str]:
    """The path or URL of a git repository, and the revision; "" if the place is none."""
    before, at, revision = place.rpartition("@")
    head = place.find("://") + 3
    has_revision = at and "/" in before[head:] if "://" in place else at
    address, revision = (before, revision) if has_revision else (place, "HEAD")
    is_url = address.lower().startswith((*_WEB, "file://"))
    if address.startswith(_GIT):
        return address.removeprefix(_GIT), revision
    return (address, revision) if is_url and address.rstrip("/").endswith(".git") else ("", "")


def _in_repository(repository: Repository, order: _Order) -> Iterator[Source]:
    for blob in repository.blobs():
        parts = tuple(blob.path.split("/"))
        if not order.choice.wants(parts):
            continue
        source = GitSource(repository, blob, max_bytes=order.max_bytes)
        oddities = (oddity(part, is_folder=True) for part in parts[:-1])
        reason = _KINDS.get(blob.mode) or next(filter(None, oddities), "") or oddity(parts[-1])
        if reason:
            order.on_skip(Skipped(source.name, reason))
        else:
            yield source
