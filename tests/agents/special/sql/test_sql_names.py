"""Names that need quotes, and what a description tells of tables: comments, values of enumerations, partitions."""

from __future__ import annotations

import warnings
from collections.abc import Generator

import pytest

from trivium.agents.special.sql import SQLChatAgent, SQLChatAgentConfig, check_query
from trivium.exceptions import QueryError, QueryRefusedError
from trivium.testing import ScriptedModel, call_tool

from ._attacks import ATTACKS
from ._servers import TABLES, Shop, owner

_QUOTE = {"sqlite": "`", "postgres": '"', "mysql": "`"}
_NAMED = [
    'CREATE TABLE "order" (id INTEGER PRIMARY KEY, "group" INTEGER, "Full Name" VARCHAR(20), "from" VARCHAR(20))',
    """INSERT INTO "order" VALUES (1, 7, 'Ada Byron', 'Oslo')""",
]
_POSTGRES = [
    "CREATE TYPE mood AS ENUM ('glad', 'it''s')",
    "CREATE TABLE feelings (id INT, m mood, Place POINT, j JSON, b JSONB)",
    "COMMENT ON TABLE feelings IS 'what people say'",
    """INSERT INTO feelings VALUES (1, 'glad', '(1,2)', '{"a": 1.10}', '{"a": 12345678901234567.89}')""",
    "CREATE TABLE part (id INT, d DATE) PARTITION BY RANGE (d)",
    "CREATE TABLE part_2024 PARTITION OF part FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
]


@pytest.fixture
def named(shop: Shop) -> Generator[Shop]:
    """The shop with tables whose names need quotes, and in PostgreSQL with kinds that only it has."""
    made = [each.replace('"', _QUOTE[shop.dialect]) for each in _NAMED]
    with owner(shop.dialect, shop.url) as run:
        for statement in made + (_POSTGRES if shop.dialect == "postgres" else []):
            run(statement)
        if shop.dialect == "mysql":
            run("ALTER TABLE `order` COMMENT = 'what people buy'")
    yield shop
    with owner(shop.dialect, shop.url) as run:
        run(made[0].replace("CREATE", "DROP").partition(" (")[0])
        for statement in ("DROP TABLE feelings", "DROP TYPE mood", "DROP TABLE part"):
            if shop.dialect == "postgres":
                run(statement)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM order WHERE group = 7",
        "SELECT o.id FROM ORDER AS o ORDER BY o.group",
        "WITH rows AS (SELECT id AS range FROM order) SELECT range FROM rows",
        "SELECT id AS references FROM order AS table",
    ],
)
def test_a_reserved_word_that_is_a_name_is_quoted(named: Shop, sql: str) -> None:
    if named.dialect == "mysql":
        sql = sql.replace("ORDER AS", "order AS")  # there names keep their case
    assert named.replace(tables=["order"]).query(sql).rows == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM order WHERE Full Name = 'Ada Byron' AND group = 7",
        "SELECT o.id FROM order o WHERE o.full name LIKE 'Ada%' -- the Full Name",
        """SELECT id FROM order WHERE FULL NAME <> 'his Full Name' AND Full Name <> 'it''s Full Name'""",
    ],
)
def test_a_known_name_of_several_words_is_quoted(named: Shop, sql: str) -> None:
    assert named.replace(tables=["order"]).query(sql).rows == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM order WHERE Full Name = 1; DROP TABLE orders",
        "DELETE FROM order WHERE Full Name = 1",
        "SELECT id FROM order WHERE Full Name = (SELECT word FROM secrets)",
        "SELECT id FROM order WHERE Full Name = 1 UNION SELECT word FROM secrets",
        "SELECT id FROM order WHERE Full Name = load_file('/etc/passwd')",
        "SELECT id FROM order WHERE Full Name('x') = 1",
        "SELECT id FROM order WHERE Full Name = 1 /*! UNION SELECT word FROM secrets */",
        "SELECT id FROM order WHERE 'Full Name = 1",
    ],
)
def test_what_is_refused_is_refused_with_such_a_name_too(named: Shop, sql: str) -> None:
    with pytest.raises(QueryRefusedError):
        named.replace(tables=["order"]).query(sql)


@pytest.mark.parametrize("shop", ["sqlite", "postgres", "mysql"], indirect=True)
def test_a_name_that_must_stand_in_quotes_is_told_with_them(named: Shop) -> None:
    with pytest.raises(QueryError, match=r"; write [`\"]Full Name[`\"] with the quotes"):
        named.replace(tables=["order"]).query("SELECT Full Name FROM order")


@pytest.mark.parametrize("sql", ["SELECT nope FROM order", "SELECT nope FROM orders"])
def test_there_is_no_such_advice_where_it_does_not_help(named: Shop, sql: str) -> None:
    with pytest.raises(QueryError, match="nope") as caught:
        named.replace(tables=["order", "orders"]).query(sql)
    assert [each for each in ("with the quotes", "LINE 1", "CURSOR") if each in str(caught.value)] == []


def test_names_stand_in_a_description_as_a_query_writes_them(named: Shop) -> None:
    model = ScriptedModel([call_tool("get_table_schema", tables=[named.database.written("order")]), "Done."])
    agent = SQLChatAgent(SQLChatAgentConfig(llm=model, database_uri=named.url, use_schema_tools=True))
    agent("Well?")
    quote = _QUOTE[named.dialect]
    lines = str(model.requests[-1].messages[-1]["content"]).splitlines()
    assert lines[0].partition(":")[0] == f"{quote}order{quote}"
    starts = [f"  {quote}{name}{quote} " for name in ("group", "Full Name", "from")]
    assert [start for start in starts if not any(line.startswith(start) for line in lines)] == []
    assert lines[1].startswith("  id ")


@pytest.mark.parametrize("dialect", sorted(ATTACKS))
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM {}",
        "SELECT {} FROM secrets",
        "SELECT group FROM secrets AS order",
        "SELECT id AS order FROM customers UNION SELECT word FROM secrets",
        "SELECT group(id) FROM customers",
        "SELECT order.log_it('x') FROM customers AS order",
        "WITH order AS (DELETE FROM customers RETURNING *) SELECT * FROM order",
        "SELECT * FROM group.secrets",
        "SELECT `group`('x'), \"group\"('x') FROM customers",
    ],
)
def test_a_reserved_word_opens_nothing(dialect: str, sql: str) -> None:
    for word in ("order", "GROUP", "system"):
        with pytest.raises(QueryRefusedError):
            check_query(sql.format(word), dialect, tables=TABLES)


@pytest.mark.parametrize("word", ["user", "current_role", "current_catalog", "session_user", "system_user"])
def test_words_with_a_value_of_their_own_are_not_quoted(word: str) -> None:
    with pytest.raises(QueryRefusedError):
        check_query(f"SELECT {word} FROM customers", "postgres", tables=TABLES)


@pytest.mark.parametrize("shop", ["postgres", "mysql"], indirect=True)
def test_comments_of_tables_are_told(named: Shop) -> None:
    name = {"postgres": "feelings", "mysql": "order"}[named.dialect]
    assert named.replace().tables([name], described=True)[0].comment.startswith("what people")


@pytest.mark.parametrize("shop", ["postgres"], indirect=True)
def test_values_of_an_enumeration_are_told_and_unknown_types_raise_no_warning(named: Shop) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (table,) = named.replace().tables(["feelings"], described=True)
    kinds = {each.name: each.type for each in table.columns}
    assert kinds == {"id": "INTEGER", "m": "mood ('glad', 'it''s')", "place": "", "j": "JSON", "b": "JSONB"}


@pytest.mark.parametrize("shop", ["postgres"], indirect=True)
def test_a_partition_is_listed_only_where_it_is_allowed_by_name(named: Shop) -> None:
    assert {"part", "part_2024"} & {each.name for each in named.replace().tables()} == {"part"}
    with pytest.raises(QueryRefusedError, match="no table part_2024"):
        named.replace().query("SELECT * FROM part_2024")
    assert named.replace(tables=["part_2024"]).query("SELECT * FROM part_2024").rows == []


@pytest.mark.parametrize("shop", ["postgres"], indirect=True)
def test_numbers_in_json_are_exact(named: Shop) -> None:
    rows = named.replace().query("SELECT j, b, b -> 'a' AS a FROM feelings")
    assert rows.rows == [('{"a": 1.10}', '{"a": 12345678901234567.89}', "12345678901234567.89")]
    assert '{"a": 12345678901234567.89}' in rows.text()
