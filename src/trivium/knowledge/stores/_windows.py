"""Windows: the chunks found, with those around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from trivium.knowledge.stores._filters import AllOf, Compare, Filter
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import splice
from trivium.schema import Document


def with_neighbours(
    scan: Callable[[Filter], Iterable[Chunk]], found: Sequence[tuple[Document, float]], neighbours: int
) -> list[tuple[Document, float]]:
    """Join each chunk found with those around it; windows that touch are merged.

    A window ends where its file does: it holds the text of an e-mail, or of one file attached to it.

    Args:
        scan: returns the chunks that match a condition, by source and position.
        found: chunks and their scores; a document that is not a chunk of a source in the store stays as it is.
        neighbours: number of chunks on each side.
    """
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    results: list[tuple[Document, float]] = []
    for document, score in found:
        if isinstance(document, Chunk) and document.metadata.source:
            at = document.metadata.position
            spans.setdefault(_file_of(document), []).append((at - neighbours, at + neighbours))
        else:
            results.append((document, score))
    for file, many in spans.items():
        for first, last in _merged(many):
            bounds = (Compare("position", "gte", first), Compare("position", "lte", last))
            around = scan(AllOf((Compare("source", "eq", file[0]), *bounds)))
            results += _span([each for each in around if _file_of(each) == file], file, first, last, found)
    return sorted(results, key=lambda each: -each[1])


def _file_of(chunk: Chunk) -> tuple[str, str]:
    return chunk.metadata.source, chunk.metadata.attachment


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if made and first <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(last, made[-1][1]))
        else:
            made.append((first, last))
    return made


def _span(
    around: list[Chunk],
    file: tuple[str, str],
    first: int,
    last: int,
    found: Sequence[tuple[Document, float]],
) -> Sequence[tuple[Document, float]]:
    inside = [
        (document, score)
        for document, score in found
        if isinstance(document, Chunk) and _file_of(document) == file and first <= document.metadata.position <= last
    ]
    best, score = max(inside, key=lambda each: each[1])
    same = [each for each in around if each.metadata.fingerprint == best.metadata.fingerprint]
    if all(each.metadata.id != best.metadata.id for each in same):  # it was deleted meanwhile, or is not in the store
        return inside
    return [(join_chunks(same, cast("Any", best).metadata), score)]


def join_chunks(chunks: Sequence[Chunk], metadata: Any) -> Chunk:
    """Join consecutive chunks to one; the part that two share by their offsets is kept once.

    Args:
        chunks: at least one; of one file, by position.
        metadata: metadata of the result; its offsets, lines, pages and `window_ids` are set.
    """
    slices, end = list[tuple[str, Chunk, int, int]](), -1
    for chunk in chunks:
        at, length = chunk.metadata, len(chunk.content)
        exact = length == at.end - at.start  # its offsets are those of its content
        shared = end - at.start if exact and end >= 0 else -1
        slices.append(("\n\n" if slices and shared < 0 else "", chunk, max(0, min(shared, length)), length))
        end = max(end, at.end) if exact else -1
    first, last = chunks[0].metadata, chunks[-1].metadata
    return splice(
        slices,
        metadata,
        start=first.start,
        end=last.end,
        line=first.line,
        end_line=last.end_line,
        window_ids=[each.metadata.id for each in chunks],
    )
