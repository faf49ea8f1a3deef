"""OpenAI Agents SDK: a `Model` of one's own; a conversation is kept in a session, its SQLite one in memory."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from agents.exceptions import AgentsException
from agents.testing.model import assistant_message, function_call
from common import WITNESS, Adapter, Call, Cannot, Kept, Script, ask, pause, report, word
from openai import AsyncOpenAI, OpenAIError
from openai.types.responses import Response, ResponseCompletedEvent, ResponseTextDeltaEvent

from agents import (
    Agent,
    Model,
    ModelResponse,
    OpenAIChatCompletionsModel,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)

set_tracing_disabled(True)


def said(script: Script, sent: Any) -> Any:
    results = list[Any]()
    items = [{"role": "user"}] if isinstance(sent, str) else sent
    for item in reversed(items):
        if item.get("role") == "user":
            break
        if item.get("type") == "function_call_output":
            results.append(item["output"])
    return ask(script, results[::-1], sent)


class Scripted(Model):
    """A model of a script."""

    def __init__(self, script: Script) -> None:
        self.script = script

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **given: Any) -> ModelResponse:
        answer = said(self.script, input)
        if isinstance(answer, Call):
            output = function_call(answer.name, json.dumps(answer.arguments), call_id=answer.id)
        else:
            output = assistant_message(answer)
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    async def stream_response(
        self, system_instructions: Any, input: Any, *rest: Any, **given: Any
    ) -> AsyncIterator[Any]:
        text, number = "", 0
        for number, piece in enumerate(said(self.script, input)):
            if WITNESS.paced:
                await pause()
            text += piece
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta",
                delta=piece,
                item_id="item",
                content_index=0,
                output_index=0,
                logprobs=[],
                sequence_number=number,
            )
        whole = Response(
            id="response",
            created_at=time.time(),
            model="scripted",
            object="response",
            output=[assistant_message(text)],
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=False,
        )
        yield ResponseCompletedEvent(type="response.completed", response=whole, sequence_number=number + 1)


class Peer(Adapter):
    title = "OpenAI Agents SDK"
    distributions = ("openai-agents", "openai", "pydantic")
    statement = "from agents import Agent, Runner, function_tool"
    stores: ClassVar = ("SQLiteSession, SQLite",)
    notes: ClassVar = {
        "turn": "its sync call runs an event loop",
        "history": "each session is an SQLite database in memory",
        "memory": "each session is an SQLite database in memory, which is not counted",
    }

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        made = Agent(name="agent", model=Scripted(script), tools=[function_tool(tool) for tool in tools])
        return Kept(SQLiteSession, made) if remembers else made

    def run(self, agent: Any, text: str, session: str) -> str:
        if isinstance(agent, Kept):
            return Runner.run_sync(agent.agent, text, session=agent.session(session)).final_output
        return Runner.run_sync(agent, text, max_turns=20).final_output

    async def arun(self, agent: Any, text: str, session: str) -> str:
        if isinstance(agent, Kept):
            return (await Runner.run(agent.agent, text, session=agent.session(session))).final_output
        return (await Runner.run(agent, text, max_turns=20)).final_output

    async def stream(self, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        async for event in Runner.run_streamed(agent, text).stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                got(event.data.delta)

    def team(self) -> Callable[[str], str]:
        worker = Agent(name="worker", model=Scripted(word))

        script = report(Call("ask_worker", {"input": "go"}))
        tool = worker.as_tool(tool_name="ask_worker", tool_description="Ask the worker.")
        manager = Agent(name="manager", model=Scripted(script), tools=[tool])
        return lambda text: Runner.run_sync(manager, text).final_output

    def node(self) -> Callable[[int], float]:
        raise Cannot("runs agents, each of which needs a model; its spans below spans only tell of that")

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        raise Cannot("gives the state of a run, `RunState`; an agent that is a tool has a run of its own")

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        client = AsyncOpenAI(api_key="k", base_url=url)
        model = OpenAIChatCompletionsModel("served", client)
        return Agent(name="agent", model=model, tools=[function_tool(tool) for tool in tools]), streams, client

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        made, streams, _ = agent
        if not streams:
            return (await Runner.run(made, text)).final_output
        result = Runner.run_streamed(made, text)
        async for _ in result.stream_events():
            pass
        return result.final_output

    async def aclose(self, agent: Any) -> None:
        await agent[2].close()

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> Any:
        raise Cannot("offers it with a system beside it: Temporal, DBOS, Restate")

    def converse(self, store: str, place: str, script: Script, texts: Iterable[str], done: int) -> None:
        agent = Agent(name="agent", model=Scripted(script))
        session = SQLiteSession("kept", place)
        for text in islice(texts, done, None):
            Runner.run_sync(agent, text, session=session)

    def errors(self) -> tuple[type[BaseException], ...]:
        return (AgentsException, OpenAIError)
