"""A kind of responder that a user adds: a reviewer, asked before all others about each answer of the model."""

from __future__ import annotations

import asyncio

import pytest

from trivium import ChatAgent, Entity, Message, Task
from trivium.events import Event
from trivium.tasks.lowlevel import SubTaskResponder, TaskRun
from trivium.testing import ScriptedModel


class ReviewerResponder(SubTaskResponder):
    """A reviewer: it comments each answer of the model."""

    __slots__ = ()
    order = -1

    def may_respond(self, run: TaskRun) -> bool:
        return run.pending_sender is Entity.LLM and super().may_respond(run)


class Reviewer(Task[Message]):
    """A task that reviews."""

    responder_class = ReviewerResponder


def reviewed(*answers: str) -> tuple[Task, ScriptedModel]:
    model = ScriptedModel(answers)
    task = Task(ChatAgent(model, name="Writer"), interactive=False)
    critic = ChatAgent(ScriptedModel(["shorter", "good"]), name="Critic")
    task.add_sub_task([Task(ChatAgent(name="Other"), interactive=False), Reviewer(critic, single_round=True)])
    return task, model


@pytest.mark.parametrize("is_async", [False, True])
def test_a_fifth_kind_is_two_classes(is_async: bool):
    task, model = reviewed("a long draft", "a draft", "DONE the draft")
    result = asyncio.run(task.run_async("write")) if is_async else task.run("write")
    assert result is not None
    assert result.content == "the draft"
    assert [each["content"] for each in model.requests[-1].messages if each["role"] == "user"] == [
        "write",
        "shorter",
        "good",
    ]


def test_it_has_its_place_in_trees_clones_addresses_and_resets():
    task, _ = reviewed("__SEND__:Critic well?", "DONE so")
    names: list[str] = []

    def hear(event: Event[object]) -> None:
        names.append(event.name)

    result = task.run("write", listeners=[hear])
    assert result is not None
    assert "Critic" in names
    assert [each.name for each in task.clone(1).sub_tasks] == ["Other-1", "Critic-1"]
    assert dict(task.named_children()).keys() == {"agent", "Other", "Critic"}
    assert task.responders[-1].value == "Critic"
