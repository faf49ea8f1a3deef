"""Never more than so many requests and tokens in any minute: for tasks, threads and processes that share a limiter."""

# The queue and the tables of a limiter must not grow.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal._places import postgres_place
from tasks._redis import redis_server
from trivium import Agent, AsyncAgent
from trivium.commander import Event, run_sync
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    ProviderBusyError,
    RateLimitStoreError,
    RunKilledError,
)
from trivium.llms import (
    Delta,
    FallbackModel,
    OpenAIModel,
    RateLimiter,
    RateLimitEvent,
    Request,
    RetryPolicy,
)
from trivium.llms import _rate_stores as stores
from trivium.llms._rate_stores import WINDOW, MemoryRateStore, Rate, SQLiteRateStore
from trivium.schema import Usage
from trivium.testing import ScriptedModel

from ._provider_answers import gpt_text, refused
from ._servers import ChatServer

ROOT = Path(__file__).parents[2]


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Limiters count by this clock, and their waits are over at once on it."""
    clock = Clock()

    async def wait(seconds: float | None = None, bell: object = None) -> None:
        assert seconds is not None
        clock.now += seconds

    def store(rate: Rate) -> MemoryRateStore:
        return MemoryRateStore(rate, clock)

    monkeypatch.setattr("trivium.llms._rate_limits.MemoryRateStore", store)
    monkeypatch.setattr("trivium.llms._rate_limits.wait", wait)
    return clock


# ---- the promise
@st.composite
def arrivals(draw: st.DrawFn) -> tuple[Rate, list[tuple[float, int, int]]]:
    requests = draw(st.none() | st.integers(1, 5))
    tokens = draw(st.integers(1, 100) if requests is None else st.none() | st.integers(1, 100))
    amount = st.integers(0, 100 if tokens is None else tokens)
    return Rate(requests, tokens), draw(st.lists(st.tuples(st.floats(0, 40), amount, amount), max_size=40))


@given(arrivals())
def test_never_more_than_the_limit_in_any_minute_and_never_later_than_it_must_be(
    case: tuple[Rate, list[tuple[float, int, int]]],
) -> None:
    rate, requests = case
    clock = Clock()
    store, taken = MemoryRateStore(rate, clock), list[tuple[float, int]]()
    for number, (pause, estimate, used) in enumerate(requests):
        clock.now += pause
        if seconds := store.take(str(number), estimate):
            clock.now += seconds * 0.999
            assert store.take(str(number), estimate) > 0, "a moment before it is still too early"
            clock.now += seconds * 0.001 + 1e-6
            assert store.take(str(number), estimate) == 0, "it is let through when it was said"
        before = [tokens for at, tokens in taken if at + WINDOW > clock.now]
        assert rate.requests is None or len(before) < rate.requests
        assert rate.tokens is None or sum(before) + estimate <= rate.tokens
        store.settle(str(number), min(estimate, used))
        taken.append((clock.now, min(estimate, used)))


def test_ten_thousand_requests_keep_the_limit_and_leave_nothing() -> None:
    clock, generator = Clock(), random.Random(1)
    store, minute, sent = MemoryRateStore(Rate(300, 50_000), clock), deque[tuple[float, int]](), 0
    while sent < 10_000:
        tokens = generator.randrange(500)
        if seconds := store.take(str(sent), tokens):
            clock.now += seconds
            continue
        minute.append((clock.now, tokens))
        while minute[0][0] + WINDOW <= clock.now:
            minute.popleft()
        assert len(minute) <= 300
        assert sum(each for _, each in minute) <= 50_000
        sent += 1
        clock.now += generator.random() * 0.1
    clock.now += WINDOW
    store.take("last", 1)
    assert len(store._minute) == len(store._by_ticket) == 1
    assert store._used == 1


def test_a_minute_goes_by_and_what_was_used_counts_instead_of_the_estimate(clock: Clock) -> None:
    model = ScriptedModel([["a", Usage(300, 300)]])
    limited = RateLimiter(tokens_per_minute=1000).of(model)
    asked: list[float] = []
    for _ in range(4):
        limited.chat("x" * 400)
        asked.append(clock.now - 1000)
    assert asked == [0, 0, 60, 60], "each is estimated at a hundred tokens and used six hundred"


def test_a_request_larger_than_the_limit_goes_alone(clock: Clock) -> None:
    limited = RateLimiter(tokens_per_minute=10).of(ScriptedModel(["a"]))
    limited.chat("x" * 400)
    limited.chat("x" * 400)
    assert clock.now == 1060


def test_several_models_share_a_limiter(clock: Clock) -> None:
    limiter = RateLimiter(requests_per_minute=1)
    for name in ("a", "b", "c"):
        limiter.of(ScriptedModel(["hi"], name)).chat("hi")
    assert clock.now == 1120


def test_a_retry_counts_too(clock: Clock, chat: ChatServer) -> None:
    chat.scripts = [refused("503 Busy"), refused("503 Busy"), gpt_text("a")]
    model = OpenAIModel("m", base_url=chat.url, retry=RetryPolicy(first_delay=0.0))
    assert RateLimiter(requests_per_minute=1).of(model).chat("hi") == "a"
    assert clock.now == 1120


def test_a_retry_counts_at_every_limiter_around_a_model(chat: ChatServer) -> None:
    chat.scripts = [refused("503 Busy"), gpt_text("a")]
    model = OpenAIModel("m", base_url=chat.url, retry=RetryPolicy(first_delay=0.0))
    outer, inner = RateLimiter(10), RateLimiter(10)
    assert outer.of(inner.of(model)).chat("hi") == "a"
    assert [len(each._store._minute) for each in (outer, inner)] == [2, 2]  # type: ignore[attr-defined] - of memory


def test_an_answer_is_given_out_though_its_tokens_cannot_be_counted_any_more(tmp_path: Path) -> None:
    (folder := tmp_path / "counts").mkdir()

    def answer(request: Request) -> str:
        folder.rename(tmp_path / "gone")
        return "paid for"

    limiter = RateLimiter(10, 1000, store=folder / "rates.db")
    model = limiter.of(ScriptedModel(lambda request: [answer(request), Usage(5, 5)]))
    assert model.chat("hi") == "paid for"
    with pytest.raises(RateLimitStoreError):
        model.chat("hi")


def test_a_limited_model_is_a_link_of_a_chain_and_a_chain_is_limited(clock: Clock) -> None:
    limiter, bad = RateLimiter(requests_per_minute=1), ScriptedModel([ProviderBusyError("busy", "", 503)])
    chain = FallbackModel([limiter.of(bad), limiter.of(ScriptedModel(["hello"]))])
    assert chain.chat("hi") == "hello"
    assert clock.now == 1060
    assert limiter.of(FallbackModel([bad, ScriptedModel(["hello"])])).chat("hi") == "hello"
    assert clock.now == 1120


# ---- tasks and threads
def test_first_come_first_served(clock: Clock) -> None:
    limiter, served = RateLimiter(requests_per_minute=1), list[int]()

    async def one(number: int) -> None:
        await limiter.take(1)
        served.append(number)

    async def run() -> None:
        await asyncio.gather(*(one(number) for number in range(20)))

    asyncio.run(run())
    assert served == list(range(20))
    assert not limiter._lines[os.getpid()]


def test_those_who_wait_in_line_are_served_in_order_while_the_first_waits() -> None:
    limiter, served, running = RateLimiter(tokens_per_minute=100), list[int](), list[asyncio.Task[None]]()

    async def one(number: int) -> None:
        await limiter.take(100)
        served.append(number)

    async def run() -> None:
        ticket = await limiter.take(100)
        running.extend(asyncio.create_task(one(number)) for number in range(3))
        await asyncio.sleep(0)  # each runs until it waits
        assert len(limiter._lines[os.getpid()]) == 3
        running[1].cancel()
        await asyncio.wait([running[1]])
        await limiter.settle(ticket, 0)  # what is given back wakes the first in line, not after a minute
        await running[0]
        assert served == [0]
        assert len(limiter._lines[os.getpid()]) == 1
        running[2].cancel()
        await asyncio.wait(running)
        assert not limiter._lines[os.getpid()]

    asyncio.run(run())


def test_a_small_request_does_not_overtake_a_large_one_that_waits() -> None:
    limiter = RateLimiter(tokens_per_minute=100)

    async def run() -> None:
        ticket = await limiter.take(60)
        large, small = (asyncio.create_task(limiter.take(tokens)) for tokens in (100, 40))
        done, _ = await asyncio.wait([small], timeout=0.05)
        assert not done
        await limiter.settle(ticket, 0)
        await large
        assert not small.done()
        small.cancel()
        await asyncio.wait([small])

    asyncio.run(run())


def test_threads_share_a_limiter(clock: Clock) -> None:
    limiter, times, lock = RateLimiter(requests_per_minute=5), list[float](), threading.Lock()
    model = limiter.of(ScriptedModel(["a"]))

    def work() -> None:
        for _ in range(5):
            model.chat("hi")
            with lock:
                times.append(clock.now)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(times) == 20
    assert clock.now >= 1000 + 60 * 3


def test_who_waits_is_reported_and_reaches_his_deadline() -> None:
    limiter = RateLimiter(requests_per_minute=1)
    agent = Agent(limiter.of(ScriptedModel(["a"])))
    agent("hi")
    stream = agent.stream("hi", timeout=0.05)
    events: list[Event] = []
    with pytest.raises(DeadlineExceededError):
        events.extend(stream)
    assert not limiter._lines[os.getpid()]
    assert next(event.data for event in events if isinstance(event, RateLimitEvent)) > 50
    asked = AsyncAgent(limiter.of(ScriptedModel(["a"])))

    async def run() -> None:
        async with asked.open("hi") as stream:
            async for event in stream:
                if isinstance(event, RateLimitEvent):
                    event.node.kill("enough")

    with pytest.raises(RunKilledError, match="enough"):
        asyncio.run(run())
    assert not limiter._lines[os.getpid()]


class Counting:
    """Never more at once than were let through."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        self.asked += 1
        await asyncio.sleep(0)
        yield "a"


def test_many_tasks_of_an_agent_keep_the_limit(clock: Clock) -> None:
    model = Counting()
    agent = AsyncAgent(RateLimiter(requests_per_minute=10).of(model))

    async def run() -> None:
        await asyncio.gather(*(agent.acall("hi", session_id=number) for number in range(100)))

    asyncio.run(run())
    assert model.asked == 100
    assert clock.now == 1000 + 60 * 9


# ---- processes
@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as path:
        yield f"unix://{path}"


def place_of(kind: str, request: pytest.FixtureRequest, number: int) -> str:
    """A store of its own."""
    if kind == "SQLite":
        return str(request.getfixturevalue("tmp_path") / "rates.db")
    if kind == "Redis":
        return f"{request.getfixturevalue('redis')}?db={number}"
    return postgres_place(request.getfixturevalue("server_url"), f"rates{number}").name


def ask_from_processes(
    store: str, requests: int, tokens: int, window: int, times: int, processes: int
) -> list[tuple[float, float]]:
    """Between which moments each request of some processes was let through."""
    command = [sys.executable, "-m", "llms._counting", store, *map(str, (requests, tokens, window, times))]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}"}
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe) for _ in range(processes)]
    for each in running:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    found: list[tuple[float, float]] = []
    for each in running:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in running:
        out, _ = each.communicate(timeout=60)
        assert each.returncode == 0
        found += [(float(before), float(after)) for before, after in map(str.split, out.splitlines())]
    return sorted(found)


@pytest.mark.parametrize(
    ("kind", "requests", "tokens"), [("SQLite", 10, 1000), ("Redis", 1000, 100), ("PostgreSQL", 10, 100)]
)
def test_processes_keep_a_limit_together(kind: str, requests: int, tokens: int, request: pytest.FixtureRequest) -> None:
    processes = 4 if kind == "PostgreSQL" else 2
    moments = ask_from_processes(place_of(kind, request, 3), requests, tokens, 300, 30 // processes, processes)
    assert len(moments) == 30 // processes * processes
    for begin, _ in moments:  # whatever the machine is busy with, these were surely let through in one window
        assert sum(begin <= before and after < begin + 0.3 for before, after in moments) <= 10


@pytest.mark.parametrize("kind", ["SQLite", "Redis", "PostgreSQL"])
def test_limiters_of_another_name_count_for_themselves(kind: str, request: pytest.FixtureRequest) -> None:
    place = place_of(kind, request, 9)
    for name in ("one", "two"):
        limiter = RateLimiter(requests_per_minute=1, store=place, name=name)
        run_sync(limiter.take, 1)
        assert limiter._store.take("another", 1) > 0


@pytest.mark.parametrize("kind", ["SQLite", "Redis", "PostgreSQL"])
def test_a_shared_store_settles_and_says_the_same_as_the_one_in_memory(
    kind: str, request: pytest.FixtureRequest
) -> None:
    store = RateLimiter(tokens_per_minute=100, store=place_of(kind, request, 11))._store
    assert store.take("a", 60) == 0
    assert 59 < store.take("b", 60) <= 60
    store.settle("a", 30)
    assert store.take("b", 60) == 0
    store.settle("nobody", 1000)
    assert 59 < store.take("c", 11) <= 60
    assert store.take("d", 10) == 0


def test_a_limiter_counts_on_when_its_database_has_closed_the_connection(request: pytest.FixtureRequest) -> None:
    place = place_of("PostgreSQL", request, 12)
    store: Any = RateLimiter(requests_per_minute=1, store=place)._store
    assert store.take("a", 1) == 0
    with psycopg.connect(place, autocommit=True) as database:
        database.execute("SELECT pg_terminate_backend(%s)", (store._connection.info.backend_pid,))
        deadline = time.monotonic() + 30
        query = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        while database.execute(query, (store._connection.info.backend_pid,)).fetchone() != (0,):
            assert time.monotonic() < deadline
    assert store.take("b", 1) > 59


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("postgresql://user:secret@127.0.0.1:1/rates", RateLimitStoreError),
        ("postgresql://user:secret@[::1/rates", ConfigurationError),
    ],
)
def test_a_database_that_cannot_be_used_is_a_typed_error_without_the_password(url: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="postgresql://") as caught:
        RateLimiter(1, store=url)._store.take("a", 1)
    assert "secret" not in str(caught.value)


def test_a_limiter_with_a_file_serves_an_agent_sync_and_async(tmp_path: Path) -> None:
    model = RateLimiter(5, 1000, store=tmp_path / "rates.db").of(ScriptedModel([["a", Usage(1, 1)]]))
    assert Agent(model)("hi").content == "a"
    assert asyncio.run(AsyncAgent(model).acall("hi")).content == "a"
    assert model.chat("hi") == "a"


def test_a_clock_that_is_set_back_lets_nobody_through_too_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, clock = SQLiteRateStore(tmp_path / "rates.db", Rate(1, None), "a"), Clock()
    monkeypatch.setattr(stores.time, "time", clock)
    assert store.take("a", 1) == 0
    clock.now -= 3600
    assert store.take("b", 1) == 60
    clock.now += 60
    assert store.take("b", 1) == 0


def test_a_place_that_cannot_be_used_is_a_typed_error_without_the_password(tmp_path: Path) -> None:
    limiter = RateLimiter(1, store=tmp_path / "no" / "such" / "folder.db")
    with pytest.raises(RateLimitStoreError, match=r"folder\.db"):
        limiter.of(ScriptedModel(["a"])).chat("hi")
    (tmp_path / "text.db").write_text("this is no database, " * 100)
    with pytest.raises(RateLimitStoreError, match="not a database"):
        RateLimiter(1, store=tmp_path / "text.db").of(ScriptedModel(["a"])).chat("hi")
    limiter = RateLimiter(1, store="redis://user:secret@127.0.0.1:1/0")
    with pytest.raises(RateLimitStoreError, match=r"redis://127\.0\.0\.1:1/0") as caught:
        limiter.of(ScriptedModel(["a"])).chat("hi")
    assert "secret" not in f"{caught.value}{caught.value!r}{limiter!r}{limiter.of(ScriptedModel(['a']))!r}"
    for url in ("ftp://somewhere", "redis://[::1"):
        with pytest.raises(ConfigurationError, match="redis://"):
            RateLimiter(1, store=url)
    with pytest.raises(ConfigurationError, match="does not name a file"):
        RateLimiter(1, store=":memory:")


def test_a_limiter_without_a_limit_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="requests_per_minute"):
        RateLimiter()
    for wrong in (0, -1):
        with pytest.raises(ConfigurationError, match="above 0"):
            RateLimiter(wrong)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 warns of every fork where there are threads
def test_a_child_counts_though_its_parent_was_counting_at_the_fork() -> None:
    fork, (here, there) = multiprocessing.get_context("fork"), multiprocessing.Pipe()
    child = fork.Process(target=lambda: there.send(store.take("child", 10)), daemon=True)

    def clock() -> float:
        return 0.0 if child.pid else child.start() or 0.0

    store = MemoryRateStore(Rate(None, 1000), clock)
    assert store.take("parent", 10) == 0
    assert here.poll(20), "the child waits for a lock that no thread of it holds"
    assert here.recv() == 0
    child.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 warns of every fork where there are threads
def test_a_child_does_not_wait_behind_those_that_waited_at_its_fork() -> None:
    limiter = RateLimiter(tokens_per_minute=1000)
    fork, (here, there) = multiprocessing.get_context("fork"), multiprocessing.Pipe()
    child = fork.Process(target=lambda: there.send(run_sync(limiter.take, 10).tokens), daemon=True)

    async def main() -> None:
        await limiter.take(900)
        waits = asyncio.create_task(limiter.take(900))
        await asyncio.sleep(0)
        assert limiter._lines[os.getpid()]
        child.start()
        waits.cancel()

    asyncio.run(main())
    assert here.poll(20)
    assert here.recv() == 10
    child.join()
