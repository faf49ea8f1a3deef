"""Answers of clients to what a run asks, in each protocol: equal calls, and calls that another client decides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from serving._protocols import MCP, PROTOCOLS, Chat, Protocol
from trivium import Agent
from trivium.actions import tool
from trivium.commander import ThreadEvent, wait
from trivium.journal import ask_later
from trivium.llms import Delta, Request
from trivium.testing import call_tool

BY_NAME = [pytest.param(each, id=each.__name__) for each in (*PROTOCOLS, Chat, MCP)]


class Clerk:
    """A model that pays what it is told to, and says what came of it."""

    name = "clerk"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        last = request.messages[-1]
        if last["role"] == "user":
            yield call_tool("pay", amount=3)
        else:
            yield last["content"]


class Boss:
    """A model that has two clerks pay at once."""

    name = "boss"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        if request.messages[-1]["role"] == "user":
            yield call_tool("ann", message="pay")
            yield call_tool("bob", 1, message="pay")
        else:
            yield " and ".join(each["content"] for each in request.messages if each["role"] == "tool")


@contextmanager
def two_asked(kind: type[Protocol], done: list[str]) -> Generator[Protocol]:
    """A client that is asked by two clerks at once, and what they have paid."""

    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        done.append("pay")
        return f"paid {amount}"

    asked, have_both_asked = list[str](), ThreadEvent()

    async def ask(request: Any) -> bool:
        asked.append(request.name)
        if len(asked) == 2:
            have_both_asked.set()
        await wait(event=have_both_asked)  # a pause ends the other branches where they are
        return ask_later(request)

    clerks = [Agent(Clerk(), name=each, tools=[pay], description="Pays.") for each in ("ann", "bob")]
    with kind.serving(Agent(Boss(), name="talker", tools=clerks, parallel=True, approve=ask)) as protocol:
        with protocol.begin("go") as lines:
            for line in lines:
                if protocol.note(line):
                    break
        assert len({*protocol.asked}) == 2
        yield protocol


def is_one_paid(told: str) -> bool:
    return "paid 3 and error: not approved" in told or "go on without it and paid 3" in told


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("kind", BY_NAME)
def test_equal_calls_of_agents_within_an_agent_are_decided_one_by_one(kind: type[Protocol], order: int):
    done = list[str]()
    with two_asked(kind, done) as protocol:
        decided = dict(zip(protocol.asked, (True, False), strict=True))
        with protocol.go_on(dict([*decided.items()][::order])) as lines:
            told = "".join(lines)
        assert is_one_paid(told)
        assert done == ["pay"]


@pytest.mark.parametrize("are_all", [True, False])
@pytest.mark.parametrize("kind", [each for each in BY_NAME if each.id != "Runs"])
def test_what_another_client_has_decided_stays_as_it_is(kind: type[Protocol], are_all: bool):
    done = list[str]()
    with two_asked(kind, done) as protocol:
        other, mine = protocol.asked
        (run,) = protocol.client.get("/runs").json()["runs"]
        (digest,) = [each for each in asked_of(protocol.client, run["id"]) if each in other]
        decision = {"digest": digest, "approved": False}
        assert protocol.client.post(f"/runs/{run['id']}/approvals", json=decision).status_code == 200
        with protocol.go_on(dict.fromkeys(protocol.asked if are_all else [mine], True)) as lines:
            told = "".join(lines)
        assert is_one_paid(told)
        assert done == ["pay"]


def asked_of(client: Any, run: str) -> list[str]:
    return [each["digest"] for each in client.get(f"/runs/{run}").json()["approvals"]]
