"""The base class of graph stores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from trivium.commander import driver_neutral, invoke, sync_method
from trivium.exceptions import ConfigurationError, QueryTimeoutError
from trivium.knowledge.graphs._cypher import check_cypher

End: TypeAlias = tuple[str, str]
"""One end of edges: the label of a node, and the property that names it."""


class GraphRows(NamedTuple):
    """The result of a query; `cut` is True if rows were left out."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    cut: bool = False


class GraphSchema(NamedTuple):
    """The schema of a graph.

    Args:
        nodes: for each label its properties and their types.
        edges: for each (from label, type, to label) its properties and their types.

    Example:
        >>> print(GraphSchema({"City": {"name": "STRING"}}, {("City", "NEAR", "City"): {"km": "INT64"}}))
        (:City {name: STRING})
        (:City)-[:NEAR {km: INT64}]->(:City)
    """

    nodes: Mapping[str, Mapping[str, str]]
    edges: Mapping[tuple[str, str, str], Mapping[str, str]]

    def __str__(self) -> str:
        lines = [f"(:{label}{_render_properties(properties)})" for label, properties in self.nodes.items()]
        for (source, kind, target), properties in self.edges.items():
            lines.append(f"(:{source})-[:{kind}{_render_properties(properties)}]->(:{target})")
        return "\n".join(lines)


def _render_properties(properties: Mapping[str, str]) -> str:
    inside = ", ".join(f"{name}: {kind}" for name, kind in properties.items())
    return f" {{{inside}}}" if inside else ""


class GraphStore(ABC):
    """Stores nodes and edges. Programs write them; `query` can only read."""

    @abstractmethod
    def schema(self) -> GraphSchema:
        """Return the labels, types and properties of the graph."""

    @abstractmethod
    def add_nodes(self, label: str, rows: Sequence[Mapping[str, object]], key: str = "name") -> None:
        """Add nodes, or update those with the same key."""

    @abstractmethod
    def add_edges(
        self, kind: str, rows: Sequence[Mapping[str, object]], source: End, target: End, key: str | None = None
    ) -> None:
        """Add or update edges between existing nodes; each row names its ends as `source` and `target`."""

    @abstractmethod
    def close(self) -> None:
        """Release the file or the connection; the next use opens it again."""

    @abstractmethod
    def _read(self, cypher: str, limit: int, timeout: float) -> GraphRows:
        """Run a checked query in read-only mode; it blocks, and any thread may call it."""

    @driver_neutral
    async def query_async(self, cypher: str, *, limit: int = 100, timeout: float = 10.0) -> GraphRows:
        """Run a query that only reads; `check_cypher` refuses any other.

        Args:
            cypher: the query, for example from a model.
            limit: maximum number of rows.
            timeout: maximum duration in seconds.

        Raises:
            QueryRefusedError: it may do more than read.
            QueryError: the store cannot run it, or it took too long.
            DatabaseConnectionError: the store cannot be reached, or is in use.
        """
        if limit < 1 or not 0 < timeout < float("inf"):
            raise ConfigurationError("limit is at least 1 row, and timeout more than 0 seconds")
        try:
            return await invoke(self._read, check_cypher(cypher), limit, timeout)
        except QueryTimeoutError as error:
            text = f"the query took too long and was stopped after {timeout:g} s: ask for less, or raise timeout=…"
            raise QueryTimeoutError(text, error.database, cypher, timeout) from error

    query = sync_method(query_async)


def escaped(name: str) -> str:
    """Quote a label, type or property for Cypher.

    Raises:
        ConfigurationError: the name is not valid.
    """
    if not name or "`" in name or not name.isprintable() or "\\" in name:
        raise ConfigurationError(f"{name!r} is no name for a label, a type or a property: use letters, digits and _")
    return f"`{name}`"


def need(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> None:
    """Check that each row has these values.

    Raises:
        ConfigurationError: a value is missing.
    """
    for row in rows:
        if missing := [name for name in names if row.get(name) is None]:
            raise ConfigurationError(f"{dict(row)!r} lacks {', '.join(missing)}")


def unknown_end(row: Mapping[str, object], source: End, target: End) -> ConfigurationError:
    """Return the error for an edge without a node at an end."""
    ends = f"no {source[0]} {row['source']!r} or no {target[0]} {row['target']!r}"
    return ConfigurationError(f"there is {ends}: add the nodes first")
