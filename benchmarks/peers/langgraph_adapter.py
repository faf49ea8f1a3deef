"""LangGraph: a graph of a model's node and a `ToolNode`; a chat model class of one's own; a checkpointer remembers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, TypedDict

from common import WITNESS, Adapter, Call, Script, ask, greeting, pause, word
from langchain_core.exceptions import LangChainException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Send


class Model(BaseChatModel):
    """A model of a script."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **given: Any) -> Any:
        return self

    def said(self, messages: Sequence[BaseMessage]) -> Any:
        results = list[Any]()
        for message in reversed(messages):
            if message.type == "human":
                break
            if message.type == "tool":
                results.append(message.content)
        return ask(self.script, results[::-1], messages)

    def whole(self, messages: Sequence[BaseMessage]) -> ChatResult:
        said = self.said(messages)
        if isinstance(said, Call):
            call = {"name": said.name, "args": dict(said.arguments), "id": said.id}
            message = AIMessage(content="", tool_calls=[call])
        else:
            message = AIMessage(content=said if isinstance(said, str) else "".join(said))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(self, messages: list[BaseMessage], *rest: Any, **given: Any) -> ChatResult:
        return self.whole(messages)

    async def _agenerate(self, messages: list[BaseMessage], *rest: Any, **given: Any) -> ChatResult:
        return self.whole(messages)


class StreamingModel(Model):
    """The same in pieces."""

    def _stream(self, messages: list[BaseMessage], *rest: Any, **given: Any) -> Iterator[ChatGenerationChunk]:
        for piece in self.said(messages):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))

    async def _astream(
        self, messages: list[BaseMessage], *rest: Any, **given: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for piece in self.said(messages):
            if WITNESS.paced:
                await pause()
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


class Manager(Model):
    """A manager's model: the worker's answer comes as the last message."""

    def said(self, messages: Sequence[BaseMessage]) -> Any:
        return ask(self.script, [messages[-1].content], messages)


def graph_of(model: Any, tools: Sequence[Any], in_loop: bool, checkpointer: Any = None) -> Any:
    """The graph of an agent, as the quickstart builds it."""
    if tools:
        model = model.bind_tools(tools)

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    async def acall_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", acall_model if in_loop else call_model)
    builder.add_edge(START, "model")
    if tools:
        builder.add_node("tools", ToolNode(list(tools)))
        builder.add_conditional_edges("model", tools_condition)
        builder.add_edge("tools", "model")
    else:
        builder.add_edge("model", END)
    return builder.compile(checkpointer=checkpointer)


def asked(text: str, session: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The input and the config of a run."""
    config = {"recursion_limit": 100, "configurable": {"thread_id": session}}
    return {"messages": [{"role": "user", "content": text}]}, config


class Number(TypedDict):
    """How many nodes a graph spreads to."""

    number: int


class Peer(Adapter):
    title = "LangGraph"
    distributions = ("langgraph", "langchain-core", "pydantic")
    statement = (
        "from langgraph.graph import END, START, MessagesState, StateGraph; "
        "from langgraph.prebuilt import ToolNode, tools_condition"
    )
    stores: ClassVar = ("SqliteSaver, SQLite", "PostgresSaver, PostgreSQL")
    notes: ClassVar = {
        "build": "the graph is compiled",
        "team": "the worker is a graph that a node calls",
        "node": "Send, to one node",
        "state": "graphs with a node of a model each; get_state for each namespace",
    }

    def agent(
        self, script: Script, tools: Sequence[Any] = (), *, in_loop: bool = False, remembers: bool = False
    ) -> Any:
        kind = StreamingModel if script.__qualname__.startswith("pieces") else Model
        return graph_of(kind(script=script), tools, in_loop, InMemorySaver() if remembers else None)

    def run(self, agent: Any, text: str, session: str) -> str:
        return agent.invoke(*asked(text, session))["messages"][-1].content

    async def arun(self, agent: Any, text: str, session: str) -> str:
        return (await agent.ainvoke(*asked(text, session)))["messages"][-1].content

    def forget(self, agent: Any, sessions: Sequence[str]) -> None:
        for session in sessions if agent.checkpointer else ():
            agent.checkpointer.delete_thread(session)

    async def stream(self, agent: Any, text: str, got: Callable[[str], Any]) -> None:
        async for chunk, _ in agent.astream(*asked(text, "stream"), stream_mode="messages"):
            if chunk.content:
                got(chunk.content)

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> Any:
        import sqlite3

        from langgraph.checkpoint.sqlite import SqliteSaver

        saver = SqliteSaver(sqlite3.connect(f"{path}/checkpoints.db", check_same_thread=False))
        return graph_of(Model(script=script), tools, False, saver)

    def converse(self, store: str, place: str, script: Script, texts: Iterable[str], done: int) -> None:
        import sqlite3

        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.checkpoint.sqlite import SqliteSaver

        if "PostgreSQL" in store:
            saver: Any = PostgresSaver(psycopg.connect(place, autocommit=True, row_factory=psycopg.rows.dict_row))
        else:
            saver = SqliteSaver(sqlite3.connect(place, check_same_thread=False))
        saver.setup()
        agent = graph_of(Model(script=script), [], False, saver)
        for text in islice(texts, done, None):
            self.start(agent, text)

    def start(self, agent: Any, text: str) -> str:
        return agent.invoke(*asked(text, "kept"), durability="sync")["messages"][-1].content

    def resume(self, agent: Any) -> str:
        return agent.invoke(None, asked("", "kept")[1], durability="sync")["messages"][-1].content

    def team(self) -> Callable[[str], str]:
        worker = graph_of(Model(script=word), [], False)
        planner = Model(script=lambda results: "Ask the worker.")
        manager = Manager(script=lambda results: f"done {results[-1]}")

        builder = StateGraph(MessagesState)
        builder.add_node("plan", lambda state: {"messages": [planner.invoke(state["messages"])]})
        builder.add_node("worker", worker)
        builder.add_node("manager", lambda state: {"messages": [manager.invoke(state["messages"])]})
        builder.add_edge(START, "plan")
        builder.add_edge("plan", "worker")
        builder.add_edge("worker", "manager")
        builder.add_edge("manager", END)
        team = builder.compile()
        return lambda text: self.run(team, text, "team")

    def node(self) -> Callable[[int], float]:
        async def nothing(state: Any) -> None:
            WITNESS.nodes += 1

        began = 0.0

        def spread(state: Number) -> list[Send]:
            nonlocal began
            began = time.process_time()
            return [Send("nothing", None) for _ in range(state["number"])]

        builder = StateGraph(Number)
        builder.add_node("nothing", nothing)
        builder.add_conditional_edges(START, spread, ["nothing"])
        graph = builder.compile()

        def seconds(number: int) -> float:
            asyncio.run(graph.ainvoke({"number": number}))
            return time.process_time() - began

        return seconds

    def state(self, depth: int) -> Callable[[], Mapping[str, Any]]:
        def above(level: int, inner: Any) -> Any:
            model, builder = Model(script=lambda results: greeting(level)), StateGraph(MessagesState)
            builder.add_node("own", lambda state: {"messages": [model.invoke(state["messages"])]})
            builder.add_edge(START, "own")
            if inner is not None:
                builder.add_node("inner", inner)
                builder.add_edge("own", "inner")
            return builder.compile(checkpointer=InMemorySaver() if level == depth else True)

        top = None
        for level in range(depth + 1):
            top = above(level, top)
        top.invoke(*asked("go", "state"))
        places = ["|".join(["inner"] * each) for each in range(depth + 1)]
        configs = [{"configurable": {"thread_id": "state", "checkpoint_ns": place}} for place in places]
        return lambda: {place: top.get_state(config).values for place, config in zip(places, configs, strict=True)}

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool | None = None) -> Any:
        from langchain_openai import ChatOpenAI

        # Its connections are the process's own, kept by address: nothing of them is the agent's to close.
        model = ChatOpenAI(model="served", base_url=url, api_key="k", streaming=bool(streams))
        return graph_of(model, tools, True)

    def errors(self) -> tuple[type[BaseException], ...]:
        from langgraph import errors
        from openai import OpenAIError

        found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
        return (LangChainException, OpenAIError, *found)
