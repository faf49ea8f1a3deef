"""A loop of tool calls as Lagent's documents write it, for Lagent and for trivium: only the package's name differs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from common import Call, Script, ask

__all__ = ["Style", "said", "style_of", "text"]

BEGIN, END = "<|action_start|><|plugin|>\n", "<|action_end|>\n"


class Style(NamedTuple):
    """What is written with the classes of one package."""

    model: Callable[[Script], Any]
    actions: Callable[[Sequence[Callable[..., Any]]], list[Any]]
    caller: Callable[[Any, list[Any]], Any]
    """An agent of a model and actions, which asks until there is no call."""


def said(script: Script, messages: Sequence[Mapping[str, Any]]) -> Any:
    """What a scripted model says to a request."""
    results = list[Any]()
    for message in reversed(messages):
        if message["role"] == "user":
            break
        if message["role"] == "environment":
            results.append(message["content"])
    return ask(script, results[::-1], messages)


def text(answer: Any) -> str:
    """What the model says, a call in the form that the parser reads."""
    if isinstance(answer, Call):
        return f"{BEGIN}{json.dumps({'name': answer.name, 'parameters': answer.arguments})}{END}"
    return answer if isinstance(answer, str) else "".join(answer)


def style_of(package: str) -> Style:
    """A model class, actions and an agent of agents, written with a package that has Lagent's names."""

    def found(module: str, name: str) -> Any:
        return getattr(import_module(f"{package}.{module}"), name)

    base_action, async_mixin = found("actions", "BaseAction"), found("actions", "AsyncActionMixin")
    executor, agent = found("actions", "ActionExecutor"), found("agents", "Agent")
    aggregator = found("agents.aggregator", "InternLMToolAggregator")
    processor, parser = found("hooks", "InternLMActionProcessor"), found("prompts.parsers", "PluginParser")

    class Model(found("llms", "BaseLLM")):  # type: ignore[misc]
        def __init__(self, script: Script) -> None:
            super().__init__("scripted")
            self.script = script

        def chat(self, inputs: Any, session_ids: Any = None, **given: Any) -> str:
            return text(said(self.script, inputs))

    class Caller(agent):  # type: ignore[misc]
        """Asks, and runs what is called, until there is no call."""

        def __init__(self, model: Any, tools: list[Any]) -> None:
            super().__init__()
            self.writer = agent(model, "Call, or answer.", output_format=parser(), aggregator=aggregator())
            self.executor = executor(tools, hooks=[processor()])

        def forward(self, message: Any, session_id: Any = 0, **given: Any) -> Any:
            while True:
                message = self.writer(message, session_id=session_id, **given)
                if message.formatted["action"] is None:
                    return message
                message = self.executor(message, session_id=session_id)

    def action_of(tool: Callable[..., Any]) -> Any:
        """An action that does what a function does."""

        def run(self: Any, a: int, b: int) -> str:
            """Add two numbers.

            Args:
                a (int): the first number
                b (int): the second number
            """
            return str(tool(a, b))

        async def arun(self: Any, a: int, b: int) -> str:
            """Add two numbers.

            Args:
                a (int): the first number
                b (int): the second number
            """
            return str(await tool(a, b))

        arun.__name__ = arun.__qualname__ = "run"
        waits = asyncio.iscoroutinefunction(tool)
        bases = (async_mixin, base_action) if waits else (base_action,)
        body = {"run": arun if waits else run, "__doc__": tool.__doc__}
        return type(base_action)(tool.__name__, bases, body)()

    return Style(Model, lambda tools: [action_of(tool) for tool in tools], Caller)
