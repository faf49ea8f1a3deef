"""A step of a task: who may answer the pending message, whose answer counts, and when the task is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from trivium.actions import AgentDoneTool, DoneTool, FinalResultTool
from trivium.actions.lowlevel import is_done_tool, result_of, text_of_result
from trivium.agents import Agent
from trivium.agents.lowlevel import calls_in, class_of
from trivium.commander import CallNode, current, driver_neutral, invoke, step, sync_method
from trivium.module import MessageEvent, Module
from trivium.schema import Entity, Message, StatusCode
from trivium.schema._chat_document import link, linked
from trivium.tasks._config import DoneSequence, TaskConfig
from trivium.tasks._kill import TaskKill
from trivium.tasks._logs import TaskLogs
from trivium.tasks._run import OfRun, ResponderKey, TaskRun
from trivium.tasks._sequences import Happened, matches
from trivium.tasks._signals import (
    NO_ANSWER,
    PASS,
    is_data,
    is_empty,
    is_user_quit,
    read_route,
    refuses,
    says_done,
    without_done,
)

if TYPE_CHECKING:
    from trivium.agents._callbacks import TaskCallbacks
    from trivium.tasks._task import Task

__all__ = ["Steps"]

_AGENT, _LLM, _USER = Entity.AGENT, Entity.LLM, Entity.USER  # a member is slow to look up
_DONE, _OK = StatusCode.DONE, StatusCode.OK
NO_RESULT = (StatusCode.STALLED, StatusCode.MAX_TURNS, StatusCode.INF_LOOP)


class Steps(TaskLogs, TaskKill):
    """What of a task is one step; subclasses may write `step`, `response`, `valid`, `done` and `result` anew."""

    agent: Any
    config: TaskConfig
    interactive: bool
    only_user_quits_root: bool
    allow_null_result: bool
    max_stalled_steps: int
    default_human_response: str | None
    done_if_response: frozenset[str]
    done_if_no_response: frozenset[str]
    sub_tasks: list[Task[Any]]
    _sequences: tuple[DoneSequence, ...] = ()
    _outside: TaskRun | None = None
    own_callbacks: TaskCallbacks | None = None

    pending_message = OfRun("The message that waits for an answer.")
    pending_sender = OfRun("The responder that gave it: an entity, or a sub-task.")
    n_stalled_steps = OfRun("How many steps in a row came to nothing.")
    human_tried = OfRun("Whether the user was asked in the last step.")
    is_done = OfRun("Whether the last response ends the task.")
    is_pass_thru = OfRun("Whether the last response passes the pending message on.")
    caller = OfRun("The task that called this one; None at the root.")
    session_id = OfRun("The session of the run.")
    max_cost = OfRun("US dollars that the run may cost; 0 is no limit.")
    max_tokens = OfRun("Tokens that the run may use; 0 is no limit.")
    message_history_idx = OfRun("The index in the agent's history at which the run began; -1 before any.")

    @property
    def _run(self) -> TaskRun:
        """The run whose code asks; outside of any, the latest."""
        node = current.get()
        while node is not None:
            run = cast("TaskRun | None", node.__dict__.get("_task_run")) if isinstance(node, CallNode) else None
            if run is not None and run.task is self:
                return run
            node = node._parent
        if self._outside is None:
            self._outside = TaskRun(cast("Task[Any]", self))
        return self._outside

    @property
    def callbacks(self) -> TaskCallbacks:
        """Functions that are told what the task does; see `TaskCallbacks`."""
        from trivium.agents._callbacks import TaskCallbacks  # most tasks have none

        if self.own_callbacks is None:
            self.own_callbacks = TaskCallbacks()
        return self.own_callbacks

    # ---- the step
    @driver_neutral
    async def step_async(self, turns: int = -1) -> Message | None:
        """Let the first who can answer the pending message do so.

        In order: the user (unless asked in the last step, or a tool call waits), the agent, its model, the sub-tasks.
        The first valid response becomes the pending message.

        Args:
            turns: how many steps a sub-task may take; -1 is no limit.

        Returns:
            The pending message after the step.
        """
        return await self._take_step(self._run, turns)

    step = sync_method(step_async)

    async def _take_step(self, run: TaskRun, turns: int) -> Message | None:
        with step("step") as node:
            await self._step(run, node, turns)
            if run.pending_message is not None and node._scope.listeners:
                node._emit(MessageEvent, run.pending_message)
        return run.pending_message

    async def _step(self, run: TaskRun, node: CallNode, turns: int) -> None:
        run.is_done = False
        unknown = self._unknown_recipient(run)
        if unknown is not None:
            return self._accept(run, node, _AGENT, self._no_such_recipient(unknown))
        refusal: tuple[ResponderKey, Message] | None = None
        signals = self.config.recognize_string_signals
        respond = self.response
        for key in self._order(run):
            run.is_pass_thru = False
            if not self._can_respond(run, key):
                self._tell(node, key, None, could_respond=False)
                continue
            run.human_tried = key is _USER
            response = cast("Message | None", await invoke(respond, key, turns))
            content = None if response is None else response.content
            said = content if isinstance(content, str) else ""
            if response is not None and NO_ANSWER in said:
                refusal = key, response
            run.is_done = self._is_done_response(response, key)
            run.is_pass_thru = signals and PASS in said and read_route(cast("Message", response)).passes
            if self.valid(response, cast("Any", key)):
                return self._accept(run, node, key, cast("Message", response))
            self._tell(node, key, response)
            if run.is_done:
                break
        if refusal is not None:
            return self._accept(run, node, *refusal)
        unknown_calls = self._calls_of_nobody(run)
        if unknown_calls is not None:
            return self._accept(run, node, _AGENT, unknown_calls)
        self._came_to_nothing(run, node)

    def _order(self, run: TaskRun) -> list[ResponderKey]:
        pending = run.pending_message
        ask_user = not run.human_tried and self.agent_responds(_USER)
        if ask_user and pending is not None and self.agent.has_tool_message_attempt(pending):
            ask_user = False
        own: list[ResponderKey] = [each for each in (_AGENT, _LLM) if self.agent_responds(each)]
        return [*([_USER] if ask_user else ()), *own, *self.sub_tasks]

    def agent_responds(self, entity: Entity) -> bool:
        """Whether the agent has this responder."""
        if not self._names_its_responders():
            return True
        return any(each == entity for each, _ in self.agent.entity_responders())

    def _names_its_responders(self) -> bool:
        """Whether the agent's class says itself who responds."""
        return cast("type[Agent]", type(self.agent)).entity_responders is not Agent.entity_responders

    def _unknown_recipient(self, run: TaskRun) -> str | None:
        receiver = None if run.pending_message is None else run.pending_message.receiver
        if not receiver:
            return None
        names = {self.name, self.agent.name, *(task.name for task in self.sub_tasks)}
        names |= set() if run.caller is None else {run.caller.name}
        return None if receiver in names or receiver in tuple(Entity) else receiver

    def _calls_of_nobody(self, run: TaskRun) -> Message | None:
        """What the model is told where it called tools that neither the agent nor a sub-task has."""
        pending = run.pending_message
        if pending is None or run.pending_sender is not _LLM:
            return None
        calls = [call for call in calls_in(self.agent, pending) if call.id and class_of(self.agent, call.name) is None]
        if not calls:
            return None
        names = ", ".join(self.agent.llm_tools_usable) or "none"
        results = {call.id: f"error: there is no tool {call.name}; there are {names}" for call in calls}
        answer = Message(content="\n\n".join(results.values()), sender=self.agent.name, entity=_AGENT)
        only = calls[0].id if len(calls) == 1 else None
        return answer.replace(tool_call_id=only, tool_results=None if only else results)

    def _no_such_recipient(self, unknown: str) -> Message:
        names = ", ".join(["Agent", "LLM", "User", *(task.name for task in self.sub_tasks)])
        text = f"Invalid recipient: {unknown}. There is nobody of that name here; there are {names}"
        return Message(content=text, sender=self.agent.name, entity=_AGENT)

    def _user_can_respond(self, run: TaskRun) -> bool:
        pending = run.pending_message
        if self.interactive or pending is None:
            return self.interactive
        return pending.receiver == _USER and not self.agent.has_tool_message_attempt(pending)

    def _can_respond(self, run: TaskRun, key: ResponderKey) -> bool:
        if key is run.pending_sender or (key is _USER and not self._user_can_respond(run)):
            return False
        pending = run.pending_message
        if pending is None:
            return True
        receiver = pending.receiver
        if isinstance(key, Module) and not key.agent.can_respond(pending):
            return False
        if receiver and not (receiver == key or receiver in (key.value, self.name, self.agent.name)):
            return False
        return "metadata" not in pending.__pydantic_extra__ or pending.metadata.block != key

    # ---- a response
    @driver_neutral
    async def response_async(self, e: ResponderKey, turns: int = -1) -> Message | None:
        """What a responder says to the pending message, its address read.

        Args:
            e: an entity of the agent, or a sub-task.
            turns: how many steps a sub-task may take; -1 is no limit.
        """
        run = self._run
        if isinstance(e, Module):
            found = await self._ask_sub_task(run, e, turns)
        else:
            found = await self._ask_agent(run, e)
        author = e if isinstance(e, Entity) else _USER
        message = self.agent.to_ChatDocument(found, chat_doc=run.pending_message, author_entity=author)
        return None if message is None else self._routed(run, message)

    response = sync_method(response_async)

    async def _ask_agent(self, run: TaskRun, e: Entity) -> Any:
        pending = run.pending_message
        if e is _USER and self.default_human_response is not None:
            text = self.default_human_response
            return Message(content=text, entity=_USER) if text else None
        if self._names_its_responders():
            return await invoke(dict(self.agent.entity_responders())[e], pending)
        return await invoke(dict(self.agent.entity_responders())[e], pending)

    async def _ask_sub_task(self, run: TaskRun, task: Task[Any], turns: int) -> Message | None:
        pending = run.pending_message
        waiting = () if pending is None else [call for call in calls_in(self.agent, pending) if call.id]
        if len(waiting) > 1 and not self.config.allow_subtask_multi_oai_tools:
            text = "error: call one tool at a time, a sub-task takes no more"
            return Message(content="", entity=_USER, tool_results={call.id: text for call in waiting})
        from trivium.agents._callbacks import notify, show_subtask

        for each in (task.agent, task):
            if each.own_callbacks is not None:
                await notify(each.own_callbacks, "set_parent_agent", parent=self.agent)
        result = await task._as_sub_task(pending, task.turns if task.turns > 0 else turns, cast("Task[Any]", self))
        if self.own_callbacks is not None:
            await show_subtask(self.own_callbacks, task, result)
        if result is not None and len(waiting) == 1 and result.tool_call_id is None:
            return result.replace(tool_call_id=waiting[0].id)
        return result

    def _routed(self, run: TaskRun, response: Message) -> Message:
        if not self.config.recognize_string_signals:
            return response
        route = read_route(response, self.config.addressing_prefix)
        if not route.passes:
            is_new = route.content is not response.content or route.receiver is not response.receiver
            return response.replace(content=route.content, receiver=route.receiver) if is_new else response
        if route.receiver is not None and run.pending_message is not None:
            run.pending_message = run.pending_message.replace(receiver=route.receiver)
            return response.replace(content=PASS)
        return response

    # ---- judging it
    def valid(self, result: Message | None, r: Any) -> bool:
        """Whether a response ends the search for one: it ends the task, or says something that is no refusal."""
        if result is None:
            return False
        if self.done(result, r)[0]:
            return True
        return not is_empty(result, with_pass=self.config.recognize_string_signals) and not refuses(result)

    def _says_done(self, message: Message) -> bool:
        config = self.config
        return config.recognize_string_signals and says_done(message, as_substring=config.done_as_substring)

    def _is_done_response(self, response: Message | None, key: ResponderKey) -> bool:
        """Whether a response ends the task by who gave it, or by what it says."""
        name = key.value
        if is_empty(response, with_pass=self.config.recognize_string_signals):
            return name in self.done_if_no_response
        response = cast("Message", response)
        if name in self.done_if_response or self._says_done(response):
            return True
        return key is _AGENT and is_done_tool(response)

    def done(self, result: Message | None = None, r: Any = None) -> tuple[bool, StatusCode]:
        """Whether the task is done, and why.

        In this order: a tool call where the config says so, a sequence of events, no progress, then in an interactive
        root task only the user's wish, else what the responders said.

        Args:
            result: a response; default: the pending message.
            r: the responder that gave it.
        """
        run = self._run
        message = run.pending_message if result is None else result
        if (
            message is not None
            and (self.config.done_if_tool or self._sequences)
            and self._has_ended_it(run, message, r)
        ):
            return True, _DONE
        if run.n_stalled_steps >= self.max_stalled_steps:
            return True, StatusCode.STALLED
        ended = message is not None and is_done_tool(message)
        said = ended or (message is not None and self._says_done(message))
        quits = message is not None and message.entity is _USER and (said or is_user_quit(message))
        if run.caller is None and self.only_user_quits_root and self._user_can_respond(run):
            return quits, StatusCode.USER_QUIT if quits else _OK
        if run.is_done or ended:
            return True, _DONE
        to_caller = run.caller is not None and message is not None and message.receiver == run.caller.name
        return message is None or said or to_caller or quits, _OK

    def _has_ended_it(self, run: TaskRun, message: Message, r: Any) -> bool:
        if self.config.done_if_tool and self._happened(message, r).tools:
            return True
        if not self._sequences:
            return False
        happened = run.happened
        if not happened or happened[-1].message is not message:
            happened = [*happened, self._happened(message, run.last_responder if r is None else r)]
        return any(matches(sequence, happened) for sequence in self._sequences)

    def _happened(self, message: Message | None, key: ResponderKey | None) -> Happened:
        name = "" if key is None else key.value
        if message is None:
            return Happened(None, name, None, ())
        calls = [call.name for call in calls_in(self.agent, message) if class_of(self.agent, call.name) is not None]
        return Happened(message, name, message.entity, (*calls, *(tool.request for tool in message.tool_messages)))

    # ---- what a step comes to
    def _accept(self, run: TaskRun, node: CallNode, key: ResponderKey, response: Message) -> None:
        parent = run.pending_message
        if NO_ANSWER in str(response.content) and run.loops is not None:
            run.loops.refused(run.steps)
        run.last_responder = key
        if parent is not None:
            link(parent, response)
            run.recent.append(parent)
        if run.is_pass_thru:
            run.n_stalled_steps += 1
        else:
            entity = response.entity
            run.pending_sender = key if isinstance(key, Module) or parent is None or entity is None else entity
            if self._stays_open(run, response):
                response = response.replace(
                    attachments=[each for each in response.attachments if not is_done_tool_alone(each)] or None
                )
            run.pending_message = response
            run.n_stalled_steps = 0
        self._note(run, response, key)
        self._tell(node, key, response, is_result=True)

    def _stays_open(self, run: TaskRun, response: Message) -> bool:
        """Whether tools that would end the task count for nothing: in a root task that only its user ends."""
        if not response.attachments or run.caller is not None or not self.only_user_quits_root:
            return False
        return self._user_can_respond(run) and is_done_tool(response)

    def _came_to_nothing(self, run: TaskRun, node: CallNode) -> None:
        run.n_stalled_steps += 1
        if self.allow_null_result and not run.is_pass_thru:
            entity = _LLM if run.pending_sender is _USER else _USER
            dummy = Message(content=NO_ANSWER, sender=entity.value, entity=entity)
            if run.pending_message is not None:
                link(run.pending_message, dummy)
            run.pending_message, run.pending_sender = dummy, entity
            if run.loops is not None:
                run.loops.refused(run.steps)
        self._note_event(run, None, run.last_responder)
        self._tell(node, run.pending_sender, run.pending_message, is_result=True)

    def _note(self, run: TaskRun, response: Message, key: ResponderKey) -> None:
        if run.loops is not None and run.pending_message is not None:
            run.loops.add(run.pending_message)
        self._note_event(run, response, key)

    def _note_event(self, run: TaskRun, response: Message | None, key: ResponderKey | None) -> None:
        if self._sequences:
            run.happened.append(self._happened(response, key))
            del run.happened[: -max(len(each.events) for each in self._sequences)]

    def _tell(
        self,
        node: CallNode,
        key: ResponderKey,
        message: Message | None,
        *,
        could_respond: bool = True,
        is_result: bool = False,
    ) -> None:
        if node._scope.listeners or type(self).log_message is not TaskLogs.log_message:
            self.log_message(key, message, is_result, could_respond=could_respond)

    # ---- the end
    def result(self, status: StatusCode | None = None) -> Message | None:
        """What the task came to, as if its user had said it: the pending message without what ended it.

        Args:
            status: how the task ended; where it got nowhere, there is no result.
        """
        if status in NO_RESULT:
            return None
        run = self._run
        pending = run.pending_message
        if pending is None:
            return Message(content="", sender=self.name, entity=_USER).replace(status=status)
        content, attachments, calls = pending.content, pending.attachments, pending.tool_calls or None
        if attachments and is_done_tool(pending):
            value, attachments = result_of(pending)
            content, calls = text_of_result(value), None
        elif self.config.recognize_string_signals and not is_data(pending):
            content = without_done(content, as_substring=self.config.done_as_substring)
        if calls and (typed := self.agent.try_get_tool_messages(pending, all_tools=True)):
            attachments = (*attachments, *(each for each in typed if each not in attachments))
            calls = tuple(each for each in calls if class_of(self.agent, each.name) is None) or None
        answer = pending.replace(
            content=content,
            sender=self.name,
            receiver=None if run.caller is not None and pending.receiver == run.caller.name else pending.receiver,
            entity=_USER,
            status=status or pending.status,
            attachments=attachments or None,
            tool_calls=calls,
            tool_call_id=None,
            origin=pending.origin if calls else None,
        )
        object.__setattr__(answer, "__pydantic_private__", None)  # its place is behind the pending message, not at its
        link(pending, answer)
        linked(answer)["agent_id"] = self.agent.id
        return answer


def is_done_tool_alone(tool: Any) -> bool:
    """Whether a tool ends one task, not those above it too."""
    return isinstance(tool, AgentDoneTool | DoneTool) and not isinstance(tool, FinalResultTool)
