"""What goes wrong with stores of documents, and with finding something in them."""

from __future__ import annotations

from trivium.exceptions._root import TriviumError


class KnowledgeError(TriviumError):
    """Documents could not be kept, or nothing could be looked up in them."""


class EmbeddingMismatchError(KnowledgeError, ValueError):
    """Vectors of one embedding model met a collection that was made with those of another.

    `collection` is its name; `expected` is the model it was made with, `found` the other one: name and dimensions.
    """

    def __init__(
        self, message: str, collection: str = "", expected: tuple[str, int] = ("", 0), found: tuple[str, int] = ("", 0)
    ) -> None:
        super().__init__(message)
        self.collection, self.expected, self.found = collection, expected, found


class FilterError(KnowledgeError, ValueError):
    """A condition on metadata cannot be read. `path` says where in it, as "$or[1].page"."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class StoreError(KnowledgeError):
    """A vector store cannot be used. `store` is its place: a file, a folder or a URL without its password."""

    def __init__(self, message: str, store: str = "") -> None:
        super().__init__(message)
        self.store = store


class CollectionNotFoundError(StoreError, KeyError):
    """There is no collection of that name. `collection` is the name."""

    def __init__(self, message: str, store: str = "", collection: str = "") -> None:
        super().__init__(message, store)
        self.collection = collection


class IncompleteSourceError(StoreError):
    """A source cannot be shown, for not all of its chunks are there. `staged` are, `expected` should be."""

    def __init__(self, message: str, store: str = "", source: str = "", staged: int = 0, expected: int = 0) -> None:
        super().__init__(message, store)
        self.source, self.staged, self.expected = source, staged, expected


class StoreBusyError(StoreError, TimeoutError):
    """Others wrote to it for longer than is waited."""


class StoreConnectionError(StoreError, ConnectionError):
    """Its server cannot be reached, or went away."""


class StoreDamagedError(StoreError):
    """Its files are damaged, or no store."""


class StoreFullError(StoreError):
    """It cannot take more: the disk is full, or a quota is used up."""


class StoreVersionError(StoreError):
    """A newer version of trivium made it. `version` is that of its format."""

    def __init__(self, message: str, store: str = "", version: int = 0) -> None:
        super().__init__(message, store)
        self.version = version
