"""The answers of a run as a file: one form with the cassettes of HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trivium import Agent
from trivium.exceptions import CassetteError
from trivium.journal import Journal
from trivium.testing import RecordedModel, ScriptedModel


def test_files_from_before_the_records_had_one_form_are_read(tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    Agent(ScriptedModel(["Hello"]))("hi", run_id="a", journal=journal)
    RecordedModel(journal.view("a")).save(tmp_path / "a.json")
    (record,) = json.loads((tmp_path / "a.json").read_text())["records"]
    assert [record["name"], record["kind"], record["parent"]] == ["model", "outcome", "Agent"]

    old = {"caller": record["parent"], "digest": record["digest"], "kind": "outcome", "answer": record["body"]}
    (tmp_path / "a.json").write_text(json.dumps({"trivium_run": 1, "run_id": "a", "answers": [old]}))
    assert RecordedModel(tmp_path / "a.json").chat("hi") == "Hello"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    journal = Journal(tmp_path / "runs.db")
    Agent(ScriptedModel(["Hello"]))("hi", run_id="a", journal=journal)
    with pytest.raises(CassetteError, match="cannot write"):
        RecordedModel(journal.view("a")).save(tmp_path)
