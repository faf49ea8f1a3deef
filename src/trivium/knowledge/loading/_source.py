"""The base class of sources: files, blobs and pages, whose state is known without reading them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from trivium.exceptions import DocumentError
from trivium.schema import Document


class Source(ABC):
    """A source of documents: a file, a file of a git repository, or a web page.

    Its methods block, so driver-neutral code calls them by `invoke`. They may be called repeatedly. A file may change
    while it is read: to notice, compare `state()` before and after.

    Args:
        name: its name in citations and in the store; the same in each run.

    Example:
        >>> class Note(Source):
        ...     def state(self) -> str:
        ...         return "1"
        ...     def fingerprint(self) -> str:
        ...         return "0" * 64
        ...     def documents(self) -> Iterator[Document]:
        ...         yield Document(content="The rent is 950 EUR.")
        >>> [document.content for document in Note("note").documents()]
        ['The rent is 950 EUR.']
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @abstractmethod
    def state(self) -> str:
        """Return a cheap identifier of the content: equal states mean equal content.

        Raises:
            DocumentError: the source does not exist, or its state may not be read.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """Return the SHA-256 of its bytes in hexadecimal; they are read piece by piece.

        Raises:
            DocumentError: the source cannot be read.
        """

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """Iterate over its text: one document, or the parts of a long one in order, each read on demand.

        A text that is empty or blank has none. Plain text, CSV, TSV and JSON Lines come in parts of about 1 MiB, so
        that memory does not grow with the file. A part ends with a line; a longer line is cut. `metadata.first_offset`
        is the offset of a part in the complete text, in characters; a `Locator` of a part gives the lines of the file.

        Raises:
            DocumentError: the source cannot be read. The parts before are then not the complete text.
        """


class Skipped(NamedTuple):
    """A file or folder that was left out: its name and a short reason, and the error of one that cannot be read."""

    name: str
    reason: str
    error: DocumentError | None = None
