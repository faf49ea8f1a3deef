"""One run of a task: its state and its steps. In each step the first valid response becomes the pending message."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Set
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from trivium.actions.lowlevel import is_done_tool_alone
from trivium.agents import ChatAgent
from trivium.agents.lowlevel import repairs_exceeded
from trivium.commander.lowlevel import change_scope, current, emit, invoke, scope_of, session_of, step
from trivium.exceptions import AnswerFormatError, InfiniteLoopError
from trivium.module import MessageEvent, Module
from trivium.schema import Entity, Message, StatusCode
from trivium.schema.lowlevel import check_name, link
from trivium.settings import settings_in_force
from trivium.tasks._responders import TaskResponder, name_of, responders_of
from trivium.tasks._sequences import TaskStep, ends_with
from trivium.tasks._signals import NO_ANSWER, PASS, SILENCE, LoopDetector, Signs, parse_route, read_signs

if TYPE_CHECKING:
    from trivium.tasks._task import Task

Responder: TypeAlias = "Entity | Task[Any]"
"""One that answers in a task: an entity of its agent, or a sub-task."""
RECENT = 16
_AGENT, _LLM, _USER = Entity.AGENT, Entity.LLM, Entity.USER  # a member is slow to look up
_STEP, _RESPONSE = ("step", "step_async"), ("response", "response_async")
_DONE, _OK = StatusCode.DONE, StatusCode.OK


@dataclass(slots=True, eq=False)
class TaskRun:
    """The state of one run of a task.

    Args:
        task: the task that runs.
        caller: the task that called it.
        turns: the most steps; -1: no limit.
        kind: the type that the call, or else the task, asks for; None or `Message` for any message.
        above: the run that encloses this one, whether or not it is the caller's.
    """

    task: Task[Any]
    caller: Task[Any] | None = None
    turns: int = -1
    kind: Any = None
    above: TaskRun | None = None
    pending_message: Message | None = None
    pending_sender: Responder = Entity.USER
    session_id: Hashable = ""
    max_cost: float = 0
    max_tokens: int = 0
    steps: int = 0
    n_stalled_steps: int = 0
    human_tried: bool = False
    is_done: bool = False
    is_pass_thru: bool = False
    history_length: int = 0
    message_history_idx: int = -1
    last_responder: Responder | None = None
    why: str = ""
    responders: tuple[TaskResponder, ...] = ()
    keys: list[Responder] | None = None
    """The entities and tasks for which `responders` was made."""
    methods: dict[str, Callable[..., Any]] = field(default_factory=dict[str, "Callable[..., Any]"])
    """The responder methods of the agent, by the texts of their entities: these have a slow hash of their own."""
    passed_over: Responder | None = None
    """The responder that is being logged as passed over."""
    signs: Signs = SILENCE
    """The signs of the latest response."""
    pending_signs: Signs = SILENCE
    recent: deque[Message] = field(default_factory=partial(deque[Message], maxlen=RECENT))
    """The latest messages that were pending: they live as long as `message.parent` may be asked for."""
    own: Set[str] = field(init=False)
    """The `own_names` of the task."""
    history: deque[TaskStep] | None = field(init=False)
    """The latest steps, as many as the longest of the sequences of events that end the task; None without any."""
    loops: LoopDetector = field(init=False)

    def __post_init__(self) -> None:
        task = self.task
        self.own = own_names(task)
        self.loops = LoopDetector(task.config)
        longest = max((len(each.events) for each in task.done_sequences), default=0)
        self.history = deque(maxlen=longest) if longest else None

    def signs_of(self, message: Message | None) -> Signs:
        """Return the signs of a message, which are read once."""
        if message is None:
            return SILENCE
        for signs in (self.signs, self.pending_signs):
            if signs.message is message and signs.content is message.content:
                return signs
        self.signs = signs = read_signs(message, self.task.agent, self.task.config)
        return signs

    def may_try_again(self) -> bool:
        """Return whether the model reads an error about its text and answers again; the text itself is not wanted."""
        is_typed, is_last = self.kind not in (None, Message), 0 < self.turns <= self.steps + 1
        return not (is_typed or is_last or _LLM.value in self.task.done_if_response)

    # ---- its beginning and end
    def receive(self, given: Message | str | None) -> Message | None:
        """Make a message the pending one, in the user's name; without one, the last message of the conversation.

        Returns:
            The pending message.
        """
        agent = self.task.agent
        message = agent.to_ChatDocument(given, author_entity=Entity.USER)
        memory = agent.current_memory()
        self.history_length = 0 if memory is None else len(memory)
        self.message_history_idx = self.history_length or int(isinstance(agent, ChatAgent) and bool(agent.user_message))
        self.pending_sender = Entity.USER
        if message is None and memory:
            last = memory.get_memory(1)[0]
            message = last.replace(entity=Entity.LLM) if last.sender == agent.name else last
            self.pending_sender = message.entity or Entity.USER
        elif message is not None and self.caller is not None:
            # Only the task above knows the calls that the message answers.
            message = message.replace(entity=Entity.USER, receiver=None, tool_call_id=None, tool_results=None)
        self.pending_message = message
        return message

    def erase_substeps(self) -> None:
        """Let the agent remember only the question and the result of a run, and the sub-tasks nothing of it."""
        memory = self.task.agent.memory and self.task.agent.memory.get(self.session_id)
        if memory is not None:
            memory.delete(range(self.history_length + 1, len(memory) - 1))
        for each in self.task.sub_tasks:
            for _, part in each.agent.named_parts():
                part.reset(self.session_id)

    # ---- steps
    async def run_steps(self) -> StatusCode:
        """Take steps until the task is done, out of turns or in a loop; return the status.

        Raises:
            InfiniteLoopError: messages repeat endlessly.
        """
        task, most = self.task, settings_in_force().max_turns
        turns = min(self.turns, most) if self.turns > 0 and most > 0 else max(self.turns, most)
        while True:
            await (self.take_step() if self.own.isdisjoint(_STEP) else invoke(task.step))
            is_done, status = task.done() if "done" in self.own else self.end_of(self.signs_of(self.pending_message))
            if is_done:
                return status
            self.steps += 1
            if 0 < turns <= self.steps:
                return StatusCode.MAX_TURNS if self.steps == most else StatusCode.FIXED_TURNS
            loop = self.loops.find(self.steps)
            if loop:
                self.why = f"{loop}{self.last_error()}"
                if task.config.inf_loop_action == "status":
                    return StatusCode.INF_LOOP
                raise InfiniteLoopError(
                    f"{self.why}; change what the agents are told, or set TaskConfig(inf_loop_cycle_len=0) if this is "
                    'meant, or inf_loop_action="status" to end with INF_LOOP'
                )

    async def take_step(self, turns: int = -1) -> Message | None:
        """Take one step: the pending message is answered, or the run has stalled for one step more.

        Args:
            turns: the most steps of a sub-task; -1: no limit.

        Returns:
            The pending message after the step.
        """
        task = self.task
        with step("step") as node:
            is_heard = bool(node.scope.listeners) or "log_message" in self.own
            found = await self.find_response(turns, is_heard)
            if found is None:
                self.stall()
                key, response = self.pending_sender, self.pending_message
            else:
                key, response = found[0], self.accept(*found)
            if is_heard:
                task.log_message(key, response, True)
                if self.pending_message is not None:
                    emit(node, MessageEvent, self.pending_message)
        return self.pending_message

    async def find_response(self, turns: int, is_heard: bool) -> tuple[Responder, Signs] | None:
        """Ask the responders in order, and return the signs of the first valid response with its responder.

        Without one it is a refusal; None if there is none either.
        """
        task = self.task
        self.is_done = False
        if self.pending_message is not None and self.pending_message.receiver:
            unknown = self.unknown_recipient(self.pending_message.receiver)
            if unknown is not None:
                return _AGENT, self.signs_of(unknown)
        has_own_response = not self.own.isdisjoint(_RESPONSE)
        refusal: tuple[Responder, Signs] | None = None
        for responder in responders_of(self):
            key, self.is_pass_thru = responder.key, False
            if not responder.may_respond(self):
                if is_heard and responder.is_due(self):
                    self.passed_over = key
                    task.log_message(key, None)
                    self.passed_over = None
                continue
            self.human_tried = key is _USER
            response: Message | None = await (
                invoke(task.response, key, turns) if has_own_response else self.request_response(responder, turns)
            )
            signs = SILENCE if response is None else self.signs_of(response)
            if self.judge(signs, key):
                return key, signs
            if signs.has_refusal:
                refusal = key, signs
            if is_heard:
                task.log_message(key, response)
            if self.is_done:
                break
        return refusal

    async def request_response(self, responder: TaskResponder, turns: int) -> Message | None:
        """Ask a responder to answer the pending message, and read the address in the answer."""
        task = self.task
        answer = await responder.respond(self, turns)
        if answer is None:
            return None
        if not isinstance(answer, Message) or answer.__pydantic_extra__.get("entity") is None:
            answer = task.agent.to_ChatDocument(answer, chat_doc=self.pending_message, author_entity=responder.author)
        if answer is None or not task.config.recognize_string_signals:
            return answer
        prefix, text = task.config.addressing_prefix, answer.content
        if not isinstance(text, str) or not (prefix or "__" in text):
            return answer
        route = parse_route(answer, prefix, task.agent)
        if not route.passes:
            is_new = route.content is not text or route.receiver is not answer.receiver
            return answer.replace(content=route.content, receiver=route.receiver) if is_new else answer
        if route.receiver is not None and self.pending_message is not None:
            self.pending_message = self.pending_message.replace(receiver=route.receiver)
            return answer.replace(content=PASS)
        return answer

    def unknown_recipient(self, receiver: str) -> Message | None:
        """Return the agent's answer to a message whose addressee does not exist here; None if it exists."""
        task, callers = self.task, () if self.caller is None else (self.caller.name,)
        names = [name for each in responders_of(self) for name in each.names]
        if receiver in (task.name, task.agent.name, *names, *callers, _AGENT, _LLM, _USER):
            return None
        names = ", ".join(["Agent", "LLM", "User", *(each.name for each in task.sub_tasks)])
        text = f"Invalid recipient: {receiver}. There is nobody of that name here; there are {names}"
        return Message(content=text, sender=task.agent.name, entity=_AGENT)

    # ---- judging a response
    def judge(self, signs: Signs, key: Responder) -> bool:
        """Note whether a response ends the task or passes; return whether it is valid. See `is_valid`."""
        task = self.task
        if signs.is_empty:
            ends = bool(task.done_if_no_response) and key.value in task.done_if_no_response
        else:
            ends = signs.says_done or (key is _AGENT and signs.is_done_tool)
            ends = ends or (bool(task.done_if_response) and key.value in task.done_if_response)
        self.is_done, self.is_pass_thru = ends, signs.passes
        if "valid" in self.own:
            return task.valid(signs.message, key)
        return signs.message is not None and self.is_valid(signs, key)

    def is_valid(self, signs: Signs, key: Responder | None) -> bool:
        """Return whether a response ends the search for one: it ends the task, or has content that is no refusal."""
        if signs.message is None:
            return False
        done = self.task.done(signs.message, key) if "done" in self.own else self.end_of(signs, key)
        return done[0] or not (signs.is_empty or signs.is_refusal)

    def end_of(self, signs: Signs, key: Responder | None = None) -> tuple[bool, StatusCode]:
        """Return whether the task ends with a message, and the status; see `Task.done`."""
        task, message = self.task, signs.message
        if message is not None and (task.config.done_if_tool or self.history is not None):
            latest = TaskStep.of(signs, self.last_responder if key is None else key, task.agent)
            if task.config.done_if_tool and latest.tools:
                return True, _DONE
            if self.history is not None and ends_with(task.done_sequences, self.history, latest):
                return True, _DONE
        if self.n_stalled_steps >= task.max_stalled_steps:
            return True, StatusCode.STALLED
        if self.n_stalled_steps and self.is_answered():
            return True, _DONE
        if self.caller is None and task.only_user_quits_root and self.user_can_respond():
            return signs.quits, StatusCode.USER_QUIT if signs.quits else _OK
        if self.is_done or signs.is_done_tool:
            return True, _DONE
        is_for_caller = self.caller is not None and message is not None and message.receiver == self.caller.name
        return message is None or signs.says_done or is_for_caller or signs.quits, _OK

    def is_answered(self) -> bool:
        """Return whether nobody here has more to say to the pending message.

        It is a value of its agent's type, or, in a sub-task without a model, what its agent said.
        """
        if self.pending_message is None or self.user_can_respond():
            return False
        if self.pending_sender is _LLM:
            extra = self.pending_message.__pydantic_extra__
            return "output" in extra and not isinstance(extra["output"], AnswerFormatError)
        is_own = self.caller is not None and self.pending_sender is _AGENT
        # A task can be called, an entity cannot.
        return is_own and not (self.task.agent.has_model() or any(map(callable, self.task.non_human_responders)))

    def user_can_respond(self) -> bool:
        """Return whether the user is asked: in an interactive task, or by a message for the user without tools."""
        task, pending = self.task, self.pending_message
        if task.interactive or pending is None or not pending.receiver:
            return task.interactive
        return pending.receiver == _USER and not task.agent.has_tool_message_attempt(pending)

    # ---- the outcome of a step
    def accept(self, key: Responder, signs: Signs) -> Message:
        """Make a response the pending message, or, where it passes, leave the pending message as it is.

        Returns:
            The response; in a root task that only its user ends, without the tools that would end the task.
        """
        task, parent, response = self.task, self.pending_message, signs.message
        assert response is not None
        if signs.has_refusal:
            self.loops.add_refusal(self.steps)
        self.last_responder = key
        links = response.__pydantic_private__
        if links and (repairs := links.get("repairs")) and repairs > task.agent.repairs:
            raise repairs_exceeded(response, self.signs_of(parent).calls)
        if parent is not None:
            link(parent, response)
            self.recent.append(parent)
        if self.is_pass_thru:
            self.n_stalled_steps += 1
        else:
            entity = signs.entity
            self.pending_sender = key if isinstance(key, Module) or parent is None or entity is None else entity
            if signs.is_done_tool and self.caller is None and task.only_user_quits_root and self.user_can_respond():
                left = [each for each in response.attachments if not is_done_tool_alone(each)]
                response = response.replace(attachments=left or None)
            self.pending_message, self.pending_signs = response, signs
            self.n_stalled_steps = 0
        self.loops.add(self.signs_of(self.pending_message) if self.is_pass_thru else signs)
        if self.history is not None:
            self.history.append(TaskStep.of(signs, key, task.agent))
        return response

    def stall(self) -> None:
        """Count a step without a response; where null results are allowed, the other side answers with a refusal."""
        self.n_stalled_steps += 1
        if self.task.allow_null_result and not self.is_pass_thru:
            entity = _LLM if self.pending_sender is _USER else _USER
            refusal = Message(content=NO_ANSWER, sender=entity.value, entity=entity)
            if self.pending_message is not None:
                link(self.pending_message, refusal)
            self.pending_message, self.pending_sender = refusal, entity
            self.loops.add_refusal(self.steps)
        if self.history is not None:
            self.history.append(TaskStep.of(SILENCE, self.last_responder, self.task.agent))

    def last_error(self) -> str:
        """Return the agent's latest error message, as the rest of a sentence; "" if there is none."""
        for message in reversed((*self.recent, self.pending_message or Message())):
            if message.entity is _AGENT and isinstance(text := message.content, str) and text.startswith("error:"):
                return f"; the agent's last response was {text!r}"
        return ""


def begin_run(task: Task[Any], caller: Task[Any] | None = None, turns: int = -1, kind: Any = None) -> TaskRun:
    """Begin a run of a task: the code of the present call, and all code below it, belongs to that run from now on."""
    known = *task.responders, *task.non_human_responders
    for name in (*task.done_if_response, *task.done_if_no_response):
        check_name(name, [name_of(each) for each in known], "no responder of the task is called")
    run = task.latest_run = TaskRun(task, caller, turns if turns > 0 else task.turns, kind or task.default_return_type)
    if (node := current.get()) is not None:
        run.session_id, run.above = session_of(node), cast("TaskRun | None", scope_of(node).task_run)
        change_scope(node, task_run=run)
    return run


def run_of(task: Task[Any]) -> TaskRun:
    """Return the run of a task whose code runs here; outside of its runs, the latest."""
    run = None if (node := current.get()) is None else cast("TaskRun | None", scope_of(node).task_run)
    while run is not None and run.task is not task:
        run = run.above
    return run or task.latest_run


def own_names(task: Task[Any]) -> Set[str]:
    """Return the names of the documented methods that a subclass has written, and of the object's attributes."""
    return task.overridden | task.__dict__.keys()
