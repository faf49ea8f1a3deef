"""Agents that write their calls and their code in the text, as the InternLM models do; at the documented path."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeAlias, cast

from trivium.actions import ActionExecutor, BaseAction, descriptions_of
from trivium.agents._agent import Agent, MemoryOption
from trivium.agents._typed import T_co
from trivium.agents.aggregator import InternLMToolAggregator
from trivium.commander import invoke
from trivium.exceptions import ConfigurationError, NoExecutorError
from trivium.hooks import InternLMActionProcessor
from trivium.module import AsyncModule, overridable
from trivium.prompts import PromptTemplate
from trivium.prompts.parsers import InterpreterParser, MixedToolParser, PluginParser
from trivium.schema import Message, ToolStatusCode
from trivium.schema.lowlevel import checked, create_object

__all__ = ["AgentForInternLM", "AsyncAgentForInternLM", "AsyncMathCoder", "MathCoder", "get_plugin_prompt"]

Condition: TypeAlias = Callable[[Message], bool]

_META = "Use a tool or write code where it helps; choose what fits the question."
_PLUGINS = (
    "You may call these tools:\n{prompt}\nCall only what stands here, and only while something is missing: once you "
    "know enough, answer."
)
_INTERPRETER = (
    "You may run Python code: what you write is executed in a notebook of this conversation, its variables stay, and "
    "you are shown what it prints and the value of its last line. Use it to calculate, to work with data and files, "
    "and to draw charts."
)
_MATH = (
    "Solve the problem in steps. Where something is to be calculated, write Python code for a notebook and go on from "
    "what it shows. Give the result at the end in \\boxed{{}}, without units."
)


@checked
def get_plugin_prompt(actions: Any, api_desc_template: str = "{description}") -> str:
    """Return the description of actions that a model reads: JSON, with the full name of each API of a toolkit.

    Args:
        actions: actions, tools, functions or configs of actions; one or several.
        api_desc_template: what is said of each API of a toolkit, with its `{description}` and the `{tool_name}`.

    Raises:
        PromptTemplateError: the template has another variable.

    Example:
        >>> def add(a: int) -> int:
        ...     "Add one."
        ...     return a + 1
        >>> json.loads(get_plugin_prompt(add))[0]["description"]
        'Add one.'
    """
    template = PromptTemplate(api_desc_template)
    found: list[dict[str, Any]] = []
    several = cast("Iterable[Any]", actions) if isinstance(actions, list | tuple) else [actions]
    for action in map(create_object, several):
        descriptions = descriptions_of(action)
        if isinstance(action, BaseAction) and action.is_toolkit:
            for each in descriptions:
                each["description"] = fill(template, tool_name=action.name, description=each["description"])
        found += descriptions
    return json.dumps(found, ensure_ascii=False, indent=4)


def fill(template: PromptTemplate, **values: str) -> str:
    """Return the text of a template, filled with those of the values that it has variables for."""
    return template.format(**{name: value for name, value in values.items() if name in template.variables})


def has_no_call(message: Message) -> bool:
    """Return whether an answer calls nothing, and so is the last one; what is called within a quotation is text."""
    found = _found(message)
    line = str(found["thought"]).rpartition("\n")[2]
    is_quoted = line.lstrip().startswith(">") or line.count('"') % 2 == 1 or line.count("`") % 2 == 1
    return found["status"] == ToolStatusCode.NO_TOOL or is_quoted


def _found(message: Message) -> Mapping[str, Any]:
    """Return what the parser has found in an answer.

    Raises:
        ConfigurationError: it is no parser of calls.
    """
    found: Any = message.formatted
    if not isinstance(found, Mapping) or not {"tool_type", "thought", "action", "status"} <= cast("Any", found).keys():
        raise ConfigurationError(
            f"the output_format of {message.sender} finds no calls: give a ToolParser, a MixedToolParser, or one whose "
            "parse_response gives a dict with tool_type, thought, action and status"
        )
    return cast("Mapping[str, Any]", found)


class ToolLoop(Agent[T_co]):
    """Asks an inner agent, runs what its answer calls, gives it the result, and so on.

    Args:
        finish_condition: returns whether an answer is the last one.
        max_turn: the most requests to the inner agent.
        **kwargs: as for `Agent`.

    Raises:
        ConfigurationError: `max_turn` is below 1.
    """

    def __init__(self, finish_condition: Condition, max_turn: int, **kwargs: Any) -> None:
        if max_turn < 1:
            raise ConfigurationError(f"max_turn={max_turn} never asks the model: give at least 1")
        self.finish_condition, self.max_turn = finish_condition, max_turn
        super().__init__(**kwargs)

    inner: Agent = cast("Any", property(attrgetter("agent"), doc="The agent that is asked."))

    async def run_call(self, answer: Message) -> Message:
        """Run what an answer calls, and return the message for the next turn."""
        raise NotImplementedError

    @overridable
    async def forward(self, *message: Message, **kwargs: Any) -> Message:
        """Ask, run what is called, and ask again; keywords are sampling parameters."""
        answer = Message()
        for _ in range(self.max_turn):
            answer = await self.inner.acall(*message, **kwargs)
            if self.finish_condition(answer):
                return answer
            answer = await self.run_call(answer)
            message = (answer,)
        return answer

    def get_steps(self, session_id: Hashable = 0) -> list[dict[str, Any]]:
        """Return the steps of a session: thoughts, tools, and results of the environment, as dicts with `role`."""
        steps: list[dict[str, Any]] = []
        tool: dict[str, Any] = {}
        memory = self.inner.memory.get(session_id) if self.inner.memory else None
        for message in () if memory is None else memory.get_memory():
            if message.sender == self.inner.name:
                found = cast("Mapping[str, Any]", message.formatted or {})
                thought = found.get("thought_process", found.get("thought", message.content))
                steps.append({"role": "thought", "content": thought})
                action, name = found.get("action"), found.get("tool_type")
                if name or action:
                    tool = {"name": name or cast("Any", action).get("name")}
                    steps.append({"role": "tool", "content": action, **tool})
            elif message.sender != "user":
                steps.append({"role": "environment", "content": message.content, **tool})
        return steps


class AgentForInternLM(ToolLoop):
    """Answers with the help of plugins and of Python code, which its model calls in the text.

    It asks its inner `agent`, runs what that calls, gives it the result, and so on until an answer calls nothing.

    Args:
        llm: the model; see `Agent`.
        plugins: actions that may be called by name with JSON.
        interpreter: the action that runs code, as `IPythonInterpreter()`.
        template: the system instruction; for plugins, what `get_plugin_prompt` gives belongs into the parser's.
        memory: the inner agent's; see `Agent`.
        output_format: finds calls and code in an answer; default: a `MixedToolParser` of what is there.
        aggregator: the inner agent's; default: `InternLMToolAggregator()`.
        action_hooks: turn what was found into calls; default: `InternLMActionProcessor()`.
        finish_condition: whether an answer is the last one; default: it calls nothing.
        max_turn: how often the model is asked at most.
        hooks: the inner agent's.
        **kwargs: as for `Agent`.

    Raises:
        ConfigurationError: an argument cannot be used.

    Attributes:
        agent: the inner agent.
        plugin_executor: runs what the parser calls "plugin"; None without plugins.
        interpreter_executor: runs what the parser calls "interpreter"; None without an interpreter.

    Example:
        >>> from trivium.testing import ScriptedModel
        >>> def double(number: int) -> int:
        ...     return 2 * number
        >>> call = '<|action_start|><|plugin|>\\n{"name": "double", "parameters": {"number": 4}}<|action_end|>\\n'
        >>> agent = AgentForInternLM(ScriptedModel([call, "It is 8."]), plugins=[double])
        >>> agent("Twice 4?").content, [step["role"] for step in agent.get_steps()]
        ('It is 8.', ['thought', 'tool', 'environment', 'thought'])
    """

    @checked
    def __init__(
        self,
        llm: Any,
        plugins: Any = None,
        interpreter: Any = None,
        template: Any = None,
        memory: MemoryOption = True,
        output_format: Any = None,
        aggregator: Any = None,
        action_hooks: Any = None,
        finish_condition: Condition = has_no_call,
        max_turn: int = 4,
        hooks: Any = None,
        **kwargs: Any,
    ) -> None:
        action_hooks = [InternLMActionProcessor()] if action_hooks is None else action_hooks
        self.plugin_executor = ActionExecutor(plugins, hooks=action_hooks) if plugins else None
        self.interpreter_executor = ActionExecutor(interpreter, hooks=action_hooks) if interpreter else None
        if not plugins and not interpreter:
            warnings.warn(f"{type(self).__name__} has neither plugins nor an interpreter: a call fails", stacklevel=3)
        self.agent = Agent(
            llm,
            template,
            memory=memory,
            output_format=self._default_parser() if output_format is None else output_format,
            aggregator=aggregator or InternLMToolAggregator(),
            hooks=hooks,
        )
        super().__init__(finish_condition, max_turn, template=template, **kwargs)

    def _default_parser(self) -> MixedToolParser:
        code = InterpreterParser(template=_INTERPRETER if self.interpreter_executor else "")
        plugins = self.plugin_executor and [*self.plugin_executor.actions.values()]
        calls = PluginParser(template=_PLUGINS, prompt=get_plugin_prompt(plugins)) if plugins else PluginParser()
        return MixedToolParser(template=_META, parsers=[calls, code])

    async def run_call(self, answer: Message) -> Message:
        """Run what an answer calls.

        Raises:
            NoExecutorError: there is no executor for it.
        """
        tool_type = _found(answer)["tool_type"]
        if not tool_type:
            return answer
        executor = getattr(self, f"{tool_type}_executor", None)
        if executor is None:
            raise NoExecutorError(
                f"{self.name} has nothing that runs '{tool_type}': give it plugins= or interpreter=, or set "
                f"self.{tool_type}_executor",
                tool_type,
            )
        return await executor.acall(answer)


class AsyncAgentForInternLM(AsyncModule, AgentForInternLM):
    """An `AgentForInternLM` whose call gives a coroutine."""


class MathCoder(AgentForInternLM):
    """Solves mathematical problems in steps, with Python code in a kernel that lives for one problem.

    Args:
        llm: the model; see `Agent`.
        interpreter: what runs the code; default: `IPythonInteractive(timeout=20, max_out_len=8192)`.
        output_format: finds code in an answer; default: an `InterpreterParser` that says how to work.
        max_turn: how often the model is asked at most.
        **kwargs: as for `AgentForInternLM`.

    Example::

        coder = MathCoder("default")
        print(coder("What is the sum of the first 100 primes?").content)
    """

    def __init__(
        self, llm: Any, interpreter: Any = None, *, output_format: Any = None, max_turn: int = 6, **kwargs: Any
    ) -> None:
        if interpreter is None:
            interpreter = {"type": "trivium.actions.IPythonInteractive", "timeout": 20, "max_out_len": 8192}
        if output_format is None:
            output_format = InterpreterParser(template=_MATH)
        kwargs.pop("plugins", None)
        super().__init__(llm, None, interpreter, output_format=output_format, max_turn=max_turn, **kwargs)

    @overridable
    async def forward(self, *message: Message, session_id: Hashable = 0, **kwargs: Any) -> Message:
        """Solve one problem, and end the kernel that was used for it."""
        try:
            return await super().forward(*message, **kwargs)
        finally:
            for action in self.interpreter_executor.actions.values() if self.interpreter_executor else ():
                if hasattr(action, "close_session"):
                    await invoke(cast("Any", action).close_session, session_id)


class AsyncMathCoder(AsyncModule, MathCoder):
    """A `MathCoder` whose call gives a coroutine."""
