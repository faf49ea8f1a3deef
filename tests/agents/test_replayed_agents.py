"""Every class of agents in durable runs: it answers the same from its journal."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from functools import partial
from math import log
from pathlib import Path
from typing import Any

import pytest

from trivium import ChatAgentConfig, Message, Module
from trivium.agents import (
    Agent,
    AgentForInternLM,
    AsyncAgent,
    AsyncChatAgent,
    AsyncSequential,
    AsyncStreamingAgent,
    ChatAgent,
    ReAct,
    Sequential,
    StreamingAgent,
)
from trivium.agents.special import (
    DocChatAgent,
    DocChatAgentConfig,
    RetrieverAgent,
    SQLChatAgent,
    SQLChatAgentConfig,
    TableChatAgent,
    TableChatAgentConfig,
)
from trivium.agents.special.graph import GraphChatAgent, GraphChatAgentConfig
from trivium.journal import Journal
from trivium.knowledge.graphs import LadybugGraph
from trivium.llms import Logprobs, TokenLogprob
from trivium.testing import ScriptedModel, call_tool

RENT = "The rent is 950 EUR [1]."
ROOMS = "".join(f"\nRoom {number} has a window.\n" for number in range(20))
NO = ["No", Logprobs((TokenLogprob("No", log(0.9), ((" no", log(0.9)), ("yes", log(0.1)))),))]


def pay() -> str:
    """Tell the pay."""
    return "9 EUR"


def of_kind(kind: Any) -> Module:
    return kind(ScriptedModel([call_tool("pay"), RENT]), tools=[pay], name="asked")


def a_chat_agent(kind: Any) -> Module:
    return kind(ChatAgentConfig(llm=ScriptedModel([call_tool("pay"), RENT]), name="asked"), tools=[pay])


def in_sequence(kind: Any, member: Any) -> Module:
    return kind(member(ScriptedModel(["one"]), name="first"), member(ScriptedModel([RENT]), name="second"))


def of_documents(kind: Any, answers: Iterable[Any], **options: Any) -> Module:
    Path("lease.txt").write_text(f"Lease\n\nThe rent is 950 EUR.\n{ROOMS}")
    model = ScriptedModel([*answers])
    tools = options.pop("tools", ())
    config = kind._default_config(llm=model, doc_paths=["lease.txt"], conversation_mode=False, **options)
    assert isinstance(config, DocChatAgentConfig)
    return kind(config, tools=tools)


def of_a_table() -> Module:
    model = ScriptedModel([call_tool("run_query", query="SELECT sum(rent) FROM data"), "950 in all."])
    return TableChatAgent(TableChatAgentConfig(llm=model, data=[{"rent": 950}]))


def of_a_database() -> Module:
    with sqlite3.connect("flats.db") as database:
        database.execute("CREATE TABLE IF NOT EXISTS flats (rent INTEGER)")
    model = ScriptedModel([call_tool("run_query", query="SELECT count(*) FROM flats"), "None."])
    return SQLChatAgent(SQLChatAgentConfig(llm=model, database_uri="sqlite:///flats.db"))


def of_a_graph() -> Module:
    graph = LadybugGraph("films.graph")
    graph.add_nodes("Film", [{"name": "Alien", "year": 1979}])
    model = ScriptedModel([call_tool("query_graph", cypher="MATCH (f:Film) RETURN f.year"), "Alien is of 1979."])
    return GraphChatAgent(GraphChatAgentConfig(llm=model, graph=graph))


AGENTS: dict[str, Callable[[], Module]] = {
    **{kind.__name__: partial(of_kind, kind) for kind in (Agent, AsyncAgent, StreamingAgent, AsyncStreamingAgent)},
    **{kind.__name__: partial(a_chat_agent, kind) for kind in (ChatAgent, AsyncChatAgent)},
    "AgentForInternLM": lambda: AgentForInternLM(ScriptedModel([RENT]), plugins=[pay]),
    "ReAct": lambda: ReAct(ScriptedModel(["Thought: done\nFinal Answer: 9 EUR"]), pay),
    "Sequential": partial(in_sequence, Sequential, Agent),
    "AsyncSequential": partial(in_sequence, AsyncSequential, AsyncAgent),
    "DocChatAgent": partial(of_documents, DocChatAgent, [RENT]),
    "DocChatAgent, put right": partial(of_documents, DocChatAgent, ["Flats are blue. The rent is 950 EUR [7]."]),
    "DocChatAgent, nothing found": partial(of_documents, DocChatAgent, ["It is in Rome."]),
    "DocChatAgent, withdrawn": partial(of_documents, DocChatAgent, [RENT, NO], confirm=True),
    "DocChatAgent, tools": partial(of_documents, DocChatAgent, [call_tool("pay"), f"{RENT} It pays 9."], tools=[pay]),
    "DocChatAgent, typed": partial(of_documents, DocChatAgent, ['{"value": 950}'], output_format=int),
    "RetrieverAgent": partial(of_documents, RetrieverAgent, ['{"passages": [1]}']),
    "TableChatAgent": of_a_table,
    "SQLChatAgent": of_a_database,
    "GraphChatAgent": of_a_graph,
}


def ask(agent: Module, journal: Journal) -> Message:
    async def last() -> Any:
        answer: Any = agent("How much is the rent?", run_id="r", journal=journal)
        return [each async for each in answer][-1] if hasattr(answer, "__aiter__") else await answer

    if type(agent).__name__.startswith("Async"):
        return asyncio.run(last())
    answer: Any = agent("How much is the rent?", run_id="r", journal=journal)
    return answer if isinstance(answer, Message) else [*answer][-1]


def told(make: Callable[[], Module], journal: Journal) -> tuple[Any, ...]:
    answer = ask(make(), journal)
    return answer.content, answer.content_any, answer.metadata.source, answer.metadata.source_content


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", AGENTS)
def test_a_run_that_is_called_again_answers_the_same(name: str):
    with Journal("runs.db") as journal:
        first = told(AGENTS[name], journal)
        assert told(AGENTS[name], journal) == first


def test_a_run_that_was_broken_off_between_two_answers_goes_on():
    with Journal("runs.db") as journal:
        broken = of_documents(DocChatAgent, [call_tool("pay"), RuntimeError("cut off")], tools=[pay])
        with pytest.raises(RuntimeError, match="cut off"):
            ask(broken, journal)
        for answers in ([RENT], []):
            answer = ask(of_documents(DocChatAgent, answers, tools=[pay]), journal)
            assert answer.content == f"{RENT}\n\n[1] lease.txt:3"
