"""A graph on a Neo4j server, by its official driver."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from threading import Lock
from typing import Any, Final, cast

from trivium.exceptions import (
    ConfigurationError,
    DatabaseConnectionError,
    DatabaseError,
    MissingExtraError,
    QueryError,
    QueryRefusedError,
    QueryTimeoutError,
)
from trivium.knowledge.graphs._graph import End, GraphRows, GraphSchema, GraphStore, escaped, need, unknown_end
from trivium.schema.lowlevel import checked

_SAMPLE: Final = 10_000  # edges that are looked at to tell the schema
_NODES: Final = "CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName, propertyTypes RETURN *"
_EDGES: Final = (
    f"MATCH (a)-[r]->(b) WITH a, r, b LIMIT {_SAMPLE} UNWIND keys(r) + [''] AS key "
    "RETURN DISTINCT labels(a)[0], type(r), labels(b)[0], key"
)


class Neo4jGraph(GraphStore):
    """A graph on a Neo4j server.

    A query runs in a read transaction that is always rolled back, and only if the server itself classifies it as
    reading. If you can, give an account without the right to write: two safeguards are better than one.

    Args:
        uri: as "neo4j+s://graph.example.org"; without a password in it.
        user: the account.
        password: its password; it is never displayed.
        database: name of the database; default: that of the account.
        timeout: seconds to wait for a connection.

    Raises:
        MissingExtraError: the extra `neo4j` is not installed (at the first use).

    Example::

        graph = Neo4jGraph("neo4j://127.0.0.1:7687", user="reader", password=password)
        graph.query("MATCH (p:Person) RETURN p.name ORDER BY p.name")
    """

    @checked
    def __init__(
        self, uri: str, *, user: str = "neo4j", password: str = "", database: str | None = None, timeout: float = 10.0
    ) -> None:
        if "@" in uri:
            raise ConfigurationError("give user and password as arguments: an address is shown in errors")
        self._uri, self._user, self._database, self._timeout = uri, user, database, timeout
        self._password = password
        self._lock = Lock()
        self._driver: Any = None

    def __repr__(self) -> str:
        return f"Neo4jGraph({self._uri!r}, user={self._user!r})"

    def schema(self) -> GraphSchema:
        """Return the labels, types and properties of the graph; those of edges come from a sample of ten thousand."""
        nodes: dict[str, dict[str, str]] = {}
        edges: dict[tuple[str, str, str], dict[str, str]] = {}
        with self._transaction("READ", self._timeout) as transaction:
            for labels, name, kinds in transaction.run(_NODES):
                found = nodes.setdefault(":".join(labels), {})
                if name is not None:
                    found[name] = "|".join(kinds or ["ANY"])
            for source, kind, target, name in transaction.run(_EDGES):
                properties = edges.setdefault((source or "", kind, target or ""), {})
                if name:
                    properties[name] = "ANY"
        return GraphSchema(nodes, edges)

    def add_nodes(self, label: str, rows: Sequence[Mapping[str, object]], key: str = "name") -> None:
        """Add nodes, or update those with the same key.

        Args:
            label: label of the nodes.
            rows: the properties of each.
            key: the property that names a node.

        Raises:
            ConfigurationError: a row lacks its key.
            DatabaseError: the server cannot be reached, or refuses.
        """
        need(rows, (key,))
        named = escaped(key)
        self._write(
            f"UNWIND $rows AS row MERGE (n:{escaped(label)} {{{named}: row.{named}}}) SET n += row",
            [dict(row) for row in rows],
        )

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
            ConfigurationError: a row lacks an end or its key, or names a node that is not there.
            DatabaseError: the server cannot be reached, or refuses.
        """
        ends = ("source", "target")
        need(rows, ends if key is None else (*ends, key))
        named = "" if key is None else f" {{{escaped(key)}: row.properties.{escaped(key)}}}"
        given = [
            {**{end: row[end] for end in ends}, "properties": {k: v for k, v in row.items() if k not in ends}}
            for row in rows
        ]
        done = self._write(
            f"UNWIND $rows AS row MATCH (a:{escaped(source[0])} {{{escaped(source[1])}: row.source}}), "
            f"(b:{escaped(target[0])} {{{escaped(target[1])}: row.target}}) "
            f"MERGE (a)-[e:{escaped(kind)}{named}]->(b) SET e += row.properties RETURN row.source, row.target",
            given,
        )
        there = {tuple(row) for row in done}
        for row in rows:
            if (row["source"], row["target"]) not in there:
                raise unknown_end(row, source, target)

    def close(self) -> None:
        """Release the connections; the next use opens them again."""
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    def _read(self, cypher: str, limit: int, timeout: float) -> GraphRows:
        with self._transaction("READ", timeout) as transaction:
            kind = transaction.run(f"EXPLAIN {cypher}").consume().query_type
            if kind != "r":
                raise QueryRefusedError("the server says that it does not only read", "MATCH and RETURN", cypher)
            result = transaction.run(cypher)
            rows = [tuple(_plain(value) for value in record) for record in islice(result, limit + 1)]
            return GraphRows(tuple(result.keys()), rows[:limit], len(rows) > limit)

    def _write(self, cypher: str, rows: list[dict[str, Any]]) -> list[list[Any]]:
        with self._transaction("WRITE", None) as transaction:
            done = [list(record) for record in transaction.run(cypher, rows=rows)]
            transaction.commit()
            return done

    @contextmanager
    def _transaction(self, mode: str, timeout: float | None) -> Generator[Any]:
        """Provide a transaction, which is rolled back unless it is committed."""
        driver = self._connected()
        from neo4j.exceptions import DriverError, Neo4jError

        try:
            with (
                driver.session(database=self._database, default_access_mode=mode) as session,
                session.begin_transaction(timeout=timeout) as transaction,
            ):
                yield transaction
                if not transaction.closed():  # the driver would commit it
                    transaction.rollback()
        except (DriverError, Neo4jError, OSError) as error:
            raise self._failed(error) from None  # the driver's message may hold the data sent

    def _connected(self) -> Any:
        with self._lock:
            if self._driver is None:
                try:
                    import neo4j
                except ImportError:
                    raise MissingExtraError("neo4j", "neo4j") from None
                self._driver = cast("Any", neo4j.GraphDatabase).driver(
                    self._uri,
                    auth=(self._user, self._password),
                    connection_timeout=self._timeout,
                    connection_acquisition_timeout=self._timeout,
                    max_transaction_retry_time=0.0,
                    telemetry_disabled=True,
                )
            return self._driver

    def _failed(self, error: Exception) -> DatabaseError:
        from neo4j.exceptions import Neo4jError

        known = error if isinstance(error, Neo4jError) else None
        code = (known and known.code) or type(error).__name__
        text = " ".join(str((known and known.message) or error).split()).replace(self._password or "\0", "***")
        if "TransactionTimedOut" in code:
            return QueryTimeoutError("the query took too long and was stopped: ask for less", self._uri)
        if code.startswith("Neo.ClientError.Security"):
            return DatabaseConnectionError(
                f"{self._uri} lets {self._user} not do this ({code}): check the account", self._uri
            )
        if isinstance(error, OSError) or not code.startswith("Neo."):
            return DatabaseConnectionError(f"{self._uri} cannot be reached ({text}): is the server running?", self._uri)
        return QueryError(f"the graph cannot do this: {text}", self._uri)


def _plain(value: Any) -> Any:
    """Return a value without the driver's classes: a node or an edge as a dict of its properties and label."""
    if hasattr(value, "labels"):
        return {"_LABEL": ":".join(value.labels), **value}
    if hasattr(value, "start_node") and hasattr(value, "type"):
        return {"_LABEL": value.type, **value}
    if hasattr(value, "nodes") and hasattr(value, "relationships"):
        return {
            "_NODES": [_plain(each) for each in value.nodes],
            "_RELS": [_plain(each) for each in value.relationships],
        }
    if isinstance(value, list):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType] # fmt: skip
    return value.iso_format() if hasattr(value, "iso_format") else value
