"""Langroid: a kind of its `MockLM`, tasks of one agent, and tools as `ToolMessage`s that the model writes as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from inspect import iscoroutinefunction
from itertools import count
from typing import Any, ClassVar

import langroid as lr
from common import WITNESS, Adapter, Call, Cannot, Kept, Script, ask, pause, word
from langroid.language_models import LLMResponse, StreamEventType
from langroid.language_models.mock_lm import MockLM, MockLMConfig
from langroid.utils.configuration import settings

settings.quiet = True
settings.cache = False
names = count()


class Model(MockLM):
    """A model of a script: it is told all messages, and streams if need be as `OpenAIGPT` does; results are numbers."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.script = config.script
        self.streams = config.script.__qualname__.startswith("pieces")

    def said(self, messages: Any) -> Any:
        last = messages[-1].content
        results = [str(number) for number in range(1, int(last) + 1)] if last.isdigit() else []
        return ask(self.script, results, messages)

    def chat(self, messages: Any, *rest: Any, **given: Any) -> LLMResponse:
        said = self.said(messages)
        if isinstance(said, Call):
            return LLMResponse(message=json.dumps({"request": said.name, **said.arguments}))
        return LLMResponse(message=f"DONE {said if isinstance(said, str) else ''.join(said)}")

    async def achat(self, messages: Any, *rest: Any, **given: Any) -> LLMResponse:
        if not self.streams:
            return self.chat(messages)
        text = ""
        for piece in self.said(messages):
            if WITNESS.paced:
                await pause()
            text += piece
            await self.config.streamer_async(piece, StreamEventType.TEXT)
        return LLMResponse(message=f"DONE {text}")

    def get_stream(self) -> bool:
        return self.streams


class Manager(Model):
    """A manager's model: the worker's answer comes as the last message."""

    def said(self, messages: Any) -> Any:
        return ask(self.script, [messages[-1].content], messages)

    def chat(self, messages: Any, *rest: Any, **given: Any) -> LLMResponse:
        return LLMResponse(message=self.said(messages))


class Config(MockLMConfig):
    """Of which script an agent's model is, and of which kind."""

    script: Any
    kind: type[Model] = Model


class ScriptedAgent(lr.ChatAgent):
    """A chat agent that makes its model, as its clones do, of the config."""

    def __init__(self, config: lr.ChatAgentConfig) -> None:
        super().__init__(config)
        if isinstance(config.llm, Config):
            self.llm = config.llm.kind(config.llm)


@lru_cache(64)
def message_of(tool: Callable[..., Any]) -> type[lr.ToolMessage]:
    """The tool message of a tool."""
    body = {
        "__annotations__": {"request": str, "purpose": str, "a": int, "b": int},
        "request": tool.__name__,
        "purpose": "To add two numbers, <a> and <b>.",
    }
    return type(tool.__name__.title(), (lr.ToolMessage,), body)


@lru_cache(64)
def kind_of(tools: tuple[Callable[..., Any], ...]) -> type[ScriptedAgent]:
    """A chat agent with a method for each tool: a `handle` on the message would be lost in Langroid's clones."""
    body = dict[str, Any]()
    for tool in tools:
        body[tool.__name__] = partial(_handled, getattr(tool, "plain", tool))
        if hasattr(tool, "plain"):
            body[f"{tool.__name__}_async"] = _awaiting(tool)
    return type("Handling", (ScriptedAgent,), {name: _as_method(each) for name, each in body.items()})


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
        "build": "a class for each tool, its message, and one for the agent, which handles them, are made too",
        "turn": "a task of one agent, logs off",
        "concurrent": "a clone of the task for each run, as its batches make them; clones are counted",
        "history": "the agent itself is asked: a task begins anew",
        "memory": "an agent for each session",
        "served": "an agent for each session, which holds one conversation",
        "stream": "its callback",
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
            made.enable_message(message_of(tool))
        return made

    def task(self, agent: lr.ChatAgent, **given: Any) -> lr.Task:
        return lr.Task(agent, interactive=False, config=lr.TaskConfig(enable_loggers=False), **given)

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        if remembers:
            return Kept(lambda name: self.chat_agent(Config(script=script), tools))
        return self.task(self.chat_agent(Config(script=script), tools))

    def run(self, agent: Any, text: str, session: str) -> str:
        if isinstance(agent, Kept):
            one = agent.session(session)
            return one.llm_response(text).content.removeprefix("DONE ")
        return agent.run(text).content

    async def arun(self, agent: Any, text: str, session: str) -> str:
        return (await agent.run_async(text)).content

    def apart(self, agent: Any) -> Any:
        return agent.clone(next(names))

    async def stream(self, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        async def piece(text: str, kind: StreamEventType) -> None:
            got(text)

        async def begin() -> Callable[[str, StreamEventType], Any]:
            return piece

        agent.agent.callbacks.start_llm_stream_async = begin
        await agent.run_async(text)

    def team(self) -> Callable[[str], str]:
        def script(results: Sequence[str]) -> str:
            return f"DONE done {results[-1]}" if results[-1] == WITNESS.word else "Ask the worker."

        task = self.task(self.chat_agent(Config(script=script, kind=Manager), name="manager"))
        worker = self.chat_agent(Config(script=word, kind=Manager), name="worker")
        task.add_sub_task(self.task(worker, single_round=True))
        return lambda text: task.run(text).content

    def node(self) -> Callable[[int], float]:
        raise Cannot("has tasks without a model, but those below one take turns in its conversation")

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        raise Cannot("keeps each agent's messages; nothing gives them with those of its task's sub-tasks")

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        # Its connections are the process's own, kept by address: nothing of them is the agent's to close.
        config = lr.language_models.OpenAIGPTConfig(
            chat_model="served", api_base=url, api_key="k", stream=bool(streams), chat_context_length=100_000
        )
        settings.stream = bool(streams)
        return Kept(lambda name: self.chat_agent(config, tools, native=True))

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
