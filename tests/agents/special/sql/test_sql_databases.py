"""The walls in front of three real databases."""

# `_run` skips the guard: these tests show that the database refuses by itself.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.agents.special.sql import ReadOnlyDatabase, Rows, check_query
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    DatabaseConnectionError,
    QueryError,
    QueryRefusedError,
    QueryTimeoutError,
)  # fmt: skip

from ._attacks import ATTACKS, BOMBS, REAL, WALLED
from ._legal import LEGAL, meant
from ._servers import TABLES, Shop, owner

_BODY = r"(?:[a;]|--|''|\\[01u']|\\\\|u0041|\\x4|\$t?\$|'\n ?')*"
_LITERAL = re.compile(rf"(?:[eEnN]|[uU]&)?'{_BODY}'(?: UESCAPE '[!u]')?|\$\${_BODY}\$\$|\$t\${_BODY}\$t\$", re.ASCII)


def _plain(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(round(float(each), 4) if isinstance(each, Decimal | float) else each for each in row) for row in rows]


def _error(run: Callable[..., Any], *arguments: Any) -> type[BaseException]:
    """The class of what is raised; where nothing is, one that nobody expects."""
    try:
        run(*arguments)
    except QueryError as error:
        return type(error)
    return BaseException


def test_what_people_ask_runs_and_gives_what_it_should(shop: Shop) -> None:
    for sql, expected in LEGAL[shop.dialect]:
        assert _plain(shop.database.query(sql).rows) == _plain(expected), sql


def test_what_is_sent_gives_what_the_query_gives_as_it_was_written(shop: Shop) -> None:
    queries = [*meant(shop.dialect), *(sql for sql, _ in LEGAL[shop.dialect])]
    assert len(queries) > 100
    for sql in queries:
        sent = check_query(sql, shop.dialect)
        assert shop.database._run(sent, 50).rows == shop.database._run(sql, 50).rows, f"{sql}\n{sent}"


@pytest.mark.parametrize("shop", ["postgres"], indirect=True)
@settings(max_examples=80)
@given(st.from_regex(_LITERAL, fullmatch=True))
def test_what_postgresql_reads_as_one_text_is_one_text(shop: Shop, literal: str) -> None:
    sql = f"SELECT {literal}"
    try:
        rows = shop.database._run(sql, 50).rows
    except QueryError:
        return  # no text to PostgreSQL
    assert shop.database._run(check_query(sql, "postgres"), 50).rows == rows


def test_a_plan_of_a_query_that_only_reads_is_shown(shop: Shop) -> None:
    assert shop.database.query("EXPLAIN SELECT name FROM customers ORDER BY name").rows
    if shop.dialect == "postgres":
        assert "Plan" in str(shop.database.query("EXPLAIN (FORMAT JSON) SELECT name FROM customers").rows)
        assert "actual" in str(shop.database.query("EXPLAIN ANALYZE SELECT name FROM customers").rows)
    if shop.dialect == "mysql":
        assert "customers" in str(shop.database.query("EXPLAIN FORMAT=JSON SELECT name FROM customers").rows)
    with pytest.raises(QueryRefusedError):
        shop.database.query("EXPLAIN SELECT * FROM secrets")


def test_nothing_passes_and_nothing_changes(shop: Shop) -> None:
    before = shop.content(), shop.files()
    for name, sql in ATTACKS[shop.dialect].items():
        assert _error(shop.database.query, sql.format(folder=shop.folder)) is QueryRefusedError, name
    assert (shop.content(), shop.files()) == before


def test_without_the_guard_the_database_stops_what_writes(shop: Shop) -> None:
    before = shop.content(), shop.files()
    for name in WALLED[shop.dialect]:
        sql = ATTACKS[shop.dialect][name].format(folder=shop.folder)
        assert issubclass(_error(shop.database._run, sql, 50), QueryError), name
    assert (shop.content(), shop.files()) == before


def test_without_the_guard_other_attacks_do_what_they_are_meant_to(shop: Shop) -> None:
    for name, expected in REAL[shop.dialect].items():
        rows = shop.database._run(ATTACKS[shop.dialect][name].format(folder=shop.folder), 50).rows
        said = " ".join(each.decode() if isinstance(each, bytes) else str(each) for row in rows for each in row)
        assert expected in said, name


def test_a_query_that_takes_too_long_is_stopped(shop: Shop) -> None:
    quick = shop.replace(tables=TABLES, timeout=0.3)
    for name, sql in BOMBS[shop.dialect].items():
        began = time.monotonic()
        with pytest.raises(QueryError) as caught:
            quick.query(sql)
        assert isinstance(caught.value, QueryTimeoutError) or "too big" in str(caught.value), name
        assert time.monotonic() - began < 20  # a guard: without a stop they take hours
    assert quick.query("SELECT count(*) FROM orders").rows == [(6,)]


def test_rows_are_capped_and_it_is_told(shop: Shop) -> None:
    few = shop.replace(tables=TABLES, max_rows=2)
    cut = few.query("SELECT id FROM orders ORDER BY id")
    assert (cut.rows, cut.is_cut) == ([(1,), (2,)], True)
    assert "(the first 2 rows; there are more" in cut.text()
    whole = few.query("SELECT id FROM orders WHERE id < 3 ORDER BY id")
    assert (len(whole.rows), whole.is_cut) == (2, False)
    assert len(few.query("SELECT id FROM orders LIMIT 5").rows) == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a | b", '"a | b"'),
        ("|", '"|"'),
        ("a|b || c", "a|b || c"),
        (timedelta(hours=-1), "-01:00:00"),
        (timedelta(days=2, seconds=5, microseconds=20), "48:00:05.000020"),
    ],
)
def test_a_value_is_told_as_one_value(value: object, text: str) -> None:
    assert Rows(("a",), [(value,)]).text() == f"a\n{text}\n(1 row)"


@pytest.mark.parametrize("shop", ["postgres"], indirect=True)
def test_what_python_has_no_value_for_is_text(shop: Shop) -> None:
    values = {
        "date 'infinity'": "infinity",
        "timestamptz '-infinity'": "-infinity",
        "date '0044-03-15 BC'": "0044-03-15 BC",
        "time '24:00'": "24:00:00",
        "interval '1 month'": "1 mon",
        "age(timestamp '2024-03-01', '2023-03-01')": "1 year",
        "array[interval '1 year']": ["1 year"],
        "date '2024-01-05'": date(2024, 1, 5),
    }
    assert shop.database.query(f"SELECT {', '.join(values)}").rows == [tuple(values.values())]


@pytest.mark.parametrize("shop", ["mysql"], indirect=True)
def test_a_text_that_would_be_read_instead_of_a_column_is_refused(shop: Shop) -> None:
    with pytest.raises(QueryRefusedError, match="no column; allowed: `name`"):
        shop.database.query('SELECT "name" FROM customers')


@pytest.mark.parametrize("shop", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", ["nam", " ", ", "])
def test_a_misspelt_column_in_double_quotes_is_told(shop: Shop, name: str) -> None:
    with pytest.raises(QueryError, match=rf"no such column: ?{name.strip()}; a text stands in '…'"):
        shop.database.query(f'SELECT max("{name}") FROM customers')
    assert shop.database.query('SELECT max("name") FROM "customers"').rows == [("Di",)]


@pytest.mark.parametrize("shop", ["mysql"], indirect=True)
def test_a_span_of_time_is_told_as_the_database_writes_it(shop: Shop) -> None:
    assert "\n-01:00:00\n" in shop.database.query("SELECT CAST('-01:00:00' AS TIME) AS t").text()


def test_tables_are_told_with_their_columns_and_keys(shop: Shop) -> None:
    assert [each.full_name for each in shop.database.tables()] == sorted(TABLES)
    (orders,) = shop.database.tables(["orders"], described=True)
    assert [each.name for each in orders.columns] == ["id", "customer_id", "total", "placed", "state"]
    assert [each.is_key for each in orders.columns] == [True, False, False, False, False]
    assert orders.columns[1].refers_to == "customers.id"
    with pytest.raises(QueryError, match="there is no table secrets; there are big_spenders"):
        shop.database.tables(["secrets"])


@pytest.mark.parametrize("shop", ["mysql"], indirect=True)
def test_a_role_that_may_only_read_is_told_the_columns_of_a_view(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    with owner(shop.dialect, shop.url) as run:
        run("CREATE USER reader@localhost IDENTIFIED BY 'r'")
        run("GRANT SELECT ON shop.* TO reader@localhost")
        database = ReadOnlyDatabase(shop.url.replace("root@", "reader:r@"))
        (view,) = database.tables(["big_spenders"], described=True)
        run("DROP USER reader@localhost")
    assert [each.name for each in view.columns] == ["customer_id", "spent"]
    assert not view.problem
    assert "described without columns" not in caplog.text


def test_all_tables_can_be_read_where_none_are_listed_and_new_ones_are_found(shop: Shop) -> None:
    assert shop.replace().query("SELECT word FROM secrets").rows == [("swordfish",)]
    assert "secrets" in [each.name for each in shop.replace(multi_schema=True).tables()]


def test_what_the_database_says_of_a_wrong_query_is_told(shop: Shop) -> None:
    with pytest.raises(QueryError, match=r"the database says: .*colour") as caught:
        shop.database.query("SELECT colour FROM customers")
    assert "colour" in caught.value.query
    assert not isinstance(caught.value, QueryRefusedError)


def test_an_engine_of_the_program_is_used_and_left_as_it_was(shop: Shop) -> None:
    from sqlalchemy import create_engine
    from sqlalchemy.orm import Session

    url = shop.url.replace("postgresql://", "postgresql+psycopg://").replace("mysql://", "mysql+pymysql://")
    engine = create_engine(url, pool_size=1, max_overflow=0)
    with Session(engine) as session:
        database = ReadOnlyDatabase(session, tables=TABLES)
    if shop.dialect == "postgres":
        assert database.query("SELECT interval '1 year'").rows == [("1 year",)]
    assert database.query("SELECT count(*) FROM orders").rows == [(6,)]
    with pytest.raises(QueryError):
        database._run("DELETE FROM orders", 1)
    with engine.connect() as connection, connection.begin() as work:
        deleted = connection.exec_driver_sql("DELETE FROM orders")
        assert deleted.rowcount == 6
        work.rollback()
    engine.dispose()


@pytest.mark.parametrize("file", ["", "/shop.db"])
@pytest.mark.parametrize("pool", ["SingletonThreadPool", "StaticPool"])
def test_a_transaction_on_a_shared_connection_is_not_rolled_back(pool: str, file: str, tmp_path: Path) -> None:
    import sqlalchemy
    from sqlalchemy.orm import Session

    url = f"sqlite:///{tmp_path}{file}" if file else "sqlite://"
    engine = sqlalchemy.create_engine(url, poolclass=getattr(sqlalchemy.pool, pool))
    with Session(engine) as session:
        database = ReadOnlyDatabase(session)
        session.execute(sqlalchemy.text("CREATE TABLE t (a)"))
        session.execute(sqlalchemy.text("INSERT INTO t VALUES (1)"))
        with pytest.raises(DatabaseConnectionError, match=r"commit it first, or .* without poolclass"):
            database.query("SELECT a FROM t")
        session.commit()
        assert session.execute(sqlalchemy.text("SELECT a FROM t")).all() == [(1,)]
        assert database.query("SELECT a FROM t").rows == [(1,)]
    engine.dispose()


@pytest.mark.parametrize("shop", ["mysql"], indirect=True)
def test_no_certificates_are_read_for_a_socket_of_this_machine(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("ssl.create_default_context")
    assert shop.replace(tables=TABLES).query("SELECT count(*) FROM orders").rows == [(6,)]


def test_the_password_is_shown_nowhere(shop: Shop) -> None:
    secret = "sw0rd/fish?"
    kind = {"sqlite": "postgresql", "postgres": "postgresql", "mysql": "mysql"}[shop.dialect]
    database = ReadOnlyDatabase(f"{kind}://eve:sw0rd%2Ffish%3F@127.0.0.1:1/shop", timeout=1)
    with pytest.raises(DatabaseConnectionError) as caught:
        database.query("SELECT 1")
    for text in (repr(database), str(caught.value), repr(caught.value), caught.value.database):
        assert secret not in text
        assert "sw0rd" not in text
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    with pytest.raises(ConfigurationError) as wrong:
        ReadOnlyDatabase("eve:sw0rd@nowhere")
    assert "sw0rd" not in str(wrong.value)


def test_what_is_no_database_is_refused_with_advice() -> None:
    with pytest.raises(DatabaseConnectionError, match="there is no database"):
        ReadOnlyDatabase("sqlite:////nowhere/shop.db").query("SELECT 1")
    with pytest.raises(ConfigurationError, match="give the engine"):
        ReadOnlyDatabase("sqlite://")
    with pytest.raises(ConfigurationError, match="give a URL"):
        ReadOnlyDatabase(7)
    for url in ("oracle://x", "mssql+pyodbc://eve:secret@x/y", "nosuch://x"):
        with pytest.raises(ConfigurationError, match="is not supported: use one of mariadb, mysql, postgresql, sqlite"):
            ReadOnlyDatabase(url)
    with pytest.raises(ConfigurationError, match="at least 1"):
        ReadOnlyDatabase("sqlite:///x.db", max_rows=0)


def _sqlite(folder: Path, script: str, **options: Any) -> ReadOnlyDatabase:
    database = sqlite3.connect(folder / "own.db")
    database.executescript(script)
    database.close()
    return ReadOnlyDatabase(f"sqlite:///{folder}/own.db", **options)


def test_a_broken_view_is_named_and_hides_no_other_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = _sqlite(tmp_path, "CREATE TABLE item (name TEXT); CREATE VIEW broken AS SELECT nope FROM missing")
    with caplog.at_level(logging.WARNING, "trivium.agents"):
        broken, item = database.tables(described=True)
    assert (broken.name, broken.columns, [each.name for each in item.columns]) == ("broken", (), ["name"])
    assert "missing" in broken.problem
    assert not item.problem
    assert "broken" in caplog.text
    assert database.query("SELECT count(*) FROM item").rows == [(0,)]


def test_bytes_that_are_no_utf8_hide_no_row(tmp_path: Path) -> None:
    script = "CREATE TABLE t (name TEXT); INSERT INTO t VALUES ('ok'), (CAST(x'4dfc6c6c6572' AS TEXT))"
    database = _sqlite(tmp_path, script)
    assert database.query("SELECT name FROM t").rows == [("ok",), ("M\ufffdller",)]


def test_a_locked_file_is_told_when_the_time_is_over(tmp_path: Path) -> None:
    database, new = (_sqlite(tmp_path, "CREATE TABLE IF NOT EXISTS t (a)", timeout=0.1) for _ in range(2))
    assert database.query("SELECT a FROM t").rows == []
    other, begun = sqlite3.connect(tmp_path / "own.db"), time.monotonic()
    other.execute("BEGIN EXCLUSIVE")
    for each in (database, new):
        with pytest.raises(QueryError, match="database is locked"):
            each.query("SELECT a FROM t")
    assert time.monotonic() - begun < 4  # sqlite3 itself would wait for 5 seconds
    other.close()


@pytest.mark.parametrize("tables", [None, ["sales.2024"]])
def test_a_table_with_a_dot_in_its_name_is_read(tmp_path: Path, tables: list[str] | None) -> None:
    script = """CREATE TABLE "sales.2024" ("a.b"); INSERT INTO "sales.2024" VALUES (1); CREATE TABLE "2024" (a)"""
    database = _sqlite(tmp_path, script, tables=tables)
    assert database.query('SELECT "a.b" FROM "sales.2024"').rows == [(1,)]
    if tables:
        assert _error(database._run, 'SELECT * FROM "2024"', 1) is QueryError


def test_without_the_guard_no_pattern_runs_in_python(tmp_path: Path) -> None:
    database = _sqlite(tmp_path, "CREATE TABLE t (a)")
    assert _error(database._run, f"SELECT '{'a' * 30}!' REGEXP '(a+)+$'", 5) is QueryError


VIRTUAL = """
    CREATE TABLE secret (word TEXT);
    INSERT INTO secret VALUES ('swordfish');
    CREATE VIRTUAL TABLE note USING fts5(body);
    INSERT INTO note VALUES ('hello'), ('world');
    CREATE VIRTUAL TABLE older USING fts4(body);
    INSERT INTO older VALUES ('hello');
    CREATE VIRTUAL TABLE area USING rtree(id, low, high);
    INSERT INTO area VALUES (1, 0, 2), (2, 5, 6);
    CREATE VIRTUAL TABLE pages USING dbstat;
    CREATE VIRTUAL TABLE beyond USING fts5(word, content='secret');
    INSERT INTO beyond (beyond) VALUES ('rebuild');
"""


@pytest.mark.parametrize("tables", [None, ["note", "older", "area", "beyond"]])
def test_virtual_tables_are_read_and_what_they_are_kept_in_is_not_shown(
    tmp_path: Path, tables: list[str] | None
) -> None:
    database = _sqlite(tmp_path, VIRTUAL, tables=tables)
    shown = ["area", "beyond", "note", "older", *(["secret"] if tables is None else [])]
    assert [each.name for each in database.tables(described=True)] == shown
    for _ in range(2):
        assert database.query("SELECT body FROM note").rows == [("hello",), ("world",)]
        assert database.query("SELECT body FROM note WHERE note MATCH 'world' ORDER BY rank").rows == [("world",)]
        assert database.query("SELECT body FROM older WHERE body MATCH 'hello'").rows == [("hello",)]
        assert database.query("SELECT id FROM area WHERE low > 3").rows == [(2,)]
    for sql in ("SELECT * FROM note_content", "SELECT * FROM pages", "SELECT * FROM area_node"):
        assert _error(database.query, sql) is QueryRefusedError
    for sql in ("INSERT INTO note VALUES ('x')", "DELETE FROM area", "SELECT * FROM pages", "PRAGMA table_list"):
        assert _error(database._run, sql, 5) is QueryError
    if tables is not None:  # a table of texts that stand in another shows nothing of it
        assert _error(database._run, "SELECT * FROM beyond", 5) is QueryError
        assert _error(database._run, "SELECT * FROM secret", 5) is QueryError


@pytest.mark.parametrize("tables", [None, ["docs"], ["docs", "docs_content", "orders_stat"]])
def test_a_table_of_the_user_named_as_a_part_of_a_virtual_one_is_his(tmp_path: Path, tables: list[str] | None) -> None:
    script = """
        CREATE TABLE docs_content (id INTEGER PRIMARY KEY, title TEXT, secret TEXT);
        INSERT INTO docs_content VALUES (1, 'hello', 'swordfish');
        CREATE VIRTUAL TABLE docs USING fts5(title, content='docs_content', content_rowid='id');
        INSERT INTO docs (docs) VALUES ('rebuild');
        CREATE TABLE orders_stat (a, b);
        INSERT INTO orders_stat VALUES (1, 2);
        CREATE VIRTUAL TABLE orders USING fts3(x);
        CREATE VIRTUAL TABLE "old ""(x" USING fts4(body, "it's (a");
        ALTER TABLE "old ""(x" RENAME TO Renamed;
    """
    database = _sqlite(tmp_path, script, tables=tables)
    shown = tables or ["Renamed", "docs", "docs_content", "orders", "orders_stat"]
    assert [each.name for each in database.tables()] == shown
    assert database.query("SELECT rowid FROM docs WHERE docs MATCH 'hello'").rows == [(1,)]
    if tables == ["docs"]:
        assert _error(database._run, "SELECT secret FROM docs_content", 5) is QueryError
    else:
        assert database.query("SELECT title, secret FROM docs JOIN docs_content USING (title)").rows == [
            ("hello", "swordfish")
        ]
        assert database.query("SELECT * FROM orders_stat").rows == [(1, 2)]


def test_no_name_of_a_table_keeps_every_query_waiting(tmp_path: Path) -> None:
    name = "a" + '""' * 50_000
    script = f'CREATE VIRTUAL TABLE "{name}"/**/USING fts5(a); CREATE TABLE t (a); INSERT INTO t VALUES (1)'
    database, begun = _sqlite(tmp_path, script), time.monotonic()
    assert database.query("SELECT a FROM t").rows == [(1,)]
    assert time.monotonic() - begun < 20


def test_a_misspelt_table_that_may_be_read_is_told(tmp_path: Path) -> None:
    database = _sqlite(tmp_path, "CREATE TABLE orders (id INTEGER)", tables=["order"])
    for _ in range(2):
        with pytest.raises(ArgumentTypeError, match=r"there is no table order: did you mean orders\?"):
            database.tables()
