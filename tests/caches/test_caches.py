"""Caches: a file that many processes share, and a Redis server."""

# The clock of a cache is replaced, so that no test waits.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks._redis import Relay, redis_server
from trivium.caches import Cache, RedisCache, SQLiteCache
from trivium.caches.lowlevel import Flights
from trivium.exceptions import CacheError, ConfigurationError

SECRET = "hunter2"


@pytest.fixture
def cache(tmp_path: Path) -> Generator[SQLiteCache]:
    made = SQLiteCache(tmp_path / "folder" / "cache.db")
    yield made
    made.close()


def _ticking(cache: SQLiteCache) -> list[float]:
    now = [1000.0]
    cache._clock = lambda: now[0]
    return now


def test_what_was_set_is_there_until_its_time_is_over(cache: SQLiteCache) -> None:
    now = _ticking(cache)
    cache.set("a", "one")
    cache.set("b", "two", ttl=10)
    now[0] += 9
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("one", "two", None)
    now[0] += 1
    assert (cache.get("a"), cache.get("b")) == ("one", None)
    cache.set("b", "three")
    assert cache.get("b") == "three"
    cache.clear()
    assert (cache.get("a"), cache.get("b")) == (None, None)
    assert isinstance(cache, Cache)


def test_any_text_is_kept_as_it_is(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "cache.db")

    @given(st.text(), st.text())
    def check(key: str, value: str) -> None:
        cache.set(key, value)
        assert cache.get(key) == value

    check()
    cache.close()


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "cache.db", max_bytes=30)
    now = _ticking(cache)
    for name in "abc":
        cache.set(name, name * 9)
        now[0] += 2
    assert cache.get("a") == "a" * 9
    now[0] += 2
    cache.set("d", "d" * 9)
    assert [cache.get(name) is not None for name in "abcd"] == [True, False, True, True]
    cache.set("a", "a")
    cache.set("e", "e" * 7)
    assert [cache.get(name) is not None for name in "acde"] == [True, True, True, True], "two and eight, ten and ten"
    cache.set("f", "f" * 30)
    assert cache.get("f") is None
    assert cache.get("e") is not None
    cache.close()


def test_what_is_over_goes_before_what_is_used(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "cache.db", max_bytes=20)
    now = _ticking(cache)
    cache.set("a", "a" * 9)
    now[0] += 2
    cache.set("b", "b" * 9, ttl=1)
    now[0] += 2
    cache.set("c", "c" * 9)
    assert [cache.get(name) is not None for name in "abc"] == [True, False, True]
    cache.close()


def test_a_file_that_is_no_cache_is_reported_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(CacheError, match="delete it") as failed:
        SQLiteCache(path).get("a")
    assert failed.value.cache == str(path)
    path.unlink()
    cache = SQLiteCache(path)
    cache.set("a", "one")
    cache.close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (path.stat().st_size - 100))
    with pytest.raises(CacheError, match="delete it"):
        cache.get("a")
    with pytest.raises(CacheError, match="can be written"):
        SQLiteCache(tmp_path).get("a")


def test_the_file_is_its_owners_alone(cache: SQLiteCache, tmp_path: Path) -> None:
    cache.set("a", "one")
    assert stat.S_IMODE((tmp_path / "folder" / "cache.db").stat().st_mode) == 0o600


def test_half_a_letter_is_reported_and_the_cache_goes_on(cache: SQLiteCache) -> None:
    for key, value in (("k", "\ud800"), ("\ud800", "v")):
        with pytest.raises(CacheError, match="half a letter"):
            cache.set(key, value)
    with pytest.raises(CacheError):
        cache.get("\ud800")
    cache.set("k", "v")
    assert cache.get("k") == "v"


def test_what_is_no_place_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="does not name a file"):
        SQLiteCache(":memory:")
    with pytest.raises(ConfigurationError, match="redis://"):
        RedisCache("redis://[::1")


def test_a_size_below_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="max_bytes"):
        SQLiteCache(tmp_path / "cache.db", max_bytes=0)


def test_threads_that_open_a_new_file_at_once_all_get_an_answer(tmp_path: Path) -> None:
    def ask(cache: SQLiteCache, start: threading.Barrier) -> str | None:
        start.wait()
        return cache.get("key")

    with ThreadPoolExecutor(8) as pool:
        for number in range(150):
            cache, start = SQLiteCache(tmp_path / f"{number}.db"), threading.Barrier(8)
            answers = [pool.submit(ask, cache, start) for _ in range(8)]
            assert [answer.result() for answer in answers] == [None] * 8
            cache.close()


def test_threads_share_a_cache_and_its_sum_stays_true(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "cache.db", max_bytes=2000)
    wrong: list[str] = []

    def work(number: int) -> None:
        for turn in range(40):
            key = f"{(number * 7 + turn) % 30}"
            cache.set(key, f"value of {key}")
            if cache.get(key) not in (None, f"value of {key}"):
                wrong.append(key)

    threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    cache.close()
    with sqlite3.connect(tmp_path / "cache.db") as database:
        (total,), (held,) = (
            database.execute(text).fetchone() for text in ("SELECT bytes FROM total", "SELECT SUM(bytes) FROM entry")
        )
    database.close()
    assert total == held <= 2000


WRITER = """
import sys
from trivium.caches import SQLiteCache
cache = SQLiteCache(sys.argv[1], max_bytes=200_000)
number, turns = int(sys.argv[2]), int(sys.argv[3])
turn = 0
while turns < 0 or turn < turns:
    key = str((number * 13 + turn) % 50)
    cache.set(key, key * 2000)
    found = cache.get(key)
    assert found is None or found == key * 2000, key
    turn += 1
    if turn == 5:
        print("going", flush=True)
cache.close()
"""


def test_many_processes_write_at_once_and_one_that_is_killed_leaves_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"

    def writer(number: int, turns: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRITER, str(path), str(number), str(turns)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    endless = [writer(number, -1) for number in range(2)]
    ending = [writer(number, 40) for number in range(2, 4)]
    for process in endless:
        assert process.stdout is not None
        assert process.stdout.readline() == "going\n"
        process.send_signal(signal.SIGKILL)
    for process in [*endless, *ending]:
        with process:
            process.wait(60)
    assert [process.returncode for process in ending] == [0, 0]
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        total, held = database.execute("SELECT (SELECT bytes FROM total), SUM(bytes) FROM entry").fetchone()
    database.close()
    assert total == held <= 200_000
    cache = SQLiteCache(path)
    cache.set("after", "the kill")
    assert cache.get("after") == "the kill"
    cache.close()


def test_a_child_of_a_fork_opens_the_file_itself(cache: SQLiteCache) -> None:
    cache.set("a", "parent")
    child = os.fork()
    if child == 0:
        try:
            ok = cache.get("a") == "parent"
            cache.set("b", "child")
            cache.close()
            os._exit(0 if ok else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (cache.get("a"), cache.get("b")) == ("parent", "child")


# ---- Redis
def test_a_redis_server_keeps_texts_for_their_time(tmp_path: Path) -> None:
    with redis_server(tmp_path) as path, Relay(path) as relay:
        one, other = RedisCache(f"unix://{path}"), RedisCache(relay.url)
        one.set("a", "one ü \ud800")
        one.set("b", "two", ttl=3600)
        assert (other.get("a"), other.get("b"), other.get("c")) == ("one ü \ud800", "two", None)
        assert 3500_000 < relay.command("PTTL", "trivium:cache:b") <= 3600_000
        assert relay.command("PTTL", "trivium:cache:a") == -1
        relay.command("PEXPIRE", "trivium:cache:b", 0)
        assert other.get("b") is None
        one.close()
        other.close()


def test_a_redis_server_that_is_gone_is_reported_without_its_password(tmp_path: Path) -> None:
    url = f"redis://someone:{SECRET}@127.0.0.1:1/0"
    cache = RedisCache(url)
    with pytest.raises(CacheError, match="Redis server runs") as failed:
        cache.get("a")
    assert failed.value.cache == "redis://127.0.0.1:1/0"
    assert SECRET not in f"{cache!r} {failed.value} {failed.value.cache}"
    with pytest.raises(ConfigurationError, match="redis://HOST"):
        RedisCache(f"http://someone:{SECRET}@host")
    cache.close()


def test_a_child_does_the_work_that_its_parent_did_at_the_fork():
    flights = Flights()
    assert flights.enter("key") is None
    child = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(flights.enter("key") is not None))
    with warnings.catch_warnings():  # Python 3.12 warns of every fork where there are threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    child.join()
    assert child.exitcode == 0
