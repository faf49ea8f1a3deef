"""What comes of programs of agents, memories, parsers, tools, hooks, models and containers, beside what came of them in
Lagent itself.

The programs are the scripts of the folder `lagent`; `scenarios.json` holds what Lagent made of each
(`scripts/scenarios.py` writes it). Where trivium differs on purpose, `differs` says why, and what comes of it here;
`expected_async` and `differs_async` are the async form's, where they are others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trivium
from tasks._tables import check_table, parameter, promised, read

from .lagent import SCRIPTS, outcome

SCENARIOS = read(Path(__file__).with_name("scenarios.json"))


def in_form(scenario: dict[str, Any], is_async: bool) -> dict[str, Any]:
    """The row of the sync or the async form."""
    own = {part: scenario[f"{part}_async"] for part in ("expected", "differs") if f"{part}_async" in scenario}
    return {**scenario, **own} if is_async else scenario


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::pydantic.warnings.PydanticDeprecatedSince20")
@pytest.mark.parametrize("scenario", [parameter(each) for each in SCENARIOS])
def test_a_script_comes_to_what_lagent_makes_of_it(scenario: dict[str, Any]) -> None:
    for is_async in (False, True):
        assert outcome(trivium, scenario, is_async=is_async) == promised(in_form(scenario, is_async)), f"{is_async=}"


def test_the_scenarios_are_all_scripts_and_what_differs_says_why() -> None:
    check_table(SCENARIOS)
    assert {each["name"] for each in SCENARIOS} == set(SCRIPTS)
