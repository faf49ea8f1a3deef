"""The responders of a task: one object for each, made once for a run.

To add a kind that is a task, write a subclass of `SubTaskResponder`, and a subclass of `Task` that has it as its
`responder_class`; add such a task with `add_sub_task`, and nothing else changes. `order` says when it is asked. The
first responder with a valid answer ends a step, so one that is asked early passes over what others have to handle. A
method of an agent becomes a responder too, if its `entity_responders` lists it with the entity SYSTEM.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, ClassVar, cast

import trivium.agents.lowlevel as agents
from trivium.agents import UserInputEvent
from trivium.commander.lowlevel import change_scope, current, emit, invoke, is_blocking, scope_of, step
from trivium.exceptions import ConfigurationError, UnknownResponderError
from trivium.module import Module
from trivium.schema import Entity, Message, ToolCall

if TYPE_CHECKING:
    from trivium.actions import ToolMessage
    from trivium.agents import Agent
    from trivium.tasks._run import Responder, TaskRun
    from trivium.tasks._task import Task

_USER = Entity.USER  # a member is slow to look up
_IS_USER = partial(is_, _USER)
ONE_TOOL = "error: call one tool at a time; a sub-task accepts no more"


class TaskResponder:
    """One that may answer the pending message of a run.

    Args:
        run: the run.
        key: the entity or task that documented methods are given for it. Its `value` is its name in logs and options.
            After its answer the pending sender is the key where that is a task, else the entity of the answer.

    Attributes:
        author: the entity of an answer that names none.
        failed: the message to which a sub-task had no result; it is not given that again.
        names: the names by which a message addresses the responder; that of the task or its agent addresses all.
    """

    __slots__ = ("author", "failed", "key", "names")
    order: ClassVar[int] = 1
    """The place among the responders: the user has 0, all others 1; these come as in `task.non_human_responders`."""

    def __init__(self, run: TaskRun, key: Responder) -> None:
        self.key, self.author = key, key if isinstance(key, Entity) else _USER
        self.names = (key.value, run.task.name, run.task.agent.name, key)
        self.failed: Message | None = None

    @property
    def title(self) -> str:
        """The responder in a sentence."""
        return "the model" if self.key is Entity.LLM else f"the {self.key.value.lower()}"

    def is_due(self, run: TaskRun) -> bool:
        """Return whether the responder has a turn in this step; one without a turn is not logged as passed over."""
        return True

    def may_respond(self, run: TaskRun) -> bool:
        """Return whether the pending message is open to the responder: neither its own nor for another."""
        if self.key is run.pending_sender:
            return False
        pending = run.pending_message
        if pending is None:
            return True
        receiver = pending.receiver
        if receiver and receiver not in self.names:
            return False
        return "metadata" not in pending.__pydantic_extra__ or pending.metadata.block != self.key

    async def respond(self, run: TaskRun, turns: int) -> Any:
        """Return the responder's answer: a message or any value; None is no answer.

        Args:
            run: the run; its pending message is to be answered.
            turns: the most steps of a sub-task; -1: no limit.
        """
        raise NotImplementedError

    def explain(self, run: TaskRun) -> str:
        """Return the reason why the responder did not answer the pending message, for people."""
        signs = run.signs_of(run.pending_message)
        if self.key is run.pending_sender:
            return f"{self.title} {'does not know the answer' if signs.is_refusal else 'gave the message itself'}"
        if signs.message is not None and (receiver := signs.message.receiver) and receiver not in self.names:
            return f"{self.title} was not asked (the message is for {receiver})"
        return "the message is empty" if signs.is_empty else f"{self.title} had no response"


class EntityResponder(TaskResponder):
    """A responder method of the agent: its own, its model's or, as `UserResponder`, its user's."""

    __slots__ = ()

    async def respond(self, run: TaskRun, turns: int) -> Any:
        """Return the answer of the agent's responder method."""
        return await invoke(run.methods[cast("Entity", self.key).value], run.pending_message)

    def explain(self, run: TaskRun) -> str:
        """Name the tool that the agent does not handle, or the model that it does not have."""
        agent, pending = run.task.agent, run.pending_message
        calls = run.signs_of(pending).calls if self.key is Entity.AGENT else ()
        if calls and pending is not None and not agents.handled_by(agent, pending):
            return f"{agent.name} handles no {calls[0].name}: enable it with handle=True, or add a sub-task that has it"
        if self.key is Entity.LLM and not agent.has_model():
            return f"{agent.name} has no model"
        return super().explain(run)


class UserResponder(EntityResponder):
    """The user: not asked again before somebody else was, and not about a tool call of the model."""

    __slots__ = ()
    order = 0

    def is_due(self, run: TaskRun) -> bool:
        """Return whether somebody else was asked since the user was, and no tool call waits for the agent."""
        return not run.human_tried and not run.task.agent.has_tool_message_attempt(run.pending_message)

    def may_respond(self, run: TaskRun) -> bool:
        """Return whether the message is open to the user, and the user is asked now."""
        task, pending = run.task, run.pending_message
        may_be_asked = task.interactive or (pending is not None and bool(pending.receiver))  # most tasks ask nobody
        may_be_asked = may_be_asked or "has_tool_message_attempt" in task.agent.overridden
        return may_be_asked and self.is_due(run) and run.user_can_respond() and super().may_respond(run)

    async def respond(self, run: TaskRun, turns: int) -> Any:
        """Return the answer of the user, which may be the default response of the task."""
        run.human_tried, node = True, current.get()
        is_by_hand = node is None or scope_of(node).task_run is not run
        if not (is_by_hand or agents.overrides(run.task.agent, "user_response", "user_response_async")):
            return await super().respond(run, turns)
        with step("user") as node:  # as for each input that the built-in method asks for
            change_scope(node, task_run=run)  # the agent finds its task by the scope of its call
            answer = await super().respond(run, turns)
            if answer is not None:
                emit(node, UserInputEvent, str(answer.content if isinstance(answer, Message) else answer))
            return answer

    def explain(self, run: TaskRun) -> str:
        """Say whether the user is asked at all."""
        return super().explain(run) if run.user_can_respond() else "the user is not asked (interactive=False)"


class SubTaskResponder(TaskResponder):
    """A sub-task; its key is the task."""

    __slots__ = ()
    key: Task[Any]

    @property
    def title(self) -> str:
        """The sub-task in a sentence."""
        return f"the sub-task {self.key.name}"

    def may_respond(self, run: TaskRun) -> bool:
        """Return whether the message is open to the sub-task, and its agent can do something with it."""
        pending = run.pending_message
        may_be_given = pending is None or (pending is not self.failed and self.key.agent.can_respond(pending))
        return may_be_given and super().may_respond(run)

    async def respond(self, run: TaskRun, turns: int) -> Any:
        """Return the result of the sub-task, as the result of the tool call that it was given."""
        above, task, pending = run.task, self.key, run.pending_message
        waiting = [call for call in run.signs_of(pending).calls if call.id]
        if len(waiting) > 1 and not above.config.allow_subtask_multi_oai_tools:
            return Message(content="", entity=_USER, tool_results={call.id: ONE_TOOL for call in waiting})
        for each in (task.agent, task):
            if each.own_callbacks is not None:
                await agents.notify(each.own_callbacks, "set_parent_agent", parent=above.agent)
        result = await task.run_below(above, pending, turns)
        self.failed = pending if result is None else None
        if above.own_callbacks is not None:
            await agents.show_subtask(above.own_callbacks, task, result)
        if result is None or result.tool_call_id is not None:
            return result
        handled: Sequence[ToolCall | ToolMessage] = () if pending is None else agents.handled_by(task.agent, pending)
        ids = [each.id for each in (handled or waiting) if each.id]
        return result.replace(tool_call_id=ids[0]) if len(ids) == 1 else result

    def explain(self, run: TaskRun) -> str:
        """Add the reason why the sub-task itself has no result."""
        pending, why = run.pending_message, self.key.latest_run.why
        if pending is not None and not self.key.agent.can_respond(pending):
            return f"{self.title} has none of the tools that the message calls"
        reason = super().explain(run)
        return f"{reason} ({why})" if why and pending is not None and pending is self.failed else reason


def methods_of(agent: Agent) -> Sequence[tuple[Entity, Callable[..., Any]]]:
    """Return the agent's responder methods: of the form that is written, and of two those of the driver."""
    is_async = agents.overrides(agent, "entity_responders_async")
    is_async = is_async and not (is_blocking() and agents.overrides(agent, "entity_responders"))
    return (agent.entity_responders_async if is_async else agent.entity_responders)()


def responders_of(run: TaskRun) -> tuple[TaskResponder, ...]:
    """Return the responders of a run in the order in which they are asked; they change only with the task's."""
    keys = [*filter(_IS_USER, run.task.responders), *run.task.non_human_responders]
    if run.keys != keys:
        run.keys, run.responders = keys, tuple(sorted(_make_responders(run, keys), key=attrgetter("order")))
    return run.responders


def responder_of(run: TaskRun, key: Responder) -> TaskResponder:
    """Return the responder of an entity or a task, even where it is not asked in the steps.

    Raises:
        UnknownResponderError: it is neither a task nor an entity as which the agent responds.
    """
    found = next((each for each in responders_of(run) if each.key == key), None)
    return found or _make_responders(run, [key])[0]


def _make_responders(run: TaskRun, keys: Sequence[Any]) -> list[TaskResponder]:
    for entity, method in methods_of(run.task.agent):
        run.methods[entity.value] = method
    made = list[TaskResponder]()
    for key in keys:
        if key.value not in run.methods if isinstance(key, Entity) else not hasattr(key, "responder_class"):
            raise UnknownResponderError(f"{run.task.name} does not respond as {key}, but as {', '.join(run.methods)}")
        kind = getattr(key, "responder_class", UserResponder if key is _USER else EntityResponder)
        made.append(kind(run, key))
    return made


def name_of(responder: Any) -> str:
    """Return the name of a responder: of an entity, of a task, or as it is given, in any case for an entity."""
    if isinstance(responder, Module | Entity):
        return cast("Task[Any] | Entity", responder).value
    return next((each.value for each in Entity if each.value.lower() == str(responder).lower()), str(responder))


def check_sub_tasks(task: Task[Any], sub_tasks: Iterable[Any], names: Collection[str] = ()) -> None:
    """Refuse sub-tasks that have the task below themselves, and warn of those that others cannot address.

    Args:
        task: the task.
        sub_tasks: its sub-tasks, or new ones.
        names: the names of those that it has already.

    Raises:
        ConfigurationError: one has the task below itself.
    """
    for each in sub_tasks:
        if any(below is task for _, below in each.named_parts()):
            raise ConfigurationError(f"{task.name} would be below itself as a sub-task of {each.name}: clone it")
        if each.name in names:
            text = f"two sub-tasks of {task.name} are called {each.name}: what is for {each.name} reaches the first"
            warnings.warn(f"{text} that answers; give each a name of its own", stacklevel=3)
        names = (*names, each.name)
