"""The agent: a module with a model, a memory, and tools that it runs itself."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from trivium._objects import create_object, factory_of
from trivium.actions import ActionExecutor, Tool, calls_in_text
from trivium.actions.lowlevel import read_more_of
from trivium.agents._attributes import AgentAttributes
from trivium.agents._config import AgentConfig
from trivium.agents.aggregator import DefaultAggregator, Instruction
from trivium.commander import current
from trivium.commander.lowlevel import settle
from trivium.exceptions import ConfigurationError, LimitExceededError, NoModelError, ToolFailedError
from trivium.llms import ModelProtocol, Reply, Request
from trivium.llms.lowlevel import call_model
from trivium.memory import Memory, MemoryManager
from trivium.module import AsyncModule, Hooks, overridable
from trivium.schema import Message, MessageExtra, Origin, ToolCall, ToolSpec
from trivium.schema._message import message_of

_MODEL = Origin.MODEL  # a member is slow to look up
_spec_of = attrgetter("spec")
Model = ModelProtocol | str | None
"""A model, or its name as `trivium.llms.resolve` takes it."""

Config: TypeAlias = dict[str, Any]
MemoryOption: TypeAlias = MemoryManager | Callable[[], Memory] | Config | bool | None


class Agent(AgentAttributes):
    """Asks a model, runs the tools that the model calls, and answers with what the model says at last.

    Model, memory, output_format, aggregator, hooks and tools may be given as configs: a dict with `type` and the
    keywords of what it makes; see `trivium.utils.create_object`.

    Args:
        llm: the model, its name (`"openai:gpt-…"`, `"default"`, a path to a GGUF file), or an `AgentConfig`.
            None is no model: for an agent that is made of others and has a `forward` of its own.
        template: the system instruction.
        tools: functions or tools that the agent runs itself within its call.
        memory: keeps what was said, by session; False or None remembers nothing, a function or a config makes
            the memory of each session. Default: True, but False for an agent made from a config alone.
        output_format: parses the answer into `message.formatted` (has `parse_response`).
        aggregator: turns memory into chat messages.
        name: default: the class name, or the config's.
        description: what the agent is for, where it is offered as a tool.
        hooks: change messages on their way in and out.
        parameters: sampling parameters for each request (temperature, max_tokens, stop, …).
        max_rounds: how often the model may be asked within one call.
        parallel: run several tool calls of one answer at once, but those of tools that run alone.
        approve: asked before a tool that `needs_approval` runs, here and below; see `ApprovalRequest`.
        read_more: offer the model a tool by which it reads on in a result that was too long and was cut.
        config: as the first argument.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> agent = Agent(ScriptedModel(["hello"]), "Be kind.")
        >>> agent("hi").content
        'hello'
    """

    name: str = "Agent"
    if TYPE_CHECKING:  # most have one, and those that have none say so when they are made
        memory: MemoryManager  # pyright: ignore[reportIncompatibleVariableOverride] # fmt: skip

    def __init__(
        self,
        llm: Model | AgentConfig | Config | Callable[..., Any] = None,
        template: Instruction = None,
        memory: MemoryOption | Literal["default"] = "default",
        output_format: Any = None,
        aggregator: DefaultAggregator | Config | None = None,
        name: str | None = None,
        description: str = "",
        hooks: Hooks = None,
        *,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        parameters: Mapping[str, Any] | None = None,
        max_rounds: int = 50,
        parallel: bool = False,
        approve: Callable[[Any], Any] | None = None,
        read_more: bool = False,
        config: AgentConfig | None = None,
    ) -> None:
        if isinstance(llm, AgentConfig):
            llm, config = None, llm
        if config is not None:
            llm = config.llm if llm is None else llm
            name = config.name if name is None else name
            parameters = {**config.parameters, **(parameters or {})}
            memory = False if memory == "default" else memory  # an agent of a config answers one-shot
        super().__init__(name=name, memory=_memory_of(memory), hooks=hooks)
        self.config = config
        make = getattr(llm, "create_model", None)  # a config of `language_models` describes a model
        self.llm: Any = create_object(llm) if make is None else make()
        self.template = template
        self.output_format = create_object(output_format)
        self.aggregator: DefaultAggregator = create_object(aggregator) or DefaultAggregator()
        self.description = description
        self.parameters = dict(parameters or {})
        self.max_rounds, self.parallel = max_rounds, parallel
        if approve is not None:
            self.approve = approve
        if tools or "executor" not in vars(self):  # one that a subclass has set before stays
            self.executor = ActionExecutor(tools)
        if read_more and self.memory:
            self.executor.add(read_more_of(self.memory))

    # ---- what a call does
    @overridable
    def forward(self, *message: Message, session_id: Hashable = 0, **kwargs: Any) -> Coroutine[Any, Any, Message]:
        """Ask the model, and run what it calls, until it answers; keywords are sampling parameters."""
        return self._rounds(self.model, self._history(message, session_id), kwargs)

    async def _rounds(self, model: ModelProtocol, history: list[dict[str, Any]], extra: Mapping[str, Any]) -> Message:
        so_far: list[Message] = []
        try:
            for _ in range(self.max_rounds):
                reply = await call_model(model, self._request(history, extra))
                if not reply.tool_calls or not self._runs_itself(reply.tool_calls):
                    return await self._finish(reply, history, extra)
                for done in await self._run_tools(reply, so_far):
                    self.aggregator.append(history, done, self.name)
            raise LimitExceededError("rounds", self.max_rounds, setting="Agent(max_rounds=…)")
        except (LimitExceededError, ToolFailedError) as error:
            error.messages = tuple(so_far) or error.messages
            raise

    async def _finish(self, reply: Reply, history: list[dict[str, Any]], extra: Mapping[str, Any]) -> Message:
        """The model's last reply as the agent's answer, parsed where there is a parser."""
        parser = self.output_format
        return self._said(reply, None if parser is None else await settle(parser.parse_response(reply.text)))

    def _history(self, message: tuple[Message, ...], session_id: Hashable) -> list[dict[str, Any]]:
        memory = self.memory.get(session_id) if self.memory else Memory.of(message)
        return self.aggregator.aggregate(
            Memory() if memory is None else memory, self.name, self.output_format, self._instruction()
        )

    def has_model(self) -> bool:
        """Whether the agent can answer by itself: with a model, or with a `forward` of its own."""
        return self.llm is not None or type(self).forward is not Agent.forward

    def _instruction(self) -> Instruction:
        return self.template

    @property
    def model(self) -> ModelProtocol:
        """The model, found by its name at the first use.

        Raises:
            NoModelError: none is configured; the text names the three ways.
        """
        if not hasattr(self.llm, "stream"):
            if self.llm is None:
                raise NoModelError(
                    f'the agent {self.name} has no model: give it one, as in Agent("default") or ChatAgent()'
                )
            self.llm = _as_model(self.llm)
        return self.llm

    def _request(self, history: list[dict[str, Any]], extra: Mapping[str, Any]) -> Request:
        choice = "auto"
        if extra:
            choice = extra.get("tool_choice", choice)
            extra = {name: value for name, value in extra.items() if name != "tool_choice"}
        parameters = {**self.parameters, **extra} if extra else self.parameters
        return Request(history, self._specs(), self._forced or choice, None, parameters)

    def _specs(self) -> tuple[ToolSpec, ...]:
        tools = self.executor.tools
        specs = tuple(map(_spec_of, tools.values())) if tools else ()
        return specs if "_usable" not in self.__dict__ else (*specs, *self._usable_specs())

    def _runs_itself(self, calls: Iterable[ToolCall]) -> bool:
        """Whether these calls are run within the agent's own call; a tool message is left to a task.

        Unknown calls are run too, where the agent has tools: the model is told that there is no such tool.
        """
        if not self.executor.tools:
            return False
        known = self.__dict__.get("_known")
        return not (known and any(call.name in known for call in calls))

    async def _run_tools(self, reply: Reply, so_far: list[Message]) -> list[Message]:
        """Run what the model called; remember the call and its results together, so that no history is half."""
        asked, reached = self._said(reply), None
        try:
            results = await self.executor.answer_all(reply.tool_calls, parallel=self.parallel)
        except (LimitExceededError, ToolFailedError) as error:
            reached, results = error, list(error.messages)
        done = [asked, *results]
        so_far += done
        node = current.get()
        if self.memory and node is not None and results:  # where nothing ran, nothing was asked
            self._remember(node, done)  # type: ignore[arg-type] - code of an agent runs in its call
        if reached is not None:
            raise reached
        return done

    def _said(self, reply: Reply, formatted: Any = None) -> Message:
        text, calls, usage, _, reasoning, state, logprobs = reply
        given: dict[MessageExtra, Any] = {"origin": _MODEL}
        if usage is not None:
            given["usage"] = usage
        if reasoning or state or logprobs:
            thoughts: dict[MessageExtra, Any] = {"reasoning": reasoning, "reasoning_state": state, "logprobs": logprobs}
            given |= {name: value for name, value in thoughts.items() if value}
        if not calls and "request" in text:
            calls = calls_in_text(text, self.__dict__.get("_known") or {})
        if calls:
            given["tool_calls"] = calls
        return message_of(text, self.name, formatted, given)


class AsyncAgent(AsyncModule, Agent):
    """An `Agent` whose call gives a coroutine."""


def _memory_of(memory: MemoryOption | Literal["default"]) -> MemoryManager | None:
    if memory is True or isinstance(memory, str):  # first: most are
        return MemoryManager()
    if isinstance(memory, MemoryManager):
        return memory
    if isinstance(memory, Memory):
        raise ConfigurationError("a memory is one session's: give its class, or dict(type=Memory, recent_n=…)")
    if not memory:
        return None
    return MemoryManager(factory_of(cast("Config", memory)) if isinstance(memory, dict) else memory)


def _as_model(llm: Any) -> ModelProtocol:
    if isinstance(llm, str):
        from trivium.llms import resolve  # the providers are loaded when one is named

        return resolve(llm or None)
    raise ConfigurationError(
        f"{type(llm).__name__} is no model: give an object with `name` and `stream(request)`, or a model's name; "
        "for a script, trivium.testing.ScriptedModel"
    )
