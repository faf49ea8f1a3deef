"""The task: a loop over responders that routes messages until one of them ends it."""

from __future__ import annotations

import copy
from collections.abc import Coroutine, Hashable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, cast, overload

from pydantic import BaseModel
from typing_extensions import TypeVar

import trivium.tasks._outcome as ends
from trivium.agents import Agent, ChatAgent
from trivium.agents.lowlevel import late_callbacks, own_containers, type_argument, typed_class
from trivium.commander import CallNode, Limits, current, this_session
from trivium.commander.lowlevel import SessionLocks, driver_neutral, invoke, sync_function, sync_method
from trivium.exceptions import ConfigurationError, DeadlineExceededError, LimitExceededError, RunKilledError
from trivium.module import OPTIONS, Module
from trivium.schema import Entity, Message, StatusCode
from trivium.schema.lowlevel import check_arguments, check_content, checked, link, positive
from trivium.tasks._attributes import RunAttributes, alias
from trivium.tasks._config import TaskConfig, refuse_others
from trivium.tasks._events import Response
from trivium.tasks._kill import kill_runs, running_tasks, stop_session
from trivium.tasks._logs import answer_logged, log_response, open_log
from trivium.tasks._responders import SubTaskResponder, check_sub_tasks, methods_of, name_of, responder_of
from trivium.tasks._run import Responder, TaskRun, begin_run, own_names, run_of
from trivium.tasks._sequences import parse_done_sequences

if TYPE_CHECKING:
    from trivium.agents.lowlevel import CallMethod, TaskCallbacks
    from trivium.commander.lowlevel import AsyncStream, Stream
    from trivium.schema import Answer
    from trivium.tasks._log_files import RunLog

T = TypeVar("T", default=Message | None)
R = TypeVar("R")


class Task(Module, RunAttributes, Generic[T]):
    """Runs an agent, its user and its sub-tasks as responders until the task is done.

    In each step the first responder with a valid response answers the pending message: the user (where the task is
    interactive), the agent (it handles tool messages), its model, then the sub-tasks in order. No responder answers
    itself. A message may address one of them. Running a task is a call like any other: one task object runs
    concurrently, each run in its session. Subclasses may override `step`, `response`, `valid`, `done` and `result`.

    Args:
        agent: any agent, also one that is composed of others; default: `ChatAgent()`.
        name: default: the agent's name; a given name becomes the agent's too.
        llm_delegate: the model leads the conversation, and the others answer it.
        single_round: one response ends the task; with `llm_delegate`, the model's question and one response.
        system_message: replaces the agent's.
        user_message: the first message of the user in every conversation.
        restart: forget the session's conversation when a run starts.
        default_human_response: the user's answer, without asking the user.
        interactive: let the user answer in each round.
        only_user_quits_root: in an interactive root task, only the user ends it.
        erase_substeps: after a run, remember only its question and its result.
        allow_null_result: where nobody has an answer, go on with a refusal in the user's or the model's name.
        max_stalled_steps: steps in a row without a valid response after which the run ends.
        done_if_no_response: the responders whose silence ends the task.
        done_if_response: the responders any response of which ends the task.
        config: all other options.
        default_return_type: the type of the result of `run`; see `run_async`.
        **kwargs: deprecated keywords, ignored with a warning.

    Attributes:
        sub_tasks: the tasks below this one, which are reset and cloned with it; see `add_sub_task`.
        name_sub_task_map: the same by name.
        responders: the entities of the agent, and the sub-tasks. The user is asked only if it is one of them.
        non_human_responders: all but the user, in the order in which they are asked: what is changed in it, or set in
            its place, counts from the next step on.

    Raises:
        ConfigurationError: a keyword is unknown; the text suggests the closest match.

    Example:
        >>> from trivium import ChatAgent, Task
        >>> from trivium.testing import ScriptedModel
        >>> task = Task(ChatAgent(ScriptedModel(["DONE 42"])), interactive=False)
        >>> task.run("6 * 7?").content, task.run("6 * 7?", return_type=int)
        ('42', 42)
    """

    name: str = "Task"
    agent: Any  # the documents read a chat agent's attributes of it
    answer_type: Any = None
    """The type of its results, set by `Task[T]` before `__init__` and by `class Mine(Task[T])`; None: messages."""
    value: str = alias("name")
    """The name, as entities have it."""
    responders_async: list[Responder] = alias("responders")
    """The same list as `responders`."""
    non_human_responders_async: list[Responder] = alias("non_human_responders")
    """The same list as `non_human_responders`."""
    color_log: bool = False
    responder_class: ClassVar[type[SubTaskResponder]] = SubTaskResponder
    """The kind of responder that it is as a sub-task; see `trivium.tasks.lowlevel`."""
    own_callbacks: TaskCallbacks | None = None
    log: RunLog | None = None
    logger: Any = None
    """A logger with `log(line)`, as Langroid's `RichFileLogger`, for the lines in place of their file."""
    tsv_logger: Any = None
    """A logger with `info(row)`, as those of `logging`, for the rows of the table in place of their file."""

    if TYPE_CHECKING:
        __call__: CallMethod[Answer[T]]  # type: ignore[override]
        acall: CallMethod[Coroutine[Any, Any, Answer[T]]]  # type: ignore[override]
        stream: CallMethod[Stream[Answer[T]]]  # type: ignore[override]
        open: CallMethod[AsyncStream[Answer[T]]]  # type: ignore[override]
    else:

        def __class_getitem__(cls, argument):
            return typed_class(cls, argument) or super().__class_getitem__(argument)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.answer_type = type_argument(cls, cls.answer_type)

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
        default_return_type: type[T] | None = None,
        **kwargs: Any,
    ) -> None:
        refuse_others(kwargs, Task.__init__, "a Task")
        positive(max_stalled_steps=max_stalled_steps)
        self.agent = agent = ChatAgent() if agent is None else agent
        self.sub_tasks, self.name_sub_task_map = list[Task[Any]](), dict[str, Task[Any]]()
        self.responders: list[Responder] = [entity for entity, _ in methods_of(agent)]
        self.non_human_responders: list[Responder] = [each for each in self.responders if each is not Entity.USER]
        super().__init__(name=name or agent.name)
        self.config = self.config_sub_task = config or TaskConfig()
        if agent.config is not None:  # from now on the agent has a config of its own
            agent.config = cast("Any", BaseModel.model_copy(agent.config, update={"name": name} if name else None))
        agent.name = name or agent.name
        instruct(agent, system_message, user_message, restart=restart)
        self.llm_delegate, self.single_round, self.interactive = llm_delegate, single_round, interactive
        self.turns = (2 if llm_delegate else 1) if single_round else -1
        self.only_user_quits_root, self.restart, self.erase_substeps = only_user_quits_root, restart, erase_substeps
        self.allow_null_result, self.default_human_response = allow_null_result, default_human_response
        self.done_if_response = [*map(name_of, done_if_response)]
        self.done_if_no_response = [*map(name_of, done_if_no_response)]
        self.done_sequences = tuple(parse_done_sequences(self.config.done_sequences or (), agent.llm_tools_map))
        self.default_return_type: Any = default_return_type or self.answer_type
        self.latest_run, self.max_stalled_steps = TaskRun(self), max_stalled_steps
        self._locks = SessionLocks()

    callbacks: TaskCallbacks = late_callbacks("TaskCallbacks")

    def __getitem__(self, return_type: type[R]) -> Task[R]:
        """Return the same task with results of a type; it has the same agents and conversations."""
        new = copy.copy(cast("Task[R]", self))
        new.default_return_type = return_type
        return new

    # ---- sub-tasks
    def add_sub_task(self, task: Any) -> None:
        """Add one responder or several: each runs as a call below this task's.

        Args:
            task: a task, a pair of a task and its config as a sub-task, or a list of these.

        Raises:
            ConfigurationError: one of them is no task, or this task is below it; none is added.
        """
        many = cast("Iterable[Any]", [task] if isinstance(task, tuple) or not isinstance(task, Iterable) else task)
        pairs: list[tuple[Any, Any]] = [each if isinstance(each, tuple) else (each, None) for each in many]  # pyright: ignore[reportUnknownVariableType] - checked below
        for each, config in pairs:
            if not isinstance(each, Task):
                raise ConfigurationError(f"a sub-task is a Task, not {type(each).__name__}: write Task(agent)")
            if not (config is None or isinstance(config, TaskConfig)):
                raise ConfigurationError(f"a sub-task's config is a TaskConfig(…), not {type(config).__name__}")
        check_sub_tasks(self, sub_tasks := [each for each, _ in pairs], [each.name for each in self.sub_tasks])
        for each, config in pairs:
            each.config_sub_task = config or each.config
        for added in (self.sub_tasks, self.responders, self.non_human_responders):
            added.extend(sub_tasks)
        self.name_sub_task_map |= {each.name: each for each in sub_tasks}

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the agent, then the sub-tasks by name."""
        yield "agent", self.agent
        yield from ((task.name, task) for task in self.sub_tasks)

    def system_texts(self) -> list[str]:
        return self.agent.system_texts()

    def reset_all_sub_tasks(self) -> None:
        """Forget the session's conversation: here, and in all sub-tasks."""
        for _, part in self.agent.named_parts():  # its tools may be those of the run above
            part.reset(this_session())
        self.agent.init_state()
        for each in self.sub_tasks:
            each.reset_all_sub_tasks()

    def clone(self, i: int) -> Self:
        """Return a copy of the task, called `name-i`, with agents and sub-tasks of its own."""
        new = copy.copy(self)
        own_containers(new)
        new.log = new.own_callbacks = None
        new.agent = cast("ChatAgent", self.agent).clone(i)
        new.config, new.config_sub_task = self.config.model_copy(), self.config_sub_task.model_copy()
        new.name, new.latest_run, new._locks = f"{self.name}-{i}", TaskRun(new), SessionLocks()
        copies = {each: each.clone(i) for each in self.sub_tasks}
        for name in ("sub_tasks", "responders", "non_human_responders", "done_if_response", "done_if_no_response"):
            setattr(new, name, [copies.get(each, each) for each in getattr(self, name)])
        new.name_sub_task_map = {each.name: each for each in new.sub_tasks}
        return new

    # ---- running
    @overload
    async def run_async(
        self, msg: Any = None, turns: int = -1, caller: Task[Any] | None = None, max_cost: float = 0,
        max_tokens: int = 0, session_id: Hashable = "", *, allow_restart: bool = True, return_type: None = None,
        **kwargs: Any,
    ) -> T: ...  # fmt: skip
    @overload
    async def run_async(
        self, msg: Any = None, turns: int = -1, caller: Task[Any] | None = None, max_cost: float = 0,
        max_tokens: int = 0, session_id: Hashable = "", *, allow_restart: bool = True, return_type: type[R],
        **kwargs: Any,
    ) -> R: ...  # fmt: skip
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
            msg: a message, text or any value; None: the agent begins, or continues its conversation.
            turns: the most steps of the run; -1: no limit.
            caller: the task that this one is a part of.
            max_cost: US dollars that the run and everything below may cost; 0: no limit.
            max_tokens: tokens that they may use; 0: no limit.
            session_id: the conversation; default: the caller's.
            allow_restart: False: continue the conversation even where the task restarts.
            return_type: the type of the result. Its value travels with the result message, or is stated in its text,
                or is requested from the model once more.
            **kwargs: as for any call: timeout, limits, listeners, context, approve, policy.

        Returns:
            The value of the type; without a type the message, whose `.status` says how the task ended, or None where it
            stalled or the message was for another: then `task.why` says why. Calling the task, `task(message)`, always
            gives a message, and `.why` is its attribute.

        Raises:
            AnswerFormatError: the result has no value of the type; `raw` is its text.
            InfiniteLoopError: messages repeat endlessly.
        """
        if unknown := kwargs.keys() - OPTIONS:
            refuse_others(unknown, Task.run_async, f"{type(self).__name__}.run", OPTIONS)
        if most := {name: each for name, each in (("tokens", max_tokens), ("usd", max_cost)) if each > 0}:
            kwargs["limits"] = replace(kwargs.get("limits") or Limits(), **most)
        message = self.agent.to_ChatDocument(check_content(msg), author_entity=Entity.USER)
        kind = return_type or self.default_return_type
        kwargs |= {"turns": turns, "caller": caller, "allow_restart": allow_restart, "spent": (max_cost, max_tokens)}
        answer = await self.acall(message, session_id=session_id, return_type=kind, **kwargs)
        return ends.value_of_run(self, answer, kind)

    if TYPE_CHECKING:  # a sync method has the one form of its core

        @overload
        def run(
            self, msg: Any = None, turns: int = -1, caller: Task[Any] | None = None, max_cost: float = 0,
            max_tokens: int = 0, session_id: Hashable = "", *, allow_restart: bool = True, return_type: None = None,
            **kwargs: Any,
        ) -> T: ...  # fmt: skip
        @overload
        def run(
            self, msg: Any = None, turns: int = -1, caller: Task[Any] | None = None, max_cost: float = 0,
            max_tokens: int = 0, session_id: Hashable = "", *, allow_restart: bool = True, return_type: type[R],
            **kwargs: Any,
        ) -> R: ...  # fmt: skip

        def run(self, *args: Any, **kwargs: Any) -> Any: ...
    else:
        run = sync_method(run_async)

    async def run_below(self, caller: Task[Any], message: Message | None, turns: int) -> Message | None:
        """Run the task as a sub-task; None where it has no result."""
        turns = self.turns if self.turns > 0 else turns
        if not own_names(self).isdisjoint(("run", "run_async")):
            return await invoke(self.run, message, turns=turns, caller=caller)
        result = await self.acall(message, turns=turns, caller=caller)
        return None if result.content is None and not result.attachments else result

    async def _turn(self, node: CallNode, message: tuple[Any, ...], kwargs: dict[str, Any]) -> Message:
        running_tasks[node] = self  # one that waits for its turn can be stopped too
        try:
            answer = await super()._turn(node, message, kwargs)
        except (RunKilledError, DeadlineExceededError) as error:
            answer = ends.end_stopped_run(self, node, error)
        except RecursionError:
            check_sub_tasks(self, filter(callable, self.non_human_responders))  # a task can be called, an entity cannot
            raise
        return ends.with_output(self, answer, kwargs.get("return_type"))

    async def _answer(self, node: CallNode, messages: list[Message], kwargs: dict[str, Any]) -> Message:
        channel = self.config.kill_channel
        given = self.logger or self.tsv_logger or node.scope.listeners
        if channel is None and self.config.logs_dir is None and not given:
            return await super()._answer(node, messages, kwargs)
        answer = partial(super()._answer, node, messages, kwargs)
        if channel is not None:
            from trivium.tasks._kill_channel import answer_reachably

            answer = partial(answer_reachably, channel, node, answer)
        return await answer_logged(self, node, messages, answer)

    @driver_neutral
    async def forward(
        self,
        *message: Message,
        turns: int = -1,
        caller: Task[Any] | None = None,
        allow_restart: bool = True,
        spent: tuple[float, int] = (0, 0),
        return_type: Any = None,
        session_id: Hashable = 0,
    ) -> Message:
        """Run the task; `caller` is the task above, if there is one, and the session is that of the call."""
        if turns != -1 or caller is not None:  # most runs are given neither
            check_arguments(Task.forward, self, [("turns", turns), ("caller", caller)])
        given = message[0] if message else None
        if given is not None and given.receiver not in (None, "", self.name):
            return ends.no_result(self.name, None, f"the message is for {given.receiver}, and this task is {self.name}")
        restarts = self.restart if caller is None else self.config_sub_task.restart_as_subtask
        if restarts and allow_restart:
            self.reset_all_sub_tasks()
        run = begin_run(self, caller, turns, return_type)
        run.max_cost, run.max_tokens = spent
        (self.init if "init" in run.own else run.receive)(given)
        try:
            status = await run.run_steps()
        except LimitExceededError as error:
            if caller is not None:
                raise  # the limit is the whole run's: the root answers for it
            answer = ends.end_limited_run(run, error)
        else:
            answer = await ends.with_value(run, ends.end_run(run, status))
        if self.erase_substeps:
            run.erase_substeps()
        return answer

    # ---- the parts of a run, each of which a subclass may override
    def init(self, msg: Message | str | None = None) -> Message | None:
        """Begin a run: the message becomes the pending one, in the user's name, and is returned.

        Without a message the conversation continues from the agent's last message, if it has one. Outside of `run`,
        this begins a run whose steps are taken by `step`.
        """
        if current.get() is None:
            given = Message.deepcopy(msg) if isinstance(msg, Message) else msg
            if isinstance(msg, Message) and isinstance(given, Message) and (parent := msg.parent) is not None:
                link(parent, given)
            return begin_run(self).receive(given)
        return run_of(self).receive(msg)

    @driver_neutral
    async def step_async(self, turns: int = -1) -> Message | None:
        """Take one step of the run, and return the pending message after it; a sub-task takes at most `turns` steps."""
        return await run_of(self).take_step(turns)

    step = sync_method(step_async)

    @driver_neutral
    async def response_async(self, e: Responder, turns: int = -1) -> Message | None:
        """Let one responder, an entity or a sub-task, answer the pending message; return its response.

        A sub-task takes at most `turns` steps; -1: no limit.
        """
        run = run_of(self)
        return await run.request_response(responder_of(run, e), turns)

    response = sync_method(response_async)

    def valid(self, result: Message | None, r: Any) -> bool:
        """Return whether a response ends the search for one: it ends the task, or has content and is no refusal."""
        run = run_of(self)
        return run.is_valid(run.signs_of(result), r)

    def done(self, result: Message | None = None, r: Any = None) -> tuple[bool, StatusCode]:
        """Return whether the task is done, and its status.

        In this order: a tool call where the config says so, a sequence of events, no progress, then in an interactive
        root task only the user's wish, else the signals of the responders.

        Args:
            result: a response; default: the pending message.
            r: its responder.
        """
        run = run_of(self)
        return run.end_of(run.signs_of(run.pending_message if result is None else result), r)

    def result(self, status: StatusCode | None = None) -> Message | None:
        """Return the result for a status: the pending message in the user's name, without what ended the task."""
        return ends.result_of_run(run_of(self), status)

    # ---- stopping
    def kill(self) -> None:
        """Stop the runs of this task, from any thread: inside a run those of its session, else all; return at once.

        What waits is woken, model calls are broken off, sub-tasks end too. Only a handler that is plain sync code
        finishes first. The result has the status KILL.
        """
        kill_runs(self)

    kill_session_async = staticmethod(stop_session)
    kill_session = staticmethod(sync_function(stop_session))

    # ---- logs
    def log_message(self, resp: Responder, msg: Message | None = None, mark: bool = False) -> None:
        """Report a response to the listeners of the run, the log among them; outside a run, to the log alone.

        Args:
            resp: the responder: an entity, or a sub-task.
            msg: the response; None: it had none.
            mark: it is the outcome of the step.
        """
        log_response(self, Response(self.name, name_of(resp), msg, run_of(self).passed_over is not resp, mark))

    def init_loggers(self) -> None:
        """Open the log files now, and keep them open until `close_loggers`; without a `logs_dir` nothing happens.

        Raises:
            OutputError: they cannot be written.
        """
        self.log = self.log or open_log(self)

    def close_loggers(self) -> None:
        """Close the files that `init_loggers` opened; a run keeps its own until it ends."""
        if self.log is not None:
            self.log.close()
        self.log = None

    def set_color_log(self, enable: bool = True) -> None:
        """Write the .log with the colours of a terminal, from the next run on; the default is without."""
        self.color_log = enable


def instruct(agent: Agent, system_message: str, user_message: str | None, *, restart: bool) -> None:
    """Give a task's agent its messages; without `restart` a conversation that has begun is left as it is.

    Raises:
        ConfigurationError: an agent that is no chat agent has no first message of the user.
    """
    if isinstance(agent, ChatAgent):
        if restart or not agent.message_history:
            agent.clear_history(0)
            if system_message:
                agent.set_system_message(system_message)
            if user_message:
                agent.set_user_message(user_message)
    elif user_message:
        raise ConfigurationError(f"user_message needs a ChatAgent, not {type(agent).__name__}")
    elif system_message:
        agent.system_message = system_message
