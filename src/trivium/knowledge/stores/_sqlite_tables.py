"""The tables of a store in an SQLite file, and conditions on metadata as SQL.

Each collection has tables of its own, with its number in their names; # stands for it. `chunk` is narrow, for it is
what conditions read; what is large stands apart under the same key. Keys are never used twice, so that what was read of
a key holds as long as the key is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trivium.knowledge.stores._filters import Compare, Filter, Scalar, matches
from trivium.knowledge.stores._records import plain
from trivium.knowledge.stores._sql_conditions import Condition, sql_condition
from trivium.parsing import ChunkMetaData

if TYPE_CHECKING:
    from sqlite3 import Connection, Cursor

__all__ = ["APPLICATION", "COLUMNS", "DEFAULTS", "VERSION", "Tables", "condition", "kept"]

APPLICATION: Final = 0x74726976  # "triv", in the header of the file
VERSION: Final = 1
COLUMNS: Final = ("id", "source", "fingerprint", "position", "start", "end", "line", "end_line", "page")
"""What of the metadata is a column of `chunk`; the rest are rows of `field`."""

DEFAULTS: Final[Mapping[str, Any]] = ChunkMetaData(id="").model_dump(mode="json")
"""What a field is where it has no row."""
_TABLES: Final = (
    "CREATE TABLE chunk_# (key INTEGER PRIMARY KEY AUTOINCREMENT, served, id, source, fingerprint, position, "
    '"start", "end", line, end_line, page)',  # no types: SQLite would take the text '3' for the number
    "CREATE UNIQUE INDEX id_# ON chunk_# (id, served)",
    "CREATE INDEX place_# ON chunk_# (source, position)",
    "CREATE TABLE text_# (key INTEGER PRIMARY KEY, content TEXT, metadata TEXT)",
    "CREATE TABLE vector_# (key INTEGER PRIMARY KEY, vector BLOB)",
    "CREATE TABLE field_# (name, value, key, PRIMARY KEY (name, value, key)) WITHOUT ROWID",
    "CREATE INDEX field_key_# ON field_# (key)",
    "CREATE VIRTUAL TABLE word_# USING fts5(stems)",
    "CREATE TABLE source_# (source PRIMARY KEY, fingerprint, chunks, title, size, modified)",
)


_KEYS: Final = "SELECT json_group_array(key) FROM chunk_# WHERE WHICH"
_ROWS: Final = "key IN (SELECT key FROM field_# WHERE name = ? AND @)"
_NO_ROWS: Final = "key NOT IN (SELECT key FROM field_# WHERE name = ?)"
_LISTED: Final = "(SELECT value FROM json_each(?))"  # any number of texts is one parameter


class Tables(NamedTuple):
    """Those of one collection, as one connection sees them."""

    database: Connection
    number: int
    model: str
    dimensions: int
    revision: int

    @property
    def identity(self) -> tuple[str, int]:
        """The embedding model of its vectors; ("", 0) is none."""
        return self.model, self.dimensions

    @classmethod
    def of(cls, database: Connection, collection: str) -> Tables | None:
        """Those of the collection of this name, if there is one."""
        query = "SELECT number, model, dimensions, revision FROM collection WHERE name = ?"
        row = database.execute(query, (collection,)).fetchone()
        return None if row is None else cls(database, *row)

    def run(self, query: str, *values: Any, where: Filter | None = None) -> Cursor:
        """Execute one query; # stands for the number of the collection, and WHERE @ for a condition on `chunk`."""
        given = list(values)
        if where is not None:
            text, more = condition(where)
            at = query.index("@")
            place = query.count("?", 0, at)
            query, given[place:place] = query.replace("@", text), more
        return self.database.execute(query.replace("#", str(self.number)), given)

    def run_many(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute one query for each row of values."""
        self.database.executemany(query.replace("#", str(self.number)), rows)

    def remove(self, which: str, *values: Any, where: Filter | None = None) -> bool:
        """Delete the chunks that an SQL condition on `chunk` tells, with all that stands apart; whether there were any.

        The index of words keeps the words of what is deleted, until its parts are next put together.
        """
        (keys,) = self.run(_KEYS.replace("WHICH", which), *values, where=where).fetchone()
        for name in ("text", "vector", "field", "word", "chunk"):  # the whole at once: words are written after each
            query = "DELETE FROM NAME_# WHERE KEY IN (SELECT value FROM json_each(?))".replace("NAME", name)
            self.run(query.replace("KEY", "rowid" if name == "word" else "key"), keys)
        return keys != "[]"

    def forget_words(self) -> None:
        """Take the words of what was deleted out of the index, which is written anew: 4 microseconds a chunk, about."""
        self.run("INSERT INTO word_# (word_#) VALUES ('optimize')")

    def create(self) -> None:
        """Make them, for a new collection."""
        for statement in _TABLES:
            self.run(statement)

    def drop(self) -> None:
        """Drop them, and forget the collection."""
        for name in ("chunk", "text", "vector", "field", "word", "source"):
            self.run(f"DROP TABLE {name}_#")
        self.database.execute("DELETE FROM collection WHERE number = ?", (self.number,))


def kept(value: Scalar) -> Any:
    """A value as it stands in the column: a truth value is a blob, which no number and no text equals."""
    return bytes([value]) if isinstance(value, bool) else value


def condition(wanted: Filter) -> Condition:
    """A condition as SQL on `chunk`, and its parameters; it is never NULL."""
    return sql_condition(wanted, _compared)


def _compared(wanted: Compare) -> tuple[str, list[Any]]:
    field = plain(wanted.field)
    if field in COLUMNS:
        text, values = _test(wanted, f'"{field}"')
        if field != "page":  # the others are never NULL, and SQLite looks them up in an index where it can
            return text, values
        nothing = " OR page IS NULL" if matches(wanted, {}) else ""
        return f"(ifnull({text}, 0){nothing})", values
    text, values = _test(wanted, "value")
    found, values = _ROWS.replace("@", text), [field, *values]
    if matches(wanted, {wanted.field: DEFAULTS.get(field)}):  # what has no row is so
        found = f"({found} OR {_NO_ROWS})"
        values.append(field)
    return found, values


def _test(wanted: Compare, value: str) -> tuple[str, list[Any]]:
    """A comparison with one value; numbers sort before texts, and texts before blobs."""
    if wanted.op in ("eq", "in"):
        options = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
        texts = [plain(each) for each in options if isinstance(each, str)]
        others = [kept(each) for each in options if each is not None and not isinstance(each, str)]
        marks = ", ".join("?" * len(others))
        if not texts or len(options) == 1:
            return (f"{value} IN ({marks or '?'})", others or texts) if others or texts else ("0", [])
        within = f"{value} IN {_LISTED}"
        return f"({within} OR {value} IN ({marks}))" if others else within, [json.dumps(texts), *others]
    bound = plain(wanted.value) if isinstance(wanted.value, str) else wanted.value
    if wanted.op == "prefix":
        assert isinstance(bound, str)
        return f"({value} >= ? AND {value} < x'' AND substr({value}, 1, ?) = ?)", [bound, len(bound), bound]
    sign = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[wanted.op]
    if isinstance(bound, str):
        return f"({value} {sign} ? AND {value} >= '' AND {value} < x'')", [bound]
    return f"({value} {sign} ? AND {value} < '')", [bound]
