"""Forks that are made at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from journal._places import Place
from trivium import Agent
from trivium.exceptions import RunInputError
from trivium.journal import Journal, RunInfo
from trivium.testing import ScriptedModel


def test_forks_that_are_made_at_once_have_names_of_their_own(place: Place):
    at_once = Barrier(4)

    def fork(number: int) -> tuple[str, str]:
        with closing(Journal(place.name)) as own:
            run = own.view("a")
            at_once.wait(30)
            made = run.fork(at="Agent/model", edit=f"answer {number}")
            return made.id, str(made.resume(Agent(ScriptedModel([]))).content)

    with closing(Journal(place.name)) as journal:
        Agent(ScriptedModel(["hello"]))("hi", run_id="a", journal=journal)
        with ThreadPoolExecutor(4) as pool:
            made = [*pool.map(fork, range(4))]
        assert sorted(name for name, _ in made) == [f"a-fork-{number}" for number in (1, 2, 3, 4)]
        assert [answer for _, answer in made] == [f"answer {number}" for number in range(4)]
        with pytest.raises(RunInputError, match="already"):
            journal.view("a").fork("a-fork-1")


def test_a_fork_of_the_next_name_that_was_made_meanwhile_stays_as_it_is(place: Place, monkeypatch: pytest.MonkeyPatch):
    with closing(Journal(place.name)) as journal:
        Agent(ScriptedModel(["hello"]))("hi", run_id="a", journal=journal)
        journal.view("a").fork(at="Agent/model", edit="first").resume(Agent(ScriptedModel([])))
        before = journal.view("a-fork-1").info
        with monkeypatch.context() as patch:
            patch.setattr(journal, "runs", list[RunInfo])  # as they were seen before it was made
            assert journal.view("a").fork(at="Agent/model", edit="second").id == "a-fork-2"
        assert journal.view("a-fork-1").info == before
