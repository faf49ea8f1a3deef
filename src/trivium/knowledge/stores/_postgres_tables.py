"""The tables of a store in PostgreSQL, and conditions on metadata as SQL.

Ids and sources may be of any length and hold any letter, so that their digests are the keys. `fields` holds, for each
field of the metadata, the list of its values (see `_filters`): that is what conditions read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from trivium.knowledge.stores._filters import Compare, Filter, values_of
from trivium.knowledge.stores._records import json_of, metadata_of, plain
from trivium.knowledge.stores._sql_conditions import Condition, sql_condition
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["COLUMNS", "Tables", "condition", "digest", "row_of"]

_MARGIN: Final = 1_500  # numbers in a vector that fit into a row's page, beside what else is in it
COLUMNS: Final = (
    "id",
    "served",
    "source",
    "fingerprint",
    "place",
    "position",
    "content",
    "metadata",
    "fields",
    "words",
    "length",
)
"""Those of a chunk, but for its vector."""

_LONGEST, _LAST_PLACE, _MOST_PLACES = 500, 16_383, 255  # of a word in a tsvector
_SHARED: Final = (
    "CREATE TABLE #collection (number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text UNIQUE, model text, "
    "dimensions int)",
    "CREATE TABLE #source (collection int REFERENCES #collection ON DELETE CASCADE, source uuid, record json, "
    "chunks int, PRIMARY KEY (collection, source))",
)
_KEYS: Final = ("id", "source")
_SIGNS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class Tables(NamedTuple):
    """Those of one collection, on a connection. In a statement "#where" is a condition."""

    connection: Connection[Any]
    schema: str
    number: int = 0
    model: str = ""
    dimensions: int = 0

    @property
    def identity(self) -> tuple[str, int]:
        """The embedding model of its vectors; ("", 0) is none."""
        return self.model, self.dimensions

    def run(self, statement: str, *values: Any, where: Filter | None = None) -> Any:
        """Run a statement: "#chunk" is its table, "#source" and "#collection" are those of all."""
        statement = self._named(statement)
        if where is not None:
            text, more = condition(where)
            before, _, behind = statement.partition("#where")
            at = before.count("%s")
            statement, values = f"{before}{text}{behind}", (*values[:at], *more, *values[at:])
        return self.connection.execute(statement.encode(), values or None)

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values."""
        with self.connection.cursor() as cursor:
            cursor.executemany(self._named(statement).encode(), rows)

    def first(self, statement: str, *values: Any, where: Filter | None = None) -> Any:
        """The first value of the first row; None where there is no row."""
        row = self.run(statement, *values, where=where).fetchone()
        return None if row is None else row[0]

    def _named(self, statement: str) -> str:
        statement = statement.replace("#chunk", f"{self.schema}.chunk_{self.number}")
        return statement.replace("#source", f"{self.schema}.source").replace("#coll", f"{self.schema}.coll")

    def there(self) -> bool:
        """Whether the tables are there that all collections share."""
        return self.first("SELECT to_regclass(%s)", f"{self.schema}.source") is not None

    def prepare(self) -> None:
        """Make them."""
        self.run(f"CREATE SCHEMA IF NOT EXISTS {self.schema}")
        for statement in _SHARED:
            self.run(statement)

    def of(self, collection: str) -> Tables | None:
        """The tables of a collection, where it is there."""
        row = self.run("SELECT number, model, dimensions FROM #collection WHERE name = %s", collection).fetchone()
        return None if row is None else Tables(self.connection, self.schema, *row)

    def make(self, collection: str, identity: tuple[str, int], hnsw: bool) -> Tables:
        """Make the tables of a new collection."""
        number = self.first(
            "INSERT INTO #collection (name, model, dimensions) VALUES (%s, %s, %s) RETURNING number",
            collection,
            *identity,
        )
        made = Tables(self.connection, self.schema, number, *identity)
        for statement in _collection_statements(made.dimensions, hnsw):
            made.run(statement)
        return made

    def drop(self) -> None:
        """Drop the tables of the collection."""
        self.run("DROP TABLE #chunk")
        self.run("DELETE FROM #collection WHERE number = %s", self.number)


def _collection_statements(dimensions: int, hnsw: bool) -> Iterator[str]:
    vector = f", vector vector({dimensions})" if dimensions else ""
    yield (
        'CREATE TABLE #chunk (id uuid, served bool, source uuid, fingerprint uuid, place text COLLATE "C", '
        "position bigint, content text, metadata json, fields jsonb, words tsvector, length int"
        f"{vector}, PRIMARY KEY (id, served))"
    )
    yield "CREATE INDEX ON #chunk (source, position)"
    yield "CREATE INDEX ON #chunk USING gin (fields jsonb_path_ops)"
    yield "CREATE INDEX ON #chunk USING gin (words)"
    if 0 < dimensions <= _MARGIN:  # else large rows have their vectors apart, and a search reads them one by one
        yield "ALTER TABLE #chunk ALTER vector SET STORAGE PLAIN"
    if dimensions and hnsw:
        yield "CREATE INDEX ON #chunk USING hnsw (vector vector_ip_ops)"


def digest(text: str) -> UUID:
    """The key of an id or of a source: other texts have other ones."""
    return UUID(bytes=sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])


def row_of(chunk: Chunk, served: bool) -> list[Any]:
    """What stands in the `COLUMNS` for a chunk."""
    metadata, at = metadata_of(chunk), chunk.metadata
    found = {name: list(values_of(given)) for name, given in metadata.items()}
    words = list(stems(chunk.content))
    return [
        digest(at.id),
        served,
        digest(at.source),
        digest(at.fingerprint),
        metadata["source"],
        at.position,
        plain(chunk.content),
        json_of(metadata),
        json_of({name: values for name, values in found.items() if values}),
        _vector_of(words),
        len(words),
    ]


def _vector_of(words: Sequence[str]) -> str:
    """Words and where they stand as a tsvector; they are letters and digits, no more."""
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words, 1):
        places.setdefault(word[:_LONGEST], []).append(str(min(place, _LAST_PLACE)))
    return " ".join(f"'{word}':{','.join(many[:_MOST_PLACES])}" for word, many in places.items())


def condition(wanted: Filter) -> Condition:
    """A condition as SQL on a table of chunks, and its parameters; it is never NULL."""
    return sql_condition(wanted, _compared)


def _compared(wanted: Compare) -> tuple[str, list[Any]]:
    field = plain(wanted.field)
    if wanted.op in ("eq", "in"):
        return _equals(wanted, field)
    value = wanted.value
    if not isinstance(value, str):
        test, value = f"jsonb_typeof(v) = 'number' AND v {_SIGNS[wanted.op]} %s::jsonb", json.dumps(value)
    else:
        text, value = "(v #>> '{}') COLLATE \"C\"", plain(value)
        compared = f"starts_with({text}, %s)" if wanted.op == "prefix" else f"{text} {_SIGNS[wanted.op]} %s"
        test = f"jsonb_typeof(v) = 'string' AND {compared}"
    return f"EXISTS (SELECT FROM jsonb_array_elements(fields -> %s) v WHERE {test})", [field, value]


def _equals(wanted: Compare, field: str) -> tuple[str, list[Any]]:
    options = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
    tests, values = list[str](), list[Any]()
    if field in _KEYS:
        tests.append(f"{field} = ANY(%s)")
        values.append([digest(each) for each in options if isinstance(each, str)])
        options = tuple(each for each in options if each is None)
    for each in options:
        if each is None:
            tests.append("NOT jsonb_exists(fields, %s)")
            values.append(field)
        else:
            tests.append("fields @> %s::jsonb")
            values.append(json.dumps({field: [plain(each) if isinstance(each, str) else each]}))
    return f"({' OR '.join(tests) or 'false'})", values
