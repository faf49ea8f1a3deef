"""An agent that answers from a graph, and cannot change it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trivium import ChatAgentConfig, Task
from trivium.agents.special.graph import GraphChatAgent, GraphChatAgentConfig
from trivium.exceptions import ConfigurationError
from trivium.knowledge.graphs import LadybugGraph
from trivium.testing import ScriptedModel, call_tool

FILMS = [{"name": "Alien", "year": 1979}, {"name": "Heat", "year": 1995}]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[LadybugGraph]:
    made = LadybugGraph(tmp_path / "films.graph")
    made.add_nodes("Film", FILMS)
    made.add_nodes("Director", [{"name": "Ridley Scott"}])
    made.add_edges("DIRECTED", [{"source": "Ridley Scott", "target": "Alien"}], ("Director", "name"), ("Film", "name"))
    yield made
    made.close()


def test_a_query_that_fails_is_told_to_the_model_which_tries_again(graph: LadybugGraph):
    model = ScriptedModel(
        [
            call_tool("query_graph", cypher="MATCH (f:Movie) RETURN f.name"),
            call_tool("query_graph", cypher="MATCH (f:Film) DELETE f"),
            call_tool("query_graph", cypher="MATCH (f:Film) RETURN f.name, f.year ORDER BY f.year"),
            "Alien is of 1979.",
        ]
    )
    agent = GraphChatAgent(GraphChatAgentConfig(llm=model, graph=graph))
    assert agent("Which is the oldest film?").content == "Alien is of 1979."
    told = [message["content"] for message in model.requests[-1].messages if message["role"] == "tool"]
    assert "Movie does not exist" in told[0]
    assert "DELETE is not allowed" in told[1]
    assert told[2] == '["f.name", "f.year"]\n["Alien", 1979]\n["Heat", 1995]'
    assert len(graph.query("MATCH (f:Film) RETURN f.name").rows) == 2


def test_the_schema_is_told_and_a_large_one_is_looked_up(graph: LadybugGraph):
    model = ScriptedModel([call_tool("graph_schema", label="Film"), call_tool("graph_schema", label="Song"), "Done."])
    GraphChatAgent(GraphChatAgentConfig(llm=model, graph=graph))("What is there?")
    assert "(:Director)-[:DIRECTED]->(:Film)" in model.requests[0].messages[0]["content"].replace(" {}", "")
    small = ScriptedModel([call_tool("graph_schema", label="Film"), call_tool("graph_schema", label="Song"), "Done."])
    GraphChatAgent(GraphChatAgentConfig(llm=small, graph=graph, max_schema_characters=10))("What is there?")
    second, third = (message["content"] for message in small.requests[-1].messages if message["role"] == "tool")
    assert "year" not in small.requests[0].messages[0]["content"]
    assert "Labels: Film, Director" in small.requests[0].messages[0]["content"]
    assert "year: INT64" in second
    assert third == "there is nothing called 'Song'"


def test_rows_beyond_the_cap_are_told_to_be_there(graph: LadybugGraph):
    model = ScriptedModel([call_tool("query_graph", cypher="MATCH (f:Film) RETURN f.name"), "Many."])
    GraphChatAgent(GraphChatAgentConfig(llm=model, graph=graph, max_rows=1))("Which films?")
    assert "there are more rows" in model.requests[1].messages[-1]["content"]


def test_it_works_in_a_task(graph: LadybugGraph):
    model = ScriptedModel([call_tool("query_graph", cypher="MATCH (f:Film) RETURN count(*)"), "There are 2. DONE"])
    result = Task(GraphChatAgent(GraphChatAgentConfig(llm=model, graph=graph)), interactive=False).run("How many?")
    assert result is not None
    assert "2" in result.content


def test_without_a_graph_it_is_told_to_give_one():
    with pytest.raises(ConfigurationError, match="graph="):
        GraphChatAgent(GraphChatAgentConfig(llm=ScriptedModel(["x"])))
    with pytest.raises(ConfigurationError, match="graph="):
        GraphChatAgent(ChatAgentConfig(llm=ScriptedModel(["x"])))  # pyright: ignore[reportArgumentType] - it is wrong
