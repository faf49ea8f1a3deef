"""Every attribute that a constructor in Langroid's document sets can be read here, and set; the exceptions are listed.

What the programs of Lagent's and Agere's documents read and set is read and set by the tests that run them. The
attributes of fields of configs, messages and tools are those of pydantic models; the table of names has their tests.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any, Final

import pytest

import trivium as lr
from project._scripts import langroid_names as script
from project._source import ROOT

from ._documents import REFERENCE

COMPUTED: Final = MappingProxyType(
    {
        "Agent": "total_llm_token_cost total_llm_token_usage token_stats_str",
        "ChatAgent": "llm_functions_map system_tool_instructions system_json_tool_instructions",
        "Task": "value responders responders_async non_human_responders non_human_responders_async name_sub_task_map",
    }
)
"""Attributes that are computed when they are read: the object that they are made of is what can be changed."""
DIFFERENT = {f"{kind}.{name}" for kind, names in COMPUTED.items() for name in names.split()}


def agent() -> lr.ChatAgent:
    return lr.ChatAgent(lr.ChatAgentConfig(llm=lr.MockLMConfig(default_response="hi"), name="Own"))


MADE: dict[str, Callable[[], Any]] = {
    "Agent": lambda: lr.Agent(lr.AgentConfig(llm=lr.MockLMConfig(default_response="hi"))),
    "ChatAgent": agent,
    "Task": lambda: lr.Task(agent(), interactive=False),
}


def assigned() -> Iterator[tuple[str, str]]:
    """The public attributes that the listed constructors set, with their classes."""
    for section in script._sections((REFERENCE / "langroid-api.md").read_text(encoding="utf-8")):
        tree = section.tree() if section.name in MADE and section.is_class else None
        for each in ast.walk(tree or ast.Pass()):
            targets = (
                each.targets
                if isinstance(each, ast.Assign)
                else [each.target]
                if isinstance(each, ast.AnnAssign)
                else []
            )
            for target in targets:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" and target.attr[0] != "_":
                    yield section.name, target.attr


ASSIGNED = sorted(set(assigned())) if REFERENCE.is_dir() else []


def test_the_constructors_are_read():
    assert len(ASSIGNED) > 60
    assert {f"{kind}.{name}" for kind, name in ASSIGNED} >= DIFFERENT


@pytest.mark.parametrize(("kind", "name"), ASSIGNED, ids=".".join)
def test_an_attribute_is_read_and_set(kind: str, name: str):
    made = MADE[kind]()
    value = getattr(made, name)
    if name in COMPUTED[kind].split():
        with pytest.raises(AttributeError):
            setattr(made, name, value)
        return
    setattr(made, name, value)
    assert getattr(made, name) == value


def test_callbacks_that_were_set_are_called():
    seen: list[str] = []
    made = agent()
    callbacks = lr.ChatAgent(made.config).callbacks

    def show(content: str, **more: Any) -> None:
        seen.append(content)

    callbacks.show_llm_response = show
    made.callbacks = callbacks
    made.llm_response("hello")
    assert seen == ["hi"]
    task, callbacks = lr.Task(agent()), lr.Task(agent()).callbacks
    task.callbacks = callbacks
    assert task.callbacks is callbacks


def test_the_guide_lists_what_differs():
    guide = (ROOT / "docs/from-langroid.md").read_text(encoding="utf-8")
    assert [each for each in sorted(DIFFERENT) if f"`{each.partition('.')[2]}`" not in guide] == []
