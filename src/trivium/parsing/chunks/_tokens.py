"""Chunks by the number of tokens alone."""

from __future__ import annotations

from collections.abc import Iterator

from trivium.parsing._chunk import Chunk
from trivium.parsing.chunks._blocks import Block, Count, Sizes, chunks_from
from trivium.schema import Document

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text: one for 4 characters.

    >>> estimate_tokens("The rent is 950 EUR.")
    5
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def chunk_tokens(
    document: Document, *, size: int = 300, overlap: int = 0, count: Count = estimate_tokens
) -> Iterator[Chunk]:
    """Return the chunks of any text, filled up to a number of tokens and cut at the best border before it.

    Args:
        document: the text; its structure is ignored.
        size: approximate maximum size of a chunk in tokens (default 300).
        overlap: maximum number of tokens that repeat the end of the chunk before (default 0).
        count: counts the tokens of a text; default: one for 4 characters.

    Raises:
        ConfigurationError: the size is below 1, or the overlap is not smaller.

    >>> [each.content for each in chunk_tokens(Document(content="One two three. Four five six."), size=5)]
    ['One two three.', 'Four five six.']
    """
    return chunks_from(
        document, [Block(0, len(document.content))] if document.content else [], Sizes(size, overlap, count)
    )
