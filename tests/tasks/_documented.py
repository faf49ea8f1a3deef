"""Agents whose three responders say what a test wants, and tasks of them, made by the documented names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from trivium import ChatAgent, ChatAgentConfig, ChatDocument, Entity, Task
from trivium.schema import ChatDocMetaData
from trivium.testing import ScriptedModel

Says: TypeAlias = "Sequence[Any] | Callable[[Any], Any] | None"


class Saying(ChatAgent):
    """An agent whose responders say these in turn, the last for ever; or what a function of the message gives.

    Args:
        name: its name; also how its responders are named in `log`.
        says: what "agent", "llm" and "user" say; one that is not there says nothing.
        log: who was asked, with the text that was pending.
    """

    def __init__(self, name: str = "A", log: list[str] | None = None, **says: Says) -> None:
        super().__init__(ChatAgentConfig(name=name, llm=ScriptedModel(["never asked"])))
        self.log = [] if log is None else log
        self.said: dict[str, Any] = {}
        for who, what in says.items():
            self.said[who] = what if what is None or callable(what) else list(what)

    def agent_response(self, msg: Any = None) -> Any:
        return self._say("agent", msg)

    def llm_response(self, message: Any = None) -> Any:
        return self._say("llm", message)

    def user_response(self, msg: Any = None) -> Any:
        return self._say("user", msg)

    def _say(self, who: str, message: Any) -> Any:
        self.log.append(who if self.config.name == "A" else f"{self.config.name}.{who}")
        what = self.said.get(who)
        if callable(what):
            return what(message)
        if not what:
            return None
        return what.pop(0) if len(what) > 1 else what[0]


def saying(
    name: str = "A",
    log: list[str] | None = None,
    interactive: bool = False,
    *,
    agent: Says = None,
    llm: Says = None,
    user: Says = None,
    **kwargs: Any,
) -> Task:
    """A task of a `Saying`: "agent", "llm" and "user" are what its responders say, the rest is the task's."""
    return Task(Saying(name, log, agent=agent, llm=llm, user=user), interactive=interactive, **kwargs)


def scripted(*answers: Any, name: str = "A", **config: Any) -> ChatAgent:
    """An agent of a config, whose model gives these answers."""
    config = {"search_for_tools_everywhere": True, **config}  # the documented default
    return ChatAgent(ChatAgentConfig(name=name, llm=ScriptedModel(answers or ["DONE"]), **config))


def document(content: str, sender: Entity = Entity.USER, **metadata: Any) -> ChatDocument:
    """A message with metadata."""
    return ChatDocument(content=content, metadata=ChatDocMetaData(sender=sender, **metadata))


def content(result: Any) -> Any:
    """The text of a result that is there."""
    assert result is not None
    return result.content


def history(task: Task) -> list[str]:
    """What the task's agent remembers, without what it was told at first."""
    found = [message.content for message in task.agent.message_history]  # type: ignore[attr-defined]
    return found[1:]
