"""The user of an agent: each input is one node of the run tree."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from trivium.agents._calls import overrides
from trivium.commander import Event, current, invoke, step
from trivium.commander.lowlevel import emit, is_within, scope_of
from trivium.schema import Entity, Message

if TYPE_CHECKING:
    from trivium.agents._names import AgentNames

AskUser: TypeAlias = Callable[[str], Any]


class UserInputEvent(Event[str, Literal["user_input"]]):
    """The user answered; `data` is the text."""

    __slots__ = ()


async def ask_user(agent: AgentNames, prompt: str, is_turn: bool = False) -> str:
    """Ask the agent's user, and return the text.

    Args:
        agent: its `ask_user` is called, else its callback for the user, else the terminal is asked.
        prompt: the text that the user is shown.
        is_turn: it is the user's turn in a task, where all was shown before.

    Raises:
        NotInteractiveError: nobody can answer: there is no terminal, no pipe, no notebook.
    """
    ask = agent.ask_user
    if ask is None and agent.own_callbacks is not None:
        from trivium.agents._callbacks import user_callback

        ask = user_callback(agent.own_callbacks, is_turn)
    if ask is None and (ask := agent.terminal) is None:  # it knows what was typed before
        from trivium.terminal.lowlevel import user_port  # loaded only where a user is asked

        ask = agent.terminal = user_port()
    with nullcontext() if is_within("user") else step("user") as node:
        given = str(await _request_input(ask, prompt) or "")
        if node is not None:
            emit(node, UserInputEvent, given)
        return given


async def _request_input(ask: AskUser, prompt: str) -> object:
    """Ask, unless the journal of the run has the answer."""
    node = current.get()
    if node is None or (journal := scope_of(node).journal) is None:
        return await invoke(ask, prompt)
    with step("input") as place:
        return await journal.perform(place, prompt, partial(invoke, ask, prompt), "read")


def task_run_of(agent: AgentNames) -> Any:
    """Return the run of the agent's task within which this code runs; None where it is in none."""
    run: Any = None if (node := current.get()) is None else scope_of(node).task_run
    return None if run is None or run.task.agent is not agent else run


async def answer_of_user(agent: AgentNames, prompt: str) -> Message | None:
    """Return what the agent's user says in a turn of theirs, or the default response; None for nothing.

    The default response of the agent's task, where it has one, counts over that of the agent.

    Args:
        agent: the agent.
        prompt: the text that the user is shown.

    Returns:
        The answer; text that begins with SYSTEM is the system's.
    """
    # A tool's own question within the task is no turn of the user.
    usual = run.task.default_human_response if (run := task_run_of(agent)) and run.human_tried else None
    usual = agent.default_human_response if usual is None else usual
    if not (text := (await ask_user(agent, prompt, is_turn=True) if usual is None else usual).strip()):
        return None
    entity = Entity.SYSTEM if text.startswith("SYSTEM") else Entity.USER
    if entity is Entity.USER and overrides(agent, "create_user_response"):
        return agent.create_user_response(text)
    content = text.removeprefix("SYSTEM").strip()
    return Message(content=content, sender=entity.value.lower(), entity=entity, sources=frozenset())
