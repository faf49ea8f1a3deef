"""An agent that answers questions from a graph, which it can only read."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from trivium.agents._chat_agent import ChatAgent
from trivium.agents._config import ChatAgentConfig
from trivium.agents._typed import T_co
from trivium.agents.special._query_agent import note_description
from trivium.exceptions import ConfigurationError, DatabaseError
from trivium.knowledge.graphs import GraphRows, GraphStore
from trivium.policies import Source

_INSTRUCTION = """You answer questions about what a graph database holds. Look it up with the tool query_graph: one \
Cypher query at a time, which only reads (MATCH … WHERE … RETURN …). Answer from the rows that come back, in a \
sentence or two, and say so where they do not tell. If a query fails, mend it and try again."""


class GraphChatAgentConfig(ChatAgentConfig):
    """The config of a graph agent.

    Args:
        graph: the graph that it queries, as a `LadybugGraph`.
        max_rows: the most rows of a result that the model reads.
        timeout: seconds for a query.
        max_schema_characters: the most characters of the schema in the system message; of a larger one it has only the
            labels and types, and the model looks up the rest.
    """

    name: str = Field(default="GraphChatAgent", pattern=r"^[a-zA-Z0-9_-]+$")
    system_message: str = _INSTRUCTION
    graph: Any = None
    max_rows: int = Field(default=50, ge=1)
    timeout: float = Field(default=10.0, gt=0)
    max_schema_characters: int = Field(default=4000, ge=0)


class GraphChatAgent(ChatAgent[T_co]):
    """Answers questions from a graph.

    The model writes Cypher, and reads the rows that come back. It can only read, whatever it writes: see
    `check_cypher` and `GraphStore`. The error of a query goes back to the model, which may try again.

    Args:
        config: a `GraphChatAgentConfig`.
        **kwargs: as for `ChatAgent`.

    Raises:
        ConfigurationError: the config has no graph.

    Example:
        >>> import tempfile
        >>> from trivium.knowledge.graphs import LadybugGraph
        >>> from trivium.testing import ScriptedModel, call_tool
        >>> folder = tempfile.TemporaryDirectory()
        >>> graph = LadybugGraph(f"{folder.name}/people.graph")
        >>> graph.add_nodes("Person", [{"name": "Ada", "born": 1815}])
        >>> query = "MATCH (p:Person {name: 'Ada'}) RETURN p.born"
        >>> model = ScriptedModel([call_tool("query_graph", cypher=query), "She was born in 1815."])
        >>> GraphChatAgent(GraphChatAgentConfig(llm=model, graph=graph))("When was Ada born?").content
        'She was born in 1815.'
        >>> graph.close(); folder.cleanup()
    """

    def __init__(self, config: GraphChatAgentConfig, **kwargs: Any) -> None:
        graph: object = config.graph if "graph" in type(config).model_fields else None
        if not isinstance(graph, GraphStore):
            raise ConfigurationError("give a GraphChatAgentConfig with graph=, as a LadybugGraph")
        self.graph: GraphStore = graph
        self._settings = config
        super().__init__(config, tools=[self.query_graph, self.graph_schema, *kwargs.pop("tools", ())], **kwargs)

    def query_graph(self, cypher: str) -> str:
        """Look something up in the graph.

        Args:
            cypher: one query that reads: MATCH, WHERE, WITH, RETURN, ORDER BY, LIMIT.
        """
        limits = self._settings
        try:
            found = self.graph.query(cypher, limit=limits.max_rows, timeout=limits.timeout)
        except DatabaseError as error:
            return f"The query failed: {error}"
        return rows_text(found)

    def graph_schema(self, label: str = "") -> str:
        """Return the labels, types and properties of the graph.

        Args:
            label: only lines with this label or type; "": all.
        """
        lines = str(self.graph.schema()).splitlines()
        found = [line for line in lines if f":{label}" in line] if label else lines
        return "\n".join(found) or f"there is nothing called {label!r}"

    def instruction(self) -> str:
        note_description(frozenset({Source("tool", "query_graph")}))
        schema = self.graph.schema()
        text = str(schema)
        if len(text) > self._settings.max_schema_characters:
            kinds = sorted({kind for _, kind, _ in schema.edges})
            text = (
                f"Labels: {', '.join(schema.nodes)}\nTypes: {', '.join(kinds)}\n"
                "Look their properties up with the tool graph_schema before you ask."
            )
        return f"{super().instruction()}\n\nThe graph holds:\n{text}"


def rows_text(found: GraphRows) -> str:
    """Write rows for a model: a line of JSON each, below the names of the columns."""
    if not found.rows:
        return "no rows"
    lines = [json.dumps(list(row), ensure_ascii=False, default=str) for row in found.rows]
    more = ["… there are more rows; ask for fewer, or count them"] if found.cut else []
    return "\n".join([json.dumps(found.columns, ensure_ascii=False), *lines, *more])
