"""The vectors of a collection in memory, for looking at all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import AllOf, Filter

if TYPE_CHECKING:
    from trivium.knowledge.stores._sqlite_tables import Tables

__all__ = ["EVERYTHING", "Matrix", "nearest_keys", "read_matrix", "served_keys"]

EVERYTHING: Final = AllOf(())
_KEPT: Final = 16
"""Conditions whose matches are kept."""
_ROWS: Final = 512
"""Rows that are multiplied at once: they fit into a processor's cache as floats."""


class Matrix(NamedTuple):
    """Vectors in whole numbers of eight bits: a quarter of the memory, and quicker to go through than floats.

    `keys` are those of the chunks, ascending. A row of `codes` times its `scale` is the vector, but for an error whose
    length is `error`. `among` has the places of what some conditions let through, for they come again and again.
    """

    revision: int
    keys: Any
    codes: Any
    scales: Any
    errors: Any
    among: dict[str, Any]


def read_matrix(tables: Tables, before: Matrix | None) -> Matrix:
    """The served vectors as this connection sees them; what was read before is read no more."""
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
        made.codes[some], made.scales[some], made.errors[some] = _coded(vectors)
    return made


def served_keys(tables: Tables, where: Filter = EVERYTHING) -> Any:
    """The keys of the served chunks that match, ascending."""
    import numpy

    query = "SELECT group_concat(key) FROM chunk_# WHERE served = 1 AND @"  # as one text: rows take three times as long
    (listed,) = tables.run(query, where=where).fetchone()
    return numpy.sort(numpy.fromstring(listed or "", numpy.int64, sep=","))


def read_vectors(tables: Tables, keys: Any) -> Vectors:
    """The vectors of some keys, in their order, as they were given."""
    import numpy

    query = "SELECT vector FROM json_each(?) AS wanted JOIN vector_# ON vector_#.key = wanted.value ORDER BY wanted.key"
    read = tables.run(query, str(keys.tolist()))
    return numpy.frombuffer(b"".join(vector for (vector,) in read), "<f4").reshape(len(keys), tables.dimensions)


def _coded(vectors: Vectors) -> tuple[Any, Any, Any]:
    import numpy

    largest = numpy.abs(vectors).max(axis=1)
    scales = numpy.where(largest > 0, largest / 127, 1).astype(numpy.float32)
    codes = numpy.rint(vectors / scales[:, None]).astype(numpy.int8)
    errors = numpy.linalg.norm(vectors - codes * scales[:, None], axis=1)
    return codes, scales, errors


def nearest_keys(tables: Tables, matrix: Matrix, vector: Vectors, k: int, where: Filter) -> Iterable[tuple[int, float]]:
    """The keys and cosines of the k nearest vectors among those that match, exactly, best first."""
    import numpy

    _, keys, codes, scales, errors, _ = matrix
    if where != EVERYTHING:
        at = _matching(tables, matrix, where)
        keys, codes, scales, errors = keys[at], codes[at], scales[at], errors[at]
    about = _products(codes, vector) * scales
    if k < len(keys):  # what could be among the k in spite of the errors
        least = numpy.partition(about - errors, len(keys) - k)[len(keys) - k]
        keys = keys[about + errors >= least]
    cosines = read_vectors(tables, keys) @ vector
    best = numpy.lexsort((keys, -cosines))[:k]
    return zip(keys[best].tolist(), numpy.clip(cosines[best], -1, 1).tolist(), strict=True)


def _products(codes: Any, vector: Vectors) -> Any:
    import numpy

    products = numpy.empty(len(codes), numpy.float32)
    block = numpy.empty((_ROWS, codes.shape[1]), numpy.float32)
    for start in range(0, len(codes), _ROWS):
        some = codes[start : start + _ROWS]
        numpy.copyto(block[: len(some)], some)
        numpy.dot(block[: len(some)], vector, out=products[start : start + len(some)])
    return products


def _matching(tables: Tables, matrix: Matrix, where: Filter) -> Any:
    """The places in the matrix of what matches."""
    name = repr(where)  # as keys of a dict, 1 and True would be one
    found = matrix.among.get(name)
    if found is None:
        found = _places(matrix.keys, served_keys(tables, where))
        if len(matrix.among) >= _KEPT:
            matrix.among.clear()
        matrix.among[name] = found
    return found


def _places(keys: Any, wanted: Any) -> Any:
    import numpy

    return cast("Any", numpy).searchsorted(keys, wanted)  # its types do not take Any
