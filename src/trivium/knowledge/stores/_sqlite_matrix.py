"""The vectors of a collection in memory, for exact search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import AllOf, Filter

if TYPE_CHECKING:
    from trivium.knowledge.stores._sqlite_tables import SQLiteTables

EVERYTHING: Final = AllOf(())
_KEPT: Final = 16
"""Maximum number of conditions whose matches are cached."""
_ROWS: Final = 512
"""Rows that are multiplied at a time: as floats they fit into the cache of a processor."""


class Matrix(NamedTuple):
    """Vectors as 8-bit integers: a quarter of the memory of floats, and faster to search.

    `keys` are the ascending keys of the chunks. A row of `codes` times its `scale` is the vector, up to a difference of
    the norm `error`. `among` caches the row numbers that match a condition, because conditions recur.
    """

    revision: int
    keys: Any
    codes: Any
    scales: Any
    errors: Any
    among: dict[str, Any]


def read_matrix(tables: SQLiteTables, before: Matrix | None) -> Matrix:
    """Read the served vectors; those of the matrix `before` are reused."""
    import numpy

    keys, width = served_keys(tables), tables.dimensions
    made = Matrix(
        tables.revision,
        keys,
        numpy.zeros((len(keys), width), numpy.int8),
        numpy.zeros(len(keys), numpy.float32),
        numpy.zeros(len(keys), numpy.float32),
        {},
    )
    missing = numpy.ones(len(keys), bool)
    if before is not None and len(before.keys):
        at = numpy.minimum(_places(before.keys, keys), len(before.keys) - 1)
        missing = before.keys[at] != keys
        for new, old in zip(made[2:5], before[2:5], strict=True):
            new[~missing] = old[at[~missing]]
    rows = numpy.flatnonzero(missing)
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        vectors = read_vectors(tables, keys[some])
        made.codes[some], made.scales[some], made.errors[some] = quantize(vectors)
    return made


def served_keys(tables: SQLiteTables, where: Filter = EVERYTHING) -> Any:
    """Return the keys of the matching served chunks, ascending."""
    import numpy

    query = "SELECT group_concat(key) FROM chunk_# WHERE served = 1 AND @"  # as one text: rows take three times as long
    (listed,) = tables.run(query, where=where).fetchone()
    return numpy.sort(numpy.fromstring(listed or "", numpy.int64, sep=","))


def read_vectors(tables: SQLiteTables, keys: Any) -> Vectors:
    """Return the stored vectors of some keys, in their order."""
    import numpy

    query = "SELECT vector FROM json_each(?) AS wanted JOIN vector_# ON vector_#.key = wanted.value ORDER BY wanted.key"
    read = tables.run(query, str(keys.tolist()))
    return numpy.frombuffer(b"".join(vector for (vector,) in read), "<f4").reshape(len(keys), tables.dimensions)


def quantize(vectors: Vectors) -> tuple[Any, Any, Any]:
    """Return the codes, scales and errors of vectors; see `Matrix`."""
    import numpy

    largest = numpy.abs(vectors).max(axis=1)
    scales = numpy.where(largest > 0, largest / 127, 1).astype(numpy.float32)
    codes = numpy.rint(vectors / scales[:, None]).astype(numpy.int8)
    errors = numpy.linalg.norm(vectors - codes * scales[:, None], axis=1)
    return codes, scales, errors


def nearest_keys(
    tables: SQLiteTables, matrix: Matrix, vector: Vectors, k: int, where: Filter
) -> Iterable[tuple[int, float]]:
    """Return keys and cosines of the k nearest vectors that match, exactly, best first."""
    import numpy

    _, keys, codes, scales, errors, _ = matrix
    if where != EVERYTHING:
        at = matching_places(tables, matrix, where)
        keys, codes, scales, errors = keys[at], codes[at], scales[at], errors[at]
    about = dot_products(codes, vector) * scales
    if k < len(keys):  # candidates for the first k within their errors
        least = numpy.partition(about - errors, len(keys) - k)[len(keys) - k]
        keys = keys[about + errors >= least]
    cosines = read_vectors(tables, keys) @ vector
    best = numpy.lexsort((keys, -cosines))[:k]
    return zip(keys[best].tolist(), numpy.clip(cosines[best], -1, 1).tolist(), strict=True)


def dot_products(codes: Any, vector: Vectors) -> Any:
    """Return the dot products of codes and a vector, computed in blocks."""
    import numpy

    products = numpy.empty(len(codes), numpy.float32)
    block = numpy.empty((_ROWS, codes.shape[1]), numpy.float32)
    for start in range(0, len(codes), _ROWS):
        some = codes[start : start + _ROWS]
        numpy.copyto(block[: len(some)], some)
        numpy.dot(block[: len(some)], vector, out=products[start : start + len(some)])
    return products


def matching_places(tables: SQLiteTables, matrix: Matrix, where: Filter) -> Any:
    """Return the row numbers of the matching chunks."""
    name = repr(where)  # as keys of a dict, 1 and True would be one
    found = matrix.among.get(name)
    if found is None:
        found = _places(matrix.keys, served_keys(tables, where))
        if len(matrix.among) >= _KEPT:
            matrix.among.clear()
        matrix.among[name] = found
    return found


def _places(keys: object, wanted: object) -> Any:
    import numpy

    return cast("Any", numpy).searchsorted(keys, wanted)  # its types do not take Any
