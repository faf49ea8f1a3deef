"""A local file as a source."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from trivium.exceptions import UnreadableDocumentError
from trivium.knowledge.loading._source import Source
from trivium.parsing import ReadLimits, read_parts
from trivium.parsing.lowlevel import MAX_BYTES, escape_unprintable, opening_error
from trivium.schema import Document
from trivium.schema.lowlevel import checked


class FileSource(Source):
    """A local file.

    Args:
        path: its path, which is also its name.
        max_bytes: maximum size of a file whose format is not read in parts (default 32 MiB); see `read_parts`.
        encoding: that of a text without a byte order mark; see `read`.
        limits: what reading it may take; default `ReadLimits()`.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "lease.txt")
        >>> _ = path.write_text("The rent is 950 EUR.")
        >>> [document.content for document in FileSource(path).documents()]
        ['The rent is 950 EUR.']
        >>> folder.cleanup()
    """

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_BYTES,
        limits: ReadLimits | None = None,
        encoding: str = "",
    ) -> None:
        # A file name may hold bytes that are not text; a name is stored and displayed, so it must be text.
        super().__init__(os.fsencode(path).decode("utf-8", "replace"))
        self._path, self._max_bytes, self._limits, self._encoding = os.fspath(path), max_bytes, limits, encoding

    def state(self) -> str:
        """Return its size, the time of its last change and its inode."""
        try:
            found = os.stat(self._path)
        except (OSError, ValueError) as error:
            raise opening_error(error, self.name) from None
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            text = f"{escape_unprintable(self.name)}: this is no regular file, and may have no end; save it as one"
            raise UnreadableDocumentError(text, self.name)
        return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"

    def fingerprint(self) -> str:
        """Return the SHA-256 of its bytes in hexadecimal."""
        with self._open() as file:
            try:
                return hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise opening_error(error, self.name) from None

    def documents(self) -> Iterator[Document]:
        """Read its text, in parts if it is long."""
        with self._open() as file:
            limits, encoding = self._limits, self._encoding
            yield from read_parts(file, self.name, max_bytes=self._max_bytes, limits=limits, encoding=encoding)

    def _open(self) -> BufferedReader:
        try:
            return Path(self._path).open("rb")
        except (OSError, ValueError) as error:
            raise opening_error(error, self.name) from None
