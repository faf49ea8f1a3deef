"""Chunks: cutting texts into parts that are found, cited and read on their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.parsing.chunks._code import chunk_code
    from trivium.parsing.chunks._markdown import chunk_markdown
    from trivium.parsing.chunks._pick import Chunker, chunk, chunk_parts
    from trivium.parsing.chunks._rows import chunk_rows
    from trivium.parsing.chunks._sentences import sentences
    from trivium.parsing.chunks._text import chunk_text
    from trivium.parsing.chunks._tokens import chunk_tokens, estimate_tokens

__all__ = [
    "Chunker",
    "chunk",
    "chunk_code",
    "chunk_markdown",
    "chunk_parts",
    "chunk_rows",
    "chunk_text",
    "chunk_tokens",
    "estimate_tokens",
    "sentences",
]

_HOMES = {
    "Chunker": "_pick",
    "chunk": "_pick",
    "chunk_code": "_code",
    "chunk_markdown": "_markdown",
    "chunk_parts": "_pick",
    "chunk_rows": "_rows",
    "chunk_text": "_text",
    "chunk_tokens": "_tokens",
    "estimate_tokens": "_tokens",
    "sentences": "_sentences",
}
lazy_names(__name__, _HOMES, __all__)
