"""What comes of scripted tasks, beside what came of the same scripts in Langroid itself.

`scenarios.json` holds the scripts and what Langroid made of them (`scripts/scenarios.py` writes it).
Where trivium differs on purpose, `differs` says why, and what comes of it here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trivium

from ._scenarios import outcome
from ._tables import check_table, parameter, promised, read

SCENARIOS = read(Path(__file__).with_name("scenarios.json"))


@pytest.mark.shows("semantic 1", "semantic 2", "semantic 3", "semantic 4", "semantic 5")
@pytest.mark.shows("semantic 6", "semantic 7", "semantic 8", "semantic 9", "semantic 10")
@pytest.mark.parametrize("scenario", [parameter(each) for each in SCENARIOS])
def test_a_script_comes_to_what_langroid_makes_of_it(scenario: dict[str, Any]) -> None:
    for is_async in (False, True):
        assert outcome(trivium, scenario, is_async=is_async) == promised(scenario), f"{is_async=}"


def test_the_scenarios_are_many_and_what_differs_says_why() -> None:
    check_table(SCENARIOS)
