"""The benchmark beside the field, on made-up figures: who did other work has none, and the page says where we lose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ._scripts import FOLDER, PEERS, ROOT, Scripts, scripts

WORK = {"text": ["hello"], "requests": 1.0}


@pytest.fixture(name="field", scope="module")
def the_field() -> Iterator[Scripts]:
    with scripts(FOLDER, ROOT / "scripts") as found:
        yield found


def cell_of(field: Scripts, *rounds: float, **evidence: Any) -> Any:
    cell = field.figures.Cell()
    for seconds in rounds:
        cell.add({"seconds": seconds, "evidence": {**WORK, **evidence}}, WORK, False)
    return cell


def told(field: Scripts, **workloads: dict[str, Any]) -> dict[str, Any]:
    """What a run writes down, of subjects and their rounds."""
    names = {name for row in workloads.values() for name in row}
    subjects = {name: {"title": name.title(), "versions": {name: "1.0"}, "notes": {}} for name in sorted(names)}
    cells = {
        workload.replace("_", "-"): {name: cell.as_json() for name, cell in row.items()}
        for workload, row in workloads.items()
    }
    return {"date": "today", "machine": "m", "python": "3", "rounds": 2, "subjects": subjects, "cells": cells}


def test_a_figure_is_the_least_the_median_and_the_worst(field: Scripts):
    assert cell_of(field, 3.0, 1.0, 2.0).spread() == (1.0, 2.0, 3.0)


def test_a_subject_that_did_other_work_has_no_figure(field: Scripts):
    cell = cell_of(field, 1.0, 1.0, text=["hi"])
    assert cell.spread() is None
    assert cell.kind == "refused"
    assert cell.why == "it did not do the same work: text: ['hi'] instead of ['hello']"


def test_other_work_in_one_round_takes_the_figures_of_all(field: Scripts):
    cell = cell_of(field, 1.0)
    cell.add({"seconds": 1.0, "evidence": {**WORK, "requests": 2.0}}, WORK, False)
    assert cell.spread() is None


def test_without_evidence_there_is_no_figure(field: Scripts):
    cell = field.figures.Cell()
    cell.add({"seconds": 1.0}, WORK, False)
    assert cell.kind == "refused"


def test_what_a_peer_cannot_do_is_said_in_its_words(field: Scripts):
    cell = field.figures.Cell()
    cell.add({"cannot": "does not stream"}, WORK, False)
    page = field.report.page(told(field, stream={"by_hand": cell_of(field, 1e-6), "agno": cell}))
    assert "| Agno | — [1] |" in page
    assert "\n1. does not stream" in page


@pytest.mark.parametrize(("ours", "word"), [(13e-6, "held"), (15e-6, "**missed**")])
def test_targets_are_held_or_missed_by_the_figures(field: Scripts, ours: float, word: str):
    row = {"trivium": cell_of(field, ours), "lagent": cell_of(field, 1e-5)}
    page = field.report.page(told(field, turn=row))
    assert f"| a turn: at most 1.4 of Lagent's | {ours / 1e-5:.2f} | {word} |" in page
    assert "| a node: less than Agere's | not measured | not told |" in page


def test_targets_at_a_model_server_count_the_most_turns_and_the_least_time(field: Scripts):
    def served(rates: list[float], cpu: float, first: float) -> Any:
        cell = field.figures.Cell()
        cell.values = {"100 throughput": rates, "100 cpu": [cpu, 9.0], "first cpu": [first]}
        return cell

    row = {"trivium": served([900.0, 1200.0], 0.3e-3, 0.06), "lagent": served([800.0], 0.2e-3, 0.4)}
    page = field.report.page(told(field, served={**row, "agno": served([400.0, 1.0], 1.0, 1.0)}))
    assert "| turns a second, 100 sessions: at least 1.3 of Lagent's | 1.50 | held |" in page
    many = "turns a second, 100 sessions: at least 4 of any other peer's (the server lets 2,000 through)"
    assert f"| {many} | 3.00 | **missed** |" in page
    assert "| turns a second, 1000 sessions: at least 4 of any other peer's | not measured | not told |" in page
    assert "| processor time of a turn, 100 sessions, at a model server: at most 0.4 ms | 0.300 ms | held |" in page
    assert "| processor time of the first turn, at a model server: at most 50 ms | 60 ms | **missed** |" in page


def test_the_page_says_where_we_lose(field: Scripts):
    row = {name: cell_of(field, seconds) for name, seconds in (("trivium", 4e-6), ("agno", 1e-6), ("dspy", 9e-6))}
    page = field.report.page(told(field, turn=row))
    lost = page.partition("## Where we lose\n")[2].partition("\n## ")[0]
    assert lost.strip() == "- one turn: Agno needs 0.25 of what trivium needs"


def test_a_share_that_would_look_like_none_is_told_the_other_way_round(field: Scripts):
    row = {"trivium": cell_of(field, 349e-6), "agno": cell_of(field, 1e-6), "dspy": cell_of(field, 0.0)}
    page = field.report.page(told(field, turn=row))
    assert "- one turn: trivium needs 349 times what Agno needs\n" in page
    assert "- one turn: Dspy needs nothing that could be measured\n" in page


def test_the_page_says_what_only_others_have(field: Scripts):
    ours, theirs = field.figures.Cell(), field.figures.Cell()
    ours.stop("cannot", "begins anew")
    theirs.evidence = "went on"
    page = field.report.page(told(field, killed={"trivium": ours, "langgraph": theirs}))
    assert "- kill -9 inside a tool: trivium begins anew; Langgraph goes on\n" in page
    page = field.report.page(told(field, killed={"trivium": ours, "agno": theirs, "langgraph": theirs}))
    assert "- kill -9 inside a tool: trivium begins anew; Agno, Langgraph go on\n" in page


def test_the_page_says_how_many_bad_answers_each_was_sent(field: Scripts):
    one, none = field.figures.Cell(), field.figures.Cell()
    one.values = {kind: [0.0] for kind in field.answers.KINDS} | {"typed error": [1.0], "went on": [3.0]}
    none.stop("cannot", "checks nothing")
    page = field.report.page(told(field, answers={"trivium": one, "by_hand": none}))
    assert "| Trivium | 4 | 0 (0%) | 0 (0%) | 0 (0%) | 1 (25%) | 3 (75%) |  |" in page
    assert "| By_Hand |  |  |  |  |  |  | [1] |" in page


def test_a_slow_subject_is_not_asked_for_more(field: Scripts):
    cells = {"concurrent-200": {"agno": cell_of(field, 0.1), "langroid": cell_of(field, 30.0)}}
    workload = next(each for each in field.workloads.WORKLOADS if each.name == "concurrent-1000")
    assert field.workloads.left_out(workload, cells) == {"langroid": "not run: concurrent-200 took 30 s"}


@pytest.mark.parametrize("name", [path.stem.removesuffix("_adapter") for path in PEERS.glob("*_adapter.py")])
def test_every_peer_has_a_lock_file_with_hashes_and_no_address(name: str):
    if name in ("by_hand", "trivium"):
        return
    text = (PEERS / f"{name}.txt").read_text()
    assert "://" not in text
    packages = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert packages
    assert all("--hash=sha256:" in each for each in packages)


def test_make_knows_every_peer(field: Scripts):
    line = next(each for each in (ROOT / "Makefile").read_text().splitlines() if each.startswith("PEERS := "))
    assert set(line.split()[2:]) == set(field.subjects.NAMES) - {"by_hand", "trivium"}


def test_the_charts_show_what_the_page_tells(field: Scripts):
    cell = field.figures.Cell()
    cell.stop("cannot", "does not stream")
    row = {"trivium": cell_of(field, 1234e-6), "agno": cell, "by_hand": cell_of(field, 0.0)}
    page = field.report.page(told(field, stream=row))
    ((name, columns),) = field.charts.charts_of(page)
    assert name == "benchmarks/one-run.svg"
    assert columns == {"one delta of a streamed answer, µs": {"Trivium": (1234.0, 1234.0), "By_Hand": (0.0, 0.0)}}


def test_the_readme_quotes_the_page(field: Scripts):
    page, readme = ((ROOT / name).read_text() for name in ("docs/benchmarks.md", "README.md"))
    assert f"\n{field.quoted.BEGIN}\n{field.quoted.sentences(page)}\n{field.quoted.END}\n" in readme


def test_a_table_of_shares_is_a_curve_whose_bold_row_has_a_mark(field: Scripts):
    page = (ROOT / "docs" / "confidence.md").read_text("utf-8")
    reliability, risk = field.charts.curves_of(page)
    assert (reliability[0], risk[0]) == ("confidence/reliability.svg", "confidence/risk-coverage.svg")
    assert risk[1] == ["given of all values", "wrong of these"]
    assert [point.x for point in risk[2]] == sorted(point.x for point in risk[2])
    (mark,) = [point for point in risk[2] if point.marked]
    assert f"| **{mark.x} %** | {mark.y} % |" in page
    assert not list(field.charts.charts_of(page))
