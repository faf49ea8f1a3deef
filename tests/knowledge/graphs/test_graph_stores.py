"""A graph in a file: what is put in comes out, by reading only."""

# Other processes open the file of the store.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from trivium.exceptions import ConfigurationError, DatabaseConnectionError, DatabaseError, MissingExtraError
from trivium.knowledge.graphs import GraphSchema, LadybugGraph

PERSON = ("Person", "name")
FILMS = [("Alien", 1), ("Heat", 0.4)]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[LadybugGraph]:
    made = LadybugGraph(tmp_path / "deep" / "people.graph")
    yield made
    made.close()


def test_values_of_each_type_come_back(graph: LadybugGraph):
    row = {
        "name": "Ada `quoted` 'x' \\ ü",
        "born": date(1815, 12, 10),
        "seen": datetime(2026, 1, 2, 3, 4, 5),
        "height": 1.6,
        "alive": False,
        "papers": 2**40,
    }
    graph.add_nodes("Person", [row])
    found = graph.query("MATCH (p:Person) RETURN p.name, p.born, p.seen, p.height, p.alive, p.papers")
    assert found.rows == [tuple(row.values())]


def test_numbers_of_which_any_is_a_fraction_are_all_kept_as_they_are(graph: LadybugGraph):
    graph.add_nodes("Film", [{"name": "Alien", "rating": 8}, {"name": "Heat", "rating": 8.3}])
    graph.add_nodes("Film", [{"name": "Ran", "rating": 7}])
    edges: list[dict[str, object]] = [{"source": "Alien", "target": name, "share": n} for name, n in FILMS]
    graph.add_edges("LIKE", edges, ("Film", "name"), ("Film", "name"))
    rated = graph.query("MATCH (f:Film) RETURN f.rating ORDER BY f.name").rows
    assert rated == [(8.0,), (8.3,), (7.0,)]
    assert graph.query("MATCH ()-[e:LIKE]->(f) RETURN e.share ORDER BY f.name").rows == [(1.0,), (0.4,)]


@pytest.mark.parametrize(
    ("first", "then", "says"),
    [
        (8, 8.3, "whole numbers, and numbers were given: .*anew with floats"),
        (8, "8", "whole numbers, and text were given: make values of one type"),
        (1, True, "whole numbers, and True or False were given"),
        (date(2026, 1, 2), datetime(2026, 1, 2), "dates, and times were given"),
        (1, 2**63, "does not fit in 64 bits"),
    ],
)
def test_a_value_that_would_be_changed_is_refused(graph: LadybugGraph, first: object, then: object, says: str):
    graph.add_nodes("Person", [{"name": "Ada", "value": first}])
    with pytest.raises(ConfigurationError, match=says):
        graph.add_nodes("Person", [{"name": "Bob", "value": then}])
    if not isinstance(then, float):  # beside a float, a whole number is one
        with pytest.raises(ConfigurationError, match=says):
            graph.add_nodes("Other", [{"name": "Ada", "value": first}, {"name": "Bob", "value": then}])
    assert graph.query("MATCH (n) RETURN n.name, n.value").rows == [("Ada", first)]


@pytest.mark.parametrize(
    ("first", "then", "kept"),
    [
        (8, 9.0, 9),
        (8.5, 9, 9.0),
        ("8", 9, "9"),
        ("8", 0.125, "0.125"),
        ("8", date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2), date(2026, 1, 3), datetime(2026, 1, 3)),
        (datetime(2026, 1, 2), datetime(2026, 1, 3, 2, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 1, 3)),
    ],
)
def test_a_value_is_kept_in_the_type_of_its_property(graph: LadybugGraph, first: object, then: object, kept: object):
    for value in (first, then, None, then):
        graph.add_nodes("Person", [{"name": "Ada", "value": value}])
        graph.add_edges("KNOWS", [{"source": "Ada", "target": "Ada", "value": value}], PERSON, PERSON)
    (found,) = graph.query("MATCH (p:Person)-[e:KNOWS]->() RETURN p.value, e.value").rows
    assert [(value, type(value)) for value in found] == [(kept, type(kept))] * 2


def test_a_time_keeps_its_moment(graph: LadybugGraph):
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=2)))
    graph.add_nodes("Visit", [{"at": noon, "until": noon}], key="at")
    assert graph.query("MATCH (v:Visit) RETURN v.at, v.until").rows == [(noon, noon)]


def test_none_clears_a_property_and_what_is_left_out_stays(graph: LadybugGraph):
    graph.add_nodes("Person", [{"name": "Ada", "age": 36, "city": "Rome"}])
    graph.add_nodes("Person", [{"name": "Ada", "age": None, "unknown": None}])
    assert graph.query("MATCH (p:Person) RETURN p.age, p.city").rows == [(None, "Rome")]
    assert graph.schema().nodes["Person"].keys() == {"name", "age", "city"}


def test_nodes_and_edges_are_changed_where_they_are_there(graph: LadybugGraph):
    graph.add_nodes("Person", [{"name": "Ada"}, {"name": "Bob"}])
    for since in (1, 2):
        graph.add_nodes("Person", [{"name": "Ada", "age": since}])
        graph.add_edges("KNOWS", [{"source": "Ada", "target": "Bob", "since": since}], PERSON, PERSON)
    assert graph.query("MATCH (p:Person) RETURN p.name, p.age ORDER BY p.name").rows == [("Ada", 2), ("Bob", None)]
    assert graph.query("MATCH ()-[k:KNOWS]->() RETURN k.since").rows == [(2,)]


def test_the_schema_tells_labels_types_and_ends(graph: LadybugGraph):
    graph.add_nodes("Person", [{"name": "Ada"}])
    graph.add_nodes("City", [{"id": 7, "title": "Rome"}], key="id")
    graph.add_edges("LIVES_IN", [{"source": "Ada", "target": 7, "since": 1830}], PERSON, ("City", "id"))
    graph.add_edges("LIVES_IN", [{"source": "Ada", "target": "Ada"}], PERSON, PERSON)
    schema = graph.schema()
    assert schema.nodes == {"Person": {"name": "STRING"}, "City": {"id": "INT64", "title": "STRING"}}
    assert schema.edges == {
        ("Person", "LIVES_IN", "City"): {"since": "INT64"},
        ("Person", "LIVES_IN", "Person"): {"since": "INT64"},
    }
    assert "(:Person)-[:LIVES_IN {since: INT64}]->(:City)" in str(schema)
    assert str(GraphSchema({}, {})) == ""


def test_a_write_that_fails_half_way_leaves_nothing(graph: LadybugGraph):
    graph.add_nodes("Person", [{"name": "Ada"}, {"name": "Bob"}])
    edges = [{"source": "Ada", "target": "Bob"}, {"source": "Ada", "target": "Nobody"}]
    with pytest.raises(ConfigurationError, match="no Person 'Nobody'"):
        graph.add_edges("KNOWS", edges, PERSON, PERSON)
    assert graph.schema().edges == {}
    graph.add_edges("KNOWS", edges[:1], PERSON, PERSON)
    assert graph.query("MATCH (a)-[:KNOWS]->(b) RETURN a.name, b.name").rows == [("Ada", "Bob")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"born": 1}], "lacks name"),
        ([{"name": None}], "lacks name"),
        ([{"name": "Ada", "friends": ["Bob"]}], "friends is list"),
        ([{"name": "Ada", "a`b": 1}], "no name for a label"),
    ],
)
def test_rows_that_cannot_be_kept_are_reported(graph: LadybugGraph, rows: list[dict[str, Any]], said: str):
    with pytest.raises(ConfigurationError, match=said):
        graph.add_nodes("Person", rows)


def test_rows_are_cut_and_it_is_reported(graph: LadybugGraph):
    graph.add_nodes("Person", [{"name": str(i)} for i in range(5)])
    assert graph.query("MATCH (p:Person) RETURN p.name", limit=5).cut is False
    found = graph.query("MATCH (p:Person) RETURN p.name", limit=4)
    assert (len(found.rows), found.cut) == (4, True)


def test_wrong_cypher_is_reported_with_the_reason(graph: LadybugGraph):
    graph.add_nodes("Person", [{"name": "Ada"}])
    with pytest.raises(DatabaseError, match="Table Perso does not exist"):
        graph.query("MATCH (p:Perso) RETURN p.name")
    with pytest.raises(ConfigurationError, match="limit is at least 1"):
        graph.query("MATCH (p:Person) RETURN p.name", limit=0)


def test_a_graph_that_is_not_there_is_reported_and_none_is_made(tmp_path: Path):
    graph = LadybugGraph(tmp_path / "none.graph")
    with pytest.raises(DatabaseError, match="add nodes first"):
        graph.query("MATCH (p) RETURN p")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigurationError, match="a graph is a file"):
        LadybugGraph(":memory:")


def test_a_file_that_is_no_graph_is_reported(tmp_path: Path):
    (tmp_path / "a.graph").write_text("not a graph\n" * 1000)
    with pytest.raises(DatabaseError):
        LadybugGraph(tmp_path / "a.graph").query("MATCH (p) RETURN p")


def test_a_missing_package_is_reported_with_the_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ladybug", None)
    with pytest.raises(MissingExtraError, match="graph"):
        LadybugGraph(tmp_path / "a.graph").add_nodes("Person", [{"name": "Ada"}])


def test_many_threads_and_a_loop_read_while_one_writes(graph: LadybugGraph):
    graph.add_nodes("Person", [{"name": "0"}])
    counts: list[int] = []

    def read() -> None:
        counts.extend(graph.query("MATCH (p:Person) RETURN count(*)").rows[0][0] for _ in range(10))

    readers = [Thread(target=read) for _ in range(4)]
    for each in readers:
        each.start()
    graph.add_nodes("Person", [{"name": str(i)} for i in range(1, 20)])
    for each in readers:
        each.join()
    assert set(counts) <= {1, 20}
    assert asyncio.run(graph.query_async("MATCH (p:Person) RETURN count(*)")).rows == [(20,)]


def test_what_another_process_writes_is_seen(graph: LadybugGraph):
    graph.add_nodes("Person", [{"name": "Ada"}])
    program = (
        "import sys; from trivium.knowledge.graphs import LadybugGraph\n"
        "graph = LadybugGraph(sys.argv[1])\n"
        "graph.add_nodes('Person', [{'name': 'Eve'}])\n"
        "print(graph.query('MATCH (p:Person) RETURN count(*)').rows)\n"
    )
    run = [sys.executable, "-c", program, str(graph._path)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[(2,)]\n"
    assert graph.query("MATCH (p:Person) RETURN count(*)").rows == [(2,)]


def test_of_two_processes_that_write_one_is_reported(graph: LadybugGraph):
    program = (
        "import sys, ladybug\n"
        "database = ladybug.Database(sys.argv[1])\n"
        "print('open', flush=True); sys.stdin.readline()\n"
        "database.close()\n"
    )
    graph.add_nodes("Person", [{"name": "Ada"}])
    run = [sys.executable, "-c", program, str(graph._path)]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(DatabaseError, match="in use"):
            graph.add_nodes("Person", [{"name": "Eve"}])
        other.stdin.write("\n")
    graph.add_nodes("Person", [{"name": "Eve"}])
    assert graph.query("MATCH (p:Person) RETURN count(*)").rows == [(2,)]


@pytest.mark.parametrize("first", ["graph", "engine"])
def test_the_embedded_model_can_be_loaded_beside_it(tmp_path: Path, first: str):
    """Each is a library of C++ with thousands of symbols in common, and one process holds both."""
    parts = {
        "graph": f"from trivium.knowledge.graphs import LadybugGraph; graph = LadybugGraph({str(tmp_path / 'g')!r})\n"
        "graph.add_nodes('A', [{'name': 'x'}])\n",
        "engine": "import xllamacpp; xllamacpp.CommonParams()\n",
    }
    program = parts[first] + "".join(text for name, text in parts.items() if name != first) + "print('both')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "both\n"), done.stderr


def _killed_in_a_write(graph: LadybugGraph) -> None:
    """Leave the file as a writer leaves it that is killed at the end of its write, before it is part of the file."""
    program = (
        "import os, signal, sys, ladybug\n"
        "connection = ladybug.Connection(ladybug.Database(sys.argv[1]))\n"
        "connection.execute(\"CREATE (:Person {name: 'Bo'})\")\n"
        "print('written', flush=True); os.abort()\n"
    )
    graph.add_nodes("Person", [{"name": "Ada"}])
    run = [sys.executable, "-c", program, str(graph._path)]
    assert subprocess.run(run, capture_output=True, text=True).stdout == "written\n"
    log = Path(f"{graph._path}.wal")
    log.rename(f"{log}.checkpoint")


def test_a_graph_is_read_after_its_writer_was_killed(graph: LadybugGraph):
    _killed_in_a_write(graph)
    assert graph.query("MATCH (p:Person) RETURN p.name ORDER BY p.name").rows == [("Ada",), ("Bo",)]
    assert list(graph.schema().nodes) == ["Person"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fcntl")
def test_while_another_process_completes_a_write_a_reader_is_told_to_wait(graph: LadybugGraph):
    _killed_in_a_write(graph)
    program = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1], 'r+'); fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print('open', flush=True); sys.stdin.readline()\n"
    )
    run = [sys.executable, "-c", program, str(graph._path)]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(DatabaseConnectionError, match="try again when its writer is done"):
            graph.query("MATCH (p:Person) RETURN p.name")
        other.stdin.write("\n")
    assert len(graph.query("MATCH (p:Person) RETURN p.name").rows) == 2


def test_two_stores_of_one_file_take_turns_to_write(graph: LadybugGraph):
    other = LadybugGraph(graph._path)
    with graph._writing():
        thread = Thread(target=other.add_nodes, args=("Person", [{"name": "Bo"}]))
        thread.start()
        assert not other._lock.acquire(blocking=False)
    thread.join()
    assert graph.query("MATCH (p:Person) RETURN p.name").rows == [("Bo",)]


@pytest.mark.parametrize("key", ["number", "day", "at"])
def test_edges_of_one_type_are_told_apart_by_their_key(graph: LadybugGraph, key: str):
    graph.add_nodes("Person", [{"name": "Ada"}, {"name": "Bo"}])
    zone = timezone(timedelta(hours=2))
    paid: list[dict[str, object]] = [
        {"number": n, "day": date(2026, 1, n), "at": datetime(2026, 1, n, tzinfo=zone), "euros": euros}
        for n, euros in ((1, 5), (2, 7), (2, 8))
    ]
    for each in paid:
        graph.add_edges("PAID", [{"source": "Ada", "target": "Bo", **each}], PERSON, PERSON, key)
    rows = graph.query("MATCH (:Person)-[p:PAID]->(:Person) RETURN p.number, p.euros ORDER BY p.number").rows
    assert rows == [(1, 5), (2, 8)]
    with pytest.raises(ConfigurationError, match=f"lacks {key}"):
        graph.add_edges("PAID", [{"source": "Ada", "target": "Bo"}], PERSON, PERSON, key)


@pytest.mark.parametrize("ends", [(("Director", "name"), PERSON), (PERSON, ("Director", "name"))])
def test_a_label_that_no_node_has_is_told(graph: LadybugGraph, ends: Any):
    graph.add_nodes("Person", [{"name": "Ada"}])
    with pytest.raises(ConfigurationError, match="no node of the label Director: add the nodes first"):
        graph.add_edges("KNOWS", [{"source": "Ada", "target": "Ada"}], *ends)
