"""Every attribute that a constructor in Langroid's document sets can be read here, and set.

What the programs of Lagent's and Agere's documents read and set is read and set by the tests that run them. The
attributes of fields of configs, messages and tools are those of pydantic models; the table of names has their tests.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import trivium as lr
from project._scripts import langroid_names as script
from trivium.schema import Usage
from trivium.testing import ScriptedModel

from ._documents import REFERENCE


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


@pytest.mark.parametrize(("kind", "name"), ASSIGNED, ids=map(".".join, ASSIGNED))
def test_an_attribute_is_read_and_set(kind: str, name: str):
    made = MADE[kind]()
    value = getattr(made, name)
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


class Look(lr.ToolMessage):
    request: str = "look"
    purpose: str = "To look at a <thing>."
    thing: str = "sky"

    @classmethod
    def instructions(cls) -> str:
        return "Look twice."


def looking(**config: Any) -> tuple[lr.ChatAgent, ScriptedModel]:
    model = ScriptedModel([["seen", Usage(3, 4, 0.5)]])
    made = lr.ChatAgent(lr.ChatAgentConfig(llm=model, system_message="Look.", **config))
    made.enable_message(Look)
    return made, model


def test_numbers_go_on_from_what_was_set():
    made, _ = looking()
    made.llm_response("hello")
    assert (made.total_llm_token_usage, made.total_llm_token_cost) == (7, 0.5)
    made.total_llm_token_usage, made.total_llm_token_cost, made.token_stats_str = 10, 0.0, "ten"
    assert (made.total_llm_token_usage, made.total_llm_token_cost, made.token_stats_str) == (10, 0.0, "ten")
    made.llm_response("hello")
    assert (made.total_llm_token_usage, made.total_llm_token_cost) == (17, 0.5)
    assert made.token_stats_str == "tokens: 13 in, 4 out; cost: $0.5000"


@pytest.mark.parametrize("config", [{}, {"use_tools": True, "use_functions_api": False}])
def test_what_tools_say_is_told_until_another_text_is_set(config: dict[str, Any]):
    made, model = looking(**config)
    made.llm_response("hello")
    told = str(model.requests[-1].messages[0]["content"])
    assert "Look twice." in told
    made.system_tool_instructions, made.system_json_tool_instructions = "Do not look.", "As you like."
    made.llm_response("hello")
    expected = "Look.\n\nDo not look." + ("\n\nAs you like." if config else "")
    assert model.requests[-1].messages[0]["content"] == expected
    made.enable_message(Look)
    made.llm_response("hello")
    assert model.requests[-1].messages[0]["content"] == told


def test_the_model_is_sent_the_function_that_was_set():
    made, model = looking()
    spec = lr.language_models.LLMFunctionSpec(name="look", description="Stare.", parameters={"type": "object"})
    made.llm_functions_map = {"look": spec}
    made.llm_response("hello")
    assert [each.description for each in model.requests[-1].tools] == ["Stare."]
    copied = pickle.loads(pickle.dumps(made.toolbox))
    assert copied.written["llm_functions_map"] == {"look": spec}
    made.enable_message(Look)
    assert made.llm_functions_map["look"].description == "To look at a <thing>."


def test_more_responders_end_a_task():
    task = lr.Task(agent(), interactive=False)
    task.done_if_response.append("LLM")
    result = task.clone(1).run("hello")
    assert result is not None
    assert result.content == "hi"
    assert task.clone(1).done_if_response is not task.done_if_response
