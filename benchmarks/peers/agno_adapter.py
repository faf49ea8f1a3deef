"""Agno: a model class of one's own; a conversation is kept where the agent has a database and adds its history."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.exceptions import AgnoError
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.team import Team
from agno.workflow import Parallel, StepInput, StepOutput, Workflow
from common import WITNESS, Adapter, Call, Script, ask, greeting, hello, pause, report, word


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
        return ask(self.script, results[::-1], messages)

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
            if WITNESS.paced:
                await pause()
            yield ModelResponse(content=piece)

    def _parse_provider_response(self, response: Any, **given: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


class Peer(Adapter):
    title = "Agno"
    distributions = ("agno", "pydantic", "openai")
    stores: ClassVar = ("SqliteDb, SQLite",)
    notes: ClassVar = {
        "node": "a Parallel of function steps in a Workflow",
        "state": "the session of teams within teams, with their members' responses",
    }
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

    async def stream(self, agent: Agent, text: str, got: Callable[[str], Any]) -> None:
        async for event in agent.arun(text, stream=True):
            if event.event == "RunContent":
                got(event.content)

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> Agent:
        from agno.db.sqlite import SqliteDb

        return Agent(
            model=Scripted(script=script),
            tools=list(tools),
            db=SqliteDb(db_file=f"{path}/agno.db"),
            checkpoint="tool-batch",
            telemetry=False,
        )

    def converse(self, store: str, place: str, script: Script, texts: Iterable[str], done: int) -> None:
        from agno.db.sqlite import SqliteDb

        kept: Any = {"db": SqliteDb(db_file=place), "add_history_to_context": True, "num_history_runs": 1_000_000}
        agent = Agent(model=Scripted(script=script), telemetry=False, **kept)
        for text in islice(texts, done, None):
            self.run(agent, text, "kept")

    def start(self, agent: Agent, text: str) -> str:
        return agent.run(text, session_id="kept", run_id="run").content

    def resume(self, agent: Agent) -> str:
        return agent.continue_run(run_id="run", session_id="kept").content

    def team(self) -> Callable[[str], str]:
        worker = Agent(name="worker", id="worker", model=Scripted(script=word), telemetry=False)
        script = report(Call("delegate_task_to_member", {"member_id": "worker", "task": "go"}))
        manager = Team(members=[worker], model=Scripted(script=script), telemetry=False)
        return lambda text: manager.run(text).content

    def node(self) -> Callable[[int], float]:
        async def nothing(given: StepInput) -> StepOutput:
            WITNESS.nodes += 1
            return StepOutput()

        def seconds(number: int) -> float:
            workflow = Workflow(steps=[Parallel(*[nothing] * number)], telemetry=False)
            began = time.process_time()
            asyncio.run(workflow.arun("go"))
            return time.process_time() - began

        return seconds

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        kept: Any = {"name": "inner", "id": "inner", "db": InMemoryDb(), "telemetry": False}
        one: Any = Agent(model=Scripted(script=hello), **kept)
        for level in range(1, depth + 1):
            one = Team(members=[one], model=Scripted(script=passed_on(level)), store_member_responses=True, **kept)
        one.run("go", session_id="state")
        return lambda: one.get_session(session_id="state").to_dict()

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        from agno.models.openai import OpenAIChat

        made = Agent(model=OpenAIChat(id="served", api_key="k", base_url=url), tools=list(tools), telemetry=False)
        made.stream = bool(streams)
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

    async def aclose(self, agent: Any) -> None:
        await agent.model.get_async_client().close()

    def errors(self) -> tuple[type[BaseException], ...]:
        return (AgnoError, Failed)


def passed_on(level: int) -> Script:
    """A model that hands the question to the member below, and then answers with its own greeting."""
    call = Call("delegate_task_to_member", {"member_id": "inner", "task": "go"})
    return lambda results: greeting(level) if results else call


class Failed(Exception):
    """A run whose status is an error, with the text as its content: Agno raises nothing then."""
