"""What a source is: one file, blob or page, whose state is told without reading it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from trivium.schema import Document

__all__ = ["Skipped", "Source"]


class Source(ABC):
    """Something that documents are read from: a file, a file of a git repository, a page of the web.

    Its methods block: core code calls them by `invoke`. Each may be called again. A file may change while it is read:
    who must know asks `state()` before and after.

    Args:
        name: what it is called in citations and in the store; the same at each run.

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
        """What tells whether it is unchanged, at the cost of a look: two equal states are the same content.

        Raises:
            DocumentError: it is not there, or may not be looked at.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """The SHA-256 of its bytes, in hexadecimal; they are read piece by piece.

        Raises:
            DocumentError: it cannot be read.
        """

    @abstractmethod
    def documents(self) -> Iterator[Document]:
        """Its text: one document, or the parts of a long one in order, each read when it is asked for.

        Plain text, CSV, TSV and JSON Lines come in parts of about 1 MiB, so that memory does not grow with the file.
        A part ends at the end of a line; a longer line is cut. `metadata.first_offset` is where a part begins in the
        whole text, in characters; lines go on by themselves, as a `Locator` of a part counts them in the file.

        Raises:
            DocumentError: it cannot be read. What was given out before is then not the whole text.
        """


class Skipped(NamedTuple):
    """What was found and left out: its name, and why in a few words."""

    name: str
    reason: str
