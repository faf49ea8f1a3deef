"""Documents and agents for the tests: a store in memory that is searched by words, and models that follow a script."""

# `_default_config` is the hook by which an agent's class makes its config.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trivium.agents.special import DocChatAgent, DocChatAgentConfig, RetrieverAgent
from trivium.commander import driver_neutral
from trivium.knowledge.stores import SQLiteStoreConfig
from trivium.parsing import Chunk
from trivium.parsing.chunks import chunk_parts
from trivium.schema import Document
from trivium.testing import ScriptedModel

__all__ = ["LEASE", "NUTS", "AllKnown", "AllRetrieved", "doc_agent", "document"]

LEASE = """Lease of the flat in Mill Lane.

The rent is 950 EUR. It is due
on the first of each month.

- Heating costs extra.
- Pets are allowed.
"""
NUTS = "Hazelnuts are brown. Walnuts come from Persia.\n"


def document(text: str, source: str, **metadata: Any) -> Document:
    """A document that the program has read."""
    made = Document.from_string(text, source, is_chunk=False)
    for name, value in metadata.items():
        setattr(made.metadata, name, value)
    return made


class AllKnown(DocChatAgent):
    """Reads all that it was given for each question, from no store: quick."""

    known: tuple[Chunk, ...] = ()

    @driver_neutral
    async def ingest_docs_async(self, docs: Sequence[Document]) -> int:
        self.known += tuple(chunk_parts(docs))
        return len(self.known)

    @driver_neutral
    async def get_relevant_chunks_async(self, query: str) -> list[Chunk]:
        return list(self.known)


class AllRetrieved(AllKnown, RetrieverAgent):
    """The same of passages."""

    name = "RetrieverAgent"


def doc_agent(
    answers: Sequence[Any], *documents: Document, kind: type[DocChatAgent] = DocChatAgent, **options: Any
) -> DocChatAgent:
    """An agent that knows the lease and the nuts, or these documents."""
    named = {name: options.pop(name) for name in ("tools", "approve", "memory") if name in options}
    options.setdefault("conversation_mode", False)
    config = kind._default_config(llm=ScriptedModel(answers), vecdb=SQLiteStoreConfig(embedding=None), **options)
    assert isinstance(config, DocChatAgentConfig)
    agent = kind(config, **named)
    agent.ingest_docs(documents or [document(LEASE, "lease.txt"), document(NUTS, "nuts.txt")])
    return agent
