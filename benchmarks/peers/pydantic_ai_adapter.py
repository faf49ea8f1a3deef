"""Pydantic AI: a `FunctionModel`; the conversation is the user's, who gives it to each run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import NoneType
from typing import Any, ClassVar

from common import WITNESS, Adapter, Call, Cannot, Kept, Script, ask, pause, report, word
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_graph import GraphBuilder, StepContext, reduce_null


def results_of(messages: list[ModelMessage]) -> list[Any]:
    """The results of tools since the last question."""
    results = list[Any]()
    for message in reversed(messages):
        results += [part.content for part in reversed(message.parts) if isinstance(part, ToolReturnPart)]
        if any(isinstance(part, UserPromptPart) for part in message.parts):
            break
    return results[::-1]


def model(script: Script) -> FunctionModel:
    """A model of a script."""

    async def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = ask(script, results_of(messages), messages)
        if isinstance(said, Call):
            return ModelResponse(parts=[ToolCallPart(said.name, dict(said.arguments), tool_call_id=said.id)])
        return ModelResponse(parts=[TextPart(said if isinstance(said, str) else "".join(said))])

    async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for piece in ask(script, results_of(messages), messages):
            if WITNESS.paced:
                await pause()
            yield piece

    return FunctionModel(whole, stream_function=streamed)


class Peer(Adapter):
    title = "Pydantic AI"
    distributions = ("pydantic-ai-slim", "pydantic", "openai")
    statement = "from pydantic_ai import Agent, RunContext, Tool"
    notes: ClassVar = {"turn": "its sync call runs an event loop", "node": "a map of its graph, pydantic_graph"}

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        made = Agent(model(script), tools=tools)
        return Kept(lambda name: [], made) if remembers else made

    def run(self, agent: Any, text: str, session: str) -> str:
        if not isinstance(agent, Kept):
            return agent.run_sync(text).output
        done = agent.agent.run_sync(text, message_history=agent.session(session))
        agent.sessions[session] = done.all_messages()
        return done.output

    async def arun(self, agent: Any, text: str, session: str) -> str:
        if not isinstance(agent, Kept):
            return (await agent.run(text)).output
        done = await agent.agent.run(text, message_history=agent.session(session))
        agent.sessions[session] = done.all_messages()
        return done.output

    def forget(self, agent: Any, sessions: Sequence[str]) -> None:
        for session in sessions if isinstance(agent, Kept) else ():
            agent.sessions.pop(session, None)

    async def stream(self, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        async with agent.run_stream(text) as result:
            async for piece in result.stream_text(delta=True, debounce_by=None):
                got(piece)

    def team(self) -> Callable[[str], str]:
        worker = Agent(model(word))

        async def ask_worker(task: str) -> str:
            """Ask the worker.

            Args:
                task: what it shall do
            """
            return (await worker.run(task)).output

        manager = Agent(model(report(Call("ask_worker", {"task": "go"}))), tools=[ask_worker])
        return lambda text: manager.run_sync(text).output

    def node(self) -> Callable[[int], float]:
        builder = GraphBuilder(input_type=int, output_type=NoneType)
        began = 0.0

        @builder.step
        async def spread(context: StepContext[None, None, int]) -> list[int]:
            nonlocal began
            began = time.process_time()
            return list(range(context.inputs))

        @builder.step
        async def nothing(context: StepContext[None, None, int]) -> None:
            WITNESS.nodes += 1

        end = builder.join(reduce_null, initial=None)
        edge = builder.edge_from
        builder.add(edge(builder.start_node).to(spread), edge(spread).map().to(nothing))
        builder.add(edge(nothing).to(end), edge(end).to(builder.end_node))
        graph = builder.build()

        def seconds(number: int) -> float:
            asyncio.run(graph.run(inputs=number))
            return time.process_time() - began

        return seconds

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        raise Cannot("gives the messages of a run; an agent that a tool asks has a run of its own")

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        made = Agent(OpenAIChatModel("served", provider=OpenAIProvider(base_url=url, api_key="k")), tools=tools)
        made.streams = streams  # type: ignore[attr-defined]
        return made

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        if not agent.streams:
            return (await agent.run(text)).output
        async with agent.run_stream(text) as result:
            return await result.get_output()

    async def aclose(self, agent: Any) -> None:
        await agent.model.client.close()

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> Any:
        raise Cannot("offers it with a system beside it: Temporal, DBOS, Prefect, Restate")

    def errors(self) -> tuple[type[BaseException], ...]:
        from openai import OpenAIError

        return (AgentRunError, UserError, OpenAIError)
