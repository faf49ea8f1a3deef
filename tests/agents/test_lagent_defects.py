"""Lagent's defects, by the numbers of the list in the reference: what ours does instead.

| item | what is right here | where it is held |
| --- | --- | --- |
| 1 | no character of a tool's result is lost | actions/test_actions: test_no_character_of_a_result_is_lost |
| 2 | `delete` means the positions of the list as it was | memory/test_memory: test_positions_are_of_… |
| 3 | an unknown tool is answered with words | actions/test_executor: test_the_table_of_outcomes |
| 4 | `finish_in_action` keeps FINISH | actions/test_executor: test_the_table_of_outcomes |
| 5 | the caller's list of actions stays | actions/test_executor: test_the_callers_list_stays_as_it_is |
| 6 | a child that was replaced or taken away is gone | here |
| 7 | examples stay as they are | agents/test_components: test_examples_are_shown_as_the_parser_writes_them_and_… |
| 8 | an answer that fits no model is a typed error | prompts/test_parsers: test_an_answer_that_fits_no_model_… |
| 9 | code: its own error, all output, a shell for each session | actions/python/test_python_actions, test_kernels |
| 10 | a sequence of `(name, agent)` | agents/test_containers: test_agents_may_have_names |
| 11 | ReAct with its defaults answers | agents/test_shipped_agents: test_react_acts_until_it_concludes |
| 12 | `ActionPreprocessor` reads both of its forms | actions/test_executor: test_what_names_a_call_is_run |
| 13 | an unreachable server is given up | llms/test_llms_gpt: test_a_server_that_is_not_there_… |
| 14 | stop words of a call count, also in what is cut | llms/test_engines_standins: test_a_stop_word_cuts_… |
| 15 | an import changes no warning filter | here |
| 16 | the key list does not need session 0; a fresh module loads without a warning | here |
| 17 | no default is shared | here |
| 18 | an agent without memory answers | agents/test_components: test_an_agent_without_memory_answers_what_it_is_told |
| 19 | `get_memory` gives a list of its own | memory/test_memory: test_what_is_read_is_a_list_of_its_own |
| 20 | a name with two dots is an outcome | actions/test_executor: test_the_table_of_outcomes |
| 21 | calls on one session take turns | agents/test_session_locks |
| 22 | one hook may be given, also as a config | agents/test_components: test_one_hook_may_be_a_config_and_… |
| 23 | `tool_api` is where the documents import it | here |
| 24 | serving: from any folder, sync agents too, a token, no CORS | test_serving_process, test_serving_attacks |
"""

# Hooks have no public table: a test shows that a config adds none.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import trivium
from trivium import Agent, ChatAgent
from trivium.actions import ActionExecutor, tool_api
from trivium.agents.aggregator import InternLMToolAggregator
from trivium.testing import ScriptedModel

TESTS = Path(__file__).parents[1]
ROW = re.compile(r"^\| (\d+) \| .* \| (.*) \|$", re.MULTILINE)


def test_every_item_is_held_by_a_test_that_is_there():
    rows = ROW.findall(__doc__ or "")
    assert [int(number) for number, _ in rows] == list(range(1, 25))
    for _, places in rows:
        for place in places.split(", ") if places != "here" else ():
            file, _, name = place.partition(": ")
            found = list(TESTS.glob(f"{file}.py")) or list(TESTS.rglob(f"{file}.py"))
            assert found, place
            assert f"def {name.rstrip('_…')}" in found[0].read_text(encoding="utf-8"), place


def holder() -> tuple[Any, Agent]:
    outer, inner = Agent(name="outer"), Agent(ScriptedModel(["ok"]), name="inner")
    outer.part = inner  # type: ignore[attr-defined] - as users write it
    return outer, inner


# ---- 6
def test_a_child_that_was_replaced_is_gone():
    outer, inner = holder()
    inner("hi")
    other = Agent(ScriptedModel(["other"]), name="other")
    outer.part = other
    assert [each for name, each in outer.named_children() if name == "part"] == [other]
    assert outer.state_dict() == {"memory": [], "part.memory": []}
    assert "inner" not in repr(outer)


@pytest.mark.parametrize("how", ["none", "deleted"])
def test_a_child_that_was_taken_away_is_gone(how: str):
    outer, inner = holder()
    inner("hi")
    if how == "none":
        outer.part = None
    else:
        del outer.part
    assert list(outer.state_dict()) == ["memory"]
    outer.load_state_dict({"memory": []})
    outer.reset(recursive=True)
    assert inner.state_dict()["memory"] != []


# ---- 15
WARNINGS = """
import warnings
warnings.filterwarnings("ignore", message="mine")
before = list(warnings.filters)
from trivium import *
from trivium.llms import *
from trivium.actions import *
from trivium.agents import *
from trivium.prompts.parsers import *
assert list(warnings.filters) == before, warnings.filters
"""


def test_an_import_changes_no_warning_filter():
    done = subprocess.run([sys.executable, "-c", WARNINGS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- 16
def test_state_needs_no_session_zero():
    outer, inner = holder()
    inner("hi", session_id="ada")
    saved = json.loads(json.dumps(outer.state_dict("ada")))
    fresh, _ = holder()
    fresh.load_state_dict(saved, session_id="ada")  # a warning would be an error here
    assert fresh.state_dict("ada") == saved
    assert fresh.state_dict() == {"memory": [], "part.memory": []}
    assert fresh.memory.get(0) is None


# ---- 17
def test_no_default_is_shared():
    for make in (Agent, ChatAgent):
        first, second = make(), make()
        first.parameters["temperature"] = 1
        first.executor.add(print_nothing)
        first.aggregator.mine = True  # type: ignore[attr-defined] - what a program may note there
        assert second.parameters == {}
        assert second.executor.keys() == []
        assert not hasattr(second.aggregator, "mine")
        assert first.memory is not second.memory
    one, other = InternLMToolAggregator(), InternLMToolAggregator()
    one.user_names.append("Ada")
    one.few_shot.append([])
    assert (other.user_names, other.few_shot) == (["user"], [])


def test_the_callers_hooks_and_configs_stay_as_they_are():
    hooks: list[Any] = []
    config = {"type": ScriptedModel, "answers": ["ok"]}
    agent, executor = Agent(config, hooks=hooks), ActionExecutor([], hooks=hooks)
    agent.register_hook(trivium.Hook())
    executor.register_hook(trivium.Hook())
    assert hooks == []
    assert config == {"type": ScriptedModel, "answers": ["ok"]}
    assert Agent(config, hooks=hooks)._hooks in (None, {})


def print_nothing() -> None:
    """Nothing."""


# ---- 23
def test_the_mark_of_tools_is_where_the_documents_import_it():
    assert trivium.tool_api is tool_api
