"""Graph stores: nodes and edges, written by programs and queried in Cypher, which can only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trivium.lazy import lazy_names

if TYPE_CHECKING:
    from trivium.knowledge.graphs._cypher import check_cypher
    from trivium.knowledge.graphs._graph import GraphRows, GraphSchema, GraphStore
    from trivium.knowledge.graphs._ladybug import LadybugGraph
    from trivium.knowledge.graphs._neo4j import Neo4jGraph

__all__ = ["GraphRows", "GraphSchema", "GraphStore", "LadybugGraph", "Neo4jGraph", "check_cypher"]

_HOMES = {
    "GraphRows": "_graph",
    "GraphSchema": "_graph",
    "GraphStore": "_graph",
    "LadybugGraph": "_ladybug",
    "Neo4jGraph": "_neo4j",
    "check_cypher": "_cypher",
}
lazy_names(__name__, _HOMES, __all__)
