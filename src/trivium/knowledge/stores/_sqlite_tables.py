"""The tables of a store in an SQLite file, and conditions on metadata as SQL.

Each collection has its own tables, with its number in their names; # stands for it. Conditions read `chunk`, so this
table is narrow; large columns are in other tables under the same key. Keys are never reused, so that data read for a
key stay valid as long as the key exists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trivium.knowledge.stores._filters import Compare, Filter, Scalar, matches_filter
from trivium.knowledge.stores._records import to_stored
from trivium.knowledge.stores._sql_conditions import Condition, sql_condition
from trivium.parsing import ChunkMetaData

if TYPE_CHECKING:
    from sqlite3 import Connection, Cursor

APPLICATION: Final = 0x74726976  # "triv", in the header of the file
VERSION: Final = 1
COLUMNS: Final = ("id", "source", "fingerprint", "position", "start", "end", "line", "end_line", "page")
"""Fields of the metadata that are columns of `chunk`; the others are rows of `field`."""

DEFAULTS: Final[Mapping[str, Any]] = ChunkMetaData(id="").model_dump(mode="json")
"""The values of fields without a row."""
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
_LEVELS: Final = 10  # the row of the index of words that lists its levels
_WORN, _UNREADABLE = 1000, 3900  # bytes of this list; those of a rewriting are 4, and FTS5 reads 4000
_LISTED: Final = "(SELECT value FROM json_each(?))"  # any number of texts is one parameter


class SQLiteTables(NamedTuple):
    """The tables of one collection, on one connection."""

    database: Connection
    number: int
    model: str
    dimensions: int
    revision: int

    @property
    def identity(self) -> tuple[str, int]:
        """Name and dimensions of the embedding model of its vectors; ("", 0) without one."""
        return self.model, self.dimensions

    @classmethod
    def of(cls, database: Connection, collection: str) -> SQLiteTables | None:
        """Return the tables of the collection of a name; None if there is none."""
        query = "SELECT number, model, dimensions, revision FROM collection WHERE name = ?"
        row = database.execute(query, (collection,)).fetchone()
        return None if row is None else cls(database, *row)

    def run(self, query: str, *values: object, where: Filter | None = None) -> Cursor:
        """Execute one query; # stands for the number of the collection, and WHERE @ for a condition on `chunk`."""
        given = list(values)
        if where is not None:
            text, more = sqlite_condition(where)
            at = query.index("@")
            place = query.count("?", 0, at)
            query, given[place:place] = query.replace("@", text), more
        return self.database.execute(query.replace("#", str(self.number)), given)

    def run_many(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute one query for each row of values."""
        self.database.executemany(query.replace("#", str(self.number)), rows)

    def remove(self, which: str, *values: Any, where: Filter | None = None) -> bool:
        """Delete the chunks of an SQL condition on `chunk` from all tables; return True if there were any.

        The index of words keeps the words of deleted chunks until it is optimised.
        """
        (keys,) = self.run(_KEYS.replace("WHICH", which), *values, where=where).fetchone()
        for name in (
            "text",
            "vector",
            "field",
            "word",
            "chunk",
        ):  # one statement each: the word index is slow
            query = "DELETE FROM NAME_# WHERE KEY IN (SELECT value FROM json_each(?))".replace("NAME", name)
            self.run(query.replace("KEY", "rowid" if name == "word" else "key"), keys)
        return keys != "[]"

    def forget_words(self) -> None:
        """Remove the words of deleted chunks by rewriting the index: about 4 microseconds for each chunk.

        Each time 'optimize' adds empty levels to the list of levels, and FTS5 cannot read a list that is too long:
        before that 'rebuild', which takes three times as long, begins a new list.
        """
        self.run("INSERT INTO word_# (word_#) VALUES (?)", "rebuild" if self.are_words_worn() else "optimize")

    def are_words_worn(self) -> bool:
        """Test whether the index of words has become, or will become, unreadable by many rewritings."""
        return self._length_of_levels() > _WORN

    def are_words_unreadable(self) -> bool:
        """Test whether the index of words can be read no more."""
        return self._length_of_levels() > _UNREADABLE

    def _length_of_levels(self) -> int:
        found = self.run("SELECT length(block) FROM word_#_data WHERE id = ?", _LEVELS).fetchone()
        return 0 if found is None else found[0]

    def renew_words(self) -> None:
        """Make the index of words anew, readable or not, from the words that it stores beside it."""
        self.run("UPDATE word_#_data SET block = zeroblob(7) WHERE id = ?", _LEVELS)  # that of an empty index
        self.run("INSERT INTO word_# (word_#) VALUES ('rebuild')")

    def create(self) -> None:
        """Create the tables of a new collection."""
        for statement in _TABLES:
            self.run(statement)

    def drop(self) -> None:
        """Drop the tables and the collection."""
        if self.are_words_worn():
            self.renew_words()  # SQLite drops only a table that it can read
        for name in ("chunk", "text", "vector", "field", "word", "source"):
            self.run(f"DROP TABLE {name}_#")
        self.database.execute("DELETE FROM collection WHERE number = ?", (self.number,))


def column_value(value: Scalar) -> Any:
    """Return a value for a column: a bool becomes a blob, which equals neither a number nor a text."""
    return bytes([value]) if isinstance(value, bool) else value


def sqlite_condition(wanted: Filter) -> Condition:
    """Compile a condition to SQL on `chunk` and its parameters; the result is never NULL."""
    return sql_condition(wanted, _compared)


def _compared(wanted: Compare) -> tuple[str, list[Any]]:
    field = to_stored(wanted.field)
    if field in COLUMNS:
        text, values = _test(wanted, f'"{field}"')
        if field != "page":  # the others are never NULL, and SQLite looks them up in an index where it can
            return text, values
        nothing = " OR page IS NULL" if matches_filter(wanted, {}) else ""
        return f"(ifnull({text}, 0){nothing})", values
    text, values = _test(wanted, "value")
    found, values = _ROWS.replace("@", text), [field, *values]
    if matches_filter(wanted, {wanted.field: DEFAULTS.get(field)}):  # fields without a row have the default
        found = f"({found} OR {_NO_ROWS})"
        values.append(field)
    return found, values


def _test(wanted: Compare, value: str) -> tuple[str, list[Any]]:
    """Compile a comparison of one value; in SQLite numbers sort before texts, and texts before blobs."""
    if wanted.op in ("eq", "in"):
        options = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
        texts = [to_stored(each) for each in options if isinstance(each, str)]
        others = [column_value(each) for each in options if each is not None and not isinstance(each, str)]
        marks = ", ".join("?" * len(others))
        if not texts or len(options) == 1:
            return (f"{value} IN ({marks or '?'})", others or texts) if others or texts else ("0", [])
        within = f"{value} IN {_LISTED}"
        return f"({within} OR {value} IN ({marks}))" if others else within, [json.dumps(texts), *others]
    bound = to_stored(wanted.value) if isinstance(wanted.value, str) else wanted.value
    if wanted.op == "prefix":
        assert isinstance(bound, str)
        return f"({value} >= ? AND {value} < x'' AND substr({value}, 1, ?) = ?)", [bound, len(bound), bound]
    sign = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[wanted.op]
    if isinstance(bound, str):
        return f"({value} {sign} ? AND {value} >= '' AND {value} < x'')", [bound]
    return f"({value} {sign} ? AND {value} < '')", [bound]
