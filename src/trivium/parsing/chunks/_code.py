"""Source code: cut between its definitions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from trivium.parsing._chunk import Chunk
from trivium.parsing._passages import border
from trivium.parsing.chunks._blocks import CODE, Block, Count, Sizes, chunks_from
from trivium.schema import Document

# Escapes are replaced before Python parses the text: lines and quotes stay, and invalid escapes raise no warning.
_ESCAPE = re.compile(r"\\[^\n]")
_AT_MARGIN = border(r"\n[ \t]*\n+(?=[^\s})\]])")
_SHALLOW = border(r"\n[ \t]*\n+(?=(?: {1,4}|\t)[^\s})\]])")
_ASIDE = re.compile(r"\s*(?:#(?!define|pragma)|//|/\*|\*|--|;|@|\"\"\"|''')|\s*$")
_BORDERS = (_SHALLOW, *CODE)
_LONGEST_LINE, _LONGEST_HEAD = 100, 2000
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def chunk_code(document: Document, *, size: int = 1600, overlap: int = 0, count: Count = len) -> Iterator[Chunk]:
    """Return the chunks of source code, cut between definitions, in large ones between members, then at blank lines.

    Python is parsed by its grammar; other languages are cut by blank lines and indentation.

    Args:
        document: the text; it is Python if its media type or its source says so.
        size: maximum size of a chunk (default 1600).
        overlap: maximum size of its part that repeats the end of the chunk before (default 0).
        count: measures both; default: characters. A tokenizer's function measures about in tokens.

    Raises:
        ConfigurationError: the size is below 1, or the overlap is not smaller.

    >>> from trivium.schema import DocMetaData
    >>> code = "class Lease:\\n    rent = 950\\n\\n    def pay(self):\\n        ...\\n\\n    def end(self): ..."
    >>> program = Document(content=code, metadata=DocMetaData(source="lease.py"))
    >>> for each in chunk_code(program, size=40):
    ...     print(each.metadata.line, each.metadata.heading)
    1 Lease
    4 Lease
    7 Lease
    """
    about = document.metadata
    is_python = about.media_type.endswith("python") or about.source.endswith((".py", ".pyi"))
    blocks = python_blocks(document.content) if is_python else None
    return chunks_from(
        document, margin_blocks(document.content) if blocks is None else blocks, Sizes(size, overlap, count)
    )


def python_blocks(text: str) -> list[Block] | None:
    """Return the statements of a Python program; None if this version of Python cannot parse it."""
    if "\r" in text or "\f" in text:  # Python counts their lines differently
        return None
    try:
        tree = ast.parse(_ESCAPE.sub("xx", text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0]
    starts += [match.end() for match in re.finditer("\n", text)]
    starts.append(len(text))
    return _statements(tree.body, starts, 0, len(text), "")


def _statements(body: Sequence[ast.stmt], starts: Sequence[int], begin: int, end: int, above: str) -> list[Block]:
    """Return the blocks of a body: each statement with the comments before it, a definition with its members."""
    blocks: list[Block] = []
    for number, each in enumerate(body):
        is_last = number == len(body) - 1
        stop = end if is_last else min(starts[min(each.end_lineno or 0, len(starts) - 1)], end)
        if stop <= begin:
            continue
        parts: tuple[Block, ...] = ()
        if isinstance(each, _Definition):
            name = f"{above} > {each.name}" if above else each.name
            is_class = isinstance(each, ast.ClassDef)
            members = (
                _statements(each.body, starts, begin, stop, name) if is_class else [Block(begin, stop, name, CODE)]
            )
            parts = tuple(members)
        blocks.append(Block(begin, stop, above, CODE, parts))
        begin = stop
    if begin < end:
        blocks.append(Block(begin, end, above, CODE))
    return blocks


def margin_blocks(text: str) -> Iterator[Block]:
    """Return the paragraphs that begin at the left margin; a closing bracket there stays with the paragraph before."""
    for start, end in pairwise([0, *_AT_MARGIN(text, 0, len(text)), len(text)]):
        if start == end:
            continue
        lines = text[start : min(end, start + _LONGEST_HEAD)].split("\n")
        name = next((line.strip(" \t{:") for line in lines if not _ASIDE.match(line)), "")
        yield Block(start, end, "", _BORDERS, (Block(start, end, name[:_LONGEST_LINE], _BORDERS),))
