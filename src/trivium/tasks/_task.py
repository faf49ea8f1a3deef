"""The task: a loop over responders that routes messages until somebody is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from trivium._arguments import checked
from trivium.actions import AgentDoneTool, FinalResultTool
from trivium.agents import Agent, ChatAgent
from trivium.agents._responders import as_message, responder
from trivium.commander import CallNode, Limits, current, door, invoke, portable, step, this_session
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    LimitExceededError,
    RunKilledError,
)
from trivium.module import MessageEvent, Module
from trivium.schema import Entity, Message, StatusCode
from trivium.tasks._run import Loops, ResponderKey, TaskRun
from trivium.tasks._signals import NO_ANSWER, is_empty, is_user_quit, read_route, says_done, without_done

_BY_LIMIT = {"tokens": StatusCode.MAX_TOKENS, "usd": StatusCode.MAX_COST}
_NO_RESULT = (StatusCode.STALLED, StatusCode.MAX_TURNS, StatusCode.INF_LOOP)
_RESPONDERS = {Entity.AGENT: "agent_response", Entity.LLM: "llm_response", Entity.USER: "user_response"}


class TaskConfig(BaseModel):
    """How a task runs.

    Args:
        inf_loop_cycle_len: the longest cycle of messages that is taken for an endless loop; 0 looks for none.
        restart_as_subtask: forget the conversation each time a parent calls the task.
        addressing_prefix: a sign before a name that addresses it, such as "@"; "" is none.
    """

    model_config = ConfigDict(extra="forbid")

    inf_loop_cycle_len: int = 10
    restart_as_subtask: bool = False
    addressing_prefix: str = ""


class Task(Module):
    """Runs an agent, its user and its sub-tasks as responders until the task is done.

    In each step the first who has something valid to say answers the pending message: the user (where the
    task is interactive), the agent (it runs tool messages), its model, then the sub-tasks in order. Nobody
    answers himself. A message may address one of them. Running a task is a call like any other: one task
    object runs concurrently, each run in its session.

    Args:
        agent: default: `ChatAgent()`. Any agent will do, a composite of others too.
        name: default: the agent's.
        single_round: one valid response ends the task.
        system_message: replaces the agent's, for this task.
        interactive: let the user answer in each round.
        default_human_response: what the user says when nobody is asked.
        only_user_quits_root: in an interactive root task, only the user ends it.
        restart: forget the session's conversation when a run starts.
        erase_substeps: after a run, remember of it the question and the result only.
        max_stalled_steps: steps without a valid response after which the run ends.
        done_if_response: who ends the task by any response.
        done_if_no_response: who ends the task by having none.
        config: the rest.

    Example:
        >>> from trivium import ChatAgent, Task
        >>> from trivium.testing import ScriptedModel
        >>> task = Task(ChatAgent(ScriptedModel(["DONE 42"])), interactive=False)
        >>> task.run("6 * 7?").content
        '42'
    """

    name: str = "Task"

    @checked
    def __init__(
        self,
        agent: Agent | None = None,
        name: str = "",
        *,
        single_round: bool = False,
        system_message: str = "",
        interactive: bool = True,
        default_human_response: str | None = None,
        only_user_quits_root: bool = True,
        restart: bool = True,
        erase_substeps: bool = False,
        max_stalled_steps: int = 5,
        done_if_response: Iterable[Entity] = (),
        done_if_no_response: Iterable[Entity] = (),
        config: TaskConfig | None = None,
    ) -> None:
        agent = ChatAgent() if agent is None else agent
        super().__init__(name=name or agent.name)
        self.agent = agent
        if system_message:
            if not isinstance(agent, ChatAgent):
                raise ConfigurationError(f"system_message needs a ChatAgent, not {type(agent).__name__}")
            agent.system_message = system_message
        self.interactive, self.default_human_response = interactive, default_human_response
        self.only_user_quits_root, self.restart, self.erase_substeps = only_user_quits_root, restart, erase_substeps
        self.max_stalled_steps, self.turns = max_stalled_steps, 1 if single_round else -1
        self.done_if_response, self.done_if_no_response = map(frozenset, (done_if_response, done_if_no_response))
        self.config = config or TaskConfig()
        self.sub_tasks: list[Task] = []

    def add_sub_task(self, task: Task | Iterable[Task]) -> None:
        """Add a responder, or several: each runs as a call below this task's.

        Raises:
            ConfigurationError: one of them is no task; none is added.
        """
        tasks: list[Any] = list(task) if isinstance(task, Iterable) else [task]
        if wrong := [each for each in tasks if not isinstance(each, Task)]:
            raise ConfigurationError(f"a sub-task is a Task, not {type(wrong[0]).__name__}: write Task(agent)")
        self.sub_tasks.extend(tasks)

    def named_children(self) -> Any:
        """The agent, then the sub-tasks by name."""
        yield "agent", self.agent
        yield from ((task.name, task) for task in self.sub_tasks)

    # ---- running
    @checked
    @portable
    async def run_async(
        self, message: Message | str | None = None, turns: int = -1, *, max_tokens: int = 0, **kwargs: Any
    ) -> Message | None:
        """Run the task.

        Args:
            message: what to do; None lets the agent begin.
            turns: valid responses after which the run ends; -1 is no limit.
            max_tokens: what the run and everything below may use; 0 is no limit.
            **kwargs: as for any call: session_id, timeout, limits, listeners, context.

        Returns:
            The result; `.status` says how the task ended. None where it stalled, or the message was for
            somebody else. Calling the task, `task(message)`, gives a message in any case.
        """
        if max_tokens:
            kwargs["limits"] = replace(kwargs.get("limits") or Limits(), tokens=max_tokens)
        result = await self.acall(message, turns=turns, **kwargs)
        return None if result.content is None and result.status in (None, *_NO_RESULT) else result

    run = door(run_async)

    async def _turn(self, node: CallNode, message: tuple[Any, ...], kwargs: dict[str, Any]) -> Message:
        try:
            return await super()._turn(node, message, kwargs)
        except (RunKilledError, DeadlineExceededError) as error:
            if node._stopping is None or node._stopping[0] is not node:
                raise
            status = StatusCode.KILL if isinstance(error, RunKilledError) else StatusCode.TIMEOUT
            return self._result(cast("TaskRun | None", node.__dict__.get("_task_run")), status)

    @portable
    async def forward(self, *message: Message, turns: int = -1, caller: str | None = None) -> Message:
        """Run the task; `caller` is the name of the task above, if there is one."""
        given = message[0] if message else Message(content="", entity=Entity.USER)
        if given.receiver not in (None, "", self.name) and caller is None:
            return self._nothing(None)
        if (self.restart and caller is None) or (caller is not None and self.config.restart_as_subtask):
            self._forget()
        run = self._begin(given, turns, caller)
        try:
            await self._loop(run)
        except LimitExceededError as error:
            if caller is not None:
                raise  # the whole run's: the root answers for it
            run.status = _BY_LIMIT.get(error.limit, StatusCode.FIXED_TURNS)
        if self.erase_substeps:
            self._erase(given, run)
        return self._result(run, run.status or StatusCode.OK)

    def _begin(self, given: Message, turns: int, caller: str | None) -> TaskRun:
        loops = Loops(self.config.inf_loop_cycle_len) if self.config.inf_loop_cycle_len > 0 else None
        pending = given if caller is None else given.but(entity=Entity.USER, receiver=None)
        run = TaskRun(pending, caller=caller, turns=turns if turns > 0 else self.turns, loops=loops)
        node = current.get()
        if isinstance(node, CallNode):
            node.__dict__["_task_run"] = run
        return run

    async def _loop(self, run: TaskRun) -> None:
        while True:
            with step("step") as node:
                await self._step(run)
                node._emit(MessageEvent, run.pending)
            run.steps += 1
            run.status = self._status(run)
            if run.status is not None:
                return
            if run.loops is not None and not run.stalled:
                run.loops.add(run.pending)

    # ---- a step
    async def _step(self, run: TaskRun) -> None:
        """Let the first who can answer the pending message do so."""
        unknown = self._unknown_receiver(run)
        if unknown is not None:
            names = ", ".join(["Agent", "LLM", "User", *(task.name for task in self.sub_tasks)])
            text = f"there is nobody called '{unknown}' here; there are {names}"
            run.pending = Message(content=text, sender=self.agent.name, entity=Entity.AGENT)
            run.pending_sender = Entity.AGENT
            return
        no_answer: tuple[ResponderKey, Message] | None = None
        for key in self._order(run):
            if not self._can_respond(run, key):
                continue
            response = await self._respond(run, key)
            run.human_tried = key is Entity.USER
            if response is None and key in self.done_if_no_response:
                run.status, run.responder = StatusCode.DONE, key
                return
            if response is not None and self._valid(response):
                return self._accept(run, key, response)
            if response is not None and not is_empty(response):
                no_answer = (key, response)
        if no_answer is not None:
            return self._accept(run, *no_answer)
        run.stalled += 1
        run.pending_sender = Entity.USER if run.pending_sender is not Entity.USER else Entity.SYSTEM

    def _order(self, run: TaskRun) -> list[ResponderKey]:
        first: list[ResponderKey] = [Entity.USER] if not run.human_tried and not run.pending.tool_calls else []
        return [*first, Entity.AGENT, Entity.LLM, *self.sub_tasks]

    def _unknown_receiver(self, run: TaskRun) -> str | None:
        receiver = run.pending.receiver
        known = {self.name, run.caller, self.agent.name, *(task.name for task in self.sub_tasks)}
        return None if not receiver or receiver in known or receiver in tuple(Entity) else receiver

    def _can_respond(self, run: TaskRun, key: ResponderKey) -> bool:
        receiver = run.pending.receiver
        if key is run.pending_sender:
            return False
        addressed = bool(receiver) and receiver == (key.name if isinstance(key, Task) else key)
        if key is Entity.USER and not (self.interactive or addressed):
            return False
        if isinstance(key, Task) and run.pending.tool_calls and not addressed:
            return bool(key.agent._handled_calls(run.pending))
        return not receiver or addressed or receiver in (self.name, self.agent.name)

    async def _respond(self, run: TaskRun, key: ResponderKey) -> Message | None:
        if isinstance(key, Task):
            result = await key.acall(run.pending, caller=self.name)
            return None if result.content is None else result
        if key is Entity.USER and self.default_human_response is not None:
            text = self.default_human_response
            return Message(content=text, entity=Entity.USER) if text else None
        given = None if is_empty(run.pending) and run.steps == 0 else run.pending
        found = await invoke(responder(self.agent, _RESPONDERS[key]), given)
        if found is None:
            return None
        found = as_message(found) if isinstance(found, Message | str) else self.agent._from_agent(found)
        return found if found is None or found.entity is not None else found.but(entity=key)

    def _valid(self, response: Message) -> bool:
        content = response.content
        refuses = isinstance(content, str) and content.strip(" \n,.!?:") == NO_ANSWER
        return not is_empty(response) and (says_done(response) or not refuses)

    def _accept(self, run: TaskRun, key: ResponderKey, response: Message) -> None:
        route = read_route(response, self.config.addressing_prefix)
        if route.passes:
            if says_done(response):  # done, with the message that came in
                run.status = StatusCode.DONE
            run.pending = run.pending.but(receiver=route.receiver)
            run.stalled += 1
            run.pending_sender = key
            return
        run.pending = response.but(content=route.content, receiver=route.receiver)
        run.pending_sender = run.responder = key
        run.stalled = 0
        if run.turns > 0:
            run.turns -= 1
            if run.turns == 0:
                run.status = StatusCode.FIXED_TURNS

    # ---- the end
    def _status(self, run: TaskRun) -> StatusCode | None:
        """How the task has ended, or None while it goes on."""
        if is_user_quit(run.pending) and run.responder is Entity.USER:
            return StatusCode.USER_QUIT
        waits_for_user = self.interactive and run.caller is None and self.only_user_quits_root
        if run.stalled >= self.max_stalled_steps:
            return StatusCode.STALLED
        done = says_done(run.pending) or (run.responder in self.done_if_response and not run.stalled)
        to_caller = run.caller is not None and run.pending.receiver == run.caller
        if run.responder is not None and (done or to_caller) and not waits_for_user:
            return StatusCode.DONE
        return run.status

    def _result(self, run: TaskRun | None, status: StatusCode) -> Message:
        if run is None or status in _NO_RESULT:
            return self._nothing(status)
        pending = run.pending
        ends = [each for each in pending.attachments if isinstance(each, AgentDoneTool)]
        passed_on = FinalResultTool if run.caller is not None else ()
        kept = tuple(each for each in pending.attachments if each not in ends or isinstance(each, passed_on))
        return pending.but(
            content=ends[-1].content if ends else without_done(pending.content),
            sender=self.name,
            receiver=None if pending.receiver == run.caller else pending.receiver,
            entity=Entity.USER,
            status=status,
            attachments=kept or None,
            tool_call_id=None,
        )

    def _nothing(self, status: StatusCode | None) -> Message:
        return Message(sender=self.name, entity=Entity.USER).but(status=status)

    def _forget(self) -> None:
        for module in (self.agent, *self.sub_tasks):
            module.reset(this_session(), recursive=True)

    def _erase(self, given: Message, run: TaskRun) -> None:
        self._forget()
        if self.agent.memory:
            self.agent.memory.add([given, run.pending.but(sender=self.agent.name)], this_session())
