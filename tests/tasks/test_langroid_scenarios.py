"""What comes of scripted tasks, beside what came of the same scripts in Langroid itself.

`scenarios.json` holds the scripts and what Langroid made of them (`scripts/langroid_scenarios.py` writes it).
Where trivium differs on purpose, `differs` says why, and what comes of it here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trivium

from ._scenarios import outcome

TABLE = Path(__file__).with_name("scenarios.json")
SCENARIOS: list[dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))


def parameter(scenario: dict[str, Any]) -> Any:
    marks = [pytest.mark.xfail(reason="not there yet", raises=Exception)] if scenario.get("pending") else []
    return pytest.param(scenario, id=scenario["name"], marks=marks)


@pytest.mark.shows("semantic 1", "semantic 2", "semantic 3", "semantic 4", "semantic 5")
@pytest.mark.shows("semantic 6", "semantic 7", "semantic 8", "semantic 9", "semantic 10")
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("scenario", [parameter(each) for each in SCENARIOS])
def test_a_script_comes_to_what_langroid_makes_of_it(scenario: dict[str, Any], is_async: bool) -> None:
    differs = {name: value for name, value in scenario.get("differs", {}).items() if name != "why"}
    assert outcome(trivium, scenario, is_async=is_async) == {**scenario["expected"], **differs}


def test_the_scenarios_are_many_and_each_has_a_name_of_its_own() -> None:
    names = [each["name"] for each in SCENARIOS]
    assert len(set(names)) == len(names) > 60


def test_where_trivium_differs_it_says_why_and_does() -> None:
    for each in SCENARIOS:
        if "differs" in each:
            assert each["differs"]["why"]
            assert {**each["expected"], **each["differs"], "why": None} != {**each["expected"], "why": None}
