"""A graph in a file: Ladybug, an embedded engine for Cypher and the successor of Kuzu."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any, Final, cast

from trivium.exceptions import (
    ConfigurationError,
    DatabaseConnectionError,
    DatabaseError,
    MissingExtraError,
    QueryError,
    QueryTimeoutError,
)
from trivium.knowledge.graphs._graph import End, GraphRows, GraphSchema, GraphStore, escaped, need, unknown_end
from trivium.schema.lowlevel import checked

_TYPES: Final[Mapping[str, tuple[type, str]]] = {  # a bool is an int, and a datetime a date, to Python
    "BOOL": (bool, "True or False"),
    "INT64": (int, "whole numbers"),
    "DOUBLE": (float, "numbers"),
    "STRING": (str, "text"),
    "TIMESTAMP": (datetime, "times"),
    "TIMESTAMP_TZ": (datetime, "times of a time zone"),
    "DATE": (date, "dates"),
}
_KEPT: Final = frozenset({  # the types of values, and of properties that keep them: of a time with a zone, its UTC
    ("INT64", "DOUBLE"), ("DATE", "TIMESTAMP"), ("TIMESTAMP_TZ", "TIMESTAMP"), *((kind, "STRING") for kind in _TYPES),
})  # fmt: skip
_UNFINISHED: Final = "recovery is pending"
"""What the engine says of a file whose last write is not complete."""
_TRIES: Final = 20
_BETWEEN_TRIES: Final = 0.05  # seconds


class LadybugGraph(GraphStore):
    """A graph in one local file.

    Queries run on a database that is opened read-only; the file is open for writing only while data are added.
    Any number of processes may read, and see all completed writes; if two processes write, one gets an error. What a
    writer that was killed has left incomplete, the next use completes.

    Args:
        path: the file; it is created at the first write.
        memory: maximum memory of a query in bytes.

    Raises:
        MissingExtraError: the extra `graph` is not installed (at the first use).

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> graph = LadybugGraph(f"{folder.name}/people.graph")
        >>> graph.add_nodes("Person", [{"name": "Ada", "born": 1815}, {"name": "Charles"}])
        >>> graph.add_edges("KNOWS", [{"source": "Ada", "target": "Charles"}], ("Person", "name"), ("Person", "name"))
        >>> graph.query("MATCH (a:Person)-[:KNOWS]->(b) RETURN a.name, b.name, a.born")
        GraphRows(columns=('a.name', 'b.name', 'a.born'), rows=[('Ada', 'Charles', 1815)], cut=False)
        >>> graph.close(); folder.cleanup()
    """

    @checked
    def __init__(self, path: str | Path, *, memory: int = 256 << 20) -> None:
        if str(path) in {"", ":memory:"}:
            raise ConfigurationError("a graph is a file, so that it can be opened for reading only: give a path")
        self._path, self._memory = Path(path).expanduser(), memory
        self._lock = _lock_of(self._path.resolve())

    def __repr__(self) -> str:
        return f"LadybugGraph({str(self._path)!r})"

    def schema(self) -> GraphSchema:
        """Return the labels, types and properties of the graph."""
        with self._reading() as run:
            tables = [(str(row[1]), str(row[2])) for row in run("CALL show_tables() RETURN *")]
            properties = {name: self._properties(run, name) for name, _ in tables}
            edges: dict[tuple[str, str, str], Mapping[str, str]] = {}
            for name, kind in tables:
                if kind == "REL":
                    for row in run(f"CALL show_connection({_text(name)}) RETURN *"):
                        edges[str(row[0]), name, str(row[1])] = properties[name]
            return GraphSchema({name: properties[name] for name, kind in tables if kind == "NODE"}, edges)

    def add_nodes(self, label: str, rows: Sequence[Mapping[str, object]], key: str = "name") -> None:
        """Add nodes, or update those with the same key.

        Args:
            label: label of the nodes; its table is created if there is none.
            rows: the properties of each: text, numbers, truth values, dates and times, whose zone becomes UTC. None
                clears a property, and a property that is left out stays. The first rows tell the type of each (whole
                numbers if all of theirs are); later values are kept in it if they lose nothing.
            key: the property that names a node.

        Raises:
            ConfigurationError: a row lacks its key, or a value is of another type.
            DatabaseError: the file cannot be written.
        """
        kinds = _kinds(rows, (key,))
        node = escaped(label)
        with self._writing() as run:
            run(f"CREATE NODE TABLE IF NOT EXISTS {node} ({escaped(key)} {kinds[key]}, PRIMARY KEY ({escaped(key)}))")
            there = self._widen(run, label, kinds, rows)
            for row in rows:
                sets, values = _sets("n", row, there, {key})
                named = f"{escaped(key)}: {_expression('$key', there[key])}"
                run(f"MERGE (n:{node} {{{named}}}){sets}", {"key": _given(row[key], there[key]), **values})

    def add_edges(
        self, kind: str, rows: Sequence[Mapping[str, object]], source: End, target: End, key: str | None = None
    ) -> None:
        """Add or update edges between existing nodes; each row names its ends as `source` and `target`.

        Args:
            kind: type of the edges.
            rows: `source` and `target`, the keys of two nodes, and the edge's own properties.
            source: the label of the nodes at the beginning, and the property that names them.
            target: the same for the end.
            key: the property that tells apart edges of one type between the same two nodes, as the number of a payment;
                None: there is one, and another row for it changes it.

        Raises:
            ConfigurationError: a row lacks an end or its key, names a node that is not there, or a value is of another
                type.
            DatabaseError: the file cannot be written.
        """
        ends = ("source", "target")
        needed = ends if key is None else (*ends, key)
        kinds = _kinds(rows, needed)
        edge, (from_label, to_label) = escaped(kind), (escaped(source[0]), escaped(target[0]))
        a, b = (
            f"(a:{from_label} {{{escaped(source[1])}: $source}})",
            f"(b:{to_label} {{{escaped(target[1])}: $target}})",
        )
        with self._writing() as run:
            labels = {row[1] for row in run("CALL show_tables() RETURN *") if row[2] == "NODE"}
            if absent := {source[0], target[0]} - labels:
                raise ConfigurationError(f"there is no node of the label {', '.join(absent)}: add the nodes first")
            run(f"CREATE REL TABLE IF NOT EXISTS {edge} (FROM {from_label} TO {to_label})")
            self._connect(run, kind, source[0], target[0])
            there = self._widen(run, kind, {name: of for name, of in kinds.items() if name not in ends}, rows)
            named = "" if key is None else f" {{{escaped(key)}: {_expression('$key', there[key])}}}"
            for row in rows:
                sets, values = _sets("e", row, there, {*needed})
                given = {"source": row["source"], "target": row["target"], **values}
                if key is not None:
                    given["key"] = _given(row[key], there[key])
                if not run(f"MATCH {a}, {b} MERGE (a)-[e:{edge}{named}]->(b){sets} RETURN 1", given):
                    raise unknown_end(row, source, target)

    def close(self) -> None:
        """Do nothing: no file is open between two uses."""

    # ---- reading and writing
    def _read(self, cypher: str, limit: int, timeout: float) -> GraphRows:
        with self._reading(timeout) as run:
            return cast("GraphRows", run(cypher, None, limit))

    @contextmanager
    def _reading(self, timeout: float = 60.0) -> Generator[Callable[..., Any]]:
        """Open a database for one query: it sees the writes of other processes, and nothing stays open."""
        if not self._path.exists():
            raise DatabaseConnectionError(f"there is no graph at {self._path}: add nodes first", str(self._path))
        with self._open_to_read() as database, self._connected(database, timeout) as run:
            yield run

    def _open_to_read(self) -> Any:
        """Open the file for reading. A writer that was killed leaves it to the next one to complete its last write."""
        tries = 0
        while True:
            try:
                return self._open(read_only=True)
            except DatabaseConnectionError as error:
                tries += 1
                if _UNFINISHED not in str(error) or tries == _TRIES:
                    raise
            if tries > _TRIES // 2:  # no longer before a writer at work completes it, which this would disturb
                with suppress(DatabaseError), self._lock, self._open(read_only=False):
                    pass
            sleep(_BETWEEN_TRIES)

    @contextmanager
    def _writing(self) -> Generator[Callable[..., Any]]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with (
            self._lock,
            self._open(read_only=False) as database,  # closing it rolls back an open transaction
            self._connected(database, None) as run,
        ):
            run("BEGIN TRANSACTION")
            yield run
            run("COMMIT")

    def _open(self, *, read_only: bool) -> Any:
        try:
            return _library().Database(self._path, read_only=read_only, buffer_pool_size=self._memory)
        except (RuntimeError, OSError) as error:
            raise self._failed(error) from error

    @contextmanager
    def _connected(self, database: object, timeout: float | None) -> Generator[Callable[..., Any]]:
        connection = _library().Connection(database)
        if timeout is not None:
            connection.set_query_timeout(max(1, round(timeout * 1000)))

        def run(cypher: str, values: dict[str, object] | None = None, limit: int | None = None) -> Any:
            try:
                with connection.execute(cypher, values) as result:
                    if limit is None:
                        return result.get_all()
                    rows = [tuple(map(_plain, row)) for row in result.get_n(limit)]
                    return GraphRows(tuple(result.get_column_names()), rows, bool(result.has_next()))
            except RuntimeError as error:
                raise self._failed(error) from error

        try:
            yield run
        finally:
            connection.close()

    def _failed(self, error: Exception) -> DatabaseError:
        text, place = " ".join(str(error).split()), str(self._path)
        if "Interrupted" in text:
            return QueryTimeoutError("the query took too long and was stopped: ask for less", place)
        if _UNFINISHED in text:
            advice = "try again when its writer is done; if that was killed, open it where it may be written"
            return DatabaseConnectionError(f"a write to the graph {place} is not complete ({text}): {advice}", place)
        if "lock" in text.lower() and "file" in text.lower():
            advice = "another process writes to it; try again when it is done"
            return DatabaseConnectionError(f"the graph {place} is in use ({text}): {advice}", place)
        return QueryError(f"the graph cannot do this: {text}", place)

    # ---- tables grow with the data
    def _properties(self, run: Callable[..., Any], table: str) -> dict[str, str]:
        return {str(row[1]): str(row[2]) for row in run(f"CALL table_info({_text(table)}) RETURN *")}

    def _widen(
        self, run: Callable[..., object], table: str, kinds: Mapping[str, str], rows: Sequence[Mapping[str, object]]
    ) -> Mapping[str, str]:
        """Add the properties that a table lacks, and return the types of all."""
        there = self._properties(run, table)
        for name, kind in kinds.items():
            if name not in there:
                run(f"ALTER TABLE {escaped(table)} ADD {escaped(name)} {kind}")
            elif kind != there[name] and (kind, there[name]) not in _KEPT:
                values = (row.get(name) for row in rows)
                if (kind, there[name]) != ("DOUBLE", "INT64") or not all(map(_is_whole, values)):
                    raise _mixed(f"{table}.{name} in the graph", there[name], kind)
        return {**kinds, **there}

    def _connect(self, run: Callable[..., Any], table: str, source: str, target: str) -> None:
        pairs = {(row[0], row[1]) for row in run(f"CALL show_connection({_text(table)}) RETURN *")}
        if (source, target) not in pairs:
            run(f"ALTER TABLE {escaped(table)} ADD FROM {escaped(source)} TO {escaped(target)}")


@cache
def _lock_of(path: Path) -> Lock:
    """Return the lock of a file for all its writers: the engine keeps only other processes from writing meanwhile."""
    _ = path
    return Lock()


def _kinds(rows: Sequence[Mapping[str, object]], needed: Sequence[str]) -> dict[str, str]:
    """Return the type of each property that has a value."""
    kinds: dict[str, str] = {}
    need(rows, needed)
    for row in rows:
        for name, value in row.items():
            if value is None:
                continue
            kind = _kind(name, value)
            if {before := kinds.setdefault(name, kind), kind} == {"INT64", "DOUBLE"}:
                kinds[name] = "DOUBLE"
            elif kind != before:
                raise _mixed(name, before, kind)
    return dict.fromkeys(needed, "STRING") | kinds


def _kind(name: str, value: object) -> str:
    kind = next((kind for kind, (of, _) in _TYPES.items() if isinstance(value, of)), None)
    if kind is None:
        raise ConfigurationError(f"{name} is {type(value).__name__}: give text, a number, a date, True or False")
    if kind == "INT64" and not -(2**63) <= cast("int", value) < 2**63:
        raise ConfigurationError(f"{name} is {value}, which does not fit in 64 bits: give it as text or as a float")
    is_zoned = isinstance(value, datetime) and value.tzinfo is not None
    return "TIMESTAMP_TZ" if is_zoned else kind


def _is_whole(value: object) -> bool:
    """Tell that a number, or None, fits a property of whole numbers."""
    return not isinstance(value, float) or (value.is_integer() and abs(value) < 2**63)


def _mixed(name: str, before: str, kind: str) -> ConfigurationError:
    had, given = (_TYPES[each][1] if each in _TYPES else each for each in (before, kind))
    advice = "make values of one type, or use another name"
    if (before, kind) == ("INT64", "DOUBLE"):
        advice = "use another name, or write the graph anew with floats from the beginning"
    return ConfigurationError(f"{name} has {had}, and {given} were given: {advice}")


def _sets(
    variable: str, row: Mapping[str, object], kinds: Mapping[str, str], without: Set[str]
) -> tuple[str, dict[str, Any]]:
    named = [name for name in row if name in kinds and name not in without]
    if not named:
        return "", {}
    parts = ", ".join(
        f"{variable}.{escaped(name)} = {_expression(f'$v{n}', kinds[name])}" for n, name in enumerate(named)
    )
    return f" SET {parts}", {f"v{number}": _given(row[name], kinds[name]) for number, name in enumerate(named)}


def _expression(parameter: str, kind: str) -> str:
    """Write the expression of a value for a property: the engine takes each time for one without a zone."""
    return f"CAST({parameter} AS TIMESTAMP_TZ)" if kind == "TIMESTAMP_TZ" else parameter


def _given(value: object, kind: str) -> object:
    """Return a value as the engine is given it for a property of a type: a time by its UTC, a whole number as such."""
    if value is not None and kind == "STRING":
        return str(value)
    if isinstance(value, float) and kind == "INT64":
        return int(value)
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def _text(name: str) -> str:
    escaped(name)
    return "'" + name.replace("'", "\\'") + "'"


def _plain(value: Any) -> Any:
    """Return a value without the engine's internal keys: a node or an edge as a dict of its properties and label."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        hidden = {"_ID", "_SRC", "_DST"}
        return {name: _plain(each) for name, each in items if name not in hidden and each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return value


def _library() -> Any:
    """Import the package with its own copy of the library.

    By default it loads the library's symbols globally, so that libraries loaded later find them before their own:
    loading llama.cpp then ends the process.
    """
    with suppress(ImportError):  # the package has its own fallback and message
        import_module("ladybug._lbug")
    try:
        return import_module("ladybug")
    except ImportError:
        raise MissingExtraError("ladybug", "graph") from None
