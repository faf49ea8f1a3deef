"""Tasks that the tests of this folder share, and what can be seen of their runs."""

from __future__ import annotations

from typing import Any

from trivium import ChatAgent, Event, Message, Task, ToolMessage
from trivium.testing import ScriptedModel


def agent(*answers: Any, name: str = "A", kind: type[ChatAgent] = ChatAgent) -> ChatAgent:
    return kind(ScriptedModel(answers or ["DONE"]), name=name)


def task(*answers: Any, name: str = "A", interactive: bool = False, **kwargs: Any) -> Task:
    return Task(agent(*answers, name=name), interactive=interactive, **kwargs)


def task_of(kind: type[ChatAgent], name: str = "A", interactive: bool = False, **kwargs: Any) -> Task:
    return Task(agent(name=name, kind=kind), interactive=interactive, **kwargs)


def steps(run: Task, *args: Any, **kwargs: Any) -> tuple[Message | None, list[str]]:
    """The result of a run, and the message that was pending after each step of its root."""
    events: list[Event] = []
    result = run.run(*args, listeners=[events.append], **kwargs)
    root = events[0].node
    pending = [event for event in events if event.kind == "message" and event.node.parent is root]
    return result, [str(event.data.content) for event in pending if event.name == "step"]


def said(of: Task) -> list[Any]:
    assert of.agent.memory is not None
    return [message.content for message in of.agent.memory.get_memory()]


class Note(ToolMessage):
    request: str = "note"
    purpose: str = "To note a <text>."
    text: str = "x"

    def handle(self) -> str:
        return f"noted {self.text}"


def asked(run: Task, *answers: str) -> list[str]:
    """Let the user give these answers; what was asked."""
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return answers[min(len(prompts), len(answers)) - 1]

    run.agent.ask_user = ask
    return prompts
