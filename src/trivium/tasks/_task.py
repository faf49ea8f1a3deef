"""The task: a loop over responders that routes messages until somebody is done."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, cast, overload

from typing_extensions import TypeVar

from trivium._arguments import checked
from trivium._settings import settings
from trivium.agents import Agent, ChatAgent
from trivium.agents.lowlevel import value_in
from trivium.commander import CallNode, Limits, current, driver_neutral, invoke, sync_method, this_session
from trivium.exceptions import (
    ConfigurationError,
    DeadlineExceededError,
    InfiniteLoopError,
    LimitExceededError,
    RunKilledError,
)
from trivium.schema import Entity, Message, StatusCode
from trivium.tasks._config import TaskConfig, check_keywords
from trivium.tasks._run import Loops, TaskRun
from trivium.tasks._sequences import parse_done_sequences
from trivium.tasks._steps import NO_RESULT, Steps

__all__ = ["Responder", "Task"]

T = TypeVar("T", default=Message)
R = TypeVar("R")
_OPTIONS = frozenset({"approve", "timeout", "limits", "listeners", "context"})
_BY_LIMIT = {"tokens": StatusCode.MAX_TOKENS, "usd": StatusCode.MAX_COST}


class Task(Steps, Generic[T]):
    """Runs an agent, its user and its sub-tasks as responders until the task is done.

    In each step the first who has something valid to say answers the pending message: the user (where the
    task is interactive), the agent (it runs tool messages), its model, then the sub-tasks in order. Nobody
    answers himself. A message may address one of them. Running a task is a call like any other: one task
    object runs concurrently, each run in its session.

    Args:
        agent: default: `ChatAgent()`. Any agent will do, a composite of others too.
        name: default: the agent's; given, it becomes the agent's too.
        llm_delegate: the model leads the conversation, the others answer it.
        single_round: one response ends the task; with `llm_delegate`, the model's question and one response.
        system_message: replaces the agent's.
        user_message: what the user says first in every conversation.
        restart: forget the session's conversation when a run starts.
        default_human_response: what the user says when nobody is asked.
        interactive: let the user answer in each round.
        only_user_quits_root: in an interactive root task, only the user ends it.
        erase_substeps: after a run, remember of it the question and the result only.
        allow_null_result: where nobody has an answer, go on with a refusal in the user's or the model's name.
        max_stalled_steps: steps without a valid response after which the run ends.
        done_if_no_response: who ends the task by having none.
        done_if_response: who ends the task by any response.
        config: the rest.
        default_return_type: the type of `run`'s result; see `run_async`.
        **kwargs: known keywords of other times, with a warning.

    Raises:
        ConfigurationError: a keyword is unknown; the text names the nearest.

    Example:
        >>> from trivium import ChatAgent, Task
        >>> from trivium.testing import ScriptedModel
        >>> task = Task(ChatAgent(ScriptedModel(["DONE 42"])), interactive=False)
        >>> task.run("6 * 7?").content, task.run("6 * 7?", return_type=int)
        ('42', 42)
    """

    name: str = "Task"

    @checked
    def __init__(
        self,
        agent: Agent | None = None,
        name: str = "",
        llm_delegate: bool = False,
        single_round: bool = False,
        system_message: str = "",
        user_message: str | None = "",
        restart: bool = True,
        default_human_response: str | None = None,
        interactive: bool = True,
        only_user_quits_root: bool = True,
        erase_substeps: bool = False,
        allow_null_result: bool = False,
        max_stalled_steps: int = 5,
        done_if_no_response: Iterable[Any] = (),
        done_if_response: Iterable[Any] = (),
        config: TaskConfig | None = None,
        *,
        default_return_type: Any = None,
        **kwargs: Any,
    ) -> None:
        check_keywords(kwargs, Task.__init__)
        agent = ChatAgent() if agent is None else agent
        super().__init__(name=name or agent.name)
        self.agent = agent
        self.config = config or TaskConfig()
        self.config_sub_task = self.config
        self._adopt(agent, name, system_message, user_message, restart)
        self.llm_delegate, self.single_round = llm_delegate, single_round
        self.turns = (2 if llm_delegate else 1) if single_round else -1
        self.interactive, self.default_human_response = interactive, default_human_response
        self.only_user_quits_root, self.restart, self.erase_substeps = only_user_quits_root, restart, erase_substeps
        self.allow_null_result, self.max_stalled_steps = allow_null_result, max_stalled_steps
        self.done_if_response, self.done_if_no_response = map(_names, (done_if_response, done_if_no_response))
        self.default_return_type = default_return_type
        self.sub_tasks: list[Task[Any]] = []
        tools = agent.llm_tools_map if self.config.done_sequences else None
        self._sequences = tuple(parse_done_sequences(self.config.done_sequences or (), tools))

    def _adopt(self, agent: Agent, name: str, system_message: str, user_message: str | None, restart: bool) -> None:
        """Give the agent what this task is told for it; its config is its own from now on."""
        if agent.config is not None:
            agent.config = agent.config.model_copy(update={"name": name} if name else None)
        if name:
            agent.name = name
        if not isinstance(agent, ChatAgent):
            if system_message or user_message:
                raise ConfigurationError(f"system_message needs a ChatAgent, not {type(agent).__name__}")
            return
        if restart or not agent.message_history:
            agent.clear_history(0)
            if system_message:
                agent.set_system_message(system_message)
            if user_message:
                agent.set_user_message(user_message)

    @property
    def value(self) -> str:
        """The name, as entities have it."""
        return self.name

    def __getitem__(self, return_type: type[R]) -> Task[R]:
        """The same task with results of a type; its agents and conversations are the same ones."""
        new = copy.copy(self)
        new.default_return_type = return_type
        return cast("Task[R]", new)

    # ---- sub-tasks
    @property
    def responders(self) -> list[Any]:
        """Who may answer: the agent's responders, then the sub-tasks."""
        return [*(entity for entity, _ in self.agent.entity_responders()), *self.sub_tasks]

    @property
    def non_human_responders(self) -> list[Any]:
        """The same without the user."""
        return [each for each in self.responders if each is not Entity.USER]

    responders_async, non_human_responders_async = responders, non_human_responders

    @property
    def name_sub_task_map(self) -> dict[str, Task[Any]]:
        """The sub-tasks by name."""
        return {task.name: task for task in self.sub_tasks}

    def add_sub_task(self, task: Any) -> None:
        """Add a responder, or several: each runs as a call below this task's.

        Args:
            task: a task, a pair of a task and the config that it has as a sub-task, or a list of these.

        Raises:
            ConfigurationError: one of them is no task; none is added.
        """
        is_one = isinstance(task, tuple) or not isinstance(task, Iterable)
        many: list[Any] = [task] if is_one else list(cast("Iterable[Any]", task))
        pairs: list[tuple[Any, Any]] = [each if isinstance(each, tuple) else (each, None) for each in many]  # pyright: ignore[reportUnknownVariableType] - checked below
        for each, config in pairs:
            if not isinstance(each, Task):
                raise ConfigurationError(f"a sub-task is a Task, not {type(each).__name__}: write Task(agent)")
            if not (config is None or isinstance(config, TaskConfig)):
                raise ConfigurationError(f"a sub-task's config is a TaskConfig(…), not {type(config).__name__}")
        for each, config in pairs:
            each.config_sub_task = config or each.config
            self.sub_tasks.append(each)

    def named_children(self) -> Any:
        """The agent, then the sub-tasks by name."""
        yield "agent", self.agent
        yield from ((task.name, task) for task in self.sub_tasks)

    def reset_all_sub_tasks(self) -> None:
        """Forget the session's conversation: here, and in all sub-tasks."""
        self._forget(frozenset())

    def _forget(self, above: frozenset[int]) -> None:
        self.agent.reset(this_session(), recursive=True)
        self.agent.init_state()
        for task in self.sub_tasks:
            if id(task) not in above:
                task._forget(above | {id(self)})

    def clone(self, i: int) -> Self:
        """The same task once more, called `name-i`, with agents and sub-tasks of its own."""
        new = copy.copy(self)
        new._outside = new._log = None
        new.own_callbacks = None
        new.agent = self.agent.clone(i)
        new.config, new.config_sub_task = self.config.model_copy(), self.config_sub_task.model_copy()
        new.name = f"{self.name}-{i}"
        new.sub_tasks = [task.clone(i) for task in self.sub_tasks]
        return new

    # ---- running
    @overload
    async def run_async(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: float = 0,
        max_tokens: int = 0,
        session_id: Hashable = "",
        *,
        allow_restart: bool = True,
        return_type: None = None,
        **kwargs: Any,
    ) -> T | None: ...
    @overload
    async def run_async(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: float = 0,
        max_tokens: int = 0,
        session_id: Hashable = "",
        *,
        allow_restart: bool = True,
        return_type: type[R],
        **kwargs: Any,
    ) -> R | None: ...
    @checked
    @driver_neutral
    async def run_async(
        self,
        msg: Any = None,
        turns: int = -1,
        caller: Task[Any] | None = None,
        max_cost: float = 0,
        max_tokens: int = 0,
        session_id: Hashable = "",
        *,
        allow_restart: bool = True,
        return_type: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Run the task.

        Args:
            msg: what to do, a message, text or any value; None lets the agent begin, or go on with what it has.
            turns: steps after which the run ends; -1 is no limit.
            caller: the task that this one is a part of.
            max_cost: US dollars that the run and everything below may cost; 0 is no limit.
            max_tokens: tokens that they may use; 0 is no limit.
            session_id: whose conversation it is; default: the caller's.
            allow_restart: False goes on with the conversation even where the task restarts.
            return_type: a type; the result is then a value of it: one that travels with the result message, that its
                text states, or that the model gives when it is asked once more.
            **kwargs: as for any call: timeout, limits, listeners, context.

        Returns:
            The result; `.status` says how the task ended. None where it stalled, or the message was for
            somebody else. Calling the task, `task(message)`, gives a message in any case.

        Raises:
            InfiniteLoopError: messages repeat for ever.
        """
        check_keywords({name: each for name, each in kwargs.items() if name not in _OPTIONS}, Task.run_async, "run")
        if max_tokens > 0 or max_cost > 0:
            limits = kwargs.get("limits") or Limits()
            tokens = max_tokens if max_tokens > 0 else limits.tokens
            kwargs["limits"] = replace(limits, tokens=tokens, usd=max_cost if max_cost > 0 else limits.usd)
        given = self.agent.to_ChatDocument(msg, author_entity=Entity.USER)
        spent = max_cost, max_tokens
        answer = await self.acall(
            given, turns=turns, caller=caller, allow_restart=allow_restart, spent=spent, session_id=session_id, **kwargs
        )
        result = None if answer.content is None and answer.status in (None, *NO_RESULT) else answer
        wanted = return_type or self.default_return_type
        if result is None or wanted is None or wanted is Message:
            return result
        return await self._typed(result, wanted)

    if TYPE_CHECKING:  # a sync method has the one form of its core

        @overload
        def run(
            self,
            msg: Any = None,
            turns: int = -1,
            caller: Task[Any] | None = None,
            max_cost: float = 0,
            max_tokens: int = 0,
            session_id: Hashable = "",
            *,
            allow_restart: bool = True,
            return_type: None = None,
            **kwargs: Any,
        ) -> T | None: ...
        @overload
        def run(
            self,
            msg: Any = None,
            turns: int = -1,
            caller: Task[Any] | None = None,
            max_cost: float = 0,
            max_tokens: int = 0,
            session_id: Hashable = "",
            *,
            allow_restart: bool = True,
            return_type: type[R],
            **kwargs: Any,
        ) -> R | None: ...
        def run(self, *args: Any, **kwargs: Any) -> Any: ...
    else:
        run = sync_method(run_async)

    async def _typed(self, result: Message, kind: Any) -> Any:
        """The result's value of a type; where it has none, the model is asked to state it."""
        found = value_in(result, kind, self.agent)
        if found is not None or not isinstance(self.agent, ChatAgent) or not self.agent.has_model():
            return found
        answer = await self.agent[kind].llm_response_async(
            f"State your last answer again, in this form: {result.content}"
        )
        return None if answer is None else value_in(answer, kind, self.agent)

    async def _as_sub_task(self, message: Message | None, turns: int, caller: Task[Any]) -> Message | None:
        """The result of this task below another; None where it has none."""
        own = self.run
        if getattr(own, "__func__", None) is not Task.run or type(self).run_async is not Task.run_async:
            return await invoke(own, message, turns=turns, caller=caller)  # a subclass has written it
        result = await self.acall(message, turns=turns, caller=caller)
        return None if result.content is None and not result.attachments else result

    async def _turn(self, node: CallNode, message: tuple[Any, ...], kwargs: dict[str, Any]) -> Message:
        try:
            return await super()._turn(node, message, kwargs)
        except (RunKilledError, DeadlineExceededError) as error:
            if node._stopping is None or node._stopping[0] is not node:
                raise
            status = StatusCode.KILL if isinstance(error, RunKilledError) else StatusCode.TIMEOUT
            if "_task_run" not in node.__dict__:  # killed before it began: the latest run is another one
                return self._nothing(status)
            token = current.set(node)
            try:
                return self._ended(status)
            finally:
                current.reset(token)

    @driver_neutral
    async def forward(
        self,
        *message: Message,
        turns: int = -1,
        caller: Task[Any] | None = None,
        allow_restart: bool = True,
        spent: tuple[float, int] = (0, 0),
    ) -> Message:
        """Run the task; `caller` is the task above, if there is one."""
        given = message[0] if message else None
        if given is not None and given.receiver not in (None, "", self.name):
            return self._nothing(None)
        restarts = self.restart if caller is None else self.config_sub_task.restart_as_subtask
        if restarts and allow_restart:
            self.reset_all_sub_tasks()
        run = TaskRun(cast("Task[Any]", self), caller, turns if turns > 0 else self.turns)
        run.max_cost, run.max_tokens = spent
        run.session_id = this_session()
        run.loops = Loops(self.config)
        self._outside = run
        node = current.get()
        if isinstance(node, CallNode):
            node.__dict__["_task_run"] = run
        self.init(given)
        try:
            status = await self._loop(run)
        except LimitExceededError as error:
            if caller is not None:
                raise  # the whole run's: the root answers for it
            status = _BY_LIMIT.get(error.limit, StatusCode.FIXED_TURNS)
        if self.erase_substeps:
            self._erase(run)
        return self._ended(status)

    def init(self, msg: Message | str | None = None) -> Message | None:
        """Begin a run: the message becomes the pending one, said by the user.

        Without a message the conversation goes on from the agent's last message, if it has one. Outside of `run`, this
        begins a run whose steps are taken by `step`.

        Returns:
            The pending message.
        """
        node = current.get()
        if node is None:
            self._outside = TaskRun(cast("Task[Any]", self), turns=self.turns)
            self._outside.loops = Loops(self.config)
        run = self._run
        run.pending_sender = Entity.USER
        if node is None and isinstance(msg, Message):  # a call has copied it
            msg = Message.deepcopy(msg)
        given = self.agent.to_ChatDocument(msg, author_entity=Entity.USER)
        memory = self.agent.current_memory()
        run.history_length = 0 if memory is None else len(memory)
        run.message_history_idx = run.history_length or int(bool(getattr(self.agent, "user_message", None)))
        if given is None and memory:
            last = memory._messages[-1]
            given = last.replace(entity=Entity.LLM) if last.sender == self.agent.name else last
            run.pending_sender = given.entity or Entity.USER
        elif given is not None and run.caller is not None:
            # What calls it answers is known above alone: here nobody has made them.
            given = given.replace(entity=Entity.USER, receiver=None, tool_call_id=None, tool_results=None)
        run.pending_message = given
        return given

    async def _loop(self, run: TaskRun) -> StatusCode:
        own_step = self.step
        is_own = getattr(own_step, "__func__", None) is not Steps.step or type(self).step_async is not Steps.step_async
        while True:
            await (invoke(own_step) if is_own else self._take_step(run, -1))
            is_done, status = self.done()
            if is_done:
                return status
            run.steps += 1
            ended = self._out_of_turns(run) or self._in_a_loop(run)
            if ended is not None:
                return ended

    def _out_of_turns(self, run: TaskRun) -> StatusCode | None:
        most = settings.max_turns
        turns = min(run.turns, most) if run.turns > 0 and most > 0 else max(run.turns, most)
        if turns <= 0 or run.steps < turns:
            return None
        return StatusCode.MAX_TURNS if run.steps == most else StatusCode.FIXED_TURNS

    def _in_a_loop(self, run: TaskRun) -> StatusCode | None:
        found = "" if run.loops is None else run.loops.found(run.steps)
        if not found:
            return None
        if self.config.inf_loop_action == "status":
            return StatusCode.INF_LOOP
        raise InfiniteLoopError(
            f"{found}; change what the agents are told, or set TaskConfig(inf_loop_cycle_len=0) if this is meant, "
            'or inf_loop_action="status" to end with INF_LOOP'
        )

    # ---- the end
    def _ended(self, status: StatusCode) -> Message:
        found = self.result(status)
        if found is None:
            return self._nothing(status)
        message = self.agent.to_ChatDocument(found, author_entity=Entity.USER)
        return message if message.status is not None else message.replace(status=status)

    def _nothing(self, status: StatusCode | None) -> Message:
        return Message(sender=self.name, entity=Entity.USER).replace(status=status)

    def _erase(self, run: TaskRun) -> None:
        """Of what the agent remembers of the run, keep the question and the result; of sub-tasks, nothing."""
        memory = self.agent.current_memory()
        if memory is not None:
            del memory._messages[run.history_length + 1 : -1]
        for task in self.sub_tasks:
            task.agent.reset(this_session(), recursive=True)


def _names(responders: Iterable[Any]) -> frozenset[str]:
    return frozenset(each.value if isinstance(each, Entity | Task) else str(each) for each in responders)


Responder: TypeAlias = Entity | Task[Any]
"""Who answers in a task: an entity of its agent, or a sub-task."""
