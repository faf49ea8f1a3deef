"""Langroid: its `MockLM`, tasks of one agent, and tools as `ToolMessage`s that the model writes as JSON in its text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from inspect import iscoroutinefunction
from itertools import count
from typing import Any, ClassVar

import langroid as lr
from common import WITNESS, Adapter, Call, Script, ask, hello
from langroid.language_models.mock_lm import MockLMConfig
from langroid.utils.configuration import settings

settings.quiet = True
settings.cache = False
names = count()


def model(script: Script, in_loop: bool = False) -> MockLMConfig:
    """A model that sees the last message alone, which is all that `MockLM` is told; results are numbers."""

    def answer(last: str) -> str:
        results = [str(number) for number in range(1, int(last) + 1)] if last.isdigit() else []
        said = ask(script, results, int)
        if isinstance(said, Call):
            return json.dumps({"request": said.name, **said.arguments})
        return f"DONE {said if isinstance(said, str) else ''.join(said)}"

    async def async_answer(last: str) -> str:
        return answer(last)

    return MockLMConfig(response_fn=answer, **({"response_fn_async": async_answer} if in_loop else {}))


@cache
def message_of(name: str) -> type[lr.ToolMessage]:
    """The tool message of a tool."""
    body = {
        "__annotations__": {"request": str, "purpose": str, "a": int, "b": int},
        "request": name,
        "purpose": "To add two numbers, <a> and <b>.",
    }
    return type(name.title(), (lr.ToolMessage,), body)


@cache
def kind_of(tools: tuple[Callable[..., Any], ...]) -> type[lr.ChatAgent]:
    """A chat agent with a method for each tool: a `handle` on the message would be lost in Langroid's clones."""
    body = dict[str, Any]()
    for tool in tools:
        body[tool.__name__] = partial(_handled, getattr(tool, "plain", tool))
        if hasattr(tool, "plain"):
            body[f"{tool.__name__}_async"] = _awaiting(tool)
    return type("Handling", (lr.ChatAgent,), {name: _as_method(each) for name, each in body.items()})


def _handled(tool: Callable[..., Any], message: Any) -> str:
    return str(tool(message.a, message.b))


def _awaiting(tool: Callable[..., Any]) -> Callable[[Any], Any]:
    async def handled(message: Any) -> str:
        return str(await tool(message.a, message.b))

    return handled


def _as_method(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    if iscoroutinefunction(function):

        async def method(self: Any, message: Any) -> str:
            return await function(message)

        return method
    return lambda self, message: function(message)


class Peer(Adapter):
    title = "Langroid"
    distributions = ("langroid", "pydantic", "openai")
    statement = "from langroid import Agent, AgentConfig, ChatAgent, ChatAgentConfig, Task, ToolMessage"
    notes: ClassVar = {
        "turn": "a task of one agent, logs off",
        "concurrent": "a clone of the task for each run, as its batches make them; clones are counted",
        "history": "the agent itself is asked: a task begins anew",
        "memory": "an agent for each session",
    }

    def chat_agent(
        self, config: Any, tools: Sequence[Any] = (), name: str = "", *, native: bool = False
    ) -> lr.ChatAgent:
        made = kind_of(tuple(tools))(
            lr.ChatAgentConfig(
                name=name or f"A{next(names)}",
                llm=config,
                use_tools=not native,
                use_functions_api=native,
                use_tools_api=native,
            )
        )
        for tool in tools:
            made.enable_message(message_of(tool.__name__))
        return made

    def task(self, agent: lr.ChatAgent, **given: Any) -> lr.Task:
        return lr.Task(agent, interactive=False, config=lr.TaskConfig(enable_loggers=False), **given)

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        made = lambda: self.chat_agent(model(script, in_loop), tools)  # noqa: E731
        return Kept(made) if remembers else self.task(made())

    def run(self, agent: Any, text: str, session: str) -> str:
        if isinstance(agent, Kept):
            one = agent.session(session)
            answer = one.llm_response(text)
            WITNESS.heard = lambda: sum(each.role == "user" for each in one.message_history)
            return answer.content.removeprefix("DONE ")
        return agent.run(text).content

    async def arun(self, agent: Any, text: str, session: str) -> str:
        return (await agent.clone(next(names)).run_async(text)).content

    def team(self) -> Callable[[str], str]:
        def answer(last: str) -> str:
            ask(hello, [], int)
            return "DONE done hello" if last == "hello" else "Ask the worker."

        def work(last: str) -> str:
            return str(ask(hello, [], int))

        task = self.task(self.chat_agent(MockLMConfig(response_fn=answer), name="manager"))
        worker = self.chat_agent(MockLMConfig(response_fn=work), name="worker")
        task.add_sub_task(self.task(worker, single_round=True))
        return lambda text: task.run(text).content

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool = False) -> Any:
        config = lr.language_models.OpenAIGPTConfig(
            chat_model="served", api_base=url, api_key="k", stream=streams, chat_context_length=100_000
        )
        settings.stream = streams
        return Kept(lambda: self.chat_agent(config, tools, native=True))

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        one = agent.session(session)
        one.clear_history()
        answer = await one.llm_response_async(text)
        while one.llm_tools_usable and (handled := await one.agent_response_async(answer)) is not None:
            answer = await one.llm_response_async(handled)
        return answer.content

    def errors(self) -> tuple[type[BaseException], ...]:
        from openai import OpenAIError

        return (OpenAIError,)


class Kept:
    """An agent for each session, for an agent holds one conversation."""

    def __init__(self, make: Callable[[], lr.ChatAgent]) -> None:
        self.make = make
        self.sessions: dict[str, lr.ChatAgent] = {}

    def session(self, name: str) -> lr.ChatAgent:
        if name not in self.sessions:
            self.sessions[name] = self.make()
        return self.sessions[name]
