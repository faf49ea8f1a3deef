"""Sources at the places that a user names."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from trivium.exceptions import ArgumentTypeError
from trivium.knowledge.loading._choice import FileChoice, oddity
from trivium.knowledge.loading._files import FileSource
from trivium.knowledge.loading._folder import files_in
from trivium.knowledge.loading._git import GitSource, Repository
from trivium.knowledge.loading._source import Skipped, Source
from trivium.knowledge.loading._web import WebSource
from trivium.parsing import ReadLimits
from trivium.parsing.lowlevel import MAX_BYTES
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from trivium.actions.web import Fetcher

_WEB = ("http://", "https://")
_GIT = "git+"
_KINDS = {"120000": "it is a link", "160000": "it is a submodule"}


class _Reading(TypedDict):
    max_bytes: int
    limits: ReadLimits | None
    encoding: str


class _Order(NamedTuple):
    choice: FileChoice
    reading: _Reading
    fetcher: Fetcher | None
    on_skip: Callable[[Skipped], object]


@checked
def find_sources(
    *places: str | os.PathLike[str],
    include: Collection[str] = (),
    exclude: Collection[str] = (),
    max_bytes: int = MAX_BYTES,
    limits: ReadLimits | None = None,
    encoding: str = "",
    fetcher: Fetcher | None = None,
    on_skip: Callable[[Skipped], object] | None = None,
) -> Iterator[Source]:
    """Iterate over the sources in files, folders, git repositories and URLs. No file is read.

    A place is a file; a folder with all its folders; a web page or file (`https://…`); or a git repository, as `git+`
    and a path or a URL, or as a URL that ends in `.git`, with an optional `@REVISION`.

    Args:
        places: paths and URLs.
        include: patterns as in `.gitignore` files; a file in a folder or repository must match one of them. Default:
            all files.
        exclude: patterns of files and folders to leave out.
        max_bytes: maximum size of a file whose format is not read in parts (default 32 MiB); see `read_parts`.
        limits: what reading one document may take; default `ReadLimits()`.
        encoding: that of texts without a byte order mark, such as "cp1250"; see `read`.
        fetcher: downloads URLs; see `WebSource`.
        on_skip: called for each file or folder that no pattern excludes and that is left out: hidden, binary by its
            suffix, an image (in a repository, or without tesseract), excluded by a `.gitignore` file, a link, a
            submodule, or not accessible.

    Raises:
        ConfigurationError: the URL or the revision of a git repository is not valid.
        UnreadableDocumentError: a folder or a git repository cannot be read. A missing file and a failed download are
            errors of their source when it is used.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for name in ("lease.md", "music.mp3"):
        ...     _ = pathlib.Path(folder.name, name).write_text("# Lease")
        >>> left_out = list[Skipped]()
        >>> [pathlib.Path(source.name).name for source in find_sources(folder.name, on_skip=left_out.append)]
        ['lease.md']
        >>> left_out[0].reason
        'its suffix is that of a binary file'
        >>> folder.cleanup()
    """
    reading: _Reading = {"max_bytes": max_bytes, "limits": limits, "encoding": encoding}
    order = _Order(FileChoice.of(include, exclude), reading, fetcher, on_skip or _nothing)
    for place in places:
        if not isinstance(place, str | os.PathLike) or not os.fspath(place):  # pyright: ignore[reportUnnecessaryIsInstance] - users pass anything
            raise ArgumentTypeError(f"{place!r} is not a place: give a path or a URL as text", "places")
        yield from _at(os.fspath(place), order)


def _nothing(_: Skipped) -> None:
    return


def _at(place: str, order: _Order) -> Iterator[Source]:
    repository, revision = as_git(place)
    if repository:
        yield from repository_sources(Repository(repository, revision), order)
    elif place.lower().startswith(_WEB):
        yield WebSource(place, fetcher=order.fetcher, **order.reading)
    elif os.path.isdir(place):
        for path in files_in(Path(place), order.choice, order.on_skip):
            yield FileSource(path, **order.reading)
    else:
        yield FileSource(place, **order.reading)  # a missing file is an error of its source


def as_git(place: str) -> tuple[str, str]:
    """Return the path or URL of a git repository and the revision; ("", "") for any other place."""
    before, at, revision = place.rpartition("@")
    head = place.find("://") + 3
    has_revision = at and "/" in before[head:] if "://" in place else at
    address, revision = (before, revision) if has_revision else (place, "HEAD")
    is_url = address.lower().startswith((*_WEB, "file://"))
    if address.startswith(_GIT):
        return address.removeprefix(_GIT), revision
    return (address, revision) if is_url and address.rstrip("/").endswith(".git") else ("", "")


def repository_sources(repository: Repository, order: _Order) -> Iterator[Source]:
    """Iterate over the chosen files of a git repository."""
    for blob in repository.blobs():
        parts = tuple(blob.path.split("/"))
        if not order.choice.wants(parts):
            continue
        source = GitSource(repository, blob, **order.reading)
        oddities = (oddity(part, is_folder=True) for part in parts[:-1])
        reason = _KINDS.get(blob.mode) or next(filter(None, oddities), "") or oddity(parts[-1])
        if reason:
            order.on_skip(Skipped(source.name, reason))
        else:
            yield source
