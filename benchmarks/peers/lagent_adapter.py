"""Lagent's pre-release: an agent that writes calls and an executor that runs them, put together as in its documents."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, ClassVar

from common import WITNESS, Adapter, Cannot, Script, ask, hello, pause, word
from lagent.actions import AsyncActionExecutor, BaseAction
from lagent.agents import Agent, AsyncAgent, AsyncStreamingAgent
from lagent.agents.aggregator import InternLMToolAggregator
from lagent.hooks import InternLMActionProcessor
from lagent.llms import AsyncBaseLLM, AsyncGPTAPI
from lagent.prompts.parsers import PluginParser
from lagent.schema import AgentMessage, ModelStatusCode
from lagent_style import said, style_of, text

STYLE = style_of("lagent")


class AsyncModel(AsyncBaseLLM):
    def __init__(self, script: Script) -> None:
        super().__init__("scripted")
        self.script = script

    async def chat(self, inputs: Any, session_ids: Any = None, **given: Any) -> str:
        return text(said(self.script, inputs))


class StreamingModel(AsyncModel):
    """The same in pieces, each with all that came before it, as Lagent's own models stream."""

    async def stream_chat(self, inputs: Any, **given: Any) -> AsyncIterator[tuple[ModelStatusCode, str, None]]:
        text = ""
        for piece in said(self.script, inputs):
            if WITNESS.paced:
                await pause()
            text += piece
            yield ModelStatusCode.STREAM_ING, text, None
        yield ModelStatusCode.END, text, None


class ManagersModel(STYLE.model):  # type: ignore[misc, name-defined]
    """A manager's model: the worker's answer comes as the last message."""

    def chat(self, inputs: Any, session_ids: Any = None, **given: Any) -> str:
        return text(ask(self.script, [inputs[-1]["content"]], inputs))


class AsyncCaller(AsyncAgent):
    """The same in async code."""

    def __init__(self, model: Any, tools: list[BaseAction]) -> None:
        super().__init__()
        self.writer = AsyncAgent(
            model, "Call, or answer.", output_format=PluginParser(), aggregator=InternLMToolAggregator()
        )
        self.executor = AsyncActionExecutor(tools, hooks=[InternLMActionProcessor()])

    async def forward(self, message: Any, session_id: Any = 0, **given: Any) -> Any:
        while True:
            message = await self.writer(message, session_id=session_id, **given)
            if message.formatted["action"] is None:
                return message
            message = await self.executor(message, session_id=session_id)


class Peer(Adapter):
    title = "Lagent"
    distributions = ("lagent", "pydantic")
    statement = "from lagent.agents import Agent, AsyncAgent; from lagent.actions import ActionExecutor"
    notes: ClassVar = {
        "build": "its agents always remember",
        "team": "an agent of agents",
        "node": "agents without a model",
        "stream": "an AsyncStreamingAgent, each of whose messages has all text so far",
    }

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        if script.__qualname__.startswith("pieces"):
            return AsyncStreamingAgent(StreamingModel(script))
        if in_loop:
            model: Any = AsyncModel(script)
            return AsyncCaller(model, STYLE.actions(tools)) if tools else AsyncAgent(model)
        return self.in_lagents_style(script, tools) if tools else Agent(STYLE.model(script))

    def in_lagents_style(self, script: Script, tools: Sequence[Any]) -> Any:
        return STYLE.caller(STYLE.model(script), STYLE.actions(tools))

    def run(self, agent: Any, text: str, session: str) -> str:
        return agent(text, session_id=session).content

    async def arun(self, agent: Any, text: str, session: str) -> str:
        return (await agent(text, session_id=session)).content

    def forget(self, agent: Any, sessions: Sequence[str]) -> None:
        for one in (agent, getattr(agent, "writer", agent)):
            for session in sessions:
                one.memory.reset(session)

    async def stream(self, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        had = 0
        async for message in agent(text, session_id=0):
            if len(message.content) > had:
                got(message.content[had:])
                had = len(message.content)
        agent.memory.reset(0)

    def team(self) -> Callable[[str], str]:
        class Manager(Agent):
            def __init__(self) -> None:
                super().__init__()
                self.manager = Agent(ManagersModel(lambda results: f"done {results[-1]}"))
                self.planner = Agent(STYLE.model(lambda results: "Ask the worker."))
                self.worker = Agent(STYLE.model(word))

            def forward(self, message: Any, session_id: Any = 0, **given: Any) -> Any:
                planned = self.planner(message, session_id=session_id)
                return self.manager(self.worker(planned, session_id=session_id), session_id=session_id)

        manager = Manager()
        return lambda text: manager(text).content

    def node(self) -> Callable[[int], float]:
        class Nothing(AsyncAgent):
            async def forward(self, message: Any, session_id: Any = 0, **given: Any) -> Any:
                WITNESS.nodes += 1
                return message

        class Above(AsyncAgent):
            def __init__(self) -> None:
                super().__init__()
                self.nothing = Nothing()

            async def forward(self, message: Any, session_id: Any = 0, **given: Any) -> Any:
                self.began = time.process_time()
                runs = [self.nothing(message, session_id=each) for each in range(int(message.content))]
                return (await asyncio.gather(*runs))[-1]

        above = Above()

        def seconds(number: int) -> float:
            asyncio.run(above(str(number)))
            taken = time.process_time() - above.began
            for session in range(number):
                above.nothing.memory.reset(session)
            return taken

        return seconds

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        class Around(Agent):
            def __init__(self, inner: Agent) -> None:
                super().__init__()
                self.inner = inner

            def forward(self, message: Any, session_id: Any = 0, **given: Any) -> Any:
                answer = self.inner(message, session_id=session_id)
                return AgentMessage(sender=self.name, content=f"{answer.content}+")  # as `greeting` has it

        one: Agent = Agent(STYLE.model(hello))
        for _ in range(depth):
            one = Around(one)
        one("go")
        return one.state_dict

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        model = AsyncGPTAPI("gpt-served", key="k", api_base=f"{url}/chat/completions", max_new_tokens=50)
        if tools:
            raise Cannot("its client of model servers sends no tools: calls stand in the text")
        return AsyncStreamingAgent(model) if streams else AsyncAgent(model)

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        agent.memory.reset(session)
        if not isinstance(agent, AsyncStreamingAgent):
            return await self.arun(agent, text, session)
        return [message.content async for message in agent(text, session_id=session)][-1]
