"""Pydantic AI: a `FunctionModel`; the conversation is the user's, who gives it to each run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, ClassVar

from common import Adapter, Call, Cannot, Script, ask, hello
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def asked(message: ModelMessage) -> bool:
    """Whether a message has a question."""
    return any(isinstance(part, UserPromptPart) for part in message.parts)


def heard(messages: list[ModelMessage]) -> tuple[list[Any], Callable[[], int]]:
    """The results since the last question, and what counts the questions."""
    results = list[Any]()
    for message in reversed(messages):
        results += [part.content for part in reversed(message.parts) if isinstance(part, ToolReturnPart)]
        if asked(message):
            break
    return results[::-1], lambda: sum(asked(message) for message in messages)


def model(script: Script) -> FunctionModel:
    """A model of a script."""

    async def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = ask(script, *heard(messages))
        if isinstance(said, Call):
            return ModelResponse(parts=[ToolCallPart(said.name, dict(said.arguments), tool_call_id=said.id)])
        return ModelResponse(parts=[TextPart(said if isinstance(said, str) else "".join(said))])

    async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for piece in ask(script, *heard(messages)):
            yield piece

    return FunctionModel(whole, stream_function=streamed)


class Kept:
    """An agent, and the conversations of its user."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.sessions: dict[str, list[ModelMessage]] = {}


class Peer(Adapter):
    title = "Pydantic AI"
    distributions = ("pydantic-ai-slim", "pydantic", "openai")
    statement = "from pydantic_ai import Agent, RunContext, Tool"
    notes: ClassVar = {"turn": "its sync call runs an event loop"}

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        made = Agent(model(script), tools=tools)
        return Kept(made) if remembers else made

    def run(self, agent: Any, text: str, session: str) -> str:
        if not isinstance(agent, Kept):
            return agent.run_sync(text).output
        done = agent.agent.run_sync(text, message_history=agent.sessions.get(session))
        agent.sessions[session] = done.all_messages()
        return done.output

    async def arun(self, agent: Any, text: str, session: str) -> str:
        if not isinstance(agent, Kept):
            return (await agent.run(text)).output
        done = await agent.agent.run(text, message_history=agent.sessions.get(session))
        agent.sessions[session] = done.all_messages()
        return done.output

    def forget(self, agent: Any, sessions: Sequence[str]) -> None:
        for session in sessions if isinstance(agent, Kept) else ():
            agent.sessions.pop(session, None)

    async def stream(self, agent: Any, text: str) -> list[str]:
        async with agent.run_stream(text) as result:
            return [piece async for piece in result.stream_text(delta=True, debounce_by=None)]

    def team(self) -> Callable[[str], str]:
        worker = Agent(model(hello))

        async def ask_worker(task: str) -> str:
            """Ask the worker.

            Args:
                task: what it shall do
            """
            return (await worker.run(task)).output

        def script(results: Sequence[str]) -> str | Call:
            return f"done {results[-1]}" if results else Call("ask_worker", {"task": "go"})

        manager = Agent(model(script), tools=[ask_worker])
        return lambda text: manager.run_sync(text).output

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool = False) -> Any:
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

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> Any:
        raise Cannot("offers it with a system beside it: Temporal, DBOS, Prefect, Restate")

    def errors(self) -> tuple[type[BaseException], ...]:
        from openai import OpenAIError

        return (AgentRunError, UserError, OpenAIError)
