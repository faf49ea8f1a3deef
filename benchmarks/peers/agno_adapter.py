"""Agno: a model class of one's own; a conversation is kept where the agent has a database and adds its history."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.exceptions import AgnoError
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.team import Team
from common import Adapter, Call, Script, ask, hello


@dataclass
class Scripted(Model):
    """A model of a script."""

    id: str = "scripted"
    script: Script = hello

    def said(self, messages: Sequence[Message]) -> Any:
        results = list[Any]()
        for message in reversed(messages):
            if message.role == "user":
                break
            if message.role == "tool":
                results.append(message.content)
        return ask(self.script, results[::-1], lambda: sum(message.role == "user" for message in messages))

    def whole(self, messages: Sequence[Message]) -> ModelResponse:
        said = self.said(messages)
        if isinstance(said, Call):
            function = {"name": said.name, "arguments": json.dumps(said.arguments)}
            call = {"id": said.id, "type": "function", "function": function}
            return ModelResponse(role="assistant", tool_calls=[call])
        return ModelResponse(role="assistant", content=said if isinstance(said, str) else "".join(said))

    def invoke(self, messages: list[Message], **given: Any) -> ModelResponse:
        return self.whole(messages)

    async def ainvoke(self, messages: list[Message], **given: Any) -> ModelResponse:
        return self.whole(messages)

    def invoke_stream(self, messages: list[Message], **given: Any) -> Iterator[ModelResponse]:
        for piece in self.said(messages):
            yield ModelResponse(content=piece)

    async def ainvoke_stream(self, messages: list[Message], **given: Any) -> AsyncIterator[ModelResponse]:
        for piece in self.said(messages):
            yield ModelResponse(content=piece)

    def _parse_provider_response(self, response: Any, **given: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


class Peer(Adapter):
    title = "Agno"
    distributions = ("agno", "pydantic", "openai")
    statement = "from agno.agent import Agent; from agno.team import Team; from agno.tools import tool"

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Agent:
        kept: Any = {"db": InMemoryDb(), "add_history_to_context": True, "num_history_runs": 1_000_000}
        return Agent(model=Scripted(script=script), tools=list(tools), telemetry=False, **(kept if remembers else {}))

    def run(self, agent: Agent, text: str, session: str) -> str:
        return agent.run(text, session_id=session).content

    async def arun(self, agent: Agent, text: str, session: str) -> str:
        return (await agent.arun(text, session_id=session)).content

    def forget(self, agent: Agent, sessions: Sequence[str]) -> None:
        if agent.db is not None:
            agent.db.delete_sessions(list(sessions))

    async def stream(self, agent: Agent, text: str) -> list[str]:
        events = agent.arun(text, stream=True)
        return [event.content async for event in events if event.event == "RunContent"]

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> Agent:
        from agno.db.sqlite import SqliteDb

        return Agent(
            model=Scripted(script=script),
            tools=list(tools),
            db=SqliteDb(db_file=f"{path}/agno.db"),
            checkpoint="tool-batch",
            telemetry=False,
        )

    def start(self, agent: Agent, text: str) -> str:
        return agent.run(text, session_id="kept", run_id="run").content

    def resume(self, agent: Agent) -> str:
        return agent.continue_run(run_id="run", session_id="kept").content

    def team(self) -> Callable[[str], str]:
        worker = Agent(name="worker", id="worker", model=Scripted(script=hello), telemetry=False)

        def script(results: Sequence[str]) -> str | Call:
            call = Call("delegate_task_to_member", {"member_id": "worker", "task": "go"})
            return f"done {results[-1]}" if results else call

        manager = Team(members=[worker], model=Scripted(script=script), telemetry=False)
        return lambda text: manager.run(text).content

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool = False) -> Any:
        from agno.models.openai import OpenAIChat

        made = Agent(model=OpenAIChat(id="served", api_key="k", base_url=url), tools=list(tools), telemetry=False)
        made.stream = streams
        return made

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        if not agent.stream:
            done = await agent.arun(text, session_id=session)
            if done.status.value == "ERROR":
                raise Failed(done.content)
            return done.content
        found = ""
        async for event in agent.arun(text, session_id=session, stream=True):
            if event.event == "RunContent":
                found += event.content or ""
            elif event.event == "RunError":
                raise Failed(event.content)
        return found

    def errors(self) -> tuple[type[BaseException], ...]:
        return (AgnoError, Failed)


class Failed(Exception):
    """A run whose status is an error, with the text as its content: Agno raises nothing then."""
