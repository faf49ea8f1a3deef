"""Agents of documents that are asked by several callers at once before they have read anything."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from trivium import Task
from trivium.agents.special import DocChatAgent, DocChatAgentConfig
from trivium.commander import Event
from trivium.events import IngestEvent
from trivium.knowledge.embeddings import EmbeddingModel, Purpose
from trivium.knowledge.stores import SQLiteStoreConfig
from trivium.tasks import run_batch_tasks
from trivium.testing import ScriptedModel

QUESTIONS = [f"What is the rent of flat {number}?" for number in range(8)]
RIGHT = [f"The rent of flat {number} is {500 + number} EUR." for number in range(8)]


def answer(request: Any) -> str:
    """The sentence of the prompt that tells of the flat that is asked for."""
    prompt = str(request.messages[-1]["content"])
    return next((each for each in RIGHT if each[:19] in prompt and prompt.endswith(f"{each[12:18]}?")), "Nothing.")


def cold_agent(folder: Path, **options: Any) -> DocChatAgent:
    """An agent that has not read the rents of eight flats yet."""
    for number, text in enumerate(RIGHT):
        (folder / f"flat{number}.txt").write_text(text)
    options.setdefault("doc_paths", [folder])
    return DocChatAgent(
        DocChatAgentConfig(llm=ScriptedModel(answer), conversation_mode=False, references=False, **options)
    )


def in_threads(agent: DocChatAgent) -> list[str]:
    def ask(at: int) -> str:
        return agent(QUESTIONS[at], session_id=at).content

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, range(8)))


def in_a_loop(agent: DocChatAgent) -> list[str]:
    async def ask() -> list[str]:
        return [each.content for each in await asyncio.gather(*map(agent.answer_from_docs_async, QUESTIONS))]

    return asyncio.run(ask())


def in_loops_of_threads(agent: DocChatAgent) -> list[str]:
    def ask(question: str) -> str:
        return asyncio.run(agent.acall(question, session_id=question)).content

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, QUESTIONS))


def in_a_batch(agent: DocChatAgent) -> list[str]:
    task = Task(agent, interactive=False, single_round=True)
    return [each.content for each in run_batch_tasks(task, QUESTIONS, sequential=False, batch_size=8) if each]


def while_the_program_reads(agent: DocChatAgent) -> list[str]:
    with ThreadPoolExecutor(8) as pool:
        pool.submit(agent.ingest)
        return in_threads(agent)


@pytest.mark.parametrize("ask_all", [in_threads, in_a_loop, in_loops_of_threads, in_a_batch, while_the_program_reads])
@pytest.mark.parametrize("is_kept", [False, True])
def test_all_who_ask_first_are_answered_from_the_documents(
    tmp_path: Path, ask_all: Callable[[DocChatAgent], Sequence[str]], is_kept: bool
):
    (folder := tmp_path / "flats").mkdir()
    store = {"vecdb": SQLiteStoreConfig(storage_path=str(tmp_path / "docs.db"), embedding=None)} if is_kept else {}
    agent = cold_agent(folder, **store)
    assert [each.replace(" [1]", "") for each in ask_all(agent)] == RIGHT


def test_if_the_one_that_reads_is_cancelled_the_next_one_reads(tmp_path: Path):
    agent = cold_agent(tmp_path)

    async def ask() -> list[Any]:
        def cancel(event: Event[Any]) -> None:
            if isinstance(event, IngestEvent):
                asks[0].cancel()

        asks = [
            asyncio.ensure_future(agent.acall(QUESTIONS[at], session_id=at, listeners=[cancel] if at == 0 else ()))
            for at in range(3)
        ]
        return await asyncio.gather(*asks, return_exceptions=True)

    stopped, *answered = asyncio.run(ask())
    assert isinstance(stopped, asyncio.CancelledError)
    assert [each.content.replace(" [1]", "") for each in answered] == RIGHT[1:3]


def test_if_the_one_that_reads_fails_the_next_one_reads(tmp_path: Path):
    agent = cold_agent(tmp_path, doc_paths=[tmp_path / "late.txt"])
    with ThreadPoolExecutor(4) as pool:
        failed = [pool.submit(agent, QUESTIONS[0], session_id=at).exception() for at in range(4)]
    assert [type(each).__name__ for each in failed] == ["DocumentNotFoundError"] * 4
    (tmp_path / "late.txt").write_text("\n".join(RIGHT))
    assert in_threads(agent)[0].replace(" [1]", "") == RIGHT[0]


class Asking(EmbeddingModel):
    """A model that asks an agent for each batch of passages."""

    name, dimensions = "asking", 1

    def __init__(self) -> None:
        self.agent: DocChatAgent | None = None
        self.found: list[int] = []

    def compute(self, texts: Sequence[str], purpose: Purpose) -> list[list[float]]:
        if self.agent is not None and purpose == "passage":
            self.found.append(len(self.agent.get_relevant_chunks(QUESTIONS[0])))
        return [[1.0]] * len(texts)


def ask_first(agent: DocChatAgent) -> object:
    return agent(QUESTIONS[0])


@pytest.mark.parametrize("begin", [DocChatAgent.ingest, ask_first])
def test_code_below_the_reading_is_answered_from_what_is_there(tmp_path: Path, begin: Callable[[DocChatAgent], object]):
    (folder := tmp_path / "flats").mkdir()
    embedding = Asking()
    embedding.agent = cold_agent(folder, vecdb=SQLiteStoreConfig(embedding=embedding))
    begin(embedding.agent)
    assert embedding.found
    assert len(embedding.found) <= len(RIGHT)
    assert embedding.found[0] == 0
    assert len(embedding.agent.get_relevant_chunks(QUESTIONS[0])) > 0


def test_a_listener_of_the_reading_may_ask(tmp_path: Path):
    agent, found = cold_agent(tmp_path), list[int]()

    def ask(event: Event[Any]) -> None:
        if isinstance(event, IngestEvent):
            found.append(len(agent.get_relevant_chunks(QUESTIONS[0])))

    report = agent.ingest(listeners=[ask])
    assert len(found) == len(report.added) == len(RIGHT)


def store_of(agent: DocChatAgent, begin: Barrier) -> object:
    begin.wait()
    return agent.store


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads take turns after every few instructions, so that they come between any two."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.parametrize("config", [None, SQLiteStoreConfig()])
def test_documents_that_threads_add_at_first_are_in_one_store(config: SQLiteStoreConfig | None):
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            agent = DocChatAgent(DocChatAgentConfig(llm=None, vecdb=config))
            stores = pool.map(store_of, [agent] * 8, [Barrier(8)] * 8)
            assert len({id(each) for each in stores}) == 1
