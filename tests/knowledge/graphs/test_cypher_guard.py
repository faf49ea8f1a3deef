"""Of Cypher only what reads the graph passes; what passes runs, and what is refused changes nothing."""

# `_read` skips the guard: a test shows that the store refuses by itself.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.exceptions import DatabaseError, QueryRefusedError
from trivium.knowledge.graphs import LadybugGraph, check_cypher

PEOPLE = [{"name": "Ada", "born": 1815}, {"name": "Charles", "born": 1791}, {"name": "Mary", "born": 1780}]
KNOWS = [
    {"source": "Ada", "target": "Charles", "since": 1833},
    {"source": "Ada", "target": "Mary", "since": 1832},
    {"source": "Mary", "target": "Charles", "since": 1820},
]
PERSON = ("Person", "name")

# Each with its rows.
LEGAL: dict[str, list[tuple[object, ...]]] = {
    "MATCH (p:Person) RETURN p.name ORDER BY p.name": [("Ada",), ("Charles",), ("Mary",)],
    "match (p:Person) where p.born > 1800 return p.name;": [("Ada",)],
    "MATCH (p:Person {name: 'Ada'})-[k:KNOWS]->(q) RETURN q.name, k.since ORDER BY k.since": [
        ("Mary", 1832),
        ("Charles", 1833),
    ],
    "MATCH (p:Person) RETURN count(*)": [(3,)],
    "MATCH (p:Person) RETURN count(DISTINCT p.born) AS years": [(3,)],
    "MATCH (p:Person) RETURN p.name ORDER BY p.born DESC SKIP 1 LIMIT 1": [("Charles",)],
    "MATCH (p:Person)-[:KNOWS]->(q:Person) WITH p, count(q) AS n WHERE n > 1 RETURN p.name, n": [("Ada", 2)],
    "OPTIONAL MATCH (p:Person {name: 'Nobody'}) RETURN p.name": [(None,)],
    "MATCH (p:Person) WHERE p.name STARTS WITH 'A' OR p.name ENDS WITH 'y' RETURN p.name ORDER BY p.name": [
        ("Ada",),
        ("Mary",),
    ],
    "MATCH (p:Person) WHERE NOT p.name IN ['Ada', 'Mary'] RETURN p.name": [("Charles",)],
    'MATCH (p:Person) WHERE p.name CONTAINS "ar" RETURN min(p.born), max(p.born), avg(p.born)': [(1780, 1791, 1785.5)],
    "UNWIND [3, 1, 2] AS n RETURN n ORDER BY n": [(1,), (2,), (3,)],
    "RETURN 'CREATE (n) DELETE n' AS words": [("CREATE (n) DELETE n",)],
    "RETURN 1 + 2 * 3 - 4 / 2 % 3": [(5,)],
    "MATCH (a:Person)-[:KNOWS*1..2]->(b:Person {name: 'Charles'}) RETURN a.name, count(*) ORDER BY a.name": [
        ("Ada", 2),
        ("Mary", 1),
    ],
    "MATCH (p:Person) RETURN CASE WHEN p.born < 1800 THEN 'old' ELSE 'young' END AS kind, count(*) ORDER BY kind": [
        ("old", 2),
        ("young", 1),
    ],
    "MATCH (p:Person) RETURN upper(p.name) ORDER BY p.name LIMIT 1": [("ADA",)],
    "MATCH (p:Person) WHERE p.born IS NOT NULL RETURN p.name ORDER BY p.name LIMIT 1": [("Ada",)],
    "MATCH (p:Person {name: 'Ada'}) RETURN p.name UNION ALL MATCH (p:Person {name: 'Mary'}) RETURN p.name": [
        ("Ada",),
        ("Mary",),
    ],
    "MATCH (p:Person) // a remark\n RETURN /* another */ p.name ORDER BY p.name LIMIT 1": [("Ada",)],
    "MATCH (a:Person)-[k:KNOWS]->(b) RETURN label(k), collect(DISTINCT a.name) AS names ORDER BY size(names)": [
        ("KNOWS", ["Ada", "Mary"])
    ],
    "MATCH (`a b`:Person {name: 'Ada'}) RETURN `a b`.born": [(1815,)],
    "MATCH (p:Person) WHERE EXISTS { MATCH (p)-[:KNOWS]->(q:Person) } RETURN p.name ORDER BY p.name": [
        ("Ada",),
        ("Mary",),
    ],
    "RETURN 'it\\'s'": [("it's",)],
    "MATCH (p:Person {name: 'Ada'}) RETURN p": [({"_LABEL": "Person", "name": "Ada", "born": 1815},)],
}

ATTACKS = [
    "CREATE (n:Person {name: 'Eve'})",
    "MATCH (p:Person) SET p.born = 0",
    "MATCH (p:Person) SET p.born = 0 RETURN p",
    "MATCH (p:Person) DETACH DELETE p",
    "MATCH (p) DELETE p",
    "MATCH (p:Person) REMOVE p.born RETURN p",
    "MERGE (p:Person {name: 'Eve'}) RETURN p",
    "MATCH (p:Person) MERGE (p)-[:KNOWS]->(p) RETURN p",
    "MATCH (p:Person) WITH p CREATE (q:Person {name: 'Eve'}) RETURN q",
    "MATCH (p) FOREACH (x IN [p] | SET x.born = 1)",
    "DROP TABLE Person",
    "ALTER TABLE Person DROP born",
    "CREATE NODE TABLE Evil(id INT64, PRIMARY KEY(id))",
    "COPY Person FROM 'people.csv'",
    "COPY (MATCH (p:Person) RETURN p.name) TO 'stolen.csv'",
    "LOAD FROM '/etc/passwd' (header=false) RETURN *",
    "LOAD WITH HEADERS (a STRING) FROM '/etc/passwd' RETURN *",
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "MATCH (p) LOAD FROM 'x.csv' RETURN *",
    "EXPORT DATABASE 'copy'",
    "IMPORT DATABASE 'copy'",
    "ATTACH 'other.db' AS other (dbtype sqlite)",
    "USE other",
    "INSTALL httpfs",
    "LOAD EXTENSION 'evil.so'",
    "CALL threads=1",
    "CALL show_functions() RETURN *",
    "CALL current_setting('threads') RETURN *",
    "MATCH (p) CALL apoc.load.json('http://127.0.0.1/') YIELD value RETURN value",
    "MATCH (p) RETURN apoc.cypher.runFirstColumn('CREATE (n)', {}, true)",
    "RETURN apoc.load.csv('/etc/passwd')",
    "MATCH (p) WITH p CALL { CREATE (q) } RETURN p",
    "CALL { MATCH (p) DETACH DELETE p } IN TRANSACTIONS",
    "CALL db.index.fulltext.drop('x')",
    "CALL dbms.security.listUsers()",
    "SHOW USERS",
    "TERMINATE TRANSACTIONS 'x'",
    "GRANT ROLE admin TO eve",
    "CREATE USER eve SET PASSWORD 'x'",
    "MATCH (p:Person) RETURN p.name; MATCH (p) DETACH DELETE p",
    "MATCH (p:Person) RETURN p.name;; DROP TABLE Person",
    "BEGIN TRANSACTION",
    "CHECKPOINT",
    "EXPLAIN MATCH (p) DELETE p",
    "PROFILE MATCH (p) RETURN p",
    "/* MATCH */ CREATE (n:Person {name: 'Eve'})",
    "MATCH (create) create (n:Person {name: 'Eve'}) RETURN n",
    "MATCH (`create`) CREATE (n) RETURN n",
    "MATCH (p) RETURN `apoc.load.json`('x')",
    "MATCH (p) WHERE p.name = '\\u0027 DETACH DELETE p //' RETURN p",
    "MATCH (p) \\u0044ELETE p",
    "MATCH (p)\u00a0DELETE p",
    "MATCH (p) ＤＥＬＥＴＥ p",
    "MATCH (p) RETURN p UNION CREATE (n) RETURN n",
    "RETURN size(range(1, 1000000000))",
    "UNWIND range(1, 100000000) AS x RETURN count(x)",
    "RETURN repeat('a', 2000000000)",
    "MATCH (p) WHERE p.name = $name RETURN p",
    "CREATE MACRO evil(x) AS x + 1",
    "RETURN nextval('s')",
    "RETURN gen_random_uuid()",
    "MATCH (p) RETURN p YIELD x",
    "COMMENT ON TABLE Person IS 'x'",
    "PROJECT GRAPH g (Person)",
    "MATCH (p) RETURN 'open",
    "",
    "   // only a remark",
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LadybugGraph]:
    made = LadybugGraph(tmp_path_factory.mktemp("graph") / "people.graph")
    made.add_nodes("Person", PEOPLE)
    made.add_edges("KNOWS", KNOWS, PERSON, PERSON)
    yield made
    made.close()


def state_of(folder: Path) -> dict[str, str]:
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


@pytest.mark.parametrize("query", LEGAL)
def test_a_query_that_reads_runs_and_finds_what_is_there(graph: LadybugGraph, query: str):
    assert sorted(graph.query(query).rows, key=repr) == sorted(LEGAL[query], key=repr)


def test_no_attack_passes_the_guard_and_nothing_is_changed(graph: LadybugGraph, tmp_path: Path):
    folder = graph._path.parent
    before = state_of(folder)
    for attack in ATTACKS:
        with pytest.raises(QueryRefusedError) as caught:
            graph.query(attack)
        assert caught.value.query == attack
    assert state_of(folder) == before


@pytest.mark.parametrize(
    "attack", ["CREATE (:Person {name: 'Eve'})", "MATCH (p:Person) SET p.born = 0", "MATCH (p) DETACH DELETE p"]
)
def test_the_store_itself_refuses_to_write_where_the_guard_is_passed_by(graph: LadybugGraph, attack: str):
    with pytest.raises(DatabaseError, match="read-only"):
        graph._read(attack, 10, 5.0)
    assert graph.query("MATCH (p:Person) RETURN count(*), sum(p.born)").rows == [(3, 5386)]


@given(st.sampled_from(ATTACKS), st.randoms())
def test_no_change_of_case_space_or_remarks_lets_an_attack_pass(attack: str, random: object):
    import random as plain

    chosen = plain.Random(str(random))
    spaces = [" ", "\t", "\n", "/* x */", " // y\n"]
    changed = "".join(
        chosen.choice(spaces) if c == " " else c.swapcase() if c.isascii() and chosen.random() < 0.3 else c
        for c in attack
    )
    with pytest.raises(QueryRefusedError):
        check_cypher(changed)


@given(st.text(max_size=60))
def test_any_text_is_refused_or_written_anew_in_a_form_that_passes_again(text: str):
    try:
        once = check_cypher(text)
    except QueryRefusedError:
        return
    assert check_cypher(once) == once


def test_a_query_that_takes_too_long_is_stopped(graph: LadybugGraph):
    many = ", ".join(f"(n{i}:Person)" for i in range(20))
    wanted = " + ".join(f"n{i}.born" for i in range(20))
    with pytest.raises(DatabaseError, match="too long"):
        graph.query(f"MATCH {many} WHERE {wanted} = 7 RETURN n0.name ORDER BY n0.name", timeout=0.3)
    assert len(graph.query("MATCH (p:Person) RETURN p.name").rows) == 3
