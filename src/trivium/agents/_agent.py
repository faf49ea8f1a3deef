"""The agent: a module with a model, a memory and tools, and the three responders that a task asks."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, TypeAlias, TypeVar, cast

import trivium.agents._described as described
import trivium.agents._handling as handling
import trivium.agents._parts as parts
import trivium.policies as policies
from trivium.actions import ActionExecutor, OnToolError, ToolMessage, as_text, find_handler
from trivium.actions.lowlevel import HookFailedError, read_more_of
from trivium.agents._answer_format import name_of_type, repair, repairs_exceeded
from trivium.agents._calls import as_message, class_of, handled_by, is_empty, overrides, warn_of_calls
from trivium.agents._config import AgentConfig, ModelOption
from trivium.agents._names import AgentNames
from trivium.agents._partial import listening_node
from trivium.agents._typed import CallMethod, T_co, type_argument, typed_class
from trivium.agents._user import answer_of_user
from trivium.agents.aggregator import DefaultAggregator, Instruction
from trivium.commander import CallNode, current, invoke
from trivium.commander.lowlevel import driver_neutral, emit, is_within, settle, sources_above, sync_method
from trivium.exceptions import AnswerFormatError, ArgumentTypeError, LimitExceededError, ToolFailedError
from trivium.llms import ModelProtocol, Reply, Request
from trivium.llms.lowlevel import LongHistory, call_model
from trivium.memory import Memory, MemoryChange, MemoryEvent, MemoryManager, MemoryOption
from trivium.module import AsyncModule, Hooks, call_node, overridable
from trivium.schema import Entity, Message, MessageExtra, Origin, ToolCall
from trivium.schema.lowlevel import EDITED, attribute, check_name, create_object, linked, message_of

if TYPE_CHECKING:
    from trivium.commander.lowlevel import AsyncStream, Stream
    from trivium.events import RunEvent
    from trivium.schema import Answer

R = TypeVar("R")
History: TypeAlias = list[dict[str, Any]]
Extra: TypeAlias = Mapping[str, Any]
_LLM, _MODEL = Entity.LLM, Origin.MODEL  # a member is slow to look up


class Agent(AgentNames, Generic[T_co]):
    """Asks a model, runs the tools that the model calls, and answers with what the model says at last.

    `Agent[A](…)` and `Agent(…, output_format=A)` answer with a value of type A, as `answer.output`. Model, memory,
    output_format, aggregator, hooks and tools may be given as configs: a dict with `type` and the keywords of what it
    makes; see `trivium.utils.create_object`.

    Args:
        llm: the model, its name (`"openai:gpt-…"`, `"default"`, a path to a GGUF file), or an `AgentConfig`.
            None: no model, for an agent that is made of others and has a `forward` of its own.
        template: the system instruction.
        tools: functions, tools, actions, `ToolMessage` classes, toolkits, agents and tasks that the agent runs itself
            within its call; or an `ActionExecutor`, with its hooks.
        memory: stores the messages, by session; False or None remembers nothing, a function or a config makes
            the memory of each session. Default: True, but False for an agent made from a config alone.
        output_format: the type of the answer, or an object with `parse_response`, whose result is `message.formatted`.
        aggregator: turns memory into chat messages.
        name: default: the class name, or the config's.
        description: what the agent is for, where it is offered as a tool.
        hooks: change messages on their way in and out.
        system_message: the system instruction, by the name that tasks and chat agents use.
        parameters: sampling parameters for each request (temperature, max_tokens, stop, …).
        max_rounds: how often the model may be asked within one call.
        repairs: how often in a row the model may be told that its answer or a call does not fit; here, and in a task.
        parallel: run several tool calls of one answer at once, except those of tools that run alone.
        on_tool_error: "answer": the model reads an unexpected error; "raise": it ends the run, as a `ToolFailedError`.
        approve: asked before a tool that `needs_approval` runs, here and below; see `ApprovalRequest`.
        policy: decides on calls of tools that send, spend or execute, here and below; see `trivium.policies`.
        read_more: offer the model a tool by which it reads on in a result that was too long and was cut.
        config: as the first argument.

    Raises:
        AnswerFormatError: on a call: the answer has not the type, and asking again twice did not help.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> agent = Agent(ScriptedModel(["hello"]), "Be kind.")
        >>> agent("hi").content
        'hello'
        >>> Agent[int](ScriptedModel(['{"value": 42}']))("6 * 7?").output
        42
    """

    name: str = "Agent"
    description: str = ""
    _template: Instruction = None
    _usual_memory = "default"
    if TYPE_CHECKING:
        output_format: Any  # a class may say so too: `output_format = A`
        # Most have one, and those that have none say so when they are made.
        memory: MemoryManager  # pyright: ignore[reportIncompatibleVariableOverride] # fmt: skip
        # Static types of the calls of the base class: they answer with a value of type T_co.
        __call__: CallMethod[Answer[T_co]]  # type: ignore[override]
        acall: CallMethod[Coroutine[Any, Any, Answer[T_co]]]  # type: ignore[override]
        stream: CallMethod[Stream[Answer[T_co], RunEvent[Answer[T_co]]]]  # type: ignore[override]
        open: CallMethod[AsyncStream[Answer[T_co], RunEvent[Answer[T_co]]]]  # type: ignore[override]
    else:

        def __class_getitem__(cls, argument):
            return typed_class(cls, argument) or super().__class_getitem__(argument)

        @property
        def output_format(self) -> Any:
            """The parser of the answers, or None; a type that is set becomes one, as by `set_output_format`."""
            return self.answer_format or self.answer_parser

        @output_format.setter
        def output_format(self, wanted: Any) -> None:
            self.set_output_format(wanted)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if not isinstance(cls.template, property):  # a class says `template = "Be kind."`
            cls._template, cls.template = cls.template, Agent.template
        given = vars(cls).get("output_format")
        if given is not None and not isinstance(given, property):  # a class says so too, as `output_format = A`
            cls.answer_type = given
            del cls.output_format
        cls.answer_type = type_argument(cls, cls.answer_type)
        parts.refuse_settings(cls, Agent)
        super().__init_subclass__(**kwargs)

    def __init__(
        self,
        llm: ModelOption | AgentConfig = None,
        template: Instruction = None,
        memory: MemoryOption | Literal["default"] = "default",
        output_format: type[T_co] | parts.FormatOption = None,
        aggregator: DefaultAggregator | dict[str, Any] | None = None,
        name: str | None = None,
        description: str = "",
        hooks: Hooks = None,
        *,
        system_message: str | None = None,
        tools: Iterable[Any] | ActionExecutor = (),
        parameters: Mapping[str, Any] | None = None,
        max_rounds: int = 50,
        repairs: int = 2,
        parallel: bool = False,
        on_tool_error: OnToolError = "answer",
        approve: Callable[[Any], Any] | None = None,
        policy: policies.Policy | None = None,
        read_more: bool = False,
        config: AgentConfig | None = None,
        **unknown: Never,
    ) -> None:
        parts.check_rare(Agent.__init__, self, unknown, (aggregator, config, description, hooks, parameters,
            max_rounds, repairs, parallel, approve, policy, read_more))  # fmt: skip
        if isinstance(llm, AgentConfig):
            llm, config = None, parts.choose_given(llm, config, "config", "config")
        if config is not None:
            llm, name = config.llm if llm is None else llm, config.name if name is None else name
            parameters, self.config = {**config.parameters, **(parameters or {})}, config
            output_format = config.output_format if output_format is None else output_format
            if template is None and system_message is None and "system_message" in config.model_fields_set:
                template = config.system_message
        memory = self._usual_memory if memory == "default" else False if memory is None else memory
        memory = config is None if memory == "default" else memory  # an agent of a config answers one-shot
        super().__init__(name=name, memory=memory, hooks=hooks, approve=approve, policy=policy)
        self.llm, self.answer_format, self.answer_parser = parts.accept_model(llm), None, None  # quicker here to read
        self._aggregator = DefaultAggregator() if aggregator is None else create_object(aggregator)
        if template is not None or system_message is not None:  # else that of the class
            self.template = parts.choose_given(template, system_message, "system instruction", "template")
        self.description, self._parameters = description or self.description, dict(parameters or {})
        self._max_rounds, self._repairs, self._parallel, self._toolbox = max_rounds, repairs, parallel, self._toolbox
        self._toolbox, tools = parts.split_tools(self._toolbox, tools) if tools else (self._toolbox, tools)
        if tools or not hasattr(self, "executor"):  # one that a subclass has set before stays
            self.executor = ActionExecutor.of(tools, on_tool_error, read_more)
        if read_more and self.memory:
            self.executor.add(read_more_of(self.memory))
        if output_format is not None or self.answer_type is not None:
            self.set_output_format(parts.choose_given(self.answer_type, output_format, "answer type", "output_format"))

    parameters: dict[str, Any] = attribute(__init__, "parameters", lambda given: dict(given or {}))
    aggregator: DefaultAggregator = attribute(__init__, "aggregator", parts.make_aggregator)
    max_rounds: int = attribute(__init__, "max_rounds", parts.check_rounds)
    repairs: int = attribute(__init__, "repairs", parts.check_repairs)
    parallel: bool = attribute(__init__, "parallel", bool)
    tools = property(parts.tools_of, parts.set_tools)
    on_tool_error = property(attrgetter("executor.on_tool_error"), parts.set_on_tool_error)

    # ---- what a call does
    @overridable
    def forward(self, *message: Message, session_id: Hashable = 0, **kwargs: Any) -> Coroutine[Any, Any, Message]:
        """Ask the model, and run what it calls, until it answers; keywords are sampling parameters."""
        extra = parts.check_sampling(kwargs, self.llm) if kwargs else kwargs
        faults = links.get("repairs", 0) if message and (links := message[-1].__pydantic_private__) else 0
        return self._rounds(self.model, self._history(message, session_id), extra, faults)

    async def _rounds(self, model: ModelProtocol, history: History, extra: Extra, faults: int = 0) -> Message:
        so_far: list[Message] = []
        rounds = 0
        try:
            while rounds < self._max_rounds:
                answer = self._message(reply := await self._ask(model, history, extra))
                if not (calls := answer.__pydantic_extra__.get("tool_calls")) or not self._runs_itself(answer, calls):
                    try:
                        return await self._finish(answer, reply.text, faults)
                    except AnswerFormatError as error:
                        history, faults = [*history, *repair(self, reply, error, faults)], faults + 1
                        continue
                rounds += 1
                results = await self._run_tools(answer, calls, so_far)
                if (ending := next(filter(handling.ends_call, results), None)) is not None:
                    return ending.replace(sender=self.name, entity=None, tool_call_id=None)
                for done in (answer, *results):
                    self._aggregator.append(history, done, self.name)
                history = LongHistory.of(history)  # for each round sends all before it
                faults = faults + 1 if any(map(handling.is_misfit, results)) else 0
                if faults and faults > self.repairs:
                    raise repairs_exceeded(results[-1], calls)
            raise LimitExceededError("rounds", self._max_rounds, setting="Agent(max_rounds=…)")
        except handling.INCOMPLETE as error:
            handling.complete_error(error, self, so_far)
            raise

    def _ask(self, model: ModelProtocol, history: History, extra: Extra) -> Coroutine[Any, Any, Reply]:
        """Request one answer; every request of the agent goes through here."""
        node = None if self.answer_format is None else listening_node(self.answer_format)
        request = self._request(history, extra)
        if not overrides(self, *self.asking):
            return call_model(model, request, node)
        from trivium.agents._numbers import ask_as_written  # few classes write them

        return ask_as_written(cast("Any", self), partial(call_model, model, request, node), history)

    async def _finish(self, answer: Message, text: str, faults: int) -> Message:
        """Return the agent's answer with what its parser or type makes of the text; calls are left to a task."""
        if self.answer_parser is not None:
            answer.formatted = await settle(self.answer_parser.parse_response(text))
        if faults and answer.tool_calls:
            linked(answer)["repairs"] = faults
        return answer if not self.answer_format or answer.tool_calls else self.answer_format.with_value(answer, text)

    def _history(self, message: tuple[Message, ...], session_id: Hashable) -> History:
        memory = (self._memory.get(session_id) if self._memory else Memory.of(message)) or Memory()
        return self._aggregator.aggregate(memory, self.name, self.answer_parser, self.instruction())

    def extra_repr(self) -> str:
        return super().extra_repr() + (f", output={name_of_type(form.kind)}" if (form := self.answer_format) else "")

    def has_model(self) -> bool:
        """Return whether the agent can answer by itself: with a model, or with a `forward` of its own."""
        return self.llm is not None or type(self).forward is not Agent.forward

    def instruction(self) -> Instruction:
        """Return the whole system instruction of a request."""
        return described.instruction_of(self)

    def tool_format_rules(self) -> str:
        """Return how each tool that the model may use is written as JSON; for a model that has no tool interface."""
        return described.format_rules(self._toolbox)

    def json_format_rules(self) -> str:
        """Return the same by its older name."""
        return self.tool_format_rules()

    def tool_instructions(self) -> str:
        """Return when to use each tool, and examples, for those that say so; goes into the system message."""
        return described.tool_guidance(self)

    @property
    def system_message(self) -> str:
        """The system instruction as text; the same as `template`."""
        return self.template if isinstance(self.template, str) else ""

    @system_message.setter
    def system_message(self, text: Instruction) -> None:
        if text.__class__ is not str:
            self._aggregator.aggregate_system_intruction(text)  # its error says what it may be
        self._template, self._repeats = text, self._repeats | sources_above(node := current.get())
        if node is not None and hasattr(self, "executor"):  # it is not being made
            emit(node, MemoryEvent, MemoryChange("edit", (Message(content=text, sender="system"),)))

    template = property(attrgetter("_template"), system_message.fset, doc="The system instruction.")

    @property
    def model(self) -> ModelProtocol:
        """The model, found by its name at the first use.

        Raises:
            NoModelError: none is configured; the text names the three ways.
        """
        if not hasattr(self.llm, "stream"):
            self.llm = parts.find_model(self.name, self.llm)
        return self.llm

    def _request(self, history: History, extra: Extra) -> Request:
        if not history:
            raise ArgumentTypeError(
                f"{self.name} has nothing to answer: give it a message that its memory keeps", "message"
            )
        choice, specs, box = "auto", described.specs_of(self), self._toolbox
        if "tool_choice" in extra:
            choice = parts.tool_choice(extra["tool_choice"], {*box.usable, *(each.name for each in specs)})
            extra = {name: value for name, value in extra.items() if name != "tool_choice"}
        if box.forced is not None and (box.forced in box.usable or box.forced not in box.known):
            choice = box.forced
        parameters = {**self._parameters, **extra} if extra else self._parameters
        schema, reader = (form.schema, form.parse_response) if (form := self.answer_format) else (None, None)
        return Request(history, specs, choice, schema, parameters, reader)

    def _runs_itself(self, answer: Message, calls: Sequence[ToolCall]) -> bool:
        """Judge an answer's calls; return whether they run in the agent's own call, and are not left to a task."""
        box, is_text = self._toolbox, not calls[0].id
        others = {call.name for call in calls if call.name not in box.own}
        left = [name for name in others if class_of(self, name)]
        if (is_text and len(calls) > 1) or (len(left) < len(others) and (is_text or left)):
            linked(answer)["misfits"] = handling.misfits_in(self, calls)
        return not left and bool(not is_text or box.own or self.executor.tools or not box.usable)

    async def _run_tools(self, asked: Message, calls: Sequence[ToolCall], so_far: list[Message]) -> list[Message]:
        """Run what the model called, and return the results; the call and they are remembered together."""
        node, answer, reached = cast("CallNode | None", current.get()), partial(handling.answer_call, self, asked), None
        try:
            results = await self.executor.answer_all(calls, self._parallel, answer, self._toolbox.own)
        except (LimitExceededError, ToolFailedError) as error:
            reached, results = error, list(error.messages)
        so_far += (done := [asked, *results])
        if self._memory and node is not None and results:  # where nothing ran, nothing was asked
            self._remember(node, done)
        if reached is not None:
            raise reached.error if isinstance(reached, HookFailedError) else reached
        return results

    def _message(self, reply: Reply) -> Message:
        """Return a model's reply as the agent's message; calls that are written in its text are read here."""
        text, calls, usage, reason, reasoning, state, logprobs, _ = reply
        given: dict[MessageExtra, Any] = {"origin": _MODEL}
        if usage is not None:
            given["usage"] = usage
        if reasoning or state or logprobs or (reason and reply.why):
            rare = {"why": reply.why, "reasoning": reasoning, "reasoning_state": state, "logprobs": logprobs}
            given |= cast("dict[MessageExtra, Any]", {name: value for name, value in rare.items() if value})
        if calls:
            given["tool_calls"] = calls
        made = message_of(text, self.name, None, given)
        if not calls and reason != EDITED and (calls := described.calls_in_own_text(self, text)):
            given["tool_calls"] = calls
        return made

    # ---- the responder of the model
    def llm_can_respond(self, message: Message | str | None = None) -> bool:
        """Return whether the model is asked: not where the message holds a tool call that the agent handles."""
        return self.has_model() and (message is None or not handled_by(self, message))

    if TYPE_CHECKING:  # an override need not take the older name; it may say that it gives a `ChatDocument`

        async def _answered(self, message: Message | str | None = None) -> Answer[T_co] | None: ...

        llm_response_async = _answered  # pyright compares overrides with what is declared, not with a variable
    else:

        @driver_neutral
        async def llm_response_async(self, message=None, *, msg=None, **unknown: Never) -> Answer[T_co] | None:
            """Call the agent, memory included, by another name; None where the model is not to be asked.

            The responder calls the agent, and not the other way: `agent(message)` goes through no override of it.

            Args:
                message: the message to answer; None lets the model begin, or answer again what it answered last.
                msg: the same by its older name.
            """
            for name in unknown:
                check_name(name, ("message", "msg"), f"{self.name}.llm_response takes no")
            given = msg if message is None else message
            given = given if given is None or isinstance(given, Message) else as_message(given)
            if not self.llm_can_respond(given) or (is_empty(given) if given is not None else not self._begins()):
                return None
            new = () if given is None else handling.new_messages(self, given, self.current_memory())
            choice = "auto" if given is None else given.__pydantic_extra__.get("tool_choice", "auto")
            extra = {} if choice == "auto" else {"tool_choice": choice}
            said = await handling.response_of(self, self.acall(*new, **extra))
            said = handling.addressed(self, said.replace(entity=_LLM))
            return handling.keep_tool_ids(given, handling.link_to_memory(self, said, given))

    llm_response = sync_method(llm_response_async)

    def _begins(self) -> bool:
        """Return whether the model speaks without a message: one that remembers does."""
        return bool(self.memory)

    # ---- the responder of the agent itself
    @driver_neutral
    async def agent_response_async(self, msg: Message | str | None = None) -> Message | None:
        """Run the tool messages that the model sent; without any, return what `handle_message_fallback` says."""
        found = None if msg is None else await invoke(self.handle_message, msg)
        answer = handling.keep_tool_ids(msg, None if found is None else self.to_ChatDocument(found))
        if answer is not None and self.own_callbacks is not None:
            from trivium.agents._callbacks import show_agent  # most agents have none

            await show_agent(self.own_callbacks, answer)
        return answer

    agent_response = sync_method(agent_response_async)

    @driver_neutral
    async def handle_message_async(self, msg: Message | str) -> Message | None:
        """Run the tool messages in a message and return what came of them.

        Args:
            msg: the message. Text that a program gives outside of a run is the program's word; within a run it is
                nobody's, and calls nothing.

        Returns:
            The result of the one tool; of several, all results with the tools' names. Without any, the answer of
            `handle_message_fallback`; None: no answer.
        """
        given = msg if isinstance(msg, Message) else as_message(msg, said_by_program=True)
        calls = handled_by(self, given)
        if given is not msg and not calls:
            warn_of_calls(self, given)
        is_judged = (at := current.get()) is None or self.policy is not None or self.approve is not None
        if calls and (is_judged or (given.sources and not given.sources <= sources_above(at))):
            with call_node(self) as node:  # as in its own calls
                self._receive(node, [], given.sources)
                answer = await handling.handle_all(self, calls, given)
                return answer and answer.replace(sources=node.sources or None)
        return await (handling.handle_all(self, calls, given) if calls else handling.answer_without_tools(self, given))

    handle_message = sync_method(handle_message_async)

    def handle_message_fallback(self, msg: Message) -> Any:
        """Return the agent's answer to a message without tools; None: no answer. Override it.

        By default it is what the config's `handle_llm_no_tool` says, where the model called no tool.
        """
        return handling.answer_of_config(self, msg)

    @driver_neutral
    async def handle_tool_message_async(self, tool: ToolMessage, chat_doc: Message | None = None) -> Message | None:
        """Run one tool message and return what came of it; None where nobody handles it."""
        if find_handler(self, tool) is None:
            return None
        message = chat_doc or handling.message_of_call(current.get())
        if is_within(f"tool:{tool.request}"):  # an override calls it: its node is there, and counted
            return self.to_ChatDocument(await handling.call_handler(self, message, tool), tool.request, message)
        return await handling.handle_tool(self, tool, message, by_own=False)

    handle_tool_message = sync_method(handle_tool_message_async)

    # ---- the responder of the user
    def user_can_respond(self, msg: Message | str | None = None) -> bool:
        """Return whether the user is asked: in an interactive agent, or where the message is addressed to the user."""
        return self.interactive or (msg is not None and as_message(msg).receiver == Entity.USER)

    @driver_neutral
    async def user_response_async(self, msg: Message | str | None = None) -> Message | None:
        """Return the user's answer; None if the user is not asked or says nothing.

        Text that begins with SYSTEM is the system's.
        """
        prompt = "" if msg is None else as_text(as_message(msg).content)
        return handling.keep_tool_ids(msg, await answer_of_user(self, prompt)) if self.user_can_respond(msg) else None

    user_response = sync_method(user_response_async)

    # ---- answers of a type
    def set_output_format(
        self,
        output_type: Any,
        force_tools: bool | None = None,
        use: bool | None = None,
        handle: bool | None = None,
        instructions: bool | None = None,
        is_copy: bool = False,
    ) -> None:
        """Give every answer a type or a parser; None lets it be free again.

        The model is held to the type's schema: by its provider's strict mode, or by constrained decoding where it runs
        here. The value is `answer.output`, and in the documents' words `answer.content_any`.

        Args:
            output_type: a pydantic model, a tool message, any type that pydantic can describe, or a parser.
            force_tools: no effect; a schema is always sent as such.
            use: let the model use an `output_type` that is a tool message; default: the config's.
            handle: handle it; default: the config's.
            instructions: describe the format in the system message; default: the config's.
            is_copy: no effect.

        Raises:
            AnswerTypeError: pydantic cannot describe the type.
        """
        parts.set_format(self, create_object(output_type), use, handle, instructions)

    def __getitem__(self, output_type: type[R]) -> Agent[R]:
        """Return the same agent with answers of a type; its conversation is the same one."""
        new = cast("Agent[R]", self.copied())
        new.set_output_format(output_type, is_copy=True)
        return new


class AsyncAgent(AsyncModule, Agent[T_co]):
    """An `Agent` whose call gives a coroutine."""

    if TYPE_CHECKING:
        __call__: CallMethod[Coroutine[Any, Any, Answer[T_co]]]  # type: ignore[override]
