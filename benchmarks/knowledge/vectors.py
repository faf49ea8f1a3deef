"""How long a search among made vectors takes: the store in a file beside sqlite-vec, Chroma and LanceDB, in one run.

    python benchmarks/knowledge/vectors.py [CHUNKS]

Times are medians of searches for the ten nearest, in milliseconds; each kind is asked the same questions. `recall` is
the share of the ten that comparing with every vector finds.
"""

from __future__ import annotations

import ctypes
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy

from trivium.knowledge import Chunk, EmbeddingModel, SourceRecord, SQLiteStore, SQLiteStoreConfig

WIDTH, K, QUERIES, BATCH = 384, 10, 15, 500
Search = Callable[[Any], Sequence[int]]


class Made(EmbeddingModel):
    """Vectors are given; nothing is embedded."""

    name, dimensions = "made", WIDTH


class Row(NamedTuple):
    name: str
    first: float
    ms: float
    recall: float


def vectors(count: int) -> Any:
    """As those of texts: they lie in clusters."""
    chance = numpy.random.default_rng(0)
    centres = chance.normal(size=(200, WIDTH))
    made = centres[chance.integers(0, 200, count)] + chance.normal(size=(count, WIDTH))
    return (made / numpy.linalg.norm(made, axis=1, keepdims=True)).astype(numpy.float32)


def timed(name: str, search: Search, queries: Any, right: list[set[int]]) -> Row:
    times, found = [], 0
    for query, wanted in zip(queries, right, strict=True):
        start = time.perf_counter()
        ids = search(query)
        times.append((time.perf_counter() - start) * 1000)
        found += len(wanted & set(ids))
    return Row(name, times[0], median(times[1:]), found / (K * len(queries)))


def in_a_file(rows: Any, folder: Path) -> Iterator[tuple[str, Search]]:
    store = SQLiteStore(SQLiteStoreConfig(storage_path=str(folder / "store.db"), embedding=Made()))
    for start in range(0, len(rows), BATCH):
        source = f"{start // BATCH}"
        many = range(start, min(start + BATCH, len(rows)))
        chunks = [Chunk.of("", id=f"{i}", source=source, fingerprint="1", position=i, even=i % 2 == 0) for i in many]
        store.stage(chunks, rows[start : start + BATCH])
        store.publish(SourceRecord(source, "1", len(chunks)))

    def asked(where: Any) -> Search:
        return lambda query: [int(hit.chunk.metadata.id) for hit in store.nearest(query, K, where)]

    yield "trivium, a file", asked(None)
    yield "trivium, half of it", asked({"even": True})
    yield "trivium, one source", asked({"source": "1"})
    store.close()


def sqlite_vec(rows: Any, folder: Path) -> Iterator[tuple[str, Search]]:
    """The extension alone; many builds of Python cannot load one in the usual way, so SQLite itself is asked to."""
    import sqlite_vec as package

    try:
        library = ctypes.CDLL("libsqlite3.so.0")
    except OSError:
        return
    entry = ctypes.CDLL(package.loadable_path() + ".so").sqlite3_vec_init
    library.sqlite3_auto_extension.argtypes = [ctypes.c_void_p]
    library.sqlite3_auto_extension(ctypes.cast(entry, ctypes.c_void_p))
    database = sqlite3.connect(folder / "vec.db")
    library.sqlite3_cancel_auto_extension.argtypes = [ctypes.c_void_p]
    library.sqlite3_cancel_auto_extension(ctypes.cast(entry, ctypes.c_void_p))
    database.execute(f"CREATE VIRTUAL TABLE v USING vec0(f float[{WIDTH}] distance_metric=cosine)")
    database.executemany("INSERT INTO v(rowid, f) VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(rows)))
    query = "SELECT rowid FROM v WHERE f MATCH ? AND k = ?"
    yield "sqlite-vec", lambda given: [key for (key,) in database.execute(query, (given.tobytes(), K))]
    database.close()


def chroma(rows: Any, folder: Path) -> Iterator[tuple[str, Search]]:
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    made: Any = chromadb.PersistentClient(str(folder / "chroma"), settings).create_collection(
        "made", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    for start in range(0, len(rows), 5000):
        some = rows[start : start + 5000]
        made.add(ids=[f"{start + i}" for i in range(len(some))], embeddings=some)
    yield "Chroma", lambda query: [int(each) for each in made.query(query_embeddings=[query], n_results=K)["ids"][0]]


def lancedb(rows: Any, folder: Path) -> Iterator[tuple[str, Search]]:
    import lancedb as package

    data = [{"id": i, "vector": row} for i, row in enumerate(rows)]
    table: Any = package.connect(str(folder / "lance")).create_table("made", data)

    def search(query: Any) -> Sequence[int]:
        return [row["id"] for row in table.search(query).distance_type("cosine").limit(K).to_list()]

    yield "LanceDB, no index", search


def measure(count: int) -> dict[str, dict[str, float]]:
    """For each kind the milliseconds of the first search and of a later one, and the recall."""
    return {row.name: {"first ms": row.first, "ms": row.ms, "recall": row.recall} for row in main(count)}


def main(count: int = 100_000, kinds: Sequence[Any] = (in_a_file, sqlite_vec, chroma, lancedb)) -> list[Row]:
    """Measure all kinds, and print a table to stderr."""
    rows = vectors(count)
    chance = numpy.random.default_rng(1)
    queries = rows[chance.integers(0, count, QUERIES)] + 0.02 * chance.normal(size=(QUERIES, WIDTH))
    queries = (queries / numpy.linalg.norm(queries, axis=1, keepdims=True)).astype(numpy.float32)
    at = numpy.arange(count)
    parts = {"trivium, half of it": at % 2 == 0, "trivium, one source": at // BATCH == 1}
    results: list[Row] = []
    head = f"{'':22}{'fill s':>8}{'first ms':>10}{'ms':>8}{'recall':>8}"
    print(f"{count} vectors of {WIDTH}: the {K} nearest\n{head}", file=sys.stderr)
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            for number, (name, search) in enumerate(kind(rows, Path(folder))):
                fill = f"{time.perf_counter() - start:8.1f}" if not number else " " * 8
                keep = parts.get(name, at >= 0)
                right = [set(numpy.argsort(-numpy.where(keep, rows @ query, -2))[:K].tolist()) for query in queries]
                row = timed(name, search, queries, right)
                print(f"{name:22}{fill}{row.first:10.1f}{row.ms:8.1f}{row.recall:8.3f}", file=sys.stderr)
                results.append(row)
    return results


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
