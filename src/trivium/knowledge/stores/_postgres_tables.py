"""The tables of a store in PostgreSQL, and conditions on metadata as SQL.

Ids and sources may have any length and any character, so their digests are the keys. `fields` holds the list of values
(see `_filters`) of each field of the metadata; conditions read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from trivium.knowledge.stores._filters import Compare, Filter, values_of
from trivium.knowledge.stores._records import json_of, metadata_of, to_stored
from trivium.knowledge.stores._sql_conditions import Condition, sql_condition
from trivium.parsing import Chunk
from trivium.parsing.lowlevel import stems

if TYPE_CHECKING:
    from psycopg import Connection

_MARGIN: Final = 1_500  # dimensions of a vector that fits into the page of a row, beside the other columns
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
"""The columns of a chunk, without its vector."""

_LONGEST, _LAST_PLACE, _MOST_PLACES = 500, 16_383, 255  # of a word in a tsvector
_SHARED: Final = (
    "CREATE TABLE #collection (number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text UNIQUE, model text, "
    "dimensions int)",
    "CREATE TABLE #source (collection int REFERENCES #collection ON DELETE CASCADE, source uuid, record json, "
    "chunks int, PRIMARY KEY (collection, source))",
)
_KEYS: Final = ("id", "source")
_SIGNS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class PostgresTables(NamedTuple):
    """The tables of one collection, on a connection. In a statement, "#where" stands for a condition."""

    connection: Connection[Any]
    schema: str
    number: int = 0
    model: str = ""
    dimensions: int = 0

    @property
    def identity(self) -> tuple[str, int]:
        """Name and dimensions of the embedding model of its vectors; ("", 0) without one."""
        return self.model, self.dimensions

    def run(self, statement: str, *values: object, where: Filter | None = None) -> Any:
        """Run a statement: "#chunk" is the table of the collection, "#source" and "#collection" are shared."""
        statement = self._named(statement)
        if where is not None:
            text, more = postgres_condition(where)
            before, _, behind = statement.partition("#where")
            at = before.count("%s")
            statement, values = f"{before}{text}{behind}", (*values[:at], *more, *values[at:])
        return self.connection.execute(statement.encode(), values or None)

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        with self.connection.cursor() as cursor:
            cursor.executemany(self._named(statement).encode(), rows)

    def first(self, statement: str, *values: object, where: Filter | None = None) -> Any:
        """Return the first value of the first row; None without a row."""
        row = self.run(statement, *values, where=where).fetchone()
        return None if row is None else row[0]

    def _named(self, statement: str) -> str:
        statement = statement.replace("#chunk", f"{self.schema}.chunk_{self.number}")
        return statement.replace("#source", f"{self.schema}.source").replace("#coll", f"{self.schema}.coll")

    def there(self) -> bool:
        """Tell that the shared tables exist."""
        return self.first("SELECT to_regclass(%s)", f"{self.schema}.source") is not None

    def prepare(self) -> None:
        """Create the shared tables."""
        self.run(f"CREATE SCHEMA IF NOT EXISTS {self.schema}")
        for statement in _SHARED:
            self.run(statement)

    def of(self, collection: str) -> PostgresTables | None:
        """Return the tables of a collection; None if there is none."""
        row = self.run("SELECT number, model, dimensions FROM #collection WHERE name = %s", collection).fetchone()
        return None if row is None else PostgresTables(self.connection, self.schema, *row)

    def make(self, collection: str, identity: tuple[str, int], hnsw: bool) -> PostgresTables:
        """Create the tables of a new collection."""
        number = self.first(
            "INSERT INTO #collection (name, model, dimensions) VALUES (%s, %s, %s) RETURNING number",
            collection,
            *identity,
        )
        made = PostgresTables(self.connection, self.schema, number, *identity)
        for statement in collection_statements(made.dimensions, hnsw):
            made.run(statement)
        return made

    def drop(self) -> None:
        """Drop the tables of the collection."""
        self.run("DROP TABLE #chunk")
        self.run("DELETE FROM #collection WHERE number = %s", self.number)


def collection_statements(dimensions: int, hnsw: bool) -> Iterator[str]:
    """Return the statements that create the table of a collection and its indexes."""
    vector = f", vector vector({dimensions})" if dimensions else ""
    yield (
        'CREATE TABLE #chunk (id uuid, served bool, source uuid, fingerprint uuid, place text COLLATE "C", '
        "position bigint, content text, metadata json, fields jsonb, words tsvector, length int"
        f"{vector}, PRIMARY KEY (id, served))"
    )
    yield "CREATE INDEX ON #chunk (source, position)"
    yield "CREATE INDEX ON #chunk USING gin (fields jsonb_path_ops)"
    yield "CREATE INDEX ON #chunk USING gin (words)"
    if 0 < dimensions <= _MARGIN:  # else vectors are stored out of line, and a search reads them one by one
        yield "ALTER TABLE #chunk ALTER vector SET STORAGE PLAIN"
    if dimensions and hnsw:
        yield "CREATE INDEX ON #chunk USING hnsw (vector vector_ip_ops)"


def text_key(text: str) -> UUID:
    """Return the key of an id or of a source, a digest."""
    return UUID(bytes=sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])


def postgres_row(chunk: Chunk, served: bool) -> list[Any]:
    """Return the values of the `COLUMNS` of a chunk."""
    metadata, at = metadata_of(chunk), chunk.metadata
    found = {name: list(values_of(given)) for name, given in metadata.items()}
    words = list(stems(chunk.content))
    return [
        text_key(at.id),
        served,
        text_key(at.source),
        text_key(at.fingerprint),
        metadata["source"],
        at.position,
        to_stored(chunk.content),
        json_of(metadata),
        json_of({name: values for name, values in found.items() if values}),
        text_vector(words),
        len(words),
    ]


def text_vector(words: Sequence[str]) -> str:
    """Return words and their positions as a tsvector; words are letters and digits only."""
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words, 1):
        places.setdefault(word[:_LONGEST], []).append(str(min(place, _LAST_PLACE)))
    return " ".join(f"'{word}':{','.join(many[:_MOST_PLACES])}" for word, many in places.items())


def postgres_condition(wanted: Filter) -> Condition:
    """Compile a condition to SQL on a table of chunks and its parameters; the result is never NULL."""
    return sql_condition(wanted, _compared)


def _compared(wanted: Compare) -> tuple[str, list[Any]]:
    field = to_stored(wanted.field)
    if wanted.op in ("eq", "in"):
        return equality_condition(wanted, field)
    value = wanted.value
    if not isinstance(value, str):
        test, value = f"jsonb_typeof(v) = 'number' AND v {_SIGNS[wanted.op]} %s::jsonb", json.dumps(value)
    else:
        text, value = "(v #>> '{}') COLLATE \"C\"", to_stored(value)
        compared = f"starts_with({text}, %s)" if wanted.op == "prefix" else f"{text} {_SIGNS[wanted.op]} %s"
        test = f"jsonb_typeof(v) = 'string' AND {compared}"
    return f"EXISTS (SELECT FROM jsonb_array_elements(fields -> %s) v WHERE {test})", [field, value]


def equality_condition(wanted: Compare, field: str) -> tuple[str, list[Any]]:
    """Compile an equality, or a membership in a list."""
    options = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
    tests, values = list[str](), list[Any]()
    if field in _KEYS:
        tests.append(f"{field} = ANY(%s)")
        values.append([text_key(each) for each in options if isinstance(each, str)])
        options = tuple(each for each in options if each is None)
    for each in options:
        if each is None:
            tests.append("NOT jsonb_exists(fields, %s)")
            values.append(field)
        else:
            tests.append("fields @> %s::jsonb")
            values.append(json.dumps({field: [to_stored(each) if isinstance(each, str) else each]}))
    return f"({' OR '.join(tests) or 'false'})", values
