"""Clients that lose their connection again and again while a run is under way, in each protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from serving._protocols import MCP, PROTOCOLS, Protocol
from serving._served import GUARD, approve_all, events_of, follow, serving
from trivium import Agent
from trivium.actions import tool
from trivium.commander import ThreadEvent, wait
from trivium.llms import Delta, Request
from trivium.testing import call_tool

LAST = "!!!"
BY_NAME = [pytest.param(each, id=each.__name__) for each in PROTOCOLS]


class Talker:
    """A model that talks, looks a price up, pays, and talks on; its last answer is not whole before it may end."""

    name = "talker"

    def __init__(self, may_end: ThreadEvent) -> None:
        self.may_end = may_end

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        last = request.messages[-1]
        if last["role"] == "user":
            yield "Let me "
            yield "look. "
            yield call_tool("price", item="chair")
        elif "costs" in last["content"]:
            yield "I pay. "
            yield call_tool("pay", amount=3)
        else:
            yield "It is "
            yield f"bought{LAST}"
            await wait(event=self.may_end)


class Shop:
    """The agent, and what its tools did."""

    def __init__(self) -> None:
        self.may_end, self.done = ThreadEvent(), list[str]()

        @tool(effect="read")
        def price(item: str) -> str:
            """Look a price up."""
            self.done.append("price")
            return f"a {item} costs 3"

        @tool(needs_approval=True)
        def pay(amount: int) -> str:
            """Pay."""
            self.done.append("pay")
            return f"paid {amount}"

        self.agent = Agent(Talker(self.may_end), name="talker", tools=[price, pay])


def read(protocol: Protocol, lines: Iterator[str], seen: list[str]) -> bool:
    """Read the next line; return False where there is none."""
    line = next(lines, None)
    if line is None:
        return False
    seen.append(line)
    protocol.note(line)
    return True


def dropped(protocol: Protocol, begun: Any, shop: Shop) -> list[str]:
    """The lines of a stream whose connection is dropped after each of them, and those that another reader has."""
    seen = list[str]()
    with begun as lines:
        assert read(protocol, lines, seen)
    with ThreadPoolExecutor(1) as pool:
        is_there = Event()
        other = pool.submit(undisturbed, protocol, [*seen], is_there)
        assert is_there.wait(GUARD)
        is_over = False
        while not is_over:
            with protocol.take_up(seen) as lines:
                is_over = not read(protocol, lines, seen) or protocol.note(seen[-1])
                if LAST in seen[-1]:
                    is_under_way = not shop.may_end.is_set()
                    shop.may_end.set()
                    while protocol.ends_when_over and is_under_way and read(protocol, lines, seen):
                        is_over = True
        assert protocol.known(other.result(GUARD)) == protocol.known(seen)
    return seen


def undisturbed(protocol: Protocol, seen: list[str], is_there: Event) -> list[str]:
    """The lines that a reader has who never leaves."""
    with protocol.take_up(seen) as lines:
        is_there.set()
        for line in lines:
            seen.append(line)
            if type(protocol)(protocol.client).note(line):
                break
    return seen


@pytest.mark.parametrize("kind", BY_NAME)
def test_a_connection_dropped_at_every_event_costs_nothing(kind: type[Protocol]):
    shop = Shop()
    with kind.serving(shop.agent) as protocol:
        dropped(protocol, protocol.begin("buy"), shop)
        assert [len(protocol.asked), shop.done] == [1, ["price"]]
        dropped(protocol, protocol.go_on(dict.fromkeys(protocol.asked, True)), shop)
        assert shop.done == ["price", "pay"]
        (run,) = protocol.client.get("/runs").json()["runs"]
        said = [each["text"] for each in events_of(protocol.client, run["id"]) if each["kind"] == "delta"]
        assert "".join(said) == f"Let me look. I pay. It is bought{LAST}"


@pytest.mark.parametrize("kind", BY_NAME)
def test_a_server_that_ends_within_an_answer_is_followed_by_the_next_one(kind: type[Protocol], tmp_path: Path):
    shop, options = Shop(), {"journal": tmp_path / "runs.db", "grace": 0.0}
    seen, rest = list[str](), list[str]()
    with kind.serving(shop.agent, **options) as first:
        with first.begin("buy") as lines:
            assert any(map(first.note, lines)) or first.asked
        with first.go_on(dict.fromkeys(first.asked, True)) as lines:
            while not (seen and LAST in seen[-1]):
                assert read(first, lines, seen)
    with kind.serving(shop.agent, **options) as later:
        vars(later).update({**vars(first), "client": later.client})
        with later.take_up(seen) as lines:
            shop.may_end.set()
            while read(later, lines, rest):
                pass
        assert LAST in "".join(rest)
        if not kind.ends_when_over:
            with later.take_up(seen[:1]) as lines:
                assert [*lines] == seen[1:] + rest
        assert shop.done == ["price", "pay"]
        (run,) = later.client.get("/runs").json()["runs"]
        assert run["state"] == "done"


def test_chat_completions_cannot_be_taken_up_but_their_run_goes_on():
    shop = Shop()
    with serving(shop.agent) as client:
        body = {"model": "talker", "messages": [{"role": "user", "content": "buy"}], "stream": True}
        with client.stream("POST", "/v1/chat/completions", json=body) as response:
            assert next(response.iter_lines())
        shop.may_end.set()
        (run,) = client.get("/runs").json()["runs"]
        follow(client, run["id"])
        assert [client.get(f"/runs/{run['id']}").json()["state"], shop.done] == ["done", ["price"]]


def test_a_call_over_mcp_ends_with_its_connection_and_is_made_again():
    shop = Shop()
    with MCP.serving(shop.agent, max_runs=1) as protocol:
        for at in (1, 2, 3, 4):
            seen = list[str]()
            while len(seen) < at:  # the call before may not have ended yet, which is an error without events
                with protocol.begin("buy") as lines:
                    seen = [*islice(lines, at)]
            assert not protocol.note(seen[-1])
        while not protocol.asked:
            with protocol.begin("buy") as lines:
                assert [protocol.note(line) for line in lines][-1:] in ([True], [])
        shop.may_end.set()
        with protocol.go_on(dict.fromkeys(protocol.asked, True)) as lines:
            assert LAST in [*lines][-1]
        assert shop.done.count("pay") == 1


def test_a_call_over_mcp_that_waits_outlives_its_server_and_counts_once(tmp_path: Path):
    shop = Shop()
    with MCP.serving(shop.agent, journal=tmp_path / "runs.db") as protocol, protocol.begin("buy") as lines:
        waiting = [*lines][-1]
    shop.may_end.set()
    with MCP.serving(shop.agent, journal=tmp_path / "runs.db") as later:
        told = list[str]()
        for _ in range(2):  # whoever misses the answer calls again
            protocol = MCP(later.client)
            assert protocol.note(waiting)
            with protocol.go_on(dict.fromkeys(protocol.asked, True)) as lines:
                told.append([*lines][-1])
        assert LAST in told[0]
        assert told[1] == told[0]
        assert shop.done == ["price", "pay"]
        (run,) = later.client.get("/runs").json()["runs"]
        assert run["state"] == "done"


def test_a_call_over_mcp_that_is_approved_elsewhere_goes_on_without_its_client(tmp_path: Path):
    shop, journal = Shop(), tmp_path / "runs.db"
    calls = list[tuple[str, str]]()
    with MCP.serving(shop.agent, journal=journal, grace=0.1) as protocol:
        for _ in range(2):
            with protocol.begin("buy") as lines:
                waiting = [*lines][-1]
            calls.append((protocol.client.get("/runs").json()["runs"][0]["id"], waiting))
        approve_all(protocol.client, calls[0][0])
        follow(protocol.client, calls[0][0], until=LAST)  # it is at work as its server ends
    with serving({"another": Shop().agent}, journal=journal) as client:
        approve_all(client, calls[1][0])
    shop.may_end.set()
    with MCP.serving(shop.agent, journal=journal) as later:
        for run, waiting in calls:
            protocol = MCP(later.client)
            assert protocol.note(waiting)
            with protocol.go_on(dict.fromkeys(protocol.asked, True)) as lines:  # the call is repeated as it was
                assert LAST in [*lines][-1]
            assert later.client.get(f"/runs/{run}").json()["state"] == "done"
        assert shop.done == ["price", "price", "pay", "pay"]
