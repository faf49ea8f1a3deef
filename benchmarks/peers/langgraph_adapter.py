"""LangGraph: a graph of a model's node and a `ToolNode`; a chat model class of one's own; a checkpointer remembers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, ClassVar

from common import Adapter, Call, Script, ask, hello
from langchain_core.exceptions import LangChainException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


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
        return ask(self.script, results[::-1], lambda: sum(message.type == "human" for message in messages))

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
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


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


class Peer(Adapter):
    title = "LangGraph"
    distributions = ("langgraph", "langchain-core", "pydantic")
    statement = (
        "from langgraph.graph import END, START, MessagesState, StateGraph; "
        "from langgraph.prebuilt import ToolNode, tools_condition"
    )
    notes: ClassVar = {"build": "the graph is compiled", "team": "the worker is a graph that a node calls"}

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

    async def stream(self, agent: Any, text: str) -> list[str]:
        events = agent.astream(*asked(text, "stream"), stream_mode="messages")
        return [chunk.content async for chunk, _ in events if chunk.content]

    def durable(self, path: str, script: Script, tools: Sequence[Any]) -> Any:
        import sqlite3

        from langgraph.checkpoint.sqlite import SqliteSaver

        saver = SqliteSaver(sqlite3.connect(f"{path}/checkpoints.db", check_same_thread=False))
        return graph_of(Model(script=script), tools, False, saver)

    def start(self, agent: Any, text: str) -> str:
        return agent.invoke(*asked(text, "kept"), durability="sync")["messages"][-1].content

    def resume(self, agent: Any) -> str:
        return agent.invoke(None, asked("", "kept")[1], durability="sync")["messages"][-1].content

    def team(self) -> Callable[[str], str]:
        def script(results: Sequence[str]) -> str | Call:
            return "done hello"

        worker = graph_of(Model(script=hello), [], False)
        planner, manager = Model(script=lambda results: "Ask the worker."), Model(script=script)

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

    def served(self, url: str, tools: Sequence[Any] = (), *, streams: bool = False) -> Any:
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(model="served", base_url=url, api_key="k", streaming=streams)
        return graph_of(model, tools, True)

    def errors(self) -> tuple[type[BaseException], ...]:
        from langgraph import errors
        from openai import OpenAIError

        found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
        return (LangChainException, OpenAIError, *found)
