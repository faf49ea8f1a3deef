"""The counted walks: each gives what its script says, and takes no more calls than it should."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from _once import made_once

from ._scripts import ROOT

WALKS = ("turn", "task", "stream", "pdf", "cited")


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    command = [sys.executable, str(ROOT / "benchmarks" / "walks.py"), "--json"]

    def run() -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    return json.loads(made_once(tmp_path_factory, "walks", run))


def test_each_walk_is_counted(walks: dict[str, dict[str, int]]):
    assert tuple(walks) == WALKS
    for figures in walks.values():
        assert figures["calls"] > figures["functions"] > figures["files"] > 10
        assert figures["calls"] > figures["switches"]


def test_a_pdf_becomes_a_line_in_a_third_of_the_calls_that_it_once_took(walks: dict[str, dict[str, int]]):
    assert walks["pdf"]["calls"] <= 35_058 / 3


def test_a_task_with_a_sub_task_takes_three_fifths_of_the_calls_and_switches_that_it_once_took(
    walks: dict[str, dict[str, int]],
):
    assert walks["task"]["calls"] <= 0.6 * 1_055
    assert walks["task"]["switches"] <= 0.6 * 695
    assert walks["task"]["files"] <= 30
