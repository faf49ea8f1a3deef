"""A shop in three databases, each on a real server of its own, for the tests that attack them."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from _postgres import postgres_server
from trivium.agents.special.sql import ReadOnlyDatabase

__all__ = ["DIALECTS", "Shop", "owner", "shop_of"]

DIALECTS = ("sqlite", "postgres", "mysql")
TABLES = {
    "customers": ["id", "name", "city", "joined", "extra"],
    "orders": ["id", "customer_id", "total", "placed", "state"],
    "big_spenders": ["customer_id", "spent"],
}
_JSON = {"sqlite": "TEXT", "postgres": "JSONB", "mysql": "JSON"}
_SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(50) NOT NULL, city VARCHAR(50), joined DATE, extra {json});
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, total DECIMAL(10,2), placed DATE, state VARCHAR(20),
    FOREIGN KEY (customer_id) REFERENCES customers (id));
CREATE TABLE secrets (id INTEGER PRIMARY KEY, word VARCHAR(50));
CREATE VIEW big_spenders AS SELECT customer_id, SUM(total) AS spent FROM orders GROUP BY customer_id
    HAVING SUM(total) > 100;
INSERT INTO secrets VALUES (1, 'swordfish');
INSERT INTO customers VALUES
    (1, 'Ada', 'Oslo', '2023-01-15', '{{"tags": ["vip", "old"], "age": 36}}'),
    (2, 'Bo', 'Bergen', '2023-03-02', '{{"tags": [], "age": 52}}'),
    (3, 'Cy', 'Oslo', '2024-07-20', '{{"tags": ["new"], "age": 21}}'),
    (4, 'Di', NULL, '2024-11-30', NULL);
INSERT INTO orders VALUES
    (1, 1, 100.00, '2024-01-10', 'paid'), (2, 1, 50.50, '2024-02-11', 'paid'), (3, 2, 20.00, '2024-02-12', 'open'),
    (4, 3, 300.00, '2024-03-05', 'paid'), (5, 3, 5.25, '2024-03-06', 'void'), (6, 1, 75.00, '2025-01-01', 'open');
"""
_ONLY = {
    "sqlite": "",
    "postgres": """
CREATE SEQUENCE counter;
CREATE FUNCTION log_it(word text) RETURNS int LANGUAGE sql AS $$ INSERT INTO secrets VALUES (99, word); SELECT 1 $$;
CREATE FUNCTION log_row(of customers) RETURNS text LANGUAGE sql AS $$ SELECT 'seen ' || of.name $$;
""",
    "mysql": """
CREATE FUNCTION log_it(word VARCHAR(50)) RETURNS INT MODIFIES SQL DATA
BEGIN INSERT INTO secrets VALUES (99, word)/**/; RETURN 1/**/; END;
CREATE PROCEDURE wipe() DELETE FROM secrets;
""",
}


class Shop(NamedTuple):
    """One of the databases: its URL, the folder of its server, and the guard in front of it."""

    dialect: str
    url: str
    folder: Path
    database: ReadOnlyDatabase

    def replace(self, **options: Any) -> ReadOnlyDatabase:
        """Another guard in front of the same database."""
        return ReadOnlyDatabase(self.url, **options)

    def content(self) -> dict[str, list[tuple[Any, ...]]]:
        """All that stands in it, read as its owner: rows, tables, routines, sequences, roles."""
        found: dict[str, list[tuple[Any, ...]]] = {}
        with owner(self.dialect, self.url) as run:
            for name in ("customers", "orders", "secrets"):
                found[name] = run(f"SELECT * FROM {name} ORDER BY id")
            for sql in _CATALOGS[self.dialect]:
                found[sql] = run(sql)
        return found

    def files(self) -> dict[str, bytes]:
        """The files beside the database that an attack could write."""
        return {each.name: each.read_bytes() for each in sorted(self.folder.glob("*.txt"))}


_CATALOGS = {
    "sqlite": ("SELECT name, sql FROM sqlite_master", "PRAGMA user_version"),
    "postgres": (
        "SELECT relname::text, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1, 2",
        "SELECT last_value, is_called FROM counter",
        "SELECT rolname::text, rolsuper FROM pg_roles ORDER BY 1",
        "SELECT count(*) FROM pg_largeobject_metadata",
    ),
    "mysql": (
        "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY 1",
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'shop' ORDER BY 1",
        "SELECT user, host FROM mysql.user ORDER BY 1, 2",
    ),
}


@contextlib.contextmanager
def owner(dialect: str, url: str) -> Generator[Any]:
    """Runs statements with all rights."""
    if dialect == "sqlite":
        database = sqlite3.connect(url.removeprefix("sqlite:///"))
        with contextlib.closing(database):
            yield lambda sql: list(database.execute(sql))  # type: ignore[misc]
            database.commit()
        return
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    url = url.replace("postgresql://", "postgresql+psycopg://").replace("mysql://", "mysql+pymysql://")
    with create_engine(url, poolclass=NullPool).connect() as connection:

        def run(sql: str) -> list[tuple[Any, ...]]:
            result = connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
            return [tuple(row) for row in result] if result.returns_rows else []

        yield run
        connection.commit()


def _filled(dialect: str, url: str, folder: Path) -> Shop:
    (folder / "private.txt").write_text("the private file\n", encoding="utf-8")
    with owner(dialect, url) as run:
        for statement in f"{_SCHEMA.format(json=_JSON[dialect])}{_ONLY[dialect]}".split(";\n"):
            if statement.strip():
                run(statement.replace("/**/", ""))
    return Shop(dialect, url, folder, ReadOnlyDatabase(url, tables=TABLES, timeout=20))


@contextlib.contextmanager
def shop_of(dialect: str, folder: Path) -> Generator[Shop]:
    """The shop on a server of its own, in this folder, but for PostgreSQL: its user can read only where that of
    `postgres_server` is."""
    if dialect == "postgres":
        with postgres_server() as server:
            yield _filled(dialect, str(server.get_uri()), server.pgdata.parent)
        return
    with _SERVERS[dialect](folder) as url:
        yield _filled(dialect, url, folder)


@contextlib.contextmanager
def _sqlite(folder: Path) -> Generator[str]:
    yield f"sqlite:///{folder}/shop.db"


@contextlib.contextmanager
def _mariadb(folder: Path) -> Generator[str]:
    if shutil.which("mariadbd") is None:
        if "mariadbd" in os.environ.get("TRIVIUM_TEST_WITHOUT", "").split(","):
            pytest.skip("TRIVIUM_TEST_WITHOUT names mariadbd")
        pytest.fail("mariadbd is missing: apt-get install mariadb-server, or set TRIVIUM_TEST_WITHOUT=mariadbd")
    data, socket = folder / "data", folder / "m.sock"
    common = ["--no-defaults", f"--datadir={data}"]
    if os.geteuid() == 0:
        common.append("--user=root")
    install = ["mariadb-install-db", *common, "--skip-test-db", "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, capture_output=True)
    command = [
        "mariadbd", *common, f"--socket={socket}", f"--pid-file={folder}/pid", "--skip-networking",
        "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--key-buffer-size=1M",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            lines: list[str] = []
            while "ready for connections" not in "".join(lines[-1:]):
                line = server.stderr.readline()
                assert line, f"mariadbd ended: {''.join(lines)}"
                lines.append(line)
            with owner("mysql", f"mysql://root@localhost/mysql?unix_socket={socket}") as run:
                run("CREATE DATABASE shop")
            yield f"mysql://root@localhost/shop?unix_socket={socket}"
        finally:
            server.terminate()


_SERVERS: Any = {"sqlite": _sqlite, "mysql": _mariadb}
