"""trivium, used as its tutorial has it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from common import WITNESS, Adapter, Call, Cannot, Script, ask, handlers, hello, pause, word
from lagent_style import style_of

from trivium import Agent, ChatAgent, Task
from trivium.exceptions import TriviumError
from trivium.journal import Journal
from trivium.llms import OpenAIModel, Request, ToolCallPart


class Model:
    """A provider of one's own: a name and `stream`."""

    name = "scripted"

    def __init__(self, script: Script) -> None:
        self.script = script

    def said(self, request: Request) -> Any:
        results = list[Any]()
        for message in reversed(request.messages):
            if message["role"] == "user":
                break
            if message["role"] == "tool":
                results.append(message["content"])
        for tool in request.tools:
            _ = tool.parameters  # as a client reads them that sends them
        said = ask(self.script, results[::-1], request.messages)
        if isinstance(said, Call):
            return [ToolCallPart(0, said.id, said.name, json.dumps(said.arguments))]
        return [said] if isinstance(said, str) else said

    def stream(self, request: Request) -> Iterator[Any]:
        yield from self.said(request)


class AsyncModel(Model):
    """The same for async programs."""

    async def stream(self, request: Request) -> AsyncIterator[Any]:  # type: ignore[override]
        for delta in self.said(request):
            if WITNESS.paced:
                await pause()
            yield delta


class Peer(Adapter):
    title = "trivium"
    distributions = ("trivium", "pydantic", "httptools")
    notes: ClassVar = {"turn": "it remembers, as its agents do by default", "served": "it always asks for a stream"}
    stores: ClassVar = (
        "one run, SQLite",
        "one run, PostgreSQL",
        "a run for each turn, SQLite",
        "a run for each turn, PostgreSQL",
    )
    statement = "from trivium import Agent, ChatAgent, Task, ToolMessage, CommanderAsync"

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Agent:
        return Agent((AsyncModel if in_loop else Model)(script), tools=tools)

    def run(self, agent: Agent, text: str, session: str) -> str:
        return agent(text, session_id=session).content

    async def arun(self, agent: Agent, text: str, session: str) -> str:
        return (await agent.acall(text, session_id=session)).content

    def in_lagents_style(self, script: Script, tools: Sequence[Any]) -> Any:
        style = style_of("trivium")
        return style.caller(style.model(script), style.actions(tools))

    def forget(self, agent: Agent, sessions: Sequence[str]) -> None:
        for one in (agent, getattr(agent, "writer", agent)):
            for session in sessions if one.memory else ():
                one.memory.reset(session)

    async def stream(self, agent: Agent, text: str, got: Callable[[str], Any]) -> None:
        async with agent.open(text) as events:
            async for event in events:
                if event.kind == "delta":
                    got(event.piece)

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Agent:
        if streams is False:
            raise Cannot("it always asks for a stream")
        return Agent(OpenAIModel("served", base_url=url, api_key="k"), tools=tools, memory=False)

    def errors(self) -> tuple[type[BaseException], ...]:
        return (TriviumError,)

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> tuple[Agent, Journal]:
        return Agent(Model(script), tools=tools), Journal(f"{path}/runs.db")

    def start(self, agent: tuple[Agent, Journal], text: str) -> str:
        return agent[0](text, run_id="kept", journal=agent[1]).content

    def resume(self, agent: tuple[Agent, Journal]) -> str:
        return agent[1].view("kept").resume(agent[0]).content

    def converse(self, store: str, place: str, script: Script, texts: Iterable[str], done: int) -> None:
        journal, agent = Journal(place), Agent(Model(script))
        if store.startswith("one run"):
            with journal.run("kept"):
                for text in texts:
                    agent(text)
            return
        if done:
            journal.view(f"kept-{done - 1}").restore(agent)
        for number, text in enumerate(islice(texts, done, None), done):
            agent(text, session_id="kept", run_id=f"kept-{number}", journal=journal)

    def team(self) -> Callable[[str], str]:
        manager = ChatAgent(Manager(hello), name="manager")
        task = Task(manager, interactive=False)
        task.add_sub_task(Task(ChatAgent(Model(word), name="worker"), interactive=False, single_round=True))

        def run(text: str) -> str:
            result = task.run(text)
            assert result is not None
            return result.content

        return run

    def node(self) -> Callable[[int], float]:
        import trivium.commander

        return handlers(trivium.commander)

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        class Around(Agent):
            def __init__(self, inner: Agent) -> None:
                super().__init__()
                self.inner = inner

            def forward(self, message: Any, session_id: Any = 0) -> Any:
                return f"{self.inner(message, session_id=session_id).content}+"  # as `greeting` has it

        one = Agent(Model(hello))
        for _ in range(depth):
            one = Around(one)
        one("go")
        return one.state_dict


class Manager(Model):
    """A manager's model: the worker's answer comes as the last message."""

    def said(self, request: Request) -> Any:
        last = request.messages[-1]["content"]
        ask(self.script, [last], request.messages)
        return [f"DONE done {last}" if last == WITNESS.word else "Ask the worker."]
