"""smolagents: a `Model` class of one's own; its agents answer through the tool `final_answer`, and are sync only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from common import Adapter, Call, Cannot, Kept, Script, ask, in_thread, word
from smolagents import LogLevel, Model, OpenAIModel, Tool, ToolCallingAgent
from smolagents.models import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    MessageRole,
)
from smolagents.utils import AgentError


def content(message: ChatMessage) -> str:
    return message.content if isinstance(message.content, str) else "".join(p.get("text", "") for p in message.content)


def said(script: Script, messages: Sequence[ChatMessage]) -> Any:
    """The results stand in messages that begin with "Observation:"."""
    results = list[str]()
    for message in reversed(messages):
        if message.role == MessageRole.USER:
            break
        if message.role == MessageRole.TOOL_RESPONSE:
            results.append(content(message).removeprefix("Observation:").strip())
    return ask(script, results[::-1], messages)


def call(name: str, arguments: Mapping[str, Any], id_: str) -> ChatMessageToolCall:
    return ChatMessageToolCall(ChatMessageToolCallFunction(json.dumps(arguments), name), id_, "function")


class Scripted(Model):
    """A model of a script; a text is an answer by `final_answer`."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    def generate(self, messages: list[ChatMessage], *rest: Any, **given: Any) -> ChatMessage:
        answer = said(self.script, messages)
        if not isinstance(answer, Call):
            answer = Call("final_answer", {"answer": answer if isinstance(answer, str) else "".join(answer)})
        calls = [call(answer.name, answer.arguments, answer.id)]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


class Streaming(Scripted):
    """The same in pieces: text, then the call that ends the run."""

    def generate_stream(self, messages: list[ChatMessage], *rest: Any, **given: Any) -> Iterator[Any]:
        for piece in said(self.script, messages):
            yield ChatMessageStreamDelta(content=piece)
        function = ChatMessageToolCallFunction(json.dumps({"answer": "done"}), "final_answer")
        yield ChatMessageStreamDelta(tool_calls=[ChatMessageToolCallStreamDelta(0, "call", "function", function)])


class Function(Tool):
    """A function as a tool, made without reading its source."""

    name = "function"
    description = "Add two numbers."
    inputs: ClassVar = {
        "a": {"type": "integer", "description": "the first number"},
        "b": {"type": "integer", "description": "the second number"},
    }
    output_type = "integer"
    skip_forward_signature_validation = True

    def __init__(self, function: Callable[..., Any]) -> None:
        function = getattr(function, "plain", function)
        self.name, self.forward = function.__name__, function
        super().__init__()


class Peer(Adapter):
    title = "smolagents"
    distributions = ("smolagents", "openai")
    statement = "from smolagents import Model, Tool, ToolCallingAgent"
    notes: ClassVar = {
        "awaited": "in a thread: it has no async calls",
        "concurrent": "in threads, an agent for each: it has no async calls, and an agent holds one run",
        "turn": "an answer is a tool call",
        "history": "each turn is also a step of its memory",
    }

    def __init__(self) -> None:
        self.recipes: dict[int, tuple[Any, Script, Sequence[Any]]] = {}

    def made(self, model: Any, tools: Sequence[Any], **given: Any) -> ToolCallingAgent:
        wrapped = [Function(tool) for tool in tools]
        return ToolCallingAgent(tools=wrapped, model=model, verbosity_level=LogLevel.OFF, **given)

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        if script.__qualname__.startswith("pieces"):
            return self.made(Streaming(script), tools, stream_outputs=True)
        if remembers:
            return Kept(lambda name: self.made(Scripted(script), tools))
        made = self.made(Scripted(script), tools)
        if in_loop:
            self.recipes[id(made)] = (made, script, tools)
        return made

    def apart(self, agent: Any) -> Any:
        _, script, tools = self.recipes[id(agent)]
        return self.made(Scripted(script), tools)

    def run(self, agent: Any, text: str, session: str) -> str:
        if isinstance(agent, Kept):
            return agent.session(session).run(text, reset=False)
        return agent.run(text)

    async def arun(self, agent: Any, text: str, session: str) -> str:
        return await in_thread(self.run, agent, text, session)

    async def stream(self, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        for each in agent.run(text, stream=True):
            if isinstance(each, ChatMessageStreamDelta) and each.content:
                got(each.content)

    def team(self) -> Callable[[str], str]:
        def script(results: Sequence[str]) -> str | Call:
            found = re.search(r"word-\d+\.", results[-1]) if results else None  # the answer stands in a report
            return f"done {found.group()}" if found else Call("worker", {"task": "go"})

        worker = self.made(Scripted(word), [], name="worker", description="does the work")
        manager = self.made(Scripted(script), [], managed_agents=[worker])
        return manager.run

    def node(self) -> Callable[[int], float]:
        raise Cannot("runs agents below agents, each of which needs a model")

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        raise Cannot("gives agents within agents as they were made, `to_dict`, without what they remember")

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        model = OpenAIModel("served", api_base=url, api_key="k")
        return Kept(lambda name: self.made(model, tools, stream_outputs=bool(streams), max_steps=4), model)

    async def arun_served(self, agent: Any, text: str, session: str) -> str:
        return await in_thread(lambda: agent.session(session).run(text))

    async def aclose(self, agent: Any) -> None:
        agent.agent.client.close()

    def errors(self) -> tuple[type[BaseException], ...]:
        from openai import OpenAIError

        return (AgentError, OpenAIError)
