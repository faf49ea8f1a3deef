"""The chunker that fits a document, and the chunks of documents that come in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from trivium.parsing._chunk import Chunk, ChunkMetaData
from trivium.parsing.chunks._blocks import Count
from trivium.parsing.chunks._code import chunk_code
from trivium.parsing.chunks._markdown import chunk_markdown
from trivium.parsing.chunks._rows import chunk_rows
from trivium.parsing.chunks._text import chunk_text
from trivium.parsing.formats._formats import suffix_of
from trivium.parsing.formats._media_types import CSV, JSON_LINES, MARKDOWN, PLAIN, TSV, XLSX, is_code, text_type
from trivium.schema import Document

__all__ = ["Chunker", "chunk", "chunk_parts"]

Chunker: TypeAlias = Callable[[Document], Iterable[Chunk]]
"""Cuts a document into chunks, in order; each is a slice of its text."""

_ROWS = frozenset([CSV, TSV, JSON_LINES, XLSX])


def chunk(
    document: Document, *, size: int = 1200, overlap: int = 0, count: Count = len, chunker: Chunker | None = None
) -> Iterator[Chunk]:
    """The chunks of a document, by the chunker that fits its media type, else the suffix of its source.

    Each is a slice of the text and knows where it stands, so that it can be cited. No letter is lost: what is in no
    chunk is white space. A document that is a chunk already stays as it is.

    Args:
        document: the text.
        size: what a chunk holds at most (default 1200).
        overlap: how much of it may repeat the end of the chunk before (default 0).
        count: the unit of both; by default characters. A tokenizer's function makes it tokens, about.
        chunker: cuts in place of all this.

    Raises:
        ConfigurationError: the size is below 1, or the overlap is not smaller.

    >>> [each.content for each in chunk(Document(content="One two three. Four five six."), size=20)]
    ['One two three.', 'Four five six.']
    """
    if chunker is not None:
        yield from chunker(document)
    elif document.metadata.is_chunk:
        yield _as_chunk(document)
    else:
        yield from _chunker_for(document)(document, size=size, overlap=overlap, count=count)


def chunk_parts(
    documents: Iterable[Document], *, fingerprint: str = "", size: int = 1200, chunker: Chunker | None = None
) -> Iterator[Chunk]:
    """The chunks of one source that is read in parts, numbered through; no more than one part is held.

    Args:
        documents: its parts, in order.
        fingerprint: which state of the source they are.
        size: what a chunk holds at most, in characters (default 1200).
        chunker: cuts each part; by default the one that fits.

    >>> parts = [Document(content="One.\\n"), Document(content="Two.\\n")]
    >>> [(each.content, each.metadata.position) for each in chunk_parts(parts)]
    [('One.', 0), ('Two.', 1)]
    """
    position = 0
    for document in documents:
        for each in chunk(document, size=size, chunker=chunker):
            place = {"source": document.metadata.source, "position": position, "fingerprint": fingerprint}
            metadata = each.metadata.model_copy(update=place)
            yield Chunk(content=each.content, metadata=metadata).identified()
            position += 1


def _chunker_for(document: Document) -> Callable[..., Iterator[Chunk]]:
    kind = document.metadata.media_type
    if kind == PLAIN:
        kind = text_type(suffix_of(document.metadata.source)) or PLAIN
    if kind == MARKDOWN:
        return chunk_markdown
    if kind in _ROWS:
        return chunk_rows
    return chunk_code if is_code(kind) else chunk_text


def _as_chunk(document: Document) -> Chunk:
    if isinstance(document, Chunk):
        return document
    return Chunk(content=document.content, metadata=ChunkMetaData(**document.metadata.model_dump()))
