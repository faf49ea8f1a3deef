"""The graph agent of a Neo4j server, by its documented names."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SecretStr

from trivium.agents._typed import T_co
from trivium.agents.special.graph._graph_chat import GraphChatAgent, GraphChatAgentConfig
from trivium.knowledge.graphs import Neo4jGraph
from trivium.schema import ConfigModel
from trivium.schema.lowlevel import OlderNames


class Neo4jSettings(ConfigModel, OlderNames):
    """The address of a Neo4j server.

    Args:
        uri: the address, without a password.
        username: the account.
        password: the password of the account.
        database: the name of the database; "": the account's default.
    """

    uri: str = "neo4j://127.0.0.1:7687"
    username: str = "neo4j"
    password: SecretStr = SecretStr("")
    database: str = ""


class Neo4jChatAgentConfig(GraphChatAgentConfig):
    """The config of a graph agent of a Neo4j server.

    Args:
        neo4j_settings: the server; not used if `graph` is given.
    """

    name: str = Field(default="Neo4jChatAgent", pattern=r"^[a-zA-Z0-9_-]+$")
    neo4j_settings: Neo4jSettings = Neo4jSettings()


class Neo4jChatAgent(GraphChatAgent[T_co]):
    """A `GraphChatAgent` of a Neo4j server.

    Args:
        config: a `Neo4jChatAgentConfig`.
        **kwargs: as for `ChatAgent`.

    Example::

        settings = Neo4jSettings(uri="neo4j://127.0.0.1:7687", username="reader", password=password)
        Neo4jChatAgent(Neo4jChatAgentConfig(neo4j_settings=settings))("Who directed it?")
    """

    def __init__(self, config: Neo4jChatAgentConfig, **kwargs: Any) -> None:
        if config.graph is None:
            at = config.neo4j_settings
            graph = Neo4jGraph(
                at.uri, user=at.username, password=at.password.get_secret_value(), database=at.database or None
            )
            config = config.model_copy(update={"graph": graph})
        super().__init__(config, **kwargs)
