"""The chunker that fits a document, and the chunks of a document that is read in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TypeAlias

from trivium.parsing._chunk import Chunk, ChunkMetaData
from trivium.parsing._mail import MailDocument
from trivium.parsing.chunks._blocks import Count
from trivium.parsing.chunks._code import chunk_code
from trivium.parsing.chunks._markdown import chunk_markdown
from trivium.parsing.chunks._rows import chunk_rows
from trivium.parsing.chunks._text import chunk_text
from trivium.parsing.formats._formats import suffix_of
from trivium.parsing.formats._media_types import CSV, JSON_LINES, MARKDOWN, PLAIN, TSV, XLSX, is_code, text_type
from trivium.schema import Document

Chunker: TypeAlias = Callable[[Document], Iterable[Chunk]]
"""A function of a document to its chunks, in order; each is a slice of the text."""

_ROWS = frozenset([CSV, TSV, JSON_LINES, XLSX])


def chunk(
    document: Document, *, size: int = 1200, overlap: int = 0, count: Count = len, chunker: Chunker | None = None
) -> Iterator[Chunk]:
    """Return the chunks of a document, by the chunker that fits its media type, else the suffix of its source.

    Each is a slice of the text and knows its place, so that it can be cited. Only whitespace is in no chunk. A document
    that is a chunk already stays as it is. Of an e-mail, it and each attached file are chunked as a document.

    Args:
        document: the text.
        size: maximum size of a chunk (default 1200).
        overlap: maximum size of its part that repeats the end of the chunk before (default 0).
        count: measures both; default: characters. A tokenizer's function measures about in tokens.
        chunker: a chunker to use instead.

    Raises:
        ConfigurationError: the size is below 1, or the overlap is not smaller.

    >>> [each.content for each in chunk(Document(content="One two three. Four five six."), size=20)]
    ['One two three.', 'Four five six.']
    """
    if isinstance(document, MailDocument):
        each_part = partial(chunk, size=size, overlap=overlap, count=count, chunker=chunker)
        for position, each in enumerate(chain.from_iterable(map(each_part, document.parts()))):
            each.metadata.position = position
            yield each.identified()
    elif chunker is not None:
        yield from chunker(document)
    elif isinstance(document, Chunk) and document.metadata.is_chunk:
        yield document
    elif document.metadata.is_chunk:
        yield Chunk(content=document.content, metadata=ChunkMetaData(**document.metadata.model_dump()))
    else:
        yield from chunker_for(document)(document, size=size, overlap=overlap, count=count)


def chunk_parts(
    documents: Iterable[Document], *, fingerprint: str = "", size: int = 1200, chunker: Chunker | None = None
) -> Iterator[Chunk]:
    """Return the chunks of one source that is read in parts, numbered consecutively; one part is in memory at a time.

    Args:
        documents: its parts, in order.
        fingerprint: identifies the version of the source.
        size: maximum size of a chunk in characters (default 1200).
        chunker: cuts each part; default: the chunker that fits.

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


def chunker_for(document: Document) -> Callable[..., Iterator[Chunk]]:
    """Return the chunker that fits the media type of a document, else the suffix of its source."""
    kind = document.metadata.media_type
    if kind == PLAIN:
        kind = text_type(suffix_of(document.metadata.source)) or PLAIN
    if kind == MARKDOWN:
        return chunk_markdown
    if kind in _ROWS:
        return chunk_rows
    return chunk_code if is_code(kind) else chunk_text
