"""A cache in an SQLite file."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trivium.caches._connections import SQLiteConnections
from trivium.exceptions import CacheError, ConfigurationError
from trivium.schema.lowlevel import checked

if TYPE_CHECKING:
    from sqlite3 import Connection

BUSY_SECONDS: Final = 30.0
_FRESH: Final = 1.0  # seconds within which a second use of an entry is not written down
_TABLES: Final = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS entry (key TEXT PRIMARY KEY, value TEXT, bytes INTEGER, used REAL, expires REAL);
CREATE INDEX IF NOT EXISTS entry_used ON entry (used);
CREATE TABLE IF NOT EXISTS total (bytes INTEGER);
INSERT INTO total SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM total);
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON entry BEGIN UPDATE total SET bytes = bytes + new.bytes; END;
CREATE TRIGGER IF NOT EXISTS dropped AFTER DELETE ON entry BEGIN UPDATE total SET bytes = bytes - old.bytes; END;
COMMIT;
"""


class SQLiteCache:
    """Stores texts in a file, for all processes of a machine at once.

    It holds up to a number of bytes; the text that was not used for longest is deleted first. The file stays intact if
    a process is killed while it writes. Only the owner of the file can read it.

    Args:
        path: the file, on a disk of this machine; it is created if it does not exist. SQLite has two more beside it.
        max_bytes: of keys and texts together; None is no limit.

    Raises:
        ConfigurationError: `max_bytes` is below 1, or the path is that of no file.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> cache = SQLiteCache(f"{folder.name}/answers.db")
        >>> cache.set("question", "answer", ttl=3600)
        >>> cache.get("question"), cache.get("another")
        ('answer', None)
        >>> cache.close(); folder.cleanup()
    """

    @checked
    def __init__(self, path: str | Path, *, max_bytes: int | None = 256 << 20) -> None:
        if max_bytes is not None and max_bytes < 1:
            raise ConfigurationError("max_bytes is at least 1, or None for no limit")
        if str(path) == ":memory:":  # SQLite would keep something else for each thread
            raise ConfigurationError("':memory:' does not name a file: give a path, such as one in a temporary folder")
        self._path, self._max_bytes = Path(path).expanduser(), max_bytes
        self._clock: Callable[[], float] = time.time
        self._connections = SQLiteConnections(self._path, BUSY_SECONDS, _prepare)

    def __repr__(self) -> str:
        return f"SQLiteCache({str(self._path)!r})"

    def get(self, key: str) -> str | None:
        """Return the text that was set last; None if there is none, or it has expired.

        Raises:
            CacheError: the file cannot be used.
        """
        with self._database() as database:
            row = database.execute("SELECT value, used, expires FROM entry WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            value, used, expires = row
            now = self._clock()
            if expires is not None and expires <= now:
                return None
            if not 0 <= now - used < _FRESH:
                database.execute("UPDATE entry SET used = ? WHERE key = ?", (now, key))
            return value

    def set(self, key: str, value: str, ttl: float | None = None) -> None:
        """Store a text, for `ttl` seconds or without end; a text larger than the whole cache is not stored.

        Raises:
            CacheError: the file cannot be used.
        """
        now = self._clock()
        with self._database() as database:
            size = len(key.encode()) + len(value.encode())
            database.execute("BEGIN IMMEDIATE")
            database.execute("DELETE FROM entry WHERE key = ?", (key,))
            if self._max_bytes is None or size <= self._max_bytes:
                expires = None if ttl is None else now + ttl
                database.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", (key, value, size, now, expires))
                self._drop(database, now)
            database.execute("COMMIT")

    def _drop(self, database: Connection, now: float) -> None:
        """Make room: expired entries go first, then those that were not used for longest."""
        if self._max_bytes is None:
            return
        for statement, values in (
            ("DELETE FROM entry WHERE expires <= ?", (now,)),
            ("DELETE FROM entry WHERE key = (SELECT key FROM entry ORDER BY used, rowid LIMIT 1)", ()),
        ):
            while database.execute("SELECT bytes FROM total").fetchone()[0] > self._max_bytes:
                if not database.execute(statement, values).rowcount:
                    break

    def clear(self) -> None:
        """Delete all texts.

        Raises:
            CacheError: the file cannot be used.
        """
        with self._database() as database:
            database.execute("DELETE FROM entry")

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._connections.close()

    @contextmanager
    def _database(self) -> Generator[Connection]:
        """A connection for this thread alone, as long as the block runs."""
        import sqlite3

        try:
            with self._connections.use() as database:
                yield database
        except (sqlite3.Error, OSError, UnicodeError) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> CacheError:
        import sqlite3

        if isinstance(error, sqlite3.OperationalError | OSError):
            advice = "give a file that can be written, on a disk of this machine with room"
        elif isinstance(error, UnicodeError):
            advice = "a text with half a letter in it cannot be kept: write it as JSON"
        else:
            advice = "it is damaged, or no cache: delete it, and it is made anew, or give another path"
        return CacheError(f"the cache {self._path} cannot be used ({error}): {advice}", str(self._path))


def _prepare(database: Connection) -> None:
    if database.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'dropped'").fetchone()[0] == 0:
        database.executescript(_TABLES)
