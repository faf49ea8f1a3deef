"""The Neo4j store by contract: its official driver, and a server that speaks its protocol."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from trivium.agents.special.graph import Neo4jChatAgent, Neo4jChatAgentConfig, Neo4jSettings
from trivium.exceptions import ConfigurationError, DatabaseError, QueryRefusedError
from trivium.knowledge.graphs import Neo4jGraph
from trivium.testing import ScriptedModel, call_tool

from ._bolt_server import BEGIN, COMMIT, ROLLBACK, RUN, Answer, BoltServer

RIGHT, WRONG = "secret", "hunter2"
Started = Callable[..., tuple[BoltServer, Neo4jGraph]]


def people(cypher: str, parameters: dict[str, Any]) -> Answer:
    if cypher.startswith("EXPLAIN"):
        return Answer(kind="w" if "Secret" in cypher else "r")
    if cypher.startswith("CALL db.schema"):
        return Answer(
            ("nodeLabels", "propertyName", "propertyTypes"),
            [(["Person"], "name", ["String"]), (["Person"], "born", ["Long"]), (["Empty"], None, None)],
        )
    if cypher.startswith("MATCH (a)-[r]->(b)"):
        return Answer(("a", "t", "b", "key"), [("Person", "KNOWS", "Person", ""), ("Person", "KNOWS", "Person", "on")])
    if "rows" in parameters:
        there = [row for row in parameters["rows"] if row.get("target") != "Nobody"]
        return Answer(("source", "target"), [(row.get("source"), row.get("target")) for row in there], "w")
    if "Slow" in cypher:
        return Answer(error=("Neo.ClientError.Transaction.TransactionTimedOut", "timed out"))
    if "Perso)" in cypher:
        return Answer(error=("Neo.ClientError.Statement.SyntaxError", "wrong, said secret"))
    return Answer(("name", "born"), [("Ada", 1815), ("Charles", 1791), ("Mary", 1780)])


@pytest.fixture
def started() -> Iterator[Started]:
    opened: list[Any] = []

    def start(password: str = RIGHT) -> tuple[BoltServer, Neo4jGraph]:
        server = BoltServer(people)
        graph = Neo4jGraph(server.uri, password=password, timeout=5.0)
        opened.extend((graph, server))
        return server, graph

    yield start
    for each in opened:
        each.close()


def test_a_query_runs_in_a_transaction_for_reading_that_is_rolled_back(started: Started):
    server, graph = started()
    found = graph.query("MATCH (p:Person) RETURN p.name AS name, p.born AS born", limit=2, timeout=3.0)
    assert found == (("name", "born"), [("Ada", 1815), ("Charles", 1791)], True)
    assert server.received(BEGIN)[0][0]["mode"] == "r"
    assert server.received(BEGIN)[0][0]["tx_timeout"] == 3000
    assert len(server.received(ROLLBACK)) == 1
    assert server.received(COMMIT) == []


def test_what_the_server_says_would_write_is_not_run(started: Started):
    server, graph = started()
    with pytest.raises(QueryRefusedError, match="the server says"):
        graph.query("MATCH (p:Secret) RETURN p.name")
    assert [fields[0] for fields in server.received(RUN)] == ["EXPLAIN MATCH (p:Secret) RETURN p.name"]
    with pytest.raises(QueryRefusedError, match="DELETE is not allowed"):
        graph.query("MATCH (p) DELETE p")
    assert len(server.received(RUN)) == 1


def test_the_schema_is_read_from_the_server(started: Started):
    schema = started()[1].schema()
    assert schema.nodes == {"Person": {"name": "String", "born": "Long"}, "Empty": {}}
    assert schema.edges == {("Person", "KNOWS", "Person"): {"on": "ANY"}}


def test_nodes_and_edges_are_written_in_a_transaction_that_is_committed(started: Started):
    server, graph = started()
    graph.add_nodes("Person", [{"name": "Ada", "born": 1815}])
    person = ("Person", "name")
    graph.add_edges("KNOWS", [{"source": "Ada", "target": "Bob", "since": 1}], person, person)
    (node, given, _), (edge, ends, _) = server.received(RUN)
    assert node == "UNWIND $rows AS row MERGE (n:`Person` {`name`: row.`name`}) SET n += row"
    assert given == {"rows": [{"name": "Ada", "born": 1815}]}
    assert "MERGE (a)-[e:`KNOWS`]->(b) SET e += row.properties" in edge
    assert ends == {"rows": [{"source": "Ada", "target": "Bob", "properties": {"since": 1}}]}
    assert len(server.received(COMMIT)) == 2
    graph.add_edges("PAID", [{"source": "Ada", "target": "Bob", "number": 1}], person, person, "number")
    assert "MERGE (a)-[e:`PAID` {`number`: row.properties.`number`}]->(b)" in server.received(RUN)[-1][0]
    with pytest.raises(ConfigurationError, match="lacks number"):
        graph.add_edges("PAID", [{"source": "Ada", "target": "Bob"}], person, person, "number")
    with pytest.raises(ConfigurationError, match="no Person 'Nobody'"):
        graph.add_edges("KNOWS", [{"source": "Ada", "target": "Nobody"}], person, person)


def test_errors_of_the_server_are_typed(started: Started):
    _, graph = started()
    with pytest.raises(DatabaseError, match="took too long"):
        graph.query("MATCH (p:Slow) RETURN p.name")
    with pytest.raises(DatabaseError, match=r"cannot do this: wrong, said \*\*\*"):
        graph.query("MATCH (p:Perso) RETURN p.name")


def test_a_wrong_password_and_a_server_that_is_gone_are_reported_without_the_password(started: Started):
    with pytest.raises(DatabaseError, match="check the account") as refused:
        started(WRONG)[1].query("MATCH (p) RETURN p.name")
    server, graph = started()
    assert len(graph.query("MATCH (p:Person) RETURN p.name").rows) == 3
    server.close()
    with pytest.raises(DatabaseError, match="cannot be reached") as gone:
        graph.query("MATCH (p:Person) RETURN p.name")
    for caught, password in ((refused, WRONG), (gone, RIGHT)):
        assert password not in "".join(traceback.format_exception(caught.value))
    assert "secret" not in repr(graph)
    with pytest.raises(ConfigurationError, match="as arguments"):
        Neo4jGraph("neo4j://user:secret@127.0.0.1")


def test_the_agent_of_a_neo4j_server_asks_it(started: Started):
    server, _ = started()
    model = ScriptedModel([call_tool("query_graph", cypher="MATCH (p:Person) RETURN p.name, p.born"), "In 1815."])
    settings = Neo4jSettings.model_validate({"uri": server.uri, "password": "secret"})
    agent = Neo4jChatAgent(Neo4jChatAgentConfig(llm=model, neo4j_settings=settings))
    assert agent("When was Ada born?").content == "In 1815."
    assert "(:Person {name: String, born: Long})" in model.requests[0].messages[0]["content"]
    assert '["Ada", 1815]' in str(model.requests[1].messages[-1]["content"])
    assert "secret" not in repr(settings)
    agent.graph.close()
