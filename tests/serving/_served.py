"""Agents to serve, and servers of them in this process and in others."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Semaphore
from typing import Any

import httpx2
import uvicorn

from cli._zygote import Forked
from trivium import Agent
from trivium.actions import tool
from trivium.commander import wait
from trivium.llms import Delta, Request
from trivium.schema import Usage
from trivium.serving import AgentServer, agent_app
from trivium.testing import ScriptedModel, call_tool
from workers._programs import Ending

__all__ = [
    "GUARD",
    "Shop",
    "approve_all",
    "ask",
    "events_of",
    "follow",
    "make_blocking",
    "make_ending",
    "make_shop",
    "make_waiting_shop",
    "outcome",
    "own_process",
    "own_server",
    "people",
    "said",
    "serving",
    "start",
]

GUARD = 30.0
TESTS = Path(__file__).parents[1]


class Shop:
    """A model that looks a price up, pays, and answers; whatever else is said it answers with a count."""

    name = "shop"

    def __init__(self, waits: bool = False) -> None:
        self.has_waited = not waits

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        said = [each for each in request.messages if each["role"] != "system"]
        last = said[-1]
        if last["role"] == "user" and "buy" in last["content"]:
            yield call_tool("price", item="chair")
        elif last["role"] == "tool" and "costs" in last["content"]:
            yield call_tool("pay", amount=3)
        else:
            for word in ("You ", "said ", str(sum(each["role"] == "user" for each in said)), "."):
                yield word
                if last["content"] == "wait" and not self.has_waited:
                    self.has_waited = True
                    await wait()  # until it is stopped
        yield Usage(10, 5)


def make_shop(waits: bool = False) -> Agent:
    """An agent with two tools, of which one needs an approval; both mark the file of the environment, if any."""

    def mark(what: str) -> None:
        if place := os.environ.get("TRIVIUM_TEST_MARKS"):
            with Path(place).open("a") as file:
                file.write(f"{what}\n")

    @tool(effect="read")
    def price(item: str) -> str:
        """Look a price up."""
        mark("price")
        return f"a {item} costs 3"

    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        mark("pay")
        return f"paid {amount}"

    return Agent(Shop(waits), name="shop", tools=[price, pay])


def make_waiting_shop() -> Agent:
    """The same agent; where it is told to wait it does so until it is stopped."""
    return make_shop(waits=True)


def make_blocking() -> Agent:
    """An agent that calls the tool it is told to: one blocks its thread twice, one the server, and one ends it."""
    marks = Path(os.environ["TRIVIUM_TEST_MARKS"])

    def block(most: int) -> str:
        with marks.open("a") as file:
            file.write("at work\n")
        if len(marks.read_text().splitlines()) <= most:
            time.sleep(600)
        return "free"

    @tool(effect="read")
    def thread() -> str:
        """Block the thread, the first two times."""
        return block(2)

    @tool(effect="read")
    async def loop() -> str:
        """Block the loop of the server."""
        return block(9)

    @tool(effect="read")
    def crash() -> None:
        """End the process."""
        os.kill(os.getpid(), signal.SIGKILL)

    def answer(request: Request) -> Any:
        last = request.messages[-1]
        return last["content"] if last["role"] == "tool" else call_tool(last["content"])

    return Agent(ScriptedModel(answer), name="shop", tools=[thread, loop, crash])


def make_ending() -> Ending:
    """A module that raises what would end a program or a task."""
    return Ending()


@contextmanager
def serving(agent: Any = None, **options: Any) -> Generator[httpx2.Client]:
    """A server in this process, and a client of it that shows the token."""
    options = {"token": "right-token", "port": 0, **options}
    with AgentServer(agent or make_shop(), **options) as server, ask(server.url) as client:
        yield client


@contextmanager
def own_server(app: Any = None) -> Generator[httpx2.Client]:
    """An application, or that of the shop, in a server of one's own, and a client of it."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:
        server = uvicorn.Server(uvicorn.Config(app or agent_app(make_shop(), token="right-token"), log_config=None))
        running = thread.submit(server.run, [listener])
        try:
            with ask(f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
                yield client
        finally:
            server.should_exit = True
            running.result()


def ask(url: str, token: str = "right-token") -> httpx2.Client:
    return httpx2.Client(
        base_url=url,
        trust_env=False,
        verify=False,
        timeout=GUARD,
        headers={"authorization": f"Bearer {token}"} if token else {},
    )


@contextmanager
def people(client: httpx2.Client, *tokens: str) -> Generator[list[httpx2.Client]]:
    """Clients of one server with tokens of their own."""
    with ExitStack() as stack:
        yield [stack.enter_context(ask(str(client.base_url), token)) for token in tokens]


def start(client: Any, message: str, **body: Any) -> str:
    """The id of a new run."""
    response = client.post("/runs", json={"message": message, **body})
    assert response.status_code == 202, response.text
    assert response.headers["location"] == f"/runs/{response.json()['id']}"
    return response.json()["id"]


def said(client: Any, message: str, **body: Any) -> Any:
    """What a run answers."""
    return outcome(client, start(client, message, **body))


def outcome(client: Any, run: str) -> Any:
    """What a run answers; else its last event."""
    *_, last = events_of(client, run)
    return last["message"]["content"] if last["kind"] == "done" else last


def follow(
    client: httpx2.Client, run_id: str, after: int = 0, until: str = "", is_there: Semaphore | None = None
) -> list[tuple[int, str]]:
    """The events after one of a number, as (number, data), up to the first whose data has a text.

    Args:
        client: the client.
        run_id: the run.
        after: the number.
        until: the text.
        is_there: released when the stream has begun.
    """
    found: list[tuple[int, str]] = []
    with client.stream("GET", f"/runs/{run_id}/events", headers={"last-event-id": str(after)}) as response:
        assert response.status_code == 200, response.read()
        if is_there is not None:
            is_there.release()
        number = 0
        for line in response.iter_lines():
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("data: "):
                found.append((number, line[6:]))
                if until and until in line:
                    return found
    return found


def events_of(client: httpx2.Client, run_id: str, until: str = "") -> Iterator[dict[str, Any]]:
    """The events as objects."""
    return iter([json.loads(data) for _, data in follow(client, run_id, until=until)])


def approve_all(client: httpx2.Client, run_id: str) -> None:
    """Wait until the run asks, and approve what it asks."""
    *_, paused = events_of(client, run_id, '"paused"')
    for each in paused["approvals"]:
        decision = {"digest": each["digest"], "approved": True}
        assert client.post(f"/runs/{run_id}/approvals", json=decision).status_code == 200


@contextmanager
def own_process(
    journal: str | Path, *arguments: str, marks: Path | None = None, made_by: str = "make_shop"
) -> Generator[tuple[Any, httpx2.Client]]:
    """A server in a process of its own, by the command line; without a journal where that is ""."""
    program = ["trivium", "serve", f"serving._served:{made_by}", "--port", "0", *arguments]
    environment = {**os.environ, "TRIVIUM_SERVE_TOKEN": "right-token"}
    if journal:
        program += ["--journal", str(journal)]
    if marks is not None:
        environment["TRIVIUM_TEST_MARKS"] = str(marks)
    nothing, (out, to_out) = os.open(os.devnull, os.O_RDONLY), os.pipe()
    server = Forked(program, TESTS, environment, (nothing, to_out, to_out))
    for each in (nothing, to_out):
        os.close(each)
    with os.fdopen(out, encoding="utf-8") as server.stdout:
        try:
            told = [server.stdout.readline()]  # what it takes up may be logged before
            while " at http" not in (line := told[-1]):
                assert line, "".join(told)
                told.append(server.stdout.readline())
            with ask(line.partition(" at ")[2].partition(";")[0]) as client:
                yield server, client
        finally:
            server.kill()
            server.wait()
