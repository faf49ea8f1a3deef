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

__all__ = ["chunk_code"]

# A backslash and what follows it, made plain: lines and quotes stay what they are, and Python has no escape to warn of.
_ESCAPE = re.compile(r"\\[^\n]")
_AT_MARGIN = border(r"\n[ \t]*\n+(?=[^\s})\]])")
_SHALLOW = border(r"\n[ \t]*\n+(?=(?: {1,4}|\t)[^\s})\]])")
_ASIDE = re.compile(r"\s*(?:#(?!define|pragma)|//|/\*|\*|--|;|@|\"\"\"|''')|\s*$")
_BORDERS = (_SHALLOW, *CODE)
_LONGEST_LINE, _LONGEST_HEAD = 100, 2000
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def chunk_code(document: Document, *, size: int = 1600, overlap: int = 0, count: Count = len) -> Iterator[Chunk]:
    """The chunks of source code: cut between definitions, in large ones between their members, then at blank lines.

    Python is read by its own grammar; other languages by blank lines and indentation.

    Args:
        document: the text; it is Python where its media type or its source says so.
        size: what a chunk holds at most (default 1600).
        overlap: how much of it may repeat the end of the chunk before (default 0).
        count: the unit of both; by default characters. A tokenizer's function makes it tokens, about.

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
    blocks = _python(document.content) if is_python else None
    return chunks_from(document, _others(document.content) if blocks is None else blocks, Sizes(size, overlap, count))


def _python(text: str) -> list[Block] | None:
    """The statements of a program; None where it is none that this Python understands."""
    if "\r" in text or "\f" in text:  # lines would be counted in another way
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
    """The blocks of a body: a statement with the comments before it; what is defined knows its name and its members."""
    blocks: list[Block] = []
    for number, each in enumerate(body):
        is_last = number == len(body) - 1
        stop = end if is_last else min(starts[min(each.end_lineno or 0, len(starts) - 1)], end)
        if stop <= begin:
            continue
        blocks.append(Block(begin, stop, above, CODE, _members(each, starts, begin, stop, above)))
        begin = stop
    if begin < end:
        blocks.append(Block(begin, end, above, CODE))
    return blocks


def _members(node: ast.stmt, starts: Sequence[int], begin: int, end: int, above: str) -> tuple[Block, ...]:
    if not isinstance(node, _Definition):
        return ()
    name = f"{above} > {node.name}" if above else node.name
    if not isinstance(node, ast.ClassDef):
        return (Block(begin, end, name, CODE),)
    return tuple(_statements(node.body, starts, begin, end, name))


def _others(text: str) -> Iterator[Block]:
    """The paragraphs of a text that begin at the margin, but for what only closes the one before."""
    for start, end in pairwise([0, *_AT_MARGIN(text, 0, len(text)), len(text)]):
        if start == end:
            continue
        lines = text[start : min(end, start + _LONGEST_HEAD)].split("\n")
        name = next((line.strip(" \t{:") for line in lines if not _ASIDE.match(line)), "")
        yield Block(start, end, "", _BORDERS, (Block(start, end, name[:_LONGEST_LINE], _BORDERS),))
