"""Journals with a key, and decisions that approvers sign: what is forged does not count."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from journal._places import Place
from trivium import Agent
from trivium.actions import tool
from trivium.exceptions import (
    ArgumentTypeError,
    ConfigurationError,
    DecisionNotValidError,
    JournalDamagedError,
    NoSuchRequestError,
    RunPausedError,
)
from trivium.journal import Decided, Entry, Journal, ask_later, step
from trivium.testing import ScriptedModel, call_tool

KEY = "correct horse battery staple"
ADA, EVE = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
ADAS, EVES = ADA.private_bytes_raw(), EVE.private_bytes_raw()
APPROVERS = {"ada": ADA.public_key().public_bytes_raw()}


@tool(effect="once", needs_approval=True)
def buy(item: str) -> str:
    """Buy an item."""
    return f"{item} is bought"


def answer(request: Any) -> Any:
    said = [each["content"] for each in request.messages if each["role"] == "tool"]
    return said[-1] if said else call_tool("buy", item="chair")


def go(journal: Journal, run_id: str = "a") -> Any:
    return Agent(ScriptedModel(answer), tools=[buy], name="shop")(
        "Go.", run_id=run_id, journal=journal, approve=ask_later
    ).content


def paused(journal: Journal, run_id: str = "a") -> str:
    """Have a run wait for a decision; return the digest of its call."""
    with pytest.raises(RunPausedError):
        go(journal, run_id)
    (waiting,) = journal.pending(run_id)
    return waiting.digest


def test_a_run_goes_on_with_the_key_and_with_no_other(place: Place):
    journal = Journal(place.name, key=KEY)
    journal.approve("a", paused(journal), by="ada")
    assert go(Journal(place.name, key=KEY.encode())) == "chair is bought"
    for other, told in (("", "has a key: none was given"), ("another key of this size", r"another key \(key=\)")):
        with pytest.raises(JournalDamagedError, match=told):
            go(Journal(place.name, key=other))


def test_who_writes_without_the_key_is_noticed(place: Place):
    """All links are made anew, as whoever can write to the database and knows this program would."""
    journal = Journal(place.name, key=KEY)
    digest = paused(journal)
    journal.refuse("a", digest, "too dear", by="ada")
    entries, last = journal.entries("a"), ""
    for entry in entries:
        body = entry.body.replace('"approved": false', '"approved": true') if entry.kind == "decision" else entry.body
        linked = Entry(*entry[:6], body, entry.at).linked(last)
        last = linked.link
        place.execute(f"UPDATE entry SET body = '{body}', link = '{last}' WHERE seq = {entry.seq}")
    place.execute(f"UPDATE run SET head = '{last}'")
    with pytest.raises(JournalDamagedError, match="was changed"):
        go(journal)


def test_the_records_of_a_run_are_not_those_of_another(place: Place):
    journal = Journal(place.name, key=KEY)
    journal.approve("a", paused(journal), by="ada")
    assert go(journal) == "chair is bought"
    place.execute("UPDATE run SET id = 'b'")
    place.execute("UPDATE entry SET run = 'b'")
    with pytest.raises(JournalDamagedError):
        go(journal, "b")


def test_what_an_approver_has_signed_counts_once(place: Place):
    journal = Journal(place.name, approvers=APPROVERS)
    digest = paused(journal)
    journal.approve("a", digest, by="ada", key=ADAS)
    assert journal.pending() == []
    assert go(journal) == "chair is bought"
    with pytest.raises(NoSuchRequestError):
        journal.approve("a", digest, by="ada", key=ADAS)
    assert journal.view("a").replay(Agent(ScriptedModel(answer), tools=[buy], name="shop")).content == "chair is bought"
    refused = paused(journal, "b")
    journal.decide("b", {refused: Decided(False, "ada", "too dear").signed("b", refused, ADAS)})
    assert "too dear" in go(journal, "b")


FORGERIES: list[Callable[[str], Decided]] = [
    lambda digest: Decided(True, "ada"),
    lambda digest: Decided(True, "ada", signature="zz"),
    lambda digest: Decided(True, "ada").signed("a", digest, EVES),
    lambda digest: Decided(True, "eve").signed("a", digest, EVES),
    lambda digest: Decided(True, "ada").signed("b", digest, ADAS),
    lambda digest: Decided(True, "ada").signed("a", "another call", ADAS),
    lambda digest: Decided(False, "ada", "no").signed("a", digest, ADAS)._replace(approved=True),
    lambda digest: Decided(True, "ada", "", 9e9).signed("a", digest, ADAS)._replace(until=None),
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_what_is_not_signed_as_it_stands_is_refused_and_does_not_count(place: Place, forge: Callable[[str], Decided]):
    journal = Journal(place.name, approvers=APPROVERS)
    digest = paused(journal)
    with pytest.raises(DecisionNotValidError, match="private key"):
        journal.decide("a", {digest: forge(digest)})
    Journal(place.name).decide("a", {digest: forge(digest)})  # as one who can write to the database
    assert [each.digest for each in journal.pending()] == [digest]
    with pytest.raises(RunPausedError, match=r"is not signed by ada|none of the approvers"):
        go(journal)
    journal.approve("a", digest, by="ada", key=ADAS)
    assert go(journal) == "chair is bought"


def test_a_fork_asks_again_where_the_call_has_not_run(place: Place):
    journal = Journal(place.name, approvers=APPROVERS)
    journal.approve("a", paused(journal), by="ada", key=ADAS)
    fork = journal.view("a").fork("b")
    with pytest.raises(RunPausedError):
        go(journal, fork.id)
    assert go(journal) == "chair is bought"
    assert go(journal, journal.view("a").fork("c", at="shop/model#1").id) == "chair is bought"


def test_a_decision_that_came_too_late_is_told(place: Place):
    journal = Journal(place.name)
    journal.approve("a", paused(journal), by="ada", seconds=-1)
    with pytest.raises(RunPausedError, match="the decision of ada came too late"):
        go(journal)
    with pytest.raises(ConfigurationError, match="by="):
        journal.approve("a", journal.pending()[0].digest, by="")
    journal.approve("a", journal.pending()[0].digest, by="ada", seconds=600)
    assert go(journal) == "chair is bought"


def test_keys_that_are_none_are_told(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="16 bytes"):
        Journal(tmp_path / "runs.db", key="secret")
    with pytest.raises(ConfigurationError, match="32 bytes"):
        Journal(tmp_path / "runs.db", approvers={"ada": b"short"})
    with pytest.raises(ConfigurationError, match="32 bytes"):
        Decided(True, "ada").signed("a", "b", b"short")


def test_a_journal_without_a_key_has_the_links_that_it_had(tmp_path: Path):
    with (journal := Journal(tmp_path / "runs.db")).run("a"):
        step("one", lambda: 1)
    first, *_ = journal.entries("a")
    assert first.linked("") == first
    assert json.loads(first.body) == ["one", {"$": "tuple", "v": []}, {}]


def test_an_argument_of_the_wrong_class_is_named(tmp_path: Path):
    for wrong, text in (
        ({"key": 3}, "text or bytes as key, not int"),
        ({"types": Path}, "a list as types, not the class"),
    ):
        with pytest.raises(ArgumentTypeError, match=f"Journal takes {text}"):
            Journal(tmp_path / "runs.db", **cast("Any", wrong))
