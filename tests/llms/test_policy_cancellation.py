"""Who stops waiting stops paying: however a call is ended, its connection is closed at once, and nothing is left."""

# Open connections are visible only in the pools of the transport.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import contextlib
import gc
import queue
import socket
import threading
from collections.abc import Callable, Generator
from typing import Any, Self

import pytest

from trivium import Agent, AsyncAgent
from trivium.commander import Event, gather, run_sync
from trivium.commander.lowlevel import parent_of
from trivium.exceptions import DeadlineExceededError, RunKilledError
from trivium.http import HTTPClient
from trivium.llms import FallbackModel, OpenAIModel, OverflowModel, RateLimiter, Request, RetryEvent, RetryPolicy
from trivium.llms._call import call_model

from ._provider_answers import gpt_text, refused

GUARD = 60.0
ASK = Request([{"role": "user", "content": "hi"}])
HEAD = gpt_text()[0].replace(b"connection: close\r\n", b"")
WHOLE = b'{"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}'
STALLS: dict[str, bytes] = {
    "before the headers": b"",
    "after the headers": HEAD,
    "in a streamed answer": HEAD + gpt_text("Hel")[1],
    "in a whole answer": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n"
    + WHOLE[:30],
}


class StallingServer:
    """Sends a part of an answer and then nothing. `asked` gets each request, `closed` each connection that was left."""

    def __init__(self, sends: bytes) -> None:
        self.sends = sends
        self.asked: queue.Queue[None] = queue.Queue()
        self.closed: queue.Queue[None] = queue.Queue()
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                self._threads.append(threading.Thread(target=self._talk, args=(connection,)))
                self._threads[-1].start()

    def _talk(self, connection: socket.socket) -> None:
        data = b""
        with connection, contextlib.suppress(OSError):
            while piece := connection.recv(65536):
                data += piece
                if data.endswith(b"}"):
                    data = b""
                    connection.sendall(self.sends)
                    self.asked.put(None)
        self.closed.put(None)

    def wait_asked(self) -> None:
        self.asked.get(timeout=GUARD)

    def wait_closed(self) -> None:
        self.closed.get(timeout=GUARD)


@pytest.fixture(params=list(STALLS))
def server(request: pytest.FixtureRequest) -> Generator[StallingServer]:
    with StallingServer(STALLS[request.param]) as server:
        yield server


def model_at(server: StallingServer, **options: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=server.url, **options)


Wrap = Callable[[Any], Any]
WRAPS: dict[str, Wrap] = {
    "the model": lambda model: model,
    "a chain": lambda model: FallbackModel([model]),
    "a limited one": lambda model: RateLimiter(100).of(model),
    "one with a strategy": lambda model: OverflowModel(model, "drop_oldest"),
}


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_kill_closes_the_connection_of_a_sync_call(server: StallingServer, wrap: str) -> None:
    agent, nodes, errors = Agent(WRAPS[wrap](model_at(server))), queue.Queue[Any](), queue.Queue[BaseException]()

    def started(event: Event) -> None:
        if event.kind == "started" and event.name == "model":
            nodes.put(parent_of(event.node))

    def call() -> None:
        try:
            agent("hi", listeners=[started])
        except RunKilledError as error:
            errors.put(error)

    thread = threading.Thread(target=call)
    thread.start()
    server.wait_asked()
    nodes.get(timeout=GUARD).kill("enough")
    server.wait_closed()
    thread.join()
    assert "enough" in str(errors.get(timeout=GUARD))


@pytest.mark.parametrize("wrap", WRAPS)
def test_cancelling_a_task_closes_the_connection(server: StallingServer, wrap: str) -> None:
    agent = AsyncAgent(WRAPS[wrap](model_at(server)))

    async def run() -> None:
        task = asyncio.create_task(agent.acall("hi"))
        await asyncio.to_thread(server.wait_asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(server.wait_closed)  # before the loop ends

    asyncio.run(run())


def test_a_deadline_closes_the_connection_sync_and_async(server: StallingServer) -> None:
    with pytest.raises(DeadlineExceededError):
        Agent(model_at(server))("hi", timeout=0.1)
    server.wait_closed()

    async def run() -> None:
        with pytest.raises(DeadlineExceededError):
            await AsyncAgent(model_at(server)).acall("hi", timeout=0.1)
        await asyncio.to_thread(server.wait_closed)

    asyncio.run(run())


def test_leaving_a_stream_closes_the_connection_sync_and_async(server: StallingServer) -> None:
    with Agent(model_at(server)).stream("hi") as stream:
        events = iter(stream)
        next(events)
        server.wait_asked()
    server.wait_closed()

    async def run() -> None:
        async with AsyncAgent(model_at(server)).open("hi") as stream:
            events = aiter(stream)
            await anext(events)
            await asyncio.to_thread(server.wait_asked)
        await asyncio.to_thread(server.wait_closed)

    asyncio.run(run())


def test_closing_the_bare_stream_closes_the_connection() -> None:
    async def run() -> None:
        stream = model_at(server).stream(ASK)
        assert await anext(stream) == "Hel"
        await stream.aclose()
        await asyncio.to_thread(server.wait_closed)

    with StallingServer(STALLS["in a streamed answer"]) as server:
        asyncio.run(run())


def test_a_failure_beside_it_closes_the_connection(server: StallingServer) -> None:
    model = model_at(server)

    async def fail() -> None:
        await asyncio.to_thread(server.wait_asked)
        raise ValueError("beside")

    async def both() -> None:
        with pytest.raises(ValueError, match="beside"):
            await gather(lambda: call_model(model, ASK), fail)  # type: ignore[arg-type] - two kinds of results
        await asyncio.to_thread(server.wait_closed)

    asyncio.run(both())


@pytest.mark.parametrize("how", ["kill", "cancel"])
def test_a_wait_before_a_retry_ends_at_once_and_nothing_is_asked_again(how: str) -> None:
    """The server wants half a minute; a deadline is not waited past at all, see the tests of retries."""

    async def run() -> None:
        waits = asyncio.Event()

        def listen(event: Event) -> None:
            if isinstance(event, RetryEvent):
                waits.set()
                if how == "kill":
                    event.node.kill("enough")

        task = asyncio.create_task(AsyncAgent(model_at(server)).acall("hi", listeners=[listen]))
        await waits.wait()
        if how == "cancel":
            task.cancel()
        with pytest.raises((asyncio.CancelledError, RunKilledError)):
            await task

    with StallingServer(refused("503 Busy", retry_after="30")[0]) as server:
        asyncio.run(run())
        server.wait_closed()
        assert (server.connections, server.asked.qsize()) == (1, 1)


# ---- pools
def test_a_pool_for_each_loop_is_reused_and_leaves_nothing_when_the_loop_ends() -> None:
    whole = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(WHOLE), WHOLE)
    with StallingServer(whole) as server:
        model = model_at(server)

        async def some() -> list[str]:
            return [(await call_model(model, ASK)).text for _ in range(5)]

        for loops in (1, 2, 3):
            assert asyncio.run(some()) == ["hello"] * 5
            server.wait_closed()
            assert server.connections == loops
            gc.collect()
            client = model._transport._client
            assert isinstance(client, HTTPClient)
            assert not client._pools
        assert [run_sync(call_model, model, ASK).text for _ in range(3)] == ["hello"] * 3
        assert [run_sync(call_model, model, ASK).text for _ in range(3)] == ["hello"] * 3
        assert server.connections == 4  # sync callers share the loop behind them


def test_the_connections_of_a_model_go_with_it_while_its_loop_runs() -> None:
    whole = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(WHOLE), WHOLE)

    async def run() -> None:
        model: OpenAIModel | None = model_at(server)
        assert model is not None
        assert (await call_model(model, ASK)).text == "hello"
        model = None
        gc.collect()
        await asyncio.to_thread(server.wait_closed)

    with StallingServer(whole) as server:
        asyncio.run(run())


def test_after_a_cancelled_call_the_next_one_is_served() -> None:
    with StallingServer(STALLS["in a whole answer"]) as server:
        model = model_at(server, retry=RetryPolicy(max_tries=1))

        async def run() -> None:
            for _ in range(20):
                task = asyncio.create_task(AsyncAgent(model).acall("hi"))
                await asyncio.to_thread(server.wait_asked)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                await asyncio.to_thread(server.wait_closed)
            server.sends = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(WHOLE), WHOLE)
            assert (await AsyncAgent(model).acall("hi")).content == "hello"

        asyncio.run(run())
