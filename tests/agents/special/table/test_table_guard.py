"""Tables: nothing that a query says leaves them, and what people ask is answered."""

# `_run` skips the guard: these tests show that the database refuses by itself.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import datetime
import json
import re
import resource
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.special.sql._legal import meant
from trivium.agents.special.sql import check_query
from trivium.agents.special.table import ReadOnlyTables
from trivium.exceptions import QueryError, QueryRefusedError, QueryTimeoutError

SALES = """Date,City,Item,Unit Price ($),Count
2024-01-05,Oslo,pen,2.50,10
2024-01-09,Bergen,ink,12.00,1
2024-02-01,Oslo,ink,12.00,3
2024-02-14,Oslo,paper,5.25,
2024-03-03,Bergen,pen,2.75,40
"""
ATTACKS: Final = {
    "read_csv": "SELECT * FROM read_csv('{folder}/private.txt')",
    "read_csv_auto": "SELECT * FROM read_csv_auto('{folder}/private.txt', header = false)",
    "a file as a table": "SELECT * FROM '{folder}/sales.csv'",
    "a file as a table, quoted": 'SELECT * FROM "{folder}/sales.csv"',
    "a file as a table, in a join": "SELECT * FROM sales JOIN '{folder}/sales.csv' AS s ON true",
    "files by a pattern": "SELECT * FROM '{folder}/*.csv'",
    "from first": "FROM '{folder}/sales.csv'",
    "a page": "SELECT * FROM 'https://example.com/x.csv'",
    "read_text": "SELECT content FROM read_text('{folder}/private.txt')",
    "read_blob": "SELECT content FROM read_blob('{folder}/private.txt')",
    "read_json": "SELECT * FROM read_json('{folder}/private.txt')",
    "read_parquet": "SELECT * FROM read_parquet('{folder}/x.parquet')",
    "parquet metadata": "SELECT * FROM parquet_metadata('{folder}/x.parquet')",
    "sniff_csv": "SELECT * FROM sniff_csv('{folder}/private.txt')",
    "glob": "SELECT * FROM glob('{folder}/*')",
    "copy to": "COPY sales TO '{folder}/out.csv'",
    "copy from": "COPY sales FROM '{folder}/private.txt'",
    "export": "EXPORT DATABASE '{folder}/out'",
    "import": "IMPORT DATABASE '{folder}/out'",
    "attach": "ATTACH '{folder}/other.db' AS other",
    "attach sqlite": "ATTACH '{folder}/other.db' (TYPE sqlite)",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "pragma": "PRAGMA database_list",
    "set": "SET memory_limit = '100GB'",
    "set the time": "SET max_execution_time = 0",
    "reset": "RESET lock_configuration",
    "getenv": "SELECT getenv('HOME')",
    "current_setting": "SELECT current_setting('home_directory')",
    "getvariable": "SELECT getvariable('x')",
    "settings": "SELECT * FROM duckdb_settings()",
    "secrets": "SELECT * FROM duckdb_secrets()",
    "the catalog": "SELECT * FROM duckdb_tables()",
    "the catalog of SQLite": "SELECT sql FROM sqlite_master",
    "the information schema": "SELECT * FROM information_schema.tables",
    "query": "SELECT * FROM query('SELECT 1')",
    "query_table": "SELECT * FROM query_table('sales')",
    "serialized": "SELECT * FROM json_execute_serialized_sql('{{}}')",
    "autocomplete": "SELECT * FROM sql_auto_complete('SEL')",
    "create": "CREATE TABLE x AS SELECT 1",
    "create temp": "CREATE TEMP TABLE x AS SELECT 1",
    "create macro": "CREATE MACRO f() AS 1",
    "create secret": "CREATE SECRET (TYPE s3, KEY_ID 'x', SECRET 'y')",
    "drop": "DROP TABLE sales",
    "insert": "INSERT INTO sales SELECT * FROM sales",
    "update": "UPDATE sales SET city = 'x'",
    "delete in a CTE": "WITH x AS (DELETE FROM sales RETURNING *) SELECT * FROM x",
    "stacked": "SELECT 1; DROP TABLE sales",
    "prepare": "PREPARE x AS DROP TABLE sales",
    "call": "CALL pragma_version()",
    "checkpoint": "CHECKPOINT",
    "vacuum": "VACUUM",
    "explain analyze": "EXPLAIN ANALYZE DELETE FROM sales",
    "explain analyze as an option": "EXPLAIN (FORMAT JSON, ANALYZE) DELETE FROM sales",
    "stacked in dollars": "SELECT $$;$$; DROP TABLE sales",
    "stacked by an escape": "SELECT E'a\\\\'; DROP TABLE sales; --'",
    "a file in dollars": "SELECT * FROM read_csv($${folder}/private.txt$$)",
    "a file by an escape": "SELECT * FROM E'{folder}/private.txt'",
    "summarize": "SUMMARIZE '{folder}/sales.csv'",
    "describe": "DESCRIBE SELECT * FROM '{folder}/sales.csv'",
    "a chain of methods": "SELECT 'HOME'.getenv()",
    "a function by another name": "SELECT list_transform(['x'], f -> getenv(f))",
    "a function in a macro": "SELECT main.getenv('x')",
    "write_log": "SELECT write_log('x')",
    "a variable of the program": "SELECT * FROM SALES_FRAME",
    "pivot": "PIVOT sales ON city",
    "positional parameter": "SELECT $1, ?",
    "repeat bomb": "SELECT length(repeat('x', 2000000000))",
    "a long list": "SELECT len(range(1000000000))",
    "a long list in FROM": "SELECT * FROM unnest(generate_series(1, 1000000000))",
    "replace bomb": "SELECT length(replace(replace(replace(city, 'O', 'OOOOOOOO'), 'O', 'OOOOOOOO'), 'O',"
    " 'OOOOOOOO')) FROM sales",
    "replace bomb in a loop": "WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT replace(s, 'x', 'xxxx') FROM n)"
    " SELECT"
    " max(length(s)) FROM n",
    "columns by a pattern": "SELECT COLUMNS('.*') FROM sales",
    "sample": "SELECT * FROM sales USING SAMPLE 1",
    "sequence": "SELECT nextval('s')",
    "txid": "SELECT txid_current()",
    "version": "SELECT version()",
    "NUL": "SELECT 1\x00; DROP TABLE sales",
}
WALLED: Final = (
    "read_csv", "a file as a table", "a page", "read_text", "read_blob", "read_json", "sniff_csv", "glob", "copy to",
    "copy from", "export", "attach", "install", "load", "set", "set the time", "reset", "create", "create macro",
    "create secret", "drop", "insert", "update", "delete in a CTE", "getenv", "a variable of the program", "summarize",
)  # fmt: skip
BOMBS: Final = (
    "SELECT count(*) FROM range(1000000000000)",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
    "SELECT count(*) FROM range(100000000) AS a, range(1000000) AS b WHERE a.range * b.range = 7",
    "WITH " + ", ".join(f"s{at + 1} AS (SELECT s || s || s || s AS s FROM s{at})" for at in range(14)).replace(
        "FROM s0", "FROM (SELECT 'xxxxxxxxxx' AS s)") + " SELECT length(s) FROM s14",
)  # fmt: skip
WIDE: Final = "string_split(repeat('a,', 1000), ',')"
HUNGRY: Final = (
    f"SELECT len(list_transform({WIDE}, x -> list_transform({WIDE}, y -> repeat('q', 300))))",
    f"SELECT to_json(list_transform({WIDE}, x -> list_transform({WIDE}, y -> string_split(repeat('a,', 5), ','))))",
    "WITH RECURSIVE n(s) AS (SELECT 'a,' UNION ALL SELECT s || s FROM n WHERE length(s) < 20000000)"
    " SELECT max(len(regexp_extract_all(s, 'a'))) FROM n",
)
"""What takes much memory that DuckDB does not count."""
STUBBORN: Final = f"SELECT len(list_transform({WIDE}, x -> list_transform({WIDE}, y -> {'md5(' * 20}x || y{')' * 20})))"
"""What DuckDB does not stop before it is over."""
LEGAL: Final[list[tuple[str, Any]]] = [
    ("SELECT count(*) FROM sales", [(5,)]),
    ("SELECT $$it's$$, $t$a $$;$t$, E'it\\'s\\n', E'\\''", [("it's", "a $$;", "it's\n", "'")]),
    ("SELECT E'a\\'; DROP TABLE sales; --'", [("a'; DROP TABLE sales; --",)]),  # one text, as DuckDB reads it
    ("SELECT sum(unit_price * count) FROM sales", [(183.0,)]),
    ("SELECT city, sum(count)::INT AS n FROM sales GROUP BY ALL ORDER BY n DESC",
     [("Bergen", 41), ("Oslo", 13)]),
    ("SELECT item FROM sales WHERE unit_price = (SELECT max(unit_price) FROM sales) LIMIT 1",
     [("ink",)]),
    ("SELECT strftime(date, '%Y-%m') AS m, count(*) FROM sales GROUP BY m ORDER BY m",
     [("2024-01", 2), ("2024-02", 2), ("2024-03", 1)]),
    ("SELECT month(date), date_trunc('month', date)::DATE FROM sales LIMIT 1",
     [(1, datetime.date(2024, 1, 1))]),
    ("SELECT count(*) FILTER (WHERE city = 'Oslo'), count(count) FROM sales",
     [(3, 4)]),
    ("SELECT item, row_number() OVER (PARTITION BY city ORDER BY date DESC) AS r FROM sales QUALIFY r = 1 ORDER BY"
     " item",
     [("paper", 1), ("pen", 1)]),
    ("WITH per AS (SELECT item, avg(unit_price) AS p FROM sales GROUP BY item) SELECT item FROM per WHERE p > 5.1"
     " ORDER BY 1",
     [("ink",), ("paper",)]),
    ("SELECT s.item, people FROM sales s JOIN towns t ON t.town = s.city WHERE s.item = 'paper'",
     [("paper", 709037)]),
    ("SELECT town FROM towns WHERE town NOT IN (SELECT city FROM sales)",
     [("Tromsø",)]),
    ("SELECT DISTINCT lower(city) AS c FROM sales ORDER BY c", [("bergen",), ("oslo",)]),
    ("SELECT coalesce(count, 0) FROM sales WHERE item = 'paper'", [(0,)]),
    ("SELECT CASE WHEN unit_price < 3 THEN 'cheap' ELSE 'dear' END AS k, count(*) FROM sales GROUP BY k ORDER BY k",
     [("cheap", 2), ("dear", 3)]),
    ("FROM sales SELECT item WHERE city ILIKE 'ber%' ORDER BY item",
     [("ink",), ("pen",)]),
    ("SELECT string_agg(item, '+' ORDER BY item) FROM sales WHERE city = 'Bergen'",
     [("ink+pen",)]),
    ("SELECT median(unit_price), round(avg(unit_price), 2) FROM sales",
     [(5.25, 6.9)]),
    ("SELECT list_transform([1, 2], x -> x + 1), [3, 4][1]", [([2, 3], 3)]),
    ("SELECT date_diff('day', min(date), max(date)) FROM sales", [(58,)]),
    ("SELECT item FROM sales UNION SELECT town FROM towns ORDER BY 1 LIMIT 2",
     [("Bergen",), ("Oslo",)]),
    ("SELECT * EXCLUDE (date, unit_price, count) FROM sales LIMIT 1",
     [("Oslo", "pen")]),
    ("SELECT replace(replace(item, 'p', ''), 'i', ''), regexp_replace(item, '[aeiou]', '') FROM sales LIMIT 1",
     [("en", "pn")]),
    ("SELECT arg_max(item, unit_price), quantile_cont(unit_price, 0.5) FROM sales WHERE city = 'Bergen'",
     [("ink", 7.375)]),
    ("SELECT try_cast('x' AS INT), '1.5'::DOUBLE, lpad(item, 4, '.') FROM sales LIMIT 1",
     [(None, 1.5, ".pen")]),
]  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[ReadOnlyTables, Path]]:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "sales.csv").write_text(SALES, encoding="utf-8")
    (folder / "private.txt").write_text("the private file\n", encoding="utf-8")
    towns = [
        {"Town": "Oslo", "People": 709037},
        {"Town": "Bergen", "People": 291940},
        {"Town": "Tromsø", "People": None},
    ]
    tables = ReadOnlyTables({"sales": folder / "sales.csv", "towns": towns}, timeout=0.5, memory=1 << 28)
    yield tables, folder
    tables.close()


def test_the_corpus_is_as_large_as_it_has_to_be() -> None:
    assert len(ATTACKS) >= 25
    assert len(LEGAL) >= 20


def test_what_people_ask_runs_and_gives_what_it_should(shop: tuple[ReadOnlyTables, Path]) -> None:
    for sql, expected in LEGAL:
        assert shop[0].query(sql).rows == expected, sql


def test_what_is_sent_gives_what_the_query_gives_as_it_was_written(shop: tuple[ReadOnlyTables, Path]) -> None:
    for sql in [*meant("duckdb"), *(sql for sql, _ in LEGAL)]:
        if " -> " in sql and "list_" in sql:
            continue  # DuckDB 2 has another sign for functions of a query's own, which the guard writes
        sent = check_query(sql, "duckdb", tables=["sales", "towns"])
        assert shop[0]._run(sent, 50).rows == shop[0]._run(sql, 50).rows, f"{sql}\n{sent}"


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_passes(shop: tuple[ReadOnlyTables, Path], name: str) -> None:
    SALES_FRAME = {"a": [1]}  # DuckDB would find a variable of the program by its name
    with pytest.raises(QueryRefusedError) as caught:
        shop[0].query(ATTACKS[name].format(folder=shop[1]))
    assert SALES_FRAME
    assert caught.value.allowed


def test_without_the_guard_duckdb_stops_what_leaves_the_tables(shop: tuple[ReadOnlyTables, Path]) -> None:
    tables, folder = shop
    before = sorted(each.name for each in folder.iterdir())
    for name in WALLED:
        with pytest.raises(QueryError):
            tables._run(ATTACKS[name].format(folder=folder), 5)
    assert tables.query("SELECT count(*) FROM sales").rows == [(5,)]
    assert sorted(each.name for each in folder.iterdir()) == before


def test_a_plan_is_given_as_json(shop: tuple[ReadOnlyTables, Path]) -> None:
    assert shop[0].query("EXPLAIN ANALYZE SELECT item FROM sales").rows, "it runs a query that may be run"
    ((kind, plan),) = shop[0].query("EXPLAIN (FORMAT JSON) SELECT item FROM sales").rows
    assert kind == "physical_plan"
    assert json.loads(plan)


def test_a_query_that_takes_too_long_or_too_much_is_stopped(shop: tuple[ReadOnlyTables, Path]) -> None:
    for sql in BOMBS:
        with pytest.raises(QueryError) as caught:
            shop[0].query(sql)
        assert isinstance(caught.value, QueryTimeoutError) or "Out of Memory" in str(caught.value), str(caught.value)
    assert shop[0].query("SELECT count(*) FROM sales").rows == [(5,)]


def test_values_of_each_type_come_as_duckdb_gives_them(shop: tuple[ReadOnlyTables, Path]) -> None:
    kinds = (
        "1", "1.5", "1.25::DECIMAL(5, 2)", "'ü\n'", "true", "NULL", "'nan'::DOUBLE = 0", "'inf'::DOUBLE",
        "170141183460469231731687303715884105727::HUGEINT", "DATE '2024-02-29'", "TIME '10:11:12.5'",
        "TIMESTAMP '2024-02-29 10:11:12.5'", "TIMESTAMPTZ '2024-02-29 10:11:12+00'",
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID", "'ab'::BLOB", "[1, NULL, 3]", "[DATE '2024-01-01']",
        "{'a': 1, 'b': [1.5::DECIMAL(5, 2)]}", "row(1, 'x')", "map([1, 2], ['a', 'b'])", "'{\"a\": 1}'::JSON",
    )  # fmt: skip
    sql = f"SELECT {', '.join(kinds)}"
    import duckdb  # at the top of the module it is told to leak when Python ends

    with duckdb.connect() as database:
        (ours,), (raw,) = shop[0]._run(sql, 1).rows, database.execute(sql).fetchall()
    assert ours == raw
    assert [type(each) for each in ours] == [type(each) for each in raw]


def test_an_interval_is_told_as_duckdb_writes_it(shop: tuple[ReadOnlyTables, Path]) -> None:
    values = {
        "age(DATE '2024-03-01', DATE '2023-03-01')": "1 year",
        "INTERVAL 1 MONTH AS a": "1 month",
        "INTERVAL '-90 minutes' AS a": "-01:30:00",
        "[INTERVAL 14 MONTH]": "[1 year 2 months]",
        "to_years(80000000)": "80000000 years",
        "1": 1,
    }
    found = shop[0].query(f"SELECT {', '.join(values)}")
    assert found.rows == [tuple(values.values())]
    assert found.columns[1:3] == ("a", "a")
    ordered = shop[0].query("WITH n AS (SELECT range AS n FROM range(5)) SELECT to_days(n::INT) FROM n ORDER BY n DESC")
    assert [row[0] for row in ordered.rows] == ["4 days", "3 days", "2 days", "1 day", "00:00:00"]


@pytest.fixture(scope="module")
def patient() -> Generator[ReadOnlyTables]:
    """Tables that have time, and little memory."""
    tables = ReadOnlyTables([{"a": 1}], timeout=60, memory=1 << 26)
    yield tables
    tables.close()


@pytest.mark.parametrize("sql", HUNGRY)
def test_no_query_takes_much_more_memory_than_it_was_given(patient: ReadOnlyTables, sql: str) -> None:
    with pytest.raises(QueryError, match=r"[Mm]emory"):
        patient.query(sql)
    assert patient.query("SELECT a FROM data").rows == [(1,)]
    process = patient._process._process
    assert process is not None
    assert resource.prlimit(process.pid, resource.RLIMIT_DATA)[0] == (1 << 26) + (256 << 20)


def test_a_query_that_cannot_be_stopped_is_ended_with_its_process(shop: tuple[ReadOnlyTables, Path]) -> None:
    tables, _ = shop
    tables.query("SELECT 1")
    before = tables._process._process
    with pytest.raises(QueryTimeoutError):
        tables.query(STUBBORN)
    assert before is not None
    assert before.returncode == 1
    assert tables.query("SELECT count(*) FROM sales").rows == [(5,)]


def test_an_answer_that_would_fill_the_memory_is_an_error(patient: ReadOnlyTables) -> None:
    with pytest.raises(QueryError, match="answer is larger"):
        patient.query("SELECT range % 40, string_agg(repeat('x', 1000), '') FROM range(18000) GROUP BY 1")
    assert patient.query("SELECT a FROM data").rows == [(1,)]


@given(st.sampled_from(sorted(ATTACKS)), st.data())
def test_no_change_of_space_comments_and_case_lets_an_attack_pass(name: str, data: st.DataObject) -> None:
    made = ""
    for piece in re.split(r"(\s+|\W)", ATTACKS[name].format(folder="/x")):
        if piece.isspace():
            made += data.draw(st.sampled_from([piece, "\n", "/* x */", " -- y\n", "\u00a0", "\u2003", "\u200b"]))
        else:
            made += (
                data.draw(st.sampled_from([piece, piece.upper(), piece.swapcase()])) if piece.isidentifier() else piece
            )
    try:
        sent = check_query(made, "duckdb", tables=["sales", "towns"])
    except QueryRefusedError:
        return
    outside = re.sub(r"'(?:[^']|'')*'", "''", sent)
    assert not re.search(r"read|glob|copy|attach|getenv|setting|/x|;|query|drop|insert|\.csv|log", outside, re.I), sent
