"""Chunks as rows of an SQLite store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from trivium.knowledge.embeddings import Vectors
from trivium.knowledge.stores._filters import values_of
from trivium.knowledge.stores._records import json_of, metadata_of, to_stored
from trivium.knowledge.stores._sqlite_tables import COLUMNS, DEFAULTS, SQLiteTables, column_value
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

_NAMES: Final = ", ".join(f'"{name}"' for name in ("served", *COLUMNS))
_MARKS: Final = ", ".join("?" * (len(COLUMNS) + 1))

_WORDS: Final = """
INSERT INTO word_# (rowid, stems) SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)
"""


class Row(NamedTuple):
    """A chunk in the form of the tables."""

    columns: tuple[Any, ...]
    content: str
    metadata: str
    fields: tuple[tuple[str, Any], ...]
    stems: str


def sqlite_row(chunk: Chunk) -> Row:
    """Convert a chunk to a row."""
    metadata = metadata_of(chunk)
    columns = tuple(next(values_of(metadata.get(name)), None) for name in COLUMNS)
    words = " ".join(stems(chunk.indexed_text))
    return Row(columns, to_stored(chunk.content), json_of(metadata), tuple(_fields(metadata)), words)


def _fields(metadata: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    """Return the rows of the table `field`: one for each value, none for a default value."""
    for name, given in metadata.items():
        if name not in COLUMNS and not (name in DEFAULTS and DEFAULTS[name] == given):
            yield from dict.fromkeys((name, column_value(value)) for value in values_of(given))


def insert(tables: SQLiteTables, rows: Sequence[Row], vectors: Vectors | None, served: int) -> None:
    """Write chunks, served or staged; they replace those of the same id, and of equal ids the last one is kept."""
    last = {row.columns[0]: i for i, row in enumerate(rows)}
    tables.remove("served = ? AND id IN (SELECT value FROM json_each(?))", served, json.dumps([*last]))
    query = f"INSERT INTO chunk_# ({_NAMES}) VALUES ({_MARKS})"  # noqa: S608 - constants
    written = [(tables.run(query, served, *rows[i].columns).lastrowid, i) for i in sorted(last.values())]
    texts = [(key, rows[i].content, rows[i].metadata) for key, i in written]
    tables.run_many("INSERT INTO text_# VALUES (?, ?, ?)", texts)
    fields = [(*field, key) for key, i in written for field in rows[i].fields]
    tables.run_many("INSERT INTO field_# VALUES (?, ?, ?)", fields)
    tables.run(_WORDS, json.dumps([[key, rows[i].stems] for key, i in written]))  # faster as one statement
    if vectors is not None:
        rows_of_bytes = [(key, vectors[i].astype("<f4").tobytes()) for key, i in written]
        tables.run_many("INSERT INTO vector_# VALUES (?, ?)", rows_of_bytes)
