"""Batches each item of which is a durable run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from trivium import Agent, Task
from trivium.actions import tool
from trivium.commander import wait
from trivium.exceptions import ArgumentTypeError, ConfigurationError, RunInputError, RunPausedError
from trivium.journal import Journal, ask_later
from trivium.llms import Request
from trivium.tasks import run_batch_task_gen, run_batch_tasks
from trivium.testing import ScriptedModel, call_tool

from ._batches import GUARD, answering, text_of


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


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_items_at_work_end_before_a_batch_pauses_for_one_and_further_ones_do_not_begin(tmp_path: Path, at_once: int):
    journal, done = Journal(tmp_path / "runs.db"), list[str]()

    def is_shop(to: str) -> bool:
        return to == "shop"

    @tool(effect="once", needs_approval=is_shop)
    async def send(to: str) -> str:
        """Send."""
        done.append(f"begun {to}")
        await wait(0.3)
        done.append(to)
        return to

    def answer(request: Request) -> Any:
        said = request.messages[-1]["content"]
        return f"DONE {said}" if request.messages[-1]["role"] == "tool" else call_tool("send", to=said)

    agent = Agent(ScriptedModel(answer), tools=[send], memory=False)
    items = ["ada", "shop", "eve", "bob"]
    run = partial(
        run_batch_tasks, Task(agent, interactive=False), output_map=text_of, sequential=False, batch_size=at_once,
        run_id="all", journal=journal, approve=ask_later,
    )  # fmt: skip
    with pytest.raises(RunPausedError):
        run(iter(items))
    first = {1: {"ada"}, 2: {"ada"}, 4: {"ada", "eve", "bob"}}[at_once]
    assert {*done} == first | {f"begun {each}" for each in first}
    [waiting] = journal.pending()
    journal.approve(waiting.run_id, waiting.digest, by="ada")
    assert run(items) == items
    assert len(done) == 8
    journal.close()


def test_a_batch_pauses_though_its_items_come_from_a_call_that_goes_on(tmp_path: Path):
    source = Agent(ScriptedModel([["shop "] * 9_000]), name="source")

    def items() -> Iterator[str]:
        with source.stream("names") as events:
            yield from (str(event.data).strip() for event in events if event.kind == "delta")

    @tool(needs_approval=True)
    def send(to: str) -> str:
        """Send."""
        return to

    def asked(request: Request) -> Any:
        return call_tool("send", to="Ada")

    agent = Agent(ScriptedModel(asked), tools=[send], memory=False)
    journal = Journal(tmp_path / "runs.db")
    run = partial(run_batch_tasks, Task(agent, interactive=False), run_id="all", journal=journal, approve=ask_later)
    with pytest.raises(RunPausedError):
        run(items(), sequential=True, timeout=GUARD)
    journal.close()
