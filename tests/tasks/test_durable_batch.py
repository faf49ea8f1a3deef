"""Batches each item of which is a durable run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from trivium.exceptions import ArgumentTypeError, ConfigurationError, RunInputError
from trivium.journal import Journal
from trivium.tasks import run_batch_task_gen, run_batch_tasks

from ._batches import answering, text_of


def test_a_durable_batch_goes_on_where_it_was_and_repeats_nothing(tmp_path: Path):
    journal, asked_for = Journal(tmp_path / "runs.db"), list[str]()

    def answer(text: str) -> Any:
        asked_for.append(text)
        return ValueError("not now") if asked_for.count(text) == 1 and text == "c" else text.upper()

    run = partial(run_batch_tasks, answering(answer), "abcd", output_map=text_of, run_id="all", journal=journal)
    with pytest.raises(ValueError, match="not now"):
        run()
    assert run() == run() == list("ABCD")
    assert asked_for == list("abccd")
    assert sorted(each.id for each in journal.runs()) == ["all-0", "all-1", "all-2", "all-3"]
    with pytest.raises(RunInputError, match="another input"):
        run_batch_tasks(answering(answer), "x", run_id="all", journal=journal)
    made = run_batch_task_gen(lambda index: answering(answer), "a", output_map=text_of, run_id="all", journal=journal)
    assert made == ["A"]
    journal.close()


def test_a_durable_batch_takes_an_id_and_a_journal():
    with pytest.raises(ArgumentTypeError, match="takes both run_id"):
        run_batch_tasks(answering(str.upper), "a", run_id="all")
    with pytest.raises(ConfigurationError, match="not on='spark'"):
        run_batch_tasks(answering(str.upper), "a", on="spark")  # type: ignore[arg-type] - that is the mistake
