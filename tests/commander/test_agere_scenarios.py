"""What comes of programs of jobs, handlers, streams, edges and contexts, beside what came of them in Agere itself.

The programs are the scripts of the folder `agere`; `scenarios.json` holds what Agere made of each
(`scripts/scenarios.py` writes it). Where trivium differs on purpose, `differs` says why, and what comes of it here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trivium
from tasks._tables import check_table, parameter, promised, read

from .agere import SCRIPTS, outcome

SCENARIOS = read(Path(__file__).with_name("scenarios.json"))


@pytest.mark.parametrize("scenario", [parameter(each) for each in SCENARIOS])
def test_a_script_comes_to_what_agere_makes_of_it(scenario: dict[str, Any]) -> None:
    for is_async in (False, True):
        assert outcome(trivium, scenario, is_async=is_async) == promised(scenario), f"{is_async=}"


def test_the_scenarios_are_all_scripts_and_what_differs_says_why() -> None:
    check_table(SCENARIOS)
    assert {each["name"] for each in SCENARIOS} == set(SCRIPTS)
