"""Answers of the embedded small model: what it cites is checked, so that it need not be believed."""

from __future__ import annotations

from typing import cast

import pytest

from trivium.agents.special import DocAnswer, DocChatAgent, DocChatAgentConfig
from trivium.knowledge.stores import SQLiteStoreConfig

from ._documents import LEASE, NUTS, document


@pytest.fixture(scope="module")
def agent() -> DocChatAgent:
    """The embedded small model, and two documents."""
    store = SQLiteStoreConfig(embedding=None)
    made = DocChatAgent(DocChatAgentConfig(llm="small", vecdb=store, conversation_mode=False))
    made.ingest_docs([document(LEASE, "lease.txt"), document(NUTS, "nuts.txt")])
    return made


@pytest.mark.model
@pytest.mark.parametrize(
    ("question", "word", "place"),
    [("How much is the rent?", "950", "lease.txt:3"), ("Where do walnuts come from?", "Persia", "nuts.txt:1")],
)
def test_the_embedded_model_answers_with_the_line_that_holds_it(
    agent: DocChatAgent, question: str, word: str, place: str
):
    answer = cast("DocAnswer", agent(question).content_any)
    assert answer.found
    assert word in answer.answer
    assert place in [each.place for each in answer.citations]
    assert any(word in each.quote for each in answer.citations)


@pytest.mark.model
def test_the_embedded_model_cannot_invent(agent: DocChatAgent):
    assert not cast("DocAnswer", agent("Which king lived in Mill Lane in 1820?").content_any).found
