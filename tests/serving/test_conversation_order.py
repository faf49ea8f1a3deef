"""The runs of a conversation follow each other, and none is lost to the next one: whatever clocks and clients do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Generator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from serving._served import approve_all, follow, make_shop, outcome, said, serving, start
from trivium import Agent
from trivium.commander import ThreadEvent, wait
from trivium.journal import Journal
from trivium.llms import Delta, Request
from trivium.serving._claims import RunClaims
from trivium.serving._store import RunStore
from trivium.testing import ScriptedModel


class Counts:
    """A model that says how many messages of users it sees, and waits where it is told to until it may go on."""

    name = "counts"

    def __init__(self) -> None:
        self.may_end = ThreadEvent()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield f"I see {sum(each['role'] == 'user' for each in request.messages)}"
        if request.messages[-1]["content"] == "wait":
            await wait(event=self.may_end)


@contextmanager
def two_servers(journal: str, served: Any) -> Generator[tuple[Any, Any]]:
    """Two clients: of two servers, where the journal can be shared, else of one."""
    with serving(served, journal=journal) as first:
        if not journal.startswith("postgres"):
            yield first, first
            return
        with serving(served, journal=journal) as second:
            yield first, second


def test_a_decision_that_comes_before_the_run_is_given_back_counts(journal: str, monkeypatch: pytest.MonkeyPatch):
    give_back = RunClaims.give_back

    async def late(self: RunClaims, run_id: str) -> None:
        await asyncio.sleep(0.3)
        await give_back(self, run_id)

    monkeypatch.setattr(RunClaims, "give_back", late)
    with two_servers(journal, make_shop()) as clients:
        for client in clients:
            run = start(clients[0], "buy")
            follow(clients[0], run, until='"paused"')
            approve_all(client, run)
            assert client.get(f"/runs/{run}").json()["state"] != "paused"
            assert outcome(client, run) == "You said 1."


def test_a_run_goes_on_when_all_is_decided_in_the_journal(journal: str):
    with serving(journal=journal) as client:
        run = start(client, "buy", session_id="s")
        follow(client, run, until='"paused"')
        with closing(Journal(journal)) as decided:
            [waiting] = decided.pending(run)
            decided.approve(run, waiting.digest, by="ada")
        assert outcome(client, run) == "You said 1."
        assert said(client, "hi", session_id="s") == "You said 2."


def test_a_clock_that_is_set_back_loses_no_turn(journal: str, monkeypatch: pytest.MonkeyPatch):
    now = time.time
    with two_servers(journal, Agent(Counts())) as (first, second):
        assert said(first, "hi", session_id="s") == "I see 1"
        monkeypatch.setattr(time, "time", lambda: now() - 60)
        assert said(second, "hi", session_id="s") == "I see 2"
        assert said(first, "hi", session_id="s") == "I see 3"


def test_a_run_from_the_end_of_another_while_the_conversation_goes_on_is_a_conversation_of_its_own(journal: str):
    model = Counts()
    with two_servers(journal, Agent(model)) as (first, second):
        before = start(first, "hi", session_id="s")
        assert outcome(first, before) == "I see 1"
        waiting = start(first, "wait", session_id="s")
        other = start(second, "hi", previous_run_id=before)
        assert second.get(f"/runs/{other}").json()["session_id"] == other
        assert outcome(second, other) == "I see 2"
        last = start(second, "wait", previous_run_id=other)
        refused = first.delete(f"/runs/{other}")
        assert (refused.status_code, last in refused.text) == (409, True)
        model.may_end.set()
        assert [outcome(first, each) for each in (waiting, last)] == ["I see 2", "I see 3"]
        assert said(second, "hi", session_id="s") == "I see 3"
        assert first.delete(f"/runs/{other}").status_code == 200


def test_what_remembers_nothing_waits_for_nobody_and_nobody_for_it(journal: str):
    model = Counts()
    served = {"counts": Agent(model), "forgetful": Agent(model, memory=None)}
    with two_servers(journal, served) as (first, second):
        forgetful = start(first, "wait", model="forgetful", session_id="s")
        assert said(second, "hi", model="counts", session_id="s") == "I see 1"
        remembering = start(first, "wait", model="counts", session_id="s")
        assert said(second, "hi", model="forgetful", session_id="s") == "I see 1"
        model.may_end.set()
        assert [outcome(first, each) for each in (forgetful, remembering)] == ["I see 1", "I see 2"]


def test_the_first_event_of_a_run_is_written_with_it(journal: str):
    with serving(Agent(ScriptedModel(["Hi."])), journal=journal) as client:
        run = start(client, "hi")
        with closing(RunStore(journal)) as store:
            assert store.events(run)[0]["kind"] == "started"
