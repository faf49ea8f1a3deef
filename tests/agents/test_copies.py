"""Agents and tasks are copied and pickled where their parts can be."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from trivium import Agent, ChatAgent, Message, Task, ToolMessage
from trivium.exceptions import ToolDefinitionError
from trivium.testing import ScriptedModel, call_tool


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note a <text>."
    text: str


class City(BaseModel):
    name: str


class Noting(Agent):
    """An agent that keeps notes."""

    def note(self, message: Note) -> str:
        self.notes = [*getattr(self, "notes", []), message.text]
        return "noted"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def model(*answers: Any) -> ScriptedModel:
    return ScriptedModel(answers or ["hello"])


def pickled(given: Any) -> Any:
    return pickle.loads(pickle.dumps(given))


def with_function() -> Any:
    return Agent(model(call_tool("add", a=1, b=2), "three"), tools=[add])


def with_tool_message() -> Any:
    agent = ChatAgent(model(call_tool("note", text="tea"), "DONE ok"))
    agent.enable_message(Note)
    return Task(agent, interactive=False)


def with_type() -> Any:
    return Agent[City](model('{"name": "Rome"}'))


def with_sub_task() -> Any:
    task = Task(ChatAgent(model("go on", "DONE")), name="above", interactive=False)
    task.add_sub_task(Task(ChatAgent(model("DONE well")), name="below", interactive=False))
    return task


MAKERS = [with_function, with_tool_message, with_type, with_sub_task]


def answer(of: Any) -> tuple[Any, Any]:
    found = of("go")
    return found.content, found.output


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("make", MAKERS)
def test_a_copy_answers_as_the_original_does(make: Callable[[], Any], copied: Callable[[Any], Any]):
    assert answer(copied(make())) == answer(make())


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
@pytest.mark.parametrize("make", MAKERS)
def test_what_has_run_is_copied_with_its_conversation(make: Callable[[], Any], copied: Callable[[Any], Any]):
    made = make()
    made("go")
    assert copied(made).state_dict() == made.state_dict()


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_the_tools_of_a_copy_work_on_the_copy(copied: Callable[[Any], Any]):
    agent = Noting(model(call_tool("note", text="tea"), "ok"), tools=[Note])
    new = copied(agent)
    new("go")
    assert (new.notes, vars(agent).get("notes")) == (["tea"], None)


def test_a_message_is_pickled_without_its_place_in_a_conversation():
    agent = ChatAgent(model("one", "two"))
    agent.llm_response("a")
    found = agent.llm_response("b")
    assert found is not None
    again: Message = pickled(found)
    assert again.model_dump() == found.model_dump()


def test_a_tool_that_is_a_method_is_not_pickled():
    class Desk:
        def look(self) -> str:
            """Look."""
            return "a desk"

    with pytest.raises(ToolDefinitionError, match="the tool look cannot be pickled: use a function of a module"):
        pickle.dumps(Agent(model(), tools=[Desk().look]).executor.tools["look"].validate)


def test_a_toolbox_never_changes():
    agent = ChatAgent(ScriptedModel(["x"]), tools=[Note])
    for box in (agent.toolbox, copy.deepcopy(agent.toolbox), pickle.loads(pickle.dumps(agent.toolbox))):
        for names in (box.known, box.own):
            with pytest.raises(TypeError):
                names["other"] = True  # type: ignore[index]
            assert list(names) == ["note"]
        assert box.usable == box.handled == ("note",)
