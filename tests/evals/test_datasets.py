"""Datasets as JSON lines and of recorded runs."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from trivium import Agent, Message
from trivium.evals import Case, Dataset, evaluate
from trivium.exceptions import ArgumentTypeError, ConfigurationError, OutputError, UnknownRunError
from trivium.journal import Journal, RunView
from trivium.testing import ScriptedModel

from ._agents import calculator, exact


class Order(BaseModel):
    item: str
    due: date


def test_cases_are_lines_of_json_both_ways(tmp_path: Path) -> None:
    order = Order(item="chair", due=date(2026, 11, 23))
    made = Dataset([Case("a", order, 30, {"from": "Ada"}), Case("b", order, -1)], name="orders")
    made.save(tmp_path / "orders.jsonl")
    assert '"due": "2026-11-23"' in (tmp_path / "orders.jsonl").read_text()
    read = Dataset.load(tmp_path / "orders.jsonl", input_type=Order, expected_type=int)
    assert (read.cases, read.name, len(read), read[0].input.due) == (made.cases, "orders", 2, order.due)
    assert Dataset.load(tmp_path / "orders.jsonl")[1].input == {"item": "chair", "due": "2026-11-23"}
    with pytest.raises(OutputError):
        made.save(tmp_path / "no folder" / "orders.jsonl")
    with pytest.raises(OutputError, match="a case holds what JSON does not have"):
        Dataset([Case("a", b"\xff")]).save(tmp_path / "bytes.jsonl")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "a", "input"', "line 2 .*Invalid JSON"),
        ('{"input": 1}', "line 2 .*id: Field required"),
        ('{"id": "a", "input": "one"}', "line 2 .*input: Input should be a valid integer"),
        ('{"id": "0", "input": 1}', "two cases have the id '0'"),
        ('{"id": "a", "input": 1, "expeced": 2}', "line 2 .*a case has no expeced: did you mean expected?"),
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "0", "input": 1}\n' + line)
    with pytest.raises(ConfigurationError, match=said):
        Dataset.load(tmp_path / "cases.jsonl", input_type=int)
    with pytest.raises(ConfigurationError, match="cannot read"):
        Dataset.load(tmp_path / "other.jsonl")


def test_cases_are_read_whoever_wrote_the_file(tmp_path: Path) -> None:
    strange = Dataset([Case("a", "one\u2028two\x85three\x0cfour"), Case("b", "five")], name="cases")
    strange.save(tmp_path / "cases.jsonl")
    assert Dataset.load(tmp_path / "cases.jsonl").cases == strange.cases
    windows = (tmp_path / "cases.jsonl").read_text().replace("\n", "\r\n")
    (tmp_path / "cases.jsonl").write_bytes(windows.encode("utf-8-sig"))
    assert Dataset.load(tmp_path / "cases.jsonl").cases == strange.cases


def test_one_case_or_scorer_alone_is_no_list() -> None:
    anything: Any = exact
    with pytest.raises(ArgumentTypeError, match=r"<function exact .* is no list of scorers: put one alone in brackets"):
        Dataset([Case("a", "b")], anything)
    anything = Case("a", "b")
    with pytest.raises(ArgumentTypeError, match=r"Case\(id='a'.* is no list of cases: put one alone"):
        Dataset(anything)


def test_recorded_runs_become_cases_with_what_they_answered(journal: Journal) -> None:
    calculator([], {"Square 2."})("Square 2.", run_id="order-1", session_id="ada", journal=journal)
    picture = Message(content="Square 3.", sender="ada")
    calculator([])(picture, run_id="order-2", journal=journal)

    def answered(run: RunView) -> Any:
        return None if run.result is None else run.result.content

    dataset = Dataset.from_runs(journal, ["order-1", "order-2"], [exact], expected=answered)
    assert [(each.id, each.expected) for each in dataset] == [("order-1", "no idea"), ("order-2", "9")]
    assert dataset[0].input == "Square 2."
    assert isinstance(dataset[1].input, Message)
    assert dataset[1].input.sender == "ada"
    report = evaluate(calculator([], {"Square 2."}), dataset, "again", journal)
    assert report.values("exact") == {"order-1": [1.0], "order-2": [1.0]}
    with journal.run("no message"):
        Agent(ScriptedModel(["1"]))("1")
    with pytest.raises(ConfigurationError, match="did not begin with one message"):
        Dataset.from_runs(journal, ["no message"])
    with pytest.raises(UnknownRunError):
        Dataset.from_runs(journal, ["order-3"])
