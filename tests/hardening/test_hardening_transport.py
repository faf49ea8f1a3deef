"""Every fault of the transport of `hardening.md`, for each wire format, through real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from trivium import Agent
from trivium.exceptions import DeadlineExceededError, ProviderBusyError, ProviderConnectionError, ProviderError
from trivium.llms import RetryPolicy
from trivium.schema import Message

from ._answers import AGAIN, SHOWN
from ._bytes_server import BytesServer, Does
from ._faults import CALLED, FAULTS, FINE, Fault, cuts, events_of
from ._said import TEXT, Said, Wire
from ._trial import GOOD, SECONDS, WIRES, agent_at, asked, break_down, good


@pytest.fixture(scope="module")
def server() -> Iterator[BytesServer]:
    with BytesServer([]) as running:
        yield running


def sound(wire: Wire, server: BytesServer, agent: Agent) -> None:
    """The session goes on: the next turn is answered, and the provider would have taken every request."""
    assert agent("And then?", timeout=SECONDS).content == GOOD
    assert [problem for body in server.bodies for problem in wire.problems(body)] == []


@pytest.mark.parametrize("wire", WIRES, ids=[wire.name for wire in WIRES])
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_becomes(fault: Fault, wire: Wire, server: BytesServer) -> None:
    seen = break_down(fault, wire, server)
    assert (seen.words, seen.asked, seen.problems, seen.after) == (fault.expected, fault.asked, [], GOOD)
    if isinstance(seen.answer, Message):
        assert seen.answer.content == (GOOD if fault.becomes == AGAIN else TEXT)
    else:
        assert isinstance(seen.answer, ProviderError)
        assert "; " in str(seen.answer) or ": " in str(seen.answer)  # it says what to do
    if fault.waits:
        assert isinstance(seen.answer, ProviderBusyError)
        assert seen.answer.retry_after == pytest.approx(
            fault.waits, abs=1800
        )  # a date is that of the moment when the tests were collected


@pytest.mark.parametrize("wire", WIRES, ids=[wire.name for wire in WIRES])
@pytest.mark.parametrize("end", [(), (Does.RESET,)], ids=["closed", "reset"])
@pytest.mark.parametrize("said", [FINE, CALLED], ids=["text", "a tool call"])
def test_a_stream_may_break_off_at_each_chunk(
    said: Said, end: tuple[Does, ...], wire: Wire, server: BytesServer
) -> None:
    """It is asked again before the first delta, and never after it; what has arrived whole goes on."""
    seen: list[str] = []
    for sent, expected, pieces in cuts(wire, said):
        server.play([*pieces, *end], then=good(wire))
        agent = agent_at(server.url, wire)
        answer = asked(agent, "1 + 2?")
        name = type(answer).__name__
        if isinstance(answer, Message):
            name = AGAIN if len(server.bodies) > 1 and server.bodies[0] == server.bodies[1] else SHOWN
        if not end or name != AGAIN:  # a reset may take with it what was not read yet
            assert (sent, name) == (sent, expected)
        sound(wire, server, agent)
        seen.append(name)
    assert AGAIN in seen
    assert end or SHOWN in seen


@pytest.mark.parametrize("wire", [each for each in WIRES if each.name != "Gemini"], ids=lambda wire: str(wire.name))
def test_a_server_that_leaves_its_connection_open_is_left(wire: Wire, server: BytesServer) -> None:
    """Where the answer itself says that it is over; the model would wait two minutes for the next byte."""
    head, events = events_of(wire)
    server.play([head, *events, Does.STALL], then=good(wire))
    agent = agent_at(server.url, wire)
    answer = asked(agent, "1 + 2?")
    assert isinstance(answer, Message)
    assert (answer.content, len(server.bodies)) == (TEXT, 1)
    assert server.left.wait(SECONDS), "the connection is not closed"
    sound(wire, server, agent)


@pytest.mark.parametrize("pieces", [0, 1, -2], ids=["nothing", "the head", "nearly all"])
@pytest.mark.parametrize("wire", WIRES, ids=[wire.name for wire in WIRES])
def test_a_stall_ends_with_the_deadline_of_the_run(wire: Wire, pieces: int) -> None:
    head, events = events_of(wire)
    for timeout in (0.1, 1, SECONDS):  # a busy machine may not come to ask within the first
        with BytesServer(good(wire)) as server:
            server.play([*[head, *events][:pieces], Does.STALL])
            agent = agent_at(server.url, wire)
            assert isinstance(asked(agent, "1 + 2?", timeout=timeout), DeadlineExceededError)
            if server.stalled.wait(1):
                assert server.left.wait(SECONDS), "the connection is not closed"
                return sound(wire, server, agent)
    pytest.fail("the server was never asked")


@pytest.mark.parametrize("wire", WIRES, ids=[wire.name for wire in WIRES])
def test_a_server_that_is_not_there_is_a_typed_error(wire: Wire) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_shut, args=(listener,)).start()
        secure = f"https://127.0.0.1:{listener.getsockname()[1]}"
        for url in (secure, "http://nobody.invalid"):
            answer = asked(agent_at(url, wire, RetryPolicy(max_tries=1)), "1 + 2?")
            assert isinstance(answer, ProviderConnectionError)
            assert "base_url" in str(answer)


def _shut(listener: socket.socket) -> None:
    """Break a TLS handshake off."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(1)


@pytest.mark.parametrize("wire", WIRES, ids=[wire.name for wire in WIRES])
def test_a_cancelled_run_leaves_a_history_that_goes_on(wire: Wire, server: BytesServer) -> None:
    async def run(said: Said, pieces: int) -> None:
        head, events = events_of(wire, said)
        server.play([*([head, *events][:pieces]), Does.STALL], then=good(wire))
        agent = agent_at(server.url, wire)
        task = asyncio.ensure_future(agent.acall("1 + 2?", timeout=SECONDS))
        assert await asyncio.to_thread(server.stalled.wait, SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.left.wait, SECONDS), "the connection is not closed"
        assert (await agent.acall("And then?", timeout=SECONDS)).content == GOOD
        assert [problem for body in server.bodies for problem in wire.problems(body)] == []

    for said in (FINE, CALLED):
        for pieces in range(len(events_of(wire, said)[1])):
            asyncio.run(run(said, pieces))
